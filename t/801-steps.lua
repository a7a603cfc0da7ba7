-- 801-steps.lua - pins: one run = many steps of one cycle = a run in odd
-- pieces, byte for byte: at the same cycle the same state, and at the end the
-- same counters, histograms, kernel records and cycle; also with warm-up,
-- budgets, a stop condition, refresh, clocks that do not divide one another,
-- Lua policies with epochs, and under sim.check; what is told of DRAM's commands,
-- which are decided late, and that nothing changes by it; how far ahead counters
-- are at a pause.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local function fingerprint(sim)
    local out = whole.statistics(sim)
    out[#out + 1] = ("now %d, %d instructions, %d events"):format(sim.now,
        sim.instructions, sim.core:events())
    out[#out + 1] = ("state %x"):format(sim:state_hash())
    return out
end

--- Runs with pieces(i) cycles at a time and stops at each of the marks.
local function by(build, marks, pieces)
    local sim, at, i, out = build(), 0, 0, {}
    local word = "ok"
    for m, mark in ipairs(marks) do
        while word == "ok" and at < mark do
            i = i + 1
            local n = math.min(pieces(i), mark - at)
            word = sim.core:run(n)
            at = at + n
        end
        out[m] = fingerprint(sim)
    end
    while word == "ok" do
        i = i + 1
        word = sim.core:run(pieces(i))
    end
    out[#out + 1] = fingerprint(sim)
    out.word = word
    sim:close()
    return out
end

local ODD = { 1, 2, 3, 17, 997, 5, 64, 1, 250, 4096, 31 }

local function check(title, build)
    local straight = build()
    straight:run()
    local last = straight.now
    local total = fingerprint(straight)
    straight:close()
    local marks = { 1, last // 7, last // 2, last - 1 }
    local want = by(build, marks, function() return math.maxinteger end)
    local bad = whole.difference(total, want[#want])
    for name, pieces in pairs {
        ["one by one"] = function() return 1 end,
        ["odd pieces"] = function(i) return ODD[i % #ODD + 1] end,
    } do
        local got = by(build, marks, pieces)
        for m = 1, #want do
            local d = whole.difference(want[m], got[m])
            bad = bad or d and ("%s, at %s: %s"):format(name,
                marks[m] or "the end", d)
        end
        if want.word ~= got.word then
            bad = bad or ("%s: %s"):format(name, got.word)
        end
    end
    tap.ok(not bad, ("%s (%d cycles)"):format(title, last), bad)
end

local function of(names, settings, options, policies)
    return whole.maker(names, whole.join(whole.SMALL, settings or {}), options,
        policies)
end

check("stream", of { whole.stream(32) })
check("random", of { whole.random(4, 8) })
check("BFS2", of { "BFS2" })
check("GUP", of { "GUP" })
check("GUP, misses under misses", of({ "GUP" },
    { ["l1tlb.blocking"] = "none" }))
check("GUP, few MSHRs and little room", of({ "GUP" }, {
    ["l1tlb.blocking"] = "hits", ["l1tlb.mshrs"] = 2, ["core.parked"] = 64 }))
check("LUD", of { "LUD" })
check("MM with GUP, warm-up and budget", of({ "MM", "GUP" }, nil,
    { warmup = 701, budget = 3000 }))
check("LUD and HS, shared memory in the load/store unit", of({ "LUD", "HS" },
    { ["core.shared_unit"] = true, ["l1tlb.blocking"] = "full" }))
check("BP, stopped in the middle", of({ "BP" }, nil, { stop_cycles = 2222 }))
check("TRD, LRR, ready-first, refresh, closed rows", of({ "TRD" }, {
    ["core.scheduler"] = "lrr", ["dram.scheduler"] = "ready-first",
    ["dram.refresh"] = true, ["dram.trefi"] = 777, ["dram.page"] = "closed",
}))
check("3DS on clocks of 1.3, 0.65 and 0.8 GHz", of({ "3DS" }, {
    ["clock.core"] = 1300000000, ["clock.l2"] = 650000000,
    ["clock.dram"] = 800000000, ["core.issue"] = 2, ["core.width"] = 8,
}))
check("MM with walkers in each core", of({ "MM" }, {
    ["walk.per_core"] = true, ["l2tlb.mode"] = "off", ["pwc.mode"] = "full",
    ["l1tlb.blocking"] = "full",
}))
check("RED and HS under sim.check", of({ "RED", "3DS" }, nil,
    { check = true }))
check("a Lua policy with epochs and one that is asked", of({ "GUP", "3DS" },
    nil, nil, {
        { "policies/mask.lua", { epoch = 1000 } },
        { "policies/srrip.lua", { at = "l2tlb" } },
        { "policies/lrr.lua" },
    }))

-- Each command of DRAM is told in its own cycle, however a run is cut.
do
    local settings = whole.join(whole.SMALL, { ["dram.queue"] = 8,
        ["dram.bus_bytes"] = 32, ["dram.refresh"] = true, ["dram.trefi"] = 777 })

    --- What was told by a cycle, and all that was measured by then.
    local function told(pieces, mark, watched)
        local sim = whole.sim({ "GUP", "3DS" }, settings)
        if watched then
            sim:use { name = "listener", state = { n = 0, hash = 7 }, watch = {
                dram_command = function(note, state)
                    state.n = state.n + 1
                    state.hash = state.hash * 1000003 ~ (note.cycle << 24
                        ~ note.row << 12 ~ note.channel << 8 ~ note.bank << 2
                        ~ note.burst)
                end } }
        end
        for i = 1, mark do
            if sim.now >= mark then break end
            sim.core:run(math.min(pieces(i), mark - sim.now))
        end
        local s = watched and sim:used()[1].state or { n = 0, hash = 0 }
        local out = whole.statistics(sim)
        sim:close()
        return ("%d, %x"):format(s.n, s.hash), out
    end

    local function whole_run() return math.maxinteger end
    local function odd(i) return ODD[i % #ODD + 1] end
    for _, mark in ipairs { 1003, 4000 } do
        local want, with = told(whole_run, mark, true)
        local _, without = told(whole_run, mark, false)
        tap.ok(want:find "^%d%d%d", "DRAM is busy: " .. want)
        tap.is(told(odd, mark, true), want, "told in odd pieces")
        tap.is(told(function() return 1 end, mark, true), want, "one by one")
        tap.ok(not whole.difference(without, with), "watching changes nothing",
            whole.difference(without, with))
    end
end

-- The watchdog looks at fixed instants, however a run is cut.
do
    local function stuck(pieces)
        local sim = whole.sim({ "MM" }, whole.join(whole.SMALL,
            { ["sim.stuck_cycles"] = 250000 }))
        sim:use { name = "never", warp_limit = function() return 0 end }
        local ok, err
        repeat
            ok, err = pcall(sim.core.run, sim.core, pieces)
        until not ok
        return ("%d: %s at %d"):format(err.code, err.message, sim.now)
    end
    local want = stuck(math.maxinteger)
    tap.ok(want:find("^-8: "), "a machine that does not move is stuck", want)
    tap.is(stuck(777), want, "at the same cycle, in pieces")
    tap.is(stuck(100000), want, "at the same cycle, in other pieces")
end

-- What cores do ahead of the rest of the machine is counted at once: where
-- walk.latency is 10 they may be 7 cycles ahead (xbar.latency is 8), where it is
-- 1 none, and so much later the former's kernel starts.  Its counter at a pause
-- lies between the latter's then and that of 7 cycles on.
local function loads(latency)
    local kernel = require "heddle.kernel"
    local out = {}
    local sim <close> = H.sim { machine = "maxwell", progress = false,
        settings = { ["core.count"] = 2, ["l1tlb.mode"] = "ideal",
            ["xbar.latency"] = 8,
            ["walk.latency"] = latency }, apps = { H.program(kernel.app {
            name = "loads", source = "this test",
            buffers = function() return { kernel.f32("m", 65536) } end,
            kernels = function(_, b)
                return { kernel.kernel("k", { grid = 2, block = 512 },
                    function(t)
                        t:loop(50, function(j)
                            t:alu(2)
                            t:load(b.m, (t.gid * 7 + j * 64) % 65536)
                        end)
                    end) }
            end }) } }
    for cycle = 1, 2000 do
        sim:step(1)
        out[cycle] = sim:counters().l1cache.reads
    end
    return out
end
local ahead, level, low, high, off = loads(10), loads(1), 0, 0, 0
for cycle = 1, 1990 do
    local then_ = ahead[cycle + 7]
    off = off + (then_ > level[cycle] and 1 or 0)
    low = low + (then_ < level[cycle] and 1 or 0)
    high = high + (then_ > level[cycle + 7] and 1 or 0)
end
tap.ok(level[1990] > 1000 and off > 100 and low == 0 and high == 0,
    "counters at a pause include what cores have done ahead, up to 7 cycles",
    ("%d %d %d"):format(off, low, high))

tap.done()

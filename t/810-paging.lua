-- 810-paging.lua - pins demand paging in the whole machine: a copy at launch
-- shifts a run by the time that its bytes take on the link, and by nothing
-- else; with faults each page that is touched comes once, the results of the
-- programs stay, warps' waits are counted as time_fault, and one lone fault
-- costs what the link says; everything ends, checked, also where each thing
-- that could hold up a fault is as small as can be; a page that finds no frame
-- has memory compacted, if somebody does; a run with snapshots, in steps, or
-- twice is the run straight through; what waits is seen.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local function total(sim, component, name)
    for _, c in ipairs(sim:results().counters) do
        if c.component == component and c.name == name then
            return c.total
        end
    end
end

local function run(names, settings, options)
    local sim = whole.sim(names, whole.join(whole.SMALL, settings),
        whole.join({ check = true }, options or {}))
    sim:run()
    return sim
end

-- ---- a copy at launch -----------------------------------------------------------

--- 1 GB/s and 1 us at 1 GHz: 1000 cycles and a cycle a byte.
local ROUND = whole.join(whole.ROUND, { ["link.latency"] = 1000 })

local function copied(names, options)
    local none = run(names, ROUND, options)
    local launch = run(names, whole.join(ROUND, { ["vm.paging"] = "launch" }),
        options)
    return none, launch
end

--- Everything measured that does not depend on when a run began.
local function timeless(sim)
    local out = {}
    for _, line in ipairs(whole.statistics(sim, function(component, name)
        return component == "link" or component == "dram"
            or name == "time_idle"
    end)) do
        out[#out + 1] = line:gsub("%d+ cycles", ""):gsub(": %d+ to %d+,", ",")
    end
    return out
end

for _, name in ipairs { "MM", "BFS2", "GUP" } do
    local none, launch = copied { name }
    local bytes = none:results().apps[1].footprint
    tap.is(launch.now - none.now, 1000 + bytes,
        name .. ": a copy takes the latency once, and its bytes")
    tap.is(total(launch, "link", "bytes"), bytes,
        name .. ": which are its footprint")
    tap.is(total(launch, "core", "time_fault"), 0, name .. ": nothing faults")
    tap.is(whole.difference(timeless(none), timeless(launch)), nil,
        name .. ": everything else is as without")
    none:close()
    launch:close()
end

do
    local _, launch = copied { "MM", "MM" }
    local r = launch:results()
    local bytes = r.apps[1].footprint + r.apps[2].footprint
    tap.is(total(launch, "link", "bytes"), bytes,
        "two applications copy both footprints")
    local start = 0
    for _, k in ipairs(launch.core:kernels()) do
        if k.id == 1 and k.run == 0 then
            start = math.max(start, k.start)
        end
    end
    tap.is(start, 1000 + bytes, "and share the link")
    launch:close()
end

-- ---- faults ---------------------------------------------------------------------

local FAULT = { ["vm.paging"] = "fault" }

--- A kernel that reads one word of each of n pages, one after the other.
local function chase(n)
    return H.program(kernel.app {
        name = "chase", source = "this test",
        buffers = function()
            return { kernel.i64("m", n * 512) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("chase", { grid = 1, block = 1 },
                function(t)
                    t:loop(n, function(j)
                        local x = t:load(b.m, j * 512)
                        t:alu(1, { uses = { x } })
                    end)
                end) }
        end,
    })
end

do
    local sims = {}
    for n = 1, 3 do -- with all clocks alike, a tick is a cycle
        sims[n] = run({ chase(n) }, whole.join(FAULT,
            { ["clock.dram"] = 1020000000 }))
    end
    local none = run({ chase(3) }, {})
    for n = 2, 3 do
        local more = sims[n].now - sims[n - 1].now
        tap.ok(more >= 56100 and more < 56100 + 1500,
            ("page %d costs a far fault and its walks: %d cycles"):format(n,
                more))
    end
    tap.is(total(sims[3], "fault", "faults"), 3, "three pages, three faults")
    tap.is(total(sims[3], "fault", "pages"), 3, "three pages came")
    tap.is(total(sims[3], "link", "bytes"), 3 * 4096, "with their bytes")
    tap.is(total(sims[3], "core", "time_fault"), 3 * 56100,
        "which its warp waited for them, to the cycle")
    tap.ok(sims[3].now - none.now >= 3 * 56100, "more than if they were there")
    for _, h in ipairs(sims[3]:results().histograms) do
        if h.component == "fault" and h.name == "latency" then
            tap.same({ h.apps[1].n, h.apps[1].min, h.apps[1].max },
                { 3, 56100, 56100 }, "each for L + S/B, to the cycle")
        end
    end
    none:close()
    for n = 1, 3 do
        sims[n]:close()
    end
end

--- Pages of an application that were touched: those of a run that maps them.
for _, page in ipairs { "4K", "64K", "2M" } do
    local sim = run({ "MM", "BFS2" },
        whole.join(FAULT, { ["vm.page"] = page }))
    local r, pages = sim:results(), 0
    for _, a in ipairs(r.apps) do
        pages = pages + a.pages
    end
    tap.is(total(sim, "fault", "pages"), pages,
        page .. ": what is mapped at the end came over the link")
    tap.is(total(sim, "link", "bytes"), pages * 4096, page .. ": once")
    tap.is(total(sim, "fault", "requests"), total(sim, "fault", "faults")
        + total(sim, "fault", "merges"), page .. ": requests fault or merge")
    tap.ok(r.apps[1].finished and r.apps[2].finished, page .. ": both finish")
    sim:close()
end

do
    local values = {}
    for i, s in ipairs { {}, FAULT } do
        local sim = whole.sim({ "GUP" }, s)
        sim:run()
        values[i] = sim.instructions
        sim:close()
    end
    tap.is(values[1], values[2], "as many instructions with faults as without")
end

-- ---- whatever is small ------------------------------------------------------------

local STRESS = {
    { "one entry, one MSHR, one walker", { ["l1tlb.entries"] = 1,
        ["l1tlb.mshrs"] = 1, ["l2tlb.entries"] = 1, ["l2tlb.ways"] = 1,
        ["l2tlb.mshrs"] = 1, ["walk.walkers"] = 1, ["walk.queue"] = 0 } },
    { "a parking place of 64 lines", { ["core.parked"] = 64,
        ["l1tlb.entries"] = 1, ["l1tlb.mshrs"] = 2 } },
    { "one fault at a time", { ["fault.serial"] = true,
        ["link.latency"] = 5000 } },
    { "batches of 256", { ["fault.serial"] = true, ["fault.batch"] = 256 } },
    { "no time at all", { ["link.latency"] = 0,
        ["link.bandwidth"] = 1000000000000 } },
    { "an ideal L1 TLB", { ["l1tlb.mode"] = "ideal" } },
    { "an L1 TLB of fixed time", { ["l1tlb.mode"] = "fixed:3" } },
    { "no L1 TLB", { ["l1tlb.mode"] = "off" } },
    { "an ideal L2 TLB", { ["l2tlb.mode"] = "ideal" } },
    { "no L2 TLB, a walk cache", { ["l2tlb.mode"] = "off",
        ["pwc.mode"] = "full" } },
    { "walkers in each core", { ["walk.per_core"] = true,
        ["l2tlb.mode"] = "off", ["walk.walkers"] = 1 } },
    { "a TLB that blocks", { ["l1tlb.blocking"] = "full" } },
    { "a TLB whose hits pass misses, with one MSHR",
        { ["l1tlb.blocking"] = "hits", ["l1tlb.mshrs"] = 1 } },
    { "a TLB whose misses pass misses", { ["l1tlb.blocking"] = "none" } },
    { "2 MB at a time", { ["fault.transfer"] = "2M" } },
    { "64 KB at a time", { ["fault.transfer"] = "64K" } },
    { "64 KB at a time in pages of any size", { ["fault.transfer"] = "64K",
        ["vm.page"] = "2M", ["fault.replay"] = "page" } },
    { "2 MB at a time, page by page", { ["fault.transfer"] = "2M",
        ["fault.replay"] = "page", ["vm.page"] = "64K" } },
    { "batches of 16, page by page", { ["fault.batch"] = 16,
        ["fault.serial"] = true, ["fault.replay"] = "page" } },
    { "whole pages of 2 MB", { ["vm.page"] = "2M", ["vm.round"] = true } },
    { "a bandwidth that grows with the size", { ["fault.transfer"] = "64K",
        ["fault.replay"] = "page", ["link.curve"] = "uvmsmart",
        ["link.bandwidth"] = 12884901888 } },
    { "a slow clock of the link", { ["clock.link"] = 100000000 } },
}

for _, s in ipairs(STRESS) do
    local why
    for _, names in ipairs { { "BFS2", "GUP" }, { "LUD" }, { "3DS", "FWT" } } do
        local ok, err = pcall(function()
            local sim = run(names, whole.join(FAULT, { ["link.latency"] =
                10000 }, s[2]))
            sim:check()
            if sim.core:run(1) ~= "done" then
                why = "it does not end"
            end
            if total(sim, "fault", "pages") == 0 then
                why = "nothing came"
            end
            sim:close()
        end)
        why = why or not ok and tostring(type(err) == "table" and err.message
            or err)
    end
    tap.ok(not why, s[1] .. ": everything ends, checked", why)
end

-- A page that waits for the host is no outstanding miss: of a TLB of one entry,
-- warp 0 touches a page on the host, warp 1 one that has come before, and whose
-- miss parks.  It is walked once the fault is known, and not 20,000 cycles
-- later.
do
    local function wait(under, absent)
        local sim <close> = whole.sim({ H.program(kernel.app {
            name = "far", source = "this test",
            buffers = function() return { kernel.i32("m", 8192) } end,
            kernels = function(_, b)
                return {
                    kernel.kernel("bring", { grid = 1, block = 64 }, function(t)
                        t:load(b.m, 0)
                        t:alu(1)
                        t:load(b.m, 1024)
                        t:alu(1)
                        t:load(b.m, 2048)
                    end),
                    kernel.kernel("touch", { grid = 1, block = 128 },
                        function(t)
                            local warp = t.gid // 64
                            t:when(warp:eq(0), function()
                                t:load(b.m, absent and 4096 or 1024)
                            end)
                            t:when(warp:eq(1), function()
                                t:load(b.m, 0)
                            end)
                        end),
                }
            end }) }, { ["vm.paging"] = "fault", ["core.count"] = 1,
            ["l1tlb.entries"] = 1, ["l1tlb.blocking"] = under,
            ["link.latency"] = 20000, ["l2tlb.mode"] = "off",
            ["walk.mode"] = "fixed:300" })
        sim:run()
        local n = sim:counters()
        -- Of two warps that wait; the first for the page, which is apart.
        local all = 0
        for name, ticks in pairs(n.core) do
            all = all + (name:find "^time_" and ticks or 0)
        end
        return (n.core.time_tlb + n.core.time_walk) * 64 * sim.now // all, n
    end
    local near, n = wait("hits", false)
    tap.is(n.l1tlb.parked, 1, "a miss parks behind another")
    local far, m = wait("hits", true)
    tap.is(m.l1tlb.parked, 1, "and behind one of a page on the host")
    tap.ok(far < near + 400, "but for the first one's second walk nobody waits "
        .. "longer", ("%d and %d cycles"):format(far, near))
    local last = 0
    for _, how in ipairs { "none", "hits", "full" } do
        local cycles = wait(how, true)
        tap.ok(cycles >= last, how .. " waits no less than what passes more")
        last = cycles
    end
end

tap.raises(function()
    whole.sim({ "MM" }, whole.join(FAULT, { ["sim.translation"] = "off" }))
end, "vm.paging", "faults need translation")
tap.raises(function()
    whole.sim({ "MM" }, { ["vm.paging"] = "always" })
end, "none|launch|fault", "modes have names")
do
    local sim = whole.sim({ H.app("GUP", { size = "S" }) }, whole.join(FAULT,
        { ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2040,
            ["vm.page"] = "64K" }))
    tap.raises(function() sim:run() end, "out of frames",
        "memory that is too small for a page is an error")
    sim:close()
end

-- ---- no frame ---------------------------------------------------------------------

--- 44 frames of 2 MB, each in use to a quarter by nobody.
local FULL = whole.join(FAULT, { ["vm.page"] = "2M", ["vm.round"] = true,
    ["vm.memory_bytes"] = 96 << 20, ["vm.table_frames"] = 2048,
    ["memory.fragment_index"] = 100, ["memory.fragment_occupancy"] = 25,
    ["link.latency"] = 1000, ["link.bandwidth"] = 200000000000 })

--- Empties so many frames whenever a page finds none; nil: passes.
local function tidy(frames, more)
    return whole.join({
        name = "tidy", state = { causes = {}, moves = 0 },
        compact_source = function(q, s)
            s.causes[q.cause] = (s.causes[q.cause] or 0) + 1
            local best = 0
            for i = 1, q.n do
                if q.owner[i] == q.apps
                    and (best == 0 or q.used[i] < q.used[best]) then
                    best = i
                end
            end
            return frames and (q.asked < frames and best or 0)
        end,
        compact_target = function(q)
            local best = 1
            for i = 2, q.n do
                if q.used[i] > q.used[best] then
                    best = i
                end
            end
            return best
        end,
        compact_stall = function() return true end,
    }, more or {})
end

do
    local apps = { H.app("GUP", { size = "S" }), H.app("CONS", { size = "S" }) }
    local function full(policy, settings)
        local sim <close> = whole.sim(apps, whole.join(whole.SMALL, FULL,
            settings), { check = true })
        if policy then
            sim:use(policy)
        end
        local ok, err = pcall(sim.run, sim, 40000)
        local state = policy and sim:used()[1].state
        if ok then
            sim:check()
        end
        return ok, tostring(type(err) == "table" and err.message or err),
            sim:counters(), state
    end
    local ok, why, c = full()
    tap.ok(not ok and why:find("out of frames", 1, true)
        and c.memory.compactions == 0, "nobody compacts: out of frames", why)
    local state
    ok, why, c, state = full(tidy())
    tap.ok(not ok and why:find("out of frames", 1, true) and c.memory.moved == 0
        and state.causes.full == 1, "nor does one that passes", why)
    ok, why, c, state = full(tidy(0))
    tap.ok(not ok and why:find("out of frames", 1, true) and c.memory.moved == 0
        and state.causes.full == 1, "or says that it is enough", why)
    ok, why, c, state = full(tidy(1))
    tap.ok(ok and c.fault.faults > 4, "a frame for each page: all is served", why)
    tap.ok(c.memory.emptied == c.fault.faults
        and c.memory.moved == 128 * c.memory.emptied,
        "a quarter of 2 MB moves for each", c.memory.moved)
    tap.ok(state.causes.freed == nil and state.causes.full == 2 * c.fault.faults
        and c.memory.compactions == c.fault.faults,
        "because a page found no frame", c.memory.compactions)
    tap.ok(c.memory.stall_cycles > 1000 and c.mover.copy_reads
        == 32 * c.memory.moved, "which costs copies, and a stall",
        c.memory.stall_cycles)
    local _, _, many = full(tidy(4))
    tap.ok(many.memory.compactions < c.memory.compactions
        and many.memory.compactions > 0, "four at a time are made seldom",
        many.memory.compactions)
    -- 2 MB of single pages at once: some have their frames, and wait for others.
    ok, why, c, state = full(tidy(2, { frame_place = function(q)
        -- only at the beginning of a frame of 2 MB, or behind the last
        return q.again == 0 and q.vpn % 512 == 256 and q.frames or nil
    end }), { ["vm.page"] = "4K", ["fault.transfer"] = "2M" })
    tap.ok(ok and state.causes.full > 0 and c.fault.pages > 1000,
        "a transfer waits for the frames of its second half", why)

    -- Pages that are mapped before cycle 0 find frames in the same way.
    ok, why = full(nil, { ["vm.paging"] = "none" })
    tap.ok(not ok and why:find("out of frames", 1, true),
        "so is an allocation that is mapped refused", why)
    ok, why, c = full(tidy(1), { ["vm.paging"] = "none" })
    tap.ok(ok and c.memory.emptied > 4, "and helped", why)

    -- Whoever only listens does not compact.
    local heard = {}
    for i = 1, 2 do
        local sim <close> = whole.sim({ "GUP" }, whole.join(whole.SMALL,
            FAULT, { ["link.latency"] = 1000 }))
        sim:use { name = "once", frame_place = function(q)
            return q.again == 0 and q.frames or nil
        end }
        local ear <close> = i == 2 and require "heddle.decisions".listen(
            sim.core, { "compact_source" }) or nil
        sim:run()
        heard[i] = whole.statistics(sim)
        heard[i][#heard[i] + 1] = ear and #ear > 0 and "asked" or nil
    end
    tap.ok(not whole.difference(heard[1], heard[2]),
        "listening changes nothing", whole.difference(heard[1], heard[2]))

    -- Where there is room, who compacts changes nothing.
    local plain, with
    for i = 1, 2 do
        local sim <close> = whole.sim({ "GUP", "MM" }, whole.join(whole.SMALL,
            FAULT, { ["link.latency"] = 1000 }))
        if i == 2 then
            sim:use(tidy(1))
        end
        sim:run()
        plain, with = with, whole.statistics(sim, function(component)
            return component == "policy"
        end)
    end
    tap.ok(not whole.difference(plain, with), "with room nobody is asked",
        whole.difference(plain, with))
end

-- ---- one run, however it is cut ---------------------------------------------------

local function fingerprint(sim)
    local out = whole.statistics(sim)
    out[#out + 1] = ("now %d, state %x"):format(sim.now, sim:state_hash())
    return out
end

-- A core is at most a cycle ahead where a budget ends.
local SHORT = { ["xbar.latency"] = 1, ["walk.latency"] = 1 }

local CASES = {
    { "faults of two applications", { "BFS2", "MM" }, { ["vm.paging"] =
        "fault", ["link.latency"] = 3000 } },
    { "batches", { "GUP" }, { ["vm.paging"] = "fault", ["fault.serial"] = true,
        ["fault.batch"] = 8, ["link.latency"] = 700, ["vm.page"] = "64K" } },
    { "2 MB at a time", { "GUP", "MM" }, { ["vm.paging"] = "fault",
        ["fault.transfer"] = "2M", ["link.latency"] = 3000 } },
    { "an ideal L1 TLB, page by page", { "GUP" }, { ["vm.paging"] = "fault",
        ["fault.transfer"] = "2M", ["fault.replay"] = "page",
        ["l1tlb.mode"] = "ideal", ["link.latency"] = 300 } },
    { "coalesced early", { H.app("GUP", { size = "S", budget = 12000 }) }, {
        ["vm.paging"] = "fault", ["link.latency"] = 1000,
        ["link.bandwidth"] = 200000000000, ["xbar.latency"] = 1,
        ["walk.latency"] = 1 }, { "mosaic", { early = 1 } } },
    { "no frames", { H.app("GUP", { size = "S", budget = 4000 }) },
        whole.join(FULL, SHORT), { tidy(1) } },
    { "copies at launch", { "MM", "TRD" }, { ["vm.paging"] = "launch",
        ["link.latency"] = 500 } },
}

for _, c in ipairs(CASES) do
    local function build(more)
        local sim = whole.sim(c[2], whole.join(whole.SMALL, c[3]))
        if c[4] then
            sim:use(table.unpack(c[4]))
        end
        if more then
            sim:use(more)
        end
        return sim
    end
    local straight = build()
    straight:run()
    local want, last = fingerprint(straight), straight.now
    straight:close()
    local sim = build()
    local pieces, i = { 1, 2, 3, 17, 997, 5, 64, 1, 250, 4096, 31 }, 0
    repeat
        i = i + 1
        local word = sim.core:run(pieces[i % #pieces + 1])
    until word ~= "ok"
    local bad = whole.difference(want, fingerprint(sim))
    tap.ok(not bad, ("%s: in odd pieces (%d cycles)"):format(c[1], last), bad)
    sim:close()

    -- No core runs past an epoch: what it has seen before must be the same.
    local function unlike(component, name)
        return component ~= "fault" and component ~= "link"
            and not (component == "core" and name == "instructions")
    end
    straight = build()
    straight:run()
    local whole_run = whole.statistics(straight, unlike)
    straight:close()
    sim = build { name = "pauses", state = {}, every = { 3, function() end } }
    sim:run()
    bad = whole.difference(whole_run, whole.statistics(sim, unlike))
    tap.ok(c[3]["vm.paging"] ~= "fault" or not bad,
        c[1] .. ": with an epoch every 3 cycles", bad)
    sim:close()

    sim, bad = build(), nil
    for k = 1, 9 do
        sim:run(last // 10)
        local snap, here = sim:snapshot(), fingerprint(sim)
        sim:run(last // 7)
        sim:restore(snap)
        bad = bad or whole.difference(here, fingerprint(sim))
        if k == 5 then -- into another simulation
            local other = build()
            other:restore(snap)
            other:run()
            bad = bad or whole.difference(want, fingerprint(other))
            other:close()
        end
    end
    sim:run()
    bad = bad or whole.difference(want, fingerprint(sim))
    tap.ok(not bad, c[1] .. ": with snapshots in the middle", bad)
    sim:close()
end

-- ---- slow links ---------------------------------------------------------------------

-- A transfer that takes longer than sim.stuck_cycles is no standstill.
for _, c in ipairs { { "a latency", { ["link.latency"] = 100000000 } },
    { "a transfer", { ["link.bandwidth"] = 1000000, ["vm.page"] = "64K" } },
    { "a launch", { ["link.latency"] = 100000000,
        ["vm.paging"] = "launch" } } } do
    local sim = whole.sim({ chase(2) }, whole.join(whole.SMALL, FAULT,
        { ["sim.stuck_cycles"] = 1000000, ["sim.stop_cycles"] = 250000000 },
        c[2]))
    local ok, err = pcall(sim.run, sim)
    tap.ok(ok and sim.core:instructions() > 0,
        c[1] .. " longer than stuck_cycles is waited for", tostring(err))
    sim:close()
end

-- ---- looking ----------------------------------------------------------------------

do
    local sim = whole.sim({ chase(2) }, whole.join(whole.SMALL, FAULT))
    sim:run(20000)
    local rows = sim:look("fault", 0)
    tap.is(#rows, 1, "a fault is seen")
    tap.is(rows[1].state, "host", "with its state")
    tap.is(rows[1].pages, 1, "and its pages")
    local text = ""
    for _, row in ipairs(sim:stuck()) do
        for _, v in pairs(row) do
            text = text .. " " .. tostring(v)
        end
    end
    tap.ok(text:find "pages have to come from the host"
        and text:find "the host's latency", "what waits for it is in the graph",
        text)
    tap.is(sim:translate(0, rows[1].vpn << 12), nil, "its page is nowhere yet")
    sim:run(40000)
    tap.ok(sim:translate(0, rows[1].vpn << 12), "and then it is")
    sim:close()
end

-- ---- a policy ---------------------------------------------------------------------

do
    local sim = whole.sim({ "BFS2" }, whole.join(whole.SMALL, FAULT))
    sim:use {
        name = "pairs", state = { arrived = 0 },
        fault_batch = function(q)
            return q.serving == 0 and math.min(q.n, 2) or 0
        end,
        watch = { page_arrived = function(_, s)
            s.arrived = s.arrived + 1
        end },
    }
    sim:run()
    tap.ok(total(sim, "policy", "fault_batch.asked") > 0
        and total(sim, "fault", "batches") < total(sim, "fault", "faults"),
        "a policy serves faults in pairs")
    sim:close()
end

tap.done()

-- 831-time.lua - pins: a run stops at the event of a note, in the cycle in which
-- a condition on a counter or on rows becomes true, and where a policy says
-- stop(), and goes on from each of them as if it never had; watchers come and go
-- between snapshots, those who steer do not; going back to any cycle gives the
-- state that the straight run has there, over what a person did, in little
-- memory, and nobody who watches hears of it; alternatives are what separate
-- simulations give, and leave the one they come from as it was.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local core = require "heddle.core"
local H = require "heddle"

local FAULTS = whole.join(whole.SMALL, { ["vm.paging"] = "fault",
    ["link.latency"] = 1500, ["vm.page"] = "64K", ["evict.unit"] = "64K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1960 })

local function fingerprint(sim)
    local out = whole.statistics(sim)
    out[#out + 1] = ("now %d, %d instructions, state %x"):format(sim.now,
        sim.instructions, sim:state_hash())
    return out
end

-- ---- stops ----------------------------------------------------------------------

for title, settings in pairs { plain = whole.SMALL, faults = FAULTS } do
    local straight = whole.sim({ "GUP", "MM" }, settings)
    straight:run()
    local want, told = whole.statistics(straight), 0
    straight:close()
    for _, note in ipairs(core.notes()) do
        local sim <close> = whole.sim({ "GUP", "MM" }, settings)
        local name = sim:stop_on(note.name, function(_, s)
            s.n = (s.n or 0) + 1
            return s.n % 7 == 1
        end)
        local word, n, last = sim:run(), 0, 0
        while word == "stopped" and n < 100 do
            n = n + 1
            assert(sim.now >= last)
            last = sim.now
            word = sim:run()
        end
        told = told + (n > 0 and 1 or 0)
        sim:unuse(name)
        word = word == "done" and word or sim:run()
        local d = word ~= "done" and word
            or whole.difference(want, whole.statistics(sim))
        tap.ok(not d, ("%s: %d stops on %s"):format(title, n, note.name), d)
    end
    tap.ok(told > 12, title .. ": most notes were told", told)
end

do
    local sim <close> = whole.sim { "GUP" }
    local many = sim:stop_on("walk_done", function(n, s)
        s.requesters, s.cycle = n.requesters, n.cycle
        return n.requesters > 2
    end)
    tap.is(sim:run(), "stopped", "more than two have waited for a walk")
    local s = sim:used()[1].state
    tap.ok(s.requesters > 2 and s.cycle == sim.now,
        "the run has ended in its cycle", s.cycle .. " " .. sim.now)
    tap.is(sim:unuse(many), 1, "a stop is taken away")
    local second = sim:stop_on("tlb_miss", { level = 2, function(n, st)
        assert(n.level == 2)
        st.n = (st.n or 0) + 1
        return st.n == 3
    end })
    tap.is(sim:run(), "stopped", "a stop on notes of one level")
    tap.is(sim:used()[1].state.n, 3, "is asked of these alone")
    tap.is(sim:unuse(second), 1, "and taken away")
    local twin <close> = whole.sim { "GUP" }
    repeat twin.core:run(1) until twin.core:total("l1tlb.misses") >= 300
    local name = sim:stop_on("l1tlb.misses", function(n) return n >= 300 end)
    sim:stop_on("l1tlb.misses", function(n) return n >= 305 end, { every = 64 })
    tap.is(sim:run(), "stopped", "a counter has come to a number")
    tap.is(sim.now, twin.now, "and in the cycle in which it did")
    tap.is(sim:run(), "stopped", "once; another is asked more seldom")
    tap.is(sim.now % 64, 0, "at multiples of its cycles")
    tap.is(sim:unuse(name), 1, "and this one goes by its name, too")
    tap.is(sim:run(200), "ok", "neither stops again")
    tap.is(sim:unuse(), 1, "all go without a name")
end

do
    local sim <close> = whole.sim { "GUP" }
    local twin <close> = whole.sim { "GUP" }
    local function many(rows)
        local n = 0
        for _, r in ipairs(rows) do
            n = n + (r.kind == "request" and 1 or 0)
        end
        return n > 8
    end
    sim:stop_on("dram", many, { instance = 0 })
    repeat twin.core:run(1) until many(twin:look("dram", 0))
    tap.is(sim:run(), "stopped", "a queue is long")
    tap.is(sim.now, twin.now, "in the cycle in which it became so")
    for text, f in pairs {
        ["did you mean 'walk_done'"] = function()
            sim:stop_on("walk_don", many)
        end,
        ["a function is expected, or { field"] = function()
            sim:stop_on "walk_done"
        end,
        ["a function is expected, not a table"] = function()
            sim:stop_on("l1tlb.misses", { many })
        end,
        ["has no field 'levl'"] = function()
            sim:stop_on("tlb_hit", { levl = 2, many })
        end,
        ["applications are 0 to 0, not '1'"] = function()
            sim:stop_on("l1tlb.misses", many, { app = 1 })
        end,
        ["no option 'every' here"] = function()
            sim:stop_on("walk_done", many, { every = 3 })
        end,
        ["at least 1 is expected"] = function()
            sim:stop_on("dram", many, { every = 0 })
        end,
        ["has instances 0 to"] = function()
            sim:stop_on("dram", many, { instance = 99 })
        end,
        ["did you mean 'l1tlb.misses'"] = function()
            sim:stop_on("l1tlb.misse", many)
        end,
    } do
        tap.raises(f, text, "refused: " .. text)
    end
end

do
    local sim <close> = whole.sim { "GUP" }
    sim:use { name = "stopper", state = { n = 0 }, tlb_fill = function(_, s)
        s.n = s.n + 1
        if s.n % 10 == 0 then
            stop() -- luacheck: globals stop
        end
    end }
    local n = 0
    while sim:run() == "stopped" do
        n = n + 1
        assert(sim:used()[1].state.n == 10 * n)
    end
    tap.ok(n > 1, "a policy stops the run", n)
    local plain <close> = whole.sim { "GUP" }
    plain:run()
    tap.is(whole.difference(whole.statistics(plain, whole.no_policy),
        whole.statistics(sim, whole.no_policy)), nil, "which goes on the same")
end

do
    local sim <close> = whole.sim { "GUP" }
    local ok, err = pcall(sim.use, sim, { name = "own", watch = {
        walk_done = function() sim:stop() end } })
    err = tostring(err)
    tap.ok(not ok and err:find("the local 'sim' holds a simulation, which policy "
        .. "code cannot use: it has stop(), counter(), setting() and now()", 1,
        true) and not err:find "traceback", "a policy has a stop() of its own",
        err)
end

do -- an error at the last event is taken back, too
    local sim <close> = whole.sim { "GUP" }
    sim:use { name = "last", watch = { kernel_end = function() error "so" end } }
    tap.raises(function() sim:run() end, "so", "a watcher fails at the end")
    sim:unuse "last"
    tap.is(sim:run(), "done", "the run has ended")
end

-- ---- watchers and snapshots -------------------------------------------------------

do
    local function counter(name)
        return { name = name, state = { n = 0 }, watch = {
            access = function(_, s) s.n = s.n + 1 end } }
    end
    local straight = whole.sim { "GUP", "MM" }
    straight:use("policies/mask.lua", { epoch = 1000 })
    straight:run(3000)
    local middle = fingerprint(straight)
    straight:run()
    local want = fingerprint(straight)
    local sim <close> = whole.sim { "GUP", "MM" }
    sim:use(counter "first")
    sim:use("policies/mask.lua", { epoch = 1000 })
    sim:run(3000)
    local watched = sim:snapshot()
    local n = sim:used()[1].state.n
    tap.ok(n > 10, "a watcher has heard", n)
    sim:use(counter "second")
    sim:run(1000)
    sim:restore(watched)
    tap.is(sim:used()[1].state.n, n, "its state comes back")
    tap.ok(sim:used()[3].state.n > 0, "who came later keeps its own")
    sim:unuse "first"
    sim:restore(watched)
    tap.same(fingerprint(sim), middle, "a watcher may go")
    sim:unuse "second"
    sim:run()
    tap.same(fingerprint(sim), want, "and nothing else changes")
    local free = straight:snapshot()
    sim:use(counter "third")
    sim:restore(free)
    tap.same(fingerprint(sim), want, "a watcher may come")

    local steers <close> = whole.sim { "GUP", "MM" }
    local before = steers:snapshot()
    steers:use { name = "steers", watch = { walk_done = function()
        steer("l2_bypass", 0, 4, true) -- luacheck: globals steer
    end } }
    steers:restore(before)
    steers:run(2000)
    tap.raises(function() steers:restore(before) end,
        "policy steers is bound here only", "who steers is no mere watcher")
    steers:unuse "steers"
    steers:restore(before)
    steers:use("policies/mask.lua")
    tap.raises(function() steers:restore(before) end,
        "policy mask is bound here only", "nor who decides")
end

-- ---- back ---------------------------------------------------------------------------

--- The state hash at some cycles of a straight run; `deed(sim, cycle)` does what
-- a person does.
local function history(build, cycles, deed)
    local sim <close> = build()
    local out = {}
    for i, at in ipairs(cycles) do
        sim:run(at - sim.now)
        out[i] = table.concat(fingerprint(sim), "\n")
        if deed then
            deed(sim, at)
        end
    end
    return out
end

local CYCLES = { 0, 1, 700, 1999, 2000, 2001, 3500, 4096 }

local function check(title, build, bytes)
    local want, bad = history(build, CYCLES), nil
    local sim <close> = build()
    sim:checkpoints(500, bytes)
    sim:run(CYCLES[#CYCLES])
    for i = 1, 60 do
        local k = i * 5 % #CYCLES + 1
        sim:go(CYCLES[k])
        if table.concat(fingerprint(sim), "\n") ~= want[k] then
            bad = bad or CYCLES[k]
        end
    end
    tap.ok(not bad, title, bad)
    return sim.time
end

check("to and fro", whole.maker { "GUP", "MM" })
check("with faults", whole.maker({ "GUP", "MM" }, FAULTS))
check("with policies", whole.maker({ "GUP", "MM" }, nil, nil, {
    { "policies/mask.lua", { epoch = 1000 } },
    { "random", { at = "l2cache" } } }))
check("with contents and a host", whole.maker { "BFS2" })
local t = check("in little memory", whole.maker { "GUP", "MM" }, 40 << 20)
tap.ok(#t.points < 8 and t.bytes <= 40 << 20, "fewer are kept", #t.points)

do
    local sim <close> = whole.sim { "GUP", "MM" }
    sim:run(1000)
    tap.raises(function() sim:back(10) end, "no checkpoints are kept",
        "nothing is kept unless asked for")
    sim:checkpoints(100)
    sim:run(1000)
    tap.raises(function() sim:go(999) end, "checkpoints begin at cycle 1000",
        "nor from before")
    local heard = sim:stop_on("walk_done", function(_, s)
        s.n = (s.n or 0) + 1
        return false
    end)
    sim:stop_on("l1tlb.misses", function(n) return n % 10 == 0 end)
    while sim.now < 3000 do
        sim:run(3000 - sim.now)
    end
    local n = sim:used()[1].state.n
    tap.is(sim:back(950), "ok", "a replay does not stop")
    tap.is(sim.now, 2050, "before it has come where it is to go")
    tap.is(sim:used()[1].state.n, n, "and watchers hear nothing")
    tap.is(sim:unuse(heard), 1, "the watcher goes")
    tap.is(sim:go(3000), "ok", "forward is a replay, too, as far as it was")
    tap.is(sim:go(90000), "stopped", "and a run from there")
end

do
    local function deed(sim, at)
        if at == 700 then
            sim:use("srrip", { at = "l2cache" })
        elseif at == 2000 then
            sim:reset_counters()
        end
    end
    local build = whole.maker({ "GUP", "MM" }, nil, { interval = 300 })
    local want = history(build, CYCLES, deed)
    local sim <close> = build()
    sim:checkpoints(500)
    for _, at in ipairs(CYCLES) do
        sim:run(at - sim.now)
        deed(sim, at)
    end
    local samples = #sim.samples
    for _, k in ipairs { 6, 7, 4, 3, 8 } do
        sim:go(CYCLES[k])
        local got = fingerprint(sim)
        if k ~= 3 then -- where the policy had just been bound
            tap.is(table.concat(got, "\n"), want[k],
                ("at %d, over what was done"):format(CYCLES[k]))
        end
    end
    tap.is(#sim.samples, samples, "the samples are what they were")
    tap.raises(function() sim:go(100) end, "policy srrip is bound here only",
        "not to before a policy that is still bound")
    tap.is(sim.now, CYCLES[#CYCLES], "which leaves it where it is")
    sim:unuse "srrip"
    sim:go(699)
    sim:go(1)
    tap.is(table.concat(fingerprint(sim), "\n"), want[2], "without it")
    local snap = sim:snapshot()
    sim:run(1000)
    sim:restore(snap)
    tap.raises(function() sim:go(0) end, "begin at cycle 1",
        "a restore is another past")
    sim:checkpoints(1000, 1)
    sim:run(2000)
    sim:reset_counters()
    sim:run(1000)
    sim:reset_counters()
    tap.raises(function() sim:go(2500) end, "dropped for lack of memory",
        "what followed a deed goes with its checkpoint")
    sim:checkpoints(false)
    tap.raises(function() sim:back(1) end, "no checkpoints", "none any more")
end

do -- what ends a run does not end its time
    local sim <close> = whole.sim({ "MM", "GUP" }, whole.join(whole.SMALL,
        { ["sim.stuck_cycles"] = 3000 }))
    sim:checkpoints(500)
    sim:run(1200)
    local hash = sim:state_hash()
    sim:use { name = "never", warp_limit = function() return 0 end }
    tap.raises(function() sim:run() end, "no instruction has issued", "stuck")
    sim:unuse "never"
    tap.raises(function() sim:run() end, "no instruction has issued",
        "an error that is no policy's stays")
    sim:go(1199)
    sim:run(1)
    tap.is(sim:state_hash(), hash, "but before it all is as it was")
    sim:use { name = "fails", tlb_fill = function(_, s)
        s.n = (s.n or 0) + 1
        return s.n == 5 and "x" or nil
    end }
    tap.raises(function() sim:run() end, "answered x", "a policy fails")
    local at = sim.now
    sim:back(1)
    tap.is(sim.now, at - 1, "the cycle before can be looked at")
    tap.raises(function() sim:run() end, "answered x", "it fails again")
    sim:unuse "fails"
    tap.is(sim:run(), "done", "and without it the run goes on")
end

-- ---- alternatives ---------------------------------------------------------------

do
    local sim <close> = whole.sim { "GUP", "MM" }
    sim:use("srrip", { at = "l2cache" })
    sim:run(2000)
    local before = fingerprint(sim)
    local spec = { { label = "as is" },
        { policies = { { use = "random", at = "l2cache" }, "policies/lrr.lua" } },
        { unuse = { "srrip" } }, cycles = 1500 }
    local list = sim:what_if(spec)
    tap.same(fingerprint(sim), before, "what it comes from stays as it is")
    for i, alternative in ipairs(spec) do
        local one <close> = whole.sim { "GUP", "MM" }
        one:use("srrip", { at = "l2cache" })
        one:run(2000)
        for _, name in ipairs(alternative.unuse or {}) do
            one:unuse(name)
        end
        for _, p in ipairs(alternative.policies or {}) do
            one:use(p, { replace = true })
        end
        one:reset_counters()
        one:run(1500)
        one.label = list[i].label
        tap.same(H.json.encode(list[i]), H.json.encode(one:results()),
            "alternative " .. list[i].label)
    end
    local text = H.report.compare(list)
    tap.ok(text:find "as is +2 +3" and text:find "\nipc ", "side by side", text)
    spec.jobs = 1
    tap.same(sim:what_if(spec), list, "one after the other")
    for words, o in pairs {
        ["no policy 'none' to unbind"] = { { unuse = { "none" } }, cycles = 1 },
        ["there is no policy 'x'"] = { { policies = { "x" } }, cycles = 1 },
        ["not 'policy'"] = { { policy = "x" }, cycles = 1 },
        ["what_if: cycles"] = { {} },
    } do
        tap.raises(function() sim:what_if(o) end, words, "refused: " .. words)
    end
end

tap.done()

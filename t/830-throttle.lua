-- 830-throttle.lua - pins: cores that core_throttle stops.  They issue nothing
-- and get no blocks, keep those that they have, and go on when the answer says
-- so, when no other core has a block, or when the policy goes; all work is done
-- whatever the answers are; what core_throttle is told is true.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local APPS = { whole.column(8, 24) }
local ONCE = whole.join(whole.SMALL, { ["sim.relaunch"] = false,
    ["throttle.cycles"] = 200 })

--- A machine with a policy of core_throttle alone.
local function machine(answer, settings, apps, state)
    local sim = whole.sim(apps or APPS, whole.join(ONCE, settings or {}))
    if answer then
        sim:use({ name = "stops", core_throttle = answer,
            state = state or {} })
    end
    return sim
end

--- Instructions by core.
local function issued(sim)
    local out = {}
    for core = 0, 3 do
        out[core + 1] = sim:counters { instance = core }.core.instructions
    end
    return out
end

local function total(t)
    local n = 0
    for _, v in ipairs(t) do
        n = n + v
    end
    return n
end

local function ends(sim)
    return sim:run() == "done" and sim.cycles
end

-- ---- who runs ----------------------------------------------------------------

local free = machine()
local span = ends(free)
local all = issued(free)
tap.ok(all[1] > 0 and all[4] > 0, "all cores work where nobody answers")
tap.is(free:counters().throttle.stops, 0, "and none stops")

do
    local sim = machine(function() return 15 end)
    tap.is(ends(sim), span, "all may run: the same cycles")
    sim:close()
end
do
    local sim = machine(function(q)
        return q.cause == "launch" and 1 or q.running
    end)
    local cycles = ends(sim)
    local by = issued(sim)
    tap.same({ by[2], by[3], by[4] }, { 0, 0, 0 },
        "cores that stop before the first block never issue")
    tap.is(by[1], total(all), "the one that runs does all the work")
    tap.ok(cycles > span, "which takes longer")
    tap.is(sim:counters().throttle.stops, 3, "three were stopped")
    sim:close()
end
do
    local sim = machine(function() return 0 end)
    tap.ok(ends(sim), "no core may run: the lowest does")
    tap.is(issued(sim)[1], total(all), "all of it")
    sim:close()
end

-- ---- in the middle of a block --------------------------------------------------

do
    local sim = machine(function(q)
        return q.cause == "epoch" and 3 or q.running
    end)
    sim:run(1000)
    local before = issued(sim)
    sim:run(3000)
    local after = issued(sim)
    tap.is(after[3], before[3], "a core that was stopped issues nothing more")
    tap.ok(after[1] > before[1], "the others do")
    tap.ok(ends(sim), "it ends all the same")
    tap.is(total(issued(sim)), total(all), "with all blocks done")
    tap.ok(sim:counters().throttle.forced >= 1,
        "a block on a core that stood was let go on", "forced")
    sim:close()
end
do
    local sim = machine(function(q)
        return q.cause == "epoch" and 1 or q.running
    end)
    sim:run(900)
    local stood = sim:counters().throttle.stopped_cycles
    sim:run(100)
    tap.is(sim:counters().throttle.stopped_cycles - stood, 300,
        "three cores stand: three cycles a cycle, also when read midway")
    sim:unuse "stops"
    sim:run(400)
    stood = sim:counters().throttle.stopped_cycles
    sim:run(400)
    tap.is(sim:counters().throttle.stopped_cycles, stood,
        "the policy has gone: all go on at the next epoch")
    sim:close()
end

-- ---- what it is told --------------------------------------------------------------

local FAULTS = { ["vm.paging"] = "fault", ["link.latency"] = 500 }

for _, cause in ipairs { "launch", "placed", "epoch", "fault", "served" } do
    local sim = machine(function(q)
        assert(q.cause ~= cause, "it is asked")
        return 15
    end, FAULTS)
    local ok, why = pcall(sim.run, sim)
    tap.ok(not ok and tostring(why):find "it is asked", "asked: " .. cause, why)
    sim:close()
end
do
    local sim = machine(function(q, s)
        if q.cause == "fault" then
            s.faults[q.by + 1] = s.faults[q.by + 1] + 1
        elseif q.cause == "served" then
            s.served[q.by + 1] = s.served[q.by + 1] + 1
            assert(s.served[q.by + 1] <= s.faults[q.by + 1])
        else
            assert(q.by == q.n)
        end
        assert(q.n == 4 and q.running == 15 and q.core[3] == 2)
        assert(q.blocks <= 8)
        for i = 1, 4 do
            assert(q.faults[i] == s.faults[i] and q.resident[i] <= 8)
        end
        return 15
    end, FAULTS, nil, { faults = { 0, 0, 0, 0 }, served = { 0, 0, 0, 0 } })
    tap.ok(ends(sim), "cores, blocks, faults and who runs are as they are")
    sim:close()
end

-- ---- whatever is answered ------------------------------------------------------------

for seed = 1, 12 do
    local sim = machine(function(q, s)
        s.roll = s.roll * 6364136223846793005 + 1442695040888963407
        return (s.roll >> 40) & ((1 << q.n) - 1)
    end, { ["vm.paging"] = seed % 2 == 0 and "fault" or nil,
        ["link.latency"] = 500, ["sim.check"] = true },
        { seed % 3 == 0 and "BFS2" or "HS" }, { roll = seed })
    tap.is(sim:run(), "done", "random answers hold nothing up: " .. seed)
    sim:close()
end

-- ---- the policy of that name -----------------------------------------------------------

do
    local full = whole.sim({ "ATAX" }, { ["vm.paging"] = "fault",
        ["sim.relaunch"] = false }, { machine = "etc" })
    full:run()
    local pages = full:counters().fault.pages // 2
    local function run(what, options)
        local sim = whole.sim({ "ATAX" }, { ["vm.paging"] = "fault",
            ["sim.relaunch"] = false, ["evict.unit"] = "4K",
            ["vm.table_frames"] = 256, ["throttle.cycles"] = 20000,
            ["vm.memory_bytes"] = (256 + pages) * 4096 }, { machine = "etc",
            check = true })
        if what then
            sim:use(what, options)
        end
        tap.is(sim:run(), "done", "half of the memory, "
            .. tostring(what or "no policy"))
        local out = whole.statistics(sim, whole.no_policy)
        local c = sim:counters()
        sim:close()
        return out, c
    end
    local _, base = run()
    tap.ok(base.evict.evictions > 0 and base.throttle.stops == 0,
        "pages leave, no core stops")
    for n = 0, 3 do
        local adapt = n % 2
        local options = { adapt = adapt, detect = 2, execute = 3,
            hold = n // 2 }
        local a, c = run("throttle", options)
        local b = run("policies/throttle.lua", options)
        tap.is(whole.difference(a, b), nil, "C and Lua do the same, adapt = "
            .. adapt)
        tap.ok(c.throttle.stops > 0, "cores stop", c.throttle.stops)
    end
    full:close()
end

free:close()
tap.done()

-- 307-core-throttle.lua - pins: which cores run by an answer of core_throttle:
-- those of its bits, and the lowest where it has none.  What stopped cores cost is
-- in t/830-throttle.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local SETTINGS = whole.join(whole.SMALL, { ["sim.relaunch"] = false })

--- What a run measures, and which of four cores issue, as a set, if the answer
-- is always this.
local function run(answer)
    local sim <close> = whole.sim({ whole.column(8, 24) }, SETTINGS)
    sim:use { name = "stops", core_throttle = function() return answer end }
    local cores = 0
    tap.is(sim:run(), "done", "all work is done: " .. answer)
    for core = 0, 3 do
        if sim:counters { instance = core }.core.instructions > 0 then
            cores = cores | 1 << core
        end
    end
    return cores, table.concat(whole.statistics(sim), "\n"),
        sim:counters().throttle.forced
end

for _, answer in ipairs { 1, 2, 8, 5, 14, 15 } do
    local cores, _, forced = run(answer)
    tap.is(cores, answer, "the cores of the answer: " .. answer)
    tap.is(forced, 0, "and none has to")
end
local lowest, want = run(1)
local none, got = run(0)
tap.ok(none == lowest and got == want, "none is the lowest", none)

-- ---- when it is asked, and for how long cores stop ----------------------------------

do
    local sim <close> = whole.sim({ whole.column(8, 200) },
        whole.join(SETTINGS, { ["throttle.cycles"] = 200 }))
    sim:use { name = "stops", state = { n = {}, core = {} },
        core_throttle = function(q, s)
            s.n[q.cause] = (s.n[q.cause] or 0) + 1
            for i = 1, q.n do
                s.core[i] = q.core[i]
            end
            return q.cause == "epoch" and 2 or q.running
        end }
    for _, now in ipairs { 150, 199, 201, 399, 401, 950 } do
        sim:run(now - sim.now)
        if now == 150 then -- which changes nothing of it
            sim:use { name = "other", watch = { kernel_end = function() end } }
        end
        local c, s = sim:counters().throttle, sim:used()[1].state
        local stopped = math.max(0, now - 200)
        tap.is(s.n.epoch or 0, now // 200, "epochs until " .. now)
        tap.ok(s.n.launch == 1 and s.n.placed == 1 and not s.n.fault,
            "one launch", s.n.launch)
        tap.is(c.stops, stopped > 0 and 3 or 0, "cores that stopped")
        tap.is(c.stopped_cycles, 3 * stopped, "for so long, wherever it is read")
        tap.same(s.core, { 0, 1, 2, 3 }, "of all cores")
    end
    local issued = sim:counters { instance = 0 }.core.instructions
    sim:unuse "stops"
    sim:run(1001 - sim.now)
    tap.is(sim:counters { instance = 0 }.core.instructions, issued,
        "when the policy goes they stand until the epoch ends")
    local stopped = sim:counters().throttle.stopped_cycles
    tap.is(stopped, 3 * 800, "and not longer")
    sim:run(4000)
    tap.ok(sim:counters { instance = 0 }.core.instructions > issued
        and sim:counters().throttle.stopped_cycles == stopped, "then they run")
end

-- Each core has a block, and the last alone runs: when it has none left the
-- lowest of the others has to, and so on.
do
    local sim <close> = whole.sim({ whole.column(4, 24) },
        whole.join(SETTINGS, { ["throttle.cycles"] = 200 }))
    sim:use { name = "last", state = { first = true },
        core_throttle = function(q, s)
            if q.cause == "epoch" and s.first then
                s.first = false
                return 8
            end
            return q.running
        end }
    local order, seen, before = {}, {}, {}
    repeat
        local word = sim:run(100)
        for core = 0, 3 do
            local n = sim:counters { instance = core }.core.instructions
            if sim.now > 400 and n > (before[core] or n) and not seen[core] then
                seen[core] = true
                order[#order + 1] = core
            end
            before[core] = n
        end
    until word ~= "ok"
    tap.same(order, { 3, 0, 1, 2 }, "one after the other")
    local c = sim:counters().throttle
    tap.is(c.forced, 3, "three had to")
    tap.is(c.stops, 3, "that had stopped once")
end

-- Faults of each core, when one waits and when it has been served.
do
    local sim <close> = whole.sim({ whole.column(8, 12) }, whole.join(SETTINGS,
        { ["vm.paging"] = "fault", ["link.latency"] = 300 }))
    sim:use { name = "faults", state = { n = { 0, 0, 0, 0 }, served = 0,
        bad = 0 }, core_throttle = function(q, s)
            if q.cause == "fault" then
                s.n[q.by + 1] = s.n[q.by + 1] + 1
            elseif q.cause == "served" then
                s.served = s.served + 1
            elseif q.by ~= q.n then
                s.bad = s.bad + 1
            end
            for i = 1, q.n do
                s.bad = s.bad + (q.faults[i] ~= s.n[i] and 1 or 0)
            end
            return q.running
        end }
    tap.is(sim:run(), "done", "with faults")
    local s, sum = sim:used()[1].state, 0
    for _, n in ipairs(s.n) do
        sum = sum + n
    end
    tap.ok(s.bad == 0 and sum > 100, "all of them are told", s.bad)
    tap.is(s.served, sum, "and when they are served")
    tap.is(sum, sim:counters().fault.requests, "one for each request")
end
tap.raises(function()
    local sim <close> = whole.sim({ whole.column(8, 4) }, whole.join(SETTINGS,
        { ["core.count"] = 65 }))
    sim:use { name = "stops", core_throttle = function() return 1 end }
    sim:run()
end, "application 0 has more than 64 cores", "an answer has 64 bits")

tap.done()

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

tap.done()

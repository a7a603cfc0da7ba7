-- 464-trace-estimate.lua - pins: heddle trace info machine=NAME: a trace that is run
-- to its end is measured, a longer one estimated from its first part, between two
-- bounds; the estimate counts what is left at the cost of the second half; and
-- what is refused.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
local H = require "heddle"
local trace = require "heddle.trace"
local estimate = require "heddle.estimate"

local dir = files.folder()
local path = dir .. "/gup.hdt"
trace.record(H.app("GUP", { size = "T" }).make(), path)

local function info(line)
    return files.output(files.HEDDLE .. " trace info " .. line)
end

local out = info(path)
tap.ok(not out:find " on maxwell", "nothing is run unless it is asked for", out)
out = info(path .. " machine=maxwell seconds=100")
tap.ok(out:find "\n  on maxwell: [%d.]+ s, to the end\n  in %d+ MB\n",
    "a short one is run to its end", out)
out = info(path .. " machine=maxwell seconds=0.001")
local about, low, high, share = out:match(
    "\n  on maxwell: about ([%d.]+) s %(([%d.]+) s to ([%d.]+) s%), by ([%d.]+) %%")
tap.ok(about and tonumber(low) <= tonumber(about) and tonumber(about)
    <= tonumber(high) and tonumber(share) < 100,
    "of a longer one a part, with bounds", out)
tap.ok(info(path .. " machine=nonesuch"):find "no machine",
    "a machine that there is not")
tap.ok(info(path .. " machine=maxwell seconds=x"):find "a number of seconds",
    "seconds that are none")

-- A simulation that costs one second for the first ten instructions and two for
-- every ten that follow, on a clock of its own.
local clock, now = os.clock, 0
os.clock = function() return now end -- luacheck: ignore 122
local sim = { instructions = 0 }
function sim:run()
    now = now + (self.instructions < 10 and 1 or 2)
    self.instructions = self.instructions + 10
    return "ok"
end
function sim.counters() return { core = { lines = 0 } } end
local w = trace.open(path)
local i = trace.info(w)
local survey = require "heddle.survey"
local run = survey.run
survey.run = function() return { kernels = {} } end
local e = estimate.of(w, i.instructions, sim, 0.5, 9)
survey.run, os.clock = run, clock -- luacheck: ignore 122
local left = i.instructions - sim.instructions
tap.is(e.seconds, 0.5 + 9 + left / 10 * 2, "what is left costs the second half's")
tap.is(e.low, 9.5 + left / 5 * estimate.OFF[1], "the least")
tap.is(e.high, 9.5 + left / 5 * estimate.OFF[2], "the most")
tap.is(e.complete, false, "it is an estimate")

os.execute("rm -rf " .. dir)
tap.done()

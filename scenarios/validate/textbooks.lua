--- textbooks.lua - kernels of a textbook (textbook.lua) on an RTX 2060, beside their
-- times.
--
-- The card of these figures reads memory at 60 % of its peak, so the clock of its DRAM
-- is fitted to one of them, add of 8,192 x 8,192 (rtx2060-slow in cards.lua); hist adds
-- to one word once a cycle, which is where core.atomics of the preset is from.  The
-- others are tests.  Products of matrices and vectors take half of the card's time here:
-- the L1 is too fast for them.  One setting at a time, in microseconds:
--
--                              card    here  l1cache.ports  core.memory_interval
--                                               = 2     = 1        = 8
--   matvec_simple 1024          313     154     212     387        156
--   matmul_simple 512           480     266       -     354        360
--
-- So matvec, whose loads are of 32 lines, is bound by look-ups of lines: four a cycle
-- (AS: gpgpu_l1_banks), where the card is between one and two.  Of matmul, whose loads
-- are of one and two, two fifths of what lacks is that, or that a sub-core starts a load
-- every two cycles (core.memory_interval) and not every eight, as with the 4 load/store
-- units that a white paper gives it; with both it takes 363.  Other settings do not
-- move matvec: l1cache.latency = 64 153, xbar.bytes = 16 150, l2cache.queue = 8 154;
-- l1cache.mshrs = 64 is 502.  Nothing was changed for it: these rows are tests.
--
-- Times are those of launches back to back, which take 0.005 ms at
-- least there and nothing here; where the arrays fit the L2, the second of two launches
-- is taken here.
--
-- Accel-Sim's sixteen traces (scenarios/accelsim) run on the preset, too, in a table of
-- their own: Accel-Sim is no card, and no row.
--
-- quick: sizes of 0.06 to 0.7 ms; full: those of 1 to 4 ms, too.
--
--     heddle run scenarios/validate/textbooks.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"
local textbook = require "textbook"

local arg = H.args(experiment.args {})

local v = common.open { name = "validate/textbooks", arg = arg,
    source = "R100001/Programming-Massively-Parallel-Processors",
    title = "kernels of a textbook on an RTX 2060" }
local x = v.x

local ms = {} -- by kernel, size and, where one is said, block
for i, row in ipairs(common.figures "kernels-rtx2060-ms.csv") do
    if i > 1 then
        local key = ("%s %d"):format(row[1], row[2])
        ms[key] = ms[key] or row[7]
    end
end

--- Name there, size, kernel, parameters, use; full: sizes of full alone.
local LIST = {
    { "add_rows", 2048, "add", {}, "fit" },
    { "add_rows", 8192, "add", {}, "fit", full = true },
    { "add_columns", 1024, "add", { swap = 1 }, "test" },
    { "add_columns", 2048, "add", { swap = 1 }, "test" },
    { "add_columns", 4096, "add", { swap = 1 }, "test", full = true },
    { "gray", 2048, "gray", {}, "test" },
    { "gray", 8192, "gray", {}, "test", full = true },
    { "matmul_simple", 512, "matmul", {}, "test" },
    { "matmul_tiles", 512, "matmul", { tiles = 1 }, "test" },
    { "matvec_simple", 1024, "matvec", {}, "test" },
    { "matvec_simple", 2048, "matvec", {}, "test" },
    { "matvec_simple", 4096, "matvec", {}, "test", full = true },
    { "matvec_shared", 1024, "matvec", { shared = 1 }, "test" },
    { "matvec_shared", 4096, "matvec", { shared = 1 }, "test", full = true },
    { "hist_simple", 131072, "hist", {}, "fit" },
    { "hist_simple", 1048576, "hist", {}, "fit", full = true },
}

--- What is not run, and why.
local LEFT = {
    { "hist_shared", 1048576, "shared memory has no atomics of its own" },
    { "matmul_rect", 512, "how it divides its tiles is not said" },
}

local machine = own.machine "rtx2060-slow"
local MHZ = tonumber(machine:get "clock.core") / 1e3 -- cycles a ms
local FITS = { gray = 4, hist = 4, matvec = 4 } -- bytes of an element that are read

local jobs, at = {}, {}
for _, c in ipairs(LIST) do
    if x.full or not c.full then
        local p = { n = c[2] }
        for name, value in pairs(c[4]) do
            p[name] = value
        end
        local elements = c[3] == "hist" and c[2] or c[2] * c[2]
        p.times = elements * (FITS[c[3]] or 12) <= tonumber(machine:get "l2cache.bytes")
            and 2 or 1
        at[#at + 1] = c
        jobs[#at] = { machine = machine, seed = arg.seed,
            apps = { textbook.of(c[3], p) } }
    end
end

local ratios = { 0, 0 }
local names, there, here = {}, {}, {}
for i, r in ipairs(x:run(jobs)) do
    local c = at[i]
    local key = ("%s %d"):format(c[1], c[2])
    names[i], there[i], here[i] = key, ms[key], kernels.timed(r) / MHZ
    v:row { ("rtx2060: %s"):format(key), unit = "us", measured = ms[key] * 1000,
        heddle = here[i] * 1000, tolerance = 0.25, use = c[5] }
    if c[5] == "test" then
        ratios = { ratios[1] + math.abs(math.log(here[i] / ms[key])), ratios[2] + 1 }
    end
end
v:row { "rtx2060: the tests above, exp(mean |ln ratio|)", unit = "times", measured = 1,
    heddle = math.exp(ratios[1] / ratios[2]), tolerance = 0.15, use = "test" }
for _, c in ipairs(LEFT) do
    local key = ("%s %d"):format(c[1], c[2])
    v:row { "rtx2060: " .. key, unit = "us", measured = ms[key] * 1000, use = "test",
        why = c[3] }
end
x:bars { title = "kernels on an RTX 2060", unit = "ms", groups = names,
    xlabel = "kernel", series = {
    { name = "measured", values = there }, { name = "heddle", values = here } } }

-- ---- Accel-Sim's traces on the preset ----------------------------------------------

local LAUNCH = 5000 -- cycles of a launch in Accel-Sim's
local traces = {}
for line in io.lines(H.here "../accelsim/accelsim-rtx2060.csv") do
    local name, cycles = line:match "^(%w+),(%d+)"
    if name then
        traces[#traces + 1] = { name, cycles - LAUNCH }
    end
end
local write = assert(loadfile(H.here "../accelsim/kernels.lua"))()
local trace = require "heddle.trace"
for i, t in ipairs(traces) do
    local dir = arg.cache .. "/accelsim"
    local path = ("%s/%s-c.hdt"):format(dir, t[1])
    if not experiment.read(path) then
        trace.convert(write.write(dir, t[1]), path .. ".new", { classes = true })
        assert(os.rename(path .. ".new", path))
    end
    jobs[i] = { machine = "rtx2060", seed = arg.seed, apps = { H.trace(path) },
        settings = { ["core.classes"] = true, ["vm.round"] = true } }
end
local rows, sum = { { "trace", "Accel-Sim", "heddle, rtx2060", "ratio" } }, 0
for i, r in ipairs(x:run(table.move(jobs, 1, #traces, 1, {}))) do
    local cycles = r.cycles
    sum = sum + math.abs(math.log(cycles / traces[i][2]))
    rows[i + 1] = { traces[i][1], tostring(traces[i][2]), tostring(cycles),
        ("%.2f"):format(cycles / traces[i][2]) }
end
x:table("Accel-Sim's traces on this preset: cycles, less its 5,000 of a launch; no card",
    rows)
x:say("Accel-Sim's %d traces on rtx2060, with translation, against its SM75_RTX2060: "
    .. "exp(mean |ln ratio|) %.2f; no row, as it is no card", #traces,
    math.exp(sum / #traces))
v:close()

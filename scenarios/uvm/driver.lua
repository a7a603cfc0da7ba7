--- uvm/driver.lua - far faults as NVIDIA's driver serves them: batches, replays.
--
-- Programs with memory for all and pages of 4 KB, in the driver's mode with its
-- defaults, and with each of these changed: how many faults a batch takes, when
-- requests are tried again, whether pages are prefetched.  Beside are figures that
-- Allen and Ge (In-depth analyses of unified virtual memory, SC 2021) measured on
-- a Titan V: transfers are less than a quarter of a batch's time, prefetching
-- saves 93 % of the batches of sgemm, more than 256 faults a batch help up to
-- about 1024, random accesses have 1.04 faults a 2 MB block and batch.
--
--     heddle run scenarios/uvm/driver.lua [scale=full] [programs=MM,GUP]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args { programs = "", size = "" })
local full = arg.scale == "full"
local PROGRAMS = uvm.words(arg.programs, full
    and { "MM", "GUP", "BFS2", "2DCONV", "HS", "ATAX" } or { "BFS2" })
local SIZE = arg.size ~= "" and arg.size or "S"
local BATCH = "uvm.perf_fault_batch_count"
local REPLAY = "uvm.perf_fault_replay_policy"
local CASES = {
    { "default", {} },
    { "batches of 1", { [BATCH] = 1 } },
    { "batches of 32", { [BATCH] = 32 } },
    { "batches of 1024", { [BATCH] = 1024 } },
    { "replay block", { [REPLAY] = "block" } },
    { "replay batch", { [REPLAY] = "batch" } },
    { "replay once", { [REPLAY] = "once" } },
    { "no prefetch", { ["uvm.perf_prefetch_enable"] = false } },
    { "no prefetch, 1", { ["uvm.perf_prefetch_enable"] = false, [BATCH] = 1 } },
    { "paper's mode", { ["uvm.mode"] = "paper" } },
}

local x = experiment.open { name = "uvm/driver",
    source = "NVIDIA's UVM driver; Allen and Ge, SC 2021",
    title = "far faults as the driver serves them", arg = arg }
x:say("%s, size %s, memory for all, pages of 4 KB", table.concat(PROGRAMS, ", "),
    SIZE)

local jobs = {}
for _, name in ipairs(PROGRAMS) do
    for _, c in ipairs(CASES) do
        local settings = { ["uvm.mode"] = "driver", ["vm.page"] = "4K",
            ["fault.prefetch"] = "none", ["link.curve"] = "uvmsmart" }
        for k, v in pairs(c[2]) do
            settings[k] = v
        end
        jobs[#jobs + 1] = uvm.job(x, { name }, SIZE, nil,
            { settings = settings })
    end
end

local STAGES = { "wait", "host", "room", "link", "batch" }
local rows = { { "program", "case", "time", "faults", "batches", "blocks",
    "duplicates", "flushed", "replays" } }
local stages = { { "program", "case", table.unpack(STAGES) } }
local chart = { groups = {}, series = {}, unit = "times",
    xlabel = "settings of the driver",
    title = "Time, that of the driver's defaults as 1" }
for i, name in ipairs(PROGRAMS) do
    chart.series[i] = { name = name, values = {} }
end
local mean, seen = {}, {}
for k, r in ipairs(x:run(jobs)) do
    local p, c = (k - 1) // #CASES + 1, (k - 1) % #CASES + 1
    local name, case = PROGRAMS[p], CASES[c][1]
    local function count(what)
        return uvm.total(r, what) or 0
    end
    if c == 1 then
        seen = {}
    end
    seen[case] = r
    local time = r.cycles / seen.default.cycles
    chart.groups[c], chart.series[p].values[c] = case, time
    mean[case] = (mean[case] or 0.0) + time / #PROGRAMS
    rows[#rows + 1] = { name, case, ("%.2f"):format(time), count "fault.faults",
        count "uvm.batches", count "uvm.blocks", count "uvm.duplicates",
        count "uvm.flushed", count "uvm.replays" }
    local sum, row = 0, { name, case }
    for _, s in ipairs(STAGES) do
        sum = sum + count("fault." .. s .. "_cycles")
    end
    for i, s in ipairs(STAGES) do
        row[i + 2] = H.report.percent(count("fault." .. s .. "_cycles") / sum)
    end
    stages[#stages + 1] = row
    if case == "no prefetch" then
        local saved = 1 - uvm.total(seen.default, "uvm.batches")
            / math.max(count "uvm.batches", 1)
        x:quantity { name .. ": batches that prefetching saves",
            paper = name == "MM" and 93 or nil, heddle = 100 * saved,
            unit = "%" }
        x:quantity { name .. ": faults a block and batch, no prefetch",
            paper = name == "GUP" and 1.04 or nil,
            heddle = (count "uvm.packets" - count "uvm.flushed"
                - count "uvm.duplicates" - count "uvm.stale")
                / math.max(count "uvm.blocks", 1),
            note = "the table of this size is of 3 blocks of 2 MB, theirs of "
                .. "thousands" }
    end
end
local fast = {}
for _, case in ipairs { "default", "batches of 1", "batches of 1024" } do
    fast[case] = 1 / mean[case]
end
x:order { "the larger the batch, the faster", paper = { "batches of 1024",
    "default", "batches of 1" }, heddle = fast }
x:table("time, that of the driver's defaults as 1; what is counted", rows)
x:table("where the time of a fault goes", stages)
x:bars(chart)
x:close()

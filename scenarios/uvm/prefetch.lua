--- uvm/prefetch.lua - what is prefetched, and what is evicted: all of both.
--
-- No paper's figure, but the question of Ganguly et al. (ISCA 2019): a prefetcher
-- and an eviction that do not know of one another undo each other's work.
-- Prefetchers (fault.prefetch): none; the next 64 KB; ETC's 512 KB; a page at
-- random; the tree of UVMSmart; the tree of NVIDIA's driver.  What leaves at once
-- (evict.unit): 2 MB, 64 KB, or the tree's pieces.  Pages are of 4 KB, and a
-- fault costs 45 us, as there; memory is a share of what is touched.  Time is set
-- against no prefetch with memory for all.
--
--     heddle run scenarios/uvm/prefetch.lua [scale=full] [programs=HS,FDTD]
--
-- Accuracy is the share of prefetched pages that were used before they were evicted
-- or the run ended, coverage the share of used pages that had been prefetched, late
-- the share of prefetched pages that were touched in flight.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args { programs = "", size = "S" })
local full = arg.scale == "full"
local PROGRAMS = uvm.words(arg.programs, full and { "2DCONV", "HS", "FDTD", "BFS2",
    "ATAX", "3DS", "GUP" } or { "BFS2", "LPS" })
local AHEAD = { { "none" }, { "sequential" }, { "locality" }, { "random" },
    { "tree" }, { "driver" } }
local MEMORY = { { share = 0, unit = "2M", says = "all", what = "memory for all" } }
for _, share in ipairs(full and { 125, 150 } or { 125 }) do
    for _, unit in ipairs(full and { "2M", "64K", "tree" } or { "2M", "tree" }) do
        MEMORY[#MEMORY + 1] = { share = share, unit = unit, says = share .. " %",
            what = ("%d %%, %s leaves"):format(share, unit) }
    end
end

local x = experiment.open { name = "uvm/prefetch",
    source = "beyond ETC (ASPLOS 2019), section 5",
    title = "prefetchers and evictions", arg = arg }
x:say("size %s, pages of 4 KB, 45 us a fault; memory: the pages touched by the "
    .. "share", arg.size)

local chart = { unit = "times", xlabel = "program, and memory",
    title = "Time by what is prefetched, that without and with all memory as 1" }
local runs, mean = uvm.squeeze(x, { programs = PROGRAMS, size = arg.size,
    shares = MEMORY, cases = AHEAD, chart = chart,
    job = function(ahead, m)
        return { settings = { ["vm.page"] = "4K", ["link.latency"] = 45000,
            ["fault.prefetch"] = ahead[1], ["evict.unit"] = m.unit } }
    end,
    pages = function(touched, m)
        return m.share > 0 and touched * 100 // m.share or nil
    end,
    label = function(name, m)
        return ("%s, %s%s"):format(name, m.says,
            m.share == 0 and "" or ", " .. m.unit)
    end,
})

local function share(n, of)
    return of > 0 and H.report.percent(n / of) or "-"
end

local rows = { { "program", "touched / memory", "evicted", "prefetch", "time", "faults",
    "accuracy", "coverage", "late", "MB migrated", "again" } }
for _, run in ipairs(runs) do
    local m = run.share
    local function count(name)
        return uvm.total(run.result, name) or 0
    end
    rows[#rows + 1] = { run.name, m.says, m.share == 0 and "" or m.unit,
        run.case[1], ("%.2f"):format(run.value), count "fault.faults",
        share(count "evict.used", count "fault.prefetched"),
        share(count "evict.used", count "evict.used" + count "fault.faults"),
        share(count "fault.late", count "fault.prefetched"),
        ("%.1f"):format(count "fault.pages" / 256),
        share(count "evict.refaults", count "fault.pages") }
end
for _, m in ipairs(MEMORY) do
    for _, ahead in ipairs(AHEAD) do
        x:quantity { ("mean time, %s, %s"):format(m.what, ahead[1]),
            heddle = mean[m][ahead[1]], unit = "times" }
    end
end
x:table("times as long as without prefetch and with memory for all", rows)
x:bars(chart)
x:close()

--- uvm/prefetch.lua - what comes ahead, and what leaves: all of both.
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
-- Accuracy is the share of what came ahead that was used before it left or the
-- end came, coverage the share of what was used that had come ahead, late the
-- share of what came ahead that was touched on its way.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args { programs = "", size = "S" })
local full = arg.scale == "full"
local PROGRAMS = uvm.words(arg.programs, full and { "2DCONV", "HS", "FDTD", "BFS2",
    "ATAX", "3DS", "GUP" } or { "BFS2", "LPS" })
local SHARES = full and { 0, 125, 150 } or { 0, 125 } -- 0: memory for all
local AHEAD = { "none", "sequential", "locality", "random", "tree", "driver" }
local UNITS = full and { "2M", "64K", "tree" } or { "2M", "tree" }

local x = experiment.open { name = "uvm/prefetch",
    source = "beyond ETC (ASPLOS 2019), section 5",
    title = "prefetchers and evictions", arg = arg }
x:say("size %s, pages of 4 KB, 45 us a fault; memory: the pages touched by the "
    .. "share", arg.size)

local function job(name, pages, ahead, unit)
    return uvm.job(x, { name }, arg.size, pages, { settings = {
        ["vm.page"] = "4K", ["link.latency"] = 45000,
        ["fault.prefetch"] = ahead, ["evict.unit"] = unit } })
end

local jobs = {}
for i, name in ipairs(PROGRAMS) do
    jobs[i] = job(name, nil, "none", "2M")
end
local whole = x:run(jobs)
local cases = {}
jobs = {}
for i, name in ipairs(PROGRAMS) do
    for _, share in ipairs(SHARES) do
        for _, unit in ipairs(share == 0 and { "2M" } or UNITS) do
            for _, ahead in ipairs(AHEAD) do
                cases[#cases + 1] = { name = name, whole = whole[i],
                    share = share, unit = unit, ahead = ahead }
                jobs[#jobs + 1] = job(name, share > 0
                    and uvm.touched(whole[i]) * 100 // share or nil, ahead, unit)
            end
        end
    end
end

local function share(n, of)
    return of > 0 and H.report.percent(n / of) or "-"
end

local rows = { { "program", "touched / memory", "leaves", "ahead", "time", "faults",
    "accuracy", "coverage", "late", "MB came", "came back" } }
local chart = { groups = {}, series = {}, unit = "times",
    title = "Time by what comes ahead, that without and with all memory as 1" }
for i, ahead in ipairs(AHEAD) do
    chart.series[i] = { name = ahead, values = {} }
end
local mean, n = {}, {}
for i, r in ipairs(x:run(jobs)) do
    local c = cases[i]
    local time = r.cycles / c.whole.cycles
    local memory = c.share == 0 and "all" or c.share .. " %"
    local what = c.share == 0 and "memory for all"
        or ("%d %%, %s leaves"):format(c.share, c.unit)
    local function count(name)
        return uvm.total(r, name) or 0
    end
    rows[#rows + 1] = { c.name, memory, c.share == 0 and "" or c.unit, c.ahead,
        ("%.2f"):format(time), count "fault.faults",
        share(count "evict.used", count "fault.prefetched"),
        share(count "evict.used", count "evict.used" + count "fault.faults"),
        share(count "fault.late", count "fault.prefetched"),
        ("%.1f"):format(count "fault.pages" / 256),
        share(count "evict.refaults", count "fault.pages") }
    local g = (i - 1) // #AHEAD + 1
    chart.groups[g] = ("%s, %s%s"):format(c.name, memory,
        c.share == 0 and "" or ", " .. c.unit)
    chart.series[(i - 1) % #AHEAD + 1].values[g] = time
    if not mean[what] then
        mean[what], n[#n + 1] = {}, what
    end
    mean[what][c.ahead] = (mean[what][c.ahead] or 0.0) + time / #PROGRAMS
end
for _, what in ipairs(n) do
    for _, ahead in ipairs(AHEAD) do
        x:quantity { ("mean time, %s, %s"):format(what, ahead),
            heddle = mean[what][ahead], unit = "times" }
    end
end
x:table("times as long as without prefetch and with memory for all", rows)
x:bars(chart)
x:close()

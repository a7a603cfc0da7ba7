--- uvm/oversubscribe.lua - programs in less memory than they touch, and who
-- leaves.
--
-- No paper's figure: the curve that stands behind those of ETC (ASPLOS 2019),
-- which has 75 and 50 % of memory only.  A program runs once with memory for
-- all, which says how many pages of 64 KB it touches; then in memory of which
-- these are 110 to 200 %, with each choice of what leaves: the unit into which a
-- page came longest ago (the engine's default, NVIDIA's driver, ETC's "age-based
-- LRU"), the one accessed longest ago, the one accessed least, any.  Time is set
-- against the run with memory for all.
--
-- The machine is ETC's: pages of 64 KB, 20 us a fault, 16 GB/s, and its
-- baseline's prefetcher (512 KB from the faulting page on, free frames only).
-- Units are of 64 KB, since ETC's 2 MB are half of the memory of small programs:
-- unit=2M shows that.  All pages are on the host at cycle 0.
--
--     heddle run scenarios/uvm/oversubscribe.lua [scale=full] [unit=2M]
--         [programs=ATAX,FDTD] [prefetch=none] [overlap=true]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local total = uvm.total

local arg = H.args(experiment.args {
    programs = "",         -- names, separated by commas; "": those of the scale
    size = "",             -- "": S, as ETC
    unit = "64K",          -- what leaves at once: 4K, 64K, 2M
    prefetch = "locality", -- none, sequential, locality
    overlap = false,       -- evictions beside fetches
})

local full = arg.scale == "full"
local SIZE = arg.size ~= "" and arg.size or "S"
local PROGRAMS = uvm.words(arg.programs, full and { "3DS", "2DCONV", "HS", "FDTD",
    "BFS2", "ATAX", "MVT", "GUP" } or { "3DS", "BFS2", "ATAX" })
local SHARES = full and { 110, 125, 150, 200 } or { 125, 200 }
local VICTIMS = { { "oldest" }, { "accessed", "lru_accessed" },
    { "frequency", "lfu" }, { "random", "random_unit" } }

local x = experiment.open {
    name = "uvm/oversubscribe",
    source = "beyond ETC (ASPLOS 2019), figures 10 and 13",
    title = "programs in less memory than they touch", arg = arg,
}
x:say("size %s, units of %s, prefetch %s; memory: the 64 KB pages touched by "
    .. "the share", SIZE, arg.unit, arg.prefetch)

--- A run in so many pages of 64 KB; nil: in all that it wants.
local function job(name, pages, policy)
    return uvm.job(x, { name }, SIZE, pages, {
        policies = policy and { policy } or nil,
        settings = { ["fault.prefetch"] = arg.prefetch,
            ["evict.unit"] = arg.unit, ["evict.overlap"] = arg.overlap },
    })
end

-- ---- the runs ------------------------------------------------------------------

local jobs = {}
for i, name in ipairs(PROGRAMS) do
    jobs[i] = job(name)
end
local whole = x:run(jobs)
jobs = {}
for i, name in ipairs(PROGRAMS) do
    local touched = uvm.touched(whole[i])
    for _, share in ipairs(SHARES) do
        for _, v in ipairs(VICTIMS) do
            jobs[#jobs + 1] = job(name, touched * 100 // share, v[2])
        end
    end
end
local squeezed = x:run(jobs)

-- ---- what they say ---------------------------------------------------------------

local rows = { { "program", "touched / memory" } }
local counts = { { "program", "touched / memory", "MB touched", "faults",
    "MB evicted, oldest", "came back", "wait for frames" } }
local chart = { groups = {}, series = {}, unit = "times",
    title = "Time in less memory than is touched, by what leaves",
    note = "Of the time with memory for all." }
for i, v in ipairs(VICTIMS) do
    rows[1][i + 2] = v[1]
    chart.series[i] = { name = v[1], values = {} }
end
local sums, at = {}, 0
for i, name in ipairs(PROGRAMS) do
    for _, share in ipairs(SHARES) do
        local row = { name, share .. " %" }
        chart.groups[#chart.groups + 1] = name .. " " .. share
        sums[share] = sums[share] or {}
        for k, v in ipairs(VICTIMS) do
            local r = squeezed[at + k]
            local slower = r.cycles / whole[i].cycles
            row[k + 2] = ("%.2f"):format(slower)
            chart.series[k].values[#chart.groups] = slower
            sums[share][v[1]] = (sums[share][v[1]] or 0.0) + slower
        end
        local r = squeezed[at + 1]
        local time = total(r, "fault.wait_cycles")
            + total(r, "fault.host_cycles")
            + total(r, "fault.room_cycles")
            + total(r, "fault.link_cycles")
            + total(r, "fault.batch_cycles")
        counts[#counts + 1] = { name, share .. " %",
            ("%.1f"):format(total(whole[i], "fault.pages") / 256),
            total(r, "fault.faults"),
            ("%.1f"):format(total(r, "evict.pages") / 256),
            H.report.percent(total(r, "evict.refaults")
                / math.max(total(r, "fault.pages"), 1)),
            H.report.percent(total(r, "fault.room_cycles")
                / math.max(time, 1)) }
        rows[#rows + 1] = row
        at = at + #VICTIMS
    end
end
for _, share in ipairs(SHARES) do
    for _, v in ipairs(VICTIMS) do
        x:quantity { ("mean slowdown at %d %%, %s leaves"):format(share, v[1]),
            heddle = sums[share][v[1]] / #PROGRAMS, unit = "times" }
    end
end
x:table("times as long as with memory for all", rows)
x:table("what moves where the oldest leaves", counts)
x:bars(chart)
x:close()

--- uvm/oversubscribe.lua - programs in less memory than they touch, and who
-- leaves.
--
-- No paper's figure: the curve that stands behind those of ETC (ASPLOS 2019),
-- which has 75 and 50 % of memory only.  A program runs once with memory for
-- all, which says how many pages of 64 KB it touches; then in memory of which
-- these are 110 to 200 %, with each choice of what leaves: the unit into which a
-- page migrated longest ago (the engine's default, NVIDIA's driver, ETC's "age-based
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
    "BFS2", "ATAX", "MVT", "GUP" } or { "3DS", "ATAX" })
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

local chart = { unit = "times",
    title = "Time in less memory than is touched, by what is evicted",
    note = "Of the time with memory for all.",
    xlabel = "program, and the memory that it touches, % of what there is" }
local runs, mean = uvm.squeeze(x, { programs = PROGRAMS, size = SIZE,
    shares = SHARES, cases = VICTIMS, chart = chart,
    job = function(v)
        return { policies = v[2] and { v[2] } or nil,
            settings = { ["fault.prefetch"] = arg.prefetch,
                ["evict.unit"] = arg.unit, ["evict.overlap"] = arg.overlap } }
    end,
    label = function(name, share) return name .. " " .. share end,
})

local rows = uvm.rows(runs, "program", "touched / memory", "%.2f", "%d %%")
local counts = { { "program", "touched / memory", "MB touched", "faults",
    "MB evicted, oldest", "migrated again", "wait for frames" } }
for i = 1, #runs, #VICTIMS do
    local r = runs[i].result
    local time = 0
    for _, stage in ipairs { "wait", "host", "room", "link", "batch" } do
        time = time + total(r, "fault." .. stage .. "_cycles")
    end
    counts[#counts + 1] = { runs[i].name, runs[i].share .. " %",
        ("%.1f"):format(total(runs[i].whole, "fault.pages") / 256),
        total(r, "fault.faults"), ("%.1f"):format(total(r, "evict.pages") / 256),
        H.report.percent(total(r, "evict.refaults")
            / math.max(total(r, "fault.pages"), 1)),
        H.report.percent(total(r, "fault.room_cycles") / math.max(time, 1)) }
end
for _, share in ipairs(SHARES) do
    for _, v in ipairs(VICTIMS) do
        x:quantity { ("mean slowdown at %d %%, %s leaves"):format(share, v[1]),
            heddle = mean[share][v[1]], unit = "times" }
    end
end
x:table("times as long as with memory for all", rows)
x:table("what moves where the oldest leaves", counts)
x:bars(chart)
x:close()

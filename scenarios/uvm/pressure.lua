--- uvm/pressure.lua - Mosaic, MASK and ETC's eviction in too little memory.
--
-- No paper's figure: Mosaic (MICRO 2017) and MASK (ASPLOS 2018) never evict, ETC
-- (ASPLOS 2019) has one page size and one application.  Two applications share
-- Mosaic's machine; pages migrate by far faults (55 us) and are evicted in units of
-- 2 MB where memory is a share of what both touch.  Performance is the geometric mean
-- of the two applications' speed, GPU-MMU with memory for all as 1.  PE evicts
-- ahead of need.
--
--     heddle run scenarios/uvm/pressure.lua [scale=full] [pairs=HS+CONS]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local uvm = require "common"

local arg = H.args(experiment.args { pairs = "", size = "S" })
local full = arg.scale == "full"
local PAIRS = uvm.pairs(arg.pairs, full
    and { "HS+CONS", "SCAN+FWT", "LUD+SRAD", "BFS2+MM", "GUP+3DS" }
    or { "BFS2+LPS" })
local SHARES = full and { 100, 75, 50 } or { 100, 50 }
local PE = { ["evict.trigger"] = "watermark", ["evict.overlap"] = true }
local DESIGNS = {
    { "GPU-MMU", H.designs.get "GPU-MMU" },
    { "MASK", H.designs.mask() },
    { "Mosaic", H.designs.mosaic() },
    { "both", H.designs.both(H.designs.mask(), H.designs.mosaic()) },
    { "Mosaic, PE", H.designs.mosaic(), PE },
    full and { "2 MB pages", H.designs.get "GPU-MMU 2 MB" } or nil,
}

local x = experiment.open { name = "uvm/pressure",
    source = "beyond Mosaic (MICRO 2017), MASK (ASPLOS 2018), ETC (ASPLOS 2019)",
    title = "page sizes and sharing in too little memory", arg = arg }
x:say("size %s; memory: a share of the 64 KB pages that both touch", arg.size)

local chart = { unit = "times",
    xlabel = "programs, and memory, % of what they touch",
    title = "Speed in too little memory, GPU-MMU with memory for all as 1" }
local runs, mean = uvm.squeeze(x, { programs = PAIRS, size = arg.size,
    shares = SHARES, cases = DESIGNS, chart = chart,
    job = function(d)
        return { machine = d[2].apply(H.machine "mosaic"),
            policies = d[2].policies, settings = d[3] }
    end,
    pages = function(touched, share)
        return touched * share // 100 + (share == 100 and 4096 or 0)
    end,
    label = function(pair, share) return pair .. " " .. share end,
    value = function(run)
        local speed = 1.0
        for a = 1, 2 do
            speed = speed * run.whole.apps[a].cycles / run.result.apps[a].cycles
        end
        return speed ^ 0.5
    end,
})

local rows, counts = uvm.rows(runs, "pair", "memory", "%.3f", "%d %%"),
    { { "pair", "memory", "design", "faults", "MB migrated", "MB evicted", "again",
        "coalesced", "split" } }
for _, run in ipairs(runs) do
    local r = run.result
    counts[#counts + 1] = { run.name, run.share .. " %", run.case[1],
        uvm.total(r, "fault.faults"), uvm.total(r, "fault.pages") // 256,
        uvm.total(r, "evict.pages") // 256, H.report.percent(
            uvm.total(r, "evict.refaults")
            / math.max(uvm.total(r, "fault.pages"), 1)),
        uvm.total(r, "memory.coalesced"), uvm.total(r, "memory.splintered") }
end
for _, share in ipairs(SHARES) do
    for _, d in ipairs(DESIGNS) do
        x:quantity { ("mean speed at %d %%, %s"):format(share, d[1]),
            heddle = mean[share][d[1]] }
    end
end
x:table("speed, GPU-MMU with memory for all as 1", rows)
x:table("what moves", counts)
x:bars(chart)
x:close()

--- pichai/fig04.lua - what misses cost: of the TLB and of the L1 cache.
--
-- Pichai et al. (ASPLOS 2014), figure 4: a miss of the TLB takes about twice as long
-- as one of the L1 cache.  Naive TLB of 128 entries and 3 ports, loose round robin.
-- A TLB miss lasts from its look-up to its answer, the wait for the walker included;
-- a miss of the L1 from its request to its data: l2cache.data_latency, and the path
-- back over the crossbar, which has no part in that.
--
--     heddle run scenarios/pichai/fig04.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig04", "Misses of the TLB and of the L1 cache")
local design = suite.both(suite.LRR, suite.tlb.three)
suite.figure(x, { design }, function(page, all)
    local rows = { { "program", "TLB miss", "of it the walk", "L1 miss", "ratio" } }
    local chart = { groups = {}, title = "Latency of a miss",
        unit = "core cycles", xlabel = "program",
        series = { { name = "L1 cache", values = {} },
            { name = "TLB", values = {} } } }
    for i, row in ipairs(all) do
        local r = row[design.name]
        local tlb = suite.histogram(r, "core.translation_latency").mean
        local l1 = suite.histogram(r, "l2cache.data_latency").mean
            + suite.way_back(page)
        local walk = suite.ratio(r, "walk.busy_cycles", "walk.walks")
        page:quantity { row.program .. ": TLB miss over L1 miss", unit = "times",
            heddle = tlb / l1 }
        rows[i + 1] = { row.program, ("%.0f"):format(tlb), ("%.0f"):format(walk),
            ("%.0f"):format(l1), ("%.2f"):format(tlb / l1) }
        chart.groups[i] = row.program
        chart.series[1].values[i], chart.series[2].values[i] = l1, tlb
    end
    page:quantity { "TLB miss over L1 miss, mean", paper = 2.0, unit = "times",
        kind = "count",
        heddle = suite.mean(all, function(row)
            local r = row[design.name]
            return suite.histogram(r, "core.translation_latency").mean
                / (suite.histogram(r, "l2cache.data_latency").mean
                    + suite.way_back(page))
        end) }
    page:table("Latency of a miss, core cycles", rows)
    page:bars(chart)
end)
x:close()

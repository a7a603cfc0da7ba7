--- mesc/memory.lua - what torn memory leaves of MESC.
--
-- MESC (Yu, Bai, Wang) gives in table II how much of a footprint is contiguous when
-- memhog and no compaction have torn memory, and does not say on which memory its
-- other figures run.  Here is its performance at those six points, by the generator
-- (runs), beside fresh memory and memory in short runs alone.  The paper has no such
-- figure.
--
-- Frames drawn at random are also in other banks of DRAM, which these programs, that
-- go down columns, gain by.  So performance is shown over THP's, and over what the
-- program does on the same frames when translation costs nothing.  At full scale that
-- is 84 % on fresh memory, 45 to 50 % at the six points, and 36 % in short runs alone,
-- where the baseline has as much: 95 % of hits need memory that is hardly torn.
--
--     heddle run scenarios/mesc/memory.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("memory", "MESC on torn memory",
    { size = "M" }) -- less says nothing of it
if x.arg.budget == 0 then
    x.budget = x.full and 300000 or 100000
    x:say("of these the sensitive ones, %d warp instructions", x.budget)
end
local FREE = { ["l1tlb.mode"] = "ideal", ["l1tlb.latency"] = 0 }

local points = { { broken = 0, name = "fresh" } }
for _, p in ipairs(mesc.TABLE2) do
    points[#points + 1] = { broken = p.broken, name = ("memhog %d %%, defrag %s")
        :format(p.hog, p.defrag and "on" or "off") }
end
table.sort(points, function(a, b) return a.broken < b.broken end)
points[#points + 1] = { broken = 1000, name = "short runs alone" }
local designs = mesc.designs { "THP" }
for i, p in ipairs(points) do
    local place = i > 1 and mesc.runs(p.broken) or nil
    for _, kind in ipairs { { "MESC" }, { "free", FREE } } do
        local d = mesc.designs({ "MESC" }, kind[2], place)[1]
        d.key = kind[1] .. " " .. i
        designs[#designs + 1] = d
    end
    if i == 1 or i == #points then
        designs[#designs + 1] = mesc.designs({ "baseline" }, nil, place)[1]
        designs[#designs].key = "baseline " .. i
    end
end
local all = mesc.measure(x, designs, nil, mesc.sensitive)

local function mean(f)
    return (mesc.means(all, f))
end
local rows = { { "memory", "broken, per mille", "contiguous, %",
    "IOMMU hits, %", "MESC, % of THP", "of free translation" } }
local chart = { title = "MESC on torn memory", unit = "%", xlabel = "memory", groups = {},
    series = { { name = "of THP", values = {} },
        { name = "of free translation on these frames", values = {} } } }
for i, p in ipairs(points) do
    local function over(name, other)
        return mean(function(row)
            return mesc.relative(row, name .. " " .. i, other)
        end)
    end
    local of_thp, of_free = over("MESC", "THP"), over("MESC", "free " .. i)
    rows[i + 1] = { p.name, p.broken,
        ("%.1f"):format(mean(function(row)
            return mesc.coverage(row["MESC " .. i])
        end)),
        ("%.1f"):format(mean(function(row)
            return mesc.iommu_hits(row["MESC " .. i])
        end)), ("%.1f"):format(of_thp), ("%.1f"):format(of_free) }
    chart.groups[i] = p.name
    chart.series[1].values[i], chart.series[2].values[i] = of_thp, of_free
    x:quantity { "MESC, " .. p.name, unit = "% of free", heddle = of_free }
    if i == 1 or i == #points then
        x:quantity { "baseline, " .. p.name, unit = "% of free",
            heddle = over("baseline", "free " .. i) }
    end
end
local v = chart.series[2].values
x:order { "MESC by memory", shown = true, paper = { "fresh", "table II", "short runs" },
    heddle = { fresh = v[1], ["table II"] = v[4], ["short runs"] = v[#v] } }
x:note "the paper gives no such numbers; the order is what contiguity should do"
x:table("Means over the programs", rows)
x:bars(chart)
x:close()

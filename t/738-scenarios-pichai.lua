--[[
738-scenarios-pichai.lua - the experiments of scenarios/pichai at scale=quick.

Pinned: what lib/scenarios.lua says of each; where the lanes of a warp walk along
rows of their own (the first launch of KMEANS), CCWS keeps the rows in the L1; quick
runs tell designs apart (lanes diverge, compaction forms warps, schedulers act); each
value has what the choices give beside it, which is what variant= gives.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local scenarios = require "lib.scenarios"
local experiment = require "heddle.experiment"

-- Of size S where it matters that lanes diverge, and once all that quick runs.
local DIVERGE = "size=S cores=1 budget=10000"
local pichai = scenarios.of("pichai", { other = { common = true, levels = true },
    more = "size=T", words = { fig03 = "size=S", fig13 = DIVERGE, fig16 = DIVERGE,
        fig18 = DIVERGE, fig20 = DIVERGE, fig22 = DIVERGE } })
pichai:all(15)
pichai:again "fig16"

-- ---- quick runs tell designs apart -------------------------------------------------

--- The values of a program's row in the table of that title.
local function row(text, title, program)
    local list = {}
    local line = text:match("\n" .. title .. "\n[^\n]*\n(.-)\n\n"):match(
        "%f[%w]" .. program .. " [^\n]*")
    for v in line:gmatch " ([%d.]+)" do
        list[#list + 1] = tonumber(v)
    end
    return list
end

for _, c in ipairs { { "fig13", "Performance over LRR without TLB", 8 },
    { "fig16", "Performance over LRR without TLB", 4 },
    { "fig18", "Performance over LRR without TLB, short%-levels %(BFS%)", 6 },
    { "fig20", "Performance over no TLB, no TBC", 6 },
    { "fig22", "Performance over TBC without TLB", 4 } } do
    local seen, n = {}, 0
    for _, v in ipairs(row(pichai.said[c[1]], c[2], "BFS")) do
        n = n + (seen[v] and 0 or 1)
        seen[v] = true
    end
    tap.ok(n >= c[3], c[1] .. ": designs differ", pichai.said[c[1]])
end
local formed = row(pichai.said.fig20, "Pages a memory instruction and TLB misses a "
    .. "look%-up, augmented TLB", "BFS")
tap.ok(formed[2] > 1.5 * formed[1] and formed[5] > 8,
    "lanes diverge, and compaction fills warps", pichai.said.fig20)

-- ---- choices -----------------------------------------------------------------------

local short = pichai.said.fig10:match("augmented below no TLB, mean [^\n]*\n"
    .. "  short %(BFS%) +(%S+) %%")
local _, run = pichai:run("fig10", "variant=short programs=BFS")
tap.is(run:match "augmented below no TLB, mean +%- +(%S+) %%", short,
    "a column is what its variant gives")
tap.ok(not run:find "levels", "which has no columns", run)
tap.is(table.concat(experiment.choices "scenarios/pichai/fig10.lua", " "),
    "short levels short-levels", "they are found without a run")
tap.is(#experiment.choices "scenarios/pichai/beyond.lua", 0, "maxwell has none")

-- ---- CCWS --------------------------------------------------------------------------

local _, first = pichai:run("fig13", "size=S programs=KMEANS launch=1 cores=30 budget=20000")
local gto, ccws = first:match "KMEANS +1%.000 +([%d.]+) +([%d.]+)"
tap.ok(tonumber(ccws) > 1.5 * tonumber(gto), "CCWS over GTO alone",
    ("%s, %s"):format(gto, ccws))
local ok, text = pichai:run("fig13", "programs=NONE")
tap.ok(not ok and text:find "NONE", "a program that is none", text)
pichai:done()

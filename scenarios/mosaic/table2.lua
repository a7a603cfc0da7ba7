--- mosaic/table2.lua - memory bloat of Mosaic under fragmentation.
--
-- Mosaic (MICRO 2017), table 2: all frames of 2 MB hold others' pages, from 1 to
-- 75 percent of each; how much more memory Mosaic holds than applications use.
-- Where not all frames do, it is below 1 %.
--
-- Held is a base frame that nobody else could use without sharing a frame of
-- 2 MB with the application; the bloat of a set is of its applications'
-- highest values together, and a row is the mean over sets.
--
--     heddle run scenarios/mosaic/table2.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local fragment = require "fragment"
local report = require "heddle.report"
local suite = require "common"

local PAPER = { { 1, 10.66 }, { 10, 7.56 }, { 25, 7.20 }, { 35, 5.22 },
    { 50, 3.37 }, { 75, 2.22 } }
local CAC = fragment.variants[2]

local x = suite.open("table2", "table 2", "memory bloat under fragmentation")
local sets, designs = fragment.sets(x), {}
for _, p in ipairs(PAPER) do
    designs[#designs + 1] = fragment.design(CAC, 100, p[1])
end
local below = fragment.design(CAC, 90, 50)
designs[#designs + 1] = below
local results = {}
for i, set in ipairs(sets) do
    results[i] = fragment.start(x, set, designs)
end
x:say("%d sets of two applications, size %s, when they are mapped; memory of 3 "
    .. "GB for 217 MB of footprint; all frames fragmented", #sets,
    suite.options(x, {}, {}).size)

local function bloat(r, name)
    local run = r[name]
    local held, mapped = report.counter(run, "memory.held_peak"),
        report.counter(run, "memory.mapped_peak")
    return held and 100.0 * (held - mapped) / mapped
end

local groups, here, paper, order = {}, {}, {}, {}
for i, p in ipairs(PAPER) do
    local v = suite.mean(results, function(r)
        return bloat(r, designs[i].name)
    end)
    x:quantity { ("bloat, %d %% of a frame in use"):format(p[1]), unit = "%",
        paper = p[2], heddle = v, why = suite.why.held }
    groups[i], here[i], paper[i] = p[1] .. " %", v, p[2]
    order[i] = groups[i]
end
local low = suite.mean(results, function(r) return bloat(r, below.name) end)
x:quantity { "bloat, 90 % of frames fragmented", unit = "%", said = "< 1 %",
    heddle = low, agrees = low and low < 1, why = suite.why.held }
local values = {}
for i, g in ipairs(groups) do
    values[g] = here[i]
end
x:order { "bloat by occupancy", paper = order, heddle = values, slack = 0.05,
    why = suite.why.held }

local rows = { { "set", table.unpack(groups) } }
for s, r in ipairs(results) do
    rows[s + 1] = { sets[s].name }
    for i in ipairs(PAPER) do
        local b = bloat(r, designs[i].name)
        rows[s + 1][i + 1] = b and ("%.2f %%"):format(b) or "-"
    end
end
x:table("Bloat of each set", rows)
x:bars { title = x.title, unit = "bloat, %", groups = groups,
    series = { { name = "Mosaic here", values = here, marks = paper } } }
x:close()

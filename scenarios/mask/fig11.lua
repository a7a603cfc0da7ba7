--- mask/fig11.lua - MASK against SharedTLB, by class of pair.
--
-- MASK (ASPLOS 2018), figure 11: weighted speedup of all designs, mean of the
-- pairs of 0-, 1- and 2-HMR and of all.  Columns: 64 threads a warp with cores
-- split evenly (the table), the same with the best split, 32 threads, with L1
-- TLBs that block, as those of the released simulator do (causes.lua), and all of
-- that simulator's machine.  MASK means that on each design the split is the
-- best; here it is the reference's.
--
--     heddle run scenarios/mask/fig11.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local PAPER = { [0] = 58.7, 61.2, 52.0, all = 57.8, ideal = 23.2 }
local ORDER = { "Ideal", "MASK", "MASK-Cache", "MASK-DRAM", "SharedTLB",
    "PWCache" }

local x = suite.open("fig11", "figure 11", "MASK against SharedTLB")
local results, o = suite.measure(x, { names = suite.all })

local function gain(r)
    return 100 * (sharing.gain(r, "MASK", "SharedTLB") - 1)
end

local function column(name, r, options)
    x:quantity { "MASK over SharedTLB, mean of ratios" .. name, unit = "%",
        paper = PAPER.all, heddle = gain(r), why = suite.why.gain }
    local _, of_means = sharing.gain(r, "MASK", "SharedTLB")
    x:quantity { "MASK over SharedTLB, ratio of means" .. name, unit = "%",
        heddle = 100 * (of_means - 1) }
    x:quantity { "MASK below Ideal" .. name, unit = "%", paper = PAPER.ideal,
        heddle = 100 * (1 - sharing.gain(r, "MASK", "Ideal")),
        why = suite.why.loss }
    local means = {}
    for _, d in ipairs(options.designs) do
        means[d.name] = sharing.mean(r, d.name)
    end
    x:order { "weighted speedup" .. name, paper = ORDER, heddle = means,
        why = suite.why.order }
    return means
end

local groups, series, n = {}, {}, 0
for i, d in ipairs(o.designs) do
    series[i] = { name = d.name, values = {} }
end
local function group(name, r)
    n = n + 1
    groups[n] = name
    for i, d in ipairs(o.designs) do
        series[i].values[n] = sharing.mean(r, d.name)
    end
end

for hmr = 0, 2 do
    local some = suite.some(results, o, function(set)
        return set.hmr == hmr
    end)
    if #some > 0 then
        x:quantity { ("MASK over SharedTLB, %d-HMR"):format(hmr), unit = "%",
            paper = PAPER[hmr], heddle = gain(some), why = suite.why.gain }
        group(("%d-HMR"):format(hmr), some)
    end
end
group("mean", results)
column("", results, o)
local names = x.full and suite.all or { "Ideal", "SharedTLB", "PWCache",
    "MASK" }
for _, c in ipairs(suite.columns(x, o, results, names)) do
    column(c[1], c.results or sharing.measure(x, c.options), c.options)
end
suite.grouped(x, { title = "Weighted speedup by class", head = "class" },
    groups, series)
suite.pairs_table(x, o, results)
x:close()

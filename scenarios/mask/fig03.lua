--- mask/fig03.lua - what sharing the GPU costs under two designs.
--
-- MASK (ASPLOS 2018), figure 3: 35 pairs of applications share the GPU; the
-- weighted speedup with a page walk cache and with a shared L2 TLB is set
-- against that of an ideal TLB.  Columns: 64 threads a warp with cores split
-- evenly (the table of pairs), the same with the best split, 32 threads, with L1
-- TLBs that block, as those of the released simulator do (causes.lua), and all of
-- that simulator's machine, which comes nearest.
--
--     heddle run scenarios/mask/fig03.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local PAPER = { PWCache = 45.0, SharedTLB = 40.6 }

local x = suite.open("fig03", "figure 3", "two designs against an ideal TLB")
local results, o = suite.measure(x)

local function column(name, r)
    for _, design in ipairs { "PWCache", "SharedTLB" } do
        local ratio, of_means = sharing.gain(r, design, "Ideal")
        x:quantity { ("%s: loss against Ideal%s"):format(design, name),
            unit = "%", paper = PAPER[design], heddle = 100 * (1 - ratio),
            why = suite.why.loss }
        x:quantity { ("%s: ratio of means%s"):format(design, name),
            unit = "%", heddle = 100 * (1 - of_means) }
    end
    local means = {}
    for _, d in ipairs(o.designs) do
        means[d.name] = sharing.mean(r, d.name)
    end
    x:order { "weighted speedup" .. name, paper = { "Ideal", "SharedTLB",
        "PWCache" }, heddle = means, why = suite.why.pwcache }
end

column("", results)
for _, c in ipairs(suite.columns(x, o, results)) do
    column(c[1], c.results or sharing.measure(x, c.options))
end
suite.pairs_table(x, o, results)
x:close()

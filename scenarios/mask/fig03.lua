--- mask/fig03.lua - what sharing the GPU costs under two designs.
--
-- MASK (ASPLOS 2018), figure 3: 35 pairs of applications share the GPU; the
-- weighted speedup with a page walk cache and with a shared L2 TLB is set
-- against that of an ideal TLB.
--
--     heddle run scenarios/mask/fig03.lua [scale=full] [partition=oracle]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local sharing = require "heddle.sharing"
local suite = require "common"

local arg = H.args(experiment.args { partition = "even", lanes = 64 })
local x = experiment.open {
    name = "mask/fig03", source = "MASK (ASPLOS 2018), figure 3",
    title = "two designs against an ideal TLB", arg = arg,
}
local o = suite.options(x, { designs = H.designs.list })
local results = sharing.measure(x, o)

suite.say(x, o)
for _, q in ipairs { { "PWCache", 45.0 }, { "SharedTLB", 40.6 } } do
    local ratio, of_means = sharing.gain(results, q[1], "Ideal")
    x:quantity { q[1] .. ": loss against Ideal, mean of ratios", unit = "%",
        paper = q[2], heddle = 100 * (1 - ratio), why = suite.why.loss }
    x:quantity { q[1] .. ": loss against Ideal, ratio of means", unit = "%",
        heddle = 100 * (1 - of_means) }
end
x:order { "weighted speedup", paper = { "Ideal", "SharedTLB", "PWCache" },
    heddle = { Ideal = sharing.mean(results, "Ideal"),
        SharedTLB = sharing.mean(results, "SharedTLB"),
        PWCache = sharing.mean(results, "PWCache") } }
suite.pairs_table(x, o, results)
x:close()

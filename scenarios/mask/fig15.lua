--- mask/fig15.lua - unfairness, by class of pair.
--
-- MASK (ASPLOS 2018), recalled as figure 15: the largest slowdown of an
-- application of a pair, mean of the pairs of 0-, 1- and 2-HMR, under all
-- designs; lower is better.  MASK's is 22.4 % below SharedTLB's (section 7.1);
-- those of the classes are not known.
--
--     heddle run scenarios/mask/fig15.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local sharing = require "heddle.sharing"
local suite = require "common"

local x = suite.open("fig15", "recalled as figure 15", "unfairness")
local results, o = suite.measure(x, { names = suite.all })
x:quantity(sharing.claim({ "MASK's unfairness against SharedTLB's (sec71)",
    shown = true, paper = -22.4 }, results, "MASK", "SharedTLB", "unfairness"))
local fair = {}
for _, d in ipairs(o.designs) do
    fair[d.name] = 1 / sharing.mean(results, d.name, "unfairness")
end
x:order { "fairness (1 / unfairness)", paper = { "MASK", "SharedTLB" },
    heddle = fair }
local groups, series = {}, {}
for i, d in ipairs(o.designs) do
    series[i] = { name = d.name, values = {} }
end
for hmr = 0, 3 do
    local some = suite.some(results, o, function(set)
        return hmr == 3 or set.hmr == hmr
    end)
    if #some > 0 then
        groups[#groups + 1] = hmr == 3 and "mean" or ("%d-HMR"):format(hmr)
        for i, d in ipairs(o.designs) do
            series[i].values[#groups] = sharing.mean(some, d.name,
                "unfairness")
        end
    end
end
suite.grouped(x, { title = "Unfairness", unit = "largest slowdown",
    head = "class" }, groups, series)
x:close()

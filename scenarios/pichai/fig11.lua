--- pichai/fig11.lua - more walkers, or one that is augmented.
--
-- Pichai et al. (ASPLOS 2014), figure 11: naive TLBs with 1, 2, 4 and 8 walkers in a
-- core, and an augmented one with a single walker, over no translation, with loose
-- round robin.
--
--     heddle run scenarios/pichai/fig11.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig11", "More walkers, or one that is augmented")
local T = suite.tlb
local ideal = suite.both(suite.LRR, T.ideal)
local augmented = suite.both(suite.LRR, T.augmented)
local designs, order = { ideal, augmented }, { augmented.name }
for _, walkers in ipairs { 8, 4, 2, 1 } do
    local d = suite.both(suite.LRR, suite.with(T.naive,
        ("naive, %d walkers"):format(walkers), { ["walk.walkers"] = walkers }))
    designs[#designs + 1], order[#order + 1] = d, d.name
end
suite.figure(x, designs, function(page, all)
    page:quantity { "augmented, 1 walker, over naive, 8 walkers, mean", paper = 10,
        unit = "%", kind = "gain", heddle = suite.mean(all, function(row)
            return suite.gain(row[augmented.name], row[designs[3].name])
        end) }
    suite.order(page, all, "walkers", order)
    suite.show(page, all, designs, ideal, "Performance over no TLB")
end)
x:close()

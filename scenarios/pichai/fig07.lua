--- pichai/fig07.lua - TLBs that do not block.
--
-- Pichai et al. (ASPLOS 2014), figure 7: a naive TLB of 128 entries and 4 ports, then
-- with hits under a miss, then with an instruction's lines that proceed while others of
-- its pages are walked, over no translation, with loose round robin.
--
--     heddle run scenarios/pichai/fig07.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig07", "TLBs that do not block")
local T = suite.tlb
local designs = {}
for i, tlb in ipairs { T.ideal, T.naive, T.hits, T.overlap } do
    designs[i] = suite.both(suite.LRR, tlb)
end
local ideal, naive, hits, overlap = table.unpack(designs)
suite.figure(x, designs, function(page, all)
    page:quantity { "overlap over hits under a miss, STREAMCLUSTER", paper = 8,
        unit = "%", kind = "gain", n = 1, of = 1, heddle = suite.mean(all, function(row)
            return suite.gain(row[overlap.name], row[hits.name])
        end, { STREAMCLUSTER = true }) }
    for _, d in ipairs { naive, hits, overlap } do
        page:quantity { d.name .. ": below no TLB, mean", unit = "%",
            heddle = suite.below(all, d, ideal) }
    end
    suite.order(page, all, "what is added", { overlap.name, hits.name, naive.name })
    suite.show(page, all, designs, ideal, "Performance over no TLB")
end)
x:close()

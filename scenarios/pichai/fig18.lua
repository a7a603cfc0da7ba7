--- pichai/fig18.lua - TCWS that adds points for hits by their depth.
--
-- Pichai et al. (ASPLOS 2014), figure 18: TCWS with 8 page tags a warp, and points
-- for hits in the TLB by their depth in LRU order, with the augmented TLB; beside
-- CCWS without translation.
--
--     heddle run scenarios/pichai/fig18.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig18", "TCWS by points for hits")
local T = suite.tlb
local designs = { suite.both(suite.LRR, T.ideal), suite.both(suite.CCWS,
    T.ideal), suite.both(suite.TA(4), T.augmented) }
for _, lru in ipairs { 0, 1234, 1248, 1369 } do
    designs[#designs + 1] = suite.both(suite.TCWS(8, lru), T.augmented)
end
suite.figure(x, designs, function(page, all)
    local _, free, aware, plain, _, best = table.unpack(designs)

    suite.compare(page, { "TCWS 8 LRU(1,2,4,8) below CCWS without TLB, mean", from = 1,
        to = 15 }, all, best, free)
    suite.order(page, all, "with points, without, and lines", { best.name, plain.name,
        aware.name })
    suite.show(page, all, designs, designs[1], "Performance over LRR without TLB")
end)
x:close()

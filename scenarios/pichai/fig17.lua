--- pichai/fig17.lua - TCWS by victim tags of pages.
--
-- Pichai et al. (ASPLOS 2014), figure 17: TLB-conscious warp scheduling with 2 to
-- 16 page tags a warp, no points for hits, with the augmented TLB; beside CCWS
-- without translation.
--
--     heddle run scenarios/pichai/fig17.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig17", "TCWS by page tags a warp")
local T = suite.tlb
local designs = { suite.both(suite.LRR, T.ideal), suite.both(suite.CCWS,
    T.ideal), suite.both(suite.TA(4), T.augmented) }
local eight
for _, entries in ipairs { 2, 4, 8, 16 } do
    local d = suite.both(suite.TCWS(entries, 0), T.augmented)
    designs[#designs + 1] = d
    eight = entries == 8 and d or eight
end
suite.figure(x, designs, function(page, all)
    suite.compare(page, { "TCWS 8 below CCWS without TLB, mean", from = 5, to = 15 }, all,
        eight, designs[2])
    suite.order(page, all, "8 page tags and 16 line tags", { eight.name, designs[3].name })
    suite.show(page, all, designs, designs[1], "Performance over LRR without TLB")
end)
x:close()

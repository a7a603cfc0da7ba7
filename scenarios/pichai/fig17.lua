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
    eight = entries == 8 and d.name or eight
end
local all = suite.measure(x, designs)
local free, aware = designs[2].name, designs[3].name

local gap = -suite.mean(all, function(row)
    return suite.gain(row[eight], row[free])
end)
x:quantity { "TCWS 8 below CCWS without TLB, mean", unit = "%",
    said = "5 to 15", heddle = gap, agrees = gap <= 15,
    why = suite.why.walks }
suite.order(x, all, "8 page tags and 16 line tags", { eight, aware },
    suite.why.walks)
suite.show(x, all, designs, designs[1], "Performance over LRR without TLB")
x:close()

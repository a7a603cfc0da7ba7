--- pichai/fig02.lua - what naive TLBs cost.
--
-- Pichai et al. (ASPLOS 2014), figure 2: a naive TLB of 128 entries and 3 ports in
-- each core, beside no translation: with loose round robin, with cache-conscious
-- wavefront scheduling, and with thread block compaction (whose warps go by age).
--
--     heddle run scenarios/pichai/fig02.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig02", "What naive TLBs cost")
local T = suite.tlb
local designs, cases = {}, {}
for i, c in ipairs { { suite.LRR, 20, 50 },
    { suite.CCWS, 30, 50 },
    { suite.both(suite.TBC(), suite.GTO), 20, 25 } } do
    cases[i] = { with = suite.both(c[1], T.three),
        without = suite.both(c[1], T.ideal), who = c[1].name, from = c[2],
        to = c[3] }
    table.insert(designs, cases[i].without)
    table.insert(designs, cases[i].with)
end
suite.figure(x, designs, function(page, all)
    for _, c in ipairs(cases) do
        suite.compare(page, { ("%s: lost to a naive TLB, mean"):format(c.who),
            from = c.from, to = c.to }, all, c.with, c.without)
    end
    suite.show(page, all, designs, designs[1], "Performance over LRR without TLB")
end)
x:close()

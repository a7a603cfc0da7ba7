--- pichai/fig02.lua - what naive TLBs cost.
--
-- Pichai et al. (ASPLOS 2014), figure 2: a naive TLB of 128 entries and 3 ports in
-- each core, beside no translation: with loose round robin, with cache-conscious
-- wavefront scheduling, and with thread block compaction (whose warps go by age).
-- Then the same with loose round robin and a short way to the L2 cache, which the
-- paper leaves open: four reads make a walk.
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
    { suite.both(suite.TBC(), suite.GTO), 20, 25 },
    { suite.LRR, 20, 50, suite.near } } do
    local way = c[4] or function(tlb) return tlb end
    cases[i] = { with = suite.both(c[1], way(T.three)),
        without = suite.both(c[1], way(T.ideal)), who = c[1].name
            .. (c[4] and ", short way" or ""), from = c[2], to = c[3],
        shown = c[4] ~= nil }
    table.insert(designs, cases[i].without)
    table.insert(designs, cases[i].with)
end
local all = suite.measure(x, designs)
for _, c in ipairs(cases) do
    suite.compare(x, { ("%s: lost to a naive TLB, mean"):format(c.who),
        from = c.from, to = c.to, shown = c.shown }, all, c.with, c.without)
end
suite.show(x, all, designs, designs[1], "Performance over LRR without TLB")
x:close()

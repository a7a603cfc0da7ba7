--- pichai/fig13.lua - CCWS with and without TLBs.
--
-- Pichai et al. (ASPLOS 2014), figure 13: cache-conscious wavefront scheduling
-- without translation, and with naive and augmented TLBs, over loose round robin
-- without translation.  CCWS has greedy then oldest underneath, so that is
-- printed alone, too.
--
--     heddle run scenarios/pichai/fig13.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig13", "CCWS with and without TLBs")
local T = suite.tlb
local designs, of = {}, {}
for _, tlb in ipairs { T.ideal, T.naive, T.augmented } do
    of[tlb] = {}
    for _, who in ipairs { suite.LRR, suite.GTO, suite.CCWS } do
        local d = suite.both(who, tlb)
        designs[#designs + 1], of[tlb][who] = d, d.name
    end
end
suite.figure(x, designs, function(page, all)
    local function gain(tlb, who, over, base)
        return suite.mean(all, function(row)
            return suite.gain(row[of[tlb][who]], row[of[over][base]])
        end)
    end

    local base = suite.LRR
    suite.claim(page, { "CCWS over LRR, no TLB, mean", from = 20, unit = "%",
        kind = "gain" }, gain(T.ideal, suite.CCWS, T.ideal, base))
    suite.claim(page, { "GTO over LRR, no TLB, mean", unit = "%", kind = "gain" },
        gain(T.ideal, suite.GTO, T.ideal, base))
    for _, tlb in ipairs { T.naive, T.augmented } do
        suite.claim(page, { ("CCWS over LRR, %s TLB, mean"):format(tlb.name), from = 5,
            to = 10, unit = "%", kind = "gain" }, gain(tlb, suite.CCWS, tlb, base))
        suite.claim(page, { ("CCWS without TLB over CCWS, %s TLB, mean"):format(tlb.name),
            from = 50, to = 120, unit = "%", kind = "gain" }, gain(T.ideal, suite.CCWS,
            tlb, suite.CCWS))
    end
    suite.show(page, all, designs, designs[1], "Performance over LRR without TLB")
end)
x:close()

--- pichai/fig16.lua - CCWS that counts misses of the TLB for more.
--
-- Pichai et al. (ASPLOS 2014), figure 16: TA-CCWS, where a line that a warp has
-- lost counts 1, 2 or 4 times as much if its page had missed the TLB, too, with
-- the augmented TLB; beside CCWS without translation.
--
--     heddle run scenarios/pichai/fig16.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig16", "CCWS that is aware of TLBs")
local T = suite.tlb
local designs = { suite.both(suite.LRR, T.ideal), suite.both(suite.CCWS,
    T.ideal), suite.both(suite.CCWS, T.augmented) }
for _, weight in ipairs { 2, 4 } do
    designs[#designs + 1] = suite.both(suite.TA(weight), T.augmented)
end
suite.figure(x, designs, function(page, all)
    local free, equal, four = designs[2].name, designs[3].name, designs[5].name
    local NEAR = { MUM = true, MEMC = true, STREAMCLUSTER = true,
        PATHFINDER = true }

    local four_most, two_least
    for _, row in ipairs(all) do
        local below = -suite.gain(row[four], row[free])
        page:quantity { row.program .. ": TA-CCWS 4:1 below CCWS without TLB", unit = "%",
            heddle = below }
        if NEAR[row.program] then
            four_most = math.max(four_most or below, below)
        else
            two_least = math.min(two_least or below, below)
        end
    end
    page:quantity { "4:1 below CCWS without TLB, most of the four", unit = "%",
        kind = "loss", from = 5, to = 10, heddle = four_most }
    page:quantity { "4:1 below CCWS without TLB, least of BFS and KMEANS", unit = "%",
        kind = "loss", from = 10, heddle = two_least }
    suite.order(page, all, "weights", { four, designs[4].name, equal })
    suite.show(page, all, designs, designs[1], "Performance over LRR without TLB")
end)
x:close()

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
local all = suite.measure(x, designs)
local free, equal, four = designs[2].name, designs[3].name, designs[5].name
local NEAR = { MUM = true, MEMC = true, STREAMCLUSTER = true,
    PATHFINDER = true }

for _, row in ipairs(all) do
    local near = NEAR[row.program]
    suite.range(x, { row.program .. ": TA-CCWS 4:1 below CCWS without TLB",
        unit = "%", from = near and 5 or 10, to = near and 10,
        heddle = -suite.gain(row[four], row[free]), why = suite.why.aware })
end
suite.order(x, all, "weights", { four, designs[4].name, equal },
    suite.why.aware)
suite.show(x, all, designs, designs[1], "Performance over LRR without TLB")
x:close()

--- pichai/fig22.lua - TLB-aware thread block compaction.
--
-- Pichai et al. (ASPLOS 2014), figure 22: a common page matrix of 1 to 3 bits a
-- counter says whose threads may share a warp (policy cpm), beside compaction that
-- does not care, with the augmented TLB and without translation.
--
--     heddle run scenarios/pichai/fig22.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local report = require("heddle").report

local x = suite.open("fig22", "TLB-aware thread block compaction")
local T = suite.tlb

local function design(bits, tlb)
    return suite.both(suite.both(suite.TBC(bits), suite.GTO), tlb)
end

local designs = { design(nil, T.ideal), design(nil, T.augmented) }
for bits = 1, 3 do
    table.insert(designs, design(bits, T.augmented))
end
local all = suite.measure(x, designs)
local free, agnostic = designs[1].name, designs[2].name
local one, three = designs[3].name, designs[5].name

local gap = -suite.mean(all, function(row)
    return suite.gain(row[three], row[free])
end)
x:quantity { "3 bits below TBC without TLB, mean", said = "3 to 12", unit = "%",
    heddle = gap, agrees = gap >= 3 and gap <= 12, why = suite.why.walks }
local gain = suite.mean(all, function(row)
    return suite.gain(row[one], row[agnostic])
end)
x:quantity { "1 bit over TBC that does not care, mean", said = "15 to 20",
    unit = "%", heddle = gain, agrees = gain >= 15 and gain <= 20,
    why = suite.why.matrix }
x:quantity { "threads a formed warp: TBC", unit = "threads",
    heddle = suite.mean(all, function(row)
        return report.counter(row[agnostic], "core.formed_threads")
            / math.max(1, report.counter(row[agnostic], "core.formed_warps"))
    end) }
x:quantity { "threads a formed warp: 3 bits", unit = "threads",
    heddle = suite.mean(all, function(row)
        return report.counter(row[three], "core.formed_threads")
            / math.max(1, report.counter(row[three], "core.formed_warps"))
    end) }
x:quantity { "threads kept out of a warp: 3 bits, mean", unit = "threads",
    heddle = suite.mean(all, function(row)
        return report.counter(row[three], "core.joins_refused")
    end) }
suite.order(x, all, "3 bits and no care", { three, agnostic },
    suite.why.matrix)
suite.show(x, all, designs, designs[1], "Performance over TBC without TLB")
x:close()

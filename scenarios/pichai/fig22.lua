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
local counter = require("heddle").report.counter

local x = suite.open("fig22", "TLB-aware thread block compaction")
local T = suite.tlb

local function design(bits, tlb)
    return suite.both(suite.both(suite.TBC(bits), suite.GTO), tlb)
end

local designs = { design(nil, T.ideal), design(nil, T.augmented) }
for bits = 1, 3 do
    table.insert(designs, design(bits, T.augmented))
end
suite.figure(x, designs, function(page, all)
    local free, agnostic, one, _, three = table.unpack(designs)

    suite.compare(page, { "3 bits below TBC without TLB, mean", from = 3, to = 12 }, all,
        three, free)
    suite.compare(page, { "1 bit over TBC that does not care, mean", kind = "gain", from = 15,
        to = 20 }, all, one, agnostic)
    for _, d in ipairs { agnostic, three } do
        page:quantity { "threads a formed warp: " .. d.name, unit = "threads",
            heddle = suite.mean(all, function(row)
                return suite.ratio(row[d.name], "core.formed_threads",
                    "core.formed_warps")
            end) }
    end
    page:quantity { "threads kept out of a warp: 3 bits, mean", unit = "threads",
        heddle = suite.mean(all, function(row)
            return counter(row[three.name], "core.joins_refused")
        end) }
    suite.order(page, all, "3 bits and no care", { three.name, agnostic.name })
    suite.show(page, all, designs, designs[1], "Performance over TBC without TLB")
end)
x:close()

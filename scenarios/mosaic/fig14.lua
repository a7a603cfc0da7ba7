--- mosaic/fig14.lua - how many TLB entries for base pages.
--
-- Mosaic (MICRO 2017), figure 14: GPU-MMU and Mosaic with 8 to 256 base entries
-- in the L1 TLBs and with 64 to 4096 in the L2 TLB.  GPU-MMU needs both; Mosaic
-- is nearly flat in the first (-7.6 % at 8 entries) and needs the second for
-- pages that are not coalesced.
--
-- A quantity of "flat" agrees when fewest and most entries are within 8 % of
-- each other, of "sensitive" when they are not: the paper's own -7.6 % is flat.
--
--     heddle run scenarios/mosaic/fig14.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local sweep = require "sweep"

local x = suite.open("fig14", "figure 14", "TLB entries for base pages")
local L1 = { "l1tlb.entries", { 8, 16, 32, 64, 128, 256 }, { 8, 128 },
    title = "Base entries of an L1 TLB" }
local L2 = { "l2tlb.entries", { 64, 128, 256, 512, 1024, 4096 }, { 64, 4096 },
    title = "Base entries of the L2 TLB" }
local found = sweep.measure(x, { L1, L2 })

local mosaic = found[L1[1]].Mosaic
x:quantity { "Mosaic, 8 instead of 128 L1 base entries", unit = "%",
    kind = "gain", paper = -7.6, heddle = 100 * (mosaic[8] / mosaic[128] - 1) }
for _, q in ipairs { { L1, "GPU-MMU", "sensitive" }, { L1, "Mosaic", "flat" },
    { L2, "GPU-MMU", "sensitive" }, { L2, "Mosaic", "sensitive" } } do
    local s, design, kind = q[1], q[2], q[3]
    sweep.claim(x, s, design, kind == "flat", found[s[1]][design])
end
sweep.show(x, L1, found)
sweep.show(x, L2, found)
x:close()

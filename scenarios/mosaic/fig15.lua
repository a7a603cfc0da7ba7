--- mosaic/fig15.lua - how many TLB entries for large pages.
--
-- Mosaic (MICRO 2017), figure 15: GPU-MMU and Mosaic with 4 to 64 large entries
-- in the L1 TLBs and with 32 to 512 in the L2 TLB.  GPU-MMU does not use them;
-- Mosaic needs them.
--
-- Flat and sensitive are as in fig14.lua, with 1 % for GPU-MMU, whose pages
-- never enter the large arrays.
--
--     heddle run scenarios/mosaic/fig15.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local sweep = require "sweep"

local x = suite.open("fig15", "figure 15", "TLB entries for large pages")
local L1 = { "l1tlb.large_entries", { 4, 8, 16, 32, 64 }, { 4, 64 },
    title = "Large entries of an L1 TLB" }
local L2 = { "l2tlb.large_entries", { 32, 64, 128, 256, 512 }, { 32, 512 },
    title = "Large entries of the L2 TLB" }
local found = sweep.measure(x, { L1, L2 })

for _, s in ipairs { L1, L2 } do
    sweep.claim(x, s, "GPU-MMU", true, found[s[1]]["GPU-MMU"])
    sweep.claim(x, s, "Mosaic", false, found[s[1]].Mosaic)
end
sweep.show(x, L1, found)
sweep.show(x, L2, found)
x:close()

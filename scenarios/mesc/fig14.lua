--- mesc/fig14.lua - entries of the IOMMU's TLB.
--
-- MESC (Yu, Bai, Wang), figure 14: baseline and MESC with 256 to 1024 entries in 16 ways
-- of the IOMMU's TLB, the memory subregion cache as it is, as parts of THP with 512,
-- sensitive programs.
--
--     heddle run scenarios/mesc/fig14.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig14", "entries of the IOMMU's TLB")
local ENTRIES = x.full and { 256, 512, 1024 } or { 256, 1024 }
local ends = mesc.sizes(x, "l2tlb.entries", ENTRIES, 512,
    { ["baseline 1024"] = 74.8, ["MESC 256"] = 81.2 })

for _, name in ipairs { "baseline", "MESC" } do
    x:order { name .. " by entries", paper = { "most", "fewest" },
        heddle = { most = ends[name].last, fewest = ends[name].first } }
end
x:close()

--- mesc/fig12.lua - hits in the TLB of the IOMMU.
--
-- MESC (Yu, Bai, Wang), figure 12: hit ratio of the IOMMU's TLB under the designs.
--
--     heddle run scenarios/mesc/fig12.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig12", "hits in the IOMMU's TLB")
local all = mesc.measure(x, mesc.designs(mesc.ALL))
local PAPER = { baseline = 55.4, CoLT = 55.4, ["full CoLT"] = 66.5, MESC = 95,
    ["MESC+CoLT"] = 95 }

local function hits(row, name) return mesc.iommu_hits(row[name]) end

for _, name in ipairs(mesc.REST) do
    mesc.quantity(x, all, { name .. ", sensitive, mean", unit = "%",
        paper = PAPER[name], shown = name == "baseline" }, -- figure 3's
        function(row) return hits(row, name) end, mesc.sensitive)
end
mesc.order(x, all, "sensitive", { "MESC", "full CoLT", "baseline" }, hits,
    mesc.sensitive)
mesc.show(x, all, mesc.ALL, "Hits of the IOMMU's TLB, %", hits, "%")
x:close()

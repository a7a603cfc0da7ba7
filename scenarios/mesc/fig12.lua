--- mesc/fig12.lua - hits in the TLB of the IOMMU.
--
-- MESC (Yu, Bai, Wang), figure 12: hit ratio of the IOMMU's TLB under the designs, on
-- fresh memory and, shown beside it, on torn memory (common.lua).  The baseline's chose n =
-- 1024, and is not counted.
--
--     heddle run scenarios/mesc/fig12.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig12", "hits in the IOMMU's TLB")
local all = mesc.measure(x, mesc.designs(mesc.ALL))
local PAPER = { baseline = 55.4, CoLT = 55.4, ["full CoLT"] = 66.5, MESC = 95,
    ["MESC+CoLT"] = 95 }

local torn = mesc.measure(x, mesc.designs(mesc.REST, nil, mesc.torn()))

local function hits(row, name) return mesc.iommu_hits(row[name]) end

for _, name in ipairs(mesc.REST) do
    local paper, calibrated = mesc.said(PAPER, name)
    mesc.quantity(x, all, { name .. ", sensitive, mean", unit = "%",
        paper = paper, shown = name == "baseline", -- figure 3's
        calibrated = calibrated },
        function(row) return hits(row, name) end, mesc.sensitive)
end
for _, name in ipairs(mesc.REST) do
    mesc.quantity(x, torn, { name .. ", sensitive, mean, torn memory", unit = "%",
        paper = mesc.said(PAPER, name), shown = true },
        function(row) return hits(row, name) end, mesc.sensitive)
end
mesc.order(x, all, "sensitive", { "MESC", "full CoLT", "baseline" }, hits,
    mesc.sensitive)
mesc.show(x, all, mesc.ALL, "Hits of the IOMMU's TLB, %", hits, "%")
mesc.show(x, torn, mesc.REST, "Hits of the IOMMU's TLB, %, torn memory", hits, "%")
mesc.parts(x, torn, "MESC", "What MESC's parts do on torn memory")
x:close()

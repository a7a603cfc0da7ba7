--- mesc/fig11.lua - hits in the TLBs of compute units.
--
-- MESC (Yu, Bai, Wang), figure 11: MESC leaves these TLBs as they are, CoLT merges in
-- them what walks bring, full CoLT what the IOMMU's TLB has, too.  MESC+CoLT stands
-- twice: as V.A has it, where it merges on the few walks that are left, and with the
-- groups that hits of subregion entries pass on (common.lua).
--
--     heddle run scenarios/mesc/fig11.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig11", "hits in the compute units' TLBs")
local all = mesc.measure(x, mesc.designs(mesc.ALL))

local function hits(row, name) return mesc.cu_hits(row[name]) end

for _, name in ipairs(mesc.REST) do
    mesc.quantity(x, all, { name .. ", sensitive, mean", unit = "%",
        paper = name == "baseline" and 39.9 or nil, shown = true }, -- figure 3's
        function(row) return hits(row, name) end, mesc.sensitive)
end
mesc.order(x, all, "sensitive", { "full CoLT", "CoLT", "baseline" }, hits,
    mesc.sensitive)
local same, joined, above = 0, 0, { 0, 0 }
local READINGS = { "MESC+CoLT", mesc.HITS }
for _, row in ipairs(all) do
    same = math.max(same, math.abs(hits(row, "MESC") - hits(row, "baseline")))
    joined = math.max(joined, math.abs(mesc.cu_hits(row.MESC, true)
        - mesc.cu_hits(row.baseline, true)))
    for i, name in ipairs(READINGS) do
        above[i] = above[i] + (hits(row, name) > hits(row, "full CoLT") and 1 or 0)
    end
end
x:quantity { "MESC beside the baseline, most", unit = "points", paper = 0, said = "equal",
    heddle = same }
x:quantity { "the same, such look-ups counted as hits", unit = "points",
    heddle = joined }
for i, name in ipairs(READINGS) do
    x:quantity { ("programs with %s above full CoLT"):format(name),
        unit = "programs", from = 0, to = #all - 1, said = "not all",
        calibrated = name == mesc.HITS or nil, heddle = above[i] }
end
mesc.show(x, all, mesc.ALL, "Hits of the compute units' TLBs, %", hits, "%")
x:close()

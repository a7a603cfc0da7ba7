--- mesc/fig03.lua - how often TLBs hit with pages of 4 KB.
--
-- MESC (Yu, Bai, Wang), figure 3: hit ratios of the compute units' TLBs and of the
-- IOMMU's, of programs that are sensitive to translation and of others.  The IOMMU's
-- of the sensitive ones chose n = 1024 (common.lua), so it is calibrated.
--
--     heddle run scenarios/mesc/fig03.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig03", "hit ratios with pages of 4 KB", nil, true, {
    { "n-1000", {}, arg = { n = 1000 } },
    { "hashed", { ["dram.channel_hash"] = "ipoly",
        ["l2cache.slice_hash"] = "ipoly", ["l2cache.set_hash"] = "ipoly" } },
})
local designs = mesc.designs { "baseline" }
local LEVELS = { { "compute unit", mesc.cu_hits, 39.9, 53.8 },
    { "IOMMU", mesc.iommu_hits, 55.4, 98.6 } }

for i, size in ipairs(x.sizes) do
    local all, last = mesc.measure(x, designs, size), i == #x.sizes
    for _, level in ipairs(LEVELS) do
        local function hits(row) return level[2](row.baseline) end
        for g, only in ipairs { mesc.sensitive, mesc.insensitive } do
            local name = g == 1 and "sensitive" or "insensitive"
            mesc.quantity(x, all, { ("hits, %s TLB, %s, %s"):format(level[1], name,
                size), unit = "%", paper = last and level[g + 2] or nil,
                calibrated = level[1] == "IOMMU" and g == 1 or nil }, hits, only)
        end
        mesc.groups(x, all, ("hits, %s TLB, %s"):format(level[1], size),
            { "insensitive", "sensitive" }, hits, not last)
    end
    mesc.show(x, all, { "compute unit", "IOMMU" }, "Hits, %, size " .. size,
        function(row, name)
            return LEVELS[name == "IOMMU" and 2 or 1][2](row.baseline)
        end, "%")
end
x:close()

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
local designs = mesc.designs { "THP" }
for _, n in ipairs(ENTRIES) do
    for _, d in ipairs(mesc.designs({ "baseline", "MESC" }, {
        ["l2tlb.entries"] = n })) do
        d.key = ("%s %d"):format(d.name, n)
        designs[#designs + 1] = d
    end
end
local all = mesc.measure(x, designs, nil, mesc.sensitive)
local PAPER = { ["baseline 1024"] = 74.8, ["MESC 256"] = 81.2 }

local chart = { title = "Performance, % of THP with 512 entries", series = {},
    xlabel = "entries", unit = "%" }
local rows, first, last = { { "design" } }, {}, {}
for _, name in ipairs { "baseline", "MESC" } do
    local series, row = { name = name, values = {}, x = {} }, { name }
    for i, n in ipairs(ENTRIES) do
        local key = ("%s %d"):format(name, n)
        local function part(r) return mesc.relative(r, key) end
        if PAPER[key] then
            mesc.quantity(x, all, key .. " entries, sensitive, mean", "% of THP",
                PAPER[key], part, nil, mesc.why.sizes)
        end
        local v = mesc.means(all, part)
        first[name], last[name] = first[name] or v, v
        series.values[i], series.x[i] = v, n
        rows[1][i + 1], row[i + 1] = tostring(n), ("%.1f"):format(v)
    end
    chart.series[#chart.series + 1], rows[#rows + 1] = series, row
end
for _, name in ipairs { "baseline", "MESC" } do
    x:order { name .. " by entries", paper = { "most", "fewest" },
        heddle = { most = last[name], fewest = first[name] },
        why = name == "MESC" and "128 entries of up to 2 MB each cover all that "
            .. "these programs have at M" or mesc.why.sizes }
end
x:table(chart.title, rows)
x:lines(chart)
x:close()

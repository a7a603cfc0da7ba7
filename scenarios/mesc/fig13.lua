--- mesc/fig13.lua - entries of the compute units' TLBs.
--
-- MESC (Yu, Bai, Wang), figure 13: baseline and MESC with 8 to 128 entries in the TLB of
-- each compute unit, as parts of THP with 32, sensitive programs.  The baseline is flat
-- up to 64, and MESC everywhere.
--
--     heddle run scenarios/mesc/fig13.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig13", "entries of the compute units' TLBs")
local ENTRIES = x.full and { 8, 16, 32, 64, 128 } or { 8, 128 }
local designs = mesc.designs { "THP" }
for _, n in ipairs(ENTRIES) do
    for _, d in ipairs(mesc.designs({ "baseline", "MESC" }, {
        ["l1tlb.entries"] = n })) do
        d.key = ("%s %d"):format(d.name, n)
        designs[#designs + 1] = d
    end
end
local all = mesc.measure(x, designs, nil, mesc.sensitive)
local PAPER = { ["baseline 128"] = 71.7, ["MESC 8"] = 90 }

local chart = { title = "Performance, % of THP with 32 entries", series = {},
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
    x:quantity { name .. ", from the fewest to the most entries",
        unit = "points", said = name == "MESC" and "flat" or "6",
        heddle = last[name] - first[name],
        agrees = math.abs(last[name] - first[name]) < 10,
        why = mesc.why.sizes }
end
x:table(chart.title, rows)
x:lines(chart)
x:close()

--- etc/fig17.lua - pages that a memory instruction touches.
--
-- ETC (ASPLOS 2019), figure 17: about one page an instruction for regular
-- programs, several for irregular ones.  Pages are of 4 KB, whole runs.
--
--     heddle run scenarios/etc/fig17.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig17", { "2DCONV", "ATAX", "3DCONV", "BICG", "SCAN", "MVT",
    "LPS", "GESUMMV", "SAD", "CORR", "COVAR", "FDTD", "LUD", "SRAD", "CONS" },
    "pages that a memory instruction touches", 8)
local chart = { groups = {}, unit = "pages", xlabel = "program",
    title = "Pages of 4 KB a memory instruction",
    series = { { name = "pages", values = {} } } }
local rows = { { "program", "paper", "pages", "loads alone" } }
local mean = { pages = {}, loads = {} }
local n = {}
for i, r in ipairs(etc.survey(x)) do
    local class = r.class:match "^%a+"
    chart.groups[i], chart.series[1].values[i] = r.program, r.pages
    rows[i + 1] = { r.program, r.class, ("%.2f"):format(r.pages),
        ("%.2f"):format(r.loads) }
    for what, sum in pairs(mean) do
        sum[class] = (sum[class] or 0.0) + r[what]
    end
    n[class] = (n[class] or 0) + 1
end
for _, class in ipairs { "regular", "irregular" } do
    for _, what in ipairs { "pages", "loads" } do
        local sum = mean[what]
        sum[class] = sum[class] and sum[class] / n[class]
        x:quantity { ("mean of the %s programs%s"):format(class,
            what == "loads" and ", loads alone" or ""),
            paper = class == "regular" and 1 or nil,
            said = class == "irregular" and "several" or nil,
            skip = class == "irregular" and "several is no number" or nil,
            shown = what == "loads",
            heddle = sum[class], unit = "pages" }
    end
end
x:order { "pages an instruction", paper = { "irregular", "regular" },
    heddle = mean.pages }
x:table("pages of 4 KB a memory instruction, mean", rows)
x:bars(chart)
x:close()

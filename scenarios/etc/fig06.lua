--- etc/fig06.lua - pages that have migrated, over time.
--
-- ETC (ASPLOS 2019), figure 6: on a GTX 1060 the pages migrated by five programs
-- (it does not say which; here those of figure 1) grow linearly within a phase.
-- How straight: the share of the variance that a line explains, of the pages
-- that have come, until the last one has.
--
--     heddle run scenarios/etc/fig06.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig06", { "2DCONV", "ATAX", "3DCONV", "RED", "MVT" },
    "pages migrated over time")
x.interval, x.shares = 20000, {}
local chart = { series = {}, unit = "share of the pages",
    xlabel = "share of the time until the last page",
    title = "Pages that have migrated, over time" }

--- The share of the variance of y[1..n] that a straight line explains.
local function straight(y, n)
    local sx, sy, xx, xy, yy = 0.0, 0.0, 0.0, 0.0, 0.0
    for i = 1, n do
        sx, sy = sx + i, sy + y[i]
        xx, xy, yy = xx + i * i, xy + i * y[i], yy + y[i] * y[i]
    end
    local c = n * xy - sx * sy
    return c * c / ((n * xx - sx * sx) * (n * yy - sy * sy))
end

for i, r in ipairs(etc.whole(x)) do
    local came, sum, last = etc.series(r, "fault.pages"), 0, 0
    for k, v in ipairs(came) do
        sum, last = sum + v, v > 0 and k or last
        came[k] = sum
    end
    local s = { name = x.programs[i], x = {}, values = {} }
    for k = 1, last do
        s.x[k], s.values[k] = k / last, came[k] / sum
    end
    chart.series[i] = s
    x:quantity { x.programs[i] .. ": how straight", said = "linear in a phase",
        skip = "the phases are not said",
        heddle = straight(came, last) }
end
x:lines(chart)
x:close()

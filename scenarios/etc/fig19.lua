--- etc/fig19.lua - what a slower fault costs.
--
-- ETC (ASPLOS 2019), figure 19: with 50 us a far fault instead of 20 performance
-- under ETC falls by 31.2 %.  The memory is not said.  Each program runs under
-- what ETC has for its class.
--
--     heddle run scenarios/etc/fig19.lua [scale=full] [programs=ATAX]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig19", { "3DCONV", "ATAX", "2DCONV", "LUD", "SCAN", "BICG",
    "MVT", "GESUMMV" }, "what a slower fault costs")
local TIMES = x.arg.scale == "full" and { 20, 30, 40, 50 } or { 20, 50 }
local runs = {}
for i, us in ipairs(TIMES) do
    runs[i] = etc.measure(x, { etc.ETC }, { ["link.latency"] = us * 1000 })
end

local chart = { series = {}, unit = "times", xlabel = "us a fault",
    title = "Performance under ETC, that with 20 us as 1" }
local rows = { { "program", "memory" } }
for i, us in ipairs(TIMES) do
    rows[1][i + 2] = us .. " us"
end
local mean = {}
for g, first in ipairs(runs[1]) do
    local s = { name = first.program .. " " .. first.share, x = {}, values = {} }
    for i, us in ipairs(TIMES) do
        s.x[i] = us
        s.values[i] = first.ETC.cycles / runs[i][g].ETC.cycles
    end
    chart.series[g] = s
    rows[g + 1] = { first.program, first.share .. " %" }
    for i, v in ipairs(s.values) do
        rows[g + 1][i + 2] = ("%.3f"):format(v)
    end
    local m = mean[first.share] or { sum = 0.0, n = 0 }
    m.sum, m.n = m.sum + s.values[#TIMES], m.n + 1
    m.each = m.each or {}
    m.each[m.n] = 100 * (s.values[#TIMES] - 1)
    mean[first.share] = m
end
for _, share in ipairs(x.shares) do
    local m = mean[share]
    x:quantity { ("change with 50 us at %d %%"):format(share), paper = -31.2,
        kind = "gain", heddle = 100 * (m.sum / m.n - 1), unit = "%",
        each = m.each, shown = share ~= 75 }
end
x:table("performance, that with 20 us as 1", rows)
x:lines(chart)
x:close()

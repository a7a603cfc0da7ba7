--- etc/fig16.lua - telling regular programs from irregular ones.
--
-- ETC (ASPLOS 2019), figure 16: by the coalescing factor, with a threshold of 10,
-- all programs are classified rightly.  The factor is that of a program's global
-- loads, whole runs; whether a sample of 50,000 cycles would say the same is what
-- scenarios/characterise/etc.lua shows.
--
--     heddle run scenarios/etc/fig16.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig16", { "2DCONV", "ATAX", "3DCONV", "BICG", "SCAN", "MVT",
    "LPS", "GESUMMV", "SAD", "CORR", "COVAR", "FDTD", "LUD", "SRAD", "CONS" },
    "telling regular programs from irregular ones", 8)
local right, chart = 0, { groups = {}, unit = "lanes a line", xlabel = "program",
    title = "Coalescing factor of the global loads",
    series = { { name = "factor", values = {} } } }
local rows = { { "program", "paper", "lanes a line", "says" } }
for i, r in ipairs(etc.survey(x)) do
    local says = r.factor < 10 and "irregular" or "regular"
    local good = r.class:match "^%a+" == says
    right = right + (good and 1 or 0)
    chart.groups[i], chart.series[1].values[i] = r.program, r.factor
    rows[i + 1] = { r.program, r.class, ("%.2f"):format(r.factor), says }
end
x:quantity { "programs that are classified rightly", paper = 100,
    heddle = 100 * right / #x.programs, unit = "%" }
x:table("factor, and what it says for a threshold of 10", rows)
x:bars(chart)
x:close()

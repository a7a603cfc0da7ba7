--- etc/fig15.lua - far faults over time, and cores that stop: ATAX.
--
-- ETC (ASPLOS 2019), figure 15: the fault rate of ATAX over 10 M cycles with 75 %
-- of memory is lower under memory-aware throttling than under the baseline.
--
--     heddle run scenarios/etc/fig15.lua [programs=ATAX] [memory=75,50]
--
-- SPDX-License-Identifier: MIT
local etc = require "common"

local x = etc.open("fig15", { "ATAX" }, "far faults over time")
x.interval = 100000
local designs = { etc.BL, etc.MT(), etc.MT(20, 80), etc.MT(2, 8) }
for _, r in ipairs(etc.measure(x, designs)) do
    local what = ("%s at %d %%"):format(r.program, r.share)
    local chart = { series = {}, unit = "faults in 100,000 cycles",
        xlabel = "millions of cycles", title = "Far faults, " .. what }
    local calm = {}
    for i, d in ipairs(designs) do
        local faults, rate = etc.series(r[d.name], "fault.faults"), 0
        local s = { name = d.name, values = {}, x = {} }
        for k = 1, math.min(#faults, 100) do
            s.x[k], s.values[k], rate = k / 10, faults[k], rate + faults[k]
        end
        chart.series[i] = s
        rate = rate / math.min(#faults, 100)
        calm[d.name] = 1 / rate
        x:quantity { ("%s, %s: faults in 100,000 cycles, of the first 10 M")
            :format(what, d.name), heddle = rate, unit = "faults" }
    end
    x:order { "the fewest faults a cycle, " .. what, paper = { "MT", "BL" },
        heddle = { MT = calm.MT, BL = calm.BL } }
    x:lines(chart)
end
x:close()

--- pichai/fig06.lua - naive TLBs of more entries and ports.
--
-- Pichai et al. (ASPLOS 2014), figure 6: naive TLBs of 64 to 512 entries and 3 to 32
-- ports, over no translation, with loose round robin.  The caption says that their
-- access takes the same time, the text that it grows (CACTI): both are run, "grown"
-- with a cycle for each doubling past 128 entries or 4 ports, a guess.
--
--     heddle run scenarios/pichai/fig06.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig06", "Naive TLBs of more entries and ports")
local T = suite.tlb
local ENTRIES, PORTS = { 64, 128, 256, 512 }, { 3, 4, 8, 32 }
local ideal = suite.both(suite.LRR, T.ideal)
local designs, at = { ideal }, { [false] = {}, [true] = {} }
for _, grown in ipairs { false, true } do
    for _, e in ipairs(ENTRIES) do
        at[grown][e] = {}
        for _, p in ipairs(PORTS) do
            local d = suite.both(suite.LRR, suite.sized(T.naive, e, p, grown))
            designs[#designs + 1], at[grown][e][p] = d, d
        end
    end
end
suite.figure(x, designs, function(page, all)
    local function of(entries, ports, grown)
        return suite.mean(all, function(row)
            return suite.performance(row[at[grown][entries][ports].name])
                / suite.performance(row[ideal.name])
        end)
    end

    local sizes, ports = {}, { "3 to 4", "4 to 8", "8 to 32" }
    for _, e in ipairs(ENTRIES) do
        sizes[("%d entries"):format(e)] = of(e, 4, true)
    end
    for _, e in ipairs { 64, 256, 512 } do
        page:order { ("access time grown: %d entries"):format(e), paper = {
            "128 entries", ("%d entries"):format(e) }, heddle = sizes }
    end
    local gains = {}
    for i, p in ipairs(PORTS) do
        local from = PORTS[i - 1]
        if from then
            gains[ports[i - 1]] = 100 * (of(128, p, false) / of(128, from, false) - 1)
            page:quantity { ("gained from %d to %d ports, 128 entries"):format(from, p),
                unit = "%", heddle = gains[ports[i - 1]] }
        end
    end
    page:order { "what more ports gain", paper = { "3 to 4", "4 to 8" },
        heddle = gains }
    page:order { "what more ports gain, last", paper = { "3 to 4", "8 to 32" },
        heddle = gains }
    for _, grown in ipairs { false, true } do
        local title = "Performance over no TLB, mean; access time "
            .. (grown and "grown" or "fixed")
        local rows, chart = { { "entries" } }, { groups = {}, series = {},
            title = title, unit = "times", xlabel = "entries of the TLB" }
        for k, p in ipairs(PORTS) do
            rows[1][k + 1] = ("%d ports"):format(p)
            chart.series[k] = { name = rows[1][k + 1], values = {} }
        end
        for i, e in ipairs(ENTRIES) do
            rows[i + 1], chart.groups[i] = { e }, tostring(e)
            for k, p in ipairs(PORTS) do
                local v = of(e, p, grown)
                rows[i + 1][k + 1] = ("%.3f"):format(v)
                chart.series[k].values[i] = v
            end
        end
        page:table(title, rows)
        page:bars(chart)
    end
    suite.show(page, all, { ideal, at[false][64][4], at[false][128][3],
        at[false][128][4], at[false][128][32], at[false][512][32],
        at[true][512][32] }, ideal, "Performance over no TLB")
end)
x:close()

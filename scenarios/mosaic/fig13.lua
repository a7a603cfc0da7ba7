--- mosaic/fig13.lua - TLB hit rates as applications are added.
--
-- Mosaic (MICRO 2017), figure 13: hit rates of the L1 TLBs and of the L2 TLB
-- under GPU-MMU and under Mosaic, over all sets of 1 to 5 applications.
--
-- The hit rate of a level is hits by look-ups, all applications together; a
-- look-up that finds its page's miss in flight has missed.
--
--     heddle run scenarios/mosaic/fig13.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local report = require "heddle.report"
local suite = require "common"

local x = suite.open("fig13", "figure 13",
    "TLB hit rates of GPU-MMU and Mosaic")
local designs = { suite.gpummu, suite.mosaic, suite.ideal }
local LEVELS = { { "l1tlb", "L1" }, { "l2tlb", "L2" } }

--- All results of n applications: homogeneous sets and heterogeneous ones.
local function measure(n)
    local all = {}
    for _, kind in ipairs { "homogeneous", "heterogeneous" } do
        for _, k in ipairs(suite.counts(x, kind)) do
            if k == n then
                local sets = suite.sets(x, kind, n)
                for _, r in ipairs(suite.measure(x, sets, designs)) do
                    all[#all + 1] = r
                end
            end
        end
    end
    return all
end

local counts, by = {}, {}
for n = 1, 5 do
    local all = measure(n)
    if #all > 0 then
        counts[#counts + 1], by[#by + 1] = n, all
    end
end

local function rate(all, design, level)
    return suite.mean(all, function(r)
        return suite.hit_rate(r[design].run, level)
    end)
end

--- Look-ups of the L2 TLB under GPU-MMU that hit, or join a walk in flight.
local function joined_rate(r)
    local run = r["GPU-MMU"].run
    local all = report.counter(run, "mmu.hits")
        + report.counter(run, "mmu.misses")
    return all > 0 and 1 - report.counter(run, "walk.walks") / all or nil
end

--- Sets in which both levels of Mosaic's TLBs miss less than 1 % of look-ups.
local function calm()
    local n, total, of_l1 = 0, 0, 0
    for _, all in ipairs(by) do
        for _, r in ipairs(all) do
            local run = r.Mosaic.run
            local l1 = suite.hit_rate(run, "l1tlb") or 1
            local l2 = suite.hit_rate(run, "l2tlb") or 1
            total = total + 1
            n = n + (l1 > 0.99 and l2 > 0.99 and 1 or 0)
            -- what misses both, of all look-ups
            of_l1 = of_l1 + ((1 - l1) * (1 - l2) < 0.01 and 1 or 0)
        end
    end
    return n, of_l1, total
end

local total = 0
for _, all in ipairs(by) do
    total = total + #all
end
x:scope(total, 235, "sets")
suite.say(x, ("%d sets of 1 to 5 applications"):format(total))
local rows, chart = { { "applications", "sets" } }, { title = x.title,
    unit = "hit rate", xlabel = "applications", groups = {}, series = {} }
for i, n in ipairs(counts) do
    rows[i + 1] = { n, #by[i] }
    chart.groups[i] = tostring(n)
end
for _, d in ipairs { "GPU-MMU", "Mosaic" } do
    for _, l in ipairs(LEVELS) do
        local s = { name = d .. " " .. l[2], values = {} }
        table.insert(rows[1], s.name)
        for i in ipairs(counts) do
            s.values[i] = rate(by[i], d, l[1])
            table.insert(rows[i + 1], s.values[i]
                and report.percent(s.values[i]) or "-")
        end
        table.insert(chart.series, s)
    end
end

local two, five
for i, n in ipairs(counts) do
    two = n == 2 and i or two
    five = n == 5 and i or five
end
for _, q in ipairs { { two, 81.0, "2" }, { five, 62.0, "5" } } do
    local value = rate(by[q[1]], "GPU-MMU", "l2tlb")
    x:quantity { "GPU-MMU: L2 hit rate, " .. q[3] .. " applications",
        unit = "%", paper = q[2], heddle = value and 100 * value }
    local joined = suite.mean(by[q[1]], joined_rate)
    x:quantity { "... that do not start a walk, " .. q[3] .. " applications",
        unit = "%", heddle = joined and 100 * joined }
end
local strict, both, all = calm()
x:quantity { "Mosaic: sets in which each level misses < 1 %", unit = "%",
    paper = 100 * 214 / 235, said = "214 of 235", heddle = 100 * strict / all }
x:quantity { "Mosaic: sets in which < 1 % of look-ups miss both levels",
    unit = "%", heddle = 100 * both / all }
for _, l in ipairs(LEVELS) do
    x:order { l[2] .. " hit rate", paper = { "Mosaic", "GPU-MMU" },
        heddle = {
            Mosaic = rate(by[five], "Mosaic", l[1]),
            ["GPU-MMU"] = rate(by[five], "GPU-MMU", l[1]) } }
end
x:table("Hit rates, mean of sets", rows)
x:bars(chart)
x:close()

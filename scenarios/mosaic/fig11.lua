--- mosaic/fig11.lua - what each application gains and loses.
--
-- Mosaic (MICRO 2017), figure 11: IPC of every application of the heterogeneous
-- sets under Mosaic and under an ideal TLB, over its IPC under GPU-MMU in the
-- same set, in ascending order.
--
--     heddle run scenarios/mosaic/fig11.lua [scale=full] [sets=N]
--
-- SPDX-License-Identifier: MIT
local speedup = require "speedup"
local suite = require "common"

local x = suite.open("fig11", "figure 11",
    "IPC of each application over GPU-MMU")
local by, all = speedup.measure(x, "heterogeneous")

-- each: IPC of an application over its alone run, by design.
local list = {}
for _, b in ipairs(by) do
    for s, r in ipairs(b.results) do
        for a, name in ipairs(b.sets[s].apps) do
            local base = r["GPU-MMU"].each[a]
            list[#list + 1] = { name = name, set = b.sets[s].name,
                mosaic = r.Mosaic.each[a] / base,
                ideal = r.Ideal.each[a] / base }
        end
    end
end
table.sort(list, function(a, b)
    if a.mosaic ~= b.mosaic then
        return a.mosaic < b.mosaic
    elseif a.set ~= b.set then
        return a.set < b.set
    end
    return a.name < b.name
end)

local function share(test)
    local n = 0
    for _, a in ipairs(list) do
        n = n + (test(a) and 1 or 0)
    end
    return 100 * n / #list
end

suite.say(x, ("%d applications in %d heterogeneous sets"):format(#list, #all))
x:scope(#all, suite.count "heterogeneous", "sets")
x:quantity { "least", unit = "%", kind = "part", paper = 66.3, heddle = 100 * list[1].mosaic }
x:quantity { "mean", unit = "%", kind = "part", paper = 133,
    heddle = 100 * suite.mean(list, function(a) return a.mosaic end) }
x:quantity { "most", unit = "%", kind = "part", paper = 860,
    heddle = 100 * list[#list].mosaic }
x:quantity { "applications that lose", unit = "%", paper = 6.4,
    heddle = share(function(a) return a.mosaic < 1 end) }
x:quantity { "applications that lose more than 1 %", unit = "%",
    heddle = share(function(a) return a.mosaic < 0.99 end) }
for _, q in ipairs { { 90, 48.0 }, { 80, 68.9 }, { 70, 82.3 } } do
    x:quantity { ("applications with %d %% of Ideal"):format(q[1]),
        unit = "%", paper = q[2], heddle = share(function(a)
            return a.mosaic >= a.ideal * q[1] / 100
        end) }
end

local rows, mosaic, ideal = { { "application", "set", "Mosaic", "Ideal" } },
    {}, {}
for i, a in ipairs(list) do
    mosaic[i], ideal[i] = a.mosaic, a.ideal
    rows[i + 1] = { a.name, a.set, ("%.3f"):format(a.mosaic),
        ("%.3f"):format(a.ideal) }
end
x:table("IPC over GPU-MMU, ascending", rows)
x:lines { title = x.title, unit = "IPC over GPU-MMU", xlabel = "application",
    series = { { name = "Mosaic", values = mosaic },
        { name = "Ideal", values = ideal } } }
x:close()

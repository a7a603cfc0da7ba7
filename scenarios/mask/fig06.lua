--- mask/fig06.lua - how many warps one TLB miss stalls.
--
-- MASK (ASPLOS 2018), figure 6: the warps that wait for one page walk, mean of
-- each application; a core has 64.  A walk answers all warps, of all cores,
-- that missed the L1 TLB for its page while it was under way; and it holds up
-- those whose misses have parked behind it, or that are behind a load/store unit
-- that it stops.
--
--     heddle run scenarios/mask/fig06.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig06", "figure 6", "warps stalled by one TLB miss")
local results, o = suite.measure(x, { names = { "SharedTLB" } })
local apps, names, warps, cores = suite.alone(results, o), {}, {}, {}
for i, a in ipairs(apps) do
    names[i] = a.name
    warps[i] = suite.metric(a.run, "warps_per_miss") or 0
    cores[i] = suite.histogram(a.run, "walk", "requesters") or 0
end
local mean = suite.mean(warps)
x:quantity { "warps a miss, mean of applications alone", unit = "warps",
    from = 30, heddle = mean }
x:quantity { "cores a miss, mean of applications alone", unit = "cores",
    heddle = suite.mean(cores) }
local shared, both = suite.map(results, o, function(r)
    return suite.metric(r.SharedTLB.run, "warps_per_miss")
end)
x:quantity { "warps a miss, mean of pairs", unit = "warps", heddle = both }
suite.grouped(x, { title = "Warps stalled by one TLB miss, applications alone",
    unit = "warps", head = "application", format = "%.1f" }, names,
    { { name = "warps", values = warps }, { name = "cores", values = cores } })
suite.grouped(x, { title = "Warps stalled by one TLB miss, pairs",
    unit = "warps", head = "pair", format = "%.1f" }, suite.names(o),
    { { name = "warps", values = shared } })
x:close()

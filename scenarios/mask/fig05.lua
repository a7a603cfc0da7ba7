--- mask/fig05.lua - how many page walks are under way at once.
--
-- MASK (ASPLOS 2018), figure 5: the mean number of concurrent page walks of
-- each application.  Here: alone on half of the cores, as each runs in its
-- pair, and whole pairs on all cores; on SharedTLB.  The mean is over all
-- cycles of the measured part; MASK samples every 10,000.
--
--     heddle run scenarios/mask/fig05.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig05", "figure 5", "concurrent page walks")
local results, o = suite.measure(x, { names = { "SharedTLB" } })
local apps, names, walks, peaks = suite.alone(results, o), {}, {}, {}
local many = 0
for i, a in ipairs(apps) do
    names[i] = a.name
    walks[i] = suite.metric(a.run, "concurrent_walks") or 0
    peaks[i] = suite.metric(a.run, "concurrent_walks_peak")
    many = many + (peaks[i] > 20 and 1 or 0)
end
local shared, mean = suite.map(results, o, function(r)
    return suite.metric(r.SharedTLB.run, "concurrent_walks")
end)
x:quantity { "walks at once, mean of applications alone", unit = "walks",
    from = 20, heddle = suite.mean(walks), note = suite.note.walks }
x:quantity { "walks at once, most, mean of applications alone", unit = "walks",
    heddle = suite.mean(peaks) }
x:quantity { "walks at once, mean of pairs", unit = "walks", heddle = mean }
x:quantity { "share of applications that reach more than 20 walks", unit = "%",
    heddle = 100 * many / #apps }
suite.grouped(x, { title = "Concurrent page walks, applications alone",
    unit = "walks", head = "application", format = "%.1f" }, names,
    { { name = "mean", values = walks }, { name = "most", values = peaks } })
suite.grouped(x, { title = "Concurrent page walks, pairs", unit = "walks",
    head = "pair", format = "%.1f" }, suite.names(o),
    { { name = "mean", values = shared } })
x:close()

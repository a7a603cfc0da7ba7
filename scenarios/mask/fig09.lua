--- mask/fig09.lua - how long DRAM takes for page walks and for data.
--
-- MASK (ASPLOS 2018), figure 9: under FR-FCFS page walk reads, which have no
-- row locality, wait longer than data.  Latency is from the arrival at the
-- channel to the last datum, mean of all reads of both applications.
--
--     heddle run scenarios/mask/fig09.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig09", "figure 9", "DRAM latency of walks and of data")
local results, o = suite.measure(x, { names = { "SharedTLB" } })
local function latency(name)
    return suite.map(results, o, function(r)
        return suite.histogram(r.SharedTLB.run, "dram", name)
    end)
end
local walks, mean_walks = latency "walk_latency"
local data, mean_data = latency "data_latency"
local longer, n = 0, 0
for i in pairs(walks) do
    if data[i] then
        longer, n = longer + (walks[i] > data[i] and 1 or 0), n + 1
    end
end
x:quantity { "page walks", unit = "DRAM cycles", heddle = mean_walks }
x:quantity { "data", unit = "DRAM cycles", heddle = mean_data }
x:quantity { "pairs in which page walks wait longer", unit = "%",
    heddle = n > 0 and 100 * longer / n or nil }
x:order { "DRAM latency", paper = { "page walks", "data" },
    heddle = { ["page walks"] = mean_walks, data = mean_data } }
suite.grouped(x, { title = "DRAM latency", unit = "DRAM cycles", head = "pair",
    format = "%.0f" }, suite.names(o), { { name = "page walks",
        values = walks }, { name = "data", values = data } })
x:close()

--- mask/fig09.lua - how long DRAM takes for page walks and for data.
--
-- MASK (ASPLOS 2018), figure 9: under FR-FCFS page walk reads, which have no
-- row locality, wait longer than data.  Latency is from the arrival at the
-- channel to the last datum, mean of all reads of both applications.  Rows below
-- with entries of 64 and 128 bytes (vm.entry_bytes, sec43.lua), shown; at full for
-- few pairs.
--
--     heddle run scenarios/mask/fig09.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig09", "figure 9", "DRAM latency of walks and of data")
local results, o = suite.measure(x, { names = { "SharedTLB" } })
local columns = suite.entries(x, o, results)
local function latency(name, sets)
    return suite.map(sets or results, o, function(r)
        return suite.histogram(r.SharedTLB.run, "dram", name)
    end)
end
local function beside(name)
    return suite.beside(x, columns, function(sets)
        return (select(2, latency(name, sets)))
    end)
end
--- Of 100 pairs, those in which walks wait longer than data.
local function longer(sets)
    local walks, data, more, n = latency("walk_latency", sets),
        latency("data_latency", sets), 0, 0
    for i in pairs(walks) do
        if data[i] then
            more, n = more + (walks[i] > data[i] and 1 or 0), n + 1
        end
    end
    return n > 0 and 100 * more / n or nil
end
local walks, mean_walks = latency "walk_latency"
local data, mean_data = latency "data_latency"
x:quantity { "page walks", unit = "DRAM cycles", heddle = mean_walks,
    also = beside "walk_latency" }
x:quantity { "data", unit = "DRAM cycles", heddle = mean_data,
    also = beside "data_latency" }
x:quantity { "pairs in which page walks wait longer", unit = "%",
    heddle = longer(), also = suite.beside(x, columns, longer) }
x:order { "DRAM latency", paper = { "page walks", "data" },
    heddle = { ["page walks"] = mean_walks, data = mean_data } }
suite.grouped(x, { title = "DRAM latency", unit = "DRAM cycles", head = "pair",
    format = "%.0f" }, suite.names(o), { { name = "page walks",
        values = walks }, { name = "data", values = data } })
x:close()

--- mask/fig08.lua - DRAM bandwidth of page walks and of data.
--
-- MASK (ASPLOS 2018), figure 8: page walks take 13.8 % of the bandwidth that
-- is used, and 2.4 % of the peak, so data take 15.0 % of it.  Rows below with
-- entries of 64 and 128 bytes (vm.entry_bytes, sec43.lua), shown; at full for few
-- pairs.
--
--     heddle run scenarios/mask/fig08.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig08", "figure 8", "DRAM bandwidth of page walks")
local results, o = suite.measure(x, { names = { "SharedTLB" } })
local columns = suite.entries(x, o, results)
local function share(name)
    local function of(r)
        return 100 * (suite.metric(r.SharedTLB.run, name) or 0)
    end
    local each, mean = suite.map(results, o, of)
    return each, mean, suite.beside(x, columns, function(sets)
        return (select(2, suite.map(sets, o, of)))
    end)
end
local used, mean_used, used_beside = share "dram_walk_share"
local walks, mean_walks, walks_beside = share "dram_peak_share_walk"
local data, mean_data, data_beside = share "dram_peak_share_data"
x:quantity { "page walks, of used bandwidth", unit = "%", paper = 13.8,
    heddle = mean_used, each = used, note = suite.note.bandwidth,
    also = used_beside }
x:quantity { "page walks, of the peak", unit = "%", paper = 2.4,
    heddle = mean_walks, each = walks, also = walks_beside }
x:quantity { "data, of the peak", unit = "%", shown = true,
    paper = 2.4 / 0.138 - 2.4, heddle = mean_data, each = data,
    also = data_beside }
suite.grouped(x, { title = "DRAM bandwidth, of the peak", unit = "%",
    head = "pair", format = "%.2f" }, suite.names(o),
    { { name = "page walks", values = walks }, { name = "data",
        values = data } })
suite.grouped(x, { title = "Page walks, of used DRAM bandwidth", unit = "%",
    head = "pair", format = "%.2f" }, suite.names(o),
    { { name = "page walks", values = used } })
x:close()

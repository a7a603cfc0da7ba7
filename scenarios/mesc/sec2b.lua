--- mesc/sec2b.lua - what walks take of the memory bandwidth.
--
-- MESC (Yu, Bai, Wang), section II.B: of the bandwidth of memory that sensitive programs
-- use, page walks take 26.7 % with pages of 4 KB.
--
--     heddle run scenarios/mesc/sec2b.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local report = require "heddle.report"
local x = mesc.open_runs("sec2b", "page walks in the bandwidth of memory")
local all = mesc.measure(x, mesc.designs { "baseline", "MESC" }, nil,
    mesc.sensitive)

local function share(row, name)
    return 100 * (report.metric(row[name], "dram_walk_share") or 0)
end

mesc.quantity(x, all, { "page walks in the bandwidth, baseline, mean", unit = "%",
    paper = 26.7 }, function(row) return share(row, "baseline") end)
mesc.quantity(x, all, { "page walks in the bandwidth, MESC, mean", unit = "%" },
    function(row) return share(row, "MESC") end)
mesc.show(x, all, { "baseline", "MESC" },
    "Page walks in the bandwidth of memory, %", share, "%")
x:close()

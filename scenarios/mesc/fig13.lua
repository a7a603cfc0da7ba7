--- mesc/fig13.lua - entries of the compute units' TLBs.
--
-- MESC (Yu, Bai, Wang), figure 13: baseline and MESC with 8 to 128 entries in the TLB of
-- each compute unit, as parts of THP with 32, sensitive programs.  The baseline is flat
-- up to 64, and MESC everywhere.
--
--     heddle run scenarios/mesc/fig13.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local mesc = require "common"

local x = mesc.open_runs("fig13", "entries of the compute units' TLBs")
local ENTRIES = x.full and { 8, 16, 32, 64, 128 } or { 8, 128 }
local ends = mesc.sizes(x, "l1tlb.entries", ENTRIES, 32,
    { ["baseline 128"] = 71.7, ["MESC 8"] = 90 })

for _, name in ipairs { "baseline", "MESC" } do
    local more = ends[name].last - ends[name].first
    x:quantity { name .. ", from the fewest to the most entries",
        unit = "points", paper = name == "MESC" and 0 or 6,
        said = name == "MESC" and "flat" or nil,
        heddle = more }
end
x:close()

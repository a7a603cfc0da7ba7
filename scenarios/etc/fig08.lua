--- etc/fig08.lua - what compression costs where nothing has to be evicted.
--
-- ETC (ASPLOS 2019), figure 8: with memory for all, programs lose 13 % if their
-- pages are compressed (linearly compressed pages).
--
--     heddle run scenarios/etc/fig08.lua [scale=full] [programs=ATAX]
--
-- Here cold faults are part of both runs, and the link takes most of these.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local etc = require "common"

local x = etc.open("fig08", { "ATAX", "2DCONV", "3DCONV", "LUD", "SCAN", "BICG",
    "MVT", "GESUMMV" }, "what compression costs with memory for all")
local plain, packed = etc.whole(x), etc.whole(x, etc.PACKED)
local rows = { { "program", "performance", "of metadata found" } }
local sum, values = 0.0, {}

for i, r in ipairs(packed) do
    local hits = H.report.counter(r, "compress.metadata_hits")
    local all = hits + H.report.counter(r, "compress.metadata_misses")
    values[i] = plain[i].cycles / r.cycles
    sum = sum + values[i]
    rows[i + 1] = { x.programs[i], ("%.3f"):format(values[i]),
        all > 0 and H.report.percent(hits / all) or "-" }
end
local each = {}
for i, v in ipairs(values) do
    each[i] = 100 * (v - 1)
end
x:quantity { "mean change with compression", paper = -13, kind = "gain",
    heddle = 100 * (sum / #packed - 1), unit = "%", each = each,
    note = "cold faults are part of both runs" }
x:table("performance, uncompressed as 1", rows)
x:bars { groups = x.programs, series = { { name = "compressed",
    values = values } }, unit = "times", xlabel = "program",
    title = "Performance with compression, without as 1" }
x:close()

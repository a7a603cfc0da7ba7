--[[
167-dram-kinds.lua - what scenarios/characterise/dram.lua prints.

Pinned: for each memory of dram.kind the latency of a row hit, miss and conflict is
its closed form to the digit; a stream is near the peak, bursts that each open a row
are within 6 % below what activates allow; refresh of all banks costs about
tRFC / tREFI, and of one after the other less.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local files = require "lib.files"

local text = files.output(files.HEDDLE
    .. " run scenarios/characterise/dram.lua reads=8000 channels=2")
local rates, times = text:match "^(.-)\nLatency(.*)$"
for _, kind in ipairs { "hbm2", "hbm2e", "hbm3", "gddr6", "gddr6x" } do
    local shares = {}
    for v in rates:match("\n" .. kind .. " ([^\n]+)")
        :gsub("^.-  +%d+ +[%d-]+%s?%%? +", ""):gmatch "([%d.]+) %%" do
        shares[#shares + 1] = tonumber(v)
    end
    local stream, lines, bursts, bound, all, least, each = table.unpack(shares)
    tap.is(#shares, 7, kind .. ": seven shares", rates)
    tap.ok(stream > 97 and stream <= 100, kind .. ": a stream", stream)
    tap.ok(lines < stream and bursts < lines, kind .. ": at random", lines)
    tap.ok(bursts <= bound and bursts > 0.94 * bound,
        kind .. ": what activates allow", bursts .. " of " .. bound)
    tap.ok(math.abs(all - least) < 4, kind .. ": refresh of all banks",
        all .. " and " .. least)
    tap.ok(each > all and each <= stream, kind .. ": of one after the other",
        each)
    local n, row = 0, times:match("\n" .. kind .. " ([^\n]+)")
    for got, want in row:gmatch "([%d.]+) +%(([%d.]+)%)" do
        n = n + (got == want and 1 or 0)
    end
    tap.is(n, 3, kind .. ": latencies are their closed forms", row)
end
tap.done()

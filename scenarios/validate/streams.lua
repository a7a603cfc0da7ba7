--- streams.lua - one reading of memory in order, beside the peak of each card's DRAM.
--
-- Blocks of 1,024 threads read a piece of 128 kB each, which no other block reads, as
-- bandwidth.lua's do: twice what the card's L2 holds and 64 MB at least (full: eight
-- times, 256 MB), after a launch that finds nothing in a cache or a TLB.  So the
-- launch's beginning and end, some 2 us, count; the source's arrays are longer.  The
-- peak is 32 bytes in two cycles of clock.dram a channel.
--
--     heddle run scenarios/validate/streams.lua [scale=full] [only=h100]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local experiment = require "heddle.experiment"
local common = require "common"
local own = require "cards"
local kernels = require "kernels"

local PIECE = 131072

local arg = H.args(experiment.args { only = "" }) -- cards; empty: all

local v = common.open { name = "validate/streams", arg = arg,
    source = "mt4g, measured cards; data sheets", title = "reading memory in order" }
local x = v.x

--- Card, what a reading of its memory was measured to reach in GB/s, by whom.
local CARDS = common.only(arg, { { "p100" }, { "v100", 867, "gpu-stream" },
    { "rtx2060" }, { "a100", 1776, "gpu-stream" }, { "a100-pcie" },
    { "h100", 2750, "mt4g" }, { "h100-pcie", 1942, "gpu-stream" }, { "rtx4080" },
    { "l40" } })

local times, least = 2, 64 << 20
if x.full then
    times, least = 8, 256 << 20
end

local jobs = {}
for i, c in ipairs(CARDS) do
    local machine = own.machine(c[1])
    c.clock = tonumber(machine:get "clock.core")
    c.peak = 16 * machine:get "dram.channels" * machine:get "clock.dram"
    c.bytes = math.max(times * machine:get "l2cache.bytes", least) // PIECE * PIECE
    c.bytes = math.tointeger(c.bytes)
    jobs[i] = { machine = machine, seed = arg.seed, apps = { kernels.of("read",
        { bytes = c.bytes, each = PIECE, blocks = c.bytes // PIECE }) } }
end
local shares = { { "card", "read, MB", "us", "GB/s", "peak GB/s", "share",
    "85 % or more" } }
for i, r in ipairs(x:run(jobs)) do
    local c = CARDS[i]
    local seconds = kernels.timed(r) / c.clock
    local rate = c.bytes / seconds
    shares[i + 1] = { c[1], ("%.0f"):format(c.bytes / 1e6), ("%.1f"):format(1e6 * seconds),
        ("%.0f"):format(rate / 1e9), ("%.0f"):format(c.peak / 1e9),
        ("%.1f %%"):format(100 * rate / c.peak), rate >= 0.85 * c.peak and "yes" or "no" }
    if c[2] then
        v:row { c[1] .. ": reads in order", unit = "GB/s", measured = c[2],
            heddle = rate / 1e9, tolerance = 0.15, use = "test",
            note = "measured by " .. c[3] }
    end
end
x:table("Share of the peak", shares)
v:close()

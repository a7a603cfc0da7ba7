--- dram.lua - what the memories of dram.kind give: bandwidth, and latency without
-- load, each next to what it should be.
--
-- The channels of a DRAM system alone (heddle.part), with the clock of a card that
-- has the memory.  Channels do not depend on one another, so `channels` of them are
-- run and the card's GB/s are theirs times its number of channels.
--
-- Bandwidth, as a share of the peak of 32 bytes in 2 cycles a channel, with 64 reads
-- under way in each: a stream; lines of 128 bytes at random; bursts of 32 bytes at
-- random, each of which opens a row.  The last is bound by activates: four in tFAW,
-- one in tRRD, and on the row bus of a pair of pseudo-channels one activate (2 cycles)
-- and one precharge, each in its channel's every second cycle; its bound is the
-- slowest of these.  Then the stream with refresh of all banks and of one after the
-- other; what the refresh of all banks may leave is 1 - tRFC / tREFI.
--
-- Latency, in ns: a read of an open row, of a closed bank, of another row than the
-- open one, from its acceptance to its last datum.  What it should be, in brackets,
-- is a cycle to the first command, then CL, tRCD + CL or tRP + tRCD + CL, each rounded
-- up to cycles, and to turns where pseudo-channels take turns, and 2 cycles of data.
-- The nanoseconds for that are in this script, as ramulator2 2.1 has them; the
-- engine has a table of its own.
--
-- Measured: the share that reads of such a card reach: V100 867 of 898 GB/s and A100
-- 80 GB PCIe 1,776 of 1,935 (RRZE-HPC/gpu-benches), H100 SXM 2,750 of 3,352 and, for
-- GDDR6, an RTX 2080 Ti (caps-tum/mt4g); what is between DRAM and a core is in it.
--
-- Some 5 s.
--
--     heddle run scenarios/characterise/dram.lua [reads=N] [channels=N]
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local part = require "heddle.part"

local arg = H.args {
    reads = 20000, -- bursts of each channel in a run
    channels = 4, -- of a system, an even number
}

--- Channels and clock (MHz) of a card; timings in ns; whether channels are pairs.
local KINDS = {
    { "hbm2", "V100", measured = "97 %", channels = 64, mhz = 877, cl = 14, rcd = 14, rp = 14,
        rrd = 4, faw = 15, refi = 3900, rfc = 350, least = 4, pair = true },
    { "hbm2e", "A100 80 GB", measured = "92 %", channels = 80, mhz = 1593, cl = 14, rcd = 14,
        rp = 14, rrd = 4, faw = 15, refi = 3900, rfc = 450, least = 4, pair = true },
    { "hbm3", "H100 SXM", measured = "82 %", channels = 160, mhz = 1309.5, cl = 12.5, rcd = 19.375,
        rp = 16.25, rrd = 3.125, faw = 15, refi = 3900, rfc = 350, pair = true },
    { "gddr6", "RTX 2060", measured = "95 %", channels = 12, mhz = 1750, cl = 13.68, rcd = 15.39,
        rp = 15.39, rrd = 4.56, faw = 16.53, refi = 1900, rfc = 120 },
    { "gddr6x", "RTX 4080", channels = 16, mhz = 2800, cl = 13.68, rcd = 15.39,
        rp = 15.39, rrd = 4.56, faw = 16.53, refi = 1900, rfc = 120 },
}

local function system(k, more)
    local d = part.dram { { "kind", k[1] }, { "clock", math.tointeger(k.mhz * 1000000) },
        { "channels", arg.channels }, { "window", 64 }, { "interleave", 256 } }
    for name, value in pairs(more or {}) do
        d:set(name, value)
    end
    return d
end

--- Distances between commands in cycles: rounded up, and to turns.
local function cycles(k, ns)
    return math.ceil(ns * k.mhz / 1000 - 1e-9)
end

local function apart(k, ns)
    local n = math.max(cycles(k, ns), ns == k.rrd and k.least or 1)
    return k.pair and n + n % 2 or n
end

-- ---- bandwidth ----------------------------------------------------------------

local random = { stream = 0 }
function random.next(n)
    random.state = random.state * 6364136223846793005 + 1442695040888963407
    return (random.state >> 33) % n
end

--- The share of the peak: reads of `bytes` in one piece, at random or in order.
local function share(k, bytes, more)
    local d, each = system(k, more), bytes and bytes // 32 or 1
    random.state = 1
    for i = 0, arg.reads * arg.channels // each - 1 do
        local at = bytes and random.next(1 << 30) // each * bytes or 32 * i
        for burst = 0, each - 1 do
            d:read(at + 32 * burst, 0)
        end
    end
    return d:run().bandwidth
end

--- The share of bursts of rows of their own that activates allow.
local function bound(k)
    local bus = k.pair and 2 * (2 + 1) or 1 + 1 + 1
    return 2 / math.max(apart(k, k.rrd), apart(k, k.faw) / 4, bus)
end

-- ---- latency --------------------------------------------------------------------

--- In ns: of a row hit, a closed bank and another row than the open one.
local function latencies(k)
    local d, out = system(k), {}
    local row = 1 << 24 -- another row of the bank
    d:read(0, 1):read(32, 1001):read(row, 2001)
    d:run()
    for _, _, cycle in d:reads() do
        out[#out + 1] = cycle * 1000 / k.mhz
    end
    return { out[2], out[1], out[3] }
end

local function closed_forms(k)
    local rest = 1 + cycles(k, k.cl) + 2
    local out = { rest, rest + apart(k, k.rcd),
        rest + apart(k, k.rp) + apart(k, k.rcd) }
    for i, n in ipairs(out) do
        out[i] = n * 1000 / k.mhz
    end
    return out
end

-- ---- tables ---------------------------------------------------------------------

local function percent(v)
    return ("%.1f %%"):format(100 * v)
end

local rates = { { "memory", "card", "peak GB/s", "measured",
    "stream", "GB/s", "lines of 128", "GB/s", "bursts", "bound", "GB/s",
    "refresh, all", "bound", "each bank" } }
local times = { { "memory", "MHz", "row hit", "", "row miss", "", "row conflict", "" } }
for _, k in ipairs(KINDS) do
    local peak = 16 * k.channels * k.mhz / 1000
    local stream, lines, bursts = share(k), share(k, 128), share(k, 32)
    rates[#rates + 1] = { k[1], k[2], ("%.0f"):format(peak),
        k.measured or "-", percent(stream), ("%.0f"):format(stream * peak),
        percent(lines), ("%.0f"):format(lines * peak),
        percent(bursts), percent(bound(k)), ("%.0f"):format(bursts * peak),
        percent(share(k, nil, { refresh = true })), percent(1 - k.rfc / k.refi),
        percent(share(k, nil, { refresh = true, refresh_by = "bank" })) }
    local row, form = { k[1], ("%g"):format(k.mhz) }, closed_forms(k)
    for i, ns in ipairs(latencies(k)) do
        row[#row + 1] = ("%.2f"):format(ns)
        row[#row + 1] = ("(%.2f)"):format(form[i])
    end
    times[#times + 1] = row
end
io.write("Reads: share of the peak, and GB/s of the card\n\n", H.report.table(rates),
    "\nLatency without load, in ns (what it should be)\n\n", H.report.table(times))

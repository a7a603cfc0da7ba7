-- 115-l2-hash.lua - pins: with hashed channels, slices and sets a whole machine
-- runs under its checks, loses no request and continues from a snapshot; a
-- matrix whose rows are a power of two no longer meets in one slice; the DRAM
-- system driven alone spreads the stride, too; six channels take both, five xor
-- alone; rows that meet in one bank are spread over banks.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local part = require "heddle.part"

local function hashes(channel, slice, set)
    return { ["dram.channel_hash"] = channel, ["l2cache.slice_hash"] = slice,
        ["l2cache.set_hash"] = set, ["sim.relaunch"] = false }
end

-- ---- nothing is lost --------------------------------------------------------

for _, run in ipairs {
    { "maxwell", hashes("xor", "xor", "xor") },
    { "maxwell", hashes("ipoly", "ipoly", "ipoly") },
    { "maxwell", hashes("none", "none", "ipoly") },
    { "maxwell", hashes("ipoly", "xor", "none") },
    { "mosaic", hashes("xor", "xor", "xor"), "mosaic" },
    -- slices that belong to no channel
    { "maxwell", hashes("none", "none", "none"), nil, 20 },
    { "maxwell", hashes("ipoly", "ipoly", "xor"), nil, 20 },
} do
    local machine, settings, policy, slices = table.unpack(run, 1, 4)
    settings["l2cache.slices"] = slices
    local sim <close> = whole.sim({ "GUP", "HS" },
        whole.join(whole.SMALL, settings), { machine = machine, check = true,
            policies = policy and { policy } or nil })
    sim:run(5000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local c = sim:counters()
    local title = ("%s, %s %s %s%s"):format(machine,
        settings["dram.channel_hash"], settings["l2cache.slice_hash"],
        settings["l2cache.set_hash"], slices and ", 20 slices" or "")
    tap.ok(c.l2cache.dram_reads > 0 and c.l2cache.dram_reads
        == c.dram.reads + c.dram.walk_reads or policy, title
        .. ": what the L2 reads is read from DRAM")
    tap.is(whole.again(sim, snap, 777), nil, title .. ": from a snapshot")
end

-- ---- rows of a power of two -------------------------------------------------

local function columns(settings)
    local sim <close> = H.sim { machine = "etc", budget = 30000,
        apps = { H.app("ATAX", { nx = 2048, ny = 2048 }) },
        settings = whole.join(settings, { ["vm.paging"] = "none" }) }
    sim:run()
    local most, sum = 0, 0
    for i = 0, 15 do
        local n = sim:counters { instance = i }.l2cache.read_misses
        most, sum = math.max(most, n), sum + n
    end
    return sim.now, most * 16 / sum
end

local plain, camped = columns(hashes("none", "none", "none"))
for _, kind in ipairs { "xor", "ipoly" } do
    local cycles, most = columns(hashes(kind, kind, "none"))
    tap.ok(plain > 2 * cycles and camped > 1.5 and most < 1.1, kind
        .. ": columns of a matrix are spread over slices",
        ("%d and %d cycles, %.2f and %.2f of the mean"):format(plain, cycles,
            camped, most))
end

-- ---- DRAM alone -------------------------------------------------------------

local function alone(hash, channels)
    local d = part.dram { channels = channels, interleave = 256,
        channel_hash = hash }
    for i = 0, 511 do
        d:read(i * channels * 256, 0)
    end
    return d:run().cycles
end

local slow = alone("none", 8)
for _, hash in ipairs { "xor", "ipoly" } do
    tap.ok(alone(hash, 8) * 4 < slow, hash .. ": DRAM alone",
        ("%d and %d cycles"):format(slow, alone(hash, 8)))
end
tap.ok(alone("xor", 6) * 3 < alone("none", 6), "xor: six channels")
tap.ok(alone("ipoly", 6) * 3 < alone("none", 6), "ipoly: six channels")
tap.raises(function() alone("ipoly", 5) end, "ipoly has polynomials for even "
    .. "numbers, and dram.channels is 5", "ipoly: five channels")

-- ---- shares -----------------------------------------------------------------

--- DRAM cycles of 4,000 reads of bank-conflicting rows in one channel.
local function rows(hash, latency)
    local d = part.dram { channels = 1, banks = 16, bank_hash = hash,
        latency = latency or 0 }
    for i = 0, 3999 do
        d:read(i * 16 * 4096, 0)
    end
    return d:run().cycles
end
for _, hash in ipairs { "xor", "ipoly" } do
    tap.ok(rows(hash) * 4 < rows("none"), hash .. ": rows are spread over "
        .. "banks", ("%d and %d cycles"):format(rows(hash), rows("none")))
end
tap.raises(function()
    whole.sim({ "GUP" }, { ["dram.channel_hash"] = "ipoly",
        ["dram.channels"] = 5, ["l2cache.slices"] = 10 },
        { machine = "mosaic" })
end, "dram.channel_hash: ipoly has polynomials for even numbers", "ipoly: five")

tap.done()

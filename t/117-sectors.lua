-- 117-sectors.lua - pins: sectored caches in a whole machine.  Lanes 128 bytes
-- apart read a sector each from DRAM, and not a line, while stores and wide loads
-- stay a request a line; one sector comes in the cycles of its flits; a sector as
-- long as a line is a line; runs under checks lose nothing and continue from
-- snapshots; sampled runs leave in the caches what they hit; settings that do not
-- go together are refused.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local SECTORS = { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
    ["l1cache.write"] = "through", ["sim.relaunch"] = false }
local OFF = whole.join(SECTORS, { ["sim.translation"] = "off",
    ["l2cache.bytes"] = 8 << 20,
    ["dram.bus_bytes"] = 32 })

--- A kernel of 30 blocks of 8 warps, and what its threads do.
local function kernel(name, body, grid)
    return H.program(k.app { name = name, source = "this test",
        buffers = function() return { k.i32("m", 1 << 21),
            k.i32("out", 1 << 16) } end,
        kernels = function(_, b) return {
            k.kernel(name, { grid = grid or 30, block = 256 },
                function(t) body(t, b) end) } end })
end

local function counters(app, settings, options)
    local sim <close> = whole.sim({ app }, settings,
        whole.join({ check = true }, options or {}))
    sim:run()
    sim:check()
    return sim:counters(), sim.now
end

-- ---- what is moved ----------------------------------------------------------

local function stride(t, b)
    for i = 0, 3 do
        t:load(b.m, (t.gid + i * 7680) * 32)
    end
end

local plain, slow = counters(kernel("stride128", stride),
    whole.join(OFF, { ["l1cache.sector_bytes"] = 0,
        ["l2cache.sector_bytes"] = 0 }))
local c, fast = counters(kernel("stride128", stride), OFF)
tap.is(plain.dram.reads, 30720, "lanes 128 bytes apart: 30,720 lines are read")
tap.is(plain.dram.data_bursts, 4 * 30720, "in 4 bursts each")
tap.is(c.dram.reads, 30720, "and with sectors in as many requests")
tap.is(c.dram.data_bursts, 30720, "of one burst")
tap.is(c.l2sector.fetched, 30720, "960 KB in all")
tap.is(c.l1sector.reads, 30720, "which the L1 was asked for")
tap.ok(fast < slow, "in less time", ("%d, %d"):format(fast, slow))

c = counters(kernel("stores", function(t, b) t:store(b.out, t.gid, 1) end), OFF)
tap.is(c.l1cache.writes, 240, "a warp's store is one request")
tap.is(c.l1sector.writes, 960, "of four sectors")
tap.is(c.l1sector.write_parts, 0, "which it fills")
tap.is(c.dram.reads, 0, "and nothing is fetched for it")

c = counters(kernel("wide", function(t, b)
    t:load(b.m, t.gid * 4, { vec = 4 })
end), OFF)
tap.is(c.l1cache.reads, 4 * 240, "loads of 16 bytes: four lines a warp")
tap.is(c.l1sector.reads, 16 * 240, "of four sectors")
tap.is(c.l2cache.dram_reads, 4 * 240, "each line is one request to DRAM")

c = counters(kernel("again", function(t, b)
    t:store(b.out, t.gid, 1)
    t:sync()
    t:alu(2000)
    t:load(b.out, t.gid)
end), OFF)
tap.is(c.l1sector.read_hits, 960, "what was stored is in the L1")
tap.is(c.dram.reads, 0, "and was never fetched")

do -- eight lanes on a word: each of 960 sectors is asked for eight times
    local function add(t, b)
        t:atomic("add", b.out, t.gid // 8 * 8, 1)
    end
    local word = whole.join(OFF, { ["core.atomics"] = "word" })
    local lines = counters(kernel("atomics", add), whole.join(word,
        { ["l1cache.sector_bytes"] = 0, ["l2cache.sector_bytes"] = 0 }))
    c = counters(kernel("atomics", add), word)
    tap.is(c.core.atomic_requests, 7680, "lanes on one word are split")
    tap.is(c.core.atomic_requests, lines.core.atomic_requests, "likewise by lines")
    tap.is(c.l2sector.fetched, 960, "and each sector comes once")
    tap.is(c.dram.data_bursts, 960, "in a burst")
end

-- ---- when it is there -------------------------------------------------------

local function latency(lanes, sectors)
    local sim <close> = whole.sim({ kernel("one", function(t, b)
        t:when(t.gid:lt(lanes), function() t:load(b.m, t.gid) end)
    end, 1) }, whole.join(OFF, { ["l1cache.latency"] = 3, ["xbar.latency"] = 7,
        ["l2cache.latency"] = 11, ["l2cache.queue_latency"] = 0,
        ["dram.mode"] = "off",
        ["clock.dram"] = 1020000000, ["core.count"] = 1,
        ["l1cache.sector_bytes"] = sectors,
        ["l2cache.sector_bytes"] = sectors }))
    sim:run()
    for _, h in ipairs(sim:results().histograms) do
        if h.name == "load_latency" then
            return h.apps[1].max
        end
    end
end

for n = 1, 4 do
    tap.is(latency(8 * n, 32), 3 + 7 + 11 + 7 + n,
        n .. " sectors are there after as many flits")
end
tap.is(latency(8, 0), 3 + 7 + 11 + 7 + 4, "a line after four")

-- ---- ways taken by misses ---------------------------------------------------

--- The last answer to a load of so many lines of one set, and stalls.
local function one_set(lines, ways, allocate)
    local sim <close> = whole.sim({ kernel("one", function(t, b)
        t:when(t.gid:lt(lines), function() t:load(b.m, t.gid * 32) end)
    end, 1) }, whole.join(OFF, { ["l1cache.latency"] = 3, ["xbar.latency"] = 7,
        ["l2cache.latency"] = 11, ["l2cache.queue_latency"] = 0,
        ["dram.mode"] = "off", ["clock.dram"] = 1020000000,
        ["core.count"] = 1, ["l1cache.bytes"] = ways * 128,
        ["l1cache.ways"] = ways, ["l1cache.allocate"] = allocate }),
        { check = true })
    sim:run()
    for _, h in ipairs(sim:results().histograms) do
        if h.name == "load_latency" then
            return h.apps[1].max, sim:counters().l1cache.mshr_full
        end
    end
end

do
    local trip = 3 + 7 + 11 + 7 + 1
    tap.is(one_set(1, 2, "miss"), trip, "one line: a trip")
    tap.is(one_set(2, 2, "miss"), one_set(2, 2, "fill"), "as many lines as ways")
    local fill, none = one_set(3, 2, "fill")
    local miss, stalls = one_set(3, 2, "miss")
    tap.is(fill, trip + 2, "three lines of two ways, taken when they come")
    tap.is(miss, 2 * trip, "taken by misses: the third waits for the first")
    tap.ok(none == 0 and stalls > 0, "and the load/store unit stalls")
    tap.is(one_set(5, 2, "miss"), 3 * trip, "the fifth for the third")
end

-- ---- a sector as long as a line ---------------------------------------------

local function is_sector(component)
    return component == "l1sector" or component == "l2sector"
end

for _, app in ipairs {
    kernel("random", function(t, b)
        t:loop(8, function(j)
            t:load(b.m, (t.gid * 61 + j * 4099) * 37 % (1 << 21))
        end)
    end, 8),
    kernel("rows", function(t, b)
        t:loop(8, function(j) t:load(b.m, t.gid % 1024 + j * 1024) end)
    end, 8),
} do
    local lines = {}
    for i, sector in ipairs { 0, 128 } do
        local sim <close> = whole.sim({ app }, whole.join(whole.SMALL, SECTORS,
            { ["l1cache.sector_bytes"] = sector,
                ["l2cache.sector_bytes"] = sector }))
        sim:run()
        lines[i] = whole.statistics(sim, is_sector)
        for j, line in ipairs(lines[i]) do -- of kernels, all counters in a row
            if line:find "^%d+ %d+ %d+ %d+ " then
                lines[i][j] = ""
            end
        end
    end
    tap.is(whole.difference(lines[1], lines[2]), nil,
        "sectors of a line's length do what lines do")
end

-- ---- nothing is lost --------------------------------------------------------

local NARROW = { ["l1cache.mshrs"] = 2, ["l1cache.merges"] = 2,
    ["l2cache.mshrs"] = 2, ["l2cache.merges"] = 2, ["l2cache.queue"] = 2,
    ["dram.queue"] = 4, ["l1cache.stores"] = 2 }

for _, run in ipairs {
    { "plain", {} }, { "narrow", NARROW },
    { "fetched by 64", { ["l2cache.fetch_bytes"] = 64 } },
    { "fetched by lines", { ["l2cache.fetch_bytes"] = 128 } },
    { "stores evict", { ["l1cache.write"] = "evict" } },
    { "an L2 written through", { ["l2cache.write"] = "through" } },
    { "an L2 that stores evict from", { ["l2cache.write"] = "evict" } },
    { "shared ways", { ["l2cache.partition"] = true } },
    { "no L1", { ["l1cache.mode"] = "off" } },
    { "no L2", { ["l2cache.mode"] = "off" } },
    { "pages on the host", { ["vm.paging"] = "fault",
        ["link.latency"] = 100, ["remote.access"] = "remote" } },
    { "lines of 64", { ["l1cache.line"] = 64, ["l2cache.line"] = 64 } },
    { "pages ahead of lines", { ["l1tlb.overlap"] = "off" } },
    { "ways taken by misses", { ["l1cache.allocate"] = "miss",
        ["l1cache.bytes"] = 1024, ["l1cache.ways"] = 2 } },
    { "replays of a blocking TLB", { ["l1tlb.blocking"] = "hits" } },
} do
    local what, settings = table.unpack(run)
    local sim <close> = whole.sim({ whole.random(8, 16), "BFS2" },
        whole.join(whole.SMALL, SECTORS, settings), { check = true })
    sim:run(3000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local n = sim:counters()
    tap.is(n.l2sector.fetched, n.l2sector.read_misses + n.l2sector.added, what
        .. ": what misses is fetched")
    tap.is(n.l1sector.reads, n.l1sector.read_hits + n.l1sector.read_misses
        + n.l1sector.read_merged, what .. ": a sector hits, misses or merges")
    tap.is(whole.again(sim, snap, 777), nil, what .. ": from a snapshot")
end

do -- requests that skip the L2, and lines that it declines
    local skips = { name = "skips", summary = "skips now and then",
        source = "this test", params = {}, state = { n = 0 },
        l2_bypass = function(_, s)
            s.n = s.n + 1
            return s.n % 3 == 0
        end,
        cache_insert = function(_, s)
            s.n = s.n + 1
            return s.n % 5 == 0 and 1 or nil
        end }
    local sim <close> = whole.sim({ "GUP", "HS" }, whole.join(whole.SMALL,
        SECTORS), { check = true, policies = { skips } })
    sim:run()
    sim:check()
    local n = sim:counters().l2cache
    tap.ok(n.bypass_walks > 0 and n.bypass_data > 0, "requests skip the L2")
end

-- ---- sampled ----------------------------------------------------------------

do
    local app = kernel("reuse", function(t, b)
        t:loop(40, function(j)
            t:load(b.m, (t.gid % 512 + j % 4 * 512) * 8)
            t:store(b.out, t.gid % 512 + j % 4 * 512, 1)
        end)
    end, 8)
    local hits = {}
    for i, more in ipairs { {}, { ["sample.every"] = 400,
        ["sample.window"] = 40, ["sample.warm"] = 20 } } do
        local n = counters(app, whole.join(SECTORS, more, {
            ["core.count"] = 2, ["l1cache.bytes"] = 16384 }))
        hits[i] = n.l1sector.read_hits / n.l1sector.reads
    end
    tap.ok(math.abs(hits[1] - hits[2]) < 0.1, "a sampled run's sectors hit as "
        .. "often", ("%.3f, %.3f"):format(hits[1], hits[2]))
end

-- ---- what is refused --------------------------------------------------------

for _, t in ipairs {
    { { ["l1cache.sector_bytes"] = 48, ["l2cache.sector_bytes"] = 48 },
        "power of two" },
    { { ["l1cache.sector_bytes"] = 16, ["l2cache.sector_bytes"] = 16 },
        "power of two from 32" },
    { { ["l1cache.line"] = 64, ["l2cache.line"] = 64,
        ["l1cache.sector_bytes"] = 128, ["l2cache.sector_bytes"] = 128 },
        "to l1cache.line %(64%)" },
    { { ["l1cache.line"] = 256, ["l2cache.line"] = 256 }, "at most 128" },
    { { ["l1cache.sector_bytes"] = 64, ["l2cache.sector_bytes"] = 64,
        ["l2cache.fetch_bytes"] = 32 }, "l2cache.fetch_bytes: 32" },
    { { ["l1cache.line"] = 64, ["l2cache.line"] = 64,
        ["l2cache.fetch_bytes"] = 128 }, "l2cache.fetch_bytes: 128" },
    { { ["l2cache.fetch_bytes"] = 64, ["l1cache.sector_bytes"] = 0,
        ["l2cache.sector_bytes"] = 0 }, "whole lines are fetched" },
    { { ["l2cache.sector_bytes"] = 0 }, "one size is expected" },
    { { ["l1cache.write"] = "back" }, "l1cache.write: back" },
    { { ["compress.enable"] = true }, "compress.enable" },
    { { ["core.parked"] = 65536 }, "core.parked" },
    { { ["l1cache.allocate"] = "miss", ["l1cache.sector_bytes"] = 0,
        ["l2cache.sector_bytes"] = 0 }, "l1cache.allocate: miss" },
} do
    local ok, e = pcall(function()
        whole.sim({ "GUP" }, whole.join(SECTORS, t[1])):close()
    end)
    tap.ok(not ok and tostring(e):find(t[2]), "refused: " .. t[2], tostring(e))
end

tap.done()

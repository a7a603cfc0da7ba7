-- 318-virtual.lua - pins: virtual L1 caches.  A line that hits takes the L1's time
-- alone, however many pages there are, and asks no TLB; one that misses takes the
-- sum of both; stores and atomics are translated; lines of a page leave with its
-- translation; with sectors as with lines; runs under checks continue from
-- snapshots, and what does not go together is refused.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local MB = 1 << 20
local L1, TLB = 7, 3

local ROOM = whole.join(whole.ROUND, {
    ["core.count"] = 2, ["l1cache.order"] = "virtual",
    ["l1cache.latency"] = L1, ["l1tlb.latency"] = TLB, ["l1tlb.entries"] = 4,
    ["l1tlb.blocking"] = "none", ["l1cache.bytes"] = 65536,
    ["l1cache.ways"] = 128, ["vm.page"] = "2M", ["vm.memory_bytes"] = 2 << 30,
})

--- Counters, and the sum of loads' latencies, of one warp that does for each of n
-- pages of 2 MB what body(t, i, buffers) says, so many rounds.
local function run(n, rounds, settings, body)
    local app = k.app { name = "virtual", source = "this test",
        buffers = function() return { k.i32("a", 64 * MB) } end,
        kernels = function(_, b) return {
            k.kernel("virtual", { block = 32 }, function(t)
                t:loop(rounds, function()
                    t:loop(n, function(i)
                        body(t, i * (MB // 2 + 32), b)
                        t:alu(1)
                    end)
                end)
            end) } end }
    local sim <close> = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = whole.join(ROOM, settings or {}), check = true }
    sim:run()
    sim:check()
    for _, h in ipairs(sim:results().histograms) do
        if h.name == "load_latency" then
            return sim:counters(), h.apps[1].sum
        end
    end
end

local function load(t, i, b) t:load(b.a, i) end

for _, sectors in ipairs { 0, 32 } do
    local of = { ["l1cache.sector_bytes"] = sectors,
        ["l2cache.sector_bytes"] = sectors, ["l1cache.write"] = "through" }
    local what = sectors == 0 and "lines: " or "sectors: "
    local c, first = run(60, 1, of, load)
    tap.is(c.l1tlb.lookups, 60, what .. "each first line asks the TLB")
    local again, all = run(60, 3, of, load)
    tap.is(again.l1tlb.lookups, 60, what .. "which hits then ask no more")
    tap.is(again.l1cache.read_hits, 120, what .. "two rounds of 60 hit")
    tap.is(all - first, 120 * L1,
        what .. "and take the L1's time, in 15 times the reach of the TLB")
    local beside, slow = run(60, 3, whole.join(of, { ["l1cache.order"] = "after" }),
        load)
    tap.is(beside.l1tlb.lookups, 180, what .. "after a TLB all lines ask it")
    tap.ok(slow > all, what .. "and take longer", ("%d, %d"):format(slow, all))
    c = run(60, 3, of, function(t, i, b) t:store(b.a, i, 1) end)
    tap.is(c.l1tlb.lookups, 180, what .. "stores are translated")
    c = run(60, 3, of, function(t, i, b) t:atomic("add", b.a, i, 1) end)
    tap.is(c.l1tlb.lookups, 180, what .. "and atomics")
end

do -- a miss is the sum, whose page hits in the TLB
    local small = { ["l1cache.bytes"] = 128, ["l1cache.ways"] = 1 }
    local off = whole.join(small, { ["sim.translation"] = "off" })
    local function steady(settings)
        local _, three = run(2, 3, settings, load)
        local _, four = run(2, 4, settings, load)
        return four - three
    end
    tap.is(steady(small) - steady(off), 2 * TLB,
        "a miss takes the look-up in the TLB as well")
    local c = run(8, 1, {}, function(t, i, b)
        t:load(b.a, i + 64)
        t:alu(1)
        t:load(b.a, i)
        t:load(b.a, i)
    end)
    tap.is(c.l1cache.read_merges, 8, "a line in flight to the L1 is waited for")
    tap.is(c.l1tlb.lookups, 16, "without a TLB")
end

-- ---- pages that leave -----------------------------------------------------------

--- Two buffers of n pages in which lines are loaded again, and stored.
local function often(n)
    return H.program(k.app { name = "often", source = "this test",
        buffers = function() return { k.i32("a", n * 1024),
            k.i32("o", n * 1024) } end,
        kernels = function(_, b)
            local list = {}
            for i = 1, 3 do
                list[i] = k.kernel("k" .. i, { grid = 4, block = 64 }, function(t)
                    t:loop(40, function(j)
                        local at = t.gid // 32 * 4099 + j * (997 * i)
                        t:load(b.a, at % (n * 1024))
                        t:load(b.a, at // 8 * 8 % (n * 1024))
                        t:store(b.o, (at + t.tid) % (n * 1024), 1)
                    end)
                end)
            end
            return list
        end })
end

for _, case in ipairs {
    { "little memory", often(48), { ["evict.unit"] = "4K",
        ["vm.table_frames"] = (64 << 8) - 48 } },
    { "trees", often(1024), { ["evict.unit"] = "tree",
        ["fault.prefetch"] = "tree", ["vm.table_frames"] = (64 << 8) - 1024,
        ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
        ["l1cache.write"] = "through" } },
    { "without a TLB in the core", often(48), { ["evict.unit"] = "4K",
        ["vm.table_frames"] = (64 << 8) - 48, ["l1tlb.mode"] = "off",
        ["utlb1.entries"] = 8, ["utlb1.share"] = 2 } },
    { "hints, and touches", whole.any(96, 5, 4), { ["evict.unit"] = "4K",
        ["vm.table_frames"] = (64 << 8) - 48 } },
    { "used on the host", often(24), { ["evict.unit"] = "4K",
        ["remote.access"] = "remote", ["vm.table_frames"] = (64 << 8) - 24 } },
} do
    whole.stress(case[1], whole.maker({ case[2] }, whole.join(whole.SMALL, {
        ["l1cache.order"] = "virtual", ["vm.paging"] = "fault",
        ["link.latency"] = 400, ["vm.memory_bytes"] = 64 << 20,
        ["sim.relaunch"] = false }, case[3]), { check = true }),
        { step = 1999, snaps = 3,
            due = function(c) return c.fault.pages + c.remote.pages end,
            good = function(c) return c.l1cache.read_hits + c.l1cache.read_merges > 50
                or case[1]:find "hints" end })
end

do
    local app = k.app { name = "again", source = "this test",
        buffers = function() return { k.i32("a", 4096), k.i32("o", 4096) } end,
        kernels = function(_, b)
            local list = {}
            for i = 1, 2 do
                list[i] = k.kernel("k" .. i, { block = 32 }, function(t)
                    t:load(b.a, t.tid)
                end)
            end
            return list
        end }
    local sim <close> = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = whole.join(ROOM, { ["vm.page"] = "4K" }), check = true }
    sim:run()
    sim:check()
    tap.is(sim:counters().l1tlb.lookups, 1, "the second kernel's line hits")
end

--- Lines in the L1s after a kernel has read a buffer, which is then given back,
-- and another one has read a line of its own.
local function left(order)
    local app = k.app { name = "left", source = "this test",
        buffers = function() return { k.i32("a", 4096), k.i32("o", 4096) } end,
        kernels = function(_, b)
            return { { k.kernel("first", { block = 32 }, function(t)
                t:loop(20, function(j) t:load(b.a, j * 32) end)
            end), free = { b.a } },
                k.kernel("second", { block = 32 }, function(t)
                    t:load(b.o, 0)
                end) }
        end }
    local sim <close> = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = whole.join(ROOM, { ["vm.page"] = "4K",
            ["l1cache.order"] = order }), check = true }
    sim:run()
    local n = 0
    for i = 0, 1 do
        for _, row in ipairs(sim:look("l1cache", i)) do
            n = n + (row.set and 1 or 0)
        end
    end
    return n
end
tap.is(left "beside", 21, "lines of a page that is given back stay")
tap.is(left "virtual", 1, "and leave a virtual L1 with its translation")

-- ---- words ----------------------------------------------------------------------

for setting, case in pairs {
    ["l1cache.write"] = { "back", "l1cache.write: back" },
    ["l1tlb.overlap"] = { "ahead", "l1tlb.overlap: pages are looked up" },
} do
    local ok, err = pcall(whole.sim, { "GUP" },
        { ["l1cache.order"] = "virtual", [setting] = case[1] })
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(case[2], 1, true), setting .. " is refused", err)
end

tap.done()

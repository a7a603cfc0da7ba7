-- 565-policy-mosaic.lua - Mosaic: what each part does, and both forms alike.
--
-- The policy in C and in Lua gives byte-identical statistics under paging
-- before cycle 0, deallocation, relaunch, fragmentation and lack of memory,
-- checked while running.  Switched off one by one, each mechanism is missed:
-- CoCoA (no frame has two applications' pages), the coalescer (large hits,
-- 4 references a walk), splitting by the threshold, CAC's moves and their
-- traffic, copies inside DRAM, and the stall.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local FEW = { ["core.count"] = 4 }

--- Runs applications under a policy to the end; its counters, and itself.
local function run(apps, policy, options, settings, cycles)
    local sim <close> = H.sim {
        machine = "mosaic", check = true, apps = apps(),
        settings = whole.join(FEW, settings),
    }
    if policy then
        sim:use(policy, options)
    end
    sim:run(cycles)
    sim:check()
    return sim:counters(), whole.statistics(sim), sim.now
end

--- Two applications whose buffers of odd sizes come in turns and go.
local function odd()
    return { whole.freer(700, 12, "x"), whole.freer(1500, 8, "y") }
end

--- Two that are mapped in whole and broken pieces of 2 MB, and stay.
local function steady()
    return { H.app("GUP", { size = "S" }), H.app("CONS", { size = "S" }) }
end

-- ---- C and Lua ----------------------------------------------------------------

local SMALL_MEMORY = { ["vm.memory_bytes"] = 96 << 20,
    ["vm.table_frames"] = 2048 }
local FROM_HOST = { ["vm.paging"] = "fault", ["link.latency"] = 3000,
    ["link.bandwidth"] = 200000000000 }
local CASES = {
    { steady, {}, {}, 30000 },
    { steady, {}, FROM_HOST, 30000 },
    { steady, { early = 1 }, FROM_HOST, 30000 },
    { steady, { cac = 1 }, whole.join(FROM_HOST, SMALL_MEMORY,
        { ["memory.fragment_index"] = 100,
            ["memory.fragment_occupancy"] = 25 }), 30000 },
    { odd, { early = 1, cac = 2 }, whole.join(FROM_HOST, {
        ["fault.transfer"] = "2M", ["memory.free_at_end"] = true }) },
    { odd, {}, {} },
    { odd, { threshold = 0, cac = 2 }, { ["memory.free_at_end"] = true } },
    { odd, { threshold = 100, cac = 2, stall = 0 },
        { ["memory.fragment_index"] = 40 } },
    { odd, { cac = 3 }, { ["memory.free_at_end"] = true,
        ["memory.fragment_index"] = 100,
        ["memory.fragment_occupancy"] = 75 } },
    { steady, { cac = 1 }, whole.join(SMALL_MEMORY,
        { ["memory.fragment_index"] = 100,
            ["memory.fragment_occupancy"] = 25 }), 20000 },
    { steady, { cac = 0, coalesce = 0 }, whole.join(SMALL_MEMORY,
        { ["memory.fragment_index"] = 60,
            ["memory.fragment_occupancy"] = 5 }), 10000 },
}
for i, case in ipairs(CASES) do
    local apps, options, settings, cycles = table.unpack(case, 1, 4)
    local c, left = run(apps, "mosaic", options, settings, cycles)
    local _, right = run(apps, "policies/mosaic.lua", options, settings,
        cycles)
    tap.ok(not whole.difference(left, right), "case " .. i ..
        ": C and Lua alike", whole.difference(left, right))
    tap.ok(c.policy["frame_place.asked"] > 20, "case " .. i ..
        ": it was asked", c.policy["frame_place.asked"])
end

-- ---- CoCoA and the coalescer ---------------------------------------------------

local one = { ["l1tlb.large_entries"] = 1 } -- so that the L2 TLB is asked
local plain = run(steady, nil, nil, one, 30000)
local cocoa = run(steady, "mosaic", { coalesce = 0 }, one, 30000)
local mosaic = run(steady, "mosaic", nil, one, 30000)
tap.ok(plain.memory.mixed > 0, "by default applications share frames of 2 MB",
    plain.memory.mixed)
tap.is(mosaic.memory.mixed, 0, "under CoCoA they do not")
tap.is(cocoa.memory.coalesced, 0, "without the coalescer nothing coalesces")
-- GUP: 2.25 whole frames, CONS 3 buffers of 9 MB: 4 whole ones each, and what
-- its base pages fill in order
tap.ok(mosaic.memory.coalesced >= 14, "whole frames are coalesced",
    mosaic.memory.coalesced)
tap.is(mosaic.mover.table_writes, 33 * mosaic.memory.coalesced,
    "each at the price of 33 lines")
tap.ok(mosaic.l2tlb.large_hits > 0 and cocoa.l2tlb.large_hits == 0,
    "a coalesced page hits in the large array")
tap.ok(mosaic.walk.walks * 10 < cocoa.walk.walks, "and hardly walks",
    mosaic.walk.walks .. " " .. cocoa.walk.walks)
tap.ok(mosaic.walk.references > 3 * mosaic.walk.walks and
    mosaic.walk.references_level4 >= mosaic.walk.walks,
    "its walk reads the leaf table, too")

local early = run(steady, "mosaic", nil, whole.join(one,
    { ["memory.setup_traffic"] = false }), 30000)
tap.is(early.mover.table_writes, 0, "what came before the start is free")
tap.is(early.memory.coalesced, mosaic.memory.coalesced, "but done")
local late = run(steady, "mosaic", nil, one, 2000)
early = run(steady, "mosaic", nil, whole.join(one,
    { ["memory.setup_traffic"] = false }), 2000)
tap.ok(early.dram.writes == 0 and late.dram.writes > 0,
    "and the first cycles lose nothing by it", late.dram.writes)

-- ---- pages from the host -------------------------------------------------------

-- Whole 2 MB cross at once, so a region is coalesced when the last page comes,
-- or with the first; the others fault or wait then, whatever the TLBs hold.
local host = whole.join(one, FROM_HOST)
local when_all = run(steady, "mosaic", nil, host, 30000)
local at_once = run(steady, "mosaic", { early = 1 }, host, 30000)
tap.is(when_all.l1tlb.absent + when_all.mmu.absent, 0,
    "coalesced when all have come, a region has no page on the host")
tap.is(when_all.memory.coalesced, 0, "no program touches 512 pages so soon")
tap.ok(at_once.memory.coalesced >= 4, "with the first it is coalesced before",
    at_once.memory.coalesced)
tap.is(at_once.mover.table_writes, 33 * at_once.memory.coalesced,
    "at the same price")
tap.ok(at_once.l1tlb.absent > 0 and at_once.mmu.absent > 0,
    "entries of 2 MB are hit for pages on the host",
    at_once.l1tlb.absent .. " " .. at_once.mmu.absent)
tap.ok(at_once.fault.pages > 512 and
    at_once.fault.pages < 512 * at_once.memory.coalesced,
    "which come one by one", at_once.fault.pages)
tap.ok(at_once.walk.walks * 4 < when_all.walk.walks,
    "and need no walk of their own",
    at_once.walk.walks .. " " .. when_all.walk.walks)
tap.is(at_once.memory.mixed, 0, "no frame has two applications' pages")
local by_two = run(steady, "mosaic", nil, whole.join(host,
    { ["fault.transfer"] = "2M" }), 30000)
tap.ok(by_two.memory.coalesced >= 2, "a transfer of 2 MB makes a region whole",
    by_two.memory.coalesced)

-- ---- splitting, and CAC ----------------------------------------------------------

local keep = run(odd, "mosaic", { threshold = 0 })
local half = run(odd, "mosaic")
tap.ok(half.memory.splintered > keep.memory.splintered,
    "the threshold splits what has lost pages",
    half.memory.splintered .. " " .. keep.memory.splintered)
tap.ok(half.memory.moved > 0 and half.memory.emptied > 0, "CAC moves pages")
tap.is(half.mover.copy_reads, 32 * half.memory.moved, "of 32 lines")
tap.ok(half.memory.stall_cycles > 0, "and stalls the cores")
local off = run(odd, "mosaic", { cac = 0 })
tap.is(off.memory.moved, 0, "no CAC, no moves")
tap.is(off.memory.stall_cycles, 0, "and no stall")
local go = run(odd, "mosaic", { stall = 0 })
tap.is(go.memory.stall_cycles, 0, "the stall is a switch")
local bulk = run(odd, "mosaic", { cac = 2 })
local ideal = run(odd, "mosaic", { cac = 3 })
tap.is(bulk.mover.bulk_copies, bulk.memory.moved, "CAC-BC copies inside DRAM")
tap.is(bulk.mover.copy_reads, 0, "not over the channel")
-- 80 ns are 82 core cycles; with a fine interleave the pages of a frame meet in
-- the same banks, with one page a channel they are copied side by side
tap.ok(math.abs(bulk.memory.stall_cycles / bulk.memory.moved - 82) < 25,
    "80 ns a page", bulk.memory.stall_cycles / bulk.memory.moved)
local coarse = { ["dram.interleave"] = 4096 }
bulk = run(odd, "mosaic", { cac = 2 }, coarse)
local slow = run(odd, "mosaic", { cac = 1 }, coarse)
tap.ok(bulk.memory.stall_cycles * 4 < slow.memory.stall_cycles,
    "a page a channel: copies inside DRAM run side by side",
    bulk.memory.stall_cycles .. " " .. slow.memory.stall_cycles)
tap.is(ideal.mover.copy_reads + ideal.mover.bulk_copies, 0,
    "ideal CAC costs nothing")
tap.ok(ideal.memory.moved > 0, "but moves")
-- As many frames are needed; what is not compacted stays held.
tap.ok(off.memory.emptied == 0 and half.memory.shootdowns >
    off.memory.shootdowns, "a page that moves leaves the TLBs")

-- Two buffers of 1 MB make up one region, whose pages come one by one, so that
-- TLBs hold them singly; it is coalesced with the last, loses the second buffer
-- and is split.
local function halves()
    return { H.program(kernel.app {
        name = "halves", source = "this test",
        buffers = function()
            return { kernel.f32("a", 1 << 18), kernel.f32("b", 1 << 18) }
        end,
        kernels = function(_, b)
            local function touch(name, x, free)
                return { kernel.kernel(name, { grid = 1, block = 256 },
                    function(t) t:load(x, t.gid * 1024) end), free = free }
            end
            return { touch("k1", b.a), touch("k2", b.b, { b.b }),
                touch("k3", b.a) }
        end,
    }) }
end
local apart
do
    local sim <close> = H.sim { machine = "mosaic", check = true,
        apps = halves(), settings = whole.join(FEW, FROM_HOST,
            { ["link.latency"] = 100 }) }
    sim:use { name = "in-place", state = {},
        frame_place = function(q) return q.vpn % 512 end,
        region_coalesce = function(q) return q.present == 512 end,
        region_split = function() return true end }
    sim:run()
    sim:check()
    apart = sim:counters()
end
tap.ok(apart.memory.coalesced == 1 and apart.memory.splintered == 1,
    "a region is coalesced and split",
    apart.memory.coalesced .. " " .. apart.memory.splintered)
tap.is(apart.memory.shootdowns, 2, "only unmapping and splitting flush")
tap.ok(apart.l2tlb.invalidations >= 200 and apart.l2tlb.invalidations <= 257,
    "the freed pages and the large entry; single pages that stay are kept",
    apart.l2tlb.invalidations)
tap.is(apart.mover.table_writes, 2 * 33, "both write the tables")

-- Copies inside DRAM block its banks: the slower they are, the longer everybody
-- else waits, stalled by the policy or not.
local ends = {}
for i, ns in ipairs { 1, 10000 } do
    ends[i] = select(3, run(odd, "mosaic", { cac = 2, stall = 0 },
        { ["memory.bulk_ns"] = ns }))
end
tap.ok(ends[2] > 1.2 * ends[1], "banks are blocked meanwhile",
    ends[1] .. " " .. ends[2])

-- An application's memory goes with it, or stays.
local function mapped_after(free)
    local sim <close> = H.sim { machine = "mosaic", check = true,
        apps = { whole.freer(300, 3, "x"), whole.freer(700, 12, "y") },
        settings = whole.join(FEW, { ["memory.free_at_end"] = free,
            ["sim.relaunch"] = false }) }
    sim:use "mosaic"
    repeat
        sim:run(200)
    until sim:results().apps[1].finished
    sim:run(100)
    return #sim:look("pagetable", 0), #sim:look("pagetable", 1)
end
local x, y = mapped_after(true)
tap.ok(x == 0 and y > 0, "free_at_end: its pages are gone", x .. " " .. y)
tap.ok(mapped_after(false) > 0, "without it they stay")

-- ---- caches of pages that move ----------------------------------------------------

local function writers()
    return { whole.writer(700, 12) }
end
for _, how in ipairs { "through", "back" } do
    local set = { ["l1cache.write"] = how }
    local c = run(writers, "mosaic", { cac = 1 }, set)
    tap.ok(c.memory.flushed > c.mover.flush_writes and
        c.mover.flush_writes > 0, "L1 " .. how ..
        ": lines of pages that move leave the caches, and dirty ones are " ..
        "written back", c.memory.flushed .. " " .. c.mover.flush_writes)
    tap.is(c.dram.writes, c.l2cache.dram_writes + c.mover.flush_writes +
        c.mover.table_writes + c.mover.copy_writes, "L1 " .. how ..
        ": DRAM sees each of them")
end
local cac = run(writers, "mosaic", { cac = 3 })
tap.ok(cac.memory.flushed > 0 and cac.mover.flush_writes == 0,
    "ideal CAC loses lines, but nothing is written", cac.memory.flushed)
cac = run(writers, "mosaic", { cac = 2 })
tap.ok(cac.mover.flush_writes > 0, "CAC-BC writes them back, too",
    cac.mover.flush_writes)
cac = run(writers, "mosaic", { cac = 0 })
tap.is(cac.memory.flushed, 0, "nothing moves, nothing leaves")

-- An application whose pages move while it runs: its L1 caches lose the lines of
-- theirs.  Its frames of 2 MB are half full; another's buffers come and go.
local function reader()
    return H.program(kernel.app {
        name = "reader", source = "this test",
        buffers = function() return { kernel.f32("x", 4 << 18) } end,
        kernels = function(_, b)
            return { kernel.kernel("k", { grid = 2, block = 256 }, function(t)
                t:loop(400, function(j)
                    t:load(b.x, t.gid * 2 % 512 * 32)
                    t:alu(4)
                    t:store(b.x, (t.gid + j) % 64 * 32, 1.0)
                end)
            end) }
        end,
    })
end
local function shuffled(how, mode)
    local sim <close> = H.sim { machine = "mosaic", check = true,
        apps = { reader(), whole.freer(64, 30) },
        settings = whole.join(FEW, { ["l1cache.write"] = how,
            ["l1cache.mode"] = mode }) }
    sim:use {
        name = "shuffle", state = { x = 0, y = 20 * 512 },
        frame_place = function(q, s)
            if q.app == 1 then
                s.y = s.y + 1
                return s.y
            end
            s.x = s.x + 1
            return (s.x - 1) // 256 * 512 + (s.x - 1) % 256
        end,
        compact_source = function(q)
            for i = 1, q.asked == 0 and q.n or 0 do
                if q.owner[i] == 0 then
                    return i
                end
            end
            return 0
        end,
        compact_target = function() return 1 end,
    }
    sim:run()
    sim:check()
    return sim:counters()
end
for _, how in ipairs { "through", "back" } do
    local with, without = shuffled(how, "full"), shuffled(how, "off")
    tap.ok(with.memory.flushed > without.memory.flushed + 100 and
        without.memory.flushed > 0, "L1 " .. how ..
        ": lines leave the L1 caches of its cores, and the L2 cache",
        with.memory.flushed .. " " .. without.memory.flushed)
end

-- ---- fragmentation ----------------------------------------------------------------

-- 40 frames of 2 MB, all in use to a quarter: nothing is free, so frames are
-- emptied until the applications' 27 MB fit; without CAC they mix.
local tight = whole.join(SMALL_MEMORY, { ["memory.fragment_index"] = 100,
    ["memory.fragment_occupancy"] = 25 })
cac = run(steady, "mosaic", { cac = 3 }, tight, 5000)
local none = run(steady, "mosaic", { cac = 0 }, tight, 5000)
tap.ok(cac.memory.emptied >= 25 and cac.memory.mixed == 0,
    "CAC makes free frames", cac.memory.emptied)
tap.is(cac.memory.moved, 128 * cac.memory.emptied, "of a quarter full each")
tap.ok(none.memory.coalesced == 0 and none.memory.mixed > 0,
    "without it pages are put next to others'", none.memory.mixed)
tap.ok(cac.memory.coalesced > 10, "and nothing coalesces",
    cac.memory.coalesced)

-- Where pages come from the host one by one.
cac = run(steady, "mosaic", { cac = 3 }, whole.join(FROM_HOST, tight), 30000)
none = run(steady, "mosaic", { cac = 0 }, whole.join(FROM_HOST, tight), 30000)
tap.ok(cac.memory.emptied > 3 and cac.memory.mixed == 0
    and none.memory.mixed > 0 and none.memory.emptied == 0,
    "CAC makes them for far faults, too", cac.memory.emptied .. " "
    .. none.memory.mixed)

-- Where the channels are shared out, pages move inside those of their owner,
-- and pages of no application in the first application's.
for mode = 1, 2 do
    local shared = run(steady, "mosaic", { cac = mode }, whole.join(tight,
        { ["dram.partition"] = true }), 5000)
    tap.ok(shared.memory.moved > 0, "pages move with dram.partition, cac = "
        .. mode, shared.memory.moved)
end

-- Moving pages is progress, however long no core issues for it.
do
    local settings = whole.join(tight, { ["sim.stuck_cycles"] = 1000,
        ["sim.stop_cycles"] = 200000 })
    local c = run(steady, "mosaic", { cac = 1 }, settings)
    tap.ok(c.memory.stall_cycles > 50000, "cores wait long for pages that move",
        c.memory.stall_cycles)
end

-- ---- memory bloat ---------------------------------------------------------------------

-- Pages of 2 MB: 700 KB take 2 MB each.
local function bloat(c)
    return c.memory.held_peak / c.memory.mapped_peak - 1
end
local small = run(odd, nil, nil)
tap.ok(bloat(half) < 0.25 and bloat(half) >= 0 and bloat(small) >= 0,
    "bloat of Mosaic is what its last frames leave empty", bloat(half))

tap.done()

--[[
825-mesc.lua - entries that cover runs of pages, in the whole machine.

Pinned: CoLT in C and in Lua is one run, and merges where it is said to: in L1
TLBs and of walks, in both levels, in aligned groups of 4 alone, whose frames are
aligned, too (AMD), and of hits of subregion entries; walk.memory=dram keeps walks
out of the L2; whole subregions need few walks, and stay true while pages come and go;
snapshots change nothing.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"

--- Runs a part of what the tests know on mesc, small; its counters, statistics.
local function run(settings, policy, options)
    local sim <close> = whole.sim({ "ATAX", "BFS2", whole.random(4, 6, 1) },
        whole.join(whole.SMALL, { ["l1tlb.merge_pages"] = 4,
            ["l2tlb.merge_pages"] = 4, ["l2tlb.group_index"] = true },
            settings or {}),
        { check = true, machine = "mesc" })
    if policy then
        sim:use(policy, options)
    end
    sim:run(1 << 40)
    return sim:counters(), whole.statistics(sim)
end

-- ---- CoLT ------------------------------------------------------------------------

local base = run()
tap.is(base.l2tlb.merged_fills, 0, "off by default")
for _, o in ipairs { {}, { full = 1 }, { full = 1, aligned = 4 } } do
    local name = o.aligned and "AMD's" or o.full and "full CoLT" or "CoLT"
    local c, stats = run(nil, "colt", o)
    local _, lua = run(nil, "policies/colt.lua", o)
    tap.is(whole.difference(stats, lua), nil,
        name .. " in C and in Lua is one run")
    tap.ok(c.l1tlb.hits > base.l1tlb.hits,
        name .. " hits more often in the L1 TLBs",
        ("%d, %d"):format(c.l1tlb.hits, base.l1tlb.hits))
    tap.is(c.l2tlb.merged_hits > 0, o.full == 1, name .. " and the L2 TLB")
end

-- CoLT-FA: runs of 16 pages join where they lie side by side.
do
    local FA = { ["l1tlb.merge_pages"] = 16, ["l1tlb.ranges"] = true,
        ["l1tlb.large_entries"] = 4 }
    local c, stats = run(FA, "colt")
    local _, lua = run(FA, "policies/colt.lua")
    tap.is(whole.difference(stats, lua), nil, "CoLT-FA in C and in Lua is one run")
    tap.ok(c.l1tlb.hits > base.l1tlb.hits, "CoLT-FA hits more often",
        ("%d, %d"):format(c.l1tlb.hits, base.l1tlb.hits))
end
tap.raises(function() run { ["l1tlb.ranges"] = true } end,
    "l1tlb.ranges: large_entries are expected", "ranges without an array for them")

-- ---- walks that read memory ----------------------------------------------------------

local l2 = run { ["walk.memory"] = "l2" }
tap.ok(l2.l2cache.walk4_lookups > 0 and l2.l2cache.bypass_walks == 0
    and base.l2cache.walk4_lookups == 0
    and base.dram.walk_reads == base.walk.references,
    "every read of a walk is one of DRAM, or a look-up in the L2")

-- ---- subregions ----------------------------------------------------------------------

local all = { ["l2tlb.sub_ways"] = 2, ["vm.page"] = "4K", ["l2tlb.group_index"] = false }
local c, one = run(all)
local walk4 = base.walk.references_level4
tap.ok(c.l2tlb.sub_hits > 0 and c.msc.walks_subregion > 0
    and c.walk.references_level4 < walk4 / 2,
    "whole subregions need few walks", ("%d, %d"):format(
    c.walk.references_level4, walk4))
local _, two = run(all)
tap.is(whole.difference(one, two), nil, "twice is one run")
local both = run(all, "colt")
tap.ok(both.l1tlb.hits > c.l1tlb.hits,
    "with CoLT, groups go to the L1 TLBs: of walks that read one head",
    ("%d, %d"):format(both.l1tlb.hits, c.l1tlb.hits))
local hits, stats = run(all, "colt", { hits = "subregions" })
local _, lua = run(all, "policies/colt.lua", { hits = "subregions" })
tap.is(whole.difference(stats, lua), nil, "with hits = subregions in C as in Lua")
tap.ok(hits.l1tlb.hits > both.l1tlb.hits
    and hits.l2tlb.merged_fills == 0,
    "and of hits of subregion entries", ("%d, %d"):format(
    hits.l1tlb.hits, both.l1tlb.hits))
local merged = whole.join(all, { ["l2tlb.sub_ways"] = 0 })
_, one = run(merged, "colt")
_, two = run(merged, "colt", { hits = "subregions" })
tap.is(whole.difference(one, two), nil, "without subregions that changes nothing")

-- Pages come and go: bits, entries and the MSC with them, under sim.check.
local PAGING = { ["vm.paging"] = "fault", ["link.latency"] = 1000,
    ["fault.transfer"] = "2M",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1750 }
for unit in pairs { ["4K"] = 1, ["64K"] = 1 } do
    c = run(whole.join(all, PAGING, { ["evict.unit"] = unit }))
    tap.ok(c.evict.evictions > 0 and c.l2tlb.sub_hits > 0
        and c.msc.invalidations > 0, "little memory, evictions of " .. unit,
        ("%d %d %d"):format(c.evict.evictions, c.l2tlb.sub_hits,
            c.msc.invalidations))
end

-- Mosaic's machine: regions that it coalesces are large entries, the others may be
-- subregions; a walker may take walks together, or be a core's.
for _, more in ipairs { {}, { ["walk.batch"] = 8 },
    { ["walk.per_core"] = true, ["l1tlb.large_entries"] = 1 } } do
    local sim <close> = whole.sim({ whole.freer(700, 12), whole.freer(1500, 8, "y"),
        whole.column(6, 24) },
        whole.join({ ["core.count"] = 4, ["l2tlb.sub_ways"] = 8,
            ["l2tlb.entries"] = 64, ["msc.entries"] = 64 }, more),
        { check = true, machine = "mosaic" })
    sim:use "mosaic"
    sim:run()
    c = sim:counters()
    tap.ok(c.memory.coalesced > 0 and c.l2tlb.large_hits > 0
        and c.l2tlb.sub_hits > 0, "with Mosaic, " .. (next(more) or "as it is"),
        ("%d %d %d"):format(c.memory.coalesced, c.l2tlb.large_hits,
            c.l2tlb.sub_hits))
end

-- ---- snapshots -----------------------------------------------------------------------

for _, paging in ipairs { {}, PAGING } do
    local function make()
        return whole.sim({ "ATAX", "BFS2" }, whole.join(whole.SMALL, all,
            paging, { ["msc.entries"] = 2, ["msc.ways"] = 1,
            ["evict.unit"] = "4K" }), { check = true, machine = "mesc" })
    end
    whole.cut(paging == PAGING and "pages that come" or "all pages", make, 8, 777, 500)
end
tap.done()

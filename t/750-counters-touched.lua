-- 750-counters-touched.lua - pins: every counter that the library knows is
-- counted by one of these runs, so no number that is always 0 is ever shown;
-- the library knows every counter that a run has, so all can be listed and
-- explained; and every histogram has samples.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local core = require "heddle.core"
local kernel = require "heddle.kernel"
local whole = require "lib.whole"

local function tiny(app, more)
    local o = { size = "T" }
    for k, v in pairs(more or {}) do
        o[k] = v
    end
    return H.app(app, o)
end

--- Narrow enough that everything fills up and blocks.
local NARROW = {
    ["l1tlb.mshrs"] = 2, ["l2tlb.mshrs"] = 4, ["l2tlb.entries"] = 32,
    ["walk.walkers"] = 2, ["walk.queue"] = 2, ["l1cache.mshrs"] = 2,
    ["l1cache.merges"] = 2, ["l1cache.stores"] = 1, ["l2cache.mshrs"] = 1,
    ["l2cache.merges"] = 1, ["l2cache.queue"] = 1, ["dram.queue"] = 4,
    ["core.parked"] = 64, ["l2cache.bytes"] = 262144, ["core.count"] = 4,
    ["dram.queue_silver"] = 2, ["dram.queue_golden"] = 2,
    ["dram.refresh"] = true, ["l1cache.bytes"] = 4096,
    ["bypass.entries"] = 8, ["throttle.cycles"] = 100,
}

--- Answers every point, sometimes, and passes otherwise.
local everything = {
    name = "everything", summary = "touches every point", source = "this test",
    params = {},
    state = { n = 0 },
    every = { 1000, function() end },
}
for _, p in ipairs(core.points()) do
    everything[p.name] = function(_, s)
        s.n = s.n + 1
    end
end

--- Answers where an answer leads to counters of its own.
local answers = {
    name = "answers", summary = "takes the roads that defaults do not",
    source = "this test", params = {}, state = { n = 0 },
    every = { 500, function() end },
    app_classify = function(_, s)
        s.n = s.n + 1
        return 1 + s.n % 3
    end,
    tlb_fill = function(_, s)
        s.n = s.n + 1
        return s.n % 3
    end,
    tlb_merge = function(q) return q.run_pages end,
    core_throttle = function(q) return q.cause == "epoch" and 1 or nil end,
    l2_bypass = function(_, s)
        s.n = s.n + 1
        return s.n % 5 == 0
    end,
    dram_class = function(_, s)
        s.n = s.n + 1
        return s.n % 3
    end,
    dram_turn = function(_, s)
        s.n = s.n + 1
        return s.n % 2 == 0 and 3 or nil
    end,
    walk_step = function(q)
        return q.level == 1 and 1 or 0
    end,
    walk_reference = function() return 1 end,
}

--- Sends all translations to the bypass cache.
local aside = {
    name = "aside", summary = "fills the bypass cache only",
    source = "this test", params = {}, state = {},
    tlb_fill = function() return 1 end,
}

--- Writes each line while its read is still on the way.
local function in_place()
    return H.program(kernel.app {
        name = "in place", source = "this test",
        buffers = function()
            return { kernel.f32("m", 65536) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = 256, block = 256 },
                function(t)
                    t:load(b.m, t.gid)
                    t:store(b.m, t.gid)
                end) }
        end,
    })
end

local runs = {
    { machine = H.machine("maxwell") { ["core.count"] = 4,
        ["l1cache.write"] = "through" }, apps = { in_place() } },
    { machine = H.machine("maxwell"):with(NARROW),
        apps = { tiny "ATAX", tiny "GUP" } },
    { machine = H.machine("maxwell"):with(NARROW):with {
        ["l1cache.write"] = "back", ["l2cache.bytes"] = 65536 },
        apps = { tiny "BFS2", tiny "FWT" } },
    { machine = H.designs.pwcache(H.machine("maxwell") {
        ["vm.page"] = "64K" }), apps = { tiny "GUP" } },
    { machine = H.designs.pwcache(H.machine("maxwell") {
        ["vm.page"] = "64K", ["vm.format"] = "hopper", ["pwc.line"] = 128 }),
        apps = { tiny "GUP" } },
    { machine = H.machine("maxwell") { ["vm.page"] = "64K",
        ["vm.format"] = "hopper" }, apps = { tiny "GUP" } },
    { machine = H.machine("mosaic") { ["vm.page"] = "2M",
        ["core.count"] = 4 }, apps = { H.app("GUP", { size = "S" }) },
        budget = 20000 },
    { machine = H.machine("pichai"):with(NARROW):with {
        ["walk.batch"] = 32, ["core.parked"] = 128, ["bypass.entries"] = 0 },
        apps = { tiny "GUP" }, policies = { everything } },
    { machine = H.machine("pichai"):with(NARROW):with {
        ["walk.batch"] = 32, ["walk.walkers"] = 1, ["l1tlb.mshrs"] = 32,
        ["core.parked"] = 128, ["bypass.entries"] = 0 },
        apps = { tiny "GUP" }, policies = { answers } },
    { machine = H.machine("mesc") { ["core.count"] = 4,
        ["l2tlb.sub_ways"] = 8, ["l2tlb.entries"] = 32, ["msc.entries"] = 2,
        ["msc.ways"] = 1, ["vm.paging"] = "fault", ["link.latency"] = 100,
        ["evict.unit"] = "64K", ["fault.transfer"] = "2M",
        ["vm.memory_bytes"] = 3248 << 12, ["vm.table_frames"] = 2048 },
        apps = { H.app("ATAX", { size = "S" }) }, budget = 60000 },
    { machine = H.machine("mesc") { ["core.count"] = 4,
        ["pwc.entries"] = 32, ["vm.scan"] = true },
        apps = { H.app("3DS", { size = "S" }), tiny "NN" }, budget = 20000 },
    { machine = H.machine("maxwell"):with(NARROW), apps = { tiny "LUD" },
        policies = { everything } },
    { machine = H.machine("aggressive"):with(NARROW),
        apps = { tiny "GUP", tiny "BP" }, policies = { everything } },
    { machine = H.machine("maxwell"):with(NARROW),
        apps = { tiny "ATAX", tiny "GUP" }, policies = { answers } },
    { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.page"] = "2M", ["l2tlb.large_entries"] = 2,
        ["l1tlb.large_entries"] = 1, ["l1tlb.mshrs"] = 64,
        ["l2tlb.mshrs"] = 64 },
        apps = { H.app("GUP", { size = "S" }), tiny "BLK" },
        policies = { answers }, budget = 20000 },
    { machine = H.designs.pwcache(H.machine("maxwell")):with {
        ["pwc.entries"] = 16, ["walk.queue"] = 1, ["walk.walkers"] = 1,
        ["core.parked"] = 64, ["l1tlb.mshrs"] = 64 },
        apps = { tiny "GUP", tiny "ATAX" } },
    { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.page"] = "2M", ["bypass.entries"] = 2, ["l1tlb.entries"] = 1,
        ["l1tlb.mshrs"] = 64, ["l2tlb.mshrs"] = 64 },
        apps = { H.app("GUP", { size = "S" }), tiny "BLK" },
        policies = { aside }, budget = 20000 },
    { machine = H.machine("released") { ["core.count"] = 4 },
        apps = { tiny "GUP" } },
    { machine = H.machine("maxwell") { ["core.count"] = 4,
        ["l2cache.bytes"] = 65536 },
        apps = { tiny "LUD", tiny "3DS" } },
    { machine = H.machine("maxwell") { ["l1cache.write"] = "through",
        ["l2cache.bytes"] = 65536 },
        apps = { tiny "ATAX", tiny "FWT" } },
    { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.paging"] = "fault", ["fault.serial"] = true,
        ["fault.batch"] = 4, ["link.latency"] = 100 },
        apps = { tiny "GUP", tiny "BP" }, policies = { everything } },
}

-- Lines with sectors.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
    ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
    ["l2cache.fetch_bytes"] = 64, ["l1cache.write"] = "through",
    ["l1cache.mshrs"] = 32, ["l1cache.merges"] = 16, ["l2cache.mshrs"] = 32,
    ["l2cache.merges"] = 16, ["l2cache.bytes"] = 65536 },
    apps = { tiny "BFS2", tiny "FWT", tiny "GUP", whole.random(8, 16) } }

-- An L2 of two halves.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
    ["l2cache.halves"] = 2, ["l2cache.bytes"] = 65536, ["l1cache.mshrs"] = 32,
    ["l2cache.mshrs"] = 32, ["dram.channels"] = 2 },
    apps = { tiny "BFS2", tiny "FWT", tiny "GUP", whole.random(8, 16) } }

-- Regions that are coalesced before their pages have come.
runs[#runs + 1] = { machine = H.machine("mosaic") { ["core.count"] = 4,
    ["vm.paging"] = "fault", ["link.latency"] = 100,
    ["l1tlb.large_entries"] = 1 },
    apps = { H.app("GUP", { size = "S" }), H.app("CONS", { size = "S" }) },
    policies = { { use = "mosaic", early = 1 } } }

-- Too little memory: pages leave it, ahead of need or not, and come back.
for _, unit in ipairs { "4K", "64K", "tree" } do
    runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.paging"] = "fault", ["link.latency"] = 100, ["evict.unit"] = unit,
        ["evict.trigger"] = unit == "4K" and "watermark" or "exhausted",
        ["evict.free_bytes"] = 16384, ["vm.memory_bytes"] = 8 << 20,
        ["fault.prefetch"] = unit == "tree" and unit or "sequential",
        ["vm.table_frames"] = 2018 },
        apps = { unit == "tree" and H.app("GUP", { size = "S" }) or tiny "GUP",
            tiny "BP" }, policies = { everything } }
end

-- Compressed, of known pages and others, which grow.
for _, ratio in ipairs { "200", "400", "800" } do
    runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.paging"] = "fault", ["link.latency"] = 100,
        ["evict.unit"] = "4K", ["vm.memory_bytes"] = 8 << 20,
        ["vm.table_frames"] = 2018, ["compress.enable"] = true,
        ["compress.ratio"] = ratio .. ",100", ["compress.misfit"] = 60,
        ["compress.grow"] = 20, ["compress.restore"] = 100,
        ["l2cache.bytes"] = 32768 },
        apps = { tiny "GUP", tiny "BFS2" }, policies = { everything } }
end

-- In order, and compressed.
runs[#runs + 1] = { machine = H.machine("mosaic") { ["core.count"] = 4,
    ["vm.scan"] = true, ["vm.paging"] = "fault", ["link.latency"] = 1000,
    ["fault.transfer"] = "2M", ["compress.enable"] = true,
    ["compress.ratio"] = "200" }, apps = { whole.touch(4, 512 << 10, "load") },
    policies = { { use = "mosaic" } } }

-- The driver, with a small buffer and few faults a core; little further on its pages
-- chase one another, which takes long.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
    ["vm.paging"] = "fault", ["uvm.mode"] = "driver", ["uvm.fault_buffer"] = 6,
    ["uvm.perf_fault_batch_count"] = 6, ["uvm.host_mapped"] = true,
    ["uvm.dma_map_latency"] = 1000, ["uvm.page_latency"] = 100,
    ["uvm.fault_interval"] = 0, ["uvm.chunks"] = false, ["evict.unit"] = "4K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2048 - 400,
    ["uvm.utlb_faults"] = 3, ["uvm.utlb_cores"] = 1,
    ["uvm.perf_fault_replay_update_put_ratio"] = 10,
    ["uvm.base_latency"] = 100, ["l1tlb.mshrs"] = 32, ["l2tlb.mshrs"] = 32 },
    apps = { H.app("GUP", { size = "S" }), tiny "BP" },
    policies = { everything }, budget = 2800 }

-- Pages that are used on the host, until they have been often enough.
for _, count in ipairs { true, false } do
    runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
        ["vm.paging"] = "fault", ["link.latency"] = 100,
        ["remote.access"] = "remote",
        ["uvm.perf_access_counter_migration_enable"] = count,
        ["uvm.perf_access_counter_threshold"] = 20 },
        apps = { tiny "GUP", tiny "BP" }, policies = {} }
end

-- Pages that the host touches between two launches.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(NARROW):with {
    ["vm.paging"] = "fault", ["link.latency"] = 100 },
    apps = { H.program(H.kernel.app { name = "touched", source = "this test",
        buffers = function() return { H.kernel.i64("m", 4096) } end,
        kernels = function(_, b)
            local load = H.kernel.kernel("load", { grid = 16, block = 256 },
                function(t) t:load(b.m, t.gid) end)
            return { load, { load, host_reads = { b.m } } }
        end }) }, policies = {} }

for i, t in ipairs(whole.thrashing()) do
    runs[#runs + 1] = { machine = H.machine("maxwell"):with(t[1]),
        apps = { t[2] }, budget = 3000000,
        policies = { i == 1 and everything or nil } }
end

-- Buffers beside L1 TLBs, and translations that a policy starts.
runs[#runs + 1] = { machine = H.machine("maxwell") { ["core.count"] = 4,
    ["l1side.entries"] = 4, ["l1tlb.entries"] = 4, ["prefetch.queue"] = 2 },
    apps = { whole.freer(700, 12), whole.freer(1500, 8, "y") },
    policies = { { name = "ahead", state = { n = 0 },
        tlb_keep = function(q, s)
            s.n = s.n + 1
            return q.level == 1 and s.n % 2 == 0
        end,
        tlb_merge = function(q) return q.run_pages end,
        watch = { tlb_miss = { level = 1, function(n, s)
            s.n = s.n + 1
            translate(n.app, s.n % 64 == 0 and 1 or n.vpn + s.n % 3 * 16,
                { to = ({ "l1side", "l1tlb", "l2tlb" })[s.n % 3 + 1],
                    core = n.core })
        end } } } } }

-- L1 TLBs that ask each other.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["peers.latency"] = 4 }, apps = { H.app "CONS" },
    policies = { { name = "first", tlb_peer = function(q)
        return q.core ~= 0 and 0 or q.vpn % 2 == 0 and q.cores or nil end } } }

-- Walks that read a table of the policy's: of each end.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["walktable.bytes"] = 4096 }, apps = { whole.random(32, 60, 1) },
    policies = { whole.reader() } }

-- Groups of pages in an entry, with marks.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["groups.most"] = 9, ["groups.l1"] = 2 }, apps = { whole.random(32, 60, 1) },
    policies = { whole.grouper() } }

-- Two nodes: all kinds of access, of pages that were touched here and there.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["fabric.nodes"] = 2 }, apps = { whole.kinds(8) }, policies = {} }

-- Pages that come with a walk's answer: of each fate.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["fill.queue"] = 3 }, apps = { whole.random(32, 60, 1) },
    policies = { whole.filler() } }

-- Levels of uTLBs: few MSHRs, sub-entries, pages that leave and fault.
runs[#runs + 1] = { machine = H.machine("maxwell"):with(whole.SMALL):with {
    ["core.count"] = 8, ["utlb1.entries"] = 8, ["utlb1.share"] = 2,
    ["utlb1.mshrs"] = 4, ["utlb1.sub_4k"] = 2, ["utlb2.entries"] = 16,
    ["utlb2.share"] = 4, ["utlb2.mshrs"] = 4, ["utlb2.sub_4k"] = 4,
    ["utlb3.entries"] = 32, ["utlb3.share"] = 0, ["utlb3.mshrs"] = 4,
    ["utlb3.sub_4k"] = 2, ["vm.paging"] = "fault", ["link.latency"] = 100,
    ["vm.memory_bytes"] = 64 << 20, ["vm.table_frames"] = (64 << 8) - 128,
    ["evict.unit"] = "4K" }, apps = { whole.random(32, 60, 1) }, policies = {} }

-- Memory that comes and goes, compacted by copies and inside DRAM.
for cac = 1, 2 do
    runs[#runs + 1] = { machine = H.machine("mosaic") { ["core.count"] = 4,
        ["bypass.entries"] = 8, ["pwc.mode"] = "full" },
        apps = { whole.writer(700, 12), whole.freer(1500, 8, "y") },
        policies = { { use = "mosaic", cac = cac }, aside } }
end
runs[#runs + 1] = { machine = H.machine("mosaic") { ["core.count"] = 4 },
    apps = { whole.freer(700, 12) }, policies = { everything } }
runs[#runs + 1] = { machine = H.machine("mosaic") { ["core.count"] = 4 },
    apps = { whole.freer(700, 12) }, policies = { {
        name = "through", region_coalesce = function() return true end,
        region_split = function() end, compact_stall = function() end,
        compact_source = function(q) return q.asked < 2 and 1 or nil end,
        compact_target = function(_, s)
            s.n = (s.n or 0) + 1
            return s.n % 5 > 0 and 1 or nil
        end, compact_copy = function() end, shootdown = function() end } } }

-- Threads that are regrouped, all, and those of one warp.
for _, policy in ipairs { everything, { name = "apart",
    thread_join = function() return false end } } do
    runs[#runs + 1] = { machine = H.machine("maxwell") { ["core.count"] = 4,
        ["core.compact"] = true }, apps = { tiny "BFS2" },
        policies = { policy } }
end

-- Words of one bank, lanes on one word, and a copy.
local function on_words()
    return H.program(kernel.app { name = "words",
        buffers = function() return { kernel.i32("n", 64) } end,
        kernels = function(_, b) return { kernel.kernel("words",
            { grid = 4, block = 64, shared = 4096 }, function(t)
                t:shared(t.lane * 8)
                t:atomic("add", b.n, t.lane // 2)
                t:copy(b.n, t.tid)
                t:copy_commit()
            end) } end })
end
runs[#runs + 1] = { machine = H.machine("maxwell") { ["core.count"] = 4,
    ["core.classes"] = true, ["core.subcores"] = 4,
    ["core.atomics"] = "word" }, apps = { on_words() } }

--- What nothing can count: the buffers beside TLBs have one array, so there are no
-- hits in a large one.
local function out_of_reach(name)
    return name == "bypass.large_hits" or name == "l1side.large_hits"
end

local touched, had, hists = {}, {}, {}
for i, o in ipairs(runs) do
    o.progress = false
    o.budget = o.budget or 30000
    local ok, err = pcall(function()
        local sim <close> = H.sim(o)
        sim:run()
        local r = sim:results()
        for _, c in ipairs(r.counters) do
            had[c.component .. "." .. c.name] = true
            if c.total ~= 0 then
                touched[c.component .. "." .. c.name] = i
            end
        end
        for _, h in ipairs(r.histograms) do
            local name = h.component .. "." .. h.name
            hists[name] = hists[name] or 0
            for _, a in ipairs(h.apps) do
                hists[name] = hists[name] + a.n
            end
        end
    end)
    tap.ok(ok, "run " .. i, tostring(err))
end

local missing = {}
for _, c in ipairs(core.counters()) do
    local name = c.component .. "." .. c.name
    if not touched[name] and not out_of_reach(name) then
        missing[#missing + 1] = name
    end
end
tap.is(table.concat(missing, "\n"), "", "every counter was counted")
for _, c in ipairs(core.counters()) do
    had[c.component .. "." .. c.name] = nil
end
missing = {}
for name in pairs(had) do
    missing[#missing + 1] = name
end
table.sort(missing)
tap.is(table.concat(missing, "\n"), "", "every counter is known")
missing = {}
for name, n in pairs(hists) do
    if n == 0 then
        missing[#missing + 1] = name
    end
end
table.sort(missing)
tap.is(table.concat(missing, "\n"), "", "every histogram has samples")

return tap.done()

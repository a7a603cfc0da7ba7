-- 806-conserve.lua - pins: nothing is lost between the parts.  On runs that
-- end quietly (everything in flight has come home) each level's look-ups are
-- hits and misses, what leaves a level is what the next one sees, walks read
-- as many entries as their levels ask for, DRAM moves the bytes of fills,
-- walks and write-backs and never more than its peak; a core's warp times sum
-- to time x warps; applications and kernels sum to the whole.  And every
-- counter that is registered was touched by a run of this file, but for those
-- listed at the end with the reason.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local kernel = require "heddle.kernel"
local H = require "heddle"
-- luacheck: read globals translate

local touched = {}

--- Notes which counters are not zero.
local function touch(sim)
    for component, list in pairs(sim:counters()) do
        for name, v in pairs(list) do
            local key = component .. "." .. name
            touched[key] = touched[key] or v ~= 0
        end
    end
end

-- ---- a program with everything in it, and a quiet end ----------------------------

local function mixed(blocks)
    local n = blocks * 64
    local words = 1 << 20
    return H.program(kernel.app {
        name = "mixed", source = "all kinds of access",
        buffers = function()
            return { kernel.f32("a", n), kernel.f32("b", n),
                kernel.i32("m", words), kernel.f32("rows", n, 1024) }
        end,
        kernels = function(_, b)
            local size = { grid = blocks, block = 64 }
            return {
                kernel.kernel("stream", size, function(t)
                    t:store(b.b, t.gid, t:load(b.a, t.gid) + 1)
                end),
                kernel.kernel("jump", size, function(t)
                    local x = t:var(t.gid * 2654435761 + 12345)
                    t:loop(6, function()
                        x:set(x * 6364136223846793005 + 1442695040888963407)
                        t:load(b.m, x:lshr(33) % words)
                        t:alu(1)
                        t:store(b.m, x:lshr(23) % words)
                        t:when(x:lshr(40):band(3):eq(0), function()
                            t:atomic("add", b.m, x:lshr(13) % words)
                        end)
                    end)
                    t:sync()
                    t:alu(4)
                end),
                kernel.kernel("rows", size, function(t)
                    t:loop(16, function(j)
                        t:load(b.rows, t.gid * 1024 + j * 8)
                        t:alu(3)
                    end)
                end),
                kernel.kernel("rest", { grid = 1, block = 64 }, function(t)
                    t:alu(60000)
                end),
            }
        end,
    })
end

-- ---- what must hold ------------------------------------------------------------

local failures
local joined = 0 -- misses that joined one in flight in their core

local function same(a, b, what)
    if a ~= b then
        failures[#failures + 1] = ("%s: %s and %s"):format(what, a, b)
    end
end

local function most(a, b, what)
    if a > b then
        failures[#failures + 1] = ("%s: %s above %s"):format(what, a, b)
    end
end

local function front(c)
    local core, tlb, l1 = c.core, c.l1tlb, c.l1cache
    same(core.mem_instructions, core.loads + core.stores + core.atomics,
        "memory instructions")
    same(tlb.lookups, tlb.hits + tlb.misses, "L1 TLB look-ups")
    same(tlb.lookups + tlb.untranslated, core.pages,
        "L1 TLB look-ups of pages")
    most(tlb.merges, tlb.misses, "L1 TLB merges")
    most(tlb.parked, tlb.misses, "L1 TLB misses that park")
    most(tlb.parked_hits, tlb.parked, "pages that were there by then")
    same(l1.reads, l1.read_hits + l1.read_misses, "L1 look-ups")
    same(l1.reads, core.load_lines, "L1 look-ups of loads")
    most(l1.read_merges, l1.read_misses, "L1 merges")
    most(l1.write_hits, l1.writes, "L1 write hits")
end

local function translation(c, m)
    local tlb, mmu, walk = c.l1tlb, c.mmu, c.walk
    -- A request that met a far fault comes again.
    local fault = c.fault or { walks = 0, requests = 0 }
    same(tlb.misses - tlb.merges - tlb.parked_hits + fault.requests,
        mmu.requests,
        "requests below the L1 TLBs")
    local misses = mmu.misses
    if m["l2tlb.mode"] == "off" then -- nothing is looked up: all are walked
        same(mmu.hits + misses, 0, "look-ups without a TLB")
        misses = mmu.requests
    else
        same(mmu.requests, mmu.hits + mmu.absent + misses, "requests")
        same(walk.walks, mmu.fills + mmu.bypass_fills + mmu.unfilled
            + fault.walks, "walks and where they went")
    end
    same(misses, mmu.merges + walk.walks, "misses")
    same(walk.requesters, misses, "requesters of walks")
    most(misses, walk.warps, "warps that waited for walks")
    most(walk.warps, misses + (c.fault and 2 or 1) * tlb.merges, "warps that waited for walks")
    joined = joined + walk.warps - misses
    local sum = 0
    for level = 1, 4 do
        sum = sum + walk["references_level" .. level]
        same(walk["l2_hits_level" .. level], c.l2cache["walk" .. level
            .. "_hits"], "walk reads that hit the L2, level " .. level)
    end
    same(walk.references, sum, "references by level")
    if m["l2tlb.mode"] ~= "off" then
        same(c.l2tlb.hits, mmu.hits - mmu.bypass_hits, "L2 TLB hits")
        same(c.l2tlb.fills + c.msc.cancelled, mmu.fills, "L2 TLB fills")
        most(c.msc.walks_region + c.msc.walks_subregion, walk.walks,
            "walks that read a head")
        most(c.msc.fills, c.msc.lookups - c.msc.hits, "regions entered")
        most(c.l2tlb.evictions, c.l2tlb.fills, "L2 TLB evictions")
        same(c.bypass.hits, mmu.bypass_hits, "bypass hits")
        same(c.bypass.fills, mmu.bypass_fills, "bypass fills")
    end
end

local function references(c, m)
    local walk, pwc, leaf = c.walk, c.pwc, m["vm.page"] == "2M" and 3 or 4
    local hits, misses, deep = 0, 0, 0
    local reads = walk.references + walk.merged -- one served several walks
    for level = 1, 4 do
        hits = hits + pwc["hits_level" .. level]
        misses = misses + pwc["misses_level" .. level]
        deep = deep + level * pwc["hits_level" .. level]
    end
    if m["pwc.mode"] ~= "full" then
        same(reads, leaf * walk.walks, "references, no walk cache")
        same(pwc.lookups, 0, "look-ups of no walk cache")
    elseif m["pwc.style"] == "prefix" then
        same(reads, leaf * walk.walks - deep,
            "references, by the deepest prefix")
        same(pwc.lookups, walk.walks, "look-ups, one a walk")
    else
        same(reads, misses, "references, by address")
        same(pwc.lookups, leaf * walk.walks, "look-ups, one a level")
    end
    if m["pwc.mode"] == "full" then
        most(hits, pwc.lookups, "walk cache hits")
        most(pwc.evictions, pwc.fills, "walk cache evictions")
    end
end

local function memory(c, m)
    local l1, l2, dram = c.l1cache, c.l2cache, c.dram
    local core, past = c.core, m["walk.memory"] == "dram"
    local read = past and l2.bypass_walks or 0
    for _, class in ipairs { "read", "write", "atomic", "walk1", "walk2",
        "walk3", "walk4" } do
        same(l2[class .. "_lookups"], l2[class .. "_hits"] + l2[class
            .. "_misses"] + l2[class .. "_merged"], "L2 look-ups of "
            .. class)
        read = read + (class ~= "write" and l2[class .. "_misses"] or 0)
    end
    if m["l2cache.mode"] ~= "off" then
        same(l2.read_lookups, l1.read_misses - l1.read_merges,
            "reads at the L2")
        same(l2.write_lookups, m["l1cache.write"] == "back" and l1.writebacks
            or l1.writes, "writes at the L2")
        same(l2.atomic_lookups, core.lines - l1.reads - l1.writes,
            "atomics at the L2")
        for level = 1, 4 do
            same(l2["walk" .. level .. "_lookups"],
                past and 0 or c.walk["references_level" .. level]
                    + (level == 4 and c.msc.reads or 0),
                "walk reads at the L2")
        end
        same(l2.bypass_walks, past and c.walk.references + c.msc.reads or 0,
            "walk reads past the L2")
        same(l2.dram_reads, read, "reads of DRAM are misses")
        if m["l2cache.write"] ~= "through" then
            same(l2.dram_writes, l2.write_backs, "writes of DRAM")
            same(l2.fills, read - l2.bypass_walks + l2.write_misses, "fills")
            most(l2.write_backs, l2.evictions, "write-backs are evictions")
        end
    else
        same(l2.bypass_data + l2.bypass_walks, 0, "nothing is passed by")
        same(l2.dram_reads, l1.read_misses - l1.read_merges + core.lines
            - l1.reads - l1.writes + c.walk.references, "all go to DRAM")
    end
    if m["dram.mode"] ~= "full" then
        return
    end
    same(dram.reads + dram.walk_reads, l2.dram_reads, "reads of DRAM")
    same(dram.writes, l2.dram_writes, "writes of DRAM")
    local bursts = 128 // tonumber(m["dram.bus_bytes"])
    if m["l2cache.mode"] ~= "off" and m["l2cache.write"] ~= "through" then
        same(dram.data_bursts, (dram.reads + dram.writes) * bursts,
            "bytes of data: fills and write-backs")
        same(dram.walk_bursts, dram.walk_reads * (past and 1 or bursts),
            "bytes of walks")
    end
    same(dram.busy, (dram.data_bursts + dram.walk_bursts)
        * tonumber(m["dram.bl"]), "cycles of the data buses")
    most(dram.busy, dram.cycles, "bandwidth used")
    most(dram.row_hits, dram.reads + dram.writes + dram.walk_reads, "row hits")
    most(dram.precharges, dram.activates, "rows closed")
    most(dram.activates - dram.precharges, tonumber(m["dram.channels"])
        * tonumber(m["dram.banks"]), "rows left open")
end

local TIME = { "issue", "ready", "alu", "lsu", "tlb", "walk", "fault",
    "data", "barrier", "meeting", "idle" }

--- Every core's times, and DRAM's, against the clock; kernels against totals.
local function clock(sim, m)
    local warps, ticks = tonumber(m["core.warps"]), sim.core:ticks()
    for i = 0, tonumber(m["core.count"]) - 1 do
        local c, sum = sim:counters { instance = i }, 0
        for _, what in ipairs(TIME) do
            sum = sum + c.core["time_" .. what]
        end
        same(sum % warps, 0, "a core's times")
        same(-(-(sum // warps) // ticks), sim.core:apps()[1].cycles,
            "time of core " .. i)
    end
    same(#sim.core:kernels(), 4, "kernels")
    local total = {}
    for k = 1, #sim.core:kernels() do
        for i, v in ipairs(sim.core:counter_kernel(k)) do
            total[i] = (total[i] or 0) + v
        end
    end
    local values = sim.core:counter_values()
    for i, c in ipairs(sim.core:counters()) do
        local sum = 0
        for _, v in ipairs(values[i][1]) do
            sum = sum + v
        end
        -- allocations come before the first kernel
        if not c.peak and c.component ~= "memory" then
            same(total[i], sum, "kernels and total of " .. c.component .. "."
                .. c.name)
        end
    end
end

local function settings_of(sim)
    local out = {}
    for _, s in ipairs(sim.resolved) do
        out[s.name] = s.value
    end
    return out
end

local function check(title, settings, machine, hook)
    local sim = whole.sim({ mixed(16) }, whole.join(machine and {
        ["core.count"] = 4 } or whole.SMALL, settings), { check = true,
        machine = machine })
    if hook then
        sim:use(hook)
    end
    sim:run()
    failures = {}
    local c, m = sim:counters(), settings_of(sim)
    front(c)
    if c.mmu.requests > 0 then
        translation(c, m)
        if not hook then
            references(c, m)
        end
    end
    if not hook then
        memory(c, m)
    end
    clock(sim, m)
    touch(sim)
    tap.ok(#failures == 0, ("%s (%d cycles)"):format(title, sim.now),
        table.concat(failures, "\n"))
    sim:close()
end

check("small", {})
for _, preset in ipairs(whole.PRESETS) do
    check(preset, {}, preset)
end
for _, under in ipairs { "none", "hits", "full" } do
    for _, overlap in ipairs { "ahead", "off" } do
        check(("overlap %s, blocking %s"):format(overlap, under), {
            ["l1tlb.overlap"] = overlap, ["l1tlb.blocking"] = under,
            ["l1tlb.ports"] = 3 })
    end
end
for _, pwc in ipairs { "off", "physical", "prefix" } do
    check("walk batches, walk cache " .. pwc, { ["walk.batch"] = 16,
        ["walk.walkers"] = 2, ["pwc.mode"] = pwc == "off" and pwc or "full",
        ["pwc.style"] = pwc ~= "off" and pwc or nil, ["pwc.entries"] = 8,
        ["pwc.ways"] = 2 })
end
check("no walk cache, 64 KB", { ["vm.page"] = "64K" })
check("no walk cache, 2 MB", { ["vm.page"] = "2M", ["vm.round"] = true,
    ["l2tlb.large_entries"] = 2, ["l1tlb.large_entries"] = 1 })
check("walk cache by address", { ["pwc.mode"] = "full", ["pwc.entries"] = 8,
    ["pwc.ways"] = 2 })
check("walk cache by prefix", { ["pwc.mode"] = "full", ["pwc.entries"] = 8,
    ["pwc.ways"] = 2, ["pwc.style"] = "prefix" })
check("walk cache by prefix, 2 MB", { ["pwc.mode"] = "full",
    ["vm.page"] = "2M", ["vm.round"] = true, ["pwc.style"] = "prefix" })
for _, msc in ipairs { 0, 2, 512 } do
    check(("subregions, MSC of %d"):format(msc), { ["l2tlb.sub_ways"] = 2,
        ["msc.entries"] = msc, ["msc.ways"] = 2, ["walk.memory"] = "dram" })
end
for _, more in ipairs { { ["walk.batch"] = 16, ["walk.walkers"] = 2 },
    { ["walk.per_core"] = true, ["walk.walkers"] = 2 },
    { ["l2tlb.large_entries"] = 4 } } do
    check("subregions, " .. next(more), whole.join({ ["l2tlb.sub_ways"] = 2,
        ["msc.entries"] = 2, ["msc.ways"] = 2, ["pwc.mode"] = "full" }, more))
end
check("misses under misses", { ["l1tlb.blocking"] = "none" })
check("nothing under a miss", { ["l1tlb.blocking"] = "full" })
check("no L2 TLB", { ["l2tlb.mode"] = "off", ["pwc.mode"] = "full" })
check("no L2", { ["l2cache.mode"] = "off" })
check("write-back L1", { ["l1cache.write"] = "back" })
check("write-through L1 and L2", { ["l1cache.write"] = "through",
    ["l2cache.write"] = "through" })
check("few of everything", { ["l1tlb.mshrs"] = 2, ["l1cache.mshrs"] = 2,
    ["l2tlb.mshrs"] = 2, ["l2cache.mshrs"] = 2, ["l2cache.queue"] = 1,
    ["core.queue"] = 2, ["core.parked"] = 64, ["l1cache.stores"] = 1,
    ["l2cache.merges"] = 1, ["walk.walkers"] = 2, ["walk.queue"] = 1,
    ["dram.queue"] = 2, ["dram.channels"] = 1, ["l2cache.slices"] = 2 })
check("a walk queue of one", { ["walk.walkers"] = 1, ["walk.queue"] = 1 })
check("refresh and closed rows", { ["dram.refresh"] = true,
    ["dram.page"] = "closed", ["dram.trefi"] = 2000 })
check("LRR", { ["core.scheduler"] = "lrr" })
check("compaction", { ["core.compact"] = true })
check("compaction, few may join", { ["core.compact"] = true,
    ["core.lanes"] = 32, ["core.width"] = 32 }, nil, { name = "few",
    thread_join = function(q)
        if q.lane % 2 == 0 then
            return q.lane % 7 == 0
        end
    end })
check("demand paging", { ["vm.paging"] = "fault", ["fault.serial"] = true,
    ["fault.batch"] = 4, ["link.latency"] = 1000 })
check("demand paging with few of everything", { ["vm.paging"] = "fault",
    ["link.latency"] = 3000, ["l1tlb.mshrs"] = 1, ["l2tlb.mshrs"] = 1,
    ["walk.walkers"] = 1, ["walk.queue"] = 1, ["core.parked"] = 64 })
check("demand paging in few frames", { ["vm.paging"] = "fault",
    ["link.latency"] = 500, ["evict.unit"] = "4K",
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030 })
check("pages that leave ahead of need", { ["vm.paging"] = "fault",
    ["link.latency"] = 500, ["evict.unit"] = "4K",
    ["evict.trigger"] = "watermark", ["evict.free_bytes"] = 16384,
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030 })

tap.ok(joined > 100, "walks know of the misses that joined in the cores",
    joined)

-- An atomic finds its line dirty in a write-back L1: it is written back first.
do
    local n = 64 * 32
    local sim = whole.sim({ H.program(kernel.app {
        name = "dirty", source = "store, then atomic",
        buffers = function() return { kernel.i32("m", n) } end,
        kernels = function(_, b)
            return { kernel.kernel("k", { grid = n // 64, block = 64 },
                function(t)
                    t:store(b.m, t.gid)
                    t:atomic("add", b.m, t.gid)
                    t:alu(9000)
                end) }
        end,
    }) }, { ["l1cache.write"] = "back" }, { check = true })
    sim:run()
    local c = sim:counters()
    tap.is(c.l1cache.writebacks, n // 32, "every dirty line is written back "
        .. "before its atomic")
    tap.is(c.l2cache.write_lookups, c.l1cache.writebacks, "and arrives")
    sim:close()
end

-- ---- the rest of the counters -----------------------------------------------------

-- A policy at every point, which answers here and there, and passes.
do
    local all = { name = "everywhere", state = { n = 0 } }
    for _, p in ipairs(require("heddle.core").points()) do
        all[p.name] = function() return nil end
    end
    all.tlb_fill = function(_, s)
        s.n = s.n + 1
        return s.n % 4 == 0 and "bypass" or s.n % 4 == 1 and "none" or nil
    end
    all.every = { 5000, function() end } -- tokens is asked at epochs
    all.tlb_merge = function(q)
        return q.vpn % 3 > 0 and q.run_pages or nil
    end
    all.dram_class = function(q)
        return q.kind == "walk" and "golden" or q.channel % 2 == 0 and "silver"
            or nil
    end
    all.l2_bypass = function(q)
        if q.kind == "walk" then
            return q.level == 4
        end
        return q.line % 4 == 0 or nil
    end
    all.walk_step = function(q) return q.level == 2 and "skip" or nil end
    for name, policy in pairs {
        everywhere = all,
    } do
        local sim = whole.sim({ mixed(16), mixed(4) }, whole.join(whole.SMALL,
            { ["bypass.entries"] = 8, ["core.parked"] = 64,
                ["l1tlb.entries"] = 1, ["l1tlb.mshrs"] = 64,
                ["walk.walkers"] = 2, ["walk.batch"] = 8,
                ["vm.paging"] = "fault", ["link.latency"] = 500 }))
        sim:use(policy)
        tap.is(sim:run(), "done", "a policy " .. name)
        touch(sim)
        local sum = {}
        for a = 0, 1 do
            for component, list in pairs(sim:counters { app = a }) do
                for k, v in pairs(list) do
                    sum[component .. "." .. k] = (sum[component .. "." .. k]
                        or 0) + v
                end
            end
        end
        local none, total = sim:counters { app = "none" }, sim:counters()
        local bad
        for _, c in ipairs(sim.core:counters()) do
            local key = c.component .. "." .. c.name
            if not c.peak and sum[key] + none[c.component][c.name]
                ~= total[c.component][c.name] then
                bad = key
            end
        end
        tap.ok(not bad, "applications and the rest sum to the whole", bad)
        sim:close()
    end
end

-- ---- cores that stop -----------------------------------------------------------------

do
    local sim = whole.sim({ "HS" }, whole.join(whole.SMALL, {
        ["throttle.cycles"] = 200, ["sim.relaunch"] = false }),
        { check = true })
    sim:use { name = "one", core_throttle = function(q)
        return q.cause == "epoch" and 1 or q.running
    end }
    tap.is(sim:run(), "done", "cores that stop")
    local c = sim:counters().throttle
    tap.ok(c.stops >= 3 and c.forced <= c.stops and c.stopped_cycles <= 3 * sim.cycles
        and c.stopped_cycles >= 100 * c.stops,
        "what goes on had stopped, three of four stand at most, for some time",
        ("%d, %d, %d of %d"):format(c.stops, c.forced, c.stopped_cycles,
            sim.cycles))
    touch(sim)
    sim:close()
end

-- Walks end with the policy's table, behind it, or above the leaf; each of its reads is
-- one of a walk.
do
    local sim = whole.sim({ "CONS", "GUP" }, whole.join(whole.SMALL, {
        ["walktable.bytes"] = 8192, ["sim.budget"] = 30000 }), { check = true })
    sim:use(whole.reader())
    sim:run()
    local c, walk = sim:counters().walktable, sim:counters().walk
    tap.ok(c.found > 0 and c.fell > 0 and c.short > 0
        and c.found + c.fell + c.short <= walk.walks + 64
        and c.found + c.fell <= c.reads and c.reads <= walk.references_level4 + 64,
        "walks that read a table", ("%d %d %d of %d"):format(c.found, c.fell, c.short,
        walk.walks))
    touch(sim)
    sim:close()
end

-- Groups are of two pages and more, for walks each; marks in other lines are some of them.
do
    local sim = whole.sim({ "CONS", "GUP" }, whole.join(whole.SMALL, {
        ["groups.most"] = 9, ["groups.l1"] = 2, ["sim.budget"] = 30000 }), { check = true })
    sim:use(whole.grouper())
    sim:run()
    local g, walk = sim:counters().groups, sim:counters().walk
    tap.ok(g.formed > 0 and g.formed <= walk.walks and g.pages >= 2 * g.formed
        and g.marks > 0 and g.apart > 0 and g.apart < g.marks, "groups of pages",
        ("%d %d %d %d"):format(g.formed, g.pages, g.marks, g.apart))
    touch(sim)
    sim:close()
end

-- Of misses that ask another core's L1 TLB each has one fate, and the level below sees
-- what peers do not have.
do
    local sim = whole.sim({ "CONS" }, whole.join(whole.SMALL, {
        ["peers.latency"] = 4, ["sim.budget"] = 30000 }), { check = true })
    sim:use { name = "first", tlb_peer = function(q)
        return q.core ~= 0 and 0 or q.vpn % 2 == 0 and q.cores or nil end }
    sim:run()
    local c = sim:counters().peers
    tap.ok(c.hit > 0 and c.late > 0 and c.late <= c.missed and c.refused > 0
        and c.hit + c.missed + c.refused <= c.asked, "each has one fate at most",
        ("%d of %d"):format(c.hit + c.missed + c.refused, c.asked))
    touch(sim)
    sim:close()
end

-- What leaves a node arrives at its home, is looked up there, and is answered.
do
    local sim = whole.sim({ whole.kinds(8) }, whole.join(whole.SMALL, {
        ["fabric.nodes"] = 2, ["fabric.bandwidth"] = 1000000000 }), { check = true })
    sim:run()
    local c = sim:counters()
    local out = c.fabric.reads + c.fabric.writes + c.fabric.atomics + c.fabric.walks
    local looked = 0
    for k, v in pairs(c.l2cache) do
        looked = looked + (k:find "^%w+_lookups$" and v or 0)
    end
    tap.is(c.fabric.served, out, "nodes: what leaves arrives")
    tap.is(looked, out + c.fabric["local"], "nodes: and is looked up like the rest")
    tap.is(c.hop.messages, 2 * out, "nodes: a message there and one back")
    tap.is(c.fabric.touched, c.memory.mapped, "nodes: pages are mapped by touch")
    touch(sim)
    sim:close()
end

-- ---- memory that comes and goes ----------------------------------------------------

-- What the memory manager says and what the other parts count agree.
for cac = 1, 2 do
    local sim = whole.sim({ whole.writer(700, 12),
        whole.freer(1500, 8, "y") }, { ["core.count"] = 4,
        ["pwc.mode"] = "full", ["bypass.entries"] = 8,
        ["memory.fragment_index"] = 50, ["memory.free_at_end"] = true,
        ["vm.scan"] = true }, { check = true, machine = "mosaic" })
    sim:use("mosaic", { cac = cac })
    sim:use { name = "aside", state = { n = 0 }, tlb_fill = function(_, s)
        s.n = s.n + 1
        return s.n % 2
    end }
    tap.is(sim:run(), "done", "memory that comes and goes")
    local c = sim:counters()
    tap.ok(c.memory.freed > 0 and c.memory.freed <= c.memory.mapped,
        "what went had come")
    tap.is(c.mover.copy_reads, 32 * (cac == 1 and c.memory.moved or 0),
        "a page is 32 lines")
    tap.is(c.mover.copy_writes, c.mover.copy_reads, "what is read is written")
    tap.is(c.mover.bulk_copies, cac == 2 and c.memory.moved or 0,
        "or copied inside DRAM")
    tap.is(c.mover.table_writes, 33 * (c.memory.coalesced +
        c.memory.splintered) + c.memory.moved, "33 lines each, and one a move")
    tap.is(c.memory.mixed, 0, "the soft guarantee holds")
    tap.ok(c.memory.held_peak >= c.memory.mapped_peak, "bloat is not negative")
    touch(sim)
    sim:close()
end

-- What the host touches crosses to it and comes again.
do
    local n = 16
    local sim <close> = whole.sim({ H.program(kernel.app {
        name = "touched", source = "host", align = 4096,
        buffers = function() return { kernel.i64("m", n * 512) } end,
        kernels = function(_, b)
            local load = kernel.kernel("load", { grid = n, block = 512 },
                function(t) t:load(b.m, t.gid) end)
            return { load, { load, host_writes = { b.m } } }
        end }) }, whole.join(whole.SMALL, { ["vm.paging"] = "fault",
            ["link.latency"] = 500 }), { check = true })
    tap.is(sim:run(), "done", "pages that the host touches")
    local c = sim:counters()
    tap.is(c.evict.host, n, "leave,")
    tap.is(c.fault.pages, 2 * n, "come twice,")
    tap.is(c.link.bytes, 3 * n * 4096, "and cross each time")
    touch(sim)
end

-- Policies that pass, where pages leave memory: each byte that came has left or
-- is there.
for _, unit in ipairs { "4K", "64K", "2M" } do
    local sim <close> = whole.sim({ mixed(16) }, whole.join(
        whole.SMALL, { ["vm.paging"] = "fault", ["link.latency"] = 500,
            ["evict.unit"] = unit, ["vm.memory_bytes"] = 8 << 20,
            ["fault.prefetch"] = "locality", ["vm.table_frames"] = 2018 }),
        { check = true })
    sim:use { name = "passing", page_prefetch = function() end, evict_trigger = function() end,
        evict_victim = function() end }
    tap.is(sim:run(), "done", "pages that leave by " .. unit)
    local c = sim:counters()
    local there = 0
    for _, a in ipairs(sim:results().apps) do
        there = there + a.pages
    end
    tap.ok(c.evict.evictions > 0 and there <= 30, "memory holds what it can",
        there)
    tap.is(c.fault.pages, c.evict.pages + there + c.memory.freed,
        "what came left, or is there")
    tap.is(c.link.bytes, (c.fault.pages + c.evict.pages) * 4096,
        "and crossed the link")
    tap.is(c.evict.bytes, c.evict.pages * 4096, "all that leaves is written")
    tap.ok(c.evict.refaults < c.fault.pages and c.evict.dirty <= c.evict.pages,
        "some of it comes back", c.evict.refaults)
    tap.ok(c.evict.used + c.evict.unused <= c.fault.prefetched
        and c.fault.prefetched - c.evict.used - c.evict.unused <= there,
        "what came ahead was used, has left or is there",
        c.fault.prefetched)
    touch(sim)
end

-- Compressed: each page comes into one class, and each request of a
-- compressed page looks for its metadata.
do
    local sim <close> = whole.sim({ mixed(16), "BFS2" }, whole.join(
        whole.SMALL, { ["vm.paging"] = "fault", ["link.latency"] = 500,
            ["evict.unit"] = "4K", ["vm.memory_bytes"] = 8 << 20,
            ["vm.table_frames"] = 2030, ["compress.enable"] = true,
            ["compress.misfit"] = 80, ["compress.restore"] = 1000,
            ["l2cache.bytes"] = 32768 }), { check = true })
    sim:use { name = "passing", state = { n = 0 }, page_compress = function() end,
        every = { 500, function() end }, app_classify = function(_, s)
            s.n = s.n + 1
            return 1 + s.n % 3
        end }
    tap.is(sim:run(), "done", "pages that are compressed")
    local c = sim:counters()
    local m = c.compress
    tap.is(m.pages_512 + m.pages_1k + m.pages_2k + m.pages_4k,
        c.fault.pages, "each page comes into its class")
    tap.is(m.pages_512 * 512 + m.pages_1k * 1024 + m.pages_2k * 2048
        + m.pages_4k * 4096, m.bytes, "and takes it")
    tap.is(m.metadata_hits + m.metadata_misses, m.reads + m.writes,
        "metadata are looked for")
    most(m.misfits, m.writes, "what does not fit was written")
    most(m.grown + m.restored, m.misfits, "and only then a page grows")
    most(m.known, m.pages_512 + m.pages_1k + m.pages_2k + m.pages_4k,
        "some are known")
    tap.is(m.overflow_cycles, 20000 * m.grown + 1000 * m.restored,
        "which takes its time")
    most(m.reads + m.writes + m.metadata_misses, c.l2cache.dram_reads
        + c.l2cache.dram_writes, "all of that is DRAM's")
    most(m.peak_pages, 18 * 8, "memory holds what it can")
    touch(sim)
end

-- Pages that are used on the host, and come when they have been often enough.
for _, threshold in ipairs { 20, 65535 } do
    local sim <close> = whole.sim({ mixed(16), "BP" }, whole.join(whole.SMALL,
        { ["vm.paging"] = "fault", ["link.latency"] = 500,
            ["remote.access"] = "remote",
            ["uvm.perf_access_counter_migration_enable"] = true,
            ["uvm.perf_access_counter_threshold"] = threshold }),
        { check = true })
    tap.is(sim:run(), "done", "pages that are used on the host")
    local c = sim:counters()
    local there = 0
    for _, a in ipairs(sim:results().apps) do
        there = there + a.pages
    end
    tap.is(c.remote.pages + c.fault.pages, c.remote.left + there,
        "what was mapped is there, or was unmapped so as to come")
    tap.is(c.remote.in_bytes, c.remote.loads * 128, "lines cross whole")
    tap.ok(c.remote.load_cycles >= c.remote.loads * 200, "after their latency")
    tap.is(c.link.bytes, c.fault.pages * 4096, "pages as ever")
    tap.is(c.l2cache.dram_reads, c.dram.reads + c.dram.walk_reads,
        "DRAM reads its own")
    touch(sim)
end

-- Pages that go to and fro.
for _, t in ipairs(whole.thrashing()) do
    local sim <close> = whole.sim({ t[2] }, whole.join(whole.SMALL, t[1]),
        { check = true })
    sim:use { name = "passing", thrash = function() end }
    tap.is(sim:run(), "done", "pages that thrash")
    local c = sim:counters()
    local there = sim:results().apps[1].pages
    tap.is(c.fault.pages + c.remote.pages, c.evict.pages + c.remote.left + there,
        "what came is there, or has left")
    most(c.thrash.unpinned + c.thrash.released, c.thrash.pinned,
        "pins that are over")
    most(c.thrash.pinned, c.thrash.detected, "pins")
    most(c.thrash.events, c.fault.pages + c.evict.host, "events")
    tap.is(c.thrash.returns, t[1]["fault.thrashing"] == "refault"
        and c.evict.refaults or 0, "what comes back")
    touch(sim)
end

-- Policies that pass, where pages are lost and move.
do
    local sim = whole.sim({ whole.freer(700, 12) }, { ["core.count"] = 4 },
        { check = true, machine = "mosaic" })
    sim:use {
        name = "passing", state = { n = 0 },
        region_coalesce = function(_, s)
            s.n = s.n + 1
            return s.n % 3 > 0 or nil
        end,
        region_split = function() end, compact_stall = function() end,
        compact_copy = function() end, shootdown = function() end,
        compact_source = function(q) return q.asked < 2 and 1 or nil end,
        compact_target = function(_, s)
            s.n = s.n + 1
            return s.n % 5 > 0 and 1 or nil
        end,
    }
    tap.is(sim:run(), "done", "policies that pass")
    touch(sim)
    sim:close()
end

-- Regions of 2 MB that are coalesced before their pages have come: requests that
-- an entry covers, and whose page is on the host, fault.
do
    local sim = whole.sim({ H.app("GUP", { size = "S", budget = 20000 }) },
        { ["core.count"] = 4, ["vm.paging"] = "fault",
            ["link.latency"] = 1000, ["link.bandwidth"] = 200000000000 },
        { check = true, machine = "mosaic" })
    sim:use("mosaic", { early = 1 })
    sim:run()
    local c = sim:counters()
    tap.ok(c.mmu.absent > 0 and c.mmu.absent <= c.fault.requests,
        "pages on the host under entries of 2 MB", c.mmu.absent)
    tap.is(c.mmu.requests, c.mmu.hits + c.mmu.absent + c.mmu.misses,
        "requests")
    tap.is(c.l2tlb.hits + c.bypass.hits, c.mmu.hits + c.mmu.absent,
        "hits that are none")
    tap.is(c.fault.requests, c.fault.faults + c.fault.merges, "faults")
    tap.ok(c.l1tlb.absent > 0
        and c.l1tlb.absent < c.l1tlb.misses + c.l1tlb.parked,
        "of the L1 TLBs, too", c.l1tlb.absent)
    touch(sim)
    sim:close()
end

-- Subregions whose pages come and go under walks, entries and the MSC.
do
    local sim = whole.sim({ H.app("ATAX", { size = "S", budget = 60000 }) },
        { ["core.count"] = 4, ["l2tlb.sub_ways"] = 8, ["l2tlb.entries"] = 32,
            ["msc.entries"] = 2, ["msc.ways"] = 1, ["vm.paging"] = "fault",
            ["link.latency"] = 100, ["evict.unit"] = "64K",
            ["fault.transfer"] = "2M", ["vm.memory_bytes"] = 3248 << 12,
            ["vm.table_frames"] = 2048 },
        { check = true, machine = "mesc" })
    sim:run()
    local c = sim:counters()
    tap.ok(c.evict.evictions > 0 and c.msc.cancelled > 0,
        "subregions that change", c.msc.cancelled)
    tap.is(c.l2tlb.fills + c.msc.cancelled, c.mmu.fills, "L2 TLB fills")
    tap.is(c.l2cache.bypass_walks, c.walk.references + c.msc.reads,
        "reads of walks, and after them")
    touch(sim)
    sim:close()
end

-- Pages that are contiguous, and compressed: they stay apart.
do
    local sim = whole.sim({ whole.touch(4, 512 << 10, "load"),
        whole.touch(4, 512 << 10, "load") }, { ["vm.paging"] = "fault",
        ["compress.enable"] = true, ["compress.ratio"] = "200",
        ["fault.transfer"] = "2M", ["vm.scan"] = true },
        { check = true, machine = "mosaic" })
    sim:use "mosaic"
    sim:run()
    local m = sim:counters().memory
    tap.ok(m.contiguous_packed > 0 and m.contiguous_packed == m.coalesced_packed
        and m.coalesced == 0, "compressed pages stay apart", m.contiguous_packed)
    touch(sim)
    sim:close()
end

-- Buffers beside L1 TLBs, and translations that a policy starts: of each, in
-- the end, something became.
for _, t in ipairs { { to = "l2tlb" }, { to = "l2tlb", queue = 1 },
    { to = "l1tlb" }, { to = "l1side" } } do
    local sim = whole.sim({ whole.freer(700, 12), whole.freer(1500, 8, "y") },
        { ["core.count"] = 4, ["l1side.entries"] = 4, ["l1tlb.entries"] = 4,
            ["prefetch.queue"] = t.queue }, { check = true })
    sim:use {
        name = "ahead", state = { n = 0, to = t.to },
        tlb_keep = function(q) return q.level == 1 end,
        tlb_merge = function(q) return q.run_pages end,
        watch = { tlb_miss = { level = 1, function(n, s)
            s.n = s.n + 1
            translate(n.app, -- luacheck: globals translate
                s.n % 64 == 0 and 1 or n.vpn + s.n % 3 * 16,
                { to = s.to, core = n.core })
        end } },
    }
    sim:run()
    local c, title = sim:counters(), t.to .. (t.queue or "")
    local p, side, tlb = c.prefetch, c.l1side, c.l1tlb
    tap.is(p.started, p.dropped + p.redundant + p.absent + p.late + p.filled,
        title .. ": translations that policies start")
    tap.ok(p.useful + p.unused <= p.filled and p.lookups <= p.started
        - p.dropped and p.walks <= p.lookups, title .. ": their ends")
    tap.is(side.lookups, tlb.misses - tlb.merges - tlb.parked_hits,
        title .. ": look-ups beside the L1 TLBs")
    tap.is(c.mmu.requests, side.lookups - side.hits, title .. ": what is below")
    touch(sim)
    sim:close()
end

-- Pages that come with a walk's answer: each has one fate, and those that are filled
-- are of use, or not, or still there.
do
    local sim = whole.sim({ whole.random(32, 60, 1) }, whole.join(whole.SMALL,
        { ["fill.queue"] = 3 }), { check = true })
    sim:use(whole.filler())
    sim:run()
    local f, p = sim:counters().fill, sim:counters().prefetch
    tap.is(f.asked, f.filled + f.there + f.refused + f.absent + f.kept_out
        + f.dropped, "pages that come with a walk's answer")
    tap.is(p.filled, f.filled, "what policies have filled")
    tap.ok(p.useful + p.unused <= p.filled, "their ends")
    touch(sim)
    sim:close()
end

-- Classes of instructions, banks, atomics by lanes: each lane's word is carried.
do
    local k = H.kernel
    local sim = whole.sim({ H.program(k.app { name = "banks", source = "this test",
        buffers = function() return { k.i32("bin", 64) } end,
        kernels = function(_, b) return { k.kernel("banks",
            { grid = 4, block = 64 }, function(t)
                t:shared(t.lane * 8)
                t:atomic("add", b.bin, t.gid % 8, 1)
                t:copy(b.bin, t.tid)
                t:copy_commit()
            end) } end }) },
        { ["core.classes"] = true, ["core.atomics"] = "word" }, { check = true })
    sim:run()
    local c = sim:counters()
    tap.ok(c.shared.accesses > 0 and c.shared.conflicts > 0,
        "banks: what takes turns is counted")
    tap.ok(c.core.atomic_requests > c.core.atomics
        and c.core.atomic_requests <= 256, "atomics: as many as lanes at most")
    touch(sim)
    sim:close()
end

-- Walks of six levels: of each level's reads some hit in the L2, and those of a walk
-- cache are look-ups that it did not know.
for _, cached in ipairs { false, true } do
    local sim = whole.sim({ H.app("GUP", { size = "T" }) }, {
        ["vm.format"] = "hopper", ["l2tlb.mode"] = cached and "off" or nil,
        ["pwc.mode"] = cached and "full" or nil, ["pwc.style"] = "physical",
        ["pwc.line"] = cached and 128 or nil }, { check = true })
    sim:run()
    local c = sim:counters()
    local reads, within = 0, true
    for level = 1, 6 do
        local n = c.walk["references_level" .. level]
        reads = reads + n
        within = within and c.walk["l2_hits_level" .. level] <= n
            and n <= c.walk.walks
        if cached then
            local asked = c.pwc["hits_level" .. level]
                + c.pwc["misses_level" .. level]
            within = within and asked <= c.walk.walks
                and n <= c.pwc["misses_level" .. level]
        end
    end
    tap.ok(within and reads > 0 and (cached or reads == 6 * c.walk.walks),
        ("hopper%s: reads of walks, level by level"):format(cached
            and " with a walk cache" or ""), reads .. " of " .. c.walk.walks)
    touch(sim)
    sim:close()
end

-- The counters that no run of this file touches.
local WHY = {
    ["bypass.large_hits"] = "the bypass cache is one array",
    ["l1side.large_hits"] = "the buffer is one array",
}
local missing, needless = {}, {}
for key, seen in pairs(touched) do
    if not seen and not WHY[key] then
        missing[#missing + 1] = key
    elseif seen and WHY[key] then
        needless[#needless + 1] = key
    end
end
table.sort(missing)
tap.ok(#missing == 0, "every counter was touched", table.concat(missing,
    "\n"))
tap.ok(#needless == 0, "what is excused was not touched",
    table.concat(needless, "\n"))

tap.done()

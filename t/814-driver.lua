-- 814-driver.lua - pins far faults as NVIDIA's driver serves them: one fault, a
-- stream and a batch of n blocks cost what the formula says; the stages of
-- faults sum to their time; packets are conserved; the replay policies differ
-- as they should, and all of them serve everything, in little memory, with a
-- buffer of one, and from the middle of a batch.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local BASE, BLOCK, IN = 20000, 5280, 4096
local ROUND = whole.join(whole.ROUND, { ["vm.paging"] = "fault",
    ["uvm.mode"] = "driver", ["sim.relaunch"] = false,
    ["uvm.base_latency"] = BASE, ["uvm.block_latency"] = BLOCK,
    ["uvm.interrupt_latency"] = 0, ["uvm.fault_interval"] = 0,
    ["uvm.page_latency"] = 0, ["uvm.evict_latency"] = 0,
    ["uvm.perf_thrashing_enable"] = false, ["l2cache.queue_latency"] = 0,
    ["vm.memory_bytes"] = 256 << 20 })
local near = whole.near

local function run(apps, settings, policy)
    local sim = whole.sim(apps, whole.join(whole.SMALL, ROUND, settings),
        { check = true })
    if policy then
        sim:use(policy)
    end
    local word = sim:run(1 << 40)
    sim:check()
    tap.is(word, "done", "it ends")
    return sim, sim:counters()
end

--- Threads that each read a word `kb` KB from the next, n times on; in so many
-- blocks.
local function touch(threads, n, kb, blocks)
    return H.program(kernel.app {
        name = "touch", source = "this test",
        buffers = function()
            return { kernel.i64("m", (blocks or 1) * threads * n * kb * 128) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = blocks or 1, block = threads },
                function(t)
                    t:loop(n, function(j)
                        local x = t:load(b.m, (t.gid * n + j) * (kb * 128))
                        t:alu(1, { uses = { x } })
                    end)
                end) }
        end,
    })
end

--- What a run takes more than where all pages are there.
local function cost(apps, settings)
    local sim <close>, c = run(apps, settings)
    local there <close> = run(apps, whole.join(settings,
        { ["vm.paging"] = "none", ["uvm.mode"] = "paper" }))
    return sim.now - there.now, c
end

-- ---- closed forms ---------------------------------------------------------------

for pages, more in pairs { [1] = { ["uvm.perf_prefetch_enable"] = false },
    [16] = {} } do
    local time, c = cost({ touch(1, 1, 64) }, more)
    near(time, BASE + BLOCK + pages * IN, "one fault")
    tap.ok(c.fault.wait_cycles == 0 and c.fault.host_cycles == BASE + BLOCK
        and c.fault.room_cycles == 0 and c.fault.link_cycles == pages * IN
        and c.fault.batch_cycles == 0, "its stages")
    tap.ok(c.uvm.packets == 1 and c.uvm.batches == 1 and c.uvm.blocks == 1
        and c.uvm.replays == 1 and c.uvm.replayed == 1, "what the driver did")
end

-- A stream by one thread: each fault is a batch of one.  Prefetchers as in
-- t/813; without one each page is a fault.
for how, faults in pairs { none = 512, sequential = 31, locality = 4,
    tree = 6, driver = 6 } do
    local time, c = cost({ touch(1, 512, 4) }, {
        ["uvm.perf_prefetch_enable"] = how == "driver",
        ["fault.prefetch"] = how ~= "driver" and how or nil })
    tap.is(c.fault.faults, faults, how .. ": faults of a stream")
    near(time, faults * (BASE + BLOCK) + 512 * IN, how .. ": its time")
    tap.is(c.evict.used, 512 - faults, how .. ": all that comes is used")
end

-- A warp that touches 32 blocks: its first fault is a batch alone, the others
-- are one.
for _, policy in ipairs { "batch", "batch_flush" } do
    local sim <close>, c = run({ touch(32, 1, 2048) }, {
        ["uvm.perf_prefetch_enable"] = false, ["core.count"] = 1,
        ["uvm.perf_fault_replay_policy"] = policy,
        ["vm.memory_bytes"] = 256 << 20 })
    -- a block's copy is beside the next one's turn
    near(sim.now, 2 * BASE + 32 * BLOCK + 2 * IN, policy .. ": 1 and 31 blocks")
    tap.ok(c.fault.faults == 32 and c.uvm.blocks == 32,
        policy .. ": all in blocks of their own", c.fault.faults)
    -- the first replay had the other 31 tried again: they fault once more
    tap.is(c.uvm.packets, 63, policy .. ": a replay is for all")
end
-- 32 pages of one block: the block is paid twice.
do
    local sim <close>, c = run({ touch(32, 1, 4) }, {
        ["uvm.perf_prefetch_enable"] = false })
    near(sim.now, 2 * (BASE + BLOCK) + 32 * IN, "one block: 1 and 31 pages")
    tap.is(c.link.transfers, 2, "in two transfers")
end
-- With policy block each page is answered after its block.
do
    local function mean(policy)
        local sim <close>, c = run({ touch(32, 1, 2048) }, {
            ["uvm.perf_prefetch_enable"] = false,
            ["uvm.perf_fault_replay_policy"] = policy,
            ["vm.memory_bytes"] = 256 << 20 })
        tap.ok(sim.now > 0, policy)
        return c.fault.batch_cycles, c.uvm.replays
    end
    local cycles, n = mean "block"
    tap.ok(cycles == 0 and n >= 32, "block: nobody waits for other blocks", n)
    cycles, n = mean "batch"
    tap.ok(cycles >= 30 * 31 // 2 * BLOCK and n <= 3,
        "batch: they do", cycles)
    local once
    once, n = mean "once"
    tap.ok(once > cycles and n <= 2, "once: longest", once)
end

-- ---- the buffer -------------------------------------------------------------------

do
    local time, c = cost({ touch(32, 1, 2048) }, {
        ["uvm.fault_buffer"] = 1, ["uvm.perf_fault_batch_count"] = 1,
        ["vm.memory_bytes"] = 256 << 20 })
    tap.ok(c.uvm.overflows > 100 and c.uvm.peak == 1 and c.fault.faults == 32,
        "a buffer of one", c.uvm.overflows)
    near(time, c.uvm.batches * (BASE + BLOCK) + 32 * 16 * IN,
        "serves one after the other; what has come costs its block's turn")
    tap.is(c.uvm.batches, 32 + c.uvm.stale, "alone in their batches")
end
do
    local sim <close>, c = run({ touch(32, 1, 2048) }, {
        ["uvm.utlb_faults"] = 4, ["vm.memory_bytes"] = 256 << 20 })
    tap.ok(c.uvm.held > 50 and c.uvm.peak <= 8 and sim.now > 0,
        "few faults a uTLB", c.uvm.held)
end
-- Four cores fault on 32 pages each at once: of as many uTLBs, 5 packets each.
for cores, utlbs in pairs { [1] = 4, [2] = 2, [3] = 2, [4] = 1, [64] = 1 } do
    local sim <close>, c = run({ touch(32, 1, 64, 4) }, {
        ["uvm.utlb_faults"] = 5, ["uvm.utlb_cores"] = cores,
        ["uvm.perf_prefetch_enable"] = false })
    tap.is(c.uvm.peak, 5 * utlbs, cores .. " cores share 5 faults")
    tap.ok(c.uvm.packets + c.uvm.held == c.fault.requests and sim.now > 0,
        "the others are held")
end
-- Eight warps of a core read one page.
for _, merge in ipairs { true, false } do
    local sim <close>, c = run({ H.program(kernel.app { name = "same",
        source = "this test",
        buffers = function() return { kernel.i64("m", 512) } end,
        kernels = function(_, b)
            return { kernel.kernel("same", { grid = 1, block = 8 * 64 },
                function(t)
                    t:alu(1, { uses = { t:load(b.m, t.gid) } })
                end) }
        end }) }, { ["uvm.utlb_merge"] = merge, ["core.count"] = 1,
        ["uvm.interrupt_latency"] = 10000 })
    tap.ok(c.fault.requests == 1 and c.fault.faults == 1 and sim.now > 0,
        "one request")
    tap.is(c.uvm.packets, merge and 1 or 8, "packets of one page")
    tap.is(c.uvm.duplicates, c.uvm.packets - 1, "all but one are duplicates")
end
do
    local function blocks(first)
        local sim <close>, c = run({ touch(1, 512, 4) }, {
            ["uvm.perf_prefetch_min_faults"] = first })
        tap.ok(sim.now > 0, "min_faults")
        return c.fault.faults
    end
    tap.is(blocks(4), blocks(1) + 3, "three faults before pages come ahead")
end

-- ---- advice ------------------------------------------------------------------------

--- A stream of a word a page, by launches; `host` is done before each but the
-- first.
local function advised(n, advise, launches, host)
    return H.program(kernel.app {
        name = "advised", source = "this test", align = 2 << 20,
        buffers = function()
            return { kernel.i64("m", n * 512, { advise = advise }) }
        end,
        kernels = function(_, b)
            local load = kernel.kernel("load", { grid = 1, block = 1 },
                function(t)
                t:loop(n, function(j)
                    local x = t:load(b.m, j * 512)
                    t:alu(1, { uses = { x } })
                end)
            end)
            local list = { load }
            for i = 2, launches or 1 do
                list[i] = { load, [host] = { b.m } }
            end
            return list
        end,
    })
end

do
    local GPU, HOST = { preferred = "gpu" }, { preferred = "host" }
    local LUA = { "tree", { driver = 1 } }
    --- What n pages cost, and the counters.
    local function stream(n, advise, more, policy, ...)
        more = more or {}
        local sim <close>, c = run({ advised(n, advise, ...) },
            more, policy)
        local there <close> = run({ advised(n, advise, ...) },
            whole.join(more, { ["vm.paging"] = "none", ["uvm.mode"] = "paper" }))
        return sim.now - there.now, c
    end
    for n = 511, 1024, 513 do -- less than 2 MB, and two blocks
        local blocks = (n + 511) // 512
        local time, c = stream(n, GPU)
        tap.ok(c.fault.faults == blocks and c.fault.prefetched == n - blocks,
            n .. " pages that prefer the GPU: a fault a block", c.fault.faults)
        near(time, blocks * (BASE + BLOCK) + n * IN, "brings all of it")
    end
    local time, c = stream(512, nil)
    local _, mapped = stream(512, GPU, { ["uvm.host_mapped"] = true,
        ["uvm.unmap_latency"] = 0 })
    tap.ok(c.fault.faults == 6 and mapped.fault.faults == 6,
        "without advice, or resident on the host before, by the tree")
    near(time, 6 * (BASE + BLOCK) + 512 * IN, "at its price")
    _, c = stream(512, GPU, { ["uvm.perf_prefetch_min_faults"] = 4 })
    tap.is(c.fault.faults, 3 + 6, "after min_faults the first touch is over")
    for _, host in ipairs { "host_reads", "host_writes" } do
        _, c = stream(512, GPU, {}, nil, 2, host)
        tap.is(c.fault.faults, 1 + 6, host .. ": the second touch is no first")
    end
    local function migrates() return 0 end
    _, c = stream(512, HOST, {}, { name = "migrates", migrate = migrates })
    tap.ok(c.fault.faults == 512 and c.fault.prefetched == 0,
        "nothing is prefetched out of a preferred place on the host")
    _, c = stream(512, { accessed_by = true }, {},
        { name = "migrates", migrate = migrates })
    tap.is(c.fault.faults, 6, "what is only accessed by the GPU is")
    -- in Lua these are the bytes of C
    for what, advise in pairs { gpu = GPU, host = HOST, none = {} } do
        local twins = {}
        for i, lua in ipairs { false, true } do
            local sim = whole.sim({ advised(700, advise, 3, "host_writes") },
                whole.join(whole.SMALL, ROUND), { check = true })
            sim:use { name = "migrates", migrate = migrates }
            if lua then sim:use(table.unpack(LUA)) end
            sim:run(1 << 40)
            twins[i] = whole.statistics(sim, whole.no_policy)
            sim:close()
        end
        tap.is(whole.difference(twins[1], twins[2]), nil,
            what .. ": policies/tree.lua is the driver's")
    end
end

-- What is used on the host, or throttled, is decided before anything is unmapped or
-- mapped for DMA for it.
do
    local TERMS = { ["uvm.host_mapped"] = true, ["uvm.unmap_latency"] = 50000,
        ["uvm.dma_map_latency"] = 30000, ["uvm.perf_prefetch_enable"] = false }
    local function stream(advise, terms)
        local sim <close>, c = run({ advised(64, advise) }, terms)
        return sim.now, c
    end
    for what, advise in pairs { host = { preferred = "host" },
        accessed = { accessed_by = true } } do
        local time, c = stream(advise, TERMS)
        local plain = stream(advise, { ["uvm.perf_prefetch_enable"] = false })
        tap.is(time, plain, what .. ": what is mapped on the host stays mapped")
        tap.ok(c.uvm.unmap_cycles == 0 and c.uvm.dma_map_cycles == 0
            and c.remote.pages == 64, "and no term is paid", c.remote.pages)
    end
    local time, c = stream(nil, TERMS)
    local plain = stream(nil, { ["uvm.perf_prefetch_enable"] = false })
    near(time - plain, 50000 + 30000, "what migrates pays both, once")
    tap.is(c.remote.pages, 0, "and is on the GPU")
    -- what the host touches it maps again, which its next fault pays: in pairs
    for _, host in ipairs { "host_reads", "host_writes", "prefetch_host",
        "prefetch" } do
        local touched = host == "prefetch" and 0 or 64
        local term = { ["uvm.perf_prefetch_enable"] = false,
            ["uvm.unmap_latency"] = 50000 }
        local free <close>, e = run({ advised(64, nil, 3, host) },
            whole.join(term, { ["uvm.unmap_latency"] = 0 }))
        local paid <close>, g = run({ advised(64, nil, 3, host) }, term)
        tap.is(g.uvm.unmap_cycles, 2 * touched * 50000,
            host .. ": " .. touched .. " pages are unmapped, twice")
        tap.ok(e.uvm.unmap_cycles == 0 and g.fault.faults == e.fault.faults
            and g.fault.faults == 64 + 2 * touched, "as they fault",
            g.fault.faults)
        near(paid.now - free.now + 1, 2 * touched * 50000 + 1, "at that price")
    end
    do -- pages that were not on the GPU when they were touched count; none of a
        -- buffer that was not touched does
        local both = H.program(kernel.app { name = "both", source = "this test",
            align = 2 << 20, buffers = function()
                return { kernel.i64("a", 64 * 512), kernel.i64("b", 64 * 512) }
            end,
            kernels = function(_, b)
                local function load(of, name)
                    return kernel.kernel(name, { grid = 1, block = 1 },
                        function(t)
                        t:loop(64, function(j)
                            local x = t:load(of, j * 512)
                            t:alu(1, { uses = { x } })
                        end)
                    end)
                end
                return { load(b.a, "a"),
                    { load(b.b, "b"), host_writes = { b.b } } }
            end })
        local sim <close>, e = run({ both }, { ["uvm.unmap_latency"] = 50000,
            ["uvm.perf_prefetch_enable"] = false })
        tap.ok(e.uvm.unmap_cycles == 64 * 50000 and e.fault.faults == 128
            and sim.now > 0, "touched before it was ever on the GPU",
            e.uvm.unmap_cycles)
    end
    -- a page between the GPU and its host: what is throttled pays nothing
    local sim <close>, d = run({ whole.to_and_fro(1, 60) }, {
        ["uvm.host_mapped"] = true, ["uvm.unmap_latency"] = 100,
        ["uvm.base_latency"] = 4000, ["uvm.block_latency"] = 1000,
        ["fault.thrashing"] = "driver",
        ["uvm.perf_thrashing_lapse_usec"] = 50,
        ["uvm.perf_prefetch_enable"] = false })
    tap.ok(d.thrash.throttled > 20 and d.uvm.unmap_cycles
        == 100 * d.fault.pages and d.fault.pages > 20 and sim.now > 0,
        "throttled faults unmap nothing", d.uvm.unmap_cycles)
end

-- ---- chunks of 2 MB ----------------------------------------------------------------

--- A program whose one thread reads a word of each of these pages of a buffer of
-- n pages, in their order.
local function pages(n, list)
    return H.program(kernel.app {
        name = "pages", source = "this test", align = 2 << 20,
        buffers = function() return { kernel.i64("m", n * 512) } end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = 1, block = 1 }, function(t)
                for _, page in ipairs(list) do
                    local x = t:load(b.m, page * 512)
                    t:alu(1, { uses = { x } })
                end
            end) }
        end,
    })
end

--- The counters of such a program in so many frames.
local function chunked(frames, n, list, more)
    local sim <close>, c = run({ pages(n, list) }, whole.join({
        ["vm.memory_bytes"] = 64 << 20, ["vm.table_frames"] = (64 << 8) - frames,
        ["uvm.perf_prefetch_enable"] = false }, more or {}))
    tap.ok(sim.now > 0, "chunks")
    return c
end

do
    local OFF = { ["uvm.chunks"] = false }
    local four = { 0, 512, 1024, 1536, 0, 512, 1024, 1536 }
    -- a page of each of four blocks, twice
    for _, case in ipairs { { 2048, 4, 0 }, { 2047, 8, 5 }, { 1024, 8, 6 },
        { 512, 8, 7 } } do
        local c = chunked(case[1], 2048, four)
        tap.is(c.fault.faults, case[2], case[1] .. " frames: faults")
        tap.is(c.evict.evictions, case[3], "and evictions")
        tap.is(c.evict.bytes, case[3] * 4096, "of what is there")
        c = chunked(case[1], 2048, four, OFF)
        tap.ok(c.fault.faults == 4 and c.evict.evictions == 0,
            "without chunks all stay")
    end
    local all = {}
    for i = 0, 511 do all[i + 1] = i end
    local c = chunked(512, 512, all, { ["uvm.perf_prefetch_enable"] = true })
    tap.ok(c.fault.faults == 6 and c.evict.evictions == 0,
        "prefetch in a chunk needs no memory", c.fault.faults)
    -- a buffer of 2 MB less a page is none: its pages count one by one
    c = chunked(4, 511, { 0, 100, 200, 300, 0, 100, 200, 300 })
    tap.is(c.fault.faults, 4, "a smaller block takes its pages' memory")
    -- beside chunks: the third makes the first leave, and so on, or the page
    c = chunked(1536, 2559, { 0, 512, 2048, 1024, 2048, 0, 512 })
    tap.is(c.fault.faults, 6, "a page of it keeps a chunk from fitting")
    tap.is(c.evict.evictions, 3, "or leaves for one")
    -- A (511 pages) comes, B, A again, C: with chunks A is the oldest still
    local aba = { 1024, 0, 1025, 512, 0, 1024 }
    c = chunked(1024, 1024 + 511, aba)
    local d = chunked(3, 1024 + 511, aba, OFF)
    tap.ok(c.fault.faults == 5 and d.fault.faults == 6,
        "a block without a chunk keeps its place in the order", ("%d %d")
        :format(c.fault.faults, d.fault.faults))
    -- too small for one
    tap.raises(function()
        chunked(511, 512, { 0 })
    end, "out of frames: a page waits for one, and nothing can be evicted",
        "less than a chunk is too little")
end

-- ---- what is conserved ----------------------------------------------------------

local function loads()
    return { "GUP", whole.random(4, 6, 1), whole.column(2, 6, "store", 512) }
end
local LOADS = { ["core.count"] = 6 }

for _, policy in ipairs { "block", "batch", "batch_flush", "once" } do
    local sim <close>, c = run(loads(), whole.join(LOADS, {
        ["uvm.perf_fault_replay_policy"] = policy ,
        ["uvm.perf_fault_replay_update_put_ratio"] = 0 }))
    local sum = 0
    for _, h in ipairs(sim.core:hists()) do
        if h.component == "fault" and h.name == "latency" then
            for _, a in ipairs(h.apps) do sum = sum + a.sum end
        end
    end
    local f = c.fault
    tap.is(f.wait_cycles + f.host_cycles + f.room_cycles + f.link_cycles
        + f.batch_cycles, sum, policy .. ": stages sum to the time")
    local left = c.uvm.packets - f.faults - c.uvm.duplicates - c.uvm.stale
        - c.uvm.flushed
    tap.ok(left >= 0 and left <= c.uvm.peak,
        policy .. ": packets are served, dropped or there", left)
    tap.is(c.uvm.packets + c.uvm.held + c.uvm.overflows, f.requests,
        policy .. ": one for each request that faults")
    tap.ok(c.uvm.replayed <= f.requests and c.uvm.replayed > 0,
        policy .. ": which a replay tries again", c.uvm.replayed)
    tap.is(f.merges, c.uvm.duplicates, policy .. ": duplicates are merged")
    tap.ok((c.uvm.flushed > 0) == (policy == "batch_flush"),
        policy .. ": flushed", c.uvm.flushed)
end
do
    local sim <close>, c = run(loads(), whole.join(LOADS, {
        ["uvm.utlb_merge"] = false }))
    local left = c.uvm.packets - c.fault.faults - c.uvm.duplicates
        - c.uvm.stale - c.uvm.flushed
    tap.ok(left >= 0 and left <= c.uvm.peak and sim.now > 0,
        "packets of their own are served, dropped or there", left)
    tap.ok(c.uvm.packets + c.uvm.held + c.uvm.overflows > c.fault.requests,
        "more than requests")
end
do
    local function reads(ratio)
        local sim <close>, c = run(loads(), whole.join(LOADS, {
            ["uvm.perf_fault_replay_update_put_ratio"] = ratio }))
        tap.ok(sim.now > 0, "ratio")
        return c.uvm.put_reads
    end
    tap.ok(reads(0) > 0, "any duplicate has PUT read again")
    tap.is(reads(100), 0, "never more than all")
end
do
    local c <close> = run(loads(), LOADS)
    local lua <close> = run(loads(), LOADS, { name = "least",
        fault_batch = function(q) return math.min(q.n, 256) end })
    tap.is(whole.difference(whole.statistics(c, whole.no_policy),
        whole.statistics(lua, whole.no_policy)), nil,
        "fault_batch: what the default answers, in Lua")
end


-- ---- the time line ------------------------------------------------------------------

--- One thread that reads the first word of each of n pages in n blocks, so that
-- each is a batch; what each term adds to a batch.
do
    local OFF = { ["uvm.perf_prefetch_enable"] = false,
        ["vm.memory_bytes"] = 256 << 20 }
    local function timed(more)
        return cost({ touch(1, 4, 2048) }, whole.join(OFF, more))
    end
    local plain = timed {}
    near(plain, 4 * (BASE + BLOCK + IN), "four batches of a block")
    for _, term in ipairs {
        { "uvm.interrupt_latency", "interrupt_cycles", 4 },
        { "uvm.page_latency", "page_cycles", 4, IN },
        { "uvm.dma_map_latency", "dma_map_cycles", 4 },
        { "uvm.unmap_latency", "unmap_cycles", 4 },
    } do
        local name, counter, times, beside = table.unpack(term)
        local time, c = timed { [name] = 50000, ["uvm.host_mapped"] = true,
            [name ~= "uvm.unmap_latency" and "uvm.unmap_latency" or
                "uvm.dma_map_latency"] = 0 }
        near(time - plain, times * (50000 - (beside or 0)), name)
        near(c.uvm[counter], times * 50000, name .. ": as it is counted")
    end
    local time = timed { ["uvm.unmap_latency"] = 50000 }
    tap.is(time, plain, "what the host has not mapped is not unmapped")
    -- a block that has been mapped for DMA stays so
    local _, c = cost({ touch(1, 4, 4) }, whole.join(OFF, {
        ["uvm.dma_map_latency"] = 50000 }))
    near(c.uvm.dma_map_cycles, 50000, "a block is mapped for DMA once")
    tap.is(c.uvm.blocks, 4, "of four times")
    _, c = cost({ touch(1, 4, 4) }, whole.join(OFF, {
        ["uvm.host_mapped"] = true, ["uvm.unmap_latency"] = 50000 }))
    near(c.uvm.unmap_cycles, 50000, "and unmapped from the host once")
end

-- An eviction costs the driver time, and the copy.
do
    local list = { 0, 512, 0, 512, 0, 512 }
    local function evicting(ns)
        local sim <close>, c = run({ pages(1024, list) }, {
            ["vm.memory_bytes"] = 64 << 20, ["vm.table_frames"] = (64 << 8) - 512,
            ["uvm.perf_prefetch_enable"] = false, ["uvm.evict_latency"] = ns })
        return sim.now, c
    end
    local before = evicting(0)
    local after, c = evicting(70000)
    tap.is(c.evict.evictions, 5, "five evictions")
    near(after - before, 5 * (70000 - IN),
        "an eviction takes the driver's time, beside the copy")
    near(c.uvm.evict_cycles, 5 * 70000, "as it is counted")
    tap.ok(c.uvm.room_cycles > 0, "and blocks wait for frames")
end

-- What arrives before the buffer is read is one batch: a warp's 32 blocks.
do
    local _, c = cost({ touch(32, 1, 2048) }, {
        ["uvm.perf_prefetch_enable"] = false, ["core.count"] = 1,
        ["uvm.interrupt_latency"] = 10000, ["vm.memory_bytes"] = 256 << 20 })
    tap.is(c.uvm.batches, 1, "the buffer is read after the interrupt")
    tap.is(c.uvm.packets, 32, "all have arrived")
    -- one packet a microsecond: ten come in time, those behind in the next batch
    _, c = cost({ touch(32, 1, 2048) }, {
        ["uvm.perf_prefetch_enable"] = false, ["core.count"] = 1,
        ["uvm.interrupt_latency"] = 10000, ["uvm.fault_interval"] = 1000,
        ["vm.memory_bytes"] = 256 << 20 })
    tap.ok(c.uvm.batches > 1 and c.uvm.packets > 32,
        "packets are written one after the other", c.uvm.packets)
end

-- The record of a batch sums to what is counted.
do
    local FIELDS = { "number", "packets", "duplicates", "stale", "faults", "pages",
        "bytes", "blocks", "evictions", "cycles", "interrupt", "base", "block",
        "unmap", "dma", "room", "page", "evict", "copy" }
    local sim <close>, c = run(loads(), whole.join(LOADS, {
        ["uvm.page_latency"] = 900, ["uvm.evict_latency"] = 38000,
        ["uvm.dma_map_latency"] = 1000, ["uvm.interrupt_latency"] = 10000,
        ["uvm.fault_interval"] = 14, ["vm.table_frames"] = 4096 }),
        { name = "records", state = { list = {} }, watch = { batch_served =
            function(b, s)
            local row = {}
            for i = 1, #FIELDS do row[FIELDS[i]] = b[FIELDS[i]] end
            s.list[#s.list + 1] = row
        end } })
    local records = sim:used()[1].state.list
    local u, sum, n, exact = c.uvm, {}, #records, true
    for i, b in ipairs(records) do
        for _, f in ipairs(FIELDS) do sum[f] = (sum[f] or 0) + b[f] end
        exact = exact and b.number == i and math.abs(b.cycles - b.base - b.block
            - b.unmap - b.dma - b.room - b.page - b.evict - b.copy) <= 8
    end
    tap.ok(exact, "terms sum to each batch")
    tap.ok(n == u.batches and n > 0 and sim.now > 0, "a record a batch", n)
    tap.ok(sum.packets + u.flushed <= u.packets and sum.duplicates
        == u.duplicates and sum.stale == u.stale and sum.faults
        == c.fault.faults and sum.blocks == u.blocks and sum.pages
        == c.fault.pages, "and says what was counted")
    for field, counter in pairs { cycles = "batch_cycles",
        interrupt = "interrupt_cycles", base = "base_cycles",
        block = "block_cycles", dma = "dma_map_cycles", page = "page_cycles",
        room = "room_cycles", evict = "evict_cycles", copy = "copy_cycles" } do
        tap.is(sum[field], u[counter], "records and counters: " .. counter)
    end
end

-- A public log of a Titan V (uvm-eval, abc): 32 threads of a warp read page i of b and
-- a and write page i of c; batches of 56, 8 and 32 faults, none twice, none stale.
do
    local abc = kernel.app { name = "abc", source = "uvm-eval", align = 2 << 20,
        buffers = function()
            return { kernel.f64("a", 1 << 18), kernel.f64("b", 1 << 18),
                kernel.f64("c", 1 << 18) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("foo", { grid = 1, block = 32 }, function(t)
                local i = t.gid * 512
                local y, x = t:load(b.b, i), t:load(b.a, i)
                t:alu(1, { uses = { x, y } })
                t:store(b.c, i)
            end) }
        end }
    for _, name in ipairs { "maxwell-tu104", "maxwell", "aggressive" } do
        local sim = H.sim { machine = H.machine(name) { ["core.lanes"] = 32,
            ["core.width"] = 32, ["core.threads"] = 2048,
            ["vm.paging"] = "fault", ["uvm.mode"] = "driver",
            ["uvm.perf_prefetch_enable"] = false, ["vm.page"] = "4K",
            ["link.curve"] = "uvmsmart" }, apps = { H.program(abc) },
            progress = false, policies = { { name = "log", state = { packets = {} }, watch = {
            batch_served = function(b, s)
                s.packets[#s.packets + 1] = b.packets
            end } } } }
        sim:run()
        local u = sim:counters().uvm
        tap.is(table.concat(sim:used()[1].state.packets, " "), "56 8 32",
            name .. ": the log's batches")
        tap.ok(u.packets == 96 and u.stale == 0 and u.duplicates == 0
            and u.held == 8 and u.blocks == 4, name .. ": its packets and blocks")
        sim:close()
    end
end

tap.raises(function()
    run({ touch(1, 1, 4) }, { ["uvm.fault_buffer"] = 255 })
end, "uvm.perf_fault_batch_count: a batch of 256 faults is more than "
    .. "uvm.fault_buffer holds (255)", "a batch is in the buffer")

-- ---- no progress ------------------------------------------------------------------

--- What a run that stops says, with its code and the graph of its waits.
local function stops(apps, settings, policy, what)
    local sim <close> = whole.sim(apps, whole.join(whole.SMALL, ROUND,
        { ["vm.memory_bytes"] = 64 << 20, ["evict.unit"] = "4K",
          ["uvm.perf_prefetch_enable"] = false }, settings), { check = true })
    if policy then sim:use(policy) end
    local ok, err = pcall(sim.run, sim, 1 << 40)
    tap.ok(not ok and err.code == (what or -8), "it stops", tostring(err))
    return ok and "" or err.message
end

local function frames(n)
    return { ["vm.table_frames"] = (64 << 8) - n }
end

do
    -- 2 MB of one buffer in less: the page, its batch, what it takes, what to set
    local text = stops({ pages(512, { 7 }) }, whole.join(frames(511),
        { ["evict.unit"] = "2M" }))
    for _, part in ipairs { "^out of frames: a page waits for one",
        "0 of 511 data frames are in use",
        ": page 0x7f0000007 of application 0, of the driver's batch 1, takes 512",
        "raise vm.memory_bytes", "uvm.chunks, uvm.perf_fault_batch_count",
        "\n  driver 0 waits for frames for a block of its batch",
        "\n  requests 0 waits for the driver's replay",
        "\n  fault 0 waits for frames, which an eviction is to free",
        "\n  evict 0 waits for a page that can be evicted" } do
        tap.ok(text:find(part), "it says " .. part:gsub("%c", ""), text)
    end
    -- an instruction's pages in fewer frames: alone they are served, one by one;
    -- as one batch whose pages wait for one another they are not (paper mode)
    local warp = { touch(32, 1, 4) }
    for n = 1, 32, 31 do
        local sim <close>, c = run(warp, whole.join(frames(n),
            { ["vm.memory_bytes"] = 64 << 20, ["evict.unit"] = "4K",
              ["uvm.perf_prefetch_enable"] = false }))
        tap.ok(c.fault.faults >= 32 and sim.now > 0,
            n .. " frames do for the driver")
    end
    text = stops({ touch(32, 1, 4, 4) }, whole.join(frames(16),
        { ["uvm.mode"] = "paper", ["fault.batch"] = 32, ["fault.serial"] = true,
          ["link.latency"] = 1000 }))
    tap.ok(text:find "^out of frames" and text:find(", takes 1: raise "
        .. "vm.memory_bytes, or migrate less at once (fault.batch,", 1, true)
        and text:find "\n  fault 0 waits for the other pages of its batch %(app=0, "
        .. "faults=16, ", "nor sixteen for a batch of 32", text)
end
do
    -- Each page is evicted before the replay that would pin it: the driver serves
    -- and replays for ever.
    local newest = { name = "newest",
        evict_trigger = function() return true end,
        evict_victim = function(q) return q.n end }
    local late = whole.join(frames(64), { ["uvm.evict_latency"] = 38000,
        ["uvm.interrupt_latency"] = 10000, ["uvm.page_latency"] = 900 })
    local text = stops({ touch(32, 1, 4, 4) }, late, newest)
    tap.ok(text:find "no instruction has issued since cycle %d+: the driver's last "
        and text:find "replays have helped no request"
        and text:find("evict_victim", 1, true), "and says so", text)
    tap.ok(text:find "\n  driver 0 waits for " and text:find "\n  requests 0 waits "
        .. "for the driver's replay %(n=128%)", "in the graph, too", text)
    local kept <close> = run({ touch(32, 1, 4, 4) }, whole.join(late,
        { ["vm.memory_bytes"] = 64 << 20, ["evict.unit"] = "4K",
          ["uvm.perf_prefetch_enable"] = false }))
    tap.ok(kept.now > 0, "without it all is served")
end
do -- a driver that is at work for longer than sim.stuck_cycles is not stuck
    local sim <close>, c = run({ touch(32, 1, 4, 2) }, whole.join(frames(32),
        { ["vm.memory_bytes"] = 64 << 20, ["evict.unit"] = "4K",
          ["uvm.interrupt_latency"] = 10000, ["sim.stuck_cycles"] = 1000,
          ["uvm.perf_prefetch_enable"] = false,
          ["uvm.evict_latency"] = 200000 }))
    tap.ok(c.evict.evictions >= 32 and c.uvm.batches < 8 and sim.now > 0,
        "many evictions of 200 us each, in a batch", c.evict.evictions)
end

-- ---- whatever is small ------------------------------------------------------------

local function stress(what, settings, policy, mb)
    whole.stress(what, function()
        return whole.sim({ "GUP", whole.random(3, 4, mb or 1) },
            whole.join(whole.SMALL, ROUND, { ["vm.memory_bytes"] = 64 << 20,
                ["vm.table_frames"] = (64 << 8) - 48, ["evict.unit"] = "4K",
                ["uvm.base_latency"] = 1000, ["uvm.block_latency"] = 300 },
                settings), { check = true })
    end, { policy = policy, step = 4003, snaps = 2, -- in all states of a batch
        due = function(c) return c.uvm.batches / 9 end,
        good = function(c, n) return c.evict.evictions > 0 and n == 2 end })
end

for _, policy in ipairs { "block", "batch", "batch_flush", "once" } do
    local set = { ["uvm.perf_fault_replay_policy"] = policy }
    stress(policy, set)
    stress(policy .. ", batches of 4, units of trees", whole.join(set, {
        ["uvm.perf_fault_batch_count"] = 4, ["evict.unit"] = "tree",
        ["vm.table_frames"] = (64 << 8) - 100 }))
    stress(policy .. ", a buffer of 3", whole.join(set, {
        ["uvm.fault_buffer"] = 3, ["uvm.perf_fault_batch_count"] = 3,
        ["uvm.utlb_faults"] = 2,
        ["uvm.perf_fault_max_batches_per_service"] = 2,
        ["evict.trigger"] = "watermark", ["evict.free_bytes"] = 65536 }))
end
stress("a packet each", { ["uvm.utlb_merge"] = false })
for _, page in ipairs { "4K", "64K" } do
    stress("chunks, pages of " .. page, { ["evict.unit"] = "2M",
        ["vm.table_frames"] = (64 << 8) - 1400, ["vm.page"] = page,
        ["uvm.perf_prefetch_enable"] = page == "4K" }, nil, 9)
end
stress("pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true,
    ["evict.unit"] = "64K", ["vm.table_frames"] = (64 << 8) - 96 })
for seed = 1, 4 do
    stress("answers at random " .. seed, { ["walk.walkers"] = 1,
        ["uvm.perf_fault_replay_policy"] =
            ({ "block", "batch", "batch_flush", "once" })[seed] },
        dice(seed, { warp_limit = true, warp_pick = true, page_size = true,
            frame_place = true }))
end

tap.raises(function()
    run({ touch(1, 1, 4) }, { ["fault.transfer"] = "64K" })
end, "uvm.mode", "the driver has its own transfers")
tap.done()

-- 816-remote.lua - pins pages that are used where they are, on the host: each
-- load that misses the L2 costs its latency and its bytes on the link, to the
-- cycle, and many share its bandwidth; stores cross outwards; the L2 forgets
-- lines of the host unless remote.cache says otherwise; nothing comes and no
-- frame is taken; an access counter that reaches its threshold has its granule
-- come, which ends remote accesses; delayed migration in C and in Lua is the
-- same run; random answers, little memory, pages of all sizes, coalesced regions
-- and allocations that go are checked; a run with snapshots, or twice, is the
-- run straight through.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local FAR = { ["vm.paging"] = "fault", ["remote.access"] = "remote",
    ["link.latency"] = 1000 }
local ROUND = whole.ROUND

local function run(apps, settings, policy)
    local sim = whole.sim(apps, whole.join(whole.SMALL, FAR, settings),
        { check = true })
    if policy then
        sim:use(policy)
    end
    sim:run(1 << 40)
    sim:check()
    return sim, sim:counters()
end

--- A kernel of `threads` threads in blocks of 256 at most; each touches n words,
-- `step` words apart, one after the other, `times` times.
local function stream(o)
    local words = o.n * o.step
    return H.program(kernel.app {
        name = "stream", source = "this test",
        buffers = function()
            return { kernel.i64("m", o.words or words * (o.threads or 1)) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = ((o.threads or 1) + 255) // 256,
                block = math.min(o.threads or 1, 256) },
                function(t)
                    t:loop(o.n * (o.times or 1), function(j)
                        local at = j % o.n * o.step * (o.threads or 1)
                            + t.gid * (o.wide or 1)
                        if o.what == "store" then
                            t:store(b.m, at, 1)
                        else
                            local x = t:load(b.m, at)
                            t:alu(1, { uses = { x } })
                        end
                    end)
                end) }
        end,
    })
end

-- ---- closed forms ---------------------------------------------------------------

do -- a chase over pages: 200 cycles and 128 bytes, a byte a cycle
    local n = 16
    local sim <close>, c = run({ stream { n = n, step = 512 } }, ROUND)
    tap.is(c.remote.pages, n, "each page is mapped")
    tap.is(c.remote.loads, n, "each load crosses")
    tap.is(c.remote.in_bytes, n * 128, "with its line")
    tap.is(c.remote.load_cycles, n * (200 + 128), "for latency and bytes")
    tap.is(c.fault.faults, n, "a page faults once")
    tap.is(c.fault.pages + c.link.transfers + c.link.bytes, 0, "nothing comes")
    tap.ok(c.fault.link_cycles < n * 64, "it waits for an instant only",
        c.fault.link_cycles)
    local near <close>, d = run({ stream { n = n, step = 512 } },
        whole.join(ROUND, { ["remote.access"] = "migrate" }))
    tap.is(d.remote.pages + d.remote.loads, 0, "by default they come")
    tap.is(d.fault.pages, n, "all")
    tap.ok(sim.now < near.now, "a word of each is cheaper from afar")
    local slow <close> = run({ stream { n = n, step = 512 } },
        whole.join(ROUND, { ["remote.latency"] = 700 }))
    tap.is(slow.now - sim.now, n * 500, "the latency is a load's, to the cycle")
end

do -- many loads at once: the link's bandwidth
    local n, threads = 32, 1024
    local sim <close>, c = run({ stream { n = n, step = 16, wide = 16,
        threads = threads } }, whole.join(ROUND, { ["l1cache.mode"] = "off" }))
    local bytes = n * threads * 128
    tap.is(c.remote.loads, n * threads, "every line crosses")
    tap.ok(sim.now >= bytes and sim.now < bytes * 1.01,
        "as fast as the link carries them", ("%d of %d"):format(sim.now, bytes))
end

do -- stores
    local n, threads = 32, 1024
    local done <close>, c = run({ stream { n = n, step = 16, wide = 16,
        threads = threads, what = "store" } }, ROUND)
    tap.ok(c.remote.stores <= n * threads and c.remote.stores >= n * threads
        - 4 * 64, "every store crosses, but those in flight at the end",
        c.remote.stores)
    tap.ok(c.remote.loads == 0 and done.now > 0, "and brings nothing")
    tap.is(c.remote.out_bytes, 8 * c.remote.stores, "with its bytes")
    tap.is(c.dram.writes, 0, "none goes to DRAM")
end

do -- again and again over 16 KB
    local o = { n = 128, step = 16, times = 4 }
    local far <close>, c = run({ stream(o) },
        { ["l1cache.mode"] = "off" })
    local kept <close>, d = run({ stream(o) },
        { ["l1cache.mode"] = "off", ["remote.cache"] = true })
    tap.is(c.remote.loads, 4 * 128, "the L2 forgets lines of the host")
    tap.is(d.remote.loads, 128, "or keeps them")
    tap.ok(kept.now < far.now, "which is faster")
    tap.is(c.l2cache.dram_reads, c.dram.reads + c.dram.walk_reads,
        "DRAM is asked for its own lines only")
end

-- ---- access counters ---------------------------------------------------------------

do
    local o = { n = 512, step = 16 } -- the lines of 16 pages
    local COUNT = { ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 64,
        ["l1cache.mode"] = "off" }
    local sim <close>, c = run({ stream(o) }, whole.join(ROUND, COUNT,
        { ["fault.transfer"] = "64K" }))
    -- 1000 cycles of latency, an instant, and 64 KB at a byte a cycle
    tap.is(c.remote.notifications, 1, "64 accesses are one notification")
    tap.is(c.remote.left, 16, "then the granule's pages are unmapped")
    tap.is(c.fault.pages, 16, "and come")
    tap.ok(c.remote.loads >= 64 and c.remote.loads <= 64 + 1000 // 328 + 2,
        "no load crosses from then on", c.remote.loads)
    tap.is(c.link.bytes, 65536, "in one transfer")
    local off <close>, d = run({ stream(o) }, whole.join(ROUND,
        { ["l1cache.mode"] = "off", ["fault.transfer"] = "64K" }))
    tap.is(d.remote.loads, 512, "without counters all do")
    tap.is(d.remote.notifications + d.remote.left, 0, "and nobody is notified")
    -- 32 warps, a granule each: the first is served alone, the others together
    local many = { threads = 1024, n = 8, step = 256, wide = 256 }
    local FEW = { ["uvm.perf_access_counter_threshold"] = 2,
        ["link.latency"] = 20000 }
    local all <close>, f = run({ stream(many) }, whole.join(ROUND, COUNT, FEW))
    local each <close>, g = run({ stream(many) }, whole.join(ROUND, COUNT, FEW,
        { ["uvm.perf_access_counter_batch_count"] = 1 }))
    tap.ok(all.now > 0 and f.remote.left > 2 * g.remote.left,
        "the host serves notifications together", f.remote.left)
    -- alone, one after the other, a latency each
    tap.ok(math.abs(g.remote.left // 16 - each.now // 20000) <= 1,
        "or one by one", g.remote.left)
    local never <close>, e = run({ stream(o) }, whole.join(ROUND, COUNT,
        { ["uvm.perf_access_counter_threshold"] = 513 }))
    tap.is(e.remote.left, 0, "nor by one access too few")
    tap.ok(off.now == never.now or e.remote.loads == 512, "which counting costs nothing")
    local _ = sim
end

-- ---- the driver's mode -------------------------------------------------------------

local DRIVER = { ["uvm.mode"] = "driver", ["uvm.perf_prefetch_enable"] = false,
    ["uvm.base_latency"] = 20000, ["uvm.block_latency"] = 5280,
    ["uvm.interrupt_latency"] = 0, ["uvm.page_latency"] = 0,
    ["uvm.evict_latency"] = 0, ["uvm.fault_interval"] = 0,
    ["uvm.perf_thrashing_enable"] = false }
local SERVED = 20000 + 5280 -- base_latency, block_latency
local COUNTED = { ["uvm.perf_access_counter_migration_enable"] = true,
    ["uvm.perf_access_counter_granularity"] = "64K",
    ["uvm.perf_access_counter_threshold"] = 64, ["l1cache.mode"] = "off" }

do -- a chase over pages: instead of the link's latency, a batch's
    local n = 16
    local function chase(more)
        local sim <close>, c = run({ stream { n = n, step = 512 } },
            whole.join(ROUND, more))
        tap.ok(c.remote.pages == n and c.remote.loads == n
            and c.fault.pages == 0, "pages are mapped where they are")
        return sim.now, c
    end
    local paper, driver, c = chase {}, chase(DRIVER)
    tap.is(driver - paper, n * (SERVED - 1000), "the driver's batches cost theirs")
    tap.is(c.fault.host_cycles, n * SERVED, "to the cycle")
end

--- What a run takes longer for each cycle of a setting of the driver's.
local function each(name, o, more)
    local now = {}
    for i = 1, 2 do
        local sim <close>, c = run({ stream(o) }, whole.join(ROUND, DRIVER,
            COUNTED, { ["vm.memory_bytes"] = 256 << 20 }, more or {},
            { [name] = i * 10000 }))
        now[i], now.c = sim.now, c
    end
    return (now[2] - now[1]) // 10000, now.c
end

do -- a line after the other of n granules of a block: two pages of each fault
    -- and make 64 accesses, and the third, which faults, waits until all come
    local n = 4
    local o = { n = n * 512, step = 16 }
    local bases, c = each("uvm.base_latency", o)
    local r = c.remote
    tap.ok(r.loads == 64 * n and r.notifications == n and r.left == 2 * n
        and r.pages == 2 * n and c.fault.pages == 16 * n
        and c.link.transfers == n, "a granule comes after 64 accesses, at once")
    tap.is(c.uvm.stale, n, "before who faults has his turn")
    tap.is(bases, 4 * n, "2 faults, a notification, one whose page has come")
    tap.is(each("uvm.block_latency", o), 4 * n, "and the blocks of all four")
    tap.is(each("uvm.page_latency", o), 16 * n, "and each page that migrates")
    tap.is(each("uvm.evict_latency", o), 0, "and no eviction where there is none")
end

for _, case in ipairs { { 8192, 3 }, { 262144 } } do
    -- a warp with 16 granules, of a block or of one each: 1 and 15 are notified
    local blocks, c = each("uvm.block_latency", { n = 65, step = 1,
        threads = 16, wide = case[1], words = 16 * case[1] })
    tap.is(c.remote.notifications, 16, "16 granules")
    -- of many blocks, faults are served before all notifications are
    if case[2] then
    tap.is(c.remote.left, 2 * 16, "come")
    tap.is(blocks - c.uvm.blocks, case[2],
        "in two batches, whose blocks are paid for once, and who came late")
    end
end
do
    local o = { n = 65, step = 1, threads = 16, wide = 8192, words = 16 * 8192 }
    tap.is(each("uvm.base_latency", o,
        { ["uvm.perf_access_counter_batch_count"] = 1 })
        - each("uvm.base_latency", o), 14, "or in 16, one for each")
end

do -- 8 units of 64 KB, room for 4, each read twice: what was evicted is used
    -- on the host, if the setting and the counters say so, and comes again
    local function rounds(more)
        local sim <close>, c = run({ stream { n = 8 * 512, step = 16,
            times = 2 } }, whole.join(ROUND, DRIVER, COUNTED,
            { ["remote.access"] = "migrate", ["evict.unit"] = "64K",
                ["vm.memory_bytes"] = 8 << 20,
                ["vm.table_frames"] = 2048 - 4 * 16 }, more))
        tap.ok(sim.now > 0, "it ends")
        return c
    end
    local c = rounds { ["uvm.perf_access_counter_threshold"] = 65535 }
    tap.is(c.fault.faults, 8 * 16, "what has been evicted does not fault")
    tap.is(c.remote.loads, 4 * 512, "each line of it crosses")
    tap.is(c.remote.pages, c.evict.pages, "as it is mapped on the host")
    c = rounds {}
    tap.ok(c.remote.notifications == 8 and c.evict.refaults == 8 * 16,
        "and comes after 64 accesses", c.evict.refaults)
    for _, name in ipairs { "uvm.perf_map_remote_on_eviction",
        "uvm.perf_access_counter_migration_enable" } do
        c = rounds { [name] = false }
        tap.ok(c.remote.pages == 0 and c.fault.faults == 2 * 8 * 16,
            name .. " = false: it faults", c.fault.faults)
    end
end

--- The run of a policy in C, in Lua; of either, lines of statistics.
for _, o in ipairs { {}, { adapt = 1 }, { td = 3, adapt = 1, penalty = 5 } } do
    local got = {}
    for i, what in ipairs { "delayed", "policies/delayed.lua" } do
        local sim <close> = whole.sim({ "GUP", "BFS2", whole.random(4, 6, 1) },
            whole.join(whole.SMALL, { ["vm.paging"] = "fault",
                ["link.latency"] = 1000, ["evict.unit"] = "64K",
                ["fault.transfer"] = "64K", ["vm.memory_bytes"] = 8 << 20,
                ["vm.table_frames"] = 1920,
                ["uvm.perf_access_counter_granularity"] = "64K" }),
            { check = true })
        sim:use(what, o)
        sim:run(1 << 40)
        got[i] = whole.statistics(sim)
        local c = sim:counters()
        tap.ok(c.remote.notifications > 0 and c.remote.left > 0
            and c.evict.evictions > 0, "pages wait, come and leave",
            ("%d %d %d"):format(c.remote.notifications, c.remote.left,
                c.evict.evictions))
    end
    tap.is(whole.difference(got[1], got[2]), nil,
        "delayed migration in C and in Lua is one run")
end

-- ---- whatever is answered ------------------------------------------------------------

local SMALL_MEMORY = { ["vm.memory_bytes"] = 8 << 20,
    ["vm.table_frames"] = 2018, ["evict.unit"] = "4K" }
local CASES = {
    { "all from afar", {} },
    { "an L2 that keeps lines", { ["remote.cache"] = true } },
    { "an L2 that writes through", { ["l2cache.write"] = "through" } },
    { "no L2", { ["l2cache.mode"] = "off" } },
    { "an ideal L1 TLB", { ["l1tlb.mode"] = "ideal" } },
    { "a write-back L1", { ["l1cache.write"] = "back" } },
    { "pages of 2 MB", { ["vm.page"] = "2M", ["vm.round"] = true } },
    { "64 KB at a time, page by page", { ["vm.page"] = "64K",
        ["fault.transfer"] = "2M", ["fault.replay"] = "page" } },
    { "batches", { ["fault.batch"] = 16, ["fault.serial"] = true } },
    { "counters", { ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 3 } },
    { "counters, one notification at a time, little memory",
        whole.join(SMALL_MEMORY,
            { ["uvm.perf_access_counter_migration_enable"] = true,
                ["uvm.perf_access_counter_batch_count"] = 1,
                ["uvm.perf_access_counter_threshold"] = 2 }) },
    { "the driver", { ["uvm.mode"] = "driver" } },
    { "the driver, counters", whole.join(SMALL_MEMORY, {
        ["uvm.mode"] = "driver", ["evict.unit"] = "64K",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 2 }) },
    { "the driver, counters, pages of 64 KB, few faults at a time", {
        ["uvm.mode"] = "driver", ["vm.page"] = "64K", ["vm.round"] = true,
        ["uvm.fault_buffer"] = 4, ["uvm.perf_fault_batch_count"] = 4,
        ["uvm.perf_fault_replay_policy"] = "once",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_threshold"] = 1 } },
    { "counters, large transfers", { ["fault.transfer"] = "2M",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 1 } },
}

--- Any answer, from a stream of its own.
local function dice(seed)
    return { name = "dice", state = { x = seed },
        migrate = function(q, s)
            s.x = (s.x * 1103515245 + 12345) % 2147483648
            local k = s.x // 65536 % 4
            return k == 0 and 0 or k == 1 and q.most or s.x // 1024 % 12 + 1
        end }
end

for i, case in ipairs(CASES) do
    for k, names in ipairs { { "GUP", whole.random(4, 6, 1) },
        { whole.freer(700, 12), "FWT" } } do
        for _, policy in ipairs { (i + k) % 2 == 0 and dice(i) } do
            local ok, err = pcall(function()
                local sim <close>, c = run(names, case[2], policy or nil)
                if sim.core:run(1) ~= "done" then error "it does not end" end
                if c.remote.pages == 0 or c.remote.loads == 0 then
                    error "nothing is used from afar"
                end
            end)
            tap.ok(ok, case[1] .. (policy and ", any answer" or ""), err)
        end
    end
end

do -- regions that are coalesced before all their pages have come
    local ok, err = pcall(function()
        local sim <close> = H.sim { machine = H.machine("mosaic") {
            ["core.count"] = 4, ["vm.paging"] = "fault", ["link.latency"] = 100,
            ["l1tlb.large_entries"] = 1, ["remote.access"] = "remote",
            ["sim.budget"] = 3000,
            ["uvm.perf_access_counter_migration_enable"] = true,
            ["uvm.perf_access_counter_threshold"] = 2 },
            apps = { H.app("GUP", { size = "S" }), H.app("CONS", { size = "S" }) },
            check = true }
        sim:use("mosaic", { early = 1 })
        sim:use(dice(7))
        sim:run(1 << 40)
        sim:check()
    end)
    tap.ok(ok, "beside coalesced regions", err)
end

-- ---- snapshots -----------------------------------------------------------------------

for _, case in ipairs { CASES[1], CASES[10], CASES[11], CASES[13],
    CASES[14] } do
    local function make()
        local sim = whole.sim({ "BFS2", "GUP" }, whole.join(whole.SMALL, FAR,
            case[2]), { check = true })
        sim:use(dice(3))
        return sim
    end
    whole.cut(case[1], make, 6, 7777, 5000)
end

tap.done()

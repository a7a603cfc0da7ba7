-- 813-evict.lua - pins pages that leave memory: a stream through memory that is
-- full costs for each page its fault, the write-back before it and its own
-- transfer, to the cycle; clean pages cost no write-back where only dirty ones
-- do; ahead of need, or in overlap, less than one after the other; memory never
-- holds more than it has; every choice of victims in C and in Lua is the same
-- run, the oldest the default's; two applications, coalesced regions and
-- allocations that go under pressure are checked; a run with snapshots in the
-- middle of an eviction is the run straight through; what can never be served is
-- refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

--- So many data frames of 4 KB.
local function frames(n, more)
    return whole.join({ ["vm.paging"] = "fault", ["link.latency"] = 1000,
        ["vm.memory_bytes"] = 64 << 20, ["vm.table_frames"] = (64 << 8) - n,
        ["evict.unit"] = "4K" }, more or {})
end

local function run(apps, settings, policy, options)
    local sim = whole.sim(apps, whole.join(whole.SMALL, settings),
        { check = true })
    if policy then
        sim:use(policy, options)
    end
    local word = sim:run(1 << 40)
    sim:check()
    return sim, sim:counters(), word
end

-- ---- closed forms ---------------------------------------------------------------

local ROUND = whole.ROUND
local LATENCY, IN, OUT = 1000, 4096, 8192

--- A kernel that reads or writes a word of each of n steps of `kb` KB, one after
-- the other, `times` times.
local function stream(n, kb, what, times)
    return whole.touch(n, kb << 10, what == "store" and "both" or "load", times)
end

--- What pages n + 1 to 2 n of a stream cost more than they would if there were
-- frames for all; and how many left.
local function price(n, kb, settings, what, pages)
    local set = whole.join(ROUND, settings)
    local full <close>, c = run({ stream(2 * n, kb, what) }, frames(n * pages,
        set))
    local wide <close> = run({ stream(2 * n, kb, what) }, frames(2 * n * pages,
        set))
    return full.now - wide.now, c, full
end

-- The instant at which a page leaves is `ahead` cycles after the fault finds no
-- frame; every page is a fault of its own here.
for _, o in ipairs { { "4K", 4, "page", 1 }, { "64K", 64, "64K", 16 } } do
    local unit, kb, transfer, pages = table.unpack(o)
    local more = { ["evict.unit"] = unit, ["fault.transfer"] = transfer }
    local n = 16
    local cost, c = price(n, kb, more, "load", pages)
    tap.is(c.evict.evictions, n, unit .. ": a unit leaves for each page")
    tap.is(c.evict.pages, n * pages, unit .. ": whole")
    tap.is(c.fault.room_cycles % n, 0, unit .. ": each waits as long")
    local wait = c.fault.room_cycles // n
    tap.ok(wait >= pages * OUT and wait < pages * OUT * 1.01,
        unit .. ": for the write-back, and an instant", wait)
    tap.ok(math.abs(cost - n * wait) <= 0.01 * n * wait,
        unit .. ": a stream costs the write-back before each fetch",
        ("%d, %d waits of %d"):format(cost, n, wait))
    tap.is(c.evict.refaults, 0, unit .. ": nothing comes back")
    tap.is(c.fault.host_cycles, 2 * n * LATENCY, unit .. ": latency as ever")
    tap.is(c.fault.link_cycles, 2 * n * pages * IN, unit .. ": and transfer")

    local clean, d = price(n, kb, whole.join(more,
        { ["evict.write_back"] = "dirty" }), "load", pages)
    tap.ok(d.evict.bytes == 0 and d.evict.dirty == 0
        and clean <= n * (wait - pages * OUT) + 0.01 * n * pages * OUT,
        unit .. ": clean pages cost an instant each", clean)
    local dirty, e = price(n, kb, whole.join(more,
        { ["evict.write_back"] = "dirty" }), "store", pages)
    tap.ok(e.evict.evictions == n and e.evict.bytes == n * 4096
            * e.evict.dirty // n and math.abs(dirty - n * (wait
            - (pages - e.evict.dirty // n) * OUT)) <= 0.01 * n * wait,
        unit .. ": dirty ones their write-back", dirty)
    local ahead, f = price(n, kb, whole.join(more,
        { ["evict.trigger"] = "watermark",
            ["evict.free_bytes"] = 2 * pages * 4096 }), "load", pages)
    tap.ok(f.evict.ahead > 0 and ahead < cost,
        unit .. ": ahead of need less", ahead)
end

-- Again and again through one page more than fits: the oldest is always the
-- next that is wanted.
do
    local sim <close>, c = run({ stream(9, 4, "load", 5) }, frames(8,
        { ["l1tlb.entries"] = 8, ["l2tlb.mode"] = "off" }))
    tap.is(c.fault.faults, 45, "a cycle of 9 pages in 8 frames misses always")
    tap.is(c.evict.refaults, 36, "and all but the first come back")
    local fits <close>, d = run({ stream(8, 4, "load", 5) }, frames(8))
    tap.ok(d.fault.faults == 8 and d.evict.evictions == 0, "8 in 8 do not")
    tap.ok(sim.now > fits.now, "which is faster")
end

-- With frames for all, what is fetched ahead faults no more: of a stream one
-- fault for each 512 KB or 68 KB, whose latency is all that it waits for, as the
-- link keeps up with it.
for how, pages in pairs { none = 1, sequential = 17, locality = 128 } do
    local n = 256
    local sim <close>, c = run({ stream(n, 4, "load") }, frames(n,
        whole.join(ROUND, { ["fault.prefetch"] = how })))
    local faults = (n + pages - 1) // pages
    tap.is(c.fault.faults, faults, how .. ": faults of a stream")
    tap.is(c.fault.prefetched, n - faults, how .. ": pages that came ahead")
    local least = faults * LATENCY + n * IN
    tap.ok(sim.now >= least and sim.now < least * 1.01 + n * 1200,
        how .. ": every byte crosses once", ("%d, %d"):format(sim.now, least))
    tap.ok(how == "none" or c.fault.late > 0, how .. ": some are touched early")
    tap.is(c.evict.used, c.fault.prefetched, how .. ": all are used")
end

-- Of 2 MB a fault brings its 64 KB; the one that makes it 17 leaves of 32 brings
-- the rest, and below that it goes likewise: leaves 0, 1, then 2, which brings 3,
-- 4, which brings 5 to 7, 8 and so on, if it is a stream: 0, 1, 2, 4, 8, 16.  The
-- driver counts pages and needs more than 51 %: the same here.
for _, how in ipairs { "tree", "driver" } do
    for n, faults in pairs { [512] = 6, [2048] = 24, [320] = 6 } do
        local sim <close>, c = run({ stream(n, 4, "load") }, frames(n,
            whole.join(ROUND, { ["fault.prefetch"] = how })))
        tap.is(c.fault.faults, faults,
            how .. ": faults of a stream of pages " .. n)
        tap.is(c.fault.prefetched, n - faults, how .. ": the rest comes ahead")
        tap.is(c.evict.used, n - faults, how .. ": and is used")
        local least = faults * LATENCY + n * IN
        tap.ok(math.abs(sim.now - least) <= 0.01 * least + n * 200,
            how .. ": every byte crosses once",
            ("%d, %d"):format(sim.now, least))
    end
end
do -- a page of each 2 MB, and one more drawn
    local sim <close>, c = run({ stream(8, 2048, "load") }, frames(64,
        whole.join(ROUND, { ["fault.prefetch"] = "random" })))
    tap.ok(c.fault.faults == 8 and c.fault.prefetched == 8
        and c.evict.used == 0 and sim.now > 0, "random: one more page a fault",
        c.fault.prefetched)
end
-- With the threshold at 99 nothing but the 64 KB comes.
do
    local sim <close>, c = run({ stream(512, 4, "load") }, frames(512,
        whole.join(ROUND, { ["fault.prefetch"] = "driver",
            ["uvm.perf_prefetch_threshold"] = 99 })))
    tap.ok(c.fault.faults == 32 and sim.now > 0, "driver: its threshold",
        c.fault.faults)
end

-- Three leaves of four; when the oldest has left, one is not less than half of
-- two, and two not of four; when the second has, the third goes, too.
do
    local function leaves(what, times)
        local sim <close>, c = run({ stream(4, 64, "load", times) }, frames(
            48, whole.join(ROUND, { ["evict.unit"] = what,
                ["fault.transfer"] = "64K" })))
        tap.ok(sim.now > 0, "runs")
        return c.evict
    end
    local tree, plain = leaves "tree", leaves "64K"
    tap.ok(plain.evictions == 1 and tree.evictions == 1,
        "half of a piece stays")
    tree, plain = leaves("tree", 2), leaves("64K", 2)
    tap.ok(tree.evictions > 1 and tree.pages % 16 == 0
        and plain.evictions == 5, "less does not", tree.evictions)
end

-- ---- one thing is as good as the other ---------------------------------------------

local function loads()
    return { "GUP", whole.random(4, 6, 1), whole.column(2, 6, "store", 512) }
end

local PRESSURE = frames(64, { ["core.count"] = 6, ["sim.relaunch"] = false })

local none <close> = run(loads(), PRESSURE)
local base = whole.statistics(none, whole.no_policy)
for _, name in ipairs { "lru_accessed", "lfu", "random_unit" } do
    local c <close> = run(loads(), PRESSURE, name)
    local lua <close> = run(loads(), PRESSURE, "policies/" .. name .. ".lua")
    tap.is(whole.difference(whole.statistics(c), whole.statistics(lua)), nil,
        name .. ": C and Lua alike")
    tap.ok(c:counters().policy["evict_victim.asked"] > 100,
        name .. ": asked", c:counters().policy["evict_victim.asked"])
    tap.ok(whole.difference(whole.statistics(c, whole.no_policy), base),
        name .. " is another choice than the default")
end
for form, driver in pairs { tree = 0, driver = 1 } do
    for _, o in ipairs { {}, { ["fault.batch"] = 16,
        ["fault.serial"] = true } } do
        o = whole.join(frames(1200, o), { ["core.count"] = 6,
            ["sim.relaunch"] = false })
        local c <close>, n = run(loads(), whole.join(o,
            { ["fault.prefetch"] = form }))
        local lua <close> = run(loads(), o,
            "policies/tree.lua", { driver = driver })
        tap.is(whole.difference(whole.statistics(c, whole.no_policy),
            whole.statistics(lua, whole.no_policy)), nil,
            form .. ": C and Lua alike")
        tap.ok(n.fault.prefetched > 100 and n.evict.used > 10,
            form .. ": pages come", n.evict.used)
    end
end
do
    local sim <close>, c = run(loads(), PRESSURE, "policies/largest.lua")
    tap.ok(c.evict.evictions > 100 and sim.now > 0, "the example runs",
        c.evict.evictions)
end

-- ---- whatever is small ---------------------------------------------------------------

--- Everything a policy may do, in little memory, checked; the same again from
-- the middle.
local function stress(what, apps, settings, policy)
    whole.stress(what, function()
        return whole.sim(apps(), whole.join(whole.SMALL, settings),
            { check = true })
    end, { policy = policy, -- stops in all states of an eviction
        due = function(c) return c.evict.evictions / 20 end,
        good = function(c) return c.evict.evictions > 0 end })
end

local SMALL = {
    { "single pages", {} },
    { "only dirty ones are written", { ["evict.write_back"] = "dirty" } },
    { "64 KB of 4 KB pages", { ["evict.unit"] = "64K" } },
    { "2 MB at once", { ["evict.unit"] = "2M" } },
    { "trees", { ["evict.unit"] = "tree", ["fault.prefetch"] = "tree" }, 100 },
    { "trees, ahead of need", { ["evict.unit"] = "tree",
        ["fault.prefetch"] = "driver", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 131072 }, 100 },
    { "a random page more", { ["fault.prefetch"] = "random",
        ["fault.batch"] = 8, ["fault.serial"] = true } },
    { "pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true,
        ["evict.unit"] = "64K" }, 96 },
    { "pages larger than units", { ["vm.page"] = "64K" }, 96 },
    { "transfers of 64 KB", { ["fault.transfer"] = "64K",
        ["evict.unit"] = "64K" }, 96 },
    { "no latency", { ["link.latency"] = 0 } },
    { "batches of 8", { ["fault.batch"] = 8, ["fault.serial"] = true } },
    { "batches of 8, page by page", { ["fault.batch"] = 8,
        ["fault.serial"] = true, ["fault.replay"] = "page" } },
    { "with a prefetcher", { ["fault.prefetch"] = "locality",
        ["evict.unit"] = "64K" } },
    { "with a prefetcher of transfers", { ["fault.prefetch"] = "sequential",
        ["fault.transfer"] = "64K", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 131072, ["vm.round"] = true }, 100 },
    { "in overlap", { ["evict.overlap"] = true } },
    { "ahead of need", { ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 65536 } },
    { "a write-back L1", { ["l1cache.write"] = "back" } },
    { "an ideal L1 TLB", { ["l1tlb.mode"] = "ideal" } },
    { "no L2 TLB", { ["l2tlb.mode"] = "off", ["pwc.mode"] = "full" } },
    { "one walker, one MSHR", { ["walk.walkers"] = 1, ["l1tlb.mshrs"] = 1,
        ["l2tlb.mshrs"] = 1, ["walk.queue"] = 1 } },
}
for _, s in ipairs(SMALL) do
    stress(s[1], function() return { "GUP", whole.random(3, 4, 1) } end,
        frames(s[3] or 40, whole.join(s[2], { ["sim.relaunch"] = false })))
end
for seed = 1, 3 do
    stress("answers at random " .. seed,
        function() return { "GUP", whole.random(3, 4, 1) } end,
        frames(48, { ["sim.relaunch"] = false, ["walk.walkers"] = 1 }),
        dice(seed, { warp_limit = true, warp_pick = true, page_size = true,
            frame_place = true }))
end
stress("allocations that go and come", function()
    return { whole.freer(200, 8), whole.writer(100, 6) }
end, frames(40, { ["memory.free_at_end"] = true }))
-- Here pages of the ideal TLB come back while its MSHRs for them still wait for
-- their answers, and are looked up.
stress("an ideal L1 TLB, relaunched", function()
    return { whole.freer(200, 6), "GUP" }
end, frames(40, { ["l1tlb.mode"] = "ideal", ["evict.unit"] = "64K",
    ["walk.walkers"] = 1 }))
-- Two places of 2 MB for four regions: each is one region's until all of its
-- pages have left.  A region that is split loses a unit, one that is not leaves
-- whole.
local function places(splits)
    return {
        name = "places", state = { region = {}, n = { [0] = 0, 0 }, asked = 0,
            stay = 0 },
        frame_place = function(q, s)
            local region, at = q.vpn >> 9, q.vpn >> 9 & 1
            if s.n[at] > 0 and s.region[at] ~= region then
                return q.frames
            end
            s.region[at], s.n[at] = region, s.n[at] + 1
            return at * 512 + q.vpn % 512
        end,
        region_coalesce = function() return true end,
        region_split = function(q, s)
            s.asked = s.asked + 1
            s.stay = s.stay + (q.left > 0 and 1 or 0)
            return splits
        end,
        watch = {
            page_freed = function(n, s)
                s.n[n.frame >> 9] = s.n[n.frame >> 9] - 1
            end,
            page_back = function(n, s) -- to the place that was kept for it
                s.n[n.frame >> 9] = s.n[n.frame >> 9] + 1
            end,
        },
    }
end
local REGIONS = frames(1024, { ["evict.unit"] = "64K" })
local units = {}
for _, splits in ipairs { true, false } do
    local what = splits and "regions are split" or "regions leave whole"
    stress(what, function() return { whole.random(4, 24, 8) } end, REGIONS,
        places(splits))
    local sim <close>, c = run({ whole.random(4, 24, 8) }, REGIONS,
        places(splits))
    for _, used in ipairs(sim:used()) do
        tap.ok(used.state.stay > 10, what .. ": it is asked with what stays",
            used.state.stay)
        tap.ok(splits or used.state.asked >= 2 * used.state.stay,
            what .. ": and again, when none does", used.state.asked)
    end
    units[splits] = c.evict.evictions
    tap.is(c.memory.splintered > 0, true, what .. ": their entries are written")
end
tap.ok(units[true] ~= units[false], "one unit is not all of them",
    ("%d, %d"):format(units[true], units[false]))

-- ---- allocations that go at the wrong moment -------------------------------------------

-- One frame for two programs of a page each: the second waits for it at all
-- instants around that at which the first gives it back, also between the word
-- that something has to leave and the instant at which it would.
do
    local bad
    for latency = 0, 600, 12 do
        local ok, err = pcall(function()
            local _ <close>, c, word = run({ stream(1, 4, "load"),
                stream(1, 4, "load") }, frames(1, { ["core.count"] = 2,
                ["link.latency"] = latency, ["fault.serial"] = true,
                ["memory.free_at_end"] = true, ["sim.relaunch"] = false }))
            assert(word == "done" and c.fault.pages == 2, word)
        end)
        bad = bad or not ok and ("latency %d: %s"):format(latency,
            type(err) == "table" and err.message or err)
    end
    tap.ok(not bad, "what an allocation gives back is found", bad)
end

-- Page 0 of a region lies in another frame of 2 MB than page 1, which comes
-- while page 0 is on its way out; then both go.
do
    local two = H.program(kernel.app {
        name = "two", source = "this test",
        buffers = function() return { kernel.i64("m", 1 << 18) } end,
        kernels = function(_, b)
            return {
                { kernel.kernel("touch", { grid = 1, block = 1 }, function(t)
                    t:loop(2, function(j)
                        local x = t:load(b.m, j * 512)
                        t:alu(1, { uses = { x } })
                    end)
                end), free = { b.m } },
                kernel.kernel("on", { grid = 1, block = 1 }, function(t)
                    t:loop(1000, function() t:alu(10) end)
                end),
            }
        end,
    })
    local sim <close> = whole.sim({ two }, whole.join(whole.SMALL, ROUND,
        frames(1024, { ["sim.relaunch"] = false })), { check = true })
    sim:use {
        name = "apart", state = { evicted = 0 },
        frame_place = function(q)
            return q.vpn % 512 == 0 and 512 or q.vpn % 512
        end,
        region_coalesce = function(q) return q.frame == 0 end,
        evict_trigger = function(q, s)
            local now = s.evicted == 0 and q.resident == 1
            s.evicted = now and 1 or s.evicted
            return now
        end,
    }
    local why
    repeat
        local word = sim:run(100)
        local ok, err = pcall(sim.check, sim)
        why = why or not ok and (type(err) == "table" and err.message or err)
    until word ~= "ok" or why
    local c = sim:counters()
    why = why or (c.evict.evictions ~= 1 or c.memory.freed ~= 1)
        and "not one page left and one went"
    tap.ok(not why, "a page that leaves, coalesced and freed", why)
end

-- A transfer of 2 MB: while the second page of 64 KB of one buffer crosses, the
-- buffer goes; the next one begins with pages of 4 KB.
do
    local pair = H.program(kernel.app {
        name = "pair", source = "this test",
        buffers = function()
            return { kernel.i64("a", 50 * 512), kernel.i64("b", 64 * 512) }
        end,
        kernels = function(_, b)
            local function touch(name, x, at)
                return kernel.kernel(name, { grid = 1, block = 1 },
                    function(t) t:load(x, at * 512) end)
            end
            return { { touch("first", b.a, 0), free = { b.a } },
                touch("second", b.b, 5) }
        end,
    })
    local sim <close> = whole.sim({ pair }, whole.join(whole.SMALL, ROUND,
        { ["vm.paging"] = "fault", ["vm.page"] = "64K",
            ["fault.transfer"] = "2M", ["fault.replay"] = "page",
            ["sim.relaunch"] = false }), { check = true })
    sim:use { name = "order", state = { last = 0 }, watch = {
        page_arrived = function(n, s)
            assert(n.cycles > s.last, "a page came before the one before it")
            s.last = n.cycles
        end,
    } }
    local ok, err = pcall(sim.run, sim, 1 << 40)
    local c = sim:counters()
    tap.ok(ok and c.fault.faults == 1 and c.fault.pages > 18 and c.memory.freed
        >= 16, "what comes behind a page that went comes in its turn",
        ok and c.fault.pages or type(err) == "table" and err.message or err)
end

-- ---- what cannot be ---------------------------------------------------------------------

tap.raises(function()
    run({ whole.random(2, 2, 1) }, frames(8, { ["vm.page"] = "64K" }))
end, "out of frames", "no room for one page")
tap.raises(function()
    run({ whole.random(4, 4, 1) }, frames(3, { ["fault.batch"] = 64,
        ["fault.serial"] = true }))
end, "out of frames", "none for a batch whose pages wait for one another")

tap.done()

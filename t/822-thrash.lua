-- 822-thrash.lua - pins what is done about pages that go to and fro: a page
-- that kernels and their host take from one another is throttled, nap by nap,
-- then pinned on the host and used from there; when the pin's time is over it
-- comes again; the control costs what its naps do, and nothing where nothing
-- thrashes; a GPU that thrashes against its own memory is not seen by the
-- driver's control, and is by the one that counts what comes back; both in Lua are
-- the same runs; pages that thrash do not come ahead; any order of all of it is
-- checked; a run with snapshots, or again, is the run straight through; what a
-- policy may not answer is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local dice = require "lib.dice"
local H = require "heddle"

-- 1 GHz: 1000 cycles are 1 us.
local ROUND = { ["vm.paging"] = "fault", ["link.latency"] = 1000,
    ["clock.core"] = 1000000000, ["clock.l2"] = 1000000000,
    ["clock.dram"] = 1000000000, ["clock.link"] = 1000000000,
    ["vm.memory_bytes"] = 64 << 20, ["sim.relaunch"] = false }
local CONTROL = { ["fault.thrashing"] = "driver" }
local LAPSE = 50000 -- cycles
local SHORT = whole.join(CONTROL, { ["uvm.perf_thrashing_lapse_usec"] = 50 })
local DRIVER = { ["uvm.mode"] = "driver", ["uvm.base_latency"] = 4000,
    ["uvm.block_latency"] = 1000,
    ["uvm.interrupt_latency"] = 0, ["uvm.page_latency"] = 0,
    ["uvm.evict_latency"] = 0, ["uvm.fault_interval"] = 0,
    ["uvm.unmap_latency"] = 0, -- of what the host touches
    ["uvm.perf_thrashing_enable"] = false }

local function run(apps, settings, ...)
    local sim = whole.sim(apps, whole.join(whole.SMALL, ROUND, settings),
        { check = true })
    for _, p in ipairs { ... } do
        sim:use(p)
    end
    sim:run(1 << 40)
    sim:check()
    return sim, sim:counters()
end

--- Data frames of 4 KB.
local function frames(n)
    return { ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K" }
end

-- ---- a page between the GPU and the host ----------------------------------------

for mode, settings in pairs { paper = {}, driver = DRIVER } do
    local app = whole.to_and_fro(1, 60)
    local off <close>, none = run({ app }, settings)
    tap.is(none.evict.host, 59, mode .. ": the page leaves each time")
    tap.ok(off.now > 60 * 1000, mode .. ": and comes")
    local on <close>, c = run({ app }, whole.join(settings, SHORT))
    local t = c.thrash
    tap.ok(t.detected >= 1, mode .. ": that is thrashing")
    tap.is(t.pinned, 1, mode .. ": the page is pinned")
    tap.is(c.remote.pages, 1, mode .. ": and used on the host")
    tap.ok(c.remote.loads > 20, mode .. ": from then on", c.remote.loads)
    tap.is(c.evict.host, c.fault.pages, mode .. ": it comes no more")
    -- ten naps, and one more where the pin was on the GPU first
    local naps = mode == "paper" and t.throttled or 11
    tap.ok(naps == 10 or naps == 11, mode .. ": after ten naps", naps)
    tap.ok(on.now > 9 * LAPSE and on.now < off.now + 12 * LAPSE,
        mode .. ": they take their time", on.now)
    if mode == "driver" then
        tap.ok(t.throttled > 20, "the driver's GPU faults over and over",
            t.throttled)
        tap.is(c.uvm.replays > none.uvm.replays, true, "replay by replay")
    end
end

do -- three moves that count, and one before them, and one that makes it look
    for rounds, detected in pairs { [2] = 0, [3] = 1 } do
        local sim <close>, c = run({ whole.to_and_fro(1, rounds) }, SHORT)
        tap.is(c.thrash.detected, detected, rounds .. " rounds: " .. detected)
        tap.is(c.thrash.events, 2 * rounds - 2, "all but the first are events")
        local _ = sim
    end
    -- Kernels longer than the lapse: every other gap is short.  The page is
    -- looked at from the second fault on; three of those count, the gap behind
    -- that forgets it, and it begins again.
    local sim <close>, c = run({ whole.to_and_fro(1, 20, nil, LAPSE + 5000) },
        whole.join(SHORT, { ["core.ilp"] = 0 }))
    tap.is(c.thrash.detected, (20 - 1) // 4, "a page that is slow one way")
    tap.is(c.thrash.throttled + c.thrash.pinned, 0, "is forgotten in time")
    tap.is(c.fault.pages, 20, "all come and go")
    local off <close> = run({ whole.to_and_fro(1, 20, nil, LAPSE + 5000) },
        { ["core.ilp"] = 0 })
    tap.is(sim.now, off.now, "at the cost of nothing")
end

do -- pins end
    local app = whole.to_and_fro(2, 80, nil, 3000)
    local sim <close>, c = run({ app }, whole.join(SHORT,
        { ["uvm.perf_thrashing_pin"] = 2,
          ["uvm.perf_thrashing_pin_threshold"] = 2 }))
    local t = c.thrash
    tap.ok(t.unpinned > 0, "a pin's time is over", t.unpinned)
    tap.ok(c.remote.left > 0, "the page is unmapped", c.remote.left)
    tap.ok(c.remote.pages > 2, "comes, and is pinned again", c.remote.pages)
    local ever <close>, d = run({ app }, whole.join(SHORT,
        { ["uvm.perf_thrashing_pin"] = 0,
          ["uvm.perf_thrashing_pin_threshold"] = 2 }))
    tap.is(d.thrash.unpinned + d.remote.left, 0, "unless it is for good")
    tap.ok(ever.now < sim.now, "which spares naps")
    -- the host has it moved: the pin goes
    local moved <close>, e = run({ whole.to_and_fro(1, 60, function(i, b)
        return i % 30 == 0 and { prefetch = { b.m } }
            or { host_writes = { b.m } }
    end) }, SHORT)
    tap.ok(e.thrash.released > 0, "the host's word ends a pin")
    tap.is(e.remote.left, e.thrash.released, "it comes, as the host wants")
    local _ = moved
end

-- ---- what comes ahead --------------------------------------------------------------

--- A policy that stops where a page that thrashes is asked for, or (any) one of
-- its 2 MB thrashes.
local function look(any)
    return { name = "look", page_prefetch = function(q)
        for w = 1, q.words do
            if any and q.thrashes[w] ~= 0 then error "SEEN" end
        end
        local k = q.vpn % 512
        if q.thrashes[k // 64 + 1] >> k % 64 & 1 == 1 then error "WRONG" end
    end }
end

do
    -- The host writes two pages of 40 by turns with the GPU, and at last all.
    local H_ = require "heddle.kernel"
    local app = H.program(H_.app { name = "two", source = "this test",
        align = 2 << 20, buffers = function()
            return { H_.i64("m", 2 * 512), H_.i64("n", 38 * 512) }
        end,
        kernels = function(_, b)
            local function touch(name, of, n)
                return H_.kernel(name, { grid = 1, block = 1 }, function(t)
                    t:loop(n, function(j)
                        local x = t:load(of, j * 512)
                        t:alu(1, { uses = { x } })
                    end)
                end)
            end
            local m, n = touch("m", b.m, 2), touch("n", b.n, 38)
            local list = { m }
            for i = 2, 8 do
                list[i] = { m, host_writes = { b.m } }
            end
            list[9] = { n, host_writes = { b.m } }
            list[10] = m
            return list
        end })
    local ahead = whole.join(CONTROL, { ["fault.prefetch"] = "driver",
        ["uvm.as_released"] = false, -- its lapse does not grow
        ["uvm.perf_thrashing_pin_threshold"] = 255 })
    local sim <close>, c = run({ app }, ahead, look(false))
    tap.ok(c.thrash.detected > 0, "two pages of 40 thrash", c.thrash.detected)
    tap.is(c.fault.faults > 2, true, "neither begins a walk of the tree")
    local ok, err = pcall(run, { app }, ahead, look(true))
    tap.ok(not ok and tostring(err.message or err):find "SEEN",
        "others are told which do", tostring(err))
    -- the first brings all; then the host has two, and the GPU's last fault one
    tap.is(c.fault.prefetched + c.fault.faults, c.fault.pages, "nothing is lost")
    local plain <close>, d = run({ app }, whole.join(ahead,
        { ["fault.thrashing"] = "none" }))
    tap.ok(c.fault.prefetched < d.fault.prefetched,
        "and they do not come ahead", ("%d, %d"):format(c.fault.prefetched,
        d.fault.prefetched))
    local _ = { sim, plain }
end

-- ---- a GPU against its own memory ---------------------------------------------------

--- Goes over n pages again and again.
local function rounds(n, times)
    return whole.to_and_fro(n, times, function() return {} end)
end

do
    local few = frames(40)
    local off <close>, none = run({ rounds(60, 8) }, few)
    local nv <close>, c = run({ rounds(60, 8) }, whole.join(few, CONTROL))
    local re <close>, d = run({ rounds(60, 8) }, whole.join(few,
        { ["fault.thrashing"] = "refault" }))
    tap.ok(none.evict.refaults > 300, "all that leaves comes back")
    tap.is(c.thrash.detected + c.thrash.events, 0, "the driver's sees nothing")
    tap.is(nv.now, off.now, "and does nothing")
    tap.is(d.thrash.returns, d.evict.refaults, "the other counts returns")
    tap.ok(d.thrash.pinned >= 20 and d.thrash.pinned <= 60, "and pins what "
        .. "does not fit", d.thrash.pinned)
    tap.is(d.remote.pages, d.thrash.pinned, "on the host")
    tap.ok(d.evict.evictions < none.evict.evictions // 2, "less leaves")
    tap.ok(re.now < off.now, "it pays here", ("%d, %d"):format(re.now, off.now))
    for n = 0, 4 do -- 0: the first return is too many
        local sim <close>, e = run({ rounds(60, 8) }, whole.join(few,
            { ["fault.thrashing"] = "refault", ["fault.refaults"] = n }))
        tap.is(e.thrash.detected > 0, true, n .. " returns are allowed")
        tap.ok(e.thrash.returns >= (n + 1) * e.thrash.detected,
            "the next is one too many")
        local _ = sim
    end
    local slow <close>, f = run({ rounds(60, 8) }, whole.join(few,
        { ["fault.thrashing"] = "refault", ["fault.refault_lapse"] = 100 }))
    tap.is(f.thrash.detected, 0, "not if they lie apart")
    tap.is(slow.now, off.now, "which costs nothing")
    local driver <close>, g = run({ rounds(60, 8) }, whole.join(few, DRIVER,
        { ["fault.thrashing"] = "refault" }))
    tap.ok(g.thrash.pinned > 0 and g.remote.pages > 0, "in driver mode, too",
        g.thrash.pinned)
    local _ = driver
end

-- ---- C and Lua ------------------------------------------------------------------------

local function same(name, apps, settings, params)
    local c <close> = run(apps(), settings)
    local lua = whole.sim(apps(), whole.join(whole.SMALL, ROUND, settings),
        { check = true })
    lua:use("policies/thrashing.lua", params)
    lua:run(1 << 40)
    tap.is(whole.difference(whole.statistics(c, whole.no_policy),
        whole.statistics(lua, whole.no_policy)), nil,
        name .. ": in Lua the same run")
    tap.ok(lua:counters().policy["thrash.asked"] > 0, name .. ": it was asked")
    lua:close()
end

local function shared() return { whole.to_and_fro(3, 60) } end
local function tight() return { rounds(60, 8) } end
same("driver", shared, SHORT)
same("driver, pins that end", shared, whole.join(SHORT,
    { ["uvm.perf_thrashing_pin"] = 2 }))
same("driver mode", shared, whole.join(SHORT, DRIVER))
same("refault", tight, whole.join(frames(40), { ["fault.thrashing"] = "refault" }))
same("refault in driver mode", tight, whole.join(frames(40), DRIVER,
    { ["fault.thrashing"] = "refault" }))

-- ---- any order of all of it -------------------------------------------------------------

local QUICK = { ["uvm.perf_thrashing_lapse_usec"] = 60,
    ["uvm.perf_thrashing_pin_threshold"] = 2, ["uvm.perf_thrashing_pin"] = 3,
    ["uvm.perf_thrashing_epoch"] = 4 }
local CASES = {
    { "room for all", {} },
    { "little memory", frames(200) },
    { "units of 64 KB", whole.join(frames(220), { ["evict.unit"] = "64K",
        ["fault.transfer"] = "64K" }) },
    { "batches", whole.join(frames(200), { ["fault.batch"] = 16 }) },
    { "one after the other", { ["fault.serial"] = true, ["fault.batch"] = 4 } },
    { "page by page", whole.join(frames(200), { ["fault.replay"] = "page",
        ["fault.batch"] = 8, ["fault.prefetch"] = "driver" }) },
    { "pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true } },
    { "the driver", DRIVER },
    { "the driver, little memory", whole.join(frames(200), DRIVER) },
    { "the driver, block by block", whole.join(DRIVER,
        { ["uvm.perf_fault_replay_policy"] = "block" }) },
    { "the driver, once", whole.join(DRIVER, frames(220),
        { ["uvm.perf_fault_replay_policy"] = "once" }) },
    { "access counters", { ["remote.access"] = "remote",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 2 } },
}
local all = {}
for i, case in ipairs(CASES) do
    for _, how in ipairs { "driver", "refault", "dice" } do
        local settings = whole.join(whole.SMALL, ROUND, QUICK, case[2], {
            ["fault.thrashing"] = how == "refault" and how or "driver",
            ["fault.refaults"] = 1 })
        local ok, err = pcall(function()
            local sim <close> = whole.sim({ whole.any(150, i, 14),
                whole.any(90, i + 50, 14) },
                settings, { check = true })
            if how == "dice" then
                sim:use(dice(i, nil, "thrash"))
            end
            local word, snap = sim:run(300000 + i * 7001), nil
            if word == "ok" then
                snap = sim:snapshot()
                word = sim:run(1 << 40)
            end
            assert(word == "done", word)
            sim:check()
            for name, v in pairs(sim:counters().thrash) do
                all[name] = (all[name] or 0) + v
            end
            local d = snap and whole.again(sim, snap, 99991)
            assert(not d, "another end after the restore:\n" .. tostring(d))
        end)
        tap.ok(ok, ("%s, %s: any order"):format(case[1], how), tostring(
            type(err) == "table" and err.message or err))
    end
end
for _, name in ipairs { "events", "returns", "detected", "throttled", "pinned",
    "unpinned", "released" } do
    tap.ok(all[name] > 0, "they had " .. name, all[name])
end

-- ---- wrong answers ----------------------------------------------------------------------

for _, case in ipairs {
    { "the host cannot use the GPU's memory", function(q)
        return q.by == "host" and "gpu" or "migrate" end },
    { "the processor that is exempt in this period is not throttled", function(q)
        return q.thrashes == 1 and "throttle" or "migrate" end },
    { "only a page that thrashes has periods", function() return "throttle" end },
    { "expected", function() return "away" end },
} do
    local ok, err = pcall(run, shared(), SHORT, { name = "wrong",
        thrash = case[2] })
    err = tostring(type(err) == "table" and err.message or err)
    tap.ok(not ok and err:find(case[1], 1, true) and err:find "thrash",
        case[1] .. ": is refused in words", err)
end
for name, value in pairs { ["fault.thrashing"] = "all",
    ["uvm.perf_thrashing_threshold"] = 8, ["uvm.perf_thrashing_nap"] = 0,
    ["uvm.perf_thrashing_pin_threshold"] = 256 } do
    local ok, err = pcall(whole.sim, shared(), { [name] = value })
    err = tostring(type(err) == "table" and err.message or err)
    tap.ok(not ok and err:find(name, 1, true), name .. ": is refused", err)
end

tap.done()

-- 828-beside.lua - pins what a program's host does while its kernel runs: the host
-- does not wait for the kernel, and the next launch waits for both; a prefetch
-- takes the link's latency and time from the launch on, and its pages are in
-- flight meanwhile; a fault on one of them waits for it, and no page crosses
-- twice; advice changes what faults later; free waits for the kernel, free_async
-- does not and is refused for what the kernel uses; buffers are allocated again;
-- any order of all of it is checked, with snapshots in the middle, again from
-- the start, in both modes; what a recorded trace has of it; the twin knows it;
-- what is wrong is refused in words; the time that the host takes between launches
-- (h.wait, host_wait), with any paging.
--
-- SPDX-License-Identifier: MIT
local files = require "lib.files"
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"
local trace = require "heddle.trace"
local twin = require "heddle.twin"

local ROUND = whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20 })
local PAGE, N, LATENCY = 4096, 64, 1000

--- So many data frames of 4 KB.
local function frames(n)
    return { ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K" }
end

--- An application with buffers a, b and c of n pages: kernels named after the
-- first two load a word of each page, after `alu` cycles each; `idle` touches
-- nothing for so long.
local function app(launches, o)
    o = o or {}
    return k.app {
        name = "beside", source = "this test", align = 2 << 20,
        buffers = function()
            return { k.i64("a", N * 512, { advise = o.advise }),
                k.i64("b", N * 512), k.i64("c", N * 512) }
        end,
        kernels = function(_, b)
            local by = {}
            for _, name in ipairs { "a", "b" } do
                by[name] = k.kernel(name, { grid = 1, block = 1 }, function(t)
                    if o.first then t:alu(o.first) end
                    t:loop(N, function(j)
                        local x = t:load(b[name], j * 512)
                        t:alu(o.alu or 1, { uses = { x } })
                    end)
                end)
            end
            by.idle = k.kernel("idle", { grid = 1, block = 1 }, function(t)
                t:alu(o.idle or 1)
            end)
            return launches(by, b)
        end,
        host = o.host,
    }
end

local function run(launches, settings, o, policy)
    local sim = whole.sim({ H.program(app(launches, o)) },
        whole.join(ROUND, settings), { check = true })
    if policy then sim:use(policy) end
    sim:run(1 << 40)
    sim:check()
    return sim, sim:counters(), sim.core:kernels()
end

local function near(got, want, what)
    tap.ok(got >= want and got <= want + 60, what, ("%d, %d"):format(got, want))
end

local MODES = { paper = {}, driver = { ["uvm.mode"] = "driver",
    ["uvm.perf_prefetch_enable"] = false } }

-- ---- times ------------------------------------------------------------------------

for mode, settings in pairs(MODES) do
    -- a kernel that touches nothing, longer than the prefetch next to it
    local long <close>, _, l = run(function(by) return { by.idle } end, settings,
        { idle = LATENCY + N * PAGE })
    local sim <close>, c, ks = run(function(by, b)
        return { { by.idle, beside = function(h) h.prefetch(b.b) end }, by.b }
    end, settings, { idle = LATENCY + N * PAGE }, { name = "times", state = {}, watch = {
        page_arrived = function(_, s) s[#s + 1] = now() end,
        host_call = function(n, s)
            s[#s + 1] = { cycles = n.cycles, cycle = n.cycle, what = n.what,
                pages = n.pages, beside = n.beside, kernel = n.kernel }
        end } })
    local at = sim:used()[1].state
    local call = table.remove(at, #at)
    tap.is(#at, N, mode .. ": all pages arrive")
    tap.ok(call.cycles >= LATENCY + N * PAGE and call.cycles <= at[N] + 1
        and call.cycle >= at[N], mode .. ": and the call is over", call.cycles)
    tap.is(("%s %d %d %d"):format(call.what, call.pages, call.beside,
        call.kernel), "to_gpu " .. N .. " 1 1", mode .. ": it is noted")
    near(at[1], LATENCY + PAGE, mode .. ": the first")
    near(at[N], LATENCY + N * PAGE, mode .. ": the last")
    tap.is(c.fault.faults, 0, mode .. ": and none faults")
    tap.is(ks[1]["end"], l[1]["end"], mode .. ": the kernel takes its time")
    tap.ok(ks[2].start - ks[1]["end"] < 2, mode .. ": the next follows it at once")
    -- a kernel that is over before the prefetch
    local short <close>, _, s = run(function(by, b)
        return { { by.idle, beside = function(h) h.prefetch(b.b) end }, by.b }
    end, settings, { idle = 100 })
    tap.ok(s[1]["end"] < 1200, mode .. ": it does not wait for the prefetch",
        s[1]["end"])
    near(s[2].start, LATENCY + N * PAGE, mode .. ": the next launch does")
    -- one after the other, and what the host waits for
    local two <close>, _, w = run(function(by, b)
        return { { by.idle, beside = function(h)
            h.prefetch(b.b, "gpu", 0, PAGE)
            h.wait(5000)
            h.prefetch(b.b, "gpu", PAGE, 2 * PAGE)
        end }, by.idle }
    end, settings)
    near(w[2].start, 2 * LATENCY + 3 * PAGE + 5000, mode .. ": calls take turns")
    local _ = { short, two, long }
end

-- ---- faults on pages in flight ----------------------------------------------------

for mode, settings in pairs(MODES) do
    local alone <close>, d = run(function(by) return { by.a } end, settings)
    -- all are in flight when the kernel comes to the first
    local sim <close>, c = run(function(by, b)
        return { { by.a, beside = function(h) h.prefetch(b.a) end } }
    end, settings, { first = 1100 })
    tap.is(d.fault.faults, N, mode .. ": a stream faults for each page")
    tap.is(c.fault.faults, 0, mode .. ": those in flight do not")
    tap.is(c.fault.prefetched, N, mode .. ": all are prefetched")
    tap.is(c.link.bytes, N * PAGE, mode .. ": each crosses once")
    tap.is(c.memory.mapped, N, mode .. ": and is mapped once")
    tap.ok(c.fault.walks > 0, mode .. ": walks find them in flight")
    local least = LATENCY + N * PAGE
    tap.ok(sim.now >= least and sim.now < 1.1 * least + (mode == "driver"
        and 200000 or 0), mode .. ": the kernel waits for the last",
        ("%d, %d"):format(sim.now, least))
    tap.ok(sim.now < alone.now, mode .. ": which is sooner", alone.now)
    -- some fault before the prefetch begins: they are not sent again
    local some <close>, e = run(function(by, b)
        return { { by.a, beside = function(h)
            h.wait(20000)
            h.prefetch(b.a)
        end } }
    end, settings)
    tap.ok(e.fault.faults > 0 and e.fault.prefetched > 0
        and e.fault.faults + e.fault.prefetched == N,
        mode .. ": what has faulted is not prefetched", e.fault.faults)
    tap.is(e.link.bytes, N * PAGE, mode .. ": nothing crosses twice")
    -- the link is shared with the faults of others
    local both <close>, f = run(function(by, b)
        return { { by.a, beside = function(h) h.prefetch(b.b) end }, by.b }
    end, settings)
    tap.is(f.fault.faults, N, mode .. ": the kernel's faults")
    tap.is(f.link.bytes, 2 * N * PAGE, mode .. ": and the prefetch cross")
    local _ = { some, both }
end

-- ---- advice -----------------------------------------------------------------------

for mode, settings in pairs(MODES) do
    local sim <close>, c = run(function(by, b)
        return { { by.a, beside = function(h)
            h.advise(b.a, "set_preferred_host", N // 2 * PAGE)
        end } }
    end, settings, { first = 200 })
    tap.is(c.remote.pages, N // 2, mode .. ": advice holds for later faults")
    tap.is(c.fault.pages, N // 2, mode .. ": and no others")
    local from = {}
    for i, said in ipairs { "set_preferred_host", { preferred = "host" } } do
        local s <close>, e = run(function(by, b)
            return { { by.a, beside = function(h)
                h.wait((mode == "driver" and 300000 or 0) + 8 * (LATENCY + PAGE))
                h.advise(b.a, said)
            end } }
        end, settings)
        from[i] = e.remote.pages
        local _ = s
    end
    tap.ok(from[1] > 0 and from[1] < N and from[1] == from[2],
        mode .. ": a table of advice holds from its turn on, too", from[2])
    local late <close>, d = run(function(by, b)
        return { { by.a, beside = function(h)
            h.wait((mode == "driver" and 300000 or 0) + 8 * (LATENCY + PAGE))
            h.advise(b.a, "set_preferred_host")
        end } }
    end, settings)
    tap.ok(d.remote.pages > 0 and d.fault.pages > 0
        and d.remote.pages + d.fault.pages == N,
        mode .. ": not for those that have come", d.fault.pages)
    local _ = { sim, late }
end

do -- accessed by, and back, while the kernel runs; and pages sent to the host
    local sim <close>, c = run(function(by, b)
        return { { by.idle, beside = function(h)
            h.advise(b.a, "set_accessed_by")
        end }, by.a }
    end, nil, { idle = 4000 })
    tap.is(c.fault.faults, 0, "what is mapped next to a kernel does not fault")
    tap.is(c.remote.pages, N, "all of it")
    local back <close>, d = run(function(by, b)
        return { by.a, { by.idle, beside = function(h)
            h.prefetch(b.a, "host", 0, 16 * PAGE)
            h.touch(b.a, "write", 16 * PAGE, 8 * PAGE)
        end }, by.a }
    end)
    tap.is(d.evict.host, 24, "pages go to the host next to a kernel")
    tap.is(d.fault.faults, N + 24, "and fault again")
    local _ = { sim, back }
end

-- ---- memory that comes and goes ---------------------------------------------------

for _, paging in ipairs { "none", "launch", "fault" } do
    local mode = { ["vm.paging"] = paging }
    local there = paging == "fault" and 0 or N -- of a buffer that none touches
    local sim <close>, c, ks = run(function(by, b)
        return { { by.a, beside = function(h) h.free(b.a) end }, by.b }
    end, mode)
    tap.is(c.memory.freed, N, paging .. ": free gives all of it back")
    tap.ok(ks[1]["end"] <= ks[2].start, paging .. ": when the kernel has ended")
    local async <close>, d = run(function(by, b)
        return { { by.a, beside = function(h)
            h.free_async(b.c)
            h.allocate(b.c)
        end }, by.b }
    end, mode)
    tap.is(d.memory.freed, there, paging .. ": free_async does")
    tap.is(d.memory.mapped, 2 * N + 2 * there, paging .. ": and allocate takes it")
    local again <close>, e = run(function(by, b)
        return { { by.a, beside = function(h)
            h.free(b.a)
            h.allocate(b.a)
        end }, by.a }
    end, mode)
    tap.is(e.memory.freed, N, paging .. ": free and allocate behind the kernel")
    tap.is(e.memory.mapped, 2 * N + 2 * there, paging .. ": map all again")
    tap.is(again.core:kernels()[2].blocks, 1, paging .. ": and it runs again")
    local host <close>, f = run(function(by) return { by.a, by.b } end, mode,
        { host = function(h)
            if h.launched == 0 then h.free(h.b.a) return h.kernels.b end
            if h.launched == 1 then
                h.allocate(h.b.a)
                h.free(h.b.b)
                h.allocate(h.b.b)
                return h.kernels.a
            end
        end })
    tap.is(f.memory.freed, there + N, paging .. ": the same between launches")
    local _ = { sim, async, host }
end

do -- what is said of a buffer before it goes has no effect
    local sim <close>, c = run(function(by) return { by.a } end, nil,
        { host = function(h)
            if h.launched > 0 then return nil end
            h.prefetch(h.b.a)
            h.advise(h.b.a, "set_preferred_host", 0, PAGE)
            h.free(h.b.a)
            h.allocate(h.b.a)
            h.prefetch(h.b.a, "gpu", 0, 3)
            return h.kernels.a
        end })
    tap.is(c.fault.prefetched, 1, "what is said before a free has no effect")
    tap.is(c.fault.pages, N, "and advice neither")
    local _ = sim
end

do -- frames of what is freed are free while the kernel runs
    local sim <close>, c = run(function(by, b)
        return { by.b, { by.a, beside = function(h) h.free_async(b.b) end } }
    end, frames(N + 8))
    tap.is(c.evict.evictions, 0, "a kernel gets the frames of what goes next to it")
    local kept <close>, d = run(function(by) return { by.b, by.a } end, frames(N + 8))
    tap.is(d.evict.evictions, N - 8, "else others are evicted")
    local _ = { sim, kept }
end

do -- advice ends with the allocation
    local sim <close>, c = run(function(by) return { by.a } end, nil,
        { host = function(h)
            if h.launched == 0 then
                h.advise(h.b.a, "set_preferred_host", PAGE, PAGE)
                return { h.kernels.a, beside = function(c)
                    c.free(h.b.a)
                    c.allocate(h.b.a)
                end }
            end
            return h.launched == 1 and h.kernels.a or nil
        end })
    tap.is(c.remote.pages, 1, "advice holds as long as the allocation")
    tap.is(c.fault.pages, 2 * N - 1, "and then no more")
    local _ = sim
end

-- ---- any order of all of it -------------------------------------------------------

--- Kernels that load or store a or b, and a host that draws what it does before
-- them and next to them.
local function any(seed, rounds)
    local n = 40
    return k.app {
        name = "any", source = "this test", align = 4096,
        params = { seed = seed, rounds = rounds },
        buffers = function()
            return { k.i64("a", n * 512), k.i64("b", n * 512 + 100) }
        end,
        kernels = function(_, b)
            local list = {}
            for i, name in ipairs { "a", "b", "a", "b" } do
                list[i] = k.kernel("k" .. i, { grid = 2, block = 32 }, function(t)
                    t:loop(n // 8, function(j)
                        local at = (j * 64 + t.gid) % n * 512
                        if i > 2 then
                            t:store(b[name], at, 1)
                        else
                            local x = t:load(b[name], at)
                            t:alu(1, { uses = { x } })
                        end
                    end)
                end)
            end
            return list
        end,
        host = function(h, s)
            s.x = s.x or h.p.seed
            s.n = (s.n or 0) + 1
            if s.n > h.p.rounds then return nil end
            local function draw(m)
                s.x = (s.x * 1103515245 + 12345) % 2147483648
                return s.x // 65536 % m
            end
            local function say(c, times)
                for _ = 1, times do
                    local buf, what = draw(2) == 0 and h.b.a or h.b.b, draw(10)
                    local from, bytes
                    if draw(3) > 0 then
                        from = draw(8 * buf.count)
                        bytes = draw(8 * buf.count - from) + 1
                    end
                    if what < 3 then
                        c.prefetch(buf, draw(3) == 0 and "host" or "gpu", from,
                            bytes)
                    elseif what < 5 then
                        c.advise(buf, ({ "set_read_mostly", "unset_read_mostly",
                            "set_preferred_gpu", "set_preferred_host",
                            "unset_preferred", "set_accessed_by",
                            "unset_accessed_by" })[draw(7) + 1], from, bytes)
                    elseif what == 5 then
                        c.advise(buf, { read_mostly = draw(2) == 0 }, from, bytes)
                    elseif what == 6 and c.wait then
                        c.wait(draw(20000))
                    elseif what == 7 then
                        c.touch(buf, draw(2) == 0 and "read" or "write", from,
                            bytes)
                    elseif what == 8 then
                        c.free(buf)
                        c.allocate(buf)
                    end
                end
            end
            local i = draw(4)
            say({ prefetch = h.prefetch, advise = h.advise, touch = h.touch,
                free = h.free, allocate = h.allocate }, draw(3))
            return { h.kernels[i + 1], beside = function(c)
                local other = i % 2 == 0 and h.b.b or h.b.a
                if draw(3) == 0 then
                    c.free_async(other)
                    c.wait(draw(3000))
                    c.allocate(other)
                end
                say(c, draw(5))
            end }
        end,
    }
end

for i, case in ipairs {
    { "room for all", {} },
    { "little memory", frames(70) },
    { "the driver", whole.join(frames(70), { ["uvm.mode"] = "driver" }) },
    { "the driver, room for all", { ["uvm.mode"] = "driver" } },
    { "units of 64 KB", whole.join(frames(96), { ["evict.unit"] = "64K",
        ["fault.transfer"] = "64K" }) },
    { "pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true } },
    { "page by page", whole.join(frames(70), { ["fault.replay"] = "page",
        ["fault.batch"] = 8, ["fault.prefetch"] = "locality" }) },
    { "a tree of units", whole.join(frames(96), { ["evict.unit"] = "tree",
        ["fault.prefetch"] = "tree", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 65536 }) },
    { "all on the host", { ["remote.access"] = "remote" } },
    { "no demand paging", { ["vm.paging"] = "none" } },
    { "copies first", { ["vm.paging"] = "launch" } },
    { "all goes at the end", whole.join(frames(70),
        { ["memory.free_at_end"] = true }) },
    { "from the fifth kernel on", { ["sim.first_kernel"] = 5 } },
    { "windows of instructions", { ["sample.every"] = 3000,
        ["sample.window"] = 500 } },
} do
    local ok, err = pcall(function()
        local apps = { H.program(any(i, 16)), H.program(any(i + 50, 7)) }
        if case[2]["sample.every"] then apps[2] = nil end
        local function make()
            return whole.sim(apps, whole.join(ROUND, case[2]), { check = true })
        end
        local straight <close> = make()
        straight:run(1 << 40)
        straight:check()
        if straight.core:run(1) ~= "done" then error "it does not end" end
        local cut <close> = make()
        for _ = 1, 10 do
            cut:run(70001)
            cut:check()
            local kept = cut:snapshot()
            cut:run(37777)
            cut:restore(kept)
        end
        cut:run(1 << 40)
        local d = whole.difference(whole.statistics(straight),
            whole.statistics(cut))
        if d then error(d) end
    end)
    tap.ok(ok, "any order: " .. case[1], err)
end

-- ---- the twin ---------------------------------------------------------------------

do
    local ops = 0
    twin.walk(any(7, 9):instance(), function(e) ops = ops + e.n end)
    local w = H.program(any(7, 9))
    local sim <close> = whole.sim({ w }, ROUND, { check = true })
    sim:run(1 << 40)
    tap.is(ops, sim.core:apps()[1].instructions, "the twin has the instructions")
    local function walk(launches)
        twin.walk(app(launches):instance(), function() end)
    end
    tap.raises(function()
        walk(function(by, b)
            return { { by.a, beside = function(h) h.free_async(b.a) end } }
        end)
    end, "which the host frees", "it refuses what is used while it goes")
    tap.raises(function()
        walk(function(by, b)
            return { { by.a, beside = function(h) h.free(b.a) end }, by.a }
        end)
    end, "which the host frees", "and what has gone")
    tap.raises(function()
        walk(function(by, b)
            return { { by.a, beside = function(h) h.prefetch(b.a, "gpu", -1) end } }
        end)
    end, "offset -1", "and ranges that are wrong")
end

-- ---- traces -----------------------------------------------------------------------

local dir, relaunched = files.folder(), 0
for i, case in ipairs {
    { "paper", frames(70) },
    { "driver", whole.join(frames(70), { ["uvm.mode"] = "driver" }) },
    { "no demand paging", { ["vm.paging"] = "none" } },
    { "all goes at the end", whole.join(frames(70),
        { ["memory.free_at_end"] = true }) },
} do
    -- the second one is relaunched until the first ends
    local programs = { H.program(any(10 * i, 14)), H.program(any(10 * i + 5, 4)) }
    local traces, again = {}, {}
    for n, app_of in ipairs(programs) do
        local path = ("%s/%d-%d.hdt"):format(dir, i, n)
        trace.record(app_of.make(), path, 64)
        trace.convert(path, path .. ".copy")
        traces[n] = H.trace(path, { label = app_of.label })
        again[n] = H.trace(path .. ".copy", { label = app_of.label })
        tap.is(trace.info(trace.open(path .. ".copy")).hash,
            trace.info(trace.open(path)).hash, case[1] .. ": one hash")
        local head = files.read(path)
        tap.is(head:byte(9), 4, case[1] .. ": it is of version 4")
        tap.ok(trace.info(trace.open(path)).host_calls > 4,
            case[1] .. ": with calls of the host")
    end
    local function statistics(apps)
        local sim <close> = whole.sim(apps, whole.join(ROUND, case[2]),
            { check = true })
        sim:run(1 << 40)
        sim:check()
        return whole.statistics(sim), sim.core:apps()[2].completions
    end
    local want, times = statistics(programs)
    local got = statistics(traces)
    relaunched = relaunched + times - 1
    tap.is(whole.difference(want, got), nil,
        case[1] .. ": a program and its recording give the same statistics")
    tap.is(whole.difference(want, (statistics(again))), nil,
        case[1] .. ": and so does a copy")
    -- snapshots of it
    local cut <close> = whole.sim(traces, whole.join(ROUND, case[2]),
        { check = true })
    for _ = 1, 5 do
        cut:run(90001)
        local kept = cut:snapshot()
        cut:run(20000)
        cut:restore(kept)
    end
    cut:run(1 << 40)
    tap.is(whole.difference(want, whole.statistics(cut)), nil,
        case[1] .. ": with snapshots")
end

tap.ok(relaunched > 0, "some run again", relaunched)

do -- a trace in which the host has no calls is what it was
    local path = dir .. "/plain.hdt"
    trace.record(H.program(app(function(by) return { by.a } end)).make(), path)
    tap.is(files.read(path):byte(9), 3, "without calls it is of version 3")
end
os.execute("rm -rf " .. files.quote(dir))

-- ---- words ------------------------------------------------------------------------

for _, case in ipairs {
    { function(h, b) h.free_async(b.a) end, "next to kernel a the host frees" },
    { function(h, b) h.free(b.b) h.prefetch(b.b) end, "which it has freed" },
    { function(h, b) h.allocate(b.b) end, "which it has not freed" },
    { function(h, b) h.free(b.b) h.free(b.b) end, "which it has freed" },
    { function(h) h.wait(-1) end, "0 to 10^9 ns" },
    { function(h, b) h.prefetch(b.a, "gpu", 8, 1 << 20) end, "1048576 bytes at" },
    { function(h) h.read(0) end, "read" },
    { 8, "expected a function" },
} do
    tap.raises(function()
        run(function(by, b)
            local fn = case[1]
            return { { by.a, beside = type(fn) == "function" and function(h)
                fn(h, b)
            end or fn } }
        end)
    end, case[2], case[2])
end
-- ---- the host is busy between launches --------------------------------------------

--- When launches begin; ns before the second is counted in these cycles, too.
local function begins(settings, launches, o)
    local _ <close>, _, ks = run(launches, settings, o)
    return ks[1].start, ks[1]["end"], ks[2] and ks[2].start
end

local place = files.folder()
for _, paging in ipairs { "none", "fault", "launch" } do
    local s = { ["vm.paging"] = paging }
    local two = function(by) return { by.idle, { by.idle, host_wait = 5000 } } end
    local first, over, second = begins(s, two)
    local _, plain, after = begins(s, function(by)
        return { by.idle, by.idle }
    end)
    near(second - over, after - plain + 5000, paging .. ": a launch waits")
    local _, _, hosted = begins(s, function(by) return { by.idle } end,
        { host = function(h)
            if h.launched == 1 then
                h.wait(3000)
                h.wait(2000)
            end
            return h.launched < 2 and h.kernels.idle or nil
        end })
    tap.is(hosted, second, paging .. ": so does what a host returns")
    near(begins(s, function(by) return { { by.idle, host_wait = 700 } } end),
        first + 700, paging .. ": also the first")
    local path = place .. "/" .. paging
    trace.record(H.program(app(two)).make(), path, 64)
    local sim <close> = whole.sim({ H.trace(path) }, whole.join(ROUND, s))
    sim:run(1 << 40)
    tap.is(sim.core:kernels()[2].start, second, paging .. ": a trace has it")
end
os.execute("rm -rf " .. files.quote(place))

for words, fn in pairs {
    ["h.prefetch takes no more arguments, got 7"] = function(h)
        h.prefetch(h.b.a, "gpu", 0, 4096, 7)
    end,
    ["h.free takes no more arguments, got x"] = function(h)
        h.free(h.b.a, nil, nil, "x", 1)
    end,
    ["h.wait takes no more arguments, got ns"] = function(h)
        h.wait(5, "ns")
    end,
    ["h.wait: expected 0 to 10^9 ns, got 1000000001"] = function(h)
        h.wait(1000000001)
    end,
} do
    tap.raises(function()
        run(function(by) return { by.a } end, nil, { host = function(h)
            fn(h)
            return h.kernels.a
        end })
    end, words, words)
end
tap.raises(function()
    run(function(by) return { { by.a, host_wait = "5" } } end)
end, "h.wait: expected 0 to 10^9 ns, got 5", "a list's wait is a number")
tap.raises(function()
    run(function(by) return { by.a } end, nil, { host = function(h)
        return { h.kernels.a, host_wait = 5 }
    end })
end, "host_wait is for a list of launches; a host says h.wait(ns)",
    "a host says it itself")

tap.done()

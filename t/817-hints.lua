-- 817-hints.lua - pins what a program's host says of its buffers and does to
-- them between launches: what is prefetched costs the link's time and no fault;
-- what the host touches goes there, and faults again; what is mostly read
-- crosses once, and is not written back; what is to stay on the host is used
-- there, and what is to be mapped there does not fault; what prefers the GPU
-- leaves last, by advice that comes later, too; little memory, large pages, the
-- driver's mode, and any order of all of it are checked; a run with snapshots, or
-- again, is the run straight through; what is wrong is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local ROUND = whole.join(whole.ROUND, { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20 })
local LATENCY, IN, OUT = 1000, 4096, 8192

--- So many data frames of 4 KB.
local function frames(n)
    return { ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K" }
end

local function run(app, settings, policy)
    local sim = whole.sim({ app }, whole.join(whole.SMALL, ROUND, settings),
        { check = true })
    if policy then sim:use(policy) end
    sim:run(1 << 40)
    sim:check()
    return sim, sim:counters()
end

--- A program with buffers a and b of n pages, whose kernels `load` and `store`
-- touch a word of each page of the buffer that they are named after.
local function program(n, launches, advise, host)
    return H.program(k.app {
        name = "hints", source = "this test", align = 2 << 20,
        buffers = function()
            return { k.i64("a", n * 512, { advise = advise }),
                k.i64("b", n * 512) }
        end,
        kernels = function(_, b)
            local by = {}
            for _, name in ipairs { "a", "b" } do
                for _, what in ipairs { "load", "store" } do
                    by[what .. name] = k.kernel(what .. name,
                        { grid = 1, block = 1 }, function(t)
                        t:loop(n, function(j)
                            if what == "store" then
                                t:store(b[name], j * 512, 1)
                            end
                            local x = t:load(b[name], j * 512)
                            t:alu(1, { uses = { x } })
                        end)
                    end)
                end
            end
            if host then
                return { by.loada, by.storea, by.loadb, by.storeb }
            end
            return launches(by, b)
        end,
        host = host,
    })
end

-- ---- prefetches ---------------------------------------------------------------

local N = 64
do
    local plain <close>, c = run(program(N, function(by)
        return { by.loada }
    end))
    local sim <close>, d = run(program(N, function(by, b)
        return { { by.loada, prefetch = { b.a } } }
    end))
    local none <close> = run(program(N, function(by)
        return { by.loada, by.loada }
    end))
    local twice = none.now - plain.now -- the kernel with all pages there
    tap.is(c.fault.faults, N, "a stream faults for each page")
    tap.is(d.fault.faults + d.fault.walks, 0, "one that was prefetched never")
    tap.is(d.fault.prefetched, N, "each page was")
    tap.is(d.fault.pages, N, "and came once")
    tap.is(d.link.transfers, 1, "in one transfer")
    tap.is(d.evict.used, N, "and was used")
    local least = LATENCY + N * IN
    tap.ok(sim.now - twice >= least and sim.now - twice < least * 1.01 + 2000,
        "it costs the link's latency and time",
        ("%d, %d"):format(sim.now - twice, least))
    local many = 3 * 512 + 100 -- over 2 MB: nothing is left between
    local long <close>, e = run(program(many, function(by, b)
        return { { by.loada, prefetch = { b.a } } }
    end))
    tap.is(e.fault.faults, 0, "nor does a long one")
    tap.is(e.link.transfers, 4, "2 MB at most at a time")
    tap.is(e.link.bytes, many * 4096, "every page once")
    local small <close>, f = run(program(N, function(by, b)
        return { { by.loadb, prefetch = { b.a, b.a } } }
    end), frames(N))
    tap.is(f.fault.prefetched, N, "what is there is not sent again")
    tap.is(f.evict.evictions, N, "and leaves when others come")
    local tight <close>, g = run(program(N, function(by, b)
        return { { by.loadb, prefetch = { b.a } } }
    end), frames(N // 2))
    tap.is(g.fault.prefetched, N, "more than fits is sent, too")
    tap.is(g.evict.evictions, N // 2 + N, "and leaves for it")
    local off <close>, h = run(program(N, function(by, b)
        return { { by.loada, prefetch = { b.a }, host_reads = { b.a } } }
    end, { preferred = "host" }), { ["vm.paging"] = "none" })
    tap.is(h.memory.mapped, 2 * N, "nothing of it where all pages are there")
    local _ = { long, small, tight, off }
end

for _, mode in ipairs { "paper", "driver" } do
    local sim <close>, c = run(program(N, function(by, b)
        return { { by.loada, prefetch = { b.a } },
            { by.loadb, prefetch_host = { b.a } } }
    end), { ["uvm.mode"] = mode, ["uvm.perf_prefetch_enable"] = false })
    tap.is(c.fault.faults, N, mode .. ": only what was not sent faults")
    tap.is(c.evict.host, N, mode .. ": what the host wants leaves")
    tap.is(c.evict.bytes, N * 4096, mode .. ": over the link")
    tap.is(c.memory.mapped, 2 * N, mode .. ": all came once")
    local _ = sim
end

-- ---- what the host touches --------------------------------------------------------

for _, what in ipairs { "host_reads", "host_writes" } do
    local rounds = 4
    local function launches(touch)
        return function(by, b)
            local list = { by.storea }
            for i = 2, rounds do
                list[i] = { by.storea, [what] = touch and { b.a } or nil }
            end
            return list
        end
    end
    local sim <close>, c = run(program(N, launches(true)))
    local alone <close>, d = run(program(N, launches(false)))
    local first <close> = run(program(N, function(by) return { by.storea } end))
    tap.is(d.fault.faults, N, "what nobody touches stays")
    tap.is(c.fault.faults, rounds * N, what .. ": then all faults again")
    tap.is(c.evict.host, (rounds - 1) * N, what .. ": all has left")
    tap.is(c.evict.evictions, 0, what .. ": which is no eviction")
    tap.is(c.evict.refaults, (rounds - 1) * N, what .. ": all comes back")
    -- a round costs what the first does, and the way out
    local round = first.now + N * OUT
    local got = (sim.now - first.now) // (rounds - 1)
    tap.ok(math.abs(got - round) < 0.01 * round, what .. ": and it costs both ways",
        ("%d, %d"):format(got, round))
    local _ = alone
end

-- ---- mostly read ------------------------------------------------------------------

do
    local sim <close>, c = run(program(N, function(by, b)
        return { by.loada, { by.loada, host_reads = { b.a } },
            { by.loada, host_writes = { b.a } } }
    end, { read_mostly = true }))
    tap.is(c.fault.faults, 2 * N, "what is mostly read stays where the host reads")
    tap.is(c.evict.host, N, "and goes where it writes")
    tap.is(c.evict.bytes + c.evict.dirty, 0, "at no cost: the host has a copy")
    local wrote <close>, d = run(program(N, function(by, b)
        return { by.storea, { by.loada, host_reads = { b.a } },
            { by.loada, host_reads = { b.a } } }
    end, { read_mostly = true }))
    tap.is(d.evict.bytes, N * 4096, "what was written crosses once")
    tap.is(d.fault.faults, N, "and stays")
    local full <close>, e = run(program(N, function(by)
        return { by.loada, by.loadb }
    end, { read_mostly = true }), frames(N))
    tap.is(e.evict.evictions, N, "it leaves for others")
    tap.is(e.evict.bytes, 0, "without a write-back")
    local dirty <close>, f = run(program(N, function(by)
        return { by.storea, by.loadb }
    end, { read_mostly = true }), frames(N))
    tap.is(f.evict.bytes, N * 4096, "unless it was written")
    local _ = { sim, wrote, full, dirty }
end

-- ---- places -----------------------------------------------------------------------

for _, mode in ipairs { {}, { ["uvm.mode"] = "driver",
    ["uvm.perf_prefetch_enable"] = false } } do
    local sim <close>, c = run(program(N, function(by)
        return { by.loada, by.loada, by.loadb }
    end, { preferred = "host" }), mode)
    tap.is(c.fault.faults, 2 * N, "each page faults once")
    tap.is(c.remote.pages, N, "what is to stay on the host is mapped there")
    tap.ok(c.remote.loads >= N and c.remote.loads <= 2 * N,
        "and loaded from there", c.remote.loads)
    tap.is(c.fault.pages, N, "the other comes")
    local map <close>, d = run(program(N, function(by)
        return { by.loada, by.loadb }
    end, { accessed_by = true }), mode)
    tap.is(d.remote.pages, N, "what is to be mapped is,")
    tap.is(d.fault.faults, N, "and does not fault")
    tap.is(d.remote.loads, N, "a load crosses each time")
    local back <close>, e = run(program(N, function(by, b)
        return { by.loada, { by.loada, prefetch = { b.a } } }
    end, { accessed_by = true }), mode)
    tap.is(e.remote.left, N, "unless it is prefetched")
    tap.is(e.fault.pages, N, "then it comes,")
    tap.is(e.remote.loads + e.fault.faults, N, "and no load crosses more")
    local far <close>, f = run(program(N, function(by)
        return { by.loada, by.loadb }
    end, { preferred = "gpu" }), whole.join(mode,
        { ["remote.access"] = "remote" }))
    tap.is(f.fault.pages, N, "what prefers the GPU comes")
    tap.is(f.remote.pages, N, "where others do not")
    local _ = { sim, map, back, far }
end

-- Kernel a, then b twice as large as what is left: a stays.
for _, case in ipairs { { nil, N, N }, { { preferred = "gpu" }, 0, N + N // 2 } } do
    local sim <close>, c = run(program(N, function(by)
        return { by.loada, by.loadb, by.loada }
    end, case[1]), frames(N + N // 2))
    local name = case[1] and "what prefers the GPU" or "what does not"
    tap.is(c.fault.faults, 2 * N + case[2], name .. ": faults again")
    local tight <close>, d = run(program(N, function(by)
        return { by.loada, by.loadb }
    end, case[1]), frames(N // 2))
    tap.is(d.evict.evictions, N + N // 2, name .. ": leaves where nothing else can")
    local _ = { sim, tight }
end

do -- what a policy is offered
    local sim <close> = run(program(N, function(by)
        return { by.loada, by.loadb, by.loadb }
    end, { preferred = "gpu" }), frames(N + N // 2), { name = "ask",
        state = {}, evict_victim = function(q)
            return q.n - 1
        end })
    local c = sim:counters()
    tap.ok(c.evict.evictions > 0 and c.fault.faults >= 2 * N,
        "a policy chooses among the others")
    tap.is(c.evict.refaults, c.fault.faults - 2 * N, "only they come back")
end

-- ---- any order of all of it --------------------------------------------------------

local CASES = {
    { "room for all", {} },
    { "little memory", frames(200) },
    { "little memory, units of 64 KB", whole.join(frames(200),
        { ["evict.unit"] = "64K", ["fault.transfer"] = "64K" }) },
    { "a tree of units", whole.join(frames(220), { ["evict.unit"] = "tree",
        ["fault.prefetch"] = "tree", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 65536 }) },
    { "units of 2 MB, dirty pages only", { ["vm.memory_bytes"] = 8 << 20,
        ["vm.table_frames"] = 2048 - 600, ["evict.write_back"] = "dirty" } },
    { "pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true } },
    { "pages of 2 MB", { ["vm.page"] = "2M", ["vm.round"] = true } },
    { "the driver", whole.join(frames(200), { ["uvm.mode"] = "driver" }) },
    { "the driver, counters", whole.join(frames(200), {
        ["uvm.mode"] = "driver", ["evict.unit"] = "64K",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 3 }) },
    { "the driver, room for all", { ["uvm.mode"] = "driver" } },
    { "all from afar", { ["remote.access"] = "remote",
        ["uvm.perf_access_counter_migration_enable"] = true,
        ["uvm.perf_access_counter_granularity"] = "64K",
        ["uvm.perf_access_counter_threshold"] = 2 } },
    { "compressed pages", { ["vm.memory_bytes"] = 8 << 20,
        ["vm.table_frames"] = 2048 - 100, ["evict.unit"] = "4K",
        ["compress.enable"] = true } },
    { "page by page", whole.join(frames(150), { ["fault.replay"] = "page",
        ["fault.batch"] = 8, ["fault.prefetch"] = "locality" }) },
}

for i, case in ipairs(CASES) do
    local ok, err = pcall(function()
        local apps = { whole.any(150, i, 16), whole.any(90, i + 50, 16) }
        local function make()
            return whole.sim(apps, whole.join(whole.SMALL, ROUND, case[2]),
                { check = true })
        end
        local straight <close> = make()
        straight:run(1 << 40)
        straight:check()
        if straight.core:run(1) ~= "done" then error "it does not end" end
        local cut <close> = make()
        for _ = 1, 8 do
            cut:run(400000)
            local kept = cut:snapshot()
            cut:run(77777)
            cut:restore(kept)
        end
        cut:run(1 << 40)
        local d = whole.difference(whole.statistics(straight),
            whole.statistics(cut))
        if d then error(d) end
    end)
    tap.ok(ok, case[1], err)
end

do -- the same, with memory that goes at the end, and again
    local sim <close> = whole.sim({ whole.any(150, 5, 10), whole.any(150, 6, 30) },
        whole.join(whole.SMALL, ROUND, frames(260),
            { ["memory.free_at_end"] = true }), { check = true })
    sim:run(1 << 40)
    sim:check()
    tap.ok(sim.core:apps()[1].completions > 1, "again from the start")
end

-- ---- advice on what is there already -----------------------------------------------

-- Pages that are resident stay when they prefer the GPU from then on: what comes
-- next evicts its own.
for prefers, want in pairs { [0] = 2 * N - N // 2, [1] = N - N // 2 } do
    local _ <close>, c = run(program(N, nil, nil, function(h, s)
        s.n = (s.n or 0) + 1
        if s.n == 2 and prefers == 1 then
            h.advise(h.b.a, { preferred = "gpu" })
        end
        return h.kernels[({ 1, 3, 1 })[s.n] or 0]
    end), frames(N + N // 2))
    tap.is(c.evict.pages, want, "evicted; pages prefer the GPU: " .. prefers)
    tap.is(c.fault.pages, N + N // 2 + want, "and migrated")
end

-- Pages that are used on the host are not resident, and page_prefetch is not told
-- so: the first half of a buffer stays there, the others fault.
do
    local half = N // 2
    local sim <close> = run(program(N, nil, nil, function(h, s)
        s.n = (s.n or 0) + 1
        if s.n == 1 then
            h.advise(h.b.a, { preferred = "host" }, 0, half * 4096)
        end
        return h.kernels[({ 1, 1 })[s.n] or 0]
    end), { ["fault.prefetch"] = "none" }, { name = "looks",
        state = { asked = 0, host = 0, other = 0 },
        page_prefetch = function(q, seen)
            for i = 0, N - 1 do
                if q.there[i // 64 + 1] >> i % 64 & 1 == 1 then
                    local of = i < half and "host" or "other"
                    seen[of] = seen[of] + 1
                end
            end
            seen.asked = seen.asked + 1
        end })
    local seen = sim:used()[1].state
    tap.is(seen.host, 0, "pages used on the host are not there")
    tap.ok(seen.asked > 0 and seen.other > 0, "those that have come are", seen.asked)
end

-- ---- words -------------------------------------------------------------------------

local function refuse(host, words)
    tap.raises(function() run(program(4, nil, nil, host)) end, words, words)
end
refuse(function(h) h.touch(h.b.a, "look"); return h.kernels[1] end, "read")
refuse(function(h) h.prefetch(h.b.a, "disk"); return h.kernels[1] end, "gpu")
refuse(function(h) h.advise(h.b.a, { preferred = "disk" }) end, "preferred")
refuse(function(h)
    h.free(h.b.a)
    h.touch(h.b.a, "read")
    return h.kernels[3]
end, "freed")
-- What a launch of a list says is refused in one that a host returns.
for field, words in pairs { free = "h.free(buffer)", prefetch = "h.prefetch(buffer)",
    prefetch_host = 'h.prefetch(buffer, "host")',
    host_reads = 'h.touch(buffer, "read")',
    host_writes = 'h.touch(buffer, "write")' } do
    tap.raises(function()
        run(program(4, nil, nil, function(h)
            return { h.kernels[1], [field] = { h.b.a } }
        end))
    end, "launch of loada: " .. field .. " is for a list of launches; a host says "
        .. words, field .. " in a launch of a host")
end
tap.raises(function()
    run(program(4, function(by, b) return { { by.loada, prefetch = b.a } } end))
end, "expected", "a launch lists buffers")
tap.raises(function()
    run(program(4, function(by) return { { by.loada, fetch = {} } } end))
end, "host_reads", "fields of a launch")

tap.done()

-- 824-ranges.lua - pins what a program's host says of bytes of its buffers: all
-- pages that a range touches are meant, also where it has a byte of them only,
-- and no other; advice of overlapping ranges is that of a naive table of pages,
-- set and unset, with pages of every size; a page of two buffers is the first
-- one's; what is prefetched, touched or preferred is counted in closed form; a
-- run with snapshots, or again from the start, is the run straight through; a
-- range that is wrong is refused with buffer, size, offset and length.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local ROUND = whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20 })
local PAGE, N = 4096, 64

--- So many data frames of 4 KB.
local function frames(n)
    return { ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K" }
end

--- A program whose kernels load a word of each page of buffer a, or of b; said
-- is what its host says before launch number i, and which kernel it is.
local function program(said, o)
    o = o or {}
    return H.program(k.app {
        name = "ranges", source = "this test", align = o.align or 2 << 20,
        buffers = function()
            return { k.i64("a", o.n or N * 512), k.i64("b", o.n or N * 512) }
        end,
        kernels = function(_, b)
            local list = {}
            for i, name in ipairs { "a", "b" } do
                list[i] = k.kernel(name, { grid = 1, block = 1 }, function(t)
                    t:loop(k.ceil(o.n or N * 512, 512), function(j)
                        if o.store then t:store(b[name], j * 512, 1) end
                        local x = t:load(b[name], j * 512)
                        t:alu(1, { uses = { x } })
                    end)
                end)
            end
            return list
        end,
        host = function(h)
            local fn = said[h.launched + 1]
            return fn and (fn(h, h.b.a) or h.kernels[1])
        end,
    })
end

local function run(app, settings, policy)
    local sim = whole.sim({ app }, whole.join(ROUND, settings), { check = true })
    if policy then sim:use(policy) end
    sim:run(1 << 40)
    sim:check()
    return sim, sim:counters()
end

local MODES = { paper = {}, driver = { ["uvm.mode"] = "driver",
    ["uvm.perf_prefetch_enable"] = false } }

-- ---- rounding ---------------------------------------------------------------------

-- offset, bytes, and the pages that have one of these
local RANGES = {
    { 0, 1, 1 }, { 0, PAGE, 1 }, { 1, PAGE, 2 }, { PAGE - 1, 2, 2 },
    { PAGE, PAGE, 1 }, { 3 * PAGE + 5, 10 * PAGE, 11 },
    { N * PAGE - 1, 1, 1 }, { 0, N * PAGE, N }, { PAGE, nil, N - 1 },
}

for mode, settings in pairs(MODES) do
    for _, r in ipairs(RANGES) do
        local name = ("%s, %d bytes at %d"):format(mode, r[2] or -1, r[1])
        local a <close>, c = run(program { function(h, b)
            h.prefetch(b, "gpu", r[1], r[2])
        end }, settings)
        tap.is(c.fault.prefetched, r[3], name .. ": prefetched")
        tap.is(c.fault.faults, N - r[3], name .. ": the others fault")
        tap.is(c.fault.pages, N, name .. ": each comes once")
        local back <close>, d = run(program { function() end, function(h, b)
            h.prefetch(b, "host", r[1], r[2])
        end }, settings)
        tap.is(d.evict.host, r[3], name .. ": sent back")
        tap.is(d.fault.faults, N + r[3], name .. ": and fault again")
        local e <close>, f = run(program { function(h, b)
            h.advise(b, "set_preferred_host", r[1], r[2])
        end }, settings)
        tap.is(f.remote.pages, r[3], name .. ": mapped on the host")
        tap.is(f.fault.pages, N - r[3], name .. ": the others come")
        local g <close>, m = run(program { function(h, b)
            h.advise(b, "set_accessed_by", r[1], r[2])
        end }, settings)
        tap.is(m.fault.faults, N - r[3], name .. ": mapped at once, no fault")
        local _ = { a, back, e, g }
    end
end

do -- what the host touches, and copies of what is mostly read
    local a <close>, c = run(program({ function(h, b)
        h.advise(b, "set_read_mostly", 0, 10 * PAGE)
    end, function(h, b)
        h.touch(b, "write", 5 * PAGE, 10 * PAGE)
    end }))
    tap.is(c.evict.host, 10, "10 pages that the host writes leave,")
    tap.is(c.evict.bytes, 5 * PAGE, "of which it has a copy of 5")
    local read <close>, d = run(program({ function(h, b)
        h.advise(b, "set_read_mostly", 0, 10 * PAGE)
    end, function(h, b)
        h.touch(b, "read", 5 * PAGE, 10 * PAGE)
    end }))
    tap.is(d.evict.host, 5, "those stay where it reads")
    local e <close>, f = run(program({ function(h, b)
        h.advise(b, "set_read_mostly", 0, 10 * PAGE)
    end, function(h, b)
        h.advise(b, "unset_read_mostly", 0, 8 * PAGE)
        h.touch(b, "read", 0, 10 * PAGE)
    end }))
    tap.is(f.evict.host, 8, "but not what is not mostly read any more")
    local _ = { a, read, e }
end

-- Memory for a and half of b: those pages of a leave last that prefer the GPU.
for _, unit in ipairs { "4K", "64K" } do
    local a <close>, c = run(program { function(h, b)
        h.advise(b, "set_preferred_gpu", 16 * PAGE, 32 * PAGE)
    end, function(h) return h.kernels[2] end, function() end },
        whole.join(frames(N + N // 2), { ["evict.unit"] = unit }),
        { name = "seen", state = {}, watch = { page_evicted = function(n, s)
            local page = n.vpn % 512
            local in_b = n.vpn // 512 % 2 == 1
            s.kept = (s.kept or 0)
                + (not in_b and page >= 16 and page < 48 and 1 or 0)
            s.left = (s.left or 0) + 1
        end } })
    local s = a:used()[1].state
    tap.is(s.kept, 0, unit .. ": what prefers the GPU stays")
    tap.ok(s.left >= N // 2 and c.evict.evictions > 0, unit .. ": others leave")
end

-- ---- lists ------------------------------------------------------------------------

do
    local app = H.program(k.app { name = "list", source = "this test",
        align = 2 << 20, buffers = function()
            return { k.i64("a", N * 512), k.i64("b", N * 512) }
        end,
        kernels = function(_, b)
            local l = k.kernel("l", { grid = 1, block = 1 }, function(t)
                t:loop(N, function(j)
                    local x = t:load(b.a, j * 512)
                    t:alu(1, { uses = { x } })
                end)
            end)
            return { { l, prefetch = { { b.a, offset = PAGE, bytes = 1 }, b.b } },
                { l, prefetch_host = { { b.a, offset = PAGE } },
                    host_reads = { { b.b, bytes = 3 * PAGE } } } }
        end })
    local sim <close>, c = run(app)
    tap.is(c.fault.prefetched, N + 1, "a list has ranges, too")
    tap.is(c.evict.host, N - 1 + 3, "for all that it lists")
    local _ = sim
end

-- ---- a naive table of pages -------------------------------------------------------

-- What migrate is told of each page when it faults is what the table has.
local NAMES = { [0] = "none", "gpu", "host" }
local FIRST = 0x7f0000000000 // PAGE

local WORD = {
    { "set_read_mostly", 1, 0 }, { "unset_read_mostly", 0, 1 },
    { "set_preferred_gpu", 2, 4 }, { "set_preferred_host", 4, 2 },
    { "unset_preferred", 0, 6 }, { "set_accessed_by", 8, 0 },
    { "unset_accessed_by", 0, 8 },
}

--- Random advice on two buffers of n bytes and more, at multiples of `align`;
-- pages: of the size; returns what the program says, and the table that results.
local function draws(seed, rounds, n, align, pages)
    local x, calls, table_of, owner = seed, {}, {}, {}
    local function draw(m)
        x = (x * 1103515245 + 12345) % 2147483648
        return x // 65536 % m
    end
    local base = { 0, (n + align - 1) // align * align }
    for b = 2, 1, -1 do
        local last = (base[b] + n - 1) // PAGE
        for v = base[b] // PAGE, last do owner[v] = b end
    end
    for _ = 1, rounds do
        local b, offset = draw(2) + 1, draw(n)
        local bytes = math.min(draw(3) == 0 and n or draw(6 * PAGE) + 1, n - offset)
        local w = draw(9)
        local word = WORD[w + 1]
        local bits, unset
        if word then
            bits, unset = word[2], word[3]
            calls[#calls + 1] = { b, word[1], offset, bytes }
        else
            bits, unset = ({ 0, 1, 2, 4, 8 })[draw(5) + 1], 15
            calls[#calls + 1] = { b, { read_mostly = bits == 1,
                preferred = bits == 2 and "gpu" or bits == 4 and "host" or nil,
                accessed_by = bits == 8 },
                w == 8 and offset or nil, w == 8 and bytes or nil }
            if w ~= 8 then offset, bytes = 0, n end
        end
        local from = (base[b] + offset) // PAGE // pages * pages
        local to = (base[b] + offset + bytes - 1) // PAGE // pages * pages
            + pages - 1
        for v = from, to do
            if owner[v] == b then
                table_of[v] = (table_of[v] or 0) & ~unset | bits
            end
        end
    end
    return calls, table_of
end

for i, case in ipairs {
    { "pages of 4 KB", 4096, {}, 1 },
    { "buffers that share a page", 256, {}, 1 },
    { "pages of 64 KB", 65536, { ["vm.page"] = "64K", ["vm.round"] = true }, 16 },
    { "pages of 2 MB", 2 << 20, { ["vm.page"] = "2M", ["vm.round"] = true }, 512 },
} do
    local wrong, asked = {}, 0
    for seed = 1, 6 do
        local n = 300 * 512 + (case[2] == 256 and 100 or 0)
        local calls, want = draws(100 * i + seed, 40, n * 8, case[2], case[4])
        local app = program({ function(h)
            for _, c in ipairs(calls) do
                h.advise(c[1] == 1 and h.b.a or h.b.b, c[2], c[3], c[4])
            end
        end, function(h) return h.kernels[2] end }, { n = n, align = case[2] })
        local sim <close> = whole.sim({ app }, whole.join(ROUND, case[3]),
            { check = true })
        sim:use { name = "asks", state = {}, migrate = function(q, s)
            s[q.vpn] = q.advice -- last when it faults
            return 0
        end }
        sim:run(1 << 40)
        sim:check()
        for vpn, got in pairs(sim:used()[1].state) do
            local bits = want[vpn - FIRST] or 0
            local name = bits & 2 ~= 0 and NAMES[1]
                or bits & 12 ~= 0 and NAMES[2] or NAMES[0]
            asked = asked + 1
            if got ~= name then
                wrong[#wrong + 1] = ("page %d: %s, not %s"):format(
                    vpn - FIRST, got, name)
            end
        end
    end
    tap.ok(#wrong == 0 and asked > 0, case[1] .. ": advice is the naive table's",
        wrong[1] or asked)
end

-- ---- any order of all of it -------------------------------------------------------

local again = 0
for i, case in ipairs {
    { "room for all", {} },
    { "little memory", frames(120) },
    { "the driver", whole.join(frames(120), { ["uvm.mode"] = "driver" }) },
    { "units of 64 KB", whole.join(frames(120), { ["evict.unit"] = "64K",
        ["fault.transfer"] = "64K" }) },
    { "pages of 64 KB", { ["vm.page"] = "64K", ["vm.round"] = true } },
} do
    local ok, err = pcall(function()
        local apps = { whole.any(90, i, 12, true), whole.any(70, i + 50, 6, true) }
        local function make()
            return whole.sim(apps, whole.join(ROUND, case[2]), { check = true })
        end
        local straight <close> = make()
        straight:run(1 << 40)
        straight:check()
        local cut <close> = make()
        for _ = 1, 6 do
            cut:run(300000)
            local kept = cut:snapshot()
            cut:run(77777)
            cut:restore(kept)
        end
        cut:run(1 << 40)
        local d = whole.difference(whole.statistics(straight),
            whole.statistics(cut))
        if d then error(d) end
        again = again + straight.core:apps()[2].completions - 1
    end)
    tap.ok(ok, "any order: " .. case[1], err)
end

tap.ok(again > 0, "some run again from the start", again)

-- ---- words ------------------------------------------------------------------------

local SIZE = N * PAGE
for _, case in ipairs {
    { function(h, b) h.prefetch(b, "gpu", -4, 8) end, "8 bytes at offset -4" },
    { function(h, b) h.prefetch(b, "gpu", 0, 0) end, "0 bytes at offset 0" },
    { function(h, b) h.prefetch(b, "host", 8, -8) end, "-8 bytes at offset 8" },
    { function(h, b) h.touch(b, "read", SIZE, 1) end,
        "1 bytes at offset " .. SIZE },
    { function(h, b) h.advise(b, "set_read_mostly", 8, SIZE) end,
        SIZE .. " bytes at offset 8" },
    { function(h, b) h.advise(b, { read_mostly = true }, 8, SIZE) end,
        "it has " .. SIZE .. " bytes" },
    { function(h, b) h.prefetch(b, "gpu", 0.5, 8) end, "whole numbers" },
    { function(h, b) h.prefetch(b, "gpu", 0, "all") end, "whole numbers" },
    { function(h, b) h.free(b, 0, PAGE) end, "allocated and freed as a whole" },
    { function(h, b) h.advise(b, "set_fast") end, "unset_read_mostly" },
    { function(h) h.prefetch("a") end, "one of its buffers" },
} do
    local line = debug.getinfo(case[1], "S").linedefined
    tap.raises(function() run(program { case[1] }) end,
        "824-ranges.lua:" .. line .. ": ", case[2])
    tap.raises(function() run(program { case[1] }) end, case[2],
        case[2] .. ", in words")
end

for what, list in pairs {
    ["no field"] = function(b) return { { b.a, from = 8 } } end,
    ["expected buffers"] = function() return { { 8 } } end,
    ["0 bytes at offset 0"] = function(b) return { { b.a, bytes = 0 } } end,
} do
    tap.raises(function()
        run(H.program(k.app { name = "wrong", source = "this test",
            buffers = function() return { k.i64("a", 512) } end,
            kernels = function(_, b)
                return { { k.kernel("l", { block = 1 }, function(t)
                    t:load(b.a, 0)
                end), prefetch = list(b) } }
            end }))
    end, what, "in a list: " .. what)
end

tap.done()

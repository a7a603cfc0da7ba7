-- 819-compress.lua - pins pages that are compressed in memory: classes follow
-- compress.ratio, or what a buffer holds; memory holds as many pages as their
-- sizes sum to and not one more; each miss of the metadata cache is a read of
-- DRAM more, in closed form; lines that do not fit have a page grow and be
-- restored when they must, at the stated cycles; pages that outgrow memory push
-- others out; under stress all is checked, and the same from the middle; a
-- policy that says no, in C's words and Lua's, has pages as they are; bad
-- settings are refused by name.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local LINE = 128

--- So many pages of 4 KB of memory, all compressed.
local function memory(n, more)
    return whole.join(whole.SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K",
        ["compress.enable"] = true, ["compress.misfit"] = 0 }, more or {})
end

--- Counters at the end, how it ended, and when.
local function run(apps, settings, policy)
    local sim <close> = whole.sim(apps, settings, { check = true })
    if policy then
        sim:use(policy)
    end
    local word = sim:run(1 << 40)
    sim:check()
    return sim:counters(), word, sim.now
end

local stream, near = whole.touch, whole.near

local function pages_of(c)
    return { c.pages_512, c.pages_1k, c.pages_2k, c.pages_4k }
end

-- ---- classes -----------------------------------------------------------------

for _, o in ipairs { { 100, 4, 4 }, { 125, 3, 4 }, { 169, 3, 4 }, { 200, 3, 3 },
    { 300, 2, 3 }, { 400, 2, 2 }, { 600, 1, 2 }, { 800, 1, 1 } } do
    local ratio, low, high = table.unpack(o)
    local n = 8192
    local c = run({ stream(n, 4096, "load") }, memory(n,
        { ["compress.ratio"] = tostring(ratio), ["link.latency"] = 1 }))
    local by = pages_of(c.compress)
    tap.is(by[1] + by[2] + by[3] + by[4], n, ratio .. " %: all pages came")
    local sum = by[low] + (high > low and by[high] or 0)
    tap.is(sum, n, ratio .. " %: into the two classes beside it")
    near(c.compress.bytes, n * 4096 * 100 / ratio, ratio .. " %: mean size")
    tap.is(c.compress.known, 0, "drawn")
end

-- What buffers hold: zeros, one value, small numbers, numbers beside a large
-- one, noise.
for what, o in pairs {
    zeros = { 0, 1 },
    one = { function() return 0x123456789abcdef end, 1 },
    small = { function(i) return i % 100 end, 2 },
    base = { function(i) return (1 << 60) + i % 100 * 100 end, 3 },
    noise = { function(i) return i * 0x9e3779b97f4a7c15 end, 4 },
} do
    local c = run({ stream(16, 4096, "load", 1, o[1]) },
        memory(16))
    tap.is(pages_of(c.compress)[o[2]], 16, what .. ": its class")
    tap.is(c.compress.known, 16, "known")
    local d = run({ stream(16, 4096, "load", 1, o[1]) },
        memory(16, { ["compress.contents"] = false,
            ["compress.ratio"] = "100" }))
    tap.ok(d.compress.known == 0 and d.compress.pages_4k == 16,
        what .. ": or drawn all the same")
end

-- The released form of BDI: of 16 values two bases and their differences, 32
-- bytes and not 24, so 2 KB and not 1.
do
    local RELEASED = { ["compress.bdi"] = "released" }
    local c = run({ stream(16, 4096, "load", 1, function(i) return i % 100 end) },
        memory(16, RELEASED))
    tap.is(c.compress.pages_2k, 16, "released: two bases")
    c = run({ stream(16, 4096, "load", 1, function(i) return i % 100 end) },
        memory(16))
    tap.is(c.compress.pages_1k, 16, "the paper's: one, and zero")
end

-- ---- what the link carries -----------------------------------------------------

do
    local function carried(more)
        local set = memory(16, whole.join({ ["compress.ratio"] = "400",
            ["compress.contents"] = false }, whole.ROUND,
            { ["link.out_bandwidth"] = 1000000000 }, more or {}))
        local c, word, now = run({ stream(32, 4096, "load", 3) },
            whole.join(set, { ["vm.table_frames"] = (64 << 8) - 4 }))
        tap.is(word, "done", "the link")
        tap.is(c.link.bytes, c.compress.bytes * (more and 1 or 4)
            + c.evict.bytes, "bytes that come")
        tap.is(c.evict.bytes, c.evict.pages * (more and 1024 or 4096),
            "and that leave")
        return now, c
    end
    local now, c = carried()
    local less, d = carried { ["compress.link"] = "compressed" }
    tap.ok(c.fault.pages == 96 and d.fault.pages == 96, "the same pages",
        d.fault.pages)
    local saved = (c.fault.pages + c.evict.pages) * (4096 - 1024)
    near(now - less, saved, "a byte a cycle less, both ways")
end

-- ---- capacity ----------------------------------------------------------------

-- Twice the pages, again and again, and nothing leaves; with one more they
-- chase one another.
do
    local set = { ["compress.ratio"] = "200", ["l1tlb.entries"] = 8,
        ["l2tlb.mode"] = "off" }
    local c = run({ stream(32, 4096, "load", 5) }, memory(16, set))
    tap.ok(c.fault.faults == 32 and c.evict.evictions == 0,
        "memory for 16 pages has 32 of half the size")
    tap.is(c.compress.peak_pages, 32, "at once")
    local d = run({ stream(33, 4096, "load", 5) },
        memory(16, set))
    tap.is(d.fault.faults, 5 * 33, "33 miss always")
    tap.is(d.compress.pages_2k, 5 * 33, "and come back as they were")
    tap.is(d.compress.peak_pages, 32, "32 at a time")
    local e = run({ stream(33, 4096, "load", 5) },
        memory(33, whole.join(set, { ["compress.ratio"] = "100" })))
    tap.is(e.evict.evictions, 0, "33 uncompressed fit where 33 do")
    local f = run({ stream(32, 4096, "load", 5) }, memory(16, set),
        { name = "no", page_compress = function(q)
            return q.bytes ~= 2048 or q.known == 1
        end })
    tap.ok(f.compress.pages_4k == 5 * 32 and f.compress.reads == 0,
        "a policy that says no")
end

-- Larger pages are compressed by 4 KB.
do
    local c = run({ stream(32, 65536, "load", 3) },
        memory(16 * 16, { ["compress.ratio"] = "200", ["vm.page"] = "64K",
            ["evict.unit"] = "64K" }))
    tap.ok(c.compress.pages_2k == 512 and c.evict.evictions == 0,
        "32 pages of 64 KB in memory for 16")
end

-- ---- metadata ----------------------------------------------------------------

-- One line of each page again and again, past the caches: a page is a miss once,
-- or always.
for entries, times in pairs { [1024] = 1, [16] = 4 } do
    local n = 512
    local set = { ["compress.ratio"] = "200", ["compress.entries"] = entries,
        ["compress.ways"] = 0, ["l2cache.bytes"] = 32768,
        ["l1cache.bytes"] = 2048 }
    local app = stream(n, 4096 + LINE, "load", 4)
    local c, _, took = run({ app }, memory(2 * n, set))
    local p, _, plain = run({ app }, memory(2 * n, whole.join(set,
        { ["compress.enable"] = false })))
    local m = c.compress
    tap.is(m.metadata_hits + m.metadata_misses, m.reads + m.writes,
        entries .. " entries: every request looks")
    tap.is(m.reads, 4 * n, entries .. " entries: once a line and pass")
    tap.is(m.metadata_misses, times * n, entries .. " entries: " .. times
        .. " misses a page")
    tap.is(c.l2cache.dram_reads, p.l2cache.dram_reads + m.metadata_misses,
        entries .. " entries: a miss is a read more")
    tap.ok(took > plain, entries .. " entries: which costs time")
end

-- ---- pages that grow ---------------------------------------------------------

-- Every line of n pages written once, and none fits: a page of class 2 KB has
-- slots of 40 bytes and room for 5 lines of 128; of 1 KB slots of 24 and room
-- for 1, grown for 9; of 512 B slots of 8 and room for 1, 5 and 13.  The cache
-- keeps the lines of 8 pages.
for _, o in ipairs { { "200", 6, 0 }, { "400", 10, 1 }, { "800", 14, 2 } } do
    local ratio, misfits, grown = table.unpack(o)
    local n = 48
    local app = stream(n * 32, LINE, "store")
    local set = { ["compress.ratio"] = ratio, ["compress.misfit"] = 100,
        ["l2cache.bytes"] = 32768 }
    local c = run({ app }, memory(64, set))
    local m = c.compress
    tap.ok(m.restored >= n - 9 and m.restored <= n, ratio
        .. " %: pages are restored", m.restored)
    tap.ok(m.misfits >= misfits * m.restored
        and m.misfits <= misfits * n, ratio .. " %: at line " .. misfits,
        m.misfits)
    tap.ok(m.grown >= grown * m.restored and m.grown <= grown * n,
        ratio .. " %: having grown", m.grown)
    tap.is(m.overflow_cycles, m.restored * 100000 + m.grown * 20000,
        ratio .. " %: as long as it takes")
end

-- Where there is no memory for that, others leave.
do
    local app = stream(64 * 32, LINE, "both", 3)
    local c, word = run({ app }, memory(40, {
        ["compress.ratio"] = "200", ["compress.misfit"] = 100,
        ["l2cache.bytes"] = 32768, ["compress.restore"] = 10 }))
    tap.is(word, "done", "pages that outgrow memory")
    tap.ok(c.compress.restored > 0 and c.evict.evictions > 0
        and c.evict.ahead == 0, "push others out", c.evict.evictions)
    tap.ok(c.compress.pages_4k > 0, "and come back uncompressed")
end

-- ---- whatever is small ---------------------------------------------------------

local function stress(what, apps, settings, policy)
    whole.stress(what, function()
        return whole.sim(apps, settings, { check = true })
    end, { policy = policy,
        due = function(c) return c.evict.evictions / 20 end,
        good = function(c)
            return c.evict.evictions > 0 and c.compress.metadata_misses > 0
        end })
end

-- Columns of n pages: the 64 of size T chase one another for long.
local function columns(n)
    return H.app("ATAX", { size = "T", nx = n, ny = 1024 })
end

for _, o in ipairs {
    { "drawn", { "GUP", columns(16) }, { ["compress.misfit"] = 30,
        ["compress.ratio"] = "300,150", ["compress.grow"] = 200,
        ["compress.restore"] = 1000 } },
    { "known", { "BFS2", "GUP" }, { ["compress.misfit"] = 30,
        ["compress.entries"] = 4, ["compress.ways"] = 2 } },
    { "ahead of need, by 64 KB", { "GUP", columns(48) }, { ["evict.unit"] = "64K",
        ["fault.transfer"] = "64K", ["evict.trigger"] = "watermark",
        ["evict.free_bytes"] = 32768, ["fault.prefetch"] = "sequential",
        ["compress.misfit"] = 50 }, 48 },
    { "past the cache", { "GUP" }, { ["l2cache.mode"] = "off",
        ["compress.misfit"] = 20, ["compress.restore"] = 500 } },
    { "written through", { "GUP" }, { ["l2cache.write"] = "through",
        ["compress.misfit"] = 20, ["compress.restore"] = 500 } },
    { "lines of 32 bytes", { "GUP" }, { ["l2cache.line"] = 32,
        ["l1cache.line"] = 32, ["compress.misfit"] = 20 } },
} do
    stress(o[1], o[2], memory(o[4] or 16, o[3]))
end

-- ---- what is refused ------------------------------------------------------------

for _, o in ipairs {
    { "compress.ratio", "99" }, { "compress.ratio", "200," },
    { "compress.ratio", "" }, { "compress.ratio", "2.0" },
    { "compress.ratio", "801" }, { "compress.ways", 3 },
    { "memory.fragment_index", 10 },
} do
    local ok, err = pcall(whole.sim, { "GUP" }, memory(64, { [o[1]] = o[2] }))
    err = tostring(type(err) == "table" and err.message or err)
    tap.ok(not ok and err:find(o[1]:gsub("ways", "entries"), 1, true),
        ("%s = '%s' is refused"):format(o[1], o[2]), err)
end
do
    local ok, err = pcall(whole.sim, { "GUP" }, memory(64,
        { ["l2cache.line"] = 256, ["l1cache.line"] = 256 }))
    err = tostring(type(err) == "table" and err.message or err)
    tap.ok(not ok and err:find "l2cache.line", "lines of 256 bytes", err)
end

return tap.done()

-- 164-mem-compress.lua - pins compressed pages of memory: sizes by compress.ratio
-- and by contents; each access of DRAM looks up metadata, and a miss is a read
-- more; lines that do not fit have a page grow and be restored after so many
-- misfits, and take so long; the sizes of what is there sum up wherever a run is
-- looked at.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local LINE = 128

--- So many pages of 4 KB of memory, all compressed; no line is a misfit.
local function memory(pages, more)
    return whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
        ["link.latency"] = 100, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - pages, ["evict.unit"] = "4K",
        ["compress.enable"] = true, ["compress.misfit"] = 0,
        ["sim.relaunch"] = false }, more or {})
end

local function run(app, settings)
    local sim <close> = whole.sim({ app }, settings, { check = true })
    local word
    repeat
        word = sim:run(49999)
        sim:check()
    until word ~= "ok"
    tap.is(word, "done", "it ends")
    return sim:counters(), sim.now
end

local SIZE = { pages_512 = 512, pages_1k = 1024, pages_2k = 2048,
    pages_4k = 4096 }

-- ---- sizes ---------------------------------------------------------------------

-- Of the two classes on either side of the ratio, so that the mean is within 5 %.
for _, ratio in ipairs { 100, 133, 200, 267, 400, 533, 800 } do
    local n = 600
    local c = run(whole.touch(n, 4096, "load"), memory(n,
        { ["compress.ratio"] = tostring(ratio) })).compress
    local pages, bytes = 0, 0
    for name, size in pairs(SIZE) do
        pages, bytes = pages + c[name], bytes + size * c[name]
        local fits = size * 2 > 4096 * 100 / ratio and size / 2 < 4096 * 100
            / ratio
        tap.ok(fits or c[name] == 0, ("%d %%: %s"):format(ratio, name),
            c[name])
    end
    tap.ok(pages == n and bytes == c.bytes, ratio .. " %: all pages")
    local mean = bytes * ratio / (n * 4096 * 100)
    tap.ok(mean > 0.95 and mean < 1.05, ratio .. " %: the mean size", mean)
    tap.is(c.known + c.misfits + c.grown + c.restored, 0,
        ratio .. " %: drawn, and no line is a misfit")
end

-- What a buffer holds: zeros, small numbers, numbers near a large one, noise.
for name, value in pairs {
    pages_512 = function() return 0 end, pages_1k = function(i)
        return i % 100 end, pages_2k = function(i)
        return (1 << 60) + i % 100 * 100 end, pages_4k = function(i)
        return i * 0x9e3779b97f4a7c15 end } do
    local c = run(whole.touch(20, 4096, "load", 1, value),
        memory(20)).compress
    tap.ok(c[name] == 20 and c.known == 20, "known: " .. name, c[name])
end

-- ---- metadata --------------------------------------------------------------------

-- A line of each of n pages, in turn, past the caches.
for entries, misses in pairs { [1024] = 1, [16] = 4 } do
    local n = 512
    local set = { ["compress.ratio"] = "200", ["compress.entries"] = entries,
        ["compress.ways"] = 0, ["l2cache.bytes"] = 32768,
        ["l1cache.bytes"] = 2048 }
    local app = whole.touch(n, 4096 + LINE, "load", 4)
    local c, now = run(app, memory(2 * n, set))
    local p, plain = run(app, memory(2 * n, whole.join(set, {
        ["compress.enable"] = false })))
    local m = c.compress
    tap.is(m.reads, 4 * n, entries .. " entries: every read looks up")
    tap.is(m.metadata_misses, misses * n, entries .. " entries: misses")
    tap.is(m.metadata_hits, m.reads + m.writes - m.metadata_misses,
        entries .. " entries: the others hit")
    tap.is(c.l2cache.dram_reads - p.l2cache.dram_reads, m.metadata_misses,
        entries .. " entries: a miss is a read more")
    tap.ok(now > plain, entries .. " entries: and takes its time")
end

-- ---- lines that do not fit ---------------------------------------------------------

-- Each line of a page is written once, and none fits: 2 KB have room for 5, 1 KB
-- for 1 and then 8 more, 512 B for 1, 4 and 8 more.
for _, o in ipairs { { "200", 6, 0 }, { "400", 10, 1 }, { "800", 14, 2 } } do
    local ratio, misfits, grown = table.unpack(o)
    local n, GROW, RESTORE = 32, 300, 700
    local c = run(whole.touch(n * 32, LINE, "store"), memory(64, {
        ["compress.ratio"] = ratio, ["compress.misfit"] = 100,
        ["compress.grow"] = GROW, ["compress.restore"] = RESTORE,
        ["l2cache.bytes"] = 32768 })).compress
    local out = n - 9 -- the cache keeps lines of the last ones
    tap.ok(c.restored >= out and c.restored <= n, ratio .. " %: restored",
        c.restored)
    tap.ok(c.misfits >= misfits * out and c.misfits <= misfits * n,
        ratio .. " %: after so many", c.misfits)
    tap.ok(c.grown >= grown * out and c.grown <= grown * n,
        ratio .. " %: having grown", c.grown)
    tap.is(c.overflow_cycles, c.grown * GROW + c.restored * RESTORE,
        ratio .. " %: as long as it takes")
end

-- ---- room ---------------------------------------------------------------------------

-- Twice the pages stay, and one more does not.
for pages, faults in pairs { [32] = 32, [33] = 3 * 33 } do
    local c = run(whole.touch(pages, 4096, "load", 3), memory(16, {
        ["compress.ratio"] = "200", ["l2tlb.mode"] = "off" }))
    tap.is(c.fault.faults, faults, pages .. " pages of 2 KB in 16 frames")
    tap.is(c.compress.peak_pages, 32, "and no more than 32 at once")
end

-- Larger pages are compressed by 4 KB; each has a size of its own.
for _, page in ipairs { "64K", "2M" } do
    local n = page == "64K" and 16 or 512
    local c = run(whole.touch(4, n * 4096, "load", 2), memory(4 * n, {
        ["compress.ratio"] = "267", ["vm.page"] = page, ["vm.round"] = true,
        ["evict.unit"] = page, ["fault.transfer"] = page })).compress
    tap.is(c.pages_1k + c.pages_2k, 4 * n, page .. ": all of its pages")
    local mean = c.bytes * 2.67 / (4 * n * 4096)
    tap.ok(mean > 0.9 and mean < 1.1, page .. ": the mean size", mean)
end

-- ---- what is refused -----------------------------------------------------------------

for _, ratio in ipairs { "99", "801", "200,", ",200", "", "2.0", "2:0", "x",
    "200,99" } do
    local ok, err = pcall(whole.sim, { "GUP" },
        memory(64, { ["compress.ratio"] = ratio }))
    tap.ok(not ok and tostring(err):find("compress.ratio", 1, true),
        ("a ratio of '%s'"):format(ratio), tostring(err))
end

-- Small memory, pages that grow in it, snapshots on the way.
whole.stress("all of it", whole.maker({ whole.random(4, 8, 1) },
    memory(20, { ["compress.misfit"] = 30, ["compress.ratio"] = "300",
        ["compress.grow"] = 200, ["compress.restore"] = 1000,
        ["compress.entries"] = 4, ["compress.ways"] = 2 }), { check = true }), {
    step = 99991, due = function(c) return c.evict.evictions / 20 end,
    good = function(c)
        return c.evict.evictions > 0 and c.compress.metadata_misses > 0
    end })

tap.done()

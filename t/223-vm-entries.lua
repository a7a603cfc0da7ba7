-- 223-vm-entries.lua - pins: what vm.entry_bytes changes of walks.  The reads of
-- each level, and those of them that the L2 cache answers, are those of the
-- closed form where a warp touches one page after another; with entries of 128
-- bytes no two pages share a line of leaf entries; a walk cache holds what so
-- many bits of index lead to; faults, evictions and snapshots go on as with
-- entries of 8 bytes; and what needs an entry that stands for 2 MB is refused
-- before cycle 0.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"
local report = require "heddle.report"

local PAGES, LINE = 2048, 128
local BITS = { [8] = 9, [64] = 6, [128] = 5 }

-- One warp, a load of each page of 8 MB, each behind the one before; the data
-- and the page tables together are in the L2 cache.
local stream = k.app { name = "stream", source = "this test",
    buffers = function() return { k.i32("a", PAGES * 1024) } end,
    kernels = function(_, b) return { k.kernel("stream", { block = 32 },
        function(t)
            t:loop(PAGES, function(page) t:load(b.a, page * 1024) end)
        end) } end }

--- Its results, and the lines of leaf entries that walks read, with the pages.
local function run(bytes, settings)
    local lines, twice = {}, 0
    local sim <close> = H.sim { machine = "maxwell", check = true,
        apps = { H.program(stream) }, settings = whole.join({
            ["vm.entry_bytes"] = bytes, ["sim.relaunch"] = false },
            settings or {}) }
    sim:use { name = "lines", state = {}, watch = { walk_read = function(n, s)
        if n.level == 4 then s[#s + 1] = n.address end
    end } }
    sim:run()
    local state = sim:used()[1].state
    for _, address in ipairs(state) do
        twice = twice + (lines[address // LINE] and 1 or 0)
        lines[address // LINE] = true
    end
    return sim:results(), twice, #state
end

--- How many tables or entries of a level such pages have, all in order.
local function below(pages, bytes, level)
    return math.ceil(pages / (1 << BITS[bytes] * (4 - level)))
end

--- Lines in which the entries of a level are.
local function lines_of(bytes, level)
    return math.ceil(below(PAGES, bytes, level) / (LINE // bytes))
end

for _, bytes in ipairs { 8, 64, 128 } do
    local r, twice, reads = run(bytes)
    for level = 1, 4 do
        tap.is(report.counter(r, "walk.references_level" .. level), PAGES,
            ("entries of %d bytes: a walk reads level %d"):format(bytes, level))
        tap.is(report.counter(r, "walk.l2_hits_level" .. level),
            PAGES - lines_of(bytes, level),
            ("entries of %d bytes: level %d hits but once a line"):format(bytes,
                level))
    end
    tap.is(twice, reads - PAGES // (LINE // bytes), ("entries of %d bytes: "
        .. "%d pages share a line of leaf entries"):format(bytes, LINE // bytes))
end

-- ---- the page walk cache ----------------------------------------------------------

for _, style in ipairs { "physical", "prefix" } do
    for bytes in pairs(BITS) do
        local r = run(bytes, { ["pwc.mode"] = "full", ["pwc.style"] = style,
            ["pwc.entries"] = 4096 })
        for level = 1, 4 do
            tap.is(report.counter(r, "walk.references_level" .. level),
                below(PAGES, bytes, level),
                ("%s walk cache, entries of %d bytes: each of level %d is read "
                    .. "once"):format(style, bytes, level))
        end
    end
end
-- A line of the walk cache holds what is in it, and at least an entry.
for bytes, n in pairs { [8] = PAGES // 8, [64] = PAGES, [128] = PAGES } do
    local r = run(bytes, { ["pwc.mode"] = "full", ["pwc.line"] = 64,
        ["pwc.entries"] = 4096 })
    tap.is(report.counter(r, "walk.references_level4"), n,
        "lines of 64 bytes, entries of " .. bytes)
end

-- ---- what else becomes of pages -----------------------------------------------------

local MOVES = { ["vm.paging"] = "fault", ["link.latency"] = 400,
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1992 }
for bytes = 64, 128, 64 do
    for name, settings in pairs {
        ["pages of 4 KB"] = { ["evict.unit"] = "4K" },
        ["pages of 64 KB"] = { ["vm.page"] = "64K", ["evict.unit"] = "64K",
            ["fault.prefetch"] = "locality" },
    } do
        whole.stress(("entries of %d bytes, %s: faults and evictions")
            :format(bytes, name), whole.maker({ "ATAX" },
            whole.join(whole.SMALL, MOVES, settings, { ["pwc.mode"] = "full",
                ["pwc.style"] = "prefix", ["pwc.entries"] = 16,
                ["vm.entry_bytes"] = bytes }), { check = true }),
            { snaps = 2, due = function(c) return c.evict.evictions / 20 end,
                good = function(c) return c.evict.evictions > 50 end })
    end
end
-- Runs of pages: as many as a line of entries shows.
for bytes, some in pairs { [8] = true, [64] = true, [128] = false } do
    local sim <close> = whole.sim({ "ATAX" }, whole.join(whole.SMALL,
        { ["vm.entry_bytes"] = bytes }), { check = true })
    sim:use("colt", { full = 1 })
    sim:run()
    tap.is(sim:counters().l2tlb.merged_fills > 0, some,
        "runs of pages with entries of " .. bytes)
end

-- ---- what is refused -------------------------------------------------------------

for want, settings in pairs {
    ["vm.entry_bytes: 16; 8, 64 or 128 is expected"] =
        { ["vm.entry_bytes"] = 16 },
    ["vm.entry_bytes: 64; with it an entry of level 3 does not map 2 MB, "
        .. "so vm.page=4K or 64K is expected"] = { ["vm.page"] = "2M",
        ["vm.entry_bytes"] = 64 },
    ["so vm.scan=false is expected"] = { ["vm.scan"] = true,
        ["vm.entry_bytes"] = 128 },
    ["vm.entry_bytes: 128; entries of subregions (l2tlb.sub_ways = 8) need "
        .. "those of 8 bytes"] = { ["l2tlb.sub_ways"] = 8,
        ["vm.entry_bytes"] = 128 },
} do
    tap.raises(function() whole.sim({ "MM" }, settings) end, want,
        "refused: " .. want)
end
for _, paging in ipairs { "none", "fault" } do
    tap.raises(function()
        local sim <close> = whole.sim({ "MM" }, { ["vm.entry_bytes"] = 128,
            ["vm.paging"] = paging })
        sim:use "mosaic"
        sim:run()
    end, "vm.entry_bytes: 128; a policy answers region_coalesce",
        "refused: Mosaic, vm.paging=" .. paging)
end
tap.raises(function()
    local sim <close> = whole.sim({ "MM" }, { ["vm.entry_bytes"] = 64 })
    sim:use { name = "large", page_size = function() return "large" end }
    sim:run()
end, "base or medium, as vm.entry_bytes is not 8", "refused: a policy's large pages")

tap.done()

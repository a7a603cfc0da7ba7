-- 225-vm-formats.lua - pins: formats of page tables in the whole machine.  What
-- walks read of each level, and what the L2 cache answers, is the closed form
-- where a warp touches one page after another, for each format and page class;
-- faults, evictions, a policy that coalesces, sectors and snapshots go on with
-- them under all checks; what looks at walks names their levels; a buffer beyond
-- 512 GB is mapped, and settings that a format fixes are refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"
local report = require "heddle.report"

local LINE = 128

--- One warp, n loads `step` pages of 4 KB apart, each behind the one before.
local function stream(n, step)
    return k.app { name = "stream", source = "this test",
        buffers = function() return { k.i32("a", n * step * 1024) } end,
        kernels = function(_, b) return { k.kernel("stream", { block = 32 },
            function(t)
                t:loop(n, function(i) t:load(b.a, i * (step * 1024)) end)
            end) } end }
end

--- Pages, their class in pages of 4 KB, and of each level, the leaf's last, the
-- bytes that an entry covers and has.
local MB = 1 << 20
local DIRS = { { 512 * MB, 8 }, { 2 * MB, 16 } } -- PDE1, PDE0
local CLASSES = {
    ["4K"] = { 1, { 4096, 8 } }, ["64K"] = { 16, { 65536, 8 } },
    ["2M"] = { 512 }, ["512M"] = { 131072 },
}

local function levels_of(format, class)
    local out = format == "hopper" and { { 1 << 56, 8 }, { 1 << 47, 8 },
        { 1 << 38, 8 } } or { { 1 << 47, 8 }, { 1 << 38, 8 } }
    out[#out + 1] = DIRS[1]
    if class ~= "512M" then
        out[#out + 1] = DIRS[2]
        out[#out + 1] = CLASSES[class][2]
    end
    return out
end

for _, case in ipairs {
    { "volta", "4K" }, { "volta", "64K" }, { "volta", "2M" },
    { "hopper", "4K" }, { "hopper", "64K" }, { "hopper", "2M" },
    { "ampere", "512M" },
} do
    local format, class = case[1], case[2]
    local step = math.min(CLASSES[class][1], 512)
    local n = class == "512M" and 512 or step == 512 and 256 or 512
    local sim <close> = H.sim { machine = "maxwell", check = true,
        apps = { H.program(stream(n, step)) }, settings = {
            ["vm.format"] = format, ["vm.page"] = class,
            ["vm.memory_bytes"] = 4 << 30, ["l1tlb.entries"] = 16,
            ["l2tlb.entries"] = 16, ["sim.relaunch"] = false,
            ["l1tlb.large_entries"] = 16, ["l2tlb.large_entries"] = 16 } }
    sim:run()
    local r, name = sim:results(), format .. ", pages of " .. class
    local levels = levels_of(format, class)
    for l, e in ipairs(levels) do
        local lines = math.ceil(math.ceil(n * step * 4096 / e[1]) * e[2] / LINE)
        tap.is(report.counter(r, "walk.references_level" .. l), n,
            ("%s: a walk reads level %d"):format(name, l))
        tap.is(report.counter(r, "walk.l2_hits_level" .. l), n - lines,
            ("%s: level %d misses once a line"):format(name, l))
    end
    tap.is(report.counter(r, "walk.references"), n * #levels,
        name .. ": and nothing else")
end

-- ---- the rest of the machine ----------------------------------------------------

local MOVES = { ["vm.paging"] = "fault", ["link.latency"] = 400,
    ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1992 }
for format, settings in pairs {
    volta = { ["vm.page"] = "64K", ["evict.unit"] = "64K",
        ["pwc.style"] = "prefix", ["pwc.entries_level4"] = 16 },
    hopper = { ["evict.unit"] = "4K", ["pwc.entries"] = 16 },
} do
    whole.stress(format .. ": faults and evictions", whole.maker({ "ATAX" },
        whole.join(whole.SMALL, MOVES, { ["pwc.mode"] = "full",
            ["vm.format"] = format }, settings), { check = true }),
        { snaps = 2, due = function(c) return c.evict.evictions / 20 end,
            good = function(c) return c.evict.evictions > 50 end })
end

do -- a policy coalesces
    local sim <close> = H.sim { machine = "mosaic", check = true,
        apps = { H.app("GUP", { size = "S" }) }, budget = 3000,
        settings = { ["vm.format"] = "volta", ["core.count"] = 4 } }
    sim:use "mosaic"
    sim:run()
    tap.ok(sim:counters().memory.coalesced > 0, "volta: regions are coalesced")
end
do -- sectors
    local sim <close> = whole.sim({ "GUP" }, whole.join(whole.SMALL, {
        ["vm.format"] = "hopper", ["vm.page"] = "64K",
        ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32 }),
        { check = true })
    sim:run()
    tap.ok(report.counter(sim:results(), "walk.references_level6") > 0,
        "hopper, sectors: walks read their entries")
end
do -- beyond 512 GB: what programs have is one address space
    local app = k.app { name = "far", source = "this test",
        buffers = function() return { k.i32("a", 180 << 30), k.i32("b", 1024) } end,
        kernels = function(_, b) return { k.kernel("far", { block = 32 },
            function(t) t:load(b.b, t.gid) end) } end }
    local sim <close> = H.sim { machine = "maxwell", apps = { H.program(app) },
        settings = { ["vm.format"] = "hopper", ["vm.page"] = "2M",
            ["vm.memory_bytes"] = 768 << 30, ["sim.relaunch"] = false,
            ["core.count"] = 4 } }
    sim:run()
    tap.ok(sim:results().cycles > 0, "a buffer of 720 GB is mapped")
end

-- ---- what is refused ----------------------------------------------------------------

for want, settings in pairs {
    ["vm.entry_bytes: 64; vm.format = volta fixes the bytes of entries"] =
        { ["vm.format"] = "volta", ["vm.entry_bytes"] = 64 },
    ["vm.page: 512M; vm.format = volta has pages of 4 KB, 64 KB and 2 MB"] =
        { ["vm.format"] = "volta", ["vm.page"] = "512M" },
    ["l2tlb.sub_ways: 8; entries of vm.format = hopper have no contiguity bits"] =
        { ["vm.format"] = "hopper", ["l2tlb.sub_ways"] = 8,
            ["vm.scan"] = false },
    ["pwc.entries_level4: 24; a multiple of pwc.ways = 16"] =
        { ["pwc.mode"] = "full", ["pwc.entries_level4"] = 24 },
} do
    tap.raises(function()
        local sim <close> = whole.sim({ "MM" }, settings)
        sim:run()
    end, want, "refused: " .. want)
end

tap.done()

--[[
232-groups.lua - entries for groups of 2^k pages, of a size that a policy chooses
(groups.most, groups.l1, tlb_group), and marks of page-table entries.

Pinned: room for groups, and a policy of single pages, change nothing; with groups of
2^k pages a chase has one walk a group, in either level as much as its entries may hold,
and the rest are hits at the latency of the level, not a cycle more or less; what is
asked is what a naive look at the frames gives; marks are read as they were written,
until their group is broken; an entry ends with any of its pages; with other things that
TLBs do all stays right, and the same after a restore; what is wrong is refused in
words; snakebyte's groups are those that merging by hand gives.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local PAGES = 256
local BASE = { ["l1tlb.entries"] = 2, ["vm.page"] = "4K", ["l2tlb.entries"] = 256,
    ["l2tlb.ways"] = 16, ["groups.most"] = 9 }

local function chase(settings, policies, options)
    options = options or {}
    local sim = H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.app("PCHASE", { bytes = PAGES * 4096, stride = 4096,
            passes = options.passes or 1 }) },
        settings = whole.join(BASE, settings or {}) }
    for _, p in ipairs(policies or {}) do sim:use(p[1] or p, p[2]) end
    sim:run()
    sim:check()
    return sim:counters(), sim.now, sim
end

local function sized(fn, more)
    return whole.join({ name = "sized", tlb_group = fn }, more or {})
end
local function size(k) return sized(function(q) return math.min(k, q.whole) end) end

-- ---- nothing changes ------------------------------------------------------------------

local plain, at = chase { ["groups.most"] = 0 }
for what, policies in pairs { ["no policy"] = {}, ["pages"] = { size(0) },
    ["one that passes"] = { sized(function() end) },
    ["marks alone"] = { sized(function(q) return 0, q.vpn % 256 end) } } do
    for _, l1 in ipairs { 0, 9 } do
        local c, now = chase({ ["groups.l1"] = l1 }, policies)
        tap.is(now, at, ("%s, l1=%d: the same end"):format(what, l1))
        tap.is(c.walk.walks, plain.walk.walks, what .. ": the same walks")
        tap.is(c.groups.formed, 0, what .. ": no group")
    end
end
tap.ok(plain.walk.walks >= PAGES, "each page is walked for", plain.walk.walks)

-- ---- sizes ----------------------------------------------------------------------------

for k = 1, 8 do
    local c = chase({}, { size(k) })
    -- (data are pages 0 to 255 of theirs; what is behind them has groups of its own)
    local behind = plain.walk.walks - PAGES
    tap.ok(c.walk.walks >= PAGES >> k and c.walk.walks <= (PAGES >> k) + behind,
        ("2^%d pages: a walk a group"):format(k), c.walk.walks)
    tap.ok(c.groups.formed <= c.walk.walks and c.groups.formed >= PAGES >> k
        and c.groups.pages >= PAGES, ("2^%d pages: all are in groups"):format(k),
        ("%d %d"):format(c.groups.formed, c.groups.pages))
    tap.is(c.mmu.requests, plain.mmu.requests, "L1 TLBs hold pages")
end
for l1 = 0, 6 do -- as many misses of the L1 TLB as parts of groups
    local c = chase({ ["groups.l1"] = l1 }, { size(6) })
    -- (of two launches, and of what is behind the data)
    tap.is(c.mmu.requests, 2 * (PAGES >> l1) + plain.mmu.requests - 2 * PAGES,
        ("L1 TLBs of 2^%d pages"):format(l1))
end
do -- larger ones than the L2 TLB's are not asked for
    local _, _, sim = chase({ ["groups.most"] = 3, ["groups.l1"] = 9 }, {
        sized(function(q, s)
            s.most = math.max(s.most, q.most, q.sizes - 1, #q.own - 1, #q.joins - 1,
                #q.buddy - 1, q.whole)
            return q.whole
        end, { state = { most = 0 } }) })
    tap.is(sim:used()[1].state.most, 3, "groups.most bounds what is asked")
end

-- ---- time -----------------------------------------------------------------------------

do -- a page of a group hits as a page does that was walked for before
    local function hits(settings, policies, level)
        local seen = { name = "seen", state = { n = {} }, watch = {
            translated = function(n, s) s.n[n.cycles] = (s.n[n.cycles] or 0) + 1 end } }
        local list = { seen }
        for _, p in ipairs(policies) do list[#list + 1] = p end
        local c, _, sim = chase(settings, list, { passes = 3 })
        local fastest = math.maxinteger
        for cycles in pairs(sim:used()[1].state.n) do
            fastest = math.min(fastest, cycles)
        end
        return fastest, sim:used()[1].state.n[fastest], c, level
    end
    local page, all = hits({ ["groups.most"] = 0 }, {})
    local group, more = hits({}, { size(8) })
    tap.is(group, page, "a hit in a group takes a hit's cycles")
    tap.ok(more > all, "and there are more of them", ("%d %d"):format(more, all))
    for _, latency in ipairs { 10, 11, 40 } do
        local slow = hits({ ["l2tlb.latency"] = latency }, { size(8) })
        local fast = hits({ ["l2tlb.latency"] = 10 }, { size(8) })
        local was = hits({ ["l2tlb.latency"] = latency, ["groups.most"] = 0 }, {})
        tap.is(slow, was, ("l2tlb.latency=%d: neither sooner nor later"):format(latency))
        tap.ok(latency == 10 or slow > fast, "and later than with 10", slow)
    end
end

-- ---- what is asked ------------------------------------------------------------------------

--- Frames in runs of 21, 200 and more pages, by their number.
local function broken(q)
    if q.pages ~= 1 then return nil end
    local v = q.vpn % 256
    return (q.app * 100000 + (q.vpn - v) % 65536 * 2 + v + (v > 20 and 5 or 0)
        + (v > 230 and 3 or 0)) % q.frames
end
--- With the frames that were given, by page.
local function placed(fn, state)
    state.frame = {}
    return { name = "placed", state = state, page_size = function() return "base" end,
        frame_place = function(q, s)
            local f = broken(q)
            s.frame[q.app << 48 | q.vpn] = f
            return f
        end, tlb_group = fn }
end
--- What a naive look at frames and marks says of a group: whether its 2^k pages are
-- contiguous, and its mark.
local function naive(s, app, first, k)
    local f = s.frame[app << 48 | first]
    for i = 0, (1 << k) - 1 do
        if not f or s.frame[app << 48 | first + i] ~= f + i then return false, 0 end
    end
    return true, s.mark[app << 48 | first] or 0
end
local function compare(q, s)
    local largest = 0
    for k = 0, q.most do
        local first = q.vpn >> k << k
        local fine, mark = naive(s, q.app, first, k)
        if fine then largest = k end
        s.wrong = s.wrong + (q.own[k + 1] == mark and 0 or 1)
        s.marks = s.marks + (mark > 0 and 1 or 0)
        if k < q.most then
            local other = first ~ 1 << k
            local a, b = s.frame[q.app << 48 | first], s.frame[q.app << 48 | other]
            local joins = a and b and b - a == other - first and 1 or 0
            local both = naive(s, q.app, math.min(first, other), k + 1)
            local theirs = both and s.mark[q.app << 48 | other] or 0
            s.wrong = s.wrong + (q.joins[k + 1] == joins and 0 or 1)
                + (q.buddy[k + 1] == theirs and 0 or 1)
            s.joins = s.joins + joins
        end
    end
    s.wrong = s.wrong + (q.whole == largest and 0 or 1)
    s.n = s.n + 1
    local k = q.vpn * 7 % (largest + 1)
    local mark = q.vpn * 31 % 256
    s.mark[q.app << 48 | q.vpn >> k << k] = mark
    return k, mark
end
do
    local sim <close> = whole.sim({ "GUP", "ATAX" }, whole.join(whole.SMALL, {
        ["vm.page"] = "4K", ["groups.most"] = 7, ["groups.l1"] = 2,
        ["sim.budget"] = 20000 }), { check = true })
    sim:use(placed(compare, { mark = {}, wrong = 0, n = 0, joins = 0, marks = 0 }))
    sim:run()
    sim:check()
    local s, c = sim:used()[1].state, sim:counters()
    tap.is(s.wrong, 0, "whole, own, buddy and joins are what frames and marks say")
    tap.ok(s.n > 50 and s.joins > 50 and s.marks > 20, "of many", ("%d %d %d"):format(s.n,
        s.joins, s.marks))
    tap.ok(c.groups.marks > 0 and c.groups.apart > 0 and c.groups.apart < c.groups.marks,
        "marks in the line that was read, and in others", ("%d %d"):format(c.groups.marks,
        c.groups.apart))
end

-- ---- with what else TLBs do ---------------------------------------------------------------

local function some(q) return q.vpn * 5 % (q.whole + 1), q.vpn % 10 end
local function freer() return whole.freer(700, 12) end
local SETTINGS = whole.join(whole.SMALL, { ["groups.most"] = 9, ["groups.l1"] = 4,
    ["sim.budget"] = 6000 })
local others = {
    ["as it is"] = {},
    ["large arrays"] = { ["l1tlb.large_entries"] = 4, ["l2tlb.large_entries"] = 8,
        ["vm.page"] = "2M" },
    ["pages of 64 KB"] = { ["vm.page"] = "64K" },
    ["a buffer next to each"] = { ["bypass.entries"] = 8, ["l1side.entries"] = 2 },
    ["no L2 TLB"] = { ["l2tlb.mode"] = "off" },
    ["units of each core"] = { ["walk.per_core"] = true },
    ["batches"] = { ["walk.batch"] = 16, ["walk.walkers"] = 2 },
    ["L1 TLBs that ask each other"] = { ["peers.latency"] = 4 },
    ["another format"] = { ["vm.format"] = "volta" },
    ["entries of 64 bytes"] = { ["vm.entry_bytes"] = 64 },
    ["far faults"] = { ["vm.paging"] = "fault", ["link.latency"] = 300,
        ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030,
        ["evict.unit"] = "4K", apps = { "CONS" } },
    ["pages that leave and move"] = { ["memory.move"] = "any", apps = { freer() },
        ["sim.budget"] = 0 },
    ["compressed"] = { ["compress.enable"] = true },
    ["sampled"] = { ["sample.every"] = 900, ["sample.window"] = 200,
        ["sample.warm"] = 100, ["sample.timed"] = true, ["sim.budget"] = 0,
        apps = { whole.random(32, 60, 1) } },
}
for what, settings in pairs(others) do
    local ok, err = pcall(function()
        local apps = settings.apps or { "GUP", "ATAX" }
        settings = whole.join(SETTINGS, settings)
        settings.apps = nil
        local sim <close> = whole.sim(apps, settings, { check = true })
        sim:use(sized(some, { tlb_keep = function() return true end,
            tlb_peer = function(q) return (q.core + 1) % q.cores end,
            tlb_fill = function(q) return q.vpn % 3 == 0 and "bypass" or "l2tlb" end,
            compact_source = settings["memory.move"] and function(q)
                return q.asked < 2 and q.n > 1 and 1 or 0 end or nil,
            watch = { tlb_miss = function(n)
                if n.vpn % 5 == 0 then
                    pcall(translate, n.app, n.vpn + 1) -- luacheck: globals translate
                end
            end } }))
        sim:run(1500)
        sim:check()
        local snap = sim:snapshot()
        sim:run()
        sim:check()
        local g = sim:counters().groups
        tap.ok(g.formed > 0 and g.pages >= 2 * g.formed or what == "large arrays"
            or what == "pages of 64 KB", what .. ": groups", ("%d %d"):format(g.formed,
            g.pages))
        local d = whole.again(sim, snap, 991)
        tap.ok(not d, what .. ": the same after a restore, in steps", d and tostring(d))
    end)
    if not ok then
        tap.ok(false, what, type(err) == "table" and err.message or err)
    end
end
do -- CoLT's merges decide where both are bound
    local c = chase({ ["groups.l1"] = 9 }, { size(9), { "colt", { full = 1 } } })
    tap.ok(c.l2tlb.merged_fills > 0 and c.walk.walks >= PAGES // 16,
        "tlb_merge before tlb_group", c.walk.walks)
end

-- ---- words --------------------------------------------------------------------------------

local function refused(what, fn, pattern, settings, policies)
    local list = { sized(fn) }
    for _, p in ipairs(policies or {}) do list[#list + 1] = p end
    local ok, err = pcall(chase, settings or {}, list)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
refused("a group that is not contiguous", function() return 9 end,
    "policy sized answered 9 to tlb_group at cycle %d+, expected a size up to `whole'",
    nil, { { name = "apart", page_size = function() return "base" end,
        frame_place = function(q) return q.pages == 1 and q.vpn * 2 % q.frames or nil end } })
refused("a size beyond the largest", function() return 5 end,
    "policy sized answered 5 to tlb_group at cycle %d+, expected 0 to 4",
    { ["groups.most"] = 4 })
refused("a mark that is too large", function() return 0, 256 end,
    "policy sized answered 0 to tlb_group at cycle %d+, expected.*mark up to 255")
refused("a mark that is none", function() return 0, "many" end,
    "tlb_group.*a mark, or nothing, as its second result")
refused("no groups", function() return 0 end, "tlb_group, which this machine never asks",
    { ["groups.most"] = 0 })
refused("subregions", function() return 0 end, "groups.most = 9: l2tlb.sub_ways = 0",
    { ["l2tlb.sub_ways"] = 2, ["msc.entries"] = 8 })
refused("levels of uTLBs", function() return 0 end, "groups.most = 9: levels of uTLBs",
    { ["utlb1.entries"] = 8 })
refused("walks that read nothing", function() return 0 end, "groups.most = 9: walk.mode",
    { ["walk.mode"] = "fixed:100" })

-- ---- snakebyte ------------------------------------------------------------------------------

local SNAKE = "policies/snakebyte.lua"
for _, step in ipairs { 1, 3 } do
    local sim <close> = whole.sim({ "GUP", "ATAX" }, whole.join(whole.SMALL, {
        ["vm.page"] = "4K", ["groups.most"] = 9, ["groups.l1"] = 9,
        ["l1tlb.entries"] = 2 }), { check = true })
    sim:use(placed(nil, {}))
    sim:use(SNAKE, { step = step })
    sim:use { name = "right", state = { bad = 0, n = 0 }, watch = {
        tlb_evict = { level = 1, function(n, s)
            local k = math.tointeger(math.log(n.pages, 2))
            s.n, s.bad = s.n + 1, s.bad + (k and k % step == 0 and 0 or 1)
        end } } }
    sim:run(20000)
    sim:check()
    local s = sim:used()[3].state
    tap.ok(s.bad == 0 and s.n > 0, ("snakebyte: sizes are steps of %d"):format(step), s.n)
end
-- Merging by hand: walks in order of pages, each group known by its first page.
for _, most in ipairs { 1, 3, 6 } do
    local c, _, sim = chase({ ["groups.most"] = most, ["l2tlb.entries"] = 16,
        ["l2tlb.ways"] = 0, ["groups.l1"] = most }, { { SNAKE, { merge = "walked" } },
        { name = "by-hand", state = { size = {}, wrong = 0, n = 0, pages = 0 }, watch = {
            walk_done = function(n, s)
                local k = 0
                for i = 1, most do
                    if (s.size[n.vpn >> i << i] or 0) >= i then k = i end
                end
                while k < most and n.vpn // PAGES == (n.vpn ~ 1 << k) // PAGES
                    and (s.size[(n.vpn >> k << k) ~ 1 << k] or 0) >= k do
                    k = k + 1
                end
                s.n, s.pages = s.n + 1, s.pages + (k > 0 and 1 << k or 0)
                s.size[n.vpn >> k << k] = k
            end } } }, { passes = 2 })
    local s = sim:used()[2].state
    tap.ok(c.groups.pages >= s.pages - 8 * most and c.groups.pages <= s.pages + 8 * most,
        ("walked, up to 2^%d: groups as merged by hand"):format(most),
        ("%d %d"):format(c.groups.pages, s.pages))
end
tap.done()

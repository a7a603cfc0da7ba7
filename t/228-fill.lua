--[[
228-fill.lua - translations that come with a walk's answer (fill).

Pinned: a walk that fills the pages of its line makes one walk of sixteen, at the
latency of the others' hits in the L2 TLB; each page that was asked for has one fate,
and which is what the page table says; what is not in the line that was read is
refused, as are all of a walk whose last entry was not read; ports that fills take are
taken from look-ups; what is wrong is refused in words; twins and snapshots agree.

SPDX-License-Identifier: MIT
]]
-- luacheck: globals fill
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local PAGES = 256
local function chase(settings, use, options, check)
    local sim = H.sim { machine = "maxwell", progress = false,
        check = check ~= false,
        apps = { H.app("PCHASE", { bytes = PAGES * 4096, stride = 4096, passes = 1 }) },
        settings = whole.join({ ["l1tlb.entries"] = 1, ["vm.page"] = "4K",
            ["l2tlb.entries"] = 512, ["l2tlb.ways"] = 16 },
            settings or {}) }
    if use then sim:use(use, options) end
    sim:run()
    sim:check()
    return sim, sim:counters()
end

--- Fates of what was asked for.
local function fates(f)
    return f.filled + f.there + f.refused + f.absent + f.kept_out + f.dropped
end

local _, plain = chase()
tap.is(plain.fill.asked, 0, "nothing is asked for unless a policy does")
local before = plain.walk.walks
tap.ok(before >= PAGES, "each page is walked for", before)

for _, use in ipairs { "pte_line", "policies/pte_line.lua" } do
    local _, c = chase({}, use)
    local f = c.fill
    tap.is(fates(f), f.asked, use .. ": each page has one fate")
    tap.is(f.asked, 15 * c.walk.walks, use .. ": the neighbours of each walk")
    -- data are pages 0 to 255 of whole lines, sum one page behind them
    tap.is(c.walk.walks, PAGES // 16 + before - PAGES,
        use .. ": one walk for the pages of a line")
    tap.is(f.refused, 0, use .. ": of a line that was read")
    tap.is(c.prefetch.useful, PAGES - PAGES // 16, use .. ": all are of use")
end

-- A group of 32 pages has its entries in two lines: half is refused.
for _, case in ipairs { { 128, 15 }, { 64, 7 }, { 32, 3 }, { 8, 0 }, { 4096, 31 } } do
    local bytes, most = case[1], case[2]
    local _, c = chase({ ["fill.bytes"] = bytes }, "pte_line", { reach = 32 })
    local f = c.fill
    tap.is(fates(f), f.asked, ("fill.bytes=%d: each page has one fate"):format(bytes))
    tap.is(c.walk.walks, PAGES // (most + 1) + before - PAGES,
        ("fill.bytes=%d: walks"):format(bytes))
    if bytes == 32 then
        tap.ok(f.refused >= c.walk.walks * 24, "what is in another line is refused",
            f.refused)
    end
end

-- Answered without its last read, or by the walk cache: nothing was read.
do
    local _, c = chase({}, { name = "skips", walk_step = function(q)
        for k = 1, 3 do fill(q.app, q.vpn ~ k) end
        return q.level == q.leaf and "answer" or "read"
    end })
    tap.is(fates(c.fill), c.fill.asked, "an answer without a read: each has a fate")
    tap.is(c.fill.filled, 0, "and none is filled")
end

-- At each of a walk's steps: one fate each, the first is filled.
do
    local _, c = chase({}, { name = "early", walk_step = function(q)
        if q.level == q.leaf then fill(q.app, q.vpn ~ 1) end
    end })
    tap.is(c.walk.walks, PAGES // 2 + before - PAGES, "asked before the last read")
    tap.is(fates(c.fill), c.fill.asked, "each of them has a fate")
end

-- A queue of one: the others are dropped.
do
    local _, c = chase({ ["fill.queue"] = 1 }, "pte_line")
    tap.is(c.fill.dropped, c.walk.walks * 14, "a full queue drops the newcomers")
    tap.is(fates(c.fill), c.fill.asked, "which is a fate")
end

-- Ports: what a fill takes, look-ups of the same cycle wait for.
do
    local s = {}
    for ports = 0, 2 do
        s[ports] = chase({ ["fill.ports"] = ports, ["l2tlb.ports"] = 1 }, "pte_line").now
    end
    local wide = chase({ ["fill.ports"] = 1, ["l2tlb.ports"] = 16 }, "pte_line").now
    tap.ok(s[0] <= s[1] and s[1] <= s[2], "ports cost time",
        ("%d %d %d"):format(s[0], s[1], s[2]))
    tap.ok(s[0] == wide, "unless there are enough", ("%d %d"):format(s[0], wide))
end

-- To an L1 TLB: the walk's core has the page, the L2 TLB does not.
do
    local _, c = chase({ ["l1tlb.entries"] = 64 }, "pte_line", { to = "l1tlb" })
    -- (which hold none of the first launch in the second)
    tap.is(c.walk.walks, 2 * PAGES // 16 + before - PAGES, "L1 TLBs take them, too")
    tap.ok(c.prefetch.filled > 0 and c.prefetch.useful > 0, "and they are of use there")
end

-- ---- words ----------------------------------------------------------------------

local function refused(what, policy, pattern, settings)
    local ok, err = pcall(chase, settings or {}, policy)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
local function asks(...)
    local args = table.pack(...)
    return { name = "asks", tlb_fill = function()
        fill(table.unpack(args, 1, args.n))
    end }
end
refused("an application that is none", asks(1, 1), "no application 1")
do -- the walk's, of two, is at hand
    local sim <close> = whole.sim({ "GUP", "ATAX" }, whole.SMALL)
    sim:use { name = "asks", tlb_fill = function(q) fill(1 - q.app, q.vpn) end }
    local ok, err = pcall(sim.run, sim)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find "of application %d, but the walk is application %d's",
        "another application's page", err)
end
refused("a page that cannot be", asks(0, 1 << 40), "page 0x10000000000")
refused("a core that is none", asks(0, 1, { core = 99 }), "core 99")
refused("a TLB that is none", asks(0, 1, { to = "l3tlb" }), "l2tlb|l1tlb|l1side")
refused("a buffer that is not there", asks(0, 1, { to = "l1side" }), "no l1side")
refused("no walk at hand", { name = "late", watch = { tlb_miss = function(n)
    fill(n.app, n.vpn) end } }, "only in walk_step, walk_done and tlb_fill")
refused("walks that read nothing", asks(0, 1), "walk.mode", { ["walk.mode"] = "fixed:100" })
tap.done()

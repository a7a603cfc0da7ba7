--[[
231-walktable.lua - where walks read, by a policy (walktable.bytes, walk_address).

Pinned: memory for a table, and a policy that reads what the page table says, change
nothing; an unloaded walk takes as many reads as the policy says, each as long as any,
not a cycle less: one of its table, n of it, n and the levels where it falls back, and
the levels above the one with which it ends; reads are at the addresses named, which are
no page's and no page table's; what is asked is what a walk reads; counts agree with a
walk cache of either style, with batches, per core, sampled and under far faults; what
is wrong is refused in words; the same after a restore; fs_hpt has one read a walk, and
as many as a naive table says where pages collide.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local PAGES, READ = 64, 102 -- a read of a walk: the L2's 100 and the way
local FIXED = { ["l1tlb.entries"] = 1, ["vm.page"] = "4K", ["l2cache.mode"] = "fixed:100",
    ["l2tlb.entries"] = 16, ["l2tlb.ways"] = 16, ["walktable.bytes"] = 64 << 10 }

local function chase(settings, use, options)
    local sim = H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.app("PCHASE", { bytes = PAGES * 4096, stride = 4096, passes = 1 }) },
        settings = whole.join(FIXED, settings or {}) }
    if use then sim:use(use, options) end
    sim:run()
    sim:check()
    return sim:counters(), sim.now, sim
end

local function asks(fn, more)
    return whole.join({ name = "asks", walk_address = fn }, more or {})
end

-- ---- nothing changes --------------------------------------------------------------

local plain, at = chase { ["walktable.bytes"] = 0 }
for what, policy in pairs { ["no policy"] = false,
    ["one of the page table"] = asks(function() return 0 end),
    ["one that passes"] = asks(function() end) } do
    local c, now = chase({}, policy)
    tap.is(now, at, what .. ": the same end")
    tap.is(c.walk.busy_cycles, plain.walk.busy_cycles, what .. ": the same walks")
    tap.is(c.walktable.reads, 0, what .. ": none of the table")
end

-- ---- time --------------------------------------------------------------------------

tap.is(plain.walk.busy_cycles, 4 * READ * plain.walk.walks, "a plain walk is four reads")

--- Every walk is so many reads, each at its instant: of the table, found, fell, short.
local function exact(what, fn, reads, table, found, fell, short)
    local seen = { first = math.maxinteger, last = 0 }
    local c, _, sim = chase({}, asks(fn, { state = seen, watch = {
        walk_done = function(n, s)
            s.first, s.last = math.min(s.first, n.cycles), math.max(s.last, n.cycles)
        end } }))
    local s, w, n = sim:used()[1].state, c.walktable, c.walk.walks
    tap.is(s.first, reads * READ, what .. ": no walk is shorter")
    tap.is(s.last, reads * READ, what .. ": nor is one longer")
    tap.is(c.walk.references, reads * n, what .. ": reads")
    tap.is(("%d %d %d %d"):format(w.reads, w.found, w.fell, w.short),
        ("%d %d %d %d"):format(table * n, found * n, fell * n, short * n),
        what .. ": of the table, found, fell back, ended above the leaf")
    tap.is(n, plain.walk.walks, what .. ": as many walks")
end
local function hashed(q) return 1 + q.page % q.entries end
exact("hashed", function(q) return hashed(q), true end, 1, 1, 1, 0, 0)
exact("three probes", function(q) return hashed(q), q.probes == 2 end, 3, 3, 1, 0, 0)
exact("two, and the levels", function(q) return q.made < 2 and hashed(q) or 0 end,
    6, 2, 0, 1, 0)
exact("one behind each level", function(q)
    return q.made % 2 == 1 and hashed(q) or 0 end, 7, 3, 0, 0, 0)
exact("two levels", function(q) return 0, q.level == 2 end, 2, 0, 0, 0, 1)
exact("ended at the leaf", function(q) return 0, q.level == q.leaf end, 4, 0, 0, 0, 0)
exact("found at the second level", function(q)
    if q.level == 2 then return hashed(q), true end
    return 0
end, 2, 1, 1, 0, 0)

-- ---- what is asked, and where ----------------------------------------------------------

do
    local c, _, sim = chase({}, asks(function(q, s)
        s.asked = s.asked + 1
        local fresh = q.made == 0
        local good = q.entries == 8192 and q.leaf == 4 and q.page == q.vpn and q.ends == 0
            and q.level == (fresh and 1 or s.level + (s.table and 0 or 1))
            and q.probes == (fresh and 0 or s.probes)
            and (fresh or s.table or q.address == s.next)
            and (fresh or not s.table or q.address == s.address)
            and (q.next == 0) == (q.level == 4)
        s.wrong = s.wrong + (good and 0 or 1)
        s.table = q.level % 2 == 1 and not (not fresh and s.table)
        s.level, s.next, s.address = q.level, q.next, q.address
        s.probes = q.probes + (s.table and 1 or 0)
        s.want = s.table and s.first + 8 * (q.vpn % q.entries) or q.address
        return s.table and hashed(q) or 0
    end, { state = { asked = 0, wrong = 0, level = 0, probes = 0, places = 0,
        first = (3 << 30) - (64 << 10) }, watch = {
        walk_read = function(n, s)
            s.wrong = s.wrong + (n.address == s.want and 0 or 1)
            s.places = s.places + (n.address >= s.first and n.level == 4 and 1 or 0)
        end } }))
    local s = sim:used()[1].state
    tap.is(s.wrong, 0, "questions and reads are what the last answer makes them")
    tap.is(s.asked, 6 * c.walk.walks, "each read is asked about")
    tap.is(s.places, c.walktable.reads, "those of the table are in the last frames")
    tap.is(c.walk.references_level4, 3 * c.walk.walks, "and count as the leaf's")
end

-- ---- with what else walks do ---------------------------------------------------------

--- Ends with a table's read for half of the pages, after one that misses for the others.
local function half(q)
    if q.probes < q.made then return 0 end
    if q.page % 2 == 0 then return hashed(q), true end
    return q.probes == 0 and hashed(q) or 0, false
end
local SMALL = whole.join(whole.SMALL, { ["sim.budget"] = 4000, ["walktable.bytes"] = 8192 })
local walkers = {
    ["as it is"] = {},
    ["a walk cache by address"] = { ["pwc.mode"] = "full", ["pwc.style"] = "physical",
        ["pwc.entries"] = 16 },
    ["one by prefix"] = { ["pwc.mode"] = "full", ["pwc.style"] = "prefix",
        ["pwc.entries"] = 16 },
    ["batches"] = { ["walk.batch"] = 16, ["walk.walkers"] = 2 },
    ["batches with a walk cache"] = { ["walk.batch"] = 16, ["walk.walkers"] = 2,
        ["pwc.mode"] = "full", ["pwc.style"] = "prefix", ["pwc.entries"] = 16 },
    ["walkers of each core"] = { ["walk.per_core"] = true, ["walk.walkers"] = 2 },
    ["by the cores' ports"] = { ["walk.port"] = "core" },
    ["sampled"] = { ["sample.every"] = 900, ["sample.window"] = 200,
        ["sample.warm"] = 100, ["sim.budget"] = 0 },
    ["far faults"] = { ["vm.paging"] = "fault", ["link.latency"] = 300,
        ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 1900,
        ["evict.unit"] = "64K" },
    ["subregions"] = { ["l2tlb.sub_ways"] = 2, ["msc.entries"] = 8 },
    ["another format"] = { ["vm.format"] = "ampere" },
    ["large pages"] = { ["vm.page"] = "2M" },
}
for what, settings in pairs(walkers) do
    local ok, err = pcall(function()
        local sim <close> = whole.sim(what == "sampled" and { whole.random(32, 60, 1) }
            or { "GUP", "ATAX" },
            whole.join(SMALL, settings),
            { check = true })
        sim:use(asks(half))
        sim:run(1500)
        local snap = sim:snapshot()
        sim:run()
        sim:check()
        local w, walk = sim:counters().walktable, sim:counters().walk
        tap.ok(w.found > 0 and w.fell > 0 and w.found + w.fell <= w.reads
            and (what == "sampled" or w.reads <= walk.references + walk.merged + 64),
            what .. ": walks end with the table, and behind it",
            ("%d %d %d %d"):format(w.reads, w.found, w.fell, walk.references))
        local d = whole.again(sim, snap, 991)
        tap.ok(not d, what .. ": the same after a restore, in steps", d and tostring(d))
    end)
    if not ok then
        tap.ok(false, what, type(err) == "table" and err.message or err)
    end
end

-- ---- words ----------------------------------------------------------------------------

local function refused(what, policy, pattern, settings)
    local ok, err = pcall(chase, settings or {}, policy)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
local name = "policy asks.*walk_address.*cycle %d+.*expected 0 to %d+"
refused("an entry behind the table", asks(function(q) return q.entries + 1 end), name)
refused("a walk that never ends", asks(function() return 7 end),
    "policy asks.*walk_address.*cycle %d+, expected 0 to 0;.*probes=5 ",
    { ["walktable.reads"] = 5 })
refused("a second result that is none", asks(function(q) return hashed(q), 1 end),
    "walk_address.*true, false or nothing, as its second result")
refused("no table", asks(hashed), "walk_address, which this machine never asks",
    { ["walktable.bytes"] = 0 })
refused("walks that read nothing", asks(hashed), "never asks",
    { ["walk.mode"] = "fixed:100" })
refused("half a frame", false,
    "walktable.bytes: 100; a multiple of 4096 is expected, below the 16777216 bytes",
    { ["walktable.bytes"] = 100 })
refused("all of the tables' frames", false, "vm.table_frames",
    { ["walktable.bytes"] = 16 << 20 })
refused("no frame left for the tables", false, "out of frames.*vm.table_frames",
    { ["walktable.bytes"] = 4095 << 12 })

-- ---- fs_hpt ----------------------------------------------------------------------------

local HPT = "policies/fs_hpt.lua"
do
    local c = chase({ ["walktable.bytes"] = 1 << 20 }, HPT)
    tap.is(c.walk.busy_cycles, READ * c.walk.references, "fs_hpt: walks are their reads")
    tap.ok(c.walk.references - c.walk.walks < 4, "fs_hpt: one read, with room for all",
        ("%d of %d"):format(c.walk.references, c.walk.walks))
    tap.is(c.walktable.found, c.walk.walks, "fs_hpt: all are found")
    -- A naive table, by each walk's reads: places of 16 bytes, or as many entries as are
    -- named, taken in the order of first walks.
    for _, case in ipairs { { 8, 8 }, { 8, 1 }, { 8, 3 }, { 16, 2 } } do
        local words, most = case[1], case[2]
        local title = ("fs_hpt: %d words, %d probes"):format(words, most)
        local sim <close> = H.sim { machine = "maxwell", progress = false, check = true,
            apps = { H.app("PCHASE", { bytes = PAGES * 4096, stride = 4096, passes = 1 }) },
            settings = whole.join(FIXED, { ["walktable.bytes"] = 4096 }) }
        sim:use(HPT, { words = words, probes = most })
        sim:use { name = "naive", state = { taken = {}, wrong = 0, walks = 0, late = 0 },
            watch = { walk_done = function(n, s)
                local places, reads = 512 // words, nil
                for k = 0, most - 1 do
                    local place = ((n.vpn * 0x9e3779b97f4a7c15 >> 32) + k) % places
                    s.taken[place] = s.taken[place] or n.vpn
                    if s.taken[place] == n.vpn then reads = k + 1 break end
                end
                s.walks = s.walks + 1
                s.late = s.late + (reads == 1 and 0 or 1)
                s.wrong = s.wrong + (n.references == (reads or most + 4) and 0 or 1)
            end } }
        sim:run()
        sim:check()
        local s = sim:used()[2].state
        tap.is(s.wrong, 0, title .. ": each walk makes a naive table's reads")
        tap.ok(s.walks == c.walk.walks and s.late > 0, title .. ": some collide",
            ("%d of %d"):format(s.late, s.walks))
    end
end

-- Pages that leave give their places to others.
do
    local sim <close> = whole.sim({ "CONS" }, whole.join(whole.SMALL, walkers["far faults"], {
        ["evict.unit"] = "4K", ["vm.table_frames"] = 2030, ["walktable.bytes"] = 16384,
        ["sim.budget"] = 0 }), { check = true })
    sim:use(HPT)
    sim:run()
    sim:check()
    local s, n, held = sim:used()[1].state, 0, 0
    for _, k in pairs(s.at) do n = n + (k > 0 and 1 or 0) end
    for _ in pairs(s.page) do held = held + 1 end
    tap.is(n, held, "each place that is taken has its page")
    tap.ok(sim:counters().evict.evictions > 0 and held <= 30, "those that were evicted left",
        held)
end
tap.done()

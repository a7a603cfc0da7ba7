-- 227-levels.lua - pins: levels of uTLBs in a whole machine.  A chase through more
-- and more pages of 2 MB takes an L2 hit and the look-ups of the levels that it
-- asks, to the cycle, and the steps are where entries x sub-entries x page size
-- end; cores of one uneven group take each other's entries, others do not; runs
-- with far faults, moved pages, policies and two applications pass the checks and
-- continue from snapshots; entries of 512 MB; replacement policies at a level, in C
-- and in Lua, and what tlb_insert answers there; what does not fit is refused with the
-- level's name.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"

local MB = 1 << 20

--- Levels as on a V100, with fewer entries in the second and third: a TPC's, a
-- GPC's, and one of all.
local V100 = whole.join(whole.ROUND, {
    ["core.count"] = 8, ["vm.page"] = "2M", ["vm.memory_bytes"] = 2 << 30,
    ["l1tlb.mode"] = "off", ["l1tlb.blocking"] = "none",
    ["utlb1.entries"] = 16, ["utlb1.share"] = 2, ["utlb1.latency"] = 1,
    ["utlb2.entries"] = 2, ["utlb2.share"] = 4, ["utlb2.sub_2m"] = 16,
    ["utlb2.latency"] = 9,
    ["utlb3.entries"] = 8, ["utlb3.share"] = 0, ["utlb3.sub_2m"] = 8,
    ["utlb3.ways"] = 2, ["utlb3.hash_bits"] = 2, ["utlb3.latency"] = 40,
    ["l2tlb.mode"] = "off", ["walk.latency"] = 3,
    ["l1cache.mode"] = "off", ["l2cache.bytes"] = 4 * MB,
})

--- The mean of loads by one warp in a machine that has had all of them before:
-- `pages` of them, `step` bytes apart and a line.
local function chase(pages, step, settings)
    local sum = {}
    for rounds = 3, 4 do
        local app = k.app { name = "chase", source = "this test",
            buffers = function() return { k.i32("a", 128 * MB) } end,
            kernels = function(_, b) return {
                k.kernel("chase", { block = 32 }, function(t)
                    t:loop(rounds, function()
                        t:loop(pages, function(i)
                            t:load(b.a, i * (step // 4 + 32))
                            t:alu(1)
                        end)
                    end)
                end) } end }
        local sim <close> = H.sim { machine = "maxwell", settings = settings,
            apps = { H.program(app) } }
        sim:run()
        for _, h in ipairs(sim:results().histograms) do
            if h.name == "load_latency" then
                sum[rounds] = h.apps[1].sum
            end
        end
    end
    return (sum[4] - sum[3]) / pages
end

local hit = chase(8, 2 * MB, whole.join(V100, { ["sim.translation"] = "off" }))
local function takes(pages, cycles, what)
    tap.is(chase(pages, 2 * MB, V100) - hit, cycles + 0.0, what)
end
takes(1, 3 + 1, "one page: the first level, and the way of its answer")
takes(16, 3 + 1, "16 pages of 2 MB are in the first level")
takes(17, 3 + 1 + 9, "17 are not, in turns: each is asked from the second")
takes(32, 3 + 1 + 9, "2 entries of 16 hold 32")
takes(33, 3 + 1 + 9 + 40, "33 have 3 tags: each is asked from the third")
takes(60, 3 + 1 + 9 + 40, "which has 64")
tap.ok(chase(72, 2 * MB, V100) - hit > 3 + 1 + 9 + 40 + 20,
    "72 pages are walked for, some of them")
tap.is(chase(16, 4 * MB, V100) - hit, 4.0,
    "16 entries are 16 pages at any stride")
tap.is(chase(17, 4 * MB, V100) - hit, 53.0,
    "at twice the stride 17 pages have 3 tags in the second level")

-- ---- who shares -----------------------------------------------------------------

--- Blocks of one warp, one on a core, read pages of their own, again and again.
local function shared(groups)
    local app = k.app { name = "shared", source = "this test",
        buffers = function() return { k.i32("a", 64 * MB) } end,
        kernels = function(_, b) return {
            k.kernel("shared", { grid = 6, block = 32 }, function(t)
                t:loop(60, function(i)
                    t:load(b.a, (t.gid // 32 * 3 + i % 3) * (MB // 2))
                    t:alu(1)
                end)
            end) } end }
    local sim <close> = H.sim { machine = "maxwell", check = true,
        apps = { H.program(app) },
        settings = whole.join(V100, { ["core.count"] = 6, ["core.blocks"] = 1,
            ["utlb1.entries"] = 6, ["utlb1.groups"] = groups,
            ["utlb2.entries"] = 0, ["utlb3.entries"] = 0 }) }
    sim:run()
    local c = sim:counters().utlb1
    return c.requests - c.hits
end

local missed = shared "3x2"
tap.is(missed, 18, "two cores with three pages each fit 6 entries: 18 first misses")
missed = shared "0,5 1,4 2-3"
tap.is(missed, 18, "whichever the two are")
missed = shared "1x3 1x1 1x2"
tap.ok(missed > 18 + 3 * 50, "three do not, and miss all the time", missed)

-- ---- what comes with a page ------------------------------------------------------

-- Pages that one walk fills: those whose entries are in the same 128 bytes, 8 bytes
-- each; in x86-64 a page of 64 KB has sixteen of them, and in NVIDIA's formats one of
-- 2 MB has 16 bytes.
for _, case in ipairs {
    { "x86-64", "4K", 16 }, { "x86-64", "64K", 1 }, { "x86-64", "2M", 16 },
    { "volta", "4K", 16 }, { "volta", "64K", 16 }, { "volta", "2M", 8 },
} do
    local format, page, each = table.unpack(case)
    local bytes = 32 * ({ ["4K"] = 4096, ["64K"] = 65536, ["2M"] = 2 << 20 })[page]
    local sim <close> = whole.sim({ H.app("PCHASE", { bytes = bytes,
        stride = bytes // 32, passes = 1, line = 0 }) }, { ["vm.format"] = format,
        ["vm.page"] = page, ["vm.round"] = true, ["l1tlb.mode"] = "off",
        ["l1tlb.blocking"] = "none", ["l2tlb.mode"] = "off",
        ["utlb1.entries"] = 64, ["utlb1.share"] = 0, ["utlb1.sub_4k"] = 16,
        ["utlb1.sub_64k"] = 16, ["utlb1.sub_2m"] = 16, ["utlb1.fill"] = "line" },
        { check = true })
    sim:run()
    local walks = sim:counters().walk.walks
    tap.ok(walks >= 32 // each and walks <= 32 // each + 2,
        ("%s, %s: %d pages a walk"):format(format, page, each), walks)
end

-- ---- pages of 512 MB ----------------------------------------------------------

-- A GB in two of them: a level that holds them walks once for each, and one that does
-- not once for each 2 MB; what the cores get is the same frames (check).
for _, case in ipairs { { 0, 512 }, { 1, 2 }, { 2, 2 } } do
    local sub, walks = table.unpack(case)
    local sim <close> = whole.sim({ H.app("PCHASE", { bytes = 1 << 30,
        stride = 2 << 20, passes = 2, line = 0 }) }, { ["vm.format"] = "hopper",
        ["vm.page"] = "512M", ["vm.memory_bytes"] = 3 << 30, ["l1tlb.mode"] = "off",
        ["l1tlb.blocking"] = "none", ["l2tlb.mode"] = "off", ["utlb1.entries"] = 4,
        ["utlb1.share"] = 0, ["utlb2.entries"] = 16, ["utlb2.share"] = 0,
        ["utlb2.fill"] = "line", ["utlb2.sub_2m"] = 32, ["utlb2.sub_512m"] = sub },
        { check = true })
    local snap = sim:snapshot()
    sim:run()
    local c = sim:counters()
    tap.ok(c.walk.walks >= walks and c.walk.walks <= walks + 2
        or sub == 0 and c.walk.walks > 60,
        ("sub_512m = %d: walks"):format(sub), c.walk.walks)
    tap.ok(sub == 0 or c.utlb2.fills <= 4, "  and fills", c.utlb2.fills)
    local spans = {}
    for _, row in ipairs(sim:look("utlb2", 0)) do
        if row.kind == "entry" then
            spans[row.pages] = (spans[row.pages] or 0) + 1
        end
    end
    tap.is(spans[131072], sub > 0 and 2 or nil, "  two entries of 512 MB, or none")
    local d = whole.again(sim, snap, 997)
    tap.ok(not d, "  the same after a restore", d and tostring(d))
end

-- ---- whole machines -------------------------------------------------------------

local SMALL = whole.join(whole.SMALL, {
    ["utlb1.entries"] = 4, ["utlb1.share"] = 2, ["utlb1.mshrs"] = 4,
    ["utlb2.entries"] = 8, ["utlb2.ways"] = 2, ["utlb2.hash_bits"] = 2,
    ["utlb2.sub_4k"] = 8, ["utlb2.fill"] = "line", ["utlb2.share"] = 0,
    ["utlb3.entries"] = 16, ["utlb3.ways"] = 4, ["utlb3.sub_4k"] = 4,
    ["utlb3.share"] = 0, ["utlb3.replace"] = "random", ["utlb3.mshrs"] = 6,
    ["sim.budget"] = 20000,
})
local hits, passed, cleared = { 0, 0, 0 }, 0, 0
for _, case in ipairs {
    { "resident", { "GUP", "ATAX" }, {} },
    { "no TLB in the core", { "BFS2" }, { ["l1tlb.mode"] = "off",
        ["l2tlb.mode"] = "off" } },
    { "far faults", { "ATAX" }, { ["vm.paging"] = "fault" } },
    { "little memory", { whole.any(96, 5, 4) }, { ["vm.paging"] = "fault",
        ["link.latency"] = 400, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - 48, ["evict.unit"] = "4K",
        ["sim.relaunch"] = false } },
    { "the driver, little memory", { whole.any(1400, 5, 4) },
        { ["vm.paging"] = "fault", ["vm.memory_bytes"] = 64 << 20,
            ["vm.table_frames"] = (64 << 8) - 1536, ["uvm.mode"] = "driver",
            ["uvm.base_latency"] = 2000, ["uvm.block_latency"] = 500,
            ["uvm.utlb_merge"] = false, ["sim.relaunch"] = false } },
    { "pages that are coalesced", { "ATAX", "GUP" },
        { ["vm.paging"] = "fault" }, "mosaic" },
    { "runs of pages", { "GUP" }, {}, "colt" },
} do
    local what, apps, settings, policy = table.unpack(case, 1, 4)
    local sim <close> = whole.sim(apps, whole.join(SMALL, settings),
        { check = true })
    if policy then
        sim:use(policy)
    end
    sim:run(3000)
    local snap = sim:snapshot()
    sim:run()
    sim:check()
    local d = whole.again(sim, snap, 997)
    tap.ok(not d, what .. ": the same after a restore", d and tostring(d))
    local c = sim:counters()
    for i = 1, 3 do
        local u = c["utlb" .. i]
        hits[i] = hits[i] + u.hits
        tap.is(u.hits + u.misses, u.requests,
            ("%s: level %d has all its requests"):format(what, i))
    end
    tap.ok(c.utlb1.misses - c.utlb1.merges >= c.utlb2.requests,
        what .. ": what misses goes on once")
    passed = passed + c.utlb1.passed
    cleared = cleared + c.utlb2.invalidations
end
tap.ok(math.min(table.unpack(hits)) > 100, "all levels hit",
    table.concat(hits, " "))
tap.ok(passed > 0, "some had joined a miss of a page on the host", passed)
tap.ok(cleared > 0, "pages that left the memory left the levels", cleared)

-- ---- policies at a level ----------------------------------------------------------

--- Statistics of a run with a policy, the policy's own left out.
local function with(settings, policy, options)
    local sim <close> = whole.sim({ "GUP", "MM" }, whole.join(SMALL,
        { ["utlb2.sub_4k"] = 1, ["utlb2.fill"] = "page", ["utlb3.sub_4k"] = 1 },
        settings), { check = true })
    if policy then
        sim:use(policy, options)
    end
    sim:run(12000)
    sim:check()
    return whole.statistics(sim, whole.no_policy), sim:counters()
end

local default = with {}
for _, case in ipairs { { "lru", "utlb1" }, { "fifo", "utlb2" }, { "random", "utlb2" },
    { "srrip", "utlb3" } } do
    local name, at = table.unpack(case)
    local c, n = with({}, name, { at = at })
    local lua, m = with({}, "policies/" .. name .. ".lua", { at = at })
    local d = whole.difference(c, lua)
    tap.ok(not d, ("%s at %s: C and Lua alike"):format(name, at), d)
    tap.ok(n.policy["repl_victim.asked"] > 30 and n.policy["repl_victim.asked"]
        == m.policy["repl_victim.asked"] and (name == "lru"
        or whole.difference(c, default)), "  it was asked, and decided",
        n.policy["repl_victim.asked"])
end
for _, at in ipairs { "utlb1", "utlb2" } do -- whose default it is
    tap.is(whole.difference(with({}, "lru", { at = at }), default), nil,
        "lru at " .. at .. " is the default")
end
for _, replace in ipairs { "random", "fifo" } do
    tap.is(whole.difference(with({ ["utlb3.replace"] = replace }, "lru",
        { at = "utlb3" }), (with { ["utlb3.replace"] = "lru" })), nil,
        "lru at utlb3 decides, whatever " .. replace .. " would")
end

do
    local function asked(answer, at)
        local text = ("return { name = 'insert', tlb_insert = function(q) "
            .. "if q.level ~= %d or q.pages ~= 1 or q.cause ~= 'walk' and q.cause "
            .. "~= 'hit' then error 'another question' end return %s end }"):format(
            2 + tonumber(at:sub(-1)), answer)
        return with({}, load(text)(), { at = at })
    end
    tap.is(whole.difference(asked("nil", "utlb2"), default), nil,
        "a policy that passes changes nothing")
    local _, c = asked("'skip'", "utlb2")
    tap.ok(c.utlb2.fills == 0 and c.utlb2.hits == 0 and c.utlb1.fills > 0
        and c.utlb3.hits > 0 and c.policy["tlb_insert.asked"] > 100,
        "skip: nothing enters that level, and the others fill", c.utlb2.fills)
    local last, n = asked("'last'", "utlb2")
    tap.ok(whole.difference(last, default) and n.utlb2.fills > 100
        and n.utlb2.evictions > 0, "last: a new entry leaves first")
end

do -- what is looked into, and what waits
    local sim <close> = whole.sim({ "GUP" }, whole.join(SMALL,
        { ["l2tlb.mode"] = "off", ["l1tlb.mode"] = "off" }), { check = true })
    local waits, misses, entries = {}, 0, 0
    while sim:run(211) == "ok" do
        for _, row in ipairs(sim:stuck()) do
            waits[row.who .. " for " .. row["for"]] = true
        end
        for _, row in ipairs(sim:look("utlb2", 0)) do
            misses = misses + (row.kind == "miss" and row.requesters > 0
                and 1 or 0)
            entries = entries + (row.kind == "entry" and row.pages == 1
                and row.set < 4 and 1 or 0)
        end
    end
    for _, wait in ipairs { "utlb1 for utlb2", "utlb2 for utlb3",
        "utlb3 for l2tlb", "utlb1 for a free MSHR" } do
        tap.ok(waits[wait], wait)
    end
    tap.ok(misses > 0 and entries > 0, "misses and sub-entries are shown",
        misses .. " " .. entries)
end

-- ---- words ----------------------------------------------------------------------

for _, case in ipairs {
    { { ["utlb2.groups"] = "2x2" }, "utlb2.groups: core 4 of 6 .* is in no group" },
    { { ["utlb2.groups"] = "0-3 2-5" }, "utlb2.groups: core 2 is in two groups" },
    { { ["utlb2.groups"] = "0-3 4-6" }, "utlb2.groups: core 6 .* 6 cores" },
    { { ["utlb2.groups"] = "all" }, "utlb2.groups: `all' is not a group" },
    { { ["utlb2.share"] = 3, ["utlb1.share"] = 2 },
        "utlb2: cores 2 and 3 share an instance of utlb1" },
    { { ["utlb2.sub_2m"] = 12 }, "utlb2.sub_2m: 12 pages" },
    { { ["utlb2.sub_2m"] = 0, ["utlb2.sub_4k"] = 0, ["utlb2.sub_64k"] = 0 },
        "utlb2.sub_4k, utlb2.sub_64k and utlb2.sub_2m are 0" },
    { { ["utlb2.hash_bits"] = 3 }, "utlb2.hash_bits: .*8 sets, and utlb2 has 4" },
    { { ["utlb2.hash_from"] = 20 }, "utlb2.hash_from: 20" },
    { { ["utlb2.ways"] = 3 }, "utlb2.entries: 8 is not a multiple" },
    { { ["walk.per_core"] = true }, "walk.per_core: true" },
} do
    local settings = whole.join({ ["core.count"] = 6, ["utlb1.entries"] = 4,
        ["utlb2.entries"] = 8, ["utlb2.ways"] = 2 }, case[1])
    local ok, err = pcall(whole.sim, { "GUP" }, settings)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(case[2]), case[2], err)
end

tap.done()

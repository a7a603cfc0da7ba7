-- 569-place.lua - where pages go: the policies runs, buddy and reserve, and a hog.
--
-- In C and in Lua they give byte-identical statistics, checked while running:
-- before cycle 0, with pages from the host that leave again, with allocations
-- that go and come back, torn memory, and compaction.  Fresh memory is one
-- block to the buddy, so all of it is contiguous; torn blocks are used up first,
-- and compaction puts them together again.  What runs covers follows its
-- parameter.  Where pages come 64 KB at a time, in the order of faults, and leave,
-- reserve keeps their places, and gives them up where memory is full.  All count
-- what sim:look shows of the page table.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local FEW = { ["core.count"] = 4, ["vm.scan"] = true }
local CYCLES = 20000

local function run(policy, options, settings, apps)
    local sim <close> = H.sim { machine = "mesc", check = true,
        apps = apps and apps() or { H.app("GUP", { size = "S" }),
            H.app("CONS", { size = "S" }) },
        settings = whole.join(FEW, settings) }
    if policy then
        sim:use(policy, options)
    end
    sim:run(CYCLES)
    sim:check()
    return sim:counters(), whole.statistics(sim), sim:look("pagetable", 0)
end

local function freers()
    return { whole.freer(700, 12, "x"), whole.freer(1500, 8, "y") }
end

local TORN = { ["memory.hog"] = 25, ["memory.hog_torn"] = 12 }
local HOST = { ["vm.paging"] = "fault", ["vm.memory_bytes"] = 12 << 20,
    ["vm.table_frames"] = 2048, ["link.latency"] = 300,
    ["link.bandwidth"] = 200000000000, ["fault.transfer"] = "2M",
    ["evict.unit"] = "64K" }
local CASES = {
    { "runs", {}, {} },
    { "runs", { broken = 1000 }, TORN },
    { "runs", { broken = 0 }, HOST },
    { "runs", {}, { ["memory.free_at_end"] = true }, freers },
    { "buddy", {}, {} },
    { "buddy", {}, TORN },
    { "buddy", { defrag = "hog" }, TORN },
    { "buddy", { defrag = "hog" }, whole.join(HOST, { ["memory.hog_torn"] = 1,
        ["memory.hog_kept"] = 25 }) },
    { "buddy", { defrag = "hog" }, whole.join(TORN,
        { ["memory.free_at_end"] = true }), freers },
    { "buddy", { defrag = "all" }, whole.join(TORN,
        { ["memory.free_at_end"] = true, ["memory.move"] = "any" }), freers },
}
for i, case in ipairs(CASES) do
    local name, options, settings, apps = table.unpack(case, 1, 4)
    local c, left = run(name, options, settings, apps)
    local _, right = run("policies/" .. name .. ".lua", options, settings, apps)
    tap.ok(not whole.difference(left, right), "case " .. i ..
        ": C and Lua alike", whole.difference(left, right))
    tap.ok(c.policy["frame_place.asked"] > 20, "case " .. i ..
        ": it was asked", c.policy["frame_place.asked"])
    tap.is(c.mover.copy_reads > 0, options.defrag == "all", "case " .. i ..
        ": pages of programs move if they may", c.mover.copy_reads)
    if settings["vm.paging"] then
        tap.ok(c.evict.pages > 0, "case " .. i .. ": pages left",
            c.evict.pages)
    end
end

-- ---- what comes of it ---------------------------------------------------------

local function coverage(c)
    return c.memory.contiguous_peak / c.memory.mapped_peak
end

local plain = run()
local fresh = run "buddy"
tap.is(coverage(plain), 1.0, "the engine's order leaves nothing torn")
tap.is(coverage(fresh), 1.0, "nor does a buddy on fresh memory")
tap.is(fresh.memory.contiguous_2m_peak, fresh.memory.mapped_peak,
    "all 2 MB are contiguous")
local torn, _, rows = run("buddy", nil, TORN)
local mended = run("buddy", { defrag = "hog" }, TORN)
tap.ok(coverage(torn) < 0.4, "torn blocks are used up first", coverage(torn))
tap.ok(torn.memory.contiguous_2m_peak <= torn.memory.contiguous_peak,
    "AC is within C")
tap.ok(coverage(mended) > 0.9, "and compaction mends them", coverage(mended))
tap.ok(mended.memory.emptied >= 20 and mended.memory.moved
    >= 25 * mended.memory.emptied, "by moving what the hog has kept",
    mended.memory.emptied .. " " .. mended.memory.moved)
tap.is(mended.mover.copies or 0, 0, "at no cost to the GPU")

-- pages of rows of the page table by the definition
local pages, covered = 0, 0
for _, r in ipairs(rows) do
    pages = pages + r.pages
    local first = (r.vpn + 63) // 64 * 64
    covered = covered + math.max(0, (r.vpn + r.pages - first) // 64 * 64)
end
local _, _, second = run("buddy", nil, TORN)
tap.is(#second, #rows, "the same again")
do
    local sim <close> = H.sim { machine = "mesc", check = true,
        apps = { H.app("GUP", { size = "S" }) },
        settings = whole.join(FEW, TORN) }
    sim:use("buddy")
    sim:run(100)
    local of, n = sim:look("pagetable", 0), 0
    pages, covered = 0, 0
    for _, r in ipairs(of) do
        n, pages = n + 1, pages + r.pages
        local first = (r.vpn + 63) // 64 * 64
        covered = covered + math.max(0, (r.vpn + r.pages - first) // 64 * 64)
    end
    local c = sim:counters()
    tap.is(c.memory.contiguous_peak, covered, "C covers what runs do")
    tap.is(c.memory.mapped_peak, pages, "of all pages")
    for _, h in ipairs(H.report.collect(sim).histograms) do
        if h.component == "memory" then
            tap.is(h.apps[1].n, n, "the histogram has every run")
            tap.is(h.apps[1].sum, pages, "and all pages")
        end
    end
end

-- ---- reservations -----------------------------------------------------------------

local FAULTS = whole.join(HOST, { ["fault.transfer"] = "64K",
    ["evict.unit"] = "2M" })
local function columns()
    return { H.app("MVT", { size = "S" }), H.app("SRAD", { size = "S" }) }
end
for _, bytes in ipairs { 64 << 20, 20 << 20, (17 << 20) + 12345 * 4096 % (1 << 20) } do
    local settings = whole.join(FAULTS, { ["vm.memory_bytes"] = bytes,
        ["vm.table_frames"] = 4096 })
    local without = run(nil, nil, settings, columns)
    local with = run("reserve", nil, settings, columns)
    tap.ok(coverage(with) > 2 * coverage(without), ("%d bytes: pages are in order")
        :format(bytes), ("%.2f, %.2f"):format(coverage(with), coverage(without)))
end
do
    local settings = whole.join(FAULTS, { ["vm.memory_bytes"] = 18 << 20,
        ["vm.table_frames"] = 4096 })
    local sim <close> = H.sim { machine = "mesc", check = true, apps = columns(),
        settings = whole.join(FEW, settings), policies = { { use = "reserve" } } }
    sim:run(CYCLES)
    local snap = sim:snapshot()
    sim:run(CYCLES)
    local want = whole.statistics(sim)
    sim:restore(snap)
    sim:run(CYCLES)
    tap.ok(not whole.difference(want, whole.statistics(sim)),
        "reserve: a snapshot in the middle")
    sim:check()
end

local last = 2
for broken = 0, 1000, 250 do
    local c = run("runs", { broken = broken }, { ["core.count"] = 4 })
    tap.ok(coverage(c) < last, ("runs, broken=%d: less is contiguous"):format(
        broken), coverage(c))
    tap.ok(math.abs(coverage(c) - 0.9 * (1 - broken / 1000)) < 0.1,
        "about 0.9 of what is not broken", coverage(c))
    last = coverage(c)
end
tap.done()

-- 833-sample.lua - pins sampling.  Functional warming leaves in TLBs, walk caches
-- and caches what the same instructions leave there when they are simulated, in
-- the same order of use, whatever replaces and writes; windows that cover all
-- leave the run as it is, to the byte; every instruction is issued or skipped once,
-- and buffers hold what they would; equal runs are equal, however they are cut, and
-- go on from snapshots; estimates are what the windows say, and their interval what
-- a table of Student's t says; one launch of a cluster stands for the others, and
-- one with another mix does not; what has state in time is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"
local sampling = require "heddle.sampling"

-- ---- warming = simulating -----------------------------------------------------

--- One warp that waits for every access before the next: loads and atomics all
-- over a buffer, stores to other lines of a page that was just loaded, and loads
-- of one line at the end, behind which they have come down.
local function walk(steps)
    return H.program(k.app {
        name = "walk", source = "this test",
        buffers = function() return { k.i64("a", 1 << 18), k.i64("b", 64) } end,
        kernels = function(_, b)
            return { k.kernel("walk", { grid = 1, block = 32 }, function(t)
                t:alu(50) -- while which the first instructions are simulated
                t:loop(steps, function(j)
                    local at = (j * 40503 + j * j * 77) % (1 << 18)
                    local x = t:load(b.a, at)
                    t:alu(1, { uses = { x } })
                    t:store(b.a, at:bxor(32), j)
                    local y = t:load(b.a, (j % 40) * 640)
                    t:alu(3, { uses = { y } })
                    t:when((j % 5):eq(0), function()
                        local z = t:atomic("add", b.a, (j * 1237) % (1 << 18), 1)
                        t:alu(1, { uses = { z } })
                    end)
                    t:loop(30, function()
                        local w = t:load(b.b, 0)
                        t:alu(1, { uses = { w } })
                    end)
                end)
            end) }
        end })
end

local ARRAYS = { "l1tlb", "l1side", "l1cache", "utlb1", "utlb2", "l2tlb", "bypass",
    "pwc", "l2cache" }

--- All entries of all arrays, and the order of their use, as lines.
local function held(sim)
    local out, instances = {}, {}
    for _, o in ipairs(sim:objects()) do
        instances[o.name] = o.instances
    end
    for _, name in ipairs(ARRAYS) do
        for i = 0, (instances[name] or 0) - 1 do
            for _, row in ipairs(sim:look(name, i)) do
                local fields = {}
                for field, v in pairs(row) do
                    fields[#fields + 1] = field .. "=" .. tostring(v)
                end
                table.sort(fields)
                out[#out + 1] = name .. " " .. i .. ": "
                    .. table.concat(fields, " ")
            end
        end
    end
    return out
end

local SMALL = whole.join(whole.SMALL, { ["core.count"] = 1,
    ["dram.mode"] = "fixed:50", ["l2tlb.ways"] = 4 })

--- A whole run against one that is skipped as a whole.
local function paired(what, settings, policy, least)
    local got = {}
    for i, every in ipairs { 0, 1 << 40 } do
        local sim = whole.sim({ walk(400) }, whole.join(SMALL, settings,
            { ["sample.every"] = every, ["sample.warm"] = 0 }))
        if policy then sim:use(policy[1], policy[2]) end
        sim:run()
        got[i] = held(sim)
        if i == 2 then
            tap.ok(sim:results().sample.detailed <= 50, what .. ": all but some "
                .. "are skipped")
        end
        sim:close()
    end
    local d = whole.difference(got[1], got[2])
    tap.ok(not d and #got[1] > (least or 100), ("%s: warmed as simulated (%d "
        .. "entries)"):format(what, #got[1]), d or "too few entries")
end

paired("plain", {})
for _, write in ipairs { "through", "evict", "back" } do
    paired("L1 " .. write, { ["l1cache.write"] = write })
    paired("L2 " .. write, { ["l2cache.write"] = write })
end
paired("L1 and L2 write-back", { ["l1cache.write"] = "back",
    ["l1cache.bytes"] = 2048, ["l2cache.bytes"] = 32768 })
paired("walk cache by address", { ["pwc.mode"] = "full", ["pwc.entries"] = 32,
    ["pwc.ways"] = 4 })
paired("walk cache by prefix", { ["pwc.mode"] = "full", ["pwc.entries"] = 8,
    ["pwc.ways"] = 0, ["pwc.style"] = "prefix" })
paired("walkers in the core", { ["walk.per_core"] = true,
    ["walk.port"] = "core" })
paired("walks past the L2", { ["walk.memory"] = "dram" })
paired("64 KB pages", { ["vm.page"] = "64K", ["l1tlb.entries"] = 4 })
paired("2 MB pages", { ["vm.page"] = "2M", ["l1tlb.large_entries"] = 2,
    ["l2tlb.large_entries"] = 4 }, nil, 90)
paired("no L2 TLB", { ["l2tlb.mode"] = "off" })
paired("an ideal L1 TLB", { ["l1tlb.mode"] = "ideal" }, nil, 90)
paired("levels of uTLBs", { ["l1tlb.mode"] = "off", ["utlb1.entries"] = 4,
    ["utlb2.entries"] = 8, ["utlb2.ways"] = 2, ["utlb2.sub_4k"] = 4,
    ["utlb2.fill"] = "line" })
paired("a virtual L1", { ["l1cache.order"] = "virtual" })
paired("no L1", { ["l1cache.mode"] = "off" })
paired("no translation", { ["sim.translation"] = "off" }, nil, 90)
paired("atomics untranslated", { ["core.translate_atomics"] = false })
paired("a policy's replacement in the L2", {}, { "srrip", { at = "l2cache" } })
paired("a policy's replacement in the L2 TLB", {},
    { "srrip", { at = "l2tlb" } })
paired("a buffer of victims", { ["l1side.entries"] = 8 }, { "victim_tlb" })
paired("coalesced entries", { ["l1tlb.merge_pages"] = 4 }, { "colt" })

-- ---- what it leaves ------------------------------------------------------------

--- Buffers, launches and pages of an application after a run.
local function ran(name, settings, o)
    local sim = whole.sim({ name }, whole.join(whole.SMALL, settings), o)
    local word = sim:run()
    return sim, word
end

local WINDOWS = { ["sample.every"] = 1500, ["sample.window"] = 150,
    ["sample.warm"] = 100 }

for _, name in ipairs { "BFS2", "ATAX", "FWT", "RED", "LUD", "GUP", "NN" } do
    local all = ran(name)
    local part, word = ran(name, WINDOWS, { check = true })
    local a, b = all.core:apps()[1], part.core:apps()[1]
    tap.ok(word == "done" and a.instructions == b.instructions
        and all.core:apps()[1].kernel == part.core:apps()[1].kernel,
        name .. ": every instruction is issued or skipped once",
        ("%s: %d and %d"):format(word, a.instructions, b.instructions))
    local r = part:results()
    tap.ok(r.sample.detailed < a.instructions and part.now < all.now
        and r.sample.windows > 0, name .. ": some are skipped")
    all:close()
    part:close()
end

local fault = { ["vm.paging"] = "fault", ["link.latency"] = 100 }
local all = ran("ATAX", fault)
local part = ran("ATAX", whole.join(fault, WINDOWS), { check = true })
tap.is(part.core:apps()[1].pages, all.core:apps()[1].pages,
    "pages on the host are there after they were touched")
tap.ok(part:counters().fault.faults < all:counters().fault.faults,
    "and those that skipped instructions touch have not faulted")
all:close()
part:close()

-- ---- all of it ------------------------------------------------------------------

for _, w in ipairs { { 1 << 30, 1 << 30 }, { 3000, 3000 }, { 3000, 4000 },
    { 5000, 2000, 3000 } } do
    local settings = { ["sample.every"] = w[1], ["sample.window"] = w[2],
        ["sample.warm"] = w[3] or 0 }
    local sim, sampled = ran("BFS2"), ran("BFS2", settings)
    local d = whole.difference(whole.statistics(sim),
        whole.statistics(sampled))
    tap.ok(not d, ("windows of %d in %d leave the run as it is"):format(w[2],
        w[1]), d)
    local r = sampled:results()
    tap.ok(r.sample.share == 1 and r.cycles == sim.now
        and r.sample.measured == r.instructions, "and are all of it")
    local total = 0
    for _, x in ipairs(sampled.core:sample_windows()) do
        total = total + x.cycles
    end
    tap.is(math.tointeger(total + 0.0), sim.core:apps()[1].cycles,
        "and sum to its cycles")
    local sums, before = sampled.core:sample_counters()
    local bad
    for i, c in ipairs(sim:results().counters) do
        local sum = before[i] + sums[i]
        if not c.peak and sum ~= c.apps[1] then
            bad = bad or ("%s.%s: %d, not %d"):format(c.component, c.name,
                sum, c.apps[1])
        end
    end
    tap.ok(not bad, "and to its counters", bad)
    sim:close()
    sampled:close()
end

-- ---- equal runs -------------------------------------------------------------------

local function lines(sim)
    local out = whole.statistics(sim)
    for _, w in ipairs(sim.core:sample_windows()) do
        out[#out + 1] = ("window at %d: %d, %.3f"):format(w.first,
            w.instructions, w.cycles)
    end
    for i, v in ipairs(sim.core:sample_counters()) do
        out[#out + 1] = i .. ": " .. v
    end
    out[#out + 1] = ("cycle %d, state %x"):format(sim.now, sim:state_hash())
    return out
end

local make = whole.maker({ "BFS2" }, whole.join(whole.SMALL, WINDOWS))
local straight = make()
straight:run()
local want = lines(straight)
for _, step in ipairs { 7, 1000, 10007 } do
    local sim = make()
    repeat until sim:run(step) ~= "ok"
    local d = whole.difference(want, lines(sim))
    tap.ok(not d, ("run in pieces of %d cycles"):format(step), d)
    sim:close()
end
local bad
for i = 1, 40 do
    local sim, fork = make(), make()
    sim:run(straight.now * i // 41)
    local snap = sim:snapshot()
    sim:run(1000)
    fork:restore(snap)
    fork:run()
    bad = bad or whole.difference(want, lines(fork))
    sim:close()
    fork:close()
end
tap.ok(not bad, "from snapshots on the way, in another simulation", bad)
straight:close()

-- ---- estimates ----------------------------------------------------------------------

--- Values of Student's t at 95 %, two-sided, from a table.
for n, t in pairs { [1] = 12.706, [2] = 4.303, [3] = 3.182, [5] = 2.571,
    [10] = 2.228, [30] = 2.042, [120] = 1.980 } do
    tap.ok(math.abs(sampling.student(n) - t) < 0.005 * t,
        ("Student's t of %d degrees of freedom"):format(n),
        tostring(sampling.student(n)))
end

local ratio, half = sampling.ratio({ { cycles = 30, instructions = 10 },
    { cycles = 20, instructions = 10 }, { cycles = 40, instructions = 10 } }, 300)
tap.is(ratio, 3.0, "the ratio of some windows")
tap.ok(math.abs(half - 4.303 * math.sqrt(200 / 2 / 3 * 0.9) / 10) < 1e-3,
    "and its interval", tostring(half))
tap.is(select(2, sampling.ratio({ { cycles = 30, instructions = 10 } }, 300)), nil,
    "one window has none")
tap.is(sampling.ratio({}, 300), nil, "and none no ratio")

--- Cores that do the same all the time.
local function steady()
    return H.program(k.app {
        name = "steady", source = "this test",
        buffers = function() return { k.i64("a", 1 << 16) } end,
        kernels = function(_, b)
            return { k.kernel("steady", { grid = 8, block = 64 }, function(t)
                t:loop(3000, function(j)
                    local x = t:load(b.a, (t.gid * 64 + j * 8) % (1 << 16))
                    t:alu(4, { uses = { x } })
                end)
            end) }
        end })
end

do
    local sim, s = whole.sim({ steady() }), whole.sim({ steady() }, nil, {
        sample = { every = 20000, window = 2000, warm = 1000 } })
    sim:run()
    s:run()
    local a, r = sim:results(), s:results()
    tap.ok(math.abs(r.cycles / a.cycles - 1) < 0.05 and r.cycles ~= a.cycles,
        "a steady program's cycles are estimated",
        ("%d for %d"):format(r.cycles, a.cycles))
    tap.ok(r.sample.low < r.sample.cycles and r.sample.cycles < r.sample.high
        and r.cycles == r.sample.cycles and r.sample.share < 0.2,
        "with an interval and a share")
    tap.is(r.instructions, a.instructions, "of all its instructions")
    local worst = 0
    for _, name in ipairs { "core.loads", "core.lines", "l1tlb.lookups",
        "core.thread_instructions", "core.instructions" } do
        worst = math.max(worst, math.abs(H.report.counter(r, name)
            / H.report.counter(a, name) - 1))
    end
    tap.ok(worst < 0.02, "and its counters", tostring(worst))
    tap.ok(math.abs(H.report.metric(r, "ipc") / H.report.metric(a, "ipc") - 1)
        < 0.05, "and its rates")
    tap.ok(r.told[1]:find "estimates" and H.report.format(r):find "estimates",
        "which is said")
    tap.ok(s:counters().core.instructions == r.sample.detailed
        and s.now == r.sample.simulated_cycles and s.now < r.cycles / 3,
        "the simulation itself has what was simulated")
    sim:close()
    s:close()
    s = whole.sim({ steady() }, nil, { sample = { every = 1 << 40 } })
    s:run()
    r = s:results()
    tap.ok(r.sample.cycles == nil and r.told[1]:find "no window",
        "without a window there is no estimate")
    s:close()
end

-- ---- launches -------------------------------------------------------------------------

--- A host that launches a kernel of so many turns for each of `list`.
local function launches(list)
    return H.program(k.app {
        name = "launches", source = "this test",
        buffers = function()
            return { k.i64("a", 1 << 16), k.i64("n", 1, { data = 0 }) }
        end,
        kernels = function(_, b)
            return { k.kernel("turns", { grid = 4, block = 64 }, function(t)
                local m, n = t:load(b.n, 0), t:arg "n"
                t:loop(n, function(j)
                    local x = t:load(b.a, (t.gid * 64 + j * 8) % (1 << 16))
                    t:alu(4, { uses = { x } })
                end)
                t:when(t.gid:eq(0), function()
                    t:store(b.n, 0, m + 1)
                end)
            end) }
        end,
        host = function(h, s)
            s.at = (s.at or 0) + 1
            if h.read(h.b.n, 0) ~= s.at - 1 then
                error("a launch has left nothing")
            end
            return list[s.at]
                and { h.kernels.turns, args = { n = list[s.at] } } or nil
        end })
end

local function lengths(list, settings)
    local sim = whole.sim({ launches(list) }, whole.join(whole.SMALL, settings))
    sim:run()
    return sim, sim:results()
end

do
    local list = {}
    for i = 1, 12 do
        list[i] = (i == 5 or i == 9) and 300 or 100
    end
    local full, a = lengths(list)
    local sim, r = lengths(list, { ["sample.launches"] = true })
    tap.is(r.sample.simulated, 3,
        "launches of two lengths are two clusters, beside the first")
    tap.ok(r.sample.launches == 12 and r.kernels[1].stands_for == 0
        and r.kernels[2].stands_for == 8 and r.kernels[3].stands_for == 1
        and r.kernels[1].weight == 1 and r.kernels[2].weight == 9
        and r.kernels[3].weight == 2, "with their weights")
    tap.is(r.instructions, a.instructions, "all instructions are counted")
    tap.ok(math.abs(r.cycles / a.cycles - 1) < 0.05 and sim.now < full.now / 2,
        "and their cycles estimated", ("%d for %d, %d simulated"):format(r.cycles,
            a.cycles, sim.now))
    tap.is(H.report.counter(r, "core.loads"), H.report.counter(a, "core.loads"),
        "and their loads")
    tap.is(H.report.counter(r, "core.stores"), H.report.counter(a, "core.stores"),
        "and their stores")
    tap.is(r.sample.low, nil, "without an interval")
    full:close()
    sim:close()
    sim, r = lengths(list, { ["sample.launches"] = true, ["sample.mix"] = 1000 })
    tap.is(r.sample.simulated, 3, "300 turns differ from 100 by more than all")
    sim:close()
    list[5], list[9] = 101, 101
    sim, r = lengths(list, { ["sample.launches"] = true, ["sample.mix"] = 0 })
    tap.is(r.sample.simulated, 3, "one turn more is another cluster")
    sim:close()
    sim, r = lengths(list, { ["sample.launches"] = true, ["sample.mix"] = 20 })
    tap.ok(r.sample.simulated == 2 and r.instructions > sim.instructions,
        "or the same, where mixes may differ")
    sim:close()
end

do
    local one = ran("BFS2")
    local sim = ran("BFS2", { ["sample.launches"] = true }, { check = true })
    local a = sim:results()
    tap.ok(a.instructions == one.instructions
        and a.sample.launches == one.core:apps()[1].kernel,
        "launches that depend on what others left are those of the run")
    one:close()
    sim:close()
end

do
    local from = whole.maker({ launches { 50, 50, 80, 50, 80, 50 } },
        whole.join(whole.SMALL, { ["sample.launches"] = true }))
    local sim = from()
    sim:run()
    local wanted, last = lines(sim), sim.now
    sim:close()
    local d
    for i = 1, 9 do
        local x, fork = from(), from()
        x:run(last * i // 10)
        fork:restore(x:snapshot())
        fork:run()
        d = d or whole.difference(wanted, lines(fork))
        x:close()
        fork:close()
    end
    tap.ok(not d, "launches: from snapshots on the way", d)
end

-- ---- what is refused --------------------------------------------------------------------

local function refused(what, settings, o, text)
    tap.raises(function()
        local sim <close> = whole.sim(o and o.apps or { "RED" },
            whole.join(whole.SMALL, WINDOWS, settings), o and o.options)
        if o and o.policy then sim:use(o.policy) end
        sim:run()
    end, text, what)
end

refused("two applications", {}, { apps = { "RED", "NN" } },
    "more than one application")
refused("both kinds", { ["sample.launches"] = true }, nil, "only one of the two is expected")
refused("a warm-up", { ["sim.warmup"] = 100 }, nil, "sim.warmup")
refused("an end by cycles", { ["sim.stop_cycles"] = 1000 }, nil,
    "sim.stop_cycles")
refused("regrouped threads", { ["core.compact"] = true }, nil, "core.compact")
refused("compressed pages", { ["compress.enable"] = true }, nil,
    "compress.enable")
refused("a prefetcher", { ["vm.paging"] = "fault",
    ["fault.prefetch"] = "tree" }, nil, "fault.prefetch")
refused("the driver", { ["vm.paging"] = "fault", ["uvm.mode"] = "driver" }, nil,
    "uvm.mode=driver")
refused("memory that is too small", { ["vm.paging"] = "fault",
    ["vm.memory_bytes"] = 4 << 20, ["vm.table_frames"] = 1000 },
    { apps = { "ATAX" } }, "holds all")
refused("curves over time", {}, { options = { interval = 100 } }, "interval")
refused("a policy with epochs", {}, { policy = "mask" },
    "policy mask has state that evolves with time (epochs)")
refused("a policy that throttles", {}, { policy = "ccws" }, "ccws")
refused("a scheduler", {}, { policy = { name = "pick", warp_pick = function(q)
    return q.oldest end } }, "policy pick has state that evolves with time (warp_pick)")
refused("a policy that watches", {}, { policy = { name = "eye", watch = {
    walk_done = function() end } } }, "policy eye has state that evolves with time (walk_done)")
refused("an unknown field", {}, { options = { sample = { each = 3 } } },
    "no field 'each'")
refused("a number for a table", {}, { options = { sample = 3 } },
    "a table is expected")
refused("launches under a budget", { ["sample.every"] = 0,
    ["sample.launches"] = true, ["sim.budget"] = 100 }, nil, "sim.budget")

do
    local sim <close> = whole.sim({ "RED" }, whole.join(whole.SMALL, WINDOWS,
        { ["sample.timed"] = true }))
    sim:use("mask")
    tap.is(sim:run(), "done", "sample.timed lets a policy through")
    local later <close> = whole.sim({ "RED" }, whole.join(whole.SMALL, WINDOWS))
    later:run(100)
    later:use("mask")
    tap.raises(function() later:run() end, "policy mask has state that evolves with time",
        "one that is bound on the way is refused then")
    later:unuse("mask")
    tap.is(later:run(), "done", "and without it the run goes on")
end

-- ---- the table of errors ------------------------------------------------------------------

do
    local files = require "lib.files"
    local said, text = files.command(files.HEDDLE .. " run scenarios/characterise/"
        .. "sampling.lua only=NW,vecadd.hdt")
    tap.ok(said and text:find "NW +windows" and text:find "NW +launches"
        and text:find "vecadd.hdt +windows +1003520"
        and text:find "runs of more than 10000000 cycles: 0",
        "sampled runs stand beside whole ones", text)
end

tap.done()

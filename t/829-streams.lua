-- 829-streams.lua - pins launches that overlap: two of half the machine each in
-- two streams take the time of one, in one stream, or in the default one, that
-- of both; the default stream waits for all and all for it; an event orders
-- two streams; blocks of a launch follow those of the one before as these end;
-- each kernel's record has its own blocks, time and counters, which add up; applications
-- have streams of their own; the host is asked at once, or waits; a run with
-- snapshots in the middle is the run without, with faults, copies and regrouped
-- threads, too; a trace keeps streams; what could never end, or cannot be, is refused in words.
--
-- SPDX-License-Identifier: MIT
local files = require "lib.files"
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local k = require "heddle.kernel"
local trace = require "heddle.trace"

local CORES, LONG, SHORT = 4, 1000, 100
local SETTINGS = whole.join(whole.SMALL, whole.ROUND, { ["core.count"] = CORES,
    ["core.blocks"] = 1 })

--- Kernels that touch nothing: `half` and `other` on half of the cores, `full`
-- with two blocks a core, `short` with one block.  `a` and `b` store the number
-- of each page of a buffer in it.
local function app(launches, o)
    o = o or {}
    return k.app {
        name = o.name or "streams", source = "this test", streams = o.streams,
        events = o.events, host = o.host, align = 2 << 20,
        buffers = function()
            local c = { contents = true }
            return { k.i64("a", 64 * 512, c), k.i64("b", 64 * 512, c) }
        end,
        kernels = function(_, b)
            local by = {}
            local function idle(name, grid, n)
                by[name] = k.kernel(name, { grid = grid, block = 32 },
                    function(t) t:alu(n) end)
            end
            idle("half", CORES // 2, LONG)
            idle("other", CORES // 2, LONG)
            idle("full", 2 * CORES, LONG)
            idle("short", 1, SHORT)
            for _, name in ipairs { "a", "b" } do
                by[name] = k.kernel(name, { grid = 2, block = 32 }, function(t)
                    local i = t.gid * 512
                    t:store(b[name], i, t:load(b[name], i) + t.gid)
                    t:alu(200)
                end)
            end
            return launches(by, b)
        end,
    }
end

local function sim_of(launches, o, settings, options)
    return whole.sim({ H.program(app(launches, o)) },
        whole.join(SETTINGS, settings), whole.join({ check = true }, options))
end

local function run(launches, o, settings)
    local sim = sim_of(launches, o, settings)
    sim:run(1 << 40)
    sim:check()
    return sim.core:kernels(), sim
end

local ONE = run(function(by) return { by.half } end)[1]["end"]
local BRIEF = run(function(by) return { by.short } end)[1]["end"]

--- Starts and ends of launches, "name start-end ...".
local function times(list)
    local out = {}
    for i, r in ipairs(list) do
        out[i] = ("%s %d-%d"):format(r.name, r.start, r["end"])
    end
    return table.concat(out, " ")
end

-- ---- times ------------------------------------------------------------------------

tap.is(times(run(function(by)
    return { { by.half, stream = 1 }, { by.other, stream = 2 } }
end)), ("half 0-%d other 0-%d"):format(ONE, ONE),
    "two streams, half the machine each: the time of one")
for what, launches in pairs {
    ["one stream"] = function(by)
        return { { by.half, stream = "s" }, { by.other, stream = "s" } }
    end,
    ["the default stream"] = function(by) return { by.half, by.other } end,
    ["the default stream behind another"] = function(by)
        return { { by.half, stream = "s" }, by.other }
    end,
    ["another behind the default stream"] = function(by)
        return { by.half, { by.other, stream = "s" } }
    end,
    ["an event"] = function(by)
        return { { by.half, stream = "s", record = "e" },
            { by.other, stream = "t", wait = "e" } }
    end,
} do
    tap.is(times(run(launches)), ("half 0-%d other %d-%d"):format(ONE, ONE,
        2 * ONE), what .. ": the sum")
end
tap.is(times(run(function(by)
    return { { by.half, stream = "s", record = "e" }, { by.short, stream = "t" },
        { by.other, stream = "t", wait = { "e" } },
        { by.short, stream = "u", wait = "e" } }
end)), ("half 0-%d short 0-%d other %d-%d short %d-%d"):format(ONE, BRIEF, ONE,
    2 * ONE, ONE, ONE + BRIEF), "an event holds what comes behind it alone")
tap.is(times(run(function(by)
    return { { by.short, stream = "s", record = "e" },
        { by.half, stream = "s", record = "e" },
        { by.short, stream = "t", wait = "e" } }
end)), ("short 0-%d half %d-%d short %d-%d"):format(BRIEF, BRIEF, BRIEF + ONE,
    BRIEF + ONE, ONE + 2 * BRIEF), "an event is that which was recorded last")

do -- the machine is full: what is left goes to the next launch as blocks end
    local full = run(function(by) return { by.full } end)[1]["end"]
    tap.is(full, 2 * ONE, "two blocks a core take two times")
    tap.is(times(run(function(by)
        return { { by.full, stream = 1 }, { by.short, stream = 2 } }
    end)), ("full 0-%d short 0-%d"):format(full, full + BRIEF),
        "a launch waits until the blocks before it are out")
    tap.is(times(run(function(by)
        return { { by.half, stream = 1 }, { by.full, stream = 2 },
            { by.short, stream = 3 } }
    end)), ("half 0-%d full 0-%d short 0-%d"):format(ONE, 3 * ONE,
        2 * ONE + BRIEF), "and then gets the room that is left")
end

do -- two applications: each has half of the cores, and streams of its own
    local function of(name, launches)
        return H.program(app(launches, { name = name }))
    end
    local sim <close> = whole.sim({
        of("one", function(by)
            return { { by.short, stream = 1 }, { by.short, stream = 2 } }
        end),
        of("two", function(by) return { by.short, by.short } end),
    }, SETTINGS, { check = true, relaunch = false })
    sim:run(1 << 40)
    sim:check()
    local got = {}
    for _, r in ipairs(sim.core:kernels()) do
        got[#got + 1] = ("%d:%d-%d"):format(r.app, r.start, r["end"])
    end
    table.sort(got)
    tap.is(table.concat(got, " "), ("0:0-%d 0:0-%d 1:0-%d 1:%d-%d"):format(BRIEF,
        BRIEF, BRIEF, BRIEF, 2 * BRIEF), "two applications")
end

-- ---- what is counted -----------------------------------------------------------------

do
    local list, sim <close> = run(function(by)
        return { by.short, { by.half, stream = "s" }, { by.short, stream = "t" },
            by.other }
    end)
    local alone = run(function(by) return { by.short, by.half } end)
    local got, want = {}, {}
    for i, r in ipairs(list) do
        got[i] = ("%d %d %d %d"):format(r.stream, r.overlap, r.instructions,
            r.blocks)
    end
    for i, x in ipairs { { 0, 0, 1 }, { 1, BRIEF, 2 }, { 2, BRIEF, 1 },
        { 0, 0, 2 } } do
        local r = alone[x[3]]
        want[i] = ("%d %d %d %d"):format(x[1], x[2], r.instructions, r.blocks)
    end
    tap.is(table.concat(got, ", "), table.concat(want, ", "),
        "each launch has its stream, overlap, instructions and blocks")
    local results = sim:results().kernels
    tap.is(results[2].thread_instructions, alone[2].thread_instructions,
        "a launch next to others has its thread instructions")
    tap.is(results[2].counters["core.instructions"], alone[2].instructions,
        "and its other counters")
    tap.is(results[4].thread_instructions, alone[2].thread_instructions,
        "a launch alone has all")
    tap.is(results[4].stream, nil, "and no stream")
end

-- Parts that count by launch: what they have counted for two launches that overlap
-- is all that they have counted, but for the time of idle warps and what the L2
-- counts beside look-ups.  Where launches share nothing that could be taken from
-- each other, each has what it has alone.
local BY_LAUNCH = { core = true, l1tlb = true, l1cache = true, l2tlb = true,
    mmu = true, walk = true, pwc = true, l2cache = true, fault = true }

local function by_launch(c)
    return BY_LAUNCH[c.component] and not c.peak and not c.level
        and c.name ~= "time_idle" and (c.component ~= "l2cache"
            or c.name:match "_lookups$" or c.name:match "_hits$"
            or c.name:match "_misses$" or c.name:match "_merged$")
end

local OWN = { "core.instructions", "core.thread_instructions", "core.loads",
    "core.stores", "core.lines", "core.pages", "core.blocks", "core.time_issue",
    "core.time_alu", "l1tlb.lookups", "l1tlb.hits", "l1tlb.misses",
    "l1cache.reads", "l1cache.read_misses", "l1cache.writes",
    "l2cache.read_lookups", "l2cache.write_lookups", "mmu.requests",
    "l2tlb.lookups" }
local WALKED = { "l2tlb.hits", "mmu.misses", "walk.walks", "walk.references" }
local FAULTED = { "fault.faults", "fault.pages", "fault.requests" }

for what, o in pairs {
    mapped = { {}, { OWN } },
    ["mapped, with a large L2 TLB"] = { { ["l2tlb.entries"] = 512,
        ["l2tlb.ways"] = 16 }, { OWN, WALKED } },
    ["two sub-cores"] = { { ["core.subcores"] = 2 }, { OWN } },
    ["an L1 TLB that blocks"] = { { ["l1tlb.blocking"] = "hits" }, {} },
    batches = { { ["walk.batch"] = 4 }, {} },
    sectors = { { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32 },
        {} },
    faulting = { { ["vm.paging"] = "fault", ["link.latency"] = 1000,
        ["vm.memory_bytes"] = 64 << 20 }, { FAULTED } },
    ["the driver"] = { { ["vm.paging"] = "fault", ["uvm.mode"] = "driver",
        ["uvm.perf_prefetch_enable"] = false,
        ["vm.memory_bytes"] = 64 << 20 }, { FAULTED } },
} do
    local function results(launches)
        local _, sim <close> = run(launches, nil, whole.join({
            ["core.blocks"] = 2 }, o[1]))
        return sim:results()
    end
    local both = results(function(by)
        return { { by.a, stream = 1 }, { by.b, stream = 2 } }
    end)
    local one, two = both.kernels[1].counters, both.kernels[2].counters
    local wrong, n = {}, 0
    for _, c in ipairs(both.counters) do
        local name = c.component .. "." .. c.name
        local sum = (one[name] or 0) + (two[name] or 0)
        if by_launch(c) and c.apps[1] ~= 0 then
            n = n + 1
            if sum ~= c.apps[1] then
                wrong[#wrong + 1] = ("%s %d of %d"):format(name, sum, c.apps[1])
            end
        elseif sum > c.apps[1] and not c.peak then
            wrong[#wrong + 1] = name .. " has more"
        end
    end
    tap.ok(#wrong == 0 and n > 30 and both.kernels[1].overlap > 0,
        what .. ": the launches' counters are the whole's",
        table.concat(wrong, ", "))
    local differ = {}
    for i, name in ipairs { "a", "b" } do
        local alone = results(function(by) return { by[name] } end)
        for _, list in ipairs(o[2]) do
            for _, counter in ipairs(list) do
                local got = both.kernels[i].counters[counter]
                local want = alone.kernels[1].counters[counter]
                if got ~= want then
                    differ[#differ + 1] = ("%s of %s %s, alone %s"):format(
                        counter, name, got, want)
                end
            end
        end
    end
    tap.is(table.concat(differ, ", "), "", what .. ": each has its own")
end

-- ---- hosts ------------------------------------------------------------------------

local function hosted(list)
    return function(h, s)
        s.n = (s.n or 0) + 1
        local l = list(h)[s.n]
        if type(l) == "function" then return l(h, s) end
        return l
    end
end

do
    local seen = {}
    local o = { streams = 2, events = { "e" }, host = hosted(function(h)
        return { { h.kernels.a, stream = 1 }, { h.kernels.b, stream = 2 },
            function()
                seen[1] = h.read(h.b.a, 63 * 512)
                return { h.kernels.a, stream = 1, sync = true }
            end, function() seen[2] = h.read(h.b.a, 63 * 512) end }
    end) }
    local list, sim <close> = run(function(by) return { by.a, by.b } end, o)
    tap.ok(list[1].start == 0 and list[2].start == 0
        and list[3].start == list[1]["end"], "the host does not wait",
        times(list))
    tap.is(table.concat(seen, " "), "0 126", "and waits with sync")
    local _ = sim
end

do -- more launches than can be in flight
    local n = 200
    local list, sim <close> = run(function(by)
        local out = {}
        for i = 1, n do out[i] = { by.short, stream = i % 2 + 1 } end
        return out
    end)
    tap.is(#list, 96, "records are kept up to their number")
    tap.is(sim.now, n // 2 * BRIEF, "a long list runs to its end")
end

-- ---- memory, snapshots, a relaunch ---------------------------------------------------

local function touching(by)
    return { { by.a, stream = 1, record = "e" }, { by.b, stream = 2 },
        { by.a, stream = 3, wait = "e" }, { by.b, stream = 2 }, by.a }
end

for what, settings in pairs { mapped = {}, faulting = { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20 },
    copied = { ["vm.paging"] = "launch" },
    regrouped = { ["core.compact"] = true } } do
    local sim <close> = sim_of(touching, nil, settings)
    sim:run(1 << 40)
    sim:check()
    local cut <close> = sim_of(touching, nil, settings)
    local step = math.max(307, sim.now // 150 | 1) -- 150 snapshots at most
    local same = 0
    while cut.now < sim.now do
        cut:run(step)
        local kept <close> = cut:snapshot()
        cut:run(150)
        local hash = cut.core:state_hash()
        cut:restore(kept)
        cut:run(150)
        same = same + (cut.core:state_hash() == hash and 0 or 1)
        cut:restore(kept)
        cut:check()
    end
    cut:run(1 << 40)
    tap.is(same, 0, what .. ": it repeats from each snapshot")
    tap.is(cut.now, sim.now, what .. ": and ends alike")
    tap.is(cut.core:state_hash(), sim.core:state_hash(), what .. ": in all")
end

-- ---- traces ---------------------------------------------------------------------

do
    local dir = files.folder()
    local path = dir .. "/streams.hdt"
    trace.record(H.program(app(function(by)
        return { { by.half, stream = "s", record = "e" },
            { by.other, stream = "t" }, { by.other, stream = "s", sync = true },
            { by.short, stream = "t" }, { by.a, stream = "s" },
            { by.b, stream = "t" } }
    end)).make(), path)
    local function replay(options)
        local sim = whole.sim({ H.trace(path, options) }, SETTINGS,
            { check = true })
        sim:run(1 << 40)
        sim:check()
        local text = times(sim.core:kernels()):gsub("%d+ a .*", "... a")
        return text, sim
    end
    local two = 2 * ONE
    local got, sim <close> = replay { streams = true }
    tap.is(got, ("half 0-%d other 0-%d other %d-%d short %d-... a"):format(ONE,
        ONE, ONE, two, two), "the streams of a recorded trace")
    local list = sim.core:kernels()
    tap.is(list[5].start, list[6].start, "and those that touch memory")
    tap.is(replay(), ("half 0-%d other %d-%d other %d-%d short %d-... a"):format(
        ONE, ONE, two, two, 3 * ONE, 3 * ONE),
        "without the option they run in order")
    local straight <close> = whole.sim({ H.trace(path, { streams = true }) },
        SETTINGS, { check = true })
    straight:run(two + BRIEF + 100)
    local kept = straight:snapshot()
    straight:run(50)
    straight:restore(kept)
    straight:run(1 << 40)
    tap.is(straight.core:state_hash(), sim.core:state_hash(),
        "with a snapshot in the middle, too")
    os.execute("rm -rf " .. files.quote(dir))
end

-- ---- what is refused ------------------------------------------------------------------

local function refused(want, launches, o, settings)
    local ok, text = pcall(run, launches, o, settings)
    text = tostring(text):gsub("^[^:]*:%d+: ", ""):gsub("\n.*", "")
    tap.is(ok and "runs" or text, want, want:match "[^:]*: (.*)" or want)
end

refused("application streams: a cycle of waits: launch 1 (kernel half, stream a) "
    .. "waits for event \"f\", which launch 3 (kernel other, stream b) records; "
    .. "that comes after launch 2 (kernel short, stream b); that waits for event "
    .. "\"e\", which launch 1 (kernel half, stream a) records", function(by)
    return { { by.half, stream = "a", wait = "f", record = "e" },
        { by.short, stream = "b", wait = "e" },
        { by.other, stream = "b", record = "f" } }
end)
refused("application streams: launch 1 (kernel half, stream a) waits for itself: "
    .. "for event \"e\", which it records", function(by)
    return { { by.half, stream = "a", wait = "e", record = "e" } }
end)
refused("application streams: launch 1 (kernel half, stream a) waits for event "
    .. "\"e\", which launch 2 (kernel other, stream b) records later; expected "
    .. "that launch before it", function(by)
    return { { by.half, stream = "a", wait = "e" },
        { by.other, stream = "b", record = "e" } }
end)
refused("application streams: launch 1 (kernel half, stream a) waits for event "
    .. "\"e\", which no launch records", function(by)
    return { { by.half, stream = "a", wait = "e" } }
end)
refused("program streams: launch 1 (kernel half, stream a) waits for event e, "
    .. "which no launch has recorded; expected one that an earlier "
    .. "launch records", function(by) return { by.half } end, { streams = { "a" },
    events = { "e" }, host = function(h)
        return { h.kernels.half, stream = "a", wait = "e" }
    end })
refused("launch of half: the application streams has no stream 'b'; it has a",
    function(by) return { by.half } end, { streams = { "a" },
        host = function(h) return { h.kernels.half, stream = "b" } end })
refused("launch of half: wait, record and sync: the application streams has no "
    .. "streams", function(by) return { { by.half, sync = true } } end)
refused("launch of half: stream: expected a name or a number from 1 on, got 0",
    function(by) return { by.half } end, { streams = { "a" },
        host = function(h) return { h.kernels.half, stream = 0 } end })
refused("program streams: launch 1 (kernel half, stream a) has calls next to it; "
    .. "only launches of the default stream may have some", function(by, b)
    return { { by.half, stream = "a", beside = function(h) h.prefetch(b.a) end } }
end)
refused("application 0 (streams): its host frees or allocates buffer a while "
    .. "launches of its streams have not retired; expected a launch "
    .. "before that which waits for them, of the default stream or with sync", function(by, b)
    return { { by.half, stream = "a", free = { b.a } }, by.half }
end)
refused("an application with streams cannot be sampled: which launches overlap "
    .. "depends on time; neither sample.every nor sample.launches is expected",
    function(by) return { { by.half, stream = "a" } } end, nil,
    { ["sample.launches"] = true })

tap.done()

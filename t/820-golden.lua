-- 820-golden.lua - pins: what whole machines do, to the last cycle.  Structure
-- may move under it; a change of results has to be meant.
--
-- Every preset with a cold load, a stream, a column, divergent and random
-- accesses, stores, a barrier, two applications with a budget, a far fault and a
-- trace; and a small machine with compaction, with all notes watched, and with
-- every point answered at random, each alone and all at once.
--
-- t/golden/NAME.txt has of each run its last cycle, the counters that are not 0
-- and the histograms that have a value (totals, and by application), and a hash
-- of all that these have besides: instances, buckets, kernels.  A counter or a
-- histogram in which nothing was counted leaves no trace, so that adding one
-- changes no file.  Where one differs, the test names the first line.
-- HEDDLE_GOLDEN=write writes them again.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local files = require "lib.files"
local whole = require "lib.whole"
local H = require "heddle"
local core = require "heddle.core"
local kernel = require "heddle.kernel"

local WRITE = os.getenv "HEDDLE_GOLDEN" == "write"

-- ---- what is run ------------------------------------------------------------

--- One warp that loads one word.
local function cold()
    return H.program(kernel.app {
        name = "cold", source = "this test",
        buffers = function() return { kernel.f32("m", 1024) } end,
        kernels = function(_, b)
            return { kernel.kernel("load", { grid = 1, block = 1 },
                function(t) t:load(b.m, 0) end) }
        end,
    })
end

--- name, applications, settings, options
local LOADS = {
    { "cold", { cold } },
    { "stream", { function() return whole.stream(12) end } },
    { "column", { function() return whole.column(6, 24) end } },
    { "divergent", { function() return whole.random(4, 4, 8) end } },
    { "random", { "GUP" }, { ["sim.budget"] = 1500 } },
    { "stores", { function() return whole.column(4, 8, "store", 32) end } },
    { "atomics", { function() return whole.column(4, 8, "atomic", 32) end } },
    { "barriers", { "LUD" }, { ["sim.budget"] = 4000 } },
    { "two", { "3DS", "MM" }, { ["sim.budget"] = 5000 } },
    { "fault", { "GUP" }, { ["vm.paging"] = "fault", ["link.latency"] = 2000,
        ["sim.budget"] = 400 } },
    { "trace", { function()
        return H.trace "scenarios/data/gather.hdt"
    end }, { ["sim.budget"] = 4000 } },
}

-- ---- what is kept of it -----------------------------------------------------

local function joined(list, f)
    local out = {}
    for i, v in ipairs(list) do
        out[i] = f(v)
    end
    return table.concat(out, " ")
end

--- A function for whole.statistics() that leaves out counters that are 0, in all
-- and in every kernel, and histograms without a value.
local function unused(sim)
    local used, engine = {}, sim.core
    local function use(c)
        used[c.component .. "." .. c.name] = true
    end
    local counters, values = engine:counters(), engine:counter_values()
    for i, c in ipairs(counters) do
        for _, instances in ipairs(values[i]) do
            for _, v in ipairs(instances) do
                if v ~= 0 then use(c) end
            end
        end
    end
    for k in ipairs(engine:kernels()) do
        local of = engine:counter_kernel(k)
        for i, c in ipairs(counters) do
            if of[i] ~= 0 then use(c) end
        end
    end
    for _, h in ipairs(engine:hists()) do
        for _, v in ipairs(h.apps) do
            if v.n ~= 0 then use(h) end
        end
    end
    return function(component, name)
        return not used[component .. "." .. name]
    end
end

--- Lines of a run that has ended: what was counted, and a hash of all of it.
local function lines_of(name, sim)
    local out, results = { "== " .. name .. ", cycle " .. sim.now }, sim:results()
    for _, c in ipairs(results.counters) do
        if c.total ~= 0 then
            out[#out + 1] = ("%s.%s %d (%s %s)"):format(c.component, c.name,
                c.total, table.concat(c.apps, " "), c.none)
        end
    end
    local skip = unused(sim)
    for _, h in ipairs(results.histograms) do
        if not skip(h.component, h.name) then
            out[#out + 1] = ("%s.%s: %s"):format(h.component, h.name,
                joined(h.apps, function(a)
                    return ("n %d sum %d min %d max %d"):format(a.n, a.sum,
                        a.min, a.max)
                end))
        end
    end
    out[#out + 1] = "all " .. core.fingerprint(table.concat(
        whole.statistics(sim, skip), "\n"))
    return out
end

local function split(text)
    local out = {}
    for line in text:gmatch "[^\n]+" do
        out[#out + 1] = line
    end
    return out
end

--- Compares the lines of a file's runs; the first difference is told with the
-- run that it is in.
local function compare(name, lines)
    local path = ("t/golden/%s.txt"):format(name)
    if WRITE then
        require("heddle.process").mkdir "t/golden"
        files.write(path, table.concat(lines, "\n") .. "\n")
    end
    local want, at = split(files.read(path) or ""), "nothing"
    for i = 1, math.max(#want, #lines) do
        at = lines[i] and lines[i]:match "^== (.*), cycle" or at
        if want[i] ~= lines[i] then
            return tap.ok(false, name, ("%s:%d: in %s\n%s\nexpected\n%s"):format(
                path, i, at, tostring(lines[i]), tostring(want[i])))
        end
    end
    tap.ok(#want > 0, name .. ", as it was")
end

local function run(name, machine, apps, settings, use)
    local list = {}
    for i, a in ipairs(apps) do
        list[i] = type(a) == "string" and H.app(a, { size = "T" }) or a()
    end
    local sim <close> = H.sim { machine = machine, apps = list,
        settings = settings }
    if use then
        sim:use(table.unpack(use))
    end
    local word = sim:run(20000000)
    tap.ok(word == "done", machine .. ": " .. name .. " ends", word)
    return lines_of(name, sim)
end

local function append(to, lines)
    table.move(lines, 1, #lines, #to + 1, to)
end

-- ---- the runs ---------------------------------------------------------------

for _, machine in ipairs(H.machines.names()) do
    local lines = {}
    for _, load in ipairs(LOADS) do
        append(lines, run(load[1], machine, load[2], load[3]))
    end
    compare(machine, lines)
end

--- Notes, in their order: of each name how many, and a hash of their fields.
local function listener()
    local policy = { name = "listener", watch = {}, state = { n = {}, h = {} } }
    for _, note in ipairs(core.notes()) do
        local name, fields, numbers = note.name, {}, {}
        for _, f in ipairs(note.fields) do
            if f.name ~= "cycle" then -- where a core is that runs ahead
                fields[#fields + 1] = f.name
            end
            local n = 0
            for word in (f.words or ""):gmatch "[^|]+" do
                numbers[word], n = n, n + 1
            end
        end
        policy.watch[name] = function(q, s)
            local h = s.h[name] or 7
            for _, field in ipairs(fields) do
                local v = numbers[q[field]] or q[field]
                h = h * 1000003 ~ (math.type(v) == "integer" and v
                    or v == true and 1 or v == false and 0 or #tostring(v))
            end
            s.n[name], s.h[name] = (s.n[name] or 0) + 1, h
        end
    end
    return policy
end

local SMALL = whole.join(whole.SMALL, { ["walk.walkers"] = 2,
    ["bypass.entries"] = 4, ["sim.stuck_cycles"] = 1000000 })
local lines = {}

do
    local settings = whole.join(SMALL, { ["vm.paging"] = "fault",
        ["link.latency"] = 1500 })
    for _, o in ipairs { { "notes", { "GUP", "BFS2" }, SMALL },
        { "notes, far faults", { "GUP" }, settings } } do
        local sim <close> = whole.sim(o[2], o[3])
        local heard = listener()
        sim:use(heard)
        sim:run()
        append(lines, lines_of(o[1], sim))
        local state = sim:used()[1].state
        for _, note in ipairs(core.notes()) do
            if state.n[note.name] then
                lines[#lines + 1] = ("note %s: %d, %x"):format(note.name,
                    state.n[note.name], state.h[note.name])
            end
        end
    end
end

local function freer() return whole.freer(700, 24) end
local function shared() return whole.to_and_fro(3, 60) end
append(lines, run("compaction", "mosaic", { freer }, whole.join(SMALL,
    { ["memory.free_at_end"] = true }), { "mosaic" }))
append(lines, run("mask", "maxwell", { "GUP", "BFS2" }, whole.join(SMALL,
    { ["dram.queues"] = "apart" }), { "mask", { epoch = 2000 } }))
compare("policies", lines)

lines = {}

--- The seed of a point's dice, whatever points there are beside it.
local function seed_of(name)
    local seed = 0
    for _, c in utf8.codes(name) do seed = seed * 31 + c end
    return seed
end
for _, p in ipairs(core.points()) do
    local moves = p.name:find "^region"
        or p.name:find "^compact" or p.name == "shootdown"
        or p.name == "page_size"
    local far = p.name == "fault_batch" or p.name == "page_prefetch"
        or p.name == "migrate"
    local settings = far and { ["vm.paging"] = "fault",
        ["link.latency"] = 1500 } or {}
    if p.name:find "^evict" then
        settings = { ["vm.paging"] = "fault", ["link.latency"] = 1500,
            ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030,
            ["evict.unit"] = "4K" }
    end
    if p.name == "thrash" then
        settings = { ["vm.paging"] = "fault", ["link.latency"] = 1500,
            ["fault.thrashing"] = "driver",
            ["uvm.perf_thrashing_lapse_usec"] = 20 }
    end
    if p.name == "tlb_peer" then
        settings = { ["peers.latency"] = 12 }
    end
    if p.name == "walk_address" then
        settings = { ["walktable.bytes"] = 16384 }
    end
    if p.name == "tlb_group" then
        settings = { ["groups.most"] = 9, ["groups.l1"] = 3 }
    end
    if p.name == "page_compress" then
        settings = { ["compress.enable"] = true }
    end
    append(lines, run(p.name, "maxwell", moves and { freer }
        or p.name == "thrash" and { shared }
        or { "GUP", "MM" }, whole.join(SMALL, settings, { ["sim.budget"] = 3000 }),
        { dice(seed_of(p.name), nil, p.name) }))
end
compare("points", lines)

tap.done()

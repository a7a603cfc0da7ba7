-- 853-pairs.lua - pins: any two of the policies that come with heddle, bound
-- together, run under sim.check without a complaint, on the preset of the first
-- one's paper and on one drawn by seed, with some of their choices drawn, too;
-- two that answer one point are refused, by both names.  And a policy that
-- answers every point at random does on every preset.
--
--     heddle run t/853-pairs.lua presets=all seeds=1,2,3
--
-- runs all of them on all presets (`make soak`); pair=mask+mosaic only one.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local dice = require "lib.dice"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"
local policies = require "heddle.policy"

local args = H.args { seeds = "1", presets = "two", pair = "", cycles = 10000 }

-- The preset of each paper; others run on the one that all derive from.
local HOME = { mosaic = "mosaic", cpm = "pichai", ccws = "pichai",
    tcws = "pichai", colt = "mesc", runs = "mesc", buddy = "mesc" }
for _, name in ipairs { "etc", "throttle", "lru_accessed", "lfu",
    "random_unit", "largest", "delayed", "thrashing", "tree" } do
    HOME[name] = "etc"
end

-- ---- machines and loads --------------------------------------------------------

local SMALL = whole.join(whole.SMALL, { ["bypass.entries"] = 8,
    ["l1side.entries"] = 2, ["memory.bulk_ns"] = 80, ["core.blocks"] = 6,
    ["walk.memory"] = "dram", ["sim.stuck_cycles"] = 1000000 })

-- What a preset does not have.
local WITHOUT = { pichai = { ["bypass.entries"] = 0 } }

-- What makes a machine ask a point.
local FAULTS = { ["vm.paging"] = "fault", ["link.latency"] = 300,
    ["link.bandwidth"] = 200000000000, ["vm.memory_bytes"] = 8 << 20,
    ["vm.table_frames"] = 1900, ["evict.unit"] = "64K" }
local WANTS = {
    thread_join = { ["core.compact"] = true }, tlb_peer = { ["peers.latency"] = 20 },
    walk_address = { ["walktable.bytes"] = 8192 },
    tlb_group = { ["groups.most"] = 9, ["groups.l1"] = 4 },
    page_compress = whole.join(FAULTS, { ["compress.enable"] = true }),
    migrate = whole.join(FAULTS, { ["remote.access"] = "remote" }),
    thrash = whole.join(FAULTS, { ["fault.thrashing"] = "refault" }),
    compact_source = { ["memory.move"] = "any" },
}
for _, point in ipairs { "evict_victim", "evict_trigger", "page_prefetch",
    "core_throttle", "app_classify" } do
    WANTS[point] = FAULTS
end

local function settings_of(...)
    local out, regions = SMALL, false
    for _, p in ipairs { ... } do
        for _, point in ipairs(p.points) do
            out = whole.join(out, WANTS[point] or {})
        end
        regions = regions or p.name == "mosaic"
    end
    if regions and out["vm.paging"] then -- six, each of one application
        out["vm.memory_bytes"], out["vm.table_frames"] = 16 << 20, 1024
    end
    return out
end

--- Each thread takes one of two branches, which load other pages.
local function branches()
    return H.program(kernel.app {
        name = "branches", source = "this test",
        buffers = function() return { kernel.f32("m", 1 << 18) } end,
        kernels = function(_, b)
            return { kernel.kernel("choose", { grid = 6, block = 128 },
                function(t)
                    t:loop(4, function(j)
                        local at = (t.gid * 613 + j * 4099) % (1 << 17)
                        t:when((t.gid * 5 % 3):eq(0), function()
                            t:load(b.m, at)
                        end, function()
                            t:load(b.m, at + (1 << 17))
                            t:alu(1)
                        end)
                    end)
                end) }
        end,
    })
end

--- Buffers come and go, pages are dirty, warps diverge.
local function apps()
    return { whole.freer(704, 4), whole.random(2, 12, 8), whole.writer(320, 3),
        branches() }
end

--- Numbers below n, by what they are for.
local function drawer(...)
    local x = 0xcbf29ce484222325
    for c in table.concat({ ... }, " "):gmatch "." do
        x = (x ~ c:byte()) * 0x100000001b3
    end
    return function(n)
        x = x * 6364136223846793005 + 1442695040888963407
        return (x >> 33) % n
    end
end

-- ---- a run -----------------------------------------------------------------------

local asked = {} -- by point, in all runs

--- A checked run with policies, continued from a snapshot in its middle; nil, or
-- "refused" or "failed" and the message.
local function run(preset, seed, settings, bound, load)
    local word, sim = "refused", nil
    local ok, err = pcall(function()
        sim = whole.sim(load or apps(), whole.join(settings, WITHOUT[preset] or {},
            { ["sim.stop_cycles"] = args.cycles }),
            { check = true, machine = preset, seed = seed, progress = false })
        for _, p in ipairs(bound) do
            sim:use(p)
        end
        word = "failed"
        if sim:run(args.cycles // 2) == "ok" then
            sim:restore(sim:snapshot())
            sim:run()
        end
        sim:check()
        for name, n in pairs(sim:counters().policy) do
            asked[name] = (asked[name] or 0) + n
        end
    end)
    if sim then
        sim:close()
    end
    if not ok then
        return word, type(err) == "table" and err.message or tostring(err)
    end
end

-- ---- pairs -----------------------------------------------------------------------

--- A policy with half of its choices drawn, and often asked.
local function drawn(p, draw)
    local out = { use = p.name }
    for _, param in ipairs(p.params) do
        local words, take = {}, draw(2) == 0
        for w in (param.unit:find "|" and param.unit or ""):gmatch "[^|]+" do
            words[#words + 1] = w
        end
        if take and #words > 0 then
            out[param.name] = words[draw(#words) + 1]
        elseif take and param.max - param.min <= 3 then
            out[param.name] = param.min + draw(param.max - param.min + 1)
        elseif param.unit == "cycles" then
            out[param.name] = math.max(param.min, 500)
        end
    end
    return out
end

local function replaces(p)
    return table.concat(p.points, " "):find "repl_victim"
end

local seen = { pairs = 0, runs = 0, clashes = 0, unfit = 0, bad = {} }

local function complain(where, word, what)
    if word then
        seen.bad[#seen.bad + 1] = ("%s: %s: %s"):format(where, word, what)
    end
end

--- Whether a machine refuses a policy without the other.
local function refused_alone(preset, settings, bound)
    local ok = pcall(function()
        local sim <close> = whole.sim(apps(), whole.join(settings,
            WITHOUT[preset] or {}), { machine = preset, progress = false })
        sim:use(bound)
    end)
    return not ok
end

local function pair(a, b, seed)
    local draw = drawer(seed, a.name, b.name)
    local presets = whole.PRESETS
    if args.presets ~= "all" then
        presets = { HOME[a.name] or "maxwell",
            whole.PRESETS[draw(#whole.PRESETS) + 1] }
    end
    local settings = whole.join(settings_of(a, b),
        { ["dram.golden"] = ({ "fifo", "banks" })[draw(2) + 1] })
    for _, preset in ipairs(presets) do
        local bound = { drawn(a, draw), drawn(b, draw) }
        if replaces(a) and replaces(b) then -- each in a structure of its own
            bound[1].at, bound[2].at = "l1tlb", "l2cache"
        end
        local word, what = run(preset, seed, settings, bound)
        if word == "refused" and what:find("policies " .. a.name .. " and "
            .. b.name .. " both answer", 1, true) then
            seen.clashes = seen.clashes + 1
            return
        elseif word == "refused" and (refused_alone(preset, settings, bound[1])
            or refused_alone(preset, settings, bound[2])) then
            seen.unfit = seen.unfit + 1
        else
            seen.runs = seen.runs + 1
            complain(("%s + %s on %s, seed %d"):format(a.name, b.name, preset,
                seed), word, what)
        end
    end
    seen.pairs = seen.pairs + 1
end

--- Calls f for each seed.
local function each_seed(f)
    for seed in args.seeds:gmatch "%d+" do
        f(math.tointeger(seed))
    end
end

local all = policies.list()
each_seed(function(seed)
    for i, a in ipairs(all) do
        for j = i + 1, #all do
            if args.pair == "" or args.pair == a.name .. "+" .. all[j].name then
                pair(a, all[j], seed)
            end
        end
        if args.presets == "all" then
            print(("# seed %d: %d of %d policies with those after them"):format(
                seed, i, #all))
        end
    end
end)
print(("# %d pairs, %d runs; %d pairs answer one point, %d times one alone was refused")
    :format(seen.pairs, seen.runs, seen.clashes, seen.unfit))
tap.ok(#seen.bad == 0, "pairs of policies run under the check",
    table.concat(seen.bad, "\n"))
if args.pair == "" then
    tap.ok(seen.unfit * 20 < seen.runs, "hardly any is refused", seen.unfit)
    for _, p in ipairs(all) do
        for _, point in ipairs(p.points) do
            if asked[point .. ".asked"] == 0 then
                complain(p.name, "never asked", point)
            end
        end
    end
    tap.ok(#seen.bad == 0, "every point that one answers was asked",
        table.concat(seen.bad, "\n"))

    -- ---- golden requests and copies inside DRAM -------------------------------------

    seen.bad = {}
    each_seed(function(seed)
        for _, golden in ipairs { "fifo", "banks" } do
            complain("golden = " .. golden, run("mosaic", seed,
                whole.join(SMALL, { ["dram.golden"] = golden,
                    ["core.count"] = 6 }), { "mask", { use = "mosaic", cac = 2 } },
                { "ATAX", whole.freer(704, 6), whole.random(6, 60, 8) }))
        end
    end)
    tap.ok(#seen.bad == 0, "MASK beside Mosaic's copies inside DRAM",
        table.concat(seen.bad, "\n"))

    -- ---- and at random ------------------------------------------------------------

    seen.bad = {}
    each_seed(function(seed)
        for i, preset in ipairs(whole.PRESETS) do
            for n = 1, args.presets == "all" and 20 or 2 do
                local wants = n % 2 == 0 and FAULTS or { ["memory.move"] = "any" }
                local skip = n % 4 < 2 and { warp_limit = true, warp_pick = true }
                    or {}
                skip.page_size = true -- of 4 KB pages, or none coalesce
                local x = seed * 1000 + n * 10 + i
                complain(("seed %d on %s"):format(x, preset), run(preset, x,
                    whole.join(SMALL, wants, { ["core.compact"] = n % 3 == 0 }),
                    { dice(x, skip) }))
            end
        end
    end)
    tap.ok(#seen.bad == 0, "a policy that answers at random, on every preset",
        table.concat(seen.bad, "\n"))
end

return tap.done()

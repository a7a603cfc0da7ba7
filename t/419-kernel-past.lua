--[[
419-kernel-past.lua - loads that pass the L1 cache: { l1 = false }.

Pinned: each of them asks the L2, however often its line was loaded, leaves no line,
and takes none away that is there (but one that may be dirty, of an L1 that is
write-back); it translates as others do; what is loaded and how many instructions are
the same; with lines and with sectors, with an L1 before the TLB, with few MSHRs, with
the simulation's checks; where instructions are skipped caches are warmed so; and what
is refused.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"

local k = H.kernel
local N = 64

local function application(fn)
    return k.app { name = "past", buffers = function()
        return { k.i32("x", 1 << 14, { data = function(i) return i end }),
            k.i32("out", N, { contents = true }),
            k.f32("picture", N, { texture = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", { block = N }, function(t) fn(t, b) end) }
    end, host = function(h)
        if h.launched == 0 then return h.kernels.k end
        for i = 0, N - 1 do
            assert(h.read(h.b.out, i) == i % 4 * 64 + i % 2, "a wrong value")
        end
    end }
end

-- One block of one or two warps: `list` has true (past the L1) or false for each
-- load, one after the other, of a line that both lanes of a pair have.
local function run(list, settings)
    local sim = H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.program(application(function(t, b)
            local i = t.tid % 4 * 64 + t.tid % 2
            local sum = t:var(0)
            for _, past in ipairs(list) do
                local v = t:load(b.x, i, { l1 = not past })
                t:alu(1, { uses = { v } })
                sum:set(v)
            end
            t:store(b.out, t.tid, sum)
        end)) }, settings = settings }
    sim:run()
    sim:check()
    return sim:counters(), sim.instructions, sim.cycles
end

local P, L = true, false

for name, settings in pairs {
    lines = {},
    ["few MSHRs"] = { ["l1cache.mshrs"] = 1, ["l1cache.merges"] = 1 },
    sectors = { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
        ["l1cache.write"] = "through" },
    virtual = { ["l1cache.order"] = "virtual" },
    ["write-back"] = { ["l1cache.write"] = "back" },
} do
    local c, plain = run({ L, L, L }, settings)
    local lines = c.l1cache.reads // 3
    tap.ok(c.l1cache.read_hits >= 2 * lines, name .. ": plain loads hit",
        c.l1cache.read_hits)
    local p, past = run({ P, P, P }, settings)
    tap.is(past, plain, name .. ": as many instructions")
    tap.is(p.l1cache.reads, c.l1cache.reads, name .. ": and lines")
    tap.is(p.l1cache.read_hits, 0, name .. ": none hits")
    tap.is(p.l1cache.read_misses, 3 * lines, name .. ": each is a miss")
    tap.is(p.l1cache.read_merges, 0, name .. ": and not merged")
    tap.is(p.l2cache.read_lookups, 3 * lines, name .. ": each asks the L2")
    if name ~= "virtual" then
        tap.is(p.l1tlb.lookups, c.l1tlb.lookups, name .. ": and a translation")
    end
    local after = run({ P, L }, settings)
    tap.is(after.l2cache.read_lookups - after.l1cache.read_misses
        + after.l1cache.read_merges, 0, name .. ": none is lost")
    tap.ok(after.l1cache.read_hits <= lines // 2,
        name .. ": it leaves no line", after.l1cache.read_hits)
    local between = run({ L, P, L }, settings)
    local first = run({ L, L }, settings)
    if name == "write-back" then
        tap.ok(between.l1cache.read_hits <= first.l1cache.read_hits,
            name .. ": a line that may be dirty goes")
    else
        tap.is(between.l1cache.read_hits, first.l1cache.read_hits,
            name .. ": a line that is there stays")
    end
end

local _, _, slow = run { P, P, P, P }
local _, _, fast = run { L, L, L, L }
tap.ok(slow > fast, "each goes to the L2",
    ("%d, %d"):format(slow, fast))

-- Launches that are skipped warm the caches as those that run fill them.
do
    local function last(past)
        local app = k.app { name = "skipped", buffers = function()
            return { k.f32("x", 1 << 12) }
        end, kernels = function(_, b)
            local one = k.kernel("one", { grid = 1, block = 64 }, function(t)
                t:loop(16, function(i)
                    t:alu(1, { uses = { t:load(b.x, t.tid + i * 64,
                        { l1 = not past }) } })
                end)
            end)
            return { one, one, one }
        end }
        local sim = H.sim { machine = "maxwell", progress = false,
            apps = { H.program(app) },
            settings = { ["sim.first_kernel"] = 3 } }
        sim:run()
        return sim:counters().l1cache
    end
    tap.is(last(true).read_hits, 0, "nothing is warm for a load past the L1")
    tap.is(last(true).reads, last(false).reads, "which has as many lines")
end

-- Windows of a sampled run: what is skipped is warmed.
for name, settings in pairs {
    lines = {}, sectors = { ["l1cache.sector_bytes"] = 32,
        ["l2cache.sector_bytes"] = 32, ["l1cache.write"] = "through" },
    back = { ["l1cache.write"] = "back" },
} do
    settings["sample.every"], settings["sample.window"] = 400, 100
    settings["sample.warm"] = 100
    local app = k.app { name = "sampled", buffers = function()
        return { k.f32("x", 1 << 12) }
    end, kernels = function(_, b)
        return { k.kernel("k", { grid = 16, block = 64 }, function(t)
            t:loop(100, function(i)
                t:alu(1, { uses = { t:load(b.x, t.tid + i % 8 * 64,
                    { l1 = false }) } })
                t:store(b.x, t.tid)
            end)
        end) }
    end }
    local sim = H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.program(app) }, settings = settings }
    sim:run()
    sim:check()
    local c = sim:counters()
    tap.is(c.l1cache.read_hits, 0, name .. ", sampled: none hits")
    tap.ok(c.core.loads + c.core.stores < 16 * 200, name .. ": some are skipped",
        c.core.loads)
end

-- ---- what is refused -----------------------------------------------------------

local function refused(fn, words, name)
    for _, part in ipairs { "419-kernel-past.lua:", words } do
        tap.raises(function() application(fn):workload() end, part, name)
    end
end
refused(function(t, b) t:load(b.x, 0, { l1 = 0 }) end,
    "t:load(x): l1 is true or false, not 0", "no number")
refused(function(t, b) t:store(b.out, 0, 1, { l1 = false }) end,
    "t:store has no option 'l1'; it takes vec", "no store")
refused(function(t, b) t:load(b.picture, 0, { l1 = false }) end,
    "a load of this buffer is a texture fetch", "no texture fetch")

tap.done()

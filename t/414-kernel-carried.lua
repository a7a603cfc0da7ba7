--[[
414-kernel-carried.lua - loads in flight that variables carry to the next
iteration: t:var(x, { pending = true }).

Pinned: a load for the next iteration costs at most 1.03 times one that is issued
first and used last in its own, where a plain variable costs what a use at once
does; two iterations ahead hide what one cannot; such a variable is as late as a
plain one where each load needs the last (a chain), so nothing is used early; the
instructions and the values are those of plain variables, also where only some
lanes set it; threads that are regrouped do so, too; and the words of what is
refused.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local survey = require "heddle.survey"
local twin = require "heddle.twin"

local k = H.kernel

local function application(name, fn, more)
    return k.app { name = name, buffers = function()
        return { k.f32("a", 1 << 18),
            k.i32("next", 1 << 12, { data = H.generate.permutation {
                n = 1 << 12 } }),
            k.i32("out", 1 << 12, { contents = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", more or { grid = 8, block = 32 }, function(t)
            fn(t, b)
        end) }
    end }
end

local function run(fn, settings, more)
    local sim = H.sim { machine = "maxwell", progress = false,
        apps = { H.program(application("carried", fn, more)) },
        settings = settings }
    sim:run()
    return sim.cycles, sim.instructions
end

-- ---- what it costs ---------------------------------------------------------

local ROUNDS = 64

local function at(t, i) return t.gid + i * 512 end

-- Each round of `work` instructions has a load that is used at once, or last,
-- or in the next round.
local function at_once(work)
    return run(function(t, b)
        t:loop(ROUNDS, function(i)
            t:alu(1, { uses = { t:load(b.a, at(t, i)) } })
            t:alu(work, { uses = {} })
        end)
    end)
end

local function last(work)
    return run(function(t, b)
        t:loop(ROUNDS, function(i)
            local x = t:load(b.a, at(t, i))
            t:alu(work, { uses = {} })
            t:alu(1, { uses = { x } })
        end)
    end)
end

local function carried(work, pending)
    return run(function(t, b)
        local v = t:var(t:load(b.a, at(t, 0)), { pending = pending })
        t:loop(ROUNDS, function(i)
            local x = t:load(b.a, at(t, i + 1))
            t:alu(1, { uses = { v } })
            t:alu(work, { uses = {} })
            v:set(x)
        end)
    end)
end

local function two_ahead(work)
    return run(function(t, b)
        local v = t:var(t:load(b.a, at(t, 0)), { pending = true })
        local w = t:var(t:load(b.a, at(t, 1)), { pending = true })
        t:loop(ROUNDS, function(i)
            local x = t:load(b.a, at(t, i + 2))
            t:alu(1, { uses = { v } })
            t:alu(work, { uses = {} })
            v:set(w)
            w:set(x)
        end)
    end)
end

for _, work in ipairs { 100, 400 } do
    local name = (" (%d instructions)"):format(work)
    local best, now = last(work), carried(work, true)
    tap.ok(now <= 1.03 * best, "as first and last of a round" .. name,
        ("%d, %d"):format(now, best))
    tap.ok(carried(work, false) >= at_once(work),
        "a plain variable waits" .. name)
    local _, plain = carried(work, false)
    local _, pending = carried(work, true)
    tap.is(pending, plain, "and has as many instructions" .. name)
end
tap.ok(two_ahead(20) < 0.7 * carried(20, true), "two rounds ahead hide more",
    ("%d, %d"):format((two_ahead(20)), (carried(20, true))))

-- ---- nothing is used early ---------------------------------------------------

local function chain(pending)
    return function(t, b)
        local v = t:var(t.gid, { pending = pending })
        t:loop(20, function() v:set(t:load(b.next, v)) end)
        t:store(b.out, t.gid, v)
    end
end
tap.is(run(chain(true)), run(chain(false)), "a chain takes what it takes")

-- Launches of a stream wait as others do.
do
    local function streamed(pending)
        local sim = H.sim { machine = "maxwell", progress = false, apps = { H.program(
            k.app { name = "streamed", buffers = application("streamed", chain(pending)).buffers,
                kernels = function(_, b)
                    local one = k.kernel("k", { grid = 8, block = 32 }, function(t)
                        chain(pending)(t, b)
                    end)
                    return { { one, stream = "x" } }
                end }) } }
        sim:run()
        return sim.cycles
    end
    tap.is(streamed(true), streamed(false), "a chain in a stream, too")
end

-- What v or w has is used in each round, of a load of this round or before.
local function mixed(pending)
    return function(t, b)
        local v = t:var(0, { pending = pending })
        local w = t:var(t:load(b.next, t.gid), { pending = pending })
        t:loop(6, function(i)
            local x = t:load(b.next, (t.gid * 7 + i * 64):band(4095))
            t:when(((t.lane + i) % 3):eq(0), function()
                v:set(w)
            end)
            t:when(x:gt(2000), function() w:set((x + 1):band(4095)) end, function()
                w:set(t:load(b.next, v))
            end)
            t:alu(2, { uses = { w } })
            t:store(b.out, t.gid, v + w)
        end)
        t:store(b.out, t.gid, v * 3 + w)
    end
end

-- What a walk without time does, as text.
local function walked(fn)
    local list = {}
    survey.each(application("mixed", fn):workload(), function(e)
        local words = { e.kind, ("%x"):format(e.mask), e.n }
        for lane = 0, 63 do
            words[#words + 1] = e.addr and e.addr[lane]
        end
        list[#list + 1] = table.concat(words, " ")
    end)
    return table.concat(list, "\n")
end
tap.is(walked(mixed(true)), walked(mixed(false)), "values and addresses stay")

do
    local n = 0
    twin.walk(application("mixed", mixed(true)):instance(), function(e)
        if e.kind == "store" then n = n + 1 end
    end, { lanes = 32 })
    tap.ok(n > 0, "the twin takes it")
end

for _, how in ipairs { false, true } do
    local _, plain = run(mixed(false), { ["core.compact"] = how },
        { grid = 8, block = 256 })
    local _, pending = run(mixed(true), { ["core.compact"] = how },
        { grid = 8, block = 256 })
    tap.is(pending, plain, "core.compact = " .. tostring(how))
end

-- A variable that gets a load again, in a loop or a branch, has waited for it: as
-- late as one that is set to it once and used at once.
do
    local function again(fn)
        return run(function(t, b)
            local v = t:var(t:load(b.next, t.gid), { pending = true })
            t:loop(8, function(i)
                fn(t, v, t:load(b.next, at(t, i % 8)))
                t:alu(1, { uses = { v } })
            end)
        end)
    end
    local once = again(function(t, v, x)
        v:set(x)
        t:alu(2, { uses = { v } })
    end)
    tap.ok(again(function(t, v, x)
        v:set(x)
        v:set(x)
        t:alu(2, { uses = {} })
    end) >= once, "set twice")
    tap.ok(again(function(t, v, x)
        t:loop(t.lane % 2 + 1, function() v:set(x) end)
        t:alu(2, { uses = {} })
    end) >= once, "set in a loop")
end

-- A snapshot in the middle.
do
    local function sim()
        return H.sim { machine = "maxwell", progress = false,
            apps = { H.program(application("mixed", mixed(true))) } }
    end
    local straight = sim()
    straight:run()
    local s = sim()
    s:step(straight.now // 3)
    local early = s:snapshot()
    s:run()
    s:restore(early)
    s:run()
    tap.is(s:state_hash(), straight:state_hash(), "a snapshot keeps names")
end

-- ---- what is refused -----------------------------------------------------------

local function refused(fn, words, name)
    tap.raises(function() application("bad", fn):workload() end,
        "414-kernel-carried.lua:", name)
    tap.raises(function() application("bad", fn):workload() end, words, name)
end

refused(function(t) t:var(0, { pending = 1 }) end,
    "t:var: pending is true or false, not 1", "no number")
refused(function(t) t:var(0, { carried = true }) end,
    "t:var has no option 'carried'; it takes pending", "no other option")
refused(function(t, b)
    local v = t:var(0, { pending = true })
    v:set(t:load(b.next, 0) + t:load(b.next, 1))
end, "the value comes from several loads", "one load")
refused(function(t, b)
    local v, w = t:var(0, { pending = true }), t:var(t:load(b.next, 0))
    v:set(w)
end, "a variable that is not pending", "no plain variable")
refused(function(t, b)
    local v, w = t:var(0, { pending = true }), t:var(0, { pending = true })
    local x = t:load(b.next, 0)
    v:set(x)
    w:set(x)
end, "another pending variable carries the load already", "in one only")
tap.raises(function()
    application("bad", function(t, b)
        for i = 1, 9 do t:var(t:load(b.next, i), { pending = true }) end
    end):workload()
end, "kernel k: 18 pending variables and loads that they carry; at most 16",
    "as many as there are slots")

tap.done()

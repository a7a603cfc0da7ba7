-- 568-ccws.lua - CCWS, TA-CCWS and TCWS in whole machines: C and Lua are the same
-- run, to the decision, alone and beside MASK with two applications; a snapshot
-- in the middle changes nothing; unbound, all warps may load again.  And what
-- they stand on: warp_limit is asked when its answer said, and in the very cycle
-- in which it is renewed; misses are told as often as they are counted.  What the
-- published K buys and costs, as policies/ccws.lua tells it.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local diff = require "heddle.diff"
local H = require "heddle"

--- Structures so small that lines and pages are lost all the time.
local SMALL = { ["core.count"] = 2, ["core.scheduler"] = "gto",
    ["l1tlb.entries"] = 8, ["l1tlb.ways"] = 4, ["l1cache.bytes"] = 4096 }
local CYCLES = 25000

--- The built-in's options, and those of the Lua policy that is the same.
local function both(name, options)
    local lua = name == "ccws" and options or whole.join({ tags = "pages",
        vta_entries = 8, vta_ways = 0 }, options)
    return { name, options }, { "policies/ccws.lua", lua }
end

local function sim(machine, names, policies, more)
    local apps = {}
    for i, name in ipairs(names) do
        apps[i] = H.app(name, { size = "S" })
    end
    return whole.maker(apps, whole.join(SMALL, more or {}),
        { machine = machine, check = true }, policies)()
end

local function run(...)
    local s <close> = sim(...)
    s:run(CYCLES)
    return whole.statistics(s, whole.no_policy),
        s:counters().policy["warp_limit.asked"]
end

-- ---- C and Lua -------------------------------------------------------------------

local FORMS = {
    { "ccws", {} }, { "ccws", { tlb_weight = 4, vta_entries = 4, vta_ways = 0 } },
    { "tcws", {} }, { "tcws", { lru = 0, vta_entries = 5 } },
    { "tcws", { lru = 1369, decay = 2, base = 60, throttle = 3 } },
}
local MACHINES = {
    { "pichai", { "KMEANS" }, nil, { ["walk.mode"] = "fixed:20" } },
    { "pichai", { "MEMC", "BFS" }, nil, { ["l1tlb.blocking"] = "hits",
        ["walk.mode"] = "fixed:20" } },
    { "maxwell", { "KMEANS", "GUP" }, { "mask", { epoch = 1000 } } },
}

local changed = 0
for _, m in ipairs(MACHINES) do
    local other = m[3] and { m[3] } or {}
    local plain = run(m[1], m[2], other, m[4])
    for _, form in ipairs(FORMS) do
        local c, lua = both(form[1], form[2])
        local what = ("%s on %s, %s"):format(form[1], m[1],
            table.concat(m[2], " "))
        local a, asked = run(m[1], m[2], { c, other[1] }, m[4])
        local b, again = run(m[1], m[2], { lua, other[1] }, m[4])
        local d = whole.difference(a, b)
        tap.ok(not d, what .. ": C and Lua alike", d)
        tap.ok(asked > 50 and asked == again, what .. ": asked as often",
            ("%d, %d"):format(asked, again))
        changed = changed + (whole.difference(a, plain) and 1 or 0)
    end
end
tap.ok(changed >= 10, "they hold warps back",
    ("%d of %d runs differ from GTO's"):format(changed, #FORMS * #MACHINES))

for _, name in ipairs { "ccws", "tcws" } do
    local c, lua = both(name, { vta_entries = 8 })
    local x <close> = sim("pichai", { "KMEANS" }, { c })
    local y <close> = sim("pichai", { "KMEANS" }, { lua })
    local found, alike = diff.run(x, y, { cycles = CYCLES })
    tap.ok(not found and alike.decisions > 50, name .. ": every decision alike",
        found and table.concat(diff.describe(found, "C", "Lua"), "\n") or alike.decisions)
end

-- ---- snapshots, unbinding -------------------------------------------------------------

for _, name in ipairs { "ccws", "tcws" } do
    for _, policy in ipairs { both(name, { vta_entries = 8 }) } do
        local s <close> = sim("pichai", { "KMEANS" }, { policy })
        s:run(CYCLES // 3)
        local snap = s:snapshot()
        s:run(CYCLES // 2)
        local want = whole.statistics(s)
        s:restore(snap)
        s:run(CYCLES // 2)
        local d = whole.difference(want, whole.statistics(s))
        tap.ok(not d, policy[1] .. ": a snapshot in the middle", d)
        local pieces <close> = sim("pichai", { "KMEANS" }, { policy })
        local all = CYCLES // 3 + CYCLES // 2
        while pieces.now < all do
            pieces:run(math.min(617, all - pieces.now))
        end
        d = whole.difference(want, whole.statistics(pieces))
        tap.ok(not d, policy[1] .. ": in pieces", d)
    end
end

do
    local s <close> = sim("pichai", { "KMEANS" },
        { { { name = "none", warp_limit = function()
            return 0, math.maxinteger
        end } } })
    s:run(3000)
    local before = s:counters().core.loads
    s:run(3000)
    tap.is(s:counters().core.loads, before, "an answer can hold for ever")
    s:unuse "none"
    s:run(3000)
    tap.ok(s:counters().core.loads > before, "unbound, warps load again")
end

-- ---- when it is asked -----------------------------------------------------------------

do
    local s <close> = sim("pichai", { "KMEANS" }, { {
        { name = "clock",
            init = function(state)
                state.due, state.late, state.renewed, state.wrong = {}, 0, 0, 0
            end,
            warp_limit = function(q, state)
                local due = state.due[q.core + 1]
                if due and due.cycle ~= q.cycle and due.renewed then
                    state.wrong = state.wrong + 1
                elseif due and q.cycle > due.cycle then
                    state.late = state.late + 1
                end
                state.due[q.core + 1] = { cycle = q.cycle + 37 }
                return -1 >> (64 - q.n), q.cycle + 37
            end,
            watch = { cache_miss = function(n, state)
                local due = state.due[n.instance + 1]
                if n.level == 1 and due and not due.renewed
                    and n.line % 7 == 0 then
                    state.renewed = state.renewed + 1
                    state.due[n.instance + 1] = { cycle = n.cycle,
                        renewed = true }
                    renew(n.instance)
                end
            end },
        } } })
    s:run(CYCLES)
    local state = s:used()[1].state
    tap.is(state.late, 0, "never after what it said")
    tap.is(state.wrong, 0, "renewed, in the same cycle")
    tap.ok(state.renewed > 100 and s:counters().policy["warp_limit.asked"]
        > CYCLES // 37, "it was renewed", state.renewed)
end

for text, answer in pairs {
    ["expected `holds` to be 0 or a later cycle"] = function(q)
        return 1, q.cycle
    end,
    ["a cycle, or nothing, as its second result"] = function()
        return 1, "soon"
    end,
    ["renew: this machine has no core 99"] = function()
        renew(99)
    end,
} do
    local s <close> = sim("pichai", { "KMEANS" },
        { { { name = "wrong", warp_limit = answer } } })
    tap.raises(function() s:run(100) end, text, text)
end

-- ---- what is told ---------------------------------------------------------------------

for _, blocking in ipairs { "none", "hits", "full" } do
    local s <close> = sim("pichai", { "BFS" }, { { { name = "ears",
        init = function(state)
            state.lines, state.pages, state.waited = 0, 0, 0
        end,
        watch = {
            cache_miss = function(n, state)
                if n.level == 1 and n.kind == "read" then
                    state.lines = state.lines + 1
                    state.waited = state.waited + n.waited
                end
            end,
            tlb_miss = function(n, state)
                state.pages = state.pages + (n.level == 1 and 1 or 0)
            end,
        } } } }, { ["l1tlb.blocking"] = blocking, ["l1cache.mshrs"] = 2,
        ["l1tlb.mshrs"] = 2 })
    s:run(CYCLES)
    local state, c = s:used()[1].state, s:counters()
    tap.is(state.lines, c.l1cache.read_misses, blocking .. ": lines that miss")
    tap.is(state.pages, c.l1tlb.misses, blocking .. ": pages that miss")
    tap.ok(state.waited > 0 and state.waited < state.lines,
        blocking .. ": some waited for their pages", ("%d of %d"):format(state.waited, state.lines))
end

-- ---- K ---------------------------------------------------------------------------------

--- Cycles of 32 warps a core, each of which walks round so many lines of its own.
local function rounds(loads, lines, throttle)
    local k = H.kernel
    local app = k.app { name = "rounds", source = "this test", params = {},
        buffers = function()
            return { k.f32("a", 30 * 32 * loads * lines * 32 + 64) }
        end,
        kernels = function(_, b)
            return { k.kernel("go", { grid = 120, block = 256 }, function(t)
                local w = t.gid // 32
                t:loop(12, function()
                    t:loop(loads, function(i)
                        local x = t:load(b.a, ((w * loads + i) * lines
                            + t.lane % lines) * 32)
                        t:alu(1, { uses = { x } })
                    end)
                end)
            end) }
        end }
    local s <close> = H.sim { machine = "pichai", apps = { H.program(app) },
        policies = throttle and { { use = "ccws", throttle = throttle } } or nil,
        settings = { ["core.scheduler"] = "gto", ["sim.translation"] = "off",
            ["sim.relaunch"] = false } }
    s:run(1 << 40)
    return s.now
end

do
    local gto, eight, one = rounds(3, 4), rounds(3, 4, 8), rounds(3, 4, 1)
    tap.ok(eight > 1.1 * gto and one < 1.05 * gto,
        "12 lines a warp, which GTO holds: K = 8 costs, 1 does not",
        ("%d, %d, %d"):format(gto, eight, one))
    gto, eight, one = rounds(30, 1), rounds(30, 1, 8), rounds(30, 1, 1)
    tap.ok(1.5 * eight < gto and one > 0.95 * gto,
        "30 lines, which it does not: K = 8 pays, 1 does nothing",
        ("%d, %d, %d"):format(gto, eight, one))
end

tap.done()

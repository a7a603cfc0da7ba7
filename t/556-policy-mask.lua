-- 556-policy-mask.lua - MASK on a whole machine.
--
-- Pinned: the C policy, the Lua one that steers and the Lua one that answers
-- give the same statistics, on several machines, sets of applications and
-- parameters, all mechanisms together and each alone, and beside Mosaic in one
-- machine; each mechanism does
-- what it is for, and what it does is gone when it is switched off; the run is
-- the same in pieces and after a snapshot, with the end of warm-up in it.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local SMALL = whole.join(whole.SMALL, { ["bypass.entries"] = 32,
    ["dram.queues"] = "apart", ["dram.turn_idle"] = 3000 })

local FORMS = { "mask", "policies/mask.lua", "policies/mask-asked.lua" }

local function machine(scene, check)
    local apps = {}
    for i, a in ipairs(scene.apps) do
        apps[i] = type(a) == "string" and H.app(a, { size = "S" }) or a()
    end
    return H.sim {
        machine = scene.machine or "maxwell", apps = apps, check = check,
        settings = whole.join(SMALL, scene.settings or {}),
    }
end

local function run(scene, form, options)
    local sim <close> = machine(scene, form ~= nil)
    if form then
        sim:use(form, options)
    end
    sim:run(scene.cycles or 24000)
    sim:check()
    return whole.statistics(sim, whole.no_policy), sim:counters()
end

-- ---- twins -------------------------------------------------------------------

-- The data of one hit in the L2 cache, and the leaves of the other do not.
local BIG = {
    name = "resident + random",
    apps = { whole.resident, function() return whole.random(32, 200, 256) end },
    settings = { ["l2cache.bytes"] = 1 << 17, ["l1cache.mode"] = "off" },
}
local SCENES = {
    { name = "GUP + MM", apps = { "GUP", "MM" } },
    BIG,
    { name = "three, one alone on a core", apps = { "GUP", "CONS", "BFS2" },
      settings = { ["core.count"] = 3 } },
    { name = "one application", apps = { "GUP" } },
    { name = "warm-up ends, applications finish and start again",
      apps = { function() return H.app("TRD", { size = "T" }) end,
               function() return whole.random(40, 64, 16) end },
      settings = { ["sim.warmup"] = 7300 }, cycles = 40000 },
    { name = "mosaic, no L2 TLB", machine = "mosaic", apps = { "GUP", "3DS" },
      options = { tokens = 0 },
      settings = { ["l2tlb.mode"] = "off", ["bypass.entries"] = 0,
                   ["pwc.mode"] = "full" } },
    { name = "units in the cores, LRR", apps = { "GUP", "MM" },
      options = { tokens = 0 },
      settings = { ["walk.per_core"] = true, ["core.scheduler"] = "lrr" } },
    { name = "queues of one, one channel", apps = { "GUP", "CONS" },
      settings = { ["dram.queue"] = 1, ["dram.queue_silver"] = 1,
                   ["dram.queue_golden"] = 1, ["dram.channels"] = 1,
                   ["l2cache.slices"] = 4 } },
    { name = "shared queues, closed rows, refresh", apps = { "GUP", "CONS" },
      settings = { ["dram.queues"] = "shared", ["dram.page"] = "closed",
                   ["dram.refresh"] = true, ["dram.queue_silver"] = 3,
                   ["dram.queue_golden"] = 2 } },
    { name = "golden requests of banks beside each other",
      apps = { "GUP", "MM" }, settings = { ["dram.golden"] = "banks",
                                           ["dram.scheduler"] = "capped" } },
}

local OPTIONS = {
    { "all", { epoch = 2000 } },
    { "none", { epoch = 2000, tokens = 0, bypass = 0, dram = 0 } },
    { "bypass alone", { epoch = 1100, tokens = 0, dram = 0 } },
    { "bypass without samples", { epoch = 1000, tokens = 0, sample = 0,
                                dram = 0 } },
    { "bypass as released", { epoch = 1000, tokens = 0, dram = 0,
                             bypass_rule = "released" } },
    { "tokens alone", { epoch = 1100, bypass = 0, dram = 0 } },
    { "DRAM alone", { epoch = 1100, bypass = 0, tokens = 0 } },
    { "short turns", { epoch = 1100, bypass = 0, tokens = 0, thresh = 3 } },
    { "a hill climb without a band", { epoch = 1500, token_rule = "hillclimb", band = 0,
                                       step = 25, initial = 50 } },
    { "the text's rule without a band", { epoch = 1500, band = 0, step = 3 } },
}

for i, scene in ipairs(SCENES) do
    for k, o in ipairs(OPTIONS) do
        if i <= 2 or k == 1 then
            local options = whole.join(o[2], scene.options or {})
            if scene.options then
                for _, form in ipairs(FORMS) do
                    tap.raises(function() run(scene, form) end,
                        "tokens say who fills an L2 TLB that all cores share",
                        scene.name .. ": no tokens, " .. form)
                end
            end
            local c = run(scene, FORMS[1], options)
            for f = 2, #FORMS do
                local d = whole.difference(c, (run(scene, FORMS[f], options)))
                tap.ok(not d, ("%s, %s: %s as in C"):format(scene.name, o[1],
                    FORMS[f]), d)
            end
        end
    end
end

-- ---- with Mosaic in one machine ----------------------------------------------

do
    local function both(mask, mosaic)
        local sim <close> = H.sim { machine = "mosaic", check = true,
            apps = { H.app("3DS", { size = "S" }), H.app("GUP",
                { size = "S" }) },
            settings = whole.join(SMALL, { ["l1tlb.large_entries"] = 1,
                ["l2tlb.large_entries"] = 2, ["memory.free_at_end"] = true }) }
        sim:use(mask, { epoch = 2000 })
        sim:use(mosaic)
        sim:run(24000)
        sim:check()
        return whole.statistics(sim, whole.no_policy), sim:counters()
    end
    local c, n = both("mask", "mosaic")
    tap.ok(n.memory.coalesced > 0 and n.memory.mixed == 0
        and n.mmu.bypass_fills > 0 and n.dram.golden > 0,
        "MASK and Mosaic in one machine: both do their work",
        ("%d regions, %d fills of the bypass cache, %d golden requests")
        :format(n.memory.coalesced, n.mmu.bypass_fills, n.dram.golden))
    for _, twin in ipairs { { "policies/mask.lua", "policies/mosaic.lua" },
        { "policies/mask-asked.lua", "mosaic" },
        { "mask", "policies/mosaic.lua" } } do
        local d = whole.difference(c, (both(twin[1], twin[2])))
        tap.ok(not d, ("%s with %s: as in C"):format(twin[1], twin[2]), d)
    end
end

-- ---- what each mechanism does ------------------------------------------------

local PAIR = SCENES[1]
-- The base has the same epochs, since cores do not run ahead of them.
local IDLE = { name = "idle", every = { 2000, function() end } }
local base, plain = run(PAIR, IDLE)

local _, on = run(PAIR, "mask",
    { epoch = 2000, bypass = 0, dram = 0 })
tap.ok(on.mmu.bypass_fills > 0 and on.mmu.bypass_hits > 0
    and plain.mmu.bypass_fills == 0,
    "tokens: walks of warps without one fill the bypass cache",
    ("%d fills, %d hits"):format(on.mmu.bypass_fills, on.mmu.bypass_hits))
tap.is(on.policy["tokens.asked"], 2 * 24000 // 2000,
    "tokens: asked for each application at each epoch")
tap.ok(on.mmu.fills > 0 and on.mmu.fills < plain.mmu.fills,
    "tokens: the others fill the L2 TLB")

local off = run(PAIR, "mask", { epoch = 2000, tokens = 0, bypass = 0, dram = 0 })
tap.ok(not whole.difference(base, off), "switched off, nothing changes",
    whole.difference(base, off))

-- The first epoch: everyone fills.
local first = whole.join(PAIR, { cycles = 1999 })
local _, early = run(first, "mask", { epoch = 2000 })
tap.is(early.mmu.bypass_fills, 0, "tokens: in the first epoch all fill")

local _, alone = run(BIG, "mask",
    { epoch = 2000, tokens = 0, dram = 0 })
local _, skipless = run(BIG, IDLE)
tap.ok(alone.l2cache.bypass_walks > 1000 and alone.l2cache.bypass_data == 0
    and skipless.l2cache.bypass_walks == 0,
    "bypass: page walks go past the L2 cache, data do not",
    alone.l2cache.bypass_walks)
tap.ok(alone.l2cache.walk4_lookups > 0, "bypass: samples are still looked up")
tap.ok(alone.l2cache.walk4_lookups < skipless.l2cache.walk4_lookups // 2,
    "bypass: but most leaves are not", alone.l2cache.walk4_lookups)
tap.is(alone.mmu.bypass_fills, 0, "bypass alone: no tokens")
local _, blind = run(BIG, "mask",
    { epoch = 2000, tokens = 0, sample = 0, dram = 0 })
tap.ok(blind.l2cache.bypass_walks ~= alone.l2cache.bypass_walks,
    "bypass: without samples it is another")

-- DRAM.
local _, urgent = run(PAIR, "mask", { epoch = 2000, tokens = 0, bypass = 0 })
local _, calm = run(PAIR, IDLE)
tap.is(urgent.dram.golden >= urgent.dram.walk_reads
    and urgent.dram.walk_reads > 0, true, "DRAM: every page walk is golden")
tap.ok(urgent.dram.silver > 0 and urgent.dram.turns > 8
    and calm.dram.silver == 0 and calm.dram.golden == 0,
    "DRAM: there are silver turns")

--- Silver requests of a turn of each application, while both run.
local function turn_lengths(options)
    local sim <close> = machine(PAIR)
    sim:use("mask", whole.join({ epoch = 2000, tokens = 0, bypass = 0 },
        options))
    sim:run(24000)
    local out = {}
    for app = 0, 1 do
        local c = sim:counters { app = app }
        out[app + 1] = c.dram.silver / c.dram.turns
    end
    return out
end
local turn = turn_lengths {}
tap.ok(turn[1] > 1.5 * turn[2], "DRAM: turns are longer where walks press more",
    ("%.1f and %.1f requests"):format(turn[1], turn[2]))
local brief = turn_lengths { thresh = 20 }
tap.ok(brief[1] < turn[1] / 2, "DRAM: and last as long as thresh says",
    ("%.1f requests"):format(brief[1]))

--- Cycles from acceptance to the last datum, of page walk reads; there are many
-- where misses pass misses.
local function walk_latency(options)
    local sim <close> = machine(whole.join(BIG, { settings = {
        ["l2cache.bytes"] = 1 << 16, ["dram.channels"] = 1,
        ["l1cache.mode"] = "off", ["l2cache.slices"] = 4,
        ["l1tlb.blocking"] = "none" } }))
    sim:use("mask", whole.join({ epoch = 2000, tokens = 0, bypass = 0 },
        options))
    sim:run(24000)
    local n, sum = 0, 0
    for _, h in ipairs(sim.core:hists()) do
        if h.component == "dram" and h.name == "walk_latency" then
            for _, v in ipairs(h.apps) do
                n, sum = n + v.n, sum + v.sum
            end
        end
    end
    return sum / n
end
local slow, quick = walk_latency { dram = 0 }, walk_latency { dram = 1 }
tap.ok(quick < 0.9 * slow, "DRAM: walks wait less", ("%.1f against %.1f")
    :format(quick, slow))

-- ---- who has a token -----------------------------------------------------------

--- Runs GUP alone under a policy whose tokens are `n`: percent of the walks
-- after the first epoch that fill the L2 TLB.
local function fillers(n)
    local sim <close> = machine({ apps = { "GUP" },
        settings = { ["core.count"] = 2 } }, true)
    sim:use { name = "fixed",
        tokens = function(q) return math.min(n, q.warps) end,
        every = { 1000, function() end } }
    sim:run(1001)
    local from = sim:counters().mmu
    sim:run(9000)
    local to = sim:counters().mmu
    local fills = to.fills - from.fills
    return 100 * fills // (fills + to.bypass_fills - from.bypass_fills)
end

tap.is(fillers(0), 0, "no tokens, no fills")
local some = fillers(2)
tap.ok(some > 0 and some < 95, "two tokens, some fills", some .. " percent")
tap.is(fillers(128), 100, "a token for each warp, all fill")

local fine, why = pcall(function()
    local sim <close> = machine(PAIR)
    sim:use { name = "timeless", tokens = function() return 1 end }
end)
tap.ok(not fine and tostring(why):find("epochs", 1, true),
    "a policy that answers tokens needs epochs", tostring(why))

-- ---- a parameter that is a choice --------------------------------------------------

for _, form in ipairs(FORMS) do
    local sim <close> = machine(PAIR)
    for _, bad in ipairs { { "climb", "not 'climb'" }, { 1, "not a number" } } do
        tap.raises(function() sim:use(form, { token_rule = bad[1] }) end,
            "token_rule is one of text|hillclimb, " .. bad[2],
            form .. ": " .. bad[2])
    end
    tap.raises(function() sim:use(form, { step = "large" }) end,
        "option step: expected an integer", form .. ": no name for a number")
    sim:use(form, { token_rule = "hillclimb" })
    tap.is(sim:used()[1].params.token_rule, "hillclimb",
        form .. ": a choice has a name")
end
for _, bad in ipairs {
    { { default = "c", choices = { "a", "b" } }, "one of a|b" },
    { { default = "a", choices = { "a" } }, "two names" },
    { { default = "a", choices = { "a", 2 } }, "are names" },
    { { default = 0, choices = { "a", "b" } }, "one of a|b" },
} do
    local sim <close> = machine(PAIR)
    tap.raises(function()
        sim:use { name = "odd", params = { x = bad[1] },
            every = { 1000, function() end } }
    end, bad[2], "a choice declared badly: " .. bad[2])
end

local two <close> = machine(PAIR)
two:use("mask", { epoch = 1000 })
two:use { name = "curious", every = { 900, function()
    recent("warps", 0)
end } }
fine, why = pcall(two.run, two, 5000)
tap.ok(not fine and tostring(why):find(
    "both ask for the fact warps", 1, true),
    "a fact belongs to one policy", tostring(why))

-- ---- cuts ----------------------------------------------------------------------

for _, form in ipairs(FORMS) do
    local scene = whole.join(PAIR, { settings = { ["sim.warmup"] = 5100 } })
    local straight <close> = machine(scene)
    straight:use(form, { epoch = 1300 })
    straight:run(20000)
    local want = whole.statistics(straight)
    local back <close> = machine(scene)
    back:use(form, { epoch = 1300 })
    back:run(7000)
    local snap = back:snapshot()
    back:run(3000)
    back:restore(snap)
    for _ = 1, 13 do
        back:run(1000)
    end
    local d = whole.difference(want, whole.statistics(back))
    tap.ok(not d, form .. ": the same in pieces and after a snapshot", d)
end

tap.done()

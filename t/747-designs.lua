-- 747-designs.lua - pins: every design of MASK's comparison builds on the
-- machines, runs under sim.check, and is unlike the others; in Static an
-- application uses its own DRAM channels and L2 slices and nothing else; ways
-- that are shared out keep applications apart, whoever replaces; what cannot
-- be shared equally is refused in words.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local function load(n)
    local apps = {}
    for i = 1, n or 2 do
        apps[i] = H.app(i % 2 == 1 and "GUP" or "CONS", { size = "S" })
    end
    return apps
end

local function sim(machine, options)
    return H.sim(whole.join({ machine = machine, apps = load(), check = true },
        options or {}))
end

-- ---- all of them ---------------------------------------------------------------

local instructions, same = {}, {}
for _, d in ipairs(H.designs.sharing) do
    local policies = {}
    for i, p in ipairs(d.policies or {}) do
        policies[i] = whole.join(p, { epoch = 2000 })
    end
    local s <close> = sim(d.apply(H.machine("aggressive") {
        ["core.count"] = 4, ["l1tlb.entries"] = 8, ["l2tlb.entries"] = 64,
        ["l1cache.mode"] = "off", ["l2cache.bytes"] = 131072 }), {
        policies = policies,
        apps = { whole.resident(), whole.random(32, 200, 256) } })
    s:run(24000)
    s:check()
    local n = s:counters().l2cache.read_lookups
    if instructions[n] then
        same[#same + 1] = d.name .. " = " .. instructions[n]
    end
    instructions[n] = d.name
    tap.ok(s.instructions > 1000, d.name .. " runs, checked", s.instructions)
end
tap.ok(#same == 0, "no two designs are alike", table.concat(same, ", "))

local large = {}
for i, d in ipairs(H.designs.pages) do
    local s <close> = H.sim { machine = d.apply(H.machine("mosaic") {
        ["core.count"] = 4 }), policies = d.policies, check = true,
        apps = { whole.freer(700, 12, "x"), whole.freer(1500, 8, "y") } }
    s:run()
    local c = s:counters()
    large[i] = ("%s %d %d %d %d"):format(c.memory.coalesced > 0,
        c.memory.mapped_peak // 512, c.memory.moved > 0 and 1 or 0,
        c.mover.copy_reads > 0 and 1 or 0, c.mover.bulk_copies > 0 and 1 or 0)
end
-- coalesced; regions mapped, of 3000 pages, with 2 MB the last one, too; moved,
-- by copies over the channel, or inside DRAM
tap.is(table.concat(large, ", "), "false 5 0 0 0, false 6 0 0 0, "
    .. "true 5 0 0 0, true 5 1 1 0, true 5 1 0 1, "
    .. "true 5 1 0 0",
    "the designs of Mosaic")

local mask = H.designs.get("MASK")
local m = mask.apply(H.machine "maxwell")
tap.is(m:get("bypass.entries") .. m:get("dram.queues"), "32apart",
    "MASK has a bypass cache and three queues")
tap.is(H.designs.get("MASK-Cache").apply(H.machine "maxwell")
    :get("bypass.entries"), "0", "and what is off is not there")
local quick = H.designs.mask { epoch = 7000, name = "quick" }
tap.is(quick.apply(H.machine "maxwell"):get("dram.turn_idle")
    .. quick.policies[1].epoch .. quick.name, "70007000quick",
    "one epoch for the policy and for turns")
tap.raises(function() H.designs.get("MASKTLB") end, "did you mean 'MASK-TLB'",
    "an unknown design")

-- The three forms of the policy are the same design.
local forms = {}
for i, form in ipairs { "mask", "policies/mask.lua",
    "policies/mask-asked.lua" } do
    local d = H.designs.mask { policy = form, epoch = 3000 }
    local s <close> = sim(d.apply(H.machine("maxwell") { ["core.count"] = 4,
        ["l2tlb.entries"] = 64 }), { policies = d.policies })
    s:run(20000)
    forms[i] = whole.statistics(s, whole.no_policy)
end
tap.ok(not whole.difference(forms[1], forms[2])
    and not whole.difference(forms[1], forms[3]), "C, steered, asked: alike")

-- ---- channels ------------------------------------------------------------------

--- Which copies of a part an application has used.
local function used(s, component, name, app)
    local out, values = {}, s.core:counter_values()
    for i, c in ipairs(s.core:counters()) do
        if c.component == component and c.name == name then
            for k, v in ipairs(values[i][app + 1]) do
                out[#out + 1] = v > 0 and k - 1 or nil
            end
        end
    end
    return table.concat(out, " ")
end

for _, case in ipairs {
    { "B", {} }, { "a map without powers of two", { ["dram.channels"] = 6,
        ["l2cache.slices"] = 12 } },
    { "channels on top", { ["dram.map"] = "row:channel:bank:group:column" } },
} do
    local s <close> = sim(H.designs.static(H.machine("maxwell")
        :with(whole.join({ ["core.count"] = 4 }, case[2]))))
    s:run(20000)
    local c = s:counters()
    local half = tonumber(s.machine:get("dram.channels")) // 2
    local first, second = {}, {}
    for i = 0, half - 1 do
        first[#first + 1], second[#second + 1] = i, half + i
    end
    tap.is(used(s, "dram", "reads", 0), table.concat(first, " "),
        "channels of the first, " .. case[1])
    tap.is(used(s, "dram", "reads", 1), table.concat(second, " "),
        "channels of the second, " .. case[1])
    tap.ok(c.dram.walk_reads > 0, "walks too, " .. case[1])
    local slices, mixed = half * 2, false
    for app = 0, 1 do
        for i in used(s, "l2cache", "read_lookups", app):gmatch "%d+" do
            mixed = mixed or tonumber(i) // slices ~= app
        end
    end
    tap.ok(not mixed, "and their slices, " .. case[1])
end

-- One application has all channels, and is what it was.
local alone = {}
for i, share in ipairs { false, true } do
    local s <close> = H.sim { machine = "maxwell", apps = load(1),
        settings = { ["core.count"] = 2, ["dram.partition"] = share,
            ["l2cache.partition"] = share } }
    s:run(10000)
    alone[i] = whole.statistics(s)
end
tap.ok(not whole.difference(alone[1], alone[2]),
    "one application alone has everything", whole.difference(alone[1],
    alone[2]))

tap.raises(function()
    H.sim { machine = "maxwell", apps = load(3),
        settings = { ["dram.partition"] = true } }
end, "8 channels cannot be shared equally by 3", "three and eight channels")

-- ---- ways ----------------------------------------------------------------------

local WAYS = whole.join(whole.SMALL, { ["l2cache.partition"] = true })

--- Runs with ways shared out: what was measured, and how many lines of each
-- application there are, and how many in ways of the other.
local function shared(policy, at)
    local s <close> = sim("maxwell", { settings = WAYS })
    if policy then
        s:use(policy, { at = at })
    end
    local fine, why = pcall(s.run, s, 20000)
    local wrong, n = 0, { 0, 0 }
    for slice = 0, 15 do
        for _, row in ipairs(s:look("l2cache", slice)) do
            if row.kind == "line" then
                n[row.app + 1] = n[row.app + 1] + 1
                wrong = wrong + (row.way // 8 ~= row.app and 1 or 0)
            end
        end
    end
    if fine then
        s:check()
    end
    return { fine = fine, why = tostring(why), wrong = wrong, n = n,
        statistics = whole.statistics(s, function(component)
            return component == "policy"
        end) }
end

local function apart(r, name)
    tap.ok(r.fine and r.wrong == 0 and r.n[1] > 50 and r.n[2] > 50,
        "each in its ways, " .. name, r.why)
    return r.statistics
end

local default = apart(shared(), "by default")
apart(shared { name = "last", cache_insert = function(q)
    return q.line % 3 == 0 and "last" or nil
end }, "cache_insert last")
for _, name in ipairs { "lru", "fifo", "random", "srrip" } do
    local c = apart(shared(name, "l2cache"), name)
    local lua = apart(shared("policies/" .. name .. ".lua", "l2cache"),
        name .. ".lua")
    tap.ok(not whole.difference(c, lua), "both measure the same",
        whole.difference(c, lua))
    local d = whole.difference(c, default)
    tap.ok((d == nil) == (name == "lru"), name .. (name == "lru"
        and " is the default" or " is another policy"), d)
end

-- Whoever does not heed them is told which ways were expected.
local r = shared({ name = "first", repl_victim = function() return 0 end },
    "l2cache")
tap.ok(not r.fine and r.why:find("policy first answered 0 to repl_victim of "
    .. "l2cache at cycle %d+, expected 8 to 15, the ways of the application; "
    .. "the question:.* app=1 .*from=8 to=15"),
    "another's way is a wrong answer", r.why)
tap.raises(function()
    H.sim { machine = "maxwell", apps = load(3), settings = {
        ["l2cache.partition"] = true, ["l2cache.ways"] = 2 } }
end, "2 ways cannot be shared by 3", "more applications than ways")

tap.done()

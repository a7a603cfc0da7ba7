-- 550-policy-machine.lua - policies on a whole machine.
--
-- Every policy that exists in C and in Lua gives byte-identical statistics,
-- whatever it is bound to; gto, lrr, lru and frfcfs give those of the machine
-- without a policy; a run with a Lua policy is the same in pieces, after a
-- snapshot and restore, and after the policy was taken off and put back.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local function machine(extra)
    return whole.sim({ "GUP", "MM" }, whole.join(whole.SMALL, extra or {}))
end

local CYCLES = 40000

local function run(policy, options, extra, skip)
    local sim = machine(extra)
    if policy then
        sim:use(policy, options)
    end
    sim:run(CYCLES)
    local out = whole.statistics(sim, skip)
    local asked = 0
    for _, v in pairs(sim:counters().policy) do
        asked = asked + v
    end
    sim:check()
    sim:close()
    return out, asked
end

local TWINS = {
    { "lru" }, { "fifo" }, { "random" }, { "srrip" },
    { "srrip", { at = "l2tlb", bits = 3 } }, { "lru", { at = "l1cache" } },
    { "random", { at = "l2cache" } }, { "fifo", { at = "l1tlb" } },
    { "gto" }, { "lrr" }, { "frfcfs" },
}

local base = run(nil, nil, nil, whole.no_policy)
local changed = 0
for _, t in ipairs(TWINS) do
    local name, options = t[1], t[2]
    local c, asked = run(name, options)
    local lua = run("policies/" .. name .. ".lua", options)
    local d = whole.difference(c, lua)
    local title = name .. (options and " at " .. options.at or "")
    tap.ok(not d, title .. ": C and Lua alike", d)
    tap.ok(asked > 10, title .. ": it was asked", asked .. " questions")
    local plain = run(name, options, nil, whole.no_policy)
    changed = changed + (whole.difference(plain, base) and 1 or 0)
end
tap.ok(changed >= 6, "the policies differ from one another",
    changed .. " differ from the default")

local split = run("cores", { app0 = 1 })
tap.is(whole.difference(split, (run("policies/cores.lua", { app0 = 1 }))), nil,
    "cores: C and Lua alike")
tap.ok(whole.difference(split, (run("cores"))), "cores: not as an even split")
for name, params in pairs {
    ["3 cores are given to applications, the machine has 2"] = { app1 = 3 },
    ["app2 is set, but applications are 0 to 1"] = { app2 = 1 },
} do
    for _, form in ipairs { "cores", "policies/cores.lua" } do
        tap.raises(function() run(form, params, { ["core.count"] = 2 }) end,
            name, form .. ": " .. name)
    end
end

for name, extra in pairs {
    lru = {}, gto = {}, lrr = { ["core.scheduler"] = "lrr" }, frfcfs = {},
} do
    local d = whole.difference(run(nil, nil, extra, whole.no_policy),
        run(name, nil, extra, whole.no_policy))
    tap.ok(not d, name .. ": the policy is the machine's own choice", d)
end

-- ---- cuts, snapshots, changes ------------------------------------------------

local function bound()
    local sim = machine()
    sim:use("policies/random.lua", { at = "l2tlb" })
    sim:use("policies/lru.lua", { at = "l1tlb" })
    sim:use("policies/mask.lua", { epoch = 1000 })
    return sim
end

local straight = bound()
straight:run(CYCLES)
local want = whole.statistics(straight)

local pieces = bound()
for _ = 1, CYCLES, 617 do
    pieces:run(math.min(617, CYCLES - pieces.core:now()))
end
local d = whole.difference(want, whole.statistics(pieces))
tap.ok(not d, "one run is many runs", d)

local back = bound()
back:run(CYCLES // 3)
local snap = back:snapshot()
back:run(CYCLES // 3)
back:restore(snap)
back:run(CYCLES - CYCLES // 3)
d = whole.difference(want, whole.statistics(back))
tap.ok(not d, "snapshot, restore and continue is the run straight through", d)

back:restore(snap)
back:unuse("lru")
local refused, err = pcall(back.restore, back, snap)
tap.ok(not refused and tostring(err):find("polic"),
    "a snapshot refuses other policies", tostring(err))
back:use("policies/lru.lua", { at = "l1tlb" })
tap.ok(pcall(back.restore, back, snap), "the policy back, the snapshot fits")
back:run(CYCLES - CYCLES // 3)
d = whole.difference(want, whole.statistics(back))
tap.ok(not d, "and the run is the same", d)

-- ---- two at once -----------------------------------------------------------------

-- One table bound in two simulations that run in turns: a state for each.
local one, two = bound(), bound()
local shared = {
    name = "shared", state = { n = 0 },
    tlb_fill = function(_, s)
        s.n = s.n + 1
        return s.n % 3 == 0 and "none" or math.random(0, 1)
    end,
}
local alone = bound()
for _, sim in ipairs { alone, one, two } do
    sim:use(shared)
end
alone:run(CYCLES)
for i = 1, 40 do
    one:run(CYCLES // 40)
    two:run(i % 2 == 1 and CYCLES // 20 - 7 or 7)
end
d = whole.difference(whole.statistics(alone), whole.statistics(one))
tap.ok(not d, "two simulations in turns, the first as alone", d)
d = whole.difference(whole.statistics(alone), whole.statistics(two))
tap.ok(not d, "and the second", d)

-- ---- errors ---------------------------------------------------------------------

local bad = machine()
bad:use { name = "bad", tlb_fill = function() return "l3tlb" end }
local fine, text = pcall(bad.run, bad, CYCLES)
tap.ok(not fine and tostring(text):find("answered l3tlb, expected l2tlb|bypass")
    or tostring(text):find("l3tlb", 1, true),
    "a wrong answer stops the run in words", tostring(text))

local loop = machine()
loop:use { name = "loop", tlb_fill = function() while true do end end }
fine, text = pcall(loop.run, loop, CYCLES)
tap.ok(not fine and tostring(text):find("more than 1000000 instructions", 1, true),
    "a loop without end stops in words", tostring(text))

-- State in a local is found at the end at the latest.
local count = 0
local leaky = whole.sim({ "MM" }, {})
leaky:use { name = "leaky", tlb_fill = function() count = count + 1 end }
fine, text = pcall(leaky.run, leaky)
tap.ok(not fine and count > 0 and
    tostring(text):find("the local 'count' has changed", 1, true),
    "state in a local is an error at the end", tostring(text))

-- ---- mistakes --------------------------------------------------------------------

--- Binds what a file says, and runs; the text of the error.
local function mistake(source)
    local path = os.tmpname()
    local f <close> = io.open(path .. ".lua", "w")
    f:write("return " .. source)
    f:close()
    local _, told = pcall(function()
        local sim <close> = whole.sim { "GUP" }
        sim:use(path .. ".lua")
        sim:run()
    end)
    os.remove(path)
    os.remove(path .. ".lua")
    return (tostring(told):gsub(path:gsub("%W", "%%%0"), "FILE"))
end

for _, case in ipairs {
    { "{ tlb_fill = function() end }", "FILE.lua: a policy needs a name",
        "a policy without a name, in its file" },
    { "{ 'srrip', at = 'l2tlb' }", "is { use = \"...\", ... }",
        "one by its name without use" },
    { "{ name = 'p' }", "it would do nothing", "one that nobody calls" },
    { "{ name = 'p', init = function() end, params = { at = 1 } }",
        "cannot be called 'at'", "a parameter that nobody can give" },
    { "{ name = 'p', params = { least = 1 }, tlb_fill = function(_, _, p)"
        .. " return p.lest end }", "did you mean 'least'?",
        "a parameter by another name" },
    { "{ name = 'p', init = function(_, _, place) return place.core end }",
        "the place has no 'core'; did you mean 'cores'?",
        "a field that the place has not" },
    { "{ name = 'p', tlb_fill = function() counter 'l2tlb.hit' end }",
        "did you mean 'l2tlb.hits'?", "a counter by another name" },
    { "{ name = 'p', tlb_fill = function() counter('l2tlb.hits', 1) end }",
        "they count from 0 to 0", "a counter of nobody" },
} do
    local got = mistake(case[1])
    tap.ok(got:find(case[2], 1, true), case[3], got)
end

-- ---- state, looked at ------------------------------------------------------------

local seen = machine()
seen:use { name = "walks", state = { n = 0, last = {} }, watch = {
    walk_done = function(q, s)
        s.n = s.n + 1
        s.last[1] = q.vpn
    end } }
seen:use("policies/lru.lua", { at = "l2cache" })
seen:use "mask"
seen:run(CYCLES)
local list = seen:used()
local walks = list[1].state.n
tap.ok(walks > 0 and list[1].state.last[1] == math.tointeger(list[1].state.last[1]),
    "the state of a Lua policy can be looked at", tostring(walks))
list[1].state.n = -1
seen:run(seen.now + CYCLES)
tap.ok(seen:used()[1].state.n >= walks, "and is a copy")
tap.ok(list[2].states.l2cache == list[2].state and not list[3].states
    and not list[3].state, "by structure; one in C shows none")

tap.done()

--[[
229-walk-pick.lua - which walk a walker takes: walk_pick with walkers that have
numbers, the table walk_quota, the notes walk_start and walker_idle.

Pinned: a policy that takes the oldest changes nothing; a walk begins in a walker that
is free, and a walker is idle from the note on; with owners, strictly or with stealing,
no walker takes another's walk, or only when its own has none; a quota is never
exceeded, and is reached; fields of the question are what a naive count gives; all
walkers idle is refused in words; batches have no idle walker; dws and shortest_walks
are the same in Lua and in C, and after a restore.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"

local WALKERS = 6
local SETTINGS = whole.join(whole.SMALL, { ["walk.walkers"] = WALKERS,
    ["walk.queue"] = 200, ["sim.budget"] = 3000 })
local APPS = { "GUP", "ATAX" }

local function open(settings, apps)
    return whole.sim(apps or APPS, whole.join(SETTINGS, settings or {}),
        { check = true })
end

local function run(policy, options, settings, apps)
    local sim <close> = open(settings, apps)
    if policy then sim:use(policy, options) end
    sim:run()
    sim:check()
    return sim:counters(), sim:used()[1] and sim:used()[1].state, sim.now
end

-- ---- the oldest is what the engine takes ----------------------------------------

local plain, _, at = run()
local first, _, at_first = run { name = "oldest", walk_pick = function() return 1 end }
tap.is(at_first, at, "the oldest first: the same end")
tap.is(first.walk.queue_cycles, plain.walk.queue_cycles, "and the same waits")
local _, _, at_passed = run { name = "passes", walk_pick = function() end }
tap.is(at_passed, at, "a policy that passes changes nothing")
local _, _, at_last = run { name = "newest", walk_pick = function(q) return q.n end }
tap.ok(at_last ~= at, "the newest first is another run")

-- ---- walkers ----------------------------------------------------------------------

--- Watches walkers beside `pick`; the state tells what was wrong.
local function watched(pick)
    return { name = "watched",
        state = { busy = {}, wrong = 0, starts = 0, idle = 0, most = 0, done = 0 },
        walk_pick = pick,
        watch = {
            walk_start = function(n, s)
                s.starts = s.starts + 1
                s.wrong = s.wrong + (s.busy[n.walker] and 1 or 0)
                s.busy[n.walker] = n.app << 40 | n.vpn
                s.most = math.max(s.most, n.walker)
            end,
            walk_done = function(n, s)
                s.done = s.done + 1
                for w = 0, 63 do
                    if s.busy[w] == n.app << 40 | n.vpn then s.busy[w] = nil break end
                end
            end,
            walker_idle = function(n, s)
                s.idle = s.idle + 1
                s.wrong = s.wrong + (s.busy[n.walker] and 1 or 0)
            end,
        } }
end
for what, pick in pairs { ["the engine's choice"] = false,
    ["a policy's"] = function() return 1 end } do
    local c, s = run(watched(pick or nil))
    tap.is(s.wrong, 0, what .. ": a walk begins in a walker that is free")
    tap.ok(s.starts >= s.done and s.starts - s.done <= WALKERS and c.walk.walks <= s.done,
        what .. ": each walk begins once", ("%d %d"):format(s.starts, s.done))
    tap.is(s.most, WALKERS - 1, what .. ": walkers are numbered from 0")
    tap.ok(s.idle > 0, what .. ": some find none", s.idle)
end

-- ---- the question -----------------------------------------------------------------

do
    local _, s = run { name = "asked", state = { bad = "", asked = 0, most = 0 },
        walk_pick = function(q, s)
            s.asked = s.asked + 1
            local of = {}
            for i = 1, q.n do
                local key = ("%d %d %d %d"):format(q.app[i], q.core[i], q.warp[i],
                    q.pc[i])
                of[key] = (of[key] or 0) + 1
            end
            for i = 1, q.n do
                local key = ("%d %d %d %d"):format(q.app[i], q.core[i], q.warp[i],
                    q.pc[i])
                if q.left[i] ~= of[key] then
                    s.bad = ("%s has %d, not %d"):format(key, q.left[i], of[key])
                end
                s.most = math.max(s.most, q.left[i])
            end
            if q.choices ~= q.n + 1 or q.walkers ~= 6 or q.walker > 5 then
                s.bad = "walkers"
            end
        end }
    tap.is(s.bad, "", "each walk says how many of its instruction wait")
    tap.ok(s.asked > 100 and s.most > 4, "and some have several", s.most)
end

-- ---- owners -----------------------------------------------------------------------

--- dws.lua with its choices checked: how many walks went to another's walker, and how
-- many of those although one of its own waited.
local function owned(options)
    local sim <close> = open()
    sim:use("policies/dws.lua", options)
    sim:use { name = "owners", state = { other = 0, own = 0 },
        watch = { walk_start = function(n, s)
            local k = n.walker * 2 // 6 == n.app and "own" or "other"
            s[k] = s[k] + 1
        end } }
    sim:run()
    sim:check()
    return sim:used()[2].state, sim:results()
end
local strict = owned { steal = "none" }
tap.ok(strict.other == 0 and strict.own > 100, "a strict partition: nothing is taken",
    strict.own)
local dws, c = owned()
tap.ok(dws.other > 0 and dws.own > dws.other, "with stealing: some",
    ("%d own, %d others'"):format(dws.own, dws.other))
local stolen = H.report.counter(c, "policy.dws.stolen") -- while both run first
tap.ok(stolen > 0 and stolen <= dws.other, "which the policy counts", stolen)

do -- the shortest first, together: it runs, and is not the same as first come
    local s, _, now = run("policies/shortest_walks.lua")
    tap.ok(now ~= at and s.walk.walks > 0, "shortest_walks orders walks", now)
end

-- ---- quotas -----------------------------------------------------------------------

for _, quota in ipairs { 1, 2, 4 } do
    local sim <close> = open()
    sim:use { name = "quotas", init = function()
        steer("walk_quota", 0, 0, quota) -- luacheck: globals steer
    end }
    local most = { 0, 0 }
    while sim.now < 6000 and sim:step(1) == "ok" do
        local of = { 0, 0 }
        for _, w in ipairs(sim:look "walks") do
            if w.state ~= "waits" and w.state ~= "free" then
                of[w.app + 1] = of[w.app + 1] + 1
            end
        end
        for i = 1, 2 do most[i] = math.max(most[i], of[i]) end
    end
    tap.is(most[1], quota, ("a quota of %d is kept, and used"):format(quota))
    tap.ok(most[2] > quota, "the other application has none", most[2])
end

-- ---- words ------------------------------------------------------------------------

local function refused(what, policy, pattern, settings)
    local ok, err = pcall(run, policy, nil, settings)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
do -- all are left idle, but one
    local lazy, _, late = run { name = "lazy",
        walk_pick = function(q) return q.choices end }
    tap.ok(lazy.walk.walks > 0 and late > at, "one walker may not be left idle", late)
end
refused("a choice that is none", { name = "far", walk_pick = function(q)
    return q.choices + 1 end }, "far.*walk_pick")
refused("an idle walker of batches", { name = "lazy", walk_pick = function(q)
    return q.n + 1 end }, "lazy.*walk_pick.*position from 1", { ["walk.batch"] = 4 })

-- ---- in C, too ---------------------------------------------------------------------

for name, list in pairs { dws = { {}, { steal = "none" } },
    shortest_walks = { {}, { aging = 300 }, { together = "no" } } } do
    for i, options in ipairs(list) do
        local text = {}
        for form, use in ipairs { name, ("policies/%s.lua"):format(name) } do
            local sim <close> = open()
            sim:use(use, options)
            sim:run(1500)
            local snap = i == 1 and sim:snapshot()
            sim:run()
            local d = snap and whole.again(sim, snap, 997)
            if snap then tap.ok(not d, use .. ": the same after a restore", d) end
            text[form] = whole.statistics(sim)
            text[form][#text[form] + 1] = "now " .. sim.now
        end
        local d = whole.difference(text[1], text[2])
        tap.ok(not d, ("%s %d: Lua and C are the same"):format(name, i), d)
    end
end
tap.done()

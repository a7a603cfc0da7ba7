--[[
230-peers.lua - L1 TLBs that ask each other (peers.latency, tlb_peer).

Pinned: a network that no policy uses changes nothing, however short, nor does a
policy that names none; each miss that asks has one fate; a hit costs two ways and a
look-up, and a miss so much more than the level below; ports refuse what comes beyond,
a page in flight to the peer is late; the same after a restore, and cut into steps; what
is wrong is refused in words; without the network the point is never asked.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

local SETTINGS = whole.join(whole.SMALL, { ["sim.budget"] = 6000 })

local function open(settings, apps)
    return whole.sim(apps or { "GUP", "ATAX" }, whole.join(SETTINGS, settings),
        { check = true })
end

local function run(settings, policy, options, apps)
    local sim <close> = open(settings, apps)
    if policy then sim:use(policy, options) end
    sim:run()
    sim:check()
    return sim:counters(), sim.now
end

local function next_core(q) return (q.core + 1) % q.cores end
local NEXT = { name = "next", tlb_peer = next_core }
local NONE = { name = "none", tlb_peer = function(q) return q.cores end }

-- ---- a network that is not used ---------------------------------------------------

do
    local plain, at = run {}
    for _, latency in ipairs { 1, 3, 40 } do
        for what, policy in pairs { ["no policy"] = false, ["a policy of none"] = NONE,
            ["a policy that passes"] = { name = "passes", tlb_peer = function() end } } do
            local c, now = run({ ["peers.latency"] = latency }, policy)
            local title = ("peers.latency=%d, %s"):format(latency, what)
            tap.is(now, at, title .. ": the same end")
            tap.is(c.walk.walks, plain.walk.walks, title .. ": the same walks")
            tap.is(c.peers.asked, 0, title .. ": nobody asks")
        end
    end
end

-- ---- fates ------------------------------------------------------------------------

local function fates(p) return p.hit + p.missed + p.refused end

do -- all ends in each core: an application alone
    for _, apps in ipairs { { "ATAX" }, { "GUP" } } do
        local c = run({ ["peers.latency"] = 4, ["sim.budget"] = 0 }, NEXT, nil, apps)
        local p = c.peers
        tap.ok(p.asked > 100 and fates(p) == p.asked, apps[1] .. ": one fate each",
            ("%d %d"):format(fates(p), p.asked))
        tap.ok(p.late <= p.missed, apps[1] .. ": late is missed", p.late)
        tap.is(c.mmu.requests, p.missed + p.refused, apps[1]
            .. ": the level below sees what peers do not have")
    end
end

-- ---- time -------------------------------------------------------------------------

--- Cores 0 and 1 load a word of a page, core k after wait[k] instructions: the cycles at
-- which they have its translation, and how long their misses took.
local function two(wait, settings, policy)
    local app = H.program(kernel.app { name = "two", source = "vecadd",
        buffers = function() return { kernel.i32("m", 1024) } end,
        kernels = function(_, b)
            return { kernel.kernel("two", { grid = 2, block = 1 }, function(t)
                for k = 0, 1 do
                    t:when(t.gid:eq(k), function()
                        t:alu(wait[k + 1])
                        t:load(b.m, 0)
                        t:alu(1)
                    end)
                end
            end) }
        end })
    local sim <close> = H.sim { machine = "maxwell", progress = false, check = true,
        settings = whole.join({ ["core.count"] = 2,
            ["walk.mode"] = "fixed:101" }, settings),
        apps = { app } }
    sim:use { name = "watch", state = { at = {}, took = {} }, watch = { translated = function(
        n, s)
        s.at[n.core + 1], s.took[n.core + 1] = n.cycle, n.cycles
    end } }
    if policy then sim:use(policy) end
    sim:run()
    sim:check()
    local s = sim:used()[1].state
    return s.at, sim:counters(), s.took
end

do
    local lookup, wait = 3, { 1, 3000 }
    local plain = two(wait, { ["l1tlb.latency"] = lookup })
    for _, latency in ipairs { 1, 7, 50 } do
        local s = { ["peers.latency"] = latency, ["l1tlb.latency"] = lookup }
        local hit, c, took = two(wait, s, { name = "first", tlb_peer = function(q)
            return q.core == 1 and 0 or q.cores end })
        local title = ("latency %d"):format(latency)
        tap.is(c.peers.hit, 1, title .. ": the other core has it")
        tap.is(hit[1], plain[1], title .. ": the one that asks nobody is as fast")
        local miss, m = two(wait, s, { name = "wrong", tlb_peer = function(q)
            return q.core == 0 and 1 or q.cores end })
        tap.is(m.peers.missed, 1, title .. ": nor has it the other one before")
        tap.is(miss[1] - plain[1], 2 * latency + lookup,
            title .. ": a miss is sent below two ways and a look-up later")
        tap.is(took[2], 2 * latency + lookup, title .. ": a hit takes as long")
    end
    local _, late = two({ 1, 3 }, { ["peers.latency"] = 50 }, NEXT)
    tap.is(late.peers.late, 2, "two that miss at once find each other late")
end

-- ---- ports ------------------------------------------------------------------------

do
    local many = run({ ["peers.latency"] = 4, ["sim.budget"] = 0, ["peers.ports"] = 64 },
        { name = "all", tlb_peer = function(q) return q.core == 0 and q.cores or 0 end },
        nil, { "ATAX" }).peers
    local one = run({ ["peers.latency"] = 4, ["sim.budget"] = 0, ["peers.ports"] = 1 },
        { name = "all", tlb_peer = function(q) return q.core == 0 and q.cores or 0 end },
        nil, { "ATAX" }).peers
    tap.is(many.refused, 0, "with a port for each probe none is refused")
    tap.ok(one.refused > 0 and fates(one) == one.asked, "with one, some are", one.refused)
end

-- ---- words ------------------------------------------------------------------------

local function refused(what, policy, pattern, settings)
    local ok, err = pcall(run, settings or { ["peers.latency"] = 4 }, policy)
    err = type(err) == "table" and err.message or tostring(err)
    tap.ok(not ok and err:find(pattern), what, err)
end
refused("a core that is none", { name = "far", tlb_peer = function(q)
    return q.cores + 1 end }, "policy far.*tlb_peer.*cycle %d+.*expected 0 to 4")
refused("its own", { name = "own", tlb_peer = function(q) return q.core end },
    "policy own.*tlb_peer.*cycle %d+.*expected another core")
refused("no network", NEXT, "tlb_peer, which this machine never asks", {})

-- ---- snapshots --------------------------------------------------------------------

do
    local sim <close> = open { ["peers.latency"] = 3 }
    sim:use("policies/valkyrie.lua", { ring = 4, ask = "turn" })
    sim:run(2000)
    local snap = sim:snapshot()
    sim:run()
    local d = whole.again(sim, snap, 997)
    tap.ok(not d, "valkyrie: the same after a restore, in steps", d and tostring(d))
    tap.ok(sim:counters().peers.hit > 0, "and peers hit", sim:counters().peers.hit)
end
tap.done()

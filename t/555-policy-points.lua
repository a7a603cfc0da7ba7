-- 555-policy-points.lua - every point, asked by a whole machine.
--
-- Every point of points.def is asked by some run; policies that answer at
-- random keep every invariant (checked while running) and finish; what can be
-- steered gives the same statistics asked and steered; every note is told.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local core = require "heddle.core"

local SMALL = {
    ["core.count"] = 4, ["l1tlb.entries"] = 8, ["l2tlb.entries"] = 32,
    ["l2tlb.ways"] = 4, ["l1cache.bytes"] = 4096, ["l2cache.bytes"] = 65536,
    ["walk.walkers"] = 1, ["bypass.entries"] = 8, ["l1side.entries"] = 4,
}

local function machine(extra, check, apps)
    local settings = {}
    for k, v in pairs(SMALL) do
        settings[k] = v
    end
    for k, v in pairs(extra or {}) do
        settings[k] = k ~= "apps" and v or nil
    end
    return H.sim {
        machine = "maxwell", settings = settings, check = check,
        apps = apps or
            { H.app("GUP", { size = "S" }), H.app("MM", { size = "S" }) },
    }
end

-- ---- every point is asked, and answered at random --------------------------

local words = {}
for _, p in ipairs(core.points()) do
    if p.answer == "CHOICE" then
        local n = 1
        for _ in p.limit:gmatch "|" do
            n = n + 1
        end
        words[p.name] = n
    end
end

--- A policy that answers every point at random, within the rules.
local function chaos()
    local policy = { name = "chaos", watch = {}, state = { notes = {} } }
    for _, p in ipairs(core.points()) do
        local limit, last = p.limit, (words[p.name] or 1) - 1
        local by_position = p.by_position
        if p.answer == "BOOL" then
            policy[p.name] = function() return math.random(2) == 1 end
        elseif p.name == "thrash" then -- of the GPU's touches alone
            policy[p.name] = function(q)
                return math.random(2) == 1 and q.far == 1 and "host" or "gpu"
            end
        elseif p.answer == "CHOICE" then
            policy[p.name] = function() return math.random(0, last) end
        elseif p.name == "frame_place" then
            policy[p.name] = function(q) return q.next end
        elseif p.name == "fault_batch" then
            policy[p.name] = function(q)
                return math.random(q.serving == 0 and 1 or 0, q.n)
            end
        elseif p.name == "migrate" then -- mostly, or nothing would come
            policy[p.name] = function(q)
                return math.random(4) == 1 and math.random(0, q.most) or 0
            end
        elseif p.name == "warp_pick" then
            policy[p.name] = function(q)
                local w
                repeat
                    w = math.random(0, q.n - 1)
                until q.ready >> w & 1 == 1
                return w, math.random(0, 1) == 1
            end
        elseif p.name == "warp_limit" then
            policy[p.name] = function(q)
                -- at least the oldest resident warp, or nothing would move
                local best
                for w = 0, q.n - 1 do
                    if q.resident >> w & 1 == 1 and
                        (not best or q.age[w + 1] < q.age[best + 1]) then
                        best = w
                    end
                end
                return math.random(0, (1 << 30) - 1) | 1 << (best or 0)
            end
        elseif p.answer == "SUBSET" then
            policy[p.name] = function(q)
                return math.random(0, (1 << q[limit]) - 1)
            end
        elseif p.answer == "VALUE" then
            policy[p.name] = function(q) return math.random(0, q[limit]) end
        elseif by_position then
            policy[p.name] = function(q) return math.random(q[limit]) end
        elseif p.answer == "INDEX" then
            policy[p.name] = function(q) return math.random(0, q[limit] - 1) end
        end
    end
    for _, n in ipairs(core.notes()) do
        local name = n.name
        policy.watch[name] = function(_, s)
            s.notes[name] = (s.notes[name] or 0) + 1
        end
    end
    policy.core_partition = function(q) return q.core % q.apps end
    policy.tlb_peer = function(q) -- any but its own, or none
        local peer = math.random(0, q.cores)
        return peer ~= q.core and peer or q.cores
    end
    policy.tlb_group = function(q) return math.random(0, q.whole), math.random(0, 255) end
    policy.every = { 5000, function() end } -- tokens is asked at epochs
    return policy
end

--- Frames in the order of virtual pages, for each application.
local function in_order(q)
    return q.app * 65536 + q.vpn % 65536
end

local asked = {}
local function gather(sim)
    for name, v in pairs(sim:counters().policy) do
        asked[name] = (asked[name] or 0) + v
    end
end

for _, extra in ipairs {
    {}, { ["vm.page"] = "64K", ["peers.latency"] = 9, ["walktable.bytes"] = 8192 },
    { ["groups.most"] = 9, ["groups.l1"] = 3 },
    { ["l2tlb.mode"] = "off", ["bypass.entries"] = 0 },
    { ["l1tlb.large_entries"] = 4, ["l2tlb.large_entries"] = 8,
      ["vm.page"] = "2M", ["core.scheduler"] = "lrr" },
    { ["vm.paging"] = "fault", ["link.latency"] = 2000,
      ["walk.batch"] = 16 },
    { ["vm.paging"] = "fault", ["link.latency"] = 2000, ["evict.unit"] = "4K",
      ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030 },
    { ["vm.paging"] = "fault", ["link.latency"] = 2000, ["evict.unit"] = "4K",
      ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030,
      ["compress.enable"] = true, ["compress.misfit"] = 50 },
    { ["vm.paging"] = "fault", ["link.latency"] = 2000, ["evict.unit"] = "4K",
      ["vm.memory_bytes"] = 8 << 20, ["vm.table_frames"] = 2030,
      ["fault.thrashing"] = "refault", ["sim.budget"] = 0,
      apps = function() return { H.app("CONS", { size = "T" }) } end },
    { ["core.compact"] = true, apps = function()
        return { whole.freer(70, 2), H.app("BFS2", { size = "T" }) }
    end },
    { apps = function()
        return { whole.freer(700, 12), whole.freer(2048, 5, "more") }
    end, ["sim.relaunch"] = false, ["sim.seed"] = 2 },
} do
    local sim = machine(extra, true, extra.apps and extra.apps())
    local dice = chaos()
    if extra["sim.relaunch"] == false then -- whole regions of 4 KB pages, or nothing coalesces
        dice.page_size, dice.frame_place = nil, in_order
        -- and some stay so until they lose pages
        dice.compact_source = function(q)
            local k = math.random(0, q.n)
            return k > 0 and q.joined[k] == 0 and k or 0
        end
    end
    if extra["groups.most"] then -- pages of 4 KB
        dice.page_size = nil
    end
    if extra["vm.memory_bytes"] then -- a page of 64 KB may never find a place
        dice.page_size = nil
    end
    sim:use(dice)
    local ok, word = pcall(sim.run, sim, extra.apps and 200000 or 30000)
    tap.ok(ok, "answers at random keep every invariant", tostring(word))
    gather(sim)
    sim:close()
end

for _, p in ipairs(core.points()) do
    tap.ok((asked[p.name .. ".asked"] or 0) > 0, p.name .. " is asked")
end

-- ---- asked and steered -------------------------------------------------------

local function run(policy)
    local sim = machine()
    if policy then
        sim:use(policy)
    end
    sim:run(30000)
    local out = whole.statistics(sim, whole.no_policy)
    sim:close()
    return out
end

local plain = run()
local pairs_of = {
    l2_bypass = {
        function(q) return q.app == 0 and q.level == 4 end,
        function() steer("l2_bypass", 0, 4, 1) end,
    },
    dram_class = {
        function(q) return q.level > 0 and 2 or q.app end,
        function(_, _, place)
            for app = 0, place.apps - 1 do
                steer("dram_class", app, 0, app)
                for level = 1, 4 do
                    steer("dram_class", app, level, "golden")
                end
            end
        end,
    },
    tlb_fill = {
        function(q) -- one that may is enough
            for i = 1, #q.who do
                if q.who[i] & 0xffff < 5 then
                    return "l2tlb"
                end
            end
            return "none"
        end,
        function(_, _, place)
            for app = 0, place.apps - 1 do
                steer("tlb_fill_without", app, 0, "none")
                for c = 0, place.cores - 1 do
                    steer("tlb_fill", app, c, 31)
                end
            end
        end,
    },
    warp_limit = {
        function() return 15 end,
        function(_, _, place)
            for c = 0, place.cores - 1 do
                steer("warp_limit", 0, c, 15)
            end
        end,
    },
}

for _, name in ipairs { "l2_bypass", "dram_class", "tlb_fill", "warp_limit" } do
    local t = pairs_of[name]
    local by_asking = run { name = "asked", [name] = t[1] }
    local by_steering = run { name = "steered", init = t[2] }
    tap.is(whole.difference(by_steering, by_asking), nil,
        name .. ": steered as asked")
    tap.ok(whole.difference(by_asking, plain),
        name .. ": it changes something")
end

-- A limit that is steered in the middle of a run takes effect at once, and
-- lifting it wakes the warps that it held back.  (Loads that were issued before
-- go on: where misses wait for misses, for long.)
local gate = machine({ ["l1tlb.blocking"] = "none",
    ["l2cache.queue_latency"] = 0 }, nil,
    { H.app("MM", { size = "S" }) })
gate:use {
    name = "gate",
    every = { 5000, function(cycle, _, _)
        for c = 0, 3 do
            steer("warp_limit", 0, c, cycle % 10000 == 0 and -1 or 0)
        end
    end },
}
local moved = {}
for i = 1, 6 do
    local before = gate.core:instructions()
    gate:run(i == 1 and 5001 or 5000)
    moved[i] = gate.core:instructions() - before
end
tap.ok(moved[4] < moved[3] // 4, "no loads, hardly any progress",
    table.concat(moved, " "))
tap.ok(moved[3] > moved[2] and moved[5] > 4 * moved[4],
    "lifted, the warps go on", table.concat(moved, " "))

-- ---- notes ---------------------------------------------------------------------

local told = {}
local listener = { name = "listener", watch = {} }
for _, n in ipairs(core.notes()) do
    local name = n.name
    listener.watch[name] = function(_, s) s[name] = (s[name] or 0) + 1 end
end
listener.every = { 1000, function(_, s)
    if not s.kernel_end then
        return
    end
    local out = {}
    for k, v in pairs(s) do
        out[#out + 1] = k .. "=" .. v
    end
    error("TOLD " .. table.concat(out, " "))
end }
local loud = machine(nil, nil,
    { H.app("BFS2", { size = "T" }), H.app("MM", { size = "S" }) })
loud:use(listener)
local _, err = pcall(loud.run, loud, 200000)
for k in tostring(err):gmatch "([%w_]+)=%d+" do
    told[k] = true
end
-- Of memory that comes and goes: pages move; a coalesced region loses pages
-- and gets them back.
local function listen(policy, settings)
    policy.name = "listener"
    policy.watch = listener.watch
    policy.every = listener.every
    local sim = machine(settings, true,
        { whole.freer(700, 12), whole.freer(700, 24, "longer") })
    sim:use(policy)
    local _, text = pcall(sim.run, sim)
    for k in tostring(text):gmatch "([%w_]+)=%d+" do
        told[k] = true
    end
end
listener.every = { 1000, function(_, s)
    if s.page_moved and s.page_freed and s.frames_taken then
        error("TOLD page_moved=1 page_freed=1 frames_taken=1")
    end
end }
listen({
    compact_source = function(q) return q.asked < 2 and q.n > 1 and 1 or 0 end,
    compact_target = function(q) return q.n end,
}, { ["memory.fragment_index"] = 1 })
listener.every = { 1000, function(_, s)
    if s.page_arrived and s.link_transfer then
        error(("TOLD page_fault=%d page_arrived=%d link_transfer=%d"):format(
            s.page_fault, s.page_arrived, s.link_transfer))
    end
end }
listen({}, { ["vm.paging"] = "fault" })
listener.every = { 1000, function(_, s)
    if s.page_evicted then
        error("TOLD page_evicted=1")
    end
end }
listen({}, { ["vm.paging"] = "fault", ["link.latency"] = 500,
    ["evict.unit"] = "4K", ["vm.memory_bytes"] = 8 << 20,
    ["vm.table_frames"] = 2030 })
listener.every = { 1000, function(_, s)
    if s.batch_served then
        error("TOLD batch_served=1")
    end
end }
listen({}, { ["vm.paging"] = "fault", ["uvm.mode"] = "driver",
    ["uvm.base_latency"] = 100 })
listener.every = { 1000, function(_, s)
    if s.page_back then
        error("TOLD page_back=1")
    end
end }
listen({
    frame_place = in_order, region_coalesce = function() return true end,
    region_split = function(q) return q.left < 100 end,
})
--- What is told of an application's memory, of notes that are all to be.
local function listen_to(app, settings, ...)
    local names = { ... }
    local sim = machine(whole.join({ ["vm.paging"] = "fault",
        ["link.latency"] = 500 }, settings), true, { app })
    sim:use { name = "listener", watch = listener.watch,
        every = { 1000, function(_, s)
            for _, name in ipairs(names) do
                if not s[name] then return end
            end
            error "TOLD all"
        end } }
    local _, text = pcall(sim.run, sim)
    for _, name in ipairs(names) do
        told[name] = tostring(text):find "TOLD all" ~= nil
    end
end
listen_to(whole.any(20, 1, 12), {}, "host_call")
listen_to(whole.any(20, 1, 12), { ["utlb1.entries"] = 4 }, "utlb_lookup")
listen_to(whole.to_and_fro(2, 60), { ["fault.thrashing"] = "driver",
    ["uvm.perf_thrashing_lapse_usec"] = 50 }, "page_throttled", "page_remote")
listen_to(whole.freer(40, 4, "y"), {}, "free")
for _, n in ipairs(core.notes()) do
    tap.ok(told[n.name], "note " .. n.name .. " is told")
end

-- Notes of replacement are told of the structure at which a policy is bound, next to
-- one that answers repl_victim there; bound to none, it has a state for each.
do
    local sim <close> = H.sim { machine = "maxwell", check = true,
        settings = { ["core.count"] = 4, ["l1tlb.entries"] = 4 },
        apps = { H.app("ATAX", { size = "T" }) } }
    local function counts(name)
        return { name = name, state = { touch = 0, fill = 0, gone = 0 }, watch = {
            repl_touch = function(_, s) s.touch = s.touch + 1 end,
            repl_fill = function(_, s) s.fill = s.fill + 1 end,
            repl_gone = function(_, s) s.gone = s.gone + 1 end } }
    end
    sim:use("lru", { at = "l2tlb" })
    sim:use(counts "there", { at = "l2tlb" })
    sim:use(counts "everywhere")
    sim:run()
    local c, used = sim:counters(), sim:used()
    local there, all = used[2].states.l2tlb, used[3].states
    tap.ok(there.touch > 0 and there.touch == c.l2tlb.hits,
        "touches of the L2 TLB are its hits", ("%d %d"):format(there.touch, c.l2tlb.hits))
    tap.ok(there.fill > 0 and there.fill == c.l2tlb.fills, "and fills its fills",
        ("%d %d"):format(there.fill, c.l2tlb.fills))
    tap.is(all.l1tlb.fill, c.l1tlb.fills, "bound to none, a policy is told of each")
    tap.ok(all.l1tlb.gone > 1000 and all.l1tlb.fill - all.l1tlb.gone <= 4 * 4
        and all.l1tlb.fill - all.l1tlb.gone > 0, "what is not gone is there",
        ("%d %d"):format(all.l1tlb.fill, all.l1tlb.gone))
    tap.ok(all.l2tlb.touch == there.touch and all.l2tlb.fill == there.fill
        and all.l2tlb.gone == there.gone, "the same of the one")
end
tap.raises(function()
    local sim <close> = machine({ ["sim.budget"] = 3000 }, true)
    sim:use({ name = "old", repl_touch = function() end })
end, "repl_touch is a note", "a note where points are: it is said")
tap.raises(function()
    local sim <close> = machine({ ["sim.budget"] = 3000 }, true)
    sim:use({ name = "walks", watch = { walk_done = function() end } }, { at = "l2tlb" })
end, "answers no point, so it cannot be bound at", "other notes are told of all")

-- What notes say adds up to what is counted.
local adding = machine({ ["vm.paging"] = "fault", ["link.latency"] = 500,
    ["walk.per_core"] = true }, true)
adding:use { name = "sums", state = { walks = 0, queued = 0, bytes = 0, link = 0,
    waited = 0, back = 0, far = 0, read = 0, epochs = {} },
    every = { 700, function() end },
    watch = {
        walk_done = function(n, s)
            s.walks, s.queued = s.walks + 1, s.queued + n.queued
            s.far = math.max(s.far, n.instance)
        end,
        walk_read = function(n, s)
            s.read = s.read + 1
            if n.core ~= n.instance then
                error "a read by another core's walker"
            end
        end,
        link_transfer = function(n, s)
            s.bytes, s.waited = s.bytes + n.bytes, s.waited + n.queued
            s.link = s.link + n.cycles
            s.back = s.back + (n.to == "host" and 1 or 0)
        end,
        epoch = function(n, s)
            s.epochs[#s.epochs + 1] = n.cycle * 10 + n.policy
        end,
    } }
adding:run(30000)
local sums, total = adding:used()[1].state, adding:counters()
tap.ok(sums.walks > 100 and sums.queued > 0, "walks wait for walkers")
tap.is(sums.walks, total.walk.walks, "walk_done: of each walk")
tap.is(sums.queued, total.walk.queue_cycles, "as long as is counted")
tap.is(sums.far, 3, "by the walkers of each core")
tap.ok(sums.read >= total.walk.references, "which read")
tap.is(sums.bytes, total.link.bytes, "link_transfer: of each transfer")
tap.is(sums.waited, total.link.wait_cycles, "what it waited")
tap.ok(math.abs(sums.link - total.link.busy_cycles) <= total.link.transfers,
    "and how long it took the link", sums.link)
tap.is(sums.back, 0, "none to the host")
tap.is(table.concat(sums.epochs, " ", 1, 3), "7000 14000 21000",
    "epoch: at the end of each")
tap.is(#sums.epochs, 30000 // 700, "of all")

local quiet, watched = machine(), machine()
watched:use { name = "ear", watch = { tlb_hit = function() end,
    cache_hit = function() end, access = function() end } }
quiet:run(20000)
watched:run(20000)
tap.is(whole.difference(whole.statistics(watched, whole.no_policy),
    whole.statistics(quiet, whole.no_policy)), nil, "watching changes nothing")

tap.done()

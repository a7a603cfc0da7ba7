-- 221-vm-looks.lua - pins what can be seen of translation in the middle of a run,
-- at many instants, in little memory: page tables, TLBs, units that may leave,
-- faults, walks and transfers agree with one another, with what is counted and
-- with the settings.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local FRAMES, MEMORY = 40, 64 << 8 -- for pages; in all
local SETTINGS = whole.join(whole.SMALL, { ["vm.paging"] = "fault",
    ["link.latency"] = 400, ["vm.memory_bytes"] = 64 << 20,
    ["vm.table_frames"] = MEMORY - FRAMES, ["evict.unit"] = "4K",
    ["walk.walkers"] = 3, ["pwc.mode"] = "full", ["pwc.entries"] = 16,
    ["pwc.ways"] = 4, ["sim.relaunch"] = false })

local seen, bad = {}, {}

--- Rows of an object of one kind, that are counted.
local function rows(sim, object, kind, instance)
    local out = {}
    for _, r in ipairs(sim:look(object, instance or 0)) do
        if r.kind == kind then
            out[#out + 1] = r
        end
    end
    local name = object .. " " .. kind
    seen[name] = (seen[name] or 0) + #out
    return out
end

local function want(ok, what, ...)
    if not ok and not bad[what] then
        bad[what] = table.concat({ ... }, " ")
    end
end

--- Page to frame, of all pages of an application that are there.
local function mapped(sim, app)
    local of, n = {}, 0
    for _, r in ipairs(rows(sim, "pagetable", "run", app)) do
        for i = 0, r.pages - 1 do
            want(not of[r.vpn + i], "a page is in one run")
            of[r.vpn + i], n = r.pfn + i, n + 1
        end
    end
    return of, n
end

local function at(sim, m)
    local c, there, of, frame = sim:counters(), 0, {}, {}
    for app = 0, 1 do
        local n
        of[app], n = mapped(sim, app)
        for vpn, pfn in pairs(of[app]) do
            want(not frame[pfn], "a frame has one page", vpn, pfn)
            frame[pfn] = true
            there = there + (pfn < MEMORY and 1 or 0) -- or used on the host
        end
        want(n == sim.core:apps()[app + 1].pages, "pages of an application", n)
    end
    local sum = 0
    for _, u in ipairs(rows(sim, "evict", "unit")) do
        sum = sum + u.pages
        want(of[u.app][u.vpn], "a unit is there", u.vpn)
        want(u.since <= sim.now, "since", u.since)
    end
    local leaves = rows(sim, "evict", "eviction")
    local came = c.fault.pages - c.evict.pages - c.memory.freed
    local apps = sim.core:apps()
    want(#leaves <= 1 and sum == there and there <= FRAMES and (came == there
        or came == there + 1 or apps[1].finished or apps[2].finished),
        "what came is there, but for one that leaves", sum, there, came)
    for _, tlb in ipairs { "l1tlb", "l2tlb" } do
        local places = {}
        for i = 0, tlb == "l1tlb" and 3 or 0 do
            for _, e in ipairs(rows(sim, tlb, "entry", i)) do
                local place = i .. " " .. e.set .. " " .. e.way
                want(not places[place], "a way has an entry", place)
                places[place] = true
                want(of[e.app][e.vpn] == e.pfn, "an entry of a TLB", tlb, e.vpn)
                want(e.set * m[tlb .. ".ways"] + e.way < m[tlb .. ".entries"],
                    "a place of a TLB", tlb, e.set, e.way)
            end
        end
    end
    local running, queued = 0, 0
    for _, w in ipairs(rows(sim, "walks", "walk")) do
        running = running + (w.state ~= "waits" and 1 or 0)
        queued = queued + (w.state == "waits" and 1 or 0)
        want(w.level >= 1 and w.level <= 4 and w.requesters > 0, "a walk",
            w.state, w.level, w.requesters)
    end
    want(running <= 3 and (queued == 0 or running == 3), "walkers work", running,
        queued)
    want(#rows(sim, "pwc", "entry") <= 16, "entries of the walk cache")
    local pending, faults = {}, rows(sim, "fault", "fault")
    for _, f in ipairs(faults) do
        local key = f.app .. " " .. f.vpn
        want(not pending[key] and not of[f.app][f.vpn], "a fault", key, f.state)
        want(f.since <= sim.now and f.pages == 1, "of a page", key, f.since)
        pending[key] = true
    end
    want(#faults <= c.fault.peak, "faults that are pending", #faults)
    for _, t in ipairs(rows(sim, "link", "transfer")) do
        want(t.bytes == 4096 and t.since <= t.begin and t.begin < t["end"]
            and t["end"] >= sim.now, "a transfer", t.bytes, t.since, t.begin,
            t["end"])
    end
end

for seed = 1, 3 do
    local m = whole.join({ ["l1tlb.ways"] = 8, ["fault.serial"] = seed == 2 },
        SETTINGS)
    local sim <close> = whole.sim({ whole.any(60, seed, 5),
        whole.any(30, seed + 7, 5) }, m, { check = true })
    repeat
        local word = sim:run(1237)
        at(sim, m)
    until word ~= "ok" or sim.now > 400000
    tap.is(next(bad), nil, "at any instant all agrees: " .. seed)
    for what, value in pairs(bad) do
        print("# " .. what .. ": " .. value)
    end
end
for name, n in pairs(seen) do
    tap.ok(n > 20, "it was seen: " .. name, n)
end

tap.done()

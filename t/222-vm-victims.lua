-- 222-vm-victims.lua - pins what a policy is told of pages that may leave memory,
-- where the test knows it: units in the order in which they came, since when, how
-- many walks found them, what is dirty; what is free and resident when it is asked
-- whether to evict ahead of need; and what pages cost that are used on the host,
-- to the cycle.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"

local MEMORY = 64 << 8 -- frames
local BASE = whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
    ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20,
    ["sim.relaunch"] = false })

--- So many data frames of 4 KB.
local function memory(frames, more)
    return whole.join(BASE, { ["vm.table_frames"] = MEMORY - frames }, more or {})
end

local function run(app, settings, policy)
    local sim <close> = whole.sim({ app }, settings, { check = true })
    if policy then
        sim:use(policy)
    end
    tap.is(sim:run(), "done", "it ends")
    sim:check()
    return sim:counters(), policy and sim:used()[1].state, sim.now
end

-- ---- units -------------------------------------------------------------------------

-- One page, or one unit, more than fits, again and again by one thread: what came
-- first is what leaves.
for _, o in ipairs { { "4K", 1, "load" }, { "4K", 1, "both" },
    { "64K", 16, "load" } } do
    local unit, pages, what = table.unpack(o)
    local n, times = 6, 4
    local c, s = run(whole.touch(n + 1, pages * 4096, what, times),
        memory(n * pages, { ["evict.unit"] = unit,
            ["fault.transfer"] = pages == 16 and "64K" or nil,
            ["l2tlb.mode"] = "off", ["l1tlb.entries"] = 1 }), {
        name = "asked", state = { n = 0, came = {}, bad = false },
        evict_victim = function(q, s)
            s.n = s.n + 1
            local first = q.vpn[1]
            local function want(ok, field, i)
                s.bad = s.bad or not ok and ("%s %d, %d: %d"):format(field, s.n,
                    i, q[field][i])
            end
            if q.n ~= n or q.waiting ~= 1 then
                s.bad = s.bad or ("%d units"):format(q.n)
            end
            for i = 1, q.n do
                want(q.app[i] == 0, "app", i)
                want(q.vpn[i] % pages == 0, "vpn", i)
                want(q.pages[i] == pages, "pages", i)
                want(q.dirty[i] == (what == "both" and 1 or 0), "dirty", i)
                want(q.accesses[i] >= 1 and q.accesses[i] <= 2, "accesses", i)
                want(q.accessed[i] <= q.migrated[i], "accessed", i)
                want(i == 1 or q.migrated[i - 1] - q.migrated[i]
                    >= pages * 4096 + 1000, "migrated", i)
            end
            if s.last then
                want(first == s.last, "vpn", 1)
            end
            s.last = q.vpn[2]
            return 1
        end })
    tap.is(s.bad, false, what .. " by " .. unit .. ": what is told")
    tap.is(s.n, (n + 1) * times - n, what .. " by " .. unit .. ": once a unit")
    tap.is(c.evict.dirty, what == "both" and s.n or 0, "pages that were dirty")
    tap.is(c.evict.pages, s.n * pages, "pages that left")
    tap.is(c.evict.bytes, s.n * pages * 4096, "and their bytes")
    tap.is(c.evict.refaults, (s.n - 1) * pages, "all but the last came again")
end

-- ---- ahead of need -------------------------------------------------------------------

do
    local n, room = 10, 6
    local c, s = run(whole.touch(n, 4096, "load"), memory(room,
        { ["evict.unit"] = "4K" }), {
        name = "trigger", state = { n = 0, bad = false, least = 99 },
        evict_trigger = function(q, s)
            s.n, s.least = s.n + 1, math.min(s.least, q.free)
            if q.frames ~= room and q.frames ~= MEMORY or q.unit ~= 1
                or q.waiting ~= 0 or q.free + q.resident > room + 1 then
                s.bad = s.bad or ("%d of %d are free, %d resident"):format(
                    q.free, q.frames, q.resident)
            end
            return q.free < 2
        end })
    tap.is(s.bad, false, "what is told ahead of need")
    tap.ok(s.n >= n - 1 and s.least <= 1, "each time that frames are taken", s.n)
    tap.ok(c.evict.ahead > 0 and c.evict.ahead == c.evict.evictions,
        "all leave ahead of need", c.evict.ahead)
end

-- ---- used on the host -----------------------------------------------------------------

do
    local n, FAR = 16, { ["remote.access"] = "remote", ["l1tlb.entries"] = 32 }
    local app = whole.touch(n, 4096, "load")
    local c, _, now = run(app, memory(n, FAR))
    local r = c.remote
    tap.is(r.pages, n, "each page is mapped where it is")
    tap.ok(r.loads == n and r.in_bytes == 128 * n and r.stores == 0,
        "a line of each crosses", r.loads)
    tap.is(r.load_cycles, n * (200 + 128), "in its latency and a byte a cycle")
    tap.is(c.fault.pages + c.link.transfers + c.dram.reads + c.evict.pages,
        c.dram.reads, "no page does")
    local _, _, slow = run(app, memory(n, whole.join(FAR,
        { ["remote.latency"] = 700 })))
    tap.is(slow - now, n * 500, "the latency is a load's, to the cycle")
    local twice = run(whole.touch(n, 128, "load", 2), memory(n,
        whole.join(FAR, { ["l1cache.mode"] = "off" }))).remote
    tap.is(twice.loads, 2 * n, "lines of the host are not kept in the L2")
    local kept = run(whole.touch(n, 128, "load", 2), memory(n,
        whole.join(FAR, { ["l1cache.mode"] = "off", ["remote.cache"] = true })))
    tap.is(kept.remote.loads, n, "but with remote.cache")
    local store = run(whole.touch(n, 4096, "store"), memory(n, FAR)).remote
    tap.ok(store.stores <= n and store.stores >= n - 1 and store.loads == 0,
        "stores cross outwards", store.stores)
end

tap.done()

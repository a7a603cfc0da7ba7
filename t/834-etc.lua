-- 834-etc.lua - pins what ETC decides by: evict_trigger, core_throttle and
-- page_compress are told what is allocated, what memory has and what it holds
-- compressed; evict_trigger why it is asked and for which application;
-- core_throttle of which page a request waits, and whether others had to be
-- evicted for that.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local whole = require "lib.whole"
local H = require "heddle"
local kernel = require "heddle.kernel"

--- So many data frames of 4 KB.
local function frames(n, more)
    return whole.join(whole.SMALL, whole.ROUND, { ["vm.paging"] = "fault",
        ["link.latency"] = 1000, ["vm.memory_bytes"] = 64 << 20,
        ["vm.table_frames"] = (64 << 8) - n, ["evict.unit"] = "4K",
        ["sim.relaunch"] = false, ["throttle.cycles"] = 1000 }, more or {})
end

-- ---- allocations ----------------------------------------------------------------

--- Buffers of 1 byte to 17 pages; the first two are freed one after the other.
local SIZES = { 4096, 65536, 17 * 4096, 1000 }

local function buffers()
    return H.program(kernel.app {
        name = "sizes", source = "this test",
        buffers = function()
            local out = {}
            for i, n in ipairs(SIZES) do
                out[i] = kernel.i32("b" .. i, n // 4)
            end
            return out
        end,
        kernels = function(_, b)
            local out = {}
            for i = 1, 3 do
                local x = b["b" .. i]
                out[i] = kernel.kernel("k" .. i, { grid = 1, block = 1 },
                    function(t)
                        t:loop(400, function(j) t:load(x, j % x.count) end)
                    end)
                if i < 3 then
                    out[i] = { out[i], free = { x } }
                end
            end
            return out
        end,
    })
end

do
    local sim <close> = whole.sim({ buffers() }, frames(64), { check = true })
    sim:use { name = "told", state = { live = {}, all = {}, bad = 0 },
        page_size = function(q, s)
            s.live[q.index + 1] = (q.vpn + q.pages + 15) // 16 * 16
                - q.vpn // 16 * 16
        end,
        free = function(q, s) s.live[q.index + 1] = 0 end,
        core_throttle = function(q, s)
            local sum = 0
            for i = 1, 4 do
                sum = sum + s.live[i]
            end
            if s.all[#s.all] ~= q.allocated then
                s.all[#s.all + 1] = q.allocated
            end
            if q.frames ~= 64 or q.capacity ~= 64 or q.allocated ~= sum then
                s.bad = s.bad + 1
            end
            return q.running
        end }
    tap.is(sim:run(), "done", "buffers that are freed")
    local s = sim:used()[1].state
    tap.is(s.bad, 0, "what is allocated is the live buffers, in whole 64 KB")
    tap.ok(#s.all == 3 and s.all[1] >= 80, "which shrinks twice",
        table.concat(s.all, " "))
end

-- ---- why evict_trigger is asked ----------------------------------------------------

--- Two applications that read a page after the other of buffers of n pages.
local function both(n, times)
    return { whole.touch(n, 4096, "load", times),
        whole.touch(n, 4096, "load", times) }
end

local function asks(settings, apps, answer)
    local sim <close> = whole.sim(apps, settings, { check = true })
    sim:use { name = "asks", state = { n = {}, by = {}, bad = 0, took = {} },
        evict_trigger = function(q, s)
            s.n[q.cause] = (s.n[q.cause] or 0) + 1
            s.by[q.app + 1] = (s.by[q.app + 1] or 0) + 1
            if q.capacity ~= q.frames or (q.cause == "waiting")
                ~= (q.waiting == 1) then
                s.bad = s.bad + 1
            end
            return answer(q)
        end,
        watch = { page_evicted = function(n, s)
            s.took[n.app + 1] = (s.took[n.app + 1] or 0) + 1
        end } }
    tap.is(sim:run(), "done", "asked, and done")
    local s = sim:used()[1].state
    tap.is(s.bad, 0, "waiting is a cause, and nothing is compressed")
    return s, sim:counters()
end

do -- room for all: frames are only taken
    local s, c = asks(frames(64), both(16), function() return false end)
    tap.same(s.n, { taken = c.fault.faults }, "once a fault that gets its frame")
    tap.same(s.by, { 16, 16 }, "of its application")
end
do -- too few: the page that waits takes what was freed for it
    local s, c = asks(frames(8), { both(16)[1] }, function() return nil end)
    tap.ok(c.evict.evictions == 8 and c.evict.ahead == 0, "eight wait")
    tap.same(s.n, { taken = 16 }, "and take what was freed for them")
end
do -- each fault that leaves less than four frames has one unit evicted
    local s, c = asks(frames(16, { ["link.out_bandwidth"] = 2000000000 }),
        { both(32)[1] }, function(q)
        return q.cause == "taken" and q.free < 4
    end)
    tap.ok(c.evict.evictions == 20 and c.evict.ahead == 20,
        "one unit for a fault", c.evict.evictions)
    tap.same(s.n, { taken = 32, freed = 20 }, "for which no page waits")
end
do -- two at a time: one waits while the page of the other is in flight
    local s, c = asks(frames(8), both(16), function(q)
        return q.cause == "waiting"
    end)
    tap.ok(s.n.waiting and s.n.waiting > 0 and s.by[1] > 0 and s.by[2] > 0
        and c.evict.evictions >= 16, "asked for the page that waits",
        s.n.waiting)
end

-- ---- what core_throttle is told of a request ------------------------------------------

do
    local n, room = 24, 8
    local sim <close> = whole.sim({ whole.touch(n, 4096, "load") }, frames(room),
        { check = true })
    sim:use { name = "told", state = { waits = {}, order = {}, bad = 0 },
        core_throttle = function(q, s)
            local key = q.by << 40 | q.vpn
            if q.cause == "fault" then
                s.bad = s.bad + (s.waits[key] and 1 or 0) + q.evicted
                s.waits[key] = true
            elseif q.cause == "served" then
                s.bad = s.bad + (s.waits[key] and 0 or 1)
                s.waits[key] = nil
                s.order[#s.order + 1] = q.evicted
            else
                s.bad = s.bad + q.evicted + q.vpn
            end
            return q.running
        end }
    tap.is(sim:run(), "done", "a stream through eight frames")
    local s = sim:used()[1].state
    tap.is(s.bad, 0, "a request that was served had waited for that page")
    tap.is(table.concat(s.order), ("0"):rep(room) .. ("1"):rep(n - room),
        "and from the ninth on another had to be evicted")
end

-- ---- capacity, compressed ---------------------------------------------------------------

do
    local sim <close> = whole.sim({ whole.touch(40, 4096, "load") }, frames(16,
        { ["compress.enable"] = true, ["compress.ratio"] = "200",
            ["compress.contents"] = false }), { check = true })
    sim:use { name = "told", state = { n = 0, pages = 0, bytes = 0, bad = 0,
            most = 0 },
        page_compress = function(q, s)
            local left = 16 * 4096 - s.bytes
            s.n = s.n + 1
            if q.frames ~= 16 or q.allocated < 40 or s.n <= 16
                and q.capacity ~= s.pages + left // 4096 then
                s.bad = s.bad + 1
            end
            s.most = math.max(s.most, q.capacity)
            s.pages, s.bytes = s.pages + 1, s.bytes + q.bytes
            return true
        end }
    tap.is(sim:run(), "done", "compressed pages")
    local s = sim:used()[1].state
    tap.is(s.bad, 0, "what memory holds: its pages, and what the rest has room "
        .. "for")
    tap.ok(s.most > 24, "more than it has", s.most)
end

tap.done()

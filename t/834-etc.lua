-- 834-etc.lua - pins what ETC decides by: evict_trigger, core_throttle and
-- page_compress are told what is allocated, what memory has and what it holds
-- compressed; evict_trigger why it is asked and for which application;
-- core_throttle of which page a request waits, and whether others had to be
-- evicted for that.  And what it does: where memory holds all that is allocated
-- ETC is its baseline, to the cycle; one page less, and its mechanisms act.
-- Throttling is the machine of the paper's figure 7, state by state.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local files = require "lib.files"
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
        watch = { free = function(n, s) s.live[n.index + 1] = 0 end },
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

do -- as the driver serves faults, others of the batch may have needed it
    local sim <close> = whole.sim({ whole.touch(24, 4096, "load") }, frames(8,
        { ["uvm.mode"] = "driver", ["uvm.perf_prefetch_enable"] = false }),
        { check = true })
    sim:use { name = "told", state = { order = {} },
        core_throttle = function(q, s)
            if q.cause == "served" then
                s.order[#s.order + 1] = q.evicted
            end
            return q.running
        end }
    tap.is(sim:run(), "done", "through eight frames, as the driver does it")
    local order = table.concat(sim:used()[1].state.order)
    tap.ok(order:find "^0+1+$" and #order == 24, "full memory is told, too",
        order)
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

-- ---- memory that holds all, and a page less ------------------------------------------------

--- A program with its class, in so many frames of 64 KB: cycles, counters and the
-- 64 KB that are allocated.
local function etc(name, class, pages)
    local sim <close> = H.sim { machine = "etc", apps = { H.app(name,
        { size = "T" }) }, settings = { ["vm.paging"] = "fault",
        ["sim.relaunch"] = false, ["vm.table_frames"] = 512,
        ["vm.memory_bytes"] = 512 * 4096 + pages * 65536,
        ["evict.unit"] = "64K", ["compress.enable"] = class ~= 0,
        ["compress.ratio"] = "400", ["compress.contents"] = false } }
    sim:use { name = "sum", state = { pages = 0 }, page_size = function(q, s)
        s.pages = s.pages + (q.vpn + q.pages + 15) // 16 - q.vpn // 16
    end }
    if class ~= 0 then
        sim:use("throttle", { detect = 2, execute = 2, irregular = 1 })
        sim:use("etc", { classes = class, sharing = class == 2 and 1 or 0,
            free_bytes = 2 << 16 })
    end
    tap.is(sim:run(), "done", name .. " in " .. pages .. " pages")
    return sim.now, sim:counters(), sim:used()[1].state.pages
end

for class, name in ipairs { "SAD", "SRAD", "ATAX" } do
    local _, _, pages = etc(name, 0, 4096)
    local base = etc(name, 0, pages)
    local same, c = etc(name, class, pages)
    tap.is(same, base, name .. ": memory holds all that is allocated, and ETC "
        .. "takes the cycles of its baseline")
    tap.ok(c.evict.pages == 0 and c.compress.reads == 0
        and c.throttle.stops == 0, name .. ": none of it acts")
    local _, d = etc(name, class, pages - 1)
    tap.is(d.compress.reads > 0, class > 1, name .. ": in a page less pages "
        .. "are compressed, if its class is", d.compress.reads)
    tap.ok(class ~= 1 or d.evict.ahead > 0, name .. ": or evicted ahead of need",
        d.evict.ahead)
    tap.is(d.throttle.stops > 0, class == 3, name .. ": and cores stop")
end

-- ---- the policy "etc", question by question --------------------------------------------------

do
    local ETC = assert(load(files.read "policies/etc.lua", "=etc", "t",
        H.policy.env()))()
    local p, s = { classes = 31, threshold = 10, sharing = 0,
        free_bytes = 4 * 4096 }, {}
    ETC.init(s)
    local is = { ETC.app_classify({ app = 0, lanes = 0, lines = 0 }, s, p),
        ETC.app_classify({ app = 1, lanes = 0, lines = 0 }, s, p) }
    tap.same(is, { "regular", "irregular" }, "by the list")
    local function evicts(app, cause, free, allocated)
        return ETC.evict_trigger({ app = app, cause = cause, free = free,
            waiting = cause == "waiting" and 1 or 0, frames = 1000,
            allocated = allocated, capacity = 1200 }, s, p)
    end
    tap.is(evicts(0, "taken", 3, 1201), true, "a fault takes frames: a unit")
    tap.is(evicts(0, "taken", 4, 1201), false, "not while enough are free")
    tap.is(evicts(0, "taken", 3, 1200), false, "nor where all fits, compressed")
    tap.is(evicts(0, "freed", 3, 1201), false, "nor when frames are freed")
    tap.is(evicts(0, "waiting", 0, 1201), false, "nor earlier for one that waits")
    tap.is(evicts(1, "taken", 3, 1201), false, "nor for an irregular program")
    local function packs(app, allocated)
        return ETC.page_compress({ app = app, is = is[app + 1],
            allocated = allocated, frames = 1000, capacity = 1200 }, s, p)
    end
    tap.is(packs(1, 1000), false, "memory holds all: not compressed")
    tap.is(packs(0, 1001), false, "a page more, but regular")
    tap.is(packs(1, 900), true, "irregular: from then on, for good")
end

-- ---- a detection without a fault ---------------------------------------------------------------

-- Of the lengths that the paper does not give: 2,000 cycles without a fault occur
-- and a core resumes; as many as the run has do not.
for _, epochs in ipairs { 1, 1000000 } do
    local sim <close> = H.sim { machine = "etc", apps = { H.app("ATAX",
        { size = "T" }) }, settings = { ["vm.paging"] = "fault",
        ["sim.relaunch"] = false, ["vm.table_frames"] = 512,
        ["vm.memory_bytes"] = 512 * 4096 + 3 * 65536, ["evict.unit"] = "64K",
        ["throttle.cycles"] = 2000 } }
    sim:use("throttle", { detect = epochs, execute = 4 })
    tap.is(sim:run(), "done", "detection of epochs: " .. epochs)
    local c = sim:counters().throttle
    tap.is(c.resumes > c.forced, epochs == 1, "releases cores, or none",
        c.resumes .. ", forced " .. c.forced)
    tap.ok(c.stops >= c.resumes, "that had stopped", c.stops)
end

-- ---- figure 7, state by state ------------------------------------------------------------------

local THROTTLE = assert(load(files.read "policies/throttle.lua", "=throttle", "t",
    H.policy.env()))()

--- The policy for one application of eight cores, alone: functions that ask it,
-- and that say that pages were evicted.  Half of the cores run at first.
local function throttling(more)
    local p, s = {}, {}
    for k, v in pairs(THROTTLE.params) do
        p[k] = (more or {})[k] or v.default
    end
    THROTTLE.init(s, p, { apps = 1 })
    local running = 255
    local function ask(cause, by, vpn, evicted, allocated)
        running = THROTTLE.core_throttle({ app = 0, cause = cause, by = by or 8,
            blocks = 100, is = "irregular", n = 8, running = running,
            vpn = vpn or 0, evicted = evicted or 0, allocated = allocated or 1001,
            frames = 1000, capacity = 1000 }, s, p)
        return running
    end
    local function evicted()
        THROTTLE.watch.page_evicted({ app = 0 }, s)
    end
    ask "launch"
    return ask, evicted
end

--- So many epochs; what runs after each but the last, and after the last.
local function epochs(ask, n)
    local before
    for _ = 1, n - 1 do
        before = ask "epoch"
    end
    return before, ask "epoch"
end

local FAULT = { detect = 3, execute = 4, release = 1 }

do -- an eviction before the fault, or none
    local ask, evicted = throttling(FAULT)
    evicted()
    tap.is(ask("fault", 2, 7), 15, "the first fault after an eviction: nothing "
        .. "yet")
    tap.is(ask("served", 2, 8), 15, "another of that core is served: nothing")
    tap.is(ask("served", 1, 7), 15, "that page for another core: nothing")
    tap.is(ask("served", 2, 7), 11, "it is served: its core stops")
    ask, evicted = throttling(FAULT)
    ask("fault", 2, 7)
    evicted()
    tap.is(ask("served", 2, 7), 15, "a fault before the eviction: nothing")
    ask("fault", 3, 9)
    evicted()
    tap.is(ask("served", 3, 9, 1), 15, "which has ended the detection")
end
do -- the eviction that the ending fault needs
    local ask = throttling(FAULT)
    ask("fault", 2, 7)
    tap.is(ask("served", 2, 7, 1), 11, "its own eviction counts")
    ask("fault", 1, 7)
    tap.is(ask("served", 1, 7, 1), 11, "in execution none does")
    local before, after = epochs(ask, 4)
    ask("fault", 1, 7)
    tap.is(ask("served", 1, 7, 1), 9, "after it one does again")
    tap.ok(before == 11 and after == 11, "and epochs alone change nothing")
end
do -- no fault: a core resumes, at the end and not before
    local ask = throttling(FAULT)
    local before, after = epochs(ask, 3)
    tap.ok(before == 15 and after == 31, "no fault: one resumes", after)
    local still, began = epochs(ask, 4)
    tap.ok(still == 31 and began == 31, "not in execution")
    before, after = epochs(ask, 3)
    tap.ok(before == 31 and after == 63, "then one again", after)
end
do -- a fault of a core that stands ends nothing
    local ask, evicted = throttling(FAULT)
    evicted()
    ask("fault", 6, 7)
    tap.is(ask("served", 6, 7, 1), 15, "a core that stands stops no other")
    local _, after = epochs(ask, 3)
    tap.is(after, 31, "and is no fault: one resumes")
    ask, evicted = throttling { detect = 3, execute = 4, step = 2 }
    evicted()
    ask("fault", 0, 7)
    tap.is(ask("served", 0, 7), 6, "a step of two: its core, the highest that "
        .. "runs")
end
do -- epochs end while the fault is served
    local ask, evicted = throttling(FAULT)
    evicted()
    ask("fault", 2, 7)
    local _, after = epochs(ask, 50)
    tap.is(after, 15, "however long that takes")
    tap.is(ask("served", 2, 7), 11, "the detection has not ended otherwise")
end
do -- memory holds what is allocated
    local ask = throttling(FAULT)
    tap.is(ask("epoch", nil, nil, nil, 1001), 15, "a page too much")
    tap.is(ask("epoch", nil, nil, nil, 1000), 255, "memory holds all: all run")
    local before, after = epochs(ask, 3)
    tap.ok(before == 255 and after == 255, "and detection begins again")
end

tap.done()

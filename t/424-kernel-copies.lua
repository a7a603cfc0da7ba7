--[[
424-kernel-copies.lua - copies to shared memory that are waited for in groups:
t:copy, t:copy_bulk, t:copy_commit and t:copy_wait.

Pinned: a copy waits for nothing and nothing waits for it but t:copy_wait, which
waits for exactly the groups that it names (a wait for all costs what a load used at
once does, one that leaves a group in flight what a load of the iteration before does);
a group has more copies in flight than there are scoreboard slots; a bulk copy touches
the lines of its bytes once and counts as one instruction, for each lane that comes
there; what is copied and where are as in the twin; .cg passes the L1; the same with
few MSHRs and far faults, with the simulation's checks; threads that are regrouped,
streams, a snapshot, a checkpoint and a recording carry the groups; and the words of
what is refused.

SPDX-License-Identifier: MIT
]]
local tap = require "lib.tap"
local H = require "heddle"
local survey = require "heddle.survey"
local twin = require "heddle.twin"

local k = H.kernel

local function application(fn, more, size)
    return k.app { name = "copies", buffers = function()
        return { k.f32("a", size or 1 << 20),
            k.i32("x", 1 << 12, { data = function(i) return 3 * i end }),
            k.i32("out", 1 << 12, { contents = true }),
            k.f32("picture", 64, { texture = true }),
            k.i32("tile", 1 << 12, { scratch = true }),
            k.f32("other", 64, { scratch = true }) }
    end, kernels = function(_, b)
        return { k.kernel("k", more or { grid = 8, block = 32 }, function(t)
            fn(t, b)
        end) }
    end }
end

local function simulation(fn, settings, more)
    return H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.program(application(fn, more)) }, settings = settings }
end

local function run(fn, settings, more)
    local sim = simulation(fn, settings, more)
    sim:run()
    sim:check()
    return sim.cycles, sim.instructions, sim:counters()
end

-- ---- what is waited for ------------------------------------------------------

local ROUNDS, WORK = 32, 100

local function at(t, i) return 4 * t.gid + i * 1024 end

local function loads(t, b)
    t:loop(ROUNDS, function(i)
        t:alu(1, { uses = { t:load(b.a, at(t, i), { vec = 4 }) } })
        t:alu(WORK, { uses = {} })
    end)
end

-- A tile of each round is copied `ahead` rounds before; the wait leaves `left`.
local function copies(ahead, left)
    return function(t, b)
        for i = 0, ahead - 1 do
            t:copy(b.a, at(t, i), { vec = 4 })
            t:copy_commit()
        end
        t:loop(ROUNDS, function(i)
            t:copy(b.a, at(t, i + ahead), { vec = 4 })
            t:copy_commit()
            t:copy_wait(left)
            t:alu(1, { uses = {} })
            t:alu(WORK)
        end)
    end
end

do
    local one, n = run(loads)
    local all, m, c = run(copies(0, 0))
    tap.is(m, n, "as many instructions as with loads")
    tap.is(c.core.copies, 8 * ROUNDS, "copies are counted")
    tap.is(c.core.loads, 8 * ROUNDS, "as loads, too")
    tap.ok(math.abs(all - one) <= 0.02 * one, "a wait for all is a use at once",
        ("%d, %d"):format(all, one))
    local ahead = run(copies(1, 1))
    tap.ok(ahead < 0.8 * all, "a group ahead hides the work",
        ("%d, %d"):format(ahead, all))
    tap.ok(run(copies(1, 0)) >= all, "and not where all are waited for")
    tap.ok(run(copies(3, 3)) <= ahead, "three ahead hide as much")
    local never = run(function(t, b)
        t:loop(ROUNDS, function(i)
            t:copy(b.a, at(t, i), { vec = 4 })
            t:alu(1)
            t:alu(WORK)
            t:sync()
        end)
        t:copy_commit()
    end)
    tap.ok(never < ahead, "t:alu and t:sync wait for no copy",
        ("%d, %d"):format(never, ahead))
    -- eight groups at most: the ninth waits for the first
    local function many(groups)
        return function(t, b)
            for i = 0, groups - 1 do
                t:copy(b.a, at(t, i), { vec = 4 })
                t:copy_commit()
            end
            t:alu(1)
        end
    end
    tap.ok(run(many(9)) > run(many(8)) + 100, "a ninth group waits",
        ("%d, %d"):format((run(many(9))), (run(many(8)))))
end

-- 64 copies of one group are in flight together, where loads have 32 slots.
do
    local function of(copy)
        return run(function(t, b)
            for i = 0, 63 do
                local place = t.lane + i * 32
                if copy then t:copy(b.a, place) else t:load(b.a, place) end
            end
            if copy then t:copy_commit() t:copy_wait() end
            t:alu(1)
        end, { ["l1cache.mshrs"] = 128 }, { grid = 1, block = 32 })
    end
    tap.ok(of(true) < of(false), "more copies than there are slots",
        ("%d, %d"):format((of(true)), (of(false))))
end

-- ---- addresses and values ----------------------------------------------------

-- Copies of all kinds, in branches and loops; the values end in `out`.
local function mixed(t, b)
    local i = (t.gid * 5):band(1023)
    t:copy(b.x, i, { to = b.tile, at = t.gid })
    t:when((t.lane % 3):eq(0), function()
        t:copy(b.x, 4 * i:band(255), { vec = 4, to = b.tile, at = 1024 + 4 * t.gid,
            l1 = false })
        t:copy_commit()
        t:when((t.lane % 2):eq(0), function()
            t:copy_bulk(b.x, 4 * (i:band(255)), 1040, { to = b.tile,
                at = 3072 + 4 * t.lane })
        end)
    end)
    t:copy_commit()
    t:loop(t.lane % 4 + 1, function(j)
        t:copy(b.a, i + j, { l1 = false })
        t:copy_commit()
        t:copy_wait(1)
        t:alu(2)
    end)
    t:copy_wait()
    t:sync()
    t:store(b.out, t.gid, t:peek(b.tile, t.gid) + t:peek(b.tile, 1024 + 4 * t.gid
        + 3) + t:peek(b.tile, 3072 + 4 * t.lane + 259))
end

local function line_of(e)
    local words = { e.kind, ("%x"):format(e.mask), e.n, e.addr and e.bytes or 0 }
    for lane = 0, 63 do
        words[#words + 1] = e.addr and e.mask >> lane & 1 == 1 and e.addr[lane] or nil
    end
    return table.concat(words, " ")
end

do
    -- ALU runs are not what is compared: the engine joins them
    local function walk(with, subject, options)
        local list = {}
        with(subject, function(e)
            if e.addr then list[#list + 1] = line_of(e) end
        end, options)
        return list
    end
    local app = application(mixed, { grid = 2, block = 64 })
    local place, instance, w = {}, app:instance(), app:workload()
    for i, b in ipairs(survey.buffers(w)) do place[instance.buffers[i]] = b.base end
    for _, b in ipairs(instance.buffers) do place[b] = place[b] or 0 end
    local engine = walk(survey.each, w, { lanes = 32 })
    local naive = walk(twin.walk, instance, { lanes = 32, place = place })
    tap.ok(#engine >= 100, "there are accesses", #engine)
    tap.is(#naive, #engine, "as many as of the twin")
    local differ
    for i = 1, #engine do
        differ = differ or engine[i] ~= naive[i] and i or nil
    end
    tap.is(differ and naive[differ], differ and engine[differ],
        "addresses are those of the twin")
end

do
    local seen
    local app = application(mixed, { grid = 2, block = 64 })
    local fields = { name = "values", buffers = app.buffers, kernels = app.kernels,
        host = function(h)
            if h.launched == 0 then return h.kernels.k end
            for g = 0, 127 do
                local i, lane = g * 5 & 1023, g % 64 % 32
                local want = 3 * i
                if lane % 3 == 0 then want = want + 3 * (4 * (i & 255) + 3) end
                if h.read(h.b.out, g) < want then
                    error(("out[%d] is %d, less than %d"):format(g,
                        h.read(h.b.out, g), want))
                end
            end
        end }
    seen = H.sim { machine = "maxwell", progress = false, check = true,
        settings = { ["core.lanes"] = 32, ["core.width"] = 32 },
        apps = { H.program(k.app(fields)) } }
    seen:run()
    tap.ok(seen.cycles > 0, "values are where they were copied to")
end

-- A bulk copy is the lines of its bytes, once, however many lanes stand by.
do
    local function bulk(bytes, active)
        local _, n, c = run(function(t, b)
            t:when(t.lane:lt(active), function()
                t:copy_bulk(b.a, t.lane * 4096 + 36, bytes)
            end)
            t:copy_commit()
            t:copy_wait()
            t:alu(1)
        end, { ["core.lanes"] = 32, ["core.width"] = 32 }, { grid = 1, block = 32 })
        return c.core.load_lines, c.core.loads, n, c.core.pages
    end
    local lines, n, all, pages = bulk(8192, 1)
    tap.is(lines, 8192 // 512 * 5, "lines: each piece of 512 bytes straddles one")
    tap.is(n, 1, "one load")
    tap.is(all, 3, "and one instruction")
    tap.ok(pages >= 3, "its pages", pages)
    tap.is(bulk(16, 1), 1, "a line of 16 bytes")
    local two, m = bulk(8192, 2)
    tap.is(two, 2 * lines, "each lane copies its own")
    tap.is(m, 1, "in one instruction")
end

-- Past the L1: no line is left.
do
    local function twice(l1)
        local _, _, c = run(function(t, b)
            for _ = 1, 2 do
                t:copy(b.a, t.gid, { l1 = l1 })
                t:copy_commit()
                t:copy_wait()
                t:alu(1)
            end
        end)
        return c.l1cache
    end
    tap.ok(twice(true).read_hits > 0, ".ca hits the second time")
    tap.is(twice(false).read_hits, 0, ".cg never does")
    tap.is(twice(false).reads, twice(true).reads, "and has as many lines")
end

-- ---- other machines ------------------------------------------------------------

for name, settings in pairs {
    ["few MSHRs"] = { ["l1cache.mshrs"] = 2, ["l1tlb.mshrs"] = 1 },
    ["far faults"] = { ["vm.paging"] = "fault" },
    sectors = { ["l1cache.sector_bytes"] = 32, ["l2cache.sector_bytes"] = 32,
        ["l1cache.write"] = "through" },
    subcores = { ["core.subcores"] = 4, ["core.classes"] = true },
    overlap = { ["l1tlb.overlap"] = "off" },
    virtual = { ["l1cache.order"] = "virtual" },
    ["slow L1"] = { ["l1cache.latency"] = 200, ["l1cache.ports"] = 4 },
} do
    local _, n, c = run(mixed, settings, { grid = 4, block = 128 })
    local _, plain, d = run(mixed, nil, { grid = 4, block = 128 })
    tap.is(n, plain, name .. ": as many instructions")
    tap.is(c.core.copies, d.core.copies, name .. ": and copies")
    tap.is(c.core.lines, d.core.lines, name .. ": and lines")
end

for _, compact in ipairs { true, false } do
    local _, _, c = run(mixed, { ["core.compact"] = compact },
        { grid = 4, block = 128 })
    tap.ok(c.core.copies > 0, "core.compact = " .. tostring(compact))
end

-- Launches of two streams.
do
    local app = k.app { name = "streams", buffers = function()
        return { k.f32("a", 1 << 16) }
    end, kernels = function(_, b)
        local one = k.kernel("one", { grid = 4, block = 64 }, function(t)
            t:loop(8, function(i)
                t:copy(b.a, t.gid + i * 256)
                t:copy_commit()
                t:copy_wait(1)
                t:alu(3)
            end)
        end)
        return { { one, stream = "x" }, { one, stream = "y" } }
    end }
    local sim = H.sim { machine = "maxwell", progress = false, check = true,
        apps = { H.program(app) } }
    sim:run()
    tap.ok(sim:counters().core.copies > 0, "streams")
end

-- ---- snapshots, checkpoints, recordings, sampling ------------------------------------

do
    local straight = simulation(mixed, nil, { grid = 4, block = 128 })
    straight:run()
    local hash = straight:state_hash()
    for part = 1, 5 do
        local s = simulation(mixed, nil, { grid = 4, block = 128 })
        s:step(straight.now * part // 6)
        local early = s:snapshot()
        s:run()
        s:restore(early)
        s:check()
        s:run()
        tap.is(s:state_hash(), hash, "a snapshot keeps groups, " .. part)
    end
    local s = simulation(mixed, nil, { grid = 4, block = 128 })
    s:step(straight.now // 2)
    local path = os.tmpname()
    s:save(path)
    local t = simulation(mixed, nil, { grid = 4, block = 128 })
    t:load(path)
    t:run()
    os.remove(path)
    tap.is(t:state_hash(), hash, "a file keeps groups")
end

do
    local path = os.tmpname()
    local app = application(function(t, b)
        copies(2, 1)(t, b)
        t:when(t.lane:eq(0), function() t:copy_bulk(b.a, 64, 4112) end)
        t:copy_commit()
        t:copy_wait()
        t:store(b.out, t.gid, 1)
    end)
    require "heddle.trace".record(app:workload(), path, 64)
    local cycles = {}
    for i, w in ipairs { H.program(app), H.trace(path) } do
        local sim = H.sim { machine = "maxwell", progress = false, check = true,
            apps = { w } }
        sim:run()
        cycles[i] = ("%d %d %d"):format(sim.cycles, sim.instructions,
            sim:counters().core.copies)
    end
    os.remove(path)
    tap.is(cycles[2], cycles[1], "a recording keeps groups")
end

do
    local sim = simulation(copies(2, 1), { ["sample.every"] = 400,
        ["sample.window"] = 100, ["sample.warm"] = 100 }, { grid = 64, block = 64 })
    sim:run()
    sim:check()
    tap.ok(sim:counters().core.copies > 0, "a sampled run")
end

-- ---- what is refused -----------------------------------------------------------

local function refused(fn, words, name)
    for _, part in ipairs { "424-kernel-copies.lua:", words } do
        tap.raises(function() application(fn):workload() end, part, name)
    end
end
refused(function(t, b) t:copy(b.x, 0, { to = b.out }) end,
    "t:copy(x): to is out, which is not scratch", "not to global memory")
refused(function(t, b) t:copy(b.x, 0, { to = b.other }) end,
    "t:copy(x): to is other, of f32; expected i32", "not to another type")
refused(function(t, b) t:copy(b.x, 0, { at = 3 }) end,
    "at is an index of the buffer `to'", "at without to")
refused(function(t, b) t:copy(b.tile, 0) end,
    "buffer tile is scratch", "not from scratch")
refused(function(t, b) t:copy(b.picture, 0) end,
    "loads of this buffer are texture fetches", "no texture")
refused(function(t) t:copy(3, 0) end, "expected a buffer, got number", "no number")
refused(function(t, b) t:copy(b.x, 0, { l1 = 1 }) end,
    "l1 is true or false, not 1", "l1")
refused(function(t, b) t:copy(b.x, 0, { bytes = 4 }) end,
    "t:copy(x) has no option 'bytes'; it takes vec, to, at, l1", "options")
refused(function(t, b) t:copy(b.x, 0, { vec = 8 }) end,
    "8 of i32 are 32 bytes", "more than 16 bytes")
for _, bytes in ipairs { 0, 8, 24, 1 << 20, "16", 32.5 } do
    refused(function(t, b) t:copy_bulk(b.a, 0, bytes) end,
        "bytes is a multiple of 16 below 2^20, not " .. bytes, "bulk " .. bytes)
end
refused(function(t, b) t:copy_bulk(b.x, 0, 1 << 16) end,
    "t:copy_bulk(x): 65536 bytes; the buffer has 16384", "more than there are")
for _, n in ipairs { -1, 8, 1.5, "all" } do
    refused(function(t, b)
        t:copy(b.x, 0)
        t:copy_commit()
        t:copy_wait(n)
    end, "a number of groups that stay in flight, 0 to 7, got " .. n, "wait " .. n)
end
refused(function(t, b)
    t:copy(b.x, 0)
    t:copy_wait()
end, "there is no group to wait for; t:copy_commit closes one", "no group")
refused(function(t) t:copy_commit() end, "the kernel copies nothing", "no copy")
refused(function(t, b) t:copy(b.x, 0) end,
    "a copy that nothing can wait for", "no commit")

do -- two bytes a lane
    local app = k.app { name = "bytes", buffers = function()
        return { k.u16("h", 64) }
    end, kernels = function(_, b)
        return { k.kernel("k", { block = 32 }, function(t) t:copy(b.h, t.tid) end) }
    end }
    tap.raises(function() app:workload() end,
        "t:copy(h): 2 bytes a lane; expected 4, 8 or 16", "two bytes")
end

-- An index that is not a multiple of 16 bytes, and one outside.
for _, index in ipairs { 2, 1 << 20 } do
    local sim = simulation(function(t, b)
        t:copy_bulk(b.a, t.gid + index, 64)
        t:copy_commit()
    end, nil, { grid = 1, block = 1 })
    for _, words in ipairs { "424-kernel-copies.lua:", index == 2 and
        "index 2 of buffer a; expected one at a multiple of 16 bytes"
        or "index 1048576 of buffer a; expected 0 to 1048560" } do
        tap.raises(function() sim:run() end, words, "index " .. index)
    end
end

tap.done()

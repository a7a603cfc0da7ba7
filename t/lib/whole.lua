--- whole.lua - what the tests of the whole machine have in common: small
-- machines, programs, everything that a simulation has measured as a list of
-- lines, and the first line in which two such lists differ.
--
-- SPDX-License-Identifier: MIT
local tap = require "lib.tap"
local H = require "heddle"
local kernel = require "heddle.kernel"

local whole = {}

whole.APPS = { "3DS", "ATAX", "BFS2", "BLK", "BP", "CONS", "FWT", "GUP",
    "HS", "LUD", "MM", "NN", "RED", "TRD" }

whole.PRESETS = { "mosaic", "maxwell", "etc", "mesc", "pichai", "fermi",
    "integrated", "released", "aggressive", "maxwell-tu104" }

--- Few cores and small structures: everything is replaced all the time.
whole.SMALL = {
    ["core.count"] = 4, ["l1tlb.entries"] = 8, ["l2tlb.entries"] = 32,
    ["l2tlb.ways"] = 4, ["l1cache.bytes"] = 4096, ["l2cache.bytes"] = 65536,
}

--- 1 GHz, 1 GB/s, half of that outwards: a tick is a cycle, a byte takes one.
whole.ROUND = {
    ["clock.core"] = 1000000000, ["clock.l2"] = 1000000000,
    ["clock.dram"] = 1000000000, ["clock.link"] = 1000000000,
    ["link.bandwidth"] = 1000000000, ["link.out_bandwidth"] = 500000000,
}

--- A test: a number is another one, within 1 %.
function whole.near(got, want, what)
    tap.ok(math.abs(got - want) <= 0.01 * want, what,
        ("%s, not %s"):format(got, want))
end

--- A table with what the others have, the last one first.
function whole.join(...)
    local out = {}
    for _, t in ipairs { ... } do
        for k, v in pairs(t) do
            out[k] = v
        end
    end
    return out
end

--- A simulation of applications by name at size T, or of descriptions.
function whole.sim(names, settings, options)
    local apps = {}
    for i, a in ipairs(names) do
        apps[i] = type(a) == "string" and H.app(a, { size = "T" }) or a
    end
    return H.sim(whole.join({
        machine = "maxwell", apps = apps,
        settings = settings or whole.SMALL,
    }, options or {}))
end

--- A policy that asks for pages with each walk's answer: of each fate.
function whole.filler()
    return { name = "filler", state = { n = 0 },
        tlb_insert = function(q, s)
            return q.cause == "policy" and s.n % 4 == 0 and "skip" or "normal"
        end,
        watch = { walk_done = function(n, s)
            local by = { 1, 0, 40, 1 << 30, 2 }
            s.n = s.n + 1
            for k = 1, #by do
                fill(n.app, -- luacheck: globals fill
                    n.vpn + by[(s.n + k) % #by + 1])
            end
        end } }
end

--- A policy of whose walks some end with its table, some behind it in the page table,
-- some above the leaf.
function whole.reader()
    return { name = "reader", walk_address = function(q)
        local kind = q.vpn % 4
        if kind == 3 then return nil end
        if kind == 2 then return 0, q.level == 2 end
        if q.probes < q.made or kind < q.probes then return 0 end
        return 1 + q.vpn % q.entries, kind == 0
    end }
end

--- A policy of groups of all sizes, with marks.
function whole.grouper()
    return { name = "grouper", tlb_group = function(q)
        if q.vpn % 8 == 7 then return nil end
        return q.vpn * 5 % (q.whole + 1), q.vpn % 3 > 0 and q.vpn % 10 or nil
    end }
end

--- A function that makes such a simulation, with policies { what, options }.
function whole.maker(names, settings, options, policies)
    return function()
        local sim = whole.sim(names, settings, options)
        for _, p in ipairs(policies or {}) do
            sim:use(p[1], p[2])
        end
        return sim
    end
end

--- Everything measured, one line each.  `skip(component, name)` leaves out.
function whole.statistics(sim, skip)
    local out, core = {}, sim.core
    local values = core:counter_values()
    for i, c in ipairs(core:counters()) do
        for a, instances in ipairs(values[i]) do
            if not (skip and skip(c.component, c.name)) then
                out[#out + 1] = ("%s.%s app %d: %s"):format(c.component,
                    c.name, a - 1, table.concat(instances, " "))
            end
        end
    end
    for _, h in ipairs(core:hists()) do
        for a, v in ipairs(h.apps) do
            if not (skip and skip(h.component, h.name)) then
                out[#out + 1] = ("%s.%s app %d: n %d sum %d min %d max %d")
                    :format(h.component, h.name, a - 1, v.n, v.sum, v.min,
                        v.max)
                for _, b in ipairs(v.buckets) do
                    out[#out + 1] = "  " .. table.concat(b, " ")
                end
            end
        end
    end
    for _, a in ipairs(core:apps()) do
        out[#out + 1] = ("%s: %d instructions, %d cycles, %d times, %d bytes, "
            .. "%d pages, launch %d, block %d"):format(a.name, a.instructions,
            a.cycles, a.completions, a.footprint, a.pages, a.kernel,
            a.blocks_done)
    end
    for i, k in ipairs(core:kernels()) do
        out[#out + 1] = ("kernel %s: %d to %d, %d instructions"):format(k.name,
            k.start, k["end"], k.instructions)
        local of, line = core:counter_kernel(i), {}
        for j, c in ipairs(core:counters()) do
            if not (skip and skip(c.component, c.name)) then
                line[#line + 1] = of[j]
            end
        end
        out[#out + 1] = table.concat(line, " ")
    end
    return out
end

--- What `skip` may be: a machine without a policy has nothing to count of it.
function whole.no_policy(component)
    return component == "policy"
end

--- The first difference of two lists of lines, or nil.
function whole.difference(a, b)
    for i = 1, math.max(#a, #b) do
        if a[i] ~= b[i] then
            return ("%s\n%s"):format(a[i], b[i])
        end
    end
end

--- Goes back to a snapshot and runs from there, `step` cycles at a time, to the
-- end; the difference of that end from the state before, or nil.
function whole.again(sim, snap, step)
    local function result()
        local lines = whole.statistics(sim)
        lines[#lines + 1] = ("cycle %d, state %x"):format(sim.now,
            sim:state_hash())
        return lines
    end
    local want = result()
    sim:restore(snap)
    repeat
        local word = sim:run(step)
    until word ~= "ok"
    return whole.difference(want, result())
end

--- Runs it in one go after a snapshot at cycle `cut`, and again from there in pieces;
-- an error if the ends differ.
function whole.split(sim, cut)
    local word, snap = sim:run(cut), nil
    if word == "ok" then
        snap = sim:snapshot()
        sim:run()
    end
    sim:check()
    local d = snap and whole.again(sim, snap, 777)
    assert(not d, "another end after the restore:\n" .. tostring(d))
end

--- The counters of a simulation as sim:counters() has them, each read when it is
-- asked for: where it is one of them, every few thousand cycles.
local function read(sim)
    local function index(f)
        return setmetatable({}, { __index = f })
    end
    return index(function(_, part)
        return index(function(_, name)
            return assert(sim.core:total(part .. "." .. name), name)
        end)
    end)
end

--- A checked simulation to its end, with snapshots on the way, from each of which
-- it comes to the same end: a test.  make() builds it; o: policy, step (6007
-- cycles), snaps (4), due(counters): how many there should be by now, good
-- (counters): whether what is tested has happened.
function whole.stress(what, make, o)
    local why
    local ok, err = pcall(function()
        local sim <close> = make()
        if o.policy then
            sim:use(o.policy)
        end
        local snaps, word = {}
        repeat
            word = sim:run(o.step or 6007)
            if word == "ok" and #snaps < (o.snaps or 4)
                and o.due(read(sim)) > #snaps then
                snaps[#snaps + 1] = sim:snapshot()
            end
        until word ~= "ok"
        sim:check()
        if word ~= "done" or not o.good(sim:counters(), #snaps) then
            why = ("%s, %d snapshots"):format(word, #snaps)
        end
        for i, snap in ipairs(snaps) do
            local d = whole.again(sim, snap, i == 1 and 1 << 40 or 2999)
            why = why or d and "another end after a restore:\n" .. d
        end
    end)
    why = why or not ok and tostring(type(err) == "table" and err.message
        or err)
    tap.ok(not why, what .. ": checked, and the same from the middle", why)
end

--- A simulation that goes back to a snapshot n times on its way measures what one
-- does that runs straight to its end: a test.  It runs so far, then each time
-- `over` cycles that are taken back and `on` that are not.
function whole.cut(what, make, n, over, on)
    local straight <close> = make()
    local cut <close> = make()
    straight:run(1 << 40)
    cut:run(3000)
    for _ = 1, n do
        local kept = cut:snapshot()
        cut:run(over)
        cut:restore(kept)
        cut:run(on)
    end
    cut:run(1 << 40)
    tap.is(whole.difference(whole.statistics(straight), whole.statistics(cut)),
        nil, what .. ": snapshots change nothing")
end

-- ---- programs --------------------------------------------------------------

--- Two buffers of n pages which kernels load or store, in launches that a host draws
-- from a stream in its state, with hints and touches of its own between them;
-- ranges: of bytes of them.
function whole.any(n, seed, rounds, ranges)
    return H.program(kernel.app {
        name = "any", source = "this test",
        params = { seed = seed, rounds = rounds, ranges = ranges and 1 or 0 },
        buffers = function()
            return { kernel.i64("a", n * 512), kernel.i64("b", n * 512 + 100) }
        end,
        kernels = function(_, b)
            local list = {}
            for i, name in ipairs { "a", "b", "a", "b" } do
                list[i] = kernel.kernel("k" .. i, { grid = 2, block = 64 },
                    function(t)
                        t:loop(n // 128 + 1, function(j)
                            local at = (j * 128 + t.gid) % n * 512
                            if i > 2 then
                                t:store(b[name], at, 1)
                            else
                                local x = t:load(b[name], at)
                                t:alu(1, { uses = { x } })
                            end
                        end)
                    end)
            end
            return list
        end,
        host = function(h, s)
            s.x = s.x or h.p.seed
            s.n = (s.n or 0) + 1
            if s.n > h.p.rounds then return nil end
            local function draw(m)
                s.x = (s.x * 1103515245 + 12345) % 2147483648
                return s.x // 65536 % m
            end
            for _ = 1, draw(4) do
                local buf = draw(2) == 0 and h.b.a or h.b.b
                local what, from, bytes = draw(9), nil, nil
                if h.p.ranges > 0 and draw(4) > 0 then
                    from = draw(8 * buf.count)
                    bytes = draw(8 * buf.count - from) + 1
                end
                if what == 0 then h.prefetch(buf, "gpu", from, bytes)
                elseif what == 1 then h.prefetch(buf, "host", from, bytes)
                elseif what == 2 then
                    h.advise(buf, { read_mostly = draw(2) == 0,
                        accessed_by = draw(3) == 0,
                        preferred = ({ "gpu", "host" })[draw(3) + 1] },
                        from, bytes)
                else
                    h.touch(buf, what > 5 and "read" or "write", from, bytes)
                end
            end
            return h.kernels[draw(4) + 1]
        end,
    })
end

--- A stream: c[i] = a[i] + b[i], every line new.  Values are not kept.
function whole.stream(blocks)
    local n = blocks * 256
    return H.program(kernel.app {
        name = "stream", source = "vecadd",
        buffers = function()
            return { kernel.f32("a", n), kernel.f32("b", n),
                kernel.f32("c", n) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("add", { grid = blocks, block = 256 },
                function(t)
                    local i = t.gid
                    t:alu(8)
                    local x, y = t:load(b.a, i), t:load(b.b, i)
                    t:alu(2)
                    t:store(b.c, i, x + y)
                end) }
        end,
    })
end

--- One thread that loads ("load"), stores ("store") or both a word of each of n
-- steps of so many bytes, one after the other, `times` times; data: what the
-- buffer holds.
function whole.touch(n, bytes, what, times, data)
    return H.program(kernel.app {
        name = "touch", source = "vecadd",
        buffers = function()
            return { kernel.i64("m", n * bytes // 8, { data = data }) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("touch", { grid = 1, block = 1 },
                function(t)
                    t:loop(n * (times or 1), function(j)
                        local at = j % n * (bytes // 8)
                        if what ~= "load" then
                            t:store(b.m, at, data and 1 or nil)
                        end
                        if what ~= "store" then
                            local x = t:load(b.m, at)
                            t:alu(1, { uses = { x } })
                        end
                    end)
                end) }
        end,
    })
end

--- A column stride: each thread walks along a row of its own, 16 KB long, and
-- loads ("load", the default), stores or does atomics.
function whole.column(blocks, steps, what, stride)
    return H.program(kernel.app {
        name = "column", source = "ATAX",
        buffers = function()
            return { kernel.f32("m", blocks * 64, 4096) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("walk", { grid = blocks, block = 64 },
                function(t)
                    t:loop(steps, function(j)
                        local at = t.gid * 4096 + j * (stride or 1)
                        if what == "store" then
                            t:store(b.m, at)
                        elseif what == "atomic" then
                            t:atomic("add", b.m, at)
                        else
                            t:load(b.m, at)
                        end
                        t:alu(1)
                    end)
                end) }
        end,
    })
end

--- n buffers of `kb` KB, each used by a launch of `grid` blocks that does
-- body(t, buffer); after two of three launches the buffer is given back.
local function giver(name, kb, n, grid, body)
    return H.program(kernel.app {
        name = name, source = "this test",
        buffers = function()
            local list = {}
            for i = 1, n do
                list[i] = kernel.f32("b" .. i, kb * 256)
            end
            return list
        end,
        kernels = function(_, b)
            local list = {}
            for i = 1, n do
                local x = b["b" .. i]
                list[i] = { kernel.kernel("k" .. i, { grid = grid,
                    block = 256 }, function(t) body(t, x) end),
                    free = i % 3 ~= 0 and { x } or nil }
            end
            return list
        end,
    })
end

--- Reads its buffers all over.
function whole.freer(kb, n, name)
    return giver(name or "freer", kb, n, 4, function(t, x)
        t:load(x, t.gid * 197 % x.count)
    end)
end

--- Writes them, too, so that lines are dirty when pages move.
function whole.writer(kb, n)
    return giver("writer", kb, n, 16, function(t, x)
        t:load(x, t.gid * 31 % x.count)
        t:store(x, t.gid * 17 % x.count, 1.0)
    end)
end

--- Random: each thread reads words all over `mb` megabytes; some warps share
-- pages, all diverge.
function whole.random(blocks, steps, mb)
    local n = (mb or 16) << 18
    return H.program(kernel.app {
        name = "random", source = "GUP",
        buffers = function()
            return { kernel.i32("m", n) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("jump", { grid = blocks, block = 64 },
                function(t)
                    local x = t:var(t.gid * 2654435761 + 12345)
                    t:loop(steps, function()
                        x:set(x * 6364136223846793005 + 1442695040888963407)
                        t:load(b.m, x:lshr(33) % n)
                        t:alu(2)
                    end)
                end) }
        end,
    })
end

--- Stores to a word of each of n pages, and computes for a while, `rounds` times;
-- between two launches the host writes them, or what round(i, b) says.
function whole.to_and_fro(n, rounds, round, cycles)
    return H.program(kernel.app {
        name = "toandfro", source = "a host that shares pages", align = 2 << 20,
        buffers = function() return { kernel.i64("m", n * 512) } end,
        kernels = function(_, b)
            local touch = kernel.kernel("touch", { grid = 1, block = 1 },
                function(t)
                    t:loop(n, function(j)
                        local x = t:load(b.m, j * 512)
                        t:alu(1, { uses = { x } })
                        t:store(b.m, j * 512, 1)
                    end)
                    t:alu(cycles or 1)
                end)
            local list = { touch }
            for i = 2, rounds do
                list[i] = round and round(i, b) or { host_writes = { b.m } }
                list[i][1] = touch
            end
            return list
        end,
    })
end

--- Machines on which such a program, of 40 rounds and so many cycles, shows all
-- that is counted of thrashing: { settings, program }.
function whole.thrashing()
    local control = { ["vm.paging"] = "fault", ["link.latency"] = 500,
        ["fault.thrashing"] = "driver", ["sim.relaunch"] = false }
    local function mostly(i, b)
        return i == 39 and { prefetch = { b.m } } or { host_writes = { b.m } }
    end
    return {
        { whole.join(control, { ["uvm.perf_thrashing_lapse_usec"] = 20,
            ["uvm.perf_thrashing_pin_threshold"] = 2,
            ["uvm.perf_thrashing_pin"] = 2 }),
            whole.to_and_fro(2, 40, mostly) },
        { whole.join(control, { ["uvm.perf_thrashing_lapse_usec"] = 20,
            ["uvm.perf_thrashing_pin_threshold"] = 2 }),
            whole.to_and_fro(2, 40, mostly) },
        { whole.join(control, { ["uvm.perf_thrashing_lapse_usec"] = 20,
            ["uvm.perf_thrashing_epoch"] = 1 }),
            whole.to_and_fro(1, 40, nil, 60000) },
        { whole.join(control, { ["uvm.perf_lapse_vote_threshold"] = 1 }),
            whole.to_and_fro(1, 40) },
        { whole.join(control, { ["fault.thrashing"] = "refault",
            ["evict.unit"] = "4K", ["vm.memory_bytes"] = 8 << 20,
            ["vm.table_frames"] = 2018 }),
            whole.to_and_fro(40, 6, function() return {} end) },
    }
end

--- Blocks of three warps with loads along rows, loads, stores and atomics all over,
-- branches and a barrier; and a second launch that lasts until all that is in
-- flight has come home.
function whole.kinds(blocks)
    local words = 1 << 18
    return H.program(kernel.app {
        name = "kinds", source = "all kinds of access",
        buffers = function()
            return { kernel.i32("m", words),
                kernel.f32("rows", blocks * 96 * 1024) }
        end,
        kernels = function(_, b)
            return {
                kernel.kernel("kinds", { grid = blocks, block = 96 }, function(t)
                    local x = t:var(t.gid * 2654435761 + 12345)
                    t:loop(3, function(j)
                        x:set(x * 6364136223846793005 + 1442695040888963407)
                        t:load(b.m, x:lshr(33) % words)
                        t:alu(5)
                        t:load(b.rows, t.gid * 1024 + j * 8)
                        t:when(x:lshr(40):band(3):eq(0), function()
                            t:atomic("add", b.m, x:lshr(13) % words)
                        end)
                        t:store(b.m, x:lshr(23) % words)
                    end)
                    t:sync()
                    t:load(b.m, t.gid)
                    t:alu(4)
                end),
                kernel.kernel("rest", { grid = 1, block = 32 }, function(t)
                    t:alu(30000)
                end),
            }
        end,
    })
end

--- Reads the same 32 KB over and over: what misses the L1 hits in the L2.
function whole.resident()
    return H.program(kernel.app {
        name = "resident", source = "vecadd",
        buffers = function()
            return { kernel.i32("m", 8192) }
        end,
        kernels = function(_, b)
            return { kernel.kernel("spin", { grid = 128, block = 64 },
                function(t)
                    t:loop(4000, function(j)
                        t:load(b.m, (t.gid + j * 64) % 8192)
                        t:alu(1)
                    end)
                end) }
        end,
    })
end

return whole

--[[
QTC - quality-threshold clustering with the full distance matrix, SHOC
qtclustering (also MASK, Mosaic).

Arrays, in order, for n points, D neighbours at most and 256 blocks:
dist f32[n][n], nbr i32[n][D] (the points nearer than 1 in rising order, -1
behind them), deg i32[n], ung i32[n] (points that are in no cluster yet), Ai
u8[256][n], d2c f32[256][D], clus u8[n] (points in a cluster), card i32[512],
res i32[n].  Footprint 4 n^2 + 4 n D + 269 n + 1024 D + 2048 bytes, 71 MB for
4,096 points; D is about n/26.

Launches: degrees once; then for each cluster main, reduce, trim and update,
blocks of 64 threads:
  degrees   a point a thread counts its row of nbr: lanes 4 D bytes apart
  main      256 blocks; block b grows a candidate cluster from each seed
            ung[b], ung[b + 256], .. whose degree exceeds its best size so far.
            Growing: Ai and d2c of the block are cleared, the neighbours of the
            seed come into registers, then until none fits: every candidate
            reads Ai and clus (gathers by point) and dist[candidate][latest],
            4 n bytes a point: one page for every active lane; the nearest is
            found in shared memory, by thread 0 alone over 63 entries
  reduce    one thread finds the largest of 256 clusters
  trim      one block grows the winner again, reading nbr and d2c as it goes,
            and closes the gaps in ung
  update    one block: clus |= Ai
About 19 lanes, so 19 pages, a load of dist (4,096 points).

Everything is real: points are as SHOC's generator puts them (groups of up to
n/30 points in circles of radius up to 10 in a square of 20), distances are
computed from them, and candidates, winners and lists follow.  The
density of groups differs much from draw to draw (D is 127 to 288 for seeds 1 to 10);
seed 2 resembles SHOC's own points (D = 160, 51 neighbours).  The matrix
itself is not kept: a load of dist has its address and its wait, its value
comes from the coordinates (a pair that is not near counts as far apart, as in
the matrix).  What threads tell each other in shared memory is peeked at.

Approximated: alu counts (12 a candidate and step, 6 an entry of the
reduction).  Two races of the program are decided: a warp that clears Ai leaves
the mark of the seed alone, and what trim reads from ung is what was there
before it.  `clusters` ends the run after so many of some 385 clusters.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, i32, f32 = h.app, h.kernel, h.u8, h.i32, h.f32

local THREADS, BLOCKS = 64, 256
local SIDE, RADIUS = 20, 10
local HELD = 12 -- candidates that a thread has in registers
local FAR = 2 -- twice the threshold: no candidate

-- ---- points and neighbours ---------------------------------------------------

local function single(x) return (string.unpack("<f", string.pack("<f", x))) end

-- x[i], y[i] from 0, in single precision, as the program's generator draws.
local function points(p)
    local u = require "heddle.generate".floats { n = 16 * p.n + 4096,
        seed = p.seed }
    local at = 0
    local function draw()
        at = at + 1
        return u[at - 1] or error("QTC: the generator needs more numbers")
    end
    local x, y, n = {}, {}, 0
    while n < p.n do
        local cx, cy, r = draw() * SIDE, draw() * SIDE, draw() * RADIUS
        local left = math.min(draw() * (p.n // 30) // 1 | 0, p.n - n)
        while left > 0 do
            local sign = draw() < 0.5 and -1 or 1
            local d = draw() * r
            local dx = (2 * draw() - 1) * d
            local px, py = cx + dx, cy + math.sqrt(d * d - dx * dx) * sign
            if px >= 0 and px <= SIDE and py >= 0 and py <= SIDE then
                x[n], y[n], n, left = single(px), single(py), n + 1, left - 1
            end
        end
    end
    return x, y
end

-- Points in each cell of side 1.
local function cells_of(p, x, y)
    local cells = {}
    for i = 0, p.n - 1 do
        local c = (y[i] // 1 | 0) * (SIDE + 2) + (x[i] // 1 | 0)
        cells[c] = cells[c] or {}
        table.insert(cells[c], i)
    end
    return cells
end

-- Lists of the points nearer than 1, in rising order; the longest list.
local function neighbours(p, x, y)
    local list, most = {}, 1
    local cells = cells_of(p, x, y)
    for i = 0, p.n - 1 do list[i] = {} end
    for j = 0, p.n - 1 do
        local cx, cy = x[j] // 1 | 0, y[j] // 1 | 0
        for c = (cy - 1) * (SIDE + 2) + cx, (cy + 1) * (SIDE + 2) + cx,
            SIDE + 2 do
            for cell = c - 1, c + 1 do
                for _, i in ipairs(cells[cell] or {}) do
                    local dx, dy = x[i] - x[j], y[i] - y[j]
                    if i ~= j and dx * dx + dy * dy < 1 then
                        list[i][#list[i] + 1] = j
                    end
                end
            end
        end
    end
    for i = 0, p.n - 1 do most = math.max(most, #list[i]) end
    return list, most
end

-- nbr as a string of rows of D.
local function rows(p, list, D)
    local out, blank = {}, {}
    for k = 0, D do blank[k] = string.pack("<i4", -1):rep(k) end
    for i = 0, p.n - 1 do
        local row = list[i]
        out[i + 1] = ("<" .. ("i4"):rep(#row)):pack(table.unpack(row))
            .. blank[D - #row]
    end
    return table.concat(out)
end

-- ---- growing a cluster ---------------------------------------------------------

-- What a block works with.
local function grower(t, p, b, seed)
    return { t = t, p = p, b = b, seed = seed, D = b.d2c.dims[2],
        Ai = t.block * p.n, d2c = t.block * b.d2c.dims[2],
        latest = t:var(seed), least = t:var(t:const(FAR, "f32")),
        nearest = t:var(t:const(-1)), size = t:var(t:const(1)) }
end

local function clear(g)
    local t, b = g.t, g.b
    t:loop(t.tid, g.p.n, THREADS, function(i)
        t:store(b.Ai, g.Ai + i, i:eq(g.seed):int()) -- never clears the seed
        t:alu(4)
    end)
    t:loop(t.tid, g.D, THREADS, function(i)
        t:store(b.d2c, g.d2c + i, 0)
        t:alu(4)
    end)
end

-- The distance of two points as the matrix has it, when `wait` has come.
local function distance(g, i, j, wait)
    local t, b = g.t, g.b
    local dx = t:peek(b.x, i, { uses = { wait } }) - t:peek(b.x, j)
    local dy = t:peek(b.y, i) - t:peek(b.y, j)
    local d = dx * dx + dy * dy
    return t:select(d:lt(1), d:sqrt(), 1e30)
end

-- A candidate that may be free: far() gives its distance to the cluster so
-- far, keep(d) sets it, drop() is called where the point is taken.
local function check(g, candidate, far, keep, drop)
    local t, b = g.t, g.b
    local free = t:var(t:const(false))
    t:alu(2)
    t:when(candidate:ge(0), function()
        local taken = t:load(b.Ai, g.Ai + candidate)
        t:alu(2, { uses = { taken } })
        t:when(taken:eq(0), function()
            free:set(t:load(b.clus, candidate):eq(0))
            t:alu(2)
        end)
        t:when(free, function()
            local old = far()
            local v = t:load(b.dist, candidate * g.p.n + g.latest)
            t:alu(3)
            local d = distance(g, candidate, g.latest, v)
            t:when(d:gt(old), function() keep(d) end)
            local diameter = d:max(old)
            local better = diameter:lt(g.least)
            t:alu(5, { uses = { v } })
            g.least:set(t:select(better, diameter, g.least))
            g.nearest:set(t:select(better, candidate, g.nearest))
        end, drop)
    end)
end

-- The nearest candidate of the block, -1 if none: thread 0 looks through what
-- all have left in shared memory.  It pays for 63 entries; that 32 lanes find
-- the same one in six steps for nothing makes no difference to the machine.
local function reduce(g)
    local t, b = g.t, g.b
    local base = t.block * THREADS
    t:poke(b.sh_dist, base + t.tid, g.least)
    t:poke(b.sh_point, base + t.tid, g.nearest)
    t:shared(2)
    t:sync()
    local least, point = t:var(g.least), t:var(g.nearest)
    for _, apart in ipairs { 32, 16, 8, 4, 2, 1 } do
        t:when(t.tid:lt(apart), function()
            local at = base + t.tid
            local d = t:peek(b.sh_dist, at + apart)
            local i = t:peek(b.sh_point, at + apart)
            local better = d:lt(least):bor(d:eq(least):band(i:lt(point)))
            least:set(t:select(better, d, least))
            point:set(t:select(better, i, point))
            t:poke(b.sh_dist, at, least)
            t:poke(b.sh_point, at, point)
        end)
    end
    t:when(t.tid:eq(0), function()
        t:shared(THREADS - 1)
        t:alu(5 * (THREADS - 1))
        t:poke(b.sh_point, base, t:select(least:gt(1), -1, point))
    end)
    t:sync()
    t:shared(1)
    return t:peek(b.sh_point, base)
end

-- Grows the cluster step by step; look() checks this thread's candidates,
-- note(winner, size) is called by thread 0 for each new member.
local function grow(g, look, note)
    local t, b = g.t, g.b
    local growing = t:var(t:const(true))
    t:while_(function() return growing end, function()
        g.least:set(FAR)
        g.nearest:set(-1)
        look()
        local winner = reduce(g)
        t:alu(4)
        t:when(winner:ge(0), function()
            t:when(t.tid:eq(0), function()
                t:store(b.Ai, g.Ai + winner, 1)
                if note then note(winner, g.size) end
            end)
            g.latest:set(winner)
            g.size:set(g.size + 1)
        end)
        growing:set(winner:ge(0))
        t:sync()
    end)
    t:sync()
end

-- ---- kernels ---------------------------------------------------------------------

local function degrees(p, b)
    local each, D = h.ceil(p.n, BLOCKS), b.nbr.dims[2]
    local options = { grid = BLOCKS, block = THREADS, regs = 17 }
    return kernel("degrees", options, function(t)
        local first = each * t.block
        t:alu(12)
        t:loop(t.tid, (p.n - first):min(each), THREADS, function(i)
            local count = t:var(t:const(0))
            t:loop(D, function(j)
                local v = t:load(b.nbr, (first + i) * D + j)
                t:alu(4)
                count:set(count + v:ge(0):int())
            end)
            t:store(b.deg, first + i, count)
        end)
    end)
end

-- The candidates that fit into registers, and those behind them.
local function held(g, degree)
    local t, b = g.t, g.b
    local slots = math.min(HELD, h.ceil(g.D, THREADS))
    local point, far = {}, {}
    for k = 1, slots do
        local at = (k - 1) * THREADS + t.tid
        point[k] = t:var(t:const(-1))
        far[k] = t:var(t:const(0, "f32"))
        t:alu(3)
        t:when(at:lt(degree), function()
            point[k]:set(t:load(b.nbr, g.seed * g.D + at))
        end)
    end
    t:sync()
    return function()
        for k = 1, slots do
            check(g, point[k], function() return far[k]:get() end,
                function(d) far[k]:set(d) end,
                function() point[k]:set(-1) end)
        end
        t:alu(2 * (HELD - slots))
        if g.D <= HELD * THREADS then return end
        t:loop(HELD * THREADS + t.tid, degree, THREADS, function(i)
            check(g, t:load(b.nbr, g.seed * g.D + i),
                function() return t:load(b.d2c, g.d2c + i) end,
                function(d) t:store(b.d2c, g.d2c + i, d) end)
        end)
    end
end

local function main(p, b)
    local options = { grid = BLOCKS, block = THREADS, regs = 57,
        shared = 8 * THREADS, args = { count = p.n } }
    return kernel("main", options, function(t)
        local best, winner = t:var(t:const(-1)), t:var(t:const(0))
        t:alu(14)
        t:loop(t.block, t:arg("count"), t.nx, function(i)
            local seed = t:load(b.ung, i)
            local degree = t:load(b.deg, seed)
            t:alu(3)
            t:when(degree:gt(best), function()
                local g = grower(t, p, b, seed)
                clear(g)
                t:when(t.tid:eq(0), function()
                    t:store(b.Ai, g.Ai + seed, 1)
                end)
                t:sync()
                grow(g, held(g, degree))
                local larger = g.size:gt(best)
                best:set(t:select(larger, g.size, best))
                winner:set(t:select(larger, seed, winner))
                t:alu(3)
            end)
            t:alu(3)
        end)
        t:when(t.tid:eq(0), function()
            t:store(b.card, 2 * t.block, best)
            t:store(b.card, 2 * t.block + 1, winner)
        end)
    end)
end

local function largest(b)
    local options = { grid = 1, block = 1, regs = 8, args = { blocks = BLOCKS } }
    return kernel("reduce", options, function(t)
        local most, winner = t:var(t:const(-1)), t:var(t:const(0))
        t:loop(0, 2 * t:arg("blocks"), 2, function(i)
            local size = t:load(b.card, i)
            t:alu(4)
            t:when(size:gt(most), function()
                most:set(size)
                winner:set(t:load(b.card, i + 1))
                t:alu(2, { uses = {} })
            end)
        end)
        t:store(b.card, 0, most)
        t:store(b.card, 1, winner)
    end)
end

-- Takes the members of the cluster out of ung.
local function close_gaps(t, b, count)
    t:when(t.tid:eq(0), function() t:poke(b.sh_trim, 0, 0) end)
    t:shared(2)
    t:sync()
    t:loop(t.tid, count, THREADS, function(i)
        t:load(b.ung, i)
        local point = t:peek(b.list, i)
        t:shared(2)
        local member = t:load(b.Ai, point):eq(1)
        t:alu(3)
        t:poke(b.sh_trim, 1 + t.tid, t:select(member, -1, point))
        t:when(member, function() t:shared(2) end, function()
            t:store(b.ung, t:peek(b.sh_trim, 0) + t.tid, point)
        end)
        t:sync()
        t:when(t.tid:eq(0), function()
            local at = t:var(t:peek(b.sh_trim, 0))
            local here = (count - i):min(THREADS)
            local whole = t:var(t:const(true))
            t:loop(here, function(j)
                whole:set(whole:band(t:peek(b.sh_trim, 1 + j):ge(0)))
            end)
            t:shared(1)
            t:when(whole, function() at:set(at + THREADS) end, function()
                t:loop(here, function(j)
                    local x = t:peek(b.sh_trim, 1 + j)
                    t:shared(1)
                    t:alu(5)
                    t:when(x:ge(0), function()
                        t:store(b.ung, at, x)
                        at:set(at + 1)
                    end)
                end)
            end)
            t:poke(b.sh_trim, 0, at)
            t:shared(2)
        end)
        t:sync()
        t:alu(3)
    end)
end

local function trim(p, b)
    local options = { grid = 1, block = THREADS, regs = 44,
        shared = 12 * THREADS, args = { seed = 0, count = p.n } }
    return kernel("trim", options, function(t)
        local seed = t:arg("seed")
        t:alu(8)
        t:load(b.deg, seed)
        local g = grower(t, p, b, seed)
        clear(g)
        t:when(t.tid:eq(0), function()
            t:store(b.res, 0, seed)
            t:store(b.Ai, g.Ai + seed, 1)
        end)
        t:sync()
        grow(g, function()
            t:loop(t.tid, g.D, THREADS, function(i)
                local point = t:load(b.nbr, seed * g.D + i)
                t:alu(4)
                check(g, point,
                    function() return t:load(b.d2c, g.d2c + i) end,
                    function(d) t:store(b.d2c, g.d2c + i, d) end)
            end)
        end, function(winner, size) t:store(b.res, size, winner) end)
        close_gaps(t, b, t:arg("count"))
    end)
end

local function update(p, b)
    local options = { grid = 1, block = THREADS, regs = 9 }
    return kernel("update", options, function(t)
        t:loop(t.tid, p.n, THREADS, function(i)
            local v = t:load(b.clus, i):bor(t:load(b.Ai, i))
            t:alu(3)
            t:store(b.clus, i, v)
            t:alu(2)
        end)
        t:sync()
    end)
end

-- ---- the application -----------------------------------------------------------

return app {
    name = "QTC", suite = "SHOC", source = "SHOC qtclustering",
    summary = "clustering of points: a page of the matrix for every lane",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 4096, clusters = 2, seed = 2 },
    sizes = {
        T = { n = 256, clusters = 1 },
        R = { n = 4096, clusters = 2 },
        S = { n = 4096, clusters = 2 },
        M = { n = 6144, clusters = 1 },
        L = { n = 8192, clusters = 1 },
    },
    -- with the D that groups of n/30 points usually give
    footprint = function(p)
        local D = p.n // 26
        return 4 * p.n * p.n + 4 * p.n * D + (13 + BLOCKS) * p.n
            + 4 * BLOCKS * D + 8 * BLOCKS
    end,
    truncated = function(p)
        return string.format("the first %d clusters of hundreds", p.clusters)
    end,

    buffers = function(p)
        h.check(p.n >= BLOCKS and p.n < 1 << 15,
            "QTC: n is 256 or more and below 32768")
        local x, y = points(p)
        local list, D = neighbours(p, x, y)
        local function count(i) return i end
        return {
            f32("dist", p.n, p.n),
            i32("nbr", p.n, D, { data = rows(p, list, D) }),
            i32("deg", p.n, { contents = true }),
            i32("ung", p.n, { data = count }),
            u8("Ai", BLOCKS, p.n, { contents = true }),
            f32("d2c", BLOCKS, D, { contents = true }),
            u8("clus", p.n, { contents = true }),
            i32("card", 2 * BLOCKS, { contents = true }),
            i32("res", p.n, { contents = true }),
            f32("x", p.n, { scratch = true, data = function(i) return x[i] end }),
            f32("y", p.n, { scratch = true, data = function(i) return y[i] end }),
            i32("list", p.n, { scratch = true, data = count }),
            f32("sh_dist", BLOCKS * THREADS, { scratch = true }),
            i32("sh_point", BLOCKS * THREADS, { scratch = true }),
            i32("sh_trim", 1 + THREADS, { scratch = true }),
        }
    end,

    kernels = function(p, b)
        return { degrees(p, b), main(p, b), largest(b), trim(p, b),
            update(p, b) }
    end,

    host = function(device, s)
        local b, p, k = device.b, device.p, device.kernels
        local last = s.last
        if not last then
            s.last, s.count, s.found = "degrees", p.n, 0
            return k.degrees
        end
        local blocks = math.min(s.count, BLOCKS)
        if last == "main" then
            s.last = "reduce"
            return { k.reduce, args = { blocks = blocks } }
        elseif last == "reduce" then
            s.last = "trim"
            return { k.trim, args = { seed = device.read(b.card, 1),
                count = s.count } }
        elseif last == "trim" then
            s.last = "update"
            s.count = s.count - device.read(b.card, 0)
            s.found = s.found + 1
            for i = 0, s.count - 1 do
                device.write(b.list, i, device.read(b.ung, i))
            end
            return k.update
        end
        if s.found == p.clusters or s.count == 0
            or s.found > 0 and device.read(b.card, 0) <= 1 then
            return nil
        end
        s.last, blocks = "main", math.min(s.count, BLOCKS)
        return { k.main, grid = blocks, args = { count = s.count } }
    end,
}

--[[
SC - streamcluster, the kernel pgain of old Rodinia (the one that MASK and
Mosaic run; Rodinia 3.1 reads the centre from memory in every thread).

Arrays, in order: wm[(kmax+1) n] f32 (work matrix, rows of K+1), ctab[n] i32
(number of a centre), sw[n] u8 (points that would switch), pt[n] structs of 32
bytes (weight at 0, assign at 16, cost at 24), coord[dim][n] f32, dimension by
dimension.  Footprint (4 dim + 4 (kmax+1) + 37) n bytes, 75 MB for 65,536
points of 256 dimensions.

One launch of n/512 blocks of 512 threads for each candidate centre x:
  stage   thread 0 loads coord[d][x] for all d into shared memory, 4 n bytes
          apart: a new page each; the others wait at the barrier
  cost    each thread sums the square differences over coord[d][p]: one line,
          one page, the next d is n/1024 pages further
  gain    weight and cost from pt (8 lines a warp); a point that is nearer to x
          writes sw and the last column of its row of wm, any other its old
          centre's column, found through assign and ctab
K+1 = 11 to 21 columns: a warp spans 11 to 21 lines of wm.

Everything is real: coordinates are uniform in [0,1) as those of the program's
own stream, the distances are computed in single precision, and after every
launch the host does what the program does: it sums the columns, opens x where
that pays, closes the centres that are not worth their price, assigns points,
writes pt and ctab, clears wm and sw.  Candidates are taken in turn from
feasible = 3 kmin ln kmin random points.  Instructions between accesses are
those of MAFIA's PTX, block by block: 9 a dimension.  With code = "sass" they are
what a GPU runs, nvcc 13's for sm_75: 73 for 16 dimensions, loaded at once.

Approximated: the run starts where a local search is under way, with `centres`
random points open and every point assigned to the nearest; the price of a
centre (`price` a point) is given, where the program searches for the one that
keeps K between kmin and kmax.  `launches` candidates are tried, of hundreds.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, i32, f32 = h.app, h.kernel, h.u8, h.i32, h.f32

local BLOCK, KMIN = 512, 10
local UNROLLED = 16 -- dimensions that sm_75's code loads at once
local POINT = 8 -- words of a point: weight 0, assign 4, cost 6
local FEASIBLE = math.floor(3 * KMIN * math.log(KMIN))

-- Draw i of 0 .. n-1, by a hash of seed and number.
local function draw(seed, i, n)
    local x = (seed * 0x9e3779b97f4a7c15) ~ (i * 0xbf58476d1ce4e5b9)
    x = (x ~ (x >> 29)) * 0x94d049bb133111eb
    x = (x ~ (x >> 32)) * 0x9e3779b97f4a7c15
    return (x >> 33) % n
end

-- Thread 0 stages the centre.
local function stage(t, p, b, x)
    t:alu(7)
    t:when(t.tid:eq(0), function()
        t:alu(13)
        t:loop(p.dim, function(d)
            local c = t:load(b.coord, d * p.n + x)
            t:shared(1, { uses = { c } })
            t:alu(5)
        end)
        t:alu(1)
    end)
    t:alu(1)
end

-- Each thread sums the square differences from it.
local function sum_cost(t, p, b, x, cost)
    t:alu(21)
    t:loop(p.dim, function(d)
        t:shared(1)
        local c = t:load(b.coord, d * p.n + t.gid)
        t:alu(7, { uses = { c } })
        local off = c - t:peek(b.coord, d * p.n + x)
        cost:set(cost + off * off)
    end)
end

-- The loops over dimensions as compiled for sm_75, 16 at once: thread 0 stages
-- the centre, then all sum their distances.
local function stage_sass(t, p, b, x)
    t:alu(13)
    t:when(t.tid:eq(0), function()
        t:alu(17)
        t:loop(0, p.dim, UNROLLED, function(d)
            for u = 0, UNROLLED - 1 do t:load(b.coord, (d + u) * p.n + x) end
            t:shared(4)
            t:alu(22)
        end)
    end)
    t:alu(2)
end

local function cost_sass(t, p, b, x, cost)
    t:alu(18)
    t:loop(0, p.dim, UNROLLED, function(first)
        local c = {}
        for u = 0, UNROLLED - 1 do
            c[u + 1] = t:load(b.coord, (first + u) * p.n + t.gid)
        end
        t:shared(4, { uses = {} })
        t:alu(53, { uses = c })
        for u = 0, UNROLLED - 1 do
            local off = c[u + 1] - t:peek(b.coord, (first + u) * p.n + x)
            cost:set(cost + off * off)
        end
    end)
end

local function pgain(p, b)
    local sass = h.choice(p, "code", "ptx", "sass") == "sass"
    local options = { grid = h.ceil(p.n, BLOCK), block = BLOCK,
        regs = sass and 56 or 12,
        shared = 4 * p.dim, args = { x = 0, K = 1 } }
    return kernel("pgain", options, function(t)
        local v, x, K = t.gid, t:arg("x"), t:arg("K")
        if sass then stage_sass(t, p, b, x) else stage(t, p, b, x) end
        t:sync()
        local cost = t:var(t:const(0, "f32"))
        if sass then
            cost_sass(t, p, b, x, cost)
        else
            sum_cost(t, p, b, x, cost)
        end
        t:alu(4)
        local weight = t:load(b.pt, POINT * v)
        t:alu(1, { uses = { weight } })
        cost:set(cost * weight)
        local old = t:load(b.pt, POINT * v + 6)
        t:alu(7, { uses = {} })
        t:alu(2, { uses = { old } })
        t:when(cost:lt(old), function()
            t:alu(3)
            t:store(b.sw, v, 1)
            t:alu(3)
            local at = v * (K + 1) + K
            local before = t:load(b.wm, at)
            t:alu(2)
            t:store(b.wm, at, before + (cost - old))
            t:alu(1)
        end, function()
            local assign = t:load(b.pt, POINT * v + 4):int()
            t:alu(4)
            local at = v * (K + 1) + t:load(b.ctab, assign)
            t:alu(3)
            local before = t:load(b.wm, at)
            t:alu(2)
            t:store(b.wm, at, before + (old - cost))
        end)
    end)
end

-- ---- what the program does between launches --------------------------------

-- The candidate of launch i, counted from 0.
local function candidate(p, i)
    return draw(p.seed + 1, i % FEASIBLE, p.n)
end

local function assign_of(device, i)
    return device.read(device.b.pt, POINT * i + 4) // 1 | 0
end

-- Columns of the work matrix added up; what opening x would cost, and which
-- centres would be closed for it.
local function tally(device, s, p)
    local b, K = device.b, #s.centres
    local low, gain, total = {}, {}, p.price * p.n
    for j = 1, K do low[j] = p.price * p.n end
    for i = 0, p.n - 1 do
        if device.read(b.sw, i) == 1 then
            gain[#gain + 1] = device.read(b.wm, i * (K + 1) + K)
            total = total + gain[#gain]
        else
            local j = device.read(b.ctab, assign_of(device, i))
            low[j + 1] = low[j + 1] + device.read(b.wm, i * (K + 1) + j)
        end
    end
    local close = {}
    for j, c in ipairs(s.centres) do
        if low[j] > 0 then close[c], total = true, total - low[j] end
    end
    return total, close
end

-- Opens x: points that switch, and those of closed centres, go to it.
local function open(device, s, p, x, close)
    local b, K = device.b, #s.centres
    for i = 0, p.n - 1 do
        local cost = device.read(b.pt, POINT * i + 6)
        local assign = assign_of(device, i)
        local column
        if device.read(b.sw, i) == 1 then
            cost, column = cost + device.read(b.wm, i * (K + 1) + K), true
        elseif close[assign] then
            cost = cost - device.read(b.wm, i * (K + 1)
                + device.read(b.ctab, assign))
            column = true
        end
        if column then
            device.write(b.pt, POINT * i + 4, x)
            device.write(b.pt, POINT * i + 6, cost)
        end
    end
    local left = {}
    for _, c in ipairs(s.centres) do
        if not close[c] then left[#left + 1] = c end
    end
    left[#left + 1] = x
    table.sort(left)
    s.centres = left
end

-- Centres are numbered in the order of their points.
local function number(device, s)
    for j, c in ipairs(s.centres) do device.write(device.b.ctab, c, j - 1) end
end

-- The centres of the start: those that points are assigned to.
local function first_centres(device, p)
    local list, seen = {}, {}
    for i = 0, p.n - 1 do
        local c = assign_of(device, i)
        if not seen[c] then seen[c], list[#list + 1] = true, c end
    end
    table.sort(list)
    return list
end

-- pt at the start: the nearest of the first centres.
local function points(p, c)
    local out = {}
    for i = 0, p.n - 1 do
        out[i + 1] = string.pack("<ffffffff", 1, 0, 0, 0,
            c.centre[c.nearest[i]], 0, c.cost[i], 0)
    end
    return table.concat(out)
end

return app {
    name = "SC", suite = "Rodinia", source = "old Rodinia streamcluster, pgain",
    summary = "clustering: one dimension after the other, far apart",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 65536, dim = 256, kmax = 20, centres = 15, price = 0.08,
        launches = 8, seed = 1, code = "ptx" },
    sizes = {
        T = { n = 1024, dim = 16, centres = 4, price = 0.1, launches = 3 },
        R = { launches = 8 },
        S = { launches = 8 },
        M = { launches = 4 },
        L = { n = 131072, launches = 4 },
    },
    footprint = function(p) return (4 * p.dim + 4 * (p.kmax + 1) + 37) * p.n end,
    truncated = function(p)
        return string.format("%d candidate centres of hundreds", p.launches)
    end,

    buffers = function(p)
        h.check(p.n % BLOCK == 0 and p.n < 1 << 24,
            "SC: n is a multiple of 512, below 2^24")
        h.check(p.code ~= "sass" or p.dim % UNROLLED == 0,
            "SC: code = sass takes a dim of a multiple of 16")
        h.check(p.centres >= 1 and p.centres <= p.kmax and p.kmax < p.n // 2,
            "SC: centres is 1 to kmax")
        local generate = require "heddle.generate"
        local c = generate.clusters { n = p.n, dim = p.dim,
            centres = p.centres, seed = p.seed }
        return {
            f32("wm", (p.kmax + 1) * p.n, { contents = true }),
            i32("ctab", p.n, { contents = true }),
            u8("sw", p.n, { contents = true }),
            f32("pt", POINT * p.n, { data = points(p, c) }),
            f32("coord", p.n * p.dim, { data = c.coords }),
        }
    end,

    kernels = function(p, b) return { pgain(p, b) } end,

    host = function(device, s)
        local b, p, done = device.b, device.p, device.launched
        if done == 0 then
            s.centres = first_centres(device, p)
        else
            local x = candidate(p, done - 1)
            local total, close = tally(device, s, p)
            local K, closed = #s.centres, 0
            for _ in pairs(close) do closed = closed + 1 end
            if total < 0 and K + 1 - closed <= p.kmax then
                open(device, s, p, x, close)
            end
            device.fill(b.wm, 0)
            device.fill(b.sw, 0)
        end
        if done == p.launches then return nil end
        number(device, s)
        return { device.kernels.pgain,
            args = { x = candidate(p, done), K = #s.centres } }
    end,
}

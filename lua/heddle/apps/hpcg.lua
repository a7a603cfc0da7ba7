--[[
HPCG - conjugate gradients with a multigrid cycle and a coloured smoother, the
27-point stencil of HPCG, as rocHPCG has it (src/ComputeSYMGS.cpp).

Arrays, in order: of each level (m = n^3 rows, n halved from one to the next)
col i32[27][m], val f64[27][m], diag f64[m], r, z, Az f64[m], and map i32[m / 8] but for
the last; then p, x f64[n^3] and sum f64[1].  Footprint 356 bytes a row of all levels,
16 more of the first, 4 of each but that.

`iterations` times: the cycle on `levels` levels (smooth, Az, restrict; on the last only
smooth; prolong, smooth), p by z, Ap, x, r and three dot products.
  symgs     eight colours, one after the other, then back: a launch a colour, blocks of
            1,024, a thread a row: r; 27 times the column (4 bytes a lane, one line),
            and where that is another row its value (8 bytes) and z there; the
            diagonal; a store of z.  Rows are numbered by colour, so neighbours of 32
            rows are 32 rows of one colour: z is one page
  spmv      all rows, the diagonal too
  restrict, prolong   a thread a coarse row, the number of its fine row, and a gather
  dot, axpy           two loads of 8 bytes a lane; an atomic a block

    shuffle = 1   rows of a colour in random order, as a random colouring leaves them
                  (n a power of two): z is gathered from as many pages as lanes

Columns are computed from the row's number, so that no size needs memory.

Approximated: values are not computed, since no address and no branch depends on
them; sweeps that begin with z = 0 are as the others; rocHPCG finds more than eight
colours; instructions between accesses are guesses (alu_row, alu_point).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local shuffle = require "heddle.apps.shuffle"
local app, kernel, ceil, f64, i32 = h.app, h.kernel, h.ceil, h.f64, h.i32

local COLOURS = 8
local POINTS = 27

-- Side of level l, from 0.
local function side(p, l) return p.n >> l end

local function check(p)
    h.check(p.levels > 0 and p.levels <= 8 and p.n >= 1 << p.levels
        and p.n % (1 << p.levels) == 0 and p.n <= 1024,
        ("HPCG: n = %d, levels = %d: n is a multiple of 2^levels up to 1024, and there "
            .. "are 1 to 8 levels"):format(p.n, p.levels))
    h.check(p.shuffle == 0 or p.shuffle == 1 and p.n & (p.n - 1) == 0,
        ("HPCG: shuffle = %d, n = %d: shuffle is 0, or 1 where n is a power of two")
            :format(p.shuffle, p.n))
    h.check(p.iterations > 0, "HPCG: iterations is 1 or more")
end

-- Bits of a number of a row within its colour, on level l.
local function bits(p, l)
    local k = 0
    while 1 << k < side(p, l) // 2 do k = k + 1 end
    return 3 * k
end

-- What makes the order of a colour another than that of the others.
local function key(p, l, colour)
    return (colour * 0x2545f491):band((1 << bits(p, l)) - 1)
end

-- The row of a point x, y, z of level l.
local function row_of(p, l, x, y, z)
    local half = side(p, l) // 2
    local at = ((z // 2) * half + y // 2) * half + x // 2
    local colour = x % 2 + 2 * (y % 2) + 4 * (z % 2)
    if p.shuffle == 1 then
        at = shuffle.forward(at:bxor(key(p, l, colour)), bits(p, l))
    end
    return colour * (half * half * half) + at
end

-- The point of a row.
local function point_of(p, l, row)
    local half = side(p, l) // 2
    local size = half * half * half
    local colour, at = row // size, row % size
    if p.shuffle == 1 then
        at = shuffle.back(at, bits(p, l)):bxor(key(p, l, colour))
    end
    return 2 * (at % half) + colour % 2, 2 * (at // half % half) + colour // 2 % 2,
        2 * (at // (half * half)) + colour // 4
end

-- The columns of a row: what(index, column, is another row).
local function points(p, l, row, what)
    local n = side(p, l)
    local x, y, z = point_of(p, l, row)
    for k = 0, POINTS - 1 do
        local X, Y, Z = x + (k % 3 - 1), y + (k // 3 % 3 - 1), z + (k // 9 - 1)
        local inside = X:ge(0):band(X:lt(n)):band(Y:ge(0)):band(Y:lt(n))
            :band(Z:ge(0)):band(Z:lt(n))
        what(k, function() return row_of(p, l, X, Y, Z) end, inside,
            k == POINTS // 2)
    end
end

-- Sum of a row times the vector z; without its own element where `diagonal` is not set.
local function times(t, p, l, b, row, z, diagonal)
    local m = side(p, l) ^ 3 // 1 | 0
    points(p, l, row, function(k, column, inside, own)
        local at = t:load(b["col" .. l], row + k * m)
        t:alu(1, { uses = { at } })
        if own and not diagonal then return end
        t:when(inside, function()
            local value = t:load(b["val" .. l], row + k * m)
            local x = t:load(z, column() + at)
            t:alu(p.alu_point, { uses = { value, x } })
        end)
    end)
end

local function symgs(p, b, l)
    local size = (side(p, l) ^ 3 // 1 | 0) // COLOURS
    local options = { grid = ceil(size, 1024), block = 1024, regs = 32,
        args = { colour = 0 } }
    return kernel("symgs" .. l, options, function(t)
        t:alu(p.alu_row)
        t:exit_if(t.gid:ge(size))
        local row = t:arg "colour" * size + t.gid
        t:load(b["r" .. l], row)
        times(t, p, l, b, row, b["z" .. l])
        t:load(b["diag" .. l], row)
        t:alu(2)
        t:store(b["z" .. l], row)
    end)
end

local function spmv(p, b, l, name, from)
    local m = side(p, l) ^ 3 // 1 | 0
    return kernel(name, { grid = ceil(m, 512), block = 512, regs = 32 }, function(t)
        t:alu(p.alu_row)
        t:exit_if(t.gid:ge(m))
        times(t, p, l, b, t.gid, from, true)
        t:store(b["Az" .. l], t.gid)
    end)
end

-- Between level l and the next, a thread a coarse row; down: r, up: z.
local function transfer(p, b, l, down)
    local m = side(p, l + 1) ^ 3 // 1 | 0
    local name = (down and "restrict" or "prolong") .. l
    return kernel(name, { grid = ceil(m, 256), block = 256, regs = 16 }, function(t)
        t:alu(4)
        t:exit_if(t.gid:ge(m))
        local x, y, z = point_of(p, l + 1, t.gid)
        local at = t:load(b["map" .. l], t.gid) + row_of(p, l, 2 * x, 2 * y, 2 * z)
        if down then
            t:load(b["r" .. l], at)
            t:load(b["Az" .. l], at)
            t:alu(2)
            t:store(b["r" .. l + 1], t.gid)
        else
            t:load(b["z" .. l + 1], t.gid)
            t:load(b["z" .. l], at)
            t:alu(2)
            t:store(b["z" .. l], at)
        end
    end)
end

local function dot(p, b, name, x, y)
    local m = p.n ^ 3 // 1 | 0
    return kernel(name, { grid = ceil(m, 256), block = 256, regs = 16,
        shared = 2048 }, function(t)
        t:alu(4)
        t:when(t.gid:lt(m), function()
            t:load(x, t.gid)
            if y ~= x then t:load(y, t.gid) end
        end)
        t:alu(2)
        t:shared(10)
        t:sync()
        t:when(t.tid:eq(0), function() t:atomic("add", b.sum, 0, 1.0) end)
    end)
end

-- y += a x
local function axpy(p, name, x, y)
    local m = p.n ^ 3 // 1 | 0
    return kernel(name, { grid = ceil(m, 256), block = 256, regs = 16 }, function(t)
        t:alu(4)
        t:exit_if(t.gid:ge(m))
        t:load(x, t.gid)
        t:load(y, t.gid)
        t:alu(2)
        t:store(y, t.gid)
    end)
end

return app {
    name = "HPCG", suite = "HPCG", source = "rocHPCG 02b5bc3 src/ComputeSYMGS.cpp",
    summary = "multigrid and conjugate gradients, 27 points, eight colours",
    registers = "guess: no machine code was read",
    params = { n = 32, levels = 4, iterations = 1, shuffle = 0, alu_row = 10,
        alu_point = 2 },
    sizes = {
        T = { n = 8, levels = 2 },
        S = { n = 32 },
        M = { n = 64 },
        L = { n = 144 },
        XL = { n = 256 },
    },
    footprint = function(p)
        local sum = 16 * p.n ^ 3 + 8
        for l = 0, p.levels - 1 do
            sum = sum + (l == 0 and 356 or 360) * side(p, l) ^ 3
        end
        return sum // 1 | 0
    end,

    buffers = function(p)
        check(p)
        local out = {}
        local function add(kind, name, ...) out[#out + 1] = kind(name, ...) end
        for l = 0, p.levels - 1 do
            local m = side(p, l) ^ 3 // 1 | 0
            add(i32, "col" .. l, POINTS, m)
            add(f64, "val" .. l, POINTS, m)
            for _, name in ipairs { "diag", "r", "z", "Az" } do
                add(f64, name .. l, m)
            end
            if l < p.levels - 1 then add(i32, "map" .. l, m // 8) end
        end
        local m = p.n ^ 3 // 1 | 0
        add(f64, "p", m)
        add(f64, "x", m)
        add(f64, "sum", 1)
        return out
    end,

    kernels = function(p, b)
        local smooth, cycle = {}, {}
        for l = 0, p.levels - 1 do smooth[l] = symgs(p, b, l) end
        local function add(launch) cycle[#cycle + 1] = launch end
        local function sweep(l)
            for c = 0, COLOURS - 1 do add { smooth[l], args = { colour = c } } end
            for c = COLOURS - 1, 0, -1 do add { smooth[l], args = { colour = c } } end
        end
        local last = p.levels - 1
        for l = 0, last - 1 do
            sweep(l)
            add(spmv(p, b, l, "residual" .. l, b["z" .. l]))
            add(transfer(p, b, l, true))
        end
        sweep(last)
        for l = last - 1, 0, -1 do
            add(transfer(p, b, l, false))
            sweep(l)
        end
        table.move({
            dot(p, b, "rz", b.r0, b.z0), axpy(p, "direction", b.z0, b.p),
            spmv(p, b, 0, "spmv", b.p), dot(p, b, "pAp", b.p, b.Az0),
            axpy(p, "step", b.p, b.x), axpy(p, "residue", b.Az0, b.r0),
            dot(p, b, "rr", b.r0, b.r0),
        }, 1, 7, #cycle + 1, cycle)
        local out = {}
        for _ = 1, p.iterations do
            table.move(cycle, 1, #cycle, #out + 1, out)
        end
        return out
    end,
}

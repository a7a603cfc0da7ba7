--[[
SRAD - speckle-reducing anisotropic diffusion of an image, Rodinia srad_v1
(what MASK and Mosaic call SRAD).

Arrays, in order: I f32 x rows cols; iN, iS i32 x rows and jE, jW i32 x cols,
the numbers of the neighbouring rows and columns, clamped at the edge; sums,
sums2, dN, dS, dW, dE, c, f32 x rows cols.  The image is stored column by column.
Footprint 32 rows cols + 8 (rows + cols) bytes.

One thread a pixel, blocks of 512.  Launches: extract; then `iterations` times
  prepare   I to sums, its square to sums2
  reduce    sums and sums2 in trees of shared memory, ceil(pixels / 512) blocks,
            and again over the blocks' results, 512 elements apart (16 pages an
            instruction), until one block is left.  In a block that is not
            full the tree takes the largest power of two below, and one thread
            adds the rest alone
  srad      row and column by division; five pixels, four of them through the
            tables; five stores
  srad2     two neighbours of c through the tables; a store to I
and compress.  Whatever is not a second-level reduce is one or two lines and
pages; warps that span two columns take two.

The tables are real and loaded: their values give the neighbours' addresses.
Instructions between accesses are those of MAFIA's PTX, block by block and in
its order: each neighbour is used before the next is loaded.  The host passes dW
to the kernels' parameter dE and dE to dW; so it is here.

Approximated: the value that diverges in srad (c outside 0..1) is taken to be
inside; lanes of prepare and the like use no contents.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, i32 = h.app, h.kernel, h.f32, h.i32

local B = 512
local ITERATIONS = 100 -- of the program's usual arguments

local function pixels(p) return p.rows * p.cols end

-- A kernel with a thread a pixel; fn(t, e) for those that have one.
local function per_pixel(name, p, regs, alu, fn)
    local n = pixels(p)
    local options = { grid = h.ceil(n, B), block = B, regs = regs }
    return kernel(name, options, function(t)
        t:alu(alu)
        t:when(t.gid:lt(n), function() fn(t, t.gid) end)
    end)
end

-- extract and compress: every pixel in place.
local function in_place(name, p, b, regs, alu)
    return per_pixel(name, p, regs, 8, function(t, e)
        t:alu(3)
        local x = t:load(b.I, e)
        t:alu(alu, { uses = { x } })
        t:store(b.I, e)
    end)
end

local function prepare(p, b)
    return per_pixel("prepare", p, 12, 8, function(t, e)
        t:alu(3)
        local x = t:load(b.I, e)
        t:alu(2, { uses = {} })
        t:store(b.sums, e, x)
        local y = t:load(b.I, e)
        t:alu(3, { uses = { y } })
        t:store(b.sums2, e)
    end)
end

-- ---- reduce ---------------------------------------------------------------

-- Lanes of the tree in the last block, which has nf elements: the largest
-- power of two from 2 on, 0 for a single element (as the program has it).
local function tree_size(t, nf)
    local df = t:select(nf:ge(2), 2, 0)
    local i = 4
    while i <= B do
        df = t:select(nf:ge(i), i, df)
        i = 2 * i
    end
    return df
end

-- Level i of the tree, in the lanes below df.
local function level(t, i, df)
    t:alu(4)
    t:when(((t.tid + 1) % i):eq(0):band(t.tid:lt(df)), function()
        t:alu(14)
        t:shared(6)
        t:alu(2)
    end)
    t:sync()
    t:alu(4)
end

-- The last lane of the tree adds elements df .. nf-1 and stores both sums.
local function finish(t, b, last, from, df, nf, mul)
    t:when(t.tid:eq(df - 1), function()
        t:alu(9)
        t:when(last, function() t:alu(13) end)
        t:shared(2)
        t:loop(from + df, from + nf, function(i)
            local x = t:load(b.sums, i)
            t:alu(1, { uses = { x } })
            t:shared(1)
            local y = t:load(b.sums2, i)
            t:alu(1, { uses = { y } })
            t:shared(1)
            t:alu(5)
        end)
        t:alu(4)
        t:store(b.sums, from * mul)
        t:alu(1)
        t:store(b.sums2, from * mul)
    end)
end

local function reduce(p, b)
    local options = { grid = 1, block = B, regs = 14, shared = 2 * 4 * B,
        args = { n = pixels(p), mul = 1 } }
    return kernel("reduce", options, function(t)
        local n, mul = t:arg("n"), t:arg("mul")
        local from = B * t.bx
        local last = (from + B):gt(n)
        local nf = (n - from):min(B)
        local df = t:select(last, tree_size(t, nf), B)
        t:alu(7)
        t:when(t.gid:lt(n), function()
            t:alu(10)
            local x = t:load(b.sums, t.gid * mul)
            t:alu(1, { uses = {} })
            t:shared(1, { uses = { x } })
            t:alu(2)
            local y = t:load(b.sums2, t.gid * mul)
            t:alu(1, { uses = {} })
            t:shared(1, { uses = { y } })
        end)
        t:alu(13, { uses = {} })
        t:when(last, function() t:alu(60) end)
        local i = t:var(2)
        t:while_(function() return i:le(df) end, function()
            level(t, i, df)
            i:set(i * 2)
        end)
        t:alu(3)
        finish(t, b, last, from, df, nf, mul)
    end)
end

-- ---- srad ------------------------------------------------------------------

-- Row and column of pixel e, by division; the last row is corrected.
local function position(t, p)
    local row, column = t.gid % p.rows, t.gid // p.rows
    t:alu(12)
    t:when(row:eq(p.rows - 1), function() t:alu(2) end)
    t:alu(4)
    return row, column
end

-- The value of image at what table[i] says; `index` makes an index of that.
local function through(t, table, i, before, image, index, alu)
    t:alu(before, { uses = {} })
    local n = t:load(table, i)
    t:alu(alu, { uses = { n } })
    return t:load(image, index(n))
end

local function srad(p, b)
    local n, r = pixels(p), p.rows
    local options = { grid = h.ceil(n, B), block = B, regs = 20 }
    return kernel("srad", options, function(t)
        local row, column = position(t, p)
        local function across(k) return k + r * column end
        local function along(k) return row + r * k end
        t:when(t.gid:lt(n), function()
            local e = t.gid
            t:alu(3)
            local x = t:load(b.I, e)
            for _, step in ipairs { { "iN", row, 5, across, 4 },
                { "iS", row, 2, across, 4 }, { "jW", column, 4, along, 5 },
                { "jE", column, 2, along, 5 } } do
                local y = through(t, b[step[1]], step[2], step[3], b.I,
                    step[4], step[5])
                t:alu(1, { uses = { x, y } })
            end
            t:alu(44)
            for _, name in ipairs { "dN", "dS", "dE", "dW", "c" } do
                t:alu(2)
                t:store(b[name], e)
            end
        end)
    end)
end

local function srad2(p, b)
    local n, r = pixels(p), p.rows
    local options = { grid = h.ceil(n, B), block = B, regs = 19 }
    return kernel("srad2", options, function(t)
        local row, column = position(t, p)
        t:when(t.gid:lt(n), function()
            local e = t.gid
            t:alu(3)
            local here = t:load(b.c, e)
            t:alu(2, { uses = {} })
            local south = t:load(b.dS, e)
            local below = through(t, b.iS, row, 4, b.c,
                function(k) return k + r * column end, 5)
            t:alu(1, { uses = { south, below } })
            for _, name in ipairs { "dN", "dE" } do
                t:alu(2)
                local d = t:load(b[name], e)
                t:alu(1, { uses = { d, here } })
            end
            t:alu(2)
            local east = t:load(b.dW, e)
            local right = through(t, b.jE, column, 4, b.c,
                function(k) return row + r * k end, 5)
            t:alu(1, { uses = { east, right } })
            t:alu(2)
            local x = t:load(b.I, e)
            t:alu(8, { uses = { x } })
            t:store(b.I, e)
        end)
    end)
end

-- ---- the application -----------------------------------------------------------

-- Adds the launches of all levels of the sum.
local function sum_all(launches, k, p)
    local n, mul = pixels(p), 1
    repeat
        local grid = h.ceil(n, B)
        launches[#launches + 1] = { k, grid = grid,
            args = { n = n, mul = mul } }
        n, mul = grid, mul * B
    until grid == 1
end

return app {
    name = "SRAD", suite = "Rodinia", source = "Rodinia 3.1 srad_v1",
    summary = "image diffusion with tables of neighbours, and sums by trees",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { rows = 502, cols = 458, iterations = 20 },
    sizes = {
        T = { rows = 45, cols = 40, iterations = 1 },
        R = { rows = 502, cols = 458 },
        S = { rows = 502, cols = 458 },
        M = { rows = 1448, cols = 1448, iterations = 4 },
        L = { rows = 3072, cols = 3072, iterations = 4 },
    },
    footprint = function(p)
        return 32 * pixels(p) + 8 * (p.rows + p.cols)
    end,
    truncated = function(p)
        if p.iterations < ITERATIONS then
            return string.format("%d of %d iterations", p.iterations,
                ITERATIONS)
        end
    end,

    buffers = function(p)
        local function table_of(name, n, step)
            return i32(name, n, { data = function(i)
                return math.max(0, math.min(n - 1, i + step))
            end })
        end
        local list = { f32("I", p.cols, p.rows), table_of("iN", p.rows, -1),
            table_of("iS", p.rows, 1), table_of("jE", p.cols, 1),
            table_of("jW", p.cols, -1) }
        for name in ("sums sums2 dN dS dW dE c"):gmatch "%w+" do
            list[#list + 1] = f32(name, p.cols, p.rows)
        end
        return list
    end,

    kernels = function(p, b)
        local launches = { in_place("extract", p, b, 12, 22) }
        local first, sum = prepare(p, b), reduce(p, b)
        local one, two = srad(p, b), srad2(p, b)
        for _ = 1, p.iterations do
            launches[#launches + 1] = first
            sum_all(launches, sum, p)
            launches[#launches + 1] = one
            launches[#launches + 1] = two
        end
        launches[#launches + 1] = in_place("compress", p, b, 10, 48)
        return launches
    end,
}

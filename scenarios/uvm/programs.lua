--- programs.lua - the programs of uvm/allen, as kernel programs.
--
-- After the benchmarks of Allen and Ge's artifact (uvm-eval, benchmarksv3): what
-- their threads load and store, page by page, since that is what faults.  Each is a
-- function of its size and returns an application:
--
--     regular(pages)    linear/page.cu: blocks of 64 threads, each loads the first
--                       word of a page of its own, in order
--     stream(n)         stream, --triad-only: a[i] = b[i] + s c[i] over three arrays
--                       of n doubles, a thread an element, blocks of 1,024
--     sgemm(n, work)    cublas/matrixMul2.cu: C = A B of n x n floats by columns
--     slab(n, columns, depth)    the first columns of that product, as far as depth
--                       of its n rounds
--     stencil(n)        hpgmg: half a V-cycle and back over three levels of eight
--                       boxes, n^3 points each at the finest
--     strided(n)        cufft: the first pass of two transforms of n complex numbers
--     page(), read(mb), write(mb, rounds)      for the other cards
--
-- cuBLAS and cuFFT are closed: the tiles of sgemm are those that its kernels of this
-- generation are named after (128 x 64, 8 of k a round, 128 threads), and the pass
-- of strided is the usual one (128 rows n / 128 apart, 16 neighbours of each a
-- block).  Of a transform the first pass alone is here: what follows is in memory that
-- is not managed, or has come.
--
-- Left out on purpose: values; instructions between accesses, but for sgemm's
-- multiply-adds, without which its time with all pages there would be nothing.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local k = require "heddle.kernel"

local programs = {}

local BLOCK = 2 << 20 -- what cudaMallocManaged aligns large buffers to

local function app(name, buffers, kernels)
    return H.program(k.app { name = name, source = "uvm-eval", align = BLOCK,
        buffers = function() return buffers end,
        kernels = function(_, b) return kernels(b) end })
end

function programs.regular(pages)
    return app("regular", { k.f32("a", pages * 1024) }, function(b)
        return { k.kernel("uvmer2", { grid = pages // 64, block = 64 },
            function(t)
                t:alu(1, { uses = { t:load(b.a, t.gid * 1024) } })
            end) }
    end)
end

function programs.stream(n)
    return app("stream", { k.f64("a", n), k.f64("b", n), k.f64("c", n) },
        function(b)
            return { k.kernel("triad", { grid = n // 1024, block = 1024 },
                function(t)
                    local x, y = t:load(b.b, t.gid), t:load(b.c, t.gid)
                    t:alu(1, { uses = { x, y } })
                    t:store(b.a, t.gid)
                end) }
        end)
end

--- A block makes 128 rows and 64 columns of C, a thread 8 by 8 of them.  Per round:
-- a warp loads two columns of A, 128 rows each, and 8 rows of 16 columns of B;
-- 512 multiply-adds a thread, `work` times as many.  Of n rows there are so many
-- columns, and A has `depth` of them; a column of B is a page at least, as it is
-- where the matrices are large.
local function product(n, columns, depth, work)
    local lead = math.max(depth, 1024)
    return app("sgemm", { k.f32("A", depth, n), k.f32("B", columns, lead),
        k.f32("C", columns, n) },
        function(b)
            local options = { grid = { n // 128, columns // 64 }, block = 128,
                regs = 122, shared = 12544 }
            return { k.kernel("sgemm_128x64", options, function(t)
                local row, column = 128 * t.bx + 4 * t.lane, 64 * t.by
                local wide = { vec = 4 }
                t:loop(depth // 8, function(round)
                    local i, at = 8 * round, column + t.tid // 2
                    local x = t:load(b.A, (i + t.warp) * n + row, wide)
                    local y = t:load(b.A, (i + t.warp + 4) * n + row, wide)
                    local z = t:load(b.B, at * lead + i + t.tid % 2 * 4, wide)
                    t:shared(3, { uses = { x, y, z } })
                    t:sync()
                    t:shared(32)
                    t:alu(512 * work)
                    t:sync()
                end)
                for q = 0, 15 do
                    t:store(b.C, (column + 16 * t.warp + q) * n + row, wide)
                end
            end) }
        end)
end

function programs.sgemm(n, work)
    return product(n, n, n, work)
end

function programs.slab(n, columns, depth)
    return product(n, columns, depth, 1)
end

--- The vectors of a level are one buffer, as hpgmg's are: of each, box after box with
-- a layer of neighbours around it, rows padded to 4 doubles and planes to 8.
local VECTORS = { u = 0, v = 1, rhs = 2, res = 3, dinv = 4, bi = 5, bj = 6,
    bk = 7 }
local BOXES = 8

local function level(n)
    local j = (n + 2 + 3) // 4 * 4
    local plane = (j * (n + 2) + 7) // 8 * 8
    return { n = n, j = j, k = plane, volume = plane * (n + 2) }
end

--- A kernel over the points of a level: tiles of 32 x 4, 8 planes each; fn(t, at)
-- gets the function of a vector to the index of the point in it.
local function sweep(name, l, fn)
    local planes = math.min(8, l.n)
    local wide, deep = k.ceil(l.n, 32), l.n // planes
    return k.kernel(name, { grid = { wide, l.n // 4, BOXES * deep },
        block = { 32, 4 } }, function(t)
            local x, y, box = 32 * t.bx + t.tx, 4 * t.by + t.ty, t.bz // deep
            t:when(x:lt(l.n), function()
                t:loop(planes, function(z)
                    local point = box * l.volume + x + 1 + (y + 1) * l.j
                        + (t.bz % deep * planes + z + 1) * l.k
                    fn(t, function(vector)
                        return VECTORS[vector] * BOXES * l.volume + point
                    end, x, y, box, t.bz % deep * planes + z)
                end)
            end)
        end)
end

--- What smoothing and residual load: the seven points of u, and the coefficients of
-- the six faces between them.
local function seven(t, m, l, at)
    local uses = {}
    for _, d in ipairs { 0, -1, 1, -l.j, l.j, -l.k, l.k } do
        uses[#uses + 1] = t:load(m, at "u" + d)
    end
    for vector, d in pairs { bi = 1, bj = l.j, bk = l.k } do
        uses[#uses + 1] = t:load(m, at(vector))
        uses[#uses + 1] = t:load(m, at(vector) + d)
    end
    uses[#uses + 1] = t:load(m, at "rhs")
    return uses
end

function programs.stencil(n)
    local levels, buffers = { level(n), level(n // 2), level(n // 4) }, {}
    for i, l in ipairs(levels) do
        buffers[i] = k.f64("level" .. i, 8 * BOXES * l.volume)
    end
    return app("stencil", buffers, function(b)
        local list = {}
        local function add(name, i, fn)
            local l, m = levels[i], b["level" .. i]
            list[#list + 1] = sweep(name .. i, l, function(t, at, ...)
                fn(t, m, l, at, ...)
            end)
        end
        local function smooth(t, m, l, at)
            local uses = seven(t, m, l, at)
            uses[#uses + 1] = t:load(m, at "dinv")
            t:alu(20, { uses = uses })
            t:store(m, at "v")
        end
        --- The index of the point of the finer level i that (x, y, z) begins at.
        local function finer(i, vector, x, y, box, z)
            local f = levels[i]
            return (VECTORS[vector] * BOXES + box) * f.volume + 2 * x + 1
                + (2 * y + 1) * f.j + (2 * z + 1) * f.k
        end
        for i = 1, #levels do
            add("smooth", i, smooth)
            if i < #levels then
                add("residual", i, function(t, m, l, at)
                    t:alu(15, { uses = seven(t, m, l, at) })
                    t:store(m, at "res")
                end)
                add("restrict", i + 1, function(t, m, _, at, x, y, box, z)
                    local f, uses = levels[i], {}
                    for d = 0, 7 do
                        uses[#uses + 1] = t:load(b["level" .. i],
                            finer(i, "res", x, y, box, z) + d % 2
                            + d // 2 % 2 * f.j + d // 4 * f.k)
                    end
                    t:alu(8, { uses = uses })
                    t:store(m, at "rhs")
                end)
            end
        end
        for i = #levels - 1, 1, -1 do
            add("interpolate", i + 1, function(t, m, _, at, x, y, box, z)
                local f, value = levels[i], t:load(m, at "u")
                for d = 0, 7 do
                    local to = finer(i, "u", x, y, box, z) + d % 2
                        + d // 2 % 2 * f.j + d // 4 * f.k
                    t:alu(1, { uses = { value, t:load(b["level" .. i], to) } })
                    t:store(b["level" .. i], to)
                end
            end)
            add("smooth again", i, smooth)
        end
        return list
    end)
end

function programs.strided(n)
    return app("strided", { k.i64("signal", n), k.i64("filter", n) }, function(b)
        local list, rows = {}, n // 128
        for i, m in ipairs { b.signal, b.filter } do
            list[i] = k.kernel("pass" .. i, { grid = rows // 16, block = 256 },
                function(t)
                    local at = 16 * t.block + t.tid % 16 + t.tid // 16 * rows
                    local uses = {}
                    for j = 0, 7 do
                        uses[j + 1] = t:load(m, at + 16 * j * rows)
                    end
                    t:alu(100, { uses = uses })
                end)
        end
        return list
    end)
end

--- A thread that reads the first word of a buffer of 64 KB.
function programs.page()
    return app("page", { k.f32("a", 16384) }, function(b)
        return { k.kernel("touch", { grid = 1, block = 1 }, function(t)
            t:alu(1, { uses = { t:load(b.a, t.gid) } })
        end) }
    end)
end

function programs.read(mb)
    local n = mb << 18
    return app("read", { k.f32("a", n) }, function(b)
        return { k.kernel("read", { grid = n // 256, block = 256 }, function(t)
            t:alu(1, { uses = { t:load(b.a, t.gid) } })
        end) }
    end)
end

function programs.write(mb, rounds)
    local n = mb << 18
    return app("write", { k.f32("a", n) }, function(b)
        local one = k.kernel("write", { grid = n // 256, block = 256 },
            function(t) t:store(b.a, t.gid) end)
        local list = {}
        for i = 1, rounds do list[i] = one end
        return list
    end)
end

return programs

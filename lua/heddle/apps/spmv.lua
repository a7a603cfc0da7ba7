--[[
SPMV - product of a sparse matrix with a vector, or with some (SpMM): CSR, a warp a
row, as cuSPARSE, CUSP and SHOC have it (Bell, Garland, SC 2009), or equal shares of
rows and elements a thread (Merrill, Garland, SC 2016).

Arrays, in order: row i32[n + 1], col i32[m], val f64[m], x f64[n][columns],
y f64[n][columns]; of kernel = merge coords i32[tiles + 1][2] and carry f64[tiles][2],
too, a tile being 896 of the n + m rows and elements.  Footprint 4 (n + 1) + 12 m +
16 n columns bytes, m = n each, and 24 tiles + 8.

kernel = vector is one launch, blocks of 256 threads, a group of 32 threads a row: the
two ends of its list (broadcast), then of 32 elements their columns (4 bytes a lane) and
values (8)
  columns = 1   and x at these columns, a gather; a sum over the lanes, one store
  columns > 1   and for each of the elements a row of x, 8 bytes a lane; a row of y

kernel = merge is CUB's three launches, blocks of 128 threads:
  search   a thread a tile: where it begins, by a binary search in the ends of rows: a
           gather, a page a lane in its first steps; the place goes to coords
  merge    a block a tile, whatever the lengths of its rows: columns, values and x of
           its elements, 32 a load, across rows; ends of its rows; from shared memory
           seven steps a thread and a scan by row; y of rows that end in the tile, and
           the sum of the last row so far to carry
  fixup    a thread a tile: its carry is added to y of its row, by an atomic

    matrix = band     `each` elements a row in runs of six next to one another, spread
                      over `width` columns on both sides, as in finite elements of
                      six unknowns (pwtk, cant, consph): x is a few pages
    matrix = random   `each` elements a row, anywhere: a page a lane
    matrix = rmat     an R-MAT graph of n = 2^k vertices and m edges, (.57, .19, .19),
                      numbers permuted: short rows and some of thousands

Columns of band and random are computed from the number of the element, so that no size
needs memory; row and col have contents for rmat only.

Approximated: values are not computed, since no address and no branch depends on
them; instructions between accesses are guesses (alu_row, alu_element), as are those of
a tile; CUB adds carries of one row up before it uses atomics; tiles of 128 x 7 are
recalled, not read.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, ceil, f64, i32 = h.app, h.kernel, h.ceil, h.f64, h.i32

local BLOCK = 256
local RUN = 6
local THREADS, ITEMS = 128, 7 -- of kernel = merge
local TILE = THREADS * ITEMS

local function check(p)
    h.most(p, { each = 1 << 28, columns = 1 << 16 })
    h.choice(p, "matrix", "band", "random", "rmat")
    h.choice(p, "kernel", "vector", "merge")
    h.check(p.n > 0 and p.n < 1 << 31 and p.each > 0 and p.columns > 0,
        ("SPMV: n = %d, each = %d, columns = %d: none may be 0, and n is less "
            .. "than 2^31"):format(p.n, p.each, p.columns))
    h.check(p.matrix ~= "rmat" or p.n >= 16 and p.n & (p.n - 1) == 0,
        ("SPMV: n = %d: matrix = rmat takes a power of two from 16 on"):format(p.n))
    h.check(p.matrix ~= "band" or p.n >= RUN,
        ("SPMV: n = %d: matrix = band takes 6 rows or more"):format(p.n))
    h.check(p.kernel == "vector" or p.columns == 1 and p.n * p.each < 1 << 30,
        ("SPMV: n = %d, each = %d, columns = %d: kernel = merge takes one column, and "
            .. "less than 2^30 elements"):format(p.n, p.each, p.columns))
end

local function graph(p)
    local scale = 0
    while 1 << scale < p.n do scale = scale + 1 end
    return require("heddle.generate").rmat { scale = scale, edges = p.n * p.each,
        a = 0.57, b = 0.19, c = 0.19, permute = true, seed = p.seed }
end

local function elements(p) return p.matrix == "rmat" and graph(p).m or p.n * p.each end
local function tiles(p) return ceil(p.n + p.n * p.each, TILE) end

-- The column of element e, the k-th of its row, of a matrix that is computed.
local function column(p, i, e)
    if p.matrix == "random" then
        local x = (e + (p.seed << 40)) * 0x9e3779b97f4a7c15
        x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
        x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
        return x:bxor(x:lshr(31)):lshr(33) % p.n
    end
    local k, runs = e % p.each, ceil(p.each, RUN)
    local first = i - p.width + k // RUN * (2 * p.width // math.max(runs - 1, 1))
    return (first - i % RUN):max(0):min(p.n - RUN) + k % RUN
end

local function product(p, b)
    local options = { grid = ceil(p.n, BLOCK // 32), block = BLOCK, regs = 32 }
    return kernel(p.columns == 1 and "spmv" or "spmm", options, function(t)
        local lane, i = t.tid % 32, t.gid // 32
        t:alu(4)
        t:exit_if(i:ge(p.n))
        local from, to = t:load(b.row, i), t:load(b.row, i + 1)
        t:alu(p.alu_row, { uses = { from, to } })
        if p.matrix ~= "rmat" then -- what row would have
            from = from + i * p.each
            to = to + (i + 1) * p.each
        end
        if p.columns == 1 then
            t:loop(from + lane, to, 32, function(e)
                local at = t:load(b.col, e)
                local value = t:load(b.val, e)
                if p.matrix ~= "rmat" then at = at + column(p, i, e) end
                local x = t:load(b.x, at)
                t:alu(p.alu_element, { uses = { value, x } })
            end)
            t:alu(10)
            t:when(lane:eq(0), function() t:store(b.y, i) end)
            return
        end
        t:loop(from, to, 32, function(first)
            local here = (first + 32):min(to)
            local mine = first + lane
            t:when(mine:lt(here), function()
                local at, value = t:load(b.col, mine), t:load(b.val, mine)
                t:alu(2, { uses = { at, value } })
            end)
            t:loop(first, here, function(e)
                local at = p.matrix == "rmat" and t:peek(b.col, e)
                    or column(p, i, e)
                for c = 0, p.columns - 1, 32 do
                    t:when((lane + c):lt(p.columns), function()
                        local x = t:load(b.x, at * p.columns + c + lane)
                        t:alu(p.alu_element, { uses = { x } })
                    end)
                end
            end)
        end)
        for c = 0, p.columns - 1, 32 do
            t:when((lane + c):lt(p.columns), function()
                t:store(b.y, i * p.columns + c + lane)
            end)
        end
    end)
end

-- ---- kernel = merge -----------------------------------------------------------------

-- Where row i ends.
local function ending(p, t, b, i)
    local e = t:load(b.row, i + 1)
    return p.matrix == "rmat" and e or e + (i + 1) * p.each
end

-- Rows and elements are one list, each row behind its elements; a tile begins at row
-- coords[tile] and the element that is left.
local function places(p, b)
    local all, m, n = p.n + elements(p), elements(p), ceil(p.n + elements(p), TILE)
    local options = { grid = ceil(n + 1, THREADS), block = THREADS, regs = 24 }
    return kernel("search", options, function(t)
        t:alu(6)
        t:exit_if(t.gid:gt(n))
        local at = (t.gid * TILE):min(all)
        local low, high = t:var((at - m):max(0)), t:var(at:min(p.n))
        t:while_(function() return low:get():lt(high:get()) end, function()
            local middle = (low:get() + high:get()) // 2
            local last = ending(p, t, b, middle)
            t:alu(p.alu_row, { uses = { last } })
            local before = t:var((last + middle):lt(at)):get()
            low:set(t:select(before, middle + 1, low:get()))
            high:set(t:select(before, high:get(), middle))
        end)
        t:store(b.coords, 2 * t.gid, low:get(), { vec = 2 })
    end)
end

local function merge(p, b)
    local all = p.n + elements(p)
    local options = { grid = ceil(all, TILE), block = THREADS, regs = 32,
        shared = 8 * TILE + 4 * (TILE + ITEMS) }
    return kernel("merge", options, function(t)
        local first = t:load(b.coords, 2 * t.bx, { vec = 2 })
        local last = t:load(b.coords, 2 * t.bx + 2, { vec = 2 })
        t:alu(p.alu_row, { uses = { first, last } })
        local from = t.bx * TILE - first
        local to = ((t.bx + 1) * TILE):min(all) - last
        t:loop(from + t.tid, to, THREADS, function(e)
            local at, value = t:load(b.col, e), t:load(b.val, e)
            if p.matrix ~= "rmat" then at = at + column(p, e // p.each, e) end
            local x = t:load(b.x, at)
            t:alu(p.alu_element, { uses = { value, x } })
            t:shared(1)
        end)
        t:loop(first + t.tid, last + ITEMS, THREADS, function(i)
            local e = t:load(b.row, i:min(p.n - 1) + 1)
            t:shared(1, { uses = { e } })
        end)
        t:sync()
        t:shared(10 + 2 * ITEMS, { uses = {} }) -- a search, then steps
        t:alu(20 + 4 * ITEMS, { uses = {} })
        t:sync()
        t:shared(10, { uses = {} })
        t:alu(20, { uses = {} })
        t:sync()
        t:loop(first + t.tid, last, THREADS, function(i)
            t:shared(1, { uses = {} })
            t:store(b.y, i)
        end)
        t:when(t.tid:eq(0), function()
            t:store(b.carry, 2 * t.bx, nil, { vec = 2 })
        end)
    end)
end

local function fixup(p, b)
    local n = ceil(p.n + elements(p), TILE)
    local options = { grid = ceil(n, THREADS), block = THREADS, regs = 16 }
    return kernel("fixup", options, function(t)
        t:alu(4)
        t:exit_if(t.gid:ge(n))
        local carry = t:load(b.carry, 2 * t.gid, { vec = 2 })
        local i = t:peek(b.coords, 2 * t.gid + 2, { uses = { carry } })
        t:alu(2, { uses = { i } })
        t:when(i:lt(p.n), function() t:atomic("add", b.y, i) end)
    end)
end

return app {
    name = "SPMV", suite = "sparse",
    source = "CSR vector kernel (Bell, Garland, SC 2009), SHOC spmv; CUB's "
        .. "DeviceSpmv (Merrill, Garland, SC 2016)",
    summary = "sparse matrix times vectors; x by columns",
    registers = "guess: no machine code was read",
    params = { n = 1 << 13, each = 60, columns = 1, matrix = "band", width = 600,
        kernel = "vector", seed = 1, alu_row = 4, alu_element = 3 },
    sizes = {
        T = { n = 1000, each = 40 },
        S = { n = 1 << 13 },
        M = { n = 1 << 17 },
        L = { n = 1 << 20, each = 80 },
        XL = { n = 1 << 23 },
    },
    footprint = function(p)
        return 4 * (p.n + 1) + 12 * p.n * p.each + 16 * p.n * p.columns
            + (p.kernel == "merge" and 24 * tiles(p) + 8 or 0)
    end,

    buffers = function(p)
        check(p)
        local m, g = p.n * p.each, p.matrix == "rmat" and graph(p) or nil
        local out = {
            i32("row", p.n + 1, { data = g and g.start }),
            i32("col", m, { data = g and g.edges }),
            f64("val", m), f64("x", p.n * p.columns), f64("y", p.n * p.columns),
        }
        if p.kernel == "merge" then
            out[6] = i32("coords", 2 * tiles(p) + 2, { contents = true })
            out[7] = f64("carry", 2 * tiles(p))
        end
        return out
    end,

    kernels = function(p, b)
        if p.kernel == "vector" then return { product(p, b) } end
        return { places(p, b), merge(p, b), fixup(p, b) }
    end,
}

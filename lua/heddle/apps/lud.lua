--[[
LUD - LU decomposition in place, Rodinia lud (also MASK, Mosaic).

One array m[n][n], f32.  Footprint 4 n^2 bytes.

Blocked by 16.  For o = 0, 16, .. n-32:
  diagonal   one block of 16 threads: reads the 16 rows of the tile (64 bytes
             each), eliminates in shared memory, writes rows 1 to 15
  perimeter  r = (n-o)/16 - 1 blocks of 32: lanes 0-15 take the tile in the
             row strip, lanes 16-31 the one in the column strip; the halves
             diverge and run one after the other
  internal   r x r blocks of 16 x 16: the product of both strips is taken off
             the trailing matrix; two lines, one page (n <= 512) or two
and a last diagonal: 3 (n/16 - 1) + 1 launches, on a shrinking matrix.

Shared memory dominates: the triangular loops are counted as runs of 17
arithmetic and 12 shared-memory instructions for four inner rounds; internal
has 102 instructions, as in the PTX of MAFIA.  `steps` ends the run after that
many values of o (0: none); the whole of n = 2048 is 22 million memory
instructions.

Addresses are driven by indices and the launch's o; no contents.
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B = 16

-- n rounds of an inner loop in shared memory.
local function inner(t, n)
    t:alu(n * 17 // 4 + 2)
    if n > 0 then t:shared(3 * n) end
end

local function diagonal(p, b)
    local options = { grid = 1, block = B, shared = 4 * B * B,
        args = { o = 0 } }
    return kernel("diagonal", options, function(t)
        local o = t:arg("o")
        local at = o * p.n + o + t.tx
        t:alu(6)
        local row = {}
        for r = 0, B - 1 do row[r + 1] = t:load(b.m, at + r * p.n) end
        t:shared(B, { uses = row })
        t:sync()
        for i = 0, B - 2 do
            t:when(t.tx:gt(i), function() inner(t, i) end)
            t:sync()
            t:when(t.tx:gt(i), function() inner(t, i + 1) end)
            t:sync()
        end
        for r = 1, B - 1 do
            t:shared(1)
            t:store(b.m, at + r * p.n)
        end
    end)
end

-- Loads rows first..first+count-1 of a 16-wide strip; returns the values.
local function strip(t, m, at, pitch, first, count)
    local v = {}
    for r = first, first + count - 1 do
        v[#v + 1] = t:load(m, at + r * pitch)
    end
    return v
end

local function perimeter(p, b)
    local options = { grid = 1, block = 2 * B, shared = 3 * 4 * B * B,
        args = { o = 0 } }
    return kernel("perimeter", options, function(t)
        local o, n = t:arg("o"), p.n
        local low = t.tx:lt(B)
        local l = t.tx % B
        local diag = o * n + o + l
        local right = o * n + o + B * (t.bx + 1) + l
        local below = (o + B * (t.bx + 1)) * n + o + l
        t:alu(10)
        t:when(low, function()
            t:shared(8, { uses = strip(t, b.m, diag, n, 0, 8) })
            t:shared(B, { uses = strip(t, b.m, right, n, 0, B) })
        end, function()
            t:shared(8, { uses = strip(t, b.m, diag, n, 8, 8) })
            t:shared(B, { uses = strip(t, b.m, below, n, 0, B) })
        end)
        t:sync()
        t:when(low, function()
            for i = 1, B - 1 do inner(t, i) end
        end, function()
            for i = 0, B - 1 do
                inner(t, i)
                t:alu(4)
            end
        end)
        t:sync()
        t:when(low, function()
            for r = 1, B - 1 do
                t:shared(1)
                t:store(b.m, right + r * n)
            end
        end, function()
            for r = 0, B - 1 do
                t:shared(1)
                t:store(b.m, below + r * n)
            end
        end)
    end)
end

local function internal(p, b)
    local options = { grid = 1, block = { B, B }, shared = 2 * 4 * B * B,
        args = { o = 0 } }
    return kernel("internal", options, function(t)
        local o, n = t:arg("o"), p.n
        local row, column = o + B * (t.by + 1), o + B * (t.bx + 1)
        local at = (row + t.ty) * n + column + t.tx
        t:alu(24)
        local u = t:load(b.m, (o + t.ty) * n + column + t.tx)
        local v = t:load(b.m, (row + t.ty) * n + o + t.tx)
        t:shared(2, { uses = { u, v } })
        t:sync()
        t:shared(2 * B)
        t:alu(B + 21)
        t:load(b.m, at)
        t:alu(1)
        t:store(b.m, at)
    end)
end

-- Values of o that the run walks, and those there are.
local function passes(p)
    local all = p.n // B - 1
    if p.steps > 0 and p.steps < all then return p.steps, all end
    return all, all
end

return app {
    name = "LUD", suite = "Rodinia", source = "Rodinia 3.1 lud",
    summary = "blocked LU decomposition, shared memory, shrinking matrix",
    params = { n = 2048, steps = 16 },
    sizes = {
        T = { n = 64, steps = 0 },
        S = { n = 2048, steps = 16 },
        M = { n = 4096, steps = 8 },
        L = { n = 8192, steps = 8 },
    },
    footprint = function(p) return 4 * p.n * p.n end,
    truncated = function(p)
        local run, all = passes(p)
        if run < all then
            return string.format("the first %d of %d steps", run, all)
        end
    end,

    buffers = function(p)
        assert(p.n % B == 0 and p.n >= 2 * B, "LUD: n is a multiple of 16")
        return { f32("m", p.n, p.n) }
    end,

    kernels = function(p, b)
        local d, q, i = diagonal(p, b), perimeter(p, b), internal(p, b)
        local launches = {}
        local run, all = passes(p)
        for step = 0, run - 1 do
            local args, r = { o = B * step }, p.n // B - step - 1
            launches[#launches + 1] = { d, args = args }
            launches[#launches + 1] = { q, grid = r, args = args }
            launches[#launches + 1] = { i, grid = { r, r }, args = args }
        end
        if run == all then
            launches[#launches + 1] = { d, args = { o = p.n - B } }
        end
        return launches
    end,
}

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

Shared memory dominates.  Instructions between accesses are those of MAFIA's
PTX, block by block and in its order, where each load is followed by the store
to shared memory that waits for it: 102 in internal, 10 a round of the inner
loops of the others.  `steps` ends the run after that many values of o (0:
none); the whole of n = 2048 is 22 million memory instructions.

Addresses are driven by indices and the launch's o; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B = 16

-- n rounds of an inner loop in shared memory, `start` instructions before.
local function inner(t, start, n)
    t:alu(start + 7 * n)
    t:shared(1 + 3 * n)
end

-- A load, `alu` instructions before it, and the store of its value to shared
-- memory.
local function stage(t, alu, m, at)
    t:alu(alu)
    t:shared(1, { uses = { t:load(m, at) } })
end

-- The reverse.
local function unstage(t, alu, m, at)
    t:shared(1)
    t:alu(alu)
    t:store(m, at)
end

local function diagonal(p, b)
    local options = { grid = 1, block = B, regs = 23,
        shared = 4 * B * B, args = { o = 0 } }
    return kernel("diagonal", options, function(t)
        local o = t:arg("o")
        local at = o * p.n + o + t.tx
        for r = 0, B - 1 do
            stage(t, r == 0 and 14 or 5, b.m, at + r * p.n)
        end
        t:sync()
        t:alu(1)
        for i = 0, B - 2 do
            t:alu(2)
            t:when(t.tx:gt(i), function()
                inner(t, i > 0 and 16 or 8, i)
                t:alu(3)
                t:shared(2)
            end)
            t:sync()
            t:alu(1)
            t:when(t.tx:gt(i), function() inner(t, 15, i + 1) end)
            t:sync()
            t:alu(5)
        end
        t:alu(2)
        for r = 1, B - 1 do unstage(t, 5, b.m, at + r * p.n) end
    end)
end

-- Both halves of the block solve their triangle in shared memory.
local function solve(t, low)
    t:when(low, function()
        t:alu(2)
        for i = 1, B - 1 do inner(t, 21, i) end
    end, function()
        t:alu(6)
        for i = 0, B - 1 do
            inner(t, i > 0 and 15 or 7, i)
            t:shared(2)
            t:alu(7)
        end
    end)
end

local function perimeter(p, b)
    local options = { grid = 1, block = 2 * B, regs = 32,
        shared = 3 * 4 * B * B, args = { o = 0 } }
    return kernel("perimeter", options, function(t)
        local o, n = t:arg("o"), p.n
        local low = t.tx:lt(B)
        local l = t.tx % B
        local diag = o * n + o + l
        local right = o * n + o + B * (t.bx + 1) + l
        local below = (o + B * (t.bx + 1)) * n + o + l
        -- half of the tile on the diagonal, then a strip
        local function load(first, strip, half, between)
            for r = first, first + 7 do
                stage(t, r == first and 12 or 5, b.m, diag + r * n)
            end
            for r = 0, B - 1 do
                stage(t, r == 0 and half or r < 8 and 5 or between, b.m,
                    strip + r * n)
            end
            t:alu(1)
        end
        t:alu(9)
        t:when(low, function() load(0, right, 6, 6) end,
            function() load(8, below, 9, 5) end)
        t:sync()
        t:alu(1)
        solve(t, low)
        t:sync()
        t:alu(7)
        t:when(low, function()
            for r = 1, B - 1 do unstage(t, 6, b.m, right + r * n) end
        end, function()
            for r = 0, B - 1 do unstage(t, 5, b.m, below + r * n) end
        end)
    end)
end

local function internal(p, b)
    local options = { grid = 1, block = { B, B }, regs = 14,
        shared = 2 * 4 * B * B, args = { o = 0 } }
    return kernel("internal", options, function(t)
        local o, n = t:arg("o"), p.n
        local row, column = o + B * (t.by + 1), o + B * (t.bx + 1)
        local at = (row + t.ty) * n + column + t.tx
        stage(t, 22, b.m, (o + t.ty) * n + column + t.tx)
        stage(t, 13, b.m, (row + t.ty) * n + o + t.tx)
        t:sync()
        t:shared(2 * B)
        t:alu(5 + B + 5)
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
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 2048, steps = 16 },
    sizes = {
        T = { n = 64, steps = 0 },
        R = { n = 256, steps = 0 },
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
        h.check(p.n % B == 0 and p.n >= 2 * B,
            "LUD: n is a multiple of 16, 32 or more")
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

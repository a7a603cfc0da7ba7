--[[
BP - back propagation of one hidden layer, Rodinia backprop (also MASK, Mosaic).

Arrays, in order: input[n+1], outhid[17] (never touched), w[(n+1) 17],
part[n], delta[17], oldw[(n+1) 17], f32.  Footprint 4 (36 n + 69) bytes, 144 n
and a little.  16 hidden units.

Two launches of n/16 blocks of 16 x 16 threads; a warp is two rows of 16.
Thread (tx,ty) of block by has the weight 17*16 by + 17 ty + tx + 18.
  forward  loads the input and its weight into shared memory, multiplies, adds
           over the 16 rows in four steps, stores the product and one partial
           sum a row.  32 weights in 132 bytes: two lines.
  adjust   w += eta delta input + momentum oldw; oldw likewise.  delta, input
           and oldw are loaded twice, since pointers may alias.  The first row
           of block 0 does the same for the bias weights.

A stream: every weight is used once in each kernel; a page serves 3.8 blocks.
Instructions between accesses are those of MAFIA's PTX, block by block and in
its order: 99 in forward with one of the four steps, 94 in adjust.  Each load
is waited for before the next.

Left out: the copy of w to the host and back between the launches.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local function forward(p, b)
    local options = { grid = { 1, p.n // 16 }, block = { 16, 16 },
        regs = 13, shared = 4 * (16 + 256) }
    return kernel("forward", options, function(t)
        local idx = 17 * 16 * t.by + 17 * t.ty + t.tx + 18
        local row = 16 * t.by + t.ty
        t:alu(10)
        t:when(t.tx:eq(0), function()
            t:alu(6)
            t:load(b.input, row + 1)
            t:shared(1)
        end)
        t:sync()
        t:alu(19)
        t:load(b.w, idx)
        t:shared(1)
        t:sync()
        t:shared(2)
        t:alu(1)
        t:shared(1)
        t:sync()
        t:alu(9)
        for _, step in ipairs { 2, 4, 8, 16 } do
            t:alu(7)
            t:when((t.ty % step):eq(0), function()
                t:shared(1)
                t:alu(11)
                t:shared(1)
                t:alu(1)
                t:shared(1)
            end)
            t:sync()
            t:alu(4)
        end
        t:shared(1)
        t:store(b.w, idx)
        t:sync()
        t:alu(1)
        t:when(t.tx:eq(0), function()
            t:alu(4)
            t:shared(1)
            t:alu(6)
            t:store(b.part, row)
        end)
    end)
end

-- Loads of the given { buffer, index, instructions that follow }, each waited
-- for by what follows.
local function chain(t, ...)
    for _, x in ipairs { ... } do
        t:load(x[1], x[2])
        t:alu(x[3])
    end
end

local function adjust(p, b)
    local options = { grid = { 1, p.n // 16 }, block = { 16, 16 },
        regs = 22 }
    return kernel("adjust", options, function(t)
        local idx = 17 * 16 * t.by + 17 * t.ty + t.tx + 18
        local row, column = 16 * t.by + t.ty + 1, t.tx + 1
        t:alu(28)
        chain(t, { b.w, idx, 1 }, { b.oldw, idx, 3 }, { b.input, row, 1 },
            { b.delta, column, 6 })
        t:store(b.w, idx)
        chain(t, { b.oldw, idx, 3 }, { b.input, row, 1 },
            { b.delta, column, 5 })
        t:store(b.oldw, idx)
        t:sync()
        t:alu(10)
        t:when(t.ty:eq(0):band(t.by:eq(0)), function()
            t:alu(2)
            chain(t, { b.w, column, 1 }, { b.oldw, column, 3 },
                { b.delta, column, 5 })
            t:store(b.w, column)
            chain(t, { b.oldw, column, 3 }, { b.delta, column, 4 })
            t:store(b.oldw, column)
        end)
    end)
end

return app {
    name = "BP", suite = "Rodinia", source = "Rodinia 3.1 backprop",
    summary = "back propagation: two passes over the weights of one layer",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 65536 },
    sizes = {
        T = { n = 256 },
        R = { n = 65536 },
        S = { n = 65536 },
        M = { n = 458752 },
        L = { n = 2097152 },
    },
    footprint = function(p) return 4 * (36 * p.n + 69) end,

    buffers = function(p)
        h.check(p.n % 16 == 0, "BP: n must be a multiple of 16")
        return { f32("input", p.n + 1), f32("outhid", 17),
            f32("w", (p.n + 1) * 17), f32("part", p.n), f32("delta", 17),
            f32("oldw", (p.n + 1) * 17) }
    end,

    kernels = function(p, b) return { forward(p, b), adjust(p, b) } end,
}

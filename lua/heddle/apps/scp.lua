--[[
SCP - dot products of many pairs of vectors, CUDA SDK scalarProd (also MASK,
Mosaic).

Arrays, in order: A[v][l], B[v][l], C[v], f32.  Footprint 8 v l + 4 v bytes.

One launch of `grid` = 128 blocks of 256 threads; a block takes vectors bx,
bx + grid, ..  In a vector a thread owns four of 1024 accumulators, and for
each it walks elements 1024 apart: with l = 4096 the four loads of A, and those
of B, are exactly one page from each other.  A tree of ten levels in shared
memory follows, thread 0 stores the result.  Every load is one line and one
page, every page is touched by one block only, and nothing is used again.

Instructions between accesses are those of MAFIA's PTX, block by block: 8 an
element pair in the inner loop, 25 an accumulator, and the tree; 23.5 a pair in
all (MAFIA's measured total is 23.3).

Addresses are driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B, ACC = 256, 1024

-- The sums of 1024 accumulators down to one.
local function tree(t)
    local s = ACC // 2
    while s > 0 do
        t:sync()
        t:alu(2)
        t:when(t.tid:lt(s), function()
            t:alu(9)
            for _ = 1, h.ceil(s, B) do
                t:shared(3)
                t:alu(6)
            end
        end)
        t:alu(4)
        s = s // 2
    end
end

local function scalar_product(p, b)
    local options = { grid = p.grid, block = B, regs = 18, shared = 4 * ACC }
    return kernel("scalar_product", options, function(t)
        t:alu(13)
        t:loop(t.bx, p.v, p.grid, function(vec)
            t:alu(11)
            t:loop(ACC // B, function(i)
                local at = p.l * vec + t.tid + B * i
                t:alu(19)
                t:loop(p.l // ACC, function(j)
                    local x = t:load(b.A, at + ACC * j)
                    local y = t:load(b.B, at + ACC * j)
                    t:alu(6, { uses = { x, y } })
                end)
                t:alu(1)
                t:shared(1)
                t:alu(4)
            end)
            t:alu(1)
            tree(t)
            t:alu(1)
            t:when(t.tid:eq(0), function()
                t:shared(1)
                t:alu(4)
                t:store(b.C, vec)
            end)
            t:alu(3)
        end)
    end)
end

return app {
    name = "SCP", suite = "CUDA SDK", source = "CUDA SDK scalarProd",
    summary = "dot products: two streams of pages, each used by one block",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { v = 256, l = 4096, grid = 128 },
    sizes = {
        T = { v = 6, grid = 4 },
        R = { v = 256 },
        S = { v = 256 },
        M = { v = 2048 },
        L = { v = 8192 },
    },
    footprint = function(p) return 8 * p.v * p.l + 4 * p.v end,

    buffers = function(p)
        h.check(p.l % ACC == 0, "SCP: l is a multiple of 1024")
        return { f32("A", p.v, p.l), f32("B", p.v, p.l), f32("C", p.v) }
    end,

    kernels = function(p, b) return { scalar_product(p, b) } end,
}

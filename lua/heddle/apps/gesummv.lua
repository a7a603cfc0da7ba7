--[[
GESUMMV - y = alpha A x + beta B x, PolyBench-GPU 1.0 (gesummv.cu).  ETC; MESC
calls it GMV.

Arrays, in order: A[n][n], B[n][n], x[n], y[n], tmp[n], f32.  Footprint
4 (2 n^2 + 3 n) bytes.

One kernel, blocks of 256 threads, i = thread: for all j
    tmp[i] += A[i][j] x[j];  y[i] += B[i][j] x[j]
and y[i] = alpha tmp[i] + beta y[i] at the end.  Lanes walk rows of A and of B
of their own, 4 n bytes apart: 32 lines and, for n >= 1024, 32 pages for each
of the two loads.  Every thread holds two pages at a time: the worst of the
suite for the reach of a TLB.  A and B are read once; x is a broadcast.

As compiled: tmp and y may alias each other, so both accumulators are loaded
and stored in every round, six loads (x, the matrix, the sum, twice) and two
stores; alu = 8 instructions a round, nvcc 13's PTX, not unrolled.

Addresses are driven by thread index and loop counter alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; the code is nvcc 13's, not unrolled, since that which the papers ran is not
public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

return app {
    name = "GESUMMV", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 GESUMMV",
    summary = "sum of two matrix-vector products; twice 32 pages a round",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { n = 2048, alu = 8 },
    sizes = {
        T = { n = 128 },
        S = { n = 2048 },
        M = { n = 2880 },
        L = { n = 4096 },
    },
    footprint = function(p) return 4 * (2 * p.n * p.n + 3 * p.n) end,

    buffers = function(p)
        return { f32("A", p.n, p.n), f32("B", p.n, p.n), f32("x", p.n),
            f32("y", p.n), f32("tmp", p.n) }
    end,

    kernels = function(p, b)
        h.check(p.alu >= 2, "GESUMMV: alu is 2 or more")
        local options = { grid = h.ceil(p.n, 256), block = 256, regs = 18 }
        local function add(t, sum, matrix, i, j)
            t:load(b.x, j)
            t:load(matrix, i * p.n + j)
            t:load(sum, i)
            t:alu(1)
            t:store(sum, i)
        end
        return { kernel("gesummv", options, function(t)
            local i = t.gid
            t:alu(11)
            t:when(i:lt(p.n), function()
                t:alu(13)
                t:loop(p.n, function(j)
                    add(t, b.tmp, b.A, i, j)
                    add(t, b.y, b.B, i, j)
                    t:alu(p.alu - 2)
                end)
                t:load(b.tmp, i)
                t:alu(2)
                t:store(b.y, i)
            end)
        end) }
    end,
}

--[[
ATAX - y = A^T (A x), PolyBench-GPU 1.0 (atax.cu).

Arrays, in order: A[nx][ny], x[ny], y[ny], tmp[nx], f32.  Footprint
4 (nx ny + 2 ny + nx) bytes.

Two kernels, blocks of 256 threads, one thread a row or a column:
  atax1  i = thread: tmp[i] += A[i][j] x[j] for all j.  Lanes walk rows of
         their own, 4 ny bytes apart: 32 lines and, for ny >= 1024, 32 pages an
         instruction.  This is what exhausts a TLB: all resident threads hold a
         page each, and every page serves 1024 rounds of one lane.
  atax2  j = thread: y[j] += A[i][j] tmp[i] for all i: one line, one page; x
         and tmp are broadcasts.

As compiled: the accumulator stays in a register but is stored in every round,
since pointers may alias; alu = 6 instructions a round, those of nvcc 13's PTX,
not unrolled (product.lua).

Addresses are driven by thread index and loop counter alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; the code is nvcc 13's, not unrolled, since that which the papers ran is not
public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local product = require "heddle.apps.product"
local app, f32 = h.app, h.f32

return app {
    name = "ATAX", suite = "PolyBench-GPU", source = "PolyBench-GPU 1.0 ATAX",
    summary = "matrix transpose times matrix times vector; 32 pages a load",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { nx = 2048, ny = 2048, alu = 6, code = "ptx" },
    sizes = {
        T = { nx = 64, ny = 1024 },
        S = { nx = 2048, ny = 2048 },
        M = { nx = 4096, ny = 4096 },
        L = { nx = 8192, ny = 8192 },
    },
    footprint = function(p) return 4 * (p.nx * p.ny + 2 * p.ny + p.nx) end,

    buffers = function(p)
        return { f32("A", p.nx, p.ny), f32("x", p.ny), f32("y", p.ny),
            f32("tmp", p.nx) }
    end,

    kernels = function(p, b)
        return {
            product(p, { name = "atax1", matrix = b.A, m = p.nx, n = p.ny,
                rows = true, vector = b.x, sum = b.tmp, begin = "load" }),
            product(p, { name = "atax2", matrix = b.A, m = p.nx, n = p.ny,
                vector = b.tmp, sum = b.y, begin = "load" }),
        }
    end,
}

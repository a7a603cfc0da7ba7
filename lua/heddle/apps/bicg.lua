--[[
BICG - s = A^T r and q = A p, the two products of the biconjugate gradient
method, PolyBench-GPU 1.0 (bicg.cu).  ETC, MESC.

Arrays, in order: A[nx][ny], r[nx], s[ny], p[ny], q[nx], f32.  Footprint
4 (nx ny + 2 nx + 2 ny) bytes.

Two kernels, blocks of 256 threads, one thread a column or a row:
  bicg1  j = thread: s[j] += A[i][j] r[i] for all i: one line, one page; r is a
         broadcast.  All warps sweep the rows together.
  bicg2  i = thread: q[i] += A[i][j] p[j] for all j: lanes walk rows of their
         own, 4 ny bytes apart: 32 lines and, for ny >= 1024, 32 pages an
         instruction; p is a broadcast.
It is ATAX with the good kernel first.  A is shared by both kernels.

As compiled: the accumulator is set to 0 in memory, then stays in a register
but is stored in every round, since pointers may alias; alu = 6 instructions a
round, those of nvcc 13's PTX, not unrolled (product.lua).

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
    name = "BICG", suite = "PolyBench-GPU", source = "PolyBench-GPU 1.0 BICG",
    summary = "a matrix and its transpose times a vector; 32 pages a load",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { nx = 2048, ny = 2048, alu = 6, code = "ptx" },
    sizes = {
        T = { nx = 64, ny = 256 },
        S = { nx = 2048, ny = 2048 },
        M = { nx = 4096, ny = 4096 },
        L = { nx = 8192, ny = 8192 },
    },
    footprint = function(p)
        return 4 * (p.nx * p.ny + 2 * p.nx + 2 * p.ny)
    end,

    buffers = function(p)
        return { f32("A", p.nx, p.ny), f32("r", p.nx), f32("s", p.ny),
            f32("p", p.ny), f32("q", p.nx) }
    end,

    kernels = function(p, b)
        return {
            product(p, { name = "bicg1", matrix = b.A, m = p.nx, n = p.ny,
                vector = b.r, sum = b.s, begin = "store" }),
            product(p, { name = "bicg2", matrix = b.A, m = p.nx, n = p.ny,
                rows = true, vector = b.p, sum = b.q, begin = "store" }),
        }
    end,
}

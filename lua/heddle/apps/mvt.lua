--[[
MVT - x1 = x1 + A y1 and x2 = x2 + A^T y2, PolyBench-GPU 1.0 (mvt.cu).  ETC,
MESC.

Arrays, in order: a[n][n], x1[n], x2[n], y1[n], y2[n], f32.  Footprint
4 (n^2 + 4 n) bytes.

Two kernels, blocks of 256 threads (in this version; a later one has 32 x 8
threads with the same index, which run redundantly):
  mvt1   i = thread: x1[i] += a[i][j] y1[j] for all j: lanes walk rows of their
         own, 4 n bytes apart: 32 lines and, for n >= 1024, 32 pages an
         instruction; y1 is a broadcast.
  mvt2   i = thread: x2[i] += a[j][i] y2[j] for all j: one line, one page.
The host does not wait in between, but the stream runs them in order.  a is
shared by both kernels.

As compiled: the accumulator is loaded once, then stays in a register but is
stored in every round, since pointers may alias; alu = 6 instructions a round,
those of nvcc 13's PTX, not unrolled (product.lua).

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
    name = "MVT", suite = "PolyBench-GPU", source = "PolyBench-GPU 1.0 MVT",
    summary = "a matrix and its transpose times vectors; 32 pages a load",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { n = 2048, alu = 6, code = "ptx" },
    sizes = {
        T = { n = 128 },
        S = { n = 2048 },
        M = { n = 4096 },
        L = { n = 8192 },
    },
    footprint = function(p) return 4 * (p.n * p.n + 4 * p.n) end,

    buffers = function(p)
        return { f32("a", p.n, p.n), f32("x1", p.n), f32("x2", p.n),
            f32("y1", p.n), f32("y2", p.n) }
    end,

    kernels = function(p, b)
        return {
            product(p, { name = "mvt1", matrix = b.a, m = p.n, n = p.n,
                rows = true, vector = b.y1, sum = b.x1, begin = "load" }),
            product(p, { name = "mvt2", matrix = b.a, m = p.n, n = p.n,
                vector = b.y2, sum = b.x2, begin = "load" }),
        }
    end,
}

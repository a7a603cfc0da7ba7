--[[
COVAR - covariance of the columns of a matrix, PolyBench-GPU 1.0
(covariance.cu).  ETC.

Arrays, in order: data[n+1][m+1], symmat[m+1][m+1], mean[m+1], f32, with
indices from 1 in both dimensions.  Footprint
4 ((n+1)(m+1) + (m+1)^2 + (m+1)) bytes.

Three kernels, all without contents:
  mean     j = thread + 1: the sum of column j in memory, then the mean
  reduce   blocks of 32 x 8: data -= mean[j].  The source makes n / 32 rows of
           blocks where n / 8 are needed, so only the first quarter of the
           rows is reached; so it is here.
  covar    j1 = thread + 1 <= m: for j2 = j1 .. m, the product of columns j1
           and j2, as the last kernel of CORR: a store with a lane stride of
           4 (m + 2) bytes, 32 lines and pages, in every round.

`cap` ends each thread of covar after that many values of j2 (0: none).  Sums
stay in a register and are stored in every round; alu = 6 instructions a round
(Open64 code of similar loops).

Approximated: values are not computed, since no address and no branch depends on
them; alu, as said, since the code that the papers ran is not public; what `cap`
cuts, since the whole is hundreds of millions of accesses.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local columns = require "heddle.apps.columns"
local app, f32 = h.app, h.f32

return app {
    name = "COVAR", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 COVAR",
    summary = "covariance of columns; a store of 32 pages in every round",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { m = 2048, n = 2048, cap = 8, alu = 6 },
    sizes = {
        T = { m = 64, n = 12, cap = 0 },
        S = { m = 2048, n = 2048 },
        M = { m = 2880, n = 2880 },
        L = { m = 5760, n = 5760 },
    },
    footprint = function(p)
        return 4 * (p.m + 1) * (p.n + 1 + p.m + 1 + 1)
    end,
    truncated = function(p) return columns.truncated(p, p.m) end,

    buffers = function(p)
        return { f32("data", p.n + 1, p.m + 1),
            f32("symmat", p.m + 1, p.m + 1), f32("mean", p.m + 1) }
    end,

    kernels = function(p, b)
        return { columns.mean(p, b),
            columns.reduce(p, b, h.ceil(p.n, 32) * 8),
            columns.products(p, b, "covar", 0) }
    end,
}

--[[
CORR - correlation of the columns of a matrix, PolyBench-GPU 1.0
(correlation.cu).  ETC.

Arrays, in order: data[n+1][m+1], symmat[m+1][m+1], std[m+1], mean[m+1], f32,
with indices from 1 in both dimensions: rows are m+1 elements long, so that
they drift against lines and pages.  Footprint
4 ((n+1)(m+1) + (m+1)^2 + 2(m+1)) bytes.

Four kernels, all without contents:
  mean     j = thread + 1: the sum of column j in memory, then the mean
  std      the same for the deviation; mean[j] is loaded in every round.  (The
           store that replaces a deviation near 0 by 1 is never reached: no
           column of PolyBench's data is constant.)
  reduce   blocks of 32 x 8: data = (data - mean[j]) / (sqrt(n) std[j])
  corr     j1 = thread + 1 < m: for j2 = j1 + 1 .. m, the product of columns j1
           and j2 into symmat[j1][j2] and symmat[j2][j1].  Lanes keep in step:
           columns j1 and j2 are one page each, usually two lines, but
           symmat[j1][j2] has a lane stride of 4 (m + 2) bytes: 32 lines and,
           for m >= 1022, 32 pages a store, in every round.
The first threads of corr have m - 1 values of j2, the last none: the blocks
differ 15 : 1 in work at m = 2048, and the lanes of a warp by 31 rounds.

The run is O(m^2 n / 2): `cap` ends each thread of corr after that many values
of j2 (0: none), which cuts the imbalance, too.  Sums stay in a register and
are stored in every round, since pointers may alias; alu = 6 instructions a
round (Open64 code of similar loops), 10 for a division are an estimate.

Approximated: values are not computed, since no address and no branch depends on
them; alu, as said, since the code that the papers ran is not public; what `cap`
cuts, since the whole is hundreds of millions of accesses.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local columns = require "heddle.apps.columns"
local app, f32 = h.app, h.f32

local DIVISION = columns.DIVISION

local function std(p, b)
    return columns.sum(p, b, "std", b.std, 2 * DIVISION,
        function(t, j) t:load(b.mean, j) end)
end

local function reduce(p, b)
    return columns.reduce(p, b, p.n, function(t, j, at)
        t:load(b.std, j)
        t:alu(DIVISION + 1)
        t:store(b.data, at)
    end)
end

return app {
    name = "CORR", suite = "PolyBench-GPU", source = "PolyBench-GPU 1.0 CORR",
    summary = "correlation of columns; a store of 32 pages in every round",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { m = 2048, n = 2048, cap = 8, alu = 6 },
    sizes = {
        T = { m = 64, n = 12, cap = 0 },
        S = { m = 2048, n = 2048 },
        M = { m = 2880, n = 2880 },
        L = { m = 5760, n = 5760 },
    },
    footprint = function(p)
        return 4 * (p.m + 1) * (p.n + 1 + p.m + 1 + 2)
    end,
    truncated = function(p) return columns.truncated(p, p.m - 1) end,

    buffers = function(p)
        return { f32("data", p.n + 1, p.m + 1),
            f32("symmat", p.m + 1, p.m + 1), f32("std", p.m + 1),
            f32("mean", p.m + 1) }
    end,

    kernels = function(p, b)
        return { columns.mean(p, b), std(p, b), reduce(p, b),
            columns.products(p, b, "corr", 1) }
    end,
}

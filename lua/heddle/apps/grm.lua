--[[
GRM - Gram-Schmidt orthogonalization, PolyBench-GPU 1.0 (gramschmidt.cu),
GRAMSCHM.

Arrays, in order: A[n][n], R[n][n], Q[n][n], f32.  Footprint 12 n^2 bytes.

For each column k = 0 .. n-1 three kernels, blocks of 256 threads:
  norm     one thread of one block walks column k: a lane stride of 4 n bytes
           from round to round, a new page in each for n >= 1024; then R[k][k]
  scale    i = thread: Q[i][k] = A[i][k] / R[k][k]: 32 lines and, for
           n >= 1024, 32 pages for the load and for the store
  project  j = thread, for j > k: R[k][j] = sum of Q[i][k] A[i][j], then
           A[i][j] -= Q[i][k] R[k][j] for all i.  Q is a broadcast from a new
           row in each round, A one line and one page.
Columns k of A and Q use the same n pages for 1024 successive k, the same lines
for 32.  The warps of project with all j <= k end at once, one is partial.

As compiled: sums stay in a register and are stored in every round, since
pointers may alias; alu = 6 instructions a round (Open64 code of similar loops);
10 for a division or a root are an estimate.

3 n launches, n^3 rounds: the run has `steps` columns from `first` on (0: all
that are left).  Addresses are driven by indices and the launch's k; no
contents.

Approximated: values are not computed, since no address and no branch depends on
them; alu, as said, since the code that the papers ran is not public; what
`steps` cuts, since the whole is a billion accesses.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local DIVISION = 10

-- A kernel of a launch for each column k: body(t, k).
local function column(p, name, regs, grid, body)
    local options = { grid = grid, block = 256, regs = regs,
        args = { k = 0 } }
    return kernel(name, options, function(t)
        local k = t:arg("k")
        t:alu(p.alu)
        body(t, k)
    end)
end

local function norm(p, b)
    return column(p, "norm", 8, 1, function(t, k)
        t:when(t.tid:eq(0), function()
            t:loop(p.n, function(i)
                t:load(b.A, i * p.n + k)
                t:alu(p.alu)
            end)
            t:alu(DIVISION)
            t:store(b.R, k * p.n + k)
        end)
    end)
end

local function scale(p, b)
    return column(p, "scale", 14, h.ceil(p.n, 256), function(t, k)
        local i = t.gid
        t:when(i:lt(p.n), function()
            t:load(b.A, i * p.n + k)
            t:load(b.R, k * p.n + k)
            t:alu(DIVISION)
            t:store(b.Q, i * p.n + k)
        end)
    end)
end

local function project(p, b)
    return column(p, "project", 17, h.ceil(p.n, 256), function(t, k)
        local j = t.gid
        t:when(j:gt(k):band(j:lt(p.n)), function()
            t:store(b.R, k * p.n + j)
            t:loop(p.n, function(i)
                t:load(b.Q, i * p.n + k)
                t:load(b.A, i * p.n + j)
                t:alu(p.alu)
                t:store(b.R, k * p.n + j)
            end)
            t:loop(p.n, function(i)
                t:load(b.A, i * p.n + j)
                t:load(b.Q, i * p.n + k)
                t:load(b.R, k * p.n + j)
                t:alu(p.alu)
                t:store(b.A, i * p.n + j)
            end)
        end)
    end)
end

-- The last column that is run.
local function last(p)
    if p.steps > 0 then return math.min(p.first + p.steps, p.n) - 1 end
    return p.n - 1
end

return app {
    name = "GRM", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 GRAMSCHM",
    summary = "Gram-Schmidt: columns by one thread, by rows, by columns",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { n = 1024, first = 0, steps = 8, alu = 6 },
    sizes = {
        T = { n = 32, steps = 0 },
        S = { n = 1024, steps = 8 },
        M = { n = 2048, steps = 4 },
        L = { n = 4096, steps = 4 },
    },
    footprint = function(p) return 12 * p.n * p.n end,
    truncated = function(p)
        if p.first > 0 or last(p) < p.n - 1 then
            return string.format("columns %d to %d of 0 to %d", p.first,
                last(p), p.n - 1)
        end
    end,

    buffers = function(p)
        h.check(p.first >= 0 and p.first < p.n,
            "GRM: first is a column, 0 to n - 1")
        return { f32("A", p.n, p.n), f32("R", p.n, p.n), f32("Q", p.n, p.n) }
    end,

    kernels = function(p, b)
        local list = { norm(p, b), scale(p, b), project(p, b) }
        local launches = {}
        for k = p.first, last(p) do
            for _, one in ipairs(list) do
                launches[#launches + 1] = { one, args = { k = k } }
            end
        end
        return launches
    end,
}

--[[
2DCONV - a 3 x 3 convolution, PolyBench-GPU 1.0 (2DConvolution.cu).  ETC.

Arrays, in order: A[n][n], B[n][n], f32.  Footprint 8 n^2 bytes.

One kernel, blocks of 32 x 8 threads, j = column, i = row: what is not on the
border loads its nine neighbours in A, row by row, and stores B[i][j].  A warp
is 32 columns of one row: one line and one page where the column does not
shift, two lines for its neighbours to the left and to the right, two pages
where these are beyond a multiple of 1024.  Blocks side by side share pages,
blocks below one another two rows.  Rows 0 and n-1 do nothing; the first and
the last lane of a row are off.

As compiled (nvcc): 9 loads and a store of about 42 instructions, 13 before the
border is known, 19 between the loads and after them.

Addresses are driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; instruction counts are a newer compiler's, since the code that the papers
ran is not public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local function convolution(p, b)
    local n = p.n
    local options = { grid = { h.ceil(n, 32), h.ceil(n, 8) },
        block = { 32, 8 }, regs = 24 }
    return kernel("convolution", options, function(t)
        local j, i = t.gx, t.gy
        local inside = i:ge(1):band(i:le(n - 2)):band(j:ge(1))
            :band(j:le(n - 2))
        t:alu(13)
        t:when(inside, function()
            for di = -1, 1 do
                for dj = -1, 1 do
                    t:alu(1, { uses = {} })
                    t:load(b.A, (i + di) * n + j + dj)
                end
            end
            t:alu(10)
            t:store(b.B, i * n + j)
        end)
    end)
end

return app {
    name = "2DCONV", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 2DCONV",
    summary = "3 x 3 convolution, coalesced rows",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { n = 2048 },
    sizes = {
        T = { n = 128 },
        S = { n = 2048 },
        M = { n = 2896 },
        L = { n = 4096 },
    },
    footprint = function(p) return 8 * p.n * p.n end,

    buffers = function(p)
        return { f32("A", p.n, p.n), f32("B", p.n, p.n) }
    end,

    kernels = function(p, b) return { convolution(p, b) } end,
}

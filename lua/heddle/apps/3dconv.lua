--[[
3DCONV - a 3 x 3 x 3 convolution, PolyBench-GPU 1.0 (3DConvolution.cu).  ETC.

Arrays, in order: A[ni][nj][nk], B[ni][nj][nk], f32.  Footprint
8 ni nj nk bytes.

The host walks the planes: a launch for each i = 1 .. ni-2, blocks of 32 x 8
threads, k = column, j = row.  What is not on the border loads eleven elements
of the planes i-1, i and i+1 (those left of the fifteen terms in the source,
whose coefficients repeat elements) and stores B[i][j][k].  One page an
instruction, one line where the column does not shift.  A launch reads again
two of the three planes of the one before it.

As compiled (nvcc): 12 of 60 instructions access memory; 14 of the others stand
before the border is known.

Addresses are driven by indices and the launch's i; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; instruction counts are a newer compiler's, since the code that the papers
ran is not public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- Offsets di, dj, dk of the elements, in the order of the compiled loads.
local ELEMENTS = {
    { -1, -1, -1 }, { 1, -1, -1 }, { 0, -1, 0 }, { 0, 0, 0 }, { 0, 1, 0 },
    { -1, -1, 1 }, { 1, -1, 1 }, { -1, 0, 1 }, { 1, 0, 1 }, { -1, 1, 1 },
    { 1, 1, 1 },
}

local function convolution(p, b)
    local options = { grid = { h.ceil(p.nk, 32), h.ceil(p.nj, 8) },
        block = { 32, 8 }, regs = 32, args = { i = 1 } }
    return kernel("convolution", options, function(t)
        local i, j, k = t:arg("i"), t.gy, t.gx
        local inside = j:ge(1):band(j:le(p.nj - 2)):band(k:ge(1))
            :band(k:le(p.nk - 2))
        local at = (i * p.nj + j) * p.nk + k
        t:alu(14)
        t:when(inside, function()
            for _, d in ipairs(ELEMENTS) do
                t:alu(1, { uses = {} })
                t:load(b.A, at + (d[1] * p.nj + d[2]) * p.nk + d[3])
            end
            t:alu(23)
            t:store(b.B, at)
        end)
    end)
end

return app {
    name = "3DCONV", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 3DCONV",
    summary = "3 x 3 x 3 convolution, a launch a plane",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { ni = 128, nj = 128, nk = 128 },
    sizes = {
        T = { ni = 6, nj = 24, nk = 64 },
        S = { ni = 128, nj = 128, nk = 128 },
        M = { ni = 200, nj = 200, nk = 200 },
        L = { ni = 256, nj = 256, nk = 256 },
    },
    footprint = function(p) return 8 * p.ni * p.nj * p.nk end,

    buffers = function(p)
        h.check(p.ni >= 3, "3DCONV: ni is 3 or more")
        return { f32("A", p.ni, p.nj, p.nk), f32("B", p.ni, p.nj, p.nk) }
    end,

    kernels = function(p, b)
        local launches, k = {}, convolution(p, b)
        for i = 1, p.ni - 2 do launches[i] = { k, args = { i = i } } end
        return launches
    end,
}

--[[
FDTD - two-dimensional finite differences in the time domain, PolyBench-GPU
1.0 (fdtd2d.cu), FDTD-2D.  ETC.

Arrays, in order: fict[tmax], ex[nx][ny+1], ey[nx+1][ny], hz[nx][ny], f32.
Footprint 4 (tmax + 3 nx ny + nx + ny) bytes.

Three kernels a time step, blocks of 32 x 8 threads, j = column, i = row:
  step1  ey from hz and the row of hz above; row 0 of ey is fict[t]
  step2  ex from hz and its neighbour to the left, for j > 0
  step3  hz from ex, its neighbour to the right, ey and the row of ey below
A warp is 32 columns of one row: one page; one line, two where the column
shifts or where ex, whose rows are one element longer, drifts against the
lines: its accesses have 1.03 pages.  Each kernel sweeps most of the arrays and
all are shared from kernel to kernel, so that an LRU memory that is too small
always evicts what comes next.

Accesses and the instructions between them are in the order of nvcc 13's PTX: 31,
29 and 33 beside the accesses.  `steps` ends the run after that many of the tmax
time steps (0: none).

Addresses are driven by indices and the launch's t; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; the code is a newer compiler's, since that which the papers ran is not
public.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- A kernel over all of hz: body(t, i, j) for each element.
local function sweep(p, name, regs, alu, body)
    local options = { grid = { h.ceil(p.ny, 32), h.ceil(p.nx, 8) },
        block = { 32, 8 }, regs = regs, args = { t = 0 } }
    return kernel(name, options, function(t)
        local j, i = t.gx, t.gy
        t:alu(alu)
        t:when(i:lt(p.nx):band(j:lt(p.ny)), function() body(t, i, j) end)
    end)
end

local function step1(p, b)
    return sweep(p, "step1", 12, 17, function(t, i, j)
        local at = i * p.ny + j
        t:when(i:eq(0), function()
            t:alu(5)
            local x = t:load(b.fict, t:arg("t"))
            t:alu(2, { uses = {} })
            t:store(b.ey, at, x)
        end, function()
            t:alu(11)
            t:load(b.hz, at - p.ny)
            t:load(b.hz, at)
            t:alu(1)
            t:load(b.ey, at)
            t:alu(1)
            t:store(b.ey, at)
            t:alu(1)
        end)
    end)
end

local function step2(p, b)
    return sweep(p, "step2", 12, 15, function(t, i, j)
        local at = i * p.ny + j
        t:when(j:gt(0), function()
            t:alu(12)
            t:load(b.hz, at - 1)
            t:load(b.hz, at)
            t:alu(1)
            t:load(b.ex, i * (p.ny + 1) + j)
            t:alu(1)
            t:store(b.ex, i * (p.ny + 1) + j)
        end)
    end)
end

local function step3(p, b)
    return sweep(p, "step3", 18, 15, function(t, i, j)
        local at = i * p.ny + j
        t:alu(13)
        t:load(b.ex, i * (p.ny + 1) + j)
        t:load(b.ex, i * (p.ny + 1) + j + 1)
        t:alu(2)
        t:load(b.ey, at + p.ny)
        t:alu(1)
        t:load(b.ey, at)
        t:alu(1)
        t:load(b.hz, at)
        t:alu(1)
        t:store(b.hz, at)
    end)
end

-- Time steps that are run.
local function steps(p)
    return p.steps > 0 and math.min(p.steps, p.tmax) or p.tmax
end

return app {
    name = "FDTD", suite = "PolyBench-GPU",
    source = "PolyBench-GPU 1.0 FDTD-2D",
    summary = "finite differences in time, three coalesced sweeps a step",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { nx = 1024, ny = 1024, tmax = 500, steps = 8 },
    sizes = {
        T = { nx = 48, ny = 96, tmax = 2, steps = 0 },
        S = { nx = 1024, ny = 1024, steps = 8 },
        M = { nx = 2048, ny = 2048, steps = 4 },
        L = { nx = 4096, ny = 4096, steps = 2 },
    },
    footprint = function(p)
        return 4 * (p.tmax + 3 * p.nx * p.ny + p.nx + p.ny)
    end,
    truncated = function(p)
        if steps(p) < p.tmax then
            return string.format("the first %d of %d time steps", steps(p),
                p.tmax)
        end
    end,

    buffers = function(p)
        return { f32("fict", p.tmax), f32("ex", p.nx, p.ny + 1),
            f32("ey", p.nx + 1, p.ny), f32("hz", p.nx, p.ny) }
    end,

    kernels = function(p, b)
        local launches = {}
        local k = { step1(p, b), step2(p, b), step3(p, b) }
        for t = 0, steps(p) - 1 do
            for i = 1, 3 do
                launches[#launches + 1] = { k[i], args = { t = t } }
            end
        end
        return launches
    end,
}

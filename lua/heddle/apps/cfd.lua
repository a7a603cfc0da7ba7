--[[
CFD - the three-dimensional Euler equations on an unstructured mesh, Rodinia
cfd, euler3d (also MAFIA, MASK, Mosaic).

Arrays, in order, each a plane of N values for N padded elements: areas, ese
(4 planes of i32, the neighbour at each face), normals (12), variables, old and
fluxes (5 each), step.  Footprint 132 N bytes; N is a multiple of 192.

Blocks of 192 threads, one an element.  Launches: the far field to variables,
old and fluxes; then `iterations` times
  copy   variables to old (in the program a copy on the device)
  step   the time step of an element, from six planes
  and three times over
  flux   own values; for each face the neighbour's number and the face's
         normal, and, unless the face is on the boundary, five gathers from
         the neighbour; five stores
  time   variables from old, flux and step
The planes are streams, one line and one page each, N floats from one to the
next (189 pages at 193,536); the gathers go where the mesh says.

The mesh is real: tetrahedra cut from nx x ny x nz cubes (the files of the
program are lost), with element numbers shuffled inside runs of `window`.  A
gather touches 1.0 to 2.2 pages in natural order, 2.0 to 4.5 with the default
window of 2048, 29 where all are shuffled; how the real files are is not known.
Boundary elements diverge.

Instructions between accesses are those of MAFIA's PTX, block by block: 652 of
flux inside the mesh, 7 % of them loads and stores.  (The kernel's text has
1037; only one of three branches of a face is taken.)

Approximated: the values are not computed, since no address depends on them;
boundary faces are all far field, as the program's reader makes them; constant
memory counts as arithmetic.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, i32 = h.app, h.kernel, h.f32, h.i32

local B = 192
local ITERATIONS = 2000 -- of the program

local function padded(p) return h.ceil(6 * p.nx * p.ny * p.nz, B) * B end

-- A kernel with a thread an element; fn(t, i, n) with n elements a plane.
local function per_element(name, p, regs, fn)
    local n = padded(p)
    return kernel(name, { grid = n // B, block = B, regs = regs },
        function(t) fn(t, t.gid, n) end)
end

local function initialise(p, buffer)
    return per_element("init_" .. buffer.name, p, 17, function(t, i, n)
        for v = 0, 4 do
            t:alu(v == 0 and 10 or 6)
            t:store(buffer, v * n + i)
        end
    end)
end

local function copy(p, b)
    local options = { grid = 5 * padded(p) // B, block = B,
        regs = 8 } -- guess: a copy of the driver
    return kernel("copy", options, function(t)
        t:alu(6)
        local x = t:load(b.variables, t.gid)
        t:store(b.old, t.gid, x)
    end)
end

-- The five own values of an element, and the arithmetic in between.
local function own(t, b, i, n)
    local values = {}
    for v = 0, 4 do
        t:alu(v == 0 and 9 or 5, { uses = {} })
        values[v + 1] = t:load(b.variables, v * n + i)
    end
    return values
end

local function step(p, b)
    return per_element("step", p, 16, function(t, i, n)
        local first = {}
        for v = 0, 3 do
            t:alu(v == 0 and 9 or 5, { uses = {} })
            first[v + 1] = t:load(b.variables, v * n + i)
        end
        t:alu(8, { uses = first })
        t:alu(5, { uses = {} })
        local energy = t:load(b.variables, 4 * n + i)
        t:alu(11, { uses = { energy } })
        t:alu(2)
        local area = t:load(b.areas, i)
        t:alu(5, { uses = { area } })
        t:store(b.step, i)
    end)
end

-- One face: what is beyond it, or the far field.
local function face(t, b, j, i, n)
    t:alu(j == 0 and 2 or 4, { uses = {} })
    local beyond = t:load(b.ese, j * n + i)
    t:alu(2, { uses = {} })
    t:load(b.normals, j * n + i)
    t:alu(1, { uses = {} })
    t:load(b.normals, (j + 4) * n + i)
    t:alu(5, { uses = {} })
    t:load(b.normals, (j + 8) * n + i)
    t:alu(3, { uses = { beyond } })
    t:when(beyond:ge(0), function()
        for v = 0, 4 do
            t:alu(v == 0 and 3 or 4, { uses = {} })
            t:load(b.variables, v * n + beyond)
        end
        t:alu(j == 0 and 113 or 108)
    end, function()
        t:alu(j == 0 and 82 or 76)
    end)
end

local function flux(p, b)
    return per_element("flux", p, 50, function(t, i, n)
        own(t, b, i, n)
        for j = 0, 3 do face(t, b, j, i, n) end
        for v = 0, 4 do
            t:alu(v == 0 and 2 or 1)
            t:store(b.fluxes, v * n + i)
        end
    end)
end

local function time(p, b)
    local before = { [0] = 4, 4, 5, 5, 6 } -- ALU before a plane's loads
    return per_element("time", p, 17, function(t, i, n)
        t:alu(9)
        local s = t:load(b.step, i)
        t:alu(5, { uses = { s } })
        for _, v in ipairs { 0, 4, 1, 2, 3 } do
            t:alu(before[v])
            local x = t:load(b.old, v * n + i)
            t:alu(1, { uses = {} })
            local y = t:load(b.fluxes, v * n + i)
            t:alu(2, { uses = { x, y } })
            t:store(b.variables, v * n + i)
        end
    end)
end

return app {
    name = "CFD", suite = "Rodinia", source = "Rodinia 3.1 cfd euler3d",
    summary = "flow on an unstructured mesh: 21 streams, gathers of neighbours",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { nx = 32, ny = 32, nz = 32, window = 2048, seed = 1,
        iterations = 4 },
    sizes = {
        T = { nx = 5, ny = 4, nz = 3, window = 64, iterations = 1 },
        R = { nx = 32 },
        S = { nx = 32 },
        M = { nx = 44, ny = 44, nz = 43, iterations = 2 },
        L = { nx = 70, ny = 69, nz = 69, iterations = 1 },
    },
    footprint = function(p) return 132 * padded(p) end,
    truncated = function(p)
        if p.iterations < ITERATIONS then
            return string.format("%d of %d time steps", p.iterations,
                ITERATIONS)
        end
    end,

    buffers = function(p)
        local mesh = require "heddle.generate".mesh { nx = p.nx, ny = p.ny,
            nz = p.nz, window = p.window, multiple = B, seed = p.seed }
        local n = padded(p)
        return { f32("areas", n), i32("ese", 4, n, { data = mesh }),
            f32("normals", 12, n), f32("variables", 5, n), f32("old", 5, n),
            f32("fluxes", 5, n), f32("step", n) }
    end,

    kernels = function(p, b)
        local launches = { initialise(p, b.variables), initialise(p, b.old),
            initialise(p, b.fluxes) }
        local c, s, f, u = copy(p, b), step(p, b), flux(p, b), time(p, b)
        for _ = 1, p.iterations do
            launches[#launches + 1] = c
            launches[#launches + 1] = s
            for _ = 1, 3 do
                launches[#launches + 1] = f
                launches[#launches + 1] = u
            end
        end
        return launches
    end,
}

--[[
LUH - LULESH 1.0 on CUDA, shock hydrodynamics in double precision (also MASK,
Mosaic).

A cube of e^3 elements (E) and (e+1)^3 nodes (n), all doubles f64.  Arrays, in
order: for each node its place, velocity, acceleration, force and mass, the
number of its corners and their list; the nodes of the three planes of
symmetry; for each element seven index arrays, boundary bits, its eight nodes
and 22 values; then the temporaries of a time step, 116 E values: stresses,
forces by corner (twice), gradients and places by corner, 16 arrays of the
equation of state.  Footprint 140 n + 12 (e+1)^2 + 1168 E + 16 ceil(E/256)
bytes, 120 MB for e = 45 (the program leaks its temporaries, 85 MB a step; here
the next step has the same ones).

28 launches a step: over elements, nodes, or eight threads an element (a warp
then has one corner of 32 elements), blocks of 256.  What drives addresses:
  nodelist     corner c of element k at c E + k: gathers of places and
               velocities by node, 3 lines and 1.06 pages a warp
  cornerList   corner j of node i at j n + i: gathers of forces by corner, 3.5
               lines and 1.67 pages; a node on the surface has fewer than 8
  neighbours   k -+ 1, e, e^2; the switch over boundary bits at the surface
  matElemlist  the identity
Everything else is contiguous, 256 bytes a warp.  A warp of the stress kernel
has some 60 streams, 729 kB apart: reach, not divergence, is what loads a TLB.

nodelist and the neighbours are loaded and waited for, their values computed
(the mesh is a regular one); cornerList has its values.  Branches: an element
expands (vdov, delvc > 0) only where the blast has come; that is no element in
the first step and element 0 in the second, so that `steps` is 1 or 2 of
thousands.

Approximated: alu counts, as the sources have operations (450 and 650 in the
large kernels, divisions and roots some 20).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, i32, f64 = h.app, h.kernel, h.i32, h.f64

local BLOCK = 256

local function elements(p) return p.e * p.e * p.e end
local function plane(p) return (p.e + 1) * (p.e + 1) end
local function nodes(p) return plane(p) * (p.e + 1) end

-- offsets of the corners of an element: x, y, z
local CORNER = { { 0, 0, 0 }, { 1, 0, 0 }, { 1, 1, 0 }, { 0, 1, 0 },
    { 0, 0, 1 }, { 1, 0, 1 }, { 1, 1, 1 }, { 0, 1, 1 } }

-- Names of the buffers: NODE and ELEMENT doubles, TEMP per element, and CORNERS
-- with eight values an element.
local function words(s)
    local list = {}
    for w in s:gmatch("%S+") do list[#list + 1] = w end
    return list
end
local NODE = words [[x y z xd yd zd xdd ydd zdd fx fy fz nodalMass]]
local INDEX = words [[matElemlist lxim lxip letam letap lzetam lzetap elemBC]]
local ELEMENT = words [[e p q ql qq v volo delv vdov arealg ss elemMass dxx dyy
    dzz delv_xi delv_eta delv_zeta delx_xi delx_eta delx_zeta vnew]]
local STRESS = words [[sigxx sigyy sigzz determ]]
local CORNERS = words [[fxe fye fze dvdx dvdy dvdz x8 y8 z8 fxe2 fye2 fze2]]
local STATE = words [[e_old delvc p_old q_old comp compHalf qq_old ql_old work
    p_new e_new q_new bvc pbvc pHalf vnewc]]

-- Registers of a thread.
local REGS = {
    initStress = 14, integrateStress = 63, addForces = 25, hgControl = 32,
    fbHourglass = 39, addForces2 = 25, accel = 20, BC = 10, velocity = 20,
    position = 20, kinematics = 63, lagrange2 = 22, monoQgrad = 63,
    monoQregion = 33, matProps = 12, eos1 = 26, energy1 = 22, pressure1 = 20,
    energy2 = 28, pressure2 = 20, energy3 = 28, pressure3 = 20, energy4 = 20,
    eos2 = 16, soundspeed = 20, updVol = 12, courant = 21, hydro = 18,
}

-- ---- accesses ---------------------------------------------------------------

-- Loads each named buffer at `at`; returns what came.
local function read(t, b, names, at)
    local v = {}
    for i, name in ipairs(words(names)) do v[i] = t:load(b[name], at) end
    return v
end

local function write(t, b, names, at)
    for _, name in ipairs(words(names)) do t:store(b[name], at) end
end

-- A kernel over count threads, fn(t, index, E).
local function over(name, count, fn, args)
    local options = { grid = h.ceil(count, BLOCK), block = BLOCK,
        regs = REGS[name], args = args }
    return kernel(name, options, function(t)
        t:alu(5)
        t:exit_if(t.gid:ge(count))
        fn(t, t.gid)
    end)
end

-- Each element: reads, alu, writes.
local function simple(p, b, name, reads, alu, writes)
    return over(name, elements(p), function(t, k)
        t:alu(alu, { uses = read(t, b, reads, k) })
        write(t, b, writes, k)
    end)
end

-- Where element k's corner c is among the nodes, once nodelist has come.
local function node_of(t, p, b, k, c)
    local e, E = p.e, elements(p)
    local x, y, z = k % e, k // e % e, k // (e * e)
    local o = CORNER[c + 1]
    local loaded = t:load(b.nodelist, c * E + k)
    return (z + o[3]) * (e + 1) * (e + 1) + (y + o[2]) * (e + 1) + x + o[1]
        + loaded
end

-- The node of a corner that differs between warps.
local function node_of_warp(t, p, b, k, c)
    local e, E = p.e, elements(p)
    local x, y, z = k % e, k // e % e, k // (e * e)
    local dx = (c % 4):eq(1):bor((c % 4):eq(2)):int()
    local dy, dz = (c % 4):ge(2):int(), c // 4
    local loaded = t:load(b.nodelist, c * E + k)
    return (z + dz) * (e + 1) * (e + 1) + (y + dy) * (e + 1) + x + dx + loaded
end

-- All corners of element k: named values by node.
local function gather(t, p, b, k, names)
    local all = {}
    for c = 0, 7 do
        for _, v in ipairs(read(t, b, names, node_of(t, p, b, k, c))) do
            all[#all + 1] = v
        end
    end
    return all
end

-- Lanes whose element does not expand.
local function compressed(t, k, fn)
    t:when(k:eq(0):band(t:arg("step"):ge(2)):bnot(), fn)
end

-- ---- forces -----------------------------------------------------------------

local function integrate_stress(p, b)
    local E = elements(p)
    return over("integrateStress", E, function(t, k)
        local v = gather(t, p, b, k, "x y z")
        for _, s in ipairs(read(t, b, "sigxx sigyy sigzz", k)) do
            v[#v + 1] = s
        end
        t:alu(450, { uses = v })
        t:store(b.determ, k)
        for c = 0, 7 do write(t, b, "fxe fye fze", c * E + k) end
    end)
end

-- The forces of a node's corners; `before` are added to.
local function add_forces(p, b, name, from, before)
    local n = nodes(p)
    return over(name, n, function(t, i)
        t:loop(t:load(b.nodeElemCount, i), function(j)
            local at = t:load(b.cornerList, j * n + i)
            t:alu(3)
            t:alu(6, { uses = read(t, b, from, at) })
        end)
        if before then t:alu(3, { uses = read(t, b, "fx fy fz", i) }) end
        write(t, b, "fx fy fz", i)
    end)
end

-- Eight threads an element: corner t // 32 of 32 elements.
local function by_corner(p, name, shared, fn)
    local E = elements(p)
    local options = { grid = h.ceil(E, 32), block = BLOCK, regs = REGS[name],
        shared = shared }
    return kernel(name, options, function(t)
        local c = t.tid // 32
        local k = (32 * t.bx + t.tid % 32):min(E - 1)
        t:alu(10)
        fn(t, c, k, c * E + k)
    end)
end

local function exchange(t, barriers, alu)
    for _ = 1, barriers do
        t:shared(1)
        t:sync()
    end
    t:alu(alu)
end

local function hourglass_control(p, b)
    return by_corner(p, "hgControl", 2 * 8 * BLOCK, function(t, c, k, at)
        local node = node_of_warp(t, p, b, k, c)
        t:alu(4, { uses = read(t, b, "x y z", node) })
        exchange(t, 8, 60)
        write(t, b, "dvdx dvdy dvdz x8 y8 z8", at)
        t:alu(2, { uses = read(t, b, "volo v", k) })
        t:store(b.determ, k)
    end)
end

local function fb_hourglass(p, b)
    return by_corner(p, "fbHourglass", 8 * BLOCK, function(t, c, k, at)
        local v = read(t, b, "determ", k)
        for _, x in ipairs(read(t, b, "x8 y8 z8 dvdx dvdy dvdz", at)) do
            v[#v + 1] = x
        end
        t:alu(24, { uses = v })
        for _ = 1, 12 do exchange(t, 6, 10) end
        v = read(t, b, "ss elemMass", k)
        local node = node_of_warp(t, p, b, k, c)
        for _, x in ipairs(read(t, b, "xd yd zd", node)) do v[#v + 1] = x end
        t:alu(30, { uses = v })
        for _ = 1, 12 do exchange(t, 6, 10) end
        write(t, b, "fxe2 fye2 fze2", at)
    end)
end

-- ---- motion -----------------------------------------------------------------

local function nodes_only(p, b, name, reads, alu, writes)
    return over(name, nodes(p), function(t, i)
        t:alu(alu, { uses = read(t, b, reads, i) })
        write(t, b, writes, i)
    end)
end

-- Nodes in the planes x, y, z = 0 do not leave them.
local function boundary(p, b)
    local side = p.e + 1
    return over("BC", side * side, function(t, i)
        t:store(b.xdd, i * side + t:load(b.symmX, i))
        t:alu(2)
        t:store(b.ydd, i // side * side * side + i % side
            + t:load(b.symmY, i))
        t:alu(2)
        t:store(b.zdd, i + t:load(b.symmZ, i))
        t:alu(2)
    end)
end

local function kinematics(p, b)
    return over("kinematics", elements(p), function(t, k)
        local v = gather(t, p, b, k, "x y z")
        v[#v + 1] = t:load(b.volo, k)
        t:alu(300, { uses = v })
        t:store(b.vnew, k)
        t:alu(2, { uses = { t:load(b.v, k) } })
        write(t, b, "delv arealg", k)
        t:alu(350, { uses = gather(t, p, b, k, "xd yd zd") })
        write(t, b, "dxx dyy dzz", k)
    end)
end

-- ---- artificial viscosity ---------------------------------------------------

local function gradients(p, b)
    return over("monoQgrad", elements(p), function(t, k)
        local v = gather(t, p, b, k, "x y z xd yd zd")
        for _, x in ipairs(read(t, b, "volo vnew", k)) do v[#v + 1] = x end
        t:alu(200, { uses = v })
        write(t, b, "delx_zeta delv_zeta delx_xi delv_xi delx_eta delv_eta", k)
    end)
end

-- The gradient on both sides of element k in one direction: its own at a plane
-- of symmetry, none at a free surface.
local function sides(t, p, b, k, name, below, above, stride)
    local place = k // stride % p.e
    local delv = b["delv_" .. name]
    t:when(place:gt(0), function()
        t:alu(2, { uses = { t:load(delv, k - stride + t:load(b[below], k)) } })
    end, function()
        t:alu(2, { uses = { t:load(delv, k) } })
    end)
    t:when(place:lt(p.e - 1), function()
        t:alu(2, { uses = { t:load(delv, k + stride + t:load(b[above], k)) } })
    end)
    t:alu(22, { uses = {} })
end

local function region(p, b)
    return over("monoQregion", elements(p), function(t, i)
        local k = i + t:load(b.matElemlist, i)
        local bits = t:load(b.elemBC, k)
        local step = 1
        for _, d in ipairs { { "xi", "lxim", "lxip" },
            { "eta", "letam", "letap" }, { "zeta", "lzetam", "lzetap" } } do
            t:alu(3, { uses = { t:load(b["delv_" .. d[1]], k), bits } })
            sides(t, p, b, k, d[1], d[2], d[3], step)
            step = step * p.e
        end
        t:alu(2, { uses = { t:load(b.vdov, k) } })
        compressed(t, k, function()
            t:alu(34, { uses = read(t, b,
                "delx_xi delx_eta delx_zeta elemMass volo vnew", k) })
        end)
        write(t, b, "qq ql", k)
    end, { step = 1 })
end

-- ---- the equation of state ----------------------------------------------------

local function state_in(p, b)
    return over("eos1", elements(p), function(t, i)
        local k = i + t:load(b.matElemlist, i)
        t:alu(4, { uses = read(t, b, "e delv p q", k) })
        write(t, b, "e_old delvc p_old q_old", i)
        t:alu(22, { uses = read(t, b, "vnewc delvc vnewc", i) })
        write(t, b, "comp compHalf", i)
        t:alu(6, { uses = { t:load(b.vnewc, i) } })
        t:alu(2, { uses = read(t, b, "qq ql", k) })
        write(t, b, "qq_old ql_old work", i)
    end)
end

local function energy2(p, b)
    return over("energy2", elements(p), function(t, k)
        t:alu(24, { uses = read(t, b, "compHalf delvc", k) })
        compressed(t, k, function()
            t:alu(50, { uses = read(t, b,
                "pbvc e_new bvc pHalf ql_old qq_old", k) })
        end)
        t:store(b.q_new, k)
        t:alu(12, { uses = read(t, b, "e_new p_old q_old pHalf work", k) })
        t:store(b.e_new, k)
    end, { step = 1 })
end

local LATE = "pbvc e_new vnewc bvc p_new ql_old qq_old"

local function energy3(p, b)
    return over("energy3", elements(p), function(t, k)
        t:alu(2, { uses = { t:load(b.delvc, k) } })
        compressed(t, k, function()
            t:alu(52, { uses = read(t, b, LATE, k) })
        end)
        t:alu(14, { uses = read(t, b, "e_new p_old q_old pHalf q_new p_new",
            k) })
        t:store(b.e_new, k)
    end, { step = 1 })
end

local function energy4(p, b)
    return over("energy4", elements(p), function(t, k)
        t:alu(2, { uses = { t:load(b.delvc, k) } })
        compressed(t, k, function()
            t:alu(54, { uses = read(t, b, LATE, k) })
            t:store(b.q_new, k)
        end)
    end, { step = 1 })
end

-- Reads by the identity matElemlist, then writes.
local function by_material(p, b, name, direct, reads, alu, writes)
    return over(name, elements(p), function(t, i)
        local k = i + t:load(b.matElemlist, i)
        local v = read(t, b, direct, i)
        for _, x in ipairs(read(t, b, reads, k)) do v[#v + 1] = x end
        t:alu(alu, { uses = v })
        write(t, b, writes, k)
    end)
end

-- The smallest value of a block, by halves in shared memory.
local function minimum(p, b, name, reads, alu, out)
    local E = elements(p)
    local options = { grid = h.ceil(E, BLOCK), block = BLOCK,
        regs = REGS[name], shared = 8 * BLOCK }
    return kernel(name, options, function(t)
        t:alu(6)
        t:when(t.gid:lt(E), function()
            local k = t.gid + t:load(b.matElemlist, t.gid)
            t:alu(alu, { uses = read(t, b, reads, k) })
        end)
        t:shared(1)
        t:sync()
        for half = 7, 1, -1 do
            t:when(t.tid:lt(1 << half), function()
                t:shared(3)
                t:alu(2)
            end)
            t:sync()
        end
        t:when(t.tid:eq(0), function()
            t:shared(2)
            t:store(b[out], t.bx)
        end)
    end)
end

-- ---- the application ----------------------------------------------------------

-- All kernels in the order of a time step.
local function step_of(p, b)
    local pressure = "bvc pbvc p_new"
    return {
        simple(p, b, "initStress", "p q", 4, "sigxx sigyy sigzz"),
        integrate_stress(p, b),
        add_forces(p, b, "addForces", "fxe fye fze", false),
        hourglass_control(p, b), fb_hourglass(p, b),
        add_forces(p, b, "addForces2", "fxe2 fye2 fze2", true),
        nodes_only(p, b, "accel", "fx fy fz nodalMass", 60, "xdd ydd zdd"),
        boundary(p, b),
        nodes_only(p, b, "velocity", "xd xdd yd ydd zd zdd", 15, "xd yd zd"),
        nodes_only(p, b, "position", "x xd y yd z zd", 6, "x y z"),
        kinematics(p, b),
        simple(p, b, "lagrange2", "dxx dyy dzz", 8, "vdov dxx dyy dzz"),
        gradients(p, b), region(p, b),
        by_material(p, b, "matProps", "", "vnew", 6, "vnewc"),
        state_in(p, b),
        simple(p, b, "energy1", "e_old delvc p_old q_old work", 10, "e_new"),
        simple(p, b, "pressure1", "compHalf e_new vnewc", 12,
            "bvc pbvc pHalf"),
        energy2(p, b),
        simple(p, b, "pressure2", "comp e_new vnewc", 12, pressure),
        energy3(p, b),
        simple(p, b, "pressure3", "comp e_new vnewc", 12, pressure),
        energy4(p, b),
        by_material(p, b, "eos2", "p_new e_new q_new", "", 2, "p e q"),
        by_material(p, b, "soundspeed", "pbvc e_new vnewc bvc p_new", "", 50,
            "ss"),
        simple(p, b, "updVol", "vnew", 4, "v"),
        minimum(p, b, "courant", "ss vdov arealg", 40, "mincourant"),
        minimum(p, b, "hydro", "vdov", 24, "minhydro"),
    }
end

-- Corners of all nodes in the order of their elements: counts, and the list.
local function corners(p)
    local e, E, n = p.e, elements(p), nodes(p)
    local count, list = {}, {}
    for i = 1, n do count[i] = 0 end
    for i = 1, 8 * n do list[i] = 0 end
    for k = 0, E - 1 do
        local node = k // (e * e) * (e + 1) * (e + 1) + k // e % e * (e + 1)
            + k % e
        for c, o in ipairs(CORNER) do
            local i = node + (o[3] * (e + 1) + o[2]) * (e + 1) + o[1] + 1
            list[count[i] * n + i] = k + (c - 1) * E
            count[i] = count[i] + 1
        end
    end
    return count, list
end

return app {
    name = "LUH", suite = "LLNL", source = "LULESH 1.0 CUDA",
    summary = "shock hydrodynamics: 60 arrays at once, gathers by mesh",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { e = 45, steps = 1 },
    sizes = {
        T = { e = 7, steps = 2 },
        R = { e = 45 },
        S = { e = 45 },
        M = { e = 45, steps = 2 },
        L = { e = 60 },
    },
    footprint = function(p)
        local E, n = elements(p), nodes(p)
        return 140 * n + 12 * plane(p) + 1168 * E
            + 16 * h.ceil(E, BLOCK)
    end,
    truncated = function(p)
        return string.format("%d of thousands of time steps", p.steps)
    end,

    buffers = function(p)
        h.check(p.e >= 2 and p.e < 500 and (p.steps == 1 or p.steps == 2),
            "LUH: e is 2 to 499, steps 1 or 2")
        local E, n = elements(p), nodes(p)
        local count, list = corners(p)
        local out = {}
        local function add(make, names, size)
            for _, name in ipairs(names) do out[#out + 1] = make(name, size) end
        end
        add(f64, NODE, n)
        out[#out + 1] = i32("nodeElemCount", n, { data = count })
        out[#out + 1] = i32("cornerList", 8 * n, { data = list })
        add(i32, words "symmX symmY symmZ", plane(p))
        add(i32, INDEX, E)
        out[#out + 1] = i32("nodelist", 8 * E)
        add(f64, ELEMENT, E)
        add(f64, STRESS, E)
        add(f64, CORNERS, 8 * E)
        add(f64, STATE, E)
        add(f64, words "mincourant minhydro", h.ceil(E, BLOCK))
        return out
    end,

    kernels = function(p, b)
        local launches, all = {}, step_of(p, b)
        for step = 1, p.steps do
            for _, k in ipairs(all) do
                launches[#launches + 1] = { k,
                    args = k.args.step and { step = step } or nil }
            end
        end
        return launches
    end,
}

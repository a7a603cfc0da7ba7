--[[
XSBENCH - cross sections of a Monte Carlo code for reactors, looked up in one table of
all energies (XSBench, Tramm et al., PHYSOR 2014; cuda/Simulation.cu, baseline).

Arrays, in order: num_nucs i32[12], concs f64[12][most], mats i32[12][most],
egrid f64[G], index i32[G][nuclides], grids f64[nuclides][points][6],
result i64[lookups]; G = nuclides points, and `most` the nuclides of fuel.  Footprint
G (8 + 4 nuclides + 48) bytes and 8 a lookup, and a little for the rest.

One launch of blocks of 256, a thread a lookup: it draws an energy and one of 12
materials, searches egrid by bisection (about log2 G loads, a lane may have one
more than another), then for each nuclide of its material loads the nuclide's number,
its density, the index of that energy in the nuclide's grid, and two points of that,
96 bytes, by 12 loads of 8 bytes.  Fuel (14 % of lookups) has nuclides - 34 nuclides,
the others 4 to 27: a warp runs as long as its longest lane, so of 32 lanes some 5
(nuclides = 355) to 15 (68) are active, each on pages of its own.

    order = sorted   lookups in the order of material and energy, as optimisation 6
                     has them
    nuclides, points  Hoogenboom-Martin's small reactor has 68, large 355 nuclides,
                     both 11,303 points; with other numbers fuel has 34 less, or
                     half of them below 68

Addresses are driven by mats and num_nucs, which have contents, and by draws, which are
computed: energies of a grid are taken as evenly spread, so bisection ends where the
draw says, and the nuclides' indices follow.  So no size needs memory.

Approximated: energies of the nuclides are drawn at random in the original, which moves
an index by some points; draws are SplitMix64's and not its generator; arithmetic
between accesses is a guess (alu_draw, alu_step, alu_nuclide).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f64, i32, i64 = h.app, h.kernel, h.f64, h.i32, h.i64

local BLOCK = 256
local POINT = 6 -- f64 of a point: energy, five cross sections
local MATERIALS = 12

-- The share of lookups of materials 1 to 11, in thousandths; the rest is fuel.
local SHARE = { 52, 275, 134, 154, 64, 66, 55, 8, 15, 25, 13 }

-- Nuclides of the materials (cuda/Materials.cu).
local FUEL = { 58, 59, 60, 61, 40, 42, 43, 44, 45, 46, 1, 2, 3, 7, 8, 9, 10, 29, 57,
    47, 48, 0, 62, 15, 33, 34, 52, 53, 54, 55, 56, 18, 23, 41 }
local CLADDING = { 63, 64, 65, 66, 67 }
local WATER = { 24, 41, 4, 5 }
local VESSEL = { 19, 20, 21, 22, 35, 36, 37, 38, 39, 25, 27, 28, 29, 30, 31, 32, 26,
    49, 50, 51, 11, 12, 13, 14, 6, 16, 17 }
local PLATE = { 24, 41, 4, 5, 19, 20, 21, 22, 35, 36, 37, 38, 39, 25, 49, 50, 51, 11,
    12, 13, 14 }
local ENDS = { 24, 41, 4, 5, 63, 64, 65, 66, 67 }
local OTHERS = { CLADDING, WATER, WATER, VESSEL, PLATE, PLATE, PLATE, PLATE, PLATE,
    ENDS, ENDS }

local function check(p)
    h.choice(p, "order", "random", "sorted")
    h.check(p.nuclides >= 8 and p.nuclides <= 4096 and p.points >= 2
        and p.points <= 1 << 20,
        ("XSBENCH: nuclides = %d, points = %d: 8 to 4096 and 2 to %d are possible")
            :format(p.nuclides, p.points, 1 << 20))
    h.check(p.lookups > 0 and p.lookups < 1 << 30,
        ("XSBENCH: lookups = %d, 1 to %d are possible"):format(p.lookups,
            (1 << 30) - 1))
end

-- How many nuclides fuel has, the most of all materials.
local function fuel(p)
    return p.nuclides >= 68 and p.nuclides - 34 or p.nuclides // 2
end

-- Numbers of nuclides and their list, a row a material.
local function materials(p)
    local most = math.max(fuel(p), math.min(#VESSEL, p.nuclides))
    local count, list = {}, {}
    for m = 0, MATERIALS - 1 do
        local of = OTHERS[m] or FUEL
        count[m + 1] = m == 0 and fuel(p) or math.min(#of, p.nuclides)
        for j = 1, most do
            list[m * most + j] = j > count[m + 1] and 0
                or (of[j] or 33 + j) % p.nuclides -- fuel: 68 and up
        end
    end
    return count, list, most
end

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
    x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
    return x:bxor(x:lshr(31)):lshr(33)
end

-- Material and place among the energies (of G) of a lookup.
local function draw(t, p, i, G)
    local roll, energy
    if p.order == "sorted" then -- the i-th of all, by material, then energy
        roll = i * ((1 << 31) // p.lookups)
    else
        roll = mix(2 * i + (p.seed << 40))
        energy = mix(2 * i + (1 + (p.seed << 40)))
    end
    local upto, limit = 0, {}
    for m, share in ipairs(SHARE) do
        upto = upto + share
        limit[m] = (upto << 31) // 1000
    end
    local material, from = t:select(roll:lt(limit[11]), 11, 0),
        t:select(roll:lt(limit[11]), limit[10], limit[11])
    local width = t:select(roll:lt(limit[11]), limit[11] - limit[10],
        (1 << 31) - limit[11])
    for m = 10, 1, -1 do
        local low = limit[m - 1] or 0
        material = t:select(roll:lt(limit[m]), m, material)
        from = t:select(roll:lt(limit[m]), low, from)
        width = t:select(roll:lt(limit[m]), limit[m] - low, width)
    end
    energy = energy or (roll - from) * (1 << 31) // width
    return material, (energy * (G - 1)):lshr(31)
end

local function lookup(p, b)
    local G = p.nuclides * p.points
    local most = select(3, materials(p))
    local options = { grid = h.ceil(p.lookups, BLOCK), block = BLOCK, regs = 48 }
    return kernel("lookup", options, function(t)
        t:exit_if(t.gid:ge(p.lookups))
        t:alu(p.alu_draw)
        local material, place = draw(t, p, t.gid, G)
        local low, length = t:var(0), t:var(G - 1)
        t:while_(function() return length:get():gt(1) end, function()
            local middle = low:get() + length:get() // 2
            local energy = t:load(b.egrid, middle)
            t:alu(p.alu_step, { uses = { energy } })
            local upper = low:get() + length:get()
            local right = middle:le(place)
            low:set(t:select(right, middle, low:get()))
            length:set(t:select(right, upper, middle) - low:get())
        end)
        local at = low:get()
        local count = t:load(b.num_nucs, material)
        t:loop(count, function(j)
            local nuclide = t:load(b.mats, material * most + j)
            local density = t:load(b.concs, material * most + j)
            local index = t:load(b.index, at * p.nuclides + nuclide)
            -- the contents that index would have
            local point = (at // p.nuclides):min(p.points - 2) + index
            local first = (nuclide * p.points + point) * POINT
            local got = { density }
            for k = 0, 2 * POINT - 1 do
                got[k + 2] = t:load(b.grids, first + k)
            end
            t:alu(p.alu_nuclide, { uses = got })
        end)
        t:alu(8)
        t:store(b.result, t.gid)
    end)
end

return app {
    name = "XSBENCH", suite = "CESAR", source = "XSBench 02a16b8 cuda/Simulation.cu",
    summary = "cross sections of a Monte Carlo code; a page of a table a lane",
    registers = "guess: no machine code was read",
    params = { nuclides = 68, points = 1413, lookups = 1 << 14, order = "random",
        seed = 1, alu_draw = 60, alu_step = 5, alu_nuclide = 35 },
    sizes = {
        T = { nuclides = 12, points = 100, lookups = 500 },
        S = { points = 1413 },
        M = { points = 5651, lookups = 1 << 16 },
        L = { nuclides = 136, points = 11303, lookups = 1 << 18 },
        XL = { nuclides = 355, points = 11303, lookups = 1 << 20 },
    },
    footprint = function(p)
        local most = select(3, materials(p))
        return p.nuclides * p.points * (8 + 4 * p.nuclides + 8 * POINT)
            + MATERIALS * (4 + 12 * most) + 8 * p.lookups
    end,

    buffers = function(p)
        check(p)
        local count, list, most = materials(p)
        local G = p.nuclides * p.points
        return {
            i32("num_nucs", MATERIALS, { data = count }),
            f64("concs", MATERIALS * most),
            i32("mats", MATERIALS * most, { data = list }),
            f64("egrid", G),
            i32("index", G * p.nuclides),
            f64("grids", G * POINT),
            i64("result", p.lookups),
        }
    end,

    kernels = function(p, b) return { lookup(p, b) } end,
}

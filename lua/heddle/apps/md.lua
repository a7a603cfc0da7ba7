--[[
MD - forces between atoms by lists of neighbours, Lennard-Jones (SHOC,
src/cuda/level1/md/MD.cu).

Arrays, in order: force f32[n][3], position f32[n][4], list i32[128][n].  Footprint
540 n bytes.

One launch, blocks of 256, a thread an atom: its position (16 bytes), then 128 times the
number of a neighbour (one line, since lists are column by column) and its position, a
gather of 16 bytes; the force in three stores of 4 bytes, 12 apart: three lines.

    order = random   atoms in random order, as SHOC draws them: a page a lane
    order = sorted   as a grid has them, row by row: a few pages

Atoms are the points of a periodic grid of n = 2^k points, its sides as equal as they can
be, and their neighbours the 128 points next to them; what lists would have is computed,
so that no size needs memory.

Approximated: SHOC's atoms are drawn at random in a cube and its lists are not symmetric;
all neighbours are within the cutoff, as they are there (radius 4, some 400 atoms);
instructions between accesses are guesses (alu_pair).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local shuffle = require "heddle.apps.shuffle"
local app, kernel, f32, i32 = h.app, h.kernel, h.f32, h.i32

local BLOCK = 256
local LIST = 128

local function bits(p)
    local k = 0
    while 1 << k < p.n do k = k + 1 end
    return k
end

local function check(p)
    h.choice(p, "order", "random", "sorted")
    h.check(p.n >= 512 and p.n <= 1 << 30 and p.n & (p.n - 1) == 0,
        ("MD: n = %d is not a power of two from 512 to 2^30"):format(p.n))
end

-- The 128 points next to one, each as x + 8 y + 64 z with 4 added to all three.
local function offsets()
    local all, out = {}, {}
    for z = -3, 3 do
        for y = -3, 3 do
            for x = -3, 3 do
                all[#all + 1] = { x * x + y * y + z * z, x + 4 + 8 * (y + 4)
                    + 64 * (z + 4) }
            end
        end
    end
    table.sort(all, function(a, b)
        return a[1] < b[1] or a[1] == b[1] and a[2] < b[2]
    end)
    for i = 1, LIST do out[i] = all[i + 1][2] end -- the first is the atom itself
    return out
end

-- The atom at `offset` of atom i.
local function neighbour(p, i, offset)
    local k = bits(p)
    local x, y = (k + 2) // 3, (k + 1) // 3 -- bits of the sides
    local at = p.order == "random" and shuffle.back(i, k) or i
    local function moved(first, width, by)
        return ((at:lshr(first) + by):band((1 << width) - 1)):shl(first)
    end
    at = moved(0, x, offset % 8 - 4):bor(moved(x, y, offset // 8 % 8 - 4))
        :bor(moved(x + y, k - x - y, offset // 64 - 4))
    return p.order == "random" and shuffle.forward(at, k) or at
end

local function forces(p, b)
    local options = { grid = p.n // BLOCK, block = BLOCK, regs = 32 }
    return kernel("md", options, function(t)
        t:alu(6)
        local own = t:load(b.position, 4 * t.gid, { vec = 4 })
        t:alu(2, { uses = { own } })
        t:loop(LIST, function(j)
            local number = t:load(b.list, j * p.n + t.gid)
            local at = neighbour(p, t.gid, t:peek(b.offsets, j)) + number
            local position = t:load(b.position, 4 * at, { vec = 4 })
            t:alu(p.alu_pair, { uses = { position } })
        end)
        for k = 0, 2 do t:store(b.force, 3 * t.gid + k) end
    end)
end

return app {
    name = "MD", suite = "SHOC", source = "SHOC 0282b32 src/cuda/level1/md/MD.cu",
    summary = "Lennard-Jones by lists of 128 neighbours; a gather of 16 bytes",
    registers = "guess: no machine code was read",
    params = { n = 1 << 15, order = "random", alu_pair = 21 },
    sizes = {
        T = { n = 512 },
        S = { n = 1 << 15 },
        M = { n = 1 << 18 },
        L = { n = 1 << 21 },
        XL = { n = 1 << 23 },
    },
    footprint = function(p) return 540 * p.n end,

    buffers = function(p)
        check(p)
        return {
            f32("force", 3 * p.n), f32("position", 4 * p.n), i32("list", LIST, p.n),
            i32("offsets", LIST, { scratch = true, data = offsets() }),
        }
    end,

    kernels = function(p, b) return { forces(p, b) } end,
}

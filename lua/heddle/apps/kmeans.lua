--[[
KMEANS - assignment of points to their nearest cluster, Rodinia 3.1 kmeans
(one of the six programs of Pichai et al.).

Arrays, in order: F f32 [np][nf] (a row a point, "flipped"), G f32 [nf][np]
(the same, inverted), member i32 np, clusters f32 [nclusters][nf].  Footprint
8 np nf + 4 np + 4 nclusters nf bytes: 276 bytes a point for the 34 features of
kdd_cup.

A point a thread, blocks of 256, ceil(np / 256) of them rounded up to a square:
  invert   once: F[point][j] -> G[j][point].  Lanes are a row (136 bytes)
           apart: 32 lines, two pages a load; the store is coalesced.
  assign   an iteration: for each cluster and feature G[j][point], one page,
           the next j one row of G (4 np bytes) further: a new page each j, nf
           pages that are swept once a cluster.  Nothing diverges; a warp walks
           through more pages than its L1 TLB has room for.

Addresses are driven by indices alone; no contents: which cluster is nearest
changes no address.  The texture of the original is a plain load here, the
centres are in constant memory (no access); the copy in `clusters` is allocated
and never read.

Approximated: alu counts.  `alu` a feature of assign makes one access in seven
instructions, `alu_invert` is the count of the papers' compiler.  The host's
part (new centres between iterations) takes no time; Rodinia iterates until no
point changes its cluster, up to 501 times, here `iterations`.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, i32 = h.app, h.kernel, h.f32, h.i32

local BLOCK, MOST = 256, 501

-- The side of the square grid.
local function side(p)
    local blocks = h.ceil(p.np, BLOCK)
    local d = math.tointeger(math.floor(math.sqrt(blocks)))
    return d * d < blocks and d + 1 or d
end

local function invert(p, b)
    local d = side(p)
    return kernel("invert", { grid = d * d, block = BLOCK,
        regs = 12 }, function(t)
        local point = t.gid
        t:alu(5)
        t:when(point:lt(p.np), function()
            t:loop(p.nf, function(j)
                local x = t:load(b.F, point * p.nf + j)
                t:alu(p.alu_invert, { uses = {} })
                t:store(b.G, j * p.np + point, x)
            end)
        end)
    end)
end

local function assign(p, b)
    local options = { grid = { side(p), side(p) }, block = BLOCK,
        regs = 18 }
    return kernel("assign", options, function(t)
        local point = t.gid
        t:alu(7)
        t:when(point:lt(p.np), function()
            t:loop(p.nclusters, function()
                t:alu(3)
                t:loop(p.nf, function(j)
                    t:load(b.G, j * p.np + point)
                    t:alu(p.alu)
                end)
                t:alu(3)
            end)
            t:store(b.member, point)
        end)
    end)
end

return app {
    name = "KMEANS", suite = "Rodinia", source = "Rodinia 3.1 kmeans",
    summary = "nearest of five clusters; a new page for each feature",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { np = 28672, nf = 34, nclusters = 5, iterations = 2, alu = 6,
        alu_invert = 7 },
    sizes = {
        T = { np = 600, nf = 6 },
        S = { np = 28672 },
        M = { np = 240000 },
        L = { np = 494020 },
        XL = { np = 4000000, iterations = 1 },
    },
    footprint = function(p)
        return 8 * p.np * p.nf + 4 * p.np + 4 * p.nclusters * p.nf
    end,
    truncated = function(p)
        if p.iterations < MOST then
            return string.format("the first %d of at most %d iterations",
                p.iterations, MOST)
        end
    end,

    buffers = function(p)
        return { f32("F", p.np, p.nf), f32("G", p.nf, p.np),
            i32("member", p.np), f32("clusters", p.nclusters, p.nf) }
    end,

    kernels = function(p, b)
        local launches, again = { invert(p, b) }, assign(p, b)
        for _ = 1, p.iterations do launches[#launches + 1] = again end
        return launches
    end,
}

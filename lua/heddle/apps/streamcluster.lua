--[[
STREAMCLUSTER - online clustering, the kernel of Rodinia 3.1 (one of the six
programs of Pichai et al.; MASK and Mosaic run the older kernel, SC).

Arrays, in order: work f32 [num+1][K+1], ctab i32 num, sw u8 num, pt {weight,
pointer, assign, cost} 32 bytes x num (f32 x 8; assign, 8 bytes, holds the
number of a point exactly), coord f32 [dim][num], dimension by dimension.
Footprint 4 (num+1) (K+1) + 37 num + 4 num dim bytes for K centres: 75 MB for
65,536 points of 256 dimensions and 20 centres.

A launch tries one point x as a new centre; a point a thread, blocks of 512:
  for each dimension d   coord[d][p], one page, and coord[d][x], a broadcast
                         from another page; the next d is 4 num bytes further:
                         two new pages each d
  then                   pt[p].weight, pt[p].cost: 8 lines
  x is nearer            sw[p] = 1, work[p][K] += ...: 4 (K+1) bytes a lane
  it is not              pt[p].assign, ctab[assign] (a gather of K centres),
                         work[p][centre] += ...

Everything that decides is real: points are drawn with a seed, uniform in the
cube as the original's stream draws them, K of them are centres, each point
belongs to the nearest, and the kernel computes distances from the coordinates
(f32, in the order of the dimensions).  A few percent are nearer to x.

Approximated: alu counts (two loads of ten instructions a dimension).  The K
centres are points at random, where the original's local search would have
moved them; no candidate is opened, so costs and centres stay as they are
between launches; candidates are points at random.  Before each launch the
host clears sw and work, which takes no time.

`launches` of the hundreds (179 a round of local search with kmax = 20).  Size
XL takes two seconds and 1.1 GB to build.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32, i32, u8 = h.app, h.kernel, h.f32, h.i32, h.u8

local BLOCK, ROUND = 512, 179

local function pgain(p, b)
    local options = { grid = h.ceil(p.num, BLOCK), block = BLOCK,
        regs = 18, args = { x = 0 } }
    return kernel("pgain", options, function(t)
        local i, x = t.gid, t:arg "x"
        t:alu(7)
        t:when(i:lt(p.num), function()
            local sum = t:var(t:const(0, "f32"))
            t:loop(p.dim, function(d)
                local a = t:load(b.coord, d * p.num + i)
                local c = t:load(b.coord, d * p.num + x)
                t:alu(p.alu)
                sum:set(sum + (a - c) * (a - c))
            end)
            local weight = t:load(b.pt, 8 * i)
            local cost = t:load(b.pt, 8 * i + 6)
            t:alu(3)
            local row = i * (p.centres + 1)
            t:when((sum * weight):lt(cost), function()
                t:store(b.sw, i, 1)
                t:load(b.work, row + p.centres)
                t:alu(3)
                t:store(b.work, row + p.centres)
            end, function()
                local assign = t:load(b.pt, 8 * i + 4, { vec = 2 })
                local centre = t:load(b.ctab, assign:int())
                t:load(b.work, row + centre)
                t:alu(4)
                t:store(b.work, row + centre)
            end)
        end)
    end)
end

return app {
    name = "STREAMCLUSTER", suite = "Rodinia",
    source = "Rodinia 3.1 streamcluster",
    summary = "is a point a better centre?  Two new pages for each dimension",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { num = 65536, dim = 256, centres = 20, launches = 8, alu = 8,
        seed = 1 },
    sizes = {
        T = { num = 1100, dim = 8, centres = 4, launches = 2 },
        S = { num = 16384 },
        M = { num = 65536 },
        L = { num = 262144, launches = 4 },
        XL = { num = 1048576, launches = 4 },
    },
    footprint = function(p)
        return 4 * (p.num + 1) * (p.centres + 1) + 37 * p.num
            + 4 * p.num * p.dim
    end,
    truncated = function(p)
        return string.format("the first %d candidates; a round of the search "
            .. "has %d", p.launches, ROUND)
    end,

    buffers = function(p)
        h.check(p.num < 1 << 24, "STREAMCLUSTER: num is below 2^24")
        local generate = require "heddle.generate"
        local c = generate.clusters { n = p.num, dim = p.dim,
            centres = p.centres, seed = p.seed }
        local number = {}
        for k = 0, p.centres - 1 do number[c.centre[k]] = k end
        local function pt(i)
            local point, field = i // 8, i % 8
            if field == 0 then return 1 end -- weight
            if field == 4 then return c.centre[c.nearest[point]] end
            return field == 6 and c.cost[point] or 0
        end
        return {
            f32("work", p.num + 1, p.centres + 1),
            i32("ctab", p.num, { data = function(i) return number[i] or 0 end }),
            u8("sw", p.num),
            f32("pt", p.num, 8, { data = pt }),
            f32("coord", p.dim, p.num, { data = c.coords }),
        }
    end,

    kernels = function(p, b)
        local try, launches = pgain(p, b), {}
        local x = require "heddle.generate".ints { n = p.launches,
            lo = 0, hi = p.num - 1, seed = p.seed }
        for i = 1, p.launches do
            launches[i] = { try, args = { x = x[i - 1] } }
        end
        return launches
    end,
}

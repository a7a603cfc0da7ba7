--[[
PATHFINDER - the cheapest path through a grid, row by row, Rodinia 3.1
pathfinder (one of the six programs of Pichai et al.).

Arrays, in order: res0, res1 i32 cols, wall i32 [rows-1][cols] (the first row
is the start of res0).  Footprint 4 (rows + 1) cols bytes.

A launch takes `pyramid` rows (20), the last one what is left; res0 and res1
change places.  Blocks of 256 threads with a halo on both sides: of a launch
with h steps 256 - 2 h columns are a block's own, x = (256 - 2 h) bx - 20 + tx.
The grid is that of full launches, ceil(cols / 216), as in the source.
  load     one of the row before into shared memory, one page
  step s   threads s+1 .. 254-s: wall[t + s][x], one page, one or two lines;
           the next row is 4 cols bytes further: a new page each step, never
           read again.  Two barriers a step, one after the last.
  store    threads h .. 255-h

Addresses are driven by indices alone; no contents.  Divergence: the halo.

Approximated: alu counts (14 a step and the loop's own; 4 to 5 % of the
instructions access memory).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, i32 = h.app, h.kernel, h.i32

local BLOCK = 256

-- One launch of `its` rows; the argument t0 is the row of wall it starts at.
local function dynproc(p, its, src, dst, wall)
    local small = BLOCK - 2 * its
    local options = { grid = h.ceil(p.cols, BLOCK - 2 * p.pyramid),
        block = BLOCK, regs = 18, shared = 2 * 4 * BLOCK,
        args = { t0 = 0 } }
    return kernel("path_" .. src.name .. "_" .. its, options, function(t)
        local x = small * t.bx - p.pyramid + t.tx
        local inside = x:ge(0):band(x:lt(p.cols))
        local first = t:arg "t0" * p.cols + x
        t:alu(22)
        t:when(inside, function()
            local v = t:load(src, x)
            t:shared(1, { uses = { v } })
        end)
        t:sync()
        for s = 0, its - 1 do
            local active = t.tx:gt(s):band(t.tx:lt(BLOCK - 1 - s)):band(inside)
            t:alu(3)
            t:when(active, function()
                t:shared(3)
                t:load(wall, first + s * p.cols)
                t:alu(p.alu)
                t:shared(1)
            end)
            t:sync()
            if s < its - 1 then
                t:when(active, function() t:shared(2) end)
                t:sync()
            end
        end
        local last = t.tx:ge(its):band(t.tx:lt(BLOCK - its)):band(inside)
        t:when(last, function()
            t:shared(1)
            t:store(dst, x)
        end)
    end)
end

return app {
    name = "PATHFINDER", suite = "Rodinia", source = "Rodinia 3.1 pathfinder",
    summary = "dynamic programming over rows; a new page for each step",
    registers = "guess: ptxas 13 for sm_75, loops not unrolled",
    params = { cols = 100000, rows = 100, pyramid = 20, alu = 14 },
    sizes = {
        T = { cols = 1000, rows = 8, pyramid = 3 },
        S = { cols = 100000 },
        M = { cols = 160000 },
        L = { cols = 900000 },
        XL = { cols = 2700000 },
    },
    footprint = function(p) return 4 * (p.rows + 1) * p.cols end,

    buffers = function(p)
        h.check(p.rows >= 2 and p.pyramid >= 1 and p.pyramid <= 120,
            "PATHFINDER: rows is at least 2, pyramid 1 to 120")
        return { i32("res0", p.cols), i32("res1", p.cols),
            i32("wall", p.rows - 1, p.cols) }
    end,

    kernels = function(p, b)
        local launches, made = {}, {}
        local src, dst = b.res0, b.res1
        for t0 = 0, p.rows - 2, p.pyramid do
            local its = math.min(p.pyramid, p.rows - 1 - t0)
            local key = src.name .. its
            made[key] = made[key] or dynproc(p, its, src, dst, b.wall)
            launches[#launches + 1] = { made[key], args = { t0 = t0 } }
            src, dst = dst, src
        end
        return launches
    end,
}

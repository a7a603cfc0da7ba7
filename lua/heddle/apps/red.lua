--[[
RED - sum of an array, SHOC Reduction (also MASK, Mosaic).

Arrays, in order: in[n], out[grid], f32.  Footprint 4 (n + grid) bytes.

`launches` identical launches of `grid` = 64 blocks of 256 threads.  A thread
adds elements i and i + 256 for i = 512 bx + tid, then 32,768 further, and so
on; a tree in shared memory follows, and thread 0 stores.  Both loads are in one
page, which serves two blocks; the next round is 32 pages on: one new page a
warp and round.  11 instructions a round, those of MAFIA's PTX (alu = 7: two
sums, five for pointer and loop), and with what is outside the loop 16 a round
at size S.

SHOC runs 2560 launches over floats and as many over doubles.  Addresses are
driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; the launches over doubles are left out, since they are the same with twice the bytes.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B, SUMS = 256, 2

return app {
    name = "RED", suite = "SHOC", source = "SHOC level 1 Reduction",
    summary = "sum of an array: one new page a warp and round",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 262144, grid = 64, launches = 8, alu = 7 },
    sizes = {
        T = { n = 8192, grid = 4, launches = 2 },
        R = { n = 262144 },
        S = { n = 262144 },
        M = { n = 8388608, launches = 4 },
        L = { n = 16777216, launches = 4 },
    },
    footprint = function(p) return 4 * (p.n + p.grid) end,
    truncated = function(p)
        return string.format("%d of 2560 launches, none over doubles",
            p.launches)
    end,

    buffers = function(p)
        h.check(p.n % (2 * B) == 0, "RED: n is a multiple of 512")
        h.check(p.alu >= SUMS, "RED: alu is 2 or more")
        return { f32("in", p.n), f32("out", p.grid) }
    end,

    kernels = function(p, b)
        local options = { grid = p.grid, block = B, regs = 11, shared = 4 * B }
        local k = kernel("reduce", options, function(t)
            t:alu(6)
            t:shared(1)
            t:alu(17)
            t:loop(2 * B * t.bx + t.tid, p.n, 2 * B * p.grid, function(i)
                t:shared(1)
                t:load(b["in"], i)
                t:load(b["in"], i + B)
                t:alu(SUMS)
                t:shared(1)
                t:alu(p.alu - SUMS)
            end)
            t:sync()
            for _, s in ipairs { 128, 64 } do
                t:alu(3)
                t:when(t.tid:lt(s), function() t:shared(3) t:alu(1) end)
                t:sync()
            end
            t:alu(3)
            t:when(t.tid:lt(32), function() t:shared(3 * 6) t:alu(6) end)
            t:alu(3)
            t:when(t.tid:eq(0), function()
                t:shared(1)
                t:alu(4)
                t:store(b.out, t.bx)
            end)
        end)
        local launches = {}
        for i = 1, p.launches do launches[i] = k end
        return launches
    end,
}

--[[
3DS - finite differences in three dimensions, eighth order (NVIDIA's 3DFD, as
MAFIA, MASK and Mosaic run it).

Arrays, in order: in[dimz][dimy][dimx], out likewise, coef[10], f32.  Footprint
8 dimx dimy dimz + 40 bytes.

One launch of (dimx/32) x (dimy/8) blocks of 32 x 8 threads.  A block marches
through the planes with eight of them in registers and one in shared memory.
Each step loads one element of the plane four ahead, the rows 8 above and 8
below its own, and for 8 lanes the columns 8 to the left and 32 to the right;
five broadcasts of coef; one store.  A warp is one row of 128 bytes: one line,
one page.  The next step is a plane further (32 pages at 256 x 128), so pages
turn over without divergence.  80 instructions a step, of them 17 reads of
shared memory and some 30 of arithmetic, and two barriers.

What is loaded ahead is waited for where the sum takes it, behind the second
barrier; what goes to shared memory, before that.

Addresses are driven by indices alone; no contents.  Halo reads may wrap into
the neighbouring row or plane, as in the source; all lie inside the array.
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local R = 4 -- radius
local X, Y = 32, 8

return app {
    name = "3DS", suite = "CUDA", source = "MAFIA 3DS (NVIDIA 3DFD)",
    summary = "eighth-order stencil marching through planes",
    params = { dimx = 256, dimy = 128, dimz = 128 },
    sizes = {
        T = { dimx = 64, dimy = 16, dimz = 20 },
        S = { dimx = 256, dimy = 128, dimz = 128 },
        M = { dimx = 512, dimy = 256, dimz = 128 },
        L = { dimx = 640, dimy = 480, dimz = 100 },
    },
    footprint = function(p) return 8 * p.dimx * p.dimy * p.dimz + 40 end,

    buffers = function(p)
        assert(p.dimx % X == 0 and p.dimy % Y == 0 and p.dimz > 4 * R,
            "3DS: dimx is a multiple of 32, dimy of 8, dimz above 16")
        return { f32("in", p.dimz, p.dimy, p.dimx),
            f32("out", p.dimz, p.dimy, p.dimx), f32("coef", 10) }
    end,

    kernels = function(p, b)
        local plane = p.dimx * p.dimy
        local options = { grid = { p.dimx // X, p.dimy // Y },
            block = { X, Y }, shared = 4 * (X + 4 * R) * (Y + 4 * R) }
        return { kernel("stencil", options, function(t)
            local at = t.gy * p.dimx + t.gx
            local halo = t.tx:lt(2 * R)
            t:alu(12)
            local column = {}
            for q = 0, 2 * R - 1 do
                column[q + 1] = t:load(b["in"], at + q * plane)
            end
            t:loop(p.dimz - 4 * R, function(q)
                local front = at + (q + 2 * R) * plane
                local o = at + (q + R) * plane
                t:alu(9, { uses = {} })
                t:load(b["in"], front)
                t:sync()
                local up = t:load(b["in"], o - 2 * R * p.dimx)
                local down = t:load(b["in"], o + Y * p.dimx)
                t:shared(2, { uses = { up, down } })
                t:when(halo, function()
                    local left = t:load(b["in"], o - 2 * R)
                    local right = t:load(b["in"], o + X)
                    t:shared(2, { uses = { left, right } })
                end)
                t:shared(1, { uses = column })
                t:sync()
                for c = 0, 4 do t:load(b.coef, c) end
                t:shared(17, { uses = {} })
                t:alu(36)
                t:store(b.out, o)
            end)
        end) }
    end,
}

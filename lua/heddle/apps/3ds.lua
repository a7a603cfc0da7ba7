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
turn over without divergence.  Two barriers a step.

Instructions between accesses are those of MAFIA's PTX, block by block and in
its order: 99 a step.  A halo element is waited for before the next is loaded,
a coefficient where the sum takes it, what is loaded ahead where the last
coefficient does.

Addresses are driven by indices alone; no contents.  Halo reads may wrap into
the neighbouring row or plane, as in the source; all are inside the array.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local R = 4 -- radius
local X, Y = 32, 8

-- A load and the store of its value to shared memory.
local function stage(t, buffer, at)
    t:shared(1, { uses = { t:load(buffer, at) } })
end

return app {
    name = "3DS", suite = "CUDA", source = "MAFIA 3DS (NVIDIA 3DFD)",
    summary = "eighth-order stencil marching through planes",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { dimx = 256, dimy = 128, dimz = 128 },
    sizes = {
        T = { dimx = 64, dimy = 16, dimz = 20 },
        R = { dimx = 256, dimy = 128, dimz = 128 },
        S = { dimx = 256, dimy = 128, dimz = 128 },
        M = { dimx = 512, dimy = 256, dimz = 128 },
        L = { dimx = 640, dimy = 480, dimz = 100 },
    },
    footprint = function(p) return 8 * p.dimx * p.dimy * p.dimz + 40 end,

    buffers = function(p)
        h.check(p.dimx % X == 0 and p.dimy % Y == 0 and p.dimz > 4 * R,
            "3DS: dimx is a multiple of 32, dimy of 8, dimz above 16")
        return { f32("in", p.dimz, p.dimy, p.dimx),
            f32("out", p.dimz, p.dimy, p.dimx), f32("coef", 10) }
    end,

    kernels = function(p, b)
        local plane = p.dimx * p.dimy
        local options = { grid = { p.dimx // X, p.dimy // Y },
            block = { X, Y }, regs = 31,
            shared = 4 * (X + 4 * R) * (Y + 4 * R) }
        return { kernel("stencil", options, function(t)
            local at = t.gy * p.dimx + t.gx
            local halo = t.tx:lt(2 * R)
            t:alu(13)
            local column = {}
            for q = 0, 2 * R - 1 do
                t:alu(4, { uses = {} })
                column[q + 1] = t:load(b["in"], at + q * plane)
            end
            t:alu(44, { uses = {} })
            t:loop(p.dimz - 4 * R, function(q)
                local front = at + (q + 2 * R) * plane
                local o = at + (q + R) * plane
                t:alu(12, { uses = column })
                local ahead = t:load(b["in"], front)
                t:sync()
                t:alu(11, { uses = {} })
                stage(t, b["in"], o - 2 * R * p.dimx)
                t:alu(4, { uses = {} })
                stage(t, b["in"], o + Y * p.dimx)
                t:alu(1, { uses = {} })
                t:when(halo, function()
                    t:alu(5, { uses = {} })
                    stage(t, b["in"], o - 2 * R)
                    stage(t, b["in"], o + X)
                end)
                t:shared(1, { uses = {} })
                t:sync()
                t:alu(1, { uses = { t:load(b.coef, 0) } })
                for c = 1, 4 do
                    local factor = t:load(b.coef, c)
                    t:shared(4, { uses = {} })
                    t:alu(5, { uses = c == 4 and { ahead } or {} })
                    t:alu(c == 4 and 2 or 1, { uses = { factor } })
                end
                t:store(b.out, o)
                t:alu(6)
            end)
        end) }
    end,
}

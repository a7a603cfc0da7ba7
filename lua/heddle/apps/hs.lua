--[[
HS - thermal simulation of a chip, Rodinia hotspot (also MASK, Mosaic).

Arrays, in order: temp0[n][n], temp1[n][n], power[n][n], f32.  Footprint
12 n^2 bytes.

A launch advances `pyramid` = 2 time steps on tiles of 16 x 16 threads that
overlap by the pyramid's border: the grid is ceil(n/12) squared, and the last
launch does what is left of `steps` (with one step the tiles are 14 apart but
keep their border of 2, as the source has it).  Source and result change places
from launch to launch.

A thread inside the chip loads its temperature and power into shared memory;
each step updates a square that shrinks by one on each side; the threads of the
last square store.  A warp is two rows of 16: 2.9 lines; one page for n <= 512,
two from 1024 on.  Instructions between accesses are those of MAFIA's PTX (237
in all), block by block: each load is waited for by its store to shared memory;
a step has 75 instructions in the square and two barriers, the last one barrier.

Approximated: lanes outside the chip or the square run all tests of their
coordinates, where some would leave after the first.

Addresses are driven by indices alone; no contents.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local B = 16

-- The kernel for `its` steps from src to dst.
local function tile(p, its, src, dst, power)
    local tiles = h.ceil(p.n, B - 2 * p.pyramid)
    local small = B - 2 * its
    local options = { grid = { tiles, tiles }, block = { B, B }, regs = 35,
        shared = 3 * 4 * B * B }
    return kernel("hotspot_" .. src.name .. "_" .. its, options, function(t)
        local x = small * t.bx - p.pyramid + t.tx
        local y = small * t.by - p.pyramid + t.ty
        local inside = x:ge(0):band(x:lt(p.n)):band(y:ge(0)):band(y:lt(p.n))
        local index = y * p.n + x
        t:alu(30)
        t:when(inside, function()
            t:alu(13)
            t:shared(1, { uses = { t:load(src, index) } })
            t:alu(3)
            t:shared(1, { uses = { t:load(power, index) } })
            t:alu(1)
        end)
        t:alu(2)
        t:sync()
        t:alu(56)
        for i = 0, its - 1 do
            local in_square = t.tx:gt(i):band(t.tx:lt(B - 1 - i))
                :band(t.ty:gt(i)):band(t.ty:lt(B - 1 - i)):band(inside)
            t:alu(20)
            t:when(in_square, function()
                t:shared(6)
                t:alu(48)
                t:shared(1)
            end)
            t:sync()
            t:alu(2)
            if i < its - 1 then
                t:alu(5)
                t:when(in_square, function()
                    t:alu(7)
                    t:shared(2)
                end)
                t:sync()
                t:alu(3)
            end
        end
        local last = t.tx:ge(its):band(t.tx:lt(B - its))
            :band(t.ty:ge(its)):band(t.ty:lt(B - its)):band(inside)
        t:alu(3)
        t:when(last, function()
            t:alu(19)
            t:shared(1)
            t:store(dst, index)
        end)
    end)
end

return app {
    name = "HS", suite = "Rodinia", source = "Rodinia 3.1 hotspot",
    summary = "five-point stencil in overlapping tiles of shared memory",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 1024, steps = 3, pyramid = 2 },
    sizes = {
        T = { n = 64 },
        R = { n = 512 },
        S = { n = 1024 },
        M = { n = 2304 },
        L = { n = 4096 },
    },
    footprint = function(p) return 12 * p.n * p.n end,

    buffers = function(p)
        h.check(p.pyramid >= 1 and p.pyramid <= 7, "HS: pyramid is 1 to 7")
        return { f32("temp0", p.n, p.n), f32("temp1", p.n, p.n),
            f32("power", p.n, p.n) }
    end,

    kernels = function(p, b)
        local launches, made = {}, {}
        local src, dst, left = b.temp0, b.temp1, p.steps
        while left > 0 do
            local its = math.min(left, p.pyramid)
            local key = src.name .. its
            made[key] = made[key] or tile(p, its, src, dst, b.power)
            launches[#launches + 1] = made[key]
            src, dst, left = dst, src, left - its
        end
        return launches
    end,
}

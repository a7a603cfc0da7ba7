--[[
LPS - one Jacobi step of Laplace's equation in three dimensions, ISPASS-2009
laplace3d (also MAFIA, MASK, Mosaic, ETC).

Arrays, in order: u1, u2, f32 x pitch ny nz.  Footprint 8 pitch ny nz bytes.
pitch = 0 stands for rows of nx elements, as the papers' simulator lays them
out; real hardware pads rows to 512 bytes (pitch = 128 for nx = 100).

`repeats` launches of ceil(nx/32) x ceil(ny/4) blocks of 32 x 4 threads; source
and result change places from one to the next.  A block marches through the
planes with three of them in shared memory: each round loads the next plane of
its 32 x 4 columns and a halo, and stores one plane, two barriers a round.
  main   a warp is 32 elements of a row: one or two lines, one page, and a new
         page for every plane (9.8 pages on, at 100 x 100)
  halo   of the block's 76 halo elements the first warp loads the row above,
         the second the row below, 12 lanes of the third the ends of six rows
Where nx is not a multiple of 32 the last blocks have few lanes.  Elements at
the border are copied, the others are the mean of six neighbours: warps at the
border diverge.

Instructions between accesses are those of MAFIA's PTX, block by block: 87 a
plane with halo and inside, 66 without halo.

Addresses are driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local BX, BY = 32, 4
local HALO = 2 * BX + 2 * (BY + 2)

local function pitch(p) return p.pitch > 0 and p.pitch or p.nx end

-- Row and column of a thread's halo element, and whether there is one.
local function halo_of(t, p)
    local side = t.ty:gt(1)
    local i = BX * t.bx + t:select(side, t.tid % 2 * (BX + 1) - 1, t.tx)
    local j = BY * t.by + t:select(side, t.tid // 2 - (BX + 1), 5 * t.ty - 1)
    local has = t.tid:lt(HALO):band(i:ge(0)):band(i:lt(p.nx))
        :band(j:ge(0)):band(j:lt(p.ny))
    t:when(t.tid:lt(HALO), function()
        t:alu(4)
        t:when(side, function() t:alu(15) end, function() t:alu(4) end)
        t:alu(29)
    end, function() t:alu(5) end)
    return i + pitch(p) * j, has
end

-- The first plane of one element.
local function first(t, u1, at, has, before, after)
    t:when(has, function()
        t:alu(before)
        local x = t:load(u1, at)
        t:alu(after, { uses = {} })
        t:shared(1, { uses = { x } })
    end)
end

-- One plane down: the shared planes move, the next is loaded.
local function advance(t, u1, at, has, more, alu)
    t:when(has, function()
        t:alu(alu)
        t:shared(4)
        t:alu(2)
        t:when(more, function()
            t:alu(4)
            local x = t:load(u1, at)
            t:shared(1, { uses = { x } })
        end)
    end)
end

local function laplace(p, u1, u2)
    local options = { grid = { h.ceil(p.nx, BX), h.ceil(p.ny, BY) },
        block = { BX, BY }, regs = 17, shared = 4 * 3 * (BX + 2) * (BY + 2) }
    local plane = pitch(p) * p.ny
    return kernel("laplace_" .. u1.name, options, function(t)
        local i, j = t.gx, t.gy
        local at = i + pitch(p) * j
        local active = i:lt(p.nx):band(j:lt(p.ny))
        local rim = i:eq(0):bor(i:eq(p.nx - 1)):bor(j:eq(0))
            :bor(j:eq(p.ny - 1))
        t:alu(13)
        local halo_at, halo = halo_of(t, p)
        t:alu(13)
        first(t, u1, at, active, 5, 7)
        t:alu(4)
        first(t, u1, halo_at, halo, 5, 4)
        t:alu(15)
        t:loop(p.nz, function(k)
            local more = k:lt(p.nz - 1)
            t:alu(3)
            advance(t, u1, at + plane * (k + 1), active, more, 6)
            t:alu(1)
            advance(t, u1, halo_at + plane * (k + 1), halo, more, 8)
            t:sync()
            t:alu(3)
            t:when(active, function()
                t:alu(15)
                t:when(rim:bor(k:eq(0)):bor(k:eq(p.nz - 1)), function()
                    t:alu(3)
                    t:shared(1)
                    t:alu(1)
                end, function()
                    t:alu(3)
                    t:shared(6)
                    t:alu(7)
                end)
                t:alu(5)
                t:store(u2, at + plane * k)
            end)
            t:sync()
            t:alu(3)
        end)
    end)
end

return app {
    name = "LPS", suite = "ISPASS-2009", source = "ISPASS-2009 laplace3d",
    summary = "7-point stencil marching through planes, a page a plane",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { nx = 100, ny = 100, nz = 100, pitch = 0, repeats = 1 },
    sizes = {
        T = { ny = 18, nz = 5, repeats = 2 },
        R = { nx = 100 },
        S = { nx = 100 },
        M = { nx = 256, ny = 256, nz = 128 },
        L = { nx = 512, ny = 256, nz = 256 },
    },
    footprint = function(p) return 8 * pitch(p) * p.ny * p.nz end,

    buffers = function(p)
        h.check(p.pitch == 0 or p.pitch >= p.nx,
            "LPS: pitch is 0 or at least nx")
        return { f32("u1", p.nz, p.ny, pitch(p)),
            f32("u2", p.nz, p.ny, pitch(p)) }
    end,

    kernels = function(p, b)
        local there, back = laplace(p, b.u1, b.u2), laplace(p, b.u2, b.u1)
        local launches = {}
        for i = 1, p.repeats do
            launches[i] = there
            there, back = back, there
        end
        return launches
    end,
}

--[[
NW - alignment of two sequences by Needleman and Wunsch, Rodinia nw (also MASK,
Mosaic).

Arrays, in order: ref, mat, i32 x (n + 1)^2.  Footprint 8 (n + 1)^2 bytes.

The matrix is filled in tiles of 16 x 16 along its anti-diagonals, w = n/16
tiles wide: launches of 1, 2, .. w blocks (needle_1) and then of w - 1, .. 1
(needle_2).  A block is 16 threads, half a warp: it loads a column of 16 rows
of ref (64 bytes each), the west column of mat, one element from each of 16
rows - a row is 8196 bytes at n = 2048, so 16 lines and 16 pages in one
instruction - and the north row; then 31 steps of a wavefront in shared memory
with 1, 2, .. 16, .. 1 lanes, a barrier after each; then it stores 16 rows.
Every row of a tile is in pages of its own, and only 1 to w half-warps run at
a time.

Instructions between accesses are those of MAFIA's PTX, block by block and in
its order, where each load is followed by the store to shared memory that waits
for it: 1180 a tile.  With code = "sass" they are what a GPU runs, nvcc 13's for
sm_75: all 16 loads of ref at once (and the corner, or the corner and the west
column), 664 a tile.

The older program of the Mosaic release passes a third array that it never
touches; it is left out.  Addresses are driven by indices and the launch's i;
no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, i32 = h.app, h.kernel, h.i32

local B = 16

-- A load and the store of its value to shared memory.
local function stage(t, buffer, at, alu)
    t:alu(alu)
    local x = t:load(buffer, at)
    t:shared(1, { uses = { x } })
end

local function rows_of_ref(t, b, at, c)
    for r = 0, B - 1 do
        stage(t, b.ref, at + c * r, r == 0 and 9 or r == 1 and 4 or 5)
    end
end

-- The half of the wavefront from `from` to `to`; `alu` of the lanes in it.
local function wavefront(t, from, to, step, alu)
    for m = from, to, step do
        t:alu(2)
        t:when(t.tx:le(m), function()
            t:alu(alu - 8)
            t:shared(4)
            t:alu(8)
            t:shared(1)
        end)
        t:sync()
        t:alu(4)
    end
end

-- Corner, west column and north row, then the tile; base is its corner.
local function tile(t, b, base, c, corner_first)
    local function corner()
        t:when(t.tx:eq(0), function() stage(t, b.mat, base, 3) end)
    end
    local at = base + c + 1 + t.tx
    if corner_first then corner() end
    rows_of_ref(t, b, at, c)
    t:sync()
    if not corner_first then
        t:alu(3)
        corner()
    end
    stage(t, b.mat, base + c + c * t.tx, 6)
    t:sync()
    stage(t, b.mat, base + 1 + t.tx, 4)
    t:sync()
    t:alu(1)
    wavefront(t, 0, B - 1, 1, 18)
    t:alu(1)
    wavefront(t, B - 2, 0, -1, 21)
    for r = 0, B - 1 do
        t:shared(1)
        t:alu(1)
        t:store(b.mat, at + c * r)
    end
end

-- The tile as compiled for sm_75.
local function tile_sass(t, b, base, c, corner_first)
    local at = base + c + 1 + t.tx
    local function corner()
        t:when(t.tx:eq(0), function() t:load(b.mat, base) end)
    end
    t:alu(corner_first and 3 or 4)
    if corner_first then corner() end
    for r = 0, B - 1 do
        t:load(b.ref, at + c * r)
        if r < B - 1 then t:alu(1, { uses = {} }) end
    end
    t:alu(corner_first and 3 or 4, { uses = {} })
    t:shared(corner_first and B + 1 or B)
    t:sync()
    if not corner_first then corner() end
    t:load(b.mat, base + c + c * t.tx)
    t:alu(corner_first and 4 or 3, { uses = {} })
    t:shared(corner_first and 1 or 2)
    t:sync()
    t:load(b.mat, base + 1 + t.tx)
    t:alu(corner_first and 17 or 14, { uses = {} })
    t:shared(1)
    t:alu(1)
    t:sync()
    for step = 0, 2 * B - 2 do
        local early = step < 7
        t:alu(early and 2 or 4)
        t:when(t.tx:le(step < B and step or 2 * B - 2 - step), function()
            t:shared(4)
            t:alu(5)
            t:shared(1)
        end)
        t:alu(early and 2 or 1)
        t:sync()
    end
    for r = 0, B - 1 do
        t:shared(1)
        t:alu(r < (corner_first and 9 or 7) and 3 or 2)
        t:store(b.mat, at + c * r)
    end
end

-- Up to the longest diagonal, then on from it.
local function needle(p, b, down)
    local sass = h.choice(p, "code", "ptx", "sass") == "sass"
    local options = { grid = 1, block = B, args = { i = 1 },
        regs = sass and 54 or 47,
        shared = 4 * (B * B + (B + 1) * (B + 1)) }
    local c, w = p.n + 1, p.n // B
    return kernel(down and "needle_2" or "needle_1", options, function(t)
        local i = t:arg("i")
        local x, y = t.bx, i - 1 - t.bx
        if down then x, y = t.bx + w - i, w - 1 - t.bx end
        t:alu(17)
        if sass then
            return tile_sass(t, b, B * c * y + B * x, c, not down)
        end
        tile(t, b, B * c * y + B * x, c, not down)
    end)
end

return app {
    name = "NW", suite = "Rodinia", source = "Rodinia 3.1 nw",
    summary = "wavefront of tiles; a column of 16 rows is 16 pages",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 2048, code = "ptx" },
    sizes = {
        T = { n = 64 },
        R = { n = 2048 },
        S = { n = 2048 },
        M = { n = 2880 },
        L = { n = 4096 },
    },
    footprint = function(p) return 8 * (p.n + 1) * (p.n + 1) end,

    buffers = function(p)
        h.check(p.n % B == 0, "NW: n is a multiple of 16")
        return { i32("ref", p.n + 1, p.n + 1), i32("mat", p.n + 1, p.n + 1) }
    end,

    kernels = function(p, b)
        local up, down = needle(p, b, false), needle(p, b, true)
        local launches, w = {}, p.n // B
        for i = 1, w do
            launches[#launches + 1] = { up, grid = i, args = { i = i } }
        end
        for i = w - 1, 1, -1 do
            launches[#launches + 1] = { down, grid = i, args = { i = i } }
        end
        return launches
    end,
}

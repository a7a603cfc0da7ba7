--[[
SAD - sums of absolute differences for motion estimation, Parboil sad (also
MASK, Mosaic).

Arrays, in order: frame and ref u16 width height, sad u16[41][1096] for each
macroblock of 16 x 16 pixels.  Footprint 4 width height + 89,872 (width/16)
(height/16) bytes.  sad holds, for M macroblocks, 25 M vectors of 1096 sums
(33 x 33 search positions, padded) from each of which larger blocks are added:
4x4 from vector 25 M on, 8x4 from 17 M, 4x8 from 9 M, 8x8 from 5 M, 16x8 from
3 M, 8x16 from M, 16x16 from 0.

Three launches:
  blocks   one block of 61 threads for each 4x4 block of the frame: 16 threads
           load it into shared memory; thread t then takes 18 search positions
           from 18 t on, three at a time, whose 4 x 6 pixels of ref are texture
           fetches, clamped at the border (144 a thread; two pages on average,
           all within 13); the first warp writes the 2,192 bytes of the vector,
           8 a lane
  pairs    blocks of 32 x 4, one a macroblock: 8x4, 4x8 and 8x8 from 4x4,
           18 rounds of four loads and five stores of two sums a lane
  quads    blocks of 32: 16x8, 8x16 and 16x16 from 8x8, alike
One line, one page an access but for the texture.  The first kernel computes,
the others stream what it has left.  Instructions between accesses are those of
MAFIA's PTX, block by block: 16.5 a fetch beside it, and 32 more for each three
positions; 22 a round of the others.  Each fetch is waited for before the next.

Addresses are driven by indices alone; no contents.  Approximated: the
texture (ref) is stored row by row.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, i32 = h.app, h.kernel, h.u8, h.i32

local RANGE, SIDE = 16, 33 -- search positions: 33 x 33
local POSITIONS = 18 -- of a thread
local WORDS = 548 -- of 4 bytes, in a vector of 1096 sums

local function macroblocks(p) return (p.width // 16) * (p.height // 16) end

-- Instructions of a row of six pixels: before the first fetch, and after each
-- of them before and after the pixel of frame that it meets first.
local START, ROW = 8, { { 6, 10 }, { 2, 12 }, { 2, 15 }, { 2, 15 }, { 14 },
    { 9 } }

-- Six pixels in each of four rows of ref, for three search positions.
local function three(t, p, b, x0, y0)
    local x = {}
    for i = 0, 5 do x[i] = (x0 + i):max(0):min(p.width - 1) end
    t:alu(17)
    for j = 0, 3 do
        local row = (y0 + j):max(0):min(p.height - 1) * p.width
        t:alu(START)
        for i, alu in ipairs(ROW) do
            local v = t:load(b.ref, 2 * (row + x[i - 1]), { vec = 2 })
            t:alu(alu[1], { uses = { v } })
            if alu[2] then
                t:shared(1)
                t:alu(alu[2])
            end
        end
    end
    t:alu(3)
    t:shared(3)
end

local function blocks(p, b)
    local options = { grid = { p.width // 4, p.height // 4 }, block = 61, regs = 32,
        shared = 2 * 16 + 2 * 1096 }
    return kernel("blocks", options, function(t)
        t:alu(9)
        t:when(t.tid:lt(16), function()
            t:alu(39)
            local at = (4 * t.by + t.tid // 4) * p.width + 4 * t.bx + t.tid % 4
            local pixel = t:load(b.frame, 2 * at, { vec = 2 })
            t:alu(6, { uses = {} })
            t:shared(1, { uses = { pixel } })
            t:alu(2)
        end, function() t:alu(5) end)
        t:sync()
        t:alu(69)
        local first = POSITIONS * t.tid
        local row, column = t:var(first // SIDE), t:var(first % SIDE)
        -- the last thread has 9 of the 1089 positions
        t:loop(t:select(t.tid:eq(60), 3, 6), function()
            three(t, p, b, 4 * t.bx - RANGE + column, 4 * t.by - RANGE + row)
            t:alu(4)
            column:set(column + 3)
            local wraps = column:ge(SIDE)
            row:set(t:select(wraps, row + 1, row))
            column:set(t:select(wraps, column - SIDE, column))
            t:when(wraps, function() t:alu(2) end)
            t:alu(3)
        end)
        t:sync()
        t:alu(4)
        t:when(t.tid:lt(32), function()
            local mb = (t.by // 4) * (p.width // 16) + t.bx // 4
            local at = WORDS * (25 * macroblocks(p) + 16 * mb
                + 4 * (t.by % 4) + t.bx % 4)
            t:alu(52)
            t:loop(t.tid, WORDS // 2, 32, function(q)
                t:alu(3)
                t:shared(1)
                t:store(b.sad, at + 2 * q, { vec = 2 })
                t:alu(4)
            end)
        end)
    end)
end

-- Rounds of four loads and five stores of a row of lanes: words from + {...}
-- and to + {...} in vectors, each at s = tx, tx + 32, ..
local function add(t, b, from, to)
    t:loop(t.tx, 545, 32, function(s)
        local v = {}
        for i, at in ipairs(from) do
            v[i] = t:load(b.sad, at * WORDS + s)
        end
        for _, at in ipairs(to) do
            t:alu(1, { uses = v })
            t:store(b.sad, at * WORDS + s)
        end
        t:alu(8)
    end)
end

local function pairs_of(p, b)
    local options = { grid = { p.width // 16, p.height // 16 },
        block = { 32, 4 }, regs = 16 }
    return kernel("pairs", options, function(t)
        local M = macroblocks(p)
        local mb = t.by * (p.width // 16) + t.bx
        local u, v = t.ty % 2, t.ty // 2
        local src = 25 * M + 16 * mb + 8 * v + 2 * u
        local wide = 17 * M + 8 * mb + 4 * v + 2 * u
        local tall = 9 * M + 8 * mb + 4 * v + u
        t:alu(98)
        add(t, b, { src, src + 1, src + 4, src + 5 },
            { wide, wide + 1, tall, tall + 2, 5 * M + 4 * mb + 2 * v + u })
    end)
end

local function quads(p, b)
    local options = { grid = { p.width // 16, p.height // 16 }, block = 32,
        regs = 16 }
    return kernel("quads", options, function(t)
        local M = macroblocks(p)
        local mb = t.by * (p.width // 16) + t.bx
        local src, wide, tall = 5 * M + 4 * mb, 3 * M + 2 * mb, M + 2 * mb
        t:alu(50)
        add(t, b, { src, src + 1, src + 2, src + 3 },
            { wide, wide + 1, tall, tall + 1, mb })
    end)
end

return app {
    name = "SAD", suite = "Parboil", source = "Parboil sad",
    summary = "motion estimation: a computing kernel, then streams",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { width = 176, height = 144 },
    sizes = {
        T = { width = 32, height = 32 },
        R = { width = 176, height = 144 },
        S = { width = 176, height = 144 },
        M = { width = 352, height = 288 },
        L = { width = 704, height = 576 },
    },
    footprint = function(p)
        return 4 * p.width * p.height + 41 * 4 * WORDS * macroblocks(p)
    end,

    buffers = function(p)
        h.check(p.width % 16 == 0 and p.height % 16 == 0 and p.width > 0
            and p.height > 0, "SAD: width and height are multiples of 16")
        local pixels = p.width * p.height
        return { u8("frame", 2 * pixels),
            u8("ref", 2 * pixels, { texture = true }),
            i32("sad", 41 * WORDS * macroblocks(p)) }
    end,

    kernels = function(p, b)
        return { blocks(p, b), pairs_of(p, b), quads(p, b) }
    end,
}

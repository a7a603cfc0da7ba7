--[[
CONS - separable convolution of an image, CUDA SDK convolutionSeparable with
the constants of the MAFIA, MASK and Mosaic release (radius 8, 4 results a
thread).

Arrays, in order: In, Out, Buf, f32 x width height.  Footprint 12 width height
bytes.  The 17 taps are in constant memory.

`repeats` times two launches over the same data:
  rows     blocks of 16 x 4 threads, grid width/64 x height/4: loads four
           results' pixels and a halo of 16 on each side from In, 17
           multiply-adds from shared memory for each of four stores to Buf
  columns  blocks of 16 x 8, grid width/16 x height/32: the same downwards,
           rows 8 apart, from Buf to Out
A warp is 16 columns of two rows: two segments of 64 bytes, in two pages where
a row is a page or more.  A block of columns touches 48 pages for 16 columns,
each shared with 64 neighbours: strided use of pages without divergence.

Halo loads are switched off for whole blocks at the border; what they would
have brought is a zero in shared memory.  Instructions between accesses are
those of MAFIA's PTX, block by block and in its order, where each load is
followed by the store to shared memory that waits for it: 66 and 71 a result
(MAFIA's run has about 70).  With code = "sass" they are what a GPU runs, nvcc
13's for sm_75: six loads at once, the four stores at the end, 43 and 44 a
result.  Addresses are driven by indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local STEPS, TAPS = 4, 17

-- A load and the store of its value to shared memory, `alu` before it.
local function stage(t, src, at, alu)
    t:alu(alu)
    t:load(src, at)
    t:shared(1)
end

-- Loads step..: the middle four, then one on each side where they exist;
-- then the four sums.  c: instructions in between, as compiled.
local function convolve(t, src, dst, at, step, before, after, c)
    for i = 1, STEPS do
        stage(t, src, at + i * step, i == 1 and c.start or c.between)
    end
    t:alu(c.first)
    t:when(before, function() t:load(src, at) end)
    t:alu(1)
    t:shared(1)
    t:alu(6)
    t:when(after, function()
        t:alu(c.last)
        t:load(src, at + (STEPS + 1) * step)
    end)
    t:alu(1)
    t:shared(1)
    t:sync()
    for i = 1, STEPS do
        t:shared(TAPS)
        t:alu(2 * TAPS + c.store + (i == 1 and 2 or 0))
        t:store(dst, at + i * step)
    end
end

-- The convolution as compiled for sm_75: all loads, then all stores to shared memory.
local function convolve_sass(t, src, dst, at, step, before, after, c)
    t:alu(c.start)
    for i = 1, STEPS do
        t:load(src, at + i * step)
        t:alu(i == 1 and c.between or 0, { uses = {} })
    end
    t:when(c.left and before or after, function()
        t:load(src, c.left and at or at + (STEPS + 1) * step)
    end)
    t:when(c.left and after or before, function()
        t:load(src, c.left and at + (STEPS + 1) * step or at)
    end)
    t:alu(5, { uses = {} })
    t:shared(STEPS + 2)
    t:sync()
    t:shared(c.reads)
    t:alu(c.sums)
    for i = 1, STEPS do t:store(dst, at + i * step) end
end

local function is_sass(p)
    return h.choice(p, "code", "ptx", "sass") == "sass"
end

local function rows(p, b)
    local sass = is_sass(p)
    local options = { grid = { p.width // 64, p.height // 4 },
        block = { 16, 4 }, regs = sass and 59 or 18, shared = 4 * 4 * 96 }
    return kernel("rows", options, function(t)
        local x = 64 * t.bx - 16 + t.tx
        if sass then
            return convolve_sass(t, b.In, b.Buf, t.gy * p.width + x, 16,
                x:ge(0), (p.width - x):gt(80), { start = 16, between = 0,
                left = true, reads = 65, sums = 68 })
        end
        convolve(t, b.In, b.Buf, t.gy * p.width + x, 16, x:ge(0),
            (p.width - x):gt(80),
            { start = 22, between = 0, first = 4, last = 0, store = 1 })
    end)
end

local function columns(p, b)
    local sass = is_sass(p)
    local options = { grid = { p.width // 16, p.height // 32 },
        block = { 16, 8 }, regs = sass and 43 or 22, shared = 4 * 16 * 49 }
    return kernel("columns", options, function(t)
        local y = 32 * t.by - 8 + t.ty
        if sass then
            return convolve_sass(t, b.Buf, b.Out, y * p.width + t.gx,
                8 * p.width, y:ge(0), (p.height - y):gt(40), { start = 36,
                between = 3, left = false, reads = 41, sums = 72 })
        end
        convolve(t, b.Buf, b.Out, y * p.width + t.gx, 8 * p.width, y:ge(0),
            (p.height - y):gt(40),
            { start = 27, between = 4, first = 3, last = 4, store = 2 })
    end)
end

return app {
    name = "CONS", suite = "CUDA SDK", source = "CUDA SDK convolutionSeparable",
    summary = "separable convolution; two pages an instruction, strided",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { width = 3072, height = 1536, repeats = 10, code = "ptx" },
    sizes = {
        T = { width = 1024, height = 64, repeats = 1 },
        R = { width = 3072, height = 1536, repeats = 10 },
        S = { width = 3072, height = 1536, repeats = 10 },
        M = { width = 3072, height = 3072, repeats = 2 },
        L = { width = 6144, height = 4096, repeats = 2 },
    },
    footprint = function(p) return 12 * p.width * p.height end,
    truncated = function(p)
        if p.repeats < 10 then
            return string.format("%d of 10 repeats", p.repeats)
        end
    end,

    buffers = function(p)
        h.check(p.width % 64 == 0 and p.height % 32 == 0,
            "CONS: width is a multiple of 64, height of 32")
        return { f32("In", p.height, p.width), f32("Out", p.height, p.width),
            f32("Buf", p.height, p.width) }
    end,

    kernels = function(p, b)
        local r, c, launches = rows(p, b), columns(p, b), {}
        for _ = 1, p.repeats do
            launches[#launches + 1] = r
            launches[#launches + 1] = c
        end
        return launches
    end,
}

--- samples.lua - kernels of the CUDA samples (11.0) whose data need no file, as kernel
-- programs: what each thread reads and writes, in its order.
--
-- quasirandom   one dimension a row of 128 threads; a number is an exclusive or of the
--               table's entries at its position's bits, and is stored
-- cnd           Moro's inverse of the cumulative normal distribution of every number
-- dct           8 x 8 cosine transforms in place, of tiles of 32 x 16 in shared memory
--               (CUDAkernel2DCT)
-- histogram64   16 bytes a load, each byte one count in shared memory, which each thread
--               has for itself; a block stores its 64 sums
-- sobol         a block fetches the 32 directions of its dimension, and each thread
--               stores every 32,768th number of it
--
-- Grids, blocks and sizes are the samples' own.  How many instructions stand between
-- accesses is counted by hand from their source, and a guess; cnd's were counted again
-- after a first run, with the division and the choice of a half that had been forgotten.
--
-- SPDX-License-Identifier: MIT
local k = require "heddle.kernel"
local kernels = require "kernels"

local samples = {}

local LARGE = 2 << 20

--- An application of one kernel, launched once.
local function app(name, params, buffers, make)
    return k.app { name = name, source = "CUDA samples 11.0", params = params,
        align = LARGE, buffers = buffers, kernels = function(p, b)
            return { make(p, b) }
        end }
end

local apps = {}

local BITS = 31 -- QRNG_RESOLUTION

apps.quasirandom = app("quasirandom", { n = 1 << 20 }, function(p)
    return { k.f32("out", 3, p.n) }
end, function(p, b)
    return k.kernel("quasirandom", { grid = 128, block = { 128, 3 }, regs = 16 },
        function(t)
            t:alu(6)
            t:loop(t.bx * 128 + t.tx, p.n, 128 * 128, function(at)
                t:alu(3 * BITS + 5) -- a bit: a test, an entry, an exclusive or
                t:store(b.out, t.ty * p.n + at)
            end)
        end)
end)

apps.cnd = app("cnd", { n = 3 << 20 }, function(p)
    return { k.f32("out", p.n) }
end, function(p, b)
    return k.kernel("cnd", { grid = 128, block = 128, regs = 20 }, function(t)
        t:alu(4)
        t:loop(t.bx * 128 + t.tx, p.n, 128 * 128, function(at)
            t:alu(12) -- the number, in the lower half; its distance from a half
            local x = (at + 1):f32() / (p.n + 1) - 0.5
            t:when((x * x):lt(0.42 * 0.42), function()
                t:alu(20) -- two polynomials and a division
            end, function()
                t:alu(21) -- two logarithms and a polynomial
            end)
            t:alu(7)
            t:store(b.out, at)
        end)
    end)
end)

local WIDE, TALL, ROW = 32, 16, 33 -- a tile, and a row of it in shared memory

apps.dct = app("dct", { n = 512 }, function(p)
    return { k.f32("image", p.n, p.n) }
end, function(p, b)
    return k.kernel("dct", { grid = { p.n // WIDE, p.n // TALL }, block = { 8, 4, 2 },
        regs = 40, shared = TALL * ROW * 4 }, function(t)
        local across, down = t.ty * 8 + t.tx, t.tz * 8
        local first = (t.by * TALL + down) * p.n + t.bx * WIDE + across
        local column = (down * ROW + across) * 4
        local row = ((down + t.tx) * ROW + across - t.tx) * 4
        --- A transform of 8 values `step` bytes apart.
        local function transform(from, step)
            for i = 0, 7 do
                t:shared(from + i * step)
            end
            t:alu(42) -- 29 sums and differences, 13 products
            for i = 0, 7 do
                t:shared(from + i * step)
            end
        end
        t:alu(16)
        for i = 0, 7 do
            t:shared(column + i * ROW * 4, { uses = { t:load(b.image,
                first + i * p.n) } })
        end
        transform(row, 4)
        transform(column, ROW * 4)
        for i = 0, 7 do
            t:shared(column + i * ROW * 4)
            t:store(b.image, first + i * p.n)
        end
    end)
end)

local BINS = 64

apps.histogram64 = app("histogram64", { bytes = 64 << 20 }, function(p)
    local blocks = (p.bytes + BINS * 240 - 1) // (BINS * 240)
    return { k.u32("data", p.bytes // 4), k.u32("sums", blocks, BINS) }
end, function(p, b)
    local blocks = (p.bytes + BINS * 240 - 1) // (BINS * 240)
    return k.kernel("histogram64", { grid = blocks, block = BINS, regs = 20,
        shared = BINS * BINS }, function(t)
        -- a thread's byte of each bin: threads next to each other have other banks
        local own = (t.tid % 16) * 4 + t.tid // 16
        t:alu(8)
        for i = 0, BINS // 4 - 1 do
            t:shared((t.tid + i * BINS) * 4)
        end
        t:sync()
        t:loop(t.gid, p.bytes // 16, blocks * BINS, function(at)
            local v = t:load(b.data, at * 4, { vec = 4 })
            for i = 0, 15 do
                -- bins as of random bytes
                local bin = ((at * 16 + i) * 0x9e3779b97f4a7c15):lshr(58)
                t:alu(2, { uses = { v } })
                t:shared(bin * BINS + own)
                t:alu(1)
                t:shared(bin * BINS + own)
            end
        end)
        t:sync()
        t:loop(BINS // 4, function(i)
            for j = 0, 3 do
                t:shared(t.tid * BINS + ((t.tid % 16 + i) * 4 + j) % BINS,
                    { bytes = 1 })
            end
            t:alu(5)
        end)
        t:store(b.sums, t.gid)
    end)
end)

apps.sobol = app("sobol", { vectors = 100000, dimensions = 100 }, function(p)
    return { k.u32("directions", p.dimensions, 32),
        k.f32("out", p.dimensions, p.vectors) }
end, function(p, b)
    local stride = 512 * 64
    return k.kernel("sobol", { grid = { 512, p.dimensions }, block = 64, regs = 16,
        shared = 128 }, function(t)
        t:alu(8)
        t:when(t.tid:lt(32), function()
            t:shared(t.tid * 4, { uses = { t:load(b.directions, t.by * 32 + t.tid) } })
        end)
        t:sync()
        for i = 0, 14 do -- the bits of the stride
            t:shared(t.tid * 0 + i * 4)
            t:alu(4)
        end
        t:shared(t.tid * 0 + 13 * 4)
        t:loop(t.bx * 64 + t.tid, p.vectors, stride, function(at)
            t:alu(8)
            t:shared(t.tid * 0 + 60)
            t:store(b.out, t.by * p.vectors + at)
        end)
    end)
end)

--- A kernel with its parameters, as an application of a job.
function samples.of(name, params)
    return kernels.job(apps[name], params or {}, "samples.lua")
end

return samples

--[[
FFT - batches of one-dimensional transforms, Parboil's first fft (what MASK and
Mosaic call FFT; SHOC's is another program).

Arrays, in order: X, Y, each batch x n complex numbers (two f32).  Footprint
16 n batch bytes.

log2(n) launches of `batch` blocks of n/2 threads, radix 2, with Ns = 1, 2, 4,
.. n/2, from X to Y and back.  Thread j of a block loads elements j and j + n/2
of its transform (256 bytes a warp: two lines), turns both by a sine and a
cosine, and stores them at d and d + Ns with d = 2 Ns (j div Ns) + j mod Ns:
runs of Ns lanes, 16 Ns bytes apart: four lines up to Ns = 8, two from 16 on.
A transform of n = 256 is half a page, and the same block touches the same
2 KB in every launch.  No barriers, no shared memory.

Instructions between accesses are those of MAFIA's PTX, block by block: 108 for
sine, cosine and product of each of the two elements, one after the other.

Approximated: the pair of complex numbers that the program keeps in local
memory is taken to be in registers; lanes that take different branches of the
sine's series are counted as one of them.  Addresses are driven by indices and
the launch's Ns; no contents.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- The pass from src to dst.
local function pass(p, src, dst)
    local options = { grid = p.batch, block = p.n // 2, regs = 26,
        args = { ns = 1 } }
    return kernel("fft_" .. src.name, options, function(t)
        local ns, base = t:arg("ns"), p.n * t.bx
        local d = base + 2 * ns * (t.tid // ns) + t.tid % ns
        t:alu(23)
        for r = 0, 1 do
            t:alu(9)
            local v = t:load(src, 2 * (base + t.tid + r * p.n // 2),
                { vec = 2 })
            t:alu(99, { uses = { v } })
        end
        t:alu(22)
        t:store(dst, 2 * d, { vec = 2 })
        t:alu(2)
        t:store(dst, 2 * (d + ns), { vec = 2 })
    end)
end

return app {
    name = "FFT", suite = "Parboil", source = "Parboil fft, first release",
    summary = "radix-2 transforms in global memory, a launch a pass",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 256, batch = 1024 },
    sizes = {
        T = { batch = 8 },
        R = { batch = 1024 },
        S = { batch = 1024 },
        M = { batch = 16384 },
        L = { batch = 65536 },
    },
    footprint = function(p) return 16 * p.n * p.batch end,

    buffers = function(p)
        h.check(p.n >= 2 and p.n <= 2048 and p.n & p.n - 1 == 0,
            "FFT: n is a power of two, 2 to 2048")
        return { f32("X", p.batch, p.n, 2), f32("Y", p.batch, p.n, 2) }
    end,

    kernels = function(p, b)
        local there, back = pass(p, b.X, b.Y), pass(p, b.Y, b.X)
        local launches, ns = {}, 1
        while ns < p.n do
            launches[#launches + 1] = { there, args = { ns = ns } }
            there, back = back, there
            ns = 2 * ns
        end
        return launches
    end,
}

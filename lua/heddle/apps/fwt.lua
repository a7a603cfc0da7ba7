--[[
FWT - fast Walsh transform, CUDA SDK fastWalshTransform (also MASK, Mosaic).

Arrays, in order: K[2^n], D[2^n], f32, n odd.  Footprint 8 2^n bytes.

transform(D), transform(K), D *= K, transform(D), 22 launches for n = 23, each
over whole arrays.  A transform:
  pass     (n-11)/2 launches of 2^n / 1024 blocks of 256: a radix-4 butterfly
           of four elements s apart, s = 2^(n-2), 2^(n-4), .. 2^11.  All
           coalesced, one page an instruction, four pages a thread, 8 MB to
           8 KB apart.  58 instructions a thread.
  shared   2^n / 2048 blocks of 512 threads finish 2048 elements each in
           shared memory: five radix-4 stages of 41 instructions and one
           radix-2, 7 barriers.  The loops that fill and empty shared memory
           are not unrolled: each load is waited for before the next.
and `modulate`, 128 blocks of 256 that stride over both arrays.  Instructions
between accesses are those of MAFIA's PTX, block by block.

Each launch sweeps an array of 8192 pages (n = 23) in place, so that a page
comes back only a whole sweep later.  Addresses are driven by indices and the
launch's s; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

local SHARED = 11 -- log2 of the elements that one block transforms

local function pass(p, x)
    local options = { grid = (1 << p.n) // 1024, block = 256,
        regs = 21, args = { s = 1 << SHARED } }
    return kernel("pass_" .. x.name, options, function(t)
        local s = t:arg("s")
        local low = t.gid % s
        local i = 4 * (t.gid - low) + low
        local v = {}
        for k = 0, 3 do
            t:alu(k == 0 and 23 or 4, { uses = {} })
            v[k + 1] = t:load(x, i + k * s)
        end
        for k = 0, 3 do
            t:alu(k == 0 and 8 or 2, { uses = v })
            t:store(x, i + k * s)
        end
    end)
end

local function finish(p, x)
    local options = { grid = (1 << p.n) >> SHARED, block = 512,
        regs = 14, shared = 4 << SHARED }
    return kernel("shared_" .. x.name, options, function(t)
        local at = (1 << SHARED) * t.bx + t.tx
        t:alu(20)
        for j = 0, 3 do
            t:load(x, at + 512 * j)
            t:shared(1)
            t:alu(5)
        end
        t:alu(6)
        for _ = 1, 5 do
            t:sync()
            t:shared(8)
            t:alu(32)
        end
        t:alu(4)
        t:sync()
        t:alu(9)
        for _ = 1, 2 do
            t:shared(4)
            t:alu(9)
        end
        t:sync()
        t:alu(15)
        for j = 0, 3 do
            t:shared(1)
            t:store(x, at + 512 * j)
            t:alu(5)
        end
    end)
end

local function modulate(p, b)
    local all = 1 << p.n
    local blocks = math.min(128, all // 256)
    return kernel("modulate", { grid = blocks, block = 256,
        regs = 14 }, function(t)
        t:alu(21)
        t:loop(t.gid, all, blocks * 256, function(i)
            local d, k = t:load(b.D, i), t:load(b.K, i)
            t:alu(2, { uses = { d, k } })
            t:store(b.D, i)
            t:alu(5)
        end)
    end)
end

return app {
    name = "FWT", suite = "CUDA SDK", source = "CUDA SDK fastWalshTransform",
    summary = "Walsh transform in place: sweeps at strides from 8 MB to 8 KB",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 23 },
    sizes = { T = { n = 13 }, R = { n = 23 }, S = { n = 23 }, M = { n = 23 },
        L = { n = 25 } },
    footprint = function(p) return 8 << p.n end,

    buffers = function(p)
        h.check(p.n % 2 == 1 and p.n >= SHARED and p.n < 31,
            "FWT: n is odd, 11 or more")
        return { f32("K", 1 << p.n), f32("D", 1 << p.n) }
    end,

    kernels = function(p, b)
        local launches = {}
        local kernels = {}
        for _, x in ipairs { b.D, b.K } do
            kernels[x] = { pass(p, x), finish(p, x) }
        end
        local function transform(x)
            for k = p.n - 2, SHARED, -2 do
                launches[#launches + 1] = { kernels[x][1],
                    args = { s = 1 << k } }
            end
            launches[#launches + 1] = kernels[x][2]
        end
        transform(b.D)
        transform(b.K)
        launches[#launches + 1] = modulate(p, b)
        transform(b.D)
        return launches
    end,
}

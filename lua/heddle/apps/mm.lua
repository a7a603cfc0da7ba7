--[[
MM - dense matrix product, Parboil sgemm (what MASK and Mosaic call MM).

Arrays, in order: A (m x k, column by column), B (n x k, transposed), C
(m x n), f32.  Footprint 4 (m k + n k + m n) bytes.

One launch of m/128 x n/16 blocks of 16 x 8 threads; a thread owns a row and
16 columns of C in registers.  In each of k/8 rounds a block stages 8 x 16
elements of B in shared memory (a warp takes two rows of 64 bytes, ldb apart:
two pages), and each thread loads 8 elements of A down its row, coalesced over
the warp: one line each, and with m = 1024 each the next page.  Every block of
a row streams the same k pages of A in the same order.  At the end 16 columns of
C are loaded and stored, one page each.

Instructions between accesses are those of MAFIA's PTX, block by block: 71 an
element of A, 16 multiply-adds and shared reads with two moves each.  With code =
"sass" they are what a GPU runs, nvcc 13's for sm_75: eight loads of A at once,
128-bit reads of shared memory, 24 instructions an element.

`columns` runs only the first columns of blocks, those that start first (0:
all).  Addresses are driven by
indices alone; no contents.

Approximated: values are not computed, since no address and no branch depends on
them; whatever an instruction computes, it costs an issue slot.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- Columns of blocks that are run, and those there are.
local function columns(p)
    local all = p.n // 16
    if p.columns > 0 and p.columns < all then return p.columns, all end
    return all, all
end

-- The kernel as compiled for sm_75.
local function sass(p, b)
    local options = { grid = { p.m // 128, (columns(p)) }, block = { 16, 8 },
        regs = 63, shared = 512 }
    return kernel("sgemm", options, function(t)
        local row = 128 * t.bx + 16 * t.ty + t.tx
        local column = 16 * t.by + t.tx
        t:alu(31)
        t:loop(p.k // 8, function(round)
            local i, a = 8 * round, {}
            t:alu(4, { uses = {} })
            local x = t:load(b.B, column + (i + t.ty) * p.n)
            t:alu(10, { uses = {} })
            t:shared(1, { uses = { x } })
            t:sync()
            for j = 0, 7 do a[j] = t:load(b.A, row + (i + j) * p.m) end
            t:alu(3, { uses = {} })
            for j = 0, 7 do
                t:shared(4, { uses = {} })
                t:alu(16, { uses = { a[j] } })
            end
            t:sync()
            t:alu(1)
        end)
        for q = 0, 15 do
            local at = p.m * (16 * t.by + q) + row
            t:load(b.C, at)
            t:alu(3)
            t:store(b.C, at)
        end
    end)
end

return app {
    name = "MM", suite = "Parboil", source = "Parboil sgemm",
    summary = "matrix product with register tiles; streams a page a round",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { m = 1024, n = 1056, k = 992, columns = 0, code = "ptx" },
    sizes = {
        T = { m = 256, n = 32, k = 16 },
        R = { m = 1024, n = 1056, k = 992 },
        S = { m = 1024, n = 1056, k = 992 },
        M = { m = 2048, n = 2048, k = 2048, columns = 32 },
        L = { m = 4096, n = 4096, k = 2048, columns = 32 },
    },
    footprint = function(p) return 4 * (p.m * p.k + p.n * p.k + p.m * p.n) end,
    truncated = function(p)
        local run, all = columns(p)
        if run < all then
            return string.format("the first %d of %d columns of blocks", run,
                all)
        end
    end,

    buffers = function(p)
        h.check(p.m % 128 == 0 and p.n % 16 == 0 and p.k % 8 == 0,
            "MM: m is a multiple of 128, n of 16, k of 8")
        return { f32("A", p.k, p.m), f32("B", p.k, p.n), f32("C", p.n, p.m) }
    end,

    kernels = function(p, b)
        if h.choice(p, "code", "ptx", "sass") == "sass" then
            return { sass(p, b) }
        end
        local options = { grid = { p.m // 128, (columns(p)) }, block = { 16, 8 },
            regs = 41, shared = 512 }
        return { kernel("sgemm", options, function(t)
            local row = 128 * t.bx + 16 * t.ty + t.tx
            local column = 16 * t.by + t.tx
            t:alu(73)
            t:loop(p.k // 8, function(round)
                local i = 8 * round
                t:alu(3)
                local x = t:load(b.B, column + (i + t.ty) * p.n)
                t:shared(1, { uses = { x } })
                t:sync()
                t:alu(7)
                for j = 0, 7 do
                    local a = t:load(b.A, row + (i + j) * p.m)
                    t:alu(1, { uses = {} })
                    t:shared(1, { uses = {} })
                    t:alu(53, { uses = { a } })
                    t:shared(15)
                end
                t:sync()
                t:alu(5)
            end)
            for q = 0, 15 do
                local at = p.m * (16 * t.by + q) + row
                t:alu(q == 0 and 12 or 7)
                t:load(b.C, at)
                t:alu(1)
                t:store(b.C, at)
            end
        end) }
    end,
}

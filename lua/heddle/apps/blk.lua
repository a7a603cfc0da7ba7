--[[
BLK - Black-Scholes option prices, CUDA SDK BlackScholes (also MASK, Mosaic).

Arrays, in order: C, P (written), S, X, T (read), f32 x n.  Footprint 20 n
bytes.

One launch of `grid` = 480 blocks of 128 threads, a grid-stride loop: option
gid + 61440 k in round k.  Three independent loads, the arithmetic, two stores,
all of one line and one page.  The next round is 60
pages further in each of five arrays: five streams, each byte touched once,
every page shared by eight blocks.  97 instructions an option, those of MAFIA's
PTX: alu = 89 that compute and move pointers, 3 for the loop.  About nine of
them are square roots, exponentials, logarithms and divisions; an issue slot is
all that they cost.

Addresses are driven by indices alone; no contents.  One pass; the SDK repeats
it 512 times over the same data.

Approximated: values are not computed, since no address and no branch depends on
them.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

-- Of alu: between the stores, and moving pointers behind them.
local BETWEEN, POINTERS = 7, 5
local AFTER = BETWEEN + POINTERS

return app {
    name = "BLK", suite = "CUDA SDK", source = "CUDA SDK BlackScholes",
    summary = "option prices: five streams, no reuse",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { n = 2000000, grid = 480, alu = 89 },
    sizes = {
        T = { n = 2000, grid = 4 },
        R = { n = 2000000 },
        S = { n = 2000000 },
        M = { n = 4000000 },
        L = { n = 16000000 },
    },
    footprint = function(p) return 20 * p.n end,

    buffers = function(p)
        h.check(p.alu >= AFTER, "BLK: alu is 12 or more")
        return { f32("C", p.n), f32("P", p.n), f32("S", p.n), f32("X", p.n),
            f32("T", p.n) }
    end,

    kernels = function(p, b)
        local options = { grid = p.grid, block = 128, regs = 31 }
        return { kernel("price", options, function(t)
            t:alu(9)
            t:exit_if(t.gid:ge(p.n))
            t:alu(21)
            t:loop(t.gid, p.n, p.grid * 128, function(o)
                local s, x = t:load(b.S, o), t:load(b.X, o)
                local years = t:load(b.T, o)
                t:alu(p.alu - AFTER, { uses = { s, x, years } })
                t:store(b.C, o)
                t:alu(BETWEEN)
                t:store(b.P, o)
                t:alu(POINTERS + 3)
            end)
        end) }
    end,
}

--[[
BLK - Black-Scholes option prices, CUDA SDK BlackScholes (also MASK, Mosaic).

Arrays, in order: S, X, T (read), C, P (written), f32 x n.  Footprint 20 n
bytes.

One launch of `grid` = 480 blocks of 128 threads, a grid-stride loop: option
gid + 61440 k in round k.  Three independent loads, the arithmetic, two stores,
all of one line and one page.  The next round lies 60
pages further in each of five arrays: five streams, each byte touched once,
every page shared by eight blocks.  59 instructions an option, after 58.6 that
follow from MAFIA's run if its reads of the L2 cache are the three loads; the
PTX that MAFIA has beside it counts 97 (alu = 89), which would agree with that
run if the two stores were counted, too.  About nine of them are square roots,
exponentials, logarithms and divisions; an issue slot is all that they cost.

Addresses are driven by indices alone; no contents.  One pass; the SDK repeats
it 512 times over the same data.

Approximated: values are not computed, since no address and no branch depends on
them; alu follows from a run, not from code, which differ as said.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, f32 = h.app, h.kernel, h.f32

return app {
    name = "BLK", suite = "CUDA SDK", source = "CUDA SDK BlackScholes",
    summary = "option prices: five streams, no reuse",
    params = { n = 2000000, grid = 480, alu = 51 },
    sizes = {
        T = { n = 2000, grid = 4 },
        S = { n = 2000000 },
        M = { n = 4000000 },
        L = { n = 16000000 },
    },
    footprint = function(p) return 20 * p.n end,

    buffers = function(p)
        return { f32("S", p.n), f32("X", p.n), f32("T", p.n), f32("C", p.n),
            f32("P", p.n) }
    end,

    kernels = function(p, b)
        local options = { grid = p.grid, block = 128 }
        return { kernel("price", options, function(t)
            t:alu(6)
            t:loop(t.gid, p.n, p.grid * 128, function(o)
                local s, x = t:load(b.S, o), t:load(b.X, o)
                local years = t:load(b.T, o)
                t:alu(p.alu, { uses = { s, x, years } })
                t:store(b.C, o)
                t:store(b.P, o)
                t:alu(3)
            end)
        end) }
    end,
}

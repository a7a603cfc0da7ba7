--[[
GUP - giant updates per second, HPCC RandomAccess on CUDA (also MASK, Mosaic).

Arrays, in order: Tab[2^m] of 64 bits (as 2 x 2^m words of 32), start[threads]
i64.  Footprint 8 2^m + 8 threads bytes.

One launch of threads/128 blocks of 128.  A thread steps a shift register from
its own start, and each time xors the value into Tab[value mod 2^m] with two
32-bit atomics on the same 8 bytes.  4 2^m updates in all, 20 instructions an
update as in MAFIA's PTX (its run has 20.7 with what is before the loop).

The addresses are the real ones: start[i] is the sequence after i times
(updates a thread) steps, as HPCC_starts gives it.  Lanes are uncorrelated:
31.5 lines, 30.5 pages an atomic at m = 19, 32 at m = 25; the first warps start
from sparse values and touch fewer.  The table's own contents never matter.

`updates` cuts the rounds of a thread (0: all of them).

Approximated: the table's contents, since nothing depends on them; the rounds
that `updates` cuts, since all are alike.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u32, i64 = h.app, h.kernel, h.u32, h.i64

-- Updates a thread does in the whole program.
local function whole(p)
    h.check(p.threads > 0, "GUP: threads is a multiple of 128, above 0")
    return (4 << p.m) // p.threads
end

local function rounds(p)
    if p.updates > 0 and p.updates < whole(p) then return p.updates end
    return whole(p)
end

return app {
    name = "GUP", suite = "HPCC", source = "HPCC RandomAccess (MAFIA GUPS)",
    summary = "random 64-bit updates by atomics; a page for every lane",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { m = 19, threads = 65536, updates = 0 },
    sizes = {
        T = { m = 14, threads = 512, updates = 8 },
        R = { m = 19 },
        S = { m = 19 },
        M = { m = 23, updates = 64 },
        L = { m = 25, updates = 64 },
    },
    footprint = function(p) return (8 << p.m) + 8 * p.threads end,
    truncated = function(p)
        if rounds(p) < whole(p) then
            return string.format("the first %d of %d updates a thread",
                rounds(p), whole(p))
        end
    end,

    buffers = function(p)
        h.check(p.threads % 128 == 0 and 4 << p.m >= p.threads,
            "GUP: threads is a multiple of 128, at most 4 * 2^m")
        local generate = require "heddle.generate"
        return { u32("Tab", 2 << p.m), i64("start", p.threads,
            { data = generate.starts { n = p.threads, step = whole(p) } }) }
    end,

    kernels = function(p, b)
        local options = { grid = p.threads // 128, block = 128, regs = 13 }
        return { kernel("update", options, function(t)
            t:alu(9)
            local x = t:var(t:load(b.start, t.gid))
            t:alu(12)
            t:loop(rounds(p), function()
                x:set(x:shl(1):bxor(t:select(x:lt(0), 7, 0)))
                local e = 2 * x:band((1 << p.m) - 1)
                t:alu(11, { uses = {} })
                t:atomic("xor", b.Tab, e, x:band(0xffffffff))
                t:alu(4, { uses = {} })
                t:atomic("xor", b.Tab, e + 1, x:lshr(32))
                t:alu(3, { uses = {} })
            end)
        end) }
    end,
}

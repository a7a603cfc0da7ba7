--[[
PCHASE - a pointer chase, which measures what a TLB or a cache reaches: each load
takes its address from the one before it.

Arrays, in order: data[bytes / 8] i64, sum[chains] i64.  Footprint bytes + 8 chains.

Two launches of one block, `chains` threads (32 at most: one warp): warm walks all
slots once, chase `passes` times.  Slots are `stride` bytes apart, and a chain has
slots / chains of its own, in ascending order or, with order = random, in one that
visits each of a power of two of slots once (the full period of a linear congruence,
Hull and Dobell 1962).  So that not all slots are in the few sets of a cache that one
offset has, slot i begins at line i of its stride (line = 0: at its first byte), as
the microbenchmarks do it (TU-Berlin-DIMA/fast-interconnects tlb_latency.cu,
RRZE-HPC/gpu-benches).

chase has passes * slots / chains loads, of one line and one page a chain.
Latency: cycles of that launch over its loads.  On a machine whose L1 caches need no
translation they must be off to see TLBs (l1cache.mode=off).

Addresses are computed, and wait for the load before; data has no contents.

Approximated: a round is a load and `alu` instructions; the clock is not read.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, i64 = h.app, h.kernel, h.i64

local function slots(p)
    h.choice(p, "order", "stride", "random")
    h.most(p, { bytes = 1 << 43 })
    h.check(p.stride >= 8 and p.stride % 8 == 0,
        ("PCHASE: stride = %d is not a multiple of 8 bytes"):format(p.stride))
    h.check(p.bytes >= p.stride, ("PCHASE: bytes = %d is less than stride = %d")
        :format(p.bytes, p.stride))
    h.check(p.chains >= 1 and p.chains <= 32,
        ("PCHASE: chains = %d, 1 to 32 are possible"):format(p.chains))
    local n = p.bytes // p.stride
    h.check(n % p.chains == 0 and n >= p.chains,
        ("PCHASE: bytes / stride = %d slots are no multiple of chains = %d")
        :format(n, p.chains))
    local own = n // p.chains
    h.check(p.order == "stride" or own & (own - 1) == 0,
        ("PCHASE: order = random takes a power of two of slots a chain, not %d")
        :format(own))
    return n, own
end

local function walk(p, b, name, passes)
    local _, own = slots(p)
    local options = { grid = 1, block = p.chains, regs = 16 }
    return kernel(name, options, function(t)
        local at = t:var(0)
        local first = t.tid * own
        local lines = math.max(1, p.stride // 128)
        t:alu(4)
        t:loop(passes * own, function()
            local slot = first + at:get()
            local line = p.line > 0 and slot % lines * 16 or 0
            local next_at = t:load(b.data, slot * (p.stride // 8) + line)
            t:alu(p.alu, { uses = { next_at } })
            if p.order == "random" then
                at:set((at:get() * 1664525 + 1013904223 + next_at):band(own - 1))
            else
                at:set((at:get() + 1 + next_at) % own)
            end
        end)
        t:store(b.sum, t.tid)
    end)
end

return app {
    name = "PCHASE", suite = "microbenchmarks",
    source = "TU-Berlin-DIMA/fast-interconnects tlb_latency.cu",
    summary = "pointer chase; one dependent load at a time",
    registers = "guess: no machine code was read",
    params = { bytes = 16 << 20, stride = 4096, chains = 1, passes = 4,
        order = "stride", line = 1, alu = 1 },
    sizes = {
        T = { bytes = 256 << 10 },
        S = { bytes = 16 << 20 },
        M = { bytes = 128 << 20, stride = 65536 },
        L = { bytes = 1 << 30, stride = 2 << 20 },
        XL = { bytes = 16 << 30, stride = 2 << 20 },
        XXL = { bytes = 128 << 30, stride = 2 << 20 },
    },
    footprint = function(p) return p.bytes + 8 * p.chains end,

    buffers = function(p)
        slots(p)
        return { i64("data", p.bytes // 8), i64("sum", p.chains) }
    end,

    kernels = function(p, b)
        return { walk(p, b, "warm", 1), walk(p, b, "chase", p.passes) }
    end,
}

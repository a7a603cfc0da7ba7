--[[
HISTO - histogram of bytes in 256 bins, CUDA SDK histogram256 (what MAFIA and
MASK call HISTO; Parboil's histo is another program).

Arrays, in order: Data[words] u32, Hist[256] u32, Part[grid][256] u32.
Footprint 4 words + 1024 grid + 1024 bytes.

`repeats` of `runs` times two launches (MAFIA's program makes one pass over its
8.3 MB, the SDK's 16 over 64 MiB):
  histogram   `grid` = 240 blocks of 192 threads: a sub-histogram a warp in
              shared memory; words gid, gid + 46,080, .. of Data, one line and
              one page each, 45 pages from one to the next; then the block's
              256 sums to its row of Part
  merge       256 blocks of 256: thread i < grid reads bin bx of row i: lanes
              are 1 KB apart, 32 lines and 9 pages a warp, and every block
              sweeps all of Part; a tree in shared memory, one store

A lane that meets another in its warp's bin tries again, until all have counted:
0.06 passes a lane and byte, but 0.94 a warp and byte, of 8 instructions and few
lanes.  Instructions between accesses are those of MAFIA's PTX, block by block:
55 a word and thread, and 85 a word and warp with the passes.

Approximated: the passes are those of WARPS = 256 warps' worth of random bytes,
over and over (in which a bin's lanes count from the highest down, as on
GPGPU-Sim).  Bytes of Data move no address and matter for nothing else; no
contents.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u8, u32 = h.app, h.kernel, h.u8, h.u32

local BINS, B = 256, 192

-- ALU instructions that pick each of the four bytes of a word.
local PICK = { 4, 5, 5, 4 }

-- Warps' worth of words whose second tries are known.
local WARPS = 256

-- One pass over a bin: read, add, write, read again, compare.
local function pass(t)
    t:shared(1)
    t:alu(3)
    t:shared(2)
    t:alu(2)
end

-- A byte a word: how often its lane tries again, 2 bits for each byte of it.
local function tries()
    local bytes = require("heddle.generate").ints { n = 4 * 32 * WARPS, lo = 0,
        hi = BINS - 1, seed = 1 }
    local out = {}
    for word = 0, 32 * WARPS - 1 do out[word] = 0 end
    for turn = 0, 4 * WARPS - 1 do
        local warp, byte, met = turn // 4, turn % 4, {}
        for lane = 31, 0, -1 do
            local word = 32 * warp + lane
            local bin = bytes[4 * word + byte]
            out[word] = out[word] | math.min(met[bin] or 0, 3) << 2 * byte
            met[bin] = (met[bin] or 0) + 1
        end
    end
    return function(word) return out[word] end
end

local function histogram(p, b)
    local options = { grid = p.grid, block = B, regs = 18,
        shared = 6 * 4 * BINS }
    return kernel("histogram", options, function(t)
        t:alu(12)
        t:shared(8)
        t:sync()
        t:alu(22)
        t:loop(t.gid, p.words, B * p.grid, function(i)
            local word = t:load(b.Data, i)
            local again = t:peek(b.Again, i % (32 * WARPS))
            for byte = 1, 4 do
                t:alu(PICK[byte], { uses = { word } })
                pass(t)
                local more = again:shr(2 * (byte - 1)):band(3)
                t:loop(more, function() pass(t) end)
            end
            t:alu(4)
        end)
        t:sync()
        t:alu(19)
        t:loop(t.tid, BINS, B, function(bin)
            t:shared(6)
            t:alu(14)
            t:store(b.Part, BINS * t.bx + bin)
            t:alu(6)
        end)
    end)
end

local function merge(p, b)
    local options = { grid = BINS, block = 256, regs = 14, shared = 4 * 256 }
    return kernel("merge", options, function(t)
        t:alu(4)
        t:when(t.tid:lt(p.grid), function()
            t:alu(15)
            t:loop(t.tid, p.grid, 256, function(i)
                t:alu(3)
                local n = t:load(b.Part, t.bx + BINS * i)
                t:alu(5, { uses = { n } })
            end)
        end)
        t:alu(6)
        t:shared(1)
        for level = 7, 0, -1 do
            t:sync()
            t:alu(2)
            t:when(t.tid:lt(1 << level), function()
                t:shared(3)
                t:alu(5)
            end)
            t:alu(4)
        end
        t:alu(3)
        t:when(t.tid:eq(0), function()
            t:shared(1)
            t:alu(5)
            t:store(b.Hist, t.bx)
        end)
    end)
end

return app {
    name = "HISTO", suite = "CUDA SDK", source = "CUDA SDK histogram256",
    summary = "byte histogram: one cold stream, then a strided merge",
    registers = "ptxas for sm_20 (MAFIA)",
    params = { words = 2073600, grid = 240, repeats = 1, runs = 1 },
    sizes = {
        T = { words = 10240, grid = 40 },
        R = { words = 2073600 },
        S = { words = 2073600 },
        M = { words = 1 << 24, repeats = 2, runs = 16 },
        L = { words = 1 << 26, repeats = 2, runs = 16 },
    },
    footprint = function(p)
        return 4 * p.words + 4 * BINS * (p.grid + 1)
    end,
    truncated = function(p)
        if p.repeats < p.runs then
            return string.format("%d of %d runs", p.repeats, p.runs)
        end
    end,

    buffers = function(p)
        return { u32("Data", p.words), u32("Hist", BINS),
            u32("Part", p.grid, BINS),
            u8("Again", 32 * WARPS, { data = tries(), scratch = true }) }
    end,

    kernels = function(p, b)
        local k, m, launches = histogram(p, b), merge(p, b), {}
        for _ = 1, p.repeats do
            launches[#launches + 1] = k
            launches[#launches + 1] = m
        end
        return launches
    end,
}

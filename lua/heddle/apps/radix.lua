--[[
RADIX - a radix sort of keys with payloads, or one pass of it, which is the partitioning
of a radix join: count, scan, scatter (three kernels a pass, as Merrill and Grimshaw's,
2011, and CUB before its single-pass sort).

Arrays, in order: keys0, pays0, keys1, pays1 u32[n], counts u32[2^bits][tiles], with
tiles = n / 4096.  Footprint 16 n + 4 tiles 2^bits bytes.

A pass is three launches; keys and payloads go from one pair of arrays to the other:
  count    a block of 256 threads a tile of 4,096 keys: four loads of 16 bytes a thread,
           shared counters, then the tile's counts, each of another row: a line, and
           from 1,024 tiles on a page, a lane
  scan     one block goes over all counts, 16 bytes a thread
  scatter  a block a tile: its counts again, keys, an exchange in shared memory, and
           stores in the order of bins: of 256 bins a tile has runs of some 16 keys,
           64 bytes, so a warp's store is two runs in two pages, and each core writes
           to 256 of them in turn; then payloads

Keys are spread evenly over their bins, and no value is kept: of each two neighbouring
bins one has up to `spread` keys more in a tile and the other so many less, and the next
tile makes up for it, by a hash.  So stores of a pass are a permutation of the array, and
no size needs memory.

Addresses are driven by indices and that hash; no contents.

Approximated: bins vary in pairs, not on their own; within a run keys keep no order, on
which no address depends; instructions between accesses are guesses (alu_key); CUB's
sort of today has one kernel a pass, which waits for the tile before it.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u32 = h.app, h.kernel, h.u32

local TILE, BLOCK = 4096, 256

local function check(p)
    h.check(p.n > 0 and p.n % TILE == 0 and p.n < 1 << 36,
        ("RADIX: n = %d is not a multiple of %d below 2^36"):format(p.n, TILE))
    h.check(p.bits >= 2 and p.bits <= 11 and p.passes > 0,
        ("RADIX: bits = %d, passes = %d: 2 to 11 bits are possible, passes not 0")
            :format(p.bits, p.passes))
    h.check(p.spread < TILE >> p.bits,
        ("RADIX: spread = %d is not less than the %d keys of a bin in a tile"):format(
            p.spread, TILE >> p.bits))
end

local function load_tile(t, b)
    local got = {}
    for j = 0, TILE // BLOCK // 4 - 1 do
        got[j + 1] = t:load(b, t.bx * TILE + 4 * (j * BLOCK + t.tid), { vec = 4 })
    end
    return got
end

local function count(p, b, name, keys)
    local bins, tiles = 1 << p.bits, p.n // TILE
    local options = { grid = tiles, block = BLOCK, regs = 32, shared = 4 * bins }
    return kernel(name, options, function(t)
        t:alu(8)
        local got = load_tile(t, keys)
        t:sync()
        for j = 1, #got do
            t:alu(4 * p.alu_key, { uses = { got[j] } })
            t:shared(4)
        end
        t:sync()
        t:loop(t.tid, bins, BLOCK, function(bin)
            t:shared(1)
            t:store(b.counts, bin * tiles + t.bx)
        end)
    end)
end

local function scan(p, b)
    local pieces = (p.n // TILE << p.bits) // 4
    local options = { grid = 1, block = BLOCK, regs = 24, shared = 2048 }
    return kernel("scan", options, function(t)
        t:loop(t.tid, pieces, BLOCK, function(i)
            local got = t:load(b.counts, 4 * i, { vec = 4 })
            t:alu(16, { uses = { got } })
            t:shared(10)
            t:store(b.counts, 4 * i, nil, { vec = 4 })
        end)
    end)
end

-- Where the key in slot `s` of its tile's order of bins goes.
local function place(p, t, s, number)
    local bins, run = 1 << p.bits, TILE >> p.bits
    local pair, at = s // (2 * run), s % (2 * run)
    local more = t:const(0)
    if p.spread > 0 then
        local x = (pair + t.bx // 2 * (1 << 20) + (number + 8 * p.seed) * (1 << 52))
            * 0x9e3779b97f4a7c15
        x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
        x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
        more = x:bxor(x:lshr(31)):lshr(33) % (2 * p.spread + 1) - p.spread
        -- of an odd number of tiles the last has none to make up for it
        more = t:select((t.bx + 1):lt(p.n // TILE):bor((t.bx % 2):eq(1)), more, 0)
    end
    local odd = (t.bx % 2):eq(1)
    local first = t:select(odd, run - more, run + more) -- keys of the first bin
    local second = at:ge(first)
    local before = t:select(odd, t:select(second, -more, more), 0)
    return (2 * pair + t:select(second, 1, 0)) * (p.n // bins) + t.bx * run + before
        + at - t:select(second, first, 0)
end

local function scatter(p, b, name, from, to, number)
    local bins, tiles = 1 << p.bits, p.n // TILE
    local options = { grid = tiles, block = BLOCK, regs = 48,
        shared = math.min(16384, 4 * TILE + 4 * bins) }
    return kernel(name, options, function(t)
        t:alu(8)
        local got = load_tile(t, from[1])
        t:loop(t.tid, bins, BLOCK, function(bin)
            local first = t:load(b.counts, bin * tiles + t.bx)
            t:alu(2, { uses = { first } })
            t:shared(1)
        end)
        t:sync()
        for j = 1, #got do
            t:alu(8 * p.alu_key, { uses = { got[j] } })
            t:shared(8)
        end
        t:sync()
        for k = 1, 2 do
            if k == 2 then got = load_tile(t, from[2]) end
            for j = 1, #got do
                t:alu(1, { uses = { got[j] } })
                t:shared(4)
            end
            t:sync()
            for j = 0, TILE // BLOCK - 1 do
                t:shared(1)
                t:alu(2)
                t:store(to[k], place(p, t, j * BLOCK + t.tid, number))
            end
            t:sync()
        end
    end)
end

return app {
    name = "RADIX", suite = "databases",
    source = "Merrill, Grimshaw (PPL 2011); CUB's upsweep, scan, downsweep",
    summary = "radix sort; stores to 256 pages in turn",
    registers = "guess: no machine code was read",
    params = { n = 1 << 20, bits = 8, passes = 4, spread = 4, seed = 1,
        alu_key = 3 },
    sizes = {
        T = { n = 1 << 13, passes = 2 },
        S = { n = 1 << 20 },
        M = { n = 1 << 23 },
        L = { n = 1 << 26 },
        XL = { n = 1 << 28 },
        XXL = { n = 6 << 30 },
    },
    footprint = function(p)
        return 16 * p.n + 4 * (p.n // TILE << p.bits)
    end,

    buffers = function(p)
        check(p)
        return {
            u32("keys0", p.n), u32("pays0", p.n), u32("keys1", p.n),
            u32("pays1", p.n), u32("counts", p.n // TILE << p.bits),
        }
    end,

    kernels = function(p, b)
        local out, sums = {}, scan(p, b)
        for i = 1, p.passes do
            local from, to = { b.keys0, b.pays0 }, { b.keys1, b.pays1 }
            if i % 2 == 0 then from, to = to, from end
            out[#out + 1] = count(p, b, "count" .. i, from[1])
            out[#out + 1] = sums
            out[#out + 1] = scatter(p, b, "scatter" .. i, from, to, i)
        end
        return out
    end,
}

--[[
RADIX - a radix sort of keys with payloads, or one pass of it, which is the partitioning
of a radix join: count, scan, scatter (three kernels a pass, as Merrill and Grimshaw's,
2011, and CUB before its single-pass sort), or one kernel a pass whose tiles look back
(onesweep, Adinets and Merrill, 2022, CUB's of today).

Arrays, in order: keys0, pays0, keys1, pays1 u32[n], counts u32[2^bits][tiles], with
tiles = n / 4096.  Footprint 16 n + 4 tiles 2^bits bytes.  Of kernel = onesweep counts is
[tiles][2^bits], then sums u32[passes][2^bits] and next u32[passes], which are
4 passes (2^bits + 1) bytes.

Of kernel = three a pass is three launches; keys and payloads go from one pair of arrays
to the other:
  count    a block of 256 threads a tile of 4,096 keys: four loads of 16 bytes a thread,
           shared counters, then the tile's counts, each of another row: a line, and
           from 1,024 tiles on a page, a lane
  scan     one block goes over all counts, 16 bytes a thread
  scatter  a block a tile: its counts again, keys, an exchange in shared memory, and
           stores in the order of bins: of 256 bins a tile has runs of some 16 keys,
           64 bytes, so a warp's store is two runs in two pages, and each core writes
           to 256 of them in turn; then payloads

Of kernel = onesweep keys are read once more than there are passes:
  histogram   a block 16 tiles, one after the other: counters of all passes in shared
              memory, then an atomic for each on sums
  scan        a block a pass: its sums
  onesweep    a block a tile, which an atomic on `next` numbers, so that those before it
              have begun whatever order blocks start in: keys are counted; the tile's
              counts are stored, a row of 1 KB, coalesced; a thread a bin then looks
              back, at the row of the tile before and so on, spinning while one is not
              there, up to one with the sum of all before; its own sum is stored, and
              keys and payloads are scattered as above
  What rows say of their state are values, so tiles wait for each other as they are
  timed; the closed form counts a look a tile, as where they run one after the other.

Keys are spread evenly over their bins, and no value is kept: of each two neighbouring
bins one has up to `spread` keys more in a tile and the other so many less, and the next
tile makes up for it, by a hash.  So stores of a pass are a permutation of the array, and
no size needs memory.

Addresses are driven by indices and that hash; no contents, but for the states of tiles,
which only the passes that run make.

Approximated: a row's states are numbered by pass, where CUB clears them before; between
two looks that find nothing are alu_spin instructions (guess); bins vary in pairs, not on
their own; within a run keys keep no order, on which no address depends; instructions
between accesses are guesses (alu_key); CUB's onesweep has tiles of 384 x 21 keys, here
they are of 4,096.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, u32 = h.app, h.kernel, h.u32

local TILE, BLOCK = 4096, 256
local ROUND = 16 -- tiles of a block of the histogram

local function check(p)
    h.choice(p, "kernel", "three", "onesweep")
    h.check(p.n > 0 and p.n % TILE == 0 and p.n < 1 << 36,
        ("RADIX: n = %d is not a multiple of %d below 2^36"):format(p.n, TILE))
    h.check(p.bits >= 2 and p.bits <= 11 and p.passes > 0,
        ("RADIX: bits = %d, passes = %d: 2 to 11 bits are possible, passes not 0")
            :format(p.bits, p.passes))
    h.check(p.spread < TILE >> p.bits,
        ("RADIX: spread = %d is not less than the %d keys of a bin in a tile"):format(
            p.spread, TILE >> p.bits))
end

local function load_tile(t, b, tile)
    local got = {}
    for j = 0, TILE // BLOCK // 4 - 1 do
        got[j + 1] = t:load(b, tile * TILE + 4 * (j * BLOCK + t.tid), { vec = 4 })
    end
    return got
end

local function count(p, b, name, keys)
    local bins, tiles = 1 << p.bits, p.n // TILE
    local options = { grid = tiles, block = BLOCK, regs = 32, shared = 4 * bins }
    return kernel(name, options, function(t)
        t:alu(8)
        local got = load_tile(t, keys, t.bx)
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

-- Where the key in slot `s` of a tile's order of bins goes.
local function place(p, t, tile, s, number)
    local bins, run = 1 << p.bits, TILE >> p.bits
    local pair, at = s // (2 * run), s % (2 * run)
    local more = t:const(0)
    if p.spread > 0 then
        local x = (pair + tile // 2 * (1 << 20) + (number + 8 * p.seed) * (1 << 52))
            * 0x9e3779b97f4a7c15
        x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
        x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
        more = x:bxor(x:lshr(31)):lshr(33) % (2 * p.spread + 1) - p.spread
        -- of an odd number of tiles the last has none to make up for it
        more = t:select((tile + 1):lt(p.n // TILE):bor((tile % 2):eq(1)), more, 0)
    end
    local odd = (tile % 2):eq(1)
    local first = t:select(odd, run - more, run + more) -- keys of the first bin
    local second = at:ge(first)
    local before = t:select(odd, t:select(second, -more, more), 0)
    return (2 * pair + t:select(second, 1, 0)) * (p.n // bins) + tile * run + before
        + at - t:select(second, first, 0)
end

-- Keys and payloads of a tile, whose keys are loaded, to their places.
local function exchange(p, t, tile, got, from, to, number)
    for k = 1, 2 do
        if k == 2 then got = load_tile(t, from[2], tile) end
        for j = 1, #got do
            t:alu(1, { uses = { got[j] } })
            t:shared(4)
        end
        t:sync()
        for j = 0, TILE // BLOCK - 1 do
            t:shared(1)
            t:alu(2)
            t:store(to[k], place(p, t, tile, j * BLOCK + t.tid, number))
        end
        t:sync()
    end
end

local function rank(p, t, got)
    for j = 1, #got do
        t:alu(8 * p.alu_key, { uses = { got[j] } })
        t:shared(8)
    end
end

-- A block a tile, whose keys are exchanged in shared memory.
local function scatters(p)
    return { grid = p.n // TILE, block = BLOCK, regs = 48,
        shared = math.min(16384, 4 * TILE + 4 * (1 << p.bits)) }
end

local function scatter(p, b, name, from, to, number)
    local bins, tiles = 1 << p.bits, p.n // TILE
    return kernel(name, scatters(p), function(t)
        t:alu(8)
        local got = load_tile(t, from[1], t.bx)
        t:loop(t.tid, bins, BLOCK, function(bin)
            local first = t:load(b.counts, bin * tiles + t.bx)
            t:alu(2, { uses = { first } })
            t:shared(1)
        end)
        t:sync()
        rank(p, t, got)
        t:sync()
        exchange(p, t, t.bx, got, from, to, number)
    end)
end

-- ---- kernel = onesweep ----------------------------------------------------------------

local function histogram(p, b)
    local all, tiles = p.passes << p.bits, p.n // TILE
    local options = { grid = h.ceil(tiles, ROUND), block = BLOCK, regs = 32,
        shared = math.min(16384, 4 * all) }
    return kernel("histogram", options, function(t)
        t:alu(8)
        local first = t.bx * ROUND
        t:loop(first, (first + ROUND):min(tiles), function(tile)
            local got = load_tile(t, b.keys0, tile)
            for j = 1, #got do
                t:alu(p.passes * p.alu_key, { uses = { got[j] } })
                t:shared(4 * p.passes)
            end
        end)
        t:sync()
        t:loop(t.tid, all, BLOCK, function(bin)
            t:shared(1)
            t:atomic("add", b.sums, bin)
        end)
    end)
end

local function scan_sums(p, b)
    local bins = 1 << p.bits
    local options = { grid = p.passes, block = BLOCK, regs = 24, shared = 2048 }
    return kernel("scan", options, function(t)
        t:loop(t.tid, bins, BLOCK, function(bin)
            local sum = t:load(b.sums, t.bx * bins + bin)
            t:alu(8, { uses = { sum } })
            t:shared(10)
            t:store(b.sums, t.bx * bins + bin)
        end)
    end)
end

-- A row's state in pass `number`: its own counts, or the sum of all up to it.
local function counted(number) return 2 * number end
local function summed(number) return 2 * number + 1 end

local function onesweep(p, b, name, from, to, number)
    local bins = 1 << p.bits
    return kernel(name, scatters(p), function(t)
        t:alu(8)
        t:when(t.tid:eq(0), function()
            local mine = t:atomic("add", b.next, number - 1, 1)
            t:poke(b.tile, t.bx, mine)
            t:shared(1, { uses = { mine } })
        end)
        t:sync()
        local tile = t:peek(b.tile, t.bx)
        local got = load_tile(t, from[1], tile)
        rank(p, t, got)
        t:sync()
        t:loop(t.tid, bins, BLOCK, function(bin)
            t:shared(1)
            t:store(b.counts, tile * bins + bin, t:select(tile:eq(0), summed(number),
                counted(number)))
            local back = t:var(tile - 1)
            t:while_(function() return back:get():ge(0) end, function()
                local state = t:load(b.counts, back:get() * bins + bin)
                t:alu(2, { uses = { state } })
                t:when(state:eq(summed(number)), function() back:set(-1) end,
                    function()
                        t:when(state:eq(counted(number)), function()
                            back:set(back:get() - 1)
                        end, function() t:alu(p.alu_spin, { uses = {} }) end)
                    end)
            end)
            t:when(tile:gt(0), function()
                t:store(b.counts, tile * bins + bin, summed(number))
            end)
            local sum = t:load(b.sums, (number - 1) * bins + bin)
            t:shared(1, { uses = { sum } })
        end)
        t:sync()
        exchange(p, t, tile, got, from, to, number)
    end)
end

return app {
    name = "RADIX", suite = "databases",
    source = "Merrill, Grimshaw (PPL 2011); CUB's upsweep, scan, downsweep, and "
        .. "onesweep (Adinets, Merrill, 2022)",
    summary = "radix sort; stores to 256 pages in turn",
    registers = "guess: no machine code was read",
    params = { n = 1 << 20, bits = 8, passes = 4, spread = 4, kernel = "three", seed = 1,
        alu_key = 3, alu_spin = 20 },
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
            + (p.kernel == "onesweep" and 4 * p.passes * ((1 << p.bits) + 1) or 0)
    end,

    buffers = function(p)
        check(p)
        local one = p.kernel == "onesweep"
        local out = {
            u32("keys0", p.n), u32("pays0", p.n), u32("keys1", p.n),
            u32("pays1", p.n),
            u32("counts", p.n // TILE << p.bits, { contents = one }),
        }
        if one then
            out[6] = u32("sums", p.passes << p.bits)
            out[7] = u32("next", p.passes, { contents = true })
            out[8] = u32("tile", p.n // TILE, { scratch = true })
        end
        return out
    end,

    kernels = function(p, b)
        local one = p.kernel == "onesweep"
        local sums = (one and scan_sums or scan)(p, b)
        local out = one and { histogram(p, b), sums } or {}
        for i = 1, p.passes do
            local from, to = { b.keys0, b.pays0 }, { b.keys1, b.pays1 }
            if i % 2 == 0 then from, to = to, from end
            if one then
                out[#out + 1] = onesweep(p, b, "onesweep" .. i, from, to, i)
            else
                out[#out + 1] = count(p, b, "count" .. i, from[1])
                out[#out + 1] = sums
                out[#out + 1] = scatter(p, b, "scatter" .. i, from, to, i)
            end
        end
        return out
    end,
}

--[[
HASHJOIN - a database join without partitions: build a hash table of one relation,
probe it with another (TU-Berlin-DIMA/fast-interconnects,
sql-ops/cudautils/no_partitioning_join.cu; Lutz et al., SIGMOD 2022 compare with it).

Arrays, in order: table i64[2 slots] (key, payload; a slot is 16 bytes), rkey, rpay
i64[n] of the relation that is built, skey, spay i64[n] of the one that probes,
sums i64[n].  slots = the power of two from n / load on, load in percent.  Footprint
16 slots + 40 n bytes.

Two launches, blocks of 256 threads, a thread a tuple:
  build   key and payload are coalesced; then slots from (key * 123456789123456789)
          on, one after the other, are loaded, each in a line of its own, until one
          is empty, which a compare-and-swap of 8 bytes takes
  probe   the key; slots until one is empty; where the key is found the payload of
          the tuple is loaded and added to the thread's sum, and the walk goes to
          the next slot: a hit takes one slot more at least

Keys are 1 to n, shuffled.  skew is Zipf's exponent of the probing keys in
hundredths (0: each once, shuffled otherwise).  The multiplier clusters dense keys
in small tables, since an odd one permutes them and the lowest bit is dropped.

    keys = shuffled   by generate.permutation: rkey and skey have contents
    keys = computed   by a permutation of the tuple's number, of a power of two of
                      tuples and without skew: they have none, so a join of gigabytes
                      begins at once; only the slots that are taken need memory

Everything is real: the table, its collisions, the lengths of loops.  Who of two
lanes takes a slot is the lower one, in a warp; among warps the machine decides.

Approximated: instructions between accesses are guesses (alu_tuple, alu_slot); the
released program has 1 to 64 thousand threads that take tuples in turn.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, i64 = h.app, h.kernel, h.i64

local BLOCK = 256
local FACTOR = 123456789123456789
local EMPTY = -1

local function slots(p)
    local n = 1
    while n * p.load < p.n * 100 do n = 2 * n end
    return n
end

local function check(p)
    h.choice(p, "keys", "shuffled", "computed")
    h.check(p.keys == "shuffled" or p.skew == 0 and p.n & (p.n - 1) == 0,
        ("HASHJOIN: n = %d, skew = %d: keys = computed takes a power of two of "
            .. "tuples and skew = 0"):format(p.n, p.skew))
    h.check(p.n > 0 and p.n < 1 << 31,
        ("HASHJOIN: n = %d tuples, 1 to %d are possible"):format(p.n,
            (1 << 31) - 1))
    h.check(p.load > 0 and p.load < 100,
        ("HASHJOIN: load = %d percent, 1 to 99 are possible"):format(p.load))
end

-- Where tuple i of 2^k is in an order that seed chooses: odd factors and shifts to the
-- right permute numbers of k bits.
local function permuted(i, n, seed)
    local half = 1
    while 1 << 2 * half < n do half = half + 1 end
    for round = 1, 2 do
        i = (i * 0x9e3779b97f4a7c15 + seed * 0xbf58476d1ce4e5b9 + round):band(n - 1)
        i = i:bxor(i:lshr(half))
    end
    return (i * 0x94d049bb133111eb):band(n - 1)
end

-- A kernel with a thread a tuple of `keys`; body(t, key, walk), where walk(visit) goes
-- over a key's slots until visit(content, place, stop) calls stop().
local function each(p, b, name, keys, seed, body)
    local elements = 2 * slots(p)
    local options = { grid = h.ceil(p.n, BLOCK), block = BLOCK, regs = 24 }
    return kernel(name, options, function(t)
        t:alu(p.alu_tuple)
        t:exit_if(t.gid:ge(p.n))
        local key = t:load(keys, t.gid)
        if p.keys == "computed" then key = key + permuted(t.gid, p.n, seed) + 1 end
        body(t, key, function(visit)
            local at = t:var((key * FACTOR):band(elements - 2))
            local open = t:var(1)
            t:alu(p.alu_tuple, { uses = { key } })
            t:while_(function() return open:get():ne(0) end, function()
                local content = t:load(b.table, at:get())
                t:alu(p.alu_slot, { uses = { content } })
                visit(content, at:get(), function() open:set(0) end)
                at:set((at:get() + 2):band(elements - 1))
            end)
        end)
    end)
end

local function build(p, b)
    return each(p, b, "build", b.rkey, p.seed, function(t, key, walk)
        local pay = t:load(b.rpay, t.gid)
        walk(function(content, at, stop)
            t:when(content:eq(EMPTY), function()
                local was = t:atomic("cas", b.table, at, key, EMPTY)
                t:alu(1, { uses = { was } })
                t:when(was:eq(EMPTY), function()
                    t:store(b.table, at + 1, pay)
                    stop()
                end)
            end)
        end)
    end)
end

local function probe(p, b)
    return each(p, b, "probe", b.skey, p.seed + 1, function(t, key, walk)
        walk(function(content, _, stop)
            t:when(content:eq(key), function()
                local pay, sum = t:load(b.spay, t.gid), t:load(b.sums, t.gid)
                t:store(b.sums, t.gid, sum + pay)
            end)
            t:when(content:eq(EMPTY), stop)
        end)
    end)
end

return app {
    name = "HASHJOIN", suite = "databases",
    source = "TU-Berlin-DIMA/fast-interconnects 172b177 no_partitioning_join.cu",
    summary = "hash join without partitions; a page of the table a lane",
    registers = "guess: no machine code was read",
    params = { n = 1 << 18, load = 50, keys = "shuffled", skew = 0, seed = 1,
        alu_tuple = 4, alu_slot = 4 },
    sizes = {
        T = { n = 1 << 12 },
        S = { n = 1 << 18 },
        M = { n = 1 << 20 },
        L = { n = 1 << 24 },
        XL = { n = 1 << 26, keys = "computed" },
    },
    footprint = function(p) return 16 * slots(p) + 40 * p.n end,

    buffers = function(p)
        check(p)
        local generate = require "heddle.generate"
        local function keys(skew, seed)
            if p.keys == "computed" then return nil end
            local k = skew == 0 and generate.permutation { n = p.n, seed = seed }
                or generate.zipf { n = p.n, keys = p.n, s = skew / 100, seed = seed }
            return function(i) return k[i] + 1 end
        end
        return {
            i64("table", 2 * slots(p), { data = EMPTY }),
            i64("rkey", p.n, { data = keys(0, p.seed) }),
            i64("rpay", p.n, { data = 1 }),
            i64("skey", p.n, { data = keys(p.skew, p.seed + 1) }),
            i64("spay", p.n, { data = 1 }),
            i64("sums", p.n, { contents = true }),
        }
    end,

    kernels = function(p, b) return { build(p, b), probe(p, b) } end,
}

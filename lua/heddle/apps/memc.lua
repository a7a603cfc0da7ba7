--[[
MEMC - GET requests of memcached on a GPU, after MemcachedGPU (Hetherington,
O'Connor, Aamodt, SoCC 2015); stands for the memcached of Pichai et al., whose
source is not public.

Arrays, in order: table u32 [2^h][42] (entries of 168 bytes: pointer, last
access, valid, key hash, lengths, key of up to 140 bytes) in sets of 16, lock
i32 2^(h-4), then of all batches in flight req u8 72 x requests, result i64,
resp u8 4096 + 256 x requests.  Footprint 168 2^h + 4 2^(h-4) + 336 requests +
4096 bytes, for 512 requests a batch.

A launch is `batches` batches of 512 requests at once (the original has up to
28 in flight, each a launch of its own), two blocks of 512 threads a batch; of
each half of a block 128 threads look up a request each, 128 only help:
  headers    16 rounds: a warp reads 52 bytes of one request; barrier
  keys       3 + 8 two-byte reads at a distance of 72 bytes: 18 lines, one
             page; the hash, 70 instructions; barrier
  look-up    lock[set] with compare and swap until it is taken (lanes with one
             set take turns); then way by way: valid, the hash, where its 8
             bits agree four words of the key, where they do the pointer and
             the length, and last access and valid are written.  Every lane is
             in a set of its own, 2,688 bytes a set: a line and a page a lane.
             The lock is given back; barrier
  answers    8 bytes a request; barrier; 16 rounds: 52 bytes of a header

Everything is real: the table is filled (0.8 2^h keys, numbered by popularity),
requests draw their keys from Zipf's law with exponent 0.99, one in twenty asks
for a key that was never set, sets, ways, wrong matches and contended locks
follow.  How often a warp tries for a lock depends on the order of the warps: a
survey at M has twice the instructions of a run.  Eight bytes of a request's
key decide: its even bytes hold its number.

Approximated: alu counts and the offsets of the three header fields.  The host
puts new requests in place between `waves` launches, in no time; the value that
the pointer leads to is in the host's memory and is not read here.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel = h.app, h.kernel
local u8, u32, i32, i64 = h.u8, h.u32, h.i32, h.i64

local BATCH, BLOCK, WORDS, WAYS, KEY = 512, 512, 42, 16, 54

local function requests(p) return BATCH * p.batches end
local function keys(p) return (1 << p.h) * 4 // 5 end

-- The keys that the requests of a wave ask for: { [0] = key, ... }.
local function drawn(p, wave)
    local generate = require "heddle.generate"
    local n, seed = requests(p), p.seed + 1000 * wave
    local rank = generate.zipf { n = n, keys = keys(p), s = p.s, seed = seed }
    local luck = generate.ints { n = n, lo = 0, hi = 99, seed = seed }
    local out = {}
    for r = 0, n - 1 do
        out[r] = rank[r] + (luck[r] < p.hits and 0 or keys(p))
    end
    return out
end

local function key_bytes(key)
    return key & 255, key >> 8 & 255, key >> 16 & 255, key >> 24 & 255
end

-- SplitMix64's mix, as generate.memcached has it.
local function mix(x)
    x = x + 0x9e3779b97f4a7c15
    x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
    x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
    return x:bxor(x:lshr(31))
end

-- The number of the key at byte `base` of the requests.
local function read_key(t, b, base)
    for _, offset in ipairs { 38, 42, 50 } do
        t:load(b.req, base + offset, { vec = 2 })
    end
    t:alu(6)
    local id
    for j = 0, 7 do
        local v = t:load(b.req, base + KEY + 2 * j, { vec = 2 })
        if j == 0 then id = v elseif j < 4 then id = id + v:shl(8 * j) end
    end
    t:alu(70)
    return id
end

local function take_lock(t, b, set)
    local free = t:var(1)
    t:while_(function() return free:ne(0) end, function()
        local v = t:load(b.lock, set)
        t:alu(2)
        local old = t:atomic("cas", b.lock, set, v + 1, v)
        t:alu(2)
        t:when(old:eq(v), function() free:set(0) end)
    end)
end

-- Way by way until the key is found; its pointer, 0 where it is not there.
local function probe(t, b, set, id, hash)
    local way, found = t:var(0), t:var(0)
    t:while_(function() return way:lt(WAYS) end, function()
        local e = (set * WAYS + way) * WORDS
        way:set(way + 1)
        local valid = t:load(b.table, e + 3)
        t:alu(4)
        t:when(valid:gt(0), function()
            local stored = t:load(b.table, e + 4)
            t:alu(3)
            t:when(stored:eq(hash), function()
                local first = t:load(b.table, e + 7)
                for w = 8, 10 do t:load(b.table, e + w) end
                t:alu(8)
                t:when(first:eq(id), function()
                    t:load(b.table, e, { vec = 2 })
                    t:load(b.table, e + 6)
                    t:alu(2)
                    t:store(b.table, e + 2, t:arg "now")
                    t:store(b.table, e + 3, 1)
                    found:set(way)
                    way:set(WAYS)
                end)
            end)
        end)
    end)
    return found
end

local function get(p, b)
    local sets = (1 << p.h) // WAYS
    local options = { grid = 2 * p.batches, block = BLOCK, regs = 32,
        shared = 256 * 52, args = { now = 1 } }
    return kernel("get", options, function(t)
        local first, lane, half = 256 * t.bx, t.tid % 32, t.tid // 256
        local row = first + 16 * (t.tid // 32)
        local looks = (t.tid % 256):lt(128)
        local r = first + 128 * half + t.tid % 256
        t:alu(12)
        t:loop(16, function(i)
            local v = t:load(b.req, 72 * (row + i) + 4 * (lane % 13),
                { vec = 4 })
            t:alu(3, { uses = {} })
            t:shared(1, { uses = { v } })
        end)
        t:sync()
        local id, set = t:var(0), t:var(0)
        t:when(looks, function()
            id:set(read_key(t, b, 72 * r))
            set:set(mix(id):band(sets - 1))
        end, function() t:alu(70) end)
        t:sync()
        local found = t:var(0)
        t:when(looks, function()
            take_lock(t, b, set)
            found:set(probe(t, b, set, id, mix(id):lshr(56)))
            t:atomic("add", b.lock, set, -1)
        end)
        t:sync()
        t:when(looks, function()
            t:alu(4)
            t:store(b.result, r, found)
        end)
        t:sync()
        t:loop(16, function(i)
            t:shared(1)
            t:alu(3)
            t:store(b.resp, 4096 + 256 * (row + i) + 4 * (lane % 13), nil,
                { vec = 4 })
        end)
    end)
end

return app {
    name = "MEMC", suite = "memcached",
    source = "MemcachedGPU (SoCC 2015), GET",
    summary = "look-ups in a hash table; a page for every lane",
    registers = "guess: the default",
    params = { h = 18, batches = 28, waves = 4, s = 0.99, hits = 95,
        seed = 1 },
    sizes = {
        T = { h = 8, batches = 1, waves = 2 },
        S = { h = 16 },
        M = { h = 18 },
        L = { h = 20 },
        XL = { h = 23 },
    },
    footprint = function(p)
        return (4 * WORDS << p.h) + 4 * ((1 << p.h) // WAYS)
            + (72 + 8 + 256) * requests(p) + 4096
    end,

    buffers = function(p)
        h.check(p.h >= 8 and p.h <= 25, "MEMC: h is 8 to 25")
        local generate = require "heddle.generate"
        local wanted, req = drawn(p, 0), {}
        local format = "<c" .. KEY .. ("Bx"):rep(4) .. "xxxxxxxxxx"
        local header = ("\0"):rep(KEY)
        for r = 0, requests(p) - 1 do
            req[r + 1] = format:pack(header, key_bytes(wanted[r]))
        end
        return {
            u32("table", 1 << p.h, WORDS, { data = generate.memcached {
                h = p.h, keys = keys(p), seed = p.seed } }),
            i32("lock", (1 << p.h) // WAYS, { contents = true }),
            u8("req", requests(p), 72, { data = table.concat(req) }),
            i64("result", requests(p), { contents = true }),
            u8("resp", 4096 + 256 * requests(p)),
        }
    end,

    kernels = function(p, b) return { get(p, b) } end,

    host = function(device)
        local p, wave = device.p, device.launched
        if wave == p.waves then return nil end
        if wave > 0 then
            local wanted = drawn(p, wave)
            for r = 0, requests(p) - 1 do
                local at = 72 * r + KEY
                for j, byte in ipairs { key_bytes(wanted[r]) } do
                    device.write(device.b.req, at + 2 * j - 2, byte)
                end
            end
        end
        return { device.kernels.get, args = { now = wave + 1 } }
    end,
}

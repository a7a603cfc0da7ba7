--[[
KMER - counting of the words of k bases in the reads of a genome, in one hash table
(Gerbil, Erbert et al., 2017; WarpCore, Jünger et al., HiPC 2020).

Arrays, in order: reads i64[words], two bits a base; table i64[2 slots], a key and its
count in 16 bytes.  slots = the power of two that holds the words there can be with
`load` percent.  Footprint 16 slots + 8 (reads len / 32 + 2) bytes.

One launch, blocks of 256, a thread a word: two neighbouring 8 bytes of its read,
coalesced; the first slot is a hash of the key; slots are loaded one after the other, each
in a line and a page of its own, until one is empty, which a compare-and-swap of 8 bytes
takes, or has the key; an atomic adds to its count.

    genome, coverage, len   bases, how often each is read, bases of a read
    errors   percent of reads with a wrong base, whose up to k words are met once only

The key of a word is a hash of its place in the genome, or of the thread where the read is
wrong there: so reads have no contents, and the table has.

Everything else is real: collisions, counts, the lengths of loops.  Of two warps that want
a slot the machine decides.

Approximated: words that occur twice in a genome are not there, nor is their complement;
both programs have groups of threads read neighbouring slots, Gerbil sorts words into
files before; instructions between accesses are guesses (alu_word, alu_slot).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local app, kernel, ceil, i64 = h.app, h.kernel, h.ceil, h.i64

local BLOCK = 256
local EMPTY = 0

local function check(p)
    h.check(p.k > 0 and p.k <= 31 and p.len >= p.k and p.genome >= p.len
        and p.genome < 1 << 31,
        ("KMER: k = %d, len = %d, genome = %d: k is 1 to 31 and not more than len, "
            .. "which is not more than genome"):format(p.k, p.len, p.genome))
    h.check(p.coverage > 0 and p.genome * p.coverage >= p.len and p.errors <= 100,
        ("KMER: coverage = %d, errors = %d: coverage is 1 or more, errors are up to "
            .. "100 percent"):format(p.coverage, p.errors))
    h.check(p.load > 0 and p.load < 100,
        ("KMER: load = %d percent, 1 to 99 are possible"):format(p.load))
end

local function reads(p) return p.genome * p.coverage // p.len end

local function slots(p)
    local most = p.genome + reads(p) * p.errors // 100 * p.k
    local n = 1
    while n * p.load < most * 100 do n = 2 * n end
    return n
end

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = x:bxor(x:lshr(30)) * 0xbf58476d1ce4e5b9
    x = x:bxor(x:lshr(27)) * 0x94d049bb133111eb
    return x:bxor(x:lshr(31))
end

local function count(p, b)
    local words = p.len - p.k + 1 -- of a read
    local all, elements = reads(p) * words, 2 * slots(p)
    local options = { grid = ceil(all, BLOCK), block = BLOCK, regs = 32 }
    return kernel("count", options, function(t)
        t:alu(4)
        t:exit_if(t.gid:ge(all))
        local read, at = t.gid // words, t.gid % words
        local first = (read * p.len + at) // 32
        local low, high = t:load(b.reads, first), t:load(b.reads, first + 1)
        t:alu(p.alu_word, { uses = { low, high } })
        -- the read's place, and where it is wrong
        local seed = p.seed << 56
        local start = mix(seed + read):lshr(1) % (p.genome - p.len + 1)
        local dice = mix(seed + (1 << 48) + read):lshr(1)
        local wrong = dice // 128 % p.len
        local bad = (dice % 100):lt(p.errors):band(wrong:ge(at))
            :band(wrong:lt(at + p.k))
        local key = t:select(bad, mix(seed + (2 << 48) + t.gid),
            mix(seed + (3 << 48) + start + at)):bor(1)
        local slot = t:var((mix(key) * 2):band(elements - 2))
        local open = t:var(1)
        t:while_(function() return open:get():ne(0) end, function()
            local content = t:load(b.table, slot:get())
            t:alu(p.alu_slot, { uses = { content } })
            local held = t:var(content)
            t:when(content:eq(EMPTY), function()
                local was = t:atomic("cas", b.table, slot:get(), key, EMPTY)
                t:alu(1, { uses = { was } })
                held:set(t:select(was:eq(EMPTY), key, was))
            end)
            t:when(held:get():eq(key), function()
                t:atomic("add", b.table, slot:get() + 1)
                open:set(0)
            end)
            slot:set((slot:get() + 2):band(elements - 1))
        end)
    end)
end

return app {
    name = "KMER", suite = "genomics",
    source = "hash tables as of Gerbil (2017) and WarpCore (HiPC 2020)",
    summary = "words of a genome counted in a hash table; a page a lane",
    registers = "guess: no machine code was read",
    params = { genome = 300000, coverage = 8, len = 100, k = 31, errors = 50,
        load = 90, seed = 1, alu_word = 25, alu_slot = 4 },
    sizes = {
        T = { genome = 1000, coverage = 4 },
        S = { genome = 300000 },
        M = { genome = 3000000 },
        L = { genome = 20000000 },
        XL = { genome = 200000000 },
    },
    footprint = function(p)
        return 16 * slots(p) + 8 * (reads(p) * p.len // 32 + 2)
    end,

    buffers = function(p)
        check(p)
        return {
            i64("reads", reads(p) * p.len // 32 + 2),
            i64("table", 2 * slots(p), { contents = true }),
        }
    end,

    kernels = function(p, b) return { count(p, b) } end,
}

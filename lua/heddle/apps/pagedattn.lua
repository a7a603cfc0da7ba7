--[[
PAGEDATTN - attention of one decode step over a paged KV cache, as vLLM has it
(csrc/attention/attention_kernels.cuh and its second version): LLM inference.

Arrays, in order: q[seqs][heads][128], then of each layer its K cache
[blocks][kv_heads][16][16][8] and its V cache [blocks][kv_heads][128][16], fp16
(u32 of two; a block is 16 tokens, 4 KB a head), table[seqs][most blocks] i32,
lens[seqs] i32, out[seqs][heads][128] fp16; in v2 sums and maxima
[seqs][heads][parts] f32 and partial[seqs][heads][parts][128] fp16.  Footprint
8192 kv_heads blocks layers bytes of caches, with blocks = sum of lens / 16
rounded up, and little beside.

One launch a layer (v1), or two (v2).  Blocks of 128 threads, four groups of 32;
grid (heads, seqs), in v2 (heads, seqs, parts of 512 tokens).  A block loads its
query; its groups take KV blocks in turn, each with 16 loads of K (two lines
each, and all in the one 4 KB page of that head's block); a softmax over the
logits in shared memory; 8 loads of V (four lines, one page); a tree over the
groups.  v2's second kernel (heads, seqs) joins the parts.  `version` auto takes
v1 as vLLM does: for contexts up to 8,192 tokens, if they are one part or there
are more than 512 blocks.  All heads of a group of queries (heads / kv_heads)
read the same pages at nearly the same time, from different cores.

    layout = flash   caches [blocks][16][kv_heads][128], as FlashAttention's
                     back end: a load is two tokens of 256 bytes,
                     kv_heads * 256 bytes apart, 8 loads of K and 8 of V.  With
                     8 heads a KV block of a head is 8 pages instead of one
    lengths          conv, code: contexts drawn as those of Azure's services
                     (requests.lua) around the mean `len`; fixed: all `len`
    fragment         percent of the physical blocks that are in random order, as
                     in a server that has run for long; 0: ascending (guess)

Addresses are driven by lens and table, which have contents; K, V and q have none.

Approximated: values are not computed, since no address and no branch depends
on them; arithmetic and shared memory are guesses (alu_k and alu_v instructions
a KV block, alu_softmax a round of 128 tokens), as no machine code was read; q is
an array of its own, not a part of the fused product; no ALiBi, no sparsity.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local requests = require "heddle.apps.requests"
local app, kernel, ceil = h.app, h.kernel, h.ceil
local f32, i32, u8, u32 = h.f32, h.i32, h.u8, h.u32

local HEAD = 128         -- elements of a head
local TOKENS = 16        -- of a KV block
local PART = 512         -- tokens of a part (v2)
local BLOCK = 4096       -- bytes of a KV block of a head
local GROUPS = 4         -- of 32 threads

-- ---- what the server holds --------------------------------------------------

-- Lengths, the first block of each sequence, all blocks, the most of one.
local function contexts(p)
    h.choice(p, "lengths", "conv", "code", "fixed")
    local lens = requests.contexts(p.lengths, p.seqs, p.len, p.seed)
    local first, blocks, most = {}, 0, 0
    for i, n in ipairs(lens) do
        first[i] = blocks
        blocks = blocks + ceil(n, TOKENS)
        most = math.max(most, n)
    end
    return { lens = lens, first = first, blocks = blocks, most = most,
        width = ceil(most, TOKENS) }
end

-- Physical numbers of blocks 0, 1, ...: a share of them drawn is shuffled.
local function placed(p, blocks)
    local at, moved = {}, {}
    for i = 0, blocks - 1 do
        at[i] = i
        if requests.random(p.seed + 1, i) % 100 < p.fragment then
            moved[#moved + 1] = i
        end
    end
    for i = #moved, 2, -1 do
        local j = requests.random(p.seed + 2, i) * i // 1000000 + 1
        at[moved[i]], at[moved[j]] = at[moved[j]], at[moved[i]]
    end
    return at
end

local function table_of(p, s)
    local at, out = placed(p, s.blocks), {}
    for i, n in ipairs(s.lens) do
        for k = 0, s.width - 1 do
            out[#out + 1] = k < ceil(n, TOKENS) and at[s.first[i] + k] or 0
        end
    end
    return out
end

local function parts(p, s)
    h.choice(p, "version", "auto", "v1", "v2")
    local n = ceil(s.most, PART)
    local one = p.version == "v1" or p.version == "auto" and s.most <= 8192
        and (n == 1 or p.seqs * p.heads > 512)
    return not one and n or nil
end

local function check(p)
    h.most(p, { seqs = 1 << 20, len = 1 << 24, heads = 1 << 10, layers = 1 << 12 })
    h.check(p.seqs > 0 and p.len > 0 and p.layers > 0,
        ("PAGEDATTN: seqs = %d, len = %d, layers = %d: none may be 0"):format(
            p.seqs, p.len, p.layers))
    h.check(p.kv_heads > 0 and p.heads > 0 and p.heads % p.kv_heads == 0,
        ("PAGEDATTN: heads = %d is not a multiple of kv_heads = %d"):format(
            p.heads, p.kv_heads))
    h.check(p.fragment <= 100,
        ("PAGEDATTN: fragment = %d is more than 100 percent"):format(p.fragment))
    h.choice(p, "layout", "paged", "flash")
end

-- ---- kernels ----------------------------------------------------------------

-- Waits of a barrier of the block, then `instructions` of shared memory.
local function round(t, stores, loads, reader, writer)
    t:when(writer, function() t:shared(stores) end)
    t:sync()
    t:when(reader, function() t:shared(loads) end)
    t:sync()
end

-- Which KV blocks a block of threads reads: of v1 all of its sequence, of v2 those
-- of its part.
local function attention(p, b, name, k, v, s, n)
    local per = p.heads // p.kv_heads
    local shared = n and PART * 4 or math.max(2 * HEAD * 4,
        4 * TOKENS * s.width)
    local options = { grid = n and { p.heads, p.seqs, n } or { p.heads, p.seqs },
        block = 32 * GROUPS, regs = 48, shared = shared }
    return kernel(name, options, function(t)
        local lane, group = t.tid % 32, t.tid // 32
        local head, seq = t.bx, t.by
        local row = seq * p.heads + head
        t:alu(8)
        local len = t:load(b.lens, seq)
        local from, to = 0, (len + (TOKENS - 1)) // TOKENS
        local tokens = len
        if n then
            t:exit_if((t.bz * PART):ge(len))
            from = t.bz * (PART // TOKENS)
            to = to:min(from + PART // TOKENS)
            tokens = (len - t.bz * PART):min(PART)
        end
        t:alu(6)
        t:when(group:eq(0), function()
            local q = t:load(b.q, row * (HEAD // 2) + 2 * lane, { vec = 2 })
            t:alu(2, { uses = { q } })
            t:shared(1)
        end)
        t:sync()

        -- The element of a load of `i` of a head's part of a block.
        local flash = p.layout == "flash"
        local function place(block, i, vec)
            if flash then
                local token = block * TOKENS + 2 * i + lane // 16
                return (token * p.kv_heads + head // per) * (HEAD // 2)
                    + 4 * (lane % 16)
            end
            return (block * p.kv_heads + head // per) * (BLOCK // 4)
                + 32 * vec * i + vec * lane
        end
        local function read(buffer, block, vec, alu)
            local got, loads = {}, BLOCK // (32 * 4 * vec)
            for i = 0, loads - 1 do
                got[i] = t:load(buffer, place(block, i, vec), { vec = vec })
            end
            for i = 0, loads - 1 do
                local each = alu * (i + 1) // loads - alu * i // loads
                t:alu(math.max(1, each), { uses = { got[i] } })
            end
        end

        t:loop(from + group, to, GROUPS, function(i)
            local block = t:load(b.table, seq * s.width + i)
            read(k, block, flash and 4 or 2, p.alu_k)
            t:shared(p.shared_k)
        end)
        t:sync()
        local rounds = (tokens + (32 * GROUPS - 1)) // (32 * GROUPS)
        for _ = 1, 2 do -- the sum of exponents, then their shares
            t:loop(rounds, function()
                t:alu(p.alu_softmax)
                t:shared(p.shared_softmax)
            end)
            t:sync()
        end

        t:loop(from + group, to, GROUPS, function(i)
            local block = t:load(b.table, seq * s.width + i)
            t:shared(2)
            read(v, block, 4, p.alu_v)
        end)
        round(t, 8, 8, group:lt(2), group:ge(2))
        round(t, 8, 8, group:eq(0), group:eq(1))
        t:when(group:eq(0), function()
            local out = row
            if n then
                out = row * n + t.bz
                t:when(lane:eq(0), function()
                    t:store(b.maxima, out)
                    t:store(b.sums, out)
                end)
            end
            t:when((lane % 2):eq(0), function()
                for i = 0, 7 do
                    t:store(n and b.partial or b.out,
                        2 * (out * HEAD + 16 * i + lane // 2), nil, { vec = 2 })
                end
            end)
        end)
    end)
end

-- v2: a thread an element of a head.
local function reduce(p, b, name, n)
    local options = { grid = { p.heads, p.seqs }, block = HEAD, regs = 32,
        shared = 8 * n }
    return kernel(name, options, function(t)
        local row = t.by * p.heads + t.bx
        t:alu(6)
        local used = (t:load(b.lens, t.by) + (PART - 1)) // PART
        t:when(used:eq(1), function() -- a copy
            t:load(b.partial, 2 * (row * n * HEAD + t.tid), { vec = 2 })
            t:alu(2)
            t:store(b.out, 2 * (row * HEAD + t.tid), nil, { vec = 2 })
        end, function()
            t:loop(t.tid, used, HEAD, function(j)
                t:load(b.maxima, row * n + j)
                t:load(b.sums, row * n + j)
                t:alu(8)
                t:shared(2)
            end)
            t:sync()
            t:loop(used, function(j)
                t:load(b.partial, 2 * ((row * n + j) * HEAD + t.tid), { vec = 2 })
                t:shared(1)
                t:alu(4)
            end)
            t:store(b.out, 2 * (row * HEAD + t.tid), nil, { vec = 2 })
        end)
    end)
end

return app {
    name = "PAGEDATTN", suite = "vLLM",
    source = "vLLM 04d1abd csrc/attention/attention_kernels.cuh",
    summary = "decode attention over a paged KV cache; one page a KV block",
    registers = "guess: no machine code was read",
    params = { seqs = 16, len = 512, lengths = "fixed", heads = 32, kv_heads = 8,
        layers = 1, version = "auto", layout = "paged", fragment = 0, seed = 1,
        alu_k = 115, shared_k = 17, alu_softmax = 20, shared_softmax = 4,
        alu_v = 120 },
    sizes = {
        T = { seqs = 4, len = 200, heads = 8, kv_heads = 2 },
        S = { seqs = 16, len = 512 },
        M = { seqs = 32, len = 1250, lengths = "conv" },
        L = { seqs = 256, len = 1250, lengths = "conv" },
        XL = { seqs = 256, len = 1250, lengths = "conv", layers = 4 },
    },
    footprint = function(p)
        local s = contexts(p)
        local n, rows = parts(p, s) or 0, p.seqs * p.heads
        return 2 * BLOCK * p.kv_heads * s.blocks * p.layers
            + 2 * rows * HEAD * (2 + n) + 8 * rows * n
            + 4 * p.seqs * (s.width + 1)
    end,

    buffers = function(p)
        check(p)
        local s = contexts(p)
        local n, rows = parts(p, s), p.seqs * p.heads
        local out = { u32("q", rows * HEAD // 2) }
        for i = 1, p.layers do
            local of = p.layers > 1 and tostring(i) or ""
            for _, name in ipairs { "K", "V" } do
                out[#out + 1] = u32(name .. of,
                    s.blocks * p.kv_heads * (BLOCK // 4))
            end
        end
        table.move({
            i32("table", p.seqs * s.width, { data = table_of(p, s) }),
            i32("lens", p.seqs, { data = s.lens }),
            u8("out", 2 * rows * HEAD),
        }, 1, 3, #out + 1, out)
        if n then
            table.move({ f32("sums", rows * n), f32("maxima", rows * n),
                u8("partial", 2 * rows * n * HEAD) }, 1, 3, #out + 1, out)
        end
        return out
    end,

    kernels = function(p, b)
        local s = contexts(p)
        local n, out = parts(p, s), {}
        for i = 1, p.layers do
            local of = p.layers > 1 and tostring(i) or ""
            out[#out + 1] = attention(p, b, (n and "parts" or "attention") .. of,
                b["K" .. of], b["V" .. of], s, n)
            out[#out + 1] = n and reduce(p, b, "reduce" .. of, n) or nil
        end
        return out
    end,
}

--[[
KVSWAP - a server of a language model whose KV cache is larger than the GPU's memory:
blocks of sequences go to the host and come back, between steps of decode.  Copies
are those of vLLM's swap_blocks (csrc/cache_kernels.cu), as one kernel.

Arrays, in order: cache[layers][2][blocks][16 kv_heads 128] fp16 (u32 of two; K, then
V; a block is 16 tokens), pool, of the same form, on the host; moves i64[][2],
table i32[steps][active][most blocks], lens i32[steps][active].  Footprint
8192 kv_heads layers bytes for each block of the cache and of the pool, and a little
for the rest.

    kind = copy   a step has `active` of `seqs` sequences on the GPU; the others are in
                  the pool.  Before each step but the first `moved` of them leave and
                  as many return, in turn: two launches, out and in, grid (blocks, 2,
                  layers), blocks of 256 threads: a pair of numbers (broadcast), then
                  4096 kv_heads bytes, 16 a lane; four lines and one page each.
                  Demand paging (vm.paging) leaves the pool on the host, where
                  loads and stores cross the link; without it both are the GPU's
    kind = uvm    one cache of all sequences, no pool and no copies: with demand paging
                  and less memory than that the blocks of a step fault.  A sequence is
                  used again after seqs / moved steps: a cycle, LRU's worst case
    overlap = 1   copies of the next step overlap decode, in a stream of their own, into
                  blocks that are free before (kind = copy)

Decode is a launch a layer, grid (heads, active), blocks of 128 threads: groups of 32
take KV blocks in turn, 16 loads of K and 8 of V, as in PAGEDATTN.  Contexts are drawn
as there (`lengths`, requests.lua).

Addresses are driven by moves, table and lens, which have contents.

Approximated: queries, the softmax, results and the rest of a layer are left out;
sequences do not grow; instructions are guesses (alu_k, alu_v).

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local requests = require "heddle.apps.requests"
local app, kernel, ceil, i32, i64, u32 = h.app, h.kernel, h.ceil, h.i32, h.i64, h.u32

local TOKENS = 16
local GROUPS = 4                       -- of a block of decode
local COPIERS = 8                      -- groups of a block that copies

local function check(p)
    h.most(p, { seqs = 1 << 20, len = 1 << 24, heads = 1 << 10, layers = 1 << 12,
        steps = 1 << 20 })
    h.choice(p, "kind", "copy", "uvm")
    h.choice(p, "lengths", "conv", "code", "fixed")
    h.check(p.len > 0 and p.layers > 0 and p.steps > 0 and p.active > 0,
        ("KVSWAP: len = %d, layers = %d, steps = %d, active = %d: none may be 0")
            :format(p.len, p.layers, p.steps, p.active))
    h.check(p.kv_heads > 0 and p.heads > 0 and p.heads % p.kv_heads == 0,
        ("KVSWAP: heads = %d is not a multiple of kv_heads = %d"):format(
            p.heads, p.kv_heads))
    h.check(p.moved <= p.active and p.moved + p.active <= p.seqs,
        ("KVSWAP: seqs = %d, active = %d, moved = %d: those that move are active "
            .. "or not, so moved is at most active and seqs - active"):format(
            p.seqs, p.active, p.moved))
    h.check(p.overlap <= 1, "KVSWAP: overlap is 0 or 1")
end

-- Blocks that are free, the last given back first; it grows as it must.
local function store()
    local free, size = {}, 0
    local function take(n)
        local out = {}
        for i = 1, n do
            if #free > 0 then
                out[i] = table.remove(free)
            else
                out[i], size = size, size + 1
            end
        end
        return out
    end
    local function give(blocks)
        for i = #blocks, 1, -1 do free[#free + 1] = blocks[i] end
    end
    return take, give, function() return size end
end

-- What the server does: { cache, pool (blocks), width, steps = { { out, back (pairs of
-- blocks), who (numbers of sequences), at (their blocks), lens } } }.
local function plan(p)
    local lens = requests.contexts(p.lengths, p.seqs, p.len, p.seed)
    local number, width = {}, 0
    for i, n in ipairs(lens) do
        number[i] = ceil(n, TOKENS)
        width = math.max(width, number[i])
    end
    local take, give, cached = store()
    local hold, drop, pooled = store()
    local at, copy = {}, p.kind == "copy"
    for i = 1, p.seqs do
        at[i] = (not copy or i <= p.active) and take(number[i]) or hold(number[i])
    end
    local steps = {}
    local function pairs_of(from, to, list)
        for k, block in ipairs(from) do
            list[#list + 1] = block
            list[#list + 1] = to[k]
        end
    end
    for step = 1, p.steps do
        local out, back, who, places, own = {}, {}, {}, {}, {}
        local first = (step - 1) * p.moved -- of those active
        local function leave()
            for i = 1, p.moved do
                local seq = (first - p.moved + i - 1) % p.seqs + 1
                local blocks = hold(number[seq])
                pairs_of(at[seq], blocks, out)
                give(at[seq])
                at[seq] = blocks
            end
        end
        local function enter()
            for i = 1, p.moved do
                local seq = (first + p.active - p.moved + i - 1) % p.seqs + 1
                local blocks = take(number[seq])
                pairs_of(at[seq], blocks, back)
                drop(at[seq])
                at[seq] = blocks
            end
        end
        if copy and step > 1 and p.overlap == 1 then
            enter()
            leave()
        elseif copy and step > 1 then
            leave()
            enter()
        end
        for i = 1, p.active do
            who[i] = (first + i - 1) % p.seqs + 1
            places[i], own[i] = at[who[i]], lens[who[i]]
        end
        steps[step] = { out = out, back = back, who = who, at = places, lens = own }
    end
    return { cache = cached(), pool = pooled(), width = width, steps = steps }
end

-- Lists of the three buffers, and where each step's moves begin.
local function contents(p, s)
    local moves, blocks, lens = {}, {}, {}
    for _, step in ipairs(s.steps) do
        step.first_out = #moves // 2
        table.move(step.out, 1, #step.out, #moves + 1, moves)
        step.first_back = #moves // 2
        table.move(step.back, 1, #step.back, #moves + 1, moves)
        for i = 1, p.active do
            lens[#lens + 1] = step.lens[i]
            for k = 1, s.width do
                blocks[#blocks + 1] = step.at[i][k] or 0
            end
        end
    end
    return moves, blocks, lens
end

local function copies(p, b, s, name, from, to)
    local piece = p.kv_heads * 1024 -- u32 of a block
    local options = { grid = 1, block = 32 * COPIERS, regs = 32,
        args = { first = 0 } }
    local of, into = from == b.cache and s.cache or s.pool,
        to == b.cache and s.cache or s.pool
    return kernel(name, options, function(t)
        t:alu(6)
        local place = 2 * (t:arg "first" + t.bx)
        local source = t:load(b.moves, place, { vec = 2 })
        local target = t:peek(b.moves, place + 1, { uses = { source } })
        local layer = t.bz * 2 + t.by
        local read = (layer * of + source) * piece + 4 * t.tid
        local write = (layer * into + target) * piece + 4 * t.tid
        local got = {}
        for i = 0, p.kv_heads - 1 do
            got[i] = t:load(from, read + 1024 * i, { vec = 4 })
        end
        for i = 0, p.kv_heads - 1 do
            t:alu(1, { uses = { got[i] } })
            t:store(to, write + 1024 * i, nil, { vec = 4 })
        end
    end)
end

local function decode(p, b, s)
    local per = p.heads // p.kv_heads
    local options = { grid = { p.heads, p.active }, block = 32 * GROUPS, regs = 48,
        args = { step = 0, layer = 0 } }
    return kernel("decode", options, function(t)
        local lane, group = t.tid % 32, t.tid // 32
        local row = t:arg "step" * p.active + t.by
        t:alu(8)
        local blocks = (t:load(b.lens, row) + (TOKENS - 1)) // TOKENS
        -- K, then V: loads of a KV block of this head, vec u32 a lane
        for part, vec in ipairs { 2, 4 } do
            local loads, alu = 32 // vec, part == 1 and p.alu_k or p.alu_v
            local layer = (2 * t:arg "layer" + (part - 1)) * s.cache
            t:loop(group, blocks, GROUPS, function(i)
                local block = t:load(b.table, row * s.width + i)
                local at = ((layer + block) * p.kv_heads + t.bx // per) * 1024
                local got = {}
                for k = 0, loads - 1 do
                    got[k] = t:load(b.cache, at + vec * (32 * k + lane),
                        { vec = vec })
                end
                for k = 0, loads - 1 do
                    local each = alu * (k + 1) // loads - alu * k // loads
                    t:alu(math.max(1, each), { uses = { got[k] } })
                end
            end)
            t:sync()
        end
    end)
end

return app {
    name = "KVSWAP", suite = "vLLM",
    source = "vLLM 04d1abd csrc/cache_kernels.cu swap_blocks; attention_kernels.cuh",
    summary = "decode with a KV cache of which a part is on the host",
    registers = "guess: no machine code was read",
    params = { seqs = 16, active = 8, moved = 2, steps = 4, len = 512,
        lengths = "fixed", heads = 32, kv_heads = 8, layers = 1, kind = "copy",
        overlap = 0, seed = 1, alu_k = 115, alu_v = 120 },
    sizes = {
        T = { seqs = 4, active = 2, moved = 1, len = 60, heads = 4, kv_heads = 2 },
        S = { seqs = 16, len = 512 },
        M = { seqs = 32, active = 16, moved = 4, len = 1250, lengths = "conv" },
        L = { seqs = 256, active = 128, moved = 16, len = 1250,
            lengths = "conv" },
        XL = { seqs = 256, active = 128, moved = 16, len = 1250,
            lengths = "conv", layers = 4 },
        XXL = { seqs = 256, active = 128, moved = 16, len = 1250,
            lengths = "conv", heads = 64, layers = 80 }, -- Llama-3.1-70B
    },
    footprint = function(p)
        local s = plan(p)
        local moves, blocks, lens = contents(p, s)
        return 8192 * p.kv_heads * p.layers * (s.cache + s.pool)
            + 8 * math.max(#moves, p.kind == "copy" and 2 or 0)
            + 4 * (#blocks + #lens)
    end,

    buffers = function(p)
        check(p)
        local s = plan(p)
        local moves, blocks, lens = contents(p, s)
        local out = { u32("cache", p.layers * 2 * s.cache * p.kv_heads * 1024) }
        if p.kind == "copy" then
            out[2] = u32("pool", p.layers * 2 * math.max(s.pool, 1)
                * p.kv_heads * 1024,
                { advise = { accessed_by = true, preferred = "host" } })
            out[3] = i64("moves", math.max(#moves, 2), { data = moves })
        end
        out[#out + 1] = i32("table", #blocks, { data = blocks })
        out[#out + 1] = i32("lens", #lens, { data = lens })
        return out
    end,

    kernels = function(p, b)
        local s, list = plan(p), {}
        contents(p, s)
        local work = decode(p, b, s)
        local out = p.kind == "copy" and copies(p, b, s, "out", b.cache, b.pool)
        local back = out and copies(p, b, s, "in", b.pool, b.cache)
        local streams = out and p.overlap == 1
        local function add(launch, stream)
            launch.stream = streams and stream or nil
            list[#list + 1] = launch
            return launch
        end
        for i, step in ipairs(s.steps) do
            local moved = #step.out > 0
            if moved then
                local grid = { 0, 2, p.layers }
                local function one(k, pairs_, first)
                    return add({ k, grid = { #pairs_ // 2, grid[2], grid[3] },
                        args = { first = first } }, "copies")
                end
                local first = one(out, step.out, step.first_out)
                local last = one(back, step.back, step.first_back)
                if streams then -- blocks that come were read two steps ago
                    first.wait = i > 2 and "read" .. i % 2 or nil
                    last.record = "ready"
                end
            end
            for layer = 0, p.layers - 1 do
                local launch = add({ work, args = { step = i - 1, layer = layer } },
                    "decode")
                if streams then
                    launch.wait = moved and layer == 0 and "ready" or nil
                    launch.record = layer == p.layers - 1 and "read" .. i % 2
                        or nil
                end
            end
        end
        return list
    end,
}

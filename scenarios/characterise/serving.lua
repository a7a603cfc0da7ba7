--- serving.lua - an LLM server as an application: a host that batches requests
-- step by step, in two streams.
--
--     local serving = require "serving"
--     local p = serving.check { rate = 0.5, steps = 24 }
--     H.sim { machine = "a100", apps = { serving.program(p) } }
--     local log = serving.log(p)             what the host does, step by step
--
-- Requests arrive as a Poisson process and are as long as those of Azure's services
-- (heddle.apps.requests).  A step of the host is one of vLLM's scheduler, first come
-- first served: requests that run get a block of 16 tokens where their next token
-- needs one; where none is free the last admitted gives its blocks back and
-- waits, to be computed again with what it has answered so far; then those that wait
-- are admitted as far as there are blocks (but for one percent, vLLM's watermark),
-- places and tokens in a batch.  Then
--
--     stream prompts   layer by layer the admitted: qkv, append to the KV cache,
--                      FlashAttention-2's forward kernel over prompts of different
--                      lengths, o, up, silu, down
--     stream answers   likewise those that run, a row each, with decode attention
--                      over the paged cache (PAGEDATTN, v1)
--     default          reads the last row of each; the host waits for it
--
-- Each request in a step gets a token, one with all of its tokens leaves, and its
-- blocks are free.  A request is cut so that it has at most `context` tokens, prompt
-- and answer.
--
-- A host cannot read the simulated clock: an application depends on its parameters
-- alone.  So arrivals are in steps: `rate` is requests a step, and a step takes the
-- time that its launches take.  What the server does is thus independent of the
-- machine, and machines do equal work; that a slower one has a longer queue is not
-- modelled.  Steps without requests take no time.
--
-- Products are tiles as in vLLM's Triton kernels (64 x 64 x 32 of prompts,
-- 16 x 32 x 64 of few rows), four groups of 32 threads, one round in flight.  Left
-- out: embedding, norms, rotary embedding, the product with the vocabulary; v2's parts
-- for long contexts; chunks of prompts; prefixes that requests share.  The host takes
-- no time between steps unless `host_us` says so (a Python server: 1 to 5 ms, many
-- times a step of so small a model).  Instructions between accesses are PREFILL's and
-- PAGEDATTN's, guesses.
--
-- SPDX-License-Identifier: MIT
local H = require "heddle"
local requests = require "heddle.apps.requests"
local k = H.kernel
local ceil, i32, u16, u32 = k.ceil, k.i32, k.u16, k.u32

local M = {}

local HEAD = 128                  -- elements of a head
local TOKENS = 16                 -- of a KV block
local GROUPS = 4                  -- of 32 threads
local THREADS = 32 * GROUPS
local PROMPT = { 64, 64, 32 }     -- tiles of products: rows, columns, of the sum
local ANSWER = { 16, 32, 64 }
local QUERIES, KEYS = 128, 64     -- tile of FlashAttention-2
local STREAM = 256                -- threads of an elementwise block
local ALU_K, ALU_V, SHARED_K = 115, 120, 17      -- PAGEDATTN
local ALU_ROUND, ALU_TILE = 8, 200               -- a round of a product; PREFILL

--- Sizes of models: tiny is none that exists; the others' from their
-- configurations (keys of Habana-LLM-Viewer's models.py, oumi's recipes).
M.MODELS = {
    tiny = { layers = 2, heads = 2, kv_heads = 1, hidden = 256, ffn = 512 },
    ["llama2-7b"] = { layers = 32, heads = 32, kv_heads = 32, hidden = 4096,
        ffn = 11008 },
    ["llama3.1-8b"] = { layers = 32, heads = 32, kv_heads = 8, hidden = 4096,
        ffn = 14336 },
    ["llama3.1-70b"] = { layers = 80, heads = 64, kv_heads = 8, hidden = 8192,
        ffn = 28672 },
}

local DEFAULT = {
    model = "tiny", layers = 0,       -- layers: 0: all that it has
    rate = 0.5,                       -- requests a step (guess)
    steps = 24,                       -- in which requests arrive
    drain = false,                    -- steps until all have ended
    lengths = "conv",                 -- of Azure's services: conv, code
    shorter = 16,                     -- lengths are divided by it
    context = 512,                    -- most tokens of a request, and of a batch
    seqs = 16,                        -- most requests that run (vLLM: 256)
    blocks = 256,                     -- of the KV cache
    shuffled = true,                  -- the pool of a server that has run for long
    overlap = true,                   -- streams; else one launch after another
    host_us = 0,                      -- of the host before each step
    seed = 1,
}

-- ---- parameters ---------------------------------------------------------------

local function refuse(text, ...)
    error({ usage = text:format(...) }, 0)
end

local function words(t)
    local out = {}
    for name in pairs(t) do out[#out + 1] = name end
    table.sort(out)
    return table.concat(out, ", ")
end

--- Parameters with the model's sizes; what cannot be is refused by its name.
function M.check(o)
    local p = {}
    for name, x in pairs(DEFAULT) do
        p[name] = x
        if o[name] ~= nil then p[name] = o[name] end
    end
    local model = M.MODELS[p.model]
    if not model then
        refuse("model=%s: expected one of %s", p.model, words(M.MODELS))
    elseif p.lengths ~= "conv" and p.lengths ~= "code" then
        refuse("lengths=%s: expected conv or code", p.lengths)
    elseif not (p.rate > 0 and p.rate <= 1000) then
        refuse("rate=%s: expected requests a step, above 0 and at most 1000",
            p.rate)
    end
    for _, limit in ipairs { { "steps", 100000 }, { "shorter", 14050 },
        { "seqs", 256 }, { "blocks", 1 << 20 }, { "context", 32768 },
        { "seed", 1 << 31 } } do
        local name, most = limit[1], limit[2]
        local x = math.tointeger(p[name])
        if not x or x < 1 or x > most then
            refuse("%s=%s: expected a whole number from 1 to %d", name, p[name],
                most)
        end
        p[name] = x
    end
    if not (p.host_us >= 0 and p.host_us <= 1e6) then
        refuse("host_us=%s: expected 0 to 1000000", p.host_us)
    elseif p.rate * p.steps > 1e6 then
        refuse("rate=%s: %.0f requests in %d steps; at most 1000000 are possible",
            p.rate, p.rate * p.steps, p.steps)
    elseif p.context < 2 then
        refuse("context=%d: a prompt and an answer are 2 tokens or more", p.context)
    end
    p.reserve = p.blocks // 100
    local need = ceil(p.context, TOKENS) + p.reserve
    if p.blocks < need then
        refuse("blocks=%d: a request of context=%d tokens takes %d, with the "
            .. "watermark", p.blocks, p.context, need)
    end
    local layers = math.tointeger(p.layers)
    if not layers or layers < 0 or layers > model.layers then
        refuse("layers=%s: %s has %d; expected 0 (all) to %d", p.layers, p.model,
            model.layers, model.layers)
    end
    for name, x in pairs(model) do
        if name ~= "layers" then p[name] = x end
    end
    p.layers = layers > 0 and layers or model.layers
    p.fused = (p.heads + 2 * p.kv_heads) * HEAD
    p.width = ceil(p.context, TOKENS)
    return p
end

--- Bytes of the weights, and of the KV cache.
function M.weights(p)
    return 2 * p.layers * p.hidden * (p.fused + p.heads * HEAD + 3 * p.ffn)
end

function M.cache(p)
    return 2 * p.layers * p.blocks * p.kv_heads * TOKENS * HEAD * 2
end

-- ---- what the host does ---------------------------------------------------------

--- Requests in the order of their arrival: { at (in steps), prompt, output }.
function M.requests(p)
    local out, at, i = {}, 0.0, 0
    while true do
        i = i + 1
        local u = requests.random(p.seed, 3 * i)
        at = at - math.log((u + 0.5) / 1e6) / p.rate
        if at >= p.steps then return out end
        local function length(part, draw)
            return math.max(1, requests.draw(p.lengths, part,
                requests.random(p.seed, draw)) // p.shorter)
        end
        local prompt = math.min(length("prompt", 3 * i + 1), p.context - 1)
        out[i] = { at = math.floor(at * 1000) / 1000, prompt = prompt,
            output = math.min(length("output", 3 * i + 2), p.context - prompt) }
    end
end

--- The server before its first step: plain data.
function M.start(p)
    local free = {}
    for i = 1, p.blocks do free[i] = p.blocks - i end
    for i = p.blocks, 2, p.shuffled and -1 or p.blocks do
        local j = requests.random(p.seed + 2, i) * i // 1000000 + 1
        free[i], free[j] = free[j], free[i]
    end
    return { step = 0, next = 1, free = free, waiting = {}, running = {},
        blocks = {}, got = {} }
end

local function give(s, r)
    local own = s.blocks[r]
    for i = #own, 1, -1 do s.free[#s.free + 1] = own[i] end
    s.blocks[r] = nil
end

-- Blocks for n tokens of request r.
local function take(s, r, n)
    local own = s.blocks[r] or {}
    s.blocks[r] = own
    while #own < ceil(n, TOKENS) do own[#own + 1] = table.remove(s.free) end
end

-- What a launch has to know of a request.
local function row(s, r, tokens)
    return { request = r, tokens = tokens,
        blocks = table.move(s.blocks[r], 1, #s.blocks[r], 1, {}) }
end

--- The next step that has something to do, or nil at the end: { step, prompts and
-- answers (each of { request, tokens, blocks }), done (requests that end), preempted,
-- waiting, used, free (blocks, during and after it) }.
function M.step(p, list, s)
    while true do
        if s.step >= p.steps and (not p.drain or not list[s.next]
            and not s.waiting[1] and not s.running[1]) then
            return nil
        end
        while list[s.next] and list[s.next].at <= s.step do
            s.waiting[#s.waiting + 1] = s.next
            s.got[s.next] = 0
            s.next = s.next + 1
        end
        if s.waiting[1] or s.running[1] then break end
        s.step = s.step + 1
    end
    local out = { step = s.step, prompts = {}, answers = {}, done = {},
        preempted = 0 }
    local function tokens(r) return list[r].prompt + s.got[r] end

    local n = 1
    while s.running[n] do
        local r = s.running[n]
        if #s.blocks[r] * TOKENS >= tokens(r) or s.free[1] then
            take(s, r, tokens(r))
            n = n + 1
        else
            local last = table.remove(s.running)
            give(s, last)
            table.insert(s.waiting, 1, last)
            out.preempted = out.preempted + 1
        end
    end
    for i, r in ipairs(s.running) do out.answers[i] = row(s, r, tokens(r)) end

    local batch = 0
    while out.preempted == 0 and s.waiting[1] and #s.running < p.seqs do
        local r = s.waiting[1]
        batch = batch + tokens(r)
        if batch > p.context
            or #s.free - ceil(tokens(r), TOKENS) < p.reserve then
            break
        end
        take(s, r, tokens(r))
        table.remove(s.waiting, 1)
        s.running[#s.running + 1] = r
        out.prompts[#out.prompts + 1] = row(s, r, tokens(r))
    end
    out.used, out.waiting = p.blocks - #s.free, #s.waiting

    local still = {}
    for _, r in ipairs(s.running) do
        s.got[r] = s.got[r] + 1
        if s.got[r] == list[r].output then
            give(s, r)
            out.done[#out.done + 1] = r
        else
            still[#still + 1] = r
        end
    end
    s.running, s.step = still, s.step + 1
    out.free = #s.free
    return out
end

--- Its launches, in order: { kernel, grid, rows, layer, stream }.
function M.launches(p, step)
    local out = {}
    local function layers(kind, tile, rows, attention, stream)
        local m = ceil(rows, tile[1])
        local function add(layer, name, grid)
            out[#out + 1] = { kernel = kind .. name, grid = grid, rows = rows,
                layer = layer, stream = p.overlap and stream or nil }
        end
        for layer = 0, p.layers - 1 do
            add(layer, "qkv", { m, p.fused // tile[2] })
            add(layer, "append", { rows })
            add(layer, "attention", table.move(attention, 1, #attention, 1, {}))
            add(layer, "o", { m, p.hidden // tile[2] })
            add(layer, "up", { m, 2 * p.ffn // tile[2] })
            add(layer, "silu", { ceil(rows * (p.ffn // 8), STREAM) })
            add(layer, "down", { m, p.hidden // tile[2] })
        end
    end
    local rows, longest = 0, 0
    for _, r in ipairs(step.prompts) do
        rows, longest = rows + r.tokens, math.max(longest, r.tokens)
    end
    if rows > 0 then
        layers("prompt_", PROMPT, rows,
            { ceil(longest, QUERIES), #step.prompts, p.heads }, "prompts")
    end
    if step.answers[1] then
        layers("answer_", ANSWER, #step.answers, { p.heads, #step.answers },
            "answers")
    end
    out[#out + 1] = { kernel = "last", rows = #step.prompts,
        grid = { #step.prompts + #step.answers }, layer = 0, sync = true }
    return out
end

--- All steps, without a machine.
function M.log(p)
    local list, s, out = M.requests(p), M.start(p), {}
    for step in function() return M.step(p, list, s) end do
        out[#out + 1] = step
    end
    return out, list, s
end

-- What kernels read of a step.
local function fill(p, h, step)
    local b = h.b
    local function slot(r, token)
        return r.blocks[token // TOKENS + 1] * TOKENS + token % TOKENS
    end
    local first = 0
    for i, r in ipairs(step.prompts) do
        h.write(b.first, i - 1, first)
        for token = 0, r.tokens - 1 do
            h.write(b.prompt_slots, first + token, slot(r, token))
        end
        first = first + r.tokens
    end
    h.write(b.first, #step.prompts, first)
    for i, r in ipairs(step.answers) do
        h.write(b.lens, i - 1, r.tokens)
        h.write(b.answer_slots, i - 1, slot(r, r.tokens - 1))
        for j, block in ipairs(r.blocks) do
            h.write(b.table, (i - 1) * p.width + j - 1, block)
        end
    end
end

-- ---- kernels ----------------------------------------------------------------------

-- C[rows][n] = A[rows][m] times B[layer][n][m] transposed; an element is half a u32.
local function product(name, A, B, C, n, m, tile)
    local bm, bn, bk = tile[1], tile[2], tile[3]
    local options = { grid = 1, block = THREADS, regs = 63,
        shared = 2 * 2 * (bm + bn) * bk, args = { rows = 1, layer = 0 } }
    return k.kernel(name, options, function(t)
        local rows, layer = t:arg "rows", t:arg "layer" * (n * m // 2)
        local pieces = bk // 8 -- of 16 bytes, of a row of a tile
        local each = THREADS // pieces
        t:alu(20)
        t:loop(m // bk, function(round)
            local column = round * (bk // 2) + 4 * (t.tid % pieces)
            for j = 0, bm // each - 1 do
                local at = t.bx * bm + each * j + t.tid // pieces
                t:when(at:lt(rows), function()
                    t:load(A, at * (m // 2) + column, { vec = 4 })
                end)
            end
            for j = 0, bn // each - 1 do
                t:load(B, layer + (t.by * bn + each * j + t.tid // pieces)
                    * (m // 2) + column, { vec = 4 })
            end
            t:shared((bm + bn) * bk // 1024, { uses = {} })
            t:alu(bm * bn * bk // (16 * 8 * 16 * GROUPS),
                { uses = {}, class = "tensor" })
            t:alu(ALU_ROUND, { uses = {} })
            t:alu(1)
            t:sync()
        end)
        pieces = bn // 8
        each = THREADS // pieces
        for j = 0, ceil(bm, each) - 1 do
            local own = each * j + t.tid // pieces
            local at = t.bx * bm + own
            t:shared(1)
            t:when(own:lt(bm):band(at:lt(rows)), function()
                t:store(C, at * (n // 2) + t.by * (bn // 2)
                    + 4 * (t.tid % pieces), nil, { vec = 4 })
            end)
        end
    end)
end

-- Keys and values of new tokens into their blocks, as vLLM's reshape_and_cache: K
-- [blocks][kv_heads][16][16][8], V [blocks][kv_heads][128][16].
local function append(p, b, name, heads, slots)
    local options = { grid = 1, block = 16 * p.kv_heads, regs = 24,
        args = { rows = 1, layer = 0 } }
    return k.kernel(name, options, function(t)
        t:alu(10)
        local slot = t:load(slots, t.bx)
        local head, piece = t.tid // 16, t.tid % 16
        local at = t.bx * (p.fused // 2) + (p.heads + head) * (HEAD // 2)
            + 4 * piece
        local key = t:load(heads, at, { vec = 4 })
        local value = t:load(heads, at + p.kv_heads * (HEAD // 2), { vec = 4 })
        local function block(part)
            local of = (2 * t:arg "layer" + part) * p.blocks + slot // TOKENS
            return (of * p.kv_heads + head) * (TOKENS * HEAD)
        end
        t:alu(4, { uses = { key } })
        t:store(b.cache, block(0) + piece * 128 + slot % TOKENS * 8, nil,
            { vec = 8 })
        t:alu(2, { uses = { value } })
        for e = 0, 7 do
            t:store(b.cache, block(1) + (8 * piece + e) * TOKENS + slot % TOKENS)
        end
    end)
end

-- FlashAttention-2, causal, of prompts of different lengths.
local function flash(p, b, name)
    local pitch, per = p.fused // 2, p.heads // p.kv_heads
    local options = { grid = 1, block = THREADS, regs = 63, shared = 32 << 10,
        args = { rows = 1, layer = 0 } }
    return k.kernel(name, options, function(t)
        t:alu(20)
        local first = t:load(b.first, t.by)
        local len = t:load(b.first, t.by + 1) - first
        t:exit_if((t.bx * QUERIES):ge(len))
        local piece = 4 * (t.tid % 16)
        local function copy(from, rows, part)
            for j = 0, rows // 8 - 1 do
                local at = from + 8 * j + t.tid // 16
                t:when(at:lt(len), function()
                    t:load(b.prompt_heads, (first + at) * pitch
                        + part * (HEAD // 2) + piece, { vec = 4 })
                end)
            end
        end
        copy(t.bx * QUERIES, QUERIES, t.bz)
        local last = ((t.bx + 1) * QUERIES):min(len)
        local count = (last + (KEYS - 1)) // KEYS
        t:loop(count, function(i)
            local from = (count - 1 - i) * KEYS
            copy(from, KEYS, p.heads + t.bz // per)
            copy(from, KEYS, p.heads + p.kv_heads + t.bz // per)
            t:sync()
            t:shared(128, { uses = {} })
            t:alu(256, { uses = {}, class = "tensor" })
            t:alu(ALU_TILE, { uses = {} })
            t:alu(1)
            t:sync()
        end)
        for j = 0, QUERIES // 8 - 1 do
            local at = t.bx * QUERIES + 8 * j + t.tid // 16
            t:shared(2)
            t:when(at:lt(len), function()
                t:store(b.prompt_context, (first + at) * (p.heads * HEAD // 2)
                    + t.bz * (HEAD // 2) + piece, nil, { vec = 4 })
            end)
        end
    end)
end

-- PAGEDATTN's v1: the four groups take blocks of a sequence in turn.
local function paged(p, b, name)
    local per = p.heads // p.kv_heads
    local options = { grid = 1, block = THREADS, regs = 48,
        shared = math.max(1024, 4 * TOKENS * p.width),
        args = { rows = 1, layer = 0 } }
    return k.kernel(name, options, function(t)
        local lane, group = t.tid % 32, t.tid // 32
        t:alu(8)
        local len = t:load(b.lens, t.by)
        local blocks = (len + (TOKENS - 1)) // TOKENS
        t:when(group:eq(0), function()
            local q = t:load(b.answer_heads, t.by * (p.fused // 2)
                + t.bx * (HEAD // 2) + 2 * lane, { vec = 2 })
            t:alu(2, { uses = { q } })
            t:shared(1)
        end)
        t:sync()
        for part, vec in ipairs { 4, 8 } do -- K, V: elements a lane
            local loads, alu = 64 // vec, part == 1 and ALU_K or ALU_V
            local layer = (2 * t:arg "layer" + (part - 1)) * p.blocks
            t:loop(group, blocks, GROUPS, function(i)
                local block = t:load(b.table, t.by * p.width + i)
                local at = ((layer + block) * p.kv_heads + t.bx // per)
                    * (TOKENS * HEAD)
                local got = {}
                for j = 0, loads - 1 do
                    got[j] = t:load(b.cache, at + vec * (32 * j + lane),
                        { vec = vec })
                end
                for j = 0, loads - 1 do
                    local each = alu * (j + 1) // loads - alu * j // loads
                    t:alu(each, { uses = { got[j] } })
                end
                t:shared(part == 1 and SHARED_K or 2)
            end)
            t:sync()
            if part == 1 then -- the softmax
                t:loop(2 * ((len + (THREADS - 1)) // THREADS), function()
                    t:alu(20)
                    t:shared(4)
                end)
                t:sync()
            end
        end
        t:shared(8) -- the groups' sums
        t:sync()
        t:when(group:eq(0), function()
            t:shared(8)
            t:store(b.answer_context, (t.by * p.heads + t.bx) * (HEAD // 2)
                + 2 * lane, nil, { vec = 2 })
        end)
    end)
end

-- mid = silu(gate) up: 16 bytes a thread.
local function silu(p, name, gates, mid)
    local options = { grid = 1, block = STREAM, regs = 24,
        args = { rows = 1, layer = 0 } }
    return k.kernel(name, options, function(t)
        local pieces = p.ffn // 8
        t:alu(6)
        t:exit_if(t.gid:ge(t:arg "rows" * pieces))
        local at = t.gid // pieces * p.ffn + 4 * (t.gid % pieces)
        t:load(gates, at, { vec = 4 })
        t:load(gates, at + p.ffn // 2, { vec = 4 })
        t:alu(40)
        t:store(mid, 4 * t.gid, nil, { vec = 4 })
    end)
end

-- Last rows of `rows` prompts, and the rows of answers.
local function last(p, b)
    local options = { grid = 1, block = THREADS, regs = 24,
        args = { rows = 1, layer = 0 } }
    return k.kernel("last", options, function(t)
        local prompts, pieces = t:arg "rows", p.hidden // 8
        local function read(x, at)
            t:loop(t.tid, pieces, THREADS, function(i)
                t:load(x, at * (p.hidden // 2) + 4 * i, { vec = 4 })
                t:alu(8)
            end)
        end
        t:alu(6)
        t:when(t.bx:lt(prompts), function()
            read(b.prompt_x, t:load(b.first, t.bx + 1) - 1)
        end, function()
            read(b.answer_x, t.bx - prompts)
        end)
        t:sync()
        t:when(t.tid:eq(0), function() t:store(b.ids, t.bx) end)
    end)
end

-- ---- the application ----------------------------------------------------------------

--- The server as an application of H.sim; p comes from check.
function M.program(p)
    local list = M.requests(p)
    local kinds = { { "prompt_", PROMPT, p.context }, { "answer_", ANSWER, p.seqs } }
    return H.program(k.app {
        name = "SERVER", summary = "an LLM server that batches requests",
        registers = "guess: no machine code was read", lanes = 32,
        streams = { "prompts", "answers" },
        buffers = function()
            local all = p.heads * HEAD
            local out = {
                u32("qkv", p.layers * p.fused * p.hidden // 2),
                u32("o", p.layers * p.hidden * all // 2),
                u32("up", p.layers * p.ffn * p.hidden),
                u32("down", p.layers * p.hidden * p.ffn // 2),
                u16("cache", M.cache(p) // 2),
            }
            for _, kind in ipairs(kinds) do
                for _, part in ipairs { { "x", p.hidden }, { "heads", p.fused },
                    { "context", all }, { "y", p.hidden },
                    { "gates", 2 * p.ffn }, { "mid", p.ffn } } do
                    out[#out + 1] = u32(kind[1] .. part[1], kind[3] * part[2] // 2)
                end
                out[#out + 1] = i32(kind[1] .. "slots", kind[3],
                    { contents = true })
            end
            out[#out + 1] = i32("first", p.seqs + 1, { contents = true })
            out[#out + 1] = i32("lens", p.seqs, { contents = true })
            out[#out + 1] = i32("table", p.seqs * p.width, { contents = true })
            out[#out + 1] = i32("ids", 2 * p.seqs)
            return out
        end,
        kernels = function(_, b)
            local all, out = p.heads * HEAD, {}
            for _, kind in ipairs(kinds) do
                local name, tile = kind[1], kind[2]
                local function of(part) return b[name .. part] end
                out[#out + 1] = product(name .. "qkv", of "x", b.qkv, of "heads",
                    p.fused, p.hidden, tile)
                out[#out + 1] = append(p, b, name .. "append", of "heads",
                    of "slots")
                out[#out + 1] = (name == "prompt_" and flash or paged)(p, b,
                    name .. "attention")
                out[#out + 1] = product(name .. "o", of "context", b.o, of "y",
                    p.hidden, all, tile)
                out[#out + 1] = product(name .. "up", of "y", b.up, of "gates",
                    2 * p.ffn, p.hidden, tile)
                out[#out + 1] = silu(p, name .. "silu", of "gates", of "mid")
                out[#out + 1] = product(name .. "down", of "mid", b.down, of "x",
                    p.hidden, p.ffn, tile)
            end
            out[#out + 1] = last(p, b)
            return out
        end,
        host = function(h, s)
            if not s.server then
                s.server, s.todo, s.at = M.start(p), {}, 0
            end
            if s.at == #s.todo then
                local step = M.step(p, list, s.server)
                if not step then return nil end
                fill(p, h, step)
                s.todo, s.at = M.launches(p, step), 0
                if p.host_us > 0 then h.wait(math.floor(p.host_us * 1000)) end
            end
            s.at = s.at + 1
            local l = s.todo[s.at]
            return { h.kernels[l.kernel], grid = l.grid, stream = l.stream,
                sync = l.sync, args = { rows = l.rows, layer = l.layer } }
        end,
    })
end

return M

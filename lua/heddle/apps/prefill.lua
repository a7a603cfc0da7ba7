--[[
PREFILL - layers of a transformer over a whole prompt: products of matrices by
tensor cores, tile after tile, and FlashAttention-2's forward kernel.

Arrays, in order, fp16 (u32 of two): x[tokens][hidden]; of each layer its weights,
a row an output: qkv[(heads + 2 kv_heads) 128][hidden], o[hidden][heads 128],
up[2 ffn][hidden] and down[hidden][ffn]; then activations, which all layers share:
heads[tokens][(heads + 2 kv_heads) 128], context[tokens][heads 128],
lse[seqs][heads][len] f32, y[tokens][hidden], gates[tokens][2 ffn],
mid[tokens][ffn].  tokens = seqs len.  Footprint: the sum of those that `part` has.

    part = product     o alone, from context to y: one product a layer
    part = attention   qkv, FlashAttention, o
    part = layer       these, then up, the activation (elementwise), and down,
                       which writes x

Products: cutlass' 256 x 128 x 32 of three stages, as cuBLAS runs them on an A100
(cutlass_80_tensorop_f16_s16816gemm_f16_256x128_32x3_tn_align8): grid
(rows of C / 256, columns / 128), blocks of 256 threads.  A round of 32 columns of
A and B is six asynchronous copies of 16 bytes a thread, four of A and two of B:
8 rows of 64 bytes a group of 32 threads, eight lines half used, and eight pages
where rows are 4 KB or more apart; 64 tensor instructions a group.  They pass the L1
(cp.async.cg), and are of a round `stages` - 1 later than the one that is computed
(CUTLASS, multistage: two groups stay in flight).  C is stored in
16 stores of 16 bytes a thread: two rows of 256 bytes.  Rows beyond the last token
are left out.

FlashAttention-2, causal: grid (len / 128, seqs, heads), blocks of 128 threads, a
tile of 128 queries against tiles of 64 keys, from the diagonal back to the first;
a copy is two tokens of 256 bytes, which are (heads + 2 kv_heads) 256 bytes apart,
since queries, keys and values are parts of one product.  Values of a tile are copied
while its scores are computed, keys of the next one while the output is.

`shared` is the most KB of shared memory that a block takes: 72 and 64 of the tiles
with the default; 16 at T, so that old machines have room for it.

Addresses are driven by indices alone; no contents.  Sizes are layers of
Llama-3.1-8B, T apart.

Approximated: values are not computed, since no address and no branch depends on
them; a round's copies are issued at once, not between its tensor instructions, where
cutlass spreads them; the instructions between are guesses (alu_round, alu_tile), those
of tensor cores and of shared memory follow from the tiles; norms, rotary embedding and
the residual sum are left out.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local silu = require "heddle.apps.silu"
local staged = require "heddle.apps.staged"
local app, kernel, ceil, f32, u32 = h.app, h.kernel, h.ceil, h.f32, h.u32

local HEAD = 128                       -- elements of a head
local BM, BN, BK = 256, 128, 32        -- tile of a product
local QUERIES, KEYS = 128, 64          -- tile of attention
local CG = { vec = 4, l1 = false }     -- 16 bytes a lane, past the L1

local function check(p)
    h.most(p, { seqs = 1 << 16, len = 1 << 20, hidden = 1 << 20, ffn = 1 << 20,
        heads = 1 << 10, layers = 1 << 12 })
    h.choice(p, "part", "product", "attention", "layer")
    h.check(p.seqs > 0 and p.len > 0 and p.layers > 0,
        ("PREFILL: seqs = %d, len = %d, layers = %d: none may be 0"):format(
            p.seqs, p.len, p.layers))
    h.check(p.stages >= 2 and p.stages <= 8,
        ("PREFILL: stages = %d: 2 to 8 are possible"):format(p.stages))
    h.check(p.len % 8 == 0, ("PREFILL: len = %d is not a multiple of 8")
        :format(p.len))
    h.check(p.kv_heads > 0 and p.heads > 0 and p.heads % p.kv_heads == 0,
        ("PREFILL: heads = %d is not a multiple of kv_heads = %d"):format(
            p.heads, p.kv_heads))
    h.check(p.hidden > 0 and p.hidden % BN == 0 and p.ffn > 0 and p.ffn % BN == 0,
        ("PREFILL: hidden = %d, ffn = %d: multiples of %d are possible"):format(
            p.hidden, p.ffn, BN))
end

-- Elements of a token's queries, keys and values.
local function fused(p) return (p.heads + 2 * p.kv_heads) * HEAD end

-- C[rows][n] = A[rows][k] times B[n][k] transposed; an element is half a u32.
local function product(p, name, A, B, C, n, k)
    local rows = p.seqs * p.len
    local options = { grid = { ceil(rows, BM), n // BN }, block = 256, regs = 63,
        shared = math.min(p.shared << 10, p.stages * (BM + BN) * BK * 2) }
    return kernel(name, options, function(t)
        local function live(row, fn)
            if rows % BM == 0 then fn() else t:when(row:lt(rows), fn) end
        end
        local row, piece = t.tid // 4, 4 * (t.tid % 4)
        local function copy(round)
            local column = round * (BK // 2) + piece
            for j = 0, BM // 64 - 1 do
                local at = t.bx * BM + 64 * j + row
                live(at, function()
                    t:copy(A, at * (k // 2) + column, CG)
                end)
            end
            for j = 0, BN // 64 - 1 do
                t:copy(B, (t.by * BN + 64 * j + row) * (k // 2) + column, CG)
            end
        end
        t:alu(20)
        staged(t, k // BK, p.stages, copy, function()
            t:shared(24, { uses = {} })
            t:alu(64, { uses = {}, class = "tensor" })
            t:alu(p.alu_round, { uses = {} })
        end)
        for j = 0, BM // 16 - 1 do
            local at = t.bx * BM + 16 * j + t.tid // 16
            t:shared(2)
            live(at, function()
                t:store(C, at * (n // 2) + t.by * (BN // 2) + 4 * (t.tid % 16),
                    nil, { vec = 4 })
            end)
        end
    end)
end

local function flash(p, b, name)
    local tiles, pitch = ceil(p.len, QUERIES), fused(p) // 2
    local per = p.heads // p.kv_heads
    local options = { grid = { tiles, p.seqs, p.heads }, block = 128, regs = 63,
        shared = math.min(p.shared << 10, (QUERIES + 2 * KEYS) * HEAD * 2) }
    return kernel(name, options, function(t)
        local lane, group = t.tid % 32, t.tid // 32
        local first = t.by * p.len -- token of the sequence
        local piece = 4 * (t.tid % 16)
        local function live(row, fn) t:when(row:lt(p.len), fn) end
        -- copies of `rows` tokens from `from` on, of head `part` of a token
        local function copy(from, rows, part)
            for j = 0, rows // 8 - 1 do
                local row = from + 8 * j + t.tid // 16
                live(row, function()
                    t:copy(b.heads, (first + row) * pitch + part * (HEAD // 2)
                        + piece, CG)
                end)
            end
        end
        -- half of what a tile takes: scores, or the output
        local function compute(alu)
            t:shared(64, { uses = {} })
            t:alu(128, { uses = {}, class = "tensor" })
            t:alu(alu, { uses = {} })
        end
        local keys = p.heads + t.bz // per
        local last = ((t.bx + 1) * QUERIES):min(p.len)
        local count = (last + (KEYS - 1)) // KEYS
        t:alu(20)
        copy(t.bx * QUERIES, QUERIES, t.bz)
        copy((count - 1) * KEYS, KEYS, keys)
        t:copy_commit()
        t:loop(count, function(i)
            local from = (count - 1 - i) * KEYS
            t:copy_wait()
            t:sync()
            copy(from, KEYS, keys + p.kv_heads)
            t:copy_commit()
            compute(p.alu_tile // 2)
            t:copy_wait()
            t:sync()
            t:when((i + 1):lt(count), function()
                copy(from - KEYS, KEYS, keys)
                t:copy_commit()
            end)
            compute(p.alu_tile - p.alu_tile // 2)
        end)
        for j = 0, QUERIES // 8 - 1 do
            local row = t.bx * QUERIES + 8 * j + t.tid // 16
            t:shared(2)
            live(row, function()
                t:store(b.context, (first + row) * (p.heads * HEAD // 2)
                    + t.bz * (HEAD // 2) + piece, nil, { vec = 4 })
            end)
        end
        t:when((lane % 4):eq(0), function()
            for j = 0, 3 do
                local row = t.bx * QUERIES + 64 * (j // 2) + 16 * group
                    + 8 * (j % 2) + lane // 4
                live(row, function()
                    t:store(b.lse, (t.by * p.heads + t.bz) * p.len + row)
                end)
            end
        end)
    end)
end

-- Names and numbers of elements of a part: weights of a layer, activations.
local function weights(p)
    local o = { "o", p.hidden * p.heads * HEAD }
    if p.part == "product" then return { o } end
    local out = { { "qkv", fused(p) * p.hidden }, o }
    if p.part == "layer" then
        out[3] = { "up", 2 * p.ffn * p.hidden }
        out[4] = { "down", p.hidden * p.ffn }
    end
    return out
end

local function activations(p)
    local tokens = p.seqs * p.len
    local out = { { "context", tokens * p.heads * HEAD }, { "y", tokens * p.hidden } }
    if p.part ~= "product" then
        table.insert(out, 1, { "x", tokens * p.hidden })
        table.insert(out, 2, { "heads", tokens * fused(p) })
        table.insert(out, 4, { "lse", 2 * tokens * p.heads })
    end
    if p.part == "layer" then
        out[#out + 1] = { "gates", 2 * tokens * p.ffn }
        out[#out + 1] = { "mid", tokens * p.ffn }
    end
    return out
end

return app {
    name = "PREFILL", suite = "LLM",
    source = "cutlass 256x128_32x3_tn; flash-attention 01afd16 "
        .. "flash_fwd_launch_template.h",
    summary = "prompt of a transformer: tiled products and FlashAttention-2",
    registers = "guess: no machine code was read; 63, the most there can be",
    params = { seqs = 1, len = 256, hidden = 4096, heads = 32, kv_heads = 8,
        ffn = 14336, layers = 1, part = "product", shared = 72, stages = 3,
        alu_round = 30, alu_tile = 200 },
    sizes = {
        T = { len = 64, hidden = 512, heads = 4, kv_heads = 2, ffn = 1024,
            part = "layer", shared = 16 },
        S = { len = 256 },
        M = { len = 1024, part = "attention" },
        L = { len = 1024, part = "layer", layers = 4 },
        XL = { len = 1024, part = "layer", layers = 16 },
    },
    footprint = function(p)
        local sum = 0
        for _, w in ipairs(weights(p)) do sum = sum + 2 * p.layers * w[2] end
        for _, a in ipairs(activations(p)) do sum = sum + 2 * a[2] end
        return sum
    end,

    buffers = function(p)
        check(p)
        local out = {}
        local function add(w, of)
            out[#out + 1] = w[1] == "lse" and f32("lse", w[2] // 2)
                or u32(w[1] .. of, w[2] // 2)
        end
        local rest = activations(p)
        if rest[1][1] == "x" then add(table.remove(rest, 1), "") end
        for i = 1, p.layers do
            for _, w in ipairs(weights(p)) do
                add(w, p.layers > 1 and tostring(i) or "")
            end
        end
        for _, a in ipairs(rest) do add(a, "") end
        return out
    end,

    kernels = function(p, b)
        local out, all = {}, p.heads * HEAD
        local x, y = b.x, b.y
        local attention = p.part ~= "product" and flash(p, b, "flash")
        local activation = p.part == "layer"
            and silu("silu", b, p.seqs * p.len, p.ffn)
        for i = 1, p.layers do
            local of = p.layers > 1 and tostring(i) or ""
            if attention then
                out[#out + 1] = product(p, "qkv" .. of, x, b["qkv" .. of],
                    b.heads, fused(p), p.hidden)
                out[#out + 1] = attention
            end
            out[#out + 1] = product(p, "o" .. of, b.context, b["o" .. of], y,
                p.hidden, all)
            if activation then
                out[#out + 1] = product(p, "up" .. of, y, b["up" .. of], b.gates,
                    2 * p.ffn, p.hidden)
                out[#out + 1] = activation
                out[#out + 1] = product(p, "down" .. of, b.mid, b["down" .. of],
                    x, p.hidden, p.ffn)
            elseif attention then
                x, y = y, x
            end
        end
        return out
    end,
}

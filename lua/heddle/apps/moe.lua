--[[
MOE - layers of experts: tokens go to some of several networks each, whose products are
grouped by expert (vLLM, csrc/moe/moe_align_sum_kernels.cu and fused_moe.py).

Arrays, in order, fp16 (u32 of two) where nothing else is said: x[tokens][hidden],
ids i32[tokens][topk], share f32[tokens][topk], cumsum i32[experts + 1],
sorted i32[padded], experts i32[tiles], length i32[1]; of each layer
up[experts][2 ffn][hidden] and down[experts][hidden][ffn]; then, for all layers,
gates[tokens topk][2 ffn], mid[tokens topk][ffn], parts[tokens topk][hidden],
out[tokens][hidden].  Footprint 6 layers experts hidden ffn bytes of weights, and
tokens (topk (6 ffn + 2 hidden) + 4 hidden) of activations, and a little for
the rest.

A layer is six launches:
  align   one block of 1,024: ids are counted (shared memory), the expert of each
          tile and the padding of `sorted` are stored
  sort    blocks of 256, a thread an id: an atomic on its expert's sum, a store of its
          number where that says: scattered
  up      Triton's grouped product, blocks of 128 threads, tiles of 64 x 64 x 32 in
          groups of eight rows (16 x 32 x 64 in ones of one where there are no more
          tokens than experts): numbers of its rows and its expert, then rounds of
          asynchronous 16-byte copies past the L1 (cp.async.cg), `stages` - 1 rounds
          ahead, rows of A wherever their tokens are and rows of the
          expert's weights: eight rows of 64 bytes, or four of 128, each on a page
          of its own from hidden = 2,048 on.  Tiles beyond the last end at once
  act     silu(gate) up, 16 bytes a thread
  down    the second product, which loads the tokens' shares, too
  sum     a block a token: topk loads, one store

    skew    Zipf's exponent of the experts' popularity, in hundredths (guess: routers
            are trained to be balanced); a token's experts differ: where one is
            drawn twice the next that is free

Addresses are driven by ids, which have contents; sorted and experts are what follows
from them with ids in order, so the program does the same in every order of its warps.

Approximated: values are not computed; the router is left out; a round's copies are
issued at once; instructions are guesses (alu_round), and so are three stages; those of
tensor cores follow from the tiles; sum takes four bytes a thread, not two.

SPDX-License-Identifier: MIT
]]
local h = require "heddle.kernel"
local requests = require "heddle.apps.requests"
local silu = require "heddle.apps.silu"
local staged = require "heddle.apps.staged"
local app, kernel, ceil = h.app, h.kernel, h.ceil
local f32, i32, u32 = h.f32, h.i32, h.u32

local THREADS = 128
local CG = { vec = 4, l1 = false } -- 16 bytes a lane, past the L1

local function check(p)
    h.most(p, { tokens = 1 << 22, hidden = 1 << 20, ffn = 1 << 20, layers = 1 << 12 })
    h.check(p.tokens > 0 and p.layers > 0 and p.topk > 0 and p.topk <= p.experts,
        ("MOE: tokens = %d, layers = %d, topk = %d: none may be 0, and topk is at "
            .. "most experts = %d"):format(p.tokens, p.layers, p.topk, p.experts))
    h.check(p.experts <= 1024, ("MOE: experts = %d, up to 1024 are possible")
        :format(p.experts))
    h.check(p.hidden > 0 and p.hidden % 64 == 0 and p.ffn > 0 and p.ffn % 64 == 0,
        ("MOE: hidden = %d, ffn = %d: multiples of 64 are possible"):format(
            p.hidden, p.ffn))
    h.check(p.stages >= 2 and p.stages <= 8,
        ("MOE: stages = %d: 2 to 8 are possible"):format(p.stages))
end

-- Rows, columns and depth of a tile, and rows of tiles in a group.
local function tile(p)
    if p.tokens <= p.experts then return 16, 32, 64, 1 end
    return 64, 64, 32, 8
end

-- The most that `sorted` can be, and tiles of that.
local function most(p)
    local rows = tile(p)
    local n = p.tokens * p.topk + p.experts * (rows - 1)
    return n, ceil(n, rows)
end

-- Experts of the tokens, and what follows of them: { ids, sorted, rank (of an id in
-- sorted), experts (of a tile), padded }.
local function route(p)
    local n, rows = p.tokens * p.topk, (tile(p))
    local drawn = p.skew > 0 and require("heddle.generate").zipf { n = n,
        keys = p.experts, s = p.skew / 100, seed = p.seed }
    local ids, of = {}, {}
    for e = 0, p.experts - 1 do of[e] = {} end
    for i = 0, n - 1 do
        local e = drawn and drawn[i] or requests.random(p.seed, i) % p.experts
        local first = i // p.topk * p.topk
        local function taken()
            for k = first, i - 1 do
                if ids[k + 1] == e then return true end
            end
        end
        while taken() do e = (e + 1) % p.experts end
        ids[i + 1] = e
        table.insert(of[e], i)
    end
    local sorted, rank, experts = {}, {}, {}
    for e = 0, p.experts - 1 do
        for _, i in ipairs(of[e]) do
            rank[i + 1] = #sorted
            sorted[#sorted + 1] = i
        end
        while #sorted % rows ~= 0 do sorted[#sorted + 1] = n end
        while #experts < #sorted // rows do experts[#experts + 1] = e end
    end
    return { ids = ids, sorted = sorted, rank = rank, experts = experts,
        padded = #sorted }
end

local function align(p, b)
    local n, room, tiles = p.tokens * p.topk, most(p)
    local options = { grid = 1, block = 1024, regs = 32,
        shared = 4 * p.experts + 4 }
    return kernel("align", options, function(t)
        t:alu(8)
        t:loop(t.tid, room // 4, 1024, function(i) -- padding
            t:store(b.sorted, 4 * i, nil, { vec = 4 })
        end)
        t:loop(t.tid, n, 1024, function(i)
            local e = t:load(b.ids, i)
            t:shared(1, { uses = { e } })
        end)
        t:sync()
        t:alu(20) -- a scan
        t:shared(10)
        t:sync()
        t:when(t.tid:lt(p.experts), function() t:store(b.cumsum, t.tid + 1) end)
        t:when(t.tid:eq(0), function() t:store(b.length, 0) end)
        t:loop(t.tid, tiles, 1024, function(i) t:store(b.experts, i) end)
    end)
end

local function sort(p, b)
    local n = p.tokens * p.topk
    return kernel("sort", { grid = ceil(n, 256), block = 256, regs = 16 }, function(t)
        t:alu(4)
        t:exit_if(t.gid:ge(n))
        local e = t:load(b.ids, t.gid)
        local place = t:atomic("add", b.cumsum, e)
        t:alu(2, { uses = { place } })
        t:store(b.sorted, t:peek(b.rank, t.gid))
    end)
end

-- C[id][n] = A[row of id] times W[expert][n][k] transposed.
local function grouped(p, o)
    local bm, bn, bk, group = tile(p)
    local b, n, k = o.b, o.n, o.k
    local lanes = bk * 2 // 16 -- that copy a row
    local step = THREADS // lanes -- rows of a copy of all threads
    local _, down = most(p)
    local across = n // bn
    local options = { grid = down * across, block = THREADS, regs = 63,
        shared = math.min(p.shared << 10, p.stages * (bm + bn) * bk * 2) }
    return kernel(o.name, options, function(t)
        t:alu(20)
        local first = t.bx // (group * across) * group
        local size = (down - first):min(group)
        local at = t.bx % (group * across)
        local y, x = first + at % size, at // size
        local length = t:load(b.length, 0) + o.padded
        t:exit_if((y * bm):ge(length))
        local row, piece = t.tid // lanes, 4 * (t.tid % lanes)
        local copies = ceil(bm, step)
        local ids, live = {}, {}
        for j = 0, copies - 1 do
            local at_id = y * bm + (step * j + row) % bm
            ids[j] = t:peek(b.order, at_id, { uses = { t:load(b.sorted, at_id) } })
            live[j] = ids[j]:lt(p.tokens * p.topk)
        end
        local expert = t:peek(b.expert, y, { uses = { t:load(b.experts, y) } })
        t:alu(8, { uses = { expert } })
        local function copy(round)
            local column = round * (bk // 2) + piece
            for j = 0, copies - 1 do
                t:when(live[j], function()
                    t:copy(o.A, ids[j] // o.per * (k // 2) + column, CG)
                end)
            end
            for j = 0, ceil(bn, step) - 1 do
                t:copy(o.W, (expert * n + x * bn + step * j + row) * (k // 2)
                    + column, CG)
            end
        end
        staged(t, k // bk, p.stages, copy, function()
            t:shared((bm + bn) * bk // 2048, { uses = {} })
            t:alu(bm * bn * bk // 8192, { uses = {}, class = "tensor" })
            t:alu(p.alu_round, { uses = {} })
        end)
        -- 16 bytes a lane of rows of bn elements
        local wide = bn * 2 // 16
        for j = 0, ceil(bm * wide, THREADS) - 1 do
            local line = j * (THREADS // wide) + t.tid // wide
            local id = t:peek(b.order, y * bm + line % bm)
            t:shared(2)
            t:when(line:lt(bm):band(id:lt(p.tokens * p.topk)), function()
                if o.share then
                    local share = t:load(b.share, id)
                    t:alu(4, { uses = { share } })
                end
                t:store(o.C, id * (n // 2) + x * (bn // 2) + 4 * (t.tid % wide),
                    nil, { vec = 4 })
            end)
        end
    end)
end

local function sum(p, b)
    local half = p.hidden // 2
    local options = { grid = p.tokens, block = math.min(half, 1024), regs = 16 }
    return kernel("sum", options, function(t)
        t:alu(4)
        t:loop(t.tid, half, options.block, function(i)
            for k = 0, p.topk - 1 do
                t:load(b.parts, (t.bx * p.topk + k) * half + i)
            end
            t:alu(2 * p.topk)
            t:store(b.out, t.bx * half + i)
        end)
    end)
end

return app {
    name = "MOE", suite = "vLLM",
    source = "vLLM 00e6fb6 csrc/moe/moe_align_sum_kernels.cu, fused_moe.py",
    summary = "products grouped by expert; rows of scattered tokens",
    registers = "guess: no machine code was read; 63, the most there can be",
    params = { tokens = 256, experts = 8, topk = 2, hidden = 512, ffn = 1024,
        layers = 1, skew = 0, shared = 24, stages = 3, seed = 1, alu_round = 30 },
    sizes = {
        T = { tokens = 40, hidden = 128, ffn = 256, shared = 16 },
        S = { hidden = 512, ffn = 1024 },
        M = { tokens = 512, hidden = 1024, ffn = 2048 },
        L = { experts = 3, hidden = 4096, ffn = 14336 },
        XL = { hidden = 4096, ffn = 14336, layers = 2 },
    },
    footprint = function(p)
        local n, room, tiles = p.tokens * p.topk, most(p)
        return 6 * p.layers * p.experts * p.hidden * p.ffn
            + p.tokens * (p.topk * (6 * p.ffn + 2 * p.hidden) + 4 * p.hidden)
            + 8 * n + 4 * (p.experts + 1 + room + tiles + 1)
    end,

    buffers = function(p)
        check(p)
        local s, n, room, tiles = route(p), p.tokens * p.topk, most(p)
        local out = {
            u32("x", p.tokens * p.hidden // 2),
            i32("ids", n, { data = s.ids }),
            f32("share", n),
            i32("cumsum", p.experts + 1),
            i32("sorted", room), i32("experts", tiles), i32("length", 1),
        }
        for i = 1, p.layers do
            local of = p.layers > 1 and tostring(i) or ""
            out[#out + 1] = u32("up" .. of, p.experts * p.ffn * p.hidden)
            out[#out + 1] = u32("down" .. of, p.experts * p.hidden * p.ffn // 2)
        end
        table.move({
            u32("gates", n * p.ffn), u32("mid", n * p.ffn // 2),
            u32("parts", n * p.hidden // 2), u32("out", p.tokens * p.hidden // 2),
            i32("rank", n, { scratch = true, data = s.rank }),
            i32("order", room, { scratch = true, data = s.sorted }),
            i32("expert", tiles, { scratch = true, data = s.experts }),
        }, 1, 7, #out + 1, out)
        return out
    end,

    kernels = function(p, b)
        local out = {}
        local first = { align(p, b), sort(p, b) }
        local act = silu("act", b, p.tokens * p.topk, p.ffn)
        local last, padded = sum(p, b), route(p).padded
        for i = 1, p.layers do
            local of = p.layers > 1 and tostring(i) or ""
            table.move({
                first[1], first[2],
                grouped(p, { name = "up" .. of, b = b, A = b.x, W = b["up" .. of],
                    C = b.gates, n = 2 * p.ffn, k = p.hidden, per = p.topk,
                    padded = padded }),
                act,
                grouped(p, { name = "down" .. of, b = b, A = b.mid,
                    W = b["down" .. of], C = b.parts, n = p.hidden, k = p.ffn,
                    per = 1, padded = padded,
                    share = true }),
                last,
            }, 1, 6, #out + 1, out)
        end
        return out
    end,
}

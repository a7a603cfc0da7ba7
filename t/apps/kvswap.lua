-- What KVSWAP at size T accesses, in closed form, and its footprints.
--
-- A step of n KV blocks has 24 n loads of them a head and layer; a block that moves
-- has 8 kv_heads loads and as many stores of K, of V, in each layer.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"
local requests = require "heddle.apps.requests"

local function counts(p, instance)
    local c = {}
    local function add(key, n) c[key] = (c[key] or 0) + n end
    local lens = requests.contexts(p.lengths, p.seqs, p.len, p.seed)
    local function blocks(seq) return (lens[seq % p.seqs + 1] + 15) // 16 end
    for step = 0, p.steps - 1 do
        local first = step * p.moved
        for i = first, first + p.active - 1 do
            local work = p.heads * p.layers
            add("decode load lens", 4 * work)
            add("decode load table", 2 * blocks(i) * work)
            add("decode load cache", 24 * blocks(i) * work)
        end
        for k = 1, p.kind == "copy" and step > 0 and p.moved or 0 do
            local out = 16 * p.layers * blocks(first - k)
            local back = 16 * p.layers * blocks(first + p.active - k)
            add("out load moves", out)
            add("out load cache", p.kv_heads * out)
            add("out store pool", p.kv_heads * out)
            add("in load moves", back)
            add("in load pool", p.kv_heads * back)
            add("in store cache", p.kv_heads * back)
        end
    end
    -- of every sequence in each step, a place: in the cache or in the pool, one each
    local held = {}
    for _, b in ipairs(instance.buffers) do held[b.name] = b end
    local width = held.table.count // (p.steps * p.active)
    for step = 0, p.steps - 1 do
        local seen = {}
        for i = 0, p.active - 1 do
            local row = step * p.active + i
            for k = 1, (held.lens.data[row + 1] + 15) // 16 do
                local at = held.table.data[row * width + k]
                assert(not seen[at], "two sequences have one block")
                seen[at] = true
            end
        end
    end
    return c
end

local function figures()
    local rows = kit.measure(app.get("KVSWAP"):instance { size = "T" })
    local function mb(params)
        local p = app.get("KVSWAP"):parameters(params)
        return app.get("KVSWAP").footprint(p) / 1e6
    end
    return {
        { "lines of a copy", rows["in load pool"].lines, 4 },
        { "pages of a copy", rows["in load pool"].pages, 1 },
        { "pages of a load of decode", rows["decode load cache"].pages, 1 },
        -- 16 of 32 sequences of 512 tokens, and the other 16 with room for two more
        { "MB of cache and pool", mb { size = "S", seqs = 32, active = 16 },
            32 * 32 * 0.065536 + 2 * 32 * 0.065536 },
    }
end

return {
    counts = counts,
    others = {
        { kind = "uvm", lengths = "code", steps = 5 },
        { overlap = 1, seqs = 7, active = 3, moved = 2, steps = 6, lengths = "conv" },
        { layers = 2, overlap = 1, steps = 4, kv_heads = 4 },
        { moved = 0, steps = 2 },
    },
    figures = figures,
    -- 4096 seqs len layers, and room for those that move, as long as they are drawn
    published = { 33.6 + 4.2, 164 + 28, 1311 + 142, XL = 5243 + 568,
        XXL = 20 * (5243 + 568) },
}

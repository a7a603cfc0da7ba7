-- What PREFILL at size T accesses, in closed form, and its footprints.
--
-- A group of 32 threads of a product has 6 K / 32 copies and 16 stores, fewer where its
-- rows are beyond the last token; a tile of queries has those of its keys up to the
-- diagonal.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function counts(p, instance)
    local c, tokens = {}, p.seqs * p.len
    local function add(key, n) c[key] = (c[key] or 0) + n end
    -- groups of rows that begin before the last token: a copy of `step` rows each
    local function live(rows, step) return ceil(rows, step) end
    local function product(name, A, B, C, n, k)
        local columns = n // 128
        add(name .. " load " .. A, columns * k // 32 * live(tokens, 8))
        add(name .. " load " .. B, ceil(tokens, 256) * columns * k // 32 * 16)
        add(name .. " store " .. C, columns * live(tokens, 2))
    end
    local fused = (p.heads + 2 * p.kv_heads) * 128
    local x, y = "x", "y"
    for i = 1, p.layers do
        local of = p.layers > 1 and tostring(i) or ""
        if p.part ~= "product" then
            product("qkv" .. of, x, "qkv" .. of, "heads", fused, p.hidden)
            local heads = p.seqs * p.heads
            local copies = p.len // 2 -- of queries, two tokens each
            for tile = 0, ceil(p.len, 128) - 1 do
                local keys = ceil(math.min(128 * (tile + 1), p.len), 64)
                copies = copies + 2 * math.min(64 * keys, p.len) // 2
            end
            add("flash load heads", heads * copies)
            add("flash store context", heads * p.len // 2)
            add("flash store lse", heads * p.len // 8)
        end
        product("o" .. of, "context", "o" .. of, y, p.hidden, p.heads * 128)
        if p.part == "layer" then
            product("up" .. of, "y", "up" .. of, "gates", 2 * p.ffn, p.hidden)
            local warps = ceil(tokens * p.ffn // 8, 32)
            add("silu load gates", 2 * warps)
            add("silu store mid", warps)
            product("down" .. of, "mid", "down" .. of, "x", p.hidden, p.ffn)
        else
            x, y = y, x
        end
    end
    return c, function(_, _, memory)
        for _, b in ipairs(instance.buffers) do
            local met
            for key in pairs(memory) do met = met or key:find(" " .. b.name .. "$") end
            assert(met or b.name == "x" and p.part == "product", b.name)
        end
    end
end

-- Lines and pages of a copy: 8 rows, or two tokens, each in a page of its own from 4 KB
-- on; with rows of 1 KB four in a page.
local function figures()
    local wide = kit.profile("PREFILL", { size = "S", len = 64 })
    local narrow = kit.profile("PREFILL", { size = "T", part = "product" })
    local flash = kit.profile("PREFILL", { size = "S", part = "attention", len = 128,
        hidden = 128 })
    return {
        { "lines of a copy of weights", wide["o load o"].lines, 8 },
        { "pages of a copy, K = 4,096", wide["o load o"].pages, 8 },
        { "pages of a copy, K = 512", narrow["o load o"].pages, 2 },
        { "lines of a store", wide["o store y"].lines, 4 },
        { "lines of a copy of FlashAttention", flash["flash load heads"].lines, 4 },
        { "pages of a copy of FlashAttention", flash["flash load heads"].pages, 2 },
        { "copies of a group, K = 4,096",
            app.size(app.get "PREFILL", "S").params.hidden // 32 * 6, 768 },
    }
end

return {
    counts = counts,
    less = { hidden = 256, heads = 3, kv_heads = 1, ffn = 512 },
    others = {
        { part = "product", len = 264, hidden = 128, heads = 1, kv_heads = 1 },
        { part = "attention", layers = 2, len = 136, seqs = 2, hidden = 128, heads = 2,
            kv_heads = 1 },
        { layers = 2, len = 8, heads = 2, hidden = 128, ffn = 128 },
    },
    figures = figures,
    -- weights (33.6, 83.9, 4 and 16 layers of 436) and activations
    published = { 33.6 + 4.2, 83.9 + 37.9, 1745 + 126, XL = 6979 + 126 },
}

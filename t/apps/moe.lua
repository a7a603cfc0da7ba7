-- What MOE at size T accesses, in closed form, and its footprints.
--
-- An expert with n ids has ceil(n / 64) tiles of rows; a copy of rows is there where one
-- of its 8 (or 4) has a token.  The counts of experts are those of the ids that the
-- application has, the groups of ids without tokens follow from them.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function ids_of(instance)
    for _, b in ipairs(instance.buffers) do
        if b.name == "ids" then return b.data end
    end
end

local function counts(p, instance)
    local c, ids, n = {}, ids_of(instance), p.tokens * p.topk
    local function add(key, k) c[key] = (c[key] or 0) + k end
    local small = p.tokens <= p.experts
    local bm, bn, bk = 64, 64, 32
    if small then bm, bn, bk = 16, 32, 64 end
    local room = n + p.experts * (bm - 1)
    local number, seen = {}, {}
    for e = 0, p.experts - 1 do number[e] = 0 end
    for i, e in ipairs(ids) do
        number[e] = number[e] + 1
        local key = (i - 1) // p.topk .. " " .. e
        assert(not seen[key], "an expert twice of one token")
        seen[key] = true
    end
    local tiles = ceil(room, bm)
    -- a group of 32 threads stores 8 rows of 64 columns twice, or 8 of 32 once
    local function product(name, A, W, C, columns, k, share)
        local across = columns // bn
        add(name .. " load length", tiles * across * 4)
        for e = 0, p.experts - 1 do
            local left = number[e]
            while left > 0 do
                local rows = math.min(left, bm)
                left = left - rows
                add(name .. " load sorted", across * 4 * (small and 1 or 2))
                add(name .. " load experts", across * 4)
                add(name .. " load " .. A, across * k // bk
                    * ceil(rows, small and 4 or 8))
                add(name .. " load " .. W, across * k // bk * 8)
                local stores = across * ceil(rows, small and 8 or 4)
                add(name .. " store " .. C, stores)
                if share then add(name .. " load share", stores) end
            end
        end
    end
    for layer = 1, p.layers do
        local of = p.layers > 1 and tostring(layer) or ""
        add("align store sorted", ceil(room // 4, 32))
        add("align load ids", ceil(n, 32))
        add("align store cumsum", ceil(p.experts, 32))
        add("align store length", 1)
        add("align store experts", ceil(tiles, 32))
        add("sort load ids", ceil(n, 32))
        add("sort atomic cumsum", ceil(n, 32))
        add("sort store sorted", ceil(n, 32))
        product("up" .. of, "x", "up" .. of, "gates", 2 * p.ffn, p.hidden)
        product("down" .. of, "mid", "down" .. of, "parts", p.hidden, p.ffn, true)
        local pieces = n * p.ffn // 8
        add("act load gates", 2 * ceil(pieces, 32))
        add("act store mid", ceil(pieces, 32))
        local each = p.tokens * ceil(p.hidden // 2, 32)
        add("sum load parts", p.topk * each)
        add("sum store out", each)
    end
    return c
end

local function figures()
    local function of(params)
        params.tokens = params.tokens or 64
        return kit.profile("MOE", params)
    end
    local wide = of { size = "T", hidden = 2048, experts = 4 }
    local small = of { size = "T", hidden = 2048, tokens = 8 }
    return {
        { "pages of a copy of weights, 4 KB rows", wide["up load up"].pages, 8 },
        { "lines of a copy of weights", wide["up load up"].lines, 8 },
        { "pages of one, few tokens", small["up load up"].pages, 4 },
        { "Mixtral: MB of an expert", app.get("MOE").footprint(
            app.get("MOE"):parameters { size = "XL", layers = 1, tokens = 1 })
            / 8e6, 352 },
        { "copies of a tile's weights a round, of all groups",
            wide["up load up"].count * 8 / (wide["up load experts"].count // 4)
            / (2048 // 32), 64 },
    }
end

return {
    counts = counts,
    others = {
        { tokens = 7, topk = 3 },
        { tokens = 150, experts = 5, skew = 50, layers = 2, hidden = 64, ffn = 64 },
        { tokens = 33, experts = 40, topk = 1, hidden = 64, ffn = 64 },
    },
    figures = figures,
    -- weights, and activations of 2 tokens topk: 6 ffn + 2 hidden bytes each
    published = { 25.2 + 4.2, 100.7 + 18.9, 1057 + 50.3, XL = 5637 + 50.3 },
}

-- What PAGEDATTN at size T accesses, in closed form, and its footprints.
--
-- A block of v1 with nb KV blocks has 5 + 26 nb loads of 6 + 66 nb lines and 8
-- stores; at T, 4 sequences of 200 tokens and 8 heads: 10,976 loads, 256 stores.
-- The contexts are drawn again here from what the application has in its lens.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local GROUPS = 4

-- Sums over the blocks of threads: f(KV blocks of one, its tokens).
local function lens(instance)
    for _, b in ipairs(instance.buffers) do
        if b.name == "lens" then
            local out = {}
            for i = 1, b.count do out[i] = b.data[i] end
            return out
        end
    end
end

local function ceil(a, b) return (a + b - 1) // b end

local function counts(p, instance)
    local list = lens(instance)
    local most = math.max(table.unpack(list))
    local parts = ceil(most, 512)
    local flash = p.layout == "flash"
    local two = p.version == "v2" or p.version == "auto"
        and (most > 8192 or parts > 1 and p.seqs * p.heads <= 512)
    local c = {}
    local function add(key, n) c[key] = (c[key] or 0) + n end
    for layer = 1, p.layers do
        local of = p.layers > 1 and tostring(layer) or ""
        local name = (two and "parts" or "attention") .. of
        for _, len in ipairs(list) do
            for part = 0, two and parts - 1 or 0 do
                add(name .. " load lens", GROUPS * p.heads)
                local tokens = two and math.min(512, len - 512 * part) or len
                if tokens > 0 then
                    local nb = ceil(tokens, 16) * p.heads
                    add(name .. " load q", p.heads)
                    add(name .. " load table", 2 * nb)
                    add(name .. " load K" .. of, (flash and 8 or 16) * nb)
                    add(name .. " load V" .. of, 8 * nb)
                    add(name .. (two and " store partial" or " store out"),
                        8 * p.heads)
                    if two then
                        add(name .. " store sums", p.heads)
                        add(name .. " store maxima", p.heads)
                    end
                end
            end
            if two then
                local used = ceil(len, 512)
                local reduce = "reduce" .. of
                add(reduce .. " load lens", GROUPS * p.heads)
                add(reduce .. " load partial", GROUPS * used * p.heads)
                add(reduce .. " store out", GROUPS * p.heads)
                if used > 1 then
                    add(reduce .. " load sums", ceil(used, 32) * p.heads)
                    add(reduce .. " load maxima", ceil(used, 32) * p.heads)
                end
            end
        end
    end
    return c, function(_, _, memory)
        local loads, stores = 0, 0
        for key, n in pairs(memory) do
            if key:find " load " then loads = loads + n end
            if key:find " store " then stores = stores + n end
        end
        if p.lengths == "fixed" and not two and not flash then
            local blocks = p.seqs * p.heads * p.layers
            kit.equal(loads, blocks * (5 + 26 * ceil(p.len, 16)), "loads")
            kit.equal(stores, 8 * blocks, "stores")
        end
    end
end

-- Lines and pages of a load, 4 and 2 lines and one page in the layout of vLLM.
local function figures()
    local function of(params, key)
        params.size = "T"
        return kit.measure(app.get("PAGEDATTN"):instance(params))[key]
    end
    local paged = { k = of({}, "attention load K"), v = of({}, "attention load V") }
    local flash = of({ layout = "flash", kv_heads = 8 }, "attention load K")
    return {
        { "lines of a load of K", paged.k.lines, 2 },
        { "pages of a load of K", paged.k.pages, 1 },
        { "lines of a load of V", paged.v.lines, 4 },
        { "pages of a load of V", paged.v.pages, 1 },
        { "lines of a load, flash", flash.lines, 4 },
        { "pages of a load, flash", flash.pages, 1 },
    }
end

return {
    counts = counts,
    less = { seqs = 2 },
    others = {
        { layout = "flash", kv_heads = 8 },
        { len = 1100, version = "v2", lengths = "conv", fragment = 100, heads = 2,
            kv_heads = 1 },
        { len = 600, seqs = 1, heads = 2 }, -- two parts, few blocks: v2
        { layers = 2, len = 17, kv_heads = 8, lengths = "code" },
    },
    figures = figures,
    -- 4096 seqs len layers bytes of caches; L has a context of more than 8,192
    -- tokens, so that v2's partial results are there, too: 264 bytes a part.
    published = { 33.6, 164, 1311 + 61, XL = 5243 },
}

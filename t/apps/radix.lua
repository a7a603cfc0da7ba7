-- What RADIX at size T accesses, in closed form, and its footprints.
--
-- A tile has 32 loads of 16 bytes a thread when it is counted and 64 when it is
-- scattered, 256 stores; stores of a pass are a permutation.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function counts(p)
    local c, tiles, bins = {}, p.n // 4096, 1 << p.bits
    for i = 1, p.passes do
        local from, to = 1 - i % 2, i % 2
        local name = "scatter" .. i
        c[("count%d load keys%d"):format(i, from)] = 32 * tiles
        c[("count%d store counts"):format(i)] = tiles * ceil(bins, 32)
        c[name .. " load counts"] = tiles * ceil(bins, 32)
        for _, what in ipairs { "keys", "pays" } do
            c[("%s load %s%d"):format(name, what, from)] = 32 * tiles
            c[("%s store %s%d"):format(name, what, to)] = 128 * tiles
        end
    end
    c["scan load counts"] = p.passes * ceil(tiles * bins, 128)
    c["scan store counts"] = c["scan load counts"]
    return c
end

-- Stores of a pass, if each goes to a place of its own.
local function places(params)
    local a, seen, n = app.get "RADIX", {}, 0
    params.passes = 1
    require("heddle.twin").walk(a:instance(params), function(e)
        if e.kernel == "scatter1" and e.kind == "store" and e.buffer.name == "keys1" then
            for _, at in pairs(e.addr) do
                if at and not seen[at] then
                    seen[at], n = true, n + 1
                end
            end
        end
    end)
    return n
end

local function figures()
    local even = kit.profile("RADIX", { spread = 0, n = 1 << 20 })
    local store = even["scatter1 store keys1"]
    return {
        { "places of a pass", places { n = 12288 }, 12288 },
        { "places of a pass, 2,048 bins", places { n = 8192, bits = 11, spread = 1 },
            8192 },
        { "lines of a store, even runs", store.lines, 2 },
        { "pages of a store, even runs", store.pages, 2 },
        { "lines of a load of keys", even["scatter1 load keys0"].lines, 4 },
        { "lines of a store of counts", even["count1 store counts"].lines, 32 },
    }
end

return {
    counts = counts,
    others = {
        { n = 12288, bits = 5, spread = 100 },
        { n = 4096, bits = 11, spread = 1, passes = 1 },
    },
    figures = figures,
    published = { 17.0, 136, 1091, XL = 4362, XXL = 16.25 * 6442 }, -- 16.25 a key
}

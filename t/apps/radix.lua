-- What RADIX at size T accesses, in closed form, and its footprints.
--
-- A tile has 32 loads of 16 bytes a thread when it is counted and 64 when it is
-- scattered, 256 stores; stores of a pass are a permutation.  Tiles that look back find
-- what they need at once where they run one after the other.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function onesweep(p)
    local c, tiles, bins = {}, p.n // 4096, 1 << p.bits
    local row = ceil(bins, 32)
    c["histogram load keys0"] = 32 * tiles
    c["histogram atomic sums"] = ceil(tiles, 16) * ceil(p.passes * bins, 32)
    c["scan load sums"], c["scan store sums"] = p.passes * row, p.passes * row
    for i = 1, p.passes do
        local name = "onesweep" .. i
        c[name .. " atomic next"] = tiles
        c[name .. " load counts"] = (tiles - 1) * row
        c[name .. " store counts"] = (2 * tiles - 1) * row
        c[name .. " load sums"] = tiles * row
        for _, what in ipairs { "keys", "pays" } do
            c[("%s load %s%d"):format(name, what, 1 - i % 2)] = 32 * tiles
            c[("%s store %s%d"):format(name, what, i % 2)] = 128 * tiles
        end
    end
    return c
end

local function counts(p)
    if p.kernel == "onesweep" then return onesweep(p) end
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
        if e.kernel:find "^[so][cn]" and e.kind == "store" and e.buffer.name == "keys1" then
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
    local one = kit.profile("RADIX", { kernel = "onesweep", n = 1 << 18 })
    return {
        { "places of a pass", places { n = 12288 }, 12288 },
        { "places of a pass, 2,048 bins", places { n = 8192, bits = 11, spread = 1 },
            8192 },
        { "places of a pass, onesweep", places { n = 12288, kernel = "onesweep" },
            12288 },
        { "onesweep: atomics of the histogram, 4 blocks of 4 x 256 counts",
            one["histogram atomic sums"].count, 4 * 4 * 8 },
        { "onesweep: lines of a row of counts", one["onesweep1 load counts"].lines, 1 },
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
        { n = 12288, kernel = "onesweep", bits = 9 },
    },
    figures = figures,
    published = { 17.0, 136, 1091, XL = 4362, XXL = 16.25 * 6442 }, -- 16.25 a key
}

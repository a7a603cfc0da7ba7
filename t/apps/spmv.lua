-- What SPMV at size T accesses, in closed form, and its footprints.
--
-- A row of k elements has two loads of its ends and three a 32 elements; with several
-- columns two a 32 elements and one a element and 32 columns.  The merged kernel's tiles
-- are found by going along rows and elements one by one: row i is number end(i) + i of
-- that list.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function merged(p, start)
    local c, m = {}, start and start[p.n] or p.n * p.each
    local function add(key, n) c[key] = (c[key] or 0) + n end
    local function number(i) return (start and start[i + 1] or (i + 1) * p.each) + i end
    local function ceil(a, b) return (a + b - 1) // b end
    local tiles, row, x = ceil(p.n + m, 896), 0, {}
    for tile = 0, tiles do
        while row < p.n and number(row) < math.min(896 * tile, p.n + m) do
            row = row + 1
        end
        x[tile] = row
    end
    for first = 0, tiles, 32 do -- warps of the search run to the longest of their lanes
        local most = 0
        for tile = first, math.min(first + 31, tiles) do
            local at, steps = math.min(896 * tile, p.n + m), 0
            local low, high = math.max(at - m, 0), math.min(at, p.n)
            while low < high do
                local middle = (low + high) // 2
                steps = steps + 1
                if middle < x[tile] then low = middle + 1 else high = middle end
            end
            kit.equal(low, x[tile], "the row that is found")
            most = math.max(most, steps)
        end
        add("search load row", most)
        add("search store coords", 1)
    end
    local rows, elements = 0, 0
    for tile = 0, tiles - 1 do
        local r = x[tile + 1] - x[tile]
        local k = math.min(896, p.n + m - 896 * tile) - r
        rows, elements = rows + r, elements + k
        add("merge load coords", 2 * 4)
        for _, b in ipairs { "col", "val", "x" } do add("merge load " .. b, ceil(k, 32)) end
        add("merge load row", ceil(r + 7, 32))
        add("merge store y", ceil(r, 32))
        add("merge store carry", 1)
    end
    kit.equal(rows, p.n, "rows of all tiles")
    kit.equal(elements, m, "elements of all tiles")
    for first = 0, tiles - 1, 32 do
        add("fixup load carry", 1)
        add("fixup atomic y", x[first + 1] < p.n and 1 or 0)
    end
    return c
end

local function counts(p)
    local name = p.columns == 1 and "spmv" or "spmm"
    local start
    if p.matrix == "rmat" then
        local scale = 0
        while 1 << scale < p.n do scale = scale + 1 end
        start = require("heddle.generate").rmat { scale = scale,
            edges = p.n * p.each, a = 0.57, b = 0.19, c = 0.19, permute = true,
            seed = p.seed }.start
    end
    if p.kernel == "merge" then return merged(p, start) end
    local rounds, elements = 0, 0
    for i = 0, p.n - 1 do
        local k = start and start[i + 1] - start[i] or p.each
        rounds, elements = rounds + (k + 31) // 32, elements + k
    end
    local wide = (p.columns + 31) // 32
    local one = p.columns == 1
    return {
        [name .. " load row"] = 2 * p.n,
        [name .. " load col"] = rounds,
        [name .. " load val"] = rounds,
        [name .. " load x"] = one and rounds or wide * elements,
        [name .. " store y"] = one and p.n or wide * p.n,
    }
end

-- Of a gather: 32 of 2^17 columns at random are in 256 pages; those of a band are five
-- or six runs, 120 columns apart.
local function figures()
    local function x(params)
        return kit.profile("SPMV", params)["spmv load x"]
    end
    local random = x { size = "M", matrix = "random", n = 1 << 17, each = 32 }
    local band = x { n = 1 << 14, each = 60, width = 540 }
    local wide = kit.profile("SPMV", { n = 4096, columns = 32 })["spmm load x"]
    local short = { n = 1 << 13, matrix = "random", each = 6 } -- 128 rows a tile
    local apart = kit.profile("SPMV", short)["spmv load col"]
    short.kernel = "merge"
    local one = kit.profile("SPMV", short)["merge load col"]
    return {
        { "pages of a gather of random columns", random.pages,
            256 * (1 - (1 - 1 / 256) ^ 32) },
        -- of 60 elements 32, then 28; a run, which begins at an even column, crosses
        -- a line of 16 in two of eight places, the four after the first two in one
        { "lines of a gather of a band", band.lines,
            (5 * 1.25 + 1 + 1.125 + 4 * 1.25) / 2 },
        { "lines of a row of 32 columns", wide.lines, 2 },
        { "loads a row of 60 elements", kit.profile("SPMV",
            { n = 4096 })["spmv load col"].count * 3 / 4096 + 2, 8 },
        { "lanes of a load of columns, rows of six", apart.lanes, 6 },
        { "lanes of one, merged", one.lanes, 32 },
    }
end

return {
    counts = counts,
    others = {
        { matrix = "random", each = 5 },
        { matrix = "rmat", n = 256, each = 7 },
        { columns = 40, n = 33 },
        { columns = 8, matrix = "rmat", n = 128, each = 9 },
        { each = 1, n = 6, width = 2 },
        { kernel = "merge", each = 7 },
        { kernel = "merge", matrix = "rmat", n = 256, each = 20 },
        { kernel = "merge", matrix = "random", n = 3, each = 1000 },
    },
    figures = figures,
    published = { 6.06, 97, 1027, XL = 6207 }, -- 20 n + 12 n each
}

-- What SPMV at size T accesses, in closed form, and its footprints.
--
-- A row of k elements has two loads of its ends and three a 32 elements; with several
-- columns two a 32 elements and one a element and 32 columns.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

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
    }
end

return {
    counts = counts,
    others = {
        { matrix = "random", each = 5 },
        { matrix = "rmat", n = 256, each = 7 },
        { columns = 40, n = 100 },
        { columns = 8, matrix = "rmat", n = 128, each = 9 },
        { each = 1, n = 6, width = 2 },
    },
    figures = figures,
    published = { 6.06, 97, 1027, XL = 6207 }, -- 20 n + 12 n each
}

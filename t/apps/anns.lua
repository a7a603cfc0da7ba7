-- What ANNS at size T accesses, in closed form, and its footprints.
--
-- A query has a load for each 32 of its 16-byte pieces, and 1 + iterations times
-- degree / 4 loads of vectors for each 32 of their elements.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local function ceil(a, b) return (a + b - 1) // b end
    return {
        ["search load queries"] = p.queries * ceil(p.dim // 4, 32),
        ["search load vectors"] = p.queries * (1 + p.iterations) * p.degree // 4
            * (p.dim // 32),
        ["search load graph"] = p.queries * p.iterations * ceil(p.degree, 32),
        ["search store found"] = p.queries,
        ["search store distance"] = p.queries,
    }
end

-- Of a load of vectors four lines, and pages of 2^14 vectors at random: 2,048.
local function figures()
    local rows = kit.profile("ANNS", { queries = 16, far = 100 })
    local near = kit.profile("ANNS", { queries = 16, far = 0 })
    local load = rows["search load vectors"]
    return {
        { "lines of a load of vectors", load.lines, 4 },
        { "pages of a load of vectors", load.pages, 4 },
        { "lines of a list", rows["search load graph"].lines, 1 },
        { "loads a query and iteration",
            (load.count / 71 + rows["search load graph"].count / 70) / 16, 66 },
        -- 256 numbers of 512 bytes are 32 pages, or 33, of which two are halves
        { "pages of a load of vectors, all near", near["search load vectors"].pages,
            (70 * 32 * (1 - (1 - 1 / 32) ^ 4) + 4) / 71 },
    }
end

return {
    counts = counts,
    others = {
        { dim = 96, degree = 40, far = 0 },
        { dim = 160, degree = 8, far = 100, iterations = 2, seed = 3 },
    },
    figures = figures,
    published = { 12.6, 100.7, 999, XL = 6445 }, -- 768 a vector
}

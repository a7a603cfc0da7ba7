-- What ANNS at size T accesses, in closed form, and its footprints.
--
-- A query has a load for each 32 of its 16-byte pieces, and 1 + iterations times
-- degree / 4 loads of vectors for each 32 of their elements.  Of lists a query has those
-- that its hash says, of the lengths that theirs say.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function ceil(a, b) return (a + b - 1) // b end

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return (x ~ (x >> 31)) >> 1
end

local function lists(p)
    local log = math.log(p.n, 2) + 1e-9
    return p.lists > 0 and p.lists or 1 << math.floor(math.min(log / 2, log - 6))
end

-- Groups of 32 vectors of each list.
local function lengths(p)
    local n, groups, out = lists(p), p.n // 32, {}
    for l = 0, n - 1, 2 do
        local more = mix(l // 2 + (p.seed << 40)) % (groups // n * p.uneven // 100 + 1)
        local from, middle, to = l * groups // n, (l + 1) * groups // n,
            (l + 2) * groups // n
        out[l], out[l + 1] = middle - from + more, to - middle - more
        assert(out[l + 1] > 0, "a list without vectors")
    end
    return out
end

local function ivf(p)
    local n, length, sum, all = lists(p), lengths(p), 0, 0
    for l = 0, n - 1 do all = all + length[l] end
    kit.equal(32 * all, p.n, "vectors of all lists")
    for q = 0, p.queries - 1 do
        local x, seen = mix(q + (p.seed << 32)), {}
        for j = 0, p.probes - 1 do
            local l = x + j * ((x >> 20) * 2 + 1) & n - 1
            assert(not seen[l], "a list twice")
            seen[l] = true
            sum = sum + length[l]
        end
    end
    return {
        ["coarse load queries"] = p.queries * ceil(p.dim // 4, 32),
        ["coarse load centres"] = p.queries * ceil(n, 4) * (p.dim // 32),
        ["coarse store probed"] = p.queries * ceil(p.probes, 32),
        ["scan load probed"] = p.queries * p.probes * 4,
        ["scan load queries"] = p.queries * p.probes * ceil(p.dim // 4, 32),
        ["scan load vectors"] = sum * (p.dim // 4),
        ["scan store near"] = p.queries * p.probes,
        ["choose load near"] = p.queries * ceil(10 * p.probes, 32),
        ["choose load ids"] = p.queries,
        ["choose store found"] = p.queries,
        ["choose store distance"] = p.queries,
    }
end

local function counts(p)
    if p.kernel == "ivf" then return ivf(p) end
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
    local probed = kit.profile("ANNS", { kernel = "ivf", queries = 16, uneven = 0 })
    local list = probed["scan load vectors"]
    return {
        { "lists: loads a vector of 512 bytes", list.count
            / (16 * 32 * (1 << 14) / 128), 1 }, -- 32 of 128 lists
        { "lists: lines of a load", list.lines, 4 },
        { "lists: pages of a load", list.pages, 1 },
        { "lists: pages of ten ids, of 32", probed["choose load ids"].pages,
            32 * (1 - (31 / 32) ^ 10) },
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
        { kernel = "ivf" },
        { kernel = "ivf", n = 2048 + 96, dim = 96, probes = 32, uneven = 90, seed = 4,
            queries = 2 },
    },
    figures = figures,
    published = { 12.6, 100.7, 999, XL = 6445 }, -- 768 a vector
}

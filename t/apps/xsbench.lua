-- What XSBENCH at size T accesses, in closed form, and its footprints.
--
-- A warp searches as long as its longest lane and loads the nuclides of the material
-- that has most; every lane's bisection is done again here.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local SHARE = { 52, 275, 134, 154, 64, 66, 55, 8, 15, 25, 13 }
local NUMBER = { 5, 4, 4, 27, 21, 21, 21, 21, 21, 9, 9 }

local function mix(x)
    x = x * 0x9e3779b97f4a7c15
    x = (x ~ (x >> 30)) * 0xbf58476d1ce4e5b9
    x = (x ~ (x >> 27)) * 0x94d049bb133111eb
    return (x ~ (x >> 31)) >> 33
end

-- Nuclides of a lookup's material, and its place among G energies.
local function draw(p, i, G)
    local sorted = p.order == "sorted"
    local roll = sorted and i * ((1 << 31) // p.lookups)
        or mix(2 * i + (p.seed << 40))
    local fuel = p.nuclides >= 68 and p.nuclides - 34 or p.nuclides // 2
    local low, upto = 0, 0
    for m = 1, 12 do
        upto = upto + (SHARE[m] or 0)
        local limit = SHARE[m] and (upto << 31) // 1000 or 1 << 31
        if roll < limit then
            local energy = sorted and (roll - low << 31) // (limit - low)
                or mix(2 * i + 1 + (p.seed << 40))
            local n = NUMBER[m] and math.min(NUMBER[m], p.nuclides) or fuel
            return n, energy * (G - 1) >> 31
        end
        low = limit
    end
end

local function counts(p)
    local c, G = {}, p.nuclides * p.points
    local function add(key, n) c["lookup " .. key] = (c["lookup " .. key] or 0) + n end
    for first = 0, p.lookups - 1, 32 do
        local steps, rounds = 0, 0
        for i = first, math.min(first + 31, p.lookups - 1) do
            local n, place = draw(p, i, G)
            local low, high, k = 0, G - 1, 0
            while high - low > 1 do
                local middle = low + (high - low) // 2
                if middle > place then high = middle else low = middle end
                k = k + 1
            end
            kit.equal(low, place, "the place that bisection finds")
            steps, rounds = math.max(steps, k), math.max(rounds, n)
        end
        add("load egrid", steps)
        add("load num_nucs", 1)
        add("load mats", rounds)
        add("load concs", rounds)
        add("load index", rounds)
        add("load grids", 12 * rounds)
        add("store result", 1)
    end
    return c
end

-- The small reactor: pages as a sketch of the program had them when its text was read;
-- fuel is 13.9 % of lookups, and a lookup has 55.4 nuclides of the large one.
local function figures()
    local rows = kit.profile("XSBENCH", { points = 11303, lookups = 1 << 14 })
    local large = kit.profile("XSBENCH", { size = "XL", lookups = 1 << 14 })
    local index, search = rows["lookup load index"], rows["lookup load egrid"]
    return {
        { "pages of a load of the index", index.pages, 14.5 },
        { "lanes of that", index.lanes, 14.5 },
        { "pages of a step of the search", search.pages, 23.4 },
        { "lanes of a load of the index, 355 nuclides",
            large["lookup load index"].lanes, 5.5 },
        { "nuclides a lookup, 355 nuclides", large["lookup load index"].lanes
            * large["lookup load index"].count / (1 << 14), 55.4 },
    }
end

return {
    counts = counts,
    others = {
        { order = "sorted", nuclides = 70, points = 33, lookups = 300 },
        { nuclides = 68, points = 31, seed = 7, lookups = 77 },
    },
    figures = figures,
    published = { 31.6, 126.1, 922, XL = 5940 }, -- G (56 + 4 N); 8 a lookup
}

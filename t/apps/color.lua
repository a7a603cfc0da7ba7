-- What COLOR at size T accesses, from the graph and the values alone, its
-- published footprints, and the measured gathers of round 1.
--
-- SPDX-License-Identifier: MIT
local csr = require "t.apps.csr"
local equal = require "t.apps.kit".equal

-- One round, on the colours `color`: counts into c; true if a node saw one
-- without a colour.
local function round(p, g, value, color, now, c)
    local most, least, stop = {}, {}, false
    local function none(v) return color[v] == -1 end
    for v = 0, p.n - 1 do
        most[v], least[v] = -1, math.maxinteger
    end
    csr.warps(p.n, function(first, last)
        local longest, some = csr.longest(g, first, last, none)
        local taken = {}
        for v = first, last do
            local from, to = g.start[v], g.start[v + 1] - 1
            for e = from, none(v) and to ~= from and to or from - 1 do
                local w = g.edges[e]
                if none(w) then
                    taken[e - from], stop = true, true
                    most[v] = math.max(most[v], value[w])
                    least[v] = math.min(least[v], value[w])
                end
            end
        end
        c.warps = c.warps + 1
        if not some then return end
        local next_one = false
        for v = first, last do
            next_one = next_one or none(v) and v + 1 < p.n
        end
        c.some, c.rounds = c.some + 1, c.rounds + longest
        c.listed = c.listed + (longest > 0 and 1 or 0)
        c.next_one = c.next_one + (next_one and 1 or 0)
        for _ in pairs(taken) do c.taken = c.taken + 1 end
    end)
    csr.warps(p.n, function(first, last)
        local high, low = 0, 0
        for v = first, last do
            if none(v) then
                if value[v] >= most[v] then color[v], high = now, 1 end
                if value[v] <= least[v] then color[v], low = now + 1, 1 end
            end
        end
        c.high, c.low = c.high + high, c.low + low
    end)
    return stop
end

local function counts(p)
    local generate = require "heddle.generate"
    local g = csr.graph(p)
    local value = generate.ints { n = p.n, lo = 0, hi = 2047, seed = p.seed }
    local color, now = {}, 1
    for v = 0, p.n - 1 do color[v] = -1 end
    local c = { warps = 0, some = 0, rounds = 0, next_one = 0, taken = 0,
        listed = 0, high = 0, low = 0 }
    while round(p, g, value, color, now, c) do now = now + 2 end
    local warps = (p.n + 31) // 32
    return {
        ["init store max"] = warps,
        ["init store min"] = warps,
        ["color1 load color"] = c.warps + c.rounds,
        ["color1 load row"] = c.some + c.next_one,
        ["color1 load col"] = c.rounds + c.taken,
        ["color1 store stop"] = c.taken,
        ["color1 load value"] = c.taken,
        ["color1 store max"] = c.some,
        ["color1 store min"] = c.some,
        ["color2 load color"] = c.warps,
        ["color2 load value"] = c.some + c.high,
        ["color2 load max"] = c.some,
        ["color2 load min"] = c.some,
        ["color2 store color"] = c.high + c.low,
    }, function(total)
        local padded = c.warps // warps * 8 * ((p.n + 255) // 256)
        equal(total.color1, 17 * padded + 6 * c.warps + 17 * c.some
            + c.next_one + 9 * c.listed + 12 * c.rounds + 8 * c.taken,
            "instructions of color1")
        equal(total.color2, 13 * padded + 7 * c.warps + 14 * c.some
            + 2 * c.high + 2 * c.low, "of color2")
    end
end

-- Round 1, which depends on no other block.  Later rounds need all blocks:
-- t/431-load-pages.lua has them.  The random graph is measured to take 14
-- rounds; the number depends on the seed.
local function figures()
    local random, grid = csr.both("COLOR", 1000, 2, "color1", "color")
    return {
        { "lanes of a gather, random graph", random.lanes, 16.9 },
        { "pages of a gather, random graph", random.pages, 15.7 },
        { "lanes of a gather, grid", grid.lanes, 32 },
        { "pages of a gather, grid", grid.pages, 1.04 },
        { "pages of a list, grid", grid.list, 1.1 },
    }
end

return {
    counts = counts,
    others = { { graph = "random", n = 700 }, { graph = "roads", n = 700,
        width = 28 } },
    published = { 36, 57, 144 }, -- MB of S, M and L
    figures = figures,
}

-- What SSSP at size T accesses, from the graph alone, its published footprints,
-- and the measured gathers.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local csr = require "t.apps.csr"

-- Iterations until nothing changes, and warps in which something does.
local function relax(p, g, length)
    local x, y, iterations, changed = {}, {}, 0, 0
    for v = 0, p.n - 1 do y[v] = v == 0 and 0 or 99999999 end
    repeat
        local some = false
        for v = 0, p.n - 1 do x[v] = y[v] end
        csr.warps(p.n, function(first, last)
            local other = false
            for v = first, last do
                for e = g.start[v], g.start[v + 1] - 1 do
                    y[v] = math.min(y[v], x[g.edges[e]] + length[e])
                end
                other = other or y[v] ~= x[v]
            end
            some, changed = some or other, changed + (other and 1 or 0)
        end)
        iterations = iterations + 1
    until not some
    return iterations, changed
end

local function counts(p)
    local generate = require "heddle.generate"
    local g = csr.graph(p)
    local length = generate.ints { n = g.m, lo = 1, hi = 10, seed = p.seed }
    local iterations, changed = relax(p, g, length)
    local warps, rounds, listed = 0, 0, 0
    csr.warps(p.n, function(first, last)
        warps = warps + 1
        local longest = csr.longest(g, first, last,
            function() return true end)
        rounds, listed = rounds + longest, listed + (longest > 0 and 1 or 0)
    end)
    local all = iterations * warps
    return {
        -- the source's lane apart
        ["init store x"] = warps + 1,
        ["init store y"] = warps + 1,
        ["assign load y"] = all,
        ["assign store x"] = all,
        ["spmv load row"] = 2 * all,
        ["spmv load x"] = all + iterations * rounds,
        ["spmv load data"] = iterations * rounds,
        ["spmv load col"] = iterations * rounds,
        ["spmv store y"] = all,
        ["diff load y"] = all,
        ["diff load x"] = all,
        ["diff store stop"] = changed,
    }, function(total)
        local padded = iterations * 2 * ((p.n + 63) // 64)
        equal(total.spmv, iterations * rounds * (3 + p.alu)
            + iterations * listed * 5 + 14 * all + padded * 14, "instructions")
        equal(total.diff, 9 * all + 3 * changed + padded * 11, "of diff")
        equal(total.assign, 7 * all + padded * 10, "of assign")
    end
end

-- Every iteration is alike: the first.  Measured besides, and too long for
-- here: about 20 iterations until nothing changes on the random graph of size
-- S, 1017 on the grid of 500 x 500.
local function figures()
    local random, grid = csr.both("SSSP", 500, 3, "spmv", "x")
    return {
        { "lanes of a gather, random graph", random.lanes, 16.9 },
        { "pages of a gather, random graph", random.pages, 15.7 },
        { "pages of a gather, grid", grid.pages, 1.04 },
    }
end

return {
    counts = counts,
    others = { { graph = "random", n = 300 }, { graph = "grid" } },
    published = { 9.1, 61.8, 138 }, -- MB of S, M and L
    figures = figures,
}

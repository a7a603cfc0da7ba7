-- What LUD at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local b = p.n // 16
    local blocks, squares = 0, 0
    for r = 1, b - 1 do blocks, squares = blocks + r, squares + r * r end
    return {
        ["diagonal load m"] = 16 * b, ["diagonal store m"] = 15 * b,
        ["perimeter load m"] = 48 * blocks,
        ["perimeter store m"] = 31 * blocks,
        ["internal load m"] = 3 * 8 * squares,
        ["internal store m"] = 8 * squares,
    }, function(_, barriers)
        equal(barriers.diagonal, 31 * b, "barriers")
        equal(barriers.perimeter, 2 * blocks, "barriers")
        equal(barriers.internal, 8 * squares, "barriers")
    end
end

-- Two rows a warp: in one page or in two.  Internal has 102 instructions.
local function figures()
    local function first(n)
        return kit.profile("LUD", { size = "S", n = n, steps = 1 },
            { every = n // 128 })
    end
    local small, large = first(512), first(2048)
    local threads = kit.threads("LUD", { size = "T", n = 32 })
    return {
        { "lines a load", small["internal load m"].lines, 2 },
        { "pages a load, n = 512", small["internal load m"].pages, 1 },
        { "pages a load, n = 2048", large["internal load m"].pages, 2 },
        { "lanes of a strip", small["perimeter load m"].lanes, 16 },
        { "instructions of internal", threads.internal / 256, 102 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 16.8, 67, 268, R = 0.262 }, -- MB of S, M and L
}

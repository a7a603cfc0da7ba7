-- What LUD at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

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

return {
    counts = counts,
    published = { 16.8, 67, 268 }, -- MB of S, M and L
}

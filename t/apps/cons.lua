-- What CONS at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local across, down = p.width // 64, p.height // 32
    local rows = across * (p.height // 4) * 2
    local columns = p.width // 16 * down * 4
    return {
        ["rows load In"] = rows * 6 - 2 * rows // across,
        ["rows store Buf"] = 4 * rows,
        ["columns load Buf"] = columns * 6 - 2 * columns // down,
        ["columns store Out"] = 4 * columns,
    }, function(_, barriers)
        equal(barriers.rows, rows, "barriers")
        equal(barriers.columns, columns, "barriers")
    end
end

return {
    counts = counts,
    published = { 56.6, 113, 302 }, -- MB of S, M and L
}

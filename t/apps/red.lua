-- What RED at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps = p.grid * 8
    local rounds = p.n // (512 * p.grid)
    return {
        ["reduce load in"] = p.launches * warps * rounds * 2,
        ["reduce store out"] = p.launches * p.grid,
    }, function(_, barriers)
        equal(barriers.reduce, p.launches * warps * 3, "barriers")
    end
end

return {
    counts = counts,
    published = { 1.05, 34, 67 }, -- MB of S, M and L
}

-- What MM at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps, rounds = p.m // 128 * (p.n // 16) * 4, p.k // 8
    return {
        ["sgemm load A"] = 8 * warps * rounds,
        ["sgemm load B"] = warps * rounds,
        ["sgemm load C"] = 16 * warps, ["sgemm store C"] = 16 * warps,
    }, function(total, barriers)
        equal(barriers.sgemm, 2 * warps * rounds, "barriers")
        -- 36 an element of A with its load; 4 more a round
        equal(total.sgemm, warps * (rounds * (8 * 36 + 4) + 16 * 4 + 17),
            "instructions")
    end
end

return {
    counts = counts,
    published = { 12.6, 50, 134 }, -- MB of S, M and L
}

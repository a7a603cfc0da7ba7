-- What BLK at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local rounds = (p.n + 31) // 32
    return {
        ["price load S"] = rounds, ["price load X"] = rounds,
        ["price load T"] = rounds, ["price store C"] = rounds,
        ["price store P"] = rounds,
    }, function(total)
        equal(total.price, 59 * rounds + 4 * p.grid * 7, "instructions")
    end
end

return {
    counts = counts,
    published = { 40, 80, 320 }, -- MB of S, M and L
}

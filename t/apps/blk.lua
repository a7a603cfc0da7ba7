-- What BLK at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local rounds = (p.n + 31) // 32
    return {
        ["price load S"] = rounds, ["price load X"] = rounds,
        ["price load T"] = rounds, ["price store C"] = rounds,
        ["price store P"] = rounds,
    }, function(total)
        equal(total.price, 97 * rounds + 4 * p.grid * 31, "instructions")
    end
end

-- 97 instructions an option (MAFIA's PTX).
local function figures()
    local params = { size = "T", n = 61440, grid = 32 }
    return { { "instructions an option",
        kit.threads("BLK", params)[1] / params.n, 97 } }
end

return {
    counts = counts,
    figures = figures,
    published = { 40, 80, 320 }, -- MB of S, M and L
}

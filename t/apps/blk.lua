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
        equal(total.price, 59 * rounds + 4 * p.grid * 7, "instructions")
    end
end

-- 58.6 instructions an option (MAFIA's run).
local function figures()
    local params = { size = "T", n = 61440, grid = 32 }
    return { { "instructions an option",
        kit.threads("BLK", params)[1] / params.n, 58.6 } }
end

return {
    counts = counts,
    figures = figures,
    published = { 40, 80, 320 }, -- MB of S, M and L
}

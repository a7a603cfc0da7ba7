-- What GESUMMV at size T accesses, in closed form, and its published
-- footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps = p.n // 32
    return {
        ["gesummv load tmp"] = warps * (p.n + 1),
        ["gesummv load y"] = warps * p.n,
        ["gesummv load A"] = warps * p.n,
        ["gesummv load B"] = warps * p.n,
        ["gesummv load x"] = 2 * warps * p.n,
        ["gesummv store tmp"] = warps * p.n,
        ["gesummv store y"] = warps * (p.n + 1),
    }, function(total)
        local all = 256 // 32 * ((p.n + 255) // 256)
        equal(total.gesummv, warps * (p.n * (8 + p.alu) + 4) + all * (6 + 1),
            "instructions")
    end
end

return {
    counts = counts,
    published = { 33.6, 66, 134 }, -- MB of S, M and L
}

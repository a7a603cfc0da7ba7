-- What GESUMMV at size T accesses, in closed form, its published
-- footprints, and the lines and pages of its rows.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

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
        kit.equal(total.gesummv, warps * (p.n * (8 + p.alu) + 13 + 4)
            + all * (11 + 1), "instructions")
    end
end

local function figures()
    local rows = kit.profile("GESUMMV", { size = "T", n = 1024 })
    return {
        { "lines of a load of A", rows["gesummv load A"].lines, 32 },
        { "pages of a load of A", rows["gesummv load A"].pages, 32 },
        { "pages of a load of B", rows["gesummv load B"].pages, 32 },
    }
end

return {
    counts = counts,
    published = { 33.6, 66, 134 }, -- MB of S, M and L
    figures = figures,
}

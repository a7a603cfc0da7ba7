-- What MVT at size T accesses, in closed form, its published footprints,
-- and the lines and pages of its rows.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local warps = p.n // 32
    return {
        ["mvt1 load x1"] = warps,
        ["mvt1 load a"] = warps * p.n,
        ["mvt1 load y1"] = warps * p.n,
        ["mvt1 store x1"] = warps * p.n,
        ["mvt2 load x2"] = warps,
        ["mvt2 load a"] = warps * p.n,
        ["mvt2 load y2"] = warps * p.n,
        ["mvt2 store x2"] = warps * p.n,
    }, function(total)
        local all = 256 // 32 * ((p.n + 255) // 256)
        if p.code == "sass" then
            return kit.equal(total.mvt2, warps * (10 + p.n // 16 * 72)
                + all * 7, "instructions")
        end
        kit.equal(total.mvt1, warps * (3 + 1 + 6 + p.n * (3 + p.alu))
            + all * 10, "instructions")
        kit.equal(total.mvt1 - total.mvt2, 2 * warps, "less for columns")
    end
end

local function figures()
    local rows = kit.profile("MVT", { size = "T", n = 1024 })
    return {
        { "lines of a row load", rows["mvt1 load a"].lines, 32 },
        { "pages of a row load", rows["mvt1 load a"].pages, 32 },
        { "pages of a column load", rows["mvt2 load a"].pages, 1 },
    }
end

return {
    counts = counts,
    others = { { code = "sass" } },
    published = { 16.8, 67, 268 }, -- MB of S, M and L
    figures = figures,
}

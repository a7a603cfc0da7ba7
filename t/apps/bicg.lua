-- What BICG at size T accesses, in closed form, its published footprints,
-- and the lines and pages of its rows.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local rows, columns = p.nx // 32, p.ny // 32
    return {
        ["bicg1 load A"] = columns * p.nx,
        ["bicg1 load r"] = columns * p.nx,
        ["bicg1 store s"] = columns * (p.nx + 1),
        ["bicg2 load A"] = rows * p.ny,
        ["bicg2 load p"] = rows * p.ny,
        ["bicg2 store q"] = rows * (p.ny + 1),
    }, function(total)
        local warps = 256 // 32 * ((p.nx + 255) // 256)
        if p.code == "sass" then
            return kit.equal(total.bicg2, rows * (10 + p.ny // 16 * 72)
                + warps * 7, "instructions")
        end
        kit.equal(total.bicg2, rows * (5 + 1 + 5 + p.ny * (3 + p.alu))
            + warps * 10, "instructions")
    end
end

local function figures()
    local rows = kit.profile("BICG", { size = "T", ny = 1024 })
    return {
        { "pages of a column load", rows["bicg1 load A"].pages, 1 },
        { "lines of a row load", rows["bicg2 load A"].lines, 32 },
        { "pages of a row load", rows["bicg2 load A"].pages, 32 },
    }
end

return {
    counts = counts,
    others = { { code = "sass" } },
    published = { 16.8, 67, 268 }, -- MB of S, M and L
    figures = figures,
}

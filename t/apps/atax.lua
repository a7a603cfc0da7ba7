-- What ATAX at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local rows, columns = p.nx // 32, p.ny // 32
    return {
        ["atax1 load tmp"] = rows,
        ["atax1 load A"] = rows * p.ny,
        ["atax1 load x"] = rows * p.ny,
        ["atax1 store tmp"] = rows * p.ny,
        ["atax2 load y"] = columns,
        ["atax2 load A"] = columns * p.nx,
        ["atax2 load tmp"] = columns * p.nx,
        ["atax2 store y"] = columns * p.nx,
    }, function(total)
        local warps = 256 // 32 * ((p.nx + 255) // 256)
        if p.code == "sass" then -- 72 for 16 rounds, half
            return equal(total.atax1, rows * (3 + 1 + 6 + p.ny // 16 * 72)
                + warps * 7, "instructions")
        end
        equal(total.atax1, rows * (3 + 1 + 6 + p.ny * (3 + p.alu))
            + warps * 10, "instructions")
        warps = 256 // 32 * ((p.ny + 255) // 256)
        equal(total.atax2, columns * (3 + 1 + 4 + p.nx * (3 + p.alu))
            + warps * 10, "instructions")
    end
end

-- Rows: 32 lines and, from 1024 columns on, as many pages; columns: one.  Two
-- loads and a store a round, 30 to 33 % of all instructions.
local function figures()
    local rows = kit.profile("ATAX", { size = "T" })
    local function memory(kernel)
        local r = rows[kernel .. " load A"].count
        return 3 * r / (3 * r + rows[kernel .. " alu"].count)
    end
    return {
        { "lines a load of rows", rows["atax1 load A"].lines, 32 },
        { "pages a load of rows", rows["atax1 load A"].pages, 32 },
        { "lines a load of columns", rows["atax2 load A"].lines, 1 },
        { "lines a broadcast", rows["atax2 load tmp"].lines, 1 },
        { "share of memory instructions", memory "atax1", 0.33 },
    }
end

return {
    counts = counts,
    figures = figures,
    others = { { code = "sass" } },
    published = { 16.8, 67, 268 }, -- MB of S, M and L
}

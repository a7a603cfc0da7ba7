-- What ATAX at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

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
        equal(total.atax1, rows * (1 + p.ny * (3 + p.alu))
            + warps * (p.alu + 1), "instructions")
    end
end

return {
    counts = counts,
    published = { 16.8, 67, 268 }, -- MB of S, M and L
}

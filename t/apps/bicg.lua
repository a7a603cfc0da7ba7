-- What BICG at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

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
        equal(total.bicg2, rows * (1 + p.ny * (3 + p.alu))
            + warps * (p.alu + 1), "instructions")
    end
end

return {
    counts = counts,
    published = { 16.8, 67, 268 }, -- MB of S, M and L
}

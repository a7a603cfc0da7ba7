-- What MVT at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

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
        equal(total.mvt1, warps * (1 + p.n * (3 + p.alu))
            + all * (p.alu + 1), "instructions")
        equal(total.mvt2, total.mvt1, "instructions of both")
    end
end

return {
    counts = counts,
    published = { 16.8, 67, 268 }, -- MB of S, M and L
}

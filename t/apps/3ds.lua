-- What 3DS at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps, steps = p.dimx // 32 * p.dimy, p.dimz - 16
    return {
        ["stencil load in"] = warps * (8 + 5 * steps),
        ["stencil load coef"] = warps * 5 * steps,
        ["stencil store out"] = warps * steps,
    }, function(total, barriers)
        equal(barriers.stencil, 2 * warps * steps, "barriers")
        -- 80 a step, the preload and the exit
        equal(total.stencil, warps * (80 * steps + 12 + 8 + 1), "instructions")
    end
end

return {
    counts = counts,
    published = { 33.6, 134, 246 }, -- MB of S, M and L
}

-- What 3DS at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local warps, steps = p.dimx // 32 * p.dimy, p.dimz - 16
    return {
        ["stencil load in"] = warps * (8 + 5 * steps),
        ["stencil load coef"] = warps * 5 * steps,
        ["stencil store out"] = warps * steps,
    }, function(total, barriers)
        equal(barriers.stencil, 2 * warps * steps, "barriers")
        -- a step, the preload and the exit
        equal(total.stencil, warps * (99 * steps + 17 + 7 * 4 + 8 + 44 + 1),
            "instructions")
    end
end

-- A row of a warp is one line.
local function figures()
    local params = { size = "T", dimx = 256, dimz = 18 }
    local rows = kit.profile("3DS", params)
    return {
        { "pages a store", rows["stencil store out"].pages, 1 },
        { "pages a load", rows["stencil load in"].pages, 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 33.6, 134, 246 }, -- MB of S, M and L
}

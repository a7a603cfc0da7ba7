-- What BP at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps = p.n // 2
    return {
        ["forward load input"] = warps, ["forward load w"] = warps,
        ["forward store w"] = warps, ["forward store part"] = warps,
        ["adjust load w"] = warps + 1, ["adjust load delta"] = 2 * warps + 2,
        ["adjust load input"] = 2 * warps,
        ["adjust load oldw"] = 2 * warps + 2,
        ["adjust store w"] = warps + 1, ["adjust store oldw"] = warps + 1,
    }, function(_, barriers)
        equal(barriers.forward, 8 * warps, "barriers")
        equal(barriers.adjust, warps, "barriers")
    end
end

return {
    counts = counts,
    published = { 9.4, 66, 302 }, -- MB of S, M and L
}

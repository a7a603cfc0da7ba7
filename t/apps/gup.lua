-- What GUP at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps = p.threads // 32
    return {
        ["update load start"] = warps,
        ["update atomic Tab"] = 2 * warps * p.updates,
    }, function(total)
        equal(total.update, warps * (21 * p.updates + 8), "instructions")
    end
end

return {
    counts = counts,
    published = { 4.7, 67, 269 }, -- MB of S, M and L
}

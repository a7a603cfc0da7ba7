-- What SCP at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

local function counts(p)
    local warps = 8 * p.v
    return {
        ["scalar_product load A"] = warps * p.l // 256,
        ["scalar_product load B"] = warps * p.l // 256,
        ["scalar_product store C"] = p.v,
    }, function(_, barriers)
        equal(barriers.scalar_product, 10 * warps, "barriers")
    end
end

-- MAFIA's run of it; both loads of a pair in one page of their array.
local function figures()
    local instance = require("heddle.app").get("SCP"):instance("T")
    local p, seen = instance.params, measure.walk(instance)
    local list = seen.accesses["scalar_product load A"]
    return {
        { "instructions a pair of elements",
            seen.lanes.scalar_product / p.v / p.l, 23.3 },
        { "pages a load", measure.spread(list, 4096), 1 },
        { "bytes from one load of a thread to its next",
            list[2].addr[0] - list[1].addr[0], 4096 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 8.4, 67, 268 }, -- MB of S, M and L
}

-- What BP at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

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

-- 32 weights lie in 132 bytes.  Of the 99 instructions of the PTX of forward
-- the 27 of a step run four times; the rows that add are seen by their first
-- warp, in which one row takes part in every step.
local function figures()
    local forward = 0
    require("heddle.survey").each(require("heddle.app").get("BP")
        :workload { size = "T", n = 16 }, function(e)
        if e.kernel == "forward" and e.warp == 0 then
            forward = forward + e.n
        end
    end)
    local r = kit.profile("BP", { size = "T", n = 4096 })["forward load w"]
    return {
        { "lines of weights", r.lines, 2 },
        { "pages of weights", r.pages, 1.03 },
        { "instructions of forward", forward - 3 * 27, 99 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 9.4, 66, 302 }, -- MB of S, M and L
}

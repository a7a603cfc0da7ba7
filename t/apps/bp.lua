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

-- 32 weights lie in 132 bytes.  The 99 instructions of the PTX of forward are
-- no figure: in it the four steps of the sum are one loop.
local function figures()
    local r = kit.profile("BP", { size = "T", n = 4096 })["forward load w"]
    return {
        { "lines of weights", r.lines, 2 },
        { "pages of weights", r.pages, 1.03 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 9.4, 66, 302 }, -- MB of S, M and L
}

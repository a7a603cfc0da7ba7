-- What 3DCONV at size T accesses, in closed form, its published footprints,
-- and the measured mix: 12 of 60 instructions access memory.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local planes = p.ni - 2
    local inner = planes * (p.nj - 2) * (p.nk // 32)
    return {
        ["convolution load A"] = 11 * inner,
        ["convolution store B"] = inner,
    }, function(total)
        kit.equal(total.convolution,
            inner * 46 + planes * p.nj * (p.nk // 32) * (14 + 1),
            "instructions")
    end
end

local function figures()
    local instance = require("heddle.app").get("3DCONV"):instance {
        size = "T", ni = 4, nj = 256, nk = 256 }
    -- the second row of blocks, which has no row of the border
    local rows = kit.measure(instance, { keep = function(_, b)
        return b // 8 == 1
    end })
    local k = rows.convolution
    return {
        { "instructions a warp", k.instructions / k.warps, 60 },
        { "memory instructions a warp", k.memory / k.warps, 12 },
        { "pages of a load", rows["convolution load A"].pages, 1 },
    }
end

return {
    counts = counts,
    published = { 16.8, 64, 134 }, -- MB of S, M and L
    figures = figures,
}

-- What 2DCONV at size T accesses, in closed form, its published footprints,
-- and the measured mix: 9 loads and a store of about 42 instructions.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local inner = (p.n - 2) * (p.n // 32)
    return {
        ["convolution load A"] = 9 * inner,
        ["convolution store B"] = inner,
    }, function(total)
        kit.equal(total.convolution,
            inner * 29 + p.n * (p.n // 32) * (13 + 1), "instructions")
    end
end

local function figures()
    local instance = require("heddle.app").get("2DCONV"):instance {
        size = "T", n = 2048 }
    -- the second row of blocks, which has no row of the border
    local rows = kit.measure(instance, { keep = function(_, b)
        return b // 64 == 1
    end })
    local k = rows.convolution
    return {
        { "instructions a warp", k.instructions / k.warps, 42 },
        { "memory instructions a warp", k.memory / k.warps, 10 },
        { "lines of a load", rows["convolution load A"].lines, 5 / 3 },
        { "pages of a load", rows["convolution load A"].pages, 1 },
    }
end

return {
    counts = counts,
    published = { 33.6, 67, 134 }, -- MB of S, M and L
    figures = figures,
}

-- What COVAR at size T accesses, in closed form, its published footprints, and
-- the lines and pages of the products.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local columns = require "t.apps.columns"

local function counts(p)
    local warps = p.m // 32
    local c = columns.products(p, "covar", 0)
    -- rows of blocks as the source has them: too few
    local reached = math.min(8 * ((p.n + 31) // 32), p.n)
    c["mean load data"] = warps * p.n
    c["mean store mean"] = warps * (p.n + 2)
    c["reduce load data"] = warps * reached
    c["reduce load mean"] = warps * reached
    c["reduce store data"] = warps * reached
    return c, function(total)
        local all = 256 // 32 * ((p.m + 255) // 256)
        equal(total.mean, warps * (p.n * (2 + p.alu) + 2 + 10)
            + all * (p.alu + 1), "instructions of mean")
    end
end

return {
    counts = counts,
    published = { 33.6, 66, 265 }, -- MB of S, M and L
    figures = function() return columns.figures("covar", 3) end,
}

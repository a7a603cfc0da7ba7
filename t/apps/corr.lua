-- What CORR at size T accesses, in closed form, its published footprints, and
-- the lines and pages of the products.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local columns = require "t.apps.columns"

local function counts(p)
    local warps = p.m // 32
    local c = columns.products(p, "corr", 1)
    c["mean load data"] = warps * p.n
    c["mean store mean"] = warps * (p.n + 2)
    c["std load data"] = warps * p.n
    c["std load mean"] = warps * p.n
    c["std store std"] = warps * (p.n + 2)
    for _, b in ipairs { "data", "mean", "std" } do
        c["reduce load " .. b] = warps * p.n
    end
    c["reduce store data"] = 2 * warps * p.n
    return c, function(total)
        local all = 256 // 32 * ((p.m + 255) // 256)
        equal(total.std, warps * (p.n * (3 + p.alu) + 2 + 20)
            + all * (p.alu + 1), "instructions of std")
    end
end

return {
    counts = counts,
    published = { 33.6, 66, 265 }, -- MB of S, M and L
    figures = function() return columns.figures("corr", 4) end,
}

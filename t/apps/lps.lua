-- What LPS at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

-- Warps that load a plane's halo, by the edges of the blocks: above, below,
-- and the sides, where any block has a neighbour.
local function halo_warps(nx, ny)
    local across, down = (nx + 31) // 32, (ny + 3) // 4
    local sides = across > 1 and across * down or 0
    local below = (ny - 1) // 4 * across
    return (down - 1) * across + below + sides
end

local function counts(p)
    local across, down = (p.nx + 31) // 32, (p.ny + 3) // 4
    local warps = across * p.ny
    local loads = (warps + halo_warps(p.nx, p.ny)) * p.nz
    return {
        ["laplace_u1 load u1"] = loads,
        ["laplace_u1 store u2"] = warps * p.nz,
        ["laplace_u2 load u2"] = loads,
        ["laplace_u2 store u1"] = warps * p.nz,
    }, function(_, barriers)
        local want = across * down * 4 * p.nz * 2
        equal(barriers.laplace_u1, want, "barriers")
        equal(barriers.laplace_u2, want, "barriers")
    end
end

-- Reads of an element, halo included; pages of the main loads and the halo's.
local function figures()
    local A = require("heddle.app").get("LPS")
    local seen = measure.walk(A:instance { nz = 2 })
    local list = seen.accesses["laplace_u1 store u2"]
    return {
        { "reads an element of 100 x 100", seen.reads.u1 / (100 * 100 * 2),
            1.57 },
        { "pages a store", measure.spread(list, 4096), 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 8, 67, 268 }, -- MB of S, M and L
}

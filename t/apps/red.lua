-- What RED at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local warps = p.grid * 8
    local rounds = p.n // (512 * p.grid)
    return {
        ["reduce load in"] = p.launches * warps * rounds * 2,
        ["reduce store out"] = p.launches * p.grid,
    }, function(total, barriers)
        equal(barriers.reduce, p.launches * warps * 3, "barriers")
        equal(total.reduce, p.launches * (warps * (11 * rounds + 40)
            + p.grid * 54), "instructions")
    end
end

-- 11 instructions a round (MAFIA's PTX).
local function figures()
    local function run(rounds)
        return kit.threads("RED", { size = "T", n = 512 * rounds, grid = 1,
            launches = 1 })[1]
    end
    return { { "instructions a round", (run(16) - run(8)) / 8 / 256, 11 } }
end

return {
    counts = counts,
    figures = figures,
    published = { 1.05, 34, 67 }, -- MB of S, M and L
}

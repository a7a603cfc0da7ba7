-- What SCAN at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

local function counts(p)
    local warps, all = p.n // 32, 8 * p.grid
    local rounds, windows = p.triples, p.triples * p.n // 1024
    local bs = p.triples * ((p.grid + 31) // 32)
    return {
        ["reduce load in"] = rounds * warps,
        ["reduce store bs"] = rounds * p.grid,
        ["scan_single load bs"] = bs,
        ["scan_single store bs"] = bs,
        ["bottom_scan load bs"] = rounds * all,
        ["bottom_scan load in"] = rounds * warps // 4,
        ["bottom_scan store out"] = rounds * warps // 4,
    }, function(total, barriers)
        equal(barriers.reduce, rounds * 3 * all, "barriers")
        equal(barriers.scan_single, rounds * 4 * 8, "barriers")
        equal(barriers.bottom_scan, 6 * 8 * windows, "barriers")
        -- 55 a window and warp, 95 the raking one, 1 the last thread's, and
        -- each warp's beginning and end
        equal(total.bottom_scan,
            windows * (8 * 55 + 95 + 1) + rounds * all * 48, "instructions")
    end
end

local function figures()
    local seen = measure.walk(require("heddle.app").get("SCAN"):instance "T",
        { max_launches = 3 })
    local out = {}
    for key, lines in pairs { ["reduce load in"] = 1,
        ["bottom_scan load in"] = 4, ["bottom_scan store out"] = 4 } do
        local list = seen.accesses[key]
        out[#out + 1] = { "lines a " .. key, measure.spread(list, 128), lines }
        out[#out + 1] = { "pages a " .. key, measure.spread(list, 4096), 1 }
    end
    return out
end

return {
    counts = counts,
    figures = figures,
    published = { 2.1, 67, 134 }, -- MB of S, M and L
}

-- What HS at size T accesses, in closed form, and its published footprints.
-- Warps and stores by rows and columns: both must meet the chip.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local tiles = (p.n + 11) // 12
    local function one_way(small, from, to, width)
        local hits = 0
        for b = 0, tiles - 1 do
            for first = 0, 15, width do
                local some = false
                for i = math.max(first, from),
                    math.min(first + width - 1, to) do
                    local x = small * b - 2 + i
                    some = some or x >= 0 and x < p.n
                end
                hits = hits + (some and 1 or 0)
            end
        end
        return hits
    end
    local function both(small, from, to)
        return one_way(small, from, to, 16) * one_way(small, from, to, 2)
    end
    local a, b = "hotspot_temp0_2 ", "hotspot_temp1_1 "
    return {
        [a .. "load temp0"] = both(12, 0, 15),
        [a .. "load power"] = both(12, 0, 15),
        [a .. "store temp1"] = both(12, 2, 13),
        [b .. "load temp1"] = both(14, 0, 15),
        [b .. "load power"] = both(14, 0, 15),
        [b .. "store temp0"] = both(14, 1, 14),
    }, function(_, barriers)
        equal(barriers.hotspot_temp0_2, tiles * tiles * 8 * 4, "barriers")
        equal(barriers.hotspot_temp1_1, tiles * tiles * 8 * 2, "barriers")
    end
end

-- A warp is two rows of a tile.  Of the 237 instructions of the PTX 24 are
-- for the next step, or for a launch without one: not those of a single step.
local function figures()
    local function warm(n, steps)
        return kit.profile("HS", { size = "S", n = n, steps = steps })
    end
    local small, large = warm(512, 2), warm(1024, 2)
    local load = small["hotspot_temp0_2 load temp0"]
    -- a warp in the middle of a tile in the middle of the chip
    local program = require("heddle.app").get("HS")
        :workload { size = "T", n = 64, steps = 1 }
    local n = 0
    require("heddle.survey").each(program, function(e)
        if e.block == 7 and e.warp == 3 then n = n + e.n end
    end)
    return {
        { "lanes a load", load.lanes, 31.6 },
        { "lines a load", load.lines, 2.9 },
        { "pages a load, n = 512", load.pages, 1 },
        { "pages a load, n = 1024",
            large["hotspot_temp0_2 load temp0"].pages, 2 },
        { "reads of a cell", load.count * load.lanes / 512 ^ 2,
            (16 / 12) ^ 2 },
        { "instructions of one step", n, 237 - 24 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 12.6, 64, 201, R = 3.15 }, -- MB of S, M and L
}

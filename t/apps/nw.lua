-- What NW at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

local function counts(p)
    local w = p.n // 16
    local tiles = { needle_1 = w * (w + 1) // 2, needle_2 = w * (w - 1) // 2 }
    local want = {}
    for name, n in pairs(tiles) do
        want[name .. " load ref"] = 16 * n
        want[name .. " load mat"] = 3 * n
        want[name .. " store mat"] = 16 * n
    end
    return want, function(total, barriers)
        for name, n in pairs(tiles) do
            equal(barriers[name], (3 + 31) * n, "barriers")
        end
        local sass = p.code == "sass"
        equal(total.needle_1, (sass and 664 or 1180) * tiles.needle_1,
            "instructions")
        equal(total.needle_2, (sass and 660 or 1183) * tiles.needle_2,
            "instructions")
    end
end

-- The west column at 2048: every row in a line and a page of its own.
local function figures()
    local seen = measure.walk(require("heddle.app").get("NW"):instance "S",
        { max_launches = 8 })
    local west = {}
    for i, e in ipairs(seen.accesses["needle_1 load mat"]) do
        if i % 3 == 2 then west[#west + 1] = e end
    end
    local rows = measure.spread(seen.accesses["needle_1 load ref"], 128)
    return {
        { "lines a west column", measure.spread(west, 128), 16 },
        { "pages a west column", measure.spread(west, 4096), 16 },
        { "lines a row of a tile", rows, 1.5 },
    }
end

return {
    counts = counts,
    figures = figures,
    others = { { code = "sass" } },
    published = { 33.6, 66, 134 }, -- MB of S, M and L
}

-- What MD at size T accesses, in closed form, and its footprints.
--
-- n / 32 (1 + 2 * 128) loads and 3 n / 32 stores.
--
-- SPDX-License-Identifier: MIT
local app = require "heddle.app"
local kit = require "t.apps.kit"

local function counts(p)
    local warps = p.n // 32
    return {
        ["md load position"] = 129 * warps,
        ["md load list"] = 128 * warps,
        ["md store force"] = 3 * warps,
    }
end

-- How many neighbours there are in all, and how many of them are mutual.
local function neighbours(order)
    local of, own = {}, {}
    require("heddle.twin").walk(app.get("MD"):instance { size = "T", order = order },
        function(e)
            if e.kind ~= "load" or e.buffer.name ~= "position" then return end
            local warp = e.block * 100 + e.warp
            if not own[warp] then
                own[warp] = {}
                for lane, at in pairs(e.addr) do
                    own[warp][lane] = at
                    of[at] = {}
                end
            else
                for lane, at in pairs(e.addr) do of[own[warp][lane]][at] = true end
            end
        end)
    local n, both = 0, 0
    for a, list in pairs(of) do
        for b in pairs(list) do
            assert(a ~= b, "an atom is its own neighbour")
            n = n + 1
            both = both + (of[b][a] and 1 or 0)
        end
    end
    return n, both
end

local function figures()
    local n, both = neighbours "random"
    local random = kit.profile("MD", { n = 1 << 13 })
    local sorted = kit.profile("MD", { n = 1 << 13, order = "sorted" })
    -- all but the first load of a warp are gathers, 128 of them; that has 4 lines
    local function gather(rows, what)
        return (rows["md load position"][what] * 129 - (what == "lines" and 4 or 1))
            / 128
    end
    return {
        { "neighbours", n, 512 * 128 },
        { "neighbours whose neighbour the atom is", both, 512 * 126 },
        { "pages of a gather, 32 in all", gather(random, "pages"),
            32 * (1 - (1 - 1 / 32) ^ 32) },
        { "lines of a gather, 1,024 in all", gather(random, "lines"),
            1024 * (1 - (1 - 1 / 1024) ^ 32) },
        -- a row of the grid, 32 atoms, moved along itself: 512 bytes
        { "lines of a gather, sorted", gather(sorted, "lines"), 4 },
        { "loads of 8,192 atoms", random["md load position"].count, 129 * 256 },
        { "lines of a store", random["md store force"].lines, 3 },
        { "pages of a store", random["md store force"].pages, 1.06 },
    }
end

return {
    counts = counts,
    others = {
        { order = "sorted" },
    },
    figures = figures,
    published = { 17.7, 141.6, 1132, XL = 4530 }, -- 540 an atom
}

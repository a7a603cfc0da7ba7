-- What PATHFINDER at size T accesses, in closed form, and its published
-- footprints.  A warp acts where one of its threads is in the launch's range
-- and its column in the grid.
--
-- Of the instructions at 20 steps a launch 4.0 % access memory; the literature
-- says 4 to 5 %, which is no single figure to be held to.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

-- Warps of a launch of h steps with a thread from `from` to 255 - `from` whose
-- column exists.
local function warps(p, h, from)
    local n = 0
    for b = 0, (p.cols + 255 - 2 * p.pyramid) // (256 - 2 * p.pyramid) - 1 do
        local first = (256 - 2 * h) * b - p.pyramid
        for w = 0, 7 do
            local lo = math.max(32 * w, from, -first)
            local hi = math.min(32 * w + 31, 255 - from, p.cols - 1 - first)
            n = n + (lo <= hi and 1 or 0)
        end
    end
    return n
end

local function counts(p)
    local want, bar = {}, {}
    local blocks = (p.cols + 255 - 2 * p.pyramid) // (256 - 2 * p.pyramid)
    local src, dst, left = "res0", "res1", p.rows - 1
    local function add(key, n) want[key] = (want[key] or 0) + n end
    while left > 0 do
        local h = math.min(left, p.pyramid)
        local name = "path_" .. src .. "_" .. h
        add(name .. " load " .. src, warps(p, h, 0))
        for s = 0, h - 1 do
            add(name .. " load wall", warps(p, h, s + 1))
        end
        add(name .. " store " .. dst, warps(p, h, h))
        bar[name] = (bar[name] or 0) + blocks * 8 * 2 * h
        src, dst, left = dst, src, left - h
    end
    return want, function(_, barriers)
        for name, n in pairs(bar) do equal(barriers[name], n, name) end
    end
end

local function figures()
    local app = require "heddle.app".get "PATHFINDER"
    local wall
    local w = app:workload { size = "S", cols = 10000, rows = 41 }
    for _, r in ipairs(require "heddle.survey".profile(w)) do
        if r.buffer == "wall" then wall = r end
    end
    return { { "pages of a row", wall.pages, 1 } }
end

return {
    counts = counts,
    published = { 40, 64, 360, XL = 1080 }, -- MB of S, M, L and XL
    figures = figures,
}

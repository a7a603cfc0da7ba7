-- What KMEANS at size T accesses, in closed form, its published footprints,
-- and figures of the original: its rows are 136 bytes apart, so that a load of
-- the inversion touches 32 lines and two pages.
--
-- The share of memory instructions in the assignment is one of six to eight a
-- feature (14 %).
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local warps = (p.np + 31) // 32
    local blocks = (p.np + 255) // 256
    local side = math.ceil(math.sqrt(blocks))
    local each = p.nclusters * p.nf
    return {
        ["invert load F"] = warps * p.nf,
        ["invert store G"] = warps * p.nf,
        ["assign load G"] = p.iterations * warps * each,
        ["assign store member"] = p.iterations * warps,
    }, function(total)
        local all = side * side * 8
        equal(total.invert, all * 6 + warps * p.nf * (2 + p.alu_invert),
            "instructions of invert")
        equal(total.assign, p.iterations * (all * 8 + warps * (1
            + p.nclusters * (6 + p.nf * (1 + p.alu)))),
            "instructions of assign")
    end
end

local function figures()
    local app = require "heddle.app".get "KMEANS"
    local rows = {}
    local w = app:workload { size = "S", np = 8192, iterations = 1 }
    for _, r in ipairs(require "heddle.survey".profile(w, { every = 4 })) do
        rows[r.kernel .. " " .. r.kind .. " " .. (r.buffer or "")] = r
    end
    local from, to = rows["invert load F"], rows["invert store G"]
    local g = rows["assign load G"]
    local alu = rows["assign alu "]
    return {
        { "pages of a row load", from.pages, 2 },
        { "lines of a row load", from.lines, 32 },
        { "pages of an inverted store", to.pages, 1 },
        { "pages of a feature", g.pages, 1 },
        { "share of memory instructions", g.count / (g.count + alu.count),
            0.14 },
    }
end

return {
    counts = counts,
    published = { 7.9, 66, 136, XL = 1100 }, -- MB of S, M, L and XL
    figures = figures,
}

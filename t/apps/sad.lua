-- What SAD at size T accesses, in closed form, and its published footprints
-- and figures.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

-- Steps of both warps of a block in which a lane's positions reach the end of a
-- row.
local function wraps()
    local some = {}
    for t = 0, 60 do
        local column = 18 * t % 33
        for step = 1, t < 60 and 6 or 3 do
            column = column + 3
            if column >= 33 then
                column = column - 33
                some[t // 32 * 6 + step] = true
            end
        end
    end
    local n = 0
    for _ in pairs(some) do n = n + 1 end
    return n
end

local function counts(p)
    local blocks = (p.width // 4) * (p.height // 4)
    local squares = (p.width // 16) * (p.height // 16)
    local rounds = 18 -- 545 words by 32 lanes
    return {
        ["blocks load frame"] = blocks,
        ["blocks load ref"] = 2 * 144 * blocks,
        ["blocks store sad"] = 9 * blocks,
        ["pairs load sad"] = 4 * 4 * rounds * squares,
        ["pairs store sad"] = 4 * 5 * rounds * squares,
        ["quads load sad"] = 4 * rounds * squares,
        ["quads store sad"] = 5 * rounds * squares,
    }, function(total, barriers)
        equal(barriers.blocks, 2 * 2 * blocks, "barriers")
        -- a row of six pixels has 105 instructions, three positions 450, and
        -- two more where a lane of the warp goes on to the next row
        equal(total.blocks, blocks * (2 * (9 + 69 + 4 + 2 + 1) + 12 * 450
            + 2 * wraps() + 49 + 2 * 5 + 52 + 9 * 9), "instructions")
        equal(total.pairs, 4 * squares * (98 + rounds * 22 + 1), "of pairs")
        equal(total.quads, squares * (50 + rounds * 22 + 1), "of quads")
    end
end

-- All pages of the texture at 176 x 144.  Of its pages a fetch, 2.0 is
-- published; the published addresses give 2.27: the 32 lanes of the first warp
-- begin 16 rows of 352 bytes apart, 1 + 5692 / 4096 pages, those of the other
-- 1 + 5298 / 4096, a little less at the border.
local function figures()
    local survey = require "heddle.survey"
    local w = require("heddle.app").get("SAD"):workload { size = "S" }
    local ref, seen, pages = survey.buffers(w)[2], {}, 0
    survey.each(w, function(e)
        if e.kernel ~= "blocks" then return true end
        if e.kind ~= "load" then return end
        for _, at in pairs(e.addr) do
            local page = at >> 12
            if at >= ref.base and at < ref.base + ref.bytes
                and not seen[page] then
                seen[page], pages = true, pages + 1
            end
        end
    end, { every = 37 })
    local row = {}
    for _, r in ipairs(survey.profile(w, { every = 7 })) do
        row[r.kernel .. " " .. r.kind .. " " .. (r.buffer or "")] = r
    end
    return {
        { "pages of the texture", pages, 13 },
        { "pages of a texture fetch, by hand", row["blocks load ref"].pages,
            2.3 },
        { "pages of a load of sums", row["pairs load sad"].pages, 1 },
    }
end

return {
    counts = counts,
    less = { width = 32, height = 16 },
    published = { 9, 36, 142 }, -- MB of S, M and L
    figures = figures,
}

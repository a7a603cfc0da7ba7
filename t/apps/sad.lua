-- What SAD at size T accesses, in closed form, and its published footprints
-- and figures.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

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
        -- 6 instructions beside a fetch, and little else
        local fetch = total.blocks / (2 * 144 * blocks)
        assert(fetch > 7 and fetch < 8, "instructions a fetch: " .. fetch)
    end
end

-- All pages of the texture at 176 x 144.  Of its pages a fetch, 2.0 is
-- published; the published addresses give 2.27: the 32 lanes of the first warp
-- begin 16 rows of 352 bytes apart, 1 + 5692 / 4096 pages, those of the other
-- 1 + 5298 / 4096, a little less at the border.
local function figures()
    local walk = require "heddle.walk"
    local w = require("heddle.app").get("SAD"):workload { size = "S" }
    local ref, seen, pages = walk.buffers(w)[2], {}, 0
    walk.each(w, function(e)
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
    for _, r in ipairs(walk.profile(w, { every = 7 })) do
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
    published = { 9, 36, 142 }, -- MB of S, M and L
    figures = figures,
}

-- What HISTO at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

local function counts(p)
    local blocks = p.grid
    return {
        ["histogram load Data"] = p.repeats * p.words // 32,
        -- bins 192 to 255 are the second round of the first two warps
        ["histogram store Part"] = p.repeats * blocks * (6 + 2),
        ["merge load Part"] = p.repeats * 256 * ((blocks + 31) // 32),
        ["merge store Hist"] = p.repeats * 256,
    }, function(_, barriers)
        equal(barriers.histogram, p.repeats * blocks * 6 * 2, "barriers")
        equal(barriers.merge, p.repeats * 256 * 8 * 8, "barriers")
    end
end

-- 53 instructions a word: MAFIA's run of it, read off its L2 accesses; the
-- loop alone is counted here.  The merge, over page-aligned rows.
local function figures()
    local A = require("heddle.app").get("HISTO")
    local function loop(words)
        local i = A:instance { size = "T", words = words }
        return measure.walk(i, { max_launches = 1 }).lanes.histogram
    end
    local threads = 192 * A.sizes.T.grid
    local seen = measure.walk(A:instance "T",
        { keep = function(launch, block) return launch == 1 or block < 8 end })
    local merge = measure.full(seen.accesses["merge load Part"])
    return {
        { "instructions a word", (loop(2 * threads) - loop(threads)) / threads,
            53 },
        { "lines a full warp's merge load", measure.spread(merge, 128), 32 },
        { "pages a full warp's merge load", measure.spread(merge, 4096), 8 },
        { "pages a load of Data",
            measure.spread(seen.accesses["histogram load Data"], 4096), 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 8.5, 67, 268 }, -- MB of S, M and L
}

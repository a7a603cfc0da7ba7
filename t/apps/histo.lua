-- What HISTO at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"
local twin = require "heddle.twin"

-- Passes more than one that the warps of `words` words make over their bins.
local function more(again, words)
    local sum = 0
    for first = 0, words - 1, 32 do
        for shift = 0, 6, 2 do
            local most = 0
            for word = first, first + 31 do
                most = math.max(most, again(word % 8192) >> shift & 3)
            end
            sum = sum + most
        end
    end
    return sum
end

local function counts(p, instance)
    local blocks = p.grid
    return {
        ["histogram load Data"] = p.repeats * p.words // 32,
        -- bins 192 to 255 are the second round of the first two warps
        ["histogram store Part"] = p.repeats * blocks * (6 + 2),
        ["merge load Part"] = p.repeats * 256 * ((blocks + 31) // 32),
        ["merge store Hist"] = p.repeats * 256,
    }, function(total, barriers)
        local passes = more(instance.b.Again.data, p.words)
        equal(total.histogram, p.repeats * (p.words // 32 * 55 + 8 * passes
            + blocks * (6 * 64 + 8 * 27)), "instructions")
        equal(barriers.histogram, p.repeats * blocks * 6 * 2, "barriers")
        equal(barriers.merge, p.repeats * 256 * 8 * 8, "barriers")
    end
end

-- 85 to 87 instructions a word and warp, 0.94 second passes a byte of it, 0.06
-- in a lane: the PTX run over random bytes; the loop alone is counted here.  The
-- merge: 32 rows of 1 KB, which begin 1 KB into a page, behind Hist.
local function figures()
    local A = require("heddle.app").get("HISTO")
    local function loop(words)
        local i = A:instance { size = "T", words = words }
        local n = 0
        twin.walk(i, function(e)
            n = n + (e.kernel == "histogram" and e.n or 0)
        end, { max_launches = 1 })
        return n
    end
    local again, lanes = A:instance("T").b.Again.data, 0
    for word = 0, 8191 do
        for shift = 0, 6, 2 do lanes = lanes + (again(word) >> shift & 3) end
    end
    local threads = 192 * A.sizes.T.grid
    local seen = measure.walk(A:instance "T",
        { keep = function(launch, block) return launch == 1 or block < 8 end })
    local merge = measure.full(seen.accesses["merge load Part"])
    return {
        { "instructions a word and warp",
            (loop(2 * threads) - loop(threads)) / (threads / 32), 86 },
        { "second passes a byte", more(again, 8192) / 256 / 4, 0.94 },
        { "second passes a byte of a lane", lanes / 8192 / 4, 0.06 },
        { "lines a full warp's merge load", measure.spread(merge, 128), 32 },
        { "pages a full warp's merge load", measure.spread(merge, 4096), 9 },
        { "pages a load of Data",
            measure.spread(seen.accesses["histogram load Data"], 4096), 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 8.5, 67, 268 }, -- MB of S, M and L
}

-- What MM at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local columns = p.columns > 0 and p.columns or p.n // 16
    local warps, rounds = p.m // 128 * columns * 4, p.k // 8
    return {
        ["sgemm load A"] = 8 * warps * rounds,
        ["sgemm load B"] = warps * rounds,
        ["sgemm load C"] = 16 * warps, ["sgemm store C"] = 16 * warps,
    }, function(total, barriers)
        equal(barriers.sgemm, 2 * warps * rounds, "barriers")
        -- 71 an element of A with its load; 19 more a round
        -- compiled for sm_75: 190 a round, a third
        equal(total.sgemm, warps * (p.code == "sass"
            and rounds * 190 + 31 + 16 * 5 + 1
            or rounds * (8 * 71 + 19) + 73 + 12 + 15 * 7 + 16 * 3 + 1),
            "instructions")
    end
end

-- Two rows of B lie in two pages; a column of A is one line a warp.
local function figures()
    local rows = kit.profile("MM", { size = "S", m = 128, k = 16 })
    local cut = kit.profile("MM", { size = "S", m = 128, k = 16, columns = 11 })
    return {
        { "lines of A", rows["sgemm load A"].lines, 1 },
        { "pages of B", rows["sgemm load B"].pages, 2 },
        { "pages of C", rows["sgemm load C"].pages, 1 },
        -- the epilogue keeps its share where only some blocks run
        { "loads of A for one of C, 11 of 66 columns of blocks",
            cut["sgemm load A"].count / cut["sgemm load C"].count,
            rows["sgemm load A"].count / rows["sgemm load C"].count },
        { "blocks for one that runs", rows["sgemm load C"].count
            / cut["sgemm load C"].count, 6 },
    }
end

return {
    counts = counts,
    figures = figures,
    others = { { code = "sass" }, { columns = 1 } },
    published = { 12.6, 50, 134 }, -- MB of S, M and L
}

-- What CONS at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local across, down = p.width // 64, p.height // 32
    local rows = across * (p.height // 4) * 2
    local columns = p.width // 16 * down * 4
    return {
        ["rows load In"] = rows * 6 - 2 * rows // across,
        ["rows store Buf"] = 4 * rows,
        ["columns load Buf"] = columns * 6 - 2 * columns // down,
        ["columns store Out"] = 4 * columns,
    }, function(total, barriers)
        if p.code == "sass" then
            -- 172 and 175 with all loads, four results
            equal(total.rows, rows * 172 - 2 * rows // across,
                "instructions of rows")
            equal(total.columns, columns * 175 - 2 * columns // down,
                "instructions of columns")
        end
        equal(barriers.rows, rows, "barriers")
        equal(barriers.columns, columns, "barriers")
    end
end

-- About 70 instructions a result; two rows a warp.
local function figures()
    local params = { size = "T", height = 128 }
    local rows, all = kit.profile("CONS", params), kit.threads("CONS", params)
    return {
        { "instructions a result", all[1] / (2 * 1024 * 128), 70 },
        { "pages of rows", rows["rows load In"].pages, 2 },
        { "pages of columns", rows["columns load Buf"].pages, 2 },
    }
end

return {
    counts = counts,
    figures = figures,
    others = { { code = "sass" } },
    published = { 56.6, 113, 302 }, -- MB of S, M and L
}

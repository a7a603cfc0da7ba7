-- What GRM at size T accesses, in closed form, its published footprints, and
-- the pages of its column walks.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local warps, on = p.n // 32, 0
    for k = 0, p.n - 1 do
        for w = 0, warps - 1 do on = on + (32 * w + 31 > k and 1 or 0) end
    end
    return {
        ["norm load A"] = p.n * p.n,
        ["norm store R"] = p.n,
        ["scale load A"] = p.n * warps,
        ["scale load R"] = p.n * warps,
        ["scale store Q"] = p.n * warps,
        ["project load Q"] = 2 * on * p.n,
        ["project load A"] = 2 * on * p.n,
        ["project load R"] = on * p.n,
        ["project store R"] = on * (p.n + 1),
        ["project store A"] = on * p.n,
    }, function(total)
        kit.equal(total.norm, p.n * (p.n * (1 + p.alu) + 10 + 1
            + 8 * (p.alu + 1)), "instructions of norm")
        local all = p.n * 8 * ((p.n + 255) // 256)
        kit.equal(total.project, on * (1 + p.n * (7 + 2 * p.alu))
            + all * (p.alu + 1), "instructions of project")
    end
end

local function figures()
    local a = require("heddle.app").get "GRM"
    local rows = kit.measure(a:instance { size = "T", n = 2048, steps = 1 },
        { max_launches = 2 })
    return {
        { "lanes of norm", rows["norm load A"].lanes, 1 },
        { "loads of norm", rows["norm load A"].count, 2048 },
        { "pages of a load of scale", rows["scale load A"].pages, 32 },
        { "pages of a store of scale", rows["scale store Q"].pages, 32 },
    }
end

return {
    counts = counts,
    published = { 12.6, 50, 201 }, -- MB of S, M and L
    figures = figures,
}

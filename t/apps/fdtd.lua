-- What FDTD at size T accesses, in closed form, its published footprints and
-- the pages of ex, whose rows drift.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local columns = p.ny // 32
    local top = p.tmax * columns
    local all = top * p.nx
    return {
        ["step1 load fict"] = top,
        ["step1 load ey"] = all - top,
        ["step1 load hz"] = 2 * (all - top),
        ["step1 store ey"] = all,
        ["step2 load ex"] = all,
        ["step2 load hz"] = 2 * all,
        ["step2 store ex"] = all,
        ["step3 load hz"] = all,
        ["step3 load ex"] = 2 * all,
        ["step3 load ey"] = 2 * all,
        ["step3 store hz"] = all,
    }, function(total)
        kit.equal(total.step1, all * 18 + (all - top) * 18 + top * 9,
            "instructions of step 1")
        kit.equal(total.step2, all * (15 + 14 + 4 + 1), "of step 2")
        kit.equal(total.step3, all * (15 + 18 + 6 + 1), "of step 3")
    end
end

local function figures()
    local rows = kit.measure(require("heddle.app").get("FDTD"):instance {
        size = "T", nx = 64, ny = 2048 }, { keep = function(launch, b)
        return launch == 2 and b // 64 == 3
    end })
    return { { "pages of ex", rows["step2 load ex"].pages, 1.03 } }
end

return {
    counts = counts,
    published = { 12.6, 50, 201 }, -- MB of S, M and L
    figures = figures,
}

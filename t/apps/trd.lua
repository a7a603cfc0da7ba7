-- What TRD at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"
local equal = kit.equal

local function counts(p)
    local want = {}
    for set, times in pairs { [0] = 2, [1] = 1 } do
        for name, kind in pairs { A = "load", B = "load", C = "store" } do
            want["triad" .. set .. " " .. kind .. " " .. name .. set] =
                times * p.n // 32
        end
    end
    return want, function(total)
        equal(total.triad0, 10 * (2 * p.n // 32), "instructions")
    end
end

-- About ten instructions an element.
local function figures()
    local elements = 3 * 4096 -- chunks of all three sizes
    return { { "instructions an element",
        kit.threads("TRD", { size = "T" })[1] / elements, 10 } }
end

return {
    counts = counts,
    figures = figures,
    published = { 100.7, 101, 201 }, -- MB of S, M and L
}

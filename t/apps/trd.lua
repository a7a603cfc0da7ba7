-- What TRD at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal

local function counts(p)
    local want = {}
    for set, times in pairs { [0] = 2, [1] = 1 } do
        for name, kind in pairs { A = "load", B = "load", C = "store" } do
            want["triad" .. set .. " " .. kind .. " " .. name .. set] =
                times * p.n // 32
        end
    end
    return want, function(total)
        equal(total.triad0, 19 * (2 * p.n // 32), "instructions")
    end
end

return {
    counts = counts,
    published = { 100.7, 101, 201 }, -- MB of S, M and L
}

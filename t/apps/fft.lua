-- What FFT at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

local function counts(p)
    -- eight passes, four each way
    local warps = 4 * p.batch * p.n // 64
    return {
        ["fft_X load X"] = 2 * warps, ["fft_X store Y"] = 2 * warps,
        ["fft_Y load Y"] = 2 * warps, ["fft_Y store X"] = 2 * warps,
    }, function(total)
        equal(total.fft_X, 268 * warps, "instructions")
        equal(total.fft_Y, 268 * warps, "instructions")
    end
end

-- Launches 1 to 4 are Ns = 1 to 8, launches 5 to 8 Ns = 16 to 128.
local function figures()
    local seen = measure.walk(require("heddle.app").get("FFT"):instance "T")
    local near, far, all = {}, {}, {}
    for _, key in ipairs { "fft_X store Y", "fft_Y store X" } do
        for _, e in ipairs(seen.accesses[key]) do
            local list = e.launch <= 4 and near or far
            list[#list + 1], all[#all + 1] = e, e
        end
    end
    return {
        { "lines a load", measure.spread(seen.accesses["fft_X load X"], 128),
            2 },
        { "lines a store, Ns up to 8", measure.spread(near, 128), 4 },
        { "lines a store, Ns from 16", measure.spread(far, 128), 2 },
        { "pages a store", measure.spread(all, 4096), 1 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 4.2, 67, 268 }, -- MB of S, M and L
}

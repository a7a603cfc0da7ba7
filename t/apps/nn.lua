-- What NN at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local kit = require "t.apps.kit"

local function counts(p)
    local i, o = p.images, p.outputs
    return {
        ["layer1 load L1n"] = 6 * i * 6 * 25,
        ["layer1 load L1w"] = 6 * i * 6 * 26,
        ["layer1 store L2n"] = 6 * i * 6,
        ["layer2 load L2n"] = 50 * i * 150,
        ["layer2 load L2w"] = 50 * i * 151,
        ["layer2 store L3n"] = 50 * i,
        ["layer3 load L3n"] = o * i * 1250,
        ["layer3 load L3w"] = o * i * 1251,
        ["layer3 store L4n"] = o * i,
        ["layer4 load L4n"] = 10 * i * o,
        ["layer4 load L4w"] = 10 * i * (o + 1),
        ["layer4 store L5n"] = 10 * i,
    }
end

-- 8.3 instructions a product, over all four layers (MAFIA's run).
local function figures()
    local products = 6 * 169 * 25 + 50 * 25 * 150 + 100 * 1250 + 10 * 100
    local params = { size = "S", images = 1 }
    local rows = kit.profile("NN", params)
    return {
        { "instructions a product", kit.threads("NN", params)[1] / products,
            8.3 },
        { "pages of the first layer", rows["layer1 load L1n"].pages, 1 },
        { "lanes of the second layer", rows["layer2 load L2n"].lanes, 25 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 0.9, 27, 209 }, -- MB of S, M and L
}

-- What NN at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT

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

return {
    counts = counts,
    published = { 0.9, 27, 209 }, -- MB of S, M and L
}

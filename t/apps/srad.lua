-- What SRAD at size T accesses, in closed form, and its published footprints.
--
-- SPDX-License-Identifier: MIT
local equal = require "t.apps.kit".equal
local measure = require "t.apps.measure"

-- Loads, stores and barriers of all levels of one sum over n elements: a warp
-- loads 32 elements, and one lane what the last block's tree leaves.
local function sum_of(n)
    local loads, stores, barriers = 0, 0, 0
    repeat
        local blocks = (n + 511) // 512
        local left, tree, levels = n - 512 * (blocks - 1), 1, 0
        while 2 * tree <= left do tree, levels = 2 * tree, levels + 1 end
        loads = loads + (n + 31) // 32
        if left > 1 then
            loads, stores = loads + left - tree, stores + 1
        end
        stores = stores + blocks - 1
        barriers = barriers + 16 * (9 * (blocks - 1) + levels)
        n = blocks
    until blocks == 1
    return loads, stores, barriers
end

local function counts(p)
    local n = p.rows * p.cols
    local warps = (n + 31) // 32
    local all = p.iterations * warps
    local loads, stores, waits = sum_of(n)
    local want = {
        ["extract load I"] = warps, ["extract store I"] = warps,
        ["compress load I"] = warps, ["compress store I"] = warps,
        ["prepare load I"] = 2 * all,
        ["prepare store sums"] = all, ["prepare store sums2"] = all,
        ["srad load I"] = 5 * all,
        ["srad2 load c"] = 3 * all,
        ["srad2 load iS"] = all, ["srad2 load jE"] = all,
        ["srad2 load I"] = all, ["srad2 store I"] = all,
        ["srad store c"] = all,
    }
    for _, name in ipairs { "sums", "sums2" } do
        want["reduce load " .. name] = p.iterations * loads
        want["reduce store " .. name] = p.iterations * stores
    end
    for _, name in ipairs { "iN", "iS", "jW", "jE" } do
        want["srad load " .. name] = all
    end
    for _, name in ipairs { "dN", "dS", "dW", "dE" } do
        want["srad store " .. name], want["srad2 load " .. name] = all, all
    end
    return want, function(_, barriers)
        equal(barriers.reduce, p.iterations * waits, "barriers")
    end
end

-- Instructions of MAFIA's PTX, of which each thread leaves out one branch;
-- pages of the second sum's loads; the neighbours at the image's corners.
local function figures()
    local A = require("heddle.app").get("SRAD")
    local i = A:instance { rows = 512, cols = 32, iterations = 1 }
    local n = i.params.rows * i.params.cols
    local seen = measure.walk(i)
    local second = {}
    for _, e in ipairs(measure.full(seen.accesses["reduce load sums"])) do
        if e.launch == 4 then second[#second + 1] = e end
    end
    return {
        { "instructions of srad", seen.lanes.srad / n, 127 },
        { "instructions of srad2", seen.lanes.srad2 / n, 73 },
        { "pages of the second sum's loads", measure.spread(second, 4096),
            16 },
        { "iN of the first row", i.b.iN.data(0), 0 },
        { "jE of the last column", i.b.jE.data(31), 31 },
    }
end

return {
    counts = counts,
    figures = figures,
    published = { 7.4, 67, 302 }, -- MB of S, M and L
}

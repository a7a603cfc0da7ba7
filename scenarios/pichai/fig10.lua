--- pichai/fig10.lua - walks that are taken together.
--
-- Pichai et al. (ASPLOS 2014), figure 10: hits under a miss, overlap, and a walker that
-- takes the walks of a core level by level, with a TLB of 128 entries and 4 ports, come
-- near an ideal one of 512 entries and 32 ports at the same access time; with loose
-- round robin.  What the 512 entries have of the rest the paper does not say: the rules
-- of the naive TLB in one column, those of overlap in the other, which is compared.
--
-- An idle cycle is one of a core in which it issues nothing: a warp of 32 threads takes
-- 8 lanes for 4 cycles.
--
--     heddle run scenarios/pichai/fig10.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"
local counter = require("heddle").report.counter

local x = suite.open("fig10", "Walks that are taken together")
local T = suite.tlb
local designs = {}
for i, tlb in ipairs { T.ideal, T.naive, T.overlap, T.augmented,
    suite.sized(T.naive, 512, 32), suite.sized(T.overlap, 512, 32) } do
    designs[i] = suite.both(suite.LRR, tlb)
end
local ideal, naive, overlap, augmented, _, large = table.unpack(designs)
suite.figure(x, designs, function(page, all)
    suite.compare(page, { "augmented below 512 entries and 32 ports, mean", from = -1,
        to = 1 }, all, augmented, large)
    local most = -math.huge
    for _, row in ipairs(all) do
        most = math.max(most, (suite.below({ row }, augmented, ideal)))
    end
    page:quantity { "augmented below no TLB, most of a program", to = 10, unit = "%",
        kind = "loss", heddle = most }
    suite.compare(page, { "augmented below no TLB, mean" }, all, augmented, ideal)

    --- Shares of a result, in percent: of references that were merged, of walk reads
    -- that hit in the L2 cache, of cycles without an issue.
    local function merged(r)
        local n = counter(r, "walk.merged")
        return 100 * n / math.max(1, n + counter(r, "walk.references"))
    end
    local function hits(r)
        local n, of = 0, 0
        for level = 1, 4 do
            n = n + counter(r, ("l2cache.walk%d_hits"):format(level))
            of = of + counter(r, ("l2cache.walk%d_lookups"):format(level))
        end
        return 100 * n / math.max(1, of)
    end
    local function idle(r)
        return 100 * (1 - counter(r, "core.instructions") * 4 / r.cycles
            / suite.cores(r))
    end
    local function of(design, share)
        return suite.mean(all, function(row) return share(row[design.name]) end)
    end

    suite.claim(page, { "walk references removed, mean", from = 10, to = 20,
        unit = "%", }, of(augmented, merged))
    suite.claim(page, { "walk reads that hit the L2, added by batches, mean", from = 5,
        to = 8, unit = "points", }, of(augmented, hits) - of(overlap, hits))
    for _, c in ipairs { { overlap, 5, 15 }, { augmented, 4, 6 } } do
        suite.claim(page, { "idle cycles, " .. c[1].name .. ", mean", from = c[2],
            to = c[3], unit = "%", }, of(c[1], idle))
    end
    page:quantity { "idle cycles, no TLB, mean", unit = "%", heddle = (of(ideal, idle)) }
    suite.order(page, all, "what is added", { augmented.name, overlap.name, naive.name })
    local rows = { { "program", "references removed %", "walk hits %", "in batches",
        "idle %", "in batches", "no TLB" } }
    for i, row in ipairs(all) do
        local a, b = row[overlap.name], row[augmented.name]
        rows[i + 1] = { row.program }
        for k, v in ipairs { merged(b), hits(a), hits(b), idle(a), idle(b),
            idle(row[ideal.name]) } do
            rows[i + 1][k + 1] = ("%.1f"):format(v)
        end
    end
    page:table("Walks by overlap, and in batches", rows)
    suite.show(page, all, designs, ideal, "Performance over no TLB")
end)
x:close()

--- mask/fig07.lua - what the other application does to L2 TLB misses.
--
-- MASK (ASPLOS 2018), figure 7: the L2 TLB miss rate of each application of
-- some pairs, alone and when both run: it rises.  Which pairs, and by how much,
-- is not known; 3DS_HISTO, CONS_LPS, MUM_HISTO and RED_RAY are recalled, and
-- scale=full has all 35.  Only the order is compared.  A look-up that joins a
-- walk under way is a miss.
--
--     heddle run scenarios/mask/fig07.lua [scale=full]
--
-- SPDX-License-Identifier: MIT
local suite = require "common"

local x = suite.open("fig07", "figure 7", "L2 TLB miss rate, alone and shared")
local results, o = suite.measure(x, { names = { "SharedTLB" },
    pairs = not x.full and suite.named { "3DS_HISTO", "CONS_LPS", "MUM_HISTO",
        "RED_RAY" } or nil })
x:say "The pairs are recalled, and only the order is compared"
local groups, alone, shared, rises = {}, {}, {}, 0
for i, r in ipairs(results) do
    for a, name in ipairs(o.pairs[i].apps) do
        local g = #groups + 1
        groups[g] = name .. " in " .. o.pairs[i].name
        alone[g] = 100 * (suite.metric(r.SharedTLB.alone[a],
            "l2tlb_miss_rate") or 0)
        shared[g] = 100 * (suite.metric(r.SharedTLB.run, "l2tlb_miss_rate",
            a - 1) or 0)
        rises = rises + (shared[g] >= alone[g] - 0.5 and 1 or 0)
    end
end
x:quantity { "miss rate alone", unit = "%", heddle = suite.mean(alone) }
x:quantity { "miss rate shared", unit = "%", heddle = suite.mean(shared) }
x:order { "mean miss rate", paper = { "shared", "alone" },
    heddle = { alone = suite.mean(alone), shared = suite.mean(shared) } }
x:quantity { "applications whose rate does not fall (by 0.5 points)",
    unit = "%", heddle = 100 * rises / #groups }
suite.grouped(x, { title = "L2 TLB miss rate", unit = "%",
    head = "application", format = "%.1f" }, groups,
    { { name = "alone", values = alone },
        { name = "shared", values = shared } })
x:close()

-- lru_migrated.lua - evicts the unit into which a page came longest ago.
--
-- The default, written out to start from: NVIDIA's driver does so, and ETC's
-- baseline.  The units are offered in that order; of equals the first goes.
--
--     heddle.policy.use(sim, "policies/lru_migrated.lua")
--
-- SPDX-License-Identifier: MIT
return {
    name = "lru_migrated",
    summary = "evicts the unit into which a page came longest ago",
    source = "NVIDIA's UVM driver; ETC (ASPLOS 2019): age-based LRU",

    evict_victim = function(q)
        local best = 1
        for i = 2, q.n do
            if q.migrated[i] > q.migrated[best] then
                best = i
            end
        end
        return best
    end,
}

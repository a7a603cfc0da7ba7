-- lfu.lua - evicts the unit that the fewest walks have found a page of.
--
-- Counted since the unit has had pages; of equals the one goes into which a
-- page migrated first.
--
-- SPDX-License-Identifier: MIT
return {
    name = "lfu",
    summary = "evicts the unit of which the fewest walks found a page",
    source = "textbook; UVMSmart has one by accesses",

    evict_victim = function(q)
        local best = 1
        for i = 2, q.n do
            if q.accesses[i] < q.accesses[best] then
                best = i
            end
        end
        return best
    end,
}

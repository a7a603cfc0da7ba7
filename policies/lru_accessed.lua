-- lru_accessed.lua - evicts the unit that a walk found a page of longest ago.
--
-- That is what accessed bits can know: accesses that hit in a TLB set none.  A
-- page that migrates counts as found.
--
-- SPDX-License-Identifier: MIT
return {
    name = "lru_accessed",
    summary = "evicts the unit of which a walk found a page longest ago",
    source = "textbook",

    evict_victim = function(q)
        local best = 1
        for i = 2, q.n do
            if q.accessed[i] > q.accessed[best] then
                best = i
            end
        end
        return best
    end,
}

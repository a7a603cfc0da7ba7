-- largest.lua - evicts from the application with the most memory the unit that
-- the fewest walks have found a page of: an example to start from.
--
-- SPDX-License-Identifier: MIT
return {
    name = "largest",
    summary = "evicts the least used unit of the application with most memory",
    source = "this project",

    evict_victim = function(q)
        local of, best = {}, nil
        for i = 1, q.n do
            of[q.app[i]] = (of[q.app[i]] or 0) + q.pages[i]
        end
        for i = 1, q.n do
            local more = best and of[q.app[i]] - of[q.app[best]] or 1
            if more > 0 or more == 0 and q.accesses[i] < q.accesses[best] then
                best = i
            end
        end
        return best
    end,
}

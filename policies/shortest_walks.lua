-- shortest_walks.lua - the walks of the instruction that has the fewest of them
-- waiting come first, and those of one instruction one after the other.
--
-- A warp continues when the last of its instruction's pages is translated.  First
-- come, first served mixes the walks of many instructions, and all end late.  Here
-- a walker takes a walk of the instruction that it took the last one from, if one
-- waits, and else of the one that has the fewest waiting; but one that has waited
-- for `aging` cycles comes first.
--
-- SPDX-License-Identifier: MIT
return {
    name = "shortest_walks",
    summary = "walks of the instruction with the fewest first, and together",
    source = "Shin et al.: Scheduling Page Table Walks for Irregular GPU "
        .. "Applications, ISCA 2018",

    params = {
        aging = { default = 20000, min = 0, max = 1000000000, unit = "cycles",
                  meaning = "a walk that has waited longer comes first",
                  source = "guess: the paper's threshold counts walks, 2 million" },
        together = { default = "yes", choices = { "yes", "no" },
                     meaning = "walks of one instruction follow each other",
                     source = "the paper: batching" },
    },

    state = { core = -1, warp = -1, pc = -1 },

    walk_pick = function(q, s, p)
        local best = 1 -- (the oldest first)
        if q.age[1] <= p.aging then
            for i = 1, q.n do
                if p.together == "yes" and q.core[i] == s.core and q.warp[i] == s.warp
                    and q.pc[i] == s.pc then
                    best = i
                    break
                end
                if q.left[i] < q.left[best] then best = i end
            end
        end
        s.core, s.warp, s.pc = q.core[best], q.warp[best], q.pc[best]
        return best
    end,
}

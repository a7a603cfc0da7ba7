-- victim_tlb.lua - what leaves a TLB goes to the buffer next to it, from where a
-- later miss gets it back sooner than from below.
--
-- The built-in "victim_tlb" is the same in C.
--
-- SPDX-License-Identifier: MIT
return {
    name = "victim_tlb",
    summary = "entries evicted from a TLB go to the buffer next to it",
    source = "victim caches: Jouppi, ISCA 1990",

    params = {
        level = { default = 1, min = 1, max = 2, unit = "",
                  meaning = "1: next to L1 TLBs, which needs l1side.entries; 2: "
                      .. "next to the L2 TLB, which needs bypass.entries",
                  source = "Jouppi: next to the first level" },
    },

    init = function(_, p)
        local name = p.level == 1 and "l1side.entries" or "bypass.entries"
        if setting(name) == 0 then
            error(name .. " is 0: there is no buffer for victims")
        end
    end,

    tlb_keep = function(q, _, p) return q.level == p.level end,
}

-- dead_entry.lua - entries of the L2 TLB that are expected to be dead go first.
--
-- An entry that leaves without a hit was dead when it came.  A counter of three
-- bits for each program counter says how often in a row that happened to entries
-- which its instruction brought; from dead_at on, the next is the first to go, or
-- does not enter.
--
-- The built-in "dead_entry" is the same in C.
--
-- SPDX-License-Identifier: MIT
return {
    name = "dead_entry",
    summary = "entries of instructions whose pages are not used again are evicted "
        .. "first",
    source = "dead page prediction: Mazumdar et al., HPCA 2021",

    params = {
        counters = { default = 1024, min = 1, max = 65536, unit = "counters",
                     meaning = "of three bits, by program counter",
                     source = "Mazumdar et al., HPCA 2021: 1024" },
        dead_at = { default = 6, min = 1, max = 7, unit = "entries",
                    meaning = "this many in a row evicted unused: the next is "
                        .. "expected to be unused, too",
                    source = "guess: near the end of three bits" },
        how = { default = "last", choices = { "last", "skip" },
                meaning = "what is done with it: it becomes the next victim; or it "
                    .. "does not enter, and then a use that it would have had is "
                    .. "not seen",
                source = "guess; Mazumdar et al. skip, and keep what they skip to "
                    .. "learn" },
    },

    counters = {
        dead = { unit = "entries", meaning = "left the L2 TLB without a hit" },
    },

    state = { count = {}, hit = {} },

    init = function(s)
        s.entries = setting "l2tlb.entries" + setting "l2tlb.large_entries"
    end,

    tlb_insert = function(q, s, p)
        if q.level == 2 and (s.count[q.pc % p.counters] or 0) >= p.dead_at then
            return p.how
        end
    end,

    watch = {
        tlb_hit = { level = 2, function(n, s)
            if n.entry < s.entries then s.hit[n.entry] = true end
        end },
        tlb_evict = { level = 2, function(n, s, p)
            if n.entry >= s.entries then return end
            local i = n.filler_pc % p.counters
            if s.hit[n.entry] then
                s.count[i] = 0
            else
                s.count[i] = math.min((s.count[i] or 0) + 1, 7)
                tally("dead", 1, n.app)
            end
            s.hit[n.entry] = nil
        end },
    },
}

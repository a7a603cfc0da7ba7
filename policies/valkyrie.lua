-- valkyrie.lua - L1 TLBs that ask each other, and pages that several cores use are
-- translated for their neighbours.
--
-- Cores are in groups, each a ring.  Probing: a miss of an L1 TLB asks another core of
-- its ring first, the next one, or the one that is due: the next after that with each
-- miss.  Prefetching: the L2 TLB remembers which core asked for a page last, in a table
-- that is indexed by the page; when a second core of the ring hits it, the rest of the
-- ring gets it, from the L2 TLB.
--
-- What is public of the paper is its abstract: both halves together, 1.95 times as fast
-- on average.  Sizes of groups and of the table are guesses.
--
-- Counters: shared, pages that a second core hit while the table knew the first.
--
-- SPDX-License-Identifier: MIT
return {
    name = "valkyrie",
    summary = "a miss of an L1 TLB asks a neighbour's first; shared pages are prefetched",
    source = "Baruah et al.: Valkyrie, leveraging inter-TLB locality to enhance GPU "
        .. "performance, PACT 2020",

    params = {
        ring = { default = 8, min = 2, max = 1024, unit = "cores",
                 meaning = "cores whose L1 TLBs are connected", source = "guess" },
        ask = { default = "next", choices = { "next", "turn", "none" },
                meaning = "which core of the ring a miss asks",
                source = "guess: next, the nearest; none: prefetching alone" },
        table = { default = 64, min = 0, max = 65536, unit = "entries",
                  meaning = "pages whose last core the L2 TLB remembers; 0: probing alone",
                  source = "guess" },
    },

    counters = {
        shared = { unit = "pages", meaning = "that a second core of the ring hit" },
    },

    state = { page = {}, core = {}, app = {}, turn = {}, owner = {} },

    init = function(s, _, place)
        s.cores = place.cores
    end,

    tlb_peer = function(q, s, p)
        if p.ask == "none" then return q.cores end
        local first = q.core - q.core % p.ring
        local n = math.min(p.ring, s.cores - first)
        if n == 1 then return q.cores end
        local by = 1
        if p.ask == "turn" then
            by = (s.turn[q.core] or 0) % (n - 1) + 1
            s.turn[q.core] = by
        end
        return first + (q.core - first + by) % n
    end,

    watch = {
        tlb_miss = { level = 1, function(n, s) s.owner[n.core] = n.app end },
        tlb_hit = { level = 2, function(n, s, p)
            if p.table == 0 then return end
            local i = n.vpn % p.table
            local last = s.page[i] == n.vpn and s.app[i] == n.app and s.core[i]
            local first = n.core - n.core % p.ring
            s.page[i], s.app[i], s.core[i] = n.vpn, n.app, n.core
            if not last or last == n.core or last - last % p.ring ~= first then return end
            s.page[i] = nil -- its ring has it now
            tally("shared", 1, n.app)
            for core = first, math.min(first + p.ring, s.cores) - 1 do
                if core ~= last and core ~= n.core and s.owner[core] == n.app then
                    translate(n.app, n.vpn, { to = "l1tlb", core = core })
                end
            end
        end },
    },
}

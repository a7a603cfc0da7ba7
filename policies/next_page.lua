-- next_page.lua - sequential prefetching for the L2 TLB: a miss has the next pages
-- translated, too, behind what cores ask for.
--
-- What comes of it is in the counters `prefetch': useful by filled is its accuracy.
-- The built-in "next_page" is the same in C.
--
-- SPDX-License-Identifier: MIT
return {
    name = "next_page",
    summary = "a miss of the L2 TLB also starts translations of the next pages",
    source = "sequential prefetching: Smith, ACM Computing Surveys 1982",

    params = {
        degree = { default = 1, min = 1, max = 16, unit = "pages",
                   meaning = "pages after the one that missed",
                   source = "Smith, 1982: one" },
        to = { default = "l2tlb", choices = { "l2tlb", "l1tlb", "l1side" },
               meaning = "where it goes",
               source = "guess: next to the TLB that missed" },
    },

    watch = { tlb_miss = { level = 2, function(n, _, p)
        for k = 1, p.degree do
            if n.vpn + k < 1 << 36 then
                translate(n.app, n.vpn + k, { to = p.to, core = n.core })
            end
        end
    end } },
}

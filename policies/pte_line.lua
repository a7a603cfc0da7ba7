-- pte_line.lua - a walk fills the pages whose entries are in the line that it has
-- read: the neighbours of its page, at no walk and no read of their own.
--
-- Which of them were worth it is in the counters `prefetch' (useful by filled), and
-- what was not filled in `fill'.  How long the line is, is fill.bytes; what a page
-- costs, fill.ports.
--
-- The built-in "pte_line" is the same in C.
--
-- SPDX-License-Identifier: MIT
return {
    name = "pte_line",
    summary = "a walk fills the neighbours whose entries it has read with its own",
    source = "Pham et al., MICRO 2012; Vavouliotis et al., ISCA 2021: translations "
        .. "that are free where the line is",

    params = {
        reach = { default = 16, min = 2, max = 512, unit = "pages",
                  meaning = "aligned group of pages that a walk fills",
                  source = "a line of 128 bytes has the entries of 16" },
        to = { default = "l2tlb", choices = { "l2tlb", "l1tlb", "l1side" },
               meaning = "where they go",
               source = "guess: next to the TLB that missed" },
    },

    watch = { walk_done = function(n, _, p)
        local first = n.vpn - n.vpn % p.reach
        for vpn = first, first + p.reach - 1 do
            if vpn ~= n.vpn then
                fill(n.app, vpn, { to = p.to, core = n.core })
            end
        end
    end },
}

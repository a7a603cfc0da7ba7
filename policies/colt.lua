-- colt.lua - TLB entries that cover a run of pages: CoLT, and AMD's coalescing.
--
-- A page walk reads a line of page-table entries; where pages beside the one that
-- was wanted are contiguous in virtual and in physical memory, one TLB entry can
-- hold them, inside an aligned group (l1tlb.merge_pages, l2tlb.merge_pages; CoLT
-- and MESC: 4, and l2tlb.group_index, its shifted index).
--
-- As MESC (VI) compares it: CoLT merges in the L1 TLBs, of what a walk brings;
-- full CoLT (full = 1) merges in both levels, and a hit in the L2 TLB passes its
-- group on.  aligned = 4 is AMD's: 16 KB, aligned in both memories, or nothing.
--
-- With MESC's subregions in the L2 TLB, which this leaves to the default, full = 0
-- is MESC+CoLT.  Its paper lets CoLT merge once the page table is walked (V.A, VI.C),
-- which is the default here; but nearly all look-ups hit in the L2 TLB then, and
-- what it saves of insensitive programs' energy (VI.D: 30 %, MESC 2.5 %) needs L1
-- TLBs that merge hits, too: hits = "subregions" has a hit of a subregion entry
-- pass the page's group on, as a walk does.
--
-- The built-in "colt" is the same in C.
--
-- SPDX-License-Identifier: MIT
return {
    name = "colt",
    summary = "TLB entries cover contiguous pages of an aligned group",
    source = "CoLT: Pham et al., MICRO 2012; as MESC has it in a GPU",

    params = {
        full = { default = 0, min = 0, max = 1, unit = "",
                 meaning = "1: in both levels, and a hit in the L2 TLB passes its "
                     .. "run on; 0: only in L1 TLBs, on page walks",
                 source = "MESC: CoLT and full CoLT" },
        aligned = { default = 0, min = 0, max = 16, unit = "pages",
                    meaning = "only runs of this many pages, aligned in physical "
                        .. "memory as well; 0: any",
                    source = "AMD's coalescing: 4" },
        hits = {
            default = "none", choices = { "none", "subregions" },
            meaning = "with full = 0: hits in the L2 TLB that pass a group on, none "
                .. "or those of subregion entries",
            source = "MESC V.A names walks; its VI.D needs hits",
        },
    },

    tlb_merge = function(q, _, p)
        local n = p.aligned
        if p.full == 0 and (q.level ~= 1
            or q.cause ~= "walk" and p.hits == "none") then
            return nil
        elseif n ~= 0 and (q.run_pages < n or q.run_first % n ~= 0
            or q.run_frame % n ~= 0) then
            return 0
        end
        return q.run_pages
    end,
}

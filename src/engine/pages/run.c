/*
 * run.c - runs of pages that are contiguous in virtual and in physical memory:
 * what CoLT (Pham et al., MICRO 2012) coalesces into one TLB entry.
 *
 * A walk reads a line of the leaf table, 16 entries (fewer of larger ones,
 * vm.entry_bytes), of which a run may be seen at no cost; larger groups are for
 * studies of what runs there are (tlb_merge asks for a group of its own).
 * Entries of 64 KB take part with their base pages; a page of 2 MB or a
 * coalesced region is larger than any group and is its own run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

/* The frame of a present 4 KB or 64 KB entry of a leaf table, else all ones. */
static uint64_t leaf_frame(const uint64_t *leaf, uint64_t vpn)
{
    uint64_t e = leaf[vpn & 511];

    return e & HD_PT_PRESENT ? (e & HD_PT_FRAME) / HD_PAGE_BYTES : UINT64_MAX;
}

void hd_ptables_run(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint32_t group, struct hd_xlate *run)
{
    const struct hd_pt_slot *h;
    const uint64_t *leaf;
    uint64_t first, last, from, to, f;

    if (!hd_ptables_find(t, app, vpn, run)) {
        *run = (struct hd_xlate){vpn, {0}, 0, 0};
        return;
    }
    if (run->pages >= group)
        return;
    h = hd_pt_slot_of(t, app, vpn.v);
    leaf = hd_pt_entry(t, h->at);
    f = leaf_frame(leaf, vpn.v);
    from = vpn.v & ~(uint64_t)(group - 1);
    to = from + group;
    /* a page that is not there is in no frame before frame 0 */
    for (first = vpn.v; first > from && vpn.v - first < f; first--)
        if (leaf_frame(leaf, first - 1) != f - (vpn.v - first + 1))
            break;
    for (last = vpn.v; last + 1 < to; last++)
        if (leaf_frame(leaf, last + 1) != f + (last + 1 - vpn.v))
            break;
    run->vpn.v = first;
    run->pfn.v = f - (vpn.v - first);
    run->pages = (uint32_t)(last - first + 1);
}

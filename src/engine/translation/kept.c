/*
 * kept.c - the buffer next to a TLB: entries that are evicted may go there.
 *
 * A policy of tlb_keep is asked of each (Jouppi's victim cache, ISCA 1990;
 * MASK's bypass cache as one).  What it keeps goes as an ordinary fill to the
 * buffer, a small TLB of its own, with the instruction that brought it; a mark
 * that a policy has prefetched it goes with it.
 *
 * Without such a buffer, or a policy, nothing here runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "tlbstate.h"

static uint32_t kept_pc(const void *pc)
{
    return *(const uint32_t *)pc;
}

void hd_tlb_offer_kept(struct hd_tlb *t, uint64_t gone, uint32_t core,
                       uint32_t entry)
{
    struct hd_xlate x = hd_tlb_x_of_key(t, entry, gone);
    struct hd_tlb_entry by = t->entry[entry];
    struct heddle_q_tlb_keep q = {.level = t->level,
                                  .app = hd_tlb_app_of(gone),
                                  .core = core,
                                  .vpn = x.vpn.v,
                                  .pages = x.pages,
                                  .entry = entry,
                                  .filler = (uint64_t)by.core << 16 | by.warp,
                                  .filler_pc = t->from[entry]};
    struct hd_pc pc = t->side->base.pc;

    if (!hd_ask_tlb_keep(&t->keep, &q))
        return;
    t->side->base.pc = (struct hd_pc){kept_pc, &t->from[entry]};
    if (hd_tlb_fill_other(t->side, hd_tlb_app_of(gone), by.core, by.warp, x.vpn,
                          &x, HEDDLE_INSERT_CAUSE_KEPT) &&
        hd_tlb_is_prefetched(t, entry)) { /* it is marked there */
        hd_tlb_less(t, HD_TLB_PREFETCHED);
        t->entry[entry].warp = 0;
    }
    t->side->base.pc = pc;
}

void hd_tlb_set_side(struct hd_tlb *t, const char *at, struct hd_tlb *side)
{
    t->side = side;
    hd_slots_offer(t->env->slots, HEDDLE_POINT_tlb_keep, at, &t->keep,
                   hd_tlb_default, t);
    hd_tlb_bound(t);
}

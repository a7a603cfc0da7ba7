/*
 * bypass.c - where the result of a walk goes, and the bypass cache (MASK,
 * ASPLOS 2018, section 5.2).
 *
 * MASK gives warps tokens: one without a token may not fill the L2 TLB, and
 * what its walks bring goes to a small, fully associative bypass cache next to
 * it, which is probed in parallel with the L2 TLB, at no extra time; a hit
 * there counts as a hit.  Which warps may fill is in the steering table
 * tlb_fill, what becomes of the rest in tlb_fill_without; a policy of tlb_fill
 * decides otherwise. If any requester of a walk may fill, its result goes to
 * the L2 TLB.
 *
 * While all warps may fill, no policy answers tlb_fill and bypass.entries is 0,
 * which is the default, nothing here runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

int64_t hd_bypass_default(void *mmu, const void *question)
{
    const struct hd_mmu *m = mmu;
    const struct heddle_q_tlb_fill *q = question;

    for (uint64_t i = 0; i < q->requesters; i++)
        if (hd_l2tlb_may_fill(m->steer, q->app, q->who[i] >> 16,
                              q->who[i] & 0xffff))
            return HEDDLE_TLB_FILL_L2TLB;
    return m->steer->tlb_fill_without[q->app][0];
}

uint32_t hd_bypass_ask(struct hd_unit *u, const struct hd_walk *walk,
                       const struct hd_treq *first, const struct hd_xlate *x)
{
    struct heddle_q_tlb_fill q = {.app = first->app,
                                  .core = first->core,
                                  .warp = first->warp,
                                  .vpn = first->vpn.v,
                                  .pages = x->pages,
                                  .pc = first->pc,
                                  .who = u->m->who};
    uint32_t where;

    for (const struct hd_treq *t = first;; t = &u->treq[t->next]) {
        u->m->who[q.requesters++] = (uint64_t)t->core << 16 | t->warp;
        if (t->next == HD_NONE)
            break;
    }
    if (walk != NULL)
        hd_fill_open(u, (uint32_t)(walk - u->walk));
    where = (uint32_t)hd_ask_tlb_fill(&u->m->fill, &q);
    hd_fill_close(u);
    return where;
}

bool hd_bypass_find(struct hd_unit *u, const struct hd_treq *q,
                    struct hd_xlate *x)
{
    if (hd_tlb_lookup(&u->bypass, q->app, q->vpn, q->core, q->warp, x, NULL))
        return true;
    hd_tlb_missed(&u->bypass, q->app, q->vpn, q->core, q->warp);
    return false;
}

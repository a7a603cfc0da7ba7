/*
 * farfault.c - misses of an L1 TLB whose page has to come from the host
 * (vm.paging=fault).
 *
 * That takes far too long to hold an MSHR: when the unit below says that a
 * request waits there, its entry is detached (memory/mshr.h), and the miss no
 * longer counts as outstanding.  Its lines stay with it, and later misses of
 * the page join as ever.  When the page has come the request is answered like
 * any other, and the time that it waited is the fault time of its instructions.
 * With uvm.utlb_merge off the far-fault unit is told of misses that join, since
 * each has a packet of its own in the driver's buffer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"

void hd_farfault_waits(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_treq *q = &c->gpu->treqs->v[treq];

    hd_core_for(c, q->warp);
    q->merged = hd_l1tlb_merged(&c->tlb_mshr.v[q->tag]);
    if (HD_UNLIKELY(c->gpu->joins))
        hd_farfault_joined(c, q->tag, t);
    c->below_tlb.notified(c->below_tlb.self, treq);
    hd_mshr_detach(&c->tlb_mshr);
    c->s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    hd_blocking_call(c, t);
}

/* What waits for the page of an MSHR entry, beside the miss that took it. */
void hd_farfault_joined(struct hd_core *c, uint32_t entry, hd_time t)
{
    const struct hd_mshr_entry *m = &c->tlb_mshr.v[entry];

    if (m->last > 0)
        hd_faults_joined(c->gpu->faults, t, c->component, m->live - 1, m->last);
}

void hd_farfault_served(struct hd_core *c, uint32_t treq, hd_time t)
{
    hd_time waited = hd_faults_waited(c->gpu->faults, treq, t);
    uint32_t e = c->gpu->treqs->v[treq].tag;

    for (uint32_t p = c->tlb_mshr.v[e].first; p != HD_NONE;
         p = c->parked[p].next) {
        hd_time *o = &c->fault[c->parked[p].memop];
        *o = hd_max_u64(*o, waited);
    }
    hd_core_for(c, c->gpu->treqs->v[treq].warp);
    hd_faults_served(c->gpu->faults, t, c->component, treq);
    hd_mshr_reattach(&c->tlb_mshr);
    hd_l1tlb_answer(c, treq, t);
    hd_mshr_reattached(&c->tlb_mshr);
}

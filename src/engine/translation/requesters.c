/*
 * requesters.c - the requesters of a walk: how many L1 TLB misses it answered.
 *
 * MASK (ASPLOS 2018) measures how many warps stall on one TLB miss.  A core
 * merges misses with its request until it has the answer, so only then is it
 * certain how many there were.  (To read the number when the walk ends would
 * count the misses of cores that have run ahead, and not those of others.)  So
 * the requests of a walk that is done stay together in a record until the unit
 * has been notified by each of them.
 *
 * Invariant: a request is in one record at most; a record is free when the last
 * of its requests has been notified.
 *
 * Nothing but counters follows from it: walk.warps, its histogram, and the most
 * misses of a walk since an epoch (hd_mmu_recent.stalled).
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk.h"

/* A request leaves its record, if it is in one. */
static HD_HOT void requesters_leave(struct hd_unit *u, uint32_t treq)
{
    struct hd_mmu *m = u->m;
    uint32_t i = m->requesters_of[treq], *stalled;
    struct hd_requesters *r;

    if (i == 0) /* it hit, or its walk is not done */
        return;
    r = &m->requesters[i - 1];
    m->requesters_of[treq] = 0;
    r->warps += 1u + u->treq[treq].merged;
    if (--r->left > 0)
        return;
    hd_walk_row(u, r->app)[HD_WALK_WARPS] += r->warps;
    hd_hist_add(&m->walk_warps[r->app], r->warps);
    stalled = &m->recent[r->app].stalled;
    *stalled = (uint32_t)hd_max_u64(*stalled, r->warps);
    hd_numbers_give(&m->requester_numbers, i - 1);
}

HD_HOT void hd_requesters_notified(void *self, uint32_t treq)
{
    struct hd_unit *u = self;

    hd_cross(u->m->env, HD_BORDER_notified);
    requesters_leave(u, treq);
}

void hd_requesters_join(struct hd_unit *u, uint32_t treq, uint32_t with)
{
    uint32_t i = u->m->requesters_of[with];

    if (i == 0)
        return;
    requesters_leave(u, treq);
    u->m->requesters_of[treq] = i;
    u->m->requesters[i - 1].left++;
}

/* One whose page was not resident more than once may still be in the record of
 * its last walk. */
void hd_requesters_form(struct hd_unit *u, const struct hd_mshr_entry *e,
                        uint32_t app)
{
    struct hd_mmu *m = u->m;
    uint32_t i;

    for (uint32_t t = e->first; t != HD_NONE; t = m->w.treqs->v[t].next)
        requesters_leave(u, t);
    i = hd_numbers_take(&m->requester_numbers);
    m->requesters[i] = (struct hd_requesters){e->n, 0, app};
    for (uint32_t t = e->first; t != HD_NONE; t = m->w.treqs->v[t].next)
        m->requesters_of[t] = i + 1;
}

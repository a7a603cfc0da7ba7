/*
 * nonresident.c - requests whose pages are not resident: they go to the
 * far-fault station (paging/fault.c), in lists of those that one page, or one
 * region that comes as a whole, will serve together.
 *
 * A walk that ends at a page that is not resident is over like any other, its
 * MSHR is free and its stages are counted up to then.  An entry of a coalesced
 * region may be there before all of its pages are (pages/ptable.c): a request
 * for one that is not resident is no hit, whatever entry covers it, and needs
 * no walk; it faults when the look-up ends.  A walk for any page of a coalesced
 * region answers for all; those of its requests whose pages are not resident
 * fault then.
 *
 * A page that is in no allocation is an error, which ends the run.
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

/* Splits a list: those that wait together with the first, of which there are
 * *n, stay in it; returns the first of the others, or HD_NONE. */
static uint32_t nonresident_split(struct hd_unit *u, uint32_t first,
                                  uint32_t *n)
{
    const struct hd_treq *one = &u->treq[first];
    uint32_t t = one->next, end = first, left = HD_NONE, left_end;

    *n = 1;
    u->treq[first].next = HD_NONE;
    for (uint32_t next; t != HD_NONE; t = next) {
        const struct hd_treq *q = &u->treq[t];
        bool with =
            hd_faults_together(u->m->w.faults, one->app, one->vpn, q->vpn);
        next = q->next;
        hd_treq_append(u->m->w.treqs, with ? &first : &left,
                       with ? &end : &left_end, t);
        *n += with;
    }
    return left;
}

void hd_nonresident_enter(struct hd_unit *u, hd_time now, uint32_t first,
                          hd_time began)
{
    struct hd_faults *f = u->m->w.faults;
    struct hd_xlate x;

    for (uint32_t n, left; first != HD_NONE; first = left) {
        const struct hd_treq *one = &u->treq[first];
        uint32_t t = first;

        if (f == NULL ||
            !hd_ptables_nonresident(u->m->w.tables, one->app, one->vpn, &x)) {
            hd_err_set(u->m->env->err, HEDDLE_EDATA,
                       "application %u: address 0x%llx is in no allocation",
                       one->app,
                       (unsigned long long)one->vpn.v << HD_PAGE_SHIFT);
            return;
        }
        left = nonresident_split(u, first, &n);
        for (uint32_t i = 0; i < n; i++, t = u->treq[t].next) {
            struct hd_treq *q = &u->treq[t];
            hd_time joined = q->walk;

            q->walk = began;
            hd_treq_count_for(u->m->w.treqs, t);
            hd_l2tlb_account(u, q, NULL, joined, hd_max_u64(now, q->looked));
            if (HD_UNLIKELY(u->m->levels != NULL))
                hd_levels_leave(u->m->levels, now, t);
        }
        hd_faults_enter(f, now, first, n);
    }
}

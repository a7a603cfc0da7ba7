/*
 * hostprefetch.c - ranges that the host of an application prefetches between
 * launches (heddle_host_move; cudaMemPrefetchAsync).
 *
 * After the link's latency, once, all pages of the range that are not resident
 * migrate in the order of their addresses, in as few transfers as possible
 * (faultset.c), as far as there are frames.  Where there is none, the next page
 * waits for one like a fault, so that others are evicted; and the range
 * continues when nothing of it is in flight.  Requests that touch a page in
 * flight join its entry.  The application's host is notified when it is
 * over.
 *
 * Invariant: one range of an application at a time; while one is open, entries
 * of it are in flight or wait for frames.
 *
 * Left out on purpose: overlap of a range's transfers with its waits for
 * frames.
 *
 * SPDX-License-Identifier: MIT
 */
#include "faultstate.h"

/* Sends what there are frames for, in as few transfers as possible; where there
 * is none, a page that waits for one. */
static void hostprefetch_some(struct hd_faults *f, hd_time now, uint32_t app)
{
    struct hd_fault_range *x = &f->s->range[app];

    while (x->vpn < x->end) {
        uint64_t end = hd_min_u64((x->vpn | (HD_LARGE_PAGES - 1)) + 1, x->end);
        struct hd_fault_set g;
        hd_fault_set_clear(&g, (hd_vpn){x->vpn});
        x->vpn = hd_prefetcher_range(f, now, app, x->vpn, end, HD_FAULT_BY_HOST,
                                     NULL, &g);
        hd_fault_set_ship(f, now, &g, HD_NONE);
        if (x->vpn < end)
            break;
    }
    if (x->left == 0 && x->vpn < x->end)
        x->vpn = hd_prefetcher_page(f, now, app, x->vpn, HD_FAULT_BY_HOST);
}

/* A range of which nothing is in flight continues, or is over. */
void hd_hostprefetch_continue(struct hd_faults *f, hd_time now)
{
    for (uint32_t app = 0; app < f->env->apps; app++) {
        struct hd_fault_range *x = &f->s->range[app];
        if (x->state != HD_RANGE_OPEN || x->left != 0)
            continue;
        x->state = HD_RANGE_BUSY; /* entries that end below do not call again */
        while (x->left == 0 && x->vpn < x->end &&
               f->s->prefetches < HD_FAULT_PREFETCHES &&
               !hd_err_ends(f->env->err->code))
            hostprefetch_some(f, now, app);
        x->state = HD_RANGE_OPEN;
        if (x->left != 0 || x->vpn < x->end)
            continue;
        x->state = HD_RANGE_DONE;
        f->s->ranges--;
        f->w.manager.hinted(f->w.manager.self, now, app);
    }
    hd_framewait_balance(f, now);
    hd_fault_schedule(f);
}

void hd_faults_prefetch(struct hd_faults *f, hd_time now, uint32_t app,
                        hd_vpn vpn, uint32_t pages)
{
    f->s->range[app] =
        (struct hd_fault_range){.vpn = vpn.v, .end = vpn.v + pages};
    hd_post(f->env->ev, f->rank, f->rank, now + hd_link_latency(f->w.link),
            HD_FAULT_EV_RANGE, app, 0);
}

/* Its latency is over. */
void hd_hostprefetch_begin(struct hd_faults *f, hd_time now, uint32_t app)
{
    f->s->range[app].state = HD_RANGE_OPEN;
    f->s->ranges++;
    hd_hostprefetch_continue(f, now);
}

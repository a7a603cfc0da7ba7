/*
 * dramcount.h - what a request adds to the counters when it ends.
 *
 * Each channel keeps what it counts of an application in one line of the host's
 * cache; hd_dram_fold (dramcount.c) moves it to the counters before they are
 * read.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCOUNT_H
#define HD_DRAMCOUNT_H

#include "dramchan.h"

/* What an entry takes from its request. */
static HD_INLINE void hd_dramcount_describe(const struct hd_dram *d,
                                            const struct hd_req *r,
                                            struct hd_dramentry *v)
{
    uint32_t n = (r->bytes + d->map.burst - 1) >> d->map.burst_shift;

    v->app = (uint8_t)(r->app < d->others ? r->app : d->others);
    v->bursts = v->left = (uint16_t)(n != 0 ? n : 1);
    v->write = r->kind == HD_REQ_WRITE;
    v->walk = r->kind == HD_REQ_WALK;
}

/* Latency: cycles from acceptance to the last datum. */
static HD_INLINE void hd_dramcount_ended(struct hd_dram *d,
                                         const struct hd_dramlane *l,
                                         const struct hd_dramentry *v,
                                         uint32_t latency)
{
    struct hd_dramtally *t = &l->tally[v->app];
    uint32_t bursts = v->bursts;
    struct hd_hist *h = d->data_latency;

    t->row_hits += !v->opened;
    if (HD_UNLIKELY(v->walk)) {
        t->walk_bursts += bursts;
        t->walks++;
        h = d->walk_latency;
    } else {
        t->data_bursts += bursts;
        t->reads += !v->write;
        t->writes += v->write;
    }
    if (!v->write)
        hd_hist_add(&h[v->app], latency);
}

#endif

/*
 * dramcount.h - what a request adds to the counters when it ends.
 *
 * An entry carries the place of its counters (channel and application), found
 * once when it arrives.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMCOUNT_H
#define HD_DRAMCOUNT_H

#include "dramchan.h"

/* What an entry takes from its request, in the channel of lane l. */
static HD_INLINE void hd_dramcount_describe(const struct hd_dram *d,
                                            const struct hd_dramlane *l,
                                            const struct hd_req *r,
                                            struct hd_dramentry *v)
{
    uint32_t bytes = r->bytes != 0 ? r->bytes : 1, others = d->stat.apps - 1;

    v->counts = l->counts + (r->app < others ? r->app : others) * ST_COUNT;
    v->bursts = v->left =
        (uint16_t)((bytes + d->map.burst - 1) >> d->map.burst_shift);
    v->write = r->kind == HD_REQ_WRITE;
    v->walk = r->kind == HD_REQ_WALK;
    v->app = r->app;
}

/* Latency: cycles from acceptance to the last datum. */
static HD_INLINE void hd_dramcount_ended(struct hd_dram *d,
                                         const struct hd_dramentry *v,
                                         uint64_t latency)
{
    uint64_t *row = &d->stat.v[v->counts];
    uint32_t bursts = v->bursts, app = v->app;
    struct hd_hist *h = d->data_latency;

    if (!v->opened)
        row[ST_ROW_HITS]++;
    if (HD_UNLIKELY(v->walk)) {
        row[ST_WALK_BURSTS] += bursts;
        row[ST_WALKS]++;
        h = d->walk_latency;
    } else {
        row[ST_DATA_BURSTS] += bursts;
        row[v->write ? ST_WRITES : ST_READS]++;
    }
    row[ST_BUSY] += (uint64_t)bursts * d->cfg.bl;
    if (!v->write)
        hd_hist_add(&h[app < d->env->apps ? app : d->env->apps], latency);
}

#endif

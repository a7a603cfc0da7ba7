/*
 * records.c - what each launch took: its time, and what was counted during it.
 *
 * A launch's record holds, for every counter, by how much the application's sum
 * over all instances rose from its start to its end.  Launches beyond
 * HD_KERNEL_RECORDS are added to the last record of their name, so the memory
 * that a run needs does not depend on how many kernels it has; one whose name
 * has no record is not recorded.
 *
 * Of launches of one application that overlap a record has what was counted for
 * them, in the parts that count by launch (streams.c).
 *
 * With sample.launches a record is the first launch of a cluster, too
 * (cluster.c), and says what it stands for.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "streams.h"

void hd_records_rebase(struct hd_dispatch *d, uint32_t app)
{
    if (HD_UNLIKELY(hd_streams_has(d, app)))
        hd_streams_rebase(d, app);
    else
        hd_stats_sum(d->g->env->stats, app, d->base + (size_t)app * d->flat);
}

/* The record of a launch that starts: its own, or the last of its name;
 * HD_NONE: there is neither room nor one. */
static uint32_t records_find(struct hd_dispatch *d, uint32_t app,
                             const struct hd_launch *l, hd_time now)
{
    uint32_t n = *d->records, last = HD_NONE;
    struct hd_kernel_record *r = &d->record[n];

    if (n < HD_KERNEL_RECORDS) {
        *d->records = n + 1;
        memcpy(r->name, l->name, sizeof r->name);
        r->app = app;
        r->id = l->id;
        r->stream = l->stream;
        r->run = d->app[app].run;
        r->start = now;
        if (d->cluster != NULL)
            hd_cluster_begin(d->cluster, n, l);
        return n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (d->record[i].app == app && strcmp(d->record[i].name, l->name) == 0)
            last = i;
    return last;
}

void hd_records_start(struct hd_dispatch *d, uint32_t app, struct hd_grid *x,
                      hd_time now)
{
    struct hd_app_state *a = &d->app[app];
    const struct hd_launch *l = x != NULL ? &x->launch : &a->launch;
    uint32_t i = records_find(d, app, l, now);

    *(x != NULL ? &x->record : &a->record) = i;
    if (i == HD_NONE)
        return;
    d->record[i].launches++;
    d->record[i].busy -= now; /* plus the end: the launch's time */
    hd_env_sync(d->g->env);
    if (HD_UNLIKELY(x != NULL))
        hd_streams_rebase_one(d, app, x);
    else
        hd_records_rebase(d, app);
}

void hd_records_end(struct hd_dispatch *d, uint32_t app, struct hd_grid *x,
                    hd_time now)
{
    struct hd_app_state *a = &d->app[app];
    uint32_t i = x != NULL ? x->record : a->record;
    struct hd_kernel_record *r;
    uint64_t *gain, *base = d->base + (size_t)app * d->flat;

    if (i == HD_NONE)
        return;
    r = &d->record[i];
    gain = d->gain + (size_t)i * d->flat;
    hd_env_sync(d->g->env);
    if (HD_UNLIKELY(x != NULL)) {
        hd_streams_gain(d, app, x, gain);
        r->overlap += x->overlap;
    } else {
        hd_stats_sum(d->g->env->stats, app, d->scratch);
        for (uint32_t j = 0; j < d->flat; j++)
            gain[j] += d->scratch[j] - base[j];
    }
    r->busy += now;
    if (r->end == 0)
        r->end = now;
    r->blocks += x != NULL ? x->launch.blocks : a->launch.blocks;
    a->record = HD_NONE;
    if (d->cluster != NULL && r->launches == 1) {
        const uint64_t *core = gain + d->core_row;
        d->cluster[i].known = 1;
        d->cluster[i].mix = (struct hd_mix){
            core[HD_CORE_INSTRUCTIONS], core[HD_CORE_THREAD_INSTRUCTIONS],
            core[HD_CORE_LOADS], core[HD_CORE_STORES], core[HD_CORE_ATOMICS]};
    }
}

void hd_dispatch_skipped(const struct hd_dispatch *d, uint64_t *launches,
                         uint64_t *instructions)
{
    for (uint32_t i = 0; d->cluster != NULL && i < *d->records; i++) {
        *launches += d->cluster[i].launches;
        *instructions += d->cluster[i].skipped.instructions;
    }
}

const struct hd_cluster *hd_dispatch_cluster(const struct hd_dispatch *d,
                                             uint32_t record)
{
    return d->cluster != NULL ? &d->cluster[record] : NULL;
}

uint32_t hd_dispatch_records(const struct hd_dispatch *d)
{
    return *d->records;
}

const struct hd_kernel_record *hd_dispatch_record(const struct hd_dispatch *d,
                                                  uint32_t i)
{
    return i < *d->records ? &d->record[i] : NULL;
}

uint64_t hd_dispatch_gain(const struct hd_dispatch *d, uint32_t i,
                          uint32_t flat)
{
    return d->gain[(size_t)i * d->flat + flat];
}

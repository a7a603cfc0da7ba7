/*
 * record.c - launches, recorded one by one: when, and what was counted.
 *
 * A record has the time of its launch and, for every counter, by how much the
 * application's sum over all instances rose from the start of the launch to
 * its end.  Where applications share the GPU each has its own sums, so each
 * launch counts its own application's part.  The sums are taken at the start
 * and at the end of a launch only; between them nothing is recorded.
 *
 * Launches are recorded one by one up to HD_KERNEL_RECORDS; later launches
 * are added to the last record of their name, so the memory that a run needs
 * does not depend on how many kernels it has.  One whose name has no record
 * is not recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#include "record.h"

#include <string.h>

enum { HD_KERNEL_RECORDS = 96 };

int hd_records_open(struct hd_records *k, struct hd_env *env)
{
    struct hd_arena *a = env->arena;

    k->env = env;
    k->flat = hd_stats_flat(env->stats);
    k->record = hd_arena_take(a, HD_KERNEL_RECORDS, sizeof *k->record);
    k->used = hd_arena_take(a, 1, sizeof *k->used);
    k->base = hd_arena_take(a, (size_t)env->apps * k->flat, 8);
    k->gain = hd_arena_take(a, (size_t)HD_KERNEL_RECORDS * k->flat, 8);
    k->scratch = hd_arena_take(a, k->flat, 8);
    return k->record != NULL && k->used != NULL && k->base != NULL &&
                   k->gain != NULL && k->scratch != NULL
               ? 0
               : -1;
}

static uint32_t find(struct hd_records *k, uint32_t app, uint32_t run,
                     const struct hd_launch *l, hd_time now)
{
    uint32_t n = *k->used, last = HD_NONE;

    if (n < HD_KERNEL_RECORDS) {
        struct hd_kernel_record *r = &k->record[n];
        *k->used = n + 1;
        memcpy(r->name, l->name, sizeof r->name);
        r->app = app;
        r->id = l->id;
        r->run = run;
        r->start = now;
        return n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (k->record[i].app == app && strcmp(k->record[i].name, l->name) == 0)
            last = i;
    return last;
}

uint32_t hd_record_start(struct hd_records *k, uint32_t app, uint32_t run,
                         const struct hd_launch *l, hd_time now)
{
    uint32_t i = find(k, app, run, l, now);

    if (i == HD_NONE)
        return i;
    k->record[i].launches++;
    k->record[i].busy -= now; /* plus the end: the launch's time */
    hd_env_sync(k->env);
    hd_record_rebase(k, app);
    return i;
}

void hd_record_end(struct hd_records *k, uint32_t i, const struct hd_launch *l,
                   hd_time now)
{
    struct hd_kernel_record *r;
    uint64_t *gain, *base;

    if (i == HD_NONE)
        return;
    r = &k->record[i];
    base = k->base + (size_t)r->app * k->flat;
    gain = k->gain + (size_t)i * k->flat;
    hd_env_sync(k->env);
    hd_stats_sum(k->env->stats, r->app, k->scratch);
    for (uint32_t j = 0; j < k->flat; j++)
        gain[j] += k->scratch[j] - base[j];
    r->busy += now;
    if (r->end == 0)
        r->end = now;
    r->blocks += l->blocks;
}

void hd_record_rebase(struct hd_records *k, uint32_t app)
{
    hd_stats_sum(k->env->stats, app, k->base + (size_t)app * k->flat);
}

const struct hd_kernel_record *hd_record_at(const struct hd_records *k,
                                            uint32_t i)
{
    return i < *k->used ? &k->record[i] : NULL;
}

uint64_t hd_record_count(const struct hd_records *k, uint32_t i, uint32_t flat)
{
    return k->gain[(size_t)i * k->flat + flat];
}

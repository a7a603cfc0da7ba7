/*
 * stat.c - registration and reset of counter groups and histograms.
 * SPDX-License-Identifier: MIT
 */
#include "stat.h"

#include <string.h>

#include "config.h"

void hd_stats_open(struct hd_stats *st, struct hd_arena *arena, uint32_t apps)
{
    memset(st, 0, sizeof *st);
    st->arena = arena;
    st->apps = apps;
}

struct hd_stat hd_stats_group(struct hd_stats *st, const struct hd_rows *rows,
                              uint32_t instances)
{
    uint32_t n = rows->counter_count;
    struct hd_stat s = {NULL, n, st->apps + 1, instances};

    s.v = hd_arena_take(st->arena, (size_t)n * s.apps * instances, sizeof *s.v);
    hd_assert(s.v != NULL && st->groups < HD_MAX_GROUPS);
    st->group[st->groups].past =
        hd_arena_take(st->arena, (size_t)n * s.apps, 8);
    hd_assert(st->group[st->groups].past != NULL);
    st->group[st->groups].component = rows->name;
    st->group[st->groups].desc = rows->counters;
    st->group[st->groups++].stat = s;
    return s;
}

struct hd_hist *hd_stats_hist(struct hd_stats *st, const struct hd_rows *rows,
                              uint32_t index)
{
    struct hd_hist *h = hd_arena_take(st->arena, st->apps + 1, sizeof *h);

    hd_assert(h != NULL && st->hists < HD_MAX_HISTS);
    st->hist[st->hists].desc = &rows->hists[index];
    st->hist[st->hists++].h = h;
    return h;
}

void hd_stats_open_time(struct hd_stats *st,
                        void (*open)(void *self, uint32_t instance,
                                     uint32_t app, uint64_t *add),
                        void *self)
{
    st->group[st->groups - 1].open = open;
    st->group[st->groups - 1].self = self;
}

uint32_t hd_stats_flat(const struct hd_stats *st)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < st->groups; i++)
        n += st->group[i].stat.n;
    return n;
}

uint32_t hd_stats_flat_each(const struct hd_stats *st)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < st->groups; i++)
        n += st->group[i].stat.n * st->group[i].stat.instances;
    return n;
}

/* Adds one instance's counters to out[0..n). */
static void stat_add(const struct hd_stat_group *g, uint32_t instance,
                     uint32_t app, uint64_t *out)
{
    const uint64_t *v = hd_count_row(&g->stat, instance, app);

    for (uint32_t k = 0; k < g->stat.n; k++) {
        if (g->desc[k].kind == HD_STAT_PEAK)
            out[k] = hd_max_u64(out[k], v[k]);
        else
            out[k] += v[k];
    }
    if (g->open != NULL)
        g->open(g->self, instance, app, out);
}

void hd_stats_sum(const struct hd_stats *st, uint32_t app, uint64_t *out)
{
    memset(out, 0, hd_stats_flat(st) * sizeof *out);
    for (uint32_t i = 0; i < st->groups; i++) {
        for (uint32_t k = 0; k < st->group[i].stat.instances; k++)
            stat_add(&st->group[i], k, app, out);
        out += st->group[i].stat.n;
    }
}

void hd_stats_each(const struct hd_stats *st, uint32_t app, uint64_t *out)
{
    memset(out, 0, hd_stats_flat_each(st) * sizeof *out);
    for (uint32_t i = 0; i < st->groups; i++) {
        for (uint32_t k = 0; k < st->group[i].stat.instances; k++) {
            stat_add(&st->group[i], k, app, out);
            out += st->group[i].stat.n;
        }
    }
}

void hd_stats_reset(struct hd_stats *st, uint32_t app)
{
    for (uint32_t i = 0; i < st->groups; i++) {
        struct hd_stat_group *g = &st->group[i];
        uint64_t *past = g->past + (size_t)app * g->stat.n;
        for (uint32_t k = 0; k < g->stat.instances; k++) {
            uint64_t *v = hd_count_row(&g->stat, k, app);
            for (uint32_t c = 0; c < g->stat.n; c++) {
                past[c] += g->desc[c].kind == HD_STAT_COUNT ? v[c] : 0;
                v[c] = g->desc[c].kind == HD_STAT_LEVEL ? v[c] : 0;
            }
        }
    }
    for (uint32_t i = 0; i < st->hists; i++)
        memset(&st->hist[i].h[app], 0, sizeof(struct hd_hist));
}

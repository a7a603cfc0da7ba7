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
    for (uint32_t app = 0; app <= HD_APP_NONE; app++)
        st->row_of[app] = (uint16_t)hd_min_u64(app, apps);
    memcpy(st->hand.row_of, st->row_of, sizeof st->row_of);
}

HD_APART void hd_hand_change(struct hd_hand *hand, uint32_t row)
{
    uint32_t app = 0;

    hand->row_of[hand->owner] = (uint16_t)hand->owner;
    hand->row = row;
    if (row == 0)
        return;
    while (row - hand->app[app].first >= hand->app[app].n)
        app++;
    hand->row_of[app] = (uint16_t)row;
    hand->owner = app;
}

void hd_stats_launches(struct hd_stats *st, uint32_t app, uint32_t n)
{
    st->hand.app[app].first = st->apps + 1 + st->hand.rows;
    st->hand.app[app].n = n;
    st->hand.rows += n;
}

static struct hd_stat stat_group(struct hd_stats *st,
                                 const struct hd_rows *rows, uint32_t instances,
                                 const struct hd_hand *hand)
{
    uint32_t n = rows->counter_count;
    struct hd_stat s = {.n = n,
                        .apps = st->apps + 1,
                        .rows = st->apps + 1,
                        .instances = instances,
                        .row_of = hand != NULL ? hand->row_of : st->row_of,
                        .hand = hand};

    s.rows += hand != NULL ? hand->rows : 0;
    s.v = hd_arena_take(st->arena, (size_t)n * s.rows * instances, sizeof *s.v);
    hd_assert(s.v != NULL && st->groups < HD_MAX_GROUPS);
    st->group[st->groups].past =
        hd_arena_take(st->arena, (size_t)n * s.apps, 8);
    hd_assert(st->group[st->groups].past != NULL);
    st->group[st->groups].component = rows->name;
    st->group[st->groups].desc = rows->counters;
    st->group[st->groups++].stat = s;
    return s;
}

struct hd_stat hd_stats_group(struct hd_stats *st, const struct hd_rows *rows,
                              uint32_t instances)
{
    return stat_group(st, rows, instances, NULL);
}

struct hd_stat hd_stats_group_by_launch(struct hd_stats *st,
                                        const struct hd_rows *rows,
                                        uint32_t instances)
{
    return stat_group(st, rows, instances,
                      st->hand.rows != 0 ? &st->hand : NULL);
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

/* Rows of launches that an application has in a group, and the first. */
static uint32_t stat_launches(const struct hd_stat *s, uint32_t app,
                              uint32_t *first)
{
    *first = 0;
    if (HD_LIKELY(s->hand == NULL) || app + 1 >= s->apps)
        return 0;
    *first = s->hand->app[app].first;
    return s->hand->app[app].n;
}

static uint64_t stat_join(uint64_t a, uint64_t b, uint32_t kind)
{
    return kind == HD_STAT_PEAK ? hd_max_u64(a, b) : a + b;
}

uint64_t hd_stat_value(const struct hd_stat *s, uint32_t instance, uint32_t app,
                       uint32_t counter, uint32_t kind)
{
    uint32_t first, n = stat_launches(s, app, &first);
    uint32_t own = app < s->apps ? app : s->apps - 1;
    uint64_t v = hd_count_at(s, instance, own)[counter];

    for (uint32_t i = 0; i < n; i++)
        v = stat_join(v, hd_count_at(s, instance, first + i)[counter], kind);
    return v;
}

/* Adds one row of one instance to out[0..n). */
static void stat_add_row(const struct hd_stat_group *g, uint32_t instance,
                         uint32_t row, uint64_t *out)
{
    const uint64_t *v = hd_count_at(&g->stat, instance, row);

    for (uint32_t k = 0; k < g->stat.n; k++)
        out[k] = stat_join(out[k], v[k], g->desc[k].kind);
}

/* Adds one instance's counters to out[0..n). */
static void stat_add(const struct hd_stat_group *g, uint32_t instance,
                     uint32_t app, uint64_t *out)
{
    uint32_t first, n = stat_launches(&g->stat, app, &first);

    stat_add_row(g, instance, app < g->stat.apps ? app : g->stat.apps - 1, out);
    for (uint32_t i = 0; i < n; i++)
        stat_add_row(g, instance, first + i, out);
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

void hd_stats_sum_launch(const struct hd_stats *st, uint32_t row, uint64_t *out)
{
    memset(out, 0, hd_stats_flat(st) * sizeof *out);
    for (uint32_t i = 0; i < st->groups; i++) {
        const struct hd_stat_group *g = &st->group[i];
        for (uint32_t k = 0; g->stat.hand != NULL && k < g->stat.instances; k++)
            stat_add_row(g, k, row, out);
        out += g->stat.n;
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

static void stat_reset_row(const struct hd_stat_group *g, uint32_t instance,
                           uint32_t row, uint64_t *past)
{
    uint64_t *v = hd_count_at(&g->stat, instance, row);

    for (uint32_t c = 0; c < g->stat.n; c++) {
        past[c] += g->desc[c].kind == HD_STAT_COUNT ? v[c] : 0;
        v[c] = g->desc[c].kind == HD_STAT_LEVEL ? v[c] : 0;
    }
}

void hd_stats_reset(struct hd_stats *st, uint32_t app)
{
    for (uint32_t i = 0; i < st->groups; i++) {
        struct hd_stat_group *g = &st->group[i];
        uint64_t *past = g->past + (size_t)app * g->stat.n;
        uint32_t first, n = stat_launches(&g->stat, app, &first);
        for (uint32_t k = 0; k < g->stat.instances; k++) {
            stat_reset_row(g, k, app, past);
            for (uint32_t r = 0; r < n; r++)
                stat_reset_row(g, k, first + r, past);
        }
    }
    for (uint32_t i = 0; i < st->hists; i++)
        memset(&st->hist[i].h[app], 0, sizeof(struct hd_hist));
}

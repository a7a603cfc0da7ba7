/*
 * stat.h - counters: plain integers in the arena, declared beside the part
 * that counts.
 *
 * A part declares a const table of descriptors and an enum of indices in the
 * same order.  At build time it registers a group: `instances` copies of the
 * table for every application.  Counting is one addition:
 *
 *     (*hd_count(&t->stat, instance, app, HD_TLB_HITS))++;
 *
 * Launches.  Where launches of an application overlap (core/streams.c), a part
 * that knows for which of them it counts keeps a row for each of its streams
 * besides the application's (hd_stats_group_by_launch).  The row at hand is
 * that of the launch whose work is being done: it travels with its requests,
 * who serves one takes it up, and an event leaves none behind.  hd_count() of
 * an application then counts there, and what the application has counted is
 * the sum of its own row and of these, so launches and what belongs to none of
 * them add up to it by construction.
 *
 * Histograms are declared in the same way.  Totals, kernels and intervals are
 * differences taken by the reader, so sums over instances equal totals by
 * construction.  Output lives elsewhere.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_STAT_H
#define HD_STAT_H

#include "arena.h"
#include "base.h"
#include "hist.h"

enum hd_stat_kind {
    HD_STAT_COUNT, /* only grows; kernels and intervals are differences */
    HD_STAT_PEAK,  /* a maximum since the last reset */
    HD_STAT_LEVEL, /* a value as it is: kernels have none, a reset leaves it */
};

struct hd_stat_desc {
    const char *name;    /* "hits" */
    const char *unit;    /* "look-ups" */
    const char *meaning; /* one sentence */
    uint8_t kind;        /* enum hd_stat_kind */
};

struct hd_hist_desc {
    const char *component; /* "core" */
    const char *name;      /* "load_latency" */
    const char *unit;
    const char *meaning; /* one sentence */
};

/* A group of counters of one kind of part. */
struct hd_stat {
    uint64_t *v;   /* arena: [instance][app][counter] */
    uint32_t n;    /* counters */
    uint32_t apps; /* rows of applications: their number + 1 (see below) */
    uint32_t rows; /* all rows, with those of launches */
    uint32_t instances;
    const uint16_t *row_of;     /* [application] where it counts now */
    const struct hd_hand *hand; /* NULL: it does not count by launch */
};

/* Row of what belongs to no application (refresh, idle time). */
#define HD_APP_NONE 0xffu

/* The rows of launches: of each application as many as it has streams, behind
 * those of all applications. */
struct hd_hand {
    uint32_t row;   /* the one at hand; 0: none */
    uint32_t owner; /* the application of its launch */
    uint32_t rows;  /* of all applications; 0: no launches overlap */
    struct {
        uint32_t first, n;
    } app[HD_MAX_APPS];
    uint16_t row_of[HD_APP_NONE + 1];
};

void hd_hand_change(struct hd_hand *hand, uint32_t row);
/* Puts the row of a launch at hand, or 0. */
static inline void hd_hand_put(struct hd_hand *hand, uint32_t row)
{
    if (HD_UNLIKELY(row != hand->row))
        hd_hand_change(hand, row);
}

static inline uint64_t *hd_count(const struct hd_stat *s, uint32_t instance,
                                 uint32_t app, uint32_t counter)
{
    size_t row = (size_t)instance * s->rows + s->row_of[app];

    hd_assert(app <= HD_APP_NONE);
    return &s->v[row * s->n + counter];
}

/* The row of one instance that has a number, which may be a launch's. */
static inline uint64_t *hd_count_at(const struct hd_stat *s, uint32_t instance,
                                    uint32_t row)
{
    return &s->v[((size_t)instance * s->rows + row) * s->n];
}

/* What an application has counted in one instance: that of its launches, too.
 */
uint64_t hd_stat_value(const struct hd_stat *s, uint32_t instance, uint32_t app,
                       uint32_t counter, uint32_t kind);

/* The row of one instance and application: row[counter]. */
static inline uint64_t *hd_count_row(const struct hd_stat *s, uint32_t instance,
                                     uint32_t app)
{
    return hd_count(s, instance, app, 0);
}

enum { HD_MAX_GROUPS = 64, HD_MAX_HISTS = 64 };

struct hd_rows; /* config.h: what a part counts */

struct hd_stats {
    struct hd_arena *arena;
    uint32_t apps; /* applications in this simulation */
    uint32_t groups, hists;
    struct hd_stat_group {
        const char *component; /* "l2tlb", borrowed */
        const struct hd_stat_desc *desc;
        struct hd_stat stat;
        uint64_t *past; /* arena: [app][counter], from before its last reset */
        /* What is not yet in the counters of one instance and application
         * (open intervals of time); may be NULL. */
        void (*open)(void *self, uint32_t instance, uint32_t app,
                     uint64_t *add);
        void *self;
    } group[HD_MAX_GROUPS];
    struct {
        const struct hd_hist_desc *desc;
        struct hd_hist *h; /* arena: [app], apps + 1 of them */
    } hist[HD_MAX_HISTS];
    struct hd_hand hand;
    uint16_t row_of[HD_APP_NONE + 1]; /* [application] its own */
};

void hd_stats_open(struct hd_stats *st, struct hd_arena *arena, uint32_t apps);

/* Registers a group; the rows must outlive the simulation. */
struct hd_stat hd_stats_group(struct hd_stats *st, const struct hd_rows *rows,
                              uint32_t instances);
/* Of a part that knows the launch for which it counts. */
struct hd_stat hd_stats_group_by_launch(struct hd_stats *st,
                                        const struct hd_rows *rows,
                                        uint32_t instances);

/* Before any part registers: launches of an application overlap in n streams.
 */
void hd_stats_launches(struct hd_stats *st, uint32_t app, uint32_t n);
/* The row of a stream of an application. */
static inline uint32_t hd_stats_launch(const struct hd_stats *st, uint32_t app,
                                       uint32_t stream)
{
    return st->hand.app[app].first + stream;
}
/* What the row of a launch has, as hd_stats_sum(); 0 of parts that do not count
 * by launch. */
void hd_stats_sum_launch(const struct hd_stats *st, uint32_t row,
                         uint64_t *out);

/* Registers a histogram of a part, one for each application (index with
 * app). */
struct hd_hist *hd_stats_hist(struct hd_stats *st, const struct hd_rows *rows,
                              uint32_t index);

/* Gives the group registered last its function for open intervals. */
void hd_stats_open_time(struct hd_stats *st,
                        void (*open)(void *self, uint32_t instance,
                                     uint32_t app, uint64_t *add),
                        void *self);

/* Counters of all groups, one after the other. */
uint32_t hd_stats_flat(const struct hd_stats *st);

/* All counters of one application, open intervals included: summed over
 * instances into out[flat], or one by one into out[] when `each` (then there
 * are hd_stats_flat_each of them). */
void hd_stats_sum(const struct hd_stats *st, uint32_t app, uint64_t *out);
uint32_t hd_stats_flat_each(const struct hd_stats *st);
void hd_stats_each(const struct hd_stats *st, uint32_t app, uint64_t *out);

/* Sets the counters and histograms of one application (st->apps: of what
 * belongs to none) to 0.  What they had is kept for policies, whose counters
 * only grow. */
void hd_stats_reset(struct hd_stats *st, uint32_t app);

#endif

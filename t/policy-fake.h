/*
 * policy-fake.h - a machine that consists of slots, for the tests of the
 * policy mechanism: every point is offered once at its own structure, with a
 * default that answers 0 and counts its calls.
 * SPDX-License-Identifier: MIT
 */
#ifndef POLICY_FAKE_H
#define POLICY_FAKE_H

#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "kit/env.h"
#include "points/slots.h"
#include "sim.h"

enum {
    FAKE_SETS = 4,
    FAKE_WAYS = 4,
    FAKE_CORES = 3,
    FAKE_APPS = 2,
    FAKE_FRAMES = 3000
};

struct fake {
    struct hd_sim_head head; /* must be first: it is the simulation */
    struct hd_env env;
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct heddle_error err;
    struct hd_slots slots;
    struct hd_slot slot[HEDDLE_POINT_COUNT];
    struct hd_slot other[HEDDLE_POINT_COUNT]; /* replacement at "l2cache" */
    uint32_t defaults[HEDDLE_POINT_COUNT];
    struct {
        struct fake *f;
        uint32_t point;
    } tag[HEDDLE_POINT_COUNT];
};

static inline heddle_sim *fake_sim(struct fake *f)
{
    return (heddle_sim *)(void *)f;
}

static inline int64_t fake_default(void *self, const void *q)
{
    struct {
        struct fake *f;
        uint32_t point;
    } *tag = self;

    (void)q;
    tag->f->defaults[tag->point]++;
    return 0;
}

static inline const char *fake_at(uint32_t p)
{
    switch (p) {
    case HEDDLE_POINT_repl_victim:
        return "l1tlb";
    case HEDDLE_POINT_dram_pick:
    case HEDDLE_POINT_dram_class:
        return "dram";
    default:
        return "";
    }
}

static inline void fake_need(int rc)
{
    if (rc != 0)
        abort();
}

static inline struct fake *fake_open(void)
{
    struct fake *f = calloc(1, sizeof *f);
    struct heddle_place machine = {.cores = FAKE_CORES,
                                   .l2tlbs = 1,
                                   .warps = 8,
                                   .apps = FAKE_APPS,
                                   .channels = 2,
                                   .banks = 8,
                                   .frames = FAKE_FRAMES,
                                   .seed = 42};

    f->head.env = &f->env;
    fake_need(hd_arena_open(&f->arena, (size_t)64 << 20));
    for (int d = 0; d < HD_CLK_COUNT; d++)
        f->clk.hz[d] = d == HD_CLK_CORE ? 500000000 : 1000000000;
    fake_need(hd_clocks_init(&f->clk, &f->err));
    hd_events_open(&f->ev, &f->arena, f->clk.ticks[HD_CLK_CORE]);
    hd_stats_open(&f->stats, &f->arena, FAKE_APPS);
    f->env = (struct hd_env){.arena = &f->arena,
                             .ev = &f->ev,
                             .stats = &f->stats,
                             .clk = &f->clk,
                             .err = &f->err,
                             .seed = 42,
                             .apps = FAKE_APPS};
    fake_need(hd_slots_open(&f->slots, &f->env, fake_sim(f), &machine));
    hd_slots_shape(&f->slots, "l1tlb", 0, FAKE_SETS, FAKE_WAYS);
    hd_slots_shape(&f->slots, "l2cache", 0, FAKE_SETS, FAKE_WAYS);
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        f->tag[p].f = f;
        f->tag[p].point = p;
        hd_slots_offer(&f->slots, (enum heddle_point)p, fake_at(p), &f->slot[p],
                       fake_default, &f->tag[p]);
        if (strcmp(fake_at(p), "l1tlb") == 0)
            hd_slots_offer(&f->slots, (enum heddle_point)p, "l2cache",
                           &f->other[p], fake_default, &f->tag[p]);
    }
    return f;
}

static inline void fake_close(struct fake *f)
{
    hd_slots_close(&f->slots);
    hd_env_free(&f->env);
    hd_arena_close(&f->arena);
    free(f);
}

/* Asks a point of a slot with any question. */
static inline int64_t fake_ask(struct fake *f, enum heddle_point p,
                               const void *q)
{
    return f->slot[p].fn(f->slot[p].self, q);
}

/* Tells a note of replacement, with the fields that all three have. */
static inline void fake_tell(struct fake *f, enum heddle_note n, const char *at,
                             struct heddle_n_repl_touch *fields)
{
    hd_slots_note_at(&f->slots, n,
                     hd_slots_shape(&f->slots, at, 0, FAKE_SETS, FAKE_WAYS),
                     fields);
}

static inline uint64_t fake_counter(struct fake *f, enum heddle_point p,
                                    int passed, uint32_t app)
{
    for (uint32_t g = 0; g < f->stats.groups; g++)
        if (strcmp(f->stats.group[g].component, "policy") == 0)
            return *hd_count(&f->stats.group[g].stat, 0, app,
                             2 * (uint32_t)p + (passed ? 1 : 0));
    return UINT64_MAX;
}

/* Serves events up to a core cycle. */
static inline void fake_run(struct fake *f, uint64_t cycle)
{
    hd_events_run(&f->ev, hd_ticks(&f->clk, HD_CLK_CORE, cycle), &f->err.code);
}

#endif

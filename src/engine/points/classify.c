/*
 * classify.c - the point app_classify: what kind of program an application is.
 *
 * A policy that answers app_classify says so for each application when it is
 * bound and at the end of each of its epochs, the samples of ETC (Li et al.,
 * ASPLOS 2019, section 4.1).  It is told what ETC's coalescing factor is made
 * of: lanes and lines of all loads so far.  What it says is kept here and told
 * to core_throttle and page_compress, so that policies of these need not
 * classify themselves.  While no policy answers, every application is
 * "unknown".
 *
 * SPDX-License-Identifier: MIT
 */
#include "classify.h"

/* A class, less 1; unknown ones are not counted. */
enum {
#define HD_COUNTERS_OF "points/classify.def"
#include "kit/rows.h"
};

#define HD_PART    classify
#define HD_PART_OF "points/classify.def"
#include "kit/rows.h"

static int64_t classify_unknown(void *self, const void *question)
{
    (void)self, (void)question;
    return HEDDLE_APP_CLASS_UNKNOWN;
}

static void classify_ask(struct hd_classify *k, uint32_t app)
{
    struct heddle_q_app_classify q = {.app = app};

    heddle_policy_counter(k->sim, "core.load_lanes", app, &q.lanes);
    heddle_policy_counter(k->sim, "core.load_lines", app, &q.lines);
    k->is[app] = (uint8_t)hd_ask_app_classify(&k->slot, &q);
}

/* A policy that answers is bound: what it knows without a sample. */
static void classify_begin(void *self)
{
    struct hd_classify *k = self;

    for (uint32_t app = 0; app < k->env->apps; app++)
        classify_ask(k, app);
}

/* An epoch of that policy has ended. */
static void classify_over(void *self)
{
    struct hd_classify *k = self;

    for (uint32_t app = 0; app < k->env->apps; app++) {
        classify_ask(k, app);
        if (k->is[app] != HEDDLE_APP_CLASS_UNKNOWN)
            (*hd_count(&k->stat, 0, app, k->is[app] - 1u))++;
    }
}

/* It has gone: so has what it said. */
static void classify_bound(void *self)
{
    struct hd_classify *k = self;

    for (uint32_t app = 0; app < k->env->apps && !k->slot.bound; app++)
        k->is[app] = HEDDLE_APP_CLASS_UNKNOWN;
}

int hd_classify_open(struct hd_classify *k, struct hd_env *env, heddle_sim *sim)
{
    struct hd_part part = {
        .name = "classify", .instances = 1, .self = k, .bound = classify_bound};
    struct hd_epochal at_epochs = {HEDDLE_POINT_app_classify, classify_begin,
                                   classify_over, k};

    k->sim = sim;
    k->env = env;
    k->is = hd_arena_take(env->arena, env->apps, sizeof *k->is);
    k->stat = hd_stats_group(env->stats, &hd_rows_classify, 1);
    if (k->is == NULL || k->stat.v == NULL)
        return HEDDLE_ENOMEM;
    env->is = k->is;
    hd_slots_offer(env->slots, HEDDLE_POINT_app_classify, "", &k->slot,
                   classify_unknown, k);
    hd_slots_epochal(env->slots, at_epochs);
    hd_env_part(env, part);
    return 0;
}

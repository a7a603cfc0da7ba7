/*
 * throttle.c - cores that stop, so that what the others touch fits into memory.
 *
 * Where memory is oversubscribed, fewer cores at work touch fewer pages at a
 * time; whether that pays is what core_throttle decides (after ETC, Li et al.,
 * ASPLOS 2019, section 4.3).  It is asked for an application when one of its
 * launches starts and again when that launch's first blocks have their cores,
 * when a request of one of its cores has found its page not resident and when
 * such a request has been served, and each throttle.cycles.  The question has that
 * page, whether others were evicted for it, and how much is allocated and
 * fits.  The answer is the set of its cores that may run.
 *
 * A core that stops issues nothing; what is in flight drains, its blocks and
 * pages stay, and it gets no new blocks.  The dispatcher says so by message, as
 * it sends out blocks, so a core obeys at an instant that it has not run past.
 *
 * No set of cores can hold an application up: if none of those that run has or
 * gets a block, and some that stand have, the lowest of these runs, whatever
 * the answer was; and if the answer is the empty set, the lowest core runs.
 *
 * Without a policy nothing is asked or kept.  When a policy is unbound all
 * cores continue at the next of the instants at which it would have been asked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "throttle.h"

#include "machine.h"
#include "points/slots.h"

#define HD_PART    throttle
#define HD_CFG     struct hd_throttle_cfg
#define HD_PART_OF "core/throttle.def"
#include "kit/rows.h"

enum {
#define HD_COUNTERS_OF "core/throttle.def"
#include "kit/rows.h"
};

enum { MOST = 64 }; /* cores of an application, as an answer is a bit set */

static uint64_t *throttle_count(struct hd_throttle *h, uint32_t app,
                                uint32_t counter)
{
    return hd_count(&h->stat, 0, app, counter);
}

bool hd_throttle_stands(const struct hd_throttle *h, uint32_t core)
{
    return h->since[core] != 0;
}

/* Counts for how long a core has stood until now. */
static void count_stood(struct hd_throttle *h, uint32_t core, hd_time now)
{
    hd_time since = h->since[core] - 1;

    *throttle_count(h, h->g->core[core].app, CYCLES) +=
        hd_recip_div(h->g->per_cycle, now) -
        hd_recip_div(h->g->per_cycle, since);
    h->since[core] = now + 1;
}

/* A core stops, or continues; the message takes its latency to arrive. */
static void throttle_set(struct hd_throttle *h, uint32_t core, bool on,
                         hd_time now)
{
    struct hd_gpu *g = h->g;
    hd_time at = now + hd_max_u64(g->ahead, g->cycle);

    if (hd_throttle_stands(h, core) == on)
        return;
    if (on) {
        ++*throttle_count(h, g->core[core].app, STOPS);
        h->since[core] = now + 1;
    } else {
        count_stood(h, core, now);
        ++*throttle_count(h, g->core[core].app, RESUMES);
        h->since[core] = 0;
    }
    hd_core_message(&g->core[core], hd_edge(g->env->clk, HD_CLK_CORE, at),
                    HD_MSG_STAND, on, 0);
}

/* The engine's own answer: all run. */
static int64_t all_run(void *self, const void *question)
{
    const struct heddle_q_core_throttle *q = question;

    (void)self;
    return (int64_t)hd_ones((uint32_t)q->n);
}

/* How much is allocated, and what memory holds of it. */
static void throttle_look(const struct hd_gpu *g,
                          struct heddle_q_core_throttle *q)
{
    hd_cross(g->env, HD_BORDER_policy);
    q->allocated = hd_ptables_allocated(g->tables);
    q->frames = hd_ptables_total(g->tables);
    q->capacity = hd_ptables_capacity(g->tables);
}

/* Asks for the cores of one application; `why` has the cause and what belongs
 * to a request. */
static void throttle_ask(struct hd_throttle *h, uint32_t app, uint32_t by,
                         const struct heddle_q_core_throttle *why, hd_time now)
{
    struct hd_gpu *g = h->g;
    uint64_t core[MOST], resident[MOST], faults[MOST], run;
    struct heddle_q_core_throttle q = *why;

    q.app = app;
    q.blocks = h->unended(h->self, app);
    q.is = g->env->is[app];
    q.core = core;
    q.resident = resident;
    q.faults = faults;
    throttle_look(g, &q);
    for (uint32_t i = 0; i < g->cores; i++) {
        if (g->core[i].app != app)
            continue;
        if (q.n == MOST) {
            hd_err_set(g->env->err, HEDDLE_ECONFIG,
                       "core_throttle: application %u has more than %d cores; "
                       "an answer is a set of that many at most",
                       app, MOST);
            return;
        }
        if (i == by)
            q.by = q.n;
        core[q.n] = i;
        resident[q.n] = h->resident(h->self, i);
        faults[q.n] = h->faults[i];
        q.running |= (uint64_t)!hd_throttle_stands(h, i) << q.n;
        q.n++;
    }
    if (by == HD_NONE)
        q.by = q.n;
    if (q.n == 0)
        return;
    run = (uint64_t)hd_ask_core_throttle(&h->slot, &q);
    run |= run == 0;
    for (uint32_t i = 0; i < q.n; i++)
        throttle_set(h, (uint32_t)core[i], !(run >> i & 1), now);
    h->place(h->self, app, now);
    hd_throttle_feed(h, app, now);
}

void hd_throttle_feed(struct hd_throttle *h, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = h->g;
    uint32_t first = HD_NONE;

    for (uint32_t i = 0; i < g->cores; i++) {
        if (g->core[i].app != app || h->resident(h->self, i) == 0)
            continue;
        if (!hd_throttle_stands(h, i))
            return;
        first = first == HD_NONE ? i : first;
    }
    if (first == HD_NONE)
        return;
    ++*throttle_count(h, app, FORCED);
    throttle_set(h, first, false, now);
}

void hd_throttle_launch(struct hd_throttle *h, uint32_t app, bool placed,
                        hd_time now)
{
    struct heddle_q_core_throttle q = {
        .cause = placed ? HEDDLE_THROTTLE_CAUSE_PLACED
                        : HEDDLE_THROTTLE_CAUSE_LAUNCH};

    if (HD_UNLIKELY(h->slot.bound))
        throttle_ask(h, app, HD_NONE, &q, now);
}

void hd_throttle_fault(struct hd_throttle *h, uint32_t core, hd_vpn page,
                       bool served, bool evicted, hd_time now)
{
    struct heddle_q_core_throttle q = {.cause =
                                           served ? HEDDLE_THROTTLE_CAUSE_SERVED
                                                  : HEDDLE_THROTTLE_CAUSE_FAULT,
                                       .vpn = page.v,
                                       .evicted = evicted};

    h->faults[core] += !served;
    if (HD_LIKELY(h->slot.bound))
        throttle_ask(h, h->g->core[core].app, core, &q, now);
}

/* ---- epochs ------------------------------------------------------------ */

static void throttle_again(struct hd_throttle *h, hd_time now)
{
    struct hd_gpu *g = h->g;

    h->s->posted = h->slot.bound;
    if (h->slot.bound)
        hd_post(g->env->ev, h->component, h->component,
                now + g->m->throttle.cycles * g->cycle, h->epoch, 0, 0);
}

void hd_throttle_epoch(struct hd_throttle *h, hd_time now)
{
    const struct hd_gpu *g = h->g;

    struct heddle_q_core_throttle q = {.cause = HEDDLE_THROTTLE_CAUSE_EPOCH};

    if (h->slot.bound) {
        for (uint32_t app = 0; app < g->env->apps; app++)
            throttle_ask(h, app, HD_NONE, &q, now);
    } else {
        for (uint32_t i = 0; i < g->cores; i++)
            throttle_set(h, i, false, now);
        for (uint32_t app = 0; app < g->env->apps; app++)
            h->place(h->self, app, now);
    }
    throttle_again(h, now);
}

static void throttle_bound(void *self)
{
    struct hd_throttle *h = self;

    if (h->slot.bound && !h->s->posted)
        throttle_again(h, hd_events_now(h->g->env->ev));
}

/* Counters are read: cores that stand have stood until now. */
static void throttle_sync(void *self, hd_time now)
{
    struct hd_throttle *h = self;

    for (uint32_t i = 0; i < h->g->cores; i++)
        if (hd_throttle_stands(h, i))
            count_stood(h, i, now);
}

static void throttle_stuck(void *self, uint32_t instance,
                           struct heddle_visitor *v)
{
    struct hd_throttle *h = self;

    (void)instance;
    for (uint32_t i = 0; i < h->g->cores; i++)
        if (hd_throttle_stands(h, i))
            hd_show_wait(v, "core", i, "core_throttle, to run again");
}

int hd_throttle_open(struct hd_throttle *h, struct hd_gpu *g)
{
    struct hd_env *env = g->env;

    h->g = g;
    h->s = hd_arena_take(env->arena, 1, sizeof *h->s);
    h->since = hd_arena_take(env->arena, g->cores, sizeof *h->since);
    h->faults = hd_arena_take(env->arena, g->cores, sizeof *h->faults);
    if (h->s == NULL || h->since == NULL || h->faults == NULL)
        return hd_err_memory(env->err);
    h->stat = hd_stats_group(env->stats, &hd_rows_throttle, 1);
    if (h->stat.v == NULL)
        return hd_err_memory(env->err);
    hd_slots_offer(env->slots, HEDDLE_POINT_core_throttle, "", &h->slot,
                   all_run, h);
    hd_env_part(env, (struct hd_part){.name = "throttle",
                                      .instances = 1,
                                      .self = h,
                                      .stuck = throttle_stuck,
                                      .sync = throttle_sync,
                                      .bound = throttle_bound});
    return 0;
}

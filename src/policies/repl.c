/*
 * repl.c - replacement policies in C: lru, fifo, random, srrip.
 *
 * Each serves every TLB and cache by the point repl_victim (asked only when the
 * set is full) and the notes repl_touch, repl_fill and repl_gone.  The state is
 * one cell for each entry, at index (instance * sets + set) * ways + way, in
 * the arena.  A twin of each is in policies/; these definitions are exact so
 * that both decide alike:
 *
 *   lru     A counter starts at 2^32.  A touch or a fill adds 1 and stamps
 *           the way with it.  A fill with `last` stamps it with one less than
 *           the least stamp, other than 0, of the set's other ways, or as
 *           usual if there is none.  Gone: stamp 0.  Victim: the lowest way
 *           among those with the least stamp.  Bound from the start it equals
 *           the default.
 *   fifo    As lru, but a touch does nothing.
 *   random  Victim: draw k of the n ways (heddle_draw), of a stream for each
 *           instance, whose victims k counts from 0.  `last` has no
 *           meaning here.
 *   srrip   Jaleel et al., High performance cache replacement using
 *           re-reference interval prediction, ISCA 2010, with hit priority.
 *           M = 2^bits - 1.  Fill: M - 1; with `last`: M.  Touch: 0.  Gone:
 *           M.  Victim: if no way has M, all ways of the set grow by what the
 *           largest one is short of M; then the lowest way that has M.
 *
 * Where ways are shared out among applications (l2cache.partition), a victim is
 * sought in those of the question's, `from` to `to`, as if they were the set.
 *
 * What is bound in the middle of a run finds stamps of 0 (or re-reference
 * values of 0) in entries that it has not seen.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

/* ---- cells ------------------------------------------------------------ */

static size_t repl_cells(const struct heddle_place *p)
{
    return (size_t)p->instances * p->sets * p->ways;
}

static size_t first_cell(uint64_t sets, uint64_t ways, uint64_t instance,
                         uint64_t set)
{
    return (size_t)((instance * sets + set) * ways);
}

/* ---- lru and fifo ----------------------------------------------------- */

struct stamps {
    uint64_t sets, ways, count;
    uint64_t v[]; /* 0: not in use */
};

static size_t stamps_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)params;
    return sizeof(struct stamps) + repl_cells(p) * sizeof(uint64_t);
}

static int stamps_init(void *state, const struct heddle_place *p,
                       const uint64_t *params)
{
    struct stamps *s = state;

    (void)params;
    s->sets = p->sets;
    s->ways = p->ways;
    s->count = 1ull << 32;
    return 0;
}

static void stamps_touch(void *state, const void *note)
{
    const struct heddle_n_repl_touch *n = note;
    struct stamps *s = state;

    s->v[first_cell(s->sets, s->ways, n->instance, n->set) + n->way] =
        ++s->count;
}

static void stamps_fill(void *state, const void *note)
{
    const struct heddle_n_repl_fill *n = note;
    struct stamps *s = state;
    uint64_t *v = &s->v[first_cell(s->sets, s->ways, n->instance, n->set)];
    uint64_t least = UINT64_MAX;

    if (n->last) {
        for (uint64_t w = 0; w < n->ways; w++)
            if (w != n->way && v[w] != 0 && v[w] < least)
                least = v[w];
    }
    v[n->way] = least != UINT64_MAX ? least - 1 : ++s->count;
}

static void stamps_gone(void *state, const void *note)
{
    const struct heddle_n_repl_gone *n = note;
    struct stamps *s = state;

    s->v[first_cell(s->sets, s->ways, n->instance, n->set) + n->way] = 0;
}

static int64_t stamps_victim(void *state, const void *question)
{
    const struct heddle_q_repl_victim *q = question;
    struct stamps *s = state;
    const uint64_t *v =
        &s->v[first_cell(s->sets, s->ways, q->instance, q->set)];
    uint64_t best = q->from;

    for (uint64_t w = best + 1; w <= q->to; w++)
        if (v[w] < v[best])
            best = w;
    return (int64_t)best;
}

static const struct heddle_param none[] = {{0}};

const struct heddle_policy hd_policy_lru = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lru",
    .summary = "replaces the entry that was used longest ago",
    .source = "textbook; the default of every TLB and cache",
    .params = none,
    .state_bytes = stamps_bytes,
    .init = stamps_init,
    .answer = {[HEDDLE_POINT_repl_victim] = stamps_victim},
    .watch = {[HEDDLE_NOTE_repl_touch] = stamps_touch,
              [HEDDLE_NOTE_repl_fill] = stamps_fill,
              [HEDDLE_NOTE_repl_gone] = stamps_gone},
};

const struct heddle_policy hd_policy_fifo = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "fifo",
    .summary = "replaces the entry that was filled longest ago",
    .source = "textbook",
    .params = none,
    .state_bytes = stamps_bytes,
    .init = stamps_init,
    .answer = {[HEDDLE_POINT_repl_victim] = stamps_victim},
    .watch = {[HEDDLE_NOTE_repl_fill] = stamps_fill,
              [HEDDLE_NOTE_repl_gone] = stamps_gone},
};

/* ---- random ----------------------------------------------------------- */

struct draws {
    uint64_t seed;
    uint64_t n[]; /* [instance] victims so far */
};

static size_t repl_draws_bytes(const struct heddle_place *p,
                               const uint64_t *params)
{
    (void)params;
    return sizeof(struct draws) + (size_t)p->instances * sizeof(uint64_t);
}

static int repl_draws_init(void *state, const struct heddle_place *p,
                           const uint64_t *params)
{
    struct draws *s = state;

    (void)params;
    s->seed = p->seed;
    return 0;
}

static int64_t draws_victim(void *state, const void *question)
{
    const struct heddle_q_repl_victim *q = question;
    struct draws *s = state;
    uint64_t *n = &s->n[q->instance];

    return (int64_t)(q->from + heddle_draw(s->seed + q->instance, (*n)++,
                                           q->to - q->from + 1));
}

const struct heddle_policy hd_policy_random = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "random",
    .summary = "replaces any entry of the set",
    .source = "textbook",
    .params = none,
    .state_bytes = repl_draws_bytes,
    .init = repl_draws_init,
    .answer = {[HEDDLE_POINT_repl_victim] = draws_victim},
};

/* ---- srrip ------------------------------------------------------------ */

struct rrpvs {
    uint64_t sets, ways, most;
    uint8_t v[];
};

static size_t rrpvs_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)params;
    return sizeof(struct rrpvs) + repl_cells(p);
}

static int rrpvs_init(void *state, const struct heddle_place *p,
                      const uint64_t *params)
{
    struct rrpvs *s = state;

    s->sets = p->sets;
    s->ways = p->ways;
    s->most = (1ull << params[0]) - 1;
    return 0;
}

static void rrpvs_touch(void *state, const void *note)
{
    const struct heddle_n_repl_touch *n = note;
    struct rrpvs *s = state;

    s->v[first_cell(s->sets, s->ways, n->instance, n->set) + n->way] = 0;
}

static void rrpvs_fill(void *state, const void *note)
{
    const struct heddle_n_repl_fill *n = note;
    struct rrpvs *s = state;

    s->v[first_cell(s->sets, s->ways, n->instance, n->set) + n->way] =
        (uint8_t)(n->last ? s->most : s->most - 1);
}

static void rrpvs_gone(void *state, const void *note)
{
    const struct heddle_n_repl_gone *n = note;
    struct rrpvs *s = state;

    s->v[first_cell(s->sets, s->ways, n->instance, n->set) + n->way] =
        (uint8_t)s->most;
}

static int64_t rrpvs_victim(void *state, const void *question)
{
    const struct heddle_q_repl_victim *q = question;
    struct rrpvs *s = state;
    uint8_t *v = &s->v[first_cell(s->sets, s->ways, q->instance, q->set)];
    uint64_t best = q->from;
    uint8_t short_by;

    for (uint64_t w = best + 1; w <= q->to; w++)
        if (v[w] > v[best])
            best = w;
    short_by = (uint8_t)(s->most - v[best]);
    for (uint64_t w = q->from; short_by != 0 && w <= q->to; w++)
        v[w] = (uint8_t)(v[w] + short_by);
    return (int64_t)best;
}

static const struct heddle_param rrpvs_params[] = {
    {"bits", "bits", 2, 1, 8, "width of a re-reference prediction value",
     "Jaleel 2010: 2 bits"},
    {0},
};

const struct heddle_policy hd_policy_srrip = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "srrip",
    .summary = "replaces an entry predicted to be used in the distant future",
    .source = "Jaleel et al., ISCA 2010 (SRRIP-HP)",
    .params = rrpvs_params,
    .state_bytes = rrpvs_bytes,
    .init = rrpvs_init,
    .answer = {[HEDDLE_POINT_repl_victim] = rrpvs_victim},
    .watch = {[HEDDLE_NOTE_repl_touch] = rrpvs_touch,
              [HEDDLE_NOTE_repl_fill] = rrpvs_fill,
              [HEDDLE_NOTE_repl_gone] = rrpvs_gone},
};

/*
 * walks.c - which walk a free walker takes: walkers that have owners (DWS), and
 * the walks of the instruction with the fewest first (Shin et al.).
 * policies/dws.lua and shortest_walks.lua are the same and tell the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "policy.h"

/* ---- dws ------------------------------------------------------------------
 */

enum { STEAL_IDLE, STEAL_NONE };

struct dws {
    uint64_t steal, apps;
    uint32_t taken[HEDDLE_MAX_APPS]; /* of each, not counted yet */
    int stolen;
};

static size_t dws_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct dws);
}

static int dws_init(void *state, const struct heddle_place *p,
                    const uint64_t *params)
{
    struct dws *s = state;

    *s = (struct dws){
        params[0], p->apps, {0}, heddle_own_number(p->sim, "dws", "stolen")};
    return 0;
}

static int64_t dws_pick(void *state, const void *question)
{
    const struct heddle_q_walk_pick *q = question;
    struct dws *s = state;
    uint64_t owner = q->walker * s->apps / q->walkers;

    for (uint64_t i = 0; i < q->n; i++)
        if (q->app[i] == owner)
            return (int64_t)i;
    if (s->steal == STEAL_NONE)
        return (int64_t)q->choices - 1;
    s->taken[q->app[0]]++;
    return 0;
}

/* A walk begins: here they can be counted. */
static void dws_begun(void *state, const void *note)
{
    const struct heddle_n_walk_start *n = note;
    struct dws *s = state;

    for (uint32_t app = 0; app < s->apps; app++) {
        if (s->taken[app] != 0)
            heddle_count(n->sim, s->stolen, app, s->taken[app]);
        s->taken[app] = 0;
    }
}

static const struct heddle_param dws_params[] = {
    {"steal", "idle|none", STEAL_IDLE, STEAL_IDLE, STEAL_NONE,
     "when a walker takes the walk of another owner",
     "DWS: when its own application has none; none: the static partition that "
     "it is compared with"},
    {0},
};

static const struct heddle_own dws_own[] = {
    {"stolen", "walks", "taken by another's walker", HEDDLE_OWN_COUNT}, {0}};

const struct heddle_policy hd_policy_dws = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "dws",
    .summary = "walkers have owners, and steal walks while their own has none",
    .source = "Pratheek, Jawalkar, Basu: Improving GPU Multi-tenancy with Page "
              "Walk Stealing, HPCA 2021",
    .params = dws_params,
    .state_bytes = dws_bytes,
    .init = dws_init,
    .answer = {[HEDDLE_POINT_walk_pick] = dws_pick},
    .watch = {[HEDDLE_NOTE_walk_start] = dws_begun},
    .own = dws_own,
};

/* ---- shortest_walks -------------------------------------------------------
 */

enum { AGING, TOGETHER };

struct shortest {
    uint64_t param[2];
    uint64_t core, warp, pc; /* of the walk that was taken last */
};

static size_t shortest_bytes(const struct heddle_place *p,
                             const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct shortest);
}

static int shortest_init(void *state, const struct heddle_place *p,
                         const uint64_t *params)
{
    (void)p;
    *(struct shortest *)state = (struct shortest){
        {params[AGING], params[TOGETHER]}, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    return 0;
}

static uint64_t shortest_of(const struct shortest *s,
                            const struct heddle_q_walk_pick *q)
{
    uint64_t best = 0; /* the oldest first */

    if (q->age[0] > s->param[AGING])
        return best;
    for (uint64_t i = 0; i < q->n; i++) {
        if (s->param[TOGETHER] && q->core[i] == s->core &&
            q->warp[i] == s->warp && q->pc[i] == s->pc)
            return i;
        if (q->left[i] < q->left[best])
            best = i;
    }
    return best;
}

static int64_t shortest_pick(void *state, const void *question)
{
    const struct heddle_q_walk_pick *q = question;
    struct shortest *s = state;
    uint64_t i = shortest_of(s, q);

    s->core = q->core[i];
    s->warp = q->warp[i];
    s->pc = q->pc[i];
    return (int64_t)i;
}

static const struct heddle_param shortest_params[] = {
    {"aging", "cycles", 20000, 0, 1000000000,
     "a walk that has waited longer comes first",
     "guess: the paper's threshold counts walks, 2 million"},
    {"together", "no|yes", 1, 0, 1,
     "walks of one instruction follow each other", "the paper: batching"},
    {0},
};

const struct heddle_policy hd_policy_shortest_walks = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "shortest_walks",
    .summary = "walks of the instruction with the fewest first, and together",
    .source = "Shin et al.: Scheduling Page Table Walks for Irregular GPU "
              "Applications, ISCA 2018",
    .params = shortest_params,
    .state_bytes = shortest_bytes,
    .init = shortest_init,
    .answer = {[HEDDLE_POINT_walk_pick] = shortest_pick},
};

/*
 * victim.c - which unit leaves memory: four answers to evict_victim.
 *
 * lru_migrated is the engine's default, said again by a search: the unit into
 * which a page came longest ago (NVIDIA's driver, ETC's "age-based LRU").
 * lru_accessed goes by the last walk that found a page of the unit, which is
 * what accessed bits can know; lfu by how many did.  random takes any, by the
 * draws of repl.c's.  Of equals the one goes into which a page came first: they
 * are offered in that order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../policy.h"

static const struct heddle_param none[] = {{0}};

/* The first of the n greatest. */
static int64_t greatest(const uint64_t *v, uint64_t n)
{
    uint64_t best = 0;

    for (uint64_t i = 1; i < n; i++)
        if (v[i] > v[best])
            best = i;
    return (int64_t)best;
}

static int64_t migrated(void *self, const void *question)
{
    const struct heddle_q_evict_victim *q = question;

    (void)self;
    return greatest(q->migrated, q->n);
}

static int64_t accessed(void *self, const void *question)
{
    const struct heddle_q_evict_victim *q = question;

    (void)self;
    return greatest(q->accessed, q->n);
}

static int64_t fewest(void *self, const void *question)
{
    const struct heddle_q_evict_victim *q = question;
    uint64_t best = 0;

    (void)self;
    for (uint64_t i = 1; i < q->n; i++)
        if (q->accesses[i] < q->accesses[best])
            best = i;
    return (int64_t)best;
}

struct draws {
    uint64_t seed, n;
};

static size_t draws_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct draws);
}

static int draws_init(void *state, const struct heddle_place *p,
                      const uint64_t *params)
{
    struct draws *s = state;

    (void)params;
    s->seed = p->seed;
    return 0;
}

static int64_t any(void *state, const void *question)
{
    const struct heddle_q_evict_victim *q = question;
    struct draws *s = state;
    uint64_t d = heddle_mix(heddle_mix(s->seed) + heddle_mix(s->n++));

    return (int64_t)((d >> 32) * q->n >> 32);
}

const struct heddle_policy hd_policy_lru_migrated = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lru_migrated",
    .summary = "evicts the unit into which a page came longest ago",
    .source = "NVIDIA's UVM driver; ETC (ASPLOS 2019): age-based LRU",
    .params = none,
    .answer = {[HEDDLE_POINT_evict_victim] = migrated},
};

const struct heddle_policy hd_policy_lru_accessed = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lru_accessed",
    .summary = "evicts the unit that a walk has found a page of longest ago",
    .source = "textbook",
    .params = none,
    .answer = {[HEDDLE_POINT_evict_victim] = accessed},
};

const struct heddle_policy hd_policy_lfu = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lfu",
    .summary = "evicts the unit that the fewest walks have found a page of",
    .source = "textbook; UVMSmart has one by accesses",
    .params = none,
    .answer = {[HEDDLE_POINT_evict_victim] = fewest},
};

const struct heddle_policy hd_policy_random_unit = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "random_unit",
    .summary = "evicts any unit",
    .source = "textbook",
    .params = none,
    .state_bytes = draws_bytes,
    .init = draws_init,
    .answer = {[HEDDLE_POINT_evict_victim] = any},
};

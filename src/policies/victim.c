/*
 * victim.c - which unit leaves memory: three answers to evict_victim.
 *
 * The engine's own is the unit into which a page came longest ago (NVIDIA's
 * driver, ETC's "age-based LRU").  lru_accessed goes by the last walk that
 * found a page of the unit, which is what accessed bits can know; lfu by how
 * many did.  random_unit takes any.  Of equals the one goes into which a page
 * came first: they are offered in that order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "policy.h"

static const struct heddle_param none[] = {{0}};

static int64_t accessed(void *self, const void *question)
{
    const struct heddle_q_evict_victim *q = question;
    uint64_t best = 0;

    (void)self;
    for (uint64_t i = 1; i < q->n; i++)
        if (q->accessed[i] > q->accessed[best])
            best = i;
    return (int64_t)best;
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

static size_t victim_draws_bytes(const struct heddle_place *p,
                                 const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct draws);
}

static int victim_draws_init(void *state, const struct heddle_place *p,
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

    return (int64_t)heddle_draw(s->seed, s->n++, q->n);
}

const struct heddle_policy hd_policy_lru_accessed = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lru_accessed",
    .summary = "evicts the unit of which a walk found a page longest ago",
    .source = "textbook",
    .params = none,
    .answer = {[HEDDLE_POINT_evict_victim] = accessed},
};

const struct heddle_policy hd_policy_lfu = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lfu",
    .summary = "evicts the unit of which the fewest walks found a page",
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
    .state_bytes = victim_draws_bytes,
    .init = victim_draws_init,
    .answer = {[HEDDLE_POINT_evict_victim] = any},
};

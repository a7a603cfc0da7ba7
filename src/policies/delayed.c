/*
 * delayed.c - a page migrates when it has been accessed remotely often enough:
 * delayed migration, static and adaptive, after Ganguly et al. (DATE 2020).
 * policies/delayed.lua is the same and tells the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include "policy.h"

enum { TD, ADAPT, PENALTY, PARAMS };

struct delayed {
    uint64_t param[PARAMS];
};

static size_t delayed_bytes(const struct heddle_place *p,
                            const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct delayed);
}

static int delayed_init(void *state, const struct heddle_place *p,
                        const uint64_t *params)
{
    struct delayed *s = state;

    (void)p;
    for (uint32_t i = 0; i < PARAMS; i++)
        s->param[i] = params[i];
    return 0;
}

static uint64_t threshold(const struct delayed *s,
                          const struct heddle_q_migrate *q)
{
    uint64_t td = s->param[TD];

    if (s->param[ADAPT] == 0)
        return td;
    if (q->evicted)
        return td * s->param[PENALTY] * (q->trips + 1);
    return 1 + td * (q->frames - q->free) / q->frames;
}

static int64_t migrate(void *state, const void *question)
{
    const struct heddle_q_migrate *q = question;
    uint64_t want = threshold(state, q), had = q->accesses + 1;

    if (q->writes || had >= want)
        return 0;
    return (int64_t)(want - had < q->most ? want - had : q->most - 1);
}

static const struct heddle_param params[] = {
    {"td", "accesses", 8, 1, 65535, "threshold", "Ganguly et al.: 8"},
    {"adapt", "", 0, 0, 1, "1: by how full memory is and what has been evicted",
     "Ganguly et al.: both"},
    {"penalty", "", 2, 1, 1000,
     "factor of the threshold once pages have been evicted",
     "Ganguly et al.: 2"},
    {0},
};

const struct heddle_policy hd_policy_delayed = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "delayed",
    .summary =
        "pages migrate when they have been accessed remotely often enough",
    .source = "Ganguly et al., DATE 2020",
    .params = params,
    .state_bytes = delayed_bytes,
    .init = delayed_init,
    .answer = {[HEDDLE_POINT_migrate] = migrate},
};

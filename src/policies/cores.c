/*
 * cores.c - a fixed partition of the cores among applications.
 *
 * Application i gets as many cores as its parameter says, in order: the first
 * application the lowest numbers.  Those with 0 share evenly what is left;
 * cores that no application is given go to the last application.  So an
 * oracle's partition is a table of numbers, not a script.
 *
 * SPDX-License-Identifier: MIT
 */

#include <inttypes.h>
#include <stdio.h>

#include "policy.h"

enum { NAMED = 8 };

struct cores {
    uint64_t apps, cores;
    uint64_t named;  /* cores that parameters give away */
    uint64_t beyond; /* a parameter above 0 without application: number + 1 */
    uint64_t end[NAMED]; /* first core behind those of each application */
};

static size_t cores_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct cores);
}

static int cores_init(void *state, const struct heddle_place *p,
                      const uint64_t *params)
{
    struct cores *s = state;
    uint64_t open = 0, at = 0, rest, k = 0;

    s->apps = p->apps < NAMED ? p->apps : NAMED;
    s->cores = p->cores;
    for (uint64_t i = 0; i < s->apps; i++) {
        s->named += params[i];
        open += params[i] == 0;
    }
    for (uint64_t i = s->apps; i < NAMED; i++)
        if (params[i] != 0)
            s->beyond = i + 1;
    if (s->named > p->cores) /* cores_start() says so */
        return 0;
    rest = p->cores - s->named;
    for (uint64_t i = 0; i < s->apps; i++) {
        uint64_t n = params[i];
        if (n == 0) {
            n = rest * (k + 1) / open - rest * k / open;
            k++;
        }
        at += n;
        s->end[i] = at;
    }
    return 0;
}

/* What cannot be had, in words. */
static void cores_start(void *state, heddle_sim *sim)
{
    const struct cores *s = state;
    char text[128];

    if (s->named > s->cores)
        snprintf(text, sizeof text,
                 "policy cores: %" PRIu64 " cores are given to applications, "
                 "the machine has %" PRIu64,
                 s->named, s->cores);
    else if (s->beyond != 0)
        snprintf(text, sizeof text,
                 "policy cores: app%" PRIu64 " is set, but applications are 0 "
                 "to %" PRIu64,
                 s->beyond - 1, s->apps - 1);
    else
        return;
    heddle_policy_fail(sim, text);
}

static int64_t cores_answer(void *state, const void *question)
{
    const struct heddle_q_core_partition *q = question;
    const struct cores *s = state;

    for (uint64_t i = 0; i < s->apps; i++)
        if (q->core < s->end[i])
            return (int64_t)i;
    return (int64_t)s->apps - 1;
}

#define CORES(n)                                                               \
    {                                                                          \
        .name = "app" #n, .unit = "cores", .min = 0, .max = 1024,              \
        .meaning = "of application " #n "; 0: an even share of what is left",  \
        .source = "chosen by the experiment"                                   \
    }

static const struct heddle_param params[] = {
    CORES(0), CORES(1), CORES(2), CORES(3), CORES(4),
    CORES(5), CORES(6), CORES(7), {0},
};

const struct heddle_policy hd_policy_cores = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "cores",
    .summary = "gives each application a fixed number of cores",
    .source = "MASK, ASPLOS 2018, section 6: partitions found by search",
    .params = params,
    .state_bytes = cores_bytes,
    .init = cores_init,
    .start = cores_start,
    .answer = {[HEDDLE_POINT_core_partition] = cores_answer},
};

/*
 * etc.c - ETC: which of its mechanisms an application gets.
 *
 * policies/etc.lua is the same and tells the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

enum { CLASSES, SHARING, THRESHOLD, SAMPLE, FREE_BYTES, PARAMS };

enum { PAGE_BYTES = 4096 };

struct etc {
    uint64_t param[PARAMS];
    uint8_t is[HEDDLE_MAX_APPS]; /* enum heddle_app_class */
    bool on;                     /* more has been allocated than memory has */
};

static size_t etc_bytes(const struct heddle_place *p, const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct etc);
}

static int etc_init(void *state, const struct heddle_place *p,
                    const uint64_t *params)
{
    struct etc *e = state;

    (void)p;
    for (uint32_t i = 0; i < PARAMS; i++)
        e->param[i] = params[i];
    return 0;
}

/* What the list says of an application. */
static uint64_t etc_listed(const struct etc *e, uint64_t app)
{
    uint64_t list = e->param[CLASSES];

    while (app-- > 0)
        list /= 10;
    return list % 10 <= HEDDLE_APP_CLASS_IRREGULAR ? list % 10 : 0;
}

static int64_t etc_classify(void *state, const void *question)
{
    struct etc *e = state;
    const struct heddle_q_app_classify *q = question;
    uint64_t is = etc_listed(e, q->app);

    if (is == HEDDLE_APP_CLASS_UNKNOWN && q->lines > 0)
        is = q->lanes < e->param[THRESHOLD] * q->lines
                 ? HEDDLE_APP_CLASS_IRREGULAR
             : e->param[SHARING] >> q->app & 1 ? HEDDLE_APP_CLASS_SHARING
                                               : HEDDLE_APP_CLASS_REGULAR;
    e->is[q->app] = (uint8_t)is;
    return (int64_t)is;
}

static int64_t trigger(void *state, const void *question)
{
    const struct etc *e = state;
    const struct heddle_q_evict_trigger *q = question;
    uint8_t is = e->is[q->app];

    return q->allocated > q->capacity &&
           (is == HEDDLE_APP_CLASS_REGULAR || is == HEDDLE_APP_CLASS_SHARING) &&
           q->cause == HEDDLE_EVICT_CAUSE_TAKEN &&
           q->free * PAGE_BYTES < e->param[FREE_BYTES];
}

static int64_t compress(void *state, const void *question)
{
    struct etc *e = state;
    const struct heddle_q_page_compress *q = question;

    e->on = e->on || q->allocated > q->frames;
    return e->on && e->is[q->app] >= HEDDLE_APP_CLASS_SHARING;
}

static uint64_t etc_period(const void *state)
{
    return ((const struct etc *)state)->param[SAMPLE];
}

/* What there is to do at its end the engine asks for. */
static void etc_epoch(void *state, heddle_sim *s, uint64_t cycle)
{
    (void)state, (void)s, (void)cycle;
}

static const struct heddle_param params[] = {
    {"classes", "", 0, 0, 1000000000000000000,
     "a digit for each application, the last for the first: 1 regular, 2 "
     "regular and sharing, 3 irregular, 0: as its samples say",
     "ETC's list, annotated"},
    {"sharing", "", 0, 0, 65535,
     "bit set of applications whose kernels share data, for samples",
     "ETC's list, annotated"},
    {"threshold", "lanes a line", 10, 1, 128,
     "coalescing factor below which a program is irregular", "ETC 4.1"},
    {"sample", "cycles", 50000, 100, 1000000000, "time between two samples",
     "ETC 4.1"},
    {"free_bytes", "bytes", 2097152, 4096, 1ull << 44,
     "free memory below which pages are evicted proactively", "ETC 4.2"},
    {0},
};

const struct heddle_policy hd_policy_etc = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "etc",
    .summary = "proactive eviction, or compression, by kind of program",
    .source = "Li et al. (ETC), ASPLOS 2019, section 4",
    .params = params,
    .state_bytes = etc_bytes,
    .init = etc_init,
    .period = etc_period,
    .epoch = etc_epoch,
    .answer = {[HEDDLE_POINT_app_classify] = etc_classify,
               [HEDDLE_POINT_evict_trigger] = trigger,
               [HEDDLE_POINT_page_compress] = compress},
};

/*
 * throttle.c - fewer cores at work where memory is oversubscribed.
 *
 * Naive and memory-aware throttling after ETC (Li et al., ASPLOS 2019, section
 * 4.3).  policies/throttle.lua is the same and tells the rules.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

enum { ADAPT, SHARE, DETECT, EXECUTE, STEP, RELEASE, HOLD, IRREGULAR, PARAMS };

enum { MOST = 64 }; /* cores of an application that a question can name */

enum { DETECTION, FAULT, EXECUTION };

struct app {
    uint8_t stack[MOST]; /* places of cores that stand, the latest last */
    uint64_t n, stands;  /* how many; and as a bit set */
    uint64_t left, by, vpn; /* epochs; of the fault that ended a detection */
    uint8_t now;
    bool started, evicted;
};

struct throttle {
    uint64_t param[PARAMS];
    struct app app[HEDDLE_MAX_APPS];
};

static size_t throttle_bytes(const struct heddle_place *p,
                             const uint64_t *params)
{
    (void)p, (void)params;
    return sizeof(struct throttle);
}

static int throttle_init(void *state, const struct heddle_place *p,
                         const uint64_t *params)
{
    struct throttle *t = state;

    for (uint32_t i = 0; i < PARAMS; i++)
        t->param[i] = params[i];
    for (uint32_t a = 0; a < p->apps && a < HEDDLE_MAX_APPS; a++)
        t->app[a].left = params[DETECT];
    return 0;
}

static void stop(struct app *s, const struct heddle_q_core_throttle *q,
                 uint64_t place)
{
    if ((s->stands >> place & 1) == 0 && s->n + 1 < q->n) {
        s->stands |= 1ull << place;
        s->stack[s->n++] = (uint8_t)place;
    }
}

static void throttle_proceed(struct app *s)
{
    if (s->n > 0)
        s->stands &= ~(1ull << s->stack[--s->n]);
}

/* A launch starts: the lowest cores run, of as many as get a block. */
static void halve(const struct throttle *t, struct app *s,
                  const struct heddle_q_core_throttle *q)
{
    uint64_t work = q->blocks < q->n ? q->blocks : q->n;
    uint64_t run = (work * t->param[SHARE] + 99) / 100;

    s->n = s->stands = 0;
    for (uint64_t place = q->n; place-- > (run > 0 ? run : 1);)
        stop(s, q, place);
}

/* Cores that the engine has let run, since no other had a block. */
static void throttle_forget(struct app *s,
                            const struct heddle_q_core_throttle *q)
{
    uint64_t kept = 0;

    for (uint64_t i = 0; i < s->n; i++) {
        uint8_t place = s->stack[i];
        if (q->running >> place & 1)
            s->stands &= ~(1ull << place);
        else
            s->stack[kept++] = place;
    }
    s->n = kept;
}

static void throttle_begin(struct app *s, uint8_t now, uint64_t left)
{
    s->now = now;
    s->left = left;
    s->evicted = false;
}

/* The fault that has ended the detection was served, and pages were evicted. */
static void throttle_cores(const struct throttle *t, struct app *s,
                           const struct heddle_q_core_throttle *q)
{
    uint64_t n = t->param[STEP];

    stop(s, q, q->by);
    for (uint64_t place = q->n; place-- > 0 && n > 1;)
        if ((s->stands >> place & 1) == 0) {
            stop(s, q, place);
            n--;
        }
}

static void throttle_epoch(const struct throttle *t, struct app *s)
{
    if (s->now == FAULT || --s->left > 0)
        return;
    if (s->now == EXECUTION) {
        throttle_begin(s, DETECTION, t->param[DETECT]);
        return;
    }
    for (uint64_t i = 0; i < t->param[RELEASE]; i++)
        throttle_proceed(s);
    throttle_begin(s, EXECUTION, t->param[EXECUTE]);
}

/* A request of a core waits for the host, or has been served. */
static void throttle_fault(const struct throttle *t, struct app *s,
                           const struct heddle_q_core_throttle *q)
{
    if (s->now == DETECTION && q->cause == HEDDLE_THROTTLE_CAUSE_FAULT &&
        (s->stands >> q->by & 1) == 0) {
        s->now = FAULT;
        s->by = q->by;
        s->vpn = q->vpn;
    } else if (s->now == FAULT && q->cause == HEDDLE_THROTTLE_CAUSE_SERVED &&
               q->by == s->by && q->vpn == s->vpn) {
        if (s->evicted || q->evicted)
            throttle_cores(t, s, q);
        throttle_begin(s, EXECUTION, t->param[EXECUTE]);
    }
}

static int64_t cores(void *state, const void *question)
{
    struct throttle *t = state;
    const struct heddle_q_core_throttle *q = question;
    struct app *s = &t->app[q->app];
    bool adapt = t->param[ADAPT] != 0, only = t->param[IRREGULAR] != 0;
    bool other = only && q->is != HEDDLE_APP_CLASS_IRREGULAR;

    throttle_forget(s, q);
    if (!adapt && q->cause == HEDDLE_THROTTLE_CAUSE_LAUNCH)
        s->n = s->stands = 0;
    if (other || (adapt && q->allocated <= q->capacity)) {
        s->n = s->stands = 0;
        s->started = s->started && !other;
        throttle_begin(s, DETECTION, t->param[DETECT]);
    } else if (q->cause == (t->param[HOLD] ? HEDDLE_THROTTLE_CAUSE_PLACED
                                           : HEDDLE_THROTTLE_CAUSE_LAUNCH) ||
               (only && !s->started)) {
        if (!s->started || !adapt)
            halve(t, s, q);
        s->started = true;
    } else if (adapt && q->cause == HEDDLE_THROTTLE_CAUSE_EPOCH) {
        throttle_epoch(t, s);
    } else if (adapt) {
        throttle_fault(t, s, q);
    }
    return (int64_t)(~s->stands & (q->n < 64 ? (1ull << q->n) - 1 : ~0ull));
}

static void throttle_evicted(void *state, const void *note)
{
    const struct heddle_n_page_evicted *n = note;
    struct app *s = &((struct throttle *)state)->app[n->app];

    s->evicted = s->evicted || s->now == DETECTION;
}

static const struct heddle_param params[] = {
    {"adapt", "", 1, 0, 1,
     "1: memory-aware throttling; 0: naive, stopped cores stay stopped",
     "ETC 4.3"},
    {"share", "percent", 50, 1, 100,
     "of the cores that get work, those that run at the start", "ETC 4.3"},
    {"detect", "epochs", 5, 1, 1000000, "length of a detection",
     "guess: ETC gives none"},
    {"execute", "epochs", 20, 1, 1000000, "length of an execution",
     "guess: ETC gives none"},
    {"step", "cores", 1, 1, 64, "cores that stop at a time",
     "ETC 5, Design Parameters; 6.4"},
    {"release", "cores", 1, 1, 64, "cores that resume at a time",
     "ETC 5, Design Parameters; 6.4"},
    {"hold", "", 0, 0, 1,
     "1: cores that stop at a launch have got blocks before, which wait there; "
     "0: the other cores get all blocks",
     "guess: ETC does not say"},
    {"irregular", "", 0, 0, 1,
     "1: only applications that app_classify calls irregular", "ETC 4"},
    {0},
};

const struct heddle_policy hd_policy_throttle = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "throttle",
    .summary = "fewer cores run while far faults evict pages",
    .source = "Li et al. (ETC), ASPLOS 2019, section 4.3",
    .params = params,
    .state_bytes = throttle_bytes,
    .init = throttle_init,
    .answer = {[HEDDLE_POINT_core_throttle] = cores},
    .watch = {[HEDDLE_NOTE_page_evicted] = throttle_evicted},
};

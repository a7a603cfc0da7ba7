/*
 * ask.c - the wrapper around a policy's answer: count, pass on, check.
 *
 * A wrapper sits in a slot only while a policy is bound there.  It counts the
 * question, asks the policy, lets the default answer where the policy passes,
 * and checks the answer by the kind that points.def gives.  A bad answer is
 * recorded as an error that names the point, the cycle, the question and the
 * answer; the default then answers, so that the engine returns safely to the
 * loop that sees the error.  After an error no policy is asked again.
 *
 * One function serves all points of a kind: what differs (where the limit and
 * the application stand in the question) is in the offer.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "registry.h"

enum { SHOWN = 8 }; /* elements of an array that an error shows */

static uint64_t word(const void *question, size_t offset)
{
    uint64_t v;

    memcpy(&v, (const char *)question + offset, sizeof v);
    return v;
}

static const uint64_t *array(const void *question, size_t offset)
{
    const uint64_t *p;

    memcpy(&p, (const char *)question + offset, sizeof p);
    return p;
}

/* ---- bad answers ------------------------------------------------------ */

static size_t show_field(char *out, size_t room, const void *q,
                         const struct heddle_point_info *info,
                         const struct heddle_field_info *f)
{
    const uint64_t *v;
    uint64_t n = 0;
    size_t at;

    if (f->count == NULL)
        return (size_t)snprintf(out, room, " %s=%" PRIu64, f->name,
                                word(q, f->offset));
    for (uint32_t i = 0; i < info->fields; i++)
        if (strcmp(info->field[i].name, f->count) == 0)
            n = word(q, info->field[i].offset);
    v = array(q, f->offset);
    at = (size_t)snprintf(out, room, " %s={", f->name);
    for (uint64_t i = 0; i < n && i < SHOWN && at < room; i++)
        at += (size_t)snprintf(out + at, room - at, "%s%" PRIu64, i ? "," : "",
                               v[i]);
    if (at < room)
        at += (size_t)snprintf(out + at, room - at, "%s}",
                               n > SHOWN ? ",.." : "");
    return at;
}

static void tell(const struct hd_offer *o, const void *q, int64_t answer,
                 const char *rule, struct hd_err *err)
{
    const struct heddle_point_info *info = o->info;
    struct hd_env *env = o->r->env;
    char question[600] = "";
    size_t at = 0;

    for (uint32_t i = 0; i < info->fields && at < sizeof question; i++)
        at += show_field(question + at, sizeof question - at, q, info,
                         &info->field[i]);
    hd_err_set(err, HEDDLE_EPOLICY,
               "policy %s answered %" PRId64 " to %s%s%s at cycle %" PRIu64
               ", expected %s; the question:%s",
               o->by->policy->name, answer, info->name,
               o->r->at[o->at].name[0] ? " of " : "", o->r->at[o->at].name,
               hd_cycle(env->clk, HD_CLK_CORE, hd_events_now(env->ev)), rule,
               question);
}

static void bad(const struct hd_offer *o, const void *q, int64_t answer,
                const char *rule)
{
    tell(o, q, answer, rule, o->r->env->err);
}

void hd_slots_refuse(const struct hd_slot *slot, enum heddle_point p,
                     const void *question, int64_t answer, const char *rule,
                     struct hd_err *err)
{
    if (slot->fn == hd_ask_wrapper(p))
        tell(slot->self, question, answer, rule, err);
    else /* somebody listens in between */
        hd_err_set(err, HEDDLE_EPOLICY,
                   "point %s: %" PRId64 " was answered, expected %s",
                   heddle_point_info(p)->name, answer, rule);
}

/* ---- the wrappers ----------------------------------------------------- */

static uint64_t *counters(const struct hd_offer *o, const void *q)
{
    uint32_t app = HD_APP_NONE;

    if (o->app_offset != HD_NONE)
        app = (uint32_t)word(q, o->app_offset);
    return hd_count(&o->r->stat, 0, app, 2 * o->point);
}

static int64_t fall_back(const struct hd_offer *o, const void *q)
{
    return o->def(o->def_self, q);
}

/* Asks the policy; HEDDLE_PASS when it passes or has failed. */
static inline int64_t consult(const struct hd_offer *o, const void *q)
{
    uint64_t *c = counters(o, q);
    int64_t a;

    if (HD_UNLIKELY(o->r->env->err->code < 0))
        return HEDDLE_PASS;
    c[0]++;
    a = o->fn(o->state, q);
    c[1] += a == HEDDLE_PASS;
    return a;
}

/* The default's bookkeeping goes on, so that the policy may pass later. */
static int64_t ask_none(void *self, const void *q)
{
    const struct hd_offer *o = self;

    fall_back(o, q);
    if (o->r->env->err->code >= 0) {
        counters(o, q)[0]++;
        o->fn(o->state, q);
    }
    return 0;
}

static int64_t ask_below(struct hd_offer *o, const void *q, uint64_t limit,
                         const char *what)
{
    int64_t a = consult(o, q);
    char rule[96];

    if (a == HEDDLE_PASS)
        return fall_back(o, q);
    if (HD_LIKELY((uint64_t)a < limit))
        return a;
    snprintf(rule, sizeof rule, what, limit - 1);
    bad(o, q, a, rule);
    return fall_back(o, q);
}

static int64_t ask_index(void *self, const void *q)
{
    struct hd_offer *o = self;

    return ask_below(o, q, word(q, o->limit_offset), "0 to %" PRIu64);
}

static int64_t ask_value(void *self, const void *q)
{
    struct hd_offer *o = self;

    return ask_below(o, q, word(q, o->limit_offset) + 1, "0 to %" PRIu64);
}

static int64_t ask_bool(void *self, const void *q)
{
    return ask_below(self, q, 2, "0 or %" PRIu64);
}

static int64_t ask_choice(void *self, const void *q)
{
    struct hd_offer *o = self;
    int64_t a = consult(o, q);
    char rule[96];

    if (a == HEDDLE_PASS)
        return fall_back(o, q);
    if (HD_LIKELY((uint64_t)a < o->choices))
        return a;
    snprintf(rule, sizeof rule, "0 to %" PRIu32 " (%s)", o->choices - 1,
             o->info->limit);
    bad(o, q, a, rule);
    return fall_back(o, q);
}

static int64_t ask_subset(void *self, const void *q)
{
    struct hd_offer *o = self;
    int64_t a = consult(o, q);
    uint64_t n = word(q, o->limit_offset);
    char rule[96];

    if (a == HEDDLE_PASS)
        return fall_back(o, q);
    if (n >= 64 || (uint64_t)a >> n == 0)
        return a;
    snprintf(rule, sizeof rule, "a bit set of %" PRIu64 " members", n);
    bad(o, q, a, rule);
    return fall_back(o, q);
}

static int64_t ask_member(void *self, const void *q)
{
    struct hd_offer *o = self;
    int64_t a = consult(o, q);
    uint64_t set = word(q, o->limit_offset), member = a & ~HEDDLE_ONCE;
    char rule[96];

    if (a == HEDDLE_PASS)
        return fall_back(o, q);
    if (HD_LIKELY(member < 64 && (set >> member & 1)))
        return a;
    snprintf(rule, sizeof rule, "a member of the bit set %s", o->info->limit);
    bad(o, q, a, rule);
    return fall_back(o, q);
}

heddle_answer *hd_ask_wrapper(enum heddle_point p)
{
    switch (heddle_point_info(p)->kind) {
    case HEDDLE_NONE:
        return ask_none;
    case HEDDLE_INDEX:
        return ask_index;
    case HEDDLE_BOOL:
        return ask_bool;
    case HEDDLE_CHOICE:
        return ask_choice;
    case HEDDLE_VALUE:
        return ask_value;
    case HEDDLE_SUBSET:
        return ask_subset;
    case HEDDLE_MEMBER:
        return ask_member;
    }
    return NULL;
}

/*
 * ask.c - the wrapper around a policy's answer: count, pass on, check; and
 * hearing decisions.
 *
 * A wrapper sits in a slot only while a policy is bound there.  It counts the
 * question, asks the policy, lets the default answer where the policy passes,
 * and checks the answer by the kind that points.def gives.  A bad answer is
 * recorded as an error that names the point, the cycle, the question and the
 * answer; the default then answers, so that the engine returns safely to the
 * loop that sees the error.  After an error no policy is asked again.
 *
 * One function serves all points: what differs (the kind of answer, where the
 * limit and the application stand in the question) is in the offer.
 *
 * A listener is told the question and the answer that counts of each slot of
 * some points, after its owner - a policy through that wrapper, or the default
 * - has answered.  A point that no policy is bound to is then asked like one
 * that a policy is bound to, so a part's shortcut around its own default is
 * not taken; a part promises that this changes nothing else (slots.h).
 * Listening is wiring: snapshots know nothing of it.  Policies are bound before
 * and unbound after.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "sim.h"
#include "registry.h"

enum { SHOWN = 8 }; /* elements of an array that an error shows */

static uint64_t ask_word(const void *question, size_t offset)
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
                                ask_word(q, f->offset));
    for (uint32_t i = 0; i < info->fields; i++)
        if (strcmp(info->field[i].name, f->count) == 0)
            n = ask_word(q, info->field[i].offset);
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

static void ask_tell(const struct hd_offer *o, const void *q, int64_t answer,
                     const char *rule, struct heddle_error *err)
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

void hd_slots_refuse(const struct hd_slot *slot, enum heddle_point p,
                     const void *question, int64_t answer, const char *rule,
                     struct heddle_error *err)
{
    const struct hd_offer *o = slot->bound ? slot->self : NULL;

    if (o != NULL && o->by != NULL)
        ask_tell(o, question, answer, rule, err);
    else /* a listener of the default */
        hd_err_set(err, HEDDLE_EPOLICY,
                   "point %s: %" PRId64 " was answered, expected %s",
                   heddle_point_info(p)->name, answer, rule);
}

/* ---- the wrappers ----------------------------------------------------- */

static uint64_t *ask_counters(const struct hd_offer *o, const void *q)
{
    uint32_t app = HD_APP_NONE;

    if (o->app_offset != HD_NONE)
        app = (uint32_t)ask_word(q, o->app_offset);
    return hd_count(&o->r->stat, 0, app, HD_ASKS * o->point);
}

/* Whether an answer keeps to the rule of its kind. */
static bool good(const struct hd_offer *o, const void *q, uint64_t a)
{
    uint64_t limit =
        o->limit_offset != HD_NONE ? ask_word(q, o->limit_offset) : 0;

    switch (o->info->kind) {
    case HEDDLE_INDEX:
        return a < limit;
    case HEDDLE_BOOL:
        return a < 2;
    case HEDDLE_CHOICE:
        return a < o->choices;
    case HEDDLE_VALUE:
        return a <= limit;
    case HEDDLE_SUBSET:
        return limit >= 64 || a >> limit == 0;
    case HEDDLE_MEMBER:
        a &= ~(uint64_t)HEDDLE_ONCE;
        return a < 64 && (limit >> a & 1);
    default:
        return true;
    }
}

/* The rule in words. */
static void ask_bad(const struct hd_offer *o, const void *q, int64_t a)
{
    uint64_t limit =
        o->limit_offset != HD_NONE ? ask_word(q, o->limit_offset) : 1;
    char rule[160];

    if (o->info->kind == HEDDLE_CHOICE)
        snprintf(rule, sizeof rule, "0 to %" PRIu32 " (%s)", o->choices - 1,
                 o->info->limit);
    else if (o->info->kind == HEDDLE_MEMBER)
        snprintf(rule, sizeof rule, "a member of the bit set %s",
                 o->info->limit);
    else if (o->info->kind == HEDDLE_SUBSET)
        snprintf(rule, sizeof rule, "a bit set of %" PRIu64 " members", limit);
    else if (o->info->kind == HEDDLE_BOOL)
        snprintf(rule, sizeof rule, "0 or 1");
    else
        snprintf(rule, sizeof rule, "0 to %" PRIu64,
                 limit - (o->info->kind == HEDDLE_INDEX));
    ask_tell(o, q, a, rule, o->r->env->err);
}

/* After an error no policy is asked again. */
static int64_t ask_bound(void *self, const void *q)
{
    const struct hd_offer *o = self;
    uint64_t *count = ask_counters(o, q);
    int64_t a;

    hd_cross(o->r->env, HD_BORDER_policy);
    if (HD_UNLIKELY(o->r->env->err->code < 0))
        return o->def(o->def_self, q);
    count[HD_ASKED]++;
    a = o->fn(o->state, q);
    if (a == HEDDLE_PASS)
        count[HD_PASSED]++;
    else if (HD_LIKELY(good(o, q, (uint64_t)a)))
        return a;
    else
        ask_bad(o, q, a);
    return o->def(o->def_self, q);
}

/* The function that answers: the default, or the policy. */
static heddle_answer *answering(const struct hd_offer *o)
{
    return o->by == NULL ? o->def : ask_bound;
}

/* ---- listening ---------------------------------------------------------- */

/* Asks, then tells the listener the answer that counts. */
static int64_t hear(void *self, const void *q)
{
    struct hd_offer *o = self;
    const struct hd_slots_registry *r = o->r;
    struct heddle_decision d = {
        .point = o->point,
        .at = r->at[o->at].name,
        .instance = o->instance,
        .cycle = hd_cycle(r->env->clk, HD_CLK_CORE, hd_events_now(r->env->ev)),
        .question = q,
        .answer = answering(o)(o->by != NULL ? o : o->def_self, q)};

    hd_cross(r->env, HD_BORDER_policy);
    r->listener(r->listener_ud, &d);
    return d.answer;
}

void hd_ask_wire(struct hd_offer *o)
{
    bool heard = o->r->listener != NULL && o->r->heard[o->point];

    o->slot->fn = heard ? hear : answering(o);
    o->slot->self = heard || o->by != NULL ? o : o->def_self;
    o->slot->bound = heard || o->by != NULL;
}

static void wire_all(struct hd_slots_registry *r)
{
    for (uint32_t i = 0; i < r->offers; i++)
        hd_ask_wire(r->offer[i]);
    hd_env_bound(r->env);
}

int heddle_listen(heddle_sim *s, const uint8_t *points, heddle_listener *fn,
                  void *ud)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    int heard = 0;

    if (r->listener != NULL)
        return hd_err_set(&r->error, HEDDLE_EPOLICY,
                          "this simulation has a listener already");
    r->listener = fn;
    r->listener_ud = ud;
    memcpy(r->heard, points, sizeof r->heard);
    wire_all(r);
    for (uint32_t i = 0; i < r->offers; i++)
        heard += points[r->offer[i]->point] != 0;
    return heard;
}

void hd_listen_end(struct hd_slots_registry *r)
{
    if (r->listener == NULL)
        return;
    r->listener = NULL;
    wire_all(r);
}

void heddle_unlisten(heddle_sim *s)
{
    hd_listen_end(hd_sim_env(s)->slots->registry);
}

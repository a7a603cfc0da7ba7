/*
 * listen.c - hearing decisions: every question of some points, and its answer.
 *
 * Listening puts an ear around each slot of the points: it lets the slot's
 * owner answer - a policy through its checking wrapper, or the default - and
 * then tells the listener the question and the answer that counts.  A point
 * that nobody is bound to is asked like one that somebody is, so a part's
 * shortcut around its own default is not taken; a part promises that this
 * changes nothing else (slots.h).
 *
 * Ears are wiring: snapshots know nothing of them.  While they are there, the
 * slots belong to them, so policies are bound before and unbound after.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>

#include "../sim.h"
#include "registry.h"

struct ear {
    struct hd_slot inner; /* what was in the slot */
    struct hd_slot *slot;
    struct hd_listening *all;
    uint32_t point, at, instance;
};

struct hd_listening {
    heddle_listener *fn;
    void *ud;
    struct hd_slots_registry *r;
    uint32_t ears;
    struct ear ear[];
};

static int64_t hear(void *self, const void *question)
{
    const struct ear *e = self;
    const struct hd_listening *l = e->all;
    const struct hd_env *env = l->r->env;
    int64_t answer = e->inner.fn(e->inner.self, question);
    struct heddle_decision d = {
        .point = e->point,
        .at = l->r->at[e->at].name,
        .instance = e->instance,
        .cycle = hd_cycle(env->clk, HD_CLK_CORE, hd_events_now(env->ev)),
        .question = question,
        .answer = answer};

    l->fn(l->ud, &d);
    return answer;
}

/* How many slots of the same point and structure were offered before. */
static uint32_t instance_of(const struct hd_slots_registry *r, uint32_t i)
{
    uint32_t n = 0;

    for (uint32_t k = 0; k < i; k++)
        n += r->offer[k]->point == r->offer[i]->point &&
             r->offer[k]->at == r->offer[i]->at;
    return n;
}

bool hd_slots_answered(const struct hd_slots *s, enum heddle_point p)
{
    const struct hd_slots_registry *r = s->registry;

    for (uint32_t i = 0; i < r->offers; i++)
        if (r->offer[i]->point == (uint32_t)p && r->offer[i]->by != NULL)
            return true;
    return false;
}

int heddle_answered(const heddle_sim *s, enum heddle_point p)
{
    return hd_slots_answered(hd_sim_env(s)->slots, p);
}

int heddle_listen(heddle_sim *s, const uint8_t *points, heddle_listener *fn,
                  void *ud)
{
    struct hd_slots_registry *r = hd_sim_env(s)->slots->registry;
    struct hd_listening *l;

    if (r->listening != NULL)
        return hd_err_set(&r->error, HEDDLE_EPOLICY,
                          "somebody listens to this simulation already");
    l = calloc(1, sizeof *l + r->offers * sizeof l->ear[0]);
    if (l == NULL)
        return hd_err_memory(&r->error);
    l->fn = fn;
    l->ud = ud;
    l->r = r;
    for (uint32_t i = 0; i < r->offers; i++) {
        struct hd_offer *o = r->offer[i];
        struct ear *e = &l->ear[l->ears];
        if (!points[o->point])
            continue;
        *e = (struct ear){.inner = *o->slot,
                          .slot = o->slot,
                          .all = l,
                          .point = o->point,
                          .at = o->at,
                          .instance = instance_of(r, i)};
        *o->slot = (struct hd_slot){hear, e, 1};
        l->ears++;
    }
    r->listening = l;
    hd_env_bound(r->env);
    return (int)l->ears;
}

void heddle_unlisten(heddle_sim *s)
{
    hd_listen_end(hd_sim_env(s)->slots->registry);
}

void hd_listen_end(struct hd_slots_registry *r)
{
    struct hd_listening *l = r->listening;

    if (l == NULL)
        return;
    for (uint32_t i = 0; i < l->ears; i++)
        *l->ear[i].slot = l->ear[i].inner;
    r->listening = NULL;
    free(l);
    hd_env_bound(r->env);
}

/*
 * limit.c - which warps may load (warp_limit), for policies that throttle
 * warps.
 *
 * Cache-conscious wavefront scheduling (Rogers, O'Connor, Aamodt, MICRO 2012)
 * and its TLB-aware successors (Pichai et al., ASPLOS 2014) keep warps from
 * loading while others lose locality.  A policy's answer is a set of warps and
 * holds for core.limit_cycles, or as long as it says; it is asked again when
 * the answer is over, when a block begins, and when a policy has changed its
 * mind.  Other instructions of a warp that may not load still issue.
 *
 * Without a policy the set is that of the steering table warp_limit, all warps
 * by default, and holds until the table changes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "issue.h"

/* Sees to it that the core hears when what was answered is over. */
static void limit_expect(struct hd_core *c)
{
    struct hd_core_state *s = c->s;

    if (s->limit_until >= s->limit_at)
        return;
    s->limit_at = s->limit_until;
    hd_core_message(c, s->limit_at, HD_MSG_LIMIT, 0, 0);
}

/* Until when an answer of t holds. */
static hd_time limit_holds(const struct hd_core *c,
                           const struct heddle_q_warp_limit *q, hd_time t,
                           int64_t answer)
{
    const struct hd_gpu *g = c->gpu;

    if (q->holds == 0)
        return t + g->m->core.limit_cycles * g->cycle;
    if (q->holds <= q->cycle)
        hd_slots_refuse(&c->limit, HEDDLE_POINT_warp_limit, q, answer,
                        "`holds` to be 0 or a later cycle", g->env->err);
    return q->holds < INT64_MAX / g->cycle ? q->holds * g->cycle : HD_NEVER;
}

void hd_limit_ask(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;
    struct heddle_q_warp_limit q = {0};
    uint64_t issued[HD_MAX_WARPS];
    uint32_t n = c->gpu->m->core.warps;

    if (!c->limit.bound) {
        s->limit = c->gpu->env->slots->steer->warp_limit[0][c->id];
        s->limit_until = HD_NEVER;
        return;
    }
    for (uint32_t w = 0; w < n; w++) {
        uint32_t state = c->warp[w].state;
        issued[w] = c->warp[w].issued;
        q.resident |= (uint64_t)(state != HD_WARP_FREE) << w;
        q.running |= (uint64_t)(state != HD_WARP_FREE && state != HD_WARP_DONE)
                     << w;
    }
    q.core = c->id;
    q.cycle = hd_recip_div(c->gpu->per_cycle, t);
    q.n = n;
    q.age = c->age;
    q.issued = issued;
    s->limit = (uint64_t)hd_ask_warp_limit(&c->limit, &q);
    s->limit_until = limit_holds(c, &q, t, (int64_t)s->limit);
    limit_expect(c);
}

void hd_limit_over(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (t >= s->limit_at)
        s->limit_at = HD_NEVER;
    if (t >= s->limit_until)
        hd_limit_ask(c, t);
    else
        limit_expect(c);
}

void hd_limit_renew(struct hd_core *c, hd_time t)
{
    c->s->limit_until = hd_min_u64(c->s->limit_until, t);
    limit_expect(c);
}

int64_t hd_limit_default(void *self, const void *question)
{
    const struct hd_core *c = self;

    (void)question;
    return (int64_t)c->gpu->env->slots->steer->warp_limit[0][c->id];
}

void hd_limit_steered(void *self, uint32_t core)
{
    struct hd_gpu *g = self;
    struct hd_core *c = &g->core[core];

    hd_limit_renew(c, hd_events_now(g->env->ev));
}

void hd_limit_renewed(void *self, uint32_t core)
{
    struct hd_gpu *g = self;
    struct hd_core *c = &g->core[core];

    hd_limit_renew(c, c->awake ? c->s->local
                               : hd_events_now(g->env->ev) + g->ahead);
}

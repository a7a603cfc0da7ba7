/*
 * waits.c - the time of warps that is not yet in the counters of a core.
 *
 * A warp's time is counted when its wait ends (warp.c).  When counters are read
 * before, the open part is added, split as if the wait ended now: of a load, up
 * to the last translation of its lines it is TLB time, of which the part that
 * it waited for pages from the host is fault time and the part that a walker
 * worked is walk time, and the rest is data time.  Warps that have issued ahead
 * of now give so much back.
 *
 * Invariant: with it the T_ counters of a core sum to time x warps.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "issue.h"

/* Whether a warp waits for that memory instruction of its own. */
static bool waits_for(const struct hd_warp *x, const struct hd_memop *m)
{
    if (x->state != HD_WARP_SLOTS)
        return false;
    if (m->slot == HD_NO_SLOT)
        return (x->op.wait & x->pending) == 0;
    return (x->op.wait >> m->slot % HD_SLOTS & 1) != 0;
}

/* Of the requests of a memory instruction for a translation: */
enum { NO_REQUEST = HD_NONE, TO_BE_SENT = HD_NONE - 1 };

/* One whose translation is under way by treq, or parks (TO_BE_SENT), or has
 * come (NO_REQUEST). */
static void waits_memop(const struct hd_core *c, uint32_t memop, uint32_t treq,
                        hd_time now, struct hd_awaited *v)
{
    const struct hd_memop *m = &c->memop[memop];
    struct hd_awaited *a = &v[m->warp];
    hd_time walk = m->walk, to = m->translated;

    if (!waits_for(&c->warp[m->warp], m))
        return;
    if (c->fault != NULL)
        a->fault = hd_max_u64(a->fault, c->fault[memop]);
    if (treq == TO_BE_SENT) {
        to = now;
    } else if (treq != NO_REQUEST) {
        const struct hd_treq *q = &c->gpu->treqs->v[treq];
        walk = q->walk != 0 && q->walk < now ? now - q->walk : 0;
        to = now;
        if (c->fault != NULL)
            a->fault = hd_max_u64(a->fault,
                                  hd_faults_waited(c->gpu->faults, treq, now));
    }
    a->walk = hd_max_u64(a->walk, walk);
    a->translated = hd_max_u64(a->translated, to);
}

/* Of all warps; nothing is looked for where none waits for a load. */
static void waits_all(const struct hd_core *c, hd_time now,
                      struct hd_awaited *v)
{
    uint32_t w = 0;

    while (w < c->gpu->m->core.warps && c->warp[w].state != HD_WARP_SLOTS)
        w++;
    if (w == c->gpu->m->core.warps)
        return;
    memset(v, 0, c->gpu->m->core.warps * sizeof *v);
    for (uint32_t i = 0; i < c->memops; i += 64) {
        uint64_t used = ~c->memop_places.free[i / 64] &
                        hd_ones(c->memops - i < 64 ? c->memops - i : 64);
        for (; used != 0; used &= used - 1)
            waits_memop(c, i + hd_bit_first(used), NO_REQUEST, now, v);
    }
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++) {
        const struct hd_mshr_entry *x = &c->tlb_mshr.v[e];
        uint32_t p = x->live != 0 ? x->first : HD_NONE;
        for (; p != HD_NONE; p = c->parked[p].next)
            waits_memop(c, c->parked[p].memop, x->live - 1, now, v);
    }
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next)
        waits_memop(c, c->parked[p].memop, TO_BE_SENT, now, v);
}

/* A warp that may issue has waited as hd_warp_issue() will say. */
static void waits_ready(const struct hd_warp *x, bool lsu_full, hd_time now,
                        uint64_t out[HD_CORE_COUNTERS])
{
    hd_time to = hd_max_u64(x->since, hd_min_u64(x->ready, now));

    out[HD_CORE_T_ALU] += to - x->since;
    out[lsu_full ? HD_CORE_T_LSU : HD_CORE_T_READY] += now - to;
}

/* Warps have issued ahead of now: so much of their time is not yet.  It was
 * mostly issuing and, between the groups of a run, waiting for the ALU. */
static void waits_give_back(const struct hd_core *c, hd_time ahead,
                            uint64_t out[HD_CORE_COUNTERS])
{
    for (uint32_t k = HD_CORE_T_ISSUE; k <= HD_CORE_T_IDLE; k++) {
        hd_time part = hd_min_u64(ahead, hd_core_counted(c, k));

        out[k] -= part;
        ahead -= part;
    }
}

void hd_core_unaccounted(const struct hd_core *c, hd_time now,
                         uint64_t out[HD_CORE_COUNTERS])
{
    struct hd_awaited v[HD_MAX_WARPS];
    hd_time ahead = 0;

    waits_all(c, now, v);
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        const struct hd_warp *x = &c->warp[w];
        if (x->since > now)
            ahead += x->since - now;
        else if (x->state == HD_WARP_READY)
            waits_ready(x, (c->s->lsu_full >> w & 1) != 0, now, out);
        else if (x->state == HD_WARP_SLOTS)
            hd_warp_split_load(&v[w], x->since, now, out);
        else if (x->state == HD_WARP_UNIT)
            out[HD_CORE_T_LSU] += now - x->since;
        else if (x->state == HD_WARP_BARRIER)
            out[HD_CORE_T_BARRIER] += now - x->since;
        else if (x->state == HD_WARP_MEET)
            out[HD_CORE_T_MEET] += now - x->since;
        else
            out[HD_CORE_T_IDLE] += now - x->since;
    }
    waits_give_back(c, ahead, out);
}

void hd_core_open_time(void *self, uint32_t instance, uint32_t app,
                       uint64_t *add)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    hd_cross(g->env, HD_BORDER_accounts);
    if (c->app == app)
        hd_core_unaccounted(c, hd_events_now(g->env->ev), add);
}

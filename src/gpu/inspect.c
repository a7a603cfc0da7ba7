/*
 * inspect.c - a core for people: its warps, what stops them, the time of waits
 * that are still open, and whether its state makes sense.
 *
 * The three parts of a core that can be looked at are core (warps, and the
 * memory instructions in the load/store unit's queue), l1tlb and l1cache
 * (entries, and misses in flight).  For the wait-for graph of a run that makes
 * no progress, a core names what its warps and its unit wait for.  A counter of
 * warp time has a wait when it ends; whoever reads one before gets the open
 * part, too, told as if the wait ended now.  The check is that of sim.check:
 * resident warps are those of the blocks, the times of the warps sum to time x
 * warps since the counters were reset, MSHRs are whole.  Nothing here changes
 * the machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <string.h>

#include "../machine.h"
#include "../vm/fault.h"
#include "core.h"

static const char *const state_name[] = {"free",    "ready",  "load",
                                         "barrier", "exited", "shared memory"};
const char *const hd_op_name[] = {"alu",    "load",    "store",
                                      "atomic", "barrier", "exit", "shared"};

/* ---- open waits --------------------------------------------------------- */

/* What is known of the memory instructions that a warp waits for. */
struct awaited {
    hd_time translated; /* the last translation: `now` if one is under way */
    hd_time walk, fault;
};

/* Whether a warp waits for that memory instruction of its own. */
static bool awaits(const struct hd_warp *x, const struct hd_memop *m)
{
    if (x->state != HD_WARP_SLOTS)
        return false;
    if (m->slot == HD_NO_SLOT)
        return (x->op.wait & x->pending) == 0;
    return (x->op.wait >> m->slot & 1) != 0;
}

/* Of the requests of a memory instruction for a translation: */
enum { NO_REQUEST = HD_NONE, TO_BE_SENT = HD_NONE - 1 };

/* One whose translation is under way by treq, or parks (TO_BE_SENT), or has
 * come (NO_REQUEST). */
static void await_memop(const struct hd_core *c, uint32_t memop, uint32_t treq,
                        hd_time now, struct awaited *v)
{
    const struct hd_memop *m = &c->memop[memop];
    struct awaited *a = &v[m->warp];
    hd_time walk = m->walk, to = m->translated;

    if (!awaits(&c->warp[m->warp], m))
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
static void await_all(const struct hd_core *c, hd_time now, struct awaited *v)
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
            await_memop(c, i + hd_bit_first(used), NO_REQUEST, now, v);
    }
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++) {
        const struct hd_mshr_entry *x = &c->tlb_mshr.v[e];
        uint32_t p = x->live != 0 ? x->first : HD_NONE;
        for (; p != HD_NONE; p = c->parked[p].next)
            await_memop(c, c->parked[p].memop, x->live - 1, now, v);
    }
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next)
        await_memop(c, c->parked[p].memop, TO_BE_SENT, now, v);
}

/* The wait of a warp for slots, up to now: as account_fault() and
 * account_load() (warp.c) will say, if what is awaited comes now. */
static void unaccounted_load(const struct awaited *a, hd_time since,
                             hd_time now, uint64_t out[HD_CORE_COUNTERS])
{
    hd_time to = hd_max_u64(since, hd_min_u64(a->translated, now));
    hd_time fault = hd_min_u64(a->fault, to - since);
    hd_time walk = hd_min_u64(a->walk, to - since - fault);

    out[HD_CORE_T_FAULT] += fault;
    out[HD_CORE_T_WALK] += walk;
    out[HD_CORE_T_TLB] += to - since - fault - walk;
    out[HD_CORE_T_DATA] += now - to;
}

/* A warp that may issue has waited as begin() (warp.c) will say. */
static void unaccounted_ready(const struct hd_warp *x, bool lsu_full,
                              hd_time now, uint64_t out[HD_CORE_COUNTERS])
{
    hd_time to = hd_max_u64(x->since, hd_min_u64(x->ready, now));

    out[HD_CORE_T_ALU] += to - x->since;
    out[lsu_full ? HD_CORE_T_LSU : HD_CORE_T_READY] += now - to;
}

/* Warps have issued ahead of now: so much of their time is not yet.  It was
 * mostly issuing and, between the groups of a run, waiting for the ALU. */
static void give_back(const struct hd_core *c, hd_time ahead,
                      uint64_t out[HD_CORE_COUNTERS])
{
    for (uint32_t k = HD_CORE_T_ISSUE; k <= HD_CORE_T_IDLE; k++) {
        hd_time part = hd_min_u64(ahead, c->count[k]);

        out[k] -= part;
        ahead -= part;
    }
}

void hd_core_unaccounted(const struct hd_core *c, hd_time now,
                         uint64_t out[HD_CORE_COUNTERS])
{
    struct awaited v[HD_MAX_WARPS];
    hd_time ahead = 0;

    await_all(c, now, v);
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        const struct hd_warp *x = &c->warp[w];
        if (x->since > now)
            ahead += x->since - now;
        else if (x->state == HD_WARP_READY)
            unaccounted_ready(x, (c->s->lsu_full >> w & 1) != 0, now, out);
        else if (x->state == HD_WARP_SLOTS)
            unaccounted_load(&v[w], x->since, now, out);
        else if (x->state == HD_WARP_UNIT)
            out[HD_CORE_T_LSU] += now - x->since;
        else if (x->state == HD_WARP_BARRIER)
            out[HD_CORE_T_BARRIER] += now - x->since;
        else
            out[HD_CORE_T_IDLE] += now - x->since;
    }
    give_back(c, ahead, out);
}

/* ---- looking ------------------------------------------------------------ */

static void look_warps(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    for (uint32_t w = 0; w < g->m->core.warps; w++) {
        const struct hd_warp *x = &c->warp[w];
        if (x->state == HD_WARP_FREE)
            continue;
        v->row(v->ud, "warp");
        v->number(v->ud, "warp", w);
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "block", c->block[x->block].number);
        v->number(v->ud, "index", x->index);
        v->text(v->ud, "state", state_name[x->state]);
        v->text(v->ud, "next", hd_op_name[x->op.kind]);
        v->number(v->ud, "pc", x->op.pc);
        v->number(v->ud, "left", x->op.count);
        v->number(v->ud, "pending", x->pending);
        v->number(v->ud, "waits_for", x->op.wait & x->pending);
        v->number(v->ud, "ready", x->ready / g->cycle);
        v->number(v->ud, "age", c->age[w]);
    }
    hd_lsu_look(c, v);
}

/* How many lines a list has. */
static uint32_t listed(const struct hd_core *c, uint32_t p)
{
    uint32_t n = 0;

    for (; p != HD_NONE; p = c->parked[p].next)
        n++;
    return n;
}

static void waits(struct heddle_visitor *v, uint32_t core, const char *what,
                  const char *why, uint64_t n)
{
    hd_show_wait(v, "core", core, what);
    v->text(v->ud, "why", why);
    v->number(v->ud, "n", n);
}

static void stuck_core(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];
    uint64_t n[HD_WARP_UNIT + 1] = {0}, barred;

    for (uint32_t w = 0; w < g->m->core.warps; w++)
        n[c->warp[w].state]++;
    if (n[HD_WARP_SLOTS] > 0)
        waits(v, instance, "its loads", "warps wait for data",
              n[HD_WARP_SLOTS]);
    if (n[HD_WARP_BARRIER] > 0)
        waits(v, instance, "barriers", "warps of their blocks have not arrived",
              n[HD_WARP_BARRIER]);
    barred = c->s->ready & c->s->next[HD_OP_LOAD] & ~c->s->limit;
    if (barred != 0)
        waits(v, instance, "warp_limit", "warps that may not load",
              hd_bit_count(barred));
    if (n[HD_WARP_READY] > 0 && !hd_lsu_room(c))
        waits(v, instance, "load/store unit", "its queue is full", c->s->lsu_n);
    if (hd_mshr_used(&c->tlb_mshr) > 0)
        waits(v, instance, "l2tlb", "L1 TLB misses are not answered",
              hd_mshr_used(&c->tlb_mshr));
    if (c->s->wait_first != HD_NONE)
        waits(v, instance, "l1tlb", "misses wait for another instruction's",
              listed(c, c->s->wait_first));
    if (hd_mshr_lent(&c->tlb_mshr) > 0)
        waits(v, instance, "fault", "pages have to come from the host",
              hd_mshr_lent(&c->tlb_mshr));
    if (hd_mshr_used(&c->l1_mshr) > 0)
        waits(v, instance, "l2cache", "L1 misses are not answered",
              hd_mshr_used(&c->l1_mshr));
    if ((c->s->blocked & HD_BLOCK_STORES) != 0)
        waits(v, instance, "l2cache", "the store queue is full", c->s->stores);
    if (c->s->blocked != 0)
        waits(v, instance, "load/store unit", "blocked, reasons as a bit set",
              c->s->blocked);
}

/* Each place of the pool has a line that waits: for a translation, for an
 * owner's misses, for the L1's port, or as a target of the L1. */
static bool places_sane(const struct hd_core *c)
{
    uint32_t n = listed(c, c->s->wait_first) + listed(c, c->s->replay_first);

    for (uint32_t e = 0; e < c->tlb_mshr.room; e++)
        if (c->tlb_mshr.v[e].live != 0) {
            if (c->tlb_mshr.v[e].n != listed(c, c->tlb_mshr.v[e].first))
                return false;
            n += c->tlb_mshr.v[e].n;
        }
    for (uint32_t e = 0; e < c->l1_mshr.room; e++)
        if (c->l1_mshr.v[e].live != 0)
            n += c->l1_mshr.v[e].n - 1; /* the first has no place */
    return n == c->targets - hd_places_left(&c->parked_places);
}

/* The instruction that sent a miss: that of its oldest line. */
static uint32_t sender(const struct hd_core *c, const struct hd_mshr_entry *x)
{
    uint32_t p = x->first;

    if (p == HD_NONE) /* there was no room for it */
        return c->s->lsu_n > 0 ? c->lsu[c->s->lsu_first].memop : HD_NONE;
    while (c->parked[p].next != HD_NONE)
        p = c->parked[p].next;
    return c->parked[p].memop;
}

/* Where hits pass misses, one instruction owns the walks, and what parks waits
 * for it, in order: the lines of an instruction lie together. */
static void check_parked(const struct hd_core *c, struct hd_err *err)
{
    uint32_t used = hd_mshr_used(&c->tlb_mshr), owned = 0, last = HD_NONE;
    uint64_t since = 0;

    for (uint32_t e = 0; e < c->tlb_mshr.room; e++)
        if (c->tlb_mshr.v[e].live != 0)
            owned += sender(c, &c->tlb_mshr.v[e]) == c->s->miss_op;
    if (owned < used)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: %u misses of its L1 TLB are outstanding, of one "
                   "instruction only %u",
                   c->id, used, owned);
    if (c->s->wait_first != HD_NONE && used == 0 && !c->s->again)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: misses of its L1 TLB have parked, and none is "
                   "outstanding",
                   c->id);
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next) {
        uint32_t memop = c->parked[p].memop;
        if (memop != last && c->memop[memop].issued < since)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: misses of its L1 TLB have parked out of order",
                       c->id);
        if (memop != last && last != HD_NONE && memop == c->s->miss_op &&
            used > 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: misses that have parked come before those of "
                       "the instruction that owns the walks",
                       c->id);
        since = c->memop[memop].issued;
        last = memop;
    }
}

static void check_core(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];
    uint64_t resident = 0, live = 0, times[HD_CORE_COUNTERS] = {0};
    uint64_t sum = 0, counted;
    hd_time now = hd_events_now(g->env->ev);

    for (uint32_t w = 0; w < g->m->core.warps; w++)
        resident += c->warp[w].state != HD_WARP_FREE;
    for (uint32_t b = 0; b < g->m->core.blocks; b++)
        if (c->block[b].used)
            live += hd_bit_count(c->block[b].warps);
    if (resident != live)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: %llu warps are resident, its blocks have %llu",
                   instance, (unsigned long long)resident,
                   (unsigned long long)live);
    hd_core_unaccounted(c, now, times);
    for (int k = HD_CORE_T_ISSUE; k <= HD_CORE_T_IDLE; k++)
        sum += c->count[k] + times[k];
    counted = (now - g->measured[c->app]) * g->m->core.warps;
    if (sum != counted)
        hd_err_set(
            err, HEDDLE_ECHECK,
            "core %u: its warps' times sum to %llu ticks, time x warps "
            "is %llu",
            instance, (unsigned long long)sum,
            (unsigned long long)counted);
    if (!hd_mshr_sane(&c->tlb_mshr) || !hd_mshr_sane(&c->l1_mshr))
        hd_err_set(err, HEDDLE_ECHECK, "core %u: its MSHRs are inconsistent",
                   instance);
    if (!places_sane(c))
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: lines that wait and the places they take differ",
                   instance);
    if (g->m->l1tlb.blocking == HD_UNDER_HITS)
        check_parked(c, err);
}

/* Policies were bound or unbound. */
static void bound(void *self)
{
    struct hd_gpu *g = self;

    for (uint32_t i = 0; i < g->cores; i++) {
        hd_tlb_bound(&g->core[i].l1tlb);
        hd_cache_bound(&g->core[i].l1);
        hd_lsu_bound(&g->core[i]);
    }
}

void hd_gpu_parts(struct hd_gpu *g)
{
    struct hd_part core = {.name = "core",
                           .instances = g->cores,
                           .self = g,
                           .look = look_warps,
                           .stuck = stuck_core,
                           .check = check_core,
                           .bound = bound};

    hd_env_part(g->env, core);
    hd_l1tlb_part(g);
    hd_l1d_part(g);
}

/*
 * inspect.c - a core for people: its warps, what stops them, and whether its
 * state makes sense.
 *
 * The three parts of a core that can be looked at are core (warps, and the
 * memory instructions in the load/store unit's queue), l1tlb and l1cache
 * (entries, and misses in flight).  For the wait-for graph of a run that makes
 * no progress, a core names what its warps and its unit wait for.  The check is
 * that of sim.check: resident warps are those of the blocks, the times of the
 * warps sum to time x warps since the counters were reset, MSHRs are whole.
 * Nothing here changes the machine.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "../machine.h"
#include "core.h"

static const char *const state_name[] = {"free", "ready", "load", "barrier",
                                         "exited"};
static const char *const op_name[] = {"alu",    "load",    "store",
                                      "atomic", "barrier", "exit"};

/* The memory instructions at the load/store unit, the oldest first. */
static void look_queue(const struct hd_core *c, struct heddle_visitor *v)
{
    for (uint32_t i = 0; i < c->s->lsu_n; i++) {
        const struct hd_lines *o =
            &c->lsu[(c->s->lsu_first + i) % c->gpu->m->core.queue];
        v->row(v->ud, "queued");
        v->text(v->ud, "access", op_name[c->memop[o->memop].kind]);
        v->number(v->ud, "warp", c->memop[o->memop].warp);
        v->number(v->ud, "lines", o->n);
        v->number(v->ud, "lines_done", o->at);
        v->number(v->ud, "pages", o->pages);
    }
}

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
        v->text(v->ud, "next", op_name[x->op.kind]);
        v->number(v->ud, "pc", x->op.pc);
        v->number(v->ud, "left", x->left);
        v->number(v->ud, "pending", x->pending);
        v->number(v->ud, "waits_for", x->op.wait & x->pending);
        v->number(v->ud, "ready", x->ready / g->cycle);
        v->number(v->ud, "age", c->age[w]);
    }
    look_queue(c, v);
}

static void look_tlb(void *self, uint32_t instance, struct heddle_visitor *v)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    hd_tlb_look(&g->core[instance].l1tlb, v);
    for (uint32_t i = 0; i < c->tlb_mshr.room; i++) {
        const struct hd_mshr_entry *x = &c->tlb_mshr.v[i];
        const struct hd_treq *q = &g->treqs->v[x->live - 1];
        if (!x->live)
            continue;
        v->row(v->ud, "miss");
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "vpn", x->key);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "lines", x->n);
        v->number(v->ud, "since", q->born / g->cycle);
    }
}

static void look_cache(void *self, uint32_t instance, struct heddle_visitor *v)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    hd_cache_look(&g->core[instance].l1, v);
    for (uint32_t i = 0; i < c->l1_mshr.room; i++) {
        const struct hd_mshr_entry *x = &c->l1_mshr.v[i];
        if (!x->live)
            continue;
        v->row(v->ud, "miss");
        v->text(v->ud, "access", op_name[c->memop[x->flags].kind]);
        v->number(v->ud, "warp", c->memop[x->flags].warp);
        v->number(v->ud, "requesters", x->n);
        if (x->key >> 63 == 0) { /* atomics have keys of their own */
            v->number(v->ud, "line", x->key);
            v->number(v->ud, "address", x->key << g->line_shift);
        }
    }
}

static void edge(struct heddle_visitor *v, const char *from, const char *to,
                 const char *why, uint64_t n)
{
    v->row(v->ud, "waits");
    v->text(v->ud, "from", from);
    v->text(v->ud, "for", to);
    v->text(v->ud, "why", why);
    v->number(v->ud, "n", n);
}

static void stuck_core(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];
    uint64_t n[HD_WARP_DONE + 1] = {0}, barred;
    char name[24];

    snprintf(name, sizeof name, "core %u", instance);
    for (uint32_t w = 0; w < g->m->core.warps; w++)
        n[c->warp[w].state]++;
    if (n[HD_WARP_SLOTS] > 0)
        edge(v, name, "its loads", "warps wait for data", n[HD_WARP_SLOTS]);
    if (n[HD_WARP_BARRIER] > 0)
        edge(v, name, "barriers", "warps of their blocks have not arrived",
             n[HD_WARP_BARRIER]);
    barred = c->s->ready & c->s->load_next & ~c->s->limit;
    if (barred != 0)
        edge(v, name, "warp_limit", "warps that may not load",
             hd_bit_count(barred));
    if (n[HD_WARP_READY] > 0 && !hd_lsu_room(c))
        edge(v, name, "load/store unit", "its queue is full", c->s->lsu_n);
    if (hd_mshr_used(&c->tlb_mshr) > 0)
        edge(v, name, "l2tlb", "L1 TLB misses are not answered",
             hd_mshr_used(&c->tlb_mshr));
    if (hd_mshr_lent(&c->tlb_mshr) > 0)
        edge(v, name, "fault", "pages have to come from the host",
             hd_mshr_lent(&c->tlb_mshr));
    if (hd_mshr_used(&c->l1_mshr) > 0)
        edge(v, name, "l2cache", "L1 misses are not answered",
             hd_mshr_used(&c->l1_mshr));
    if ((c->s->blocked & HD_BLOCK_STORES) != 0)
        edge(v, name, "l2cache", "the store queue is full", c->s->stores);
    if (c->s->blocked != 0)
        edge(v, name, "load/store unit", "blocked, reasons as a bit set",
             c->s->blocked);
}

static void check_core(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];
    uint64_t resident = 0, live = 0, times[HD_CORE_COUNTERS] = {0}, sum = 0;
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
    if (sum != (now - g->measured[0]) * g->m->core.warps)
        hd_err_set(
            err, HEDDLE_ECHECK,
            "core %u: its warps' times sum to %llu ticks, time x warps "
            "is %llu",
            instance, (unsigned long long)sum,
            (unsigned long long)((now - g->measured[0]) * g->m->core.warps));
    if (!hd_mshr_sane(&c->tlb_mshr) || !hd_mshr_sane(&c->l1_mshr))
        hd_err_set(err, HEDDLE_ECHECK, "core %u: its MSHRs are inconsistent",
                   instance);
}

/* Policies were bound or unbound. */
static void bound(void *self)
{
    struct hd_gpu *g = self;

    for (uint32_t i = 0; i < g->cores; i++) {
        hd_tlb_bound(&g->core[i].l1tlb);
        hd_cache_bound(&g->core[i].l1);
        hd_lsu_wire(&g->core[i]);
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
    struct hd_part tlb = {
        .name = "l1tlb", .instances = g->cores, .self = g, .look = look_tlb};
    struct hd_part cache = {.name = "l1cache",
                            .instances = g->cores,
                            .self = g,
                            .look = look_cache};

    hd_env_part(g->env, core);
    hd_env_part(g->env, tlb);
    hd_env_part(g->env, cache);
}

/*
 * look.c - looking into cores: warps, instructions at the load/store unit, L1
 * TLBs and L1 caches with what they miss, what a core waits for, and the check
 * of sim.check.
 *
 * What is checked: resident warps are those of the blocks, their times sum to
 * time x warps since the counters were reset, MSHRs are whole, each place for a
 * line that waits has one, and with l1tlb.blocking=hits one instruction owns
 * the walks and what is parked waits in order.
 *
 * Nothing here is called in a run without checks that is not looked into.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "dispatch.h"
#include "subcore.h"

/* ---- the parts of a core ----------------------------------------------- */

static const char *const state_name[] = {
    "free", "ready", "load", "barrier", "exited", "shared memory", "meeting"};

/* With sub-cores or classes: a warp's, and the class of its next instruction. */
static void look_sub(const struct hd_core *c, uint32_t w,
                     struct heddle_visitor *v)
{
    static const char *const class_name[] = {
#define HD_CLASS(NAME, name, latency, interval, what) #name,
#include "classes.def"
#undef HD_CLASS
    };

    v->number(v->ud, "subcore", w % c->sub->n);
    if (c->sub->classes)
        v->text(v->ud, "class", class_name[c->sub->warp[w].kind]);
}

static void look_warps(const struct hd_core *c, struct heddle_visitor *v)
{
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        const struct hd_warp *x = &c->warp[w];
        if (x->state == HD_WARP_FREE)
            continue;
        v->row(v->ud, "warp");
        v->number(v->ud, "warp", w);
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "block",
                  hd_block_number(c->block[x->block].number));
        v->number(v->ud, "index", x->index);
        v->text(v->ud, "state", state_name[x->state]);
        v->text(v->ud, "next", heddle_op_name(x->op.kind));
        v->number(v->ud, "pc", x->op.pc);
        v->number(v->ud, "left", x->op.count);
        v->number(v->ud, "pending", x->pending);
        v->number(v->ud, "waits_for", x->op.wait & x->pending);
        v->number(v->ud, "ready", x->ready / c->gpu->cycle);
        v->number(v->ud, "age", c->age[w]);
        if (c->sub != NULL)
            look_sub(c, w, v);
    }
}

static void look_unit(const struct hd_core *c, struct heddle_visitor *v)
{
    for (uint32_t i = 0; i < c->s->lsu_n; i++) {
        const struct hd_lines *o = &c->lsu[(c->s->lsu_first + i) % c->lsu_room];
        v->row(v->ud, "queued");
        v->text(v->ud, "access", heddle_op_name(hd_memop_kind(&c->memop[o->memop])));
        v->number(v->ud, "warp", c->memop[o->memop].warp);
        v->number(v->ud, "lines", o->n);
        v->number(v->ud, "lines_done", o->at);
        v->number(v->ud, "pages", o->pages);
    }
}

void hd_l1tlb_look(void *self, uint32_t instance, struct heddle_visitor *v)
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
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next) {
        v->row(v->ud, "parked");
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "vpn", c->page[p] & hd_ones(HD_PAGE_WARP));
        v->number(v->ud, "warp", hd_blocking_warp(c->page[p]));
    }
}

void hd_l1tlb_look_side(void *gpu, uint32_t core, struct heddle_visitor *v)
{
    struct hd_core *c = &((struct hd_gpu *)gpu)->core[core];

    if (c->side.base_n != 0)
        hd_tlb_look(&c->side, v);
}

void hd_l1d_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    hd_cache_look(&g->core[instance].l1, v);
    for (uint32_t i = 0; i < c->l1_mshr.room; i++) {
        const struct hd_mshr_entry *x = &c->l1_mshr.v[i];
        if (!x->live)
            continue;
        v->row(v->ud, "miss");
        v->text(v->ud, "access", heddle_op_name(hd_memop_kind(&c->memop[x->flags])));
        v->number(v->ud, "warp", c->memop[x->flags].warp);
        v->number(v->ud, "requesters", x->n);
        if (x->key >> 63 == 0) { /* atomics have keys of their own */
            v->number(v->ud, "line", x->key);
            v->number(v->ud, "address", x->key << g->line_shift);
        }
    }
}

void hd_core_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    const struct hd_gpu *g = self;

    look_warps(&g->core[instance], v);
    look_unit(&g->core[instance], v);
}

/* ---- what a core waits for --------------------------------------------- */

/* How many lines a list has. */
static uint32_t look_listed(const struct hd_core *c, uint32_t p)
{
    uint32_t n = 0;

    for (; p != HD_NONE; p = c->parked[p].next)
        n++;
    return n;
}

/* `n` of a core's things wait, if there are some. */
static void look_wait(struct heddle_visitor *v, uint32_t core, const char *what,
                      const char *why, uint64_t n)
{
    if (n == 0)
        return;
    hd_show_wait(v, "core", core, what);
    v->text(v->ud, "why", why);
    v->number(v->ud, "n", n);
}

void hd_core_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    const struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[i];
    const struct hd_core_state *s = c->s;
    uint64_t n[HD_WARP_UNIT + 1] = {0};

    for (uint32_t w = 0; w < g->m->core.warps; w++)
        n[c->warp[w].state]++;
    look_wait(v, i, "its loads", "warps wait for data", n[HD_WARP_SLOTS]);
    look_wait(v, i, "barriers", "warps of their blocks have not arrived",
              n[HD_WARP_BARRIER]);
    look_wait(v, i, "warp_limit", "warps that may not load",
              hd_bit_count(s->ready & s->next[HEDDLE_OP_LOAD] & ~s->limit));
    if (n[HD_WARP_READY] > 0 && s->lsu_n == c->lsu_room)
        look_wait(v, i, "load/store unit", "its queue is full", s->lsu_n);
    look_wait(v, i, "l2tlb", "L1 TLB misses are not answered",
              hd_mshr_used(&c->tlb_mshr));
    look_wait(v, i, "l1tlb", "misses wait for another instruction's",
              look_listed(c, s->wait_first));
    look_wait(v, i, "fault", "pages have to come from the host",
              hd_mshr_detached(&c->tlb_mshr));
    look_wait(v, i, "l2cache", "L1 misses are not answered",
              hd_mshr_used(&c->l1_mshr));
    if ((s->blocked & HD_BLOCK_STORES) != 0)
        look_wait(v, i, "l2cache", "the store queue is full", s->stores);
    look_wait(v, i, "load/store unit", "blocked, reasons as a bit set",
              s->blocked);
}

/* ---- the check --------------------------------------------------------- */

/* Where hits pass misses, one instruction owns the walks, and what parks waits
 * for it, in order: the lines of an instruction are next to each other. */
static void look_check_parked(const struct hd_core *c, struct heddle_error *err)
{
    uint32_t used = hd_mshr_used(&c->tlb_mshr), owned = 0, last = HD_NONE;
    uint64_t since = 0, waits = 0;

    if (c->gpu->m->l1tlb.blocking != HD_UNDER_HITS)
        return;
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++)
        if (c->tlb_mshr.v[e].live != 0)
            owned += hd_l1tlb_sender(c, &c->tlb_mshr.v[e]) == c->s->miss_op;
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
        waits |= 1ull << c->memop[memop].warp;
    }
    if (waits != c->s->waits)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: warps whose misses have parked are 0x%llx, not "
                   "0x%llx",
                   c->id, (unsigned long long)waits,
                   (unsigned long long)c->s->waits);
}

/* Each place of the pool has a line that waits: for a translation, for an
 * owner's misses, for the L1's port, or as a target of the L1. */
static bool look_places(const struct hd_core *c)
{
    uint32_t n =
        look_listed(c, c->s->wait_first) + look_listed(c, c->s->replay_first);

    for (uint32_t i = 0; c->held != NULL && i < c->memops; i++)
        n += c->held[i].missing > 0 ? look_listed(c, c->held[i].first) : 0;
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++)
        if (c->tlb_mshr.v[e].live != 0) {
            if (c->tlb_mshr.v[e].n != look_listed(c, c->tlb_mshr.v[e].first))
                return false;
            n += c->tlb_mshr.v[e].n;
        }
    for (uint32_t e = 0; e < c->l1_mshr.room; e++)
        if (c->l1_mshr.v[e].live != 0)
            n += c->l1_mshr.v[e].n - 1; /* the first has no place */
    return n == c->targets - hd_places_left(&c->parked_places);
}

void hd_core_check(void *self, uint32_t instance, struct heddle_error *err)
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
        sum += hd_core_counted(c, k) + times[k];
    counted = (now - g->measured[c->app]) * g->m->core.warps;
    if (sum != counted)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: its warps' times sum to %llu ticks, time x warps "
                   "is %llu",
                   instance, (unsigned long long)sum,
                   (unsigned long long)counted);
    if (!hd_mshr_sane(&c->tlb_mshr) || !hd_mshr_sane(&c->l1_mshr))
        hd_err_set(err, HEDDLE_ECHECK, "core %u: its MSHRs are inconsistent",
                   instance);
    if (!look_places(c))
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: lines that wait and the places they take differ",
                   instance);
    if (c->sector != NULL && hd_l1sector_check(c) != NULL)
        hd_err_set(err, HEDDLE_ECHECK, "core %u: its L1 cache: %s", instance,
                   hd_l1sector_check(c));
    if (c->copies != NULL && !hd_copies_sane(c))
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: copies in flight and those that its warps count "
                   "differ",
                   instance);
    look_check_parked(c, err);
    hd_subcore_check(c, err);
}

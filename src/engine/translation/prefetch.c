/*
 * prefetch.c - translations that policies start (heddle_start_translation).
 *
 * One goes to a queue of its unit.  It is looked up when no request of a core
 * waits at the input and a port is free at once; and it is walked for when,
 * besides, no miss waits for a walker, one is free, and so is an MSHR.  It
 * never takes the place of a request; a walk that it has begun ends, though. A
 * queue that is full drops the newcomer.
 *
 * Its walk has an MSHR without requests.  One for its page joins:
 * then the translation was late, and its result is the request's like any
 * other.  So was one that finds its page being walked for.
 *
 * What it fills is marked in the TLB (tlb.c) until a request hits it, which is
 * useful, or it is evicted.  Pages that are not resident are left alone:
 * nothing faults.
 *
 * Invariant: walks that have such a mark are as many as are counted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "translation/unit.h"

enum { ARRIVE, AGAIN };

#define HD_PART    prefetch
#define HD_CFG     struct hd_prefetch_cfg
#define HD_PART_OF "translation/prefetch.def"
#include "kit/rows.h"

static void prefetch_count(const struct hd_unit *u, uint32_t app,
                           enum hd_prefetch_stat what)
{
    (*hd_count(&u->m->prefetch_stat, u->instance, app, what))++;
}

static struct hd_prefetch *prefetch_at(const struct hd_unit *u, uint32_t i)
{
    return &u->prefetches[hd_unit_place(u->s->prefetch_first, i,
                                        u->m->prefetch_cfg.queue)];
}

/* ---- entering ----------------------------------------------------------- */

int hd_prefetch_may(const struct hd_mmu *m, uint32_t app, uint64_t vpn,
                    uint32_t to, uint32_t core)
{
    if (app >= m->env->apps || core >= m->w.cores || vpn >> 36 != 0)
        return HEDDLE_EINVAL;
    if (to == HEDDLE_TRANSLATE_TO_L2TLB ? m->tlb_cfg.mode.kind != HD_FULL
                                        : !m->w.room[to])
        return HEDDLE_ECONFIG;
    return 0;
}

int hd_prefetch_take(void *mmu, uint32_t app, uint64_t vpn, uint32_t to,
                     uint32_t core)
{
    struct hd_mmu *m = mmu;
    struct hd_env *env = m->env;
    const hd_time *local = env->local;
    int rc = hd_prefetch_may(m, app, vpn, to, core);
    const struct hd_unit *u;

    if (rc != 0)
        return rc;
    u = hd_mmu_unit(m, core);
    hd_post(env->ev, m->port[core], u->prefetch_rank,
            local != NULL ? *local + hd_max_u64(m->transit, 1)
                          : hd_events_now(env->ev) + m->tick,
            ARRIVE, to << 16 | app << 8 | core, vpn);
    return 0;
}

/* ---- serving ------------------------------------------------------------ */

/* A translation for an L1 TLB is sent to its core. */
static void prefetch_deliver(struct hd_unit *u, hd_time now, uint32_t app,
                             uint64_t vpn, uint32_t to, uint32_t core)
{
    const struct hd_tclient *c = &u->m->w.clients[core];

    c->prefetched(c->self, now, app, vpn, to);
}

/* A walk can begin now. */
static bool prefetch_may_walk(const struct hd_unit *u)
{
    const struct hd_unit_state *s = u->s;

    return s->waiting == 0 && !hd_mshr_full(&u->miss) &&
           s->prefetch_walks < u->m->prefetch_cfg.walks &&
           (s->walkers < u->m->walk_cfg.walkers ||
            u->m->walk_cfg.mode.kind == HD_IDEAL);
}

static void prefetch_walk(struct hd_unit *u, hd_time now,
                          const struct hd_prefetch *p, uint64_t key)
{
    uint32_t i = hd_mshr_take(&u->miss, key);
    struct hd_walk *w = &u->walk[i];

    prefetch_count(u, p->app, HD_PREFETCH_WALKS);
    u->s->prefetch_walks++;
    w->vpn.v = p->vpn;
    w->app = p->app;
    w->ready = now;
    w->prefetched = (uint8_t)(p->to + 1);
    w->prefetch_core = p->core;
    hd_ptw_take(u, now, i);
}

/* Looks the oldest up.  False: it has to wait. */
static bool prefetch_look_up(struct hd_unit *u, hd_time now)
{
    const struct hd_mmu *m = u->m;
    struct hd_unit_state *s = u->s;
    const struct hd_prefetch p = *prefetch_at(u, 0);
    bool full = m->tlb_cfg.mode.kind == HD_FULL, there;
    hd_vpn vpn = {p.vpn};
    uint64_t key = hd_ptables_first(m->w.tables, p.app, vpn).v | (uint64_t)p.app
                                                                     << 52;
    uint32_t e = hd_mshr_find(&u->miss, key);
    struct hd_xlate x;

    if (!prefetch_may_walk(u))
        return false; /* the end of a walk calls again */
    if (full && now < s->port_at + m->tick &&
        (now < s->port_at || s->port_used >= m->tlb_cfg.ports)) {
        if (!s->prefetch_called)
            hd_post(m->env->ev, u->prefetch_rank, u->prefetch_rank,
                    s->port_at + m->tick, AGAIN, 0, 0);
        s->prefetch_called = 1;
        return false;
    }
    if (full) {
        hd_l2tlb_port(u, now);
        prefetch_count(u, p.app, HD_PREFETCH_LOOKUPS);
    }
    s->prefetch_first =
        hd_unit_place(s->prefetch_first, 1, m->prefetch_cfg.queue);
    s->prefetch_n--;
    there =
        m->tlb_cfg.mode.kind == HD_IDEAL || m->tlb_cfg.mode.kind == HD_FIXED;
    if (full)
        there = hd_tlb_peek(&u->tlb, p.app, vpn, &x) ||
                (m->bypass_cfg.entries != 0 &&
                 hd_tlb_peek(&u->bypass, p.app, vpn, &x));
    if (there && p.to != HEDDLE_TRANSLATE_TO_L2TLB)
        prefetch_deliver(u, now + m->lookup, p.app, p.vpn, p.to, p.core);
    else if (there || e != HD_NONE)
        prefetch_count(u, p.app,
                       there || u->walk[e].prefetched != 0
                           ? HD_PREFETCH_REDUNDANT
                           : HD_PREFETCH_LATE);
    else
        prefetch_walk(u, now + (full ? m->lookup : 0), &p, key);
    return true;
}

void hd_prefetch_go(struct hd_unit *u, hd_time now)
{
    while (u->s->prefetch_n != 0 && u->s->in_count == 0 &&
           u->m->env->err->code == 0 && prefetch_look_up(u, now))
        ;
}

void hd_prefetch_serve(void *unit, hd_time now, uint32_t what, uint32_t a,
                       uint64_t vpn)
{
    struct hd_unit *u = unit;
    struct hd_unit_state *s = u->s;
    uint8_t app = (uint8_t)(a >> 8);

    u->ticket = HD_UNIT_FOREIGN;
    if (what == AGAIN) {
        s->prefetch_called = 0;
    } else {
        prefetch_count(u, app, HD_PREFETCH_STARTED);
        if (s->prefetch_n == u->m->prefetch_cfg.queue)
            prefetch_count(u, app, HD_PREFETCH_DROPPED);
        else
            *prefetch_at(u, s->prefetch_n++) =
                (struct hd_prefetch){vpn, app, (uint8_t)(a >> 16), (uint8_t)a};
    }
    hd_prefetch_go(u, now);
}

/* ---- the end ------------------------------------------------------------ */

void hd_prefetch_joined(const struct hd_unit *u, const struct hd_walk *w)
{
    prefetch_count(u, w->app, HD_PREFETCH_LATE);
}

bool hd_prefetch_answer(struct hd_unit *u, hd_time now, uint32_t i,
                        const struct hd_xlate *x)
{
    struct hd_walk *w = &u->walk[i];
    uint32_t to = w->prefetched - 1u;

    w->prefetched = 0;
    u->s->prefetch_walks--;
    if (u->miss.v[i].n != 0)
        return false; /* it was late */
    u->hand = NULL;
    if (x == NULL)
        prefetch_count(u, w->app, HD_PREFETCH_ABSENT);
    else if (to != HEDDLE_TRANSLATE_TO_L2TLB)
        prefetch_deliver(u, now, w->app, w->vpn.v, to, w->prefetch_core);
    else if (hd_tlb_prefetched(&u->tlb, w->app, w->prefetch_core, w->vpn, x))
        prefetch_count(u, w->app, HD_PREFETCH_FILLED);
    return true;
}

/* ---- looking and checking ----------------------------------------------- */

void hd_prefetch_look(void *mmu, uint32_t unit, struct heddle_visitor *v)
{
    const struct hd_unit *u = hd_unit_of(mmu, unit);
    char to[16];

    for (uint32_t i = 0; i < u->s->prefetch_n; i++) {
        v->row(v->ud, "waits");
        v->number(v->ud, "app", prefetch_at(u, i)->app);
        v->number(v->ud, "vpn", prefetch_at(u, i)->vpn);
        v->number(v->ud, "core", prefetch_at(u, i)->core);
        heddle_word_name(HD_WORDS_OF(translate_to), prefetch_at(u, i)->to, to,
                         sizeof to);
        v->text(v->ud, "to", to);
    }
}

void hd_prefetch_check(void *mmu, uint32_t unit, struct heddle_error *err)
{
    const struct hd_unit *u = hd_unit_of(mmu, unit);
    uint32_t n = 0;

    for (uint32_t e = 0; e < u->miss.room; e++)
        n += u->miss.v[e].live && u->walk[e].prefetched != 0;
    if (n != u->s->prefetch_walks || n > u->m->prefetch_cfg.walks)
        hd_err_set(err, HEDDLE_ECHECK,
                   "prefetch: %u walks are for policies, %u are counted", n,
                   u->s->prefetch_walks);
}

/*
 * mmulook.c - the units below the L1 TLBs as people see them, who waits for
 * what, and the check of their invariants.
 *
 * A walk whose reads are sent ahead says less than it could (walk.c): its level
 * is that of its request, and what it has read is brought up to date before
 * anybody looks.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "unit.h"

/* ---- looking ---------------------------------------------------------- */

void hd_mmulook_tlb(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_mmu *m = self;
    const struct hd_unit_state *s = m->unit[i].s;

    if (m->tlb_cfg.mode.kind == HD_FULL)
        hd_tlb_look(&m->unit[i].tlb, v);
    for (uint32_t k = 0; k < s->in_count; k++) {
        const struct hd_unit_input *in = hd_unit_input(&m->unit[i], k);
        const struct hd_treq *q = &m->w.treqs->v[in->treq];
        v->row(v->ud, "input");
        v->number(v->ud, "app", q->app);
        v->number(v->ud, "vpn", q->vpn.v);
        v->number(v->ud, "core", q->core);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "since", hd_unit_cycles(m, in->arrived));
    }
}

void hd_mmulook_bypass(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_mmu *m = self;

    if (m->tlb_cfg.mode.kind == HD_FULL && m->bypass_cfg.entries != 0)
        hd_tlb_look(&m->unit[i].bypass, v);
}

void hd_mmulook_pwc(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_mmu *m = self;

    if (m->pwc_cfg.mode.kind == HD_FULL)
        hd_walkcache_look(&m->unit[i].pwc, v);
}

static const char *const STATE[] = {"", "waits", "runs", "reads"};

void hd_mmulook_walks(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_mmu *m = self;
    struct hd_unit *u = &m->unit[i];

    for (uint32_t e = 0; e < u->miss.room; e++) {
        const struct hd_walk *w = &u->walk[e];
        if (!u->miss.v[e].live)
            continue;
        v->row(v->ud, "walk");
        v->text(v->ud, "state", STATE[w->state]);
        v->number(v->ud, "app", w->app);
        v->number(v->ud, "vpn", w->vpn.v);
        v->number(v->ud, "level", hd_unit_level(u, w));
        v->number(v->ud, "references",
                  w->references + (w->req != HD_NONE
                                       ? hd_unit_level(u, w) - w->counted
                                       : 0));
        v->number(v->ud, "requesters", u->miss.v[e].n);
        v->number(v->ud, "since", hd_unit_cycles(m, w->ready));
    }
}

static void waits(struct heddle_visitor *v, const char *who, uint32_t unit,
                  uint32_t app, uint64_t vpn, const char *what)
{
    hd_show_wait(v, who, unit, what);
    v->number(v->ud, "app", app);
    v->number(v->ud, "vpn", vpn);
}

void hd_mmulook_stuck(void *self, uint32_t i, struct heddle_visitor *v)
{
    struct hd_mmu *m = self;
    struct hd_unit *u = &m->unit[i];

    if (u->s->in_count != 0) {
        const struct hd_treq *q = &m->w.treqs->v[hd_unit_input(u, 0)->treq];
        waits(v, "mmu input", i, q->app, q->vpn.v,
              hd_unit_mshrs_full(u) ? "a free MSHR" : "room in the walk queue");
    }
    for (uint32_t e = 0; e < u->miss.room; e++) {
        const struct hd_walk *w = &u->walk[e];
        uint32_t level = hd_unit_level(u, w);
        char text[64] = "a free walker";
        if (!u->miss.v[e].live)
            continue;
        if (w->state == HD_WALK_READS)
            snprintf(text, sizeof text,
                     "memory: the entry of level %u at 0x%llx", level,
                     (unsigned long long)hd_unit_pte(m, w, level).v);
        else if (w->state == HD_WALK_RUNS)
            snprintf(text, sizeof text, "its own next step, at level %u",
                     level);
        waits(v, "walk", i, w->app, w->vpn.v, text);
    }
}

/* ---- checking --------------------------------------------------------- */

struct verdict {
    struct hd_mmu *m;
    struct hd_err *err;
    const char *name;
};

/* A translation held equals the page table's, from end to end; a large one may
 * hold pages that a coalesced region has lost. */
static void check_entry(void *ud, uint32_t app, const struct hd_xlate *x)
{
    struct verdict *c = ud;

    for (uint32_t i = 0; i < x->pages; i++) {
        hd_vpn vpn = {x->vpn.v + i};
        struct hd_xlate y;
        if (x->page_pages == HD_LARGE_PAGES && app < c->m->env->apps &&
            hd_ptables_joined(c->m->w.tables, app, vpn) &&
            hd_ptables_joined_frame(c->m->w.tables, app, vpn).v == x->pfn.v)
            return;
        if (app >= c->m->env->apps ||
            !hd_ptables_find(c->m->w.tables, app, vpn, &y) ||
            hd_xlate_frame(&y, vpn).v != hd_xlate_frame(x, vpn).v) {
            hd_err_set(c->err, HEDDLE_ECHECK,
                       "%s holds application %u, page 0x%llx in frame %llu: "
                       "not what the page table says",
                       c->name, app, (unsigned long long)vpn.v,
                       (unsigned long long)hd_xlate_frame(x, vpn).v);
            return;
        }
    }
}

void hd_mmulook_check(void *self, uint32_t i, struct hd_err *err)
{
    struct hd_mmu *m = self;
    struct hd_unit *u = &m->unit[i];
    struct verdict c = {m, err, "l2tlb"};
    uint32_t waits = 0, busy = 0;

    if (m->tlb_cfg.mode.kind == HD_FULL) {
        hd_tlb_each(&u->tlb, check_entry, &c);
        c.name = "bypass";
        if (m->bypass_cfg.entries != 0)
            hd_tlb_each(&u->bypass, check_entry, &c);
    }
    for (uint32_t e = 0; e < u->miss.room; e++) {
        uint32_t n = 0;
        if (!u->miss.v[e].live)
            continue;
        waits += u->walk[e].state == HD_WALK_WAITS;
        busy += u->walk[e].state == HD_WALK_RUNS ||
                u->walk[e].state == HD_WALK_READS;
        for (uint32_t t = u->miss.v[e].first; t != HD_NONE;
             t = m->w.treqs->v[t].next)
            n++;
        if (n != u->miss.v[e].n)
            hd_err_set(err, HEDDLE_ECHECK,
                       "mmu: MSHR %u counts %u requests, "
                       "%u wait",
                       e, u->miss.v[e].n, n);
    }
    for (uint32_t k = 0; k < u->s->waiting; k++) {
        uint32_t e =
            u->queue[hd_unit_place(u->s->queue_first, k, u->miss.room)];
        if (!u->miss.v[e].live || u->walk[e].state != HD_WALK_WAITS)
            hd_err_set(err, HEDDLE_ECHECK,
                       "mmu: walk %u is in the queue and does not wait", e);
    }
    if (!hd_mshr_sane(&u->miss) || waits != u->s->waiting ||
        busy != u->s->walkers ||
        (m->walk_cfg.mode.kind != HD_IDEAL && busy > m->walk_cfg.walkers))
        hd_err_set(err, HEDDLE_ECHECK,
                   "mmu: %u walks wait and %u run; %u and %u are counted, "
                   "with %u walkers",
                   waits, busy, u->s->waiting, u->s->walkers,
                   m->walk_cfg.walkers);
    if (busy < m->walk_cfg.walkers && waits > 0)
        hd_err_set(err, HEDDLE_ECHECK,
                   "mmu: a walker is free and %u walks wait", waits);
}

/* Counts the reads that were sent ahead of their time and have left since. */
void hd_mmulook_sync(void *self, hd_time now)
{
    struct hd_mmu *m = self;

    for (uint32_t i = 0; i < m->units; i++) {
        struct hd_unit *u = &m->unit[i];

        for (uint32_t e = 0; e < u->miss.room; e++) {
            struct hd_walk *w = &u->walk[e];
            if (u->miss.v[e].live && w->req != HD_NONE) {
                const struct hd_req *q = &u->req[w->req];
                hd_unit_settle(u, w, q->level - (q->born > now));
            }
        }
    }
}

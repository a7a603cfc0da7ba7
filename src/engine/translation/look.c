/*
 * look.c - looking into the units: what is in the L2 TLB, what waits and why,
 * and the checks of sim.check.
 *
 * Nothing here is called in a run without checks that is not looked into.
 *
 * What is checked: TLB entries equal the page table, requests of an MSHR are as
 * many as it counts, walks that wait and run are as many as the queue and the
 * walkers say, and no walker is free while a walk waits.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "tlbstate.h"
#include "walk.h"

/* ---- a TLB -------------------------------------------------------------- */

void hd_tlb_look(struct hd_tlb *t, struct heddle_visitor *v)
{
    for (uint32_t e = 0; e < hd_tlb_entries(t); e++) {
        uint64_t key = hd_tlb_key_at(t, e);
        uint32_t i = e;
        const struct hd_assoc *a = hd_tlb_array_of(t, &i);
        struct hd_xlate x;
        if (key == HD_KEY_NONE)
            continue;
        x = hd_tlb_x_of(t, e);
        v->row(v->ud, hd_tlb_class_of(key) == HD_TLB_SUBS ? "subregions"
                      : x.pages > x.page_pages            ? "merged"
                      : hd_tlb_is_large(t, e)             ? "large"
                                                          : "entry");
        v->number(v->ud, "set", i / a->ways);
        v->number(v->ud, "way", i % a->ways);
        v->number(v->ud, "app", hd_tlb_app_of(key));
        v->number(v->ud, "vpn", x.vpn.v);
        v->number(v->ud, "pfn", x.pfn.v);
        v->number(v->ud, "pages", x.pages);
        v->number(v->ud, "depth", hd_assoc_depth(a, i));
        v->number(v->ud, "core", t->entry[e].core);
        v->number(v->ud, "warp", t->entry[e].warp);
    }
}

/* Calls fn for each valid entry. */
static void
tlb_each(const struct hd_tlb *t,
         void (*fn)(void *ud, uint32_t app, const struct hd_xlate *x), void *ud)
{
    for (uint32_t e = 0; e < hd_tlb_entries(t); e++) {
        uint64_t key = hd_tlb_key_at(t, e);
        struct hd_xlate x;
        if (key == HD_KEY_NONE)
            continue;
        x = hd_tlb_x_of(t, e);
        fn(ud, hd_tlb_app_of(key), &x);
    }
}

/* ---- the L2 TLB -------------------------------------------------------- */

void hd_l2tlb_look(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);

    if (u->m->tlb_cfg.mode.kind == HD_FULL)
        hd_tlb_look(&u->tlb, v);
    for (uint32_t k = 0; k < u->s->in_count; k++) {
        const struct hd_treq *q = &u->treq[*hd_l2tlb_input(u, k)];
        v->row(v->ud, "input");
        v->number(v->ud, "app", q->app);
        v->number(v->ud, "vpn", q->vpn.v);
        v->number(v->ud, "core", q->core);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "since", hd_unit_cycles(u->m, q->arrived));
    }
}

void hd_l2tlb_look_bypass(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);

    if (u->m->bypass_cfg.entries != 0)
        hd_tlb_look(&u->bypass, v);
}

void hd_l2tlb_stuck(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);
    const struct hd_treq *q;

    if (u->s->in_count == 0)
        return;
    q = &u->treq[*hd_l2tlb_input(u, 0)];
    hd_show_wait(v, "mmu input", i,
                 hd_l2tlb_mshrs_full(u) ? "a free MSHR"
                                        : "room in the walk queue");
    v->number(v->ud, "app", q->app);
    v->number(v->ud, "vpn", q->vpn.v);
}

/* Whose entries are checked, and where the verdict goes. */
struct verdict {
    const struct hd_mmu *m;
    struct heddle_error *err;
    const char *name;
};

/* A translation held equals the page table's, from end to end; a large one may
 * hold pages that a coalesced region has lost. */
static void l2tlb_check_entry(void *ud, uint32_t app, const struct hd_xlate *x)
{
    struct verdict *c = ud;
    const struct hd_ptables *tables = c->m->w.tables;
    struct hd_xlate y;

    for (uint32_t i = 0; i < x->pages; i++) {
        hd_vpn vpn = {x->vpn.v + i};
        if (x->page_pages == HD_LARGE_PAGES && app < c->m->env->apps &&
            hd_ptables_large(tables, app, vpn, &y) && y.pfn.v == x->pfn.v)
            return;
        if (app >= c->m->env->apps || !hd_ptables_find(tables, app, vpn, &y) ||
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

void hd_l2tlb_check(void *mmu, uint32_t i, struct heddle_error *err)
{
    struct hd_unit *u = hd_unit_of(mmu, i);
    struct verdict c = {u->m, err, "l2tlb"};

    if (u->m->tlb_cfg.mode.kind == HD_FULL)
        tlb_each(&u->tlb, l2tlb_check_entry, &c);
    c.name = "bypass";
    if (u->m->bypass_cfg.entries != 0)
        tlb_each(&u->bypass, l2tlb_check_entry, &c);
    for (uint32_t e = 0; e < u->miss.room; e++) {
        uint32_t n = 0;
        if (!u->miss.v[e].live)
            continue;
        for (uint32_t t = u->miss.v[e].first; t != HD_NONE; t = u->treq[t].next)
            n++;
        if (n != u->miss.v[e].n)
            hd_err_set(err, HEDDLE_ECHECK,
                       "mmu: MSHR %u counts %u requests, %u wait", e,
                       u->miss.v[e].n, n);
    }
    if (!hd_mshr_sane(&u->miss))
        hd_err_set(err, HEDDLE_ECHECK, "mmu: the MSHRs' lists are broken");
}

void hd_l2tlb_verify(const struct hd_unit *u, const struct hd_treq *q,
                     const struct hd_xlate *given)
{
    struct hd_xlate x;

    if (!hd_ptables_find(u->m->w.tables, q->app, q->vpn, &x) ||
        q->vpn.v - given->vpn.v >= given->pages ||
        hd_xlate_frame(&x, q->vpn).v != hd_xlate_frame(given, q->vpn).v)
        hd_err_set(u->m->env->err, HEDDLE_ECHECK,
                   "L2 TLB: application %u, page 0x%llx: frame %llu was given, "
                   "the page table says otherwise",
                   q->app, (unsigned long long)q->vpn.v,
                   (unsigned long long)hd_xlate_frame(given, q->vpn).v);
}

/* ---- walkers ----------------------------------------------------------- */

static const char *const STATE[] = {"",      "waits", "runs",
                                    "reads", "wants", "wants"};

void hd_ptw_look(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);

    for (uint32_t e = 0; e < u->miss.room; e++) {
        const struct hd_walk *w = &u->walk[e];
        if (!u->miss.v[e].live)
            continue;
        v->row(v->ud, "walk");
        v->text(v->ud, "state", STATE[w->state]);
        v->number(v->ud, "app", w->app);
        v->number(v->ud, "vpn", w->vpn.v);
        v->number(v->ud, "level", u->m->read[w->level].level);
        v->number(v->ud, "references",
                  w->references + (w->req != HD_NONE && !w->counted));
        v->number(v->ud, "requesters", u->miss.v[e].n);
        v->number(v->ud, "since", hd_unit_cycles(u->m, w->ready));
    }
}

void hd_ptw_stuck(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);

    for (uint32_t e = 0; e < u->miss.room; e++) {
        const struct hd_walk *w = &u->walk[e];
        char text[64] = "a free walker";
        if (!u->miss.v[e].live)
            continue;
        if (w->state == HD_WALK_READS)
            snprintf(text, sizeof text,
                     "memory: the entry of level %u at 0x%llx",
                     u->m->read[w->level].level,
                     (unsigned long long)w->pte[w->level - 1].v);
        else if (w->state == HD_WALK_RUNS)
            snprintf(text, sizeof text, "its own next step, at level %u",
                     u->m->read[w->level].level);
        hd_show_wait(v, "walk", i, text);
        v->number(v->ud, "app", w->app);
        v->number(v->ud, "vpn", w->vpn.v);
    }
}

void hd_ptw_check(void *mmu, uint32_t i, struct heddle_error *err)
{
    struct hd_unit *u = hd_unit_of(mmu, i);
    const struct hd_unit_state *s = u->s;
    const struct hd_walk_cfg *c = &u->m->walk_cfg;
    uint32_t waits = 0, busy = 0, called = 0, extra = 0;

    for (uint32_t e = 0; e < u->miss.room; e++) {
        if (!u->miss.v[e].live)
            continue;
        waits += u->walk[e].state == HD_WALK_WAITS;
        busy += u->walk[e].state > HD_WALK_WAITS;
    }
    for (uint32_t k = 0; k < s->waiting; k++) {
        uint32_t e = u->queue[hd_unit_place(s->queue_first, k, u->miss.room)];
        if (!u->miss.v[e].live || u->walk[e].state != HD_WALK_WAITS)
            hd_err_set(err, HEDDLE_ECHECK,
                       "mmu: walk %u is in the queue and does not wait", e);
    }
    if (u->subs.extra != NULL)
        extra = hd_numbers_live(&u->subs.extras);
    if (u->batch != NULL) { /* walkers without a batch are about to take one */
        uint32_t batches = hd_numbers_live(&u->batches);
        if (busy + extra < batches || batches > s->walkers)
            hd_err_set(err, HEDDLE_ECHECK,
                       "mmu: %u walks run, in %u batches of %u walkers",
                       busy + extra, batches, s->walkers);
        called = s->walkers - batches;
        busy = s->walkers;
    } else {
        busy += extra;
    }
    if (waits != s->waiting || busy != s->walkers ||
        (c->mode.kind != HD_IDEAL && busy > c->walkers))
        hd_err_set(err, HEDDLE_ECHECK,
                   "mmu: %u walks wait and %u run; %u and %u are counted, "
                   "with %u walkers",
                   waits, busy, s->waiting, s->walkers, c->walkers);
    if (busy < c->walkers && waits > 0 && called == 0 && !u->m->chosen)
        hd_err_set(err, HEDDLE_ECHECK,
                   "mmu: a walker is free and %u walks wait", waits);
}

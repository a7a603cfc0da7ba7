/*
 * fill.c - translations that a policy gets with a walk's answer
 * (heddle_fill_translation).
 *
 * A walk's last read brings more than the entry that it is for: the entries of
 * the neighbours are in the same line.  Many proposals use them (large-reach
 * and coalescing TLBs, Pham et al., MICRO 2012; distance and sequential
 * prefetchers that are free where the line is, Vavouliotis et al., ISCA 2021).
 * A policy that is asked walk_step or tlb_fill, or watches walk_done, names
 * pages; they are filled when the walk's own page is, at no read and no walk.
 *
 * A page whose entry was not in what the last read brought (fill.bytes,
 * aligned) is refused and counted; so are all of a walk that made no last read:
 * the walk cache had the entry, or a policy of walk_step answered without it.
 * What each costs in look-up ports of the L2 TLB is fill.ports.  Pages of other
 * applications than the walk's and pages that there cannot be are an error of
 * the policy.
 *
 * What is filled is marked like what policies have walked for
 * (translation/prefetch.c): prefetch.filled counts it, prefetch.useful and
 * prefetch.unused say what it was worth.
 *
 * Left out: an entry is filled as one page, or as the run that a policy of
 * tlb_merge makes of it; the walk caches get nothing.
 *
 * Invariant: what waits, waits for the answer of a walk that is under way.
 *
 * SPDX-License-Identifier: MIT
 */
#include "translation/walk.h"

#define HD_PART    fill
#define HD_CFG     struct hd_fill_cfg
#define HD_PART_OF "variants/fill.def"
#include "kit/rows.h"

static void fill_count(const struct hd_unit *u, uint32_t app,
                       enum hd_fill_stat what)
{
    (*hd_count(&u->fill_stat, u->instance, app, what))++;
}

int hd_fill_take(void *mmu, uint32_t app, uint64_t vpn, uint32_t to,
                 uint32_t core, struct heddle_error *err)
{
    struct hd_mmu *m = mmu;
    struct hd_unit *u = m->asking;
    const struct hd_walk *w = u != NULL ? &u->walk[m->asking_for] : NULL;
    int rc = hd_prefetch_may(m, app, vpn, to, core);

    if (w == NULL)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "fill: a page can come with the answer of a walk "
                          "only in walk_step, walk_done and tlb_fill");
    if (app != w->app)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "fill: page 0x%llx of application %u, but the walk "
                          "is application %u's",
                          (unsigned long long)vpn, app, w->app);
    if (rc != 0)
        return rc;
    if (m->walk_cfg.mode.kind != HD_FULL)
        return hd_err_set(err, HEDDLE_EPOLICY,
                          "fill: walks read no page table (walk.mode)");
    fill_count(u, app, HD_FILL_ASKED);
    if (u->s->fills == m->fill_cfg.queue)
        fill_count(u, app, HD_FILL_DROPPED);
    else
        u->wanted[u->s->fills++] =
            (struct hd_fill){vpn, m->asking_for, (uint16_t)core, (uint16_t)to};
    return 0;
}

/* The entry of a page is in what the last read of a walk brought. */
static bool fill_was_read(const struct hd_mmu *m, const struct hd_walk *w,
                          hd_vpn vpn)
{
    hd_pa pte[HD_WALK_STEPS];
    uint32_t leaf = hd_ptables_path(m->w.tables, w->app, vpn, pte);
    uint64_t bytes = m->fill_cfg.bytes;

    return w->leaf != 0 && !w->spared && leaf != 0 &&
           pte[leaf - 1].v / bytes == w->pte[w->leaf - 1].v / bytes;
}

/* A page is being walked for: its translation will come anyway. */
static bool fill_walked(const struct hd_unit *u, const struct hd_walk *w,
                        hd_vpn vpn)
{
    hd_vpn first = hd_ptables_first(u->m->w.tables, w->app, vpn);

    return hd_mshr_find(&u->miss, first.v | (uint64_t)w->app << 52) != HD_NONE;
}

static enum hd_fill_stat fill_one(struct hd_unit *u, hd_time now,
                                  const struct hd_walk *w,
                                  const struct hd_fill *f)
{
    const struct hd_mmu *m = u->m;
    hd_vpn vpn = {f->vpn};
    struct hd_xlate x;

    if (!hd_l2tlb_translate(u, w->app, vpn, &x))
        return HD_FILL_ABSENT;
    if (!fill_was_read(m, w, vpn))
        return HD_FILL_REFUSED;
    if (f->to != HEDDLE_TRANSLATE_TO_L2TLB) {
        const struct hd_tclient *c = &m->w.clients[f->core];
        c->prefetched(c->self, now, w->app, f->vpn, f->to);
        return HD_FILL_FILLED;
    }
    if (hd_tlb_peek(&u->tlb, w->app, vpn, &x) || fill_walked(u, w, vpn))
        return HD_FILL_THERE;
    for (uint32_t i = 0; i < m->fill_cfg.ports; i++)
        hd_l2tlb_port(u, now);
    u->hand = NULL;
    if (!hd_tlb_prefetched(&u->tlb, w->app, f->core, vpn, &x))
        return HD_FILL_KEPT_OUT;
    (*hd_count(&m->prefetch_stat, u->instance, w->app, HD_PREFETCH_FILLED))++;
    return HD_FILL_FILLED;
}

void hd_fill_answer(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_walk *w = &u->walk[walk];
    uint32_t left = 0;

    for (uint32_t i = 0; i < u->s->fills; i++) {
        const struct hd_fill f = u->wanted[i];

        if (f.walk == walk)
            fill_count(u, w->app, fill_one(u, now, w, &f));
        else
            u->wanted[left++] = f;
    }
    u->s->fills = left;
}

/* ---- looking and checking ----------------------------------------------- */

void hd_fill_look(void *mmu, uint32_t unit, struct heddle_visitor *v)
{
    const struct hd_unit *u = hd_unit_of(mmu, unit);

    for (uint32_t i = 0; i < u->s->fills; i++) {
        const struct hd_fill *f = &u->wanted[i];

        v->row(v->ud, "waits");
        v->number(v->ud, "app", u->walk[f->walk].app);
        v->number(v->ud, "vpn", f->vpn);
        v->number(v->ud, "walk of", u->walk[f->walk].vpn.v);
    }
}

void hd_fill_check(void *mmu, uint32_t unit, struct heddle_error *err)
{
    const struct hd_unit *u = hd_unit_of(mmu, unit);

    for (uint32_t i = 0; i < u->s->fills; i++)
        if (!u->miss.v[u->wanted[i].walk].live)
            hd_err_set(err, HEDDLE_ECHECK,
                       "fill: page 0x%llx waits for the answer of a walk that "
                       "is over",
                       (unsigned long long)u->wanted[i].vpn);
}

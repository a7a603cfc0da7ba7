/*
 * remap.c - mappings that change while cores run: shootdowns of L1 TLBs,
 * answers that a change has overtaken, and lines of pages that move.
 *
 * A shootdown invalidates entries in the L1 TLBs of an application's cores,
 * which take no look-up until it is over.  An answer that left the level below
 * before a mapping changed and arrives after it is corrected from the page
 * table.  Where a page leaves its frame, the lines that L1 caches hold of it
 * are dropped; which were dirty is the caller's account.
 *
 * Called by the memory manager and on far faults alone; without either nothing
 * here runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "l1dstate.h"

bool hd_remap_refresh(const struct hd_core *c, struct hd_treq *q)
{
    for (uint32_t i = 0; i < q->x.pages; i += q->x.page_pages) {
        hd_vpn v = {q->x.vpn.v + i};
        struct hd_xlate x;
        if (hd_ptables_find(c->gpu->tables, c->app, v, &x) &&
            x.page_pages >= q->x.page_pages &&
            hd_xlate_frame(&x, v).v == hd_xlate_frame(&q->x, v).v)
            continue;
        if (hd_ptables_find(c->gpu->tables, c->app, q->vpn, &x))
            q->x = x;
        else
            return c->gpu->faults == NULL;
        return true;
    }
    return true;
}

/* Before TLBs lose entries: lines of a virtual L1 go with their translations;
 * what is counted is of no launch. */
static HD_APART void remap_shoot_first(struct hd_gpu *g, uint32_t app,
                                       hd_vpn vpn, uint64_t pages)
{
    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (app != HD_APP_NONE && c->app != app)
            continue;
        if (c->virtual_l1 && pages != 0)
            hd_virtual_shoot(c, app == HD_APP_NONE, vpn, pages);
        hd_core_for(c, HD_NO_WARP);
    }
}

void hd_gpu_shoot(void *self, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until)
{
    struct hd_gpu *g = self;

    hd_cross(g->env, HD_BORDER_shoot_core);
    if (g->translate == 0)
        return; /* nothing is held that could be wrong */
    if (HD_UNLIKELY(g->core[0].virtual_l1 || g->core[0].launch != NULL))
        remap_shoot_first(g, app, vpn, pages);
    if (g->m->l1tlb.mode.kind != HD_FULL)
        return;
    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (app != HD_APP_NONE && c->app != app)
            continue;
        c->tlb_count[HD_L1TLB_INVALIDATIONS] +=
            hd_tlb_shoot(&c->l1tlb, app, vpn, pages);
        if (c->side.base_n != 0)
            hd_tlb_shoot(&c->side, app, vpn, pages);
        c->s->tlb_free = hd_max_u64(c->s->tlb_free, until);
        c->s->tlb_used = 0;
    }
}

/* Whether the L1 can hold a line of a page: one of the span + 1 from `first`
 * on, where that is a power of two and they are aligned.  Without branches, so
 * that the compiler compares some tags at a time: most L1s hold none. */
static bool remap_may_hold(const struct hd_core *c, uint64_t first,
                           uint64_t span)
{
    const uint64_t *key = c->l1.tags.key;
    uint32_t n = c->l1.tags.sets * c->l1.tags.ways;
    uint64_t any = 0;

    if ((span & (span + 1)) != 0 || (first & span) != 0)
        return true;
    for (uint32_t e = 0; e < n; e++) {
        uint64_t x = (key[e] ^ first) & ~span; /* 0: it is one */
        any |= (x - 1) & ~x;
    }
    return any >> 63;
}

/* Takes more lines than the L1 has out of it: what it holds is looked at. */
static uint32_t remap_drop_range(struct hd_core *c, uint64_t first,
                                 uint64_t end, bool *dirty)
{
    uint32_t n = 0, entries = c->l1.tags.sets * c->l1.tags.ways;

    for (uint32_t e = 0; e < entries; e++) {
        uint64_t line = c->l1.tags.key[e];
        if (line < first || line > end)
            continue;
        *dirty |= hd_cache_drop(&c->l1, line);
        n++;
    }
    return n;
}

uint32_t hd_gpu_drop(void *self, uint32_t app, hd_pa pa, uint32_t bytes,
                     bool *dirty)
{
    struct hd_gpu *g = self;
    uint64_t first = pa.v >> g->line_shift;
    uint64_t end = (pa.v + bytes - 1) >> g->line_shift;
    uint32_t n = 0;

    hd_cross(g->env, HD_BORDER_drop_core);
    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (c->app != app || !hd_l1d_is_full(c) ||
            (end != first && !remap_may_hold(c, first, end - first)))
            continue;
        if (end - first >= c->l1.tags.sets * c->l1.tags.ways) {
            n += remap_drop_range(c, first, end, dirty);
            continue;
        }
        for (uint64_t line = first; line <= end; line++) {
            if (!hd_cache_peek(&c->l1, line))
                continue;
            *dirty |= hd_cache_drop(&c->l1, line);
            n++;
        }
    }
    return n;
}

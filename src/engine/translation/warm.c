/*
 * warm.c - functional warming of a unit: a request is answered at once, and
 * leaves in the L2 TLB, the walk cache and the caches what an answered request
 * would leave there.
 *
 * Sampled runs (sample.every) call it between what they simulate; nothing else
 * does.  No event is posted and no time passes: no port, MSHR, queue or walker
 * is taken.  Which arrays are asked, in which order, and where the result of a
 * walk goes, is as in l2tlb.c and ptw.c, whose functions are called where they
 * have no time in them.
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk.h"

/* What the read of a walk's level leaves behind in the caches. */
static void warm_read(const struct hd_unit *u, const struct hd_walk *w)
{
    const struct hd_mmu *m = u->m;
    struct hd_req r = {.pa = w->pte[w->level - 1],
                       .kind = HD_REQ_WALK,
                       .app = w->app,
                       .warp = HD_NO_WARP,
                       .level = m->read[w->level].memory,
                       .flags = m->read_flags,
                       .bytes = m->read[w->level].bytes};

    m->w.memory.warm(m->w.memory.self, &r);
}

/* What a walk for a request leaves behind. */
static void warm_walk(struct hd_unit *u, const struct hd_treq *q)
{
    const struct hd_mmu *m = u->m;
    struct hd_walk w = {.vpn = q->vpn, .app = q->app, .level = 1};
    struct hd_walk_aim a = {0};
    bool physical = hd_walk_by_address(u);

    if (m->walk_cfg.mode.kind != HD_FULL)
        return;
    w.leaf = (uint8_t)hd_ptables_path(m->w.tables, w.app, w.vpn, w.pte);
    if (w.leaf != 0 && hd_walk_by_prefix(u)) {
        w.cached = (uint8_t)hd_pwc_prefix(&u->pwc, w.app, w.vpn,
                                          m->read[w.leaf].level);
        w.level = (uint8_t)(w.cached + 1);
    }
    for (; w.level <= w.leaf; w.level++) {
        if (hd_walk_spared(u, &w, HD_NONE, q->pc, physical))
            continue;
        do {
            if (HD_UNLIKELY(m->address.bound))
                hd_walktable_aim(u, &w, &a, q->core, q->pc);
            warm_read(u, &w);
            if (hd_pwc_on(&u->pwc) && !a.table)
                hd_pwc_fill(&u->pwc, w.app, w.vpn, m->read[w.level].level,
                            m->read[w.leaf].level, w.pte[w.level - 1]);
        } while (!hd_walktable_read(u, &w, &a));
    }
}

/* Looks a request up in the L2 TLB and the bypass cache. */
static bool warm_find(struct hd_unit *u, const struct hd_treq *q,
                      struct hd_xlate *x)
{
    if (hd_tlb_lookup(&u->tlb, q->app, q->vpn, q->core, q->warp, x, NULL))
        return hd_l2tlb_resident(u, q, x);
    hd_tlb_missed(&u->tlb, q->app, q->vpn, q->core, q->warp);
    return u->m->bypass_cfg.entries != 0 && hd_bypass_find(u, q, x) &&
           hd_l2tlb_resident(u, q, x);
}

uint32_t hd_l2tlb_warm(void *self, const struct hd_treq *q, struct hd_xlate *x)
{
    struct hd_unit *u = self;
    const struct hd_mmu *m = u->m;
    bool full = m->tlb_cfg.mode.kind == HD_FULL;

    u->hand = q;
    if (full && warm_find(u, q, x))
        return HD_TREQ_HIT_L2;
    if (full || m->tlb_cfg.mode.kind == HD_OFF)
        warm_walk(u, q);
    if (!hd_l2tlb_translate(u, q->app, q->vpn, x) &&
        (m->w.faults == NULL || !hd_faults_warm(m->w.faults, q->app, q->vpn) ||
         !hd_l2tlb_translate(u, q->app, q->vpn, x))) {
        hd_err_set(m->env->err, HEDDLE_EDATA,
                   "application %u: address 0x%llx is in no allocation", q->app,
                   (unsigned long long)q->vpn.v << HD_PAGE_SHIFT);
        return HD_TREQ_WALKED;
    }
    if (HD_UNLIKELY(m->group.bound))
        hd_groups_choose(u, q->app, q->vpn, q->core, q->pc, x);
    if (full)
        hd_l2tlb_fill(u, 0, NULL, q, x);
    if (m->w.evict != NULL)
        hd_evict_touch(m->w.evict, hd_events_now(m->env->ev), q->app, q->vpn);
    return full || m->tlb_cfg.mode.kind == HD_OFF ? HD_TREQ_WALKED
                                                  : HD_TREQ_HIT_L2;
}

/*
 * virtual.c - an L1 cache that is virtually indexed and tagged
 * (l1cache.order=virtual).
 *
 * In NVIDIA's cards since Volta a load that hits in the L1 asks no TLB: on an
 * A100 680 loads 2 MB apart, 42 times the reach of a uTLB, all take what an L1
 * hit takes, and TLB microbenchmarks read past the L1 for this reason (on V100:
 * TU-Berlin-DIMA/fast-interconnects).  So the lines of a load look up the L1
 * first; one that is there, or in flight to it, is done without a translation,
 * at l1cache.latency.  A line that misses looks up the L1 TLB then (or, without
 * one, asks the level below), waits for its page, and asks the L2: its time is
 * the sum of both.  Stores and atomics are always translated.
 *
 * What the model keeps as the tag is the line's place in memory, which the page
 * table says at no cost: as long as a mapping holds, both names mean one line,
 * and an application is in one core at a time.  What makes a virtual cache
 * different follows from when the names part:
 * - If a translation is invalidated, the lines of its pages leave the L1 caches
 *   with it.  (A page that is moved or evicted has lost them before.)
 * - Synonyms, two pages of one frame, do not occur: no two allocations share
 *   memory here.  A real cache would hold a line twice.
 *
 * Invariant: a line that hits is of a page that is mapped, and resident.
 *
 * Left out: sets by the virtual address, which differ from those by the frame
 * only where a way is larger than a page; a write-back L1 (refused), whose
 * evictions would need a translation; pages that are looked up ahead of lines
 * (l1tlb.overlap, refused); lines that hit in a row in one step of the
 * load/store unit.  A line that hits still waits while the L1 TLB's port is
 * taken, and a line whose page is being translated is not in flight yet:
 * another load of it joins the miss of the page.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "l1dstate.h"

bool hd_virtual_holds(const struct hd_core *c, uint64_t vpn, uint64_t place,
                      uint32_t bytes, uint64_t *line)
{
    const struct hd_gpu *g = c->gpu;
    hd_vpn v = {vpn};
    struct hd_xlate x;

    if (g->m->l1cache.mode.kind == HD_OFF ||
        !hd_ptables_find(g->tables, c->app, v, &x) ||
        !hd_faults_here(g->faults, g->tables, c->app, v, &x))
        return false;
    *line = hd_xlate_frame(&x, v).v << (HD_PAGE_SHIFT - g->line_shift) | place;
    if (!hd_l1d_is_full(c))
        return true;
    if (c->sector != NULL)
        return hd_l1sector_holds(c, *line, bytes);
    return hd_cache_peek(&c->l1, *line) ||
           hd_mshr_find(&c->l1_mshr, *line) != HD_NONE;
}

/* Whether a frame has a page of the application outside [vpn, vpn + pages). */
static bool virtual_stays(const struct hd_core *c, uint64_t frame, hd_vpn vpn,
                          uint64_t pages)
{
    const struct hd_ptables *t = c->gpu->tables;
    uint32_t app = c->app;
    hd_vpn v;

    if (frame >= HD_HOST_FRAME)
        v = hd_ptables_host_page(t, (hd_pfn){frame}, &app);
    else if (!hd_ptables_owner(t, (hd_pfn){frame}, &app, &v))
        return false;
    return app == c->app && v.v - vpn.v >= pages;
}

void hd_virtual_shoot(struct hd_core *c, bool all, hd_vpn vpn, uint64_t pages)
{
    uint32_t shift = HD_PAGE_SHIFT - c->gpu->line_shift;

    if (!hd_l1d_is_full(c))
        return;
    for (uint32_t e = 0; e < c->l1.tags.sets * c->l1.tags.ways; e++) {
        uint64_t line = c->l1.tags.key[e];

        if (line != HD_KEY_NONE &&
            (all || !virtual_stays(c, line >> shift, vpn, pages)))
            hd_cache_drop(&c->l1, line);
    }
}

/*
 * advice.c - what an application's host says of an allocation (cudaMemAdvise),
 * and permissions.
 *
 * Pages may be written until their host says that they are mostly read
 * (uvm.mode=driver: a copy stays on the host, so the driver maps them for
 * reading).  A store to such a page is served all the same; the bit is there
 * because one translation cannot stand for pages with different ones.
 *
 * SPDX-License-Identifier: MIT
 */
#include "points/slots.h"
#include "ptstate.h"

void hd_ptables_protect(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                        uint64_t pages, bool write)
{
    uint64_t end = vpn.v + pages, v = vpn.v;
    struct hd_xlate x;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    while (v < end) {
        bool edge;
        uint64_t *e;
        if (!hd_pt_taken(t, app, v, &x)) {
            v++;
            continue;
        }
        edge = x.vpn.v <= vpn.v || x.vpn.v + x.pages >= end;
        e = hd_pt_leaf(t, hd_pt_slot_of(t, app, v), x.vpn.v);
        v = x.vpn.v + x.pages;
        if (edge && hd_pt_holders(t, app, x.vpn.v, x.pages) > 1)
            continue;
        for (uint32_t i = 0; i < (x.pages == HD_LARGE_PAGES ? 1 : x.pages); i++)
            e[i] = write ? e[i] | HD_PT_WRITE : e[i] & ~HD_PT_WRITE;
    }
    if (!t->cfg.scan)
        return;
    hd_contig_scan(t, app, vpn, pages);
    for (v = vpn.v & ~511ull; v < end; v += HD_LARGE_PAGES)
        hd_contig_changed(t, app, v); /* links may be others with equal bits */
}

void hd_ptables_advise(struct hd_ptables *t, uint32_t app, uint32_t index,
                       uint32_t advice)
{
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app != app || r->index != index)
            continue;
        r->advice = advice;
        hd_ptables_protect(t, app, (hd_vpn){r->vpn}, r->pages,
                           !(advice & HEDDLE_ADVICE_READ_MOSTLY));
    }
    t->s->advised = 1;
}

bool hd_ptables_advised(const struct hd_ptables *t)
{
    return t->s->advised != 0;
}

uint32_t hd_ptables_advice(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_range *r =
        HD_LIKELY(!t->s->advised) ? NULL : hd_pt_range_with(t, app, vpn.v);

    return r != NULL ? r->advice : 0;
}

uint32_t hd_ptables_preferred(const struct hd_ptables *t, uint32_t app,
                              hd_vpn vpn)
{
    uint32_t a = hd_ptables_advice(t, app, vpn);

    return a & HEDDLE_ADVICE_GPU    ? HEDDLE_PROCESSOR_GPU
           : a & HEDDLE_ADVICE_HOST ? HEDDLE_PROCESSOR_HOST
                                    : HEDDLE_PROCESSOR_NONE;
}

/*
 * resident.c - pages that are resident in GPU memory and pages that are not:
 * demand paging as the page tables see it (vm.paging=fault).
 *
 * An allocation is reserved before cycle 0 instead of mapped: its tables are
 * there and its pages have entries that are not present, whose other bits are
 * free for software (Intel SDM volume 3, 4.8).  An entry says NONRESIDENT and
 * the size of its page, so a walk reads as many levels as for a mapped page and
 * finds out at its leaf.  A page whose transfer has begun has its frame, and
 * says IN_FLIGHT too; when the data are there the entry becomes present.  A
 * page that is evicted (paging/evict.c) takes the same steps back: it says
 * NONRESIDENT and EVICTING and has its frame until its data are on the host.
 *
 * Left out on purpose: tables that are made at the first fault in their region
 * (UVM does; a walk would end early).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "ptstate.h"

bool hd_ptables_nonresident(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn, struct hd_xlate *x)
{
    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v,
                        HD_PT_NONRESIDENT, x);
}

bool hd_ptables_in_flight(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v, HD_PT_IN_FLIGHT,
                        &x);
}

uint32_t hd_ptables_faulted(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                            uint32_t n)
{
    return hd_pt_region_of(t, hd_pt_region_number(hd_pt_slot_of(t, app, vpn.v)))
               ->faults += n;
}

void hd_ptables_populated(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          uint64_t set[HD_LARGE_PAGES / 64])
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    const uint64_t *e;
    uint32_t next;

    memset(set, 0, HD_LARGE_PAGES / 8);
    if (h->key == 0)
        return;
    e = hd_pt_entry(t, h->at);
    next = h->region_bits & HD_PT_LARGE ? 0 : 1;
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++, e += next)
        set[i / 64] |=
            (uint64_t)((*e & (HD_PT_PRESENT | HD_PT_IN_FLIGHT)) != 0 &&
                       (*e & HD_PT_FRAME) < HD_HOST_FRAME * HD_PAGE_BYTES)
            << i % 64;
}

bool hd_ptables_evicted_before(const struct hd_ptables *t, uint32_t app,
                               hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint64_t e = h->key != 0 ? *hd_pt_leaf(t, h, vpn.v) : 0;

    return (e & (HD_PT_PRESENT | HD_PT_EVICTED)) == HD_PT_EVICTED;
}

void hd_ptables_touch(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    struct hd_xlate x;

    for (uint64_t v = vpn.v; v < vpn.v + pages; v = x.vpn.v + x.pages) {
        const struct hd_pt_slot *h = hd_pt_slot_of(t, app, v);
        uint64_t *e;
        x = (struct hd_xlate){.vpn = {v}, .pages = 1};
        if (!hd_pt_decode(t, h, v, HD_PT_NONRESIDENT | HD_PT_PRESENT, &x))
            continue;
        e = hd_pt_leaf(t, h, x.vpn.v);
        if (*e & HD_PT_IN_FLIGHT ||
            (*e & HD_PT_PRESENT && x.pfn.v < HD_HOST_FRAME))
            continue;
        for (uint32_t i = 0; i < (x.pages == HD_LARGE_PAGES ? 1 : x.pages); i++)
            e[i] |= HD_PT_TOUCHED;
    }
}

bool hd_ptables_touched(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v, HD_PT_TOUCHED,
                        &x);
}

bool hd_ptables_untouched(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          const uint64_t set[HD_LARGE_PAGES / 64])
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint64_t first = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);
    uint64_t here = HD_PT_PRESENT | HD_PT_IN_FLIGHT;
    struct hd_xlate x;

    for (uint64_t i = 0; i < HD_LARGE_PAGES; i++)
        if (hd_pt_decode(t, h, first + i,
                         HD_PT_EVICTED | HD_PT_TOUCHED |
                             (set[i / 64] >> i % 64 & 1 ? 0 : here),
                         &x))
            return false;
    return true;
}

bool hd_ptables_dma(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    struct hd_pt_region *r = hd_pt_region_of(t, hd_pt_region_number(h));

    if (h->key == 0 || r->dma)
        return false;
    r->dma = 1;
    return true;
}

uint32_t hd_ptables_used(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    struct hd_xlate x;

    if (HD_LIKELY(!hd_pt_decode(t, h, vpn.v, HD_PT_PREFETCHED, &x)))
        return 0;
    hd_pt_put(t, h, x.vpn.v, x.pages, x.pfn.v, HD_PT_PRESENT);
    return x.pages;
}

/* A page of an allocation that was reserved gets its frame. */
static struct hd_pt_job resident_job(const struct hd_ptables *t, uint32_t app,
                                     uint64_t vpn, bool again,
                                     struct heddle_error *err)
{
    const struct hd_pt_range *r = hd_pt_range_with(t, app, vpn);
    struct hd_pt_job j = {.app = app,
                          .base = {vpn << HD_PAGE_SHIFT},
                          .bytes = HD_PAGE_BYTES,
                          .err = err,
                          .nonresident = true,
                          .again = again};

    if (r != NULL) {
        j.index = r->index;
        j.base.v = r->vpn << HD_PAGE_SHIFT;
        j.bytes = r->pages << HD_PAGE_SHIFT;
    }
    return j;
}

hd_vpn hd_ptables_range(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                        hd_vpn *end)
{
    struct hd_pt_job j = resident_job(t, app, vpn.v, false, NULL);

    end->v = (j.base.v + j.bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;
    return (hd_vpn){j.base.v >> HD_PAGE_SHIFT};
}

uint32_t hd_ptables_takes(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_pt_job j = resident_job(t, app, vpn.v, false, NULL);
    struct hd_xlate x = {.pages = 1};

    hd_ptables_nonresident(t, app, vpn, &x);
    return x.pages < HD_LARGE_PAGES && hd_ptables_small(t, app, vpn) &&
                   hd_pt_whole(&j, vpn.v)
               ? HD_LARGE_PAGES
               : x.pages;
}

int hd_ptables_place(struct hd_ptables *t, uint32_t app, hd_vpn vpn, bool again,
                     struct heddle_error *err)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    struct hd_pt_job j = resident_job(t, app, vpn.v, again, err);
    struct hd_xlate x;
    uint64_t f;
    bool chunk;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    if (!hd_ptables_nonresident(t, app, vpn, &x) || x.vpn.v != vpn.v)
        return hd_err_set(err, HEDDLE_ECHECK,
                          "application %u, page 0x%llx is to get a frame, and "
                          "is resident",
                          app, (unsigned long long)vpn.v);
    if (HD_UNLIKELY(*hd_pt_leaf(t, h, vpn.v) & HD_PT_EVICTING))
        return HD_PLACE_EVICT; /* it is not out yet */
    chunk = t->cfg.chunks && x.pages < HD_LARGE_PAGES && hd_pt_whole(&j, vpn.v);
    if (HD_UNLIKELY(t->cfg.chunks) && !(h->region_bits & HD_PT_JOINED) &&
        hd_ptables_room(t, app, vpn) < (chunk ? HD_LARGE_PAGES : x.pages) &&
        hd_ptables_small(t, app, vpn))
        return HD_PLACE_EVICT;
    f = hd_pt_frame_for(t, &j, h, vpn.v, x.pages);
    if (f == HD_PT_WANTS_COMPACT)
        return HD_PLACE_COMPACT;
    if (f == HD_PT_WANTS_EVICT)
        return HD_PLACE_EVICT;
    if (f == HD_NO_FRAME || hd_pt_occupy(t, h, app, vpn.v, f, x.pages, err) < 0)
        return err->code;
    if (HD_UNLIKELY(chunk) && !(h->region_bits & HD_PT_JOINED))
        hd_pt_hold(t, h, (int32_t)x.pages);
    hd_pt_put(t, h, vpn.v, x.pages, f,
              HD_PT_NONRESIDENT | HD_PT_IN_FLIGHT |
                  (*hd_pt_leaf(t, h, vpn.v) & HD_PT_EVICTED));
    t->s->in_flight += x.pages;
    return HD_PLACED;
}

bool hd_ptables_arrive(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       bool prefetched)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    struct hd_xlate x;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    if (!hd_pt_decode(t, h, vpn.v, HD_PT_IN_FLIGHT, &x) || x.vpn.v != vpn.v)
        return false; /* its allocation has gone, and another may have come */
    hd_pt_put(t, h, vpn.v, x.pages, x.pfn.v,
              HD_PT_PRESENT | (prefetched ? HD_PT_PREFETCHED : 0));
    hd_pt_count_present(t, h, app, vpn.v, x.pages, true);
    t->s->in_flight -= x.pages;
    hd_pt_rescan(t, app, vpn.v, x.pages);
    return true;
}

void hd_pt_tell_gone(struct hd_ptables *t, uint32_t app,
                     const struct hd_xlate *x, uint64_t bits)
{
    t->s->changes++;
    if (t->gone != NULL)
        t->gone(t->evict_self, app, x->vpn, x->pages, bits & HD_PT_PREFETCHED);
}

void hd_ptables_evict(struct hd_ptables *t, uint32_t app,
                      const struct hd_xlate *x)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, x->vpn.v);
    uint64_t bits = *hd_pt_leaf(t, h, x->vpn.v);

    hd_assert(bits & HD_PT_PRESENT && !(h->region_bits & HD_PT_JOINED));
    hd_pt_put(t, h, x->vpn.v, x->pages, x->pfn.v,
              HD_PT_NONRESIDENT | HD_PT_EVICTING | HD_PT_EVICTED);
    hd_pt_count_present(t, h, app, x->vpn.v, x->pages, false);
    t->s->evicting += x->pages;
    hd_pt_rescan(t, app, x->vpn.v, x->pages);
    hd_pt_tell_gone(t, app, x, bits);
}

uint32_t hd_ptables_evicted(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    struct hd_xlate x;

    if (!hd_pt_decode(t, h, vpn.v, HD_PT_NONRESIDENT, &x) ||
        !(*hd_pt_leaf(t, h, vpn.v) & HD_PT_EVICTING))
        return 0;
    hd_pt_put(t, h, vpn.v, x.pages, HD_NO_FRAME,
              HD_PT_NONRESIDENT | HD_PT_EVICTED);
    t->s->evicting -= x.pages;
    hd_pt_give_memory(t, h, &x);
    hd_pt_give_frame(t, app, &x);
    return x.pages;
}

/*
 * coalesced.c - regions that are used as one page: in-place coalescing of
 * Mosaic (Ausavarungnirun et al., MICRO 2017, section 4.3).
 *
 * Where the 512 pages of a region are in one frame of 2 MB, each in its place,
 * a bit in the level-3 entry says so and a bit in each level-4 entry disables
 * it.  No page moves and no translation becomes wrong: what TLBs hold of single
 * pages stays true next to the large one.  A walk still reads four entries, the
 * last one the first entry of the leaf table, for whichever of the pages it is.
 *
 * A coalesced region may lose pages; the others stay in their places, and a
 * page that comes back comes to its own.  With vm.paging=fault a region may be
 * coalesced before all of its pages have come from the host, but not while one
 * is being evicted: the places of the others are kept for them.  So wherever an
 * entry for such a region hits, the page's own entry is looked at
 * (hd_ptables_resident), and where it is not present that page faults alone.
 *
 * Which regions are coalesced and split, and what that costs, is the memory
 * manager's affair (manage.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

/* Present entries of a region whose first leaf table this is. */
static uint32_t coalesced_used(const struct hd_ptables *t,
                               const struct hd_pt_table *x)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->leaves; i++)
        n += x[i].used;
    return n;
}

uint32_t hd_ptables_present(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn)
{
    const struct hd_pt_table *x =
        hd_pt_leaf_table(t, hd_pt_slot_of(t, app, vpn.v));

    return x == NULL ? 0 : coalesced_used(t, x);
}

/* The frame of 2 MB in which the pages of a leaf table are in order, as far as
 * they have frames; HD_NO_FRAME: there is none, or a page has one of the bits
 * `bars`: it is being evicted, and its frame would not be the place that is
 * kept for it, or it is compressed. */
static uint64_t coalesced_frame(const uint64_t *e, uint64_t bars)
{
    uint64_t f = HD_NO_FRAME;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++) {
        uint64_t at = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT)) || e[i] & bars)
            return HD_NO_FRAME;
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_IN_FLIGHT)))
            continue;
        if (f == HD_NO_FRAME && (at < i || (at - i) % HD_LARGE_PAGES != 0))
            return HD_NO_FRAME;
        if (f == HD_NO_FRAME)
            f = at - i;
        if (at != f + i)
            return HD_NO_FRAME;
    }
    return f;
}

uint32_t hd_ptables_whole(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                          hd_pfn *frame)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    const struct hd_pt_table *x = hd_pt_leaf_table(t, h);
    const uint64_t *e;
    uint64_t f;
    uint32_t used = x == NULL ? 0 : coalesced_used(t, x);

    if (x == NULL || h->region_bits & HD_PT_JOINED ||
        (used != HD_LARGE_PAGES &&
         (t->cfg.paging != HD_PAGING_FAULT || t->compress != NULL ||
          hd_ptables_small(t, app, vpn))))
        return 0;
    e = hd_pt_entry(t, x->at);
    f = coalesced_frame(e, HD_PT_EVICTING | HD_PT_PACKED);
    if (f == HD_NO_FRAME || f + HD_LARGE_PAGES > t->frames.frames)
        return 0;
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_IN_FLIGHT)) &&
            hd_frames_owner(&t->frames, f + i) != 0)
            return 0;
    frame->v = f;
    return used;
}

uint32_t hd_ptables_kept_apart(const struct hd_ptables *t, uint32_t app,
                               hd_vpn vpn)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    const struct hd_pt_table *x = hd_pt_leaf_table(t, h);
    const uint64_t *e;

    if (t->compress == NULL || x == NULL || h->region_bits & HD_PT_JOINED ||
        coalesced_used(t, x) != HD_LARGE_PAGES)
        return 0;
    e = hd_pt_entry(t, x->at);
    if (coalesced_frame(e, HD_PT_EVICTING) == HD_NO_FRAME ||
        coalesced_frame(e, HD_PT_EVICTING | HD_PT_PACKED) != HD_NO_FRAME)
        return 0;
    return HD_LARGE_PAGES;
}

bool hd_ptables_large(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                      struct hd_xlate *x)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);

    if (h->key == 0 || !(h->region_bits & HD_PT_JOINED))
        return false;
    x->vpn.v = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);
    x->pfn.v = hd_pt_region_of(t, hd_pt_region_number(h))->frame;
    x->pages = x->page_pages = HD_LARGE_PAGES;
    return true;
}

uint32_t hd_ptables_remaining(const struct hd_ptables *t, uint32_t app,
                              hd_vpn vpn)
{
    const uint64_t *e = hd_pt_entry(t, hd_pt_slot_of(t, app, vpn.v)->at);
    uint32_t n = 0;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        n += (e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT)) != 0;
    return n;
}

/* Sets or clears the bits of a region's entries. */
static void coalesced_mark(struct hd_ptables *t, const struct hd_pt_slot *h,
                           uint64_t vpn, bool joined)
{
    uint64_t *e = hd_pt_entry(t, h->at);
    uint64_t *up = hd_pt_entry(t, t->table[h->t[2]].at) +
                   hd_pt_index_of(t, vpn, t->dir) + t->dual; /* its 4 KB half */

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT))
            e[i] = joined ? e[i] | HD_PT_DISABLED
                          : e[i] & ~(uint64_t)HD_PT_DISABLED;
    *up = joined ? *up | HD_PT_WHOLE : *up & ~(uint64_t)HD_PT_WHOLE;
}

void hd_ptables_join(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint32_t region = hd_pt_region_number(h);
    const uint64_t *e = hd_pt_entry(t, h->at);
    hd_pfn f = {0};
    uint32_t present = hd_ptables_whole(t, app, vpn, &f);

    hd_at_home(t->env, HD_SIDE_MANAGER);
    hd_assert(present != 0);
    for (uint32_t i = 0; present != HD_LARGE_PAGES && i < HD_LARGE_PAGES; i++) {
        if (e[i] & (HD_PT_PRESENT | HD_PT_IN_FLIGHT))
            continue;
        if (hd_frames_take(&t->frames, f.v + i, 1,
                           region * HD_LARGE_PAGES + i + 1) < 0) {
            hd_err_memory(t->env->err);
            return;
        }
        hd_pt_hold_on(t, h, 1);
        t->s->kept++;
    }
    h->region_bits |= HD_PT_JOINED;
    hd_pt_region_of(t, region)->frame = f.v;
    t->s->sized = 1;
    hd_bigframe_of(&t->big, f.v)->joined = 1;
    coalesced_mark(t, h, vpn.v, true);
    hd_pt_rescan(t, app, vpn.v & ~511ull, HD_LARGE_PAGES);
}

void hd_ptables_split(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint64_t f = hd_pt_region_of(t, hd_pt_region_number(h))->frame;
    const uint64_t *e = hd_pt_entry(t, h->at);

    hd_at_home(t->env, HD_SIDE_MANAGER);
    hd_assert(h->key != 0 && h->region_bits & HD_PT_JOINED);
    coalesced_mark(t, h, vpn.v, false);
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++) {
        if (e[i] & (HD_PT_PRESENT | HD_PT_IN_FLIGHT))
            continue;
        hd_frames_give(&t->frames, f + i, 1);
        hd_pt_hold_on(t, h, -1);
        t->s->kept--;
    }
    h->region_bits &= ~(uint32_t)HD_PT_JOINED;
    hd_pt_rescan(t, app, vpn.v & ~511ull, HD_LARGE_PAGES);
    hd_bigframe_of(&t->big, f)->joined = 0;
    t->s->changes++;
}

/* ---- checking --------------------------------------------------------- */

/* All of the frame of 2 MB of a coalesced region is the region's, whether its
 * pages are there or not. */
static bool coalesced_owns(const struct hd_ptables *t, uint32_t region)
{
    uint64_t f = hd_pt_region_of(t, region)->frame;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (f % HD_LARGE_PAGES != 0 || f + i >= t->frames.frames ||
            hd_frames_owner(&t->frames, f + i) !=
                region * HD_LARGE_PAGES + i + 1)
            return false;
    return true;
}

/* A coalesced region's pages of 4 KB are in one frame of 2 MB, each in its
 * place, all disabled, and no other page is; no other entry is disabled.  So
 * what a large entry covers is 512 pages of one application, in order and
 * aligned.
 */
void hd_coalesced_check(const struct hd_ptables *t, struct heddle_error *err,
                        uint32_t app, uint64_t vpn, const uint64_t *e,
                        uint32_t level)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn);
    uint64_t f = (*e & HD_PT_FRAME) / HD_PAGE_BYTES;
    bool joined = h->key != 0 && h->region_bits & HD_PT_JOINED;
    const struct hd_bigframe *b;

    if (level < 3 || (level == 3 && *e & HD_PT_2M))
        return;
    if (level == 3 && joined == !!(*e & HD_PT_WHOLE) &&
        (!joined || coalesced_owns(t, hd_pt_region_number(h))))
        return;
    if (level == 4 && joined == !!(*e & HD_PT_DISABLED)) {
        struct hd_xlate x;
        if (!joined || !(*e & (HD_PT_PRESENT | HD_PT_IN_FLIGHT)))
            return;
        b = hd_bigframe_of(&t->big, f);
        if ((f & 511) == (vpn & 511) && b->joined && b->owners == 1 &&
            hd_ptables_large(t, app, (hd_vpn){vpn}, &x) &&
            x.pfn.v + (vpn & 511) == f)
            return;
    }
    hd_err_set(err, HEDDLE_ECHECK,
               "page table: application %u, page 0x%llx: its region is%s "
               "coalesced, which its entry of level %u (0x%llx) does not fit",
               app, (unsigned long long)vpn, joined ? "" : " not", level,
               (unsigned long long)*e);
}

/*
 * ptjoin.c - regions of 4 KB pages that are used as one page of 2 MB, pages
 * that move to another frame, and frames that were in use before.
 *
 * In-place coalescing (Mosaic, MICRO 2017, section 4.3): where the 512 pages
 * of a region lie in one frame of 2 MB, each in its place, a bit in the
 * level-3 entry says so and a bit in each level-4 entry disables it.  No page
 * moves and no translation becomes wrong: what TLBs hold of single pages stays
 * true beside the large one.  A walk still reads four entries, the last one
 * the first entry of the leaf table, for whichever of the pages it is.
 *
 * A coalesced region may lose pages; the others stay in their places, and a
 * page that comes back comes to its own.  With vm.paging=fault a region may be
 * coalesced before all of its pages have come from the host: the places of the
 * others are kept for them, and an entry for the region says nothing of whether
 * a page is there (ptabsent.c does).
 *
 * SPDX-License-Identifier: MIT
 */
#include "../base/rng.h"
#include "ptstate.h"

enum { STREAM_FRAGMENT = 0x66726167 };

static struct hd_pt_slot *slot_of(const struct hd_ptables *t, uint32_t app,
                                  uint64_t vpn)
{
    return hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));
}

/* The leaf table of a region of 4 KB pages, or NULL. */
static struct hd_pt_table *leaf_table(const struct hd_ptables *t,
                                      const struct hd_pt_slot *h)
{
    const struct hd_pt_region *r;

    if (h->key == 0 || h->region_bits & (HD_PT_LARGE | HD_PT_MEDIUM))
        return NULL;
    r = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    return r->t[4] == HD_NONE ? NULL : &t->table[r->t[4]];
}

uint32_t hd_ptables_present(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn)
{
    const struct hd_pt_table *x = leaf_table(t, slot_of(t, app, vpn.v));

    return x == NULL ? 0 : x->used;
}

/* The frame of 2 MB in which the pages of a leaf table lie in order, as far as
 * they have frames; HD_NO_FRAME: there is none. */
static uint64_t in_order(const uint64_t *e)
{
    uint64_t f = HD_NO_FRAME;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++) {
        uint64_t at = (e[i] & HD_PT_FRAME) / HD_PAGE_BYTES;
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_ABSENT)))
            return HD_NO_FRAME;
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_COMING)))
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
    const struct hd_pt_slot *h = slot_of(t, app, vpn.v);
    const struct hd_pt_table *x = leaf_table(t, h);
    const uint64_t *e;
    uint64_t f;

    if (x == NULL || h->region_bits & HD_PT_JOINED ||
        (x->used != HD_LARGE_PAGES && t->cfg.paging != HD_PAGING_FAULT))
        return 0;
    e = hd_pt_entry(t, x->at);
    f = in_order(e);
    if (f == HD_NO_FRAME || f + HD_LARGE_PAGES > t->frames.frames)
        return 0;
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (!(e[i] & (HD_PT_PRESENT | HD_PT_COMING)) &&
            hd_frames_owner(&t->frames, f + i) != 0)
            return 0;
    frame->v = f;
    return x->used;
}

bool hd_ptables_joined(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h = slot_of(t, app, vpn.v);

    return h->key != 0 && h->region_bits & HD_PT_JOINED;
}

hd_pfn hd_ptables_joined_frame(const struct hd_ptables *t, uint32_t app,
                               hd_vpn vpn)
{
    const struct hd_pt_slot *h = slot_of(t, app, vpn.v);

    return (hd_pfn){hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->frame};
}

bool hd_ptables_large(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                      struct hd_xlate *x)
{
    const struct hd_pt_slot *h = slot_of(t, app, vpn.v);

    if (h->key == 0 || !(h->region_bits & HD_PT_JOINED))
        return false;
    x->vpn.v = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);
    x->pfn.v = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->frame;
    x->pages = x->page_pages = HD_LARGE_PAGES;
    return true;
}

uint32_t hd_ptables_left(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const uint64_t *e = hd_pt_entry(t, slot_of(t, app, vpn.v)->at);
    uint32_t n = 0;

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        n += (e[i] & (HD_PT_PRESENT | HD_PT_ABSENT)) != 0;
    return n;
}

/* Sets or clears the bits of a region's entries. */
static void mark(struct hd_ptables *t, struct hd_pt_slot *h, bool joined)
{
    const struct hd_pt_region *r =
        hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    uint64_t *e = hd_pt_entry(t, h->at);
    uint64_t *up = hd_pt_entry(t, t->table[r->t[3]].at) +
                   hd_pt_index(r->number * HD_LARGE_PAGES, 3);

    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++)
        if (e[i] & (HD_PT_PRESENT | HD_PT_ABSENT))
            e[i] = joined ? e[i] | HD_PT_DISABLED
                          : e[i] & ~(uint64_t)HD_PT_DISABLED;
    *up = joined ? *up | HD_PT_WHOLE : *up & ~(uint64_t)HD_PT_WHOLE;
}

void hd_ptables_join(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_pt_slot *h = slot_of(t, app, vpn.v);
    uint32_t region = h->region_bits >> HD_PT_SHIFT;
    const uint64_t *e = hd_pt_entry(t, h->at);
    hd_pfn f = {0};
    uint32_t present = hd_ptables_whole(t, app, vpn, &f);

    hd_assert(present != 0);
    for (uint32_t i = 0; present != HD_LARGE_PAGES && i < HD_LARGE_PAGES; i++) {
        if (e[i] & (HD_PT_PRESENT | HD_PT_COMING))
            continue;
        if (hd_frames_take(&t->frames, f.v + i, 1,
                           region * HD_LARGE_PAGES + i + 1) < 0) {
            hd_err_memory(t->env->err);
            return;
        }
        t->s->kept++;
    }
    h->region_bits |= HD_PT_JOINED;
    hd_pt_region_of(t, region)->frame = f.v;
    t->s->sized = 1;
    hd_bigframe_of(&t->big, f.v)->joined = 1;
    mark(t, h, true);
}

void hd_ptables_split(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_pt_slot *h = slot_of(t, app, vpn.v);
    uint64_t f = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->frame;
    const uint64_t *e = hd_pt_entry(t, h->at);

    hd_assert(h->key != 0 && h->region_bits & HD_PT_JOINED);
    mark(t, h, false);
    for (uint32_t i = 0; i < HD_LARGE_PAGES; i++) {
        if (e[i] & (HD_PT_PRESENT | HD_PT_COMING))
            continue;
        hd_frames_give(&t->frames, f + i, 1);
        t->s->kept--;
    }
    h->region_bits &= ~(uint32_t)HD_PT_JOINED;
    hd_bigframe_of(&t->big, f)->joined = 0;
    t->s->changes++;
}

hd_pa hd_ptables_table(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       uint32_t level)
{
    const struct hd_pt_slot *h = slot_of(t, app, vpn.v);
    const struct hd_pt_region *r =
        hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    uint64_t pa = t->first_pa + (uint64_t)r->t[level] * HD_PAGE_BYTES +
                  hd_pt_index(vpn.v, level) * 8u;

    hd_assert(h->key != 0 && r->t[level] != HD_NONE);
    return (hd_pa){pa};
}

/* ---- pages that move -------------------------------------------------- */

void hd_ptables_move(struct hd_ptables *t, hd_pfn from, hd_pfn to)
{
    uint32_t o = hd_frames_owner(&t->frames, from.v), app = HD_OWNER_FOREIGN;
    hd_vpn vpn = {0};
    int rc;

    if (hd_ptables_owner(t, from, &app, &vpn)) {
        const struct hd_pt_slot *h = slot_of(t, app, vpn.v);
        uint64_t *e = hd_pt_entry(t, h->at) + (vpn.v & 511);
        hd_assert(!(h->region_bits & HD_PT_JOINED) && leaf_table(t, h) != NULL);
        *e = (*e & ~(uint64_t)HD_PT_FRAME) | to.v * HD_PAGE_BYTES;
        t->s->changes++;
    }
    hd_frames_give(&t->frames, from.v, 1);
    hd_bigframes_drop(&t->big, from.v, app, 1);
    rc = hd_frames_take(&t->frames, to.v, 1, o);
    if (rc < 0) /* no table for its owner: it cannot be lost */
        hd_err_memory(t->env->err);
    hd_bigframes_add(&t->big, to.v, app, 1);
}

/* ---- frames in use before --------------------------------------------- */

int hd_ptables_fragment(struct hd_ptables *t, uint32_t index,
                        uint32_t occupancy, uint64_t seed)
{
    uint64_t n = t->frames.frames / HD_LARGE_PAGES;
    uint64_t frames = n * index / 100;
    uint32_t pages = HD_LARGE_PAGES * occupancy / 100;
    struct hd_rng r = hd_rng_make(seed, STREAM_FRAGMENT);

    if (occupancy != 0 && pages == 0)
        pages = 1;
    for (uint64_t b = 0; b < n && frames > 0; b++) {
        uint32_t left = pages;
        /* picks `frames` of the n - b that are left, each as likely */
        if (hd_rng_below(&r, (uint32_t)(n - b)) >= frames)
            continue;
        frames--;
        for (uint32_t i = 0; i < HD_LARGE_PAGES && left > 0; i++) {
            uint64_t f = b * HD_LARGE_PAGES + i;
            if (hd_rng_below(&r, HD_LARGE_PAGES - i) >= left)
                continue;
            left--;
            if (hd_frames_take(&t->frames, f, 1, HD_PT_FOREIGN) < 0)
                return -1;
            hd_bigframes_add(&t->big, f, HD_OWNER_FOREIGN, 1);
            t->s->foreign++;
        }
    }
    return 0;
}

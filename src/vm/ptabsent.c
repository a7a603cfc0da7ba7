/*
 * ptabsent.c - pages on the host: reserved, on their way, arrived.
 *
 * With vm.paging=fault an allocation is reserved before cycle 0 instead of
 * mapped: its tables are there and its pages have entries that are not
 * present, whose other bits are free for software (Intel SDM volume 3, 4.8).
 * An entry says ABSENT and the size of its page, so a walk reads as many levels
 * as for a mapped page and finds out at its leaf.  A page whose transfer has
 * begun has its frame, and says COMING too; when the data are there the entry
 * becomes present.
 *
 * Beside the entries each region of 2 MB keeps a bit for each base page whose
 * data have come.  For a page that is mapped as one the bits say nothing new.
 * They are for entries that cover more than what was brought: 2 MB coalesced
 * before all of its 512 pages are there (Mosaic).  Wherever such an entry hits,
 * the bit of the page wanted is looked at, and where it is not set that page
 * faults alone.  A page that comes to a coalesced region has its place there.
 *
 * Invariants: a base page has its bit exactly while it is mapped; pages that
 * have come and not been unmapped since = pages mapped; a page that is coming
 * owns its frame.
 *
 * Left out on purpose: tables that are made at the first fault in their region
 * (UVM does; a walk would end early), dirty bits, remote mappings.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

#include <string.h>

/* The entries of a page; *n: how many. */
static uint64_t *entries(const struct hd_ptables *t, uint32_t app,
                         const struct hd_xlate *x, uint32_t *n)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, x->vpn.v / HD_LARGE_PAGES));
    uint64_t *e = hd_pt_entry(t, h->at);

    *n = x->pages == HD_LARGE_PAGES ? 1 : x->pages;
    return x->pages == HD_LARGE_PAGES ? e : e + (x->vpn.v & 511);
}

bool hd_pt_absent(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                  struct hd_xlate *x)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));
    bool large = h->region_bits & HD_PT_LARGE;
    uint64_t e;

    if (h->key == 0)
        return false;
    e = hd_pt_entry(t, h->at)[large ? 0 : vpn & 511];
    if ((e & (HD_PT_PRESENT | HD_PT_ABSENT)) != HD_PT_ABSENT)
        return false;
    x->pages = x->page_pages = large ? HD_LARGE_PAGES : e & HD_PT_64K ? 16 : 1;
    x->vpn.v = vpn & ~(uint64_t)(x->pages - 1);
    x->pfn.v = (e & HD_PT_FRAME) / HD_PAGE_BYTES & ~(uint64_t)(x->pages - 1);
    return true;
}

bool hd_ptables_absent(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       struct hd_xlate *x)
{
    return hd_pt_absent(t, app, vpn.v, x);
}

bool hd_ptables_coming(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;
    uint32_t n;

    return hd_pt_absent(t, app, vpn.v, &x) &&
           (*entries(t, app, &x, &n) & HD_PT_COMING) != 0;
}

/* ---- residency ---------------------------------------------------------- */

static struct hd_pt_region *region(const struct hd_ptables *t, uint32_t app,
                                   uint64_t vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));

    return h->key == 0 ? NULL
                       : hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
}

bool hd_ptables_resident(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_region *r = region(t, app, vpn.v);

    return r != NULL && r->resident != 0 &&
           (hd_pt_entry(t, r->resident)[(vpn.v & 511) / 64] >> (vpn.v & 63) &
            1) != 0;
}

uint64_t hd_ptables_arrived(const struct hd_ptables *t, uint32_t app)
{
    return t->s->arrived[app];
}

/* Sets the bits of a page that has arrived, or clears them when it leaves;
 * its region's words are there. */
static void flip(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x)
{
    uint64_t *w = hd_pt_entry(t, region(t, app, x->vpn.v)->resident);

    for (uint64_t p = x->vpn.v; p < x->vpn.v + x->pages; p++)
        w[(p & 511) / 64] ^= 1ull << (p & 63);
}

void hd_pt_leave(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x)
{
    flip(t, app, x);
    t->s->left[app] += x->pages;
}

/* ---- the way of a page -------------------------------------------------- */

/* The frame that an absent page gets: of a coalesced region, the one that is
 * kept for it. */
static uint64_t frame_for(struct hd_ptables *t, uint32_t app,
                          const struct hd_xlate *x, const struct hd_pt_slot *h,
                          bool again, struct hd_err *err)
{
    uint64_t f;

    if (HD_LIKELY(!(h->region_bits & HD_PT_JOINED)))
        return hd_pt_choose_frame(t, app, x->vpn.v, x->pages, again, err);
    f = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->frame +
        (x->vpn.v & 511);
    t->s->kept--;
    hd_pt_tell(t, HEDDLE_NOTE_page_back, app, x->vpn.v, f);
    return f;
}

int hd_ptables_place(struct hd_ptables *t, uint32_t app, hd_vpn vpn, bool again,
                     struct hd_err *err)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));
    uint32_t i = h->region_bits >> HD_PT_SHIFT, n;
    struct hd_xlate x;
    uint64_t f, *e;

    if (!hd_pt_absent(t, app, vpn.v, &x) || x.vpn.v != vpn.v)
        return hd_err_set(err, HEDDLE_ECHECK,
                          "application %u, page 0x%llx is to get a frame, and "
                          "is not absent",
                          app, (unsigned long long)vpn.v);
    f = frame_for(t, app, &x, h, again, err);
    if (f == HD_PT_WANTS_ROOM)
        return 1;
    if (f == HD_NO_FRAME)
        return err->code;
    if (hd_pt_region_of(t, i)->resident == 0) {
        void *p = hd_arena_take(t->env->arena, HD_LARGE_PAGES / 64, 8);
        if (p == NULL)
            return hd_err_memory(err);
        hd_pt_region_of(t, i)->resident = hd_arena_ref(t->env->arena, p);
    }
    if (!(h->region_bits & HD_PT_JOINED) &&
        hd_frames_take(&t->frames, f, x.pages,
                       i * HD_LARGE_PAGES + (uint32_t)(vpn.v & 511) + 1) < 0)
        return hd_err_memory(err);
    hd_bigframes_add(&t->big, f, app, x.pages);
    if (hd_bigframe_of(&t->big, f)->owners > 1)
        t->s->mixed[app] += x.pages;
    e = entries(t, app, &x, &n);
    for (uint32_t k = 0; k < n; k++)
        e[k] |= (f + k) * HD_PAGE_BYTES | HD_PT_COMING;
    t->s->coming += x.pages;
    return 0;
}

bool hd_ptables_arrive(struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x = {{0}, {0}, 0, 0};
    uint32_t n;
    uint64_t *e;

    if (!hd_pt_absent(t, app, vpn.v, &x))
        return false; /* its allocation has gone meanwhile */
    e = entries(t, app, &x, &n);
    if (x.vpn.v != vpn.v || (e[0] & HD_PT_COMING) == 0)
        return false; /* and another has come */
    for (uint32_t k = 0; k < n; k++)
        e[k] ^= HD_PT_ABSENT | HD_PT_COMING | HD_PT_PRESENT;
    t->table[region(t, app, vpn.v)->t[x.pages == HD_LARGE_PAGES ? 3 : 4]]
        .used += n;
    flip(t, app, &x);
    t->s->coming -= x.pages;
    t->s->pages[app] += x.pages;
    t->s->arrived[app] += x.pages;
    return true;
}

void hd_pt_forget(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x)
{
    uint32_t n;
    uint64_t *e = entries(t, app, x, &n);

    if (e[0] & HD_PT_COMING) {
        t->s->coming -= x->pages;
        hd_pt_release(t, app, x, (e[0] & HD_PT_DISABLED) != 0);
    }
    memset(e, 0, n * sizeof *e);
}

/* ---- checking ----------------------------------------------------------- */

/* Base pages of a region by their entries: of those, mapped; coming. */
static void check_region(const struct hd_ptables *t, uint32_t i,
                         uint64_t *coming, struct hd_err *err)
{
    const struct hd_pt_region *r = hd_pt_region_of(t, i);
    uint64_t first = r->number * HD_LARGE_PAGES;

    for (uint64_t p = first; p < first + HD_LARGE_PAGES; p++) {
        struct hd_xlate x;
        bool here = hd_ptables_find(t, r->app, (hd_vpn){p}, &x);
        uint32_t n;

        if (here != hd_ptables_resident(t, r->app, (hd_vpn){p}))
            hd_err_set(err, HEDDLE_ECHECK,
                       "application %u, page 0x%llx is %smapped, and its data "
                       "have %scome",
                       r->app, (unsigned long long)p, here ? "" : "not ",
                       here ? "not " : "");
        if (!here && hd_pt_absent(t, r->app, p, &x))
            *coming += (*entries(t, r->app, &x, &n) & HD_PT_COMING) != 0;
    }
}

void hd_pt_check_absent(const struct hd_ptables *t, struct hd_err *err)
{
    uint64_t coming = 0;

    if (t->cfg.paging != HD_PAGING_FAULT)
        return;
    for (uint32_t i = 0; i < t->s->regions; i++)
        check_region(t, i, &coming, err);
    if (coming != t->s->coming)
        hd_err_set(err, HEDDLE_ECHECK,
                   "pages: %llu are on their way, %llu are counted",
                   (unsigned long long)coming,
                   (unsigned long long)t->s->coming);
    for (uint32_t app = 0; app < HD_MAX_APPS; app++)
        if (t->s->arrived[app] - t->s->left[app] != t->s->pages[app])
            hd_err_set(err, HEDDLE_ECHECK,
                       "application %u has %llu pages mapped; %llu have come "
                       "and %llu gone",
                       app, (unsigned long long)t->s->pages[app],
                       (unsigned long long)t->s->arrived[app],
                       (unsigned long long)t->s->left[app]);
}

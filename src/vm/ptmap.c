/*
 * ptmap.c - mapping and unmapping allocations.
 *
 * An allocation is mapped page by page, in the order of addresses, with pages
 * of the size that the point alloc answers wherever an aligned one lies
 * wholly inside it (vm.round: or reaches over its edge) and nothing in it is
 * mapped yet; the rest gets 4 KB pages.  Each page asks frame_place, whose
 * default is the lowest free aligned frame.  A page that is mapped already,
 * because a neighbour shares it, is left alone; it is unmapped with the last
 * allocation that has a byte in it.  Reserving goes the same way and leaves
 * entries that are not present (ptabsent.c).  The tables and the regions that
 * pages are entered in come from ptregion.c.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

#include <string.h>

/* Sizes of pages in base pages, by the answer of the point alloc. */
static const uint32_t SIZE[3] = {1, 16, HD_LARGE_PAGES};

/* ---- mapping ---------------------------------------------------------- */

/* One call of hd_ptables_map, for the words of its errors. */
struct job {
    uint32_t app, index;
    hd_va base;
    uint64_t bytes;
    struct hd_err *err;
    bool absent; /* pages are reserved only */
    bool again;  /* an absent page was asked for, and memory was compacted */
};

static int fail(const struct hd_ptables *t, const struct job *j,
                const char *what, uint32_t pages)
{
    return hd_err_set(
        j->err, HEDDLE_ECONFIG,
        "application %u, allocation %u (%llu bytes at 0x%llx): %s for a page "
        "of %u KB; %llu of %llu data frames and %u of %u table frames are in "
        "use: raise vm.memory_bytes or vm.table_frames, or use smaller inputs",
        j->app, j->index, (unsigned long long)j->bytes,
        (unsigned long long)j->base.v, what, pages * 4,
        (unsigned long long)hd_frames_used(&t->frames),
        (unsigned long long)t->frames.frames, t->s->tables_live,
        t->cfg.table_frames);
}

/* Whether the aligned 2 MB around a page lie wholly in its allocation. */
static bool whole(const struct job *j, uint64_t vpn)
{
    uint64_t first = j->base.v >> HD_PAGE_SHIFT;
    uint64_t end = ((j->base.v + j->bytes - 1) >> HD_PAGE_SHIFT) + 1;
    uint64_t at = vpn & ~(uint64_t)(HD_LARGE_PAGES - 1);

    return at >= first && at + HD_LARGE_PAGES <= end;
}

static struct heddle_q_frame_place question(struct hd_ptables *t,
                                            const struct job *j, uint64_t vpn,
                                            uint32_t pages)
{
    uint64_t frames = t->frames.frames;

    return (struct heddle_q_frame_place){
        .app = j->app,
        .vpn = vpn,
        .pages = pages,
        .frames = frames,
        .next = hd_min_u64(hd_frames_next(&t->frames, pages), frames),
        .whole = whole(j, vpn),
    };
}

/* The answer of frame_place, or of its default: frames where there is none. */
static uint64_t ask_frame(struct hd_ptables *t, const struct job *j,
                          uint64_t vpn, uint32_t pages, bool again)
{
    struct heddle_q_frame_place q;

    if (HD_LIKELY(!t->place.bound))
        return hd_min_u64(hd_frames_next(&t->frames, pages), t->frames.frames);
    q = question(t, j, vpn, pages);
    q.again = again;
    return (uint64_t)hd_ask_frame_place(&t->place, &q);
}

/* The frame that a page gets, or HD_NO_FRAME with an error recorded.  Where
 * there is none memory is compacted, and it is asked once more; for a page that
 * faults that is its caller's business (HD_PT_WANTS_ROOM), because mappings
 * cannot change in the middle of a run's event (manage.c). */
static uint64_t choose_frame(struct hd_ptables *t, const struct job *j,
                             uint64_t vpn, uint32_t pages)
{
    uint64_t frames = t->frames.frames, f;
    bool later = j->absent && !j->again && t->compacts != NULL &&
                 t->compacts(t->compact_self);
    bool last = j->absent && !later;
    struct heddle_q_frame_place q;

    f = ask_frame(t, j, vpn, pages, last);
    if (HD_UNLIKELY(f == frames && later))
        return HD_PT_WANTS_ROOM;
    if (HD_UNLIKELY(f == frames && !last && t->compact != NULL) &&
        (t->compact(t->compact_self, j->app) || t->place.bound))
        f = ask_frame(t, j, vpn, pages, true);
    if (f == frames) {
        fail(t, j, "out of frames: no free aligned one", pages);
        return HD_NO_FRAME;
    }
    if (HD_LIKELY(!t->place.bound))
        return f;
    if (f % pages == 0 && hd_frames_free(&t->frames, f, pages))
        return f;
    q = question(t, j, vpn, pages);
    hd_slots_refuse(&t->place, HEDDLE_POINT_frame_place, &q, (int64_t)f,
                    "a free frame, aligned to its pages", j->err);
    return HD_NO_FRAME;
}

void hd_pt_tell(struct hd_ptables *t, enum heddle_note note, uint32_t app,
                uint64_t vpn, uint64_t frame)
{
    struct heddle_n_page_freed n = {
        .app = app, .vpn = vpn, .frame = frame, .to = frame};

    if (t->env->slots != NULL && t->env->slots->watched[note] != 0)
        hd_slots_note(t->env->slots, note, &n);
}

/* A page comes back to its region, which is coalesced and kept its place. */
static void map_again(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                      const struct hd_pt_slot *h)
{
    const struct hd_pt_region *r =
        hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    uint64_t f = r->frame + (vpn & 511);

    hd_pt_entry(t, h->at)[vpn & 511] =
        f * HD_PAGE_BYTES | HD_PT_PRESENT | HD_PT_DISABLED;
    hd_bigframes_add(&t->big, f, app, 1);
    t->table[r->t[4]].used++;
    t->s->kept--;
    t->s->pages[app]++;
    hd_pt_tell(t, HEDDLE_NOTE_page_back, app, vpn, f);
}

static int map_page(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                    uint32_t pages)
{
    struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(j->app, vpn / HD_LARGE_PAGES));
    uint64_t f, *e;
    uint32_t first;

    if (HD_UNLIKELY(h->key != 0 && h->region_bits & HD_PT_JOINED)) {
        map_again(t, j->app, vpn, h);
        return 0;
    }
    f = choose_frame(t, j, vpn, pages);
    if (f == HD_NO_FRAME)
        return j->err->code;
    h = hd_pt_region_get(t, j->app, vpn);
    if (h == NULL || hd_pt_region_shape(t, h, pages) < 0)
        return fail(t, j, "out of frames for page tables", pages);
    first = (h->region_bits >> HD_PT_SHIFT) * HD_LARGE_PAGES + (vpn & 511) + 1;
    if (hd_frames_take(&t->frames, f, pages, first) < 0)
        return hd_err_memory(j->err);
    hd_bigframes_add(&t->big, f, j->app, pages);
    if (hd_bigframe_of(&t->big, f)->owners > 1)
        t->s->mixed[j->app] += pages;
    e = hd_pt_entry(t, h->at);
    if (pages == HD_LARGE_PAGES) {
        *e = f * HD_PAGE_BYTES | HD_PT_PRESENT | HD_PT_2M;
        t->table[hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->t[3]]
            .used++;
    } else {
        for (uint32_t i = 0; i < pages; i++)
            e[(vpn & 511) + i] = (f + i) * HD_PAGE_BYTES | HD_PT_PRESENT |
                                 (pages == 16 ? HD_PT_64K : 0);
        t->table[hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT)->t[4]]
            .used += pages;
    }
    t->s->pages[j->app] += pages;
    return 0;
}

/* A page of an allocation on the host: its entries are made. */
static int reserve_page(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                        uint32_t pages)
{
    struct hd_pt_slot *h = hd_pt_region_get(t, j->app, vpn);
    uint64_t *e, bits = pages == 16 ? HD_PT_ABSENT | HD_PT_64K : HD_PT_ABSENT;

    if (h == NULL || hd_pt_region_shape(t, h, pages) < 0)
        return fail(t, j, "out of frames for page tables", pages);
    e = hd_pt_entry(t, h->at);
    if (h->region_bits & HD_PT_JOINED)
        bits |= HD_PT_DISABLED;
    if (pages == HD_LARGE_PAGES)
        *e = HD_PT_ABSENT | HD_PT_2M;
    else
        for (uint32_t i = 0; i < pages; i++)
            e[(vpn & 511) + i] = bits;
    return 0;
}

static int enter_page(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                      uint32_t pages)
{
    return j->absent ? reserve_page(t, j, vpn, pages)
                     : map_page(t, j, vpn, pages);
}

/* The page that holds vpn, mapped or reserved. */
static bool taken(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                  struct hd_xlate *x)
{
    return hd_pt_page(t, app, vpn, x) ||
           (t->cfg.paging == HD_PAGING_FAULT && hd_pt_absent(t, app, vpn, x));
}

/* Some page of [vpn, vpn + n) is mapped or reserved. */
static bool any_mapped(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                       uint32_t n)
{
    struct hd_xlate x;

    for (uint32_t i = 0; i < n; i++)
        if (taken(t, app, vpn + i, &x))
            return true;
    return false;
}

/* A coalesced region keeps the places of the pages that it has lost. */
static bool joined(const struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));

    return h->key != 0 && h->region_bits & HD_PT_JOINED;
}

/* Remembers the range of an allocation, so that unmapping spares the pages
 * that it shares with others. */
static int remember(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                    uint64_t pages)
{
    struct hd_pt_state *s = t->s;
    struct hd_pt_range *r =
        s->ranges > 0 ? hd_pt_range_of(t, s->ranges - 1) : NULL;

    if (r != NULL && r->app == j->app && r->index == j->index &&
        r->vpn + r->pages == vpn) {
        r->pages += pages;
        return 0;
    }
    if (s->ranges == s->range_room) {
        hd_ref p = hd_pt_twice(t, s->range, &s->range_room, sizeof *r);
        if (p == HD_NONE)
            return hd_err_memory(j->err);
        s->range = p;
    }
    *hd_pt_range_of(t, s->ranges++) =
        (struct hd_pt_range){vpn, pages, j->app, j->index};
    return 0;
}

/* Base pages from vpn on, one after the other up to `end`, in a region that has
 * a table, while nothing is in the way: what as many calls of map_page do, each
 * of which finds it all anew.  Returns the first page that is left. */
static uint64_t map_run(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                        uint64_t end)
{
    struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(j->app, vpn / HD_LARGE_PAGES));
    uint64_t stop = hd_min_u64(end, vpn / HD_LARGE_PAGES * 512 + 512), f;
    uint32_t region = h->region_bits >> HD_PT_SHIFT, first = vpn & 511, at;
    uint64_t *e = hd_pt_entry(t, h->at);

    if (j->absent || t->place.bound || h->key == 0 ||
        h->region_bits & (HD_PT_JOINED | HD_PT_LARGE))
        return vpn;
    for (at = first; vpn < stop && e[at] == 0; vpn++, at++) {
        f = hd_frames_next(&t->frames, 1);
        if (f >= t->frames.frames ||
            hd_frames_take(&t->frames, f, 1, region * HD_LARGE_PAGES + at + 1) <
                0)
            break;
        hd_bigframes_add(&t->big, f, j->app, 1);
        t->s->mixed[j->app] += hd_bigframe_of(&t->big, f)->owners > 1;
        e[at] = f * HD_PAGE_BYTES | HD_PT_PRESENT;
    }
    t->table[hd_pt_region_of(t, region)->t[4]].used += at - first;
    t->s->pages[j->app] += at - first;
    return vpn;
}

/* Maps or reserves the pages of an allocation. */
static int map(struct hd_ptables *t, struct job *j)
{
    uint32_t app = j->app, index = j->index;
    hd_va base = j->base;
    uint64_t bytes = j->bytes;
    uint64_t first = base.v >> HD_PAGE_SHIFT;
    uint64_t end =
        bytes == 0 ? first : ((base.v + bytes - 1) >> HD_PAGE_SHIFT) + 1;
    struct heddle_q_alloc q = {.app = app,
                               .index = index,
                               .vpn = first,
                               .pages = end - first,
                               .free_frames = t->frames.frames -
                                              hd_frames_used(&t->frames)};
    uint32_t n;

    if (app >= HD_MAX_APPS || base.v + bytes < base.v || end > 1ull << 36)
        return hd_err_set(j->err, HEDDLE_EINVAL,
                          "application %u, allocation %u: %llu bytes at "
                          "0x%llx do not lie in an address space of 48 bits",
                          app, index, (unsigned long long)bytes,
                          (unsigned long long)base.v);
    if (end == first)
        return 0;
    n = SIZE[hd_ask_alloc(&t->alloc, &q)];
    for (uint64_t vpn = first; vpn < end;) {
        uint64_t at = vpn & ~(uint64_t)(n - 1);
        bool inside = at >= first && at + n <= end;
        struct hd_xlate x;
        int rc = 0;

        if (taken(t, app, vpn, &x)) {
            vpn = x.vpn.v + x.pages;
            continue;
        }
        if (n > 1 && (inside || t->cfg.round) && !joined(t, app, at) &&
            !any_mapped(t, app, at, n)) {
            rc = enter_page(t, j, at, n);
            vpn = at + n;
        } else {
            rc = enter_page(t, j, vpn++, 1);
            if (rc == 0 && n == 1 && vpn < end)
                vpn = map_run(t, j, vpn, end);
        }
        if (rc < 0)
            return rc;
    }
    return remember(t, j, first, end - first);
}

int hd_ptables_map(struct hd_ptables *t, uint32_t app, uint32_t index,
                   hd_va base, uint64_t bytes, struct hd_err *err)
{
    struct job j = {app, index, base, bytes, err, false, false};

    return map(t, &j);
}

int hd_ptables_reserve(struct hd_ptables *t, uint32_t app, uint32_t index,
                       hd_va base, uint64_t bytes, struct hd_err *err)
{
    struct job j = {app, index, base, bytes, err, true, false};

    return map(t, &j);
}

uint64_t hd_pt_choose_frame(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                            uint32_t pages, bool again, struct hd_err *err)
{
    struct job j = {.app = app,
                    .base = {vpn << HD_PAGE_SHIFT},
                    .bytes = pages * HD_PAGE_BYTES,
                    .err = err,
                    .absent = true,
                    .again = again};

    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app != app || vpn - r->vpn >= r->pages)
            continue;
        j.index = r->index;
        j.base.v = r->vpn << HD_PAGE_SHIFT;
        j.bytes = r->pages << HD_PAGE_SHIFT;
        break;
    }
    return choose_frame(t, &j, vpn, pages);
}

/* Another allocation that is still mapped has a byte in these pages. */
static bool shared(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                   uint64_t pages)
{
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app == app && r->vpn < vpn + pages && vpn < r->vpn + r->pages)
            return true;
    }
    return false;
}

void hd_pt_release(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x,
                   bool kept)
{
    if (kept)
        t->s->kept++;
    else
        hd_frames_give(&t->frames, x->pfn.v, x->pages);
    hd_bigframes_drop(&t->big, x->pfn.v, app, x->pages);
    if (x->pages == 1)
        hd_pt_tell(t, HEDDLE_NOTE_page_freed, app, x->vpn.v, x->pfn.v);
}

static void unmap_page(struct hd_ptables *t, uint32_t app,
                       const struct hd_xlate *x)
{
    struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, x->vpn.v / HD_LARGE_PAGES));
    struct hd_pt_region *r = hd_pt_region_of(t, h->region_bits >> HD_PT_SHIFT);
    uint64_t *e = hd_pt_entry(t, h->at);

    t->s->changes++;
    t->s->pages[app] -= x->pages;
    hd_pt_release(t, app, x, (h->region_bits & HD_PT_JOINED) != 0);
    if (t->cfg.paging == HD_PAGING_FAULT)
        hd_pt_leave(t, app, x);
    if (x->pages == HD_LARGE_PAGES) {
        *e = 0;
        t->table[r->t[3]].used--;
        return;
    }
    memset(e + (x->vpn.v & 511), 0, x->pages * sizeof *e);
    t->table[r->t[4]].used -= x->pages;
}

void hd_ptables_unmap(struct hd_ptables *t, uint32_t app, uint32_t index,
                      hd_va base, uint64_t bytes)
{
    uint64_t first = base.v >> HD_PAGE_SHIFT;
    uint64_t end =
        bytes == 0 ? first : ((base.v + bytes - 1) >> HD_PAGE_SHIFT) + 1;
    struct heddle_q_free q = {app, index, first, end - first};
    bool overlap;

    hd_ask_free(&t->free, &q);
    for (uint32_t i = 0; i < t->s->ranges;) {
        struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app == app && r->index == index)
            *r = *hd_pt_range_of(t, --t->s->ranges);
        else
            i++;
    }
    overlap = shared(t, app, first, end - first);
    for (uint64_t vpn = first; vpn < end;) {
        struct hd_xlate x;
        uint64_t next = vpn + 1;

        if (hd_pt_page(t, app, vpn, &x)) {
            bool edge = x.vpn.v <= first || x.vpn.v + x.pages >= end;
            next = x.vpn.v + x.pages;
            if (!(edge || overlap) || !shared(t, app, x.vpn.v, x.pages))
                unmap_page(t, app, &x);
        } else if (hd_pt_absent(t, app, vpn, &x)) {
            next = x.vpn.v + x.pages;
            if (!shared(t, app, x.vpn.v, x.pages))
                hd_pt_forget(t, app, &x);
        }
        vpn = next;
    }
}

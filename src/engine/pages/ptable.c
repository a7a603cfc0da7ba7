/*
 * ptable.c - x86-64 page tables whose entries are real, and a shortcut to the
 * last of them: mapping, unmapping, look-up.  What entries say of pages that
 * are not resident, coalesced or host-mapped is in resident.c, coalesced.c and
 * hostmap.c; which frames pages get in ptframes.c.
 *
 * A virtual page number has four indices of 9 bits; level 1 is the root's
 * (PML4), level 4 the leaf table's (PT).  Every table is 4 KB of 64-bit
 * entries in the arena and owns one of the frames at the top of memory, so an
 * entry has a physical address: frame * 4096 + index * 8 (vm.entry_bytes: of
 * fewer and larger ones, entries.c).  Layout of an entry (Intel SDM volume 3,
 * 4.5):
 *
 *    0      present
 *    1      the page may be written
 *    2      the page is compressed in memory
 *    7      in level 3: the entry maps 2 MB
 *    4 to 6, 8
 *           not present: its page was resident before, is being evicted, is
 *           in flight from the host; is not resident (resident.c)
 *    9      in level 4: one of 16 aligned entries that make up a 64 KB page
 *   10     in level 3: the 512 entries below are in one frame of 2 MB, in
 *          order, and are used as one page (Mosaic's large-page bit)
 *   11     in level 4: and so this one is disabled
 *   51:12   frame
 *   60:52   in level 3: MESC's contiguity bits C0 to C7 and AC (contig.c)
 *   61      the program's host has it mapped, after a touch (resident.c)
 *
 * A region is 2 MB of one address space: what one leaf table maps.  A hash of
 * (region, application) leads straight to its leaf table, or to its level-3
 * entry if that maps 2 MB, so a translation costs one probe and one read of the
 * true entry; the slot knows the region's tables, so the addresses that a walk
 * reads cost one probe.  A region is entered with the first page in it, which
 * makes the tables above it down to level 3; whether it then has a leaf table
 * or one entry of 2 MB follows from the page that comes.  A region stays when
 * its pages go, and so do its tables, as their addresses may be in walk caches:
 * only a leaf table that a page of 2 MB takes the place of goes to the list of
 * free ones.
 *
 * Mapping.  An allocation is mapped page by page, in the order of addresses,
 * with pages of the size that the point alloc answers wherever an aligned one
 * is wholly inside it (vm.round: or extends over its edge) and nothing in it
 * is mapped yet; the rest gets 4 KB pages.  Each page asks frame_place, whose
 * default is the lowest free aligned frame.  A page that is mapped already,
 * because a neighbour shares it, is left alone; it is unmapped with the last
 * allocation that has a byte in it.
 *
 * Invariants: the hash of regions and the walk from the root end at one entry;
 * the owner of a data frame is region * 512 + index + 1 of the page in it;
 * frames owned = pages mapped but host-mapped ones, in flight, being evicted,
 * or with a place kept in a coalesced region (and frames that were in use
 * before); a table's `used` is its number of present entries; frames owned and
 * spare are not more than memory has.
 *
 * Left out on purpose: accessed and dirty bits in entries (evict.c
 * keeps the first by unit, frame.c the second by frame), 1 GB pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "kit/bits.h"
#include "memory/nodes.h"
#include "ptstate.h"

enum { FIRST_ROOM = 64, HASH_BITS = 7, LEAST_TABLES = 4096 };

#define HD_PART    vm
#define HD_CFG     struct hd_vm_cfg
#define HD_PART_OF "pages/vm.def"
#include "kit/rows.h"

/* ---- entries ------------------------------------------------------------- */

void hd_pt_put(struct hd_ptables *t, const struct hd_pt_slot *h, uint64_t vpn,
               uint32_t pages, uint64_t frame, uint64_t bits)
{
    uint32_t n = pages == HD_LARGE_PAGES ? 1 : pages;
    uint64_t *e = hd_pt_leaf(t, h, vpn);

    bits |= pages == HD_LARGE_PAGES ? HD_PT_2M : pages == 16 ? HD_PT_64K : 0;
    bits |= *e & (HD_PT_WRITE | HD_PT_PACKED);
    if (h->region_bits & HD_PT_JOINED)
        bits |= HD_PT_DISABLED;
    for (uint32_t i = 0; i < n; i++)
        e[i] = bits | (frame == HD_NO_FRAME ? 0 : (frame + i) * HD_PAGE_BYTES);
}

void hd_pt_count_present(struct hd_ptables *t, const struct hd_pt_slot *h,
                         uint32_t app, uint64_t vpn, uint32_t pages,
                         bool present)
{
    bool large = pages == HD_LARGE_PAGES;
    uint32_t n = large ? 1 : pages;
    uint32_t table = large ? h->t[2] : h->t[3] + hd_pt_leaf_of(t, vpn);
    uint64_t *sized = &t->s->large[app][large];

    if (HD_LIKELY(!t->dual || pages != 16)) {
        uint32_t *used = &t->table[table].used;
        *used = present ? *used + n : *used - n;
    }
    if (pages > 1)
        *sized = present ? *sized + 1 : *sized - 1;
    t->s->pages[app] =
        present ? t->s->pages[app] + pages : t->s->pages[app] - pages;
}

/* ---- growing ------------------------------------------------------------ */

/* A piece twice as large, or more, until it has `least`, with the old contents;
 * HD_NONE if there is no room.  All the pieces together are less than twice the
 * last. */
static hd_ref grown(struct hd_ptables *t, hd_ref old, uint32_t *room,
                    size_t size, uint64_t least)
{
    uint64_t n = 2ull * *room;
    void *p;

    while (n < least)
        n *= 2;
    p = n <= UINT32_MAX ? hd_arena_take(t->env->arena, n, size) : NULL;
    if (p == NULL)
        return HD_NONE;
    memcpy(p, hd_arena_at(t->env->arena, old), *room * size);
    *room = (uint32_t)n;
    return hd_arena_ref(t->env->arena, p);
}

/* Slots for so many regions, twice as many. */
static int grow_hash(struct hd_ptables *t, uint64_t regions)
{
    uint32_t n = 1u << t->s->hash_bits, bits = t->s->hash_bits + 1;
    struct hd_pt_slot *old = hd_arena_at(t->env->arena, t->s->hash);
    void *p;

    while (2 * regions > 1ull << bits)
        bits++;
    p = bits < 32 ? hd_arena_take(t->env->arena, 1ull << bits, sizeof *old)
                  : NULL;
    if (p == NULL)
        return -1;
    t->s->hash = hd_arena_ref(t->env->arena, p);
    t->s->hash_bits = bits;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key != 0)
            *hd_pt_find(t, old[i].key) = old[i];
    return 0;
}

/* ---- tables ------------------------------------------------------------- */

/* `count` fresh tables of a level in frames that follow one another, and their
 * entries likewise: the first, or HD_NONE (out of table frames or of memory).
 * A table that was freed is taken where one is asked for.  With words at `at`
 * it is one, and has these. */
static uint32_t table_new(struct hd_ptables *t, uint32_t app, uint32_t level,
                          uint32_t count, hd_ref at)
{
    struct hd_pt_state *s = t->s;
    uint32_t n = count == 1 ? s->free_tables : HD_NONE, words = 1u << t->bits;

    if (n != HD_NONE) {
        s->free_tables = t->table[n].used;
        if (at == HD_NONE)
            memset(hd_pt_entry(t, t->table[n].at), 0, words * sizeof(uint64_t));
    } else if (at != HD_NONE) {
        if (s->tables == t->table_frames)
            return HD_NONE;
        n = s->tables++;
    } else {
        uint64_t *p =
            s->tables + count <= t->table_frames
                ? hd_arena_take(t->env->arena, (size_t)count * words, sizeof *p)
                : NULL;
        if (p == NULL)
            return HD_NONE;
        n = s->tables;
        s->tables += count;
        for (uint32_t i = 0; i < count; i++, p += words)
            t->table[n + i].at = hd_arena_ref(t->env->arena, p);
    }
    for (uint32_t i = n; i < n + count; i++) {
        if (at != HD_NONE)
            t->table[i].at = at;
        t->table[i].used = 0;
        t->table[i].above = HD_NONE;
        t->table[i].app = (uint8_t)app;
        t->table[i].level = (uint8_t)level;
    }
    s->tables_live += count;
    s->table_frames[app] += count;
    return n;
}

/* A table with words of its own, or none. */
static uint32_t table_one(struct hd_ptables *t, uint32_t app, uint32_t level)
{
    hd_ref at = t->dual ? hd_format_words(t) : HD_NONE;

    return t->dual && at == HD_NONE ? HD_NONE : table_new(t, app, level, 1, at);
}

uint32_t hd_pt_table_new(struct hd_ptables *t, uint32_t app, uint32_t level,
                         hd_ref at)
{
    return table_new(t, app, level, 1, at);
}

void hd_pt_table_free(struct hd_ptables *t, uint32_t n)
{
    struct hd_pt_table *x = &t->table[n];

    hd_assert(x->used == 0);
    t->s->tables_live--;
    t->s->table_frames[x->app]--;
    x->used = t->s->free_tables;
    x->level = 0;
    t->s->free_tables = n;
}

/* The tables below `count` entries of table n from `index` on, made if there is
 * none: the first. */
static uint32_t table_below(struct hd_ptables *t, uint32_t n, uint32_t index,
                            uint32_t count)
{
    uint64_t *e = hd_pt_entry(t, t->table[n].at) + index;
    uint32_t below;

    if (*e & HD_PT_PRESENT)
        return (uint32_t)((*e & HD_PT_FRAME) / HD_PAGE_BYTES - t->first_table);
    below = count == 1 ? table_one(t, t->table[n].app, t->table[n].level + 1u)
                       : table_new(t, t->table[n].app, t->table[n].level + 1u,
                                   count, HD_NONE);
    if (below == HD_NONE)
        return HD_NONE;
    for (uint32_t i = 0; i < count; i++) {
        e[i] = (t->first_table + below + i) * HD_PAGE_BYTES | HD_PT_PRESENT;
        t->table[below + i].above = n;
    }
    t->table[n].used += count;
    return below;
}

/* ---- regions ------------------------------------------------------------ */

/* The entry of level 3 above a region's leaf table, or above the first. */
static uint32_t region_index(const struct hd_ptables *t, uint64_t vpn)
{
    return hd_pt_index_of(t, vpn & ~(uint64_t)(HD_LARGE_PAGES - 1), t->dir);
}

/* Room for more regions, at once; < 0: there is none. */
static int regions_more(struct hd_ptables *t, uint64_t n)
{
    struct hd_pt_state *s = t->s;

    n += s->regions;
    if (n > s->region_room) {
        hd_ref p = grown(t, s->region, &s->region_room,
                         sizeof(struct hd_pt_region), n);
        if (p == HD_NONE)
            return -1;
        s->region = p;
    }
    return 2 * n > 1ull << s->hash_bits ? grow_hash(t, n) : 0;
}

/* The tables of a new region: those of its neighbour, whose PDE is in the same
 * one, or from the root down.  False: there is no room. */
static HD_INLINE bool region_tables(struct hd_ptables *t, uint32_t app,
                                    uint64_t vpn, uint32_t index,
                                    struct hd_pt_slot *new)
{
    struct hd_pt_state *s = t->s;
    uint32_t n, up = HD_NONE;

    if (HD_LIKELY(index != 0)) {
        const struct hd_pt_slot *by =
            hd_pt_slot_of(t, app, vpn - HD_LARGE_PAGES);
        if (HD_LIKELY(by->key != 0)) {
            new->t[0] = t->dual ? HD_NONE : by->t[0];
            new->t[1] = by->t[1];
            new->t[2] = by->t[2];
            return true;
        }
    }
    if (s->root[app] == HD_NONE)
        s->root[app] = table_one(t, app, 1);
    n = s->root[app];
    new->t[0] = t->dual ? HD_NONE : n; /* no table of 64 KB pages */
    for (uint32_t l = 1; l < t->dir && n != HD_NONE; l++) {
        up = n;
        n = table_below(t, n, hd_pt_index_of(t, vpn, l), 1);
    }
    new->t[1] = up;
    new->t[2] = n;
    return n != HD_NONE;
}

/* The slot of a region, which is h, entered with its tables down to level 3 if
 * it is new; NULL: there is no room. */
static HD_APART struct hd_pt_slot *region_new(struct hd_ptables *t,
                                              struct hd_pt_slot *h,
                                              uint32_t app, uint64_t vpn)
{
    struct hd_pt_state *s = t->s;
    struct hd_pt_slot new;
    uint32_t index = region_index(t, vpn);

    if (HD_UNLIKELY(s->regions == s->region_room ||
                    2 * (s->regions + 1) > 1u << s->hash_bits)) {
        if (regions_more(t, 1) < 0)
            return NULL;
        h = hd_pt_slot_of(t, app, vpn);
    }
    if (!region_tables(t, app, vpn, index, &new))
        return NULL;
    new.t[3] = HD_NONE;
    new.key = hd_pt_key(app, vpn / HD_LARGE_PAGES);
    new.at = t->table[new.t[2]].at + index;
    new.region_bits = s->regions << HD_PT_SHIFT | HD_PT_LARGE; /* no table */
    *hd_pt_region_of(t, s->regions++) =
        (struct hd_pt_region){.number = vpn / HD_LARGE_PAGES, .app = app};
    *h = new;
    return h;
}

static inline struct hd_pt_slot *region_get(struct hd_ptables *t,
                                            struct hd_pt_slot *h, uint32_t app,
                                            uint64_t vpn)
{
    return HD_LIKELY(h->key != 0) ? h : region_new(t, h, app, vpn);
}

/* Makes a region ready for a page of `pages` base pages; < 0: there is no room.
 */
static int region_shape(struct hd_ptables *t, struct hd_pt_slot *h,
                        uint64_t vpn, uint32_t pages)
{
    uint32_t i = region_index(t, vpn);

    if (HD_UNLIKELY(t->dual))
        return hd_format_shape(t, h, (uint32_t)(h->key - 1) & 15, vpn, pages);
    if (pages == HD_LARGE_PAGES) {
        if (h->t[3] != HD_NONE) {
            hd_pt_table_free(t, h->t[3]);
            h->t[3] = HD_NONE;
            hd_pt_entry(t, t->table[h->t[2]].at)[i] = 0;
            t->table[h->t[2]].used--;
        }
        h->at = t->table[h->t[2]].at + i;
        h->region_bits |= HD_PT_LARGE;
        return 0;
    }
    if (h->t[3] == HD_NONE)
        h->t[3] = table_below(t, h->t[2], i, t->leaves);
    if (h->t[3] == HD_NONE)
        return -1;
    h->at = t->table[h->t[3]].at;
    h->region_bits &= ~(uint32_t)HD_PT_LARGE;
    if (pages == 16)
        h->region_bits |= HD_PT_MEDIUM;
    return 0;
}

/* region_shape() where the region is not as it is for such pages: without
 * tables, or with that of base pages. */
static HD_INLINE int region_ready(struct hd_ptables *t, struct hd_pt_slot *h,
                                  uint64_t vpn, uint32_t pages)
{
    t->s->sized |= pages > 1;
    if (pages == HD_LARGE_PAGES && h->region_bits & HD_PT_LARGE)
        return 0;
    if (HD_LIKELY(pages == 1 && !t->dual && h->t[3] != HD_NONE &&
                  (h->region_bits & HD_PT_LARGE) == 0))
        return 0;
    return region_shape(t, h, vpn, pages);
}

/* ---- looking up ------------------------------------------------------- */

HD_HOT bool hd_ptables_find(const struct hd_ptables *t, uint32_t app,
                            hd_vpn vpn, struct hd_xlate *x)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);

    if (!hd_pt_decode(t, h, vpn.v, HD_PT_PRESENT, x))
        return false;
    if (HD_UNLIKELY(h->region_bits & HD_PT_JOINED)) {
        x->pages = x->page_pages = HD_LARGE_PAGES;
        x->vpn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
        x->pfn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
    }
    return true;
}

bool hd_ptables_page(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     struct hd_xlate *x)
{
    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v, HD_PT_PRESENT,
                        x);
}

bool hd_ptables_resident(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    struct hd_xlate x;

    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn.v), vpn.v, HD_PT_PRESENT,
                        &x);
}

HD_HOT uint32_t hd_ptables_path(const struct hd_ptables *t, uint32_t app,
                                hd_vpn vpn, hd_pa *pte)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
    uint32_t levels = h->region_bits & HD_PT_LARGE ? 3 : 4;
    uint64_t mask = hd_ones(t->bits), shift = 3 * t->bits;

    if (h->key == 0)
        return 0;
    if (HD_UNLIKELY(h->region_bits & HD_PT_JOINED))
        vpn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1); /* the first stands for all */
    if (HD_UNLIKELY(t->dual))
        return hd_format_path(t, h, vpn.v, pte);
    HD_PREFETCH(hd_pt_leaf(t, h, vpn.v));
    for (uint32_t i = 0; i < levels; i++, shift -= t->bits)
        pte[i].v = t->first_pa + (uint64_t)h->t[i] * HD_PAGE_BYTES +
                   ((vpn.v >> shift & mask) << t->entry_shift);
    if (HD_UNLIKELY(t->leaves != 1) && levels == 4)
        pte[3] = hd_pt_entry_at(t, h, vpn.v, 4);
    return levels;
}

uint32_t hd_ptables_walk(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa *pte)
{
    return hd_ptables_resident(t, app, vpn) ? hd_ptables_path(t, app, vpn, pte)
                                            : 0;
}

hd_pa hd_ptables_table(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                       uint32_t level)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);

    hd_assert(h->key != 0 && h->t[level - 1] != HD_NONE);
    return hd_pt_entry_at(t, h, vpn.v, level);
}

const uint32_t *hd_ptables_changes(const struct hd_ptables *t)
{
    return &t->s->changes;
}

hd_vpn hd_ptables_first(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct hd_pt_slot *h;
    struct hd_xlate x;

    if (t->s->sized == 0)
        return vpn;
    h = hd_pt_slot_of(t, app, vpn.v);
    if (h->key == 0 ||
        (h->region_bits & (HD_PT_LARGE | HD_PT_MEDIUM | HD_PT_JOINED)) == 0)
        return vpn;
    if (h->region_bits & HD_PT_JOINED)
        return (hd_vpn){vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1)};
    return hd_pt_decode(t, h, vpn.v, HD_PT_PRESENT, &x) ? x.vpn : vpn;
}

uint64_t hd_ptables_entry(const struct hd_ptables *t, hd_pa pte)
{
    uint64_t n = pte.v / HD_PAGE_BYTES - t->first_table; /* or wraps around */

    if (n >= t->s->tables)
        return 0;
    if (t->dual)
        return hd_format_entry(t, (uint32_t)n, pte.v % HD_PAGE_BYTES);
    return hd_pt_entry(t,
                       t->table[n].at)[pte.v % HD_PAGE_BYTES >> t->entry_shift];
}

uint64_t hd_ptables_pages(const struct hd_ptables *t, uint32_t app)
{
    return t->s->pages[app];
}

bool hd_ptables_owner(const struct hd_ptables *t, hd_pfn pfn, uint32_t *app,
                      hd_vpn *vpn)
{
    uint32_t o = hd_frames_owner(&t->frames, pfn.v);
    const struct hd_pt_region *r;

    if (o == 0 || o == HD_PT_FOREIGN)
        return false;
    r = hd_pt_region_of(t, (o - 1) / HD_LARGE_PAGES);
    *app = r->app;
    vpn->v = r->number * HD_LARGE_PAGES + (o - 1) % HD_LARGE_PAGES;
    return true;
}

/* Sizes of pages in base pages, by the answer of the point alloc. */
static const uint32_t SIZE[3] = {1, 16, HD_LARGE_PAGES};

/* ---- mapping ---------------------------------------------------------- */

/* Makes the entries of a page in free frames. */
static HD_INLINE int enter_frame(struct hd_ptables *t,
                                 const struct hd_pt_job *j,
                                 const struct hd_pt_slot *h, uint64_t vpn,
                                 uint32_t pages, uint64_t f)
{
    if (hd_pt_occupy(t, h, j->app, vpn, f, pages, j->err) < 0)
        return j->err->code;
    if (HD_LIKELY(pages == HD_LARGE_PAGES)) {
        uint64_t *e = hd_pt_entry(t, h->at);
        *e = (*e & HD_PT_PACKED) | f * HD_PAGE_BYTES | HD_PT_2M |
             HD_PT_PRESENT | HD_PT_WRITE;
        t->table[h->t[2]].used++;
        t->s->large[j->app][1]++;
        t->s->pages[j->app] += HD_LARGE_PAGES;
        return 0;
    }
    hd_pt_put(t, h, vpn, pages, f, HD_PT_PRESENT | HD_PT_WRITE);
    hd_pt_count_present(t, h, j->app, vpn, pages, true);
    return 0;
}

/* Makes the entries of a page of an allocation; h: the slot of its region, or
 * where that belongs. */
static int enter_page(struct hd_ptables *t, const struct hd_pt_job *j,
                      struct hd_pt_slot *h, uint64_t vpn, uint32_t pages)
{
    uint64_t f;

    h = region_get(t, h, j->app, vpn);
    if (h == NULL || region_ready(t, h, vpn, pages) < 0)
        return hd_pt_fail(t, j, "out of frames for page tables", pages);
    if (j->nonresident) {
        hd_pt_put(t, h, vpn, pages, HD_NO_FRAME,
                  HD_PT_NONRESIDENT | HD_PT_WRITE);
        return 0;
    }
    f = hd_pt_frame_for(t, j, h, vpn, pages);
    return f == HD_NO_FRAME ? j->err->code
                            : enter_frame(t, j, h, vpn, pages, f);
}

int hd_pt_enter_at(struct hd_ptables *t, const struct hd_pt_job *j,
                   uint64_t vpn, uint32_t pages, uint64_t f)
{
    struct hd_pt_slot *h =
        region_get(t, hd_pt_slot_of(t, j->app, vpn), j->app, vpn);

    if (h == NULL || region_ready(t, h, vpn, pages) < 0)
        return hd_pt_fail(t, j, "out of frames for page tables", pages);
    return enter_frame(t, j, h, vpn, pages, f);
}

/* Whether a page of [vpn, vpn + n) can be made: none in it is mapped or
 * reserved, or has its place kept in a coalesced region. */
static bool ptable_all_free(const struct hd_ptables *t, uint32_t app,
                            uint64_t vpn, uint32_t n)
{
    struct hd_xlate x;

    for (uint32_t i = 0; i < n; i++)
        if (hd_pt_taken(t, app, vpn + i, &x))
            return false;
    return !hd_ptables_large(t, app, (hd_vpn){vpn}, &x);
}

/* Base pages of the aligned 64 KB that a range has a page of. */
static uint64_t ptable_rounded(const struct hd_pt_range *r)
{
    return ((r->vpn + r->pages + 15) & ~15ull) - (r->vpn & ~15ull);
}

/* Remembers the range of an allocation, so that unmapping spares the pages
 * that it shares with others. */
static int ptable_remember(struct hd_ptables *t, const struct hd_pt_job *j,
                           uint64_t vpn, uint64_t pages)
{
    struct hd_pt_state *s = t->s;
    struct hd_pt_range *r =
        s->ranges > 0 ? hd_pt_range_of(t, s->ranges - 1) : NULL;

    if (r != NULL && r->app == j->app && r->index == j->index &&
        r->vpn + r->pages == vpn) {
        s->allocated -= ptable_rounded(r);
        r->pages += pages;
        s->allocated += ptable_rounded(r);
        return 0;
    }
    if (s->ranges == s->range_room) {
        hd_ref p = grown(t, s->range, &s->range_room, sizeof *r, 0);
        if (p == HD_NONE)
            return hd_err_memory(j->err);
        s->range = p;
    }
    r = hd_pt_range_of(t, s->ranges++);
    *r = (struct hd_pt_range){
        .vpn = vpn, .pages = pages, .app = j->app, .index = j->index};
    s->allocated += ptable_rounded(r);
    return 0;
}

/* Maps or reserves the pages of an allocation. */
static int ptable_map(struct hd_ptables *t, struct hd_pt_job *j)
{
    uint32_t app = j->app, index = j->index;
    hd_va base = j->base;
    uint64_t bytes = j->bytes;
    uint64_t first = base.v >> HD_PAGE_SHIFT;
    uint64_t end =
        bytes == 0 ? first : ((base.v + bytes - 1) >> HD_PAGE_SHIFT) + 1;
    struct heddle_q_page_size q = {.app = app,
                                   .index = index,
                                   .vpn = first,
                                   .pages = end - first,
                                   .free_frames = t->frames.frames -
                                                  hd_frames_used(&t->frames)};
    uint32_t n;
    bool huge;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    if (app >= HD_MAX_APPS || base.v + bytes < base.v)
        end = UINT64_MAX; /* it is in none */
    if (hd_format_in_reach(t, j, end) != 0)
        return j->err->code;
    if (end == first)
        return 0;
    if (hd_pt_in_reach(t, j, first, end) != 0)
        return j->err->code;
    n = SIZE[hd_pt_page_size(t, &q, j->err)];
    huge = t->cfg.page == HD_VM_PAGE_512M && n == HD_LARGE_PAGES &&
           !j->nonresident && !t->place.bound && t->compress == NULL;
    if (regions_more(t, (end - first) / HD_LARGE_PAGES) < 0)
        return hd_err_memory(j->err);
    for (uint64_t vpn = first; vpn < end;) {
        uint64_t at = vpn & ~(uint64_t)(n - 1);
        bool inside = at >= first && at + n <= end;
        struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn);
        struct hd_xlate x;
        int rc = 0;

        if (h->key != 0 &&
            hd_pt_decode(t, h, vpn, HD_PT_PRESENT | HD_PT_NONRESIDENT, &x)) {
            vpn = x.vpn.v + x.pages;
            continue;
        }
        if (HD_UNLIKELY(huge) && vpn % HD_HUGE_PAGES == 0 &&
            end - vpn >= HD_HUGE_PAGES) {
            rc = hd_format_map_huge(t, j, vpn);
            if (rc < 0)
                return rc;
            vpn += rc * HD_HUGE_PAGES;
            if (rc > 0)
                continue;
        }
        if (n > 1 && (inside || t->cfg.round) &&
            (h->key == 0 || ptable_all_free(t, app, at, n))) {
            rc = enter_page(t, j, h, at, n);
            vpn = at + n;
        } else {
            rc = enter_page(t, j, h, vpn++, 1);
        }
        if (rc < 0)
            return rc;
    }
    hd_pt_rescan(t, app, first & ~511ull, end + 511 - (first & ~511ull));
    return ptable_remember(t, j, first, end - first);
}

int hd_ptables_map(struct hd_ptables *t, uint32_t app, uint32_t index,
                   hd_va base, uint64_t bytes, struct heddle_error *err)
{
    struct hd_pt_job j = {app, index, base, bytes, err, false, false};

    return ptable_map(t, &j);
}

int hd_ptables_reserve(struct hd_ptables *t, uint32_t app, uint32_t index,
                       hd_va base, uint64_t bytes, struct heddle_error *err)
{
    struct hd_pt_job j = {app, index, base, bytes, err, true, false};

    return ptable_map(t, &j);
}

const struct hd_pt_range *hd_pt_range_with(const struct hd_ptables *t,
                                           uint32_t app, uint64_t vpn)
{
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app == app && vpn - r->vpn < r->pages)
            return r;
    }
    return NULL;
}

uint32_t hd_pt_holders(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                       uint64_t pages)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct hd_pt_range *r = hd_pt_range_of(t, i);
        n += r->app == app && r->vpn < vpn + pages && vpn < r->vpn + r->pages;
    }
    return n;
}

/* A page goes with its allocation; its coalesced region keeps its place. */
static void unmap_page(struct hd_ptables *t, uint32_t app,
                       const struct hd_xlate *x)
{
    struct hd_pt_slot *h = hd_pt_slot_of(t, app, x->vpn.v);
    uint64_t *e = hd_pt_leaf(t, h, x->vpn.v), bits = *e;

    hd_format_split(t, h, app, x->vpn.v);
    memset(e, 0, (x->pages == HD_LARGE_PAGES ? 1 : x->pages) * sizeof *e);
    hd_pt_rescan(t, app, x->vpn.v, x->pages);
    if (HD_UNLIKELY(t->compress != NULL))
        hd_compress_forget(t->compress, hd_pt_number_of(h, x->vpn.v), x->pages);
    if (bits & HD_PT_PRESENT && x->pfn.v >= HD_HOST_FRAME) {
        hd_pt_count_present(t, h, app, x->vpn.v, x->pages, false);
        t->s->host_mapped -= x->pages;
        t->s->host_mapped_lost += x->pages;
        t->s->changes++;
        return;
    }
    if (bits & HD_PT_PRESENT) {
        hd_pt_count_present(t, h, app, x->vpn.v, x->pages, false);
        hd_pt_tell_gone(t, app, x, bits);
    } else if (bits & HD_PT_IN_FLIGHT) {
        t->s->in_flight -= x->pages;
    } else if (bits & HD_PT_EVICTING) {
        t->s->evicting -= x->pages;
    } else {
        return; /* it is on the host */
    }
    hd_pt_give_memory(t, h, x);
    if (HD_LIKELY(!(h->region_bits & HD_PT_JOINED))) {
        hd_pt_give_frame(t, app, x);
        return;
    }
    t->s->kept++;
    hd_bigframes_drop(&t->big, x->pfn.v, app, x->pages);
    if (x->pages == 1)
        hd_pt_tell(t, HEDDLE_NOTE_page_freed, app, x->vpn.v, x->pfn.v);
}

void hd_ptables_unmap(struct hd_ptables *t, uint32_t app, uint32_t index,
                      hd_va base, uint64_t bytes)
{
    uint64_t first = base.v >> HD_PAGE_SHIFT;
    uint64_t end =
        bytes == 0 ? first : ((base.v + bytes - 1) >> HD_PAGE_SHIFT) + 1;
    struct heddle_n_free n = {
        .app = app, .index = index, .vpn = first, .pages = end - first};
    bool overlap;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    if (HD_UNLIKELY(t->env->slots != NULL &&
                    t->env->slots->watched[HEDDLE_NOTE_free] != 0))
        hd_slots_note(t->env->slots, HEDDLE_NOTE_free, &n);
    for (uint32_t i = 0; i < t->s->ranges;) {
        struct hd_pt_range *r = hd_pt_range_of(t, i);
        if (r->app != app || r->index != index) {
            i++;
            continue;
        }
        t->s->allocated -= ptable_rounded(r);
        *r = *hd_pt_range_of(t, --t->s->ranges);
    }
    if (HD_UNLIKELY(t->s->spans != 0))
        hd_pt_forget_advice(t, app, first, end);
    overlap = hd_pt_holders(t, app, first, end - first) != 0;
    for (uint64_t vpn = first; vpn < end;) {
        struct hd_xlate x;
        uint64_t next = vpn + 1;

        if (hd_pt_taken(t, app, vpn, &x)) {
            bool edge = x.vpn.v <= first || x.vpn.v + x.pages >= end;
            next = x.vpn.v + x.pages;
            if (!(edge || overlap) ||
                hd_pt_holders(t, app, x.vpn.v, x.pages) == 0)
                unmap_page(t, app, &x);
        }
        vpn = next;
    }
}

/* ---- pages that move -------------------------------------------------- */

void hd_ptables_move(struct hd_ptables *t, hd_pfn from, hd_pfn to)
{
    uint32_t o = hd_frames_owner(&t->frames, from.v), app = HD_OWNER_FOREIGN;
    hd_vpn vpn = {0};
    int rc;

    hd_at_home(t->env, HD_SIDE_MANAGER);
    if (hd_ptables_owner(t, from, &app, &vpn)) {
        const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn.v);
        uint64_t *e = hd_pt_entry(t, h->at) + (vpn.v & 511);
        hd_assert(!(h->region_bits & HD_PT_JOINED) &&
                  hd_pt_leaf_table(t, h) != NULL);
        *e = (*e & ~(uint64_t)HD_PT_FRAME) | to.v * HD_PAGE_BYTES;
        hd_pt_rescan(t, app, vpn.v, 1);
        t->s->changes++;
    }
    hd_frames_give(&t->frames, from.v, 1);
    hd_bigframes_drop(&t->big, from.v, app, 1);
    rc = hd_frames_take(&t->frames, to.v, 1, o);
    if (rc < 0) /* no table for its owner: it cannot be lost */
        hd_err_memory(t->env->err);
    else if (t->frames.dirty != NULL && hd_frame_written(&t->frames, from.v))
        hd_frame_write(t->frames.dirty, to.v);
    hd_pt_settle(t, to.v, app, 1);
}

/* ---- building ----------------------------------------------------------- */

static int64_t alloc_default(void *self, const void *q)
{
    (void)q;
    return hd_min_u64(((struct hd_ptables *)self)->cfg.page, 2);
}

static int64_t ptable_place_default(void *self, const void *q)
{
    (void)self;
    return (int64_t)((const struct heddle_q_frame_place *)q)->next;
}

/* Takes the state, with so many data frames. */
static int ptable_take_state(struct hd_ptables *t, uint64_t frames)
{
    struct hd_arena *a = t->env->arena;
    struct hd_pt_state *s = hd_arena_take(a, 1, sizeof *s);
    void *region = hd_arena_take(a, FIRST_ROOM, sizeof(struct hd_pt_region));
    void *range = hd_arena_take(a, FIRST_ROOM, sizeof(struct hd_pt_range));
    void *hash = hd_arena_take(a, 1u << HASH_BITS, sizeof(struct hd_pt_slot));

    t->table = hd_arena_take(a, t->table_frames, sizeof *t->table);
    t->s = s;
    if (s == NULL || region == NULL || range == NULL || hash == NULL ||
        t->table == NULL || hd_frames_open(&t->frames, a, frames) < 0 ||
        hd_bigframes_open(&t->big, a, frames) < 0 ||
        (t->cfg.paging == HD_PAGING_FAULT && hd_frames_watch(&t->frames) < 0))
        return -1;
    s->free_tables = HD_NONE;
    s->free_words = HD_NONE;
    s->region = hd_arena_ref(a, region);
    s->range = hd_arena_ref(a, range);
    s->hash = hd_arena_ref(a, hash);
    s->region_room = s->range_room = FIRST_ROOM;
    s->hash_bits = HASH_BITS;
    for (uint32_t i = 0; i < HD_MAX_APPS; i++)
        s->root[i] = s->free_bigs[i] = HD_NONE;
    return 0;
}

uint32_t hd_vm_table_frames(const struct hd_vm_cfg *cfg)
{
    uint64_t leaves = cfg->memory_bytes / HD_PAGE_BYTES / HD_LARGE_PAGES;

    if (cfg->table_frames != 0)
        return cfg->table_frames;
    return (uint32_t)hd_max_u64(LEAST_TABLES,
                                leaves + leaves / 16 + leaves / 64 + 64);
}

static int ptable_check_memory(const struct hd_vm_cfg *cfg,
                               struct heddle_error *err)
{
    unsigned long long bytes = cfg->memory_bytes;
    uint64_t frames = cfg->memory_bytes / HD_PAGE_BYTES;

    if (cfg->memory_bytes % HD_PAGE_BYTES != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "vm.memory_bytes: %llu is not a multiple of the %u "
                          "bytes of a frame",
                          bytes, (unsigned)HD_PAGE_BYTES);
    if (hd_vm_table_frames(cfg) >= frames)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "vm.memory_bytes: %llu are %llu frames; more than "
                          "vm.table_frames = %u are expected",
                          bytes, (unsigned long long)frames,
                          hd_vm_table_frames(cfg));
    if (cfg->paging == HD_PAGING_FAULT && frames > HD_HOST_FRAME)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "vm.memory_bytes: %llu; with vm.paging=fault at most "
                          "%llu (8 TB) are expected",
                          bytes,
                          (unsigned long long)HD_HOST_FRAME * HD_PAGE_BYTES);
    return 0;
}

struct hd_ptables *hd_ptables_open(struct hd_env *env,
                                   const struct hd_vm_cfg *cfg)
{
    struct hd_ptables *t;
    uint64_t frames, names;

    if (hd_ptables_cfg_check(cfg, "vm", env->err) != 0 ||
        ptable_check_memory(cfg, env->err) != 0)
        return NULL;
    t = hd_env_take(env, 1, sizeof *t);
    if (t == NULL)
        return NULL;
    t->base = env->arena->base;
    t->env = env;
    t->cfg = *cfg;
    t->table_frames = hd_vm_table_frames(cfg);
    frames = cfg->memory_bytes / HD_PAGE_BYTES - t->table_frames;
    if (env->nodes != NULL)
        frames = env->nodes->n * (env->nodes->data / HD_PAGE_BYTES);
    names = frames * hd_max_u64(cfg->names, 1);
    /* Tables follow the data; where frames have more names than there are, they
     * follow these, on the slices, channels and banks where they would be. */
    t->first_table =
        names > frames ? frames + (2ull << hd_log2(names - frames)) : frames;
    t->first_pa = t->first_table * HD_PAGE_BYTES;
    t->entry_shift = hd_log2(cfg->entry_bytes == 0 ? 8 : cfg->entry_bytes);
    t->bits = HD_PAGE_SHIFT - t->entry_shift;
    t->leaves = HD_LARGE_PAGES >> t->bits;
    hd_format_open(t);
    if (ptable_take_state(t, names) < 0)
        return NULL;
    hd_slots_offer(env->slots, HEDDLE_POINT_page_size, "", &t->alloc,
                   alloc_default, t);
    hd_slots_offer(env->slots, HEDDLE_POINT_frame_place, "", &t->place,
                   ptable_place_default, t);
    hd_env_part(env, (struct hd_part){.name = "pagetable",
                                      .instances = env->apps,
                                      .self = t,
                                      .look = hd_ptables_look,
                                      .check = hd_ptables_check});
    return t;
}

uint64_t hd_ptables_frames(const struct hd_ptables *t)
{
    return t->frames.frames;
}

int hd_ptables_keep(struct hd_ptables *t, uint64_t bytes, hd_pa *at,
                    struct heddle_error *err)
{
    uint64_t n = bytes / HD_PAGE_BYTES;

    if (bytes % HD_PAGE_BYTES != 0 || n >= t->table_frames)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "walktable.bytes: %llu; a multiple of %u is "
                          "expected, below the %llu bytes of page tables "
                          "(vm.table_frames = %u)",
                          (unsigned long long)bytes, (unsigned)HD_PAGE_BYTES,
                          (unsigned long long)t->table_frames * HD_PAGE_BYTES,
                          t->table_frames);
    t->table_frames -= (uint32_t)n;
    at->v = (t->first_table + t->table_frames) * HD_PAGE_BYTES;
    return 0;
}

/* For questions by frame, in memory's events. */
static uint32_t owner_of(void *self, uint64_t frame)
{
    const struct hd_ptables *t = self;

    hd_cross(t->env, HD_BORDER_owner);
    return frame < t->frames.frames ? hd_frames_owner(&t->frames, frame) : 0;
}

/* For questions, which are asked by the manager. */
static uint64_t allocated_of(void *self)
{
    return hd_ptables_allocated(self);
}

void hd_ptables_compress(struct hd_ptables *t, struct hd_compress *c)
{
    t->compress = c;
    hd_compress_owner(c, owner_of, allocated_of, t);
}

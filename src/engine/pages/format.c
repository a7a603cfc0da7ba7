/*
 * format.c - formats of page tables (vm.format): which bits of an address
 * index which level, and which entries a walk reads.
 *
 * x86-64 is four levels of nine bits.  NVIDIA's formats are those that the open
 * driver writes (formats.def): above the leaf tables are PDE3 to PDE0, and
 * Hopper's PDE4, of 8 bytes an entry, but PDE0, which covers 2 MB and has 16.
 * A PDE0 is a page of 2 MB, or points to two tables: one of 32 entries, 256
 * bytes in all, for pages of 64 KB, and one of 512 for pages of 4 KB.  From
 * Ampere on a PDE1 can be a page of 512 MB.
 *
 * Reads of a walk, from the root down: 4 for a page of 2 MB (Hopper 5), 3 for
 * one of 512 MB (Hopper 4).  Where a PDE0 points to one table its entry is
 * another one.  Where it points to both, the entry for 64 KB is read first: a
 * page of 64 KB ends the walk there, and so does an entry that says that none
 * of its 4 KB pages is valid (PCF NO_VALID_4KB_PAGE, or the privilege bit of an
 * invalid entry), which the driver writes wherever the 64 KB have no page of
 * 4 KB; else the entry for 4 KB follows.  That order is inferred: no document
 * states it.
 *
 * What the engine knows of a page is one word, in an array of 512 for each 2 MB
 * (ptable.c).  In these formats the array is the table of 4 KB pages where
 * there is one; the entries for 64 KB are another view of its words
 * (hd_format_entry), not stored twice.  Tables of 256 bytes share frames,
 * sixteen in each.  A page of 512 MB is 256 of 2 MB whose frames follow one
 * another, with a mark in the PDE1 that they are one page; the table below it
 * is kept, so that it can be split at no cost, and is not read.  Each of the
 * 256 has a translation of its own, and so TLB entries reach 2 MB.
 *
 * A region that a policy coalesces is a page of 2 MB to a walk: in the PDE0 the
 * half that would point to a table of 64 KB pages says so, the other keeps the
 * table of 4 KB pages.
 *
 * Invariants: a region has a table of 4 KB or of 64 KB pages from the first
 * such page on; the chain of a table's `above` ends at its application's root;
 * a PDE1 is marked exactly when its 256 regions are, and these have pages of 2
 * MB that are in order in 512 aligned MB.
 *
 * Left out on purpose: tables in the host's memory, Pascal's 128 KB pages,
 * sparse entries, and an entry's bits for caching, kind and aperture.
 *
 * SPDX-License-Identifier: MIT
 */
#include "format.h"

#include <string.h>

#include "kit/bits.h"
#include "ptstate.h"

#define HD_FORMAT(name, va, dual, huge, dir, ...)                              \
    {name, va, dual, huge, dir, {__VA_ARGS__}},
static const struct hd_format format[HD_FORMATS] = {
#include "formats.def"
};
#undef HD_FORMAT

const struct hd_format *hd_format_of(uint32_t kind)
{
    hd_assert(kind < HD_FORMATS);
    return &format[kind];
}

/* ---- settings -------------------------------------------------------------
 */

int hd_format_check(const struct hd_vm_cfg *cfg, const char *name,
                    struct heddle_error *err)
{
    const struct hd_format *f = hd_format_of(cfg->format);

    if (cfg->page == HD_VM_PAGE_512M && !f->huge)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.page: 512M; %s.format = %s has pages of 4 KB, "
                          "64 KB and 2 MB, and ampere or hopper is expected",
                          name, name, f->name);
    if (cfg->page == HD_VM_PAGE_512M && cfg->paging == HD_PAGING_FAULT)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.page: 512M; pages of 512 MB do not migrate, and "
                          "%s.paging = none or launch is expected",
                          name, name);
    if (!f->dual)
        return 0;
    if (cfg->entry_bytes > 8)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.entry_bytes: %u; %s.format = %s fixes the bytes "
                          "of entries, and 8 is expected",
                          name, cfg->entry_bytes, name, f->name);
    if (cfg->scan)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "%s.scan: entries of %s.format = %s have no "
                          "contiguity bits; false is expected",
                          name, name, f->name);
    return 0;
}

int hd_format_in_reach(const struct hd_ptables *t, const struct hd_pt_job *j,
                       uint64_t end)
{
    if (end <= 1ull << (t->format->va_bits - HD_PAGE_SHIFT))
        return 0;
    return hd_err_set(j->err, HEDDLE_EINVAL,
                      "application %u, allocation %u: %llu bytes at 0x%llx are "
                      "not in an address space of %u bits (vm.format = %s)",
                      j->app, j->index, (unsigned long long)j->bytes,
                      (unsigned long long)j->base.v, t->format->va_bits,
                      t->format->name);
}

void hd_format_open(struct hd_ptables *t)
{
    const struct hd_format *f = hd_format_of(t->cfg.format);
    uint32_t shift = 9;

    t->format = f;
    t->dual = f->dual;
    t->dir = f->dir;
    if (!f->dual) { /* equal levels, of vm.entry_bytes */
        for (uint32_t l = 1; l <= 4; l++) {
            t->level[l].shift = (uint8_t)(t->bits * (4 - l));
            t->level[l].mask = (uint32_t)hd_ones(t->bits);
        }
        return;
    }
    t->level[f->dir + 1].mask = HD_LARGE_PAGES - 1;
    for (uint32_t l = f->dir; l > 0; l--) {
        t->level[l].shift = (uint8_t)shift;
        t->level[l].mask = (uint32_t)hd_ones(f->bits[l - 1]);
        shift += f->bits[l - 1];
    }
    t->level[f->dir].twice = 1;
}

/* ---- arrays and tables below a PDE0 -------------------------------------- */

hd_ref hd_format_words(struct hd_ptables *t)
{
    hd_ref at = t->s->free_words;
    uint64_t *p;

    if (at == HD_NONE) {
        p = hd_arena_take(t->env->arena, HD_LARGE_PAGES, sizeof *p);
        return p == NULL ? HD_NONE : hd_arena_ref(t->env->arena, p);
    }
    p = hd_pt_entry(t, at);
    t->s->free_words = (hd_ref)p[0];
    memset(p, 0, HD_LARGE_PAGES * sizeof *p);
    return at;
}

static void words_free(struct hd_ptables *t, hd_ref at)
{
    hd_pt_entry(t, at)[0] = t->s->free_words;
    t->s->free_words = at;
}

/* The sixteen words of a frame of tables for 64 KB pages: the number of the
 * region whose table it is, 1 higher, or BIG_FREE with the next free place. */
#define BIG_FREE (1ull << 63)

static uint64_t *big_word(const struct hd_ptables *t, uint32_t place)
{
    return hd_pt_entry(t, t->table[place / HD_PT_BIGS].at) + place % HD_PT_BIGS;
}

/* The place of a new table for 64 KB pages, counted in 256 bytes from the first
 * table's frame, or HD_NONE. */
static uint32_t big_new(struct hd_ptables *t, uint32_t app, uint32_t region)
{
    uint32_t *free = &t->s->free_bigs[app], place = *free;

    if (place == HD_NONE) {
        uint64_t *v = hd_arena_take(t->env->arena, HD_PT_BIGS, sizeof *v);
        uint32_t n = v == NULL
                         ? HD_NONE
                         : hd_pt_table_new(t, app, HD_PT_BIG_LEVEL,
                                           hd_arena_ref(t->env->arena, v));
        if (n == HD_NONE)
            return HD_NONE;
        place = n * HD_PT_BIGS;
        for (uint32_t i = 0; i < HD_PT_BIGS; i++)
            v[i] = BIG_FREE | (i + 1 < HD_PT_BIGS ? place + i + 1 : HD_NONE);
    }
    *free = (uint32_t)*big_word(t, place);
    *big_word(t, place) = region + 1ull;
    t->table[place / HD_PT_BIGS].used++;
    return place;
}

static void big_free(struct hd_ptables *t, uint32_t app, uint32_t place)
{
    *big_word(t, place) = BIG_FREE | t->s->free_bigs[app];
    t->s->free_bigs[app] = place;
    t->table[place / HD_PT_BIGS].used--;
}

/* The two words of a region's PDE0. */
static uint64_t *format_pair(const struct hd_ptables *t,
                             const struct hd_pt_slot *h, uint64_t vpn)
{
    return hd_pt_entry(t, t->table[h->t[2]].at) +
           hd_pt_index_of(t, vpn, t->dir);
}

/* A page of 2 MB takes the place of a region's tables. */
static void drop_tables(struct hd_ptables *t, struct hd_pt_slot *h,
                        uint32_t app, uint64_t vpn)
{
    uint64_t *e = format_pair(t, h, vpn);

    t->table[h->t[2]].used -=
        (h->t[HD_PT_BIG] != HD_NONE) + (h->t[3] != HD_NONE);
    e[0] = e[1] = 0;
    words_free(t, h->at);
    if (h->t[3] != HD_NONE)
        hd_pt_table_free(t, h->t[3]);
    if (h->t[HD_PT_BIG] != HD_NONE)
        big_free(t, app, h->t[HD_PT_BIG]);
    h->t[HD_PT_BIG] = h->t[3] = HD_NONE;
}

int hd_format_shape(struct hd_ptables *t, struct hd_pt_slot *h, uint32_t app,
                    uint64_t vpn, uint32_t pages)
{
    bool none = h->region_bits & HD_PT_LARGE, big = pages == 16;
    uint32_t *n = &h->t[big ? HD_PT_BIG : 3];
    uint64_t *e = format_pair(t, h, vpn);
    hd_ref at = h->at;

    if (pages == HD_LARGE_PAGES) {
        if (!none)
            drop_tables(t, h, app, vpn);
        h->at = t->table[h->t[2]].at + hd_pt_index_of(t, vpn, t->dir);
        h->region_bits |= HD_PT_LARGE;
        return 0;
    }
    if (big)
        h->region_bits |= HD_PT_MEDIUM;
    if (*n != HD_NONE)
        return 0;
    if (none && (at = hd_format_words(t)) == HD_NONE)
        return -1;
    *n = big ? big_new(t, app, hd_pt_region_number(h))
             : hd_pt_table_new(t, app, t->dir + 1, at);
    if (*n == HD_NONE) {
        if (none)
            words_free(t, at);
        return -1;
    }
    e[!big] = HD_PT_PRESENT | (big ? hd_format_big_word(t, *n)
                                   : (t->first_table + *n) * HD_PAGE_BYTES);
    t->table[h->t[2]].used++;
    h->at = at;
    h->region_bits &= ~(uint32_t)HD_PT_LARGE;
    return 0;
}

/* ---- pages of 512 MB --------------------------------------------------------
 */

/* Whether 512 MB from vpn on can become one page: nothing of them is mapped. */
static bool huge_free(const struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    for (uint64_t v = vpn; v < vpn + HD_HUGE_PAGES; v += HD_LARGE_PAGES) {
        const struct hd_pt_slot *h = hd_pt_slot_of(t, app, v);
        struct hd_xlate x;
        if (h->key == 0)
            continue;
        for (uint64_t i = 0; i < HD_LARGE_PAGES; i++)
            if (hd_pt_taken(t, app, v + i, &x))
                return false;
    }
    return true;
}

static uint64_t *huge_word(const struct hd_ptables *t,
                           const struct hd_pt_slot *h, uint64_t vpn)
{
    return hd_pt_entry(t, t->table[h->t[1]].at) +
           hd_pt_index_of(t, vpn, t->dir - 1u);
}

/* Marks the regions of 512 MB, and their PDE1, as one page, or as 256. */
static void huge_mark(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                      bool huge)
{
    uint64_t first = vpn & ~(uint64_t)(HD_HUGE_PAGES - 1), *e;

    for (uint64_t v = first; v < first + HD_HUGE_PAGES; v += HD_LARGE_PAGES) {
        struct hd_pt_slot *h = hd_pt_slot_of(t, app, v);
        h->region_bits = huge ? h->region_bits | HD_PT_HUGE
                              : h->region_bits & ~(uint32_t)HD_PT_HUGE;
    }
    e = huge_word(t, hd_pt_slot_of(t, app, first), first);
    *e = huge ? *e | HD_PT_512M : *e & ~(uint64_t)HD_PT_512M;
}

int hd_format_map_huge(struct hd_ptables *t, const struct hd_pt_job *j,
                       uint64_t vpn)
{
    uint64_t f =
        huge_free(t, j->app, vpn) ? hd_frames_huge(&t->frames) : HD_NO_FRAME;

    if (f == HD_NO_FRAME)
        return 0;
    for (uint32_t i = 0; i < HD_HUGE_PAGES; i += HD_LARGE_PAGES)
        if (hd_pt_enter_at(t, j, vpn + i, HD_LARGE_PAGES, f + i) != 0)
            return j->err->code;
    huge_mark(t, j->app, vpn, true);
    t->s->huge[j->app]++;
    return 1;
}

void hd_format_split(struct hd_ptables *t, const struct hd_pt_slot *h,
                     uint32_t app, uint64_t vpn)
{
    if (HD_LIKELY(!(h->region_bits & HD_PT_HUGE)))
        return;
    huge_mark(t, app, vpn, false);
    t->s->huge[app]--;
}

bool hd_ptables_huge(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     hd_pfn *first)
{
    uint64_t from = vpn.v & ~(uint64_t)(HD_HUGE_PAGES - 1);
    struct hd_xlate x;

    if (t->s->huge[app] == 0 ||
        !(hd_pt_slot_of(t, app, vpn.v)->region_bits & HD_PT_HUGE) ||
        !hd_ptables_find(t, app, (hd_vpn){from}, &x))
        return false;
    *first = x.pfn;
    return true;
}

/* ---- walks -------------------------------------------------------------- */

/* Whether the 64 KB of a page have one of 4 KB: their entry in the table of
 * 64 KB pages does not say that none is valid. */
static bool has_small(const uint64_t *words, uint64_t vpn)
{
    const uint64_t *e = words + (vpn & 496);

    for (uint32_t i = 0; i < 16; i++)
        if (e[i] & (HD_PT_PRESENT | HD_PT_NONRESIDENT) && !(e[i] & HD_PT_64K))
            return true;
    return false;
}

uint32_t hd_format_path(const struct hd_ptables *t, const struct hd_pt_slot *h,
                        uint64_t vpn, hd_pa *pte)
{
    bool huge = h->region_bits & HD_PT_HUGE;
    uint32_t n = h->t[huge ? 1 : 2], top = t->dir - huge, steps = top;

    for (uint32_t l = top; l > 0; l--, n = t->table[n].above)
        pte[l - 1].v = t->first_pa + (uint64_t)n * HD_PAGE_BYTES +
                       8ull * hd_pt_index_of(t, vpn, l);
    if (h->region_bits & (HD_PT_LARGE | HD_PT_JOINED))
        return steps;
    if (h->t[HD_PT_BIG] != HD_NONE)
        pte[steps++].v = hd_format_big_pa(t, h, vpn);
    if (h->t[3] != HD_NONE &&
        (h->t[HD_PT_BIG] == HD_NONE || has_small(hd_pt_entry(t, h->at), vpn)))
        pte[steps++] = hd_pt_entry_at(t, h, vpn, 4);
    return steps;
}

void hd_ptables_step(const struct hd_ptables *t, uint32_t step,
                     struct hd_walk_step *s)
{
    uint32_t leaf = t->dir + 1u, l = (uint32_t)hd_min_u64(step, leaf);

    s->level = (uint8_t)l;
    s->memory = (uint8_t)(l + 4 > leaf + 1 ? l + 4 - leaf : step != 0);
    s->bytes = t->dual && l == t->dir ? 16 : 8;
}

uint32_t hd_ptables_level_shift(const struct hd_ptables *t, uint32_t level)
{
    return t->level[level].shift;
}

uint32_t hd_ptables_dir(const struct hd_ptables *t)
{
    return t->dir;
}

/* ---- entries as a walk reads them ---------------------------------------- */

/* An entry of a table for 64 KB pages, from the words of its sixteen pages. */
static uint64_t big_entry(const struct hd_ptables *t, uint32_t place,
                          uint32_t index)
{
    uint64_t region = *big_word(t, place);
    const struct hd_pt_region *r;
    const uint64_t *e;

    if (region == 0 || region & BIG_FREE)
        return 0;
    r = hd_pt_region_of(t, (uint32_t)region - 1);
    e = hd_pt_entry(t, hd_pt_find(t, hd_pt_key(r->app, r->number))->at) +
        16ull * index;
    return *e & HD_PT_64K ? *e : has_small(e, 0) ? 0 : HD_PT_NO_SMALL;
}

uint64_t hd_format_entry(const struct hd_ptables *t, uint32_t n, uint32_t byte)
{
    const struct hd_pt_table *x = &t->table[n];
    uint64_t e;

    if (x->level == HD_PT_BIG_LEVEL)
        return big_entry(t, n * HD_PT_BIGS + byte / HD_PT_BIG_BYTES,
                         byte % HD_PT_BIG_BYTES / 8);
    e = hd_pt_entry(t, x->at)[byte / 8];
    return x->level == t->dir + 1u && e & HD_PT_64K ? 0 : e;
}

/* ---- checking ------------------------------------------------------------ */

/* The tables that a slot names are those that its PDE0 points to. */
void hd_format_check_pair(const struct hd_ptables *t, struct heddle_error *err,
                          uint32_t app, uint64_t vpn, const uint64_t *e)
{
    const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn);
    uint32_t big = h->key != 0 ? h->t[HD_PT_BIG] : HD_NONE;
    uint32_t small = h->key != 0 ? h->t[3] : HD_NONE;
    bool large = h->region_bits & HD_PT_LARGE;

    if (large && big == HD_NONE && small == HD_NONE && e[1] == 0)
        return;
    if (h->key == 0 || large || (big == HD_NONE && small == HD_NONE) ||
        (e[0] & HD_PT_PRESENT) != (big != HD_NONE) || e[0] & HD_PT_2M ||
        (e[1] & HD_PT_PRESENT) != (small != HD_NONE) ||
        (big != HD_NONE &&
         ((e[0] ^ hd_format_big_word(t, big)) & ~HD_PT_PRESENT ||
          *big_word(t, big) != hd_pt_region_number(h) + 1ull ||
          t->table[big / HD_PT_BIGS].level != HD_PT_BIG_LEVEL)) ||
        (small != HD_NONE &&
         ((e[1] & HD_PT_FRAME) / HD_PAGE_BYTES != t->first_table + small ||
          t->table[small].at != h->at)))
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table: application %u, page 0x%llx: its PDE0, 0x%llx "
                   "and 0x%llx, does not point to its region's tables",
                   app, (unsigned long long)vpn, (unsigned long long)e[0],
                   (unsigned long long)e[1]);
}

/* The regions below a PDE1 are one page of 512 MB, or none is marked. */
void hd_format_check_huge(const struct hd_ptables *t, struct heddle_error *err,
                          uint32_t app, uint64_t vpn, uint64_t e)
{
    uint64_t first = 0, n = 0, in_order = 0;

    for (uint64_t i = 0; i < HD_HUGE_PAGES; i += HD_LARGE_PAGES) {
        const struct hd_pt_slot *h = hd_pt_slot_of(t, app, vpn + i);
        struct hd_xlate x;
        if (h->key == 0 || !(h->region_bits & HD_PT_HUGE))
            continue;
        n++;
        if (!hd_pt_decode(t, h, vpn + i, HD_PT_PRESENT, &x))
            continue;
        first = i == 0 ? x.pfn.v : first;
        in_order += x.pages == HD_LARGE_PAGES && x.pfn.v == first + i &&
                    first % HD_HUGE_PAGES == 0;
    }
    if (n != (e & HD_PT_512M ? 256u : 0u) || n != in_order)
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table: application %u, the 512 MB at page 0x%llx: "
                   "%llu regions are marked as one page, %llu of them in "
                   "order, and the PDE1 is 0x%llx",
                   app, (unsigned long long)vpn, (unsigned long long)n,
                   (unsigned long long)in_order, (unsigned long long)e);
}

/*
 * ptable.c - x86-64 page tables whose entries are real, and a short way to
 * the last of them.
 *
 * A virtual page number has four indices of 9 bits; level 1 is the root's
 * (PML4), level 4 the leaf table's (PT).  Every table is 4 KB of 64-bit
 * entries in the arena and owns one of the frames at the top of memory, so an
 * entry has a physical address: frame * 4096 + index * 8.  Layout of an entry
 * (Intel SDM volume 3, 4.5):
 *
 *    0      present
 *    7      in level 3: the entry maps 2 MB
 *    9      in level 4: one of 16 aligned entries that make up a 64 KB page
 *   10, 11  kept for Mosaic's large-page and disabled bits
 *   51:12   frame
 *   60:52   kept for MESC's contiguity bits C0..C7 and AC
 *
 * A region is 2 MB of one address space.  A hash of (region, application)
 * leads straight to its leaf table, or to its level-3 entry if that maps 2 MB,
 * so a translation costs one probe and one read of the true entry, and a
 * region knows its tables, so the addresses that a walk reads cost one probe.
 *
 * Invariants: the short way and the walk from the root end at the same entry;
 * the owner of a data frame is region * 512 + index + 1 of the page in it;
 * pages mapped = frames owned; a table's `used` is its number of present
 * entries.  Tables stay when they empty, as their addresses may be in walk
 * caches; an empty leaf table goes only when a 2 MB page takes its place.
 *
 * Left out on purpose: permissions, accessed and dirty bits, 1 GB pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptable.h"

#include <stdlib.h>
#include <string.h>

#include "../base/bits.h"
#include "frame.h"

#define P_BIT      1ull
#define PS_BIT     (1ull << 7)
#define CONTIG_BIT (1ull << 9)
#define FRAME_MASK 0x000ffffffffff000ull

enum { FIRST_ROOM = 64, HASH_BITS = 7 };

/* Bits of a slot: its region maps 2 MB; it has had pages of 64 KB. */
enum { LARGE = 1, MEDIUM = 2, REGION_SHIFT = 2 };

/* Sizes of pages in base pages, by the answer of the point alloc. */
static const uint32_t SIZE[3] = {1, 16, HD_LARGE_PAGES};
static const char *const SIZE_NAME[3] = {"4 KB", "64 KB", "2 MB"};

struct table {
    hd_ref at;     /* its 512 entries */
    uint32_t used; /* present entries; free tables: the next one */
    uint8_t app, level;
};

struct region {
    uint64_t number; /* virtual page / 512 */
    uint32_t t[5];   /* tables by level; t[4] HD_NONE if it has none */
    uint32_t app;
};

struct slot {
    uint64_t key;         /* number << 4 | application, + 1; 0: empty */
    hd_ref at;            /* of the leaf table, or of the level-3 entry */
    uint32_t region_bits; /* region << 2 | MEDIUM | LARGE */
};

struct range { /* an allocation that was mapped */
    uint64_t vpn, pages;
    uint32_t app, index;
};

struct ptables_state {
    uint32_t tables, free_tables; /* ever used; head of the free list */
    uint32_t tables_live;
    uint32_t regions, region_room;
    uint32_t ranges, range_room;
    uint32_t hash_bits;
    hd_ref region, range, hash;
    uint32_t root[HD_MAX_APPS]; /* table, HD_NONE: none yet */
    uint64_t pages[HD_MAX_APPS];
    uint64_t table_frames[HD_MAX_APPS];
};

struct hd_ptables {
    struct hd_env *env;
    struct hd_vm_cfg cfg;
    struct hd_frames frames;
    struct ptables_state *s; /* arena */
    struct table *table;     /* arena: [cfg.table_frames] */
    uint64_t first_table;    /* frame of table 0 */
    struct hd_slot alloc, free, place;
};

const struct hd_setting hd_vm_settings[] = {
    {"memory_bytes", HD_T_U64, offsetof(struct hd_vm_cfg, memory_bytes),
     "bytes", "3221225472", 1u << 20, 1ull << 44, NULL,
     "capacity of the DRAM, a multiple of 4 KB", "Mosaic table 1: 3 GB"},
    {"page", HD_T_CHOICE, offsetof(struct hd_vm_cfg, page), "", "4K", 0, 2,
     "4K|64K|2M", "page size where alignment permits; the rest gets 4 KB pages",
     "MASK 4.1, Mosaic table 1: 4 KB base pages"},
    {"table_frames", HD_T_U32, offsetof(struct hd_vm_cfg, table_frames),
     "frames", "4096", 4, 1u << 22, NULL,
     "frames at the top of memory that only page tables use",
     "Mosaic simulator: a pool of their own; size: guess, enough for 7 GB"},
    {"round", HD_T_BOOL, offsetof(struct hd_vm_cfg, round), "", "0", 0, 1, NULL,
     "whole large pages at the edges of an allocation too (memory bloat)",
     "Mosaic 3.2 describes the bloat; off by default: guess"},
};
const uint32_t hd_vm_setting_count = HD_LEN(hd_vm_settings);

/* ---- parts of the state ----------------------------------------------- */

static uint64_t *entry_at(const struct hd_ptables *t, hd_ref at)
{
    return hd_arena_at(t->env->arena, at);
}

static struct region *region_of(const struct hd_ptables *t, uint32_t r)
{
    return (struct region *)hd_arena_at(t->env->arena, t->s->region) + r;
}

static struct range *range_of(const struct hd_ptables *t, uint32_t i)
{
    return (struct range *)hd_arena_at(t->env->arena, t->s->range) + i;
}

static inline uint32_t index_at(uint64_t vpn, uint32_t level)
{
    return (uint32_t)(vpn >> (9 * (4 - level))) & 511;
}

static inline uint64_t key_of(uint32_t app, uint64_t number)
{
    return (number << 4 | app) + 1;
}

static inline uint32_t home(const struct hd_ptables *t, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> (64 - t->s->hash_bits));
}

/* The slot of a region, or the empty one where it belongs. */
static inline struct slot *find_slot(const struct hd_ptables *t, uint64_t key)
{
    struct slot *h = hd_arena_at(t->env->arena, t->s->hash);
    uint32_t mask = (1u << t->s->hash_bits) - 1, i = home(t, key);

    while (h[i].key != key && h[i].key != 0)
        i = (i + 1) & mask;
    return &h[i];
}

/* A piece twice as large with the old contents; HD_NONE if there is no room. */
static hd_ref twice(struct hd_ptables *t, hd_ref old, uint32_t *room,
                    size_t size)
{
    void *p = hd_arena_take(t->env->arena, (size_t)*room * 2, size);

    if (p == NULL)
        return HD_NONE;
    memcpy(p, hd_arena_at(t->env->arena, old), *room * size);
    *room *= 2;
    return hd_arena_ref(t->env->arena, p);
}

static int grow_hash(struct hd_ptables *t)
{
    uint32_t n = 1u << t->s->hash_bits;
    struct slot *old = hd_arena_at(t->env->arena, t->s->hash);
    void *p = hd_arena_take(t->env->arena, (size_t)n * 2, sizeof *old);

    if (p == NULL)
        return -1;
    t->s->hash = hd_arena_ref(t->env->arena, p);
    t->s->hash_bits++;
    for (uint32_t i = 0; i < n; i++)
        if (old[i].key != 0)
            *find_slot(t, old[i].key) = old[i];
    return 0;
}

/* ---- opening ---------------------------------------------------------- */

static int64_t alloc_default(void *self, const void *q)
{
    (void)q;
    return ((struct hd_ptables *)self)->cfg.page;
}

static int64_t free_default(void *self, const void *q)
{
    (void)self;
    (void)q;
    return 0;
}

static int64_t place_default(void *self, const void *q)
{
    (void)self;
    return (int64_t)((const struct heddle_q_frame_place *)q)->next;
}

static void offer(struct hd_ptables *t, enum heddle_point p,
                  struct hd_slot *slot, heddle_answer *fn)
{
    slot->fn = fn;
    slot->self = t;
    slot->bound = 0;
    if (t->env->slots != NULL)
        hd_slots_offer(t->env->slots, p, "", slot, fn, t);
}

static int take_state(struct hd_ptables *t)
{
    struct hd_arena *a = t->env->arena;
    struct ptables_state *s = hd_arena_take(a, 1, sizeof *s);
    void *region = hd_arena_take(a, FIRST_ROOM, sizeof(struct region));
    void *range = hd_arena_take(a, FIRST_ROOM, sizeof(struct range));
    void *hash = hd_arena_take(a, 1u << HASH_BITS, sizeof(struct slot));

    t->table = hd_arena_take(a, t->cfg.table_frames, sizeof *t->table);
    t->s = s;
    if (s == NULL || region == NULL || range == NULL || hash == NULL ||
        t->table == NULL || hd_frames_open(&t->frames, a, t->first_table) < 0)
        return -1;
    s->free_tables = HD_NONE;
    s->region = hd_arena_ref(a, region);
    s->range = hd_arena_ref(a, range);
    s->hash = hd_arena_ref(a, hash);
    s->region_room = s->range_room = FIRST_ROOM;
    s->hash_bits = HASH_BITS;
    for (uint32_t i = 0; i < HD_MAX_APPS; i++)
        s->root[i] = HD_NONE;
    return 0;
}

static void look(void *self, uint32_t app, struct heddle_visitor *v);
static void check(void *self, uint32_t instance, struct hd_err *err);

struct hd_ptables *hd_ptables_open(struct hd_env *env,
                                   const struct hd_vm_cfg *cfg)
{
    struct hd_ptables *t;
    uint64_t frames = cfg->memory_bytes / HD_PAGE_BYTES;

    if (cfg->memory_bytes % HD_PAGE_BYTES != 0 || cfg->table_frames >= frames) {
        hd_err_set(env->err, HEDDLE_ECONFIG,
                   "vm.memory_bytes: %llu is not a multiple of 4096 with more "
                   "than vm.table_frames = %u frames",
                   (unsigned long long)cfg->memory_bytes, cfg->table_frames);
        return NULL;
    }
    t = calloc(1, sizeof *t);
    if (t == NULL) {
        hd_err_set(env->err, HEDDLE_ENOMEM, "out of memory for page tables");
        return NULL;
    }
    t->env = env;
    t->cfg = *cfg;
    t->first_table = frames - cfg->table_frames;
    if (take_state(t) < 0) {
        hd_err_set(env->err, HEDDLE_ENOMEM, "out of memory for page tables");
        free(t);
        return NULL;
    }
    offer(t, HEDDLE_POINT_alloc, &t->alloc, alloc_default);
    offer(t, HEDDLE_POINT_free, &t->free, free_default);
    offer(t, HEDDLE_POINT_frame_place, &t->place, place_default);
    hd_env_part(env, (struct hd_part){.name = "pagetable",
                                      .instances = env->apps,
                                      .self = t,
                                      .look = look,
                                      .check = check});
    return t;
}

void hd_ptables_close(struct hd_ptables *t)
{
    free(t);
}

/* ---- tables and regions ----------------------------------------------- */

/* A fresh table, or HD_NONE (out of table frames or of memory). */
static uint32_t table_new(struct hd_ptables *t, uint32_t app, uint32_t level)
{
    struct ptables_state *s = t->s;
    uint32_t n = s->free_tables;
    struct table *x;

    if (n != HD_NONE) {
        x = &t->table[n];
        s->free_tables = x->used;
        memset(entry_at(t, x->at), 0, HD_PAGE_BYTES);
    } else {
        void *p = s->tables < t->cfg.table_frames
                      ? hd_arena_take(t->env->arena, 1, HD_PAGE_BYTES)
                      : NULL;
        if (p == NULL)
            return HD_NONE;
        n = s->tables++;
        x = &t->table[n];
        x->at = hd_arena_ref(t->env->arena, p);
    }
    x->used = 0;
    x->app = (uint8_t)app;
    x->level = (uint8_t)level;
    s->tables_live++;
    s->table_frames[app]++;
    return n;
}

static void table_free(struct hd_ptables *t, uint32_t n)
{
    struct table *x = &t->table[n];

    hd_assert(x->used == 0);
    t->s->tables_live--;
    t->s->table_frames[x->app]--;
    x->used = t->s->free_tables;
    x->level = 0;
    t->s->free_tables = n;
}

/* The table below entry `index` of table n, made if there is none. */
static uint32_t table_below(struct hd_ptables *t, uint32_t n, uint32_t index)
{
    uint64_t *e = entry_at(t, t->table[n].at) + index;
    uint32_t below;

    if (*e & P_BIT)
        return (uint32_t)((*e & FRAME_MASK) / HD_PAGE_BYTES - t->first_table);
    below = table_new(t, t->table[n].app, t->table[n].level + 1u);
    if (below != HD_NONE) {
        *e = (t->first_table + below) * HD_PAGE_BYTES | P_BIT;
        t->table[n].used++;
    }
    return below;
}

/* The slot of a region, entered with its tables down to level 3 if it is new;
 * NULL when there is no room. */
static struct slot *region_get(struct hd_ptables *t, uint32_t app, uint64_t vpn)
{
    struct ptables_state *s = t->s;
    uint64_t key = key_of(app, vpn / HD_LARGE_PAGES);
    struct slot *h = find_slot(t, key);
    struct region *r;

    if (h->key != 0)
        return h;
    if (s->regions == s->region_room) {
        hd_ref p = twice(t, s->region, &s->region_room, sizeof *r);
        if (p == HD_NONE)
            return NULL;
        s->region = p;
    }
    if (2 * (s->regions + 1) > 1u << s->hash_bits && grow_hash(t) < 0)
        return NULL;
    r = region_of(t, s->regions);
    r->number = vpn / HD_LARGE_PAGES;
    r->app = app;
    r->t[4] = HD_NONE;
    if (s->root[app] == HD_NONE)
        s->root[app] = table_new(t, app, 1);
    r->t[1] = s->root[app];
    for (uint32_t l = 1; l < 3 && r->t[l] != HD_NONE; l++)
        r->t[l + 1] = table_below(t, r->t[l], index_at(vpn, l));
    if (r->t[1] == HD_NONE || r->t[2] == HD_NONE || r->t[3] == HD_NONE)
        return NULL;
    h = find_slot(t, key);
    h->key = key;
    h->at = t->table[r->t[3]].at + index_at(vpn, 3);
    h->region_bits = s->regions++ << REGION_SHIFT | LARGE; /* no table yet */
    return h;
}

/* Makes the region of a slot ready for a page of `pages` base pages. */
static int region_shape(struct hd_ptables *t, struct slot *h, uint32_t pages)
{
    struct region *r = region_of(t, h->region_bits >> REGION_SHIFT);
    uint64_t vpn = r->number * HD_LARGE_PAGES;
    uint32_t i = index_at(vpn, 3);

    if (pages == HD_LARGE_PAGES) {
        if (r->t[4] != HD_NONE) {
            table_free(t, r->t[4]);
            r->t[4] = HD_NONE;
            entry_at(t, t->table[r->t[3]].at)[i] = 0;
            t->table[r->t[3]].used--;
        }
        h->at = t->table[r->t[3]].at + i;
        h->region_bits |= LARGE;
        return 0;
    }
    if (r->t[4] == HD_NONE) {
        r->t[4] = table_below(t, r->t[3], i);
        if (r->t[4] == HD_NONE)
            return -1;
    }
    h->at = t->table[r->t[4]].at;
    h->region_bits &= ~(uint32_t)LARGE;
    if (pages == 16)
        h->region_bits |= MEDIUM;
    return 0;
}

/* ---- looking up ------------------------------------------------------- */

bool hd_ptables_find(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     struct hd_xlate *x)
{
    const struct slot *h = find_slot(t, key_of(app, vpn.v / HD_LARGE_PAGES));
    uint64_t e;

    if (h->key == 0)
        return false;
    if (h->region_bits & LARGE) {
        e = *entry_at(t, h->at);
        x->page_pages = HD_LARGE_PAGES;
    } else {
        uint32_t i = (uint32_t)vpn.v & 511;
        e = entry_at(t, h->at)[i];
        x->page_pages = e & CONTIG_BIT ? 16 : 1;
    }
    if (!(e & P_BIT))
        return false;
    x->pages = x->page_pages;
    x->vpn.v = vpn.v & ~(uint64_t)(x->pages - 1);
    x->pfn.v = ((e & FRAME_MASK) / HD_PAGE_BYTES) & ~(uint64_t)(x->pages - 1);
    return true;
}

uint32_t hd_ptables_walk(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa pte[4])
{
    struct hd_xlate x;

    return hd_ptables_find(t, app, vpn, &x) ? hd_ptables_path(t, app, vpn, pte)
                                            : 0;
}

uint32_t hd_ptables_path(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa pte[4])
{
    const struct slot *h = find_slot(t, key_of(app, vpn.v / HD_LARGE_PAGES));
    const struct region *r;
    uint32_t levels;

    if (h->key == 0)
        return 0;
    r = region_of(t, h->region_bits >> REGION_SHIFT);
    levels = h->region_bits & LARGE ? 3 : 4;
    __builtin_prefetch(entry_at(t, h->at) + (levels == 4 ? vpn.v & 511 : 0));
    for (uint32_t l = 1; l <= levels; l++)
        pte[l - 1].v = (t->first_table + r->t[l]) * HD_PAGE_BYTES +
                       index_at(vpn.v, l) * 8u;
    return levels;
}

hd_vpn hd_ptables_first(const struct hd_ptables *t, uint32_t app, hd_vpn vpn)
{
    const struct slot *h = find_slot(t, key_of(app, vpn.v / HD_LARGE_PAGES));
    struct hd_xlate x;

    if (h->key != 0 && h->region_bits & (LARGE | MEDIUM) &&
        hd_ptables_find(t, app, vpn, &x))
        return x.vpn;
    return vpn;
}

uint64_t hd_ptables_entry(const struct hd_ptables *t, hd_pa pte)
{
    uint64_t n = pte.v / HD_PAGE_BYTES - t->first_table;

    if (pte.v / HD_PAGE_BYTES < t->first_table || n >= t->s->tables)
        return 0;
    return entry_at(t, t->table[n].at)[pte.v % HD_PAGE_BYTES / 8];
}

/* The frame of a present 4 KB or 64 KB entry of a leaf table, else all ones. */
static uint64_t leaf_frame(const uint64_t *leaf, uint64_t vpn)
{
    uint64_t e = leaf[vpn & 511];

    return e & P_BIT ? (e & FRAME_MASK) / HD_PAGE_BYTES : UINT64_MAX;
}

void hd_ptables_run(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint32_t group, struct hd_xlate *run)
{
    const struct slot *h;
    const uint64_t *leaf;
    uint64_t first, last, from, to, f;

    if (!hd_ptables_find(t, app, vpn, run)) {
        *run = (struct hd_xlate){vpn, {0}, 0, 0};
        return;
    }
    if (run->pages >= group)
        return;
    h = find_slot(t, key_of(app, vpn.v / HD_LARGE_PAGES));
    leaf = entry_at(t, h->at);
    f = leaf_frame(leaf, vpn.v);
    from = vpn.v & ~(uint64_t)(group - 1);
    to = from + group;
    for (first = vpn.v; first > from; first--)
        if (leaf_frame(leaf, first - 1) + (vpn.v - first + 1) != f)
            break;
    for (last = vpn.v; last + 1 < to; last++)
        if (leaf_frame(leaf, last + 1) != f + (last + 1 - vpn.v))
            break;
    run->vpn.v = first;
    run->pfn.v = f - (vpn.v - first);
    run->pages = (uint32_t)(last - first + 1);
}

uint64_t hd_ptables_pages(const struct hd_ptables *t, uint32_t app)
{
    return t->s->pages[app];
}

uint64_t hd_ptables_table_frames(const struct hd_ptables *t, uint32_t app)
{
    return t->s->table_frames[app];
}

bool hd_ptables_owner(const struct hd_ptables *t, hd_pfn pfn, uint32_t *app,
                      hd_vpn *vpn)
{
    uint32_t o = hd_frames_owner(&t->frames, pfn.v);
    const struct region *r;

    if (o == 0)
        return false;
    r = region_of(t, (o - 1) / HD_LARGE_PAGES);
    *app = r->app;
    vpn->v = r->number * HD_LARGE_PAGES + (o - 1) % HD_LARGE_PAGES;
    return true;
}

/* ---- mapping ---------------------------------------------------------- */

/* One call of hd_ptables_map, for the words of its errors. */
struct job {
    uint32_t app, index;
    hd_va base;
    uint64_t bytes;
    struct hd_err *err;
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

/* The frame that a page gets, or HD_NO_FRAME with an error recorded. */
static uint64_t choose_frame(struct hd_ptables *t, const struct job *j,
                             uint64_t vpn, uint32_t pages)
{
    struct heddle_q_frame_place q = {
        .app = j->app, .vpn = vpn, .pages = pages, .frames = t->frames.frames};
    uint64_t f = hd_frames_next(&t->frames, pages);

    if (f == HD_NO_FRAME) {
        fail(t, j, "out of frames: no free aligned one", pages);
        return HD_NO_FRAME;
    }
    if (HD_LIKELY(!t->place.bound))
        return f;
    q.next = f;
    f = (uint64_t)hd_ask_frame_place(&t->place, &q);
    if (f % pages == 0 && hd_frames_free(&t->frames, f, pages))
        return f;
    hd_err_set(j->err, HEDDLE_EPOLICY,
               "point frame_place: application %llu, virtual page 0x%llx of "
               "%llu base pages: the answer %llu is not a free frame aligned "
               "to %llu among %llu",
               (unsigned long long)q.app, (unsigned long long)q.vpn,
               (unsigned long long)q.pages, (unsigned long long)f,
               (unsigned long long)q.pages, (unsigned long long)q.frames);
    return HD_NO_FRAME;
}

static int map_page(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                    uint32_t pages)
{
    uint64_t f = choose_frame(t, j, vpn, pages), *e;
    struct slot *h;
    uint32_t first;

    if (f == HD_NO_FRAME)
        return j->err->code;
    h = region_get(t, j->app, vpn);
    if (h == NULL || region_shape(t, h, pages) < 0)
        return fail(t, j, "out of frames for page tables", pages);
    first = (h->region_bits >> REGION_SHIFT) * HD_LARGE_PAGES + (vpn & 511) + 1;
    if (hd_frames_take(&t->frames, f, pages, first) < 0)
        return hd_err_set(j->err, HEDDLE_ENOMEM, "out of memory for frames");
    e = entry_at(t, h->at);
    if (pages == HD_LARGE_PAGES) {
        *e = f * HD_PAGE_BYTES | P_BIT | PS_BIT;
        t->table[region_of(t, h->region_bits >> REGION_SHIFT)->t[3]].used++;
    } else {
        for (uint32_t i = 0; i < pages; i++)
            e[(vpn & 511) + i] = (f + i) * HD_PAGE_BYTES | P_BIT |
                                 (pages == 16 ? CONTIG_BIT : 0);
        t->table[region_of(t, h->region_bits >> REGION_SHIFT)->t[4]].used +=
            pages;
    }
    t->s->pages[j->app] += pages;
    return 0;
}

/* Some page of [vpn, vpn + n) is mapped. */
static bool any_mapped(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                       uint32_t n)
{
    struct hd_xlate x;

    for (uint32_t i = 0; i < n; i++)
        if (hd_ptables_find(t, app, (hd_vpn){vpn + i}, &x))
            return true;
    return false;
}

/* Remembers the range of an allocation, so that unmapping spares the pages
 * that it shares with others. */
static int remember(struct hd_ptables *t, const struct job *j, uint64_t vpn,
                    uint64_t pages)
{
    struct ptables_state *s = t->s;
    struct range *r = s->ranges > 0 ? range_of(t, s->ranges - 1) : NULL;

    if (r != NULL && r->app == j->app && r->index == j->index &&
        r->vpn + r->pages == vpn) {
        r->pages += pages;
        return 0;
    }
    if (s->ranges == s->range_room) {
        hd_ref p = twice(t, s->range, &s->range_room, sizeof *r);
        if (p == HD_NONE)
            return hd_err_set(j->err, HEDDLE_ENOMEM,
                              "out of memory for allocations");
        s->range = p;
    }
    *range_of(t, s->ranges++) = (struct range){vpn, pages, j->app, j->index};
    return 0;
}

int hd_ptables_map(struct hd_ptables *t, uint32_t app, uint32_t index,
                   hd_va base, uint64_t bytes, struct hd_err *err)
{
    uint64_t first = base.v >> HD_PAGE_SHIFT;
    uint64_t end =
        bytes == 0 ? first : ((base.v + bytes - 1) >> HD_PAGE_SHIFT) + 1;
    struct job j = {app, index, base, bytes, err};
    struct heddle_q_alloc q = {.app = app,
                               .index = index,
                               .vpn = first,
                               .pages = end - first,
                               .free_frames = t->frames.frames -
                                              hd_frames_used(&t->frames)};
    uint32_t n;

    if (app >= HD_MAX_APPS || base.v + bytes < base.v || end > 1ull << 36)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "application %u, allocation %u: %llu bytes at "
                          "0x%llx do not lie in an address space of 48 bits",
                          app, index, (unsigned long long)bytes,
                          (unsigned long long)base.v);
    if (end == first)
        return 0;
    n = SIZE[hd_ask_alloc(&t->alloc, &q)];
    for (uint64_t vpn = first; vpn < end;) {
        uint64_t at = vpn & ~(uint64_t)(n - 1);
        bool whole = at >= first && at + n <= end;
        struct hd_xlate x;
        int rc = 0;

        if (hd_ptables_find(t, app, (hd_vpn){vpn}, &x)) {
            vpn = x.vpn.v + x.pages;
            continue;
        }
        if (n > 1 && (whole || t->cfg.round) && !any_mapped(t, app, at, n)) {
            rc = map_page(t, &j, at, n);
            vpn = at + n;
        } else {
            rc = map_page(t, &j, vpn++, 1);
        }
        if (rc < 0)
            return rc;
    }
    return remember(t, &j, first, end - first);
}

/* Another allocation that is still mapped has a byte in these pages. */
static bool shared(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                   uint64_t pages)
{
    for (uint32_t i = 0; i < t->s->ranges; i++) {
        const struct range *r = range_of(t, i);
        if (r->app == app && r->vpn < vpn + pages && vpn < r->vpn + r->pages)
            return true;
    }
    return false;
}

static void unmap_page(struct hd_ptables *t, uint32_t app,
                       const struct hd_xlate *x)
{
    struct slot *h = find_slot(t, key_of(app, x->vpn.v / HD_LARGE_PAGES));
    struct region *r = region_of(t, h->region_bits >> REGION_SHIFT);
    uint64_t *e = entry_at(t, h->at);

    hd_frames_give(&t->frames, x->pfn.v, x->pages);
    t->s->pages[app] -= x->pages;
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
        struct range *r = range_of(t, i);
        if (r->app == app && r->index == index)
            *r = *range_of(t, --t->s->ranges);
        else
            i++;
    }
    overlap = shared(t, app, first, end - first);
    for (uint64_t vpn = first; vpn < end;) {
        struct hd_xlate x;
        uint64_t next = vpn + 1;

        if (hd_ptables_find(t, app, (hd_vpn){vpn}, &x)) {
            bool edge = x.vpn.v <= first || x.vpn.v + x.pages >= end;
            next = x.vpn.v + x.pages;
            if (!(edge || overlap) || !shared(t, app, x.vpn.v, x.pages))
                unmap_page(t, app, &x);
        }
        vpn = next;
    }
}

/* ---- looking and checking --------------------------------------------- */

static void show_run(struct heddle_visitor *v, const struct hd_xlate *run)
{
    if (run->pages == 0)
        return;
    v->row(v->ud, "run");
    v->number(v->ud, "vpn", run->vpn.v);
    v->number(v->ud, "pfn", run->pfn.v);
    v->number(v->ud, "pages", run->pages);
    v->text(v->ud, "size",
            SIZE_NAME[run->page_pages == 1    ? 0
                      : run->page_pages == 16 ? 1
                                              : 2]);
}

/* Extends a run by a page, or shows it and begins the next. */
static void extend(struct heddle_visitor *v, struct hd_xlate *run, uint64_t vpn,
                   uint64_t pfn, uint32_t pages)
{
    if (run->pages != 0 && run->page_pages == pages &&
        run->vpn.v + run->pages == vpn && run->pfn.v + run->pages == pfn) {
        run->pages += pages;
        return;
    }
    show_run(v, run);
    *run = (struct hd_xlate){{vpn}, {pfn}, pages, pages};
}

/* Shows what lies below table n, in the order of addresses. */
static void look_table(const struct hd_ptables *t, struct heddle_visitor *v,
                       uint32_t n, uint64_t vpn, struct hd_xlate *run)
{
    uint32_t level = t->table[n].level;
    const uint64_t *e = entry_at(t, t->table[n].at);

    for (uint32_t i = 0; i < 512; i++) {
        uint64_t at = vpn | (uint64_t)i << (9 * (4 - level));
        uint64_t f = (e[i] & FRAME_MASK) / HD_PAGE_BYTES;
        if (!(e[i] & P_BIT))
            continue;
        if (level == 4 && e[i] & CONTIG_BIT) {
            extend(v, run, at, f, 16);
            i += 15;
        } else if (level == 4 || e[i] & PS_BIT) {
            extend(v, run, at, f, level == 4 ? 1 : HD_LARGE_PAGES);
        } else {
            look_table(t, v, (uint32_t)(f - t->first_table), at, run);
        }
    }
}

static void look(void *self, uint32_t app, struct heddle_visitor *v)
{
    const struct hd_ptables *t = self;
    struct hd_xlate run = {{0}, {0}, 0, 0};

    if (t->s->root[app] != HD_NONE)
        look_table(t, v, t->s->root[app], 0, &run);
    show_run(v, &run);
}

/* Counts the present leaf pages below a table from the root down; checks each
 * against the short way, the frame's owner and the table's count. */
static uint64_t check_table(const struct hd_ptables *t, struct hd_err *err,
                            uint32_t n, uint64_t vpn)
{
    const struct table *x = &t->table[n];
    const uint64_t *e = entry_at(t, x->at);
    uint64_t pages = 0, present = 0;

    for (uint32_t i = 0; i < 512; i++) {
        uint64_t at = vpn | (uint64_t)i << (9 * (4 - x->level));
        uint64_t f = (e[i] & FRAME_MASK) / HD_PAGE_BYTES;
        uint32_t app;
        struct hd_xlate found;
        hd_vpn owner;

        if (!(e[i] & P_BIT))
            continue;
        present++;
        if (x->level < 4 && !(e[i] & PS_BIT)) {
            pages += check_table(t, err, (uint32_t)(f - t->first_table), at);
            continue;
        }
        pages += x->level == 4 ? 1 : HD_LARGE_PAGES;
        if (!hd_ptables_find(t, x->app, (hd_vpn){at}, &found) ||
            hd_xlate_frame(&found, (hd_vpn){at}).v != f ||
            !hd_ptables_owner(t, (hd_pfn){f}, &app, &owner) || app != x->app ||
            owner.v != at)
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u, page 0x%llx: the entry "
                       "names frame %llu, which the frame table does not "
                       "give to it",
                       x->app, (unsigned long long)at, (unsigned long long)f);
    }
    if (present != x->used)
        hd_err_set(err, HEDDLE_ECHECK,
                   "page table %u: %llu entries are present, %u counted", n,
                   (unsigned long long)present, x->used);
    return pages;
}

static void check(void *self, uint32_t instance, struct hd_err *err)
{
    const struct hd_ptables *t = self;
    uint64_t all = 0, owned = 0, pages;

    if (instance != 0) /* all applications are checked at once */
        return;
    for (uint32_t app = 0; app < HD_MAX_APPS; app++) {
        pages = t->s->root[app] == HD_NONE
                    ? 0
                    : check_table(t, err, t->s->root[app], 0);
        all += pages;
        if (pages != t->s->pages[app])
            hd_err_set(err, HEDDLE_ECHECK,
                       "page table: application %u has %llu pages mapped and "
                       "%llu counted",
                       app, (unsigned long long)pages,
                       (unsigned long long)t->s->pages[app]);
    }
    for (uint64_t f = 0; f < t->frames.frames; f++)
        owned += hd_frames_owner(&t->frames, f) != 0;
    if (owned != all || owned != hd_frames_used(&t->frames))
        hd_err_set(err, HEDDLE_ECHECK,
                   "frames: %llu owned, %llu pages mapped, %llu counted",
                   (unsigned long long)owned, (unsigned long long)all,
                   (unsigned long long)hd_frames_used(&t->frames));
}

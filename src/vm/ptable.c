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
 *    6, 8   not present: its page is on its way, or on the host (ptabsent.c)
 *    9      in level 4: one of 16 aligned entries that make up a 64 KB page
 *   10     in level 3: the 512 entries below lie in one frame of 2 MB, in
 *          order, and are used as one page (Mosaic's large-page bit)
 *   11     in level 4: and so this one is disabled (ptjoin.c)
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
 * frames owned = pages mapped, on their way, or kept a place for in a coalesced
 * region (and frames that were in use before); a table's `used` is its number
 * of present entries.  Tables stay when they empty, as their addresses may be
 * in walk caches; an empty leaf table goes only when a 2 MB page takes its
 * place.
 *
 * Left out on purpose: permissions, accessed and dirty bits, 1 GB pages.
 *
 * SPDX-License-Identifier: MIT
 */
#include "ptstate.h"

#include <stdlib.h>

enum { FIRST_ROOM = 64, HASH_BITS = 7 };

const struct hd_setting hd_vm_settings[] = {
    {"memory_bytes", HD_T_U64, offsetof(struct hd_vm_cfg, memory_bytes),
     "bytes", "3221225472", 1u << 20, 1ull << 44, NULL,
     "capacity of the DRAM, a multiple of 4 KB", "Mosaic table 1: 3 GB"},
    {"page", HD_T_CHOICE, offsetof(struct hd_vm_cfg, page), "", "4K", 0, 2,
     "4K|64K|2M", "page size where alignment permits; the rest gets 4 KB pages",
     "MASK 4.1, Mosaic table 1: 4 KB base pages"},
    {"table_frames", HD_T_U32, offsetof(struct hd_vm_cfg, table_frames),
     "frames", "4096", 4, 1u << 22, NULL, /* entry numbers have 32 bits */
     "frames at the top of memory that only page tables use",
     "Mosaic simulator: a pool of their own; size: guess, enough for 7 GB"},
    {"round", HD_T_BOOL, offsetof(struct hd_vm_cfg, round), "", "false", 0, 1,
     NULL, "whole large pages at the edges of an allocation too (memory bloat)",
     "Mosaic 3.2 describes the bloat; off by default: guess"},
    {"paging", HD_T_CHOICE, offsetof(struct hd_vm_cfg, paging), "", "none", 0,
     2, "none|launch|fault",
     "none: pages are there before cycle 0; launch: they are copied over the "
     "link before an application's first launch; fault: each comes when it is "
     "touched",
     "Mosaic 6: figures 3, 8 and 4"},
};
const uint32_t hd_vm_setting_count = HD_LEN(hd_vm_settings);

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
    struct hd_pt_state *s = hd_arena_take(a, 1, sizeof *s);
    void *region = hd_arena_take(a, FIRST_ROOM, sizeof(struct hd_pt_region));
    void *range = hd_arena_take(a, FIRST_ROOM, sizeof(struct hd_pt_range));
    void *hash = hd_arena_take(a, 1u << HASH_BITS, sizeof(struct hd_pt_slot));

    t->table = hd_arena_take(a, t->cfg.table_frames, sizeof *t->table);
    t->s = s;
    if (s == NULL || region == NULL || range == NULL || hash == NULL ||
        t->table == NULL || hd_frames_open(&t->frames, a, t->first_table) < 0 ||
        hd_bigframes_open(&t->big, a, t->first_table) < 0)
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
        hd_err_memory(env->err);
        return NULL;
    }
    t->base = env->arena->base;
    t->env = env;
    t->cfg = *cfg;
    t->first_table = frames - cfg->table_frames;
    t->first_pa = t->first_table * HD_PAGE_BYTES;
    if (take_state(t) < 0) {
        hd_err_memory(env->err);
        free(t);
        return NULL;
    }
    offer(t, HEDDLE_POINT_alloc, &t->alloc, alloc_default);
    offer(t, HEDDLE_POINT_free, &t->free, free_default);
    offer(t, HEDDLE_POINT_frame_place, &t->place, place_default);
    hd_env_part(env, (struct hd_part){.name = "pagetable",
                                      .instances = env->apps,
                                      .self = t,
                                      .look = hd_ptables_look,
                                      .check = hd_ptables_check});
    return t;
}

void hd_ptables_close(struct hd_ptables *t)
{
    free(t);
}

/* ---- looking up ------------------------------------------------------- */

bool hd_ptables_find(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                     struct hd_xlate *x)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));
    uint32_t bits = h->region_bits & (HD_PT_LARGE | HD_PT_JOINED);

    if (h->key == 0)
        return false;
    if (HD_LIKELY(bits == 0))
        return hd_pt_decode(hd_pt_entry(t, h->at)[vpn.v & 511], false, vpn, x);
    if (bits & HD_PT_LARGE)
        return hd_pt_decode(*hd_pt_entry(t, h->at), true, vpn, x);
    if (!hd_pt_decode(hd_pt_entry(t, h->at)[vpn.v & 511], false, vpn, x))
        return false;
    x->pages = x->page_pages = HD_LARGE_PAGES;
    x->vpn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
    x->pfn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1);
    return true;
}

hd_pa hd_ptables_base(const struct hd_ptables *t)
{
    return (hd_pa){t->first_pa};
}

uint32_t hd_ptables_walk(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                         hd_pa pte[4])
{
    struct hd_ptpath path;
    struct hd_xlate x;
    uint32_t n = 0;

    if (hd_ptables_find(t, app, vpn, &x))
        n = hd_ptables_path(t, app, vpn, &path);
    for (uint32_t i = 0; i < n; i++)
        pte[i] = hd_ptables_pa(hd_ptables_base(t), path.entry[i]);
    return n;
}

/* The entry of vpn in table n, of the given level. */
static inline uint32_t entry_of(uint32_t n, hd_vpn vpn, uint32_t level)
{
    return n * 512 + hd_pt_index(vpn.v, level);
}

HD_HOT uint32_t hd_ptables_path(const struct hd_ptables *t, uint32_t app,
                                hd_vpn vpn, struct hd_ptpath *path)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));

    if (h->key == 0)
        return 0;
    path->entry[0] = entry_of(h->t[0], vpn, 1);
    path->entry[1] = entry_of(h->t[1], vpn, 2);
    path->entry[2] = entry_of(h->t[2], vpn, 3);
    if (HD_UNLIKELY(h->region_bits & HD_PT_LARGE)) {
        HD_PREFETCH(hd_pt_entry(t, h->at));
        return 3;
    }
    if (HD_UNLIKELY(h->region_bits & HD_PT_JOINED))
        vpn.v &= ~(uint64_t)(HD_LARGE_PAGES - 1); /* the first stands for all */
    HD_PREFETCH(hd_pt_entry(t, h->at + (uint32_t)(vpn.v & 511)));
    path->entry[3] = entry_of(h->t[3], vpn, 4);
    return 4;
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
    h = hd_pt_find(t, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));
    if (h->key == 0 ||
        (h->region_bits & (HD_PT_LARGE | HD_PT_MEDIUM | HD_PT_JOINED)) == 0)
        return vpn;
    if (h->region_bits & HD_PT_JOINED)
        return (hd_vpn){vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1)};
    return hd_ptables_find(t, app, vpn, &x) ? x.vpn : vpn;
}

uint64_t hd_ptables_entry(const struct hd_ptables *t, hd_pa pte)
{
    uint64_t n = pte.v / HD_PAGE_BYTES - t->first_table; /* or wraps around */

    if (n >= t->s->tables)
        return 0;
    return hd_pt_entry(t, t->table[n].at)[pte.v % HD_PAGE_BYTES / 8];
}

/* The frame of a present 4 KB or 64 KB entry of a leaf table, else all ones. */
static uint64_t leaf_frame(const uint64_t *leaf, uint64_t vpn)
{
    uint64_t e = leaf[vpn & 511];

    return e & HD_PT_PRESENT ? (e & HD_PT_FRAME) / HD_PAGE_BYTES : UINT64_MAX;
}

void hd_ptables_run(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint32_t group, struct hd_xlate *run)
{
    const struct hd_pt_slot *h;
    const uint64_t *leaf;
    uint64_t first, last, from, to, f;

    if (!hd_ptables_find(t, app, vpn, run)) {
        *run = (struct hd_xlate){vpn, {0}, 0, 0};
        return;
    }
    if (run->pages >= group)
        return;
    h = hd_pt_find(t, hd_pt_key(app, vpn.v / HD_LARGE_PAGES));
    leaf = hd_pt_entry(t, h->at);
    f = leaf_frame(leaf, vpn.v);
    from = vpn.v & ~(uint64_t)(group - 1);
    to = from + group;
    /* a page that is not there is in no frame before frame 0 */
    for (first = vpn.v; first > from && vpn.v - first < f; first--)
        if (leaf_frame(leaf, first - 1) != f - (vpn.v - first + 1))
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
    const struct hd_pt_region *r;

    if (o == 0 || o == HD_PT_FOREIGN)
        return false;
    r = hd_pt_region_of(t, (o - 1) / HD_LARGE_PAGES);
    *app = r->app;
    vpn->v = r->number * HD_LARGE_PAGES + (o - 1) % HD_LARGE_PAGES;
    return true;
}

/*
 * ptstate.h - how page tables lie in the arena: shared by ptable.c (opening
 * and looking up), ptregion.c (tables and regions), ptmap.c (mapping),
 * ptabsent.c (pages on the host), ptjoin.c (coalescing) and ptlook.c (showing
 * and checking), and by the manager's files, which move pages (managestate.h).
 * The essay is in ptable.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PTSTATE_H
#define HD_PTSTATE_H

#include "bigframe.h"
#include "frame.h"
#include "ptable.h"

#define HD_PT_PRESENT  1ull
#define HD_PT_FRAME    0x000ffffffffff000ull
#define HD_PT_2M       (1ull << 7)
#define HD_PT_64K      (1ull << 9)
#define HD_PT_WHOLE    (1ull << 10) /* level 3: its 512 pages are one of 2 MB */
#define HD_PT_DISABLED (1ull << 11) /* level 4: the one above stands */

/* Of an entry that is not present: its page is of an allocation, but on the
 * host; it has its frame, and its data are on their way.  The bits of the size
 * are as in a present one. */
#define HD_PT_ABSENT (1ull << 8)
#define HD_PT_COMING (1ull << 6)

/* Bits of a slot: its region maps 2 MB; it has had pages of 64 KB; its pages
 * of 4 KB are coalesced. */
enum { HD_PT_LARGE = 1, HD_PT_MEDIUM = 2, HD_PT_JOINED = 4, HD_PT_SHIFT = 3 };

struct hd_pt_table {
    hd_ref at;     /* its 512 entries */
    uint32_t used; /* present entries; free tables: the next one */
    uint8_t app, level;
};

struct hd_pt_region {
    uint64_t number; /* virtual page / 512 */
    uint64_t frame;  /* coalesced: its frame of 2 MB, by the first base frame */
    uint32_t t[5];   /* tables by level; t[4] HD_NONE if it has none */
    uint32_t app;
    hd_ref resident; /* 8 words, a bit for each page that has come from the
                        host; 0: none has */
};

/* Half a line of the host's cache, with all that a walk begins with. */
struct hd_pt_slot {
    uint64_t key;         /* number << 4 | application, + 1; 0: empty */
    hd_ref at;            /* of the leaf table, or of the level-3 entry */
    uint32_t region_bits; /* region << HD_PT_SHIFT | the bits above */
    uint32_t t[4];        /* t[1] to t[4] of the region */
};

struct hd_pt_range { /* an allocation that was mapped */
    uint64_t vpn, pages;
    uint32_t app, index;
};

struct hd_pt_state {
    uint32_t tables, free_tables; /* ever used; head of the free list */
    uint32_t tables_live;
    uint32_t regions, region_room;
    uint32_t ranges, range_room;
    uint32_t hash_bits;
    uint32_t sized;   /* 1: pages larger than 4 KB have been mapped */
    uint32_t changes; /* mappings that were taken away or changed */
    uint64_t kept;    /* frames of pages that a coalesced region has lost */
    uint64_t foreign; /* frames that were in use before */
    hd_ref region, range, hash;
    uint32_t root[HD_MAX_APPS]; /* table, HD_NONE: none yet */
    uint64_t pages[HD_MAX_APPS];
    uint64_t coming;               /* pages with a frame and without data */
    uint64_t arrived[HD_MAX_APPS]; /* pages that have come from the host */
    uint64_t left[HD_MAX_APPS];    /* of those: unmapped since */
    uint64_t table_frames[HD_MAX_APPS];
    uint64_t mixed[HD_MAX_APPS]; /* pages put beside others' (bigframe.h) */
};

struct hd_ptables {
    unsigned char *base;       /* of the arena */
    struct hd_pt_state *s;     /* arena */
    struct hd_pt_table *table; /* arena: [cfg.table_frames] */
    uint64_t first_table;      /* frame of table 0 */
    uint64_t first_pa;         /* its address */
    struct hd_env *env;
    struct hd_vm_cfg cfg;
    struct hd_frames frames;
    struct hd_bigframes big;
    struct hd_slot alloc, free, place;
    /* Who makes room: at once; and whether anybody would, later.  NULL: nobody
     * is there. */
    bool (*compact)(void *self, uint32_t app);
    bool (*compacts)(void *self);
    void *compact_self;
};

/* Owner, in the frame table, of a page that no application has. */
#define HD_PT_FOREIGN UINT32_MAX

static inline uint64_t *hd_pt_entry(const struct hd_ptables *t, hd_ref at)
{
    return (uint64_t *)(void *)(t->base + (size_t)at * 8);
}

static inline struct hd_pt_region *hd_pt_region_of(const struct hd_ptables *t,
                                                   uint32_t r)
{
    return (struct hd_pt_region *)(void *)hd_pt_entry(t, t->s->region) + r;
}

static inline struct hd_pt_range *hd_pt_range_of(const struct hd_ptables *t,
                                                 uint32_t i)
{
    return (struct hd_pt_range *)(void *)hd_pt_entry(t, t->s->range) + i;
}

static inline uint32_t hd_pt_index(uint64_t vpn, uint32_t level)
{
    return (uint32_t)(vpn >> (9 * (4 - level))) & 511;
}

static inline uint64_t hd_pt_key(uint32_t app, uint64_t number)
{
    return (number << 4 | app) + 1;
}

static inline uint32_t hd_pt_home(const struct hd_ptables *t, uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> (64 - t->s->hash_bits));
}

/* The slot of a region, or the empty one where it belongs. */
static inline struct hd_pt_slot *hd_pt_find(const struct hd_ptables *t,
                                            uint64_t key)
{
    struct hd_pt_slot *h = (void *)hd_pt_entry(t, t->s->hash);
    uint32_t mask, i = hd_pt_home(t, key);

    if (HD_LIKELY(h[i].key == key))
        return &h[i];
    mask = (1u << t->s->hash_bits) - 1;
    while (h[i].key != key && h[i].key != 0)
        i = (i + 1) & mask;
    return &h[i];
}

/* What an entry says of a page; false: not present. */
static inline bool hd_pt_decode(uint64_t e, bool large, hd_vpn vpn,
                                struct hd_xlate *x)
{
    uint32_t n = large ? HD_LARGE_PAGES : e & HD_PT_64K ? 16 : 1;
    uint64_t mask = ~(uint64_t)(n - 1);

    if (!(e & HD_PT_PRESENT))
        return false;
    x->page_pages = x->pages = n;
    x->vpn.v = vpn.v & mask;
    x->pfn.v = ((e & HD_PT_FRAME) / HD_PAGE_BYTES) & mask;
    return true;
}

/* The page as it was mapped, coalesced or not. */
static inline bool hd_pt_page(const struct hd_ptables *t, uint32_t app,
                              uint64_t vpn, struct hd_xlate *x)
{
    const struct hd_pt_slot *h =
        hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));
    bool large = h->region_bits & HD_PT_LARGE;

    return h->key != 0 &&
           hd_pt_decode(hd_pt_entry(t, h->at)[large ? 0 : vpn & 511], large,
                        (hd_vpn){vpn}, x);
}

/* ptregion.c: a piece twice as large with the old contents, HD_NONE if there
 * is no room; the slot of a region, entered with its tables down to level 3 if
 * it is new, NULL if there is no room; makes the region of a slot ready for a
 * page of `pages` base pages, < 0 if there is no room. */
hd_ref hd_pt_twice(struct hd_ptables *t, hd_ref old, uint32_t *room,
                   size_t size);
struct hd_pt_slot *hd_pt_region_get(struct hd_ptables *t, uint32_t app,
                                    uint64_t vpn);
int hd_pt_region_shape(struct hd_ptables *t, struct hd_pt_slot *h,
                       uint32_t pages);

/* ptmap.c: the frame that an absent page gets; HD_NO_FRAME with an error
 * recorded, or HD_PT_WANTS_ROOM: memory is to be compacted first, and this is
 * to be called `again`. */
#define HD_PT_WANTS_ROOM (HD_NO_FRAME - 1)
uint64_t hd_pt_choose_frame(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                            uint32_t pages, bool again, struct hd_err *err);

/* ptmap.c: tells who watches page_freed or page_back of a 4 KB page. */
void hd_pt_tell(struct hd_ptables *t, enum heddle_note note, uint32_t app,
                uint64_t vpn, uint64_t frame);
/* ptmap.c: a page leaves its frames, and whoever watches is told; `kept`: its
 * coalesced region keeps its place. */
void hd_pt_release(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x,
                   bool kept);

/* ptabsent.c: the page that holds vpn, if it is absent; an absent page goes
 * with its allocation; what entries and bits say of residency agrees. */
bool hd_pt_absent(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                  struct hd_xlate *x);
void hd_pt_forget(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x);
void hd_pt_leave(struct hd_ptables *t, uint32_t app, const struct hd_xlate *x);
void hd_pt_check_absent(const struct hd_ptables *t, struct hd_err *err);

/* ptlook.c: for struct hd_part. */
void hd_ptables_look(void *self, uint32_t app, struct heddle_visitor *v);
void hd_ptables_check(void *self, uint32_t instance, struct hd_err *err);

#endif

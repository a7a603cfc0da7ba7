/*
 * ptstate.h - the state of page tables in the arena, and the small steps that
 * the files of pages/ share; the memory manager looks at frames (manage.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PTSTATE_H
#define HD_PTSTATE_H

#include "contig.h"
#include "format.h"
#include "frame.h"
#include "memory/compress.h"
#include "ptable.h"

#define HD_PT_PRESENT  1ull
#define HD_PT_WRITE    (1ull << 1)
#define HD_PT_PACKED   (1ull << 2) /* it has memory, and is compressed there */
#define HD_PT_FRAME    0x000ffffffffff000ull
#define HD_PT_2M       (1ull << 7)
#define HD_PT_64K      (1ull << 9)
#define HD_PT_WHOLE    (1ull << 10) /* level 3: its 512 pages are one of 2 MB */
#define HD_PT_DISABLED (1ull << 11) /* level 4: the one above stands */

/* Of formats other than x86-64 (format.c): of a PDE1, the pages of 2 MB below
 * it are one of 512 MB; of an entry of 64 KB that is not present, none of its 4
 * KB pages is valid. */
#define HD_PT_512M     (1ull << 62)
#define HD_PT_NO_SMALL (1ull << 63)

/* Of an entry that is not present: its page is of an allocation, but not
 * resident; it has its frame, and its data are in flight.  The bits of the size
 * are as in a present one. */
#define HD_PT_NONRESIDENT (1ull << 8)
#define HD_PT_IN_FLIGHT   (1ull << 6)

/* Of an entry that is not present: its page has been evicted and still has its
 * frame, whose data are in flight to the host; it was resident before. */
#define HD_PT_EVICTING (1ull << 5)
#define HD_PT_EVICTED  (1ull << 4)

/* Of an entry that is not present, or of a host-mapped page: the program's host
 * has touched it since it was on the GPU, and so has it mapped. */
#define HD_PT_TOUCHED (1ull << 61)

/* Of a present page: it came without a fault, and no walk has found it yet. */
#define HD_PT_PREFETCHED (1ull << 3)

/* Bits of a slot: its region maps 2 MB; it has had pages of 64 KB; its pages
 * of 4 KB are coalesced; it is part of a page of 512 MB. */
enum {
    HD_PT_LARGE = 1,
    HD_PT_MEDIUM = 2,
    HD_PT_JOINED = 4,
    HD_PT_HUGE = 8,
    HD_PT_SHIFT = 4
};

/* Tables of 64 KB pages (format.c): how many a frame has, the bytes of each,
 * the level of such a frame, and where a slot has the place of its region's. */
enum {
    HD_PT_BIGS = 16,
    HD_PT_BIG_BYTES = 256,
    HD_PT_BIG_LEVEL = HD_FORMAT_LEVELS + 2,
    HD_PT_BIG = 0
};

struct hd_pt_table {
    hd_ref at;      /* its entries, a word each */
    uint32_t used;  /* present entries; free tables: the next one */
    uint32_t above; /* the table that points to it */
    uint8_t app, level;
};

struct hd_pt_region {
    uint64_t number; /* virtual page / 512 */
    uint64_t frame;  /* coalesced: its frame of 2 MB, by the first base frame */
    uint32_t app;
    uint32_t faults; /* pages that have come for faults */
    uint32_t held;   /* frames that it has of a chunk; 0: there is none */
    uint32_t dma;    /* 1: the host has mapped it for DMA */
};

/* Half a cache line, with all that a walk begins with. */
struct hd_pt_slot {
    uint64_t key;         /* number << 4 | application, + 1; 0: empty */
    hd_ref at;            /* of the leaf table, or of the level-3 entry */
    uint32_t region_bits; /* region << HD_PT_SHIFT | the bits above */
    uint32_t t[4];        /* its tables, the root first; t[3] HD_NONE if it has
                             no leaf table, else the first of its leaf tables;
                             dual formats: the table of 64 KB pages in units of
                             256 bytes, those of PDE1 and PDE0, that of 4 KB */
};

struct hd_pt_range { /* an allocation that was mapped */
    uint64_t vpn, pages;
    uint32_t app, index;
    uint32_t advice; /* HEDDLE_ADVICE_ */
    uint32_t spare;
};

struct hd_pt_span { /* pages with other advice than their allocation */
    uint64_t vpn, pages;
    uint32_t app;
    uint32_t advice; /* HEDDLE_ADVICE_ */
};

struct hd_pt_state {
    uint32_t tables, free_tables; /* ever used; head of the free list */
    uint32_t tables_live;
    uint32_t regions, region_room;
    uint32_t ranges, range_room;
    uint32_t hash_bits;
    uint32_t sized;            /* 1: pages larger than 4 KB have been mapped */
    uint32_t changes;          /* mappings that were taken away or changed */
    uint32_t advised;          /* 1: there has been advice */
    uint32_t spans, span_room; /* sorted (advice.c) */
    hd_ref span;
    hd_ref free_words; /* arrays of a region's words, a list (format.c) */
    uint32_t free_bigs[HD_MAX_APPS]; /* places of tables of 64 KB pages, too */
    uint64_t kept;      /* frames of pages that a coalesced region has lost */
    uint64_t allocated; /* hd_ptables_allocated */
    uint64_t foreign;   /* frames that were in use before */
    hd_ref region, range, hash;
    uint32_t root[HD_MAX_APPS]; /* table, HD_NONE: none yet */
    uint64_t pages[HD_MAX_APPS];
    uint64_t large[HD_MAX_APPS][2];         /* pages of 64 KB and of 2 MB */
    uint64_t huge[HD_MAX_APPS];             /* of 512 MB, which count as 256 */
    uint64_t host_mapped, host_mapped_lost; /* hd_ptables_host_mapped */
    uint64_t in_flight; /* pages with a frame and without data */
    uint64_t evicting;  /* pages whose frames are being written to the host */
    uint64_t spare;     /* frames that chunks have taken and no page has */
    uint64_t table_frames[HD_MAX_APPS];
    uint64_t mixed[HD_MAX_APPS];       /* pages put next to others' (frame.h) */
    uint64_t covered[HD_MAX_APPS];     /* pages in contiguous subregions, and */
    uint64_t covered_all[HD_MAX_APPS]; /* in contiguous regions (contig.c) */
    uint64_t packed[HD_MAX_APPS];      /* that would be, but are compressed */
    uint64_t window[HD_MAX_APPS]; /* of its pages: the bits above the indices */
};

struct hd_ptables {
    unsigned char *base;       /* of the arena */
    struct hd_pt_state *s;     /* arena */
    struct hd_pt_table *table; /* arena: [cfg.table_frames] */
    uint64_t first_table;      /* frame of table 0 */
    uint64_t first_pa;         /* its address */
    uint32_t bits;             /* of an index of a level */
    uint32_t entry_shift;      /* an entry has 1 << entry_shift bytes */
    uint32_t leaves;           /* leaf tables of a region */
    const struct hd_format *format;
    uint32_t table_frames;
    bool dual;    /* of it: 16-byte entries above the leaf tables */
    uint32_t dir; /* level whose entries stand for 2 MB */
    struct {
        uint32_t mask;
        uint8_t shift, twice;      /* twice: an entry has two words */
    } level[HD_FORMAT_LEVELS + 2]; /* of the index in a virtual page number */
    struct hd_env *env;
    struct hd_vm_cfg cfg;
    struct hd_frames frames;
    struct hd_bigframes big;
    struct hd_slot alloc, place;
    /* hd_ptables_home; NULL: there is one node */
    uint64_t (*home)(void *self, hd_vpn vpn, uint32_t pages);
    void *home_self;
    /* Compaction: at once; whether a policy may compact, later, and will. NULL:
     * there is none. */
    bool (*compact)(void *self, uint32_t app);
    bool (*compacts)(void *self);
    bool (*wants_room)(void *self, uint32_t app);
    void *compact_self;
    /* Eviction, which makes room and is notified that a present page has gone;
     * NULL: there is none. */
    void (*gone)(void *self, uint32_t app, hd_vpn vpn, uint32_t pages,
                 bool unused);
    void *evict_self;
    /* What is notified of contiguity bits (contig.h); NULL: nothing. */
    void (*contig_changed)(void *self, uint32_t app, hd_vpn first);
    void *contig_self;
    struct hd_compress *compress; /* NULL: pages take what they are */
};

/* Owner, in the frame table, of a page that no application has. */
#define HD_PT_FOREIGN UINT32_MAX

static inline uint64_t *hd_pt_entry(const struct hd_ptables *t, hd_ref at)
{
    return (uint64_t *)(void *)(t->base + (size_t)at * 8);
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

/* ---- steps that the files of the page tables share -------------------- */

/* The slot of a page's region; its key is 0 if it has none. */
static HD_INLINE struct hd_pt_slot *hd_pt_slot_of(const struct hd_ptables *t,
                                                  uint32_t app, uint64_t vpn)
{
    hd_cross(t->env, HD_BORDER_tables);
    return hd_pt_find(t, hd_pt_key(app, vpn / HD_LARGE_PAGES));
}

static inline uint32_t hd_pt_region_number(const struct hd_pt_slot *h)
{
    return h->region_bits >> HD_PT_SHIFT;
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

/* The word in a table of a level that a page's entry is, or begins with. */
static inline uint32_t hd_pt_index_of(const struct hd_ptables *t, uint64_t vpn,
                                      uint32_t level)
{
    return ((uint32_t)(vpn >> t->level[level].shift) & t->level[level].mask)
           << t->level[level].twice;
}

/* Levels as walks number them, the root's 1, and as those of x86-64, where an
 * entry of level 3 stands for 2 MB and level 4 is the leaf tables'. */
static inline uint32_t hd_pt_depth(const struct hd_ptables *t, uint32_t level)
{
    return level + t->dir - 3;
}

/* The entry that maps a page of a slot's region, or the first of them. */
static HD_INLINE uint64_t *hd_pt_leaf(const struct hd_ptables *t,
                                      const struct hd_pt_slot *h, uint64_t vpn)
{
    return hd_pt_entry(t, h->at) +
           (h->region_bits & HD_PT_LARGE ? 0 : vpn & 511);
}

/* What the entry of a page says of it, if it has one of these bits. */
static HD_INLINE bool hd_pt_decode(const struct hd_ptables *t,
                                   const struct hd_pt_slot *h, uint64_t vpn,
                                   uint64_t bits, struct hd_xlate *x)
{
    uint64_t e = h->key != 0 ? *hd_pt_leaf(t, h, vpn) : 0, mask;
    uint32_t n = h->region_bits & HD_PT_LARGE ? HD_LARGE_PAGES
                 : e & HD_PT_64K              ? 16
                                              : 1;

    if ((e & bits) == 0)
        return false;
    mask = ~(uint64_t)(n - 1);
    x->page_pages = x->pages = n;
    x->vpn.v = vpn & mask;
    x->pfn.v = ((e & HD_PT_FRAME) / HD_PAGE_BYTES) & mask;
    return true;
}

/* Entries of pages from vpn on have changed. */
static HD_INLINE void hd_pt_rescan(struct hd_ptables *t, uint32_t app,
                                   uint64_t vpn, uint64_t pages)
{
    if (HD_UNLIKELY(t->cfg.scan))
        hd_contig_scan(t, app, (hd_vpn){vpn}, pages);
}

/* The number of a base page, which in the frame table is 1 higher. */
static inline uint32_t hd_pt_number_of(const struct hd_pt_slot *h, uint64_t vpn)
{
    return hd_pt_region_number(h) * HD_LARGE_PAGES + (vpn & 511);
}

/* The page that holds vpn, mapped or reserved, coalesced or not. */
static inline bool hd_pt_taken(const struct hd_ptables *t, uint32_t app,
                               uint64_t vpn, struct hd_xlate *x)
{
    return hd_pt_decode(t, hd_pt_slot_of(t, app, vpn), vpn,
                        HD_PT_PRESENT | HD_PT_NONRESIDENT, x);
}

/* The leaf table of a page, counted from the first of its region. */
static inline uint32_t hd_pt_leaf_of(const struct hd_ptables *t, uint64_t vpn)
{
    return (uint32_t)(vpn & (HD_LARGE_PAGES - 1)) >> t->bits;
}

/* Where the entry of a page is in the table of level 3 or 4, or in x86-64 of
 * any, that a slot has. */
static inline hd_pa hd_pt_entry_at(const struct hd_ptables *t,
                                   const struct hd_pt_slot *h, uint64_t vpn,
                                   uint32_t level)
{
    uint64_t table = h->t[level - 1] + (level == 4 ? hd_pt_leaf_of(t, vpn) : 0);

    return (hd_pa){t->first_pa + table * HD_PAGE_BYTES +
                   ((uint64_t)hd_pt_index_of(t, vpn, hd_pt_depth(t, level))
                    << t->entry_shift)};
}

/* The first leaf table of a region of 4 KB pages, or NULL. */
static inline struct hd_pt_table *hd_pt_leaf_table(const struct hd_ptables *t,
                                                   const struct hd_pt_slot *h)
{
    if (h->key == 0 || h->region_bits & (HD_PT_LARGE | HD_PT_MEDIUM))
        return NULL;
    return &t->table[h->t[3]];
}

/* chunk.c: pages of a region take frames of its chunk, or give them (n < 0); it
 * begins with the first and ends with the last. */
void hd_pt_hold(struct hd_ptables *t, const struct hd_pt_slot *h, int32_t n);

/* hd_pt_hold() where the page has a chunk. */
static inline void hd_pt_hold_on(struct hd_ptables *t,
                                 const struct hd_pt_slot *h, int32_t n)
{
    if (HD_UNLIKELY(hd_pt_region_of(t, hd_pt_region_number(h))->held != 0))
        hd_pt_hold(t, h, n);
}

/* ---- ptable.c --------------------------------------------------------- */

/* Writes the entries of a page: these bits, and its frames if it has some. What
 * may be done with it, and how it is stored, stays. */
void hd_pt_put(struct hd_ptables *t, const struct hd_pt_slot *h, uint64_t vpn,
               uint32_t pages, uint64_t frame, uint64_t bits);
/* The entries of the page at vpn have become present, or will not be any more.
 */
void hd_pt_count_present(struct hd_ptables *t, const struct hd_pt_slot *h,
                         uint32_t app, uint64_t vpn, uint32_t pages,
                         bool present);

/* A table of a level whose words are at `at`, or new ones; HD_NONE: there is no
 * frame or no memory for it.  Frees one: its words stay where it has a format
 * whose words are a region's, and go with it elsewhere. */
uint32_t hd_pt_table_new(struct hd_ptables *t, uint32_t app, uint32_t level,
                         hd_ref at);
void hd_pt_table_free(struct hd_ptables *t, uint32_t n);

/* ---- ptcheck.c -------------------------------------------------------- */

/* For struct hd_part; hd_ptables_look is in ptable.h. */
void hd_ptables_check(void *tables, uint32_t instance,
                      struct heddle_error *err);

/* ---- coalesced.c ------------------------------------------------------ */

/* A coalesced region's pages of 4 KB are in one frame of 2 MB, each in its
 * place, all disabled, and no other page is; no other entry is disabled. */
void hd_coalesced_check(const struct hd_ptables *t, struct heddle_error *err,
                        uint32_t app, uint64_t vpn, const uint64_t *e,
                        uint32_t level);

/* ---- ptframes.c: which frames a page gets ----------------------------- */

/* Instead of a frame: memory is to be compacted, or pages to be evicted. */
#define HD_PT_WANTS_COMPACT (HD_NO_FRAME - 1)
#define HD_PT_WANTS_EVICT   (HD_NO_FRAME - 2)

/* One call of hd_ptables_map, for the words of its errors. */
struct hd_pt_job {
    uint32_t app, index;
    hd_va base;
    uint64_t bytes;
    struct heddle_error *err;
    bool nonresident; /* pages are reserved only */
    bool again;       /* one of those was asked for, and memory was compacted */
};

int hd_pt_fail(const struct hd_ptables *t, const struct hd_pt_job *j,
               const char *what, uint32_t pages);
/* Whether the aligned 2 MB around a page are all of its allocation. */
bool hd_pt_whole(const struct hd_pt_job *j, uint64_t vpn);
/* Reports page_freed or page_back of a 4 KB page. */
void hd_pt_tell(struct hd_ptables *t, enum heddle_note note, uint32_t app,
                uint64_t vpn, uint64_t frame);
/* The frame that a page gets; HD_NO_FRAME with an error recorded; or
 * HD_PT_WANTS_.
 */
uint64_t hd_pt_frame_for(struct hd_ptables *t, const struct hd_pt_job *j,
                         const struct hd_pt_slot *h, uint64_t vpn,
                         uint32_t pages);
/* Pages are in frames from f on. */
void hd_pt_settle(struct hd_ptables *t, uint64_t f, uint32_t app,
                  uint32_t pages);
/* Takes the frames of a page from f on.  0, or an error in `err`. */
int hd_pt_occupy(struct hd_ptables *t, const struct hd_pt_slot *h, uint32_t app,
                 uint64_t vpn, uint64_t f, uint32_t pages,
                 struct heddle_error *err);
/* A page has no memory any more; its frame is free. */
void hd_pt_give_memory(struct hd_ptables *t, const struct hd_pt_slot *h,
                       const struct hd_xlate *x);
void hd_pt_give_frame(struct hd_ptables *t, uint32_t app,
                      const struct hd_xlate *x);

/* ---- entries.c -------------------------------------------------------- */

/* The pages of an application have the same bits above the indices of its
 * tables, those of the first.  0, or an error. */
int hd_pt_in_reach(struct hd_ptables *t, const struct hd_pt_job *j,
                   uint64_t first, uint64_t end);
/* Asks page_size; large pages only where an entry can stand for 2 MB. */
uint32_t hd_pt_page_size(struct hd_ptables *t,
                         const struct heddle_q_page_size *q,
                         struct heddle_error *err);

/* ---- ptable.c, resident.c --------------------------------------------- */

/* Allocations that are still mapped and have a byte in these pages. */
uint32_t hd_pt_holders(const struct hd_ptables *t, uint32_t app, uint64_t vpn,
                       uint64_t pages);

/* The first allocation that has a page, or NULL. */
const struct hd_pt_range *hd_pt_range_with(const struct hd_ptables *t,
                                           uint32_t app, uint64_t vpn);
/* Reports to eviction that a present page, whose entry had these bits, is not
 * there any more. */
void hd_pt_tell_gone(struct hd_ptables *t, uint32_t app,
                     const struct hd_xlate *x, uint64_t bits);

/* Maps a page at a frame that is free. */
int hd_pt_enter_at(struct hd_ptables *t, const struct hd_pt_job *j,
                   uint64_t vpn, uint32_t pages, uint64_t f);

/* ---- format.c --------------------------------------------------------- */

int hd_format_check(const struct hd_vm_cfg *cfg, const char *name,
                    struct heddle_error *err);
void hd_format_open(struct hd_ptables *t);
/* Pages up to `end` are in the format's address space: 0, or an error. */
int hd_format_in_reach(const struct hd_ptables *t, const struct hd_pt_job *j,
                       uint64_t end);
/* Words for the entries of a table or a region, all 0; HD_NONE: no memory. */
hd_ref hd_format_words(struct hd_ptables *t);
/* Makes a region of a dual format ready for a page; < 0: there is no room. */
int hd_format_shape(struct hd_ptables *t, struct hd_pt_slot *h, uint32_t app,
                    uint64_t vpn, uint32_t pages);
/* Maps the aligned 512 MB from vpn on as one page: 1; 0: that cannot be; or an
 * error.  One of its pages of 2 MB changes, and it is one page no more. */
int hd_format_map_huge(struct hd_ptables *t, const struct hd_pt_job *j,
                       uint64_t vpn);
void hd_format_split(struct hd_ptables *t, const struct hd_pt_slot *h,
                     uint32_t app, uint64_t vpn);
/* hd_ptables_path in a dual format, of a region that there is. */
uint32_t hd_format_path(const struct hd_ptables *t, const struct hd_pt_slot *h,
                        uint64_t vpn, hd_pa *pte);
/* The word at a byte of table n's frame. */
uint64_t hd_format_entry(const struct hd_ptables *t, uint32_t n, uint32_t byte);
void hd_format_check_pair(const struct hd_ptables *t, struct heddle_error *err,
                          uint32_t app, uint64_t vpn, const uint64_t *e);
void hd_format_check_huge(const struct hd_ptables *t, struct heddle_error *err,
                          uint32_t app, uint64_t vpn, uint64_t e);

/* Where a region's table of 64 KB pages is; the word of a page's entry in it.
 */
static inline uint64_t hd_format_big_word(const struct hd_ptables *t,
                                          uint32_t place)
{
    return t->first_pa + (uint64_t)place * HD_PT_BIG_BYTES;
}

static inline uint64_t hd_format_big_pa(const struct hd_ptables *t,
                                        const struct hd_pt_slot *h,
                                        uint64_t vpn)
{
    return hd_format_big_word(t, h->t[HD_PT_BIG]) + (vpn >> 4 & 31) * 8;
}

/* ---- advice.c --------------------------------------------------------- */

/* An allocation from vpn to end was freed: what was said of its pages ends, but
 * of those that others have. */
void hd_pt_forget_advice(struct hd_ptables *t, uint32_t app, uint64_t vpn,
                         uint64_t end);
void hd_pt_check_advice(const struct hd_ptables *t, struct heddle_error *err);

/* ---- chunk.c ---------------------------------------------------------- */

void hd_pt_check_chunks(const struct hd_ptables *t, struct heddle_error *err);

#endif

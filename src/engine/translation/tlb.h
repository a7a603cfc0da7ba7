/*
 * tlb.h - one TLB: base and large entries, tagged by application.
 *
 * A base array holds translations of 4 KB and 64 KB pages and of merged runs;
 * an optional large array holds 2 MB pages (with ranges, the runs, too) and is
 * probed first (a hit leaves the base array untouched).  With no large array,
 * large pages go to the base array as one entry.  It is a structure without
 * time: the owner (a core, the L2 TLB) accounts ports, latency and misses.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TLB_H
#define HD_TLB_H

#include "kit/config.h"
#include "kit/env.h"
#include "memory/assoc.h"
#include "pages/contig.h"
#include "translate.h"

struct hd_tlb_cfg {
    struct hd_mode mode;
    uint32_t entries, ways;             /* ways 0: fully associative */
    uint32_t large_entries, large_ways; /* 0 entries: no large array */
    uint32_t ports;                     /* look-ups a cycle */
    uint32_t latency;                   /* cycles */
    uint32_t mshrs;                     /* misses in flight */
    uint32_t blocking;                  /* L1: enum hd_blocking */
    uint32_t overlap;                   /* L1: enum hd_overlap */
    uint32_t serial;      /* L2: the base array is probed after the large one */
    uint32_t merge_pages; /* aligned group that a merged entry may cover */
    uint32_t group_index; /* 1: pages of 4 KB use the set of their group */
    uint32_t ranges;      /* L1: 1: merged runs are in the large array */
    uint32_t sub_ways;    /* L2: ways that entries of subregions may have; 0:
                             there are none */
    uint32_t groups;      /* log2 of the pages of the largest group that an
                             entry may be for (variants/groups.c); 0: none */
};

/* What proceeds while a miss of an L1 TLB is in flight (Pichai 6.1 to 6.3). */
enum hd_blocking {
    HD_UNDER_ALL,  /* "none": hits and misses */
    HD_UNDER_HITS, /* "hits": hits, and the misses of one instruction */
    HD_UNDER_NONE  /* "full": nothing of other instructions */
};

/* How an instruction's look-ups in an L1 TLB go with its lines' in the L1. */
enum hd_overlap {
    HD_OVERLAP_LINE,  /* each page with its first line */
    HD_OVERLAP_AHEAD, /* pages as fast as the ports allow, ahead of lines */
    HD_OVERLAP_OFF    /* and no line before all pages are there */
};

/* What one TLB counts, in this order; the owner registers the group. */
enum hd_tlb_stat {
#define HD_COUNTERS_OF "translation/l2tlb.def"
#include "kit/rows.h"
    HD_TLB_STATS
};

/* What becomes of translations that policies start (prefetch.c). */
enum hd_prefetch_stat {
#define HD_COUNTERS_OF "translation/prefetch.def"
#include "kit/rows.h"
    HD_PREFETCH_STATS
};

/* What an entry is, in the top bits of its key. */
enum hd_tlb_class {
    HD_TLB_4K,
    HD_TLB_64K,
    HD_TLB_2M,     /* in the base array: there is no large one */
    HD_TLB_MERGED, /* a run inside an aligned group of 4 KB pages */
    HD_TLB_SUBS,   /* a run of subregions of 64 pages inside aligned 2 MB */
    HD_TLB_GROUPS, /* aligned 2 pages, and one more of each size up to 512 */
    HD_TLB_CLASSES = HD_TLB_GROUPS + 9
};

enum { HD_TLB_CLASS_SHIFT = 52, HD_TLB_APP_SHIFT = 56 }; /* in keys */

/* Where live[] of a TLB has what besides the counts of base entries. */
enum {
    HD_TLB_LARGE = HD_TLB_CLASSES, /* valid 2 MB entries of the large array */
    HD_TLB_PREFETCHED, /* entries of either that a policy has prefetched,
                         and that are not hit yet */
    HD_TLB_PRESENT,    /* bit set of the classes above */
    HD_TLB_LIVE
};

/* What an entry holds.  Which pages it stands for is in its key, but for how
 * many a run has (hd_tlb.run). */
enum { HD_TLB_PREFETCHED_WARP = 0xffff }; /* of the entries counted in AHEAD */

struct hd_tlb_entry {
    uint32_t frame;      /* of the first page */
    uint16_t core, warp; /* that inserted it */
};

struct hd_tlb {
    /* What a look-up or a fill among pages of 4 KB touches comes first. */
    struct hd_tlb_entry *entry; /* arena: the large array's follow the base
                                   array's */
    uint32_t *live; /* arena: valid base entries of each class, then valid
                       large entries, then a bit set of classes present */
    bool other; /* fills are not of pages of 4 KB alone, or it is not quiet */
    bool quiet; /* look-ups and fills concern the owner alone */
    bool observed; /* not quiet, or a watcher is told of what comes, or it has a
                      buffer next to it */
    uint32_t base_mask, large_mask; /* sets - 1 if a power of two, else 0 */
    uint32_t base_n;                /* entries of the base array */
    uint32_t instance;              /* core, or 0 */
    struct hd_stat stat; /* the owner's group of hd_rows_l2tlb or its like, row
                            `instance`; not counted while stat.v is NULL */
    struct hd_stat prefetched; /* .. of what policies prefetch; likewise */
    struct hd_assoc base, large;
    const uint32_t *watched; /* [note] watchers */
    uint16_t *run; /* arena: pages of a run; of other base entries: old words */
    uint32_t *from; /* arena: while it is not quiet, pc of the instruction that
                       inserted each entry */
    uint32_t level; /* 1 or 2; 0: next to an L1 TLB */
    uint8_t shift[HD_TLB_CLASSES]; /* log2 of the pages that share a set */
    struct hd_slot merge, insert, keep;
    struct hd_tlb *side; /* where what leaves may go; NULL: nowhere */
    struct hd_env *env;
    struct hd_tlb_cfg cfg;
};

/* `at` is "l1tlb", "l2tlb" or "bypass": the name for slots and notes. */
int hd_tlb_open(struct hd_tlb *t, struct hd_env *env,
                const struct hd_tlb_cfg *cfg, const char *at, uint32_t level,
                uint32_t instance);

/* What leaves t, a TLB of the same name, may go to another. */
void hd_tlb_set_side(struct hd_tlb *t, const char *at, struct hd_tlb *side);

/* To be called when slots were bound or unbound, or watchers came or went. */
void hd_tlb_bound(struct hd_tlb *t);

/* Looks up and touches.  True on a hit: *x is the entry's translation; `guess`
 * as in hd_assoc_find_at, or NULL. */
bool hd_tlb_lookup(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint32_t core,
                   uint32_t warp, struct hd_xlate *x, uint16_t *guess);

/* Notifies watchers of a look-up that missed, once it has been taken. */
void hd_tlb_missed(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint32_t core,
                   uint32_t warp);

/* Base entry e holds a page of 4 KB. */
static inline bool hd_tlb_is(const struct hd_tlb *t, uint32_t app, uint64_t vpn,
                             uint32_t e)
{
    return t->base.key[e] == (vpn | (uint64_t)app << HD_TLB_APP_SHIFT);
}

/* A page of 4 KB hits in base entry e, as it did before: the entry is used,
 * where that concerns the owner alone (quiet).  False: it is not there, and
 * nothing was done. */
static inline bool hd_tlb_again(struct hd_tlb *t, uint32_t app, uint64_t vpn,
                                uint32_t e, uint64_t *frame)
{
    if (!hd_tlb_is(t, app, vpn, e))
        return false;
    hd_assoc_to_front(&t->base, hd_assoc_set_of(&t->base, e), e);
    *frame = t->entry[e].frame;
    return true;
}

/* Whether a run is of subregions, as such an entry has it. */
static inline bool hd_xlate_subs(const struct hd_xlate *x)
{
    return x->page_pages == 1 && x->pages >= HD_SUB_PAGES;
}

/* No entry is of anything but one page of 4 KB. */
static inline bool hd_tlb_plain(const struct hd_tlb *t)
{
    return (t->live[HD_TLB_PRESENT] & ~(1u << HD_TLB_4K)) == 0;
}

/* Looks up without touching anything. */
bool hd_tlb_peek(const struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                 struct hd_xlate *x);

/* Enters a translation (replacing what covers the same pages) if tlb_insert
 * lets it, which is the result; asks tlb_merge when `x->pages` exceeds its
 * page.  `cause` as in tlb_insert.  Of a run, n pages answered are the first n,
 * or the n that end with `wanted` where those do not reach it.  Where there are
 * entries of subregions and x has a whole one around `wanted`, all of x is
 * offered, and the entry holds the whole subregions of what was answered; else
 * x's part of the aligned group is.  Without a policy an entry holds all of the
 * former, one page of the latter. */
bool hd_tlb_fill(struct hd_tlb *t, uint32_t app, uint32_t core, uint32_t warp,
                 hd_vpn wanted, const struct hd_xlate *x, uint32_t cause);

/* hd_tlb_fill for a translation that a policy has started for a core: its entry
 * is marked until it is hit. */
bool hd_tlb_prefetched(struct hd_tlb *t, uint32_t app, uint32_t core,
                       hd_vpn wanted, const struct hd_xlate *x);

/* Drops what covers a page of [vpn, vpn + pages); nothing is counted. */
void hd_tlb_drop(struct hd_tlb *t, uint32_t app, hd_vpn vpn, uint64_t pages);

/* Invalidates every entry that covers a page of [vpn, vpn + pages): how
 * many. */
uint32_t hd_tlb_invalidate(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                           uint64_t pages);

/* A number of pages that means all of an application's. */
#define HD_EVERY_PAGE (UINT64_MAX >> 8)

/* hd_tlb_invalidate for what a shootdown says: `pages` 0: only the large entry
 * that holds vpn; app HD_APP_NONE: everything. */
uint32_t hd_tlb_shoot(struct hd_tlb *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages);

/* Shows all valid entries (heddle_look). */
void hd_tlb_look(struct hd_tlb *t, struct heddle_visitor *v);

/* What two settings of a TLB can get wrong: 0, or an error that names them. */
int hd_tlb_check(const void *cfg, const char *name, struct heddle_error *err);

#endif

/*
 * manage.h - the memory manager: allocations that come and go while the
 * machine runs, pages that are coalesced and split, memory that is compacted,
 * and what that costs.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MANAGE_H
#define HD_MANAGE_H

#include "points/source.h"
#include "memory/l2.h"
#include "paging/evict.h"
#include "translation/mmu.h"
#include "mover.h"
#include "ptable.h"

struct hd_manage_cfg {
#define HD_FIELDS_OF "pages/memory.def"
#include "kit/rows.h"
};

enum hd_manage_stat {
#define HD_COUNTERS_OF "pages/memory.def"
#include "kit/rows.h"
    HD_MANAGE_STATS
};

/* The cores, as the manager knows them. */
struct hd_manage_cores {
    void *self;
    hd_time ahead; /* how far past an event they may have simulated */
    /* Removes pages of an application from the L1 TLBs of its cores at once;
     * these take no look-up before `until`.  app HD_APP_NONE: of all. */
    void (*invalidate)(void *self, uint32_t app, hd_vpn vpn, uint64_t pages,
                       hd_time until);
    /* Takes `bytes` from `pa` on out of the L1 caches of an application's
     * cores; returns how many lines there were, and sets *dirty if one was. */
    uint32_t (*drop)(void *self, uint32_t app, hd_pa pa, uint32_t bytes,
                     bool *dirty);
    /* What the host of an application has said is done. */
    void (*hinted)(void *self, uint32_t from, uint32_t app, hd_time now);
    /* No core issues from now on, or they do again. */
    void (*halt)(void *self, bool on, hd_time now);
};

struct hd_manage;

/* Takes part in the order of events from here on; the rest is wired later. */
struct hd_manage *hd_manage_open(struct hd_env *env,
                                 const struct hd_manage_cfg *cfg,
                                 const struct hd_mover_wiring *w);
int hd_manage_wire(struct hd_manage *g, struct hd_ptables *tables,
                   struct hd_mmu *mmu, struct hd_l2 *l2,
                   const struct hd_manage_cores *cores);

struct hd_mover *hd_manage_mover(struct hd_manage *g);

/* In the arena: the instant before which no core may run on, or HD_NEVER. */
const hd_time *hd_manage_barrier(const struct hd_manage *g);

/* Before cycle 0: takes the frames that no application uses; maps an
 * allocation; begins with the traffic of both.  0 or an error in env->err. */
int hd_manage_fragment(struct hd_manage *g, uint64_t seed);
int hd_manage_map(struct hd_manage *g, uint32_t app, uint32_t index, hd_va base,
                  uint64_t bytes);
void hd_manage_start(struct hd_manage *g, hd_time now);
/* A page that was reserved has its frame (fabric/home.c). */
void hd_manage_touched(struct hd_manage *g, uint32_t app, uint32_t pages);

/* While the machine runs: an allocation goes, or comes back, as soon as no
 * core can be ahead of it; in the order of the calls. */
void hd_manage_ask(struct hd_manage *g, hd_time now, uint32_t app,
                   uint32_t index, hd_va base, uint64_t bytes, bool map);

/* The host of an application says something of an allocation, or does it; the
 * cores' hinted() when that is over.  Only where pages come from the host. */
void hd_manage_hint(struct hd_manage *g, hd_time now, uint32_t app, hd_va base,
                    uint64_t bytes, const struct hd_hint *h);

/* Says whose pages come from the host; before the first does. */
void hd_manage_faulting(struct hd_manage *g, struct hd_faults *f);

/* What it does for paging; and the parts that ask it for that: that evicts
 * pages, that maps them on the host, that detects thrashing (NULL: none). */
struct hd_manager hd_manage_paging_calls(struct hd_manage *g);
void hd_manage_evicting(struct hd_manage *g, struct hd_evict *v,
                        struct hd_remote *r, struct hd_thrash *t);

#endif

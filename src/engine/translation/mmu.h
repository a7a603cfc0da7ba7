/*
 * mmu.h - what is below the L1 TLBs: the shared L2 TLB and the walkers.
 *
 * A unit is an optional L2 TLB (with its bypass cache) over a pool of walkers
 * with an optional page walk cache.  One unit serves all cores, or each core
 * has its own (Pichai et al.): the same parts, wired differently.  Walkers
 * send real reads of page-table entries to the L2 data cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MMU_H
#define HD_MMU_H

#include "kit/config.h"
#include "kit/env.h"
#include "memory/request.h"
#include "paging/fault.h"
#include "pages/ptable.h"
#include "level.h"
#include "tlb.h"
#include "translate.h"

struct hd_walk_cfg {
#define HD_FIELDS_OF "translation/walk.def"
#include "kit/rows.h"
};

struct hd_pwc_cfg {
#define HD_FIELDS_OF "translation/pwc.def"
#include "kit/rows.h"
};

struct hd_msc_cfg {
#define HD_FIELDS_OF "translation/msc.def"
#include "kit/rows.h"
};

struct hd_prefetch_cfg {
#define HD_FIELDS_OF "translation/prefetch.def"
#include "kit/rows.h"
};

struct hd_fill_cfg {
#define HD_FIELDS_OF "variants/fill.def"
#include "kit/rows.h"
};

struct hd_walktable_cfg {
#define HD_FIELDS_OF "variants/walktable.def"
#include "kit/rows.h"
};

struct hd_groups_cfg {
#define HD_FIELDS_OF "variants/groups.def"
#include "kit/rows.h"
};

struct hd_bypass_cfg {
#define HD_FIELDS_OF "translation/bypass.def"
#include "kit/rows.h"
};

/* The unit of a walk's request, as the request's tag says it. */
#define HD_WALK_TAG_UNIT(tag) ((tag) >> 20)

struct hd_home; /* fabric/home.h */
struct hd_mmu;  /* all units; translation/mmu.c */

struct hd_mmu_wiring {
    struct hd_ptables *tables; /* page tables of all applications */
    struct hd_faults *faults;  /* NULL: every page is mapped */
    struct hd_evict *evict;    /* notified of pages that are used; or NULL */
    struct hd_treqs *treqs;
    struct hd_reqs *reqs;
    struct hd_below memory;      /* where PTE reads go: the L2 cache */
    hd_time memory_back;         /* ticks an answer takes back from there */
    uint32_t memory_client;      /* first client index of the walkers there */
    struct hd_tclient *clients;  /* answers for treq.client: the cores */
    const struct hd_slot *merge; /* tlb_merge of an L1 TLB, or NULL: answers
                                    then carry the run of a line of entries */
    uint32_t cores, nodes; /* nodes: units, unless cores have their own; 0: 1 */
    struct hd_home *home;  /* where pages are that wait for a touch, or NULL */
    uint32_t line;     /* bytes of a line of the L2 cache */
    uint32_t requests; /* most of all cores in flight; 0: treqs->room */
    const struct hd_tlb_cfg *l2tlb;
    const struct hd_walk_cfg *walk;
    const struct hd_pwc_cfg *pwc;
    const struct hd_msc_cfg *msc;
    const struct hd_bypass_cfg *bypass;
    const struct hd_prefetch_cfg *prefetch;
    const struct hd_fill_cfg *fill; /* NULL: policies fill nothing */
    const struct hd_walktable_cfg *walktable; /* NULL: there is none */
    const struct hd_groups_cfg *groups;       /* NULL: there are none */
    const struct hd_level_cfg *levels[HD_LEVELS]; /* NULL: none */
    bool room[3]; /* L1 TLBs, and the buffers next to them, take translations
                     that policies start: [enum heddle_translate_to] */
};

/* Builds the units in the simulation's arena; returns NULL on error. */
struct hd_mmu *hd_mmu_open(struct hd_env *env, const struct hd_mmu_wiring *w);

/* Where core `core` sends its L1 TLB misses. */
struct hd_tbelow hd_mmu_below(struct hd_mmu *m, uint32_t core);

/* The answers to PTE reads: the memory calls this for the walkers' clients. */
struct hd_client hd_mmu_client(struct hd_mmu *m);

/* What the units did for an application, in the arena; a new span begins
 * when its reader sets `peak` to `walks`, or `stalled` to 0. */
struct hd_mmu_recent {
    uint32_t walks;   /* begun and not done */
    uint32_t peak;    /* most of them */
    uint32_t stalled; /* most L1 TLB misses that one walk answered */
};

struct hd_mmu_recent *hd_mmu_recent(struct hd_mmu *m, uint32_t app);

/* What becomes of translations that policies start: rows of HD_PREFETCH_. */
struct hd_stat hd_mmu_prefetches(const struct hd_mmu *m);

/* A shootdown (hd_tlb_shoot) in the L2 TLBs and walk caches, of an application
 * or of all (HD_APP_NONE); the L2 TLBs take no look-up before `until`. */
void hd_mmu_shoot(struct hd_mmu *m, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until);

#endif

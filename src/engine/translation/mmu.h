/*
 * mmu.h - what lies below the L1 TLBs: the shared L2 TLB and the walkers.
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
#include "tlb.h"
#include "translate.h"

struct hd_walk_cfg {
    struct hd_mode mode;     /* full; fixed:N a walk; ideal: no time */
    uint32_t walkers;        /* walks at once, in each unit */
    uint32_t queue;          /* walks that may wait; more block the L2 TLB */
    uint32_t batch;          /* walks that a walker takes at once */
    uint32_t per_core;       /* 1: every core has a unit of its own */
    uint32_t latency;        /* cycles from L1 TLB miss to the unit, one way */
    uint32_t memory_latency; /* cycles from a walker to the L2, one way; 0: the
                                crossbar's */
    uint32_t port; /* 1: walk reads leave by the port of the missing core */
    uint32_t memory; /* 1: walk reads skip the L2 cache */
};

struct hd_pwc_cfg {
    struct hd_mode mode;
    uint32_t style; /* 0: by physical PTE address, 1: by virtual prefix */
    uint32_t entries, ways, latency, ports;
    uint32_t line; /* style 0: bytes of a table that one entry holds */
};

struct hd_msc_cfg {
    uint32_t entries, ways, latency; /* 0 entries: there is none */
    uint32_t bits;                   /* 1: those of contiguity are in leaf entries */
};

struct hd_prefetch_cfg {
    uint32_t queue, walks;
};

struct hd_bypass_cfg {
    uint32_t entries; /* 0: no bypass cache */
};

struct hd_mmu; /* all units; translation/mmu.c */

struct hd_mmu_wiring {
    struct hd_ptables *tables; /* page tables of all applications */
    struct hd_faults *faults;  /* NULL: every page is mapped */
    struct hd_evict *evict;    /* told which pages are used; NULL: nobody */
    struct hd_treqs *treqs;
    struct hd_reqs *reqs;
    struct hd_below memory;      /* where PTE reads go: the L2 cache */
    hd_time memory_back;         /* ticks an answer takes back from there */
    uint32_t memory_client;      /* first client index of the walkers there */
    struct hd_tclient *clients;  /* answers for treq.client: the cores */
    const struct hd_slot *merge; /* tlb_merge of an L1 TLB, or NULL: answers
                                    then carry the run of a line of entries */
    uint32_t cores;
    uint32_t line;     /* bytes of a line of the L2 cache */
    uint32_t requests; /* most of all cores in flight; 0: treqs->room */
    const struct hd_tlb_cfg *l2tlb;
    const struct hd_walk_cfg *walk;
    const struct hd_pwc_cfg *pwc;
    const struct hd_msc_cfg *msc;
    const struct hd_bypass_cfg *bypass;
    const struct hd_prefetch_cfg *prefetch;
    bool room[3]; /* L1 TLBs, and buffers beside them, take translations that
                     policies start: [enum heddle_translate_to] */
};

/* Builds the units in the simulation's arena; returns NULL on error. */
struct hd_mmu *hd_mmu_open(struct hd_env *env, const struct hd_mmu_wiring *w);
void hd_mmu_close(struct hd_mmu *m);

/* Where core `core` sends its L1 TLB misses. */
struct hd_tbelow hd_mmu_below(struct hd_mmu *m, uint32_t core);

/* The answers to PTE reads: the memory calls this for the walkers' clients. */
struct hd_client hd_mmu_client(struct hd_mmu *m);

/* What the units did for an application, in the arena: whoever asks begins a
 * span anew by setting `peak` to `walks`, or `stalled` to 0. */
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

/* What the units count; l2tlb also counts hd_tlb_stats (tlb.h). */
extern const struct hd_stat_desc hd_mmu_stats[];
extern const uint32_t hd_mmu_stat_count;
extern const struct hd_stat_desc hd_prefetch_stats[];
extern const uint32_t hd_prefetch_stat_count;
extern const struct hd_setting hd_prefetch_settings[];
extern const uint32_t hd_prefetch_setting_count;
extern const struct hd_stat_desc hd_walk_stats[];
extern const uint32_t hd_walk_stat_count;
extern const struct hd_hist_desc hd_mmu_hists[];
extern const uint32_t hd_mmu_hist_count;
extern const struct hd_stat_desc hd_pwc_stats[];
extern const uint32_t hd_pwc_stat_count;

extern const struct hd_setting hd_walk_settings[];
extern const uint32_t hd_walk_setting_count;
extern const struct hd_setting hd_pwc_settings[];
extern const uint32_t hd_pwc_setting_count;
extern const struct hd_stat_desc hd_msc_stats[];
extern const uint32_t hd_msc_stat_count;
extern const struct hd_setting hd_msc_settings[];
extern const uint32_t hd_msc_setting_count;
extern const struct hd_setting hd_bypass_settings[];
extern const uint32_t hd_bypass_setting_count;

#endif

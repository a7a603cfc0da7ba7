/*
 * machine.h - all settings of a simulation in one struct, frozen before
 * cycle 0.  Each part declares its own struct and table; this file only puts
 * them side by side (the list of parts is parts.def).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MACHINE_H
#define HD_MACHINE_H

#include "kit/config.h"
#include "core/core.h"
#include "core/throttle.h"
#include "fabric/fabric.h"
#include "memory/cache.h"
#include "memory/compress.h"
#include "memory/dramspec.h"
#include "memory/l2.h"
#include "pages/manage.h"
#include "paging/evict.h"
#include "paging/remote.h"
#include "paging/fault.h"
#include "paging/link.h"
#include "translation/mmu.h"
#include "translation/pwc.h"
#include "pages/ptable.h"
#include "translation/tlb.h"
#include "variants/peers.h"

struct hd_sim_cfg {
#define HD_FIELDS_OF "sim.def"
#include "kit/rows.h"
};

struct hd_clock_cfg { /* kit/time.h */
#define HD_FIELDS_OF "clock.def"
#include "kit/rows.h"
};

struct hd_sample_cfg { /* sample.c */
#define HD_FIELDS_OF "sample.def"
#include "kit/rows.h"
};

struct hd_machine {
    struct hd_sim_cfg sim;
    struct hd_clock_cfg clock;
    struct hd_sample_cfg sample;
    struct hd_core_cfg core;
    struct hd_shared_cfg shared;
    struct hd_throttle_cfg throttle;
    struct hd_tlb_cfg l1tlb, l1side;
    struct hd_peers_cfg peers;
    struct hd_cache_cfg l1cache;
    struct hd_xbar_cfg xbar;
    struct hd_level_cfg utlb1, utlb2, utlb3;
    struct hd_tlb_cfg l2tlb;
    struct hd_bypass_cfg bypass;
    struct hd_walk_cfg walk;
    struct hd_pwc_cfg pwc;
    struct hd_msc_cfg msc;
    struct hd_prefetch_cfg prefetch;
    struct hd_fill_cfg fill;
    struct hd_walktable_cfg walktable;
    struct hd_groups_cfg groups;
    struct hd_cache_cfg l2cache;
    struct hd_dram_cfg dram;
    struct hd_compress_cfg compress;
    struct hd_vm_cfg vm;
    struct hd_manage_cfg memory;
    struct hd_fault_cfg fault;
    struct hd_driver_cfg uvm;
    struct hd_link_cfg link;
    struct hd_evict_cfg evict;
    struct hd_remote_cfg remote;
    struct hd_fabric_cfg fabric;
};

/* Units of an L2 TLB and walkers: one for each node, or each core. */
static inline uint32_t hd_machine_units(const struct hd_machine *m)
{
    return m->walk.per_core ? m->core.count : m->fabric.nodes;
}

/* heddle_config_shape (tool.h) */
struct heddle_shape_info;
int hd_machine_shape(const struct hd_machine *m, uint32_t i,
                     struct heddle_shape_info *out);

#endif

/*
 * core.h - the cores: resident warps, issue, coalescing, L1 TLB and L1 cache.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CORE_H
#define HD_CORE_H

#include "../core/config.h"
#include "../core/env.h"

struct hd_core_cfg {
    uint32_t count;        /* cores */
    uint32_t lanes;        /* threads of a warp, of programs: 32 or 64 */
    uint32_t width;        /* lanes that execute at once: an instruction holds
                              the issue port lanes / width cycles */
    uint32_t issue;        /* instructions issued a cycle */
    uint32_t alu_latency;  /* cycles */
    uint32_t scheduler;    /* 0 gto, 1 lrr */
    uint32_t warps;        /* resident at once, at most 64 */
    uint32_t threads;      /* resident at once */
    uint32_t blocks;       /* resident at once */
    uint32_t regs;         /* registers */
    uint32_t shared_bytes; /* shared memory */
    uint32_t queue;        /* memory instructions waiting at the load/store unit */
};

extern const struct hd_setting hd_core_settings[];
extern const uint32_t hd_core_setting_count;

#endif

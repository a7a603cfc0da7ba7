/*
 * time.h - clock domains over one exact integer time base.
 *
 * Each domain has a frequency in Hz.  The base clock is their least common
 * multiple, so every edge of every domain falls on an integer tick; 1020 MHz
 * and 1674 MHz give 284.58 GHz, 279 and 170 ticks a cycle.  Durations given in
 * ns are rounded up once, when settings freeze.  No floating point touches
 * the timing path.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TIME_H
#define HD_TIME_H

#include "base.h"
#include "diag.h"

enum hd_domain {
    HD_CLK_CORE,  /* cores and L1 */
    HD_CLK_ISSUE, /* issue slots: core clock times instructions a cycle */
    HD_CLK_L2,    /* interconnect, L2 cache, L2 TLB, walkers */
    HD_CLK_DRAM,  /* DRAM command clock */
    HD_CLK_LINK,  /* host link */
    HD_CLK_COUNT
};

struct hd_clocks {
    uint64_t hz[HD_CLK_COUNT];
    uint64_t base_hz;             /* least common multiple, <= 2^50 */
    uint64_t ticks[HD_CLK_COUNT]; /* ticks a cycle */
};

/* Computes base and ticks from hz[].  0, or HEDDLE_ECONFIG when the common
 * base would pass 2^50 Hz or a frequency is 0. */
int hd_clocks_init(struct hd_clocks *c, struct heddle_error *err);

/* n cycles of a domain, in ticks. */
static inline hd_time hd_ticks(const struct hd_clocks *c, enum hd_domain d,
                               uint64_t n)
{
    return n * c->ticks[d];
}

/* The first edge of the domain at or after t. */
static inline hd_time hd_edge(const struct hd_clocks *c, enum hd_domain d,
                              hd_time t)
{
    return hd_ceil_div(t, c->ticks[d]) * c->ticks[d];
}

/* Whole cycles of a domain that have begun by t (its cycle number at t). */
static inline uint64_t hd_cycle(const struct hd_clocks *c, enum hd_domain d,
                                hd_time t)
{
    return t / c->ticks[d];
}

/* ns, rounded up to ticks. */
hd_time hd_ticks_ns(const struct hd_clocks *c, uint64_t ns);

#endif

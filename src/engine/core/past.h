/*
 * past.h - loads that pass the L1 cache, and what l1d.c has for them.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PAST_H
#define HD_PAST_H

#include "core.h"

/* A line of a load that passes the L1.  False: blocked, to be tried again. */
bool hd_past_line(struct hd_core *c, uint32_t memop, uint64_t line, hd_time t,
                  hd_time ticks);

/* l1d.c: an MSHR for an access that is merged with none, or HD_NONE (blocked);
 * sends a dirty line to the L2, by way of the store queue. */
uint32_t hd_l1d_own_mshr(struct hd_core *c, uint64_t line, uint32_t memop);
void hd_l1d_write_back(struct hd_core *c, uint64_t line, hd_time t);
/* l1sector.c: what a load that passes leaves, functionally. */
void hd_l1sector_warm_past(struct hd_core *c, const struct hd_req *q,
                           uint64_t line);

#endif

/*
 * level.h - levels of uTLBs between the cores' L1 TLBs and the unit below
 * (mmu.h), which some cores share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LEVEL_H
#define HD_LEVEL_H

#include "subtlb.h"
#include "translate.h"

/* utlb1, utlb2, utlb3: those that there are, in this order from the cores. */
enum { HD_LEVELS = 3 };

struct hd_levels;
struct hd_mmu;

/* ---- levelgroups.c ------------------------------------------------------ */

/* Which instance of a level each core asks, as its share and groups say of the
 * cores of each node; how many there are, or 0: an error that names the level. */
uint32_t hd_level_groups(const struct hd_level_cfg *cfg, const char *name,
                         uint32_t cores, uint32_t nodes, uint16_t *instance,
                         struct heddle_error *err);

/* Whether the levels fit the cores and each other: 0, or an error.  *instances:
 * of all of them. */
int hd_levels_check(const struct hd_level_cfg *const cfg[HD_LEVELS],
                    uint32_t cores, uint32_t nodes, uint32_t *instances,
                    struct heddle_error *err);

/* ---- level.c ------------------------------------------------------------ */

/* Builds the levels above a unit, in the simulation's arena; there is one at
 * least.  NULL: an error. */
struct hd_levels *
hd_levels_open(struct hd_env *env, struct hd_mmu *m,
               const struct hd_level_cfg *const cfg[HD_LEVELS]);

/* Where a core sends its L1 TLB misses. */
struct hd_tbelow hd_levels_below(struct hd_levels *v, uint32_t core);

/* The unit answers a request, for the instant `at`, as a sender of that rank.
 * False: no level has asked for it, and the core is to be notified. */
bool hd_levels_answer(struct hd_levels *v, hd_time at, uint32_t treq,
                      uint32_t rank);

/* A request has found that its page is not resident, and will wait for it
 * outside: it leaves the levels. */
void hd_levels_leave(struct hd_levels *v, hd_time now, uint32_t treq);

/* A shootdown (hd_tlb_shoot) in all levels, which take no look-up before
 * `until`. */
void hd_levels_shoot(struct hd_levels *v, uint32_t app, hd_vpn vpn,
                     uint64_t pages, hd_time until);

#endif

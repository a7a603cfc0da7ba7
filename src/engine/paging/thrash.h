/*
 * thrash.h - thrashing: which pages move between processors again and again,
 * and what is done about it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_THRASH_H
#define HD_THRASH_H

#include "kit/config.h"
#include "kit/env.h"
#include "manager.h"
#include "points/slots.h"

/* Settings of the group uvm (driver.c). */
struct hd_thrash_cfg {
    uint32_t threshold;     /* events that make a page thrash */
    uint32_t pin_threshold; /* throttlings after which it is pinned */
    uint32_t lapse;         /* us */
    uint32_t votes;         /* that change the lapse */
    uint32_t nap, epoch;    /* lapses */
    uint32_t pin;           /* lapses; 0: for good */
    uint32_t max_resets;    /* of a block */
    uint32_t as_released;   /* 1: not as it is meant to be */
};

enum hd_thrash_how { HD_THRASH_NONE, HD_THRASH_DRIVER, HD_THRASH_REFAULT };

enum hd_thrash_stat {
#define HD_COUNTERS_OF "paging/thrash.def"
#include "kit/rows.h"
    HD_THRASH_STATS
};

enum { HD_THRASH_WORDS = HD_LARGE_PAGES / 64 };

struct hd_thrash;

struct hd_thrash_wiring {
    const struct hd_thrash_cfg *cfg;
    uint32_t how;        /* enum hd_thrash_how, not NONE */
    uint32_t refaults;   /* returns of a page that do not yet count as */
    uint64_t refault_ns; /* thrashing, within so long */
    struct hd_ptables *tables;
    struct hd_manager manager;
};

/* Builds it in the simulation's arena; NULL on error. */
struct hd_thrash *hd_thrash_open(struct hd_env *env,
                                 const struct hd_thrash_wiring *w);

/* A page is sent to the GPU; before: it has been resident before.  A page goes
 * back because the application's host touches it. */
void hd_thrash_to_gpu(struct hd_thrash *t, hd_time now, uint32_t app,
                      hd_vpn vpn, bool before);
void hd_thrash_to_host(struct hd_thrash *t, hd_time now, uint32_t app,
                       hd_vpn vpn);

/* What becomes of a page that `by` has touched and does not have; can_map: it
 * can be mapped on the host for the GPU.  THROTTLE: it is asked again at
 * *until, or before. The answer holds for the `pages` from vpn on. */
enum heddle_thrash hd_thrash_ask(struct hd_thrash *t, hd_time now,
                                 enum heddle_processor by, uint32_t app,
                                 hd_vpn vpn, uint32_t pages, bool writes,
                                 bool can_map, hd_time *until);

/* Ticks of a nap: a page that is throttled waits no longer. */
hd_time hd_thrash_nap(const struct hd_thrash *t);

/* Whether a page thrashes; those of an aligned 2 MB that do, a bit each;
 * whether it is pinned on the host. */
bool hd_thrash_has(const struct hd_thrash *t, uint32_t app, hd_vpn vpn);
void hd_thrash_set(const struct hd_thrash *t, uint32_t app, hd_vpn vpn,
                   uint64_t set[HD_THRASH_WORDS]);
bool hd_thrash_on_host(const struct hd_thrash *t, uint32_t app, hd_vpn vpn);

/* What was known of pages is forgotten: the program's host has them moved, or
 * their allocation has gone. */
void hd_thrash_forget(struct hd_thrash *t, uint32_t app, hd_vpn vpn,
                      uint64_t pages);

#endif

/*
 * evict.h - eviction: pages of the GPU's memory are written back to the host's,
 * so that others find frames.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_EVICT_H
#define HD_EVICT_H

#include "kit/config.h"
#include "kit/env.h"
#include "link.h"
#include "manager.h"
#include "remote.h"
#include "thrash.h"

struct hd_evict_cfg {
#define HD_FIELDS_OF "paging/evict.def"
#include "kit/rows.h"
};

/* What is evicted at once, and with it. */
enum hd_evict_unit {
    HD_EVICT_4K,
    HD_EVICT_64K,
    HD_EVICT_2M,
    HD_EVICT_TREE /* 64 KB, and what hd_tree_stay leaves out */
};

enum hd_evict_trigger { HD_EVICT_EXHAUSTED, HD_EVICT_WATERMARK };
enum hd_evict_write_back { HD_WRITE_BACK_ALWAYS, HD_WRITE_BACK_DIRTY };

enum hd_evict_stat {
#define HD_COUNTERS_OF "paging/evict.def"
#include "kit/rows.h"
    HD_EVICT_STATS
};

struct hd_evict;

struct hd_evict_wiring {
    const struct hd_evict_cfg *cfg;
    struct hd_ptables *tables;
    struct hd_link *link;
    uint32_t pins; /* pages that may be pinned at once */
    struct hd_manager manager;
    struct hd_remote *remote; /* notified of what is evicted; NULL: none is */
    struct hd_thrash *thrash; /* says which pages thrash; NULL: none does */
};

/* Builds it in the simulation's arena; NULL on error. */
struct hd_evict *hd_evict_open(struct hd_env *env,
                               const struct hd_evict_wiring *w);

/* Sets the part that waits for frames: room(self, now) has it try again, needs
 * says which page needs what, and what may be set for that, as text. */
typedef void hd_evict_needs(void *self, char *text, size_t room);
void hd_evict_client(struct hd_evict *v, void (*room)(void *self, hd_time now),
                     hd_evict_needs *needs, void *self);

/* Units that have been evicted since the beginning. */
uint64_t hd_evict_done(const struct hd_evict *v);

/* A page of an application has found no frame: units are evicted, one after the
 * other, and room() is called after each, until it does not ask for more. */
void hd_evict_want(struct hd_evict *v, hd_time now, uint32_t app);

/* Frames were taken for pages of application `by`, or (HD_APP_NONE) freed, and
 * no fault waits for some: asks evict_trigger. */
void hd_evict_taken(struct hd_evict *v, hd_time now, uint32_t by);

/* A transfer from the host, or a page of it, is over: what could not begin
 * perhaps can. */
void hd_evict_wake(struct hd_evict *v, hd_time now);

/* Allocations of an application were freed, so there may be frames without an
 * eviction. */
void hd_evict_freed(struct hd_evict *v, hd_time now, uint32_t app);

/* The manager's instant for one eviction, if it is still asked for. */
void hd_evict_apply(struct hd_evict *v, hd_time now);

/* There is other advice on pages from vpn on (hd_ptables_advice). */
void hd_evict_advised(struct hd_evict *v, uint32_t app, hd_vpn vpn,
                      uint32_t pages);

/* The host touches pages from vpn on, or wants them (enum heddle_move): those
 * that are resident are evicted; where it reads, pages that are mostly read
 * stay, and what was written of them is copied.  One range of an application at
 * a time. */
void hd_evict_range(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                  uint32_t pages, uint32_t how);

/* A page has arrived from the host and is mapped; before: it has been resident
 * before. */
void hd_evict_arrived(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                   uint32_t pages, bool before);

/* The page from vpn on stays as long as it is pinned; pins are counted.  A pin
 * is loose when its request has been issued again: it will end by itself. */
void hd_evict_pin(struct hd_evict *v, uint32_t app, hd_vpn vpn, uint32_t pages);
void hd_evict_loosen(struct hd_evict *v);
void hd_evict_unpin(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn,
                    bool loose);

/* A walk has ended at the page that holds vpn. */
void hd_evict_touch(struct hd_evict *v, hd_time now, uint32_t app, hd_vpn vpn);

#endif

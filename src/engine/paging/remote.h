/*
 * remote.h - host-mapped pages, which are used in the host's memory: loads and
 * stores cross the link, and access counters say when a page should migrate.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_REMOTE_H
#define HD_REMOTE_H

#include "memory/request.h"
#include "link.h"
#include "manager.h"
#include "thrash.h"

struct hd_remote_cfg {
#define HD_FIELDS_OF "paging/remote.def"
#include "kit/rows.h"
};

/* What happens to a page that faults: it migrates; it is mapped on the host. */
enum hd_remote_access { HD_REMOTE_MIGRATE, HD_REMOTE_MAP };

/* Access counters; settings of the group uvm (driver.c). */
struct hd_counter_cfg {
    uint32_t migrate;   /* 1: what is accessed often remotely migrates */
    uint32_t granule;   /* 0: 64 KB, 1: 2 MB */
    uint32_t threshold; /* accesses */
    uint32_t batch;     /* notifications that the host serves together */
    uint32_t evicted;   /* 1: with migrate, what is evicted is used there */
};

enum hd_remote_stat {
#define HD_COUNTERS_OF "paging/remote.def"
#include "kit/rows.h"
    HD_REMOTE_STATS
};

/* Accesses that are never reached; thresholds are less. */
enum { HD_COUNTER_NEVER = 1 << 16 };

struct hd_remote;

struct hd_remote_wiring {
    const struct hd_remote_cfg *cfg;
    const struct hd_counter_cfg *counters;
    struct hd_ptables *tables;
    struct hd_link *link;
    struct hd_reqs *reqs;
    const struct hd_client *clients; /* [req.client] */
    struct hd_manager manager;
    struct hd_thrash *thrash; /* says which pages are pinned; NULL: none is */
};

/* Builds it in the simulation's arena; NULL on error. */
struct hd_remote *hd_remote_open(struct hd_env *env,
                                 const struct hd_remote_wiring *w);

/* Takes requests for lines of the host's memory: struct hd_below's. */
struct hd_below hd_remote_below(struct hd_remote *r);

/* Whether it depends on the point `migrate` what happens to a page. */
bool hd_remote_asks(const struct hd_remote *r);

/* Asks it for the pages of a fault; writes: a store waits for one.  0: they
 * migrate; else they are mapped on the host, and so many accesses over the link
 * to its granule raise a notification. */
uint32_t hd_remote_ask(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                       uint32_t pages, bool writes);

/* A page is mapped on the host, after that answer. */
void hd_remote_mapped(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                      uint32_t pages, uint32_t answer);

/* Pages from vpn on are evicted. */
void hd_remote_count_eviction(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                    uint32_t pages);

/* Pages of the range that are mapped on the host, and not pinned there, are not
 * mapped from now on, and the TLBs drop them; returns how many base pages there
 * are from vpn on to the last of them. */
uint32_t hd_remote_recall(struct hd_remote *r, uint32_t app, hd_vpn vpn,
                          uint32_t pages);

/* Driver mode: the answer of `migrate` for what is evicted, or 0: it is not
 * mapped on the host. */
uint32_t hd_remote_on_eviction(const struct hd_remote *r);

/* Driver mode: whether notifications wait; takes a batch of them, in the order
 * of addresses; the next of the batch, HD_NONE: it is over; *block: it is in
 * another 2 MB than the one before.  Asks `migrate` for it: true: w.migrate()
 * will be called. */
bool hd_remote_waits(const struct hd_remote *r);
void hd_remote_take(struct hd_remote *r);
uint32_t hd_remote_next(struct hd_remote *r, bool *block);
bool hd_remote_decide(struct hd_remote *r, hd_time now, uint32_t granule);

/* The manager's instant for a granule whose pages are to migrate. */
void hd_remote_apply(struct hd_remote *r, hd_time now, uint32_t granule);

#endif

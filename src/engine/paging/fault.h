/*
 * fault.h - far faults: pages that migrate from the host when touched.
 *
 * A walk that ends at a page that is not resident hands its requests over; they
 * wait here, outside any MSHR, until the page is mapped, and are issued again.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FAULT_H
#define HD_FAULT_H

#include "kit/config.h"
#include "kit/env.h"
#include "driver.h"
#include "evict.h"
#include "pages/frame.h"
#include "link.h"
#include "manager.h"
#include "remote.h"
#include "translation/translate.h"

struct hd_fault_cfg {
#define HD_FIELDS_OF "paging/fault.def"
#include "kit/rows.h"
};

/* What migrates for a fault: its page; all pages that are not resident of the
 * aligned 64 KB or 2 MB around it. */
enum hd_fault_transfer { HD_TRANSFER_PAGE, HD_TRANSFER_64K, HD_TRANSFER_2M };

/* What is prefetched with a fault: nothing; the next 64 KB; the rest of the 512
 * KB from its page on; a page of the 2 MB around it, drawn;
 * what a tree over the 2 MB says (tree.c), in one form or the other. */
enum hd_fault_prefetch {
    HD_PREFETCH_NONE,
    HD_PREFETCH_SEQUENTIAL,
    HD_PREFETCH_LOCALITY,
    HD_PREFETCH_RANDOM,
    HD_PREFETCH_TREE,
    HD_PREFETCH_DRIVER
};

/* Most entries that are in flight without a fault. */
enum { HD_FAULT_PREFETCHES = 4096 };

/* When requests are issued again: with their batch, or with their page. */
enum hd_fault_replay { HD_REPLAY_BATCH, HD_REPLAY_PAGE };

enum hd_fault_stat {
#define HD_COUNTERS_OF "paging/fault.def"
#include "kit/rows.h"
    HD_FAULT_STATS
};

struct hd_faults;

struct hd_fault_wiring {
    const struct hd_fault_cfg *cfg;
    const struct hd_driver_cfg *driver;
    struct hd_ptables *tables;
    struct hd_treqs *treqs;
    struct hd_link *link;
    uint32_t room; /* requests that may wait at once; on the link, and as
                      pages: HD_FAULT_PREFETCHES more */
    /* Cores, by treq.core: notified that a request of theirs waits for a fault.
     * From then on its treq.client is `replay_client` higher. */
    struct hd_tclient *cores;
    uint32_t replay_client;
    uint32_t core_count;
    struct hd_manager manager;
    struct hd_evict *evict; /* NULL: no page is evicted */
    struct hd_remote *remote; /* says which pages are mapped on the host; NULL:
                                 none */
    struct hd_thrash *thrash; /* says which pages thrash; NULL: none does */
};

/* The part to which requests return. */
struct hd_fault_client {
    /* A request is issued again at `now`; src is the sender's rank. */
    void (*resume)(void *self, hd_time now, uint32_t src, uint32_t treq);
    /* A page has been mapped. */
    void (*mapped)(void *self, uint32_t app, hd_vpn vpn, uint32_t pages);
    void *self;
};

/* Builds the far-fault unit in the simulation's arena; NULL on error. */
struct hd_faults *hd_faults_open(struct hd_env *env,
                                 const struct hd_fault_wiring *w);

/* Memory has been compacted for a page that found no frame. */
void hd_faults_again(struct hd_faults *f, hd_time now, uint32_t fault);

/* The pages of a fault are mapped on the host. */
void hd_faults_map_remote(struct hd_faults *f, hd_time now, uint32_t fault);

/* Pages from vpn on that are not resident migrate without having faulted, as
 * far as so many can be in flight. */
void hd_faults_migrate(struct hd_faults *f, hd_time now, uint32_t app,
                       hd_vpn vpn, uint32_t pages);

/* The application's host prefetches all pages of the range that are not
 * resident, after the link's latency; one range of an application at a time. */
void hd_faults_prefetch(struct hd_faults *f, hd_time now, uint32_t app,
                        hd_vpn vpn, uint32_t pages);

/* Pages of the range that are not resident are mapped on the host, as far as
 * `migrate` says so and no request waits for them; evicted: those that have
 * been evicted, as hd_remote_on_eviction says. */
void hd_faults_map_range(struct hd_faults *f, hd_time now, uint32_t app,
                         hd_vpn vpn, uint32_t pages, bool evicted);

/* Driver mode: access counters have a notification. */
void hd_faults_notified(struct hd_faults *f, hd_time now);

/* Sets the part that hands requests over; before the first event. */
void hd_faults_client(struct hd_faults *f, struct hd_fault_client c);

/* A page that is not resident is so at once, without time (functional warming);
 * requests that wait for it continue when it would have arrived.  False: there
 * is no such page, or an error in env->err: it finds no frame. */
bool hd_faults_warm(struct hd_faults *f, uint32_t app, hd_vpn vpn);

/* Whether two pages of an application that are not resident wait together. */
bool hd_faults_together(const struct hd_faults *f, uint32_t app, hd_vpn a,
                        hd_vpn b);

/* Takes the `n` requests of the list from `first` on; the page of the first
 * is not resident, and the others wait together with it.  Each waits from
 * `now`, or from the end of its look-up. */
void hd_faults_enter(struct hd_faults *f, hd_time now, uint32_t first,
                     uint32_t n);

/* A core has the answer of a request that waited for a fault, at `now`; src is
 * the core's rank.  Its page may be evicted again. */
void hd_faults_served(struct hd_faults *f, hd_time now, uint32_t src,
                      uint32_t treq);

/* Driver mode, uvm.utlb_merge=false: so many accesses, in all, have joined the
 * one that a request was sent for; src is the core's rank. */
void hd_faults_joined(struct hd_faults *f, hd_time now, uint32_t src,
                      uint32_t treq, uint32_t joined);

/* How long a request has waited for faults up to now, in all; whether one of
 * those found no frame until other pages were evicted, for a policy. */
hd_time hd_faults_waited(const struct hd_faults *f, uint32_t treq, hd_time now);
bool hd_faults_evicted(const struct hd_faults *f, uint32_t treq);

/* Driver mode: faults and notifications taken since the beginning.  Ticks that
 * may pass without one, or without a transfer over the link, as pages that
 * thrash are throttled, in any mode. */
uint64_t hd_faults_steps(const struct hd_faults *f);
hd_time hd_faults_step(const struct hd_faults *f);

/* Driver mode: until when the driver is at work, which may be over; whether
 * replays help no request, many times in a row, and since when. */
hd_time hd_faults_until(const struct hd_faults *f);
bool hd_faults_vain(const struct hd_faults *f, hd_time *since);

/* What far faults wait for, and which settings that depends on, as the end of a
 * message; nothing where none waits. */
void hd_faults_why(const struct hd_faults *f, char *text, size_t room);

/* In the arena: the instant at which cores will see the next page that arrives,
 * or HD_NEVER; known before any core can have run up to it. */
const hd_time *hd_faults_next(const struct hd_faults *f);

/* Whether a page that a translation covers is resident: one of a coalesced
 * region does not say so (ptable.c).  f: NULL where all pages are. */
static inline bool hd_faults_here(const struct hd_faults *f,
                                  const struct hd_ptables *t, uint32_t app,
                                  hd_vpn vpn, const struct hd_xlate *x)
{
    return HD_LIKELY(f == NULL) || x->page_pages != HD_LARGE_PAGES ||
           hd_ptables_resident(t, app, vpn);
}

#endif

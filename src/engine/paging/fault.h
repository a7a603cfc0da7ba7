/*
 * fault.h - far faults: pages that are brought from the host when touched.
 *
 * A walk that ends at an absent page hands its requests over; they wait here,
 * outside any MSHR, until the page is mapped, and are issued again.
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
#include "pages/ptable.h"
#include "remote.h"
#include "translation/translate.h"

struct hd_fault_cfg {
#define HD_FIELDS_OF "paging/fault.def"
#include "kit/rows.h"
};

/* What comes over the link for a fault: its page; all absent pages of the
 * aligned 64 KB or 2 MB around it. */
enum hd_fault_transfer { HD_TRANSFER_PAGE, HD_TRANSFER_64K, HD_TRANSFER_2M };

/* What comes with a fault that nobody has touched: nothing; the next 64 KB; the
 * rest of the 512 KB from its page on; a page of the 2 MB around it, drawn;
 * what a tree over the 2 MB says (tree.c), in one form or the other. */
enum hd_fault_prefetch {
    HD_PREFETCH_NONE,
    HD_PREFETCH_SEQUENTIAL,
    HD_PREFETCH_LOCALITY,
    HD_PREFETCH_RANDOM,
    HD_PREFETCH_TREE,
    HD_PREFETCH_DRIVER
};

/* Most pages, or transfers, that are on their way without a fault. */
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
    /* Cores, by treq.core: told that a request of theirs waits for a fault.
     * From then on its treq.client is `replay_client` higher. */
    struct hd_tclient *cores;
    uint32_t replay_client;
    uint32_t core_count;
    /* Told that a page has come and can be used, and where; may be NULL. */
    void (*came)(void *self, hd_time now, uint32_t app, hd_vpn vpn,
                 uint32_t pages);
    /* A page has found no frame: compacts memory at an instant of its own, and
     * calls hd_faults_again(fault) then. */
    void (*make_room)(void *self, hd_time now, uint32_t app, uint32_t fault);
    /* Told that hd_faults_send is over. */
    void (*hinted)(void *self, hd_time now, uint32_t app);
    void *manager;          /* their self */
    struct hd_evict *evict; /* NULL: nothing leaves memory */
    /* Says which pages are used where they are, NULL: none; the manager calls
     * hd_faults_far(fault) at an instant of its own for those of a fault. */
    struct hd_remote *remote;
    void (*map_far)(void *self, hd_time now, uint32_t fault);
    struct hd_thrash *thrash; /* says which pages go to and fro; NULL: nobody */
};

/* Whom requests go back to. */
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
void hd_faults_close(struct hd_faults *f);

/* Memory has been compacted for a page that found no frame. */
void hd_faults_again(struct hd_faults *f, hd_time now, uint32_t fault);

/* The pages of a fault are mapped where they are. */
void hd_faults_far(struct hd_faults *f, hd_time now, uint32_t fault);

/* Absent pages from vpn on come without having faulted, as far as so many can
 * be on their way. */
void hd_faults_bring(struct hd_faults *f, hd_time now, uint32_t app, hd_vpn vpn,
                     uint32_t pages);

/* The host sends all absent pages of the range, after the link's latency; one
 * range of an application at a time. */
void hd_faults_send(struct hd_faults *f, hd_time now, uint32_t app, hd_vpn vpn,
                    uint32_t pages);

/* Absent pages of the range are mapped where they are, as far as `migrate` says
 * so and nobody waits for them; left: those that have left memory, as
 * hd_remote_evicted says. */
void hd_faults_reach(struct hd_faults *f, hd_time now, uint32_t app, hd_vpn vpn,
                     uint32_t pages, bool left);

/* Driver mode: access counters have a notification. */
void hd_faults_notified(struct hd_faults *f, hd_time now);

/* Says who hands requests over; before the first event. */
void hd_faults_client(struct hd_faults *f, struct hd_fault_client c);

/* An absent page is here at once, without time (functional warming); those that
 * wait for it go on when it would have come.  False: there is no such page, or an error in
 * env->err: it finds no frame. */
bool hd_faults_warm(struct hd_faults *f, uint32_t app, hd_vpn vpn);

/* Whether two absent pages of an application wait together. */
bool hd_faults_together(const struct hd_faults *f, uint32_t app, hd_vpn a,
                        hd_vpn b);

/* Takes the `n` requests of the list from `first` on; the page of the first
 * is absent, and the others wait together with it.  Each waits from `now`, or
 * from the end of its look-up. */
void hd_faults_enter(struct hd_faults *f, hd_time now, uint32_t first,
                     uint32_t n);

/* A core has the answer of a request that waited for a fault, at `now`; src is
 * the core's rank.  Its page may leave again. */
void hd_faults_served(struct hd_faults *f, hd_time now, uint32_t src,
                      uint32_t treq);

/* How long a request has waited for faults up to now, in all. */
hd_time hd_faults_waited(const struct hd_faults *f, uint32_t treq, hd_time now);

/* Driver mode: faults and notifications taken since the beginning; ticks that
 * may pass without one, or a transfer over the link, as pages are not served
 * that thrash, in any mode. */
uint64_t hd_faults_steps(const struct hd_faults *f);
hd_time hd_faults_step(const struct hd_faults *f);

/* In the arena: the instant at which cores will see the next page that comes,
 * or HD_NEVER; known before any core can have run on to it. */
const hd_time *hd_faults_next(const struct hd_faults *f);

/* Whether a page is there that a translation covers: one of a coalesced region
 * does not say so (ptable.c).  f: NULL where all pages are. */
static inline bool hd_faults_here(const struct hd_faults *f,
                                  const struct hd_ptables *t, uint32_t app,
                                  hd_vpn vpn, const struct hd_xlate *x)
{
    return HD_LIKELY(f == NULL) || x->page_pages != HD_LARGE_PAGES ||
           hd_ptables_resident(t, app, vpn);
}

#endif

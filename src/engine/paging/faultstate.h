/*
 * faultstate.h - the far-fault station's state, for fault.c and the files of
 * its mechanisms, which alone include it.
 *
 * fault.c is the plain station; what a proposal or a driver adds is a file of
 * its own, off by default, and works on this state:
 *
 *   framewait.c     faults that wait for frames, and pinned pages
 *   prefetcher.c    pages migrated with a fault
 *   residency.c     pages that stay on the host, or are throttled; pages that
 *                   access counters have migrated
 *   hostprefetch.c  ranges that the application's host prefetches
 *   driverloop.c    driver mode: batches, blocks and replays of the UVM driver
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FAULTSTATE_H
#define HD_FAULTSTATE_H

#include "kit/rng.h"
#include "memory/mshr.h"
#include "points/slots.h"
#include "fault.h"

/* The station's events. */
enum {
    HD_FAULT_EV_DRIVE, /* the host's latency for a batch is over */
    HD_FAULT_EV_BLOCK, /* driver mode: uvm.base_latency is over */
    HD_FAULT_EV_PAGE,  /* a page, not the last of its transfer, has crossed */
    HD_FAULT_EV_END,   /* a transfer has */
    HD_FAULT_EV_ANSWERED, /* a request has its answer: its pin goes */
    HD_FAULT_EV_RANGE,    /* the link's latency for a host's range is over */
    HD_FAULT_EV_NOTICE    /* driver mode: the next notification */
};

enum hd_fault_state {
    HD_FAULT_BUFFERED,
    HD_FAULT_AT_HOST,
    HD_FAULT_ON_LINK,
    HD_FAULT_ARRIVED
};

/* Why pages migrate that no request waited for: a prefetcher's choice; an
 * access counter's notification; the application's host prefetches them. */
enum hd_fault_cause {
    HD_FAULT_BY_PREFETCHER = 1,
    HD_FAULT_BY_COUNTER,
    HD_FAULT_BY_HOST
};

/* A page that faulted, or what migrates around it: entry of the MSHRs with the
 * same index, whose list holds its requests. */
struct hd_fault {
    hd_vpn vpn; /* first of its page, or of what migrates */
    hd_time born, began, driven, sent, arrived;
    hd_time link_begin, link_end; /* its transfer is on the link */
    hd_time due;                  /* its next page will be mapped */
    uint32_t pages;
    uint32_t span;       /* base pages from its first to its transfer's last */
    uint32_t total;      /* base pages of its transfer */
    uint64_t bytes;      /* of those, on the link */
    uint32_t crossed;    /* of those: have when its next page is mapped */
    uint32_t at;         /* those before this one have */
    uint32_t more;       /* the next of its transfer */
    uint32_t requesters; /* of its requests: replayed before its end */
    uint32_t next;       /* of the buffer, or of its batch */
    uint32_t head;       /* first fault of its batch */
    uint32_t left;       /* of a batch's first: transfers that are not over */
    uint32_t frame_next; /* the next that waits for frames */
    uint8_t app, state;  /* enum hd_fault_state */
    uint8_t prefetched;  /* enum hd_fault_cause; 0: it faulted */
    uint32_t remote;     /* answer of `migrate`, + 1; 0: not asked yet */
};

/* What the host of an application prefetches. */
struct hd_fault_range {
    uint64_t vpn, end; /* pages that are not in flight yet */
    uint32_t left;     /* entries that are not over */
    uint32_t state;
};

enum { HD_RANGE_DONE, HD_RANGE_OPEN, HD_RANGE_BUSY };

/* How long a request has waited for faults; by its number in the pool. */
struct hd_fault_wait {
    hd_time since;  /* the beginning of the wait under way, or HD_NEVER */
    hd_time total;  /* the waits that are over */
    uint64_t pin;   /* page that it pins, + 1; 0: none */
    uint32_t loose; /* 1: it has been issued again */
};

struct hd_fault_station {
    uint32_t first, last, waiting;    /* the buffer */
    uint32_t serving;                 /* batches under way */
    uint32_t prefetches;              /* entries that did not fault */
    uint32_t frame_first, frame_last; /* wait for frames, HD_NONE: none */
    hd_time next;                     /* hd_faults_next */
    struct hd_rng draws;              /* of fault.prefetch=random */
    /* Driver mode: requests that wait for a replay; whether the driver is at
     * work; faults of its batch whose blocks have not had their turn, and those
     * that wait for the replay. */
    uint32_t parked, parked_last, requests;
    uint32_t busy;
    uint32_t todo, done;
    uint32_t by_counter; /* entries in flight for a notification */
    uint64_t notices;    /* notifications served so far */
    uint32_t ranges;     /* applications whose hosts prefetch */
    struct hd_fault_range range[HD_MAX_APPS];
};

struct hd_faults {
    struct hd_env *env;
    struct hd_fault_wiring w;
    struct hd_fault_cfg cfg;
    struct hd_fault_client user;
    struct hd_fault_station *s; /* arena */
    struct hd_mshr open;        /* by page */
    struct hd_fault *v;         /* arena: [entry] */
    struct hd_fault_wait *wait; /* arena: [treqs->room] */
    struct hd_driver *driver;   /* NULL: paper mode */
    struct hd_slot batch, prefetch;
    struct hd_stat stat;
    struct hd_hist *latency, *requesters;
    uint64_t *ask; /* scratch for questions */
    hd_time cycle;
    hd_time base, block; /* driver mode: a batch, and a block of it */
    uint32_t rank, client;
    uint32_t how; /* enum hd_fault_prefetch */
};

static inline uint64_t hd_fault_cycles(const struct hd_faults *f, hd_time span)
{
    return span / f->cycle;
}

static inline uint64_t *hd_fault_row(const struct hd_faults *f, uint32_t app)
{
    return hd_count_row(&f->stat, 0, app);
}

/* The entry of a page, by its first base page, or HD_NONE. */
static inline uint32_t hd_fault_find(const struct hd_faults *f, uint32_t app,
                                     hd_vpn vpn)
{
    return hd_mshr_find(&f->open, vpn.v | (uint64_t)app << 52);
}

#endif

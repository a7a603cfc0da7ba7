/*
 * faultstate.h - the far-fault station's state, for fault.c and the files of
 * its mechanisms, which alone include it.
 *
 * fault.c is the plain station; what a proposal or a driver adds is a file of
 * its own, off by default, and works on this state:
 *
 *   faultset.c      faults that share transfers
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
#include "tree.h"

/* The station's events. */
enum {
    HD_FAULT_EV_DRIVE, /* the host's latency for a batch is over */
    HD_FAULT_EV_PLACE, /* driver mode: a block may get its frames */
    HD_FAULT_EV_FETCH, /* driver mode: the interrupt has reached the driver */
    HD_FAULT_EV_BLOCK, /* driver mode: the next block has its turn */
    HD_FAULT_EV_PAGE,  /* a page, not the last of its transfer, has crossed */
    HD_FAULT_EV_END,   /* a transfer has */
    HD_FAULT_EV_ANSWERED, /* a request has its answer: its pin goes */
    HD_FAULT_EV_RANGE,    /* the link's latency for a host's range is over */
    HD_FAULT_EV_NOTICE,   /* driver mode: the next notification */
    HD_FAULT_EV_JOINED    /* driver mode: accesses have joined a request */
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
    uint8_t evicted;     /* 1: it found no frame until others were evicted */
    uint32_t remote;     /* answer of `migrate`, + 1; 0: not asked yet */
    uint16_t decided;    /* driver mode: enum hd_map_host, + 1; 0: not yet */
    uint16_t launch;     /* the row of counters of the launch that asked first
                            (kit/stat.h), or 0 */
};

/* Pages that were sent, and their bytes on the link. */
struct hd_fault_sum {
    uint64_t pages, bytes;
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
    uint32_t evicted; /* 1: a fault was, that found no frame at first */
    uint32_t joined;  /* accesses beside its own that have packets */
};

struct hd_fault_station {
    uint32_t first, last, waiting;    /* the buffer */
    uint32_t serving;                 /* batches under way */
    uint32_t prefetches;              /* entries that did not fault */
    uint32_t frame_first, frame_last; /* wait for frames, HD_NONE: none */
    uint32_t took; /* application whose pages got frames since the last
                      hd_framewait_balance(), or HD_APP_NONE */
    hd_time next;                     /* hd_faults_next */
    struct hd_rng draws;              /* of fault.prefetch=random */
    /* Driver mode: requests that wait for a replay; whether the driver is at
     * work; faults of its batch whose blocks have not had their turn, and those
     * that wait for the replay. */
    uint32_t parked, parked_last, requests;
    uint32_t busy;
    uint32_t todo, done;
    uint32_t managing; /* 1: it is at a block, or before the first */
    uint32_t copying;  /* blocks of the batch that are not over */
    uint32_t vain; /* replays in a row that found no request's page resident */
    hd_time useful; /* the last one that did */
    hd_time until;  /* the driver's time that is posted */
    struct hd_driver_record record; /* of the batch under way */
    uint32_t by_counter; /* entries in flight for a notification */
    uint64_t notices;    /* notifications served so far */
    uint64_t notice_pages, notice_before; /* of the one at hand: pages sent, and
                                             evictions before it */
    hd_time notice_from;                  /* its pages were unmapped */
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
    struct hd_driver_times t; /* driver mode */
    uint32_t rank, client;
    uint32_t how; /* enum hd_fault_prefetch */
};

static inline uint64_t hd_fault_cycles(const struct hd_faults *f, hd_time span)
{
    return span / f->cycle;
}

/* What is counted is for the launch of an entry. */
static inline void hd_fault_count_for(const struct hd_faults *f, uint32_t e)
{
    hd_hand_put(&f->env->stats->hand, f->v[e].launch);
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

/* ---- fault.c ------------------------------------------------------------ */

/* Instead of a number of pages: what a fault needs before it has its frames. */
enum { HD_FAULT_WANTS_COMPACT = UINT32_MAX - 1, HD_FAULT_WANTS_EVICT };

/* What migrates with a page that is not resident: it, or fault.transfer of
 * memory around it. */
struct hd_xlate hd_fault_unit(const struct hd_faults *f,
                              const struct hd_xlate *page);
/* A note of a fault's; vpn, pages: those that faulted, or have arrived. */
void hd_fault_note(struct hd_faults *f, enum heddle_note note, uint32_t fault,
                   hd_vpn vpn, uint32_t pages, hd_time now);
/* The default of fault_batch; an error: it has said that of `waiting` faults
 * none is served, and no batch is under way. */
int64_t hd_fault_batch_default(void *self, const void *question);
void hd_fault_refuse_none(struct hd_faults *f, hd_time now, uint32_t waiting);
/* A request waits from `at` on. */
void hd_fault_park(struct hd_faults *f, hd_time at, uint32_t treq);
/* A batch's latency is over: its faults get frames and are transferred; the
 * faults of a batch from one on are; again: memory was compacted for it. False:
 * one waits for frames, or there is an error. */
void hd_fault_drive(struct hd_faults *f, hd_time now, uint32_t head);
bool hd_fault_transfer(struct hd_faults *f, hd_time now, uint32_t fault,
                       bool again);
/* A fault's pages get their frames.  Base pages; 0 on error; or what it WANTS
 * because some have none yet. */
uint32_t hd_fault_place(struct hd_faults *f, const struct hd_fault *x,
                        bool again);
/* Sends the pages of a fault, and of those behind it in its transfer, over the
 * link. */
void hd_fault_ship(struct hd_faults *f, hd_time now, uint32_t fault,
                   uint32_t pages);
/* What a page that waits for frames needs, and whose it is, as text (of
 * hd_evict_client). */
void hd_fault_needs(void *self, char *text, size_t room);
/* Keeps what hd_faults_next says. */
void hd_fault_schedule(struct hd_faults *f);
/* A request is issued again; those of a fault for some pages are. */
void hd_fault_issue(struct hd_faults *f, hd_time now, uint32_t treq);
void hd_fault_resume(struct hd_faults *f, hd_time now, uint32_t fault,
                     hd_vpn vpn, uint32_t pages);
/* All of a fault has arrived or is mapped; all of a batch has; the requests of
 * a fault that still wait are issued again, and it is over. */
void hd_fault_complete(struct hd_faults *f, hd_time now, uint32_t fault);
void hd_fault_finish(struct hd_faults *f, hd_time now, uint32_t head);
void hd_fault_replay(struct hd_faults *f, hd_time now, uint32_t fault);

/* ---- faultcheck.c ------------------------------------------------------- */

void hd_fault_look(void *self, uint32_t instance, struct heddle_visitor *v);
void hd_fault_stuck(void *self, uint32_t instance, struct heddle_visitor *v);
void hd_fault_check(void *self, uint32_t instance, struct heddle_error *err);

/* ---- faultset.c --------------------------------------------------------- */

/* Faults that will be transferred together, by the places of their first pages
 * from an aligned 2 MB on: what migrates may extend into those behind. */
struct hd_fault_set {
    uint64_t base; /* page */
    uint32_t at[4 * HD_LARGE_PAGES];
};

/* None, from the 2 MB of vpn on; one more; sends all of them, of the batch
 * `head`, HD_NONE: each transfer is a batch of its own. */
void hd_fault_set_clear(struct hd_fault_set *g, hd_vpn vpn);
void hd_fault_set_add(const struct hd_faults *f, struct hd_fault_set *g,
                      uint32_t fault);
struct hd_fault_sum hd_fault_set_ship(struct hd_faults *f, hd_time now,
                                      struct hd_fault_set *g, uint32_t head);

/* ---- framewait.c -------------------------------------------------------- */

/* Whether a fault, and so those behind it, waits for frames. */
static inline bool hd_framewait_any(const struct hd_faults *f)
{
    return f->s->frame_first != HD_NONE;
}

/* A fault waits for frames behind the others; before them, and has what it
 * WANTS done. */
void hd_framewait_queue(struct hd_faults *f, uint32_t fault);
void hd_framewait_block(struct hd_faults *f, hd_time now, uint32_t fault,
                        uint32_t wants);
/* Pages have been evicted (hd_evict_client); frames were taken or freed. */
void hd_framewait_room(void *self, hd_time now);
void hd_framewait_balance(struct hd_faults *f, hd_time now);

/* A page is pinned by a request; by those of a fault that wait for it. */
void hd_framewait_pin(struct hd_faults *f, uint32_t treq,
                      const struct hd_xlate *page);
void hd_framewait_pin_arrived(struct hd_faults *f, uint32_t fault,
                              const struct hd_xlate *page);
/* A request is issued again: its pin will go by itself.  It pins nothing any
 * more.  It faults again, and pins nothing: its page went with its
 * allocation. */
void hd_framewait_loosen(struct hd_faults *f, uint32_t treq);
void hd_framewait_unpin(struct hd_faults *f, hd_time now, uint32_t app,
                        uint64_t vpn, bool loose);
void hd_framewait_unpin_lost(struct hd_faults *f, uint32_t treq);

/* ---- prefetcher.c ------------------------------------------------------- */

/* Sets of pages of the 2 MB around a fault, for its question. */
struct hd_prefetcher {
    uint64_t there[HD_TREE_WORDS], faulted[HD_TREE_WORDS], sent[HD_TREE_WORDS];
    uint64_t thrashes[HD_TREE_WORDS];
    uint64_t region;
    uint32_t app, faults;
    uint32_t place, untouched; /* of its question */
};

static inline bool hd_prefetcher_on(const struct hd_faults *f)
{
    return f->how != HD_PREFETCH_NONE || f->prefetch.bound;
}

/* The default of page_prefetch. */
int64_t hd_prefetcher_default(void *self, const void *question);
/* Asks page_prefetch for a fault, and adds those pages to a set; for those of a
 * batch from one on, and sends them. */
void hd_prefetcher_ask(struct hd_faults *f, hd_time now, uint32_t fault,
                       struct hd_prefetcher *s, struct hd_fault_set *g);
void hd_prefetcher_batch(struct hd_faults *f, hd_time now, uint32_t fault);
/* Adds pages from v on that are not resident to a set, as far as there are
 * frames; s: NULL where no point was asked.  Returns where it stopped. */
uint64_t hd_prefetcher_range(struct hd_faults *f, hd_time now, uint32_t app,
                             uint64_t v, uint64_t end, enum hd_fault_cause why,
                             struct hd_prefetcher *s, struct hd_fault_set *g);
/* The page at v is prefetched if it is not resident, and waits for frames.
 * Returns what is behind it. */
uint64_t hd_prefetcher_page(struct hd_faults *f, hd_time now, uint32_t app,
                            uint64_t v, enum hd_fault_cause why);
/* A request joins a fault, the first to; a prefetched one is over. */
void hd_prefetcher_touched(struct hd_faults *f, uint32_t fault);
void hd_prefetcher_over(struct hd_faults *f, hd_time now, uint32_t fault);

/* ---- residency.c -------------------------------------------------------- */

/* Where the pages of a fault that is served will reside.  NEVER: they migrate;
 * CAN: they do not, and the fault is taken care of; LATER: they are mapped on
 * the host after an eviction. */
enum hd_map_host hd_residency_decide(struct hd_faults *f, hd_time now,
                                uint32_t fault);
/* The pages of a fault are sent: events of thrash.c. */
void hd_residency_migrates(struct hd_faults *f, hd_time now,
                           const struct hd_fault *x);

/* ---- hostprefetch.c ----------------------------------------------------- */

/* The link's latency for a range is over; each application with a range and
 * nothing in flight has more sent. */
void hd_hostprefetch_begin(struct hd_faults *f, hd_time now, uint32_t app);
void hd_hostprefetch_continue(struct hd_faults *f, hd_time now);

/* ---- driverloop.c ------------------------------------------------------- */

/* n requests of a list fault. */
void hd_driverloop_joined(struct hd_faults *f, hd_time now, uint32_t treq,
                          uint32_t joined);
void hd_driverloop_enter(struct hd_faults *f, hd_time now, uint32_t first,
                         uint32_t n);
/* The driver reads the buffer; the next block of the batch has its turn; it is
 * decided which of it migrates; frames and transfers for it, from one of its faults on (as hd_fault_transfer); all of
 * it has arrived. */
void hd_driverloop_fetch(struct hd_faults *f, hd_time now);
void hd_driverloop_next_block(struct hd_faults *f, hd_time now);
void hd_driverloop_decide(struct hd_faults *f, hd_time now, uint32_t head);
bool hd_driverloop_transfer(struct hd_faults *f, hd_time now, uint32_t fault,
                            bool again);
void hd_driverloop_block_over(struct hd_faults *f, hd_time now, uint32_t head);
/* The next notification of a batch has its turn; its time is over. */
void hd_driverloop_next_notice(struct hd_faults *f, hd_time now);
void hd_driverloop_notice(struct hd_faults *f, hd_time now, uint32_t granule);
/* Its pages are to migrate now. */
void hd_driverloop_migrate(struct hd_faults *f, hd_time now);
void hd_driverloop_check(const struct hd_faults *f, struct heddle_error *err);

#endif

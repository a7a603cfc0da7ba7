/*
 * l2slice.h - inside the L2: what its files share.
 *
 * l2.c builds, maps addresses, shows and checks; l2slice.c is the way of a
 * request through a slice, l2down.c what the slice sends to DRAM.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L2SLICE_H
#define HD_L2SLICE_H

#include "../base/recip.h"
#include "dram.h"
#include "l2.h"
#include "mshr.h"

/* Why the head of a slice's input waits. */
enum hd_l2_cause { HD_L2_GO, HD_L2_MSHRS, HD_L2_MERGES, HD_L2_QUEUE };

/* A slice's events. */
enum {
    HD_L2_ARRIVE, /* a request that may skip the cache is at the input */
    HD_L2_LOOK,   /* the result of a request's look-up is known */
    HD_L2_DOWN,   /* a request of the slice's reaches the miss queue */
    HD_L2_FILL,   /* DRAM has answered */
    HD_L2_ROOM,   /* DRAM has room again */
    HD_L2_RETRY   /* the input may go on */
};

/* req.spare of what comes to a slice: the set of its line.
 * req.tag of what a slice sends down: slice << 16 | MSHR, or this: */
#define HD_L2_PASSED 0xffffu /* req.spare is the bypassed request */

/* Flag of an MSHR: the line will be dirty. */
enum { HD_L2_DIRTY = 1 };

/* Counters.  The first seven groups of four are by class: what was asked. */
enum hd_l2_class {
    HD_L2_READ,
    HD_L2_WRITE,
    HD_L2_ATOMIC,
    HD_L2_WALK1,
    HD_L2_CLASSES = HD_L2_WALK1 + 4
};
enum { HD_L2_LOOKUPS, HD_L2_HITS, HD_L2_MISSES, HD_L2_MERGED, HD_L2_RESULTS };

enum hd_l2_counter {
    HD_L2_BYPASS_DATA = HD_L2_CLASSES * HD_L2_RESULTS,
    HD_L2_BYPASS_WALKS,
    HD_L2_FILLS,
    HD_L2_EVICTIONS,
    HD_L2_WRITE_BACKS,
    HD_L2_DRAM_READS,
    HD_L2_DRAM_WRITES,
    HD_L2_BLOCKED_MSHRS,
    HD_L2_BLOCKED_MERGES,
    HD_L2_BLOCKED_QUEUE,
    HD_L2_INPUT_WAIT,
    HD_L2_INPUT_BUSY,
    HD_L2_OUTPUT_BUSY,
    HD_L2_PEAK_INPUT,
    HD_L2_PEAK_MSHRS,
    HD_L2_COUNTERS
};

struct hd_l2_list {
    uint32_t first, last, n; /* linked by req.next */
};

/* State of a slice, in the arena. */
struct hd_l2_state {
    hd_time in_free;        /* when the input port has taken all that arrived */
    hd_time look_at;        /* the latest cycle with a result */
    hd_time out_free;       /* when the output port has sent all answers */
    struct hd_l2_list in;   /* arrived, not served; the head is blocked */
    struct hd_l2_list down; /* waiting for room at the DRAM channel */
    uint32_t promised;      /* places in `down` for what has not got there */
    uint32_t looks;         /* results in that cycle */
    uint32_t cause;         /* enum hd_l2_cause: why in.first waits */
    uint32_t waiting;       /* 1: the DRAM will tell when it has room */
    uint32_t held;          /* application of the request that waits */
    uint32_t passing;       /* bypassed reads in DRAM */
    hd_time since;          /* when it was blocked for this cause */
    /* for the invariants: requests, and, with --check, ticks by stage */
    uint64_t arrived, answered, ended;
    hd_time travel, input, look, memory, output, total;
    hd_time passed; /* of these, what bypassed reads in DRAM have had so far */
};

struct hd_l2_slice {
    struct hd_l2 *l2;
    struct hd_l2_state *s; /* arena */
    struct hd_req *req;    /* arena: the pool */
    uint64_t *count;       /* arena: the slice's rows of counters */
    uint64_t *shared;      /* arena: the row of no application */
    uint32_t i, channel, component;
    uint32_t apps; /* rows of applications */
    struct hd_slot bypass;
    struct hd_mshr mshr;
    struct hd_cache tags;
};

struct hd_l2 {
    struct hd_env *env;
    struct hd_l2_slice *slice; /* [slices] */
    struct hd_req *req;        /* arena: the pool */
    /* ticks: an L2 cycle; a look-up; the way over the crossbar */
    hd_time cycle, latency, travel;
    struct hd_recip per_cycle, per_core; /* of an L2 and a core cycle */
    const struct hd_steer *steer;        /* NULL: nobody can steer */
    struct hd_hist *data, *walk;         /* arena: latencies [app] */
    struct hd_cache_spread spread;       /* granule 0: an irregular map */
    bool check;                          /* --check: keep ticks by stage */
    bool plain;  /* the mode is full, and nothing is checked */
    bool masked; /* spread and sets are powers of two; then: */
    uint8_t granule_shift, high_shift, bank_shift;
    uint32_t bank_mask, channel_mask, set_mask;
    uint64_t low_mask;
    uint32_t component;  /* of slice 0; the others' follow */
    uint32_t flit_shift; /* 32: the port's width is none */
    uint32_t line_shift, channels, slices;
    struct hd_l2_wiring w;
    struct hd_cache_cfg cfg;
    struct hd_xbar_cfg xbar;
    struct hd_stat stat;
};

static inline struct hd_req *hd_l2_req(const struct hd_l2_slice *sl, uint32_t r)
{
    return &sl->req[r];
}

/* An application's row, among counters and histograms. */
static inline uint32_t hd_l2_row(const struct hd_l2_slice *sl, uint32_t app)
{
    return app < sl->apps ? app : sl->apps;
}

/* The slice's row of counters for an application. */
static inline uint64_t *hd_l2_counters(const struct hd_l2_slice *sl,
                                       uint32_t app)
{
    return sl->count + hd_l2_row(sl, app) * HD_L2_COUNTERS;
}

static inline struct hd_who hd_l2_who(const struct hd_req *q)
{
    struct hd_who w = {q->app, q->warp};

    return w;
}

static inline void hd_l2_push(struct hd_l2_slice *sl, struct hd_l2_list *l,
                              uint32_t r)
{
    hd_l2_req(sl, r)->next = HD_NONE;
    if (l->n++ == 0)
        l->first = r;
    else
        hd_l2_req(sl, l->last)->next = r;
    l->last = r;
}

static inline uint32_t hd_l2_pop(struct hd_l2_slice *sl, struct hd_l2_list *l)
{
    uint32_t r = l->first;

    l->first = hd_l2_req(sl, r)->next;
    l->n--;
    return r;
}

/* Posts an event of the slice to itself. */
static inline void hd_l2_post(struct hd_l2_slice *sl, hd_time at, uint32_t what,
                              uint32_t a)
{
    hd_post(sl->l2->env->ev, sl->component, sl->component, at, what, a, 0);
}

/* True when the input may not add to the miss queue. */
static inline bool hd_l2down_full(const struct hd_l2_slice *sl)
{
    return sl->s->down.n + sl->s->promised >= sl->l2->cfg.queue;
}

/* Sends what the DRAM channel takes. */
void hd_l2down_drain(struct hd_l2_slice *sl, hd_time now);

/* A request enters the miss queue. */
void hd_l2down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* A request of the slice's own. */
uint32_t hd_l2down_ask(struct hd_l2_slice *sl, uint64_t pa, uint32_t bytes,
                       uint32_t kind, uint32_t app, uint32_t warp);

/* Puts a request into the miss queue at `at`; its place is taken now. */
void hd_l2down_go(struct hd_l2_slice *sl, hd_time now, hd_time at, uint32_t r);

/* Enters a line into the tags; sends a dirty victim down at `at`. */
void hd_l2down_fill(struct hd_l2_slice *sl, hd_time now, hd_time at,
                    uint64_t line, const struct hd_req *q, uint32_t level,
                    bool dirty);

/* Sender of the events that bring a request to its slice: its client, so that
 * arrivals of one instant have an order of their own. */
static inline uint32_t hd_l2_sender(const struct hd_req *q)
{
    const uint32_t first = HD_MAX_COMPONENTS / 2;

    return first | q->client % first;
}

/* hd_handler of a slice. */
void hd_l2slice_event(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b);

/* Counts the cycles that the head of the input has waited until now. */
void hd_l2slice_count_blocked(struct hd_l2_slice *sl, hd_time now);

/* The default of l2_bypass: the steering table. */
int64_t hd_l2slice_steered(void *self, const void *question);

/* hd_client reply of the L2, for what comes from DRAM. */
void hd_l2slice_answer(void *self, hd_time at, uint32_t req);

#endif

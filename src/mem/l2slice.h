/*
 * l2slice.h - inside the L2: what its files share.
 *
 * l2.c builds, maps addresses and takes requests; l2slice.c is the way of a
 * request through a slice, l2plain.c the same for what needs no thought,
 * l2down.c what the slice sends to DRAM, l2look.c shows, checks and counts.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L2SLICE_H
#define HD_L2SLICE_H

#include "../base/hist.h"
#include "../base/recip.h"
#include "dram.h"
#include "l2.h"
#include "mshr.h"

/* Why the head of a slice's input waits. */
enum hd_l2_cause { HD_L2_GO, HD_L2_MSHRS, HD_L2_MERGES, HD_L2_QUEUE };

/* A slice's events. */
enum {
    HD_L2_ARRIVE,    /* a request that may skip the cache is at the input */
    HD_L2_LOOK,      /* the result of a request's look-up is known */
    HD_L2_READ_LOOK, /* the same of a read; b: its line and its set, so that
                        these are known before the request is in the host's
                        cache */
    HD_L2_DOWN,      /* a request of the slice's reaches the miss queue */
    HD_L2_FILL,      /* DRAM has answered; a: the MSHR */
    HD_L2_PASS,      /* DRAM has answered a bypassed read; a: what asked it */
    HD_L2_ROOM,      /* DRAM has room again */
    HD_L2_RETRY      /* the input may go on */
};

enum { HD_L2_SET_BITS = 16 }; /* of a set in b */

/* req.spare of what comes to a slice, and of the read that it sends down for
 * it: the set of its line.
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
    uint32_t first, last; /* linked by req.next; its length is kept apart */
};

enum { HD_L2_ALIGN = 64 }; /* a line of the host's cache */

/* State of a slice, in the arena. */
struct hd_l2_state {
    /* what the plain way reads and writes, a line of the host's cache */
    hd_time in_free;        /* when the input port has taken all that arrived */
    hd_time look_at;        /* the latest cycle with a result */
    hd_time out_free;       /* when the output port has sent all answers */
    uint32_t looks;         /* results in that cycle */
    uint32_t in_n;          /* length of `in` */
    uint32_t down_n;        /* of `down` */
    uint32_t promised;      /* places in `down` for what has not got there */
    uint32_t owed;          /* requests that have an answer or an end to come */
    uint32_t used;          /* MSHRs in use */
    uint32_t peak;          /* most of them that has been counted */
    uint32_t waiting;       /* 1: the DRAM will tell when it has room */
    uint32_t tag;           /* slice << 16, and */
    uint32_t channel;       /* its channel: constants */
    struct hd_l2_list in;   /* arrived, not served; the head is blocked */
    struct hd_l2_list down; /* waiting for room at the DRAM channel */
    uint32_t cause;         /* enum hd_l2_cause: why in.first waits */
    uint32_t held;          /* application of the request that waits */
    uint32_t passing;       /* bypassed reads in DRAM */
    hd_time since;          /* when it was blocked for this cause */
    /* for the invariants, with --check: ticks by stage */
    hd_time travel, input, look, memory, output, total;
    hd_time passed; /* of these, what bypassed reads in DRAM have had so far */
    uint64_t unused[4];
};
_Static_assert(sizeof(struct hd_l2_state) % HD_L2_ALIGN == 0,
               "what follows it begins a line");

/*
 * What the plain way counts, of one application; behind the state.  A request
 * adds to one line of the host's cache, two if it misses; whoever reads the
 * counters is told, and sync() puts them where they belong.  A look-up is a
 * hit or a miss here, and takes the input port for a cycle; a read that misses
 * is a DRAM read.  There are no atomics here, and in their places stand:
 */
enum { HD_L2_FILLED = HD_L2_ATOMIC, HD_L2_LONGER = HD_L2_ATOMIC };

struct hd_l2_plain {
    uint64_t hits[HD_L2_CLASSES]; /* FILLED: fills */
    uint64_t output_busy;
    uint64_t misses[HD_L2_CLASSES]; /* LONGER: cycles that writes had more */
    uint64_t roomy;                 /* fills that evicted nothing */
};
_Static_assert(sizeof(struct hd_l2_plain) == 2 * HD_L2_ALIGN, "two lines");

struct hd_l2_slice {
    /* what the plain way reads, a line of the host's cache */
    struct hd_l2 *l2;
    struct hd_l2_state *s;    /* arena; the counters of the plain way follow */
    struct hd_assoc_set *set; /* arena: those of the tags, like this: */
    uint64_t *key;
    struct hd_mshr mshr;
    /* the rest */
    uint64_t *count;  /* arena: the slice's rows of counters */
    uint64_t *shared; /* arena: the row of no application */
    uint32_t i, component;
    uint32_t apps; /* rows of applications */
    _Alignas(HD_L2_ALIGN) struct hd_cache tags;
    struct hd_slot bypass;
};

/* Why a request may not go the plain way (see l2plain.c). */
enum {
    HD_L2_ODD = 1, /* the machine is not one for it */
    HD_L2_ASKS_LOOK =
        2, /* somebody decides on or watches what a look-up does */
    HD_L2_ASKS_FILL = 4, /* or what a fill does */
    HD_L2_ASKS_PASS = 8, /* or whether a request skips the cache */
    HD_L2_SPREAD = 16    /* addresses are spread in no regular way: no table */
};

/* Where lines go whose low bits are the index of this: the slice, as a
 * component, and the lowest bits of the set. */
struct hd_l2_place {
    uint16_t component, set;
};

enum { HD_L2_PLACES = 1024 }; /* most of them */

struct hd_l2 {
    /* what a hit reads, a line of the host's cache */
    _Alignas(HD_L2_ALIGN) struct hd_req *req; /* arena: the pool */
    struct hd_client *clients;                /* of the wiring */
    hd_time cycle;                            /* ticks: an L2 cycle */
    struct hd_hist *hist[2]; /* arena: [app] of data; of walk reads */
    uint64_t per_core;       /* m and s of hd_recip: of a core cycle */
    uint8_t per_core_shift;
    uint8_t flit_shift;   /* 32: no power of two */
    uint16_t flit_more;   /* a flit's bytes - 1 */
    uint32_t unusual;     /* HD_L2_ODD ...: what may not go the plain way */
    struct hd_reqs *reqs; /* of the wiring: the same pool */
    /* what taking a request reads besides, another one */
    struct hd_recip per_cycle; /* of an L2 cycle */
    hd_time arrival[2];        /* ticks: the way there and a look-up, of data;
                                  of walk reads */
    struct hd_events *ev;
    const struct hd_l2_place *place; /* see find_places: */
    uint32_t place_mask, high_mask;
    uint8_t high_shift, line_shift;
    uint16_t dram_client; /* of the wiring */
    uint16_t line_bytes;
    uint8_t class_of[HD_REQ_KINDS][8]; /* enum hd_l2_class: [kind][level] */
    const struct hd_assoc *model; /* the tags of slice 0: their shape is that
                                     of all */
    const struct hd_steer *steer;
    hd_time latency;           /* ticks: a look-up */
    hd_time travel[2];         /* ticks: the way there, of data; of walk reads */
    struct hd_l2_slice *slice; /* [slices] */
    uint32_t component;        /* of slice 0; the others' follow */
    bool full;                 /* the mode is HD_FULL */
    bool apart;                /* DRAM has a queue for each class */
    bool check;                /* --check: keep ticks by stage */
    /* the rest */
    struct hd_env *env;
    struct hd_cache_spread spread; /* granule 0: an irregular map */
    uint32_t channels, slices;
    uint32_t own; /* channels over which an application's lines are spread */
    struct hd_l2_wiring w;
    struct hd_cache_cfg cfg;
    struct hd_xbar_cfg xbar;
    struct hd_stat stat;
};

static inline struct hd_req *hd_l2_req(const struct hd_l2_slice *sl, uint32_t r)
{
    return &sl->l2->req[r];
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

/* Cycles that bytes take on a port. */
static inline uint32_t hd_l2_flits(const struct hd_l2 *l2, uint32_t bytes)
{
    uint32_t more = bytes + l2->flit_more;
    uint32_t n = HD_LIKELY(l2->flit_shift < 32) ? more >> l2->flit_shift
                                                : more / l2->xbar.bytes;

    return n + (n == 0);
}

/* Reserves a result at or after t and gives its cycle. */
static inline hd_time hd_l2_result_at(struct hd_l2_slice *sl, hd_time t)
{
    struct hd_l2_state *s = sl->s;

    if (HD_LIKELY(t > s->look_at)) {
        s->look_at = t;
        s->looks = 1;
    } else if (s->looks < sl->l2->cfg.ports) {
        s->looks++;
    } else {
        s->look_at += sl->l2->cycle;
        s->looks = 1;
    }
    return s->look_at;
}

/* Books the result of a request's look-up; returns its instant. */
static inline hd_time hd_l2_look(struct hd_l2_slice *sl, struct hd_req *q,
                                 hd_time t)
{
    hd_time ready = hd_l2_result_at(sl, t), wait = ready - q->queued;

    if (wait > 0) {
        sl->s->input += wait;
        hd_l2_counters(sl, q->app)[HD_L2_INPUT_WAIT] +=
            hd_recip_div(sl->l2->per_cycle, wait);
        q->queued = ready;
    }
    return ready;
}

/* enum hd_l2_class of a request. */
static inline uint32_t hd_l2_class(const struct hd_l2 *l2,
                                   const struct hd_req *q)
{
    hd_assert(q->kind < HD_REQ_KINDS && q->level < 8);
    return l2->class_of[q->kind][q->level];
}

/* Core cycles of a span of ticks. */
static inline uint64_t hd_l2_core_cycles(const struct hd_l2 *l2, hd_time t)
{
    struct hd_recip r = {0, l2->per_core, l2->per_core_shift};

    return hd_recip_div(r, t);
}

/* The latencies of the requests of a kind and application. */
static inline struct hd_hist *hd_l2_hist(const struct hd_l2 *l2, uint32_t kind,
                                         uint32_t app)
{
    return &l2->hist[kind == HD_REQ_WALK][app];
}

/* What the plain way counts of an application's. */
static inline struct hd_l2_plain *hd_l2_plainly(const struct hd_l2_slice *sl,
                                                uint32_t app)
{
    return (struct hd_l2_plain *)(void *)(sl->s + 1) + app;
}

/* Takes an MSHR for a line; there must be a free one. */
static inline uint32_t hd_l2_take_mshr(struct hd_l2_slice *sl, uint64_t line)
{
    uint64_t *peak = &sl->shared[HD_L2_PEAK_MSHRS];
    struct hd_l2_state *s = sl->s;

    if (HD_UNLIKELY(++s->used > s->peak)) {
        s->peak = s->used;
        *peak = hd_max_u64(*peak, s->used);
    }
    return hd_mshr_take(&sl->mshr, line);
}

static inline void hd_l2_give_mshr(struct hd_l2_slice *sl, uint32_t m)
{
    sl->s->used--;
    hd_mshr_give(&sl->mshr, m);
}

static inline bool hd_l2_mshrs_full(const struct hd_l2_slice *sl)
{
    return sl->s->used == sl->mshr.room;
}

static inline struct hd_who hd_l2_who(const struct hd_req *q)
{
    struct hd_who w = {q->app, q->warp};

    return w;
}

static inline void hd_l2_push(struct hd_l2_slice *sl, struct hd_l2_list *l,
                              uint32_t *n, uint32_t r)
{
    hd_l2_req(sl, r)->next = HD_NONE;
    if ((*n)++ == 0)
        l->first = r;
    else
        hd_l2_req(sl, l->last)->next = r;
    l->last = r;
}

static inline uint32_t hd_l2_pop(struct hd_l2_slice *sl, struct hd_l2_list *l,
                                 uint32_t *n)
{
    uint32_t r = l->first;

    l->first = hd_l2_req(sl, r)->next;
    (*n)--;
    return r;
}

/* Posts an event of the slice to itself. */
static inline void hd_l2_post(struct hd_l2_slice *sl, hd_time at, uint32_t what,
                              uint32_t a)
{
    hd_post(sl->l2->ev, sl->component, sl->component, at, what, a, 0);
}

/* True when the input may not add to the miss queue. */
static inline bool hd_l2down_full(const struct hd_l2_slice *sl)
{
    return sl->s->down_n + sl->s->promised >= sl->l2->cfg.queue;
}

/* Sends what the DRAM channel takes. */
void hd_l2down_drain(struct hd_l2_slice *sl, hd_time now);

/* A request enters the miss queue. */
void hd_l2down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* A request of the slice's own. */
uint32_t hd_l2down_ask(struct hd_l2_slice *sl, uint64_t pa, uint32_t bytes,
                       uint32_t kind, uint32_t app, uint32_t warp);

/* Asks for the line of MSHR m, which request r needs; returns the request.
 * Whoever calls counts it. */
uint32_t hd_l2down_fetch(struct hd_l2_slice *sl, uint32_t m, uint64_t line,
                         uint32_t r);

/* Puts a request into the miss queue at `at`; its place is taken now. */
void hd_l2down_go(struct hd_l2_slice *sl, hd_time now, hd_time at, uint32_t r);

/* Sends a dirty line of an application down at `at`. */
void hd_l2down_write_back(struct hd_l2_slice *sl, hd_time now, hd_time at,
                          uint64_t line, uint32_t app);

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

/* Its number among the sender's events; 0 for all if they have none. */
static inline uint32_t hd_l2_number(const struct hd_req *q)
{
    /* without a branch: it is different from request to request */
    return (uint32_t)q->queued & -(uint32_t)((q->flags & HD_REQ_SEQ) != 0);
}

/* Which way it comes: an index of `travel` and `arrival`. */
static inline uint32_t hd_l2_way(const struct hd_req *q)
{
    return q->kind == HD_REQ_WALK;
}

/* True when a request writes; one bit of kind + 1 tells. */
static inline bool hd_l2_writes(const struct hd_req *q)
{
    _Static_assert(HD_REQ_READ == 0 && HD_REQ_WRITE == 1 &&
                       HD_REQ_ATOMIC == 2 && HD_REQ_WALK == 3,
                   "as it is used here");
    return ((q->kind + 1u) & 2) != 0;
}

/* Not 0 where it has to be asked whether a request skips the cache. */
static inline uint32_t hd_l2_passes(const struct hd_l2 *l2)
{
    return (l2->unusual & (HD_L2_SPREAD | HD_L2_ASKS_PASS)) |
           hd_steered(l2->steer, HD_TABLE_l2_bypass);
}

/* Request r does not, and is sent at an L2 edge. */
static HD_INLINE void hd_l2_take_plain(struct hd_l2 *l2, hd_time edge,
                                       struct hd_req *q, uint32_t r)
{
    uint64_t line = q->pa.v >> l2->line_shift;
    const struct hd_l2_place *p = &l2->place[line & l2->place_mask];
    uint32_t from = hd_l2_sender(q), number = hd_l2_number(q);

    q->line = line;
    q->spare = p->set | ((uint32_t)(line >> l2->high_shift) & l2->high_mask);
    hd_post_numbered(l2->ev, from, p->component, number, edge + l2->arrival[hd_l2_way(q)],
                     hd_l2_writes(q) ? HD_L2_LOOK : HD_L2_READ_LOOK, r,
                     line << HD_L2_SET_BITS | q->spare);
}

/* A request is sent: struct hd_below's, of struct hd_l2. */
void hd_l2_take(void *l2, hd_time now, uint32_t r);

/* hd_handler of a slice. */
void hd_l2slice_event(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b);

/* What the events mean in general: a result of a look-up, an answer of the
 * DRAM to an MSHR (which may free what the input waits for), any other. */
void hd_l2slice_look(struct hd_l2_slice *sl, hd_time now, uint32_t r);
void hd_l2slice_fill(struct hd_l2_slice *sl, hd_time now, uint32_t m);
void hd_l2slice_other(struct hd_l2_slice *sl, hd_time now, uint32_t what,
                      uint32_t a);

/* Serves the input until its head is blocked.  `now` is an L2 edge. */
void hd_l2slice_resume(struct hd_l2_slice *sl, hd_time now);

/* Counts the cycles that the head of the input has waited until now. */
void hd_l2slice_count_blocked(struct hd_l2_slice *sl, hd_time now);

/* The default of l2_bypass: the steering table. */
int64_t hd_l2slice_steered(void *self, const void *question);

/* hd_client reply of the L2, for what comes from DRAM. */
void hd_l2slice_answer(void *self, hd_time at, uint32_t req);

/* l2look.c: for struct hd_part, and for hd_stats_open_time. */
void hd_l2look_slice(void *l2, uint32_t slice, struct heddle_visitor *v);
void hd_l2look_stuck(void *l2, uint32_t slice, struct heddle_visitor *v);
void hd_l2look_check(void *l2, uint32_t slice, struct hd_err *err);
void hd_l2look_sync(void *l2, hd_time now);
void hd_l2look_counts(void *l2, uint32_t slice, uint32_t app, uint64_t *add);

#endif

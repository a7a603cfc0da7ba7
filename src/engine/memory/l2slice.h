/*
 * l2slice.h - inside the L2: the state of a slice and the small steps that its
 * files share.  l2.c is the plain slice; l2map.c knows which slice has a line;
 * memory/fast/l2.c is the fast path; l2sector.c is a slice of lines with
 * sectors; l2bypass.c, l2half.c, l2host.c, l2packed.c and l2share.c are what
 * cards and proposals add, each called by a line of l2.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L2SLICE_H
#define HD_L2SLICE_H

#include "kit/hist.h"
#include "kit/recip.h"
#include "addrhash.h"
#include "dram.h"
#include "l2.h"
#include "mshr.h"
#include "nodes.h"
#include "sector.h"

/* Why the head of a slice's input waits. */
enum hd_l2_cause { HD_L2_GO, HD_L2_MSHRS, HD_L2_MERGES, HD_L2_QUEUE };

/* A slice's events. */
enum {
    HD_L2_ARRIVE, /* a request that may skip the cache is at the input */
    HD_L2_LOOK,   /* the result of a request's look-up is known */
    HD_L2_DOWN,   /* a request of the slice's reaches the miss queue */
    HD_L2_FILL,   /* DRAM has answered; a: the MSHR */
    HD_L2_PASS,   /* DRAM has answered a bypassed read; a: what asked it */
    HD_L2_ROOM,   /* DRAM has room again */
    HD_L2_RETRY,  /* the input may be served */
    HD_L2_COPY    /* something of the other half's has come (l2half.c) */
};

/* req.tag of what a slice sends down: slice << 16 | MSHR, or this: */
#define HD_L2_PASSED   0xffffu /* req.spare is the bypassed request */
#define HD_L2_METADATA 0xfffeu /* req.spare is the request that waits for it   \
                                */

/* Flag of an MSHR: the line will be dirty. */
enum { HD_L2_DIRTY = 1 };

/* Least bytes that a bypassed read takes. */
enum { HD_L2_BURST = 32 };

/* Counters.  The first seven groups of four are by class: what was asked. */
enum { HD_L2_WALK1 = HD_REQ_WALK, HD_L2_CLASSES = HD_L2_WALK1 + 4 };
enum { HD_L2_LOOKUPS, HD_L2_HITS, HD_L2_MISSES, HD_L2_MERGED, HD_L2_RESULTS };

enum hd_l2_counter {
#define HD_COUNTERS_OF "memory/l2cache.def"
#include "kit/rows.h"
    HD_L2_COUNTERS
};

enum hd_l2_hist {
#define HD_HISTS_OF "memory/l2cache.def"
#include "kit/rows.h"
    HD_L2_HISTS
};

struct hd_l2_list {
    uint32_t first, last, n; /* linked by req.next */
};

/* State of a slice, in the arena. */
struct hd_l2_state {
    hd_time in_free;        /* when the input port has taken all that arrived */
    hd_time look_at;        /* the latest cycle with a result */
    hd_time out_free;       /* when the output port has sent all answers */
    uint32_t looks;         /* results in that cycle */
    uint32_t owed;          /* requests that have an answer or an end to come */
    struct hd_l2_list in;   /* arrived, not served; the head is blocked */
    struct hd_l2_list down; /* waiting for room at the DRAM channel */
    uint32_t promised;      /* places in `down` for what has not got there */
    uint32_t waiting;       /* 1: the DRAM will tell when it has room */
    uint32_t passing;       /* bypassed reads in DRAM */
    uint32_t cause;         /* enum hd_l2_cause: why in.first waits */
    uint32_t held;          /* application of the request that waits */
    uint32_t sectors;       /* in flight from DRAM (l2sector.c) */
    uint32_t copying;       /* in flight to the other half (l2half.c) */
    hd_time since;          /* when it was blocked for this cause */
    /* for the invariants, with --check: ticks by stage */
    hd_time travel, input, look, memory, output, total;
    hd_time passed; /* of these, what bypassed reads in DRAM have had so far */
};

struct hd_l2_slice {
    struct hd_l2 *l2;
    struct hd_l2_state *s; /* arena */
    struct hd_req *req;    /* arena: the pool */
    const uint16_t *launch; /* hd_reqs.launch */
    uint64_t *count;       /* arena: the slice's rows of counters */
    uint32_t apps;         /* rows of applications; one more follows */
    uint32_t i, component;
    uint32_t channel;   /* HD_NONE: its requests have one each */
    uint32_t across;    /* l2half.c: the slice with copies of its lines, */
    bool upper;         /* and whether it is in the upper half */
    uint64_t host_from; /* hd_l2_host */
    struct hd_mshr mshr;
    struct hd_cache tags;
    struct hd_slot bypass;
    const struct hd_req *hand; /* that is being looked up or entered */
};

/* How lines are spread over slices (l2map.c): the channel changes every
 * `granule` lines, each channel has `banks` slices.  Granule 0: there is no
 * such rule, and lines are hashed.  Slices that belong to no channel are the
 * `banks` of one. */
struct hd_l2_spread {
    uint64_t granule, channels, banks;
    bool shifts; /* all are powers of two, sets too, and nothing is hashed */
    bool powers; /* all are powers of two: these are their logarithms */
    uint8_t granule_shift, bank_shift, high_shift; /* granule * channels */
    struct hd_recip per_granule, per_channels, per_banks;
};

/* With l2cache.slice_hash, set_hash or dram.channel_hash. */
struct hd_l2_hash {
    bool on;
    uint32_t sets;
    struct hd_addrhash slice, set;
};

struct hd_l2 {
    struct hd_req *req; /* arena: the pool */
    struct hd_events *ev;
    struct hd_hist *hist[HD_L2_HISTS]; /* arena: [app] */
    hd_time cycle;                     /* ticks: an L2 cycle */
    hd_time latency; /* ticks: queue_latency and latency */
    hd_time travel[2]; /* ticks: latency to a slice, of data; of walk reads */
    struct hd_recip per_cycle, per_core, per_flit;
    const struct hd_steer *steer;
    struct hd_l2_slice *slice; /* [slices] */
    struct hd_l2_spread spread;
    uint32_t line_shift, channels;
    uint32_t own; /* channels over which an application's lines are spread */
    bool apart;   /* slices are no multiple of channels: they belong to none */
    bool full;    /* the mode is HD_FULL */
    bool check;   /* --check: keep ticks by stage */
    bool asks;    /* it has to be asked whether a request skips the cache */
    bool quiet;   /* the fast path may be taken: memory/fast/l2.c */
    bool host_kept; /* hd_l2_host */
    struct hd_below host;
    struct hd_l2_wiring w;
    struct hd_cache_cfg cfg;
    struct hd_xbar_cfg xbar;
    struct hd_env *env;
    struct hd_stat stat;
    struct hd_l2_hash hash;
    struct { /* l2sector.c */
        uint32_t all;         /* a bit for each sector of a line */
        uint32_t shift;       /* log2 of a sector's bytes */
        uint32_t fetch;       /* log2 of the sectors that are fetched together */
        uint32_t burst_shift; /* log2 of what DRAM moves at once, or of a
                                 sector's bytes if these are more */
        struct hd_stat stat;
    } sector;
    struct { /* l2half.c */
        uint32_t slices; /* in each half of a node; 0: there are no halves */
        uint32_t cores;  /* of a node */
        hd_time far;
        struct hd_stat stat;
    } half;
};

/* Lines have sectors. */
static inline bool hd_l2_sectored(const struct hd_l2 *l2)
{
    return l2->cfg.sector_bytes != 0;
}

/* True when the input may not add to the miss queue. */
static inline bool hd_l2_down_full(const struct hd_l2_slice *sl)
{
    return sl->s->down.n + sl->s->promised >= sl->l2->cfg.queue;
}

/* Posts the arrival of a request.  It is sent by its client, so that arrivals
 * of one instant have an order of their own; that of the client's numbers, if
 * it has them. */
static inline void hd_l2_post_arrival(const struct hd_l2 *l2, hd_time at,
                                      uint32_t to, uint32_t what, uint32_t r)
{
    const uint32_t first = HD_MAX_COMPONENTS / 2;
    const struct hd_req *q = &l2->req[r];
    /* without a branch: it is different from request to request */
    uint32_t number =
        (uint32_t)q->queued & -(uint32_t)((q->flags & HD_REQ_SEQ) != 0);

    hd_post_numbered(l2->ev, first | q->client % first, to, number, at, what, r,
                     0);
}

/* An application's row, among counters and histograms; the last is that of
 * requests of no application. */
static inline uint32_t hd_l2_row(const struct hd_l2_slice *sl, uint32_t app)
{
    return app < sl->apps ? app : sl->apps;
}

/* Cycles that bytes take on a port. */
static inline uint64_t hd_l2_flits(const struct hd_l2 *l2, uint32_t bytes)
{
    uint64_t n = hd_recip_div(l2->per_flit, bytes + l2->xbar.bytes - 1);

    return n + (n == 0);
}

/* The index of a line in its slice, channel and bank, of any numbers and hashes;
 * where shifts do. */
uint64_t hd_l2_divide(const struct hd_l2 *l2, uint64_t line, uint64_t *channel,
                      uint64_t *bank);

static inline uint64_t hd_l2_shift(const struct hd_l2_spread *s, uint64_t line,
                                   uint64_t *channel, uint64_t *bank)
{
    uint64_t index = (line >> s->high_shift) << s->granule_shift |
                     (line & (s->granule - 1));

    *channel = (line >> s->granule_shift) & (s->channels - 1);
    *bank = index & (s->banks - 1);
    return index >> s->bank_shift;
}

/* The first of the channels that an application's line may have, which becomes
 * the one inside its node: where channels are an application's or a node's. */
uint32_t hd_l2_home(const struct hd_l2 *l2, uint32_t app, uint64_t *line);

/* The slice of an application's line under any map, and its set there. */
static inline uint32_t hd_l2_slice_of(const struct hd_l2 *l2, uint32_t app,
                                      uint64_t line, uint32_t *set)
{
    const struct hd_l2_spread *s = &l2->spread;
    uint64_t channel, index, bank, first = 0;

    if (HD_UNLIKELY(l2->own != l2->channels))
        first = hd_l2_home(l2, app, &line);
    if (HD_LIKELY(s->shifts))
        index = hd_l2_shift(s, line, &channel, &bank);
    else
        index = hd_l2_divide(l2, line, &channel, &bank);
    *set = hd_cache_set(&l2->slice[0].tags, index);
    return (uint32_t)((first + channel) * s->banks + bank);
}

/* l2half.c: when an answer that leaves its slice has passed the halves. */
hd_time hd_l2half_back(struct hd_l2_slice *sl, const struct hd_req *q,
                       hd_time leaves);
/* Replies then. */
void hd_l2half_reply(struct hd_l2_slice *sl, uint32_t r, hd_time leaves);

/* When a request whose data is there at `at` leaves by the output port, which it
 * takes. */
static HD_INLINE hd_time hd_l2_out(struct hd_l2_slice *sl, hd_time now,
                                   const struct hd_req *q, hd_time at)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_l2_state *s = sl->s;
    uint64_t n = hd_l2_flits(l2, q->bytes);
    uint32_t row = hd_l2_row(sl, q->app);
    hd_time leaves = hd_max_u64(s->out_free, at);

    s->out_free = hd_max_u64(s->out_free, now) + n * l2->cycle;
    sl->count[row * HD_L2_COUNTERS + HD_L2_OUTPUT_BUSY] += n;
    s->owed--;
    if (HD_UNLIKELY(l2->check)) {
        s->memory += at - q->queued;
        s->output += leaves - at;
        s->total += leaves - q->born;
    }
    hd_hist_add(&l2->hist[q->kind == HD_REQ_WALK ? HD_L2_WALK_LATENCY
                                                 : HD_L2_DATA_LATENCY][row],
                hd_recip_div(l2->per_core, leaves - q->born));
    return leaves;
}

/* Answers a request whose data is there at `at`. */
static HD_INLINE void hd_l2_reply(struct hd_l2_slice *sl, hd_time now,
                                  uint32_t r, hd_time at)
{
    const struct hd_req *q = &sl->req[r];
    const struct hd_client *c = &sl->l2->w.clients[q->client];
    hd_time leaves = hd_l2_out(sl, now, q, at);

    if (HD_UNLIKELY((q->flags & HD_REQ_HALF) != 0))
        hd_l2half_reply(sl, r, leaves);
    else
        c->reply(c->self, leaves, r);
}

/* ---- steps that the files of the station share ------------------------- */

static inline struct hd_req *hd_l2_request(const struct hd_l2_slice *sl,
                                           uint32_t r)
{
    return &sl->req[r];
}

static inline uint64_t *hd_l2_counters(const struct hd_l2_slice *sl,
                                       uint32_t app)
{
    return sl->count + hd_l2_row(sl, app) * HD_L2_COUNTERS;
}

/* .. of the launch of a request, or of its application. */
static inline uint64_t *hd_l2_launch(const struct hd_l2_slice *sl,
                                     const struct hd_req *q)
{
    uint32_t row = sl->launch[q - sl->req];

    return row != 0 ? sl->count + row * HD_L2_COUNTERS
                    : hd_l2_counters(sl, q->app);
}

/* Counts a look-up of a request by its class and result. */
static inline void hd_l2_count(struct hd_l2_slice *sl, const struct hd_req *q,
                               uint32_t result)
{
    uint32_t class = q->kind;
    uint64_t *c;

    if (q->kind == HD_REQ_WALK)
        class = HD_L2_WALK1 + ((q->level - 1u) & 3);
    c = HD_UNLIKELY(sl->launch != NULL) ? hd_l2_launch(sl, q)
                                        : hd_l2_counters(sl, q->app);
    c += class * HD_L2_RESULTS;
    c[HD_L2_LOOKUPS]++;
    c[result]++;
}

/* Notes the most of something, of all applications together. */
static inline void hd_l2_peak(struct hd_l2_slice *sl, uint32_t counter,
                              uint32_t n)
{
    uint64_t *most = hd_l2_counters(sl, HD_APP_NONE) + counter;

    *most = hd_max_u64(*most, n);
}

/* Whether a line is the host's (l2host.c); and is not kept here. */
static inline bool hd_l2_is_host(const struct hd_l2_slice *sl, uint64_t pa)
{
    return HD_UNLIKELY(pa >= sl->host_from);
}

static inline bool hd_l2_not_kept(const struct hd_l2_slice *sl, uint64_t pa)
{
    return hd_l2_is_host(sl, pa) && !sl->l2->host_kept;
}

static inline struct hd_who hd_l2_who(struct hd_l2_slice *sl,
                                      const struct hd_req *q)
{
    sl->hand = q;
    return (struct hd_who){q->app, q->warp};
}

static inline void hd_l2_push(struct hd_l2_slice *sl, struct hd_l2_list *l,
                              uint32_t r)
{
    hd_l2_request(sl, r)->next = HD_NONE;
    if (l->n++ == 0)
        l->first = r;
    else
        hd_l2_request(sl, l->last)->next = r;
    l->last = r;
}

/* Posts an event of the slice to itself. */
static inline void hd_l2_post(struct hd_l2_slice *sl, hd_time at, uint32_t what,
                              uint32_t a)
{
    hd_post(sl->l2->ev, sl->component, sl->component, at, what, a, 0);
}

/* A request has waited at the input until t. */
static inline void hd_l2_waited(struct hd_l2_slice *sl, struct hd_req *q,
                                hd_time t)
{
    if (t == q->queued)
        return;
    sl->s->input += t - q->queued;
    hd_l2_counters(sl, q->app)[HD_L2_INPUT_WAIT] +=
        hd_recip_div(sl->l2->per_cycle, t - q->queued);
    q->queued = t;
}

/* Books a result of a look-up at or after t; returns its instant. */
static inline hd_time hd_l2_book(struct hd_l2_slice *sl, struct hd_req *q,
                                 hd_time t)
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
    hd_l2_waited(sl, q, s->look_at);
    return s->look_at;
}

/* Enters the line that a request has asked for into the tags.  True: *victim, a
 * line of *owner's, is to be written back. */
static HD_INLINE bool hd_l2_place_line(struct hd_l2_slice *sl,
                                       const struct hd_req *q, uint32_t level,
                                       bool dirty, uint64_t *victim,
                                       uint32_t *owner)
{
    uint64_t *c = hd_l2_counters(sl, q->app);
    bool back = hd_cache_enter(&sl->tags, q->spare, q->line, q->kind, level,
                               dirty, hd_l2_who(sl, q), victim, owner);

    c[HD_L2_FILLS]++;
    c[HD_L2_EVICTIONS] += *victim != HD_KEY_NONE && *victim != q->line;
    return back;
}

/* ---- l2.c: the plain slice -------------------------------------------- */

/* A request of the slice's own, on behalf of an application and a warp. */
uint32_t hd_l2_down_ask(struct hd_l2_slice *sl, uint64_t pa, uint32_t bytes,
                        uint32_t kind, uint32_t app, uint32_t warp);
/* A request enters the miss queue, or leaves it at once. */
void hd_l2_down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r);
/* Puts a request into the miss queue at `at`; its place is taken now. */
void hd_l2_down_go(struct hd_l2_slice *sl, hd_time now, hd_time at, uint32_t r);
/* A read for request r: what its answer is for is in `of` and `spare`. */
uint32_t hd_l2_down_read(struct hd_l2_slice *sl, uint32_t r, uint64_t pa,
                         uint32_t bytes, uint32_t of, uint32_t spare);
/* A store that is done continues to DRAM as it is. */
void hd_l2_down_through(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                        hd_time at);
/* What a request has changed is written to DRAM. */
void hd_l2_down_write(struct hd_l2_slice *sl, hd_time now, hd_time at,
                      const struct hd_req *q, uint64_t pa, uint32_t bytes);

/* A request is sent: the general path. */
void hd_l2_take_other(const struct hd_l2 *l2, hd_time now, uint32_t r);
/* A write ends here. */
void hd_l2_end(struct hd_l2_slice *sl, uint32_t r, hd_time at);
/* Events that are no look-up on the fast path and no fill. */
void hd_l2_serve_other(struct hd_l2_slice *sl, hd_time now, uint32_t what,
                       uint32_t a, uint64_t b);

/* A read or an atomic that was looked up waits in an MSHR, and its line is read
 * from DRAM. */
void hd_l2_miss(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* The result of a request's look-up is known: the general path. */
void hd_l2_look(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* A request that skips the cache takes the input port. */
void hd_l2_enter(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* Serves the input until its head is blocked.  `now` is an L2 edge. */
void hd_l2_resume(struct hd_l2_slice *sl, hd_time now);

/* Enters a line that is as in memory, and sends a dirty victim down. */
void hd_l2_enter_clean(struct hd_l2_slice *sl, hd_time now,
                       const struct hd_req *q);

/* ---- l2map.c: lines and slices ---------------------------------------- */

/* Finds how the channel depends on the line, and makes the hashes; 0, or an
 * error: a hash needs other numbers. */
int hd_l2_find_spread(struct hd_l2 *l2);
/* The DRAM channel of a request. */
uint32_t hd_l2_channel(const struct hd_l2 *l2, uint32_t app, hd_pa pa);

/* ---- l2sector.c: lines with sectors ----------------------------------- */

/* What follows from the settings; 0, or an error. */
int hd_l2sector_open(struct hd_l2 *l2);
/* These stand for l2_take, l2_serve, l2_answer and hd_l2_warm. */
void hd_l2sector_take(void *l2, hd_time now, uint32_t r);
void hd_l2sector_event(void *slice, hd_time now, uint32_t what, uint32_t a,
                       uint64_t b);
void hd_l2sector_answer(void *l2, hd_time at, uint32_t d);
void hd_l2sector_warm(void *l2, struct hd_req *q);
/* Serves the request that is first in line at t; HD_L2_GO, or why it cannot. */
uint32_t hd_l2sector_serve(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                           hd_time t);
/* What is wrong with the sectors of a slice, or NULL. */
const char *hd_l2sector_check(const struct hd_l2_slice *sl);

/* What has come from the other half, in the sectors of q's line. */
void hd_l2sector_copy(struct hd_l2_slice *sl, hd_time now,
                      const struct hd_req *q, uint32_t sectors);

/* ---- l2half.c: two halves --------------------------------------------- */

/* What follows from the settings; 0, or an error. */
int hd_l2half_open(struct hd_l2 *l2);
/* Where a request that is sent is looked up first: its home slice, or the one
 * across; how much later it is there. */
hd_time hd_l2half_route(const struct hd_l2 *l2, struct hd_req *q,
                        uint32_t *slice);
/* A request with HD_REQ_HALF is first in line at t.  True: it has gone on to
 * the other half. */
bool hd_l2half_serve(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                     hd_time t);
/* HD_L2_COPY. */
void hd_l2half_copy(struct hd_l2_slice *sl, hd_time now, uint32_t what,
                    uint64_t line);
/* A line is taken out of its home slice: so is its copy. */
void hd_l2half_drop(struct hd_l2 *l2, uint32_t app, uint64_t line);
/* What is wrong with the copies of a slice, or NULL. */
const char *hd_l2half_check(const struct hd_l2_slice *sl);

/* ---- l2bypass.c: requests that skip the cache ------------------------- */

/* The default of l2_bypass: the steering table. */
int64_t hd_l2_steered(void *slice, const void *question);
/* Whether a request skips this cache: asked once, when it arrives. */
bool hd_l2_bypasses(struct hd_l2_slice *sl, const struct hd_req *q);
/* A request that may skip the cache is at the input. */
void hd_l2_arrive(struct hd_l2_slice *sl, hd_time now, uint32_t r);
/* Serves one that does, at t; HD_L2_GO, or why it cannot. */
uint32_t hd_l2_serve_bypassed(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                              hd_time t);
/* It has its data; the input may wait for what it held. */
void hd_l2_bypassed(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* ---- l2host.c: lines of the host's memory ----------------------------- */

/* A line is read or written there, and not in DRAM. */
void hd_l2_send_host(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* ---- l2packed.c: lines of compressed pages ---------------------------- */

/* When a request can be sent down where pages are compressed;
 * HD_NEVER: it has its place, and follows when its page's metadata have been
 * read. */
hd_time hd_l2_down_packed(struct hd_l2_slice *sl, hd_time now, hd_time at,
                          uint32_t r);

/* ---- l2share.c: ways that are shared out ------------------------------ */

/* Shares the ways of a slice out, or records an error; whether each
 * line is in those of its owner. */
int hd_l2_share(struct hd_l2_slice *sl);
bool hd_l2_in_share(const struct hd_l2_slice *sl);

/* ---- l2warm.c, l2look.c ----------------------------------------------- */

/* What a request that is served leaves in the tags. */
void hd_l2_warm(void *l2, struct hd_req *q);
/* What is alike with and without sectors: the slice and the entry of a request
 * (HD_NONE: none) that leaves something in the tags; NULL: it does not. */
struct hd_l2_slice *hd_l2_warmed(const struct hd_l2 *l2, struct hd_req *q,
                                 uint32_t *entry);

/* For struct hd_part. */
void hd_l2_show(void *l2, uint32_t slice, struct heddle_visitor *v);
void hd_l2_stuck(void *l2, uint32_t slice, struct heddle_visitor *v);
void hd_l2_check(void *l2, uint32_t slice, struct heddle_error *err);

/* ---- memory/fast/l2.c: where the L2 is quiet -------------------------- */

/* A request is sent that does not skip the cache. */
void hd_fast_l2_take(const struct hd_l2 *l2, hd_time now, uint32_t r);
/* The result of a request's look-up is known; what has to take the general path
 * is given to hd_l2_look before anything is changed. */
void hd_fast_l2_look(struct hd_l2_slice *sl, hd_time now, uint32_t r);

/* Whether the fast path may be taken. */
static inline bool hd_l2_quiet(const struct hd_l2_slice *sl)
{
    return HD_FAST && sl->l2->quiet;
}

#endif

/*
 * l2.c - the crossbar and the L2 slices behind it: station of every request
 * that misses a core's L1, and of every entry that a walker reads.
 *
 * The crossbar is a latency each way and a port at each end: requesters
 * reserve their own ports, and a slice's input and output are reserved
 * here.  Contention inside the switch is left out: with one flit a cycle and
 * port, the ports at the ends bind first.  The input buffer of a slice is
 * unbounded; what the cores may have in flight bounds it.  The walkers are the
 * crossbar's clients like the cores (Power et al.), or sit next to the L2 cache
 * (MASK, footnote 2): then walk reads have a latency of their own,
 * walk.memory_latency, and share the slice's ports with the rest.  A
 * request is posted to its slice under the rank of its client, so the order in
 * which clients call does not decide between arrivals of one instant.
 *
 * The path of a request (l2_take, then the events of l2_serve, then l2_answer):
 *
 *   look     The request has crossed the interconnect, what is before the tags
 *            (l2cache.queue_latency: in the simulator that MASK's authors
 *            released 85 cycles, rop_latency, which a request that skips the
 *            cache is spared) and the tags' pipeline; one event stands for
 *            all.  Its flits take the slice's input port: one for a read, its
 *            bytes for a write or an atomic.
 *            `ports` results come out a cycle, in order.  Hit: the answer
 *            leaves.  Miss: an MSHR, and a read goes down; later misses of
 *            the line join it.  If the MSHRs, the merges of a line or the
 *            miss queue are full, the request stays, and all others stay
 *            behind it, until a fill or a departure makes room; it is then
 *            served at once.  A hit is served when the MSHRs are full.
 *   arrive   Only for a request that may skip the cache: at the input, before
 *            the tags (l2bypass.c).
 *   down     The miss queue of the slice: reads of missing lines, bypassed
 *            requests, stores of a cache that is not write-back, and dirty
 *            victims, one FIFO that empties into its DRAM channel while that
 *            has room; it is woken when it has again.  (A slice that belongs to
 *            no channel, l2map.c, waits for that of the first request.)  A place is reserved
 *            as soon as a request is sure to need it, so that the input is
 *            blocked in time.
 *   fill     The line has arrived from DRAM: it enters the tags, a dirty
 *            victim joins the miss queue, and all requests that wait for the
 *            line are answered.
 *
 * Ports are reserved in these events.  The input port's order is therefore
 * that in which requests leave the tags' pipeline, which all enter with the
 * same delay.  When a port puts a result later than the event, the tags were
 * read a few cycles early: a fill in between is found in the MSHR instead, and
 * the answer waits for the later of the two.
 *
 * The queue bounds what the input may add.  Fills may exceed it, by one
 * write-back for each MSHR: otherwise they could wait for each other.
 *
 * The output port is shared by all answers of the slice: an answer takes its
 * bytes' cycles in order of the events that cause it, and leaves when it is
 * ready and those before it have left.  It carries the bytes wanted, not the
 * whole line.  The acknowledgement of a write (HD_REQ_ACK) takes no bandwidth.
 *
 * Writes (policy `back`) are done when they are looked up: a miss allocates
 * without reading DRAM (see cache.c), a write to a line in flight dirties its
 * MSHR.  Atomics are done here too, and dirty their line.
 *
 * Invariants: every request that arrived was answered, has ended, or is in
 * exactly one list; the MSHRs and the tags hold no line twice; stage times of
 * all finished requests and of those inside sum to the total.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2.h"

#include "kit/bits.h"
#include "compress.h"
#include "l2slice.h"

/* ---- settings and counters -------------------------------------------- */

#define HD_PART    xbar
#define HD_CFG     struct hd_xbar_cfg
#define HD_PART_OF "memory/xbar.def"
#include "kit/rows.h"

#define HD_PART    l2cache
#define HD_CFG     struct hd_cache_cfg
#define HD_PART_OF "memory/l2cache.def"
#include "kit/rows.h"

/* Takes a line out of its slice. */
static HD_INLINE enum hd_l2_dropped l2_drop_home(struct hd_l2 *l2, uint32_t app,
                                                 uint64_t line)
{
    uint32_t set, entry;
    struct hd_cache *tags =
        &l2->slice[hd_l2_slice_of(l2, app, line, &set)].tags;
    bool dirty;

    entry = hd_assoc_find(&tags->tags, set, line);
    if (entry == HD_NONE)
        return HD_L2_NOT_THERE;
    dirty = tags->line[entry].dirty;
    hd_assoc_drop(&tags->tags, entry);
    return dirty ? HD_L2_WAS_DIRTY : HD_L2_WAS_CLEAN;
}

/* .. and its copy. */
static HD_APART enum hd_l2_dropped l2_drop_both(struct hd_l2 *l2, uint32_t app,
                                                uint64_t line)
{
    hd_l2half_drop(l2, app, line);
    return l2_drop_home(l2, app, line);
}

enum hd_l2_dropped hd_l2_drop(struct hd_l2 *l2, uint32_t app, hd_pa pa)
{
    hd_cross(l2->env, HD_BORDER_drop_l2);
    if (!l2->full)
        return HD_L2_NOT_THERE;
    if (HD_UNLIKELY(l2->half.slices != 0))
        return l2_drop_both(l2, app, pa.v >> l2->line_shift);
    return l2_drop_home(l2, app, pa.v >> l2->line_shift);
}

uint64_t hd_l2_drop_lines(struct hd_l2 *l2, uint32_t app, hd_pa pa,
                          uint64_t bytes)
{
    uint64_t line = pa.v >> l2->line_shift, n = 0;
    uint64_t end = (pa.v + bytes) >> l2->line_shift;

    hd_cross(l2->env, HD_BORDER_drop_l2);
    if (!l2->full)
        return 0;
    if (HD_UNLIKELY(l2->half.slices != 0))
        for (uint64_t l = line; l < end; l++)
            hd_l2half_drop(l2, app, l);
    for (; line < end; line++)
        n += l2_drop_home(l2, app, line) != HD_L2_NOT_THERE;
    return n;
}

/* ---- taking requests -------------------------------------------------- */

/* A request is sent: struct hd_below's. */
HD_APART void hd_l2_take_other(const struct hd_l2 *l2, hd_time now, uint32_t r)
{
    struct hd_req *q = &l2->req[r];
    uint32_t to, what = HD_L2_ARRIVE;
    hd_time at;

    hd_assert(q->app < HD_MAX_APPS && q->level < 8);
    at = hd_recip_up(l2->per_cycle, now) + l2->travel[q->kind == HD_REQ_WALK];
    q->line = q->pa.v >> l2->line_shift;
    to = hd_l2_slice_of(l2, q->app, q->line, &q->spare);
    if (HD_UNLIKELY(l2->half.slices != 0))
        at += hd_l2half_route(l2, q, &to);
    if (HD_LIKELY(((q->flags & HD_REQ_BYPASS) | l2->asks |
                   l2->steer->l2_steered[q->app][q->level]) == 0) ||
        (!l2->full && l2->cfg.mode.kind != HD_OFF)) {
        at += l2->latency;
        what = HD_L2_LOOK;
    }
    hd_l2_post_arrival(l2, at, l2->slice[0].component + to, what, r);
}

static HD_HOT void l2_take(void *self, hd_time now, uint32_t r)
{
    const struct hd_l2 *l2 = self;

    if (HD_FAST && HD_LIKELY(l2->quiet && !(l2->req[r].flags & HD_REQ_BYPASS)))
        hd_fast_l2_take(l2, now, r);
    else
        hd_l2_take_other(l2, now, r);
}

static uint32_t l2_pc_of(const void *slice)
{
    const struct hd_req *q = ((const struct hd_l2_slice *)slice)->hand;

    return q->kind == HD_REQ_WALK ? 0 : q->pc;
}

static inline uint32_t l2_pop(struct hd_l2_slice *sl, struct hd_l2_list *l)
{
    uint32_t r = l->first;

    l->first = hd_l2_request(sl, r)->next;
    l->n--;
    return r;
}

/* ---- answers ---------------------------------------------------------- */

/* The L2 has taken a write, which is acknowledged if its sender wants that. */
static void l2_taken(struct hd_l2_slice *sl, uint32_t r, hd_time at)
{
    const struct hd_req *q = hd_l2_request(sl, r);
    const struct hd_client *c = &sl->l2->w.clients[q->client];

    sl->s->owed--;
    if (HD_UNLIKELY(sl->l2->check))
        sl->s->total += at - q->born;
    if ((q->flags & HD_REQ_ACK) == 0)
        return;
    if (HD_UNLIKELY((q->flags & HD_REQ_HALF) != 0))
        at = hd_l2half_back(sl, q, at);
    c->reply(c->self, at, r);
}

/* A write ends here. */
void hd_l2_end(struct hd_l2_slice *sl, uint32_t r, hd_time at)
{
    l2_taken(sl, r, at);
    hd_req_give(sl->l2->w.reqs, r);
}

/* ---- the miss queue --------------------------------------------------- */

/* The DRAM channel of a request of the slice's. */
static inline uint32_t down_channel(const struct hd_l2_slice *sl, uint32_t r)
{
    const struct hd_req *q = hd_l2_request(sl, r);

    return HD_LIKELY(sl->channel != HD_NONE)
               ? sl->channel
               : hd_l2_channel(sl->l2, q->app, q->pa);
}

/* Sends what the DRAM channel of the first takes. */
static void down_drain(struct hd_l2_slice *sl, hd_time now)
{
    const struct hd_l2_wiring *w = &sl->l2->w;
    struct hd_l2_list *down = &sl->s->down;
    uint32_t channel;

    while (down->n > 0 && !sl->s->waiting) {
        channel = down_channel(sl, down->first);
        if (HD_LIKELY(w->dram != NULL)) {
            if (hd_dram_takes(w->dram, channel, down->first)) {
                hd_dram_send(w->dram, now, l2_pop(sl, down));
                continue;
            }
            sl->s->waiting = 1;
            hd_dram_wait(w->dram, channel, down->first, sl->component,
                         HD_L2_ROOM, 0);
        } else if (w->room == NULL || w->room(w->below.self, channel)) {
            w->below.send(w->below.self, now, l2_pop(sl, down));
        } else {
            sl->s->waiting = 1;
            w->wait(w->below.self, channel, sl->component, HD_L2_ROOM, 0);
        }
    }
}

static HD_APART void down_wait(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    hd_l2_push(sl, &sl->s->down, r);
    down_drain(sl, now);
}

/* A request enters the queue, or leaves it at once. */
static HD_INLINE void down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_dram *dram = sl->l2->w.dram;

    if (hd_l2_is_host(sl, hd_l2_request(sl, r)->pa.v)) {
        hd_l2_send_host(sl, now, r);
        return;
    }
    if (HD_LIKELY(sl->s->down.n == 0 && dram != NULL &&
                  hd_dram_takes(dram, down_channel(sl, r), r))) {
        hd_dram_send(dram, now, r);
        return;
    }
    down_wait(sl, now, r);
}

HD_HOT void hd_l2_down_join(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    down_join(sl, now, r);
}

/* Puts a request into the queue at `at`; its place is taken now. */
inline void hd_l2_down_go(struct hd_l2_slice *sl, hd_time now, hd_time at,
                          uint32_t r)
{
    if (HD_UNLIKELY(sl->l2->w.compress != NULL)) {
        at = hd_l2_down_packed(sl, now, at, r);
        if (at == HD_NEVER)
            return;
    }
    hd_l2_request(sl, r)->born = at;
    if (HD_LIKELY(at <= now)) {
        down_join(sl, now, r);
        return;
    }
    sl->s->promised++;
    hd_l2_post(sl, at, HD_L2_DOWN, r);
}

/* A request of the slice's own, on behalf of an application and a warp. */
uint32_t hd_l2_down_ask(struct hd_l2_slice *sl, uint64_t pa, uint32_t bytes,
                        uint32_t kind, uint32_t app, uint32_t warp)
{
    uint32_t d = hd_req_take_own(sl->l2->w.reqs);

    *hd_l2_request(sl, d) = (struct hd_req){.pa = {pa},
                                            .next = HD_NONE,
                                            .client = sl->l2->w.dram_client,
                                            .warp = (uint16_t)warp,
                                            .kind = (uint8_t)kind,
                                            .app = (uint8_t)app,
                                            .bytes = (uint16_t)bytes};
    hd_l2_counters(
        sl, app)[kind == HD_REQ_WRITE ? HD_L2_DRAM_WRITES : HD_L2_DRAM_READS]++;
    return d;
}

/* A read for request r: what its answer is for is in `of` and `spare`. */
uint32_t hd_l2_down_read(struct hd_l2_slice *sl, uint32_t r, uint64_t pa,
                         uint32_t bytes, uint32_t of, uint32_t spare)
{
    const struct hd_req *q = hd_l2_request(sl, r);
    uint32_t d = hd_l2_down_ask(sl, pa, bytes,
                                q->kind == HD_REQ_WALK ? q->kind : HD_REQ_READ,
                                q->app, q->warp);

    hd_l2_request(sl, d)->level = q->level;
    hd_l2_request(sl, d)->tag = sl->i << 16 | of;
    hd_l2_request(sl, d)->spare = spare;
    return d;
}

/* A store that is done continues to DRAM as it is. */
void hd_l2_down_through(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                        hd_time at)
{
    hd_l2_counters(sl, hd_l2_request(sl, r)->app)[HD_L2_DRAM_WRITES]++;
    l2_taken(sl, r, at);
    hd_l2_down_go(sl, now, at, r);
}

/* What a request has changed is written to DRAM. */
void hd_l2_down_write(struct hd_l2_slice *sl, hd_time now, hd_time at,
                      const struct hd_req *q, uint64_t pa, uint32_t bytes)
{
    hd_l2_down_go(sl, now, at,
                  hd_l2_down_ask(sl, pa, bytes, HD_REQ_WRITE, q->app, q->warp));
}

/* Enters a line, and sends a dirty victim down at `at`. */
static HD_INLINE void enter_line(struct hd_l2_slice *sl, hd_time now,
                                 hd_time at, const struct hd_req *q,
                                 uint32_t level, bool dirty)
{
    uint64_t victim;
    uint32_t owner;

    if (!hd_l2_place_line(sl, q, level, dirty, &victim, &owner))
        return;
    hd_l2_counters(sl, owner)[HD_L2_WRITE_BACKS]++;
    hd_l2_down_go(sl, now, at,
                  hd_l2_down_ask(sl, victim << sl->l2->line_shift,
                                 sl->l2->cfg.line, HD_REQ_WRITE, owner,
                                 HD_NO_WARP));
}

void hd_l2_enter_clean(struct hd_l2_slice *sl, hd_time now,
                       const struct hd_req *q)
{
    enter_line(sl, now, now, q, q->level, false);
}

/* ---- serving a request ------------------------------------------------ */

/* The line is in flight: the request joins its MSHR. */
static uint32_t serve_merge(struct hd_l2_slice *sl, uint32_t r, hd_time t,
                            uint32_t m)
{
    struct hd_mshr_entry *x = &sl->mshr.v[m];
    struct hd_req *q = hd_l2_request(sl, r);

    if (q->kind != HD_REQ_WRITE && x->n >= sl->l2->cfg.merges)
        return HD_L2_MERGES;
    if (q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC)
        x->flags |= HD_L2_DIRTY;
    hd_l2_count(sl, q, HD_L2_MERGED);
    hd_l2_book(sl, q, t);
    if (q->kind == HD_REQ_WRITE) {
        hd_l2_end(sl, r, q->queued);
        return HD_L2_GO;
    }
    q->hit = HD_REQ_MERGED;
    q->next = HD_NONE;
    hd_l2_request(sl, x->last)->next = r;
    x->last = r;
    x->n++;
    return HD_L2_GO;
}

void hd_l2_miss(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_req *q = hd_l2_request(sl, r);
    uint32_t m = hd_mshr_take(&sl->mshr, q->line);
    struct hd_mshr_entry *x = &sl->mshr.v[m];

    hd_l2_peak(sl, HD_L2_PEAK_MSHRS, hd_mshr_used(&sl->mshr));
    q->hit = HD_REQ_MISSED;
    q->next = HD_NONE;
    x->first = x->last = r;
    x->n = 1;
    x->flags = q->kind == HD_REQ_ATOMIC ? HD_L2_DIRTY : 0;
    hd_l2_down_go(sl, now, q->queued,
                  hd_l2_down_read(sl, r, q->line << sl->l2->line_shift,
                                  sl->l2->cfg.line, m, q->spare));
}

/* A read or an atomic whose line is in the tags (entry), or nowhere. */
static inline uint32_t serve_read(struct hd_l2_slice *sl, hd_time now,
                                  uint32_t r, hd_time t, uint32_t entry)
{
    struct hd_req *q = hd_l2_request(sl, r);
    bool hit = entry != HD_NONE;
    bool through =
        q->kind == HD_REQ_ATOMIC && sl->l2->cfg.write != HD_WRITE_BACK;

    if (!hit && HD_UNLIKELY(hd_mshr_full(&sl->mshr)))
        return HD_L2_MSHRS;
    if ((!hit || HD_UNLIKELY(through)) && hd_l2_down_full(sl))
        return HD_L2_QUEUE;
    hd_l2_book(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, q->line, entry, q->kind,
                  hd_l2_who(sl, q), false);
    hd_l2_count(sl, q, hit ? HD_L2_HITS : HD_L2_MISSES);
    if (!hit) {
        hd_l2_miss(sl, now, r);
        return HD_L2_GO;
    }
    q->hit = HD_REQ_HIT;
    if (HD_UNLIKELY(through))
        hd_l2_down_write(sl, now, q->queued, q, q->pa.v, q->bytes);
    hd_l2_reply(sl, now, r, q->queued);
    return HD_L2_GO;
}

static uint32_t serve_write(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                            hd_time t, uint32_t entry)
{
    struct hd_req *q = hd_l2_request(sl, r);
    bool hit = entry != HD_NONE;
    bool back = sl->l2->cfg.write == HD_WRITE_BACK &&
                !hd_l2_not_kept(sl, hd_l2_request(sl, r)->pa.v);

    if (hd_l2_down_full(sl) && !(back && hit))
        return HD_L2_QUEUE;
    hd_l2_book(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, q->line, entry, q->kind,
                  hd_l2_who(sl, q), false);
    hd_l2_count(sl, q, hit ? HD_L2_HITS : HD_L2_MISSES);
    if (!back) {
        hd_l2_down_through(sl, now, r, q->queued);
        return HD_L2_GO;
    }
    if (!hit)
        enter_line(sl, now, q->queued, q, 0, true);
    hd_l2_end(sl, r, q->queued);
    return HD_L2_GO;
}

/* Serves the request that is first in line; HD_L2_GO, or why it cannot.  A
 * line is in the tags or in flight, never both. */
static HD_HOT uint32_t serve_first(struct hd_l2_slice *sl, hd_time now,
                                   uint32_t r)
{
    const struct hd_req *q = hd_l2_request(sl, r);
    hd_time t = hd_max_u64(q->queued, now);
    bool write = q->kind == HD_REQ_WRITE;
    uint32_t e, m;

    if (HD_UNLIKELY(q->flags &
                    (HD_REQ_HALF | HD_REQ_BYPASS | HD_REQ_SECTORS))) {
        if ((q->flags & HD_REQ_HALF) != 0 && hd_l2half_serve(sl, now, r, t))
            return HD_L2_GO;
        if ((q->flags & HD_REQ_BYPASS) != 0)
            return hd_l2_serve_bypassed(sl, now, r, t);
        if ((q->flags & HD_REQ_SECTORS) != 0)
            return hd_l2sector_serve(sl, now, r, t);
    }
    e = hd_assoc_find(&sl->tags.tags, q->spare, q->line);
    if (e == HD_NONE && !(write && sl->l2->cfg.write != HD_WRITE_BACK)) {
        m = hd_mshr_find(&sl->mshr, q->line);
        if (m != HD_NONE)
            return serve_merge(sl, r, t, m);
    }
    return write ? serve_write(sl, now, r, t, e) : serve_read(sl, now, r, t, e);
}

/* ---- the input -------------------------------------------------------- */

/* Counts the cycles that the head of the input has waited until now. */
static void count_blocked(struct hd_l2_slice *sl, hd_time now)
{
    struct hd_l2_state *s = sl->s;
    uint64_t n;

    if (s->cause == HD_L2_GO || now <= s->since)
        return;
    n = hd_recip_div(sl->l2->per_cycle, now - s->since);
    hd_l2_counters(sl, s->held)[HD_L2_BLOCKED_MSHRS + s->cause - HD_L2_MSHRS] +=
        n;
    s->since += n * sl->l2->cycle;
}

/* The head of the input, request r, waits for this, or is served. */
static void set_cause(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                      uint32_t cause)
{
    struct hd_l2_state *s = sl->s;

    if (cause == s->cause)
        return;
    count_blocked(sl, now);
    s->cause = cause;
    if (cause == HD_L2_GO)
        return;
    s->since = now;
    s->held = hd_l2_request(sl, r)->app;
}

/* Serves the input until its head is blocked.  `now` is an L2 edge. */
void hd_l2_resume(struct hd_l2_slice *sl, hd_time now)
{
    struct hd_l2_state *s = sl->s;

    if (s->cause == HD_L2_QUEUE && hd_l2_down_full(sl))
        return; /* it needs a place there */
    while (s->in.n > 0) {
        uint32_t r = s->in.first, next = hd_l2_request(sl, r)->next, cause;

        cause = serve_first(sl, now, r);
        set_cause(sl, now, r, cause);
        if (cause != HD_L2_GO)
            return;
        s->in.first = next;
        s->in.n--;
    }
}

/* A request takes the input port; `before` is what it has had in the tags. */
static inline void enter_port(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                              hd_time before)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_l2_state *s = sl->s;
    struct hd_req *q = hd_l2_request(sl, r);
    bool carries = q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC;
    uint64_t n = carries ? hd_l2_flits(l2, q->bytes) : 1;
    uint32_t cause;

    s->in_free = hd_max_u64(now, s->in_free) + n * l2->cycle;
    q->queued = s->in_free - l2->cycle;
    hd_l2_counters(sl, q->app)[HD_L2_INPUT_BUSY] += n;
    s->owed++;
    if (HD_UNLIKELY(l2->check)) {
        s->travel += q->queued - before - q->born;
        s->look += before;
    }
    if (HD_UNLIKELY(!l2->full) && l2->cfg.mode.kind != HD_OFF) {
        hd_l2_count(sl, q, HD_L2_HITS);
        q->hit = HD_REQ_HIT;
        if (q->kind == HD_REQ_WRITE)
            hd_l2_end(sl, r, q->queued);
        else
            hd_l2_reply(sl, now, r, q->queued);
        return;
    }
    if (HD_LIKELY(s->in.n == 0)) {
        cause = serve_first(sl, now, r);
        if (HD_LIKELY(cause == HD_L2_GO))
            return;
        set_cause(sl, now, r, cause);
    }
    hd_l2_push(sl, &s->in, r);
    hd_l2_peak(sl, HD_L2_PEAK_INPUT, s->in.n);
}

/* ---- answers from DRAM ------------------------------------------------ */

static HD_APART void l2_fill(struct hd_l2_slice *sl, hd_time now, uint32_t m)
{
    const struct hd_mshr_entry *x = &sl->mshr.v[m];
    bool back = sl->l2->cfg.write == HD_WRITE_BACK;
    bool dirty = (x->flags & HD_L2_DIRTY) != 0;
    uint32_t r = x->first, next;
    const struct hd_req *q = hd_l2_request(sl, r);
    bool away = hd_l2_not_kept(sl, q->pa.v);

    hd_mshr_give(&sl->mshr, m);
    if (!away)
        enter_line(sl, now, now, q, q->level, back && dirty);
    if (dirty && (!back || away))
        hd_l2_down_write(sl, now, now, q, q->line << sl->l2->line_shift,
                         HD_L2_BURST);
    for (; r != HD_NONE; r = next) {
        q = hd_l2_request(sl, r);
        next = q->next;
        hd_l2_reply(sl, now, r, hd_max_u64(now, q->queued));
    }
    if (sl->s->in.n > 0)
        hd_l2_resume(sl, now);
}

/* DRAM has answered the slice's own request d, which is freed here. */
static HD_HOT void l2_answer(void *self, hd_time at, uint32_t d)
{
    struct hd_l2 *l2 = self;
    const struct hd_req *q = &l2->req[d];
    struct hd_l2_slice *sl = &l2->slice[q->tag >> 16];
    uint32_t of = q->tag & 0xffff;

    at = hd_recip_up(l2->per_cycle, at);
    if (HD_UNLIKELY((q->flags & HD_REQ_PACKED) != 0))
        at += hd_compress_unpack(l2->w.compress);
    if (HD_UNLIKELY(of == HD_L2_METADATA)) {
        hd_l2_post(sl, hd_max_u64(at, hd_l2_request(sl, q->spare)->born),
                   HD_L2_DOWN, q->spare);
    } else if (of != HD_L2_PASSED) {
        hd_assoc_prefetch(&sl->tags.tags, q->spare);
        hd_l2_post(sl, at, HD_L2_FILL, of);
    } else {
        hd_l2_post(sl, at, HD_L2_PASS, q->spare);
    }
    hd_req_give(l2->w.reqs, d);
}

/* ---- events ----------------------------------------------------------- */

HD_APART void hd_l2_look(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    enter_port(sl, now, r, sl->l2->latency);
}

/* A request that skips the cache takes the input port. */
HD_APART void hd_l2_enter(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    enter_port(sl, now, r, 0);
}

HD_APART void hd_l2_serve_other(struct hd_l2_slice *sl, hd_time now,
                                uint32_t what, uint32_t a, uint64_t b)
{
    struct hd_l2_state *s = sl->s;

    switch (what) {
    case HD_L2_ARRIVE:
        hd_l2_arrive(sl, now, a);
        break;
    case HD_L2_LOOK:
        hd_l2_look(sl, now, a);
        break;
    case HD_L2_DOWN:
        s->promised--;
        down_join(sl, now, a);
        if (s->cause == HD_L2_QUEUE)
            hd_l2_resume(sl, now);
        break;
    case HD_L2_PASS:
        hd_l2_bypassed(sl, now, a);
        break;
    case HD_L2_COPY:
        hd_l2half_copy(sl, now, a, b);
        break;
    case HD_L2_ROOM:
        s->waiting = 0;
        down_drain(sl, now);
        if (s->cause == HD_L2_QUEUE)
            hd_l2_post(sl, hd_recip_up(sl->l2->per_cycle, now), HD_L2_RETRY, 0);
        break;
    default:
        hd_l2_resume(sl, now);
    }
}

static HD_HOT void l2_serve(void *self, hd_time now, uint32_t what, uint32_t a,
                            uint64_t b)
{
    if (what == HD_L2_LOOK && hd_l2_quiet(self))
        hd_fast_l2_look(self, now, a);
    else if (what == HD_L2_FILL)
        l2_fill(self, now, a);
    else
        hd_l2_serve_other(self, now, what, a, b);
}

/* What a blocked input has waited is counted when it is served; before the
 * counters are read, what is not counted yet is added. */
static void l2_sync(void *self, hd_time now)
{
    struct hd_l2 *l2 = self;

    for (uint32_t i = 0; i < l2->cfg.slices; i++)
        count_blocked(&l2->slice[i], now);
}

/* ---- building --------------------------------------------------------- */

static int open_slice(struct hd_l2 *l2, uint32_t i)
{
    struct hd_env *env = l2->env;
    struct hd_l2_slice *sl = &l2->slice[i];
    int rc;

    sl->l2 = l2;
    sl->host_from = UINT64_MAX;
    sl->i = i;
    sl->channel = l2->apart ? HD_NONE : i / (uint32_t)l2->spread.banks;
    sl->req = l2->req;
    sl->launch = l2->w.reqs->launch;
    sl->apps = l2->stat.apps - 1;
    sl->count = hd_count_row(&l2->stat, i, 0);
    sl->component = hd_events_component(
        env->ev, "l2cache", hd_l2_sectored(l2) ? hd_l2sector_event : l2_serve,
        sl);
    hd_assert(sl->component == l2->slice[0].component + i);
    sl->s = hd_arena_take(env->arena, 1, sizeof *sl->s);
    if (sl->s == NULL ||
        hd_mshr_open(&sl->mshr, env->arena, l2->cfg.mshrs, 0) != 0)
        return hd_err_memory(env->err);
    rc = hd_cache_open(&sl->tags, env, &l2->cfg, "l2cache", i,
                       l2->cfg.bytes / l2->cfg.slices);
    if (rc != 0)
        return rc;
    sl->tags.tags.pc = (struct hd_pc){l2_pc_of, sl};
    if (l2->cfg.partition && (rc = hd_l2_share(sl)) != 0)
        return rc;
    sl->bypass = (struct hd_slot){hd_l2_steered, sl, 0};
    if (env->slots != NULL)
        hd_slots_offer(env->slots, HEDDLE_POINT_l2_bypass, "l2cache",
                       &sl->bypass, hd_l2_steered, sl);
    return 0;
}

/* Policies and watchers have come or gone. */
static void l2_bound(void *self)
{
    struct hd_l2 *l2 = self;
    const struct hd_assoc *tags = &l2->slice[0].tags.tags;

    for (uint32_t i = 0; i < l2->cfg.slices; i++)
        hd_cache_bound(&l2->slice[i].tags);
    l2->asks = l2->cfg.mode.kind == HD_OFF || l2->slice[0].bypass.bound;
    l2->quiet = l2->full && !l2->check && !hd_l2_sectored(l2) &&
                l2->half.slices == 0 && l2->w.reqs->launch == NULL &&
                tags->set != NULL && l2->own == l2->channels &&
                hd_slots_quiet(l2->env->slots, "l2cache");
}

static int l2_settle(struct hd_l2 *l2)
{
    static const struct hd_steer unsteered; /* where there are no policies */
    struct hd_env *env = l2->env;
    const struct hd_l2_wiring *w = &l2->w;
    const struct hd_cache_cfg *c = &l2->cfg;

    if (!hd_is_pow2(c->line))
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.line: %u is not a power of two", c->line);
    l2->line_shift = hd_log2(c->line);
    l2->channels = w->dram != NULL    ? hd_dram_channels(w->dram)
                   : w->channels != 0 ? w->channels
                                      : 1;
    l2->apart = c->slices % l2->channels != 0;
    l2->own = w->dram != NULL && (!l2->apart || env->nodes != NULL)
                  ? hd_dram_own(w->dram)
                  : l2->channels;
    if (l2->w.interleave == 0)
        l2->w.interleave = c->line;
    l2->req = w->reqs->v;
    l2->ev = env->ev;
    l2->check = env->check;
    l2->full = c->mode.kind == HD_FULL;
    l2->steer = env->slots != NULL ? env->slots->steer : &unsteered;
    l2->cycle = env->clk->ticks[HD_CLK_L2];
    l2->latency =
        l2->cycle * (c->mode.kind == HD_FIXED ? c->mode.fixed
                                              : c->queue_latency + c->latency);
    l2->travel[0] = l2->travel[1] = l2->xbar.latency * l2->cycle;
    if (w->walk_latency != 0)
        l2->travel[1] = w->walk_latency * l2->cycle;
    l2->per_cycle = hd_recip_of(l2->cycle);
    l2->per_core = hd_recip_of(env->clk->ticks[HD_CLK_CORE]);
    l2->per_flit = hd_recip_of(l2->xbar.bytes);
    return hd_l2_find_spread(l2);
}

static int l2_build(struct hd_l2 *l2)
{
    struct hd_env *env = l2->env;
    int rc = l2_settle(l2);

    if (rc != 0)
        return rc;
    l2->slice = hd_env_take(env, l2->cfg.slices, sizeof *l2->slice);
    if (l2->slice == NULL)
        return hd_err_memory(env->err);
    l2->stat = hd_stats_group_by_launch(env->stats, &hd_rows_l2cache,
                                        l2->cfg.slices);
    if (hd_l2_sectored(l2) && hd_l2sector_open(l2) != 0)
        return env->err->code;
    if (l2->cfg.halves == 2 && hd_l2half_open(l2) != 0)
        return env->err->code;
    for (uint32_t i = 0; i < HD_L2_HISTS; i++) {
        l2->hist[i] = hd_stats_hist(env->stats, &hd_rows_l2cache, i);
        if (l2->stat.v == NULL || l2->hist[i] == NULL)
            return hd_err_memory(env->err);
    }
    for (uint32_t i = 0; i < l2->cfg.slices && rc == 0; i++)
        rc = open_slice(l2, i);
    if (rc == 0)
        l2_bound(l2);
    return rc;
}

struct hd_l2 *hd_l2_open(struct hd_env *env, const struct hd_l2_wiring *w)
{
    struct hd_l2 *l2 = hd_env_take(env, 1, sizeof *l2);

    if (l2 == NULL)
        return NULL;
    l2->env = env;
    l2->w = *w;
    l2->cfg = *w->cache;
    l2->xbar = *w->xbar;
    if (l2_build(l2) != 0)
        return NULL;
    hd_env_part(env, (struct hd_part){.name = "l2cache",
                                      .instances = l2->cfg.slices,
                                      .self = l2,
                                      .look = hd_l2_show,
                                      .stuck = hd_l2_stuck,
                                      .check = hd_l2_check,
                                      .sync = l2_sync,
                                      .bound = l2_bound});
    return l2;
}

struct hd_below hd_l2_below(struct hd_l2 *l2)
{
    if (hd_l2_sectored(l2))
        return (struct hd_below){hd_l2sector_take, l2, hd_l2sector_warm};
    return (struct hd_below){l2_take, l2, hd_l2_warm};
}

struct hd_client hd_l2_client(struct hd_l2 *l2)
{
    return (struct hd_client){
        hd_l2_sectored(l2) ? hd_l2sector_answer : l2_answer, l2};
}

hd_time hd_l2_back(const struct hd_l2 *l2)
{
    return l2->travel[0];
}

hd_time hd_l2_walk_back(const struct hd_l2 *l2)
{
    return l2->travel[1];
}

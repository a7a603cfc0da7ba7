/*
 * l2slice.c - the way of a request through one slice of the L2.
 *
 *   look     The request has crossed the interconnect and the tags' pipeline;
 *            one event stands for both.  Its flits take the slice's input
 *            port: one for a read, its bytes for a write or an atomic.
 *            `ports` results come out a cycle, in order.  Hit: the answer
 *            leaves.  Miss: an MSHR, and a read goes down; later misses of
 *            the line join it.  If the MSHRs, the merges of a line or the
 *            miss queue are full, the request stays, and all others stay
 *            behind it, until a fill or a departure makes room; it then goes
 *            on at once.  A hit passes when the MSHRs are full.
 *   arrive   Only for a request that may skip the cache (steered, flagged, or
 *            asked because l2_bypass is bound): at the input, before the tags.
 *   down     The miss queue of the slice: a FIFO that empties into its DRAM
 *            channel while that has room; it is woken when it has again.
 *   fill     The line has come from DRAM: it enters the tags, a dirty victim
 *            joins the miss queue, and all who wait are answered.
 *
 * Ports are reserved in these events.  The input port's order is therefore
 * that in which requests leave the tags' pipeline, which all enter with the
 * same delay; a bypassing request competes with those that entered `latency`
 * before.  When a port puts a result later than the event, the tags were read
 * a few cycles early: a fill in between is found in the MSHR instead, and the
 * answer waits for the later of the two.
 *
 * The queue bounds what the input may add.  Fills may exceed it, by one
 * write-back for each MSHR: otherwise they could wait for each other.
 *
 * The output port is shared by all answers of the slice: an answer takes its
 * bytes' cycles in order of the events that cause it, and leaves when it is
 * ready and those before it have left.  It carries the bytes wanted, not the
 * whole line.  Word that a write was taken (HD_REQ_ACK) takes no bandwidth.
 *
 * Writes (policy `back`) are done when they are looked up: a miss allocates
 * without reading DRAM (see cache.c), a write to a line in flight dirties its
 * MSHR.  Atomics are done here too, and dirty their line.
 *
 * A bypassed request neither looks up nor fills.  A bypassed page-table read
 * takes one 32-byte burst of DRAM instead of a line.  Page tables are written
 * by the driver alone, so a bypassed read ignores what the slice may hold
 * (MASK leaves it open).  Bypassed reads do not merge.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

enum { BURST = 32 }; /* least bytes that a bypassed read takes */

/* Counts a look-up of a request by its class and result. */
static inline void count(struct hd_l2_slice *sl, const struct hd_req *q,
                         uint32_t result)
{
    uint64_t *c = hd_l2_counters(sl, q->app);

    c += hd_l2_class(sl->l2, q) * HD_L2_RESULTS;
    c[HD_L2_LOOKUPS]++;
    c[result]++;
}

/* ---- answers ---------------------------------------------------------- */

/* Answers a request whose data is there at `at`, looked up at `ready`. */
static void answer(struct hd_l2_slice *sl, hd_time now, uint32_t r, hd_time at)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_l2_state *s = sl->s;
    const struct hd_req *q = hd_l2_req(sl, r);
    uint32_t n = hd_l2_flits(l2, q->bytes), row = hd_l2_row(sl, q->app);
    hd_time free = s->out_free, leaves = hd_max_u64(free, at);
    const struct hd_client *c = &l2->clients[q->client];

    s->out_free = hd_max_u64(free, now) + n * l2->cycle;
    sl->count[row * HD_L2_COUNTERS + HD_L2_OUTPUT_BUSY] += n;
    s->owed--;
    if (HD_UNLIKELY(l2->check)) {
        s->memory += at - q->queued;
        s->output += leaves - at;
        s->total += leaves - q->born;
    }
    hd_hist_add(hd_l2_hist(l2, q->kind, row),
                hd_l2_core_cycles(l2, leaves - q->born));
    c->reply(c->self, leaves, r);
}

/* Tells the sender of a write, if it wants to know, that the L2 has it. */
static void acknowledge(struct hd_l2_slice *sl, uint32_t r, hd_time at)
{
    const struct hd_req *q = hd_l2_req(sl, r);
    const struct hd_client *c = &sl->l2->clients[q->client];

    if (q->flags & HD_REQ_ACK)
        c->reply(c->self, at, r);
}

/* A write is done. */
static void end(struct hd_l2_slice *sl, uint32_t r, hd_time at)
{
    sl->s->owed--;
    if (HD_UNLIKELY(sl->l2->check))
        sl->s->total += at - hd_l2_req(sl, r)->born;
    acknowledge(sl, r, at);
    hd_req_give(sl->l2->reqs, r);
}

/* ---- serving ---------------------------------------------------------- */

static uint32_t serve_passed(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                             hd_time t)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_req *q = hd_l2_req(sl, r);
    uint32_t d = r, bytes = q->bytes;
    uint64_t pa = q->pa.v;

    if (hd_l2down_full(sl))
        return HD_L2_QUEUE;
    if (l2->cfg.mode.kind != HD_OFF)
        hd_l2_counters(sl,
                       q->app)[q->kind == HD_REQ_WALK ? HD_L2_BYPASS_WALKS
                                                      : HD_L2_BYPASS_DATA]++;
    sl->s->input += t - q->queued;
    if (t > q->queued)
        hd_l2_counters(sl, q->app)[HD_L2_INPUT_WAIT] +=
            (t - q->queued) / l2->cycle;
    q->queued = t;
    if (q->kind == HD_REQ_WRITE) {
        sl->s->owed--;
        if (HD_UNLIKELY(l2->check))
            sl->s->total += t - q->born;
        hd_l2_counters(sl, q->app)[HD_L2_DRAM_WRITES]++;
        acknowledge(sl, r, t);
    } else {
        if (bytes < BURST) {
            pa = pa / BURST * BURST;
            bytes = BURST;
        }
        d = hd_l2down_ask(sl, pa, bytes,
                          q->kind == HD_REQ_WALK ? HD_REQ_WALK : HD_REQ_READ,
                          q->app, q->warp);
        q = hd_l2_req(sl, r);
        q->hit = HD_REQ_MISSED;
        hd_l2_req(sl, d)->level = q->level;
        hd_l2_req(sl, d)->flags = HD_REQ_BYPASS;
        hd_l2_req(sl, d)->tag = sl->s->tag | HD_L2_PASSED;
        hd_l2_req(sl, d)->spare = r;
        sl->s->passing++;
        sl->s->passed += t - q->born;
    }
    hd_l2down_go(sl, now, t, d);
    return HD_L2_GO;
}

/* The line is in flight: join those who wait for it. */
static uint32_t serve_merge(struct hd_l2_slice *sl, uint32_t r, hd_time t,
                            uint32_t m)
{
    struct hd_mshr_entry *x = &sl->mshr.v[m];
    struct hd_req *q = hd_l2_req(sl, r);

    if (q->kind == HD_REQ_WRITE) {
        x->flags |= HD_L2_DIRTY;
        count(sl, q, HD_L2_MERGED);
        end(sl, r, hd_l2_look(sl, q, t));
        return HD_L2_GO;
    }
    if (x->n >= sl->l2->cfg.merges)
        return HD_L2_MERGES;
    if (q->kind == HD_REQ_ATOMIC)
        x->flags |= HD_L2_DIRTY;
    count(sl, q, HD_L2_MERGED);
    hd_l2_look(sl, q, t);
    q->hit = HD_REQ_MERGED;
    q->next = HD_NONE;
    hd_l2_req(sl, x->last)->next = r;
    x->last = r;
    x->n++;
    return HD_L2_GO;
}

static void miss(struct hd_l2_slice *sl, hd_time now, uint32_t r, uint64_t line)
{
    uint32_t m = hd_l2_take_mshr(sl, line);
    struct hd_mshr_entry *x = &sl->mshr.v[m];
    struct hd_req *q = hd_l2_req(sl, r);

    q->hit = HD_REQ_MISSED;
    q->next = HD_NONE;
    x->first = x->last = r;
    x->n = 1;
    x->flags = q->kind == HD_REQ_ATOMIC ? HD_L2_DIRTY : 0;
    hd_l2_counters(sl, q->app)[HD_L2_DRAM_READS]++;
    hd_l2down_go(sl, now, q->queued, hd_l2down_fetch(sl, m, line, r));
}

/* A read or an atomic whose line is in the tags (entry), or in no place. */
static inline uint32_t serve_read(struct hd_l2_slice *sl, hd_time now,
                                  uint32_t r, hd_time t, uint64_t line,
                                  uint32_t entry)
{
    struct hd_req *q = hd_l2_req(sl, r);
    bool through =
        q->kind == HD_REQ_ATOMIC && sl->l2->cfg.write != HD_WRITE_BACK;
    hd_time ready;

    if (entry == HD_NONE && HD_UNLIKELY(hd_l2_mshrs_full(sl)))
        return HD_L2_MSHRS;
    if ((entry == HD_NONE || HD_UNLIKELY(through)) && hd_l2down_full(sl))
        return HD_L2_QUEUE;
    ready = hd_l2_look(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, line, entry, q->kind, hd_l2_who(q));
    if (entry == HD_NONE) {
        count(sl, q, HD_L2_MISSES);
        miss(sl, now, r, line);
        return HD_L2_GO;
    }
    count(sl, q, HD_L2_HITS);
    q->hit = HD_REQ_HIT;
    if (HD_UNLIKELY(through))
        hd_l2down_go(sl, now, ready,
                     hd_l2down_ask(sl, q->pa.v, q->bytes, HD_REQ_WRITE, q->app,
                                   q->warp));
    answer(sl, now, r, ready);
    return HD_L2_GO;
}

static uint32_t serve_write(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                            hd_time t, uint64_t line, uint32_t entry)
{
    struct hd_req *q = hd_l2_req(sl, r);
    bool back = sl->l2->cfg.write == HD_WRITE_BACK, hit = entry != HD_NONE;
    hd_time ready;

    if (hd_l2down_full(sl) && !(back && hit))
        return HD_L2_QUEUE;
    ready = hd_l2_look(sl, q, t);
    hd_cache_used(&sl->tags, q->spare, line, entry, q->kind, hd_l2_who(q));
    count(sl, q, hit ? HD_L2_HITS : HD_L2_MISSES);
    if (back) {
        if (!hit)
            hd_l2down_fill(sl, now, ready, line, q, 0, true);
        end(sl, r, ready);
        return HD_L2_GO;
    }
    sl->s->owed--;
    if (HD_UNLIKELY(sl->l2->check))
        sl->s->total += ready - q->born;
    hd_l2_counters(sl, q->app)[HD_L2_DRAM_WRITES]++;
    acknowledge(sl, r, ready);
    hd_l2down_go(sl, now, ready, r);
    return HD_L2_GO;
}

/* Serves the request that is first in line; HD_L2_GO, or why it cannot.  A
 * line is in the tags or in flight, never both. */
static HD_HOT uint32_t serve(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_req *q = hd_l2_req(sl, r);
    uint64_t line = q->pa.v >> l2->line_shift;
    hd_time t = hd_max_u64(q->queued, now);
    bool write = q->kind == HD_REQ_WRITE;
    uint32_t e, m;

    if (HD_UNLIKELY(q->flags & HD_REQ_BYPASS))
        return serve_passed(sl, now, r, t);
    e = hd_assoc_find(&sl->tags.tags, q->spare, line);
    if (e == HD_NONE) {
        m = hd_mshr_find(&sl->mshr, line);
        if (m != HD_NONE && !(write && l2->cfg.write != HD_WRITE_BACK))
            return serve_merge(sl, r, t, m);
    }
    return write ? serve_write(sl, now, r, t, line, e)
                 : serve_read(sl, now, r, t, line, e);
}

/* Modes in which nothing is looked up. */
static void serve_simply(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_req *q = hd_l2_req(sl, r);

    count(sl, q, HD_L2_HITS);
    q->hit = HD_REQ_HIT;
    if (q->kind == HD_REQ_WRITE)
        end(sl, r, q->queued);
    else
        answer(sl, now, r, q->queued);
}

/* ---- the input -------------------------------------------------------- */

void hd_l2slice_count_blocked(struct hd_l2_slice *sl, hd_time now)
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

/* Ends the wait of the head of the input, if it waits. */
static void unblock(struct hd_l2_slice *sl, hd_time now)
{
    hd_l2slice_count_blocked(sl, now);
    sl->s->cause = HD_L2_GO;
}

static void block(struct hd_l2_slice *sl, hd_time now, uint32_t r,
                  uint32_t cause)
{
    struct hd_l2_state *s = sl->s;

    if (cause == s->cause)
        return;
    unblock(sl, now);
    s->cause = cause;
    s->since = now;
    s->held = hd_l2_req(sl, r)->app;
}

/* Whether the head of the input waits and is a read that is known to miss a
 * line that is not in flight: nobody else brings that meanwhile. */
static inline bool misses(const struct hd_l2_slice *sl, const struct hd_req *q)
{
    uint32_t cause = sl->s->cause;

    return (cause == HD_L2_MSHRS || cause == HD_L2_QUEUE) && !hd_l2_writes(q) &&
           !(q->flags & HD_REQ_BYPASS);
}

/* Serves such a one, without looking it up again. */
static inline uint32_t serve_missing(struct hd_l2_slice *sl, hd_time now,
                                     uint32_t r)
{
    const struct hd_req *q = hd_l2_req(sl, r);
    uint64_t line = q->pa.v >> sl->l2->line_shift;

    hd_assert(hd_assoc_find(&sl->tags.tags, q->spare, line) == HD_NONE);
    hd_assert(hd_mshr_find(&sl->mshr, line) == HD_NONE);
    return serve_read(sl, now, r, hd_max_u64(q->queued, now), line, HD_NONE);
}

HD_HOT void hd_l2slice_resume(struct hd_l2_slice *sl, hd_time now)
{
    struct hd_l2_state *s = sl->s;

    /* what waits for the miss queue misses, and nobody else brings its line */
    if (s->cause == HD_L2_QUEUE && hd_l2down_full(sl))
        return;
    while (s->in_n > 0) {
        uint32_t r = s->in.first, cause;
        const struct hd_req *q = hd_l2_req(sl, r);
        uint32_t next = q->next;

        cause = misses(sl, q) ? serve_missing(sl, now, r) : serve(sl, now, r);
        if (cause != HD_L2_GO) {
            block(sl, now, r, cause);
            return;
        }
        unblock(sl, now);
        s->in.first = next;
        s->in_n--;
    }
}

int64_t hd_l2slice_steered(void *self, const void *question)
{
    const struct heddle_q_l2_bypass *q = question;
    const struct hd_steer *steer = ((struct hd_l2_slice *)self)->l2->steer;

    return hd_steer_bypasses(
        steer->l2_bypass[q->app % HD_MAX_APPS][q->level % 8], q->set);
}

/* Whether a request skips this cache: asked once, when it arrives. */
static bool bypasses(struct hd_l2_slice *sl, const struct hd_req *q)
{
    const struct hd_steer *steer = sl->l2->steer;
    uint64_t line = q->pa.v >> sl->l2->line_shift;
    struct heddle_q_l2_bypass ask;

    if (HD_LIKELY(!sl->bypass.bound))
        return hd_steer_bypasses(
            steer->l2_bypass[q->app % HD_MAX_APPS][q->level % 8], q->spare);
    ask = (struct heddle_q_l2_bypass){.app = q->app,
                                      .kind = q->kind,
                                      .level = q->level,
                                      .slice = sl->i,
                                      .set = hd_cache_set(&sl->tags, line),
                                      .line = line};
    return hd_ask_l2_bypass(&sl->bypass, &ask) != 0;
}

/* A request takes the input port; `before` is what it has had in the tags. */
static inline void enter_port(struct hd_l2_slice *sl, hd_time now,
                              struct hd_req *q, hd_time before)
{
    struct hd_l2 *l2 = sl->l2;
    struct hd_l2_state *s = sl->s;
    bool carries = q->kind == HD_REQ_WRITE || q->kind == HD_REQ_ATOMIC;
    uint32_t n = carries ? hd_l2_flits(l2, q->bytes) : 1;
    hd_time in = hd_max_u64(now, s->in_free);

    s->in_free = in + n * l2->cycle;
    q->queued = s->in_free - l2->cycle;
    hd_l2_counters(sl, q->app)[HD_L2_INPUT_BUSY] += n;
    s->owed++;
    if (HD_UNLIKELY(l2->check)) {
        s->travel += q->queued - before - q->born;
        s->look += before;
    }
}

static inline void join(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_l2_state *s = sl->s;
    uint32_t cause;
    uint64_t *peak;

    if (HD_LIKELY(s->in_n == 0)) {
        cause = serve(sl, now, r);
        if (HD_LIKELY(cause == HD_L2_GO))
            return;
        block(sl, now, r, cause);
    }
    hd_l2_push(sl, &s->in, &s->in_n, r);
    peak = &sl->shared[HD_L2_PEAK_INPUT];
    *peak = hd_max_u64(*peak, s->in_n);
}

HD_HOT void hd_l2slice_look(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    enter_port(sl, now, hd_l2_req(sl, r), sl->l2->latency);
    if (HD_LIKELY(sl->l2->full))
        join(sl, now, r);
    else
        serve_simply(sl, now, r);
}

static void arrive(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    struct hd_req *q = hd_l2_req(sl, r);

    if (!(q->flags & HD_REQ_BYPASS) && sl->l2->cfg.mode.kind != HD_OFF &&
        !bypasses(sl, q)) {
        /* from the same sender as if nobody had asked, so that the order of
         * events of one instant is the same too */
        hd_post_numbered(sl->l2->ev, hd_l2_sender(q), sl->component,
                         hd_l2_number(q), now + sl->l2->latency, HD_L2_LOOK, r,
                         0);
        return;
    }
    q->flags |= HD_REQ_BYPASS;
    enter_port(sl, now, q, 0);
    join(sl, now, r);
}

/* ---- the answer of the DRAM ------------------------------------------- */

/* A bypassed request is answered; the input may wait for what it held. */
static void fill_passed(struct hd_l2_slice *sl, hd_time now, uint32_t r)
{
    const struct hd_req *q = hd_l2_req(sl, r);

    sl->s->passing--;
    sl->s->passed -= q->queued - q->born;
    if (q->kind == HD_REQ_ATOMIC)
        hd_l2down_go(sl, now, now,
                     hd_l2down_ask(sl, q->pa.v, q->bytes, HD_REQ_WRITE, q->app,
                                   q->warp));
    answer(sl, now, r, now);
    if (sl->s->in_n > 0)
        hd_l2slice_resume(sl, now);
}

void hd_l2slice_fill(struct hd_l2_slice *sl, hd_time now, uint32_t m)
{
    struct hd_mshr_entry x = sl->mshr.v[m];
    bool back = sl->l2->cfg.write == HD_WRITE_BACK;
    bool dirty = (x.flags & HD_L2_DIRTY) != 0;
    const struct hd_req *q = hd_l2_req(sl, x.first);

    hd_l2_give_mshr(sl, m);
    hd_l2down_fill(sl, now, now, x.key, q, q->level, back && dirty);
    if (dirty && !back)
        hd_l2down_go(sl, now, now,
                     hd_l2down_ask(sl, x.key << sl->l2->line_shift, BURST,
                                   HD_REQ_WRITE, q->app, q->warp));
    for (uint32_t r = x.first, next; r != HD_NONE; r = next) {
        next = hd_l2_req(sl, r)->next;
        answer(sl, now, r, hd_max_u64(now, hd_l2_req(sl, r)->queued));
    }
    if (sl->s->in_n > 0)
        hd_l2slice_resume(sl, now);
}

/* DRAM has answered d, which was of use until now. */
HD_HOT void hd_l2slice_answer(void *self, hd_time at, uint32_t d)
{
    struct hd_l2 *l2 = self;
    const struct hd_req *q = &l2->req[d];
    uint32_t i = q->tag >> 16, m = q->tag & 0xffff, what = HD_L2_PASS;
    uint32_t a = q->spare, to = l2->component + i;
    struct hd_l2_slice *sl = &l2->slice[i];

    if (HD_LIKELY(m != HD_L2_PASSED)) {
        hd_cache_ahead(&sl->tags, q->spare);
        __builtin_prefetch(&sl->mshr.v[m], 1);
        what = HD_L2_FILL;
        a = m;
    }
    hd_req_give(l2->reqs, d);
    hd_post(l2->ev, to, to, hd_recip_up(l2->per_cycle, at), what, a, 0);
}

HD_HOT void hd_l2slice_other(struct hd_l2_slice *sl, hd_time now, uint32_t what,
                             uint32_t a)
{
    struct hd_l2_state *s = sl->s;

    switch (what) {
    case HD_L2_ARRIVE:
        arrive(sl, now, a);
        break;
    case HD_L2_PASS:
        fill_passed(sl, now, a);
        break;
    case HD_L2_DOWN:
        s->promised--;
        hd_l2down_join(sl, now, a);
        if (s->cause == HD_L2_QUEUE)
            hd_l2slice_resume(sl, now);
        break;
    case HD_L2_ROOM:
        s->waiting = 0;
        hd_l2down_drain(sl, now);
        if (s->cause == HD_L2_QUEUE)
            hd_l2_post(sl, hd_recip_up(sl->l2->per_cycle, now), HD_L2_RETRY, 0);
        break;
    case HD_L2_RETRY:
        hd_l2slice_resume(sl, now);
        break;
    default:
        hd_assert(0);
    }
}

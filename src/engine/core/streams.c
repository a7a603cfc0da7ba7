/*
 * streams.c - launches of one application that overlap: streams, events.
 *
 * The host enqueues launches and does not wait for them.  Those of one stream
 * run in order; those of different streams may overlap.  The default stream is
 * CUDA's legacy one: its launches wait for all that were enqueued before, and
 * all others for it (CUDA C++ Programming Guide, "Default Stream").  A launch
 * waits for events that launches before it have recorded
 * (cudaStreamWaitEvent), and the host for all launches where one says `sync`
 * (cudaDeviceSynchronize), behind one of the default stream, and while
 * HD_STREAM_LAUNCHES have not retired.
 *
 * Blocks go out in the order in which launches start: those of a later one as
 * soon as all of the earlier ones are out, into what room is left.  That is
 * what the work distributor of the hardware was found to do (Amert, Otterness,
 * Yang, Anderson, Smith: GPU scheduling on the NVIDIA TX2, RTSS 2017).  So a
 * launch that fills the machine delays the next one until its last blocks run,
 * and one that does not fill it leaves the rest at once.
 *
 * Records.  The launch whose work it is travels with a request, so the parts on
 * the path of a load count by launch (kit/stat.h): cores, L1 TLBs and caches,
 * L2 TLBs and walkers, look-ups in the L2, far faults.  A launch that has run
 * next to others has these counters and no other, and they are its own: two
 * that share nothing have what each has alone, and all of them, with what was
 * done for none (idle warps, what was evicted or prefetched), make up the
 * application's.  A walk, an L2 MSHR and a page are counted for the launch that
 * asked first.  A launch that had the machine alone has all counters.
 *
 * Invariant: a launch waits only for launches that were enqueued before it, so
 * the first of those that have not retired never waits, and there is no cycle.
 * What could be one, a wait for an event that is recorded later, the source
 * refuses when it is enqueued.
 *
 * Left out: priorities of streams and preemption, streams that do not wait for
 * the default one, the time that the host takes to enqueue, copies with engines
 * of their own (what a host does to memory before a launch is done before the
 * launch is enqueued; next to one, only in the default stream), and memory that
 * is given back while launches are in flight, which is an error.
 *
 * SPDX-License-Identifier: MIT
 */
#include "streams.h"

/* What the host of an application does. */
enum {
    HOST_ENQUEUES, /* it is about to ask for a launch, or to enqueue one */
    HOST_WAITS,    /* for all launches */
    HOST_IS_FULL,  /* for any */
    HOST_ENDED     /* it has no more; the application ends with the launches */
};

static struct hd_streams *streams_of(const struct hd_dispatch *d, uint32_t app)
{
    return &d->streams[app];
}

const struct hd_launch *hd_dispatch_launch(const struct hd_core *c,
                                           uint64_t number)
{
    const struct hd_dispatch *d = c->gpu->dispatch;

    if (HD_LIKELY(!hd_streams_has(d, c->app)))
        return &c->state->launch;
    return &hd_streams_running(d, c->app, hd_block_stream(number))->launch;
}

uint32_t hd_streams_row(const struct hd_core *c, uint64_t number)
{
    if (!hd_streams_has(c->gpu->dispatch, c->app))
        return 0;
    return hd_stats_launch(c->gpu->env->stats, c->app, hd_block_stream(number));
}

struct hd_grid *hd_streams_running(const struct hd_dispatch *d, uint32_t app,
                                   uint32_t stream)
{
    struct hd_streams *s = streams_of(d, app);

    return &s->grid[s->at[stream]];
}

const struct hd_grid *hd_streams_first(const struct hd_dispatch *d,
                                       uint32_t app)
{
    const struct hd_streams *s = streams_of(d, app);
    const struct hd_grid *first = NULL;

    for (uint64_t m = s->live; m != 0; m &= m - 1) {
        const struct hd_grid *x = &s->grid[hd_bit_first(m)];
        if (first == NULL || x->launch.id < first->launch.id)
            first = x;
    }
    return first;
}

uint32_t hd_dispatch_stream(const struct hd_dispatch *d, uint32_t app,
                            uint64_t id)
{
    const struct hd_streams *s = d->streams;

    for (uint64_t m = s != NULL ? s[app].running : 0; m != 0; m &= m - 1) {
        const struct hd_launch *l = &s[app].grid[hd_bit_first(m)].launch;
        if (l->id == id)
            return l->stream;
    }
    return 0;
}

uint64_t hd_streams_unended(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_streams *s = streams_of(d, app);
    uint64_t n = 0;

    for (uint64_t m = s->running; m != 0; m &= m - 1) {
        const struct hd_grid *x = &s->grid[hd_bit_first(m)];
        n += x->launch.blocks - x->blocks_done;
    }
    return n;
}

void hd_streams_place(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_streams *s = streams_of(d, app);
    bool all = true;

    for (uint32_t i = 0; i < s->n && all; i++) {
        struct hd_grid *x = &s->grid[s->order[i]];
        all = hd_dispatch_place(d, app, &x->launch, &x->given, now);
    }
}

/* The set of launches that run changes: their time together so far. */
static void streams_account(struct hd_streams *s, hd_time now)
{
    for (uint64_t m = s->n > 1 ? s->running : 0; m != 0; m &= m - 1)
        s->grid[hd_bit_first(m)].overlap += now - s->since;
    s->since = now;
}

static void streams_start(struct hd_dispatch *d, uint32_t app, uint32_t i,
                          hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_streams *s = streams_of(d, app);
    struct hd_grid *x = &s->grid[i];

    if (src->ops->begin(src->self, &x->launch) < 0)
        return; /* the error is recorded and stops the run */
    streams_account(s, now);
    s->running |= 1ull << i;
    s->order[s->n++] = (uint8_t)i;
    s->at[x->launch.stream] = (uint8_t)i;
    d->app[app].active = 1;
    hd_records_start(d, app, x, now);
    hd_dispatch_note(d, app, &x->launch, HEDDLE_NOTE_kernel_start);
    hd_throttle_launch(&d->throttle, app, false, now);
    hd_streams_place(d, app, now);
    hd_throttle_launch(&d->throttle, app, true, now);
    if (x->launch.stream == 0)
        hd_hostmem_beside(d, app, now);
}

/* Launches that wait for none, in the order of their enqueuing. */
static void streams_advance(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_streams *s = streams_of(d, app);

    for (;;) {
        uint32_t best = HD_NONE;

        for (uint64_t m = s->live & ~s->running; m != 0; m &= m - 1) {
            uint32_t i = hd_bit_first(m);
            if (s->grid[i].after == 0 &&
                (best == HD_NONE ||
                 s->grid[i].launch.id < s->grid[best].launch.id))
                best = i;
        }
        if (best == HD_NONE || d->g->env->err->code != 0)
            return;
        streams_start(d, app, best, now);
    }
}

/* The grid that is number `last - 1`, as a bit set. */
static uint64_t streams_bit(uint8_t last)
{
    return last != 0 ? 1ull << (last - 1) : 0;
}

static uint64_t streams_waits(const struct hd_streams *s,
                              const struct hd_launch *l)
{
    uint64_t after = streams_bit(s->last[l->stream]) | streams_bit(s->last[0]);

    if (l->stream == 0)
        return s->live;
    for (uint64_t m = l->wait; m != 0; m &= m - 1)
        after |= streams_bit(s->event[hd_bit_first(m)]);
    return after;
}

void hd_streams_go(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_streams *s = streams_of(d, app);
    const struct hd_launch *l = &d->app[app].launch;
    uint32_t i = hd_bit_first(~s->live);
    struct hd_grid *x = &s->grid[i];

    hd_assert(s->live != ~UINT64_C(0) && l->blocks != 0);
    memset(x, 0, sizeof *x);
    x->launch = *l;
    x->record = HD_NONE;
    x->after = streams_waits(s, l);
    s->live |= 1ull << i;
    s->last[l->stream] = (uint8_t)(i + 1);
    for (uint64_t m = l->record; m != 0; m &= m - 1)
        s->event[hd_bit_first(m)] = (uint8_t)(i + 1);
    if (l->stream != 0)
        hd_hostmem_beside(d, app, now); /* there is nothing */
    s->host = l->stream == 0 || l->sync ? HOST_WAITS
              : s->live == ~UINT64_C(0) ? HOST_IS_FULL
                                        : HOST_ENQUEUES;
    streams_advance(d, app, now);
    if (s->host == HOST_ENQUEUES)
        hd_post(d->g->env->ev, d->component, d->component, now,
                HD_DISPATCH_LAUNCH, app, 0);
}

bool hd_streams_ending(struct hd_dispatch *d, uint32_t app)
{
    struct hd_streams *s = streams_of(d, app);

    if (s->live != 0)
        s->host = HOST_ENDED;
    return s->live != 0;
}

bool hd_streams_ended(const struct hd_dispatch *d, uint32_t app)
{
    return streams_of(d, app)->host == HOST_ENDED;
}

/* Grid i has retired: none waits for it any more. */
static void streams_leave(struct hd_streams *s, uint32_t i)
{
    uint32_t n = 0;

    s->live &= ~(1ull << i);
    s->running &= ~(1ull << i);
    for (uint32_t k = 0; k < s->n; k++)
        if (s->order[k] != i)
            s->order[n++] = s->order[k];
    s->n = n;
    for (uint64_t m = s->live; m != 0; m &= m - 1)
        s->grid[hd_bit_first(m)].after &= ~(1ull << i);
    for (uint32_t k = 0; k <= HD_STREAMS; k++)
        if (s->last[k] == i + 1)
            s->last[k] = 0;
    for (uint32_t k = 0; k < HD_STREAM_EVENTS; k++)
        if (s->event[k] == i + 1)
            s->event[k] = 0;
}

static void streams_retired(struct hd_dispatch *d, uint32_t app,
                            struct hd_grid *x, hd_time now)
{
    struct hd_streams *s = streams_of(d, app);

    streams_account(s, now);
    hd_dispatch_note(d, app, &x->launch, HEDDLE_NOTE_kernel_end);
    hd_records_end(d, app, x, now);
    streams_leave(s, (uint32_t)(x - s->grid));
    d->app[app].active = s->n != 0;
    streams_advance(d, app, now);
    if (s->host == HOST_ENQUEUES || (s->host != HOST_IS_FULL && s->live != 0)) {
        hd_streams_place(d, app, now);
        return;
    }
    if (s->host != HOST_ENDED)
        s->host = HOST_ENQUEUES;
    hd_streams_place(d, app, now);
    if (hd_hostmem_retired(d, app, now))
        hd_dispatch_next(d, app, now);
}

uint64_t hd_streams_issued(const struct hd_core *c, const struct hd_block *b)
{
    uint64_t n = 0;

    for (uint64_t m = b->warps; m != 0; m &= m - 1)
        n += c->warp[hd_bit_first(m)].issued;
    return n << 8 | hd_block_stream(b->number);
}

void hd_streams_block_end(struct hd_dispatch *d, uint32_t app, uint64_t what,
                          hd_time now)
{
    struct hd_grid *x = hd_streams_running(d, app, what & 255);

    x->instructions += what >> 8;
    if (++x->blocks_done == x->launch.blocks) {
        streams_retired(d, app, x, now);
        return;
    }
    hd_streams_place(d, app, now);
    hd_throttle_feed(&d->throttle, app, now);
}

/* ---- looking and building ----------------------------------------------- */

void hd_streams_rebase(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_streams *s = streams_of(d, app);

    for (uint64_t m = s->running; m != 0; m &= m - 1)
        hd_streams_rebase_one(d, app, &s->grid[hd_bit_first(m)]);
}

void hd_streams_rebase_one(struct hd_dispatch *d, uint32_t app,
                           const struct hd_grid *x)
{
    struct hd_stats *st = d->g->env->stats;
    uint64_t *base = hd_streams_base(d, app, x);

    hd_stats_sum(st, app, base);
    hd_stats_sum_launch(st, hd_stats_launch(st, app, x->launch.stream),
                        base + d->flat);
}

void hd_streams_gain(struct hd_dispatch *d, uint32_t app,
                     const struct hd_grid *x, uint64_t *gain)
{
    struct hd_stats *st = d->g->env->stats;
    const uint64_t *base = hd_streams_base(d, app, x);

    if (x->overlap == 0) { /* whatever was counted is its */
        hd_stats_sum(st, app, d->scratch);
    } else {
        hd_stats_sum_launch(st, hd_stats_launch(st, app, x->launch.stream),
                            d->scratch);
        base += d->flat;
    }
    for (uint32_t j = 0; j < d->flat; j++)
        gain[j] += d->scratch[j] - base[j];
}

uint64_t *hd_streams_base(const struct hd_dispatch *d, uint32_t app,
                          const struct hd_grid *x)
{
    size_t row = (size_t)app * (HD_STREAMS + 1) + x->launch.stream;

    return d->stream_base + row * 2 * d->flat;
}

bool hd_streams_in_flight(const struct hd_dispatch *d, uint32_t app)
{
    return hd_streams_has(d, app) && streams_of(d, app)->live != 0;
}

int hd_streams_open(struct hd_dispatch *d)
{
    struct hd_gpu *g = d->g;
    struct hd_arena *a = g->env->arena;
    uint32_t n = g->env->apps, streams = 0;

    for (uint32_t i = 0; i < n; i++)
        streams |= g->source[i]->streams;
    if (HD_LIKELY(streams == 0))
        return 0;
    if (g->m->sample.every != 0 || g->m->sample.launches) {
        hd_err_set(g->env->err, HEDDLE_ECONFIG,
                   "an application with streams cannot be sampled: which "
                   "launches overlap depends on time; neither sample.every nor "
                   "sample.launches is expected");
        return -1;
    }
    d->streams = hd_arena_take(a, n, sizeof *d->streams);
    d->stream_base =
        hd_arena_take(a, (size_t)n * (HD_STREAMS + 1) * 2 * d->flat, 8);
    return d->streams != NULL && d->stream_base != NULL ? 0 : -1;
}

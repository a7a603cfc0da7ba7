/*
 * l2rig.h - an L2 between clients that record answers and a memory that
 * answers after a fixed time and takes a bounded number of requests.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_L2RIG_H
#define T_L2RIG_H

#include <stdlib.h>

#include "memenv.h"

#include "kit/rng.h"
#include "memory/l2slice.h"

enum { RIG_ROOM = 1 << 16, RIG_LOG = 1 << 16 };

struct rig {
    struct memenv m;
    struct hd_reqs reqs;
    struct hd_l2 *l2;
    struct hd_cache_cfg cache;
    struct hd_xbar_cfg xbar;
    struct hd_l2_wiring w;
    struct hd_below below;
    struct hd_client client[8];
    uint32_t sender; /* component that sends at set times */
    uint32_t memory; /* component */
    hd_time took;    /* ticks of a memory access */
    uint32_t limit;  /* requests that a channel takes */
    uint32_t busy[8];
    struct {
        uint32_t channel, who, what, a;
    } waiting[64];
    uint32_t waits;
    /* what happened */
    uint32_t answers, sends;
    struct {
        hd_time at;
        uint32_t tag, hit;
    } answer[RIG_LOG];
    struct {
        hd_time at;
        uint64_t pa;
        uint32_t kind, bytes, app;
    } sent[RIG_LOG];
};

static inline uint32_t rig_channel(const struct rig *g, uint64_t pa)
{
    uint32_t n = g->w.channels != 0 ? g->w.channels : 1;

    return (uint32_t)(pa / (g->w.interleave ? g->w.interleave : g->cache.line) %
                      n);
}

static inline bool rig_room(void *self, uint32_t channel)
{
    struct rig *g = self;

    return g->busy[channel] < g->limit;
}

static inline void rig_wait(void *self, uint32_t channel, uint32_t who,
                            uint32_t what, uint32_t a)
{
    struct rig *g = self;

    assert_true(g->waits < 64 && !rig_room(self, channel));
    g->waiting[g->waits].channel = channel;
    g->waiting[g->waits].who = who;
    g->waiting[g->waits].what = what;
    g->waiting[g->waits++].a = a;
}

static inline void rig_send(void *self, hd_time now, uint32_t r)
{
    struct rig *g = self;
    const struct hd_req *q = &g->reqs.v[r];
    uint32_t c = rig_channel(g, q->pa.v);

    assert_true(rig_room(self, c));
    assert_true(now == hd_events_now(&g->m.ev));
    g->busy[c]++;
    if (g->sends < RIG_LOG) {
        g->sent[g->sends].at = now;
        g->sent[g->sends].pa = q->pa.v;
        g->sent[g->sends].kind = q->kind;
        g->sent[g->sends].app = q->app;
        g->sent[g->sends].bytes = q->bytes;
    }
    g->sends++;
    hd_post(&g->m.ev, g->memory, g->memory, now + g->took, 0, r, 0);
}

/* A memory access is over. */
static inline void rig_done(void *self, hd_time now, uint32_t what, uint32_t r,
                            uint64_t b)
{
    struct rig *g = self;
    uint32_t c = rig_channel(g, g->reqs.v[r].pa.v), n = 0;
    struct hd_client l2 = hd_l2_client(g->l2);

    (void)what, (void)b;
    g->busy[c]--;
    if (g->reqs.v[r].kind == HD_REQ_WRITE)
        hd_req_give(&g->reqs, r);
    else
        l2.reply(l2.self, now, r);
    for (uint32_t i = 0; i < g->waits; i++) {
        if (g->waiting[i].channel == c)
            hd_post(&g->m.ev, g->memory, g->waiting[i].who, now,
                    g->waiting[i].what, g->waiting[i].a, 0);
        else
            g->waiting[n++] = g->waiting[i];
    }
    g->waits = n;
}

static inline void rig_answer(void *self, hd_time at, uint32_t r)
{
    struct rig *g = self;

    assert_true(at >= hd_events_now(&g->m.ev));
    if (g->answers < RIG_LOG) {
        g->answer[g->answers].at = at;
        g->answer[g->answers].tag = g->reqs.v[r].tag;
        g->answer[g->answers].hit = g->reqs.v[r].hit;
    }
    g->answers++;
    if (g->reqs.v[r].kind != HD_REQ_WRITE) /* else only an acknowledgement */
        hd_req_give(&g->reqs, r);
}

static inline void rig_sender(void *self, hd_time now, uint32_t what,
                              uint32_t r, uint64_t b)
{
    struct rig *g = self;

    (void)what, (void)b;
    g->reqs.v[r].born = now;
    g->below.send(g->below.self, now, r);
}

/* An L2 cycle is two ticks.  Crossbar 3 cycles, look-up 5, memory 50 ticks;
 * one slice of four sets of two ways unless the caller changes it. */
static inline void rig_init(struct rig *g)
{
    memset(g, 0, sizeof *g);
    g->cache = (struct hd_cache_cfg){.mode = {HD_FULL, 0},
                                     .bytes = 1024,
                                     .ways = 2,
                                     .line = 128,
                                     .latency = 5,
                                     .ports = 1,
                                     .mshrs = 4,
                                     .merges = 8,
                                     .write = HD_WRITE_BACK,
                                     .slices = 1,
                                     .queue = 8};
    g->xbar = (struct hd_xbar_cfg){.latency = 3, .bytes = 32};
    g->took = 50;
    g->limit = 1000;
}

static inline void rig_open(struct rig *g)
{
    struct hd_env *env = memenv_open(&g->m, 4);

    hd_reqs_open(&g->reqs, &g->m.arena, RIG_ROOM);
    if (g->cache.sector_bytes != 0)
        g->reqs.written = hd_arena_take(&g->m.arena, RIG_ROOM,
                                        sizeof *g->reqs.written);
    g->w.cache = &g->cache;
    g->w.xbar = &g->xbar;
    g->w.reqs = &g->reqs;
    g->w.below = (struct hd_below){rig_send, g, NULL};
    g->w.room = rig_room;
    g->w.wait = rig_wait;
    g->w.clients = g->client;
    for (int i = 0; i < 8; i++)
        g->client[i] = (struct hd_client){rig_answer, g};
    g->l2 = hd_l2_open(env, &g->w);
    assert_non_null(g->l2);
    g->l2->steer = &g->m.steer; /* without a registry */
    g->below = hd_l2_below(g->l2);
    g->sender = hd_events_component(&g->m.ev, "sender", rig_sender, g);
    g->memory = hd_events_component(&g->m.ev, "memory", rig_done, g);
}

/* A request to be sent at `at`; `tag` names it in the log of answers. */
static inline uint32_t rig_at(struct rig *g, hd_time at, uint32_t kind,
                              uint64_t pa, uint32_t bytes, uint32_t tag)
{
    uint32_t r = hd_req_take(&g->reqs);

    g->reqs.v[r] = (struct hd_req){.pa = {pa},
                                   .tag = tag,
                                   .client = (uint16_t)(tag % 8),
                                   .warp = HD_NO_WARP,
                                   .kind = (uint8_t)kind,
                                   .bytes = (uint16_t)bytes};
    hd_post(&g->m.ev, g->sender, g->sender, at, 0, r, 0);
    return r;
}

static inline void rig_check(struct rig *g)
{
    struct hd_part *p = &g->m.env.part[0];

    for (uint32_t i = 0; i < p->instances; i++)
        p->check(p->self, i, &g->m.err);
    if (g->m.err.code != 0)
        fail_msg("%s", g->m.err.text);
}

static inline void rig_until(struct rig *g, hd_time t)
{
    int stop = 0;

    hd_events_run(&g->m.ev, t, &stop);
    rig_check(g);
}

static inline void rig_sync(struct rig *g)
{
    struct hd_part *p = &g->m.env.part[0];

    p->sync(p->self, hd_events_now(&g->m.ev));
}

static inline uint64_t rig_count(struct rig *g, const char *name)
{
    const struct hd_stat *s = &g->m.stats.group[0].stat;
    uint64_t sum = 0;
    uint32_t k = 0;

    rig_sync(g);
    while (strcmp(hd_rows_l2cache.counters[k].name, name) != 0)
        assert_true(++k < hd_rows_l2cache.counter_count);
    for (uint32_t i = 0; i < s->instances; i++)
        for (uint32_t a = 0; a < s->apps; a++)
            sum += *hd_count(s, i, a == s->apps - 1 ? HD_APP_NONE : a, k);
    return sum;
}

/* When the request of this tag was answered. */
static inline hd_time rig_when(const struct rig *g, uint32_t tag)
{
    for (uint32_t i = 0; i < g->answers; i++)
        if (g->answer[i].tag == tag)
            return g->answer[i].at;
    return HD_NEVER;
}

/* Runs to the end; everything must be answered and given back. */
static inline void rig_finish(struct rig *g)
{
    rig_until(g, HD_NEVER);
    assert_int_equal(hd_events_waiting(&g->m.ev), 0);
    assert_int_equal(hd_numbers_live(&g->reqs.numbers), 0);
}

static inline void rig_close(struct rig *g)
{
    memenv_close(&g->m);
}

/* A number between two, of a stream. */
static inline uint32_t pick(struct hd_rng *r, uint32_t least, uint32_t most)
{
    return least + hd_rng_below(r, most - least + 1);
}

#endif

/*
 * dram.c - host time per request of the DRAM system, in closed loop.
 *
 *     build/release/bench/dram [requests [case]]
 *
 * Each channel keeps `window` requests of 128 bytes (four bursts) in flight:
 * random lines, a stream, half of them writes, eight channels, and a full
 * queue with waiting senders.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "clock.h"
#include "kit/rng.h"
#include "memory/dram.h"
#include "memory/dramchan.h"
#include "../t/dramrig.h"

struct bench {
    struct hd_events ev;
    struct hd_reqs reqs;
    struct hd_dram *dram;
    struct hd_rng rng;
    uint32_t id;
    uint64_t left, next, done;
    uint32_t stream, writes;
};

static void handle(void *self, hd_time now, uint32_t what, uint32_t a,
                   uint64_t b)
{
    struct bench *k = self;
    struct hd_req *r;
    uint32_t req, c;
    hd_pa pa = {b};

    (void)what;
    (void)a;
    c = hd_dram_channel(k->dram, pa);
    if (!hd_dram_takes(k->dram, c, HD_NONE)) {
        /* The sender's own word is 32 bits: the line number. */
        hd_dram_wait(k->dram, c, HD_NONE, k->id, 1, (uint32_t)(b >> 7));
        return;
    }
    req = hd_req_take(&k->reqs);
    r = &k->reqs.v[req];
    r->pa = pa;
    r->bytes = 128;
    r->kind = HD_REQ_READ;
    hd_dram_send(k->dram, now, req);
}

static void event(void *self, hd_time now, uint32_t what, uint32_t a,
                  uint64_t b)
{
    handle(self, now, what, a, what == 1 ? (uint64_t)a << 7 : b);
}

static void issue(struct bench *k, hd_time at)
{
    uint64_t line;

    if (k->left == 0)
        return;
    k->left--;
    line = k->stream ? k->next++ : hd_rng_next(&k->rng) & 0xffffff;
    hd_post(&k->ev, k->id, k->id, at, 0, 0, line << 7);
}

static void reply(void *self, hd_time at, uint32_t req)
{
    struct bench *k = self;

    k->done++;
    hd_req_give(&k->reqs, req);
    issue(k, at);
}

/* Counts the cases down; all run when `only` is 0. */
struct choice {
    int only, next;
};

static int wanted(struct choice *o)
{
    return ++o->next == o->only || o->only == 0;
}

static void measure(struct choice *o, const char *name,
                    const struct hd_dram_cfg *cfg, uint32_t stream, uint64_t n,
                    uint32_t window)
{
    struct bench *k = calloc(1, sizeof *k);
    struct hd_arena arena;
    struct hd_stats *stats = calloc(1, sizeof *stats);
    struct hd_clocks clk;
    struct heddle_error err = {0};
    struct hd_env *env = calloc(1, sizeof *env);
    struct hd_client client = {reply, k};
    double from, spent;
    uint64_t cycles;
    int stop = 0;

    if (!wanted(o)) {
        free(k);
        free(stats);
        free(env);
        return;
    }
    hd_arena_open(&arena, (size_t)1 << 30);
    for (int i = 0; i < HD_CLK_COUNT; i++)
        clk.hz[i] = 1020000000;
    clk.hz[HD_CLK_DRAM] = 1674000000;
    hd_clocks_init(&clk, &err);
    hd_events_open(&k->ev, &arena, clk.ticks[HD_CLK_CORE]);
    hd_stats_open(stats, &arena, 1);
    hd_reqs_open(&k->reqs, &arena, 1 << 16);
    *env = (struct hd_env){.arena = &arena,
                           .ev = &k->ev,
                           .stats = stats,
                           .clk = &clk,
                           .err = &err,
                           .apps = 1};
    k->dram = hd_dram_open(env, cfg, &k->reqs, &client);
    k->id = hd_events_component(&k->ev, "bench", event, k);
    k->rng = hd_rng_make(1, 1);
    k->left = n;
    k->stream = stream;
    for (uint32_t i = 0; i < window * cfg->channels; i++)
        issue(k, i);
    from = cpu_seconds();
    uint64_t events = hd_events_run(&k->ev, HD_NEVER, &stop);
    spent = cpu_seconds() - from;
    cycles = hd_events_now(&k->ev) / clk.ticks[HD_CLK_DRAM];
    printf("%-28s %6.1f ns a request, %5.2f events, %5.1f %% of peak\n", name,
           1e9 * spent / (double)n, (double)events / (double)n,
           100.0 * (double)(n * 4 * cfg->bl) /
               ((double)cycles * cfg->channels));
    hd_env_free(env);
    hd_arena_close(&arena);
    free(k);
    free(stats);
    free(env);
}

int main(int argc, char **argv)
{
    uint64_t n = argc > 1 ? strtoull(argv[1], NULL, 10) : 1000000;
    struct choice o = {argc > 2 ? atoi(argv[2]) : 0, 0};
    struct hd_dram_cfg c;

    c = default_cfg();
    c.channels = 1;
    measure(&o, "random, window 32", &c, 0, n, 32);
    measure(&o, "stream, window 32", &c, 1, n, 32);
    measure(&o, "random, window 150", &c, 0, n, 150);
    c.banks = 16;
    measure(&o, "random, 16 banks, window 64", &c, 0, n, 64);
    c.queue = 32;
    measure(&o, "random, queue 32 full", &c, 0, n, 64);
    c = default_cfg();
    measure(&o, "random, 8 channels", &c, 0, n, 32);
    measure(&o, "stream, 8 channels", &c, 1, n, 32);
    measure(&o, "random, 8 channels, light", &c, 0, n, 2);
    c.mode.kind = HD_FIXED;
    c.mode.fixed = 100;
    measure(&o, "the driver alone (fixed:100)", &c, 0, n, 32);
    return 0;
}

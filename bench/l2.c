/*
 * l2.c - host time of a read in the L2 cache: hits, new lines one after the
 * other, and random misses; its events included, and a memory that costs one
 * event and nothing else.
 *
 *     build/release/bench/l2
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>
#include <stdlib.h>

#include "clock.h"
#include "kit/rng.h"
#include "memory/l2.h"

enum { CLIENTS = 30, AHEAD = 16 };

struct bench {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct heddle_error err;
    struct hd_env env;
    struct hd_reqs reqs;
    struct hd_client client[CLIENTS];
    struct hd_below below;
    struct hd_l2 *l2;
    uint32_t memory, driver;
    uint64_t left, lines, next, mask;
};

static void issue(struct bench *b, hd_time now, uint32_t client)
{
    uint32_t r;

    if (b->left == 0)
        return;
    b->left--;
    r = hd_req_take(&b->reqs);
    b->reqs.v[r] =
        (struct hd_req){.pa = {b->mask ? (hd_mix64(b->next++) & b->mask) * 128
                                       : b->next++ % b->lines * 128},
                        .born = now,
                        .client = (uint16_t)client,
                        .warp = 3,
                        .kind = HD_REQ_READ,
                        .bytes = 128};
    b->below.send(b->below.self, now, r);
}

static void answered(void *self, hd_time at, uint32_t r)
{
    struct bench *b = self;
    uint32_t client = b->reqs.v[r].client;

    hd_req_give(&b->reqs, r);
    hd_post(&b->ev, b->driver, b->driver, at, 0, client, 0);
}

static void drive(void *self, hd_time now, uint32_t what, uint32_t a,
                  uint64_t x)
{
    (void)what, (void)x;
    issue(self, now, a);
}

static void memory_send(void *self, hd_time now, uint32_t r)
{
    struct bench *b = self;

    hd_post(&b->ev, b->memory, b->memory, now + 200 * 279, 0, r, 0);
}

static void memory_done(void *self, hd_time now, uint32_t what, uint32_t r,
                        uint64_t x)
{
    struct bench *b = self;
    struct hd_client l2 = hd_l2_client(b->l2);

    (void)what, (void)x;
    if (b->reqs.v[r].kind == HD_REQ_WRITE)
        hd_req_give(&b->reqs, r);
    else
        l2.reply(l2.self, now, r);
}

/* An L2 of 16 slices between 30 clients and a memory that answers after 200
 * cycles. */
static void open_bench(struct bench *b)
{
    struct hd_cache_cfg cache = {.mode = {HD_FULL, 0},
                                 .bytes = 2 << 20,
                                 .ways = 16,
                                 .line = 128,
                                 .latency = 10,
                                 .ports = 2,
                                 .mshrs = 64,
                                 .merges = 32,
                                 .write = HD_WRITE_BACK,
                                 .slices = 16,
                                 .queue = 16};
    struct hd_xbar_cfg xbar = {8, 32};
    struct hd_l2_wiring w = {
        .cache = &cache, .xbar = &xbar, .channels = 8, .interleave = 256};

    for (int d = 0; d < HD_CLK_COUNT; d++)
        b->clk.hz[d] = 1020000000;
    b->clk.hz[HD_CLK_DRAM] = 1674000000;
    hd_clocks_init(&b->clk, &b->err);
    hd_arena_open(&b->arena, (size_t)1 << 30);
    hd_events_open(&b->ev, &b->arena, b->clk.ticks[0]);
    hd_stats_open(&b->stats, &b->arena, 1);
    b->env = (struct hd_env){.arena = &b->arena,
                             .ev = &b->ev,
                             .stats = &b->stats,
                             .clk = &b->clk,
                             .err = &b->err,
                             .apps = 1};
    hd_reqs_open(&b->reqs, &b->arena, 1 << 16);
    w.reqs = &b->reqs;
    w.clients = b->client;
    w.below = (struct hd_below){memory_send, b, NULL};
    for (int i = 0; i < CLIENTS; i++)
        b->client[i] = (struct hd_client){answered, b};
    b->l2 = hd_l2_open(&b->env, &w);
    b->below = hd_l2_below(b->l2);
    b->memory = hd_events_component(&b->ev, "memory", memory_done, b);
    b->driver = hd_events_component(&b->ev, "driver", drive, b);
}

static void run(const char *name, uint64_t lines, uint64_t mask, uint64_t n)
{
    struct bench *b = calloc(1, sizeof *b);
    int stop = 0;
    double t;

    open_bench(b);
    b->lines = lines;
    b->mask = mask;
    for (int round = 0; round < 2; round++) { /* the first one warms up */
        uint64_t events;

        b->left = round == 0 ? 100000 : n;
        for (uint32_t i = 0; i < CLIENTS * AHEAD; i++)
            hd_post(&b->ev, b->driver, b->driver, hd_events_now(&b->ev), 0,
                    i % CLIENTS, 0);
        t = cpu_ns();
        events = hd_events_run(&b->ev, HD_NEVER, &stop);
        t = cpu_ns() - t;
        if (round == 1)
            printf("l2 %-14s %6.1f ns a request, %4.2f events (the driver's "
                   "%s included)\n",
                   name, t / (double)n, (double)events / (double)n,
                   mask || lines > 16384 ? "and memory's" : "one");
    }
    hd_env_free(&b->env);
    hd_arena_close(&b->arena);
    free(b);
}

int main(void)
{
    run("hits", 8192, 0, 5000000);
    run("stream", 1 << 30, 0, 3000000);
    run("random misses", 0, (1 << 24) - 1, 3000000);
    return 0;
}

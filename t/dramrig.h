/*
 * dramrig.h - a DRAM system with a driver, for tests: requests are sent at the
 * command cycles they ask for, and everything that happens is recorded.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef DRAMRIG_H
#define DRAMRIG_H

#include <stdlib.h>
#include <string.h>

#include "kit/rng.h"
#include "memory/dram.h"
#include "memory/dramchan.h"
#include "memory/dramspec.h"

/* The defaults of the table, read here so that the tests need no machine. */
static struct hd_dram_cfg default_cfg(void)
{
    struct hd_dram_cfg c;

    memset(&c, 0, sizeof c);
    for (uint32_t i = 0; i < hd_rows_dram.n; i++) {
        const struct hd_setting *s = &hd_rows_dram.settings[i];
        if (s->type == HD_T_U32)
            *(uint32_t *)((char *)&c + s->offset) = (uint32_t)atoi(s->def);
        else if (s->type == HD_T_TEXT)
            strcpy((char *)&c + s->offset, s->def);
        else if (s->type == HD_T_MODE)
            ((struct hd_mode *)((char *)&c + s->offset))->kind = HD_FULL;
    }
    return c;
}

/* One channel, one burst a piece. */
static inline struct hd_dram_cfg lone_cfg(void)
{
    struct hd_dram_cfg c = default_cfg();

    c.channels = 1;
    c.interleave = 0;
    strcpy(c.map, "A");
    return c;
}

/* Timing parameters as no DRAM has them. */
static inline void draw_timing(struct hd_dram_cfg *c, struct hd_rng *r)
{
    c->cl = 1 + hd_rng_below(r, 20);
    c->wl = 1 + hd_rng_below(r, 20);
    c->bl = 1 + hd_rng_below(r, 5);
    c->tccd_s = 1 + hd_rng_below(r, 5);
    c->tccd_l = 1 + hd_rng_below(r, 8);
    c->trrd = 1 + hd_rng_below(r, 9);
    c->tfaw = hd_rng_below(r, 60);
    c->trcdrd = 1 + hd_rng_below(r, 20);
    c->trcdwr = 1 + hd_rng_below(r, 20);
    c->tras = 1 + hd_rng_below(r, 40);
    c->trp = 1 + hd_rng_below(r, 20);
    c->trc = 1 + hd_rng_below(r, 60);
    c->trtp = 1 + hd_rng_below(r, 20);
    c->twr = hd_rng_below(r, 20);
    c->twtr = hd_rng_below(r, 9);
    c->trtw = hd_rng_below(r, 20);
}

/* Any of what the memories of today have, and sometimes none of it. */
static inline void draw_modern(struct hd_dram_cfg *c, struct hd_rng *r)
{
    c->buses = hd_rng_below(r, 3);
    c->pseudo = hd_rng_below(r, 3);
    if (c->pseudo == HD_DRAM_PSEUDO_PAIR)
        c->channels = 2 + 2 * hd_rng_below(r, 2);
    c->tact = 1 + hd_rng_below(r, 3);
    c->twtr_l = hd_rng_below(r, 16);
    c->refresh = hd_rng_below(r, 3) != 0;
    c->refresh_by = hd_rng_below(r, 3) != 0;
    c->trefi = 1600 + hd_rng_below(r, 900);
    c->trfcpb = 1 + hd_rng_below(r, 300);
    c->trrefd = 1 + hd_rng_below(r, 40);
}

/* One request of a test. */
struct item {
    uint64_t address, cycle; /* wanted */
    uint32_t kind, app, level, bytes;
    uint32_t copy; /* no request: a copy has its banks for so many cycles */
    uint64_t accepted, end; /* end: reads, cycle after the last datum */
    uint32_t req, held;     /* shown: its request waits for a place */
    uint32_t klass;         /* as it was sent */
};

struct rig {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct heddle_error err;
    struct hd_env env;
    struct hd_reqs reqs;
    struct hd_client client;
    struct hd_dram *dram;
    uint32_t id;
    struct item *item;
    uint32_t items;
    uint32_t waiting; /* blocked requests, each waits for itself */
    bool shows; /* requests when it asks for places, as apart queues want */
    struct hd_dramcmd *log;
    uint32_t logged, log_room;
};

static void rig_reply(void *self, hd_time at, uint32_t req)
{
    struct rig *g = self;

    g->item[g->reqs.v[req].tag].end = at / g->clk.ticks[HD_CLK_DRAM];
    hd_req_give(&g->reqs, req);
}

static void rig_event(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b)
{
    struct rig *g = self;
    struct item *i = &g->item[a];
    hd_pa pa = {i->address};
    uint32_t c = hd_dram_channel(g->dram, pa), req;
    struct hd_req *r;

    (void)what;
    (void)b;
    if (i->copy != 0) {
        hd_dram_block(g->dram, now, i->app, pa, i->bytes,
                      now + hd_ticks(&g->clk, HD_CLK_DRAM, i->copy));
        return;
    }
    if (!g->shows && !hd_dram_takes(g->dram, c, HD_NONE)) {
        g->waiting++;
        hd_dram_wait(g->dram, c, HD_NONE, g->id, 0, a);
        return;
    }
    req = i->held ? i->req : hd_req_take(&g->reqs);
    r = &g->reqs.v[req];
    if (!i->held) {
        memset(r, 0, sizeof *r);
        r->pa = pa;
        r->tag = a;
        r->kind = (uint8_t)i->kind;
        r->app = (uint8_t)i->app;
        r->level = (uint8_t)i->level;
        r->bytes = (uint16_t)i->bytes;
    }
    i->req = req;
    i->held = g->shows && !hd_dram_takes(g->dram, c, req);
    if (i->held) {
        g->waiting++;
        hd_dram_wait(g->dram, c, req, g->id, 0, a);
        return;
    }
    i->accepted = now / g->clk.ticks[HD_CLK_DRAM];
    hd_dram_send(g->dram, now, req);
    i->klass = r->dram_class;
}

static inline void rig_watch(void *self, const struct hd_dramcmd *cmd)
{
    struct rig *g = self;

    if (g->logged == g->log_room) {
        g->log_room = g->log_room ? g->log_room * 2 : 1024;
        g->log = realloc(g->log, g->log_room * sizeof *g->log);
    }
    g->log[g->logged++] = *cmd;
}

/* Base clock of 840 MHz, DRAM at 1/tick of it (tick divides it). */
static inline void rig_open(struct rig *g, const struct hd_dram_cfg *cfg,
                            uint64_t tick)
{
    memset(g, 0, sizeof *g);
    hd_arena_open(&g->arena, (size_t)1 << 30);
    for (int i = 0; i < HD_CLK_COUNT; i++)
        g->clk.hz[i] = 840000000u;
    g->clk.hz[HD_CLK_DRAM] = 840000000u / tick;
    hd_clocks_init(&g->clk, &g->err);
    hd_events_open(&g->ev, &g->arena, 1);
    hd_stats_open(&g->stats, &g->arena, 2);
    hd_reqs_open(&g->reqs, &g->arena, 1 << 20);
    g->env.arena = &g->arena;
    g->env.ev = &g->ev;
    g->env.stats = &g->stats;
    g->env.clk = &g->clk;
    g->env.err = &g->err;
    g->env.apps = 2;
    g->client.reply = rig_reply;
    g->client.self = g;
    g->dram = hd_dram_open(&g->env, cfg, &g->reqs, &g->client);
    g->shows = g->dram->apart;
    g->id = hd_events_component(&g->ev, "driver", rig_event, g);
}

static inline void rig_run(struct rig *g, struct item *item, uint32_t n)
{
    int stop = 0;

    g->item = item;
    g->items = n;
    for (uint32_t i = 0; i < n; i++)
        hd_post(&g->ev, g->id, g->id,
                hd_ticks(&g->clk, HD_CLK_DRAM, item[i].cycle), 0, i, 0);
    hd_events_run(&g->ev, HD_NEVER, &stop);
}

static inline void rig_close(struct rig *g)
{
    hd_env_free(&g->env);
    hd_arena_close(&g->arena);
    free(g->log);
}

static inline uint64_t rig_total(struct rig *g, uint32_t counter)
{
    uint64_t sum = 0;
    struct hd_stat *s = &g->dram->stat;

    for (uint32_t c = 0; c < s->instances; c++)
        for (uint32_t a = 0; a < s->apps; a++)
            sum += *hd_count(s, c, a, counter);
    return sum;
}

#endif

/*
 * corerig.h - one core with its dispatcher, between programs that a test writes
 * as lists of instructions and a memory of fixed latency; below the L1 TLB is
 * what the test puts there.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_CORERIG_H
#define T_CORERIG_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "kit/rng.h"
#include "core/core.h"
#include "core/dispatch.h"
#include "machine.h"
#include "points/slots.h"

enum {
    RIG_WARPS = 6, /* most of a block */
    RIG_OPS = 60,  /* most instructions groups of a warp */
    RIG_BACK = 8   /* cycles: way back to the core */
};

/* The instructions of one warp, the last one an exit. */
struct program {
    struct hd_op op[RIG_OPS];
    uint32_t n;
};

/* What one launch runs. */
struct programs {
    uint32_t blocks, warps; /* warps of a block */
    struct program (*of)[RIG_WARPS];
};

struct rig {
    struct hd_arena arena;
    struct hd_events ev;
    struct hd_stats stats;
    struct hd_clocks clk;
    struct hd_slots slots;
    struct heddle_error err;
    struct hd_env env;
    struct hd_machine m;
    struct hd_reqs reqs;
    struct hd_treqs treqs;
    struct hd_gpu g;
    struct hd_source source;
    struct hd_client client;
    struct hd_tclient tclient;
    uint32_t memory, below; /* components */
    uint32_t latency;       /* of the memory, in cycles */
    struct programs programs;
    uint32_t at[16][RIG_WARPS];
    uint32_t launched;
    /* The addresses of an instruction; a request to memory; a request for a
     * translation, and in how many cycles it is answered.  May be NULL. */
    void (*access)(struct rig *r, uint32_t block, uint32_t warp, uint32_t op,
                   struct hd_access *acc);
    void (*sent)(struct rig *r, const struct hd_req *q);
    uint32_t (*walked)(struct rig *r, const struct hd_treq *q);
    void *test;
};

static int src_launch(void *self, struct hd_launch *out)
{
    struct rig *r = self;

    memset(out, 0, sizeof *out);
    if (r->launched++)
        return 0;
    strcpy(out->name, "k");
    out->id = 1;
    out->blocks = r->programs.blocks;
    out->threads = r->programs.warps * 32;
    out->warps = r->programs.warps;
    out->lanes = 32;
    return 1;
}

static int src_start(void *self, uint64_t block, uint32_t *ctx)
{
    (void)self;
    *ctx = (uint32_t)block;
    return 0;
}

static void src_end(void *self, uint32_t ctx)
{
    (void)self, (void)ctx;
}

static void src_next(void *self, uint32_t ctx, uint32_t w, struct hd_op *op)
{
    struct rig *r = self;

    *op = r->programs.of[ctx][w].op[r->at[ctx][w]++];
}

static void src_access(void *self, uint32_t ctx, uint32_t w,
                       struct hd_access *acc)
{
    struct rig *r = self;

    r->access(r, ctx, w, r->at[ctx][w] - 1, acc);
}

static const struct hd_source_ops source_ops = {.launch = src_launch,
                                                .block_start = src_start,
                                                .block_end = src_end,
                                                .next = src_next,
                                                .access = src_access};

static void memory_send(void *self, hd_time now, uint32_t req)
{
    struct rig *r = self;

    if (r->sent != NULL)
        r->sent(r, &r->reqs.v[req]);
    hd_post(&r->ev, r->memory, r->memory, now + r->latency * r->g.cycle, 0, req,
            0);
}

static void memory_event(void *self, hd_time now, uint32_t what, uint32_t req,
                         uint64_t b)
{
    struct rig *r = self;

    (void)what, (void)b;
    r->client.reply(r->client.self, now, req);
    if (r->reqs.v[req].kind == HD_REQ_WRITE)
        hd_req_give(&r->reqs, req);
}

static void below_send(void *self, hd_time now, uint32_t treq)
{
    struct rig *r = self;
    struct hd_treq *q = &r->treqs.v[treq];

    hd_post(&r->ev, r->below, r->below, now + r->walked(r, q) * r->g.cycle, 0,
            treq, 0);
}

static void below_event(void *self, hd_time now, uint32_t what, uint32_t treq,
                        uint64_t b)
{
    struct rig *r = self;
    struct hd_treq *q = &r->treqs.v[treq];

    (void)what, (void)b;
    assert_true(hd_ptables_find(r->g.tables, 0, q->vpn, &q->x));
    r->tclient.reply(r->tclient.self, now, treq);
}

static void below_notified(void *self, uint32_t treq)
{
    (void)self, (void)treq;
}

/* Settings: names and values, up to a NULL; 128 MB are mapped from address 0
 * on.  The rig's hooks may be set then, and rig_run starts it. */
static inline struct rig *rig_build(const struct programs *programs,
                                    const char *const (*set)[2])
{
    struct rig *r = calloc(1, sizeof *r);
    struct heddle_place place = {.at = "",
                                 .cores = 1,
                                 .warps = 64,
                                 .apps = 1,
                                 .channels = 1,
                                 .banks = 1,
                                 .seed = 1};
    struct hd_vm_cfg vm;
    hd_va base = {0};

    r->programs = *programs;
    hd_machine_defaults(&r->m);
    for (size_t i = 0; set[i][0] != NULL; i++)
        hd_machine_set(&r->m, set[i][0], set[i][1], &r->err);
    assert_string_equal(r->err.text, "");
    vm = r->m.vm;
    r->clk.hz[HD_CLK_CORE] = r->clk.hz[HD_CLK_ISSUE] = 1000000;
    r->clk.hz[HD_CLK_L2] = r->clk.hz[HD_CLK_DRAM] = 1000000;
    r->clk.hz[HD_CLK_LINK] = 1000000;
    hd_clocks_init(&r->clk, &r->err);
    hd_arena_open(&r->arena, (size_t)1 << 32);
    hd_events_open(&r->ev, &r->arena, r->clk.ticks[HD_CLK_CORE]);
    hd_stats_open(&r->stats, &r->arena, 1);
    r->env.arena = &r->arena;
    r->env.ev = &r->ev;
    r->env.stats = &r->stats;
    r->env.clk = &r->clk;
    r->env.err = &r->err;
    r->env.apps = 1;
    assert_int_equal(hd_slots_open(&r->slots, &r->env, NULL, &place), 0);
    hd_reqs_open(&r->reqs, &r->arena, 65536);
    hd_treqs_open(&r->treqs, &r->arena, 1024);
    r->g.env = &r->env;
    r->g.m = &r->m;
    r->g.cores = 1;
    r->g.reqs = &r->reqs;
    r->g.treqs = &r->treqs;
    r->g.source[0] = &r->source;
    r->source.ops = &source_ops;
    r->source.self = r;
    r->memory = hd_events_component(&r->ev, "memory", memory_event, r);
    r->below = hd_events_component(&r->ev, "below", below_event, r);
    assert_int_equal(hd_gpu_open(&r->g), 0);
    r->g.tables = hd_ptables_open(&r->env, &vm);
    assert_int_equal(hd_ptables_map(r->g.tables, 0, 0, base, 8 << 24, &r->err),
                     0);
    r->g.back = RIG_BACK * r->g.cycle;
    r->g.tlb_back = r->g.ahead = r->g.back;
    r->g.memory.send = memory_send;
    r->g.memory.self = r;
    r->client = hd_core_client(&r->g.core[0]);
    r->tclient = hd_core_tclient(&r->g.core[0], HD_MSG_XLATE);
    r->g.core[0].below_tlb =
        (struct hd_tbelow){below_send, NULL, below_notified, r, NULL};
    r->g.dispatch = hd_dispatch_open(&r->g);
    return r;
}

/* The core's own check. */
static inline void rig_check(struct rig *r)
{
    for (uint32_t i = 0; i < r->env.parts; i++)
        if (strcmp(r->env.part[i].name, "core") == 0)
            r->env.part[i].check(r->env.part[i].self, 0, &r->err);
    assert_string_equal(r->err.text, "");
}

/* To the end; now and then the core is checked. */
static inline void rig_run(struct rig *r)
{
    enum { STEP = 61, MOST = 1 << 24 }; /* cycles */

    hd_dispatch_start(r->g.dispatch);
    for (uint64_t t = 0; r->err.code == 0 && t < MOST; t += STEP) {
        hd_events_run(&r->ev, t * r->g.cycle, &r->err.code);
        if (r->err.code == 0)
            rig_check(r);
    }
    assert_int_equal(r->err.code, HEDDLE_DONE);
}

static inline void rig_close(struct rig *r)
{
    hd_slots_close(&r->slots);
    hd_env_free(&r->env);
    hd_arena_close(&r->arena);
    free(r);
}

#endif

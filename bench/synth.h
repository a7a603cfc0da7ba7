/*
 * synth.h - synthetic instruction sources for benchmarks: the access patterns
 * that bound what the engine can do, without a reader or a kernel program.
 *
 *   stream   vecadd: 14 instructions a warp, two loads and a store, every
 *            line new
 *   column   32 lanes one row apart, walking along their rows; rows of 16 KB
 *            and 128 bytes, so that neighbouring rows are in different sets of
 *            the L1 (at a power of two, all are in one set and nothing stays)
 *   random   a coalesced index load, then 32 independent lines of `span`, 256 MB
 *            if nothing else is set
 *   cold     one warp, one load, and an instruction that waits for it
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef SYNTH_H
#define SYNTH_H

#include <stdlib.h>
#include <string.h>

#include "kit/rng.h"
#include "kit/env.h"
#include "points/source.h"

enum synth_kind { SYNTH_STREAM, SYNTH_COLUMN, SYNTH_RANDOM, SYNTH_COLD };

enum { SYNTH_WARPS = 8, SYNTH_MOST = 64 * 128, SYNTH_PITCH = 16384 + 128 };

struct synth {
    struct hd_source source;
    enum synth_kind kind;
    uint32_t blocks, steps; /* steps: iterations of a warp */
    uint32_t warps;         /* of a block, at most SYNTH_WARPS */
    uint64_t pitch;         /* bytes from row to row of the column */
    uint64_t span;          /* bytes of the random lines, a power of two */
    uint32_t launched;
    uint32_t *at;     /* arena: [context][warp] next op */
    uint32_t *number; /* arena: [context] block; 0xffffffff: free */
    struct hd_env *env;
    hd_va lane[64];
};

static int synth_bind(void *self, struct hd_env *env, uint32_t app,
                      uint32_t lanes, uint32_t slots)
{
    struct synth *s = self;

    (void)app, (void)lanes, (void)slots;
    s->env = env;
    s->launched = 0;
    s->at = hd_arena_take(env->arena, SYNTH_MOST * SYNTH_WARPS, sizeof *s->at);
    s->number = hd_arena_take(env->arena, SYNTH_MOST, sizeof *s->number);
    memset(s->number, 0xff, SYNTH_MOST * sizeof *s->number);
    return 0;
}

static const uint64_t SYNTH_BASE = 0x7f2000000000u;

static bool synth_alloc(void *self, uint32_t i, struct hd_alloc *out)
{
    struct synth *s = self;
    uint64_t threads = (uint64_t)s->blocks * s->warps * 32;

    memset(out, 0, sizeof *out);
    if (i > 0)
        return false;
    out->base.v = SYNTH_BASE;
    if (s->kind == SYNTH_STREAM)
        out->bytes = 3 * threads * 4;
    else if (s->kind == SYNTH_COLUMN)
        out->bytes = threads * s->pitch;
    else
        out->bytes = s->span + threads * 4 * s->steps;
    return true;
}

static int synth_restart(void *self)
{
    struct synth *s = self;

    s->launched = 0;
    return 0;
}

static int synth_launch(void *self, struct hd_launch *out)
{
    struct synth *s = self;

    if (s->launched++)
        return 0;
    memset(out, 0, sizeof *out);
    strcpy(out->name, "synth");
    out->id = 1;
    out->grid[0] = s->blocks;
    out->grid[1] = out->grid[2] = out->block[1] = out->block[2] = 1;
    out->block[0] = out->threads = s->warps * 32;
    out->blocks = s->blocks;
    out->warps = s->warps;
    out->lanes = 32;
    return 1;
}

static int synth_start(void *self, uint64_t block, uint32_t *ctx)
{
    struct synth *s = self;
    uint32_t c = 0;

    while (s->number[c] != UINT32_MAX)
        c++;
    s->number[c] = (uint32_t)block;
    memset(s->at + c * SYNTH_WARPS, 0, SYNTH_WARPS * sizeof *s->at);
    *ctx = c;
    return 0;
}

static void synth_end(void *self, uint32_t ctx)
{
    struct synth *s = self;

    s->number[ctx] = UINT32_MAX;
}

static const struct hd_op synth_alu = {HEDDLE_OP_ALU, HD_NO_SLOT, 0, 0, 0, 1, 0,
                                       0xffffffffu};

static void synth_stream_op(uint32_t at, struct hd_op *op)
{
    static const uint8_t kind[] = {
        HEDDLE_OP_ALU, HEDDLE_OP_LOAD,  HEDDLE_OP_LOAD, HEDDLE_OP_ALU,
        HEDDLE_OP_ALU, HEDDLE_OP_STORE, HEDDLE_OP_EXIT};

    *op = synth_alu;
    op->kind = kind[at];
    op->bytes = 4;
    op->count = at == 0 ? 8 : 1;
    op->wait = at == 4 ? 3 : 0;
    op->slot = at == 1 || at == 2 ? (uint8_t)(at - 1) : HD_NO_SLOT;
}

/* column, cold: load, alu; random: index, alu, gather, alu x 3. */
static void synth_loop_op(const struct synth *s, uint32_t at, struct hd_op *op)
{
    uint32_t body = s->kind == SYNTH_RANDOM ? 4 : 2;

    *op = synth_alu;
    op->bytes = 4;
    if (at == 0) {
        op->count = 8;
    } else if ((at - 1) / body >= s->steps) {
        op->kind = HEDDLE_OP_EXIT;
    } else if ((at - 1) % 2 == 0) {
        op->kind = HEDDLE_OP_LOAD;
        op->slot = (at - 1) % body != 0;
    } else {
        op->wait = (at - 1) % body == 1 ? 1 : 2;
        op->count = (at - 1) % body == 1 ? 1 : 4;
    }
}

static void synth_next(void *self, uint32_t ctx, uint32_t warp,
                       struct hd_op *op)
{
    struct synth *s = self;
    uint32_t at = s->at[ctx * SYNTH_WARPS + warp]++;

    if (s->kind == SYNTH_STREAM)
        synth_stream_op(at, op);
    else
        synth_loop_op(s, at, op);
}

static void synth_access(void *self, uint32_t ctx, uint32_t warp,
                         struct hd_access *acc)
{
    struct synth *s = self;
    uint64_t w = (uint64_t)s->number[ctx] * s->warps + warp;
    uint64_t warps = (uint64_t)s->blocks * s->warps;
    uint32_t at = s->at[ctx * SYNTH_WARPS + warp] - 1;

    acc->lane = NULL;
    acc->stride = 4;
    if (s->kind == SYNTH_STREAM) {
        uint32_t array = at == 5 ? 2 : at - 1;
        acc->base.v = SYNTH_BASE + (array * warps + w) * 128;
    } else if (s->kind == SYNTH_COLD) {
        acc->base.v = SYNTH_BASE;
    } else if (s->kind == SYNTH_COLUMN) {
        acc->base.v = SYNTH_BASE + w * 32 * s->pitch + (at - 1) / 2 * 4;
        acc->stride = (int64_t)s->pitch;
    } else if ((at - 1) % 4 == 0) {
        acc->base.v =
            SYNTH_BASE + s->span + ((at - 1) / 4 * warps + w) * 128;
    } else {
        for (uint32_t i = 0; i < 32; i++)
            s->lane[i].v = SYNTH_BASE + (hd_mix64((w << 20 | at) * 64 + i) &
                                         (s->span - 4));
        acc->lane = s->lane;
    }
}

/* Is the memory instruction that was given last a store? */
static inline bool synth_stores(const struct synth *s, uint32_t ctx,
                                uint32_t warp)
{
    return s->kind == SYNTH_STREAM && s->at[ctx * SYNTH_WARPS + warp] == 6;
}

static void synth_unbind(void *self)
{
    (void)self;
}

static const struct hd_source_ops synth_ops = {
    .bind = synth_bind,
    .alloc = synth_alloc,
    .restart = synth_restart,
    .launch = synth_launch,
    .block_start = synth_start,
    .block_end = synth_end,
    .next = synth_next,
    .access = synth_access,
    .unbind = synth_unbind,
};

static inline heddle_workload *synth_make(struct synth *s, enum synth_kind kind,
                                          uint32_t blocks, uint32_t steps)
{
    memset(s, 0, sizeof *s);
    s->kind = kind;
    s->blocks = blocks;
    s->steps = steps;
    s->warps = kind == SYNTH_COLD ? 1 : SYNTH_WARPS;
    s->pitch = SYNTH_PITCH;
    s->span = 256u << 20;
    s->source.ops = &synth_ops;
    s->source.self = s;
    strcpy(s->source.name, "synth");
    return hd_workload(&s->source);
}

#endif

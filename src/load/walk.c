/*
 * walk.c - runs a workload without a machine, in one fixed order.
 *
 * A source is asked exactly as a core asks it (source.h): launch, block_start,
 * next and access for each warp, block_end.  Nothing has a latency here, so a
 * block is alone on the machine and each warp runs to its next barrier before
 * the following one starts.  Invariant: a warp is asked for its next
 * instruction once after its start and once after each instruction.
 *
 * Left out: dependences (the wait sets) and occupancy.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../heddle_walk.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "../base/bits.h"
#include "../core/env.h"
#include "workload.h"

enum { MOST_WARPS = 64 };

/* Address space for a source's state: only what is touched is committed. */
#define ARENA_BYTES ((size_t)1 << 32)

struct walk {
    struct hd_source *src;
    const struct heddle_walk_options *o;
    heddle_walk_fn *fn;
    void *ud;
    struct hd_err *err;
    struct hd_launch launch;
    struct heddle_walk_op op;
    uint32_t ctx;
    uint64_t address[HD_MAX_LANES];
};

const char *heddle_walk_kind_name(enum heddle_walk_kind k)
{
    static const char *const name[HEDDLE_WALK_KINDS] = {
        "alu", "load", "store", "atomic", "barrier", "exit"};

    return (unsigned)k < HEDDLE_WALK_KINDS ? name[k] : "?";
}

static enum heddle_walk_kind kind_of(const struct hd_op *op)
{
    switch (op->kind) {
    case HD_OP_LOAD:
        return HEDDLE_WALK_LOAD;
    case HD_OP_STORE:
        return HEDDLE_WALK_STORE;
    case HD_OP_ATOMIC:
        return HEDDLE_WALK_ATOMIC;
    case HD_OP_BARRIER:
        return HEDDLE_WALK_BARRIER;
    case HD_OP_EXIT:
        return HEDDLE_WALK_EXIT;
    default:
        return HEDDLE_WALK_ALU;
    }
}

static void expand(struct walk *w, uint64_t mask)
{
    struct hd_access acc;

    memset(&acc, 0, sizeof acc);
    w->src->ops->access(w->src->self, w->ctx, w->op.warp, &acc);
    for (; mask; mask &= mask - 1) {
        unsigned l = hd_bit_first(mask);

        w->address[l] =
            acc.lane ? acc.lane[l].v : acc.base.v + (uint64_t)acc.stride * l;
    }
}

/* Shows an instruction; memory instructions happen here. */
static int show(struct walk *w, const struct hd_op *op)
{
    w->op.kind = kind_of(op);
    w->op.bytes = op->bytes;
    w->op.count = op->count;
    w->op.pc = op->pc;
    w->op.mask = op->mask;
    w->op.local = op->space == HD_SPACE_LOCAL;
    w->op.texture = op->space == HD_SPACE_TEXTURE;
    if (op->kind == HD_OP_LOAD || op->kind == HD_OP_STORE ||
        op->kind == HD_OP_ATOMIC)
        expand(w, op->mask);
    if (w->err->code < 0)
        return w->err->code;
    return w->fn(w->ud, &w->op);
}

/* Runs one warp to its barrier (*more = true) or its end. */
static int run_warp(struct walk *w, uint32_t warp, bool *more)
{
    const struct hd_source_ops *ops = w->src->ops;
    struct hd_op op;
    int rc;

    w->op.warp = warp;
    *more = true;
    do {
        memset(&op, 0, sizeof op);
        ops->next(w->src->self, w->ctx, warp, &op);
        if (w->err->code < 0)
            return w->err->code;
        if ((rc = show(w, &op)) != 0)
            return rc;
    } while (op.kind != HD_OP_BARRIER && op.kind != HD_OP_EXIT);
    *more = op.kind == HD_OP_BARRIER;
    return 0;
}

static int run_block(struct walk *w, uint64_t block)
{
    const struct hd_source_ops *ops = w->src->ops;
    uint64_t live = hd_ones(w->launch.warps);
    int rc = ops->block_start(w->src->self, block, &w->ctx);

    if (rc < 0)
        return rc;
    w->op.block = block;
    while (live) {
        uint64_t turn = live;

        for (; turn; turn &= turn - 1) {
            unsigned i = hd_bit_first(turn);
            bool more;

            if ((rc = run_warp(w, i, &more)) != 0)
                return rc;
            if (!more)
                live &= ~(1ull << i);
        }
    }
    ops->block_end(w->src->self, w->ctx);
    return 0;
}

static int run_launches(struct walk *w)
{
    uint64_t every = w->o->every ? w->o->every : 1, b;
    uint32_t n = 0;
    int rc;

    while (w->o->launches == 0 || n++ < w->o->launches) {
        memset(&w->launch, 0, sizeof w->launch);
        rc = w->src->ops->launch(w->src->self, &w->launch);
        if (rc <= 0)
            return rc;
        if (w->launch.warps > MOST_WARPS)
            return hd_err_set(w->err, HEDDLE_EINVAL,
                              "kernel %s: %u warps a block; a walk takes %d",
                              w->launch.name, w->launch.warps, MOST_WARPS);
        w->op.kernel = w->launch.name;
        w->op.launch = w->launch.id;
        w->op.lanes = w->launch.lanes;
        for (b = 0; b < w->launch.blocks; b += every)
            if ((rc = run_block(w, b)) != 0)
                return rc;
    }
    return 0;
}

int heddle_walk(heddle_workload *workload, const struct heddle_walk_options *o,
                heddle_walk_fn *fn, void *ud, char *error, size_t room)
{
    static const struct heddle_walk_options none;
    struct walk w = {.src = hd_workload_source(workload),
                     .o = o ? o : &none,
                     .fn = fn,
                     .ud = ud};
    struct hd_arena arena;
    struct hd_stats stats;
    struct hd_err err = {0};
    struct hd_env env = {
        .arena = &arena, .stats = &stats, .err = &err, .seed = 1, .apps = 1};
    uint32_t lanes = w.o->lanes ? w.o->lanes : 32;
    int rc;

    w.err = &err;
    w.op.address = w.address;
    if (lanes != 32 && lanes != 64)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "a warp of %u lanes; expected "
                        "32 or 64",
                        lanes);
    else if (hd_arena_open(&arena, ARENA_BYTES) < 0)
        rc = hd_err_memory(&err);
    else {
        hd_stats_open(&stats, &arena, 1);
        rc = w.src->ops->bind(w.src->self, &env, 0, lanes, MOST_WARPS);
        if (rc == 0) {
            rc = run_launches(&w);
            w.src->ops->unbind(w.src->self);
        }
        hd_arena_close(&arena);
    }
    if (rc < 0 && err.code == 0)
        hd_err_set(&err, rc, "the walk was ended with code %d", rc);
    if (rc < 0 && room > 0)
        snprintf(error, room, "%s", err.text);
    return rc;
}

int heddle_walk_alloc(heddle_workload *workload, uint32_t i,
                      struct heddle_walk_alloc *out)
{
    struct hd_source *src = hd_workload_source(workload);
    struct hd_alloc a;

    memset(&a, 0, sizeof a);
    if (!src->ops->alloc(src->self, i, &a))
        return HEDDLE_EINVAL;
    memcpy(out->name, a.name, sizeof out->name);
    out->base = a.base.v;
    out->bytes = a.bytes;
    return 0;
}

/*
 * turns.c - runs a source without time, but with a machine's crowd of warps.
 *
 * A walk (walk.c) has one block at a time, each warp to its barrier: fine for
 * what an instruction touches, wrong for the order of what all of them touch.
 * Here as many blocks are resident as the machine has room for, and they take
 * turns: in a round each warp that is not at a barrier goes on to its next
 * memory instruction, that included.  A block that ends leaves its room to
 * the next one of the launch.  So warps progress together, as they do on a
 * machine that is fair to them, and a picture over rounds looks like one over
 * time.
 *
 * Room is that of one core times the number of cores; all blocks of a launch
 * need the same.  A block that fits no core gets one to itself, as the walk
 * would give it.
 *
 * Invariant: a warp is asked for its next instruction once after its start and
 * once after each instruction, as a core asks it.
 *
 * Left out: latencies, dependences, the scheduler's preferences.
 *
 * SPDX-License-Identifier: MIT
 */
#include "turns.h"

#include <stdlib.h>
#include <string.h>

#include "../base/bits.h"
#include "../core/env.h"

enum { MOST_WARPS = 64 };

/* Address space for a source's state: only what is touched is committed. */
#define ARENA_BYTES ((size_t)1 << 32)

/* A resident block. */
struct place {
    uint64_t live;   /* warps that have not ended */
    uint64_t barred; /* of them: at the barrier */
    uint32_t ctx;
};

struct run {
    const struct hd_turns *o;
    struct hd_err *err;
    struct hd_launch launch;
    struct place *place; /* [most]: resident blocks, in no order */
    uint32_t n, most;
    uint64_t next; /* block of the launch that starts next */
};

/* Blocks of a launch that one core holds. */
static uint32_t blocks_a_core(const struct heddle_survey_room *r,
                              const struct hd_launch *l)
{
    uint64_t n = r->blocks;

    n = hd_min_u64(n, r->warps / l->warps);
    n = hd_min_u64(n, r->threads / l->threads);
    if (l->regs > 0)
        n = hd_min_u64(n, r->regs / hd_launch_regs(l));
    if (l->shared_bytes > 0)
        n = hd_min_u64(n, r->shared_bytes / l->shared_bytes);
    return (uint32_t)n;
}

static int start_block(struct run *r)
{
    struct hd_source *s = r->o->src;
    struct place *p = &r->place[r->n];

    if (s->ops->block_start(s->self, r->next, &p->ctx) < 0)
        return r->err->code < 0
                   ? r->err->code
                   : hd_err_set(r->err, HEDDLE_EDATA, "kernel %s: block %llu",
                                r->launch.name, (unsigned long long)r->next);
    p->live = hd_ones(r->launch.warps);
    p->barred = 0;
    r->next++;
    r->n++;
    return 0;
}

static bool is_memory(const struct hd_op *op)
{
    return op->kind == HD_OP_LOAD || op->kind == HD_OP_STORE ||
           op->kind == HD_OP_ATOMIC;
}

/* One warp, to its next memory instruction, barrier or end. */
static int step_warp(struct run *r, struct place *p, uint32_t w)
{
    struct hd_source *s = r->o->src;
    uint32_t first = w * r->launch.lanes;
    struct hd_access acc;
    struct hd_op op;
    struct hd_turn t = {&r->launch, &op, &acc,
                        hd_ones((unsigned)hd_min_u64(r->launch.threads - first,
                                                     r->launch.lanes))};
    int rc;

    do {
        s->ops->next(s->self, p->ctx, w, &op);
        if (is_memory(&op)) {
            memset(&acc, 0, sizeof acc);
            s->ops->access(s->self, p->ctx, w, &acc);
        }
        if (r->err->code < 0)
            return r->err->code;
        if ((rc = r->o->fn(r->o->ud, &t)) != 0)
            return rc;
    } while (op.kind == HD_OP_ALU);
    if (op.kind == HD_OP_BARRIER)
        p->barred |= 1ull << w;
    else if (op.kind == HD_OP_EXIT)
        p->live &= ~(1ull << w);
    return 0;
}

/* A turn of each warp of a block that can go on. */
static int step_block(struct run *r, struct place *p)
{
    int rc;

    if (p->barred == p->live)
        p->barred = 0;
    for (uint64_t m = p->live & ~p->barred; m != 0; m &= m - 1)
        if ((rc = step_warp(r, p, hd_bit_first(m))) != 0)
            return rc;
    return 0;
}

static int run_launch(struct run *r)
{
    struct hd_source *s = r->o->src;
    int rc;

    r->n = 0;
    r->next = 0;
    while (r->next < r->launch.blocks && r->n < r->most)
        if ((rc = start_block(r)) != 0)
            return rc;
    while (r->n > 0) {
        for (uint32_t i = 0; i < r->n;) {
            if ((rc = step_block(r, &r->place[i])) != 0)
                return rc;
            if (r->place[i].live != 0) {
                i++;
                continue;
            }
            s->ops->block_end(s->self, r->place[i].ctx);
            r->place[i] = r->place[--r->n];
            if (r->next < r->launch.blocks && (rc = start_block(r)) != 0)
                return rc;
        }
    }
    return 0;
}

static int run_launches(struct run *r)
{
    struct hd_source *s = r->o->src;
    int rc;

    for (;;) {
        memset(&r->launch, 0, sizeof r->launch);
        rc = s->ops->launch(s->self, &r->launch);
        if (rc <= 0)
            return rc;
        if (r->launch.warps > MOST_WARPS)
            return hd_err_set(r->err, HEDDLE_EINVAL,
                              "kernel %s: %u warps a block; a survey takes %d",
                              r->launch.name, r->launch.warps, MOST_WARPS);
        r->most = r->o->room.cores * blocks_a_core(&r->o->room, &r->launch);
        if (r->most == 0)
            r->most = 1;
        if ((rc = run_launch(r)) != 0)
            return rc;
    }
}

/* Everything that is bound or taken is given back. */
static int run_bound(struct run *r, struct hd_env *env, uint32_t slots)
{
    struct hd_source *s = r->o->src;
    int rc = s->ops->bind(s->self, env, 0, r->o->lanes, slots);

    if (rc == 0) {
        rc = run_launches(r);
        s->ops->unbind(s->self);
    }
    return rc;
}

int hd_turns_run(const struct hd_turns *o, struct hd_err *err)
{
    uint32_t slots = o->room.cores * o->room.warps;
    struct run r = {.o = o, .err = err};
    struct hd_arena arena;
    struct hd_stats stats;
    struct hd_env env = {
        .arena = &arena, .stats = &stats, .err = err, .seed = 1, .apps = 1};
    int rc;

    slots = slots < MOST_WARPS ? MOST_WARPS : slots;
    r.place = calloc(slots, sizeof *r.place);
    if (r.place == NULL || hd_arena_open(&arena, ARENA_BYTES) < 0) {
        free(r.place);
        return hd_err_memory(err);
    }
    hd_stats_open(&stats, &arena, 1);
    rc = run_bound(&r, &env, slots);
    hd_arena_close(&arena);
    free(r.place);
    if (rc < 0 && err->code == 0)
        hd_err_set(err, rc, "the survey was ended with code %d", rc);
    return rc;
}

/*
 * functional.c - runs a workload without a machine: instruction by instruction,
 * for surveys, for recordings, and for what its launches leave in buffers.
 *
 * A source is asked exactly as a core asks it (source.h): launch, block_start,
 * next and access for each warp, block_end.  Nothing has a latency here.
 * Invariant: a warp is asked for its next instruction once after its start and
 * once after each instruction.
 *
 * Without a room a block is alone on the machine and each warp runs to its next
 * barrier before the following one starts: fine for what an instruction
 * touches, wrong for the order of what all of them touch.  With a room as many
 * blocks are resident as the machine has room for, and they take turns: in a
 * round each warp that is not at a barrier continues to its next memory
 * instruction, that included.  A block that ends leaves its room to the next
 * one of the launch.  So warps progress together, as they do on a machine that
 * is fair to them, and a picture over rounds looks like one over time.
 *
 * Launches run one after the other as the host makes them, those of different
 * streams, too, which is one of the orders that streams and events allow.
 *
 * Room is that of one core times the number of cores; all blocks of a launch
 * need the same.  A block that fits no core gets one to itself, as without
 * a room.
 *
 * Left out: latencies, dependences (the wait sets), the scheduler's
 * preferences, and without a room occupancy.
 *
 * SPDX-License-Identifier: MIT
 */
#include "functional.h"

#include <stdlib.h>
#include <string.h>

#include "kit/bits.h"
#include "kit/env.h"

enum { MOST_WARPS = 64 };

/* Address space for a source's state: only what is touched is committed. */
#define ARENA_BYTES ((size_t)1 << 32)

/* A resident block. */
struct place {
    uint64_t number;
    uint64_t live;   /* warps that have not ended */
    uint64_t barred; /* of them: at the barrier */
    uint32_t ctx;
};

struct run {
    const struct hd_functional *o;
    struct heddle_error *err;
    struct hd_launch launch;
    struct place *place; /* [most]: resident blocks, in no order */
    uint32_t n, most;
    uint64_t next; /* block of the launch that starts next */
};

/* ---- running ------------------------------------------------------------- */

/* Blocks of a launch that are resident at once. */
static uint32_t functional_resident(const struct hd_room *r,
                                    const struct hd_launch *l)
{
    uint64_t n;

    if (r == NULL)
        return 1;
    n = hd_min_u64(r->blocks, r->warps / l->warps);
    n = hd_min_u64(n, r->threads / l->threads);
    if (l->regs > 0)
        n = hd_min_u64(n, r->regs / hd_launch_regs(l));
    if (l->shared_bytes > 0)
        n = hd_min_u64(n, r->shared_bytes / l->shared_bytes);
    return (uint32_t)hd_max_u64(r->cores * n, 1);
}

static int start_block(struct run *r)
{
    const struct hd_visitor *v = &r->o->v;
    struct hd_source *s = r->o->src;
    struct place *p = &r->place[r->n++];

    *p = (struct place){.number = r->next, .live = hd_ones(r->launch.warps)};
    r->next += r->launch.id < r->o->first ? 1 : hd_max_u64(r->o->every, 1);
    if (s->ops->block_start(
            s->self, hd_stream_block(r->launch.stream, p->number), &p->ctx) < 0)
        return hd_err_set(r->err, HEDDLE_EDATA, "kernel %s: block %llu",
                          r->launch.name, (unsigned long long)p->number);
    return v->block != NULL ? v->block(v->ud, p->number) : 0;
}

/* Ends block i and starts the next one in its room. */
static int functional_next_block(struct run *r, uint32_t i)
{
    const struct hd_visitor *v = &r->o->v;
    struct hd_source *s = r->o->src;
    int rc = 0;

    s->ops->block_end(s->self, r->place[i].ctx);
    r->place[i] = r->place[--r->n];
    if (v->block_end != NULL)
        rc = v->block_end(v->ud);
    return rc == 0 && r->next < r->launch.blocks ? start_block(r) : rc;
}

/* One warp to its next barrier or end, or, where blocks take turns, to its next
 * memory instruction. */
static int step_warp(struct run *r, struct place *p, uint32_t w)
{
    struct hd_source *s = r->o->src;
    uint32_t lanes = r->launch.lanes, first = w * lanes;
    bool memory, turns = r->o->room != NULL;
    struct hd_access acc;
    struct hd_op op;
    struct hd_step t = {
        &r->launch,
        p->number,
        w,
        hd_ones((unsigned)hd_min_u64(r->launch.threads - first, lanes)),
        &op,
        &acc};
    int rc;

    do {
        op = (struct hd_op){0};
        s->ops->next(s->self, p->ctx, w, &op);
        memory = hd_op_memory(op.kind);
        if (memory && r->err->code >= 0) {
            acc = (struct hd_access){0};
            s->ops->access(s->self, p->ctx, w, &acc);
        }
        if (r->err->code < 0)
            return r->err->code;
        if ((rc = r->o->v.step(r->o->v.ud, &t)) != 0)
            return rc;
    } while (op.kind != HEDDLE_OP_BARRIER && op.kind != HEDDLE_OP_EXIT &&
             !(memory && turns));
    if (op.kind == HEDDLE_OP_BARRIER)
        p->barred |= 1ull << w;
    else if (op.kind == HEDDLE_OP_EXIT)
        p->live &= ~(1ull << w);
    return 0;
}

/* A turn of each warp of a block that can continue. */
static int step_block(struct run *r, struct place *p)
{
    int rc = 0;

    if (p->barred == p->live)
        p->barred = 0;
    for (uint64_t m = p->live & ~p->barred; m != 0 && rc == 0; m &= m - 1)
        rc = step_warp(r, p, hd_bit_first(m));
    return rc;
}

static int run_launch(struct run *r)
{
    struct hd_source *s = r->o->src;
    int rc = s->streams != 0 ? s->ops->begin(s->self, &r->launch) : 0;

    r->n = 0;
    r->next = 0;
    r->most = functional_resident(r->o->room, &r->launch);
    while (r->next < r->launch.blocks && r->n < r->most && rc == 0)
        rc = start_block(r);
    while (r->n > 0 && rc == 0) {
        for (uint32_t i = 0; i < r->n && rc == 0;) {
            rc = step_block(r, &r->place[i]);
            if (r->place[i].live != 0)
                i++;
            else if (rc == 0)
                rc = functional_next_block(r, i);
        }
    }
    return rc;
}

static int run_launches(struct run *r)
{
    const struct hd_visitor *v = &r->o->v;
    struct hd_source *s = r->o->src;
    int rc = 0;

    for (uint32_t n = 0; r->o->launches == 0 || n < r->o->launches; n++) {
        rc = r->o->between != NULL ? r->o->between(v->ud, n + 1) : 0;
        if (rc != 0)
            break;
        r->launch = (struct hd_launch){0};
        rc = s->ops->launch(s->self, &r->launch);
        if (rc <= 0)
            break;
        rc = v->launch != NULL ? v->launch(v->ud, &r->launch) : 0;
        if (rc == 0 && r->launch.warps > MOST_WARPS)
            rc = hd_err_set(r->err, HEDDLE_EINVAL,
                            "kernel %s: %u warps a block; a %s takes %d",
                            r->launch.name, r->launch.warps, r->o->name,
                            MOST_WARPS);
        if (rc == 0)
            rc = run_launch(r);
        if (rc != 0)
            break;
    }
    return rc;
}

int hd_functional_lanes(uint32_t *lanes, struct heddle_error *err)
{
    if (*lanes == 0)
        *lanes = 32;
    if (*lanes == 32 || *lanes == 64)
        return 0;
    return hd_err_set(err, HEDDLE_EINVAL,
                      "a warp of %u lanes; expected 32 or 64", *lanes);
}

int hd_functional_begin(struct hd_source *s, uint32_t first, uint32_t lanes)
{
    return s->kept != NULL && s->ahead <= first && s->ahead_lanes == lanes
               ? s->ops->load(s->self, s->kept)
               : 0;
}

int hd_functional_run(const struct hd_functional *o, struct heddle_error *err)
{
    uint32_t slots = o->room != NULL ? o->room->cores * o->room->warps : 0;
    uint32_t lanes = o->lanes;
    struct hd_source *s = o->src;
    struct run r = {.o = o, .err = err};
    struct hd_arena arena;
    struct hd_stats stats;
    struct hd_env env = {
        .arena = &arena, .stats = &stats, .err = err, .seed = 1, .apps = 1};
    int rc;

    if (hd_functional_lanes(&lanes, err) != 0)
        return err->code;
    slots = slots < MOST_WARPS ? MOST_WARPS : slots;
    r.place = calloc(slots, sizeof *r.place);
    if (r.place == NULL || hd_arena_open(&arena, ARENA_BYTES) < 0) {
        free(r.place);
        return hd_err_memory(err);
    }
    hd_stats_open(&stats, &arena, 1);
    rc = s->ops->bind(s->self, &env, 0, lanes, slots);
    if (rc == 0) {
        rc = hd_functional_begin(s, o->first, lanes);
        rc = rc < 0 ? rc : run_launches(&r);
        s->ops->unbind(s->self);
    }
    hd_arena_close(&arena);
    free(r.place);
    if (rc < 0)
        hd_err_set(err, rc, "the %s was ended with code %d", o->name, rc);
    return rc;
}

static int no_step(void *ud, const struct hd_step *s)
{
    (void)ud, (void)s;
    return 0;
}

int hd_functional_launch(struct hd_source *s, const struct hd_launch *l,
                         const struct hd_visitor *v, struct heddle_error *err)
{
    const struct hd_visitor none = {.step = no_step};
    struct hd_functional o = {.src = s, .v = v != NULL ? *v : none};
    struct place place;
    struct run r = {.o = &o, .err = err, .launch = *l, .place = &place};

    if (l->warps > MOST_WARPS)
        return hd_err_set(err, HEDDLE_EDATA,
                          "kernel %s: %u warps a block, at most %d expected",
                          l->name, l->warps, MOST_WARPS);
    return run_launch(&r);
}

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
 * round each warp that is not at a barrier goes on to its next memory
 * instruction, that included.  A block that ends leaves its room to the next
 * one of the launch.  So warps progress together, as they do on a machine that
 * is fair to them, and a picture over rounds looks like one over time.
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

#include "../base/bits.h"
#include "../core/env.h"
#include "../heddle_survey.h"

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
    struct hd_err *err;
    struct hd_launch launch;
    struct place *place; /* [most]: resident blocks, in no order */
    uint32_t n, most;
    uint64_t next; /* block of the launch that starts next */
};

/* ---- running ------------------------------------------------------------- */

/* Blocks of a launch that are resident at once. */
static uint32_t resident(const struct heddle_survey_room *r,
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
    if (s->ops->block_start(s->self, p->number, &p->ctx) < 0)
        return hd_err_set(r->err, HEDDLE_EDATA, "kernel %s: block %llu",
                          r->launch.name, (unsigned long long)p->number);
    return v->block != NULL ? v->block(v->ud, p->number) : 0;
}

/* Ends block i and starts the next one in its room. */
static int next_block(struct run *r, uint32_t i)
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

/* A turn of each warp of a block that can go on. */
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
    int rc = 0;

    r->n = 0;
    r->next = 0;
    r->most = resident(r->o->room, &r->launch);
    while (r->next < r->launch.blocks && r->n < r->most && rc == 0)
        rc = start_block(r);
    while (r->n > 0 && rc == 0) {
        for (uint32_t i = 0; i < r->n && rc == 0;) {
            rc = step_block(r, &r->place[i]);
            if (r->place[i].live != 0)
                i++;
            else if (rc == 0)
                rc = next_block(r, i);
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

int hd_functional_lanes(uint32_t *lanes, struct hd_err *err)
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

int hd_functional_run(const struct hd_functional *o, struct hd_err *err)
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
                         const struct hd_visitor *v, struct hd_err *err)
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

/* ---- instruction by instruction --------------------------------------------
 */

struct each {
    heddle_each_fn *fn;
    void *ud;
    uint32_t first;
    struct heddle_each_op op;
    uint64_t address[HD_MAX_LANES];
};

static int on_step(void *ud, const struct hd_step *s)
{
    struct each *w = ud;
    const struct hd_op *op = s->op;

    if (s->launch->id < w->first)
        return 0;
    w->op.kernel = s->launch->name;
    w->op.launch = s->launch->id;
    w->op.lanes = s->launch->lanes;
    w->op.block = s->block;
    w->op.warp = s->warp;
    w->op.kind = op->kind < HEDDLE_OPS ? op->kind : HEDDLE_OP_ALU;
    w->op.bytes = op->bytes;
    w->op.count = op->count;
    w->op.pc = op->pc;
    w->op.mask = op->mask;
    w->op.local = op->space == HD_SPACE_LOCAL;
    w->op.texture = op->space == HD_SPACE_TEXTURE;
    if (hd_op_memory(op->kind))
        for (uint64_t m = op->mask; m != 0; m &= m - 1)
            w->address[hd_bit_first(m)] =
                hd_access_lane(s->acc, hd_bit_first(m));
    return w->fn(w->ud, &w->op);
}

int heddle_each(heddle_workload *workload, const struct heddle_each_options *o,
                heddle_each_fn *fn, void *ud, char *error, size_t room)
{
    struct each w = {.fn = fn, .ud = ud};
    struct hd_functional run = {.src = hd_workload_source(workload),
                                .name = "run",
                                .v = {.step = on_step, .ud = &w}};
    struct hd_err err = {0};
    int rc;

    if (o != NULL) {
        run.lanes = o->lanes;
        run.launches = o->launches;
        run.every = o->every;
        run.first = w.first = o->first;
    }
    w.op.address = w.address;
    rc = hd_functional_run(&run, &err);
    if (rc < 0)
        hd_err_tell(&err, error, room);
    return rc;
}

int heddle_workload_alloc(heddle_workload *workload, uint32_t i,
                          struct heddle_workload_alloc *out)
{
    struct hd_source *src = hd_workload_source(workload);
    struct hd_alloc a = {0};

    if (!src->ops->alloc(src->self, i, &a))
        return HEDDLE_EINVAL;
    memcpy(out->name, a.name, sizeof out->name);
    out->base = a.base.v;
    out->bytes = a.bytes;
    return 0;
}

/* ---- ahead --------------------------------------------------------------- */

enum { THERE = 1 };

struct ahead {
    struct hd_source *src;
    uint32_t goal; /* 0: the launch with the most memory instructions */
    uint32_t next, best;
    uint64_t memory, most; /* memory instructions: of `next', of `best' */
    void *saved, *kept;    /* what the launches before them leave */
    int (*stop)(void *ud);
    void *ud;
    uint32_t asked; /* instructions since stop() was */
};

static int ahead_step(void *ud, const struct hd_step *s)
{
    struct ahead *a = ud;

    a->memory += hd_op_memory(s->op->kind);
    return a->stop != NULL && ++a->asked % 65536 == 0 ? a->stop(a->ud) : 0;
}

static void forget(struct ahead *a, void **saved)
{
    if (*saved != NULL)
        a->src->ops->drop(*saved);
    *saved = NULL;
}

/* What was saved last is kept if its launch is the one. */
static void take(struct ahead *a)
{
    forget(a, &a->kept);
    a->kept = a->saved;
    a->saved = NULL;
    a->best = a->next;
    a->most = a->memory;
}

static int ahead_between(void *ud, uint32_t next)
{
    struct ahead *a = ud;

    if (a->saved != NULL && (a->kept == NULL || a->memory > a->most))
        take(a);
    forget(a, &a->saved);
    a->next = next;
    a->memory = 0;
    if (a->goal != 0 && next < a->goal)
        return 0;
    if ((a->saved = a->src->ops->save(a->src->self)) == NULL)
        return HEDDLE_ENOMEM;
    if (next != a->goal)
        return 0;
    take(a);
    return THERE;
}

int heddle_ahead(heddle_workload *workload, uint32_t lanes, uint32_t launch,
                 int (*stop)(void *ud), void *ud, char *error, size_t room)
{
    struct hd_source *src = hd_workload_source(workload);
    struct ahead a = {.src = src, .goal = launch, .stop = stop, .ud = ud};
    struct hd_functional run = {.src = src,
                                .name = "run",
                                .lanes = lanes,
                                .between = ahead_between,
                                .v = {.step = ahead_step, .ud = &a}};
    struct hd_err err = {0};
    int rc;

    if (src->ops->contents == NULL)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "workload %s: only what the launches of kernel "
                        "programs leave can be kept",
                        src->name);
    else
        rc = hd_functional_run(&run, &err);
    if (rc == 0 && a.kept == NULL)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "workload %s: launch %u is expected to be at most %u",
                        src->name, launch, a.next - 1);
    forget(&a, &a.saved);
    if (rc < 0) {
        forget(&a, &a.kept);
        hd_err_tell(&err, error, room);
        return rc;
    }
    forget(&a, &src->kept);
    src->kept = a.kept;
    src->ahead = a.best;
    src->ahead_lanes = lanes != 0 ? lanes : 32;
    return (int)a.best;
}

/*
 * gather.c - a workload as a plug-in in C, to copy.
 *
 *     cc -shared -fPIC -I<include> -o gather.so gather.c
 *     heddle run generator.lua plugin=./gather.so
 *     H.plugin("./gather.so", { n = 65536 })          in a script
 *     heddle trace record ./gather.so gather.hdt n=65536
 *
 * Two kernels: in the first each thread reads a table in places that a hash
 * gives, one after the other, and stores a result; the second adds the table
 * to the results.  generator.lua has the same in Lua.
 *
 * A work is one const struct; heddle_work_entry() hands it out.  What a warp
 * has done is in its state, which the simulation keeps, so that snapshots
 * contain it: here it is the number of its next step.
 *
 * SPDX-License-Identifier: MIT
 */
#include <heddle_work.h>

#include <stdlib.h>
#include <string.h>

enum { TABLE, OUT };     /* buffers, by number */
enum { N, ROUNDS, ALU }; /* parameters, by number */
enum { BLOCK = 256 };

struct gather { /* does not change while it runs */
    uint64_t n, rounds, alu;
};

struct state { /* of a warp */
    uint64_t step;
};

static void *open_gather(struct heddle_work_open *o)
{
    struct gather *g = malloc(sizeof *g);

    if (g == NULL) {
        heddle_work_refuse(o, HEDDLE_ENOMEM, "no memory");
        return NULL;
    }
    g->n = o->params[N];
    g->rounds = o->params[ROUNDS];
    g->alu = o->params[ALU];
    return g;
}

static size_t state_bytes(void *self)
{
    (void)self;
    return sizeof(struct state);
}

static int buffer(void *self, uint32_t i, struct heddle_work_buffer *out)
{
    static const char *const name[] = {"table", "out"};
    const struct gather *g = self;

    if (i > OUT)
        return 0;
    strcpy(out->name, name[i]);
    out->bytes = g->n * 4;
    return 1;
}

static int launch(struct heddle_work_call *c, struct heddle_work_launch *out)
{
    const struct gather *g = c->self;

    if (c->launch > 2)
        return 0;
    strcpy(out->name, c->launch == 1 ? "gather" : "add");
    out->grid[0] = (uint32_t)((g->n + BLOCK - 1) / BLOCK);
    out->block[0] = BLOCK;
    out->regs = 32;
    return 1;
}

/* The thread of lane 0. */
static uint64_t first(const struct heddle_work_call *c)
{
    return c->block * BLOCK + (uint64_t)c->warp * c->lanes;
}

/* Lanes whose thread has an element. */
static uint64_t active(const struct heddle_work_call *c)
{
    const struct gather *g = c->self;
    uint64_t left = g->n > first(c) ? g->n - first(c) : 0;

    return c->threads & (left < 64 ? (UINT64_C(1) << left) - 1 : UINT64_MAX);
}

static void load(struct heddle_work_op *op, uint32_t slot)
{
    op->kind = HEDDLE_OP_LOAD;
    op->bytes = 4;
    op->slot = slot;
}

static void alu(struct heddle_work_op *op, uint64_t n, uint32_t wait)
{
    op->kind = HEDDLE_OP_ALU;
    op->count = (uint32_t)n;
    op->wait = wait;
}

static void store(struct heddle_work_op *op)
{
    op->kind = HEDDLE_OP_STORE;
    op->bytes = 4;
}

/* Load, wait and compute in each round; then store. */
static void next_gather(const struct gather *g, uint64_t step,
                        struct heddle_work_op *op)
{
    if (step < 2 * g->rounds && step % 2 == 0)
        load(op, 1);
    else if (step < 2 * g->rounds)
        alu(op, g->alu, 1u << 0);
    else if (step == 2 * g->rounds)
        store(op);
    else
        op->kind = HEDDLE_OP_EXIT;
}

static void next_add(uint64_t step, struct heddle_work_op *op)
{
    switch (step) {
    case 0:
    case 1:
        load(op, (uint32_t)step + 1);
        break;
    case 2:
        alu(op, 1, 1u << 0 | 1u << 1);
        break;
    case 3:
        store(op);
        break;
    default:
        op->kind = HEDDLE_OP_EXIT;
    }
}

static int next(struct heddle_work_call *c, struct heddle_work_op *op)
{
    struct state *s = c->state;
    uint64_t mask = active(c), step = s->step++;

    op->pc = (uint32_t)step;
    if (mask == 0)
        op->kind = HEDDLE_OP_EXIT;
    else if (c->launch == 1)
        next_gather(c->self, step, op);
    else
        next_add(step, op);
    if (op->kind != HEDDLE_OP_EXIT)
        op->mask = mask;
    return 0;
}

static int access_lanes(struct heddle_work_call *c,
                        struct heddle_work_access *out)
{
    const struct gather *g = c->self;
    const struct state *s = c->state;
    uint64_t step = s->step - 1, i = first(c); /* of the instruction */

    out->base = (int64_t)i * 4;
    out->stride = 4;
    if (c->launch == 2) {
        out->buffer = step == 1 ? TABLE : OUT;
        return 0;
    }
    out->buffer = step == 2 * g->rounds ? OUT : TABLE;
    if (out->buffer == OUT)
        return 0;
    out->scattered = 1;
    for (uint32_t l = 0; l < c->lanes; l++) {
        uint64_t hash = (i + l) * 2654435761u + step / 2 * 40503u;
        out->byte[l] = (hash >> 7) % g->n * 4;
    }
    return 0;
}

static const struct heddle_param params[] = {
    {"n", "elements", 1 << 16, 1, 1 << 30, "of the table, and threads",
     "an example"},
    {"rounds", "loads", 16, 1, 1 << 20, "of each thread, one after the other",
     "an example"},
    {"alu", "instructions", 2, 1, 1 << 20, "after each load", "an example"},
    {0}};

static const struct heddle_work gather = {
    .abi = HEDDLE_WORK_ABI,
    .name = "gather",
    .summary = "reads a table in places that a hash gives",
    .source = "an example",
    .params = params,
    .open = open_gather,
    .close = free,
    .state_bytes = state_bytes,
    .buffer = buffer,
    .launch = launch,
    .next = next,
    .access = access_lanes,
};

__attribute__((visibility("default"))) const struct heddle_work *
heddle_work_entry(void);

const struct heddle_work *heddle_work_entry(void)
{
    return &gather;
}

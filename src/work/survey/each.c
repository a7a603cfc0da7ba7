/*
 * each.c - every instruction of a workload, one after the other, for tools.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "core/functional.h"
#include "heddle_survey.h"
#include "kit/bits.h"
#include "kit/env.h"

struct each {
    heddle_each_fn *fn;
    void *ud;
    uint32_t first;
    struct heddle_each_op op;
    uint64_t address[HD_MAX_LANES];
};

static int each_step(void *ud, const struct hd_step *s)
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
                                .v = {.step = each_step, .ud = &w}};
    struct heddle_error err = {0};
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

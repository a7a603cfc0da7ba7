/*
 * functional.c - a launch without time: kernels that a run skips still change
 * the data that later kernels depend on.
 *
 * Blocks run one after the other.  Inside a block each warp runs until its
 * next barrier or its end, in the order of their numbers; then all go on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "functional.h"

#include "../base/bits.h"

enum { MOST_WARPS = 64 };

/* Runs a warp to its barrier or end.  True while it lives. */
static bool run_warp(struct hd_source *s, uint32_t ctx, uint32_t w)
{
    struct hd_access acc;
    struct hd_op op;

    for (;;) {
        s->ops->next(s->self, ctx, w, &op);
        if (op.kind == HD_OP_EXIT)
            return false;
        if (op.kind == HD_OP_BARRIER)
            return true;
        if (op.kind != HD_OP_ALU)
            s->ops->access(s->self, ctx, w, &acc);
    }
}

int hd_functional_launch(struct hd_source *s, const struct hd_launch *l,
                         struct hd_err *err)
{
    if (l->warps > MOST_WARPS)
        return hd_err_set(err, HEDDLE_EDATA,
                          "kernel %s: %u warps a block, at most %d expected",
                          l->name, l->warps, MOST_WARPS);
    for (uint64_t b = 0; b < l->blocks; b++) {
        uint64_t live = hd_ones(l->warps);
        uint32_t ctx;
        if (s->ops->block_start(s->self, b, &ctx) != 0)
            return hd_err_set(err, HEDDLE_EDATA, "kernel %s: block %llu",
                              l->name, (unsigned long long)b);
        while (live != 0) {
            for (uint64_t m = live; m != 0; m &= m - 1) {
                uint32_t w = hd_bit_first(m);
                if (!run_warp(s, ctx, w))
                    live &= ~(1ull << w);
            }
        }
        s->ops->block_end(s->self, ctx);
    }
    return 0;
}

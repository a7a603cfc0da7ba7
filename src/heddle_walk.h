/*
 * heddle_walk.h - runs a workload without a machine: every instruction of
 * every warp, with its lanes and addresses, in one fixed order.
 *
 * The order is: launches one after the other; the blocks of a launch by
 * number; in a block each warp up to its next barrier or its end, warps by
 * number, again until all have ended.  Kernel programs compute real contents
 * on the way, so that addresses which depend on data are real, in this order.
 * heddle's naive twin (heddle.twin) walks alike.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_WALK_H
#define HEDDLE_WALK_H

#include "heddle_load.h"

#ifdef __cplusplus
extern "C" {
#endif

struct heddle_walk_op {
    const char *kernel;
    uint32_t launch; /* 1, 2, ... */
    uint32_t warp;   /* in the block */
    uint64_t block;
    uint32_t kind;  /* enum heddle_op */
    uint32_t bytes; /* a lane; ALU: instructions of a group, 0: core.ilp */
    uint32_t count; /* instructions: 1 but for ALU runs; 0: none of its own */
    uint32_t pc;
    uint32_t lanes; /* of a warp */
    int local;      /* local memory, not global */
    int texture;    /* global memory, fetched as a texture */
    uint64_t mask;  /* active lanes; not known (all ones) for alu, barrier */
    const char *opcode;      /* in a dump (heddle_trace.h), else NULL */
    const uint64_t *address; /* [lanes], valid where the mask is set */
};

struct heddle_walk_options {
    uint32_t lanes;    /* 32 or 64; 0: 32 */
    uint32_t launches; /* stop after so many; 0: never */
    uint32_t every;    /* only blocks 0, every, 2 every, ..; 0: all of them */
    uint32_t first;    /* launches before it are run, whole, and not shown, or
                          what they leave was kept (heddle_walk_ahead) */
};

/* Called for each instruction; not 0 ends the walk, which returns it. */
typedef int heddle_walk_fn(void *ud, const struct heddle_walk_op *op);

/*
 * Walks a workload that no simulation uses.  0, what fn returned, or a
 * negative code with words in `error`.  `o` may be NULL.
 */
HEDDLE_API int heddle_walk(heddle_workload *w,
                           const struct heddle_walk_options *o,
                           heddle_walk_fn *fn, void *ud, char *error,
                           size_t room);

/*
 * Walks up to launch number `launch` (1, 2, ..; 0: the one with the most memory
 * instructions, for which all are walked) in warps of so many lanes (0: 32), and
 * keeps what those before it leave: a simulation with such warps and that
 * sim.first_kernel, or a later one, begins there, instead of running them again.
 * Kernel programs only; what was kept before is forgotten.  `stop` is asked now
 * and then, and may be NULL; not 0 ends it.  Returns the launch, or a negative
 * code with words in `error`, or what stop() returned.
 */
HEDDLE_API int heddle_walk_ahead(heddle_workload *w, uint32_t lanes,
                                 uint32_t launch, int (*stop)(void *ud),
                                 void *ud, char *error, size_t room);

/* One allocation of a workload. */
struct heddle_walk_alloc {
    char name[32];
    uint64_t base, bytes;
};

/* The i-th allocation; HEDDLE_EINVAL past the last. */
HEDDLE_API int heddle_walk_alloc(heddle_workload *w, uint32_t i,
                                 struct heddle_walk_alloc *out);

#ifdef __cplusplus
}
#endif

#endif

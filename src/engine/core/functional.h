/*
 * functional.h - runs a source without time: block by block, or with a
 * machine's crowd of warps.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FUNCTIONAL_H
#define HD_FUNCTIONAL_H

#include "points/source.h"

/* One instruction of one warp, as the visitor sees it. */
struct hd_step {
    const struct hd_launch *launch;
    uint64_t block; /* its number in the launch */
    uint32_t warp;
    uint64_t exist; /* lanes that the warp has threads for */
    const struct hd_op *op;
    const struct hd_access *acc; /* of memory instructions */
};

/* What is called with `ud`; not 0 ends the run, which returns it. */
struct hd_visitor {
    int (*step)(void *ud, const struct hd_step *s);
    /* These may be NULL: a launch begins, a block begins, a block has ended. */
    int (*launch)(void *ud, const struct hd_launch *l);
    int (*block)(void *ud, uint64_t block);
    int (*block_end)(void *ud);
    void *ud;
};

/* What a machine holds: so many cores, and the limits of each. */
struct hd_room {
    uint32_t cores; /* 0: one block at a time */
    uint32_t blocks, warps, threads;
    uint64_t regs, shared_bytes;
};

struct hd_functional {
    struct hd_source *src;
    const char *name; /* in errors: "survey" */
    struct hd_visitor v;
    uint32_t lanes;    /* 32 or 64; 0: 32 */
    uint32_t launches; /* stops after so many; 0: never */
    uint32_t every;    /* only blocks 0, every, 2 every, ..; 0: all */
    uint32_t first;    /* launches before it are whole */
    /* Called before launch number `next` is asked for; may be NULL. */
    int (*between)(void *ud, uint32_t next);
    /* the room that blocks have; NULL: one block at a time */
    const struct hd_room *room;
};

/* Binds, runs and unbinds the source.  0, what a visitor returned, or an
 * error. */
int hd_functional_run(const struct hd_functional *o, struct heddle_error *err);

/* A bound source that has not begun continues behind launches of which it is
 * kept what they left, if they are before `first`.  0 or an error. */
int hd_functional_begin(struct hd_source *s, uint32_t first, uint32_t lanes);

/* Runs the launch that a bound source is at, for its effects on buffers; v, if
 * it is not NULL, sees its steps.  0 or an error. */
int hd_functional_launch(struct hd_source *s, const struct hd_launch *l,
                         const struct hd_visitor *v, struct heddle_error *err);

/* The lanes of a warp: *lanes, or 32 for 0.  0 or an error. */
int hd_functional_lanes(uint32_t *lanes, struct heddle_error *err);

#endif

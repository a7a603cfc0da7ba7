/*
 * turns.h - runs a source without time, but with a machine's crowd of warps.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TURNS_H
#define HD_TURNS_H

#include "../base/diag.h"
#include "../heddle_survey.h"
#include "source.h"

/* One instruction of one warp, as the visitor sees it. */
struct hd_turn {
    const struct hd_launch *launch;
    const struct hd_op *op;
    const struct hd_access *acc; /* of memory instructions */
    uint64_t exist;              /* lanes that the warp has threads for */
};

/* Called for each instruction; not 0 ends the run, which returns it. */
typedef int hd_turn_fn(void *ud, const struct hd_turn *t);

struct hd_turns {
    struct hd_source *src;
    struct heddle_survey_room room;
    uint32_t lanes; /* 32 or 64 */
    hd_turn_fn *fn;
    void *ud;
};

/* Binds, runs and unbinds the source.  0, what fn returned, or an error. */
int hd_turns_run(const struct hd_turns *o, struct hd_err *err);

#endif

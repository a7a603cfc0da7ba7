/*
 * subcore.h - inside issue: sub-cores (subcore.c), classes of instructions
 * (classes.c) and the banks of shared memory (banks.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SUBCORE_H
#define HD_SUBCORE_H

#include "issue.h"

enum {
    HD_MAX_SUBCORES = 4,
    HD_RING = 32 /* instructions of a warp whose ends are known */
};

/* What a scheduler has of its own. */
struct hd_subcore {
    hd_time port_free;
    hd_time pipe_free[HEDDLE_CLASSES]; /* of each class */
    uint32_t last;                     /* warp that issued last */
};

/* What is known of a warp's instructions. */
struct hd_classes_warp {
    hd_time done[HD_RING]; /* of the n-th, at n % HD_RING: when its result is
                              there */
    hd_time older;         /* the latest of those before */
    uint32_t n;            /* instructions so far */
    uint32_t each;         /* hd_detail.each of the next */
    uint8_t kind;          /* its class */
    bool addressed;
};

/* In the arena. */
struct hd_subcores {
    uint32_t n;
    uint32_t classes; /* 1: core.classes */
    uint64_t first;   /* the warps of sub-core 0 (bit set) */
    hd_time banks_free;
    uint64_t
        next[HEDDLE_CLASSES]; /* warps by the class of the next (bit set) */
    struct hd_subcore sub[HD_MAX_SUBCORES];
    struct hd_classes_warp warp[HD_MAX_WARPS];
};

/* classes.c: warp w issues its next instruction at t: it takes its pipe, and
 * when its result will be there is known. */
void hd_classes_take(struct hd_core *c, uint32_t w, hd_time t);
/* Of some warps of a sub-core that could issue at *at, those whose pipes let
 * them first, and when. */
uint64_t hd_classes_narrow(const struct hd_core *c, const struct hd_subcore *x,
                           uint64_t can, hd_time *at);
/* When what the next of a run of warp w depends on is there. */
hd_time hd_classes_next(const struct hd_core *c, uint32_t w);

/* banks.c: an instruction of shared memory of warp w takes it at t; how long it
 * holds it. */
hd_time hd_banks_take(struct hd_core *c, uint32_t w, hd_time t);
/* The words in the fullest bank. */
uint32_t hd_banks_cycles(const struct hd_access *acc, uint64_t mask,
                         uint32_t bytes, uint32_t banks);

#endif

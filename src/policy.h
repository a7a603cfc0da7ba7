/*
 * policy.h - what a policy is, for C built-ins and plug-ins.
 *
 * A policy is one const struct with a function for each point that it
 * answers; all are optional.  The question is borrowed: it is valid during
 * the call only.  The answer is a number whose meaning points.def gives, or
 * HEDDLE_PASS to let the engine's default decide.
 *
 * State lies in the simulation's arena so that snapshots contain it: the
 * engine asks state_bytes() once, provides zeroed memory, and calls init().
 * State must not hold pointers into itself or anything else that changes.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_POLICY_H
#define HEDDLE_POLICY_H

#include "heddle.h"

#ifdef __cplusplus
extern "C" {
#endif

#define HEDDLE_POLICY_ABI 1
#define HEDDLE_PASS INT64_MIN

typedef int64_t heddle_answer(void *self, const void *question);

/* ---- generated from points.def and notes.def ------------------------- */

enum heddle_point {
#define HD_POINT(name, heat, kind, limit, when, meaning, fields)               \
    HEDDLE_POINT_##name,
#include "points.def"
#undef HD_POINT
    HEDDLE_POINT_COUNT
};

#define HD_FIELD(name, meaning) uint64_t name;
#define HD_ARRAY(name, count, meaning) const uint64_t *name;
#define HD_POINT(name, heat, kind, limit, when, meaning, fields)               \
    struct heddle_q_##name {                                                   \
        fields(HD_FIELD, HD_ARRAY)                                             \
    };
#include "points.def"
#undef HD_POINT

enum heddle_note {
#define HD_NOTE(name, when, fields) HEDDLE_NOTE_##name,
#include "notes.def"
#undef HD_NOTE
    HEDDLE_NOTE_COUNT
};

#define HD_NOTE(name, when, fields)                                            \
    struct heddle_n_##name {                                                   \
        fields(HD_FIELD, HD_ARRAY)                                             \
    };
#include "notes.def"
#undef HD_NOTE
#undef HD_FIELD
#undef HD_ARRAY

/* ---- a policy -------------------------------------------------------- */

/* A parameter; its value is a uint64_t in the order of the table. */
struct heddle_param {
    const char *name, *unit;
    uint64_t def, min, max;
    const char *meaning, *source;
};

/* The machine as a policy may know it, and where it is bound. */
struct heddle_place {
    const char *at; /* structure it was bound to, "" for all */
    uint32_t cores, warps, apps;
    uint32_t channels, banks;
    /* for replacement: copies, sets and ways of the structure `at` */
    uint32_t instances, sets, ways;
    uint64_t seed; /* of this policy's own random stream */
};

struct heddle_policy {
    uint32_t abi; /* HEDDLE_POLICY_ABI */
    const char *name, *summary, *source;
    const struct heddle_param *params; /* ends with a NULL name */
    size_t (*state_bytes)(const struct heddle_place *p, const uint64_t *params);
    int (*init)(void *state, const struct heddle_place *p,
                const uint64_t *params);
    /* Called every `period` core cycles if period() gives one above 0. */
    uint64_t (*period)(const void *state);
    void (*epoch)(void *state, heddle_sim *s, uint64_t cycle);
    heddle_answer *answer[HEDDLE_POINT_COUNT];
    void (*watch[HEDDLE_NOTE_COUNT])(void *state, const void *note);
};

/* Steering: sets one cell of a table that the engine's default reads.
 * "l2_bypass" (app, level), "dram_class" (app, level), "tlb_fill" (app, core;
 * value: bit set of warps), "tlb_fill_without" (app, 0), "warp_limit"
 * (0, core).  Unknown tables and cells: HEDDLE_EINVAL. */
HEDDLE_API int heddle_steer(heddle_sim *s, const char *table, uint32_t i,
                            uint32_t j, uint64_t value);

#ifdef __cplusplus
}
#endif

#endif

/*
 * tokens.h - the part of the machine that asks tokens (tokens.c).
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TOKENS_H
#define HD_TOKENS_H

#include "kit/env.h"
#include "slots.h"

struct hd_tokens {
    heddle_sim *sim;
    struct hd_slot slot;
    uint32_t apps, cores;
    const struct hd_steer *steer;
    struct hd_tokens_state *s; /* arena */
};

/* Builds it in `t`, which outlives the simulation, offers the point, and is
 * told of the epochs of the policy that answers.  0 or HEDDLE_ENOMEM. */
int hd_tokens_open(struct hd_tokens *t, struct hd_env *env, heddle_sim *sim,
                   uint32_t cores);

#endif

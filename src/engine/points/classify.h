/*
 * classify.h - the part of the machine that asks app_classify (classify.c).
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CLASSIFY_H
#define HD_CLASSIFY_H

#include "kit/env.h"
#include "slots.h"

struct hd_classify {
    heddle_sim *sim;
    struct hd_env *env;
    struct hd_slot slot;
    struct hd_stat stat;
    uint8_t *is; /* arena: [apps] enum heddle_app_class */
};

/* Builds it in `k`, which outlives the simulation, offers the point, and is
 * told of the epochs of the policy that answers.  0 or HEDDLE_ENOMEM. */
int hd_classify_open(struct hd_classify *k, struct hd_env *env,
                     heddle_sim *sim);

#endif

/*
 * sim.h - what the files below sim.c may know of a heddle_sim.
 *
 * A simulation begins with this head.  Public functions that belong to one
 * part (policies, say) are written beside that part and reach the simulation
 * through it; a test makes a simulation of its own from a head and an
 * environment.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SIM_H
#define HD_SIM_H

#include "kit/env.h"
#include "heddle.h"

struct hd_sim_head {
    struct hd_env *env; /* the first member of struct heddle_sim */
};

static inline struct hd_env *hd_sim_env(const heddle_sim *s)
{
    return ((const struct hd_sim_head *)(const void *)s)->env;
}

#endif

/*
 * vmslots.h - the real policy registry for tests of single parts.
 * SPDX-License-Identifier: MIT
 */
#ifndef T_VMSLOTS_H
#define T_VMSLOTS_H

#include "memenv.h"
#include "sim.h"

struct vmslots {
    struct hd_sim_head head; /* first: it is the simulation */
    struct hd_slots slots;
};

static inline heddle_sim *vmslots_sim(struct vmslots *s)
{
    return (heddle_sim *)(void *)s;
}

static inline void vmslots_open(struct vmslots *s, struct hd_env *env,
                                uint32_t cores)
{
    struct heddle_place place = {
        .at = "", .cores = cores, .warps = 64, .apps = env->apps, .seed = 1};

    s->head.env = env;
    assert_int_equal(hd_slots_open(&s->slots, env, vmslots_sim(s), &place), 0);
}

static inline void vmslots_use(struct vmslots *s, const struct heddle_policy *p,
                               const char *at)
{
    if (heddle_use(vmslots_sim(s), p, at, NULL, NULL, 0, 0) != 0)
        fail_msg("%s", heddle_policy_error(vmslots_sim(s))->text);
}

static inline void vmslots_close(struct vmslots *s)
{
    hd_slots_close(&s->slots);
}

#endif

/*
 * builtin.c - the list of policies compiled into the library.
 *
 * A policy is one const struct at the foot of its own file, which includes
 * policy.h alone, as a plug-in does; a new one is added to this list and is
 * then found by name, listed and explained.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../base/base.h"
#include "../base/diag.h"
#include "../policy.h"

extern const struct heddle_policy hd_policy_lru, hd_policy_fifo,
    hd_policy_random, hd_policy_srrip, hd_policy_gto, hd_policy_lrr,
    hd_policy_frfcfs, hd_policy_mask, hd_policy_cores, hd_policy_mosaic;

static const struct heddle_policy *const builtin[] = {
    &hd_policy_lru,   &hd_policy_fifo,   &hd_policy_random, &hd_policy_srrip,
    &hd_policy_gto,   &hd_policy_lrr,    &hd_policy_frfcfs, &hd_policy_mask,
    &hd_policy_cores, &hd_policy_mosaic,
};

const struct heddle_policy *heddle_policy_builtin(uint32_t i)
{
    return i < HD_LEN(builtin) ? builtin[i] : NULL;
}

const struct heddle_policy *heddle_policy_find(const char *name,
                                               const char **nearest)
{
    const char *names[HD_LEN(builtin)];

    for (uint32_t i = 0; i < HD_LEN(builtin); i++) {
        names[i] = builtin[i]->name;
        if (strcmp(names[i], name) == 0)
            return builtin[i];
    }
    if (nearest)
        *nearest = hd_nearest(name, names, HD_LEN(builtin));
    return NULL;
}

/*
 * l2share.c - ways of the L2 that are shared out among applications
 * (l2cache.partition): MASK's baseline Static, and any static partition.
 *
 * Each application has as many ways of every set as the others, in their order
 * (assoc.c), and fills only those; a look-up sees all.  With dram.partition it
 * has channels of its own, too.
 *
 * Invariant: each line is in the ways of its owner.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l2slice.h"

int hd_l2_share(struct hd_l2_slice *sl)
{
    const struct hd_l2 *l2 = sl->l2;
    struct hd_env *env = l2->env;

    if (l2->cfg.ways > HD_ASSOC_NARROW)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.partition: %u ways; at most %d can be "
                          "shared",
                          l2->cfg.ways, HD_ASSOC_NARROW);
    if (hd_assoc_share(&sl->tags.tags, env->apps) != 0)
        return hd_err_set(env->err, HEDDLE_ECONFIG,
                          "l2cache.partition: %u ways cannot be shared by %u "
                          "applications",
                          l2->cfg.ways, env->apps);
    return 0;
}

bool hd_l2_in_share(const struct hd_l2_slice *sl)
{
    const struct hd_assoc *a = &sl->tags.tags;

    for (uint32_t e = 0; a->parted && e < a->sets * a->ways; e++)
        if (a->key[e] != HD_KEY_NONE &&
            !hd_assoc_owns(a, e, sl->tags.line[e].owner))
            return false;
    return true;
}

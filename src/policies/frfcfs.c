/*
 * frfcfs.c - the DRAM scheduler as a policy: first ready, first come.
 *
 * The command that can issue soonest is taken; among those of one cycle a more
 * urgent class goes first, then requests whose row is open, then the one that
 * arrived first (Rixner et al.: Memory access scheduling, ISCA 2000).  A row
 * that still has hits is not closed: the second candidate of a bank, the
 * oldest request behind the hit, waits.  This is the controller's own
 * hit-first scheduler, answered through dram_pick, to the byte.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>

#include "policy.h"

struct rank {
    uint64_t at, klass, row, arrived;
};

/* Whether a goes before b. */
static bool frfcfs_before(const struct rank *a, const struct rank *b)
{
    if (a->at != b->at)
        return a->at < b->at;
    if (a->klass != b->klass)
        return a->klass > b->klass;
    if (a->row != b->row)
        return a->row < b->row;
    return a->arrived < b->arrived;
}

static int64_t frfcfs_pick(void *self, const void *question)
{
    const struct heddle_q_dram_pick *q = question;
    struct rank best = {UINT64_MAX, 0, 0, 0};
    int64_t pick = 0;

    (void)self;
    for (uint64_t i = 0; i < q->n; i++) {
        uint64_t at = q->ready[i] > q->cycle ? q->ready[i] : q->cycle;
        struct rank r = {at, q->klass[i], !q->hit[i], q->arrived[i]};
        /* candidates of a bank follow one another, the hit first */
        if (!q->hit[i] && i > 0 && q->bank[i - 1] == q->bank[i])
            continue;
        if (frfcfs_before(&r, &best)) {
            best = r;
            pick = (int64_t)i;
        }
    }
    return pick;
}

const struct heddle_policy hd_policy_frfcfs = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "frfcfs",
    .summary = "the soonest command; open rows first, then the oldest request",
    .source = "Rixner et al., ISCA 2000",
    .answer = {[HEDDLE_POINT_dram_pick] = frfcfs_pick},
};

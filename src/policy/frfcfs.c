/*
 * frfcfs.c - the DRAM scheduler as a policy: first ready, first come.
 *
 * Among the candidates of a channel the more urgent class goes first, then
 * those whose row is open, then the one that arrived first (Rixner et al.:
 * Memory access scheduling, ISCA 2000).  The candidates are at most two a
 * bank, so that the choice costs the same for any length of the queue.  It is
 * the controller's own hit-first order, answered through dram_pick.
 *
 * SPDX-License-Identifier: MIT
 */
#include "registry.h"

static int64_t pick(void *self, const void *question)
{
    const struct heddle_q_dram_pick *q = question;
    uint64_t best = 0;

    (void)self;
    for (uint64_t i = 1; i < q->n; i++) {
        if (q->klass[i] != q->klass[best]) {
            if (q->klass[i] > q->klass[best])
                best = i;
        } else if (q->hit[i] != q->hit[best]) {
            if (q->hit[i])
                best = i;
        } else if (q->arrived[i] < q->arrived[best]) {
            best = i;
        }
    }
    return (int64_t)best;
}

const struct heddle_policy hd_policy_frfcfs = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "frfcfs",
    .summary = "open rows first, then the oldest request",
    .source = "Rixner et al., ISCA 2000",
    .answer = {[HEDDLE_POINT_dram_pick] = pick},
};

/*
 * sched.c - the warp schedulers as policies: greedy then oldest, and loose
 * round robin.
 *
 * The core has both built in (setting core.scheduler).  Here they answer
 * warp_pick, as a start for schedulers of one's own and as the proof that the
 * point carries all that a scheduler needs: the statistics are those of the
 * built-in ones, to the byte.
 *
 * GTO (Rogers, O'Connor, Aamodt: Cache-conscious wavefront scheduling, MICRO
 * 2012) stays with the warp that issued last while it is ready, else takes
 * the ready warp that has been resident longest.  LRR takes the next ready
 * warp in cyclic order after every instruction.
 *
 * SPDX-License-Identifier: MIT
 */
#include "policy.h"

static int64_t gto(void *self, const void *question)
{
    const struct heddle_q_warp_pick *q = question;

    (void)self;
    if (q->last < 64 && (q->ready >> q->last & 1))
        return (int64_t)q->last;
    return (int64_t)q->oldest;
}

static int64_t lrr(void *self, const void *question)
{
    const struct heddle_q_warp_pick *q = question;
    uint64_t next = q->last < 63 ? q->last + 1 : 0;

    (void)self;
    while (!(q->ready >> next & 1))
        next = (next + 1) % 64;
    return (int64_t)next | HEDDLE_ONCE;
}

const struct heddle_policy hd_policy_gto = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "gto",
    .summary = "the warp that issued last while it can, then the oldest",
    .source = "Rogers et al., MICRO 2012",
    .answer = {[HEDDLE_POINT_warp_pick] = gto},
};

const struct heddle_policy hd_policy_lrr = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "lrr",
    .summary = "the next ready warp in cyclic order, after every instruction",
    .source = "Rogers et al., MICRO 2012 (baseline)",
    .answer = {[HEDDLE_POINT_warp_pick] = lrr},
};

/*
 * pick.c - warp schedulers: greedy then oldest, and loose round robin.
 *
 * GTO stays with the warp that issued last until it stalls, then takes the
 * ready warp that has been resident longest (Rogers, O'Connor, Aamodt: Cache-
 * conscious wavefront scheduling, MICRO 2012).  A stalled warp that wakes does
 * not pre-empt the greedy one.  LRR takes the next ready warp in cyclic order
 * after each instruction.
 *
 * When all ready warps are inside ALU runs, whole rounds of LRR change nothing
 * but the runs' lengths, so they are taken in one step (hd_sched_rounds), as far
 * as the groups reach in which the runs issue (warp.c); the issue order is that
 * of one instruction at a time.
 *
 * SPDX-License-Identifier: MIT
 */
#include "core.h"

#include "../machine.h"

/* The engine's own answer to warp_pick. */
int64_t hd_sched_default(void *self, const void *question)
{
    const struct heddle_q_warp_pick *q = question;
    uint32_t one, w = hd_sched_own(self, q->ready, &one);

    return one ? (int64_t)w + 64 : (int64_t)w;
}

uint32_t hd_sched_ask(struct hd_core *c, uint64_t can, uint32_t *one)
{
    struct heddle_q_warp_pick q;
    int64_t a;

    q.n = c->gpu->m->core.warps;
    q.core = c->id;
    q.last = c->s->last;
    q.ready = can;
    q.oldest = hd_sched_oldest(c, can);
    q.age = c->age;
    a = hd_ask_warp_pick(&c->pick, &q);
    *one = a >= 64;
    a &= 63;
    if (can >> a & 1)
        return (uint32_t)a;
    hd_err_set(c->gpu->env->err, HEDDLE_EPOLICY,
               "warp_pick: core %u, ready set 0x%llx: warp %lld was answered, "
               "which is not ready",
               c->id, (unsigned long long)can, (long long)a);
    return hd_sched_own(c, can, one);
}

uint64_t hd_sched_rounds(struct hd_core *c, uint64_t can, hd_time t,
                         hd_time end)
{
    struct hd_core_state *s = c->s;
    hd_time round = hd_bit_count(can) * c->slot;
    uint64_t least = UINT64_MAX, rounds;

    if (c->pick.bound || can == 0 || (can & hd_warp_memory(s)) != 0)
        return 0;
    for (uint64_t m = can; m != 0; m &= m - 1) {
        const struct hd_warp *w = &c->warp[hd_bit_first(m)];
        if (w->op.kind != HD_OP_ALU)
            return 0;
        least = hd_min_u64(least, hd_warp_group(c, w));
    }
    end = hd_min_u64(end, s->later_at);
    rounds = end > t ? (end - t) / round : 0;
    return hd_min_u64(rounds, least - 1);
}

/* The engine's own answer to warp_limit: the steered set. */
int64_t hd_limit_default(void *self, const void *question)
{
    const struct hd_core *c = self;

    (void)question;
    return (int64_t)c->gpu->env->slots->steer->warp_limit[0][c->id];
}

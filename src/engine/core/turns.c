/*
 * turns.c - several issues in one step, where nothing else can happen between.
 *
 * LRR: when all ready warps are inside ALU runs, whole rounds change nothing
 * but the runs' lengths.  GTO with core.ilp: where warps come back one after
 * the other, older than all that are ready or with no other warp ready, it
 * takes them in this order, turn after turn.  Either is done in one step as far
 * as the groups and the time reach; the issue order and all times are those of
 * one instruction at a time.
 *
 * It is speed alone: a run without it has the same bytes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "issue.h"

HD_APART void hd_turns_issue_rounds(struct hd_core *c, uint64_t can, hd_time t,
                                    uint64_t rounds)
{
    hd_time slot = c->slot, round = hd_bit_count(can) * slot;
    uint32_t one, first = hd_warp_pick_own(c, can, &one), w = first, n = 0;

    do {
        struct hd_warp *x = &c->warp[w];
        hd_core_for(c, w);
        hd_warp_issue(c, w, rounds, t + n * slot, t + (n + 1) * slot);
        hd_dispatch_issued(c, rounds, t);
        hd_warp_account(c, HD_CORE_T_ISSUE, (rounds - 1) * slot);
        hd_warp_account(c, HD_CORE_T_READY, (rounds - 1) * (round - slot));
        if (c->ilp != 0)
            x->group = (uint8_t)(hd_warp_group_left(c, x) - rounds);
        x->op.count -= (uint32_t)rounds;
        x->since = x->ready = t + (rounds - 1) * round + (n + 1) * slot;
        w = hd_warp_pick_own(c, can, &one);
        n++;
    } while (w != first);
    c->s->port_free = t + rounds * round;
}

/* Whether all of these warps have been resident longer than the others. */
static bool turns_are_older(const struct hd_core *c, uint64_t these,
                            uint64_t others)
{
    for (const uint64_t *family = c->s->family;; family++) {
        uint64_t o = *family & others;
        if (o != 0)
            return (these & ~(*family & ((o & -o) - 1))) == 0;
        these &= ~*family;
        if (these == 0)
            return true;
    }
}

HD_APART bool hd_turns_before(const struct hd_core *c, uint64_t can, uint32_t w,
                              hd_time t, hd_time end, struct hd_turns *k)
{
    struct hd_core_state *s = c->s;
    const struct hd_warp *x = &c->warp[w];
    uint64_t group = hd_warp_group_size(c, x), all = 1ull << w,
             others = can & ~all;
    uint64_t least = x->op.count;
    hd_time busy = group * c->slot, last = t;
    hd_time length = busy - c->slot + hd_max_u64(c->slot, c->gpu->alu);
    hd_time until = hd_min_u64(end, t + length);
    uint32_t n = 0;

    for (; n < s->later_n; n++) {
        uint32_t o = *hd_warp_later(s, n);
        const struct hd_warp *y = &c->warp[o];
        hd_time next = last + busy;
        if (y->ready < next || y->ready >= until || y->op.count <= group ||
            y->op.kind != HEDDLE_OP_ALU || y->op.bytes != x->op.bytes ||
            y->group != 0 || (others != 0 && y->ready > next))
            break;
        least = hd_min_u64(least, y->op.count);
        all |= 1ull << o;
        last = y->ready;
    }
    if (n > 0 && n < s->later_n &&
        c->warp[*hd_warp_later(s, n)].ready == last) {
        all ^= 1ull << *hd_warp_later(s, --n); /* both are ready then */
        last = n > 0 ? c->warp[*hd_warp_later(s, n - 1)].ready : t;
    }
    if (others != 0 && (n == 0 || !turns_are_older(c, all, others)))
        return false;
    *k = (struct hd_turns){1, group, busy, length, n};
    if (n < s->later_n)
        end = hd_min_u64(end, c->warp[*hd_warp_later(s, n)].ready);
    if (last + busy <= t + length && (others == 0 || last + busy == t + length))
        k->n = hd_min_u64((least - 1) / group, (end - 1 - last) / length + 1);
    return n > 0 || k->n > 1;
}

/* Warp w issues its first of `k.n` groups at t, one a turn, and waits for the
 * next. */
static HD_INLINE void turns_issue(struct hd_core *c, struct hd_core_state *s,
                                  uint32_t w, hd_time t, struct hd_turns k)
{
    struct hd_warp *x = &c->warp[w];

    hd_warp_issue(c, w, k.n * k.group, t, t + k.busy);
    hd_warp_account(c, HD_CORE_T_ALU, (k.n - 1) * (k.length - k.busy));
    hd_warp_account(c, HD_CORE_T_ISSUE, (k.n - 1) * k.busy);
    x->op.count -= (uint32_t)(k.n * k.group);
    x->ready = t + k.n * k.length;
    x->since = x->ready - k.length + k.busy;
    hd_warp_wait_turn(c, s, w, x->ready);
}

/* by_launch: launches overlap, and each counts for itself. */
static HD_INLINE void turns_issue_all(struct hd_core *c,
                                      struct hd_core_state *s, uint32_t w,
                                      hd_time t, struct hd_turns k,
                                      bool by_launch)
{
    s->ready ^= 1ull << w;
    turns_issue(c, s, w, t, k);
    for (uint32_t i = 0; i < k.waiting; i++) {
        w = *hd_warp_later(s, 0);
        t = c->warp[w].ready;
        s->later_first = (s->later_first + 1) % HD_MAX_WARPS;
        s->later_n--;
        if (by_launch)
            hd_core_for(c, w);
        turns_issue(c, s, w, t, k);
    }
    s->later_at = c->warp[*hd_warp_later(s, 0)].ready;
    s->local = t + (k.n - 1) * k.length;
    s->port_free = s->local + k.busy;
    hd_dispatch_issued(c, (k.waiting + 1) * k.n * k.group, s->local);
}

HD_APART static void turns_issue_by_launch(struct hd_core *c,
                                           struct hd_core_state *s, uint32_t w,
                                           hd_time t, struct hd_turns k)
{
    turns_issue_all(c, s, w, t, k, true);
}

HD_APART void hd_turns_issue(struct hd_core *c, struct hd_core_state *s,
                             uint32_t w, hd_time t, struct hd_turns k)
{
    if (HD_UNLIKELY(c->launch != NULL))
        turns_issue_by_launch(c, s, w, t, k);
    else
        turns_issue_all(c, s, w, t, k, false);
}

/*
 * skip.c - instructions that are skipped between sampled intervals
 * (sample.every): warps proceed without time, and leave TLBs and caches warm.
 *
 * A warp continues to where its scheduler would leave it: GTO when it stalls,
 * for which a load that misses the L1 stands, LRR at each instruction, of which
 * those to memory matter.  Barriers and ends of blocks hold as ever.  Before
 * the first skip the warps' times are counted up to now and what they wait for
 * is set aside; after the last one whatever has their places waits for it.
 *
 * Invariant: no time passes, and no counter of time changes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "issue.h"

/* Instructions of a warp after which another one's turn is in any case. */
enum { TURN = 128 };

/* A warp proceeds without time, to where its scheduler would leave it: GTO when
 * it stalls, for which a load that misses the L1 stands, LRR at each
 * instruction, of which those to memory matter.  `settles`: to the instruction
 * at which it stood when skipping began.  Its instructions. */
static uint64_t skip_warp(struct hd_core *c, struct hd_core_state *s,
                          uint32_t w, hd_time t, bool settles)
{
    struct hd_warp *x = &c->warp[w];
    uint64_t sum = 0;
    bool goes_on;

    hd_l1d_come(c, w);
    do {
        struct hd_access acc = {.lane = NULL};
        uint32_t kind = x->op.kind, n = x->op.count;

        if (settles && x->op.pc == c->skip.v[w].pc)
            break;
        goes_on = kind == HEDDLE_OP_ALU || kind == HD_OP_SHARED;
        hd_dispatch_issued(c, n, t);
        x->issued += n;
        sum += n;
        s->ready ^= 1ull << w;
        x->group = 0;
        if (hd_warp_is_memory(kind)) {
            hd_warp_program(c)->access(c->source, x->ctx, x->index, &acc);
            goes_on = hd_lsu_warm(c, w, &x->op, &acc) && !c->lrr;
        } else if (kind == HEDDLE_OP_BARRIER) {
            hd_warp_barrier(c, w, t);
            break;
        } else if (!goes_on) {
            hd_warp_last(c, w, t);
            break;
        }
        hd_warp_fetch(c, s, x, w, kind, t);
    } while ((goes_on || settles) && sum < TURN && !hd_err_ends(*c->gpu->stop));
    return sum;
}

void hd_warp_skip_begin(struct hd_core *c, hd_time now)
{
    uint64_t open[HD_CORE_COUNTERS] = {0};
    struct hd_core_state *s = c->s;
    struct hd_skip *k = &c->skip;

    hd_core_unaccounted(c, now, open);
    for (uint32_t i = 0; i < HD_CORE_COUNTERS; i++)
        c->count[i] += open[i];
    k->waited = k->memory = 0;
    if (s->later_n > 0)
        hd_warp_promote(c, s, HD_NEVER - 1);
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        struct hd_warp *x = &c->warp[w];

        k->v[w].since = x->since = now;
        k->v[w].ready = x->ready;
        x->ready = hd_min_u64(x->ready, now);
        k->v[w].pending = x->pending;
        k->v[w].flight = x->flight;
        k->v[w].pc = x->op.pc;
        x->pending = x->flight = 0;
        if (x->state == HD_WARP_READY && hd_warp_is_memory(x->op.kind))
            k->memory |= 1ull << w;
        if (x->state != HD_WARP_SLOTS)
            continue;
        k->waited |= 1ull << w;
        s->ready |= 1ull << w;
        x->state = HD_WARP_READY;
    }
}

uint64_t hd_warp_skip(struct hd_core *c, hd_time now)
{
    struct hd_core_state *s = c->s;
    uint64_t n = 0;

    for (uint64_t m = s->ready; m != 0 && !hd_err_ends(*c->gpu->stop);
         m &= m - 1)
        n += skip_warp(c, s, hd_bit_first(m), now, false);
    return n;
}

uint64_t hd_warp_skip_settle(struct hd_core *c, hd_time now)
{
    struct hd_core_state *s = c->s;
    uint64_t n = 0;

    for (uint64_t m = s->ready & (c->skip.memory | c->skip.waited);
         m != 0 && !hd_err_ends(*c->gpu->stop); m &= m - 1)
        n += skip_warp(c, s, hd_bit_first(m), now, true);
    return n;
}

void hd_warp_skip_end(struct hd_core *c, hd_time now)
{
    struct hd_core_state *s = c->s;
    const struct hd_skip *k = &c->skip;

    s->ready = s->lsu_full = 0;
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        struct hd_warp *x = &c->warp[w];

        hd_l1d_come(c, w);
        x->since = k->v[w].since;
        x->ready = hd_max_u64(k->v[w].ready, now);
        x->pending = k->v[w].pending;
        x->flight = k->v[w].flight;
        if (x->state != HD_WARP_READY)
            continue;
        x->op.wait |= x->pending & -(uint32_t)(k->waited >> w & 1);
        if (hd_warp_must_wait(x))
            x->state = HD_WARP_SLOTS;
        else
            hd_warp_make_ready(c, s, x, w, hd_max_u64(s->local, now));
    }
    hd_core_rouse(c, now);
}

/*
 * compact.c - thread block compaction (core.compact): the threads of a block
 * are regrouped into warps where they diverge (Fung, Aamodt, HPCA 2011;
 * TLB-aware: Pichai et al., ASPLOS 2014).
 *
 * The warps of a block stop at meetings, which take no time at the port, until
 * all that run have come or are done.  Then their source says which of them
 * continue (hd_source_ops.regroup); those that are formed of other threads
 * begin a cycle after each other.  A policy of thread_join may keep a thread
 * out of a warp that is being formed.  A place of the block without a formed
 * warp is HD_WARP_DONE, and so is a warp whose threads have all exited before
 * its end.
 *
 * Invariant: of a block's warps that wait, all do so at a meeting, or none.
 *
 * SPDX-License-Identifier: MIT
 */
#include "issue.h"

struct compact_join {
    struct hd_core *c;
    const struct hd_block *b;
    hd_time t;
};

/* The warp of the core that is the i-th of a block. */
static uint32_t compact_nth(const struct hd_block *b, uint32_t i)
{
    uint64_t m = b->warps;

    while (i-- > 0)
        m &= m - 1;
    return hd_bit_first(m);
}

uint32_t hd_warp_origin(const struct hd_core *c, uint32_t w, uint32_t lane)
{
    const struct hd_warp *x = &c->warp[w];

    return compact_nth(
        &c->block[x->block],
        hd_warp_program(c)->origin(c->source, x->ctx, x->index, lane));
}

static bool compact_may_join(void *self, uint32_t pc, uint32_t warp,
                             uint32_t lane, uint64_t members)
{
    const struct compact_join *j = self;
    const struct hd_gpu *g = j->c->gpu;
    struct heddle_q_thread_join q = {
        .cycle = hd_cycle(g->env->clk, HD_CLK_CORE, j->t),
        .core = j->c->id,
        .app = j->c->app,
        .block = j->b->number,
        .pc = pc,
        .warp = compact_nth(j->b, warp),
        .lane = lane,
        .n = g->m->core.warps};
    bool may;

    for (; members != 0; members &= members - 1)
        q.members |= 1ull << compact_nth(j->b, hd_bit_first(members));
    may = hd_ask_thread_join(&j->c->join, &q) != 0;
    j->c->count[HD_CORE_JOINS_REFUSED] += !may;
    return may;
}

int64_t hd_compact_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 1;
}

/* The warps of a block wait for each other without ever issuing anything. */
static bool compact_spins(struct hd_core *c, struct hd_block *b)
{
    enum { MOST = 1 << 22 };
    uint64_t issued;

    hd_core_for(c, hd_bit_first(b->warps));
    issued = c->count[HD_CORE_INSTRUCTIONS];

    b->rounds = b->issued == issued ? b->rounds + 1 : 0;
    b->issued = issued;
    if (b->rounds <= MOST)
        return false;
    hd_err_set(c->gpu->env->err, HEDDLE_EPROGRAM,
               "kernel %s: more than %d rounds without an instruction",
               hd_dispatch_launch(c, b->number)->name, MOST);
    return true;
}

void hd_compact_regroup(struct hd_core *c, uint32_t slot, hd_time t)
{
    struct hd_block *b = &c->block[slot];
    struct compact_join j = {c, b, t};
    struct hd_group g = {.may_join = c->join.bound ? compact_may_join : NULL,
                         .self = &j};
    uint64_t run = hd_warp_program(c)->regroup(c->source, b->ctx, &g);

    if (run == 0 || compact_spins(c, b)) {
        hd_warp_end_block(c, slot, t);
        return;
    }
    b->arrived = 0;
    b->live = hd_bit_count(run);
    if (HD_UNLIKELY(c->limit.bound)) /* others run */
        hd_limit_renew(c, t);
    if (g.moved && g.ctx != b->ctx) {
        c->count[HD_CORE_FORMED] += b->live;
        c->count[HD_CORE_FORMED_THREADS] += g.threads;
    }
    for (uint64_t m = b->warps, at = t; m != 0; m &= m - 1, run >>= 1) {
        uint32_t w = hd_bit_first(m);
        struct hd_warp *x = &c->warp[w];

        hd_warp_account(
            c, x->state == HD_WARP_MEET ? HD_CORE_T_MEET : HD_CORE_T_IDLE,
            t - x->since);
        x->since = t;
        x->state = HD_WARP_DONE;
        if ((run & 1) == 0)
            continue;
        at += g.moved ? c->gpu->cycle : 0;
        hd_warp_account(c, HD_CORE_T_MEET, at - t);
        x->since = x->ready = at;
        x->ctx = g.ctx;
        hd_warp_fetch_first(c, w, t);
    }
}

bool hd_compact_met(const struct hd_core *c, const struct hd_block *b)
{
    for (uint64_t m = b->warps; m != 0; m &= m - 1)
        if (c->warp[hd_bit_first(m)].state == HD_WARP_MEET)
            return true;
    return false;
}

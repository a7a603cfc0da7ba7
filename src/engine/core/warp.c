/*
 * warp.c - issue: the life of a warp, and which one goes next.
 *
 * Blocks start, warps issue, barriers and scoreboard slots hold and release,
 * and every tick of a warp's time is accounted.  A warp's state changes only
 * here, in compact.c and in skip.c.  Invariants: bit w of `ready` is set
 * exactly when warp w is HD_WARP_READY and its time has come; when its time
 * is still to come it is in later[], sorted; `since` is never behind by more
 * than the interval that its state explains, so the T_ counters of a core sum
 * to time x warps (what is open is added by hd_core_unaccounted).
 *
 * An ALU run issues in groups of core.ilp instructions, or of as many as its
 * source says; 0 is one group of all.  Those of a group are independent and
 * issue back to back, if no other warp takes the port between; what follows it,
 * the next group or another instruction, depends on it and waits for the ALU
 * latency after its last instruction.  So a run of n in groups of k behaves as
 * ceil(n / k) runs, one of each group, and takes n slots and at least
 * ceil(n / k) - 1 gaps, each the ALU latency less one slot.  In a gap the warp
 * is stalled like any other: GTO takes the oldest warp that can issue, and
 * chooses again when that one stalls in its turn.
 *
 * Schedulers: GTO stays with the warp that issued last until it stalls, then
 * takes the ready warp that has been resident longest (Rogers, O'Connor,
 * Aamodt: Cache-conscious wavefront scheduling, MICRO 2012).  A stalled warp
 * that wakes does not pre-empt the greedy one.  LRR takes the next ready warp
 * in cyclic order after each instruction.
 *
 * A load's wait is split when it ends: up to the last translation of its lines
 * it is TLB time, except that waiting for pages from the host is fault time and
 * waiting while a walker works is walk time; the rest is data time.
 *
 * Elsewhere: several schedulers a core (subcore.c), and classes of instructions
 * (classes.c); several issues in one step (turns.c); which warps may load
 * (limit.c); thread block compaction (compact.c); time that is not counted yet
 * (waits.c); instructions that sampling skips (skip.c); inspection (look.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "subcore.h"

HD_APART void hd_warp_fetch_first(struct hd_core *c, uint32_t w, hd_time t)
{
    c->s->next[HEDDLE_OP_BARRIER] |= 1ull << w;
    if (HD_UNLIKELY(c->sub != NULL)) /* ports of others are free before t */
        t = hd_min_u64(t, c->s->local);
    hd_warp_fetch(c, c->s, &c->warp[w], w, HEDDLE_OP_BARRIER, t);
}

/* ---- blocks ------------------------------------------------------------ */

void hd_warp_launch(struct hd_core *c)
{
    hd_cross(c->gpu->env, HD_BORDER_launch);
    c->lanes = c->state->launch.lanes;
    c->full = hd_ones(c->lanes);
    c->slot = c->gpu->slot[c->app];
}

void hd_warp_take(struct hd_core *c, hd_time t, uint64_t number)
{
    const struct hd_launch *l = hd_dispatch_launch(c, number);
    uint32_t slot = 0, w = 0;
    struct hd_block *b;
    uint64_t *family;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    while (c->block[slot].used)
        slot++;
    b = &c->block[slot];
    memset(b, 0, sizeof *b);
    if (hd_warp_program(c)->block_start(c->source, number, &b->ctx) != 0)
        return; /* the error is recorded and stops the run */
    b->used = 1;
    b->number = number;
    b->live = l->warps;
    hd_warp_launch(c);
    family = &c->s->family[c->s->families++];
    *family = 0;
    for (uint32_t i = 0; i < l->warps; i++, w++) {
        struct hd_warp *x;
        while (c->warp[w].state != HD_WARP_FREE)
            w++;
        x = &c->warp[w];
        b->warps |= 1ull << w;
        *family = b->warps;
        hd_warp_account(c, HD_CORE_T_IDLE, t - x->since);
        if (HD_UNLIKELY(c->launch != NULL))
            c->launch[w] = (uint16_t)hd_streams_row(c, number);
        x->since = x->ready = t;
        c->age[w] = c->s->ages++;
        x->pending = 0;
        x->ctx = b->ctx;
        x->index = (uint16_t)i;
        x->block = (uint16_t)slot;
        x->state = HD_WARP_READY;
        x->issued = 0;
        if (HD_UNLIKELY(c->sub != NULL))
            hd_classes_begin(c, w);
        hd_warp_fetch_first(c, w, t);
    }
    hd_core_for(c, hd_bit_first(b->warps));
    c->count[HD_CORE_BLOCKS]++;
    hd_limit_ask(c, t);
}

/* Takes a block's warps out of the order of ages. */
static void leave_order(struct hd_core *c, uint64_t warps)
{
    struct hd_core_state *s = c->s;
    uint32_t i = 0;

    while (s->family[i] != warps)
        i++;
    for (s->families--; i < s->families; i++)
        s->family[i] = s->family[i + 1];
}

void hd_warp_end_block(struct hd_core *c, uint32_t slot, hd_time t)
{
    struct hd_block *b = &c->block[slot];

    leave_order(c, b->warps);
    for (uint64_t m = b->warps; m != 0; m &= m - 1) {
        struct hd_warp *x = &c->warp[hd_bit_first(m)];
        hd_warp_account(c, HD_CORE_T_IDLE, t - x->since);
        x->since = t;
        x->state = HD_WARP_FREE;
    }
    hd_warp_program(c)->block_end(c->source, b->ctx);
    b->used = 0;
    hd_dispatch_block_end(c->gpu->dispatch, c->id, b, t);
}

/* ---- barriers and slots ------------------------------------------------ */

static void open_barrier(struct hd_core *c, struct hd_block *b, hd_time t)
{
    b->arrived = 0;
    for (uint64_t m = b->warps; m != 0; m &= m - 1) {
        uint32_t w = hd_bit_first(m);
        struct hd_warp *x = &c->warp[w];
        if (x->state != HD_WARP_BARRIER)
            continue;
        hd_warp_account(c, HD_CORE_T_BARRIER, t - x->since);
        x->since = x->ready = t;
        x->state = HD_WARP_READY;
        hd_warp_fetch_first(c, w, t);
    }
}

/* An instruction of shared memory has passed the load/store unit.  The warp
 * continues when the last one of its run has. */
static HD_APART void shared_done(struct hd_core *c, uint32_t memop, hd_time t)
{
    uint32_t w = c->memop[memop].warp;
    struct hd_warp *x = &c->warp[w];

    hd_places_give(&c->memop_places, memop);
    if (--x->shared > 0 || x->state != HD_WARP_UNIT)
        return;
    if (t > x->since) {
        hd_warp_account(c, HD_CORE_T_LSU, t - x->since);
        x->since = t;
    }
    x->ready = hd_max_u64(x->since, t + c->gpu->alu);
    hd_warp_fetch(c, c->s, x, w, HD_OP_SHARED, t);
}

static HD_APART void warp_tell_done(const struct hd_core *c,
                                    const struct hd_memop *m, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct heddle_n_access_done n = {
        .core = c->id,
        .app = c->app,
        .warp = m->warp,
        .kind = (uint64_t)hd_memop_kind(m) - HEDDLE_OP_LOAD,
        .cycles = hd_recip_div(g->per_cycle, t - m->issued)};

    hd_slots_note(g->env->slots, HEDDLE_NOTE_access_done, &n);
}

HD_HOT void hd_warp_answer(struct hd_core *c, uint32_t memop, hd_time t)
{
    struct hd_memop *m = &c->memop[memop];
    struct hd_warp *x = &c->warp[m->warp];
    struct hd_awaited a;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    hd_core_for(c, m->warp);
    if (HD_UNLIKELY(c->l1tlb.watched[HEDDLE_NOTE_access_done] != 0))
        warp_tell_done(c, m, t);
    if (m->slot != HD_NO_SLOT) {
        if (HD_LIKELY(m->slot < HD_SLOTS))
            x->pending &= ~(1u << m->slot);
        else
            hd_copies_done(c, m);
        hd_hist_add(&c->gpu->load_latency[c->app],
                    hd_recip_div(c->gpu->per_cycle, t - m->issued));
    } else {
        x->flight--;
        if (HD_UNLIKELY(m->kind == HD_OP_SHARED)) {
            shared_done(c, memop, t);
            return;
        }
    }
    if (x->state == HD_WARP_SLOTS && !hd_warp_must_wait(x)) {
        if (t > x->since) {
            a = (struct hd_awaited){m->translated, m->walk,
                                    c->fault != NULL ? c->fault[memop] : 0};
            hd_warp_split_load(&a, x->since, t, c->count);
            x->since = t;
        }
        hd_warp_make_ready(c, c->s, x, m->warp, t);
    }
    if (HD_UNLIKELY(c->fault != NULL))
        c->fault[memop] = 0;
    hd_places_give(&c->memop_places, memop);
}

void hd_warp_stored(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_warp *x = &c->warp[w];

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    hd_assert(x->flight > 0);
    x->flight--;
    if (x->state != HD_WARP_SLOTS || hd_warp_must_wait(x))
        return;
    if (t > x->since) {
        hd_warp_account(c, HD_CORE_T_DATA, t - x->since);
        x->since = t;
    }
    hd_warp_make_ready(c, c->s, x, w, t);
}

/* ---- which warp ---------------------------------------------------------- */

/* The policy's answer to warp_pick. */
HD_APART static uint32_t warp_pick_asked(struct hd_core *c, uint64_t can,
                                         uint32_t *one)
{
    struct heddle_q_warp_pick q = {.core = c->id,
                                   .last = c->s->last,
                                   .ready = can,
                                   .oldest = hd_warp_oldest(c, can),
                                   .n = c->gpu->m->core.warps,
                                   .age = c->age};
    int64_t a = hd_ask_warp_pick(&c->pick, &q);

    *one = a >= 64;
    a &= 63;
    if (can >> a & 1)
        return (uint32_t)a;
    hd_err_set(c->gpu->env->err, HEDDLE_EPOLICY,
               "warp_pick: core %u, ready set 0x%llx: warp %lld was answered, "
               "which is not ready",
               c->id, (unsigned long long)can, (long long)a);
    return hd_warp_pick_own(c, can, one);
}

/* The warp that issues, of a set that is not empty. */
static inline uint32_t warp_pick(struct hd_core *c, uint64_t can, uint32_t *one)
{
    return HD_UNLIKELY(c->pick.bound) ? warp_pick_asked(c, can, one)
                                      : hd_warp_pick_own(c, can, one);
}

/* The engine's own answer to warp_pick. */
static int64_t warp_pick_default(void *self, const void *question)
{
    const struct heddle_q_warp_pick *q = question;
    uint32_t one, w = hd_warp_pick_own(self, q->ready, &one);

    return one ? (int64_t)w + 64 : (int64_t)w;
}

void hd_warp_open(struct hd_core *c)
{
    struct hd_slots *slots = c->gpu->env->slots;

    c->s->later_at = HD_NEVER;
    c->s->last = HD_MAX_WARPS;
    c->s->limit = ~0ull;
    c->s->limit_at = HD_NEVER;
    hd_slots_offer(slots, HEDDLE_POINT_warp_pick, "core", &c->pick,
                   warp_pick_default, c);
    hd_slots_offer(slots, HEDDLE_POINT_warp_limit, "core", &c->limit,
                   hd_limit_default, c);
    hd_slots_offer(slots, HEDDLE_POINT_thread_join, "core", &c->join,
                   hd_compact_default, c);
}

/* ---- issue --------------------------------------------------------------- */

void hd_warp_barrier(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_block *b = &c->block[c->warp[w].block];

    if (HD_UNLIKELY(c->warp[w].ctx != b->ctx))
        hd_err_set(c->gpu->env->err, HEDDLE_EPROGRAM,
                   "kernel %s, block %llu: a barrier that only some threads of "
                   "the block reach; with core.compact all that have not "
                   "exited are expected to reach it",
                   hd_dispatch_launch(c, b->number)->name,
                   (unsigned long long)hd_block_number(b->number));
    c->count[HD_CORE_BARRIERS]++;
    c->warp[w].state = HD_WARP_BARRIER;
    if (++b->arrived == b->live)
        open_barrier(c, b, t);
}

void hd_warp_last(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_warp *x = &c->warp[w];
    uint32_t slot = x->block;
    struct hd_block *b = &c->block[slot];
    bool meets = x->op.kind == HD_OP_MEET;

    if (meets && x->op.mask != 0) {
        x->state = HD_WARP_MEET;
        b->arrived++;
    } else {
        x->state = HD_WARP_DONE;
        b->live--;
        if (HD_UNLIKELY(c->limit.bound))
            hd_limit_renew(c, t);
    }
    if (b->arrived != b->live)
        return;
    if (HD_UNLIKELY(c->gpu->env->compact) &&
        (b->live == 0 || hd_compact_met(c, b)))
        hd_compact_regroup(c, slot, t);
    else if (b->live == 0)
        hd_warp_end_block(c, slot, t);
    else
        open_barrier(c, b, t);
}

/* Warp w issues a group of its ALU run at t, or the first `most` instructions
 * of what is left of it. */
static HD_INLINE void issue_alu(struct hd_core *c, struct hd_core_state *s,
                                uint32_t w, hd_time t, uint64_t most)
{
    struct hd_warp *x = &c->warp[w];
    uint64_t left = hd_warp_group_left(c, x), n = hd_min_u64(left, most);
    hd_time slot = c->slot, end = t + n * slot;

    hd_warp_issue(c, w, n, t, end);
    hd_dispatch_issued(c, n, t);
    x->op.count -= (uint32_t)n;
    if (HD_UNLIKELY(n < left)) { /* `most` of them */
        x->group = (uint8_t)(c->ilp != 0 ? left - n : 0);
        return;
    }
    x->group = 0;
    x->ready = hd_max_u64(end, end - slot + c->gpu->alu);
    s->ready ^= 1ull << w;
    if (HD_LIKELY(x->op.count == 0))
        hd_warp_fetch(c, s, x, w, HEDDLE_OP_ALU, end);
    else
        hd_warp_make_ready(c, s, x, w, end);
}

/* Issues the load, store or atomic of warp w. */
static HD_INLINE void issue_memory(struct hd_core *c, struct hd_core_state *s,
                                   uint32_t w, hd_time t)
{
    struct hd_warp *x = &c->warp[w];
    struct hd_access acc = {.lane = NULL};
    hd_time end = t + c->slot;
    uint64_t n = x->op.count;
    uint32_t slot = x->op.slot, kind = x->op.kind, lanes;

    lanes = hd_warp_issue(c, w, n, t, end);
    hd_dispatch_issued(c, n, t);
    c->count[HD_CORE_MEM_INSTRUCTIONS] += n;
    c->count[HD_CORE_LOADS + kind - HEDDLE_OP_LOAD] += n;
    x->pending |= hd_warp_slot_bit(slot);
    x->flight += slot == HD_NO_SLOT;
    s->ready ^= 1ull << w;
    hd_warp_program(c)->access(c->source, x->ctx, x->index, &acc);
    hd_lsu_take(c, w, lanes, &acc, t);
    hd_warp_fetch(c, s, x, w, kind, end);
}

/* Issues what else warp w has: an access to shared memory that goes through the
 * load/store unit, a barrier, a meeting (core.compact), which takes no time, or
 * its exit. */
HD_APART static void issue_other(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_core_state *s = c->s;
    struct hd_warp *x = &c->warp[w];
    uint64_t n = x->op.kind == HD_OP_SHARED ? 1 : x->op.count;
    hd_time end = t + (x->op.kind != HD_OP_MEET ? c->slot : 0);

    hd_warp_issue(c, w, n, t, end);
    hd_dispatch_issued(c, n, t);
    s->ready ^= 1ull << w;
    if (x->op.kind == HEDDLE_OP_BARRIER) {
        hd_warp_barrier(c, w, end);
    } else if (x->op.kind != HD_OP_SHARED) {
        hd_warp_last(c, w, end);
    } else {
        hd_lsu_take_shared(c, w, t);
        x->flight++;
        x->shared++;
        if (--x->op.count > 0)
            hd_warp_make_ready(c, s, x, w, t);
        else
            x->state = HD_WARP_UNIT;
    }
}

/* Warp w issues an instruction of its ALU run, as its class lets it. */
static void issue_class(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_warp *x = &c->warp[w];
    hd_time end = t + c->slot;

    hd_warp_issue(c, w, 1, t, end);
    hd_dispatch_issued(c, 1, t);
    c->s->ready ^= 1ull << w;
    if (--x->op.count == 0) {
        hd_warp_fetch(c, c->s, x, w, HEDDLE_OP_ALU, end);
        return;
    }
    x->ready = hd_max_u64(end, hd_classes_next(c, w));
    hd_warp_make_ready(c, c->s, x, w, end);
}

HD_APART void hd_warp_serve_one(struct hd_core *c, uint64_t can, hd_time t)
{
    uint32_t one, w = warp_pick(c, can, &one), kind = c->warp[w].op.kind;

    hd_core_for(c, w);
    if (c->sub->classes)
        hd_classes_take(c, w, t);
    if (hd_warp_is_memory(kind))
        issue_memory(c, c->s, w, t);
    else if (kind != HEDDLE_OP_ALU)
        issue_other(c, w, t);
    else if (c->sub->classes)
        issue_class(c, w, t);
    else
        issue_alu(c, c->s, w, t, one ? 1 : UINT64_MAX);
}

/* by_launch: launches overlap, and the core counts for that of the warp. */
static HD_INLINE struct hd_port
warp_serve(struct hd_core *c, struct hd_port port, hd_time end, bool by_launch)
{
    struct hd_core_state *s = c->s;
    hd_time t = port.at;
    struct hd_turns turns;
    uint64_t rounds;
    uint32_t w, one;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    s->local = hd_max_u64(s->local, t);
    if (s->later_at <= t) {
        hd_warp_promote(c, s, t);
        port.can = hd_warp_can(c, s);
    }
    if (HD_UNLIKELY(port.can == 0))
        return hd_port_next(c, s);
    rounds = hd_turns_rounds(c, port.can, t, end);
    if (rounds > 0) {
        hd_turns_issue_rounds(c, port.can, t, rounds);
        return hd_port_next(c, s);
    }
    w = warp_pick(c, port.can, &one);
    if (by_launch)
        hd_core_for(c, w);
    if (c->warp[w].op.kind != HEDDLE_OP_ALU) {
        if (HD_LIKELY(hd_warp_is_memory(c->warp[w].op.kind)))
            issue_memory(c, s, w, t);
        else
            issue_other(c, w, t);
    } else if (c->ilp != 0 && c->warp[w].op.count > 1 && !one &&
               !HD_UNLIKELY(c->pick.bound) && hd_turns_may(c, s, port.can, w) &&
               hd_turns_before(c, port.can, w, t, end, &turns)) {
        hd_turns_issue(c, s, w, t, turns);
    } else {
        issue_alu(c, s, w, t, one ? 1 : UINT64_MAX);
    }
    return hd_port_next(c, s);
}

static HD_APART struct hd_port
warp_serve_apart(struct hd_core *c, struct hd_port port, hd_time end)
{
    return c->sub != NULL ? hd_subcore_serve(c, port)
                          : warp_serve(c, port, end, true);
}

HD_HOT struct hd_port hd_warp_serve(struct hd_core *c, struct hd_port port,
                                    hd_time end)
{
    return HD_UNLIKELY(c->apart) ? warp_serve_apart(c, port, end)
                                 : warp_serve(c, port, end, false);
}

/*
 * warp.c - issue: the life of a warp, and which one goes next.
 *
 * Blocks start, warps issue, barriers and scoreboard slots hold and release,
 * and every tick of a warp's time is accounted.  A warp's state changes only
 * here.  Invariants: bit w of `ready` is set exactly when warp w is
 * HD_WARP_READY and its time has come; when its time lies ahead it is in
 * later[], sorted; `since` never lies behind by more than the interval that its
 * state explains, so the T_ counters of a core sum to time x warps (what is
 * open is added by hd_core_unaccounted).
 *
 * An ALU run issues in groups of core.ilp instructions, or of as many as its
 * source says; 0 is one group of all.  Those of a group are independent and
 * issue back to back, if no other warp takes the port between; what follows it,
 * the next group or another instruction, depends on it and waits for the ALU
 * latency after its last instruction.  So a run of n in groups of k is the
 * same as ceil(n / k) runs, one of each group, and takes n slots and at least
 * ceil(n / k) - 1 gaps of what the latency is longer than a slot.  In a gap the
 * warp has stalled like any other: GTO goes over to the oldest that can issue,
 * and comes back when that one stalls in its turn.  Where warps come back one
 * after the other, older than all that are ready or with nobody ready, GTO
 * takes them in this order, turn after turn, which is one step (issue_turns),
 * as far as nothing else happens in the core.
 *
 * Schedulers: GTO stays with the warp that issued last until it stalls, then
 * takes the ready warp that has been resident longest (Rogers, O'Connor,
 * Aamodt: Cache-conscious wavefront scheduling, MICRO 2012).  A stalled warp
 * that wakes does not pre-empt the greedy one.  LRR takes the next ready warp
 * in cyclic order after each instruction.  When all ready warps are inside ALU
 * runs, whole rounds of LRR change nothing but the runs' lengths, so they are
 * taken in one step (issue_rounds), as far as the groups reach; the issue order
 * is that of one instruction at a time.
 *
 * With core.compact the warps of a block stop at meetings, which take no time
 * at the port, until all that run have come or are done.  Then their source
 * says which of them go on (hd_source_ops.regroup); those that are formed anew
 * do so a cycle after each other.  A place of the block without a formed warp
 * is HD_WARP_DONE, and so is a warp whose threads have all exited before its
 * end.
 *
 * A load's wait is split when it ends: up to the last translation of its lines
 * it is TLB time, of which the part that it waited for pages from the host is
 * fault time and the part that a walker worked is walk time, and the rest is
 * data time.  Whoever reads the counters before gets the open part, too, told
 * as if the wait ended now.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "machine.h"
#include "dispatch.h"

static void warp_account(struct hd_core *c, uint32_t what, hd_time ticks)
{
    c->count[what] += ticks;
}

/* What is known of a load that a warp waits for. */
struct awaited {
    hd_time translated; /* the last translation: `now` if one is under way */
    hd_time walk, fault;
};

/* The wait of a warp for a load, since then and up to t. */
static inline void warp_split_load(const struct awaited *a, hd_time since,
                                   hd_time t, uint64_t *count)
{
    hd_time to = hd_max_u64(since, hd_min_u64(a->translated, t));
    hd_time fault = hd_min_u64(a->fault, to - since);
    hd_time walk = hd_min_u64(a->walk, to - since - fault);

    count[HD_CORE_T_FAULT] += fault;
    count[HD_CORE_T_WALK] += walk;
    count[HD_CORE_T_TLB] += to - since - fault - walk;
    count[HD_CORE_T_DATA] += t - to;
}

/* ---- ready sets -------------------------------------------------------- */

/* The i-th of the warps whose time has not come. */
static inline uint8_t *warp_later_at(struct hd_core_state *s, uint32_t i)
{
    return &s->later[(s->later_first + i) % HD_MAX_WARPS];
}

/* Its time `at` lies ahead; mostly all others' come before. */
static inline void warp_wait_turn(const struct hd_core *c,
                                  struct hd_core_state *s, uint32_t w,
                                  hd_time at)
{
    uint32_t i = s->later_n++;

    for (; i > 0 && c->warp[*warp_later_at(s, i - 1)].ready > at; i--)
        *warp_later_at(s, i) = *warp_later_at(s, i - 1);
    *warp_later_at(s, i) = (uint8_t)w;
    s->later_at = hd_min_u64(s->later_at, at);
}

static inline void warp_make_ready(const struct hd_core *c,
                                   struct hd_core_state *s, struct hd_warp *x,
                                   uint32_t w, hd_time t)
{
    hd_time at = x->ready;

    x->state = HD_WARP_READY;
    if (at <= t)
        s->ready |= 1ull << w;
    else
        warp_wait_turn(c, s, w, at);
}

/* Warps whose time has come are ready; there are some. */
static inline void warp_promote(const struct hd_core *c,
                                struct hd_core_state *s, hd_time t)
{
    uint32_t n = s->later_n;
    hd_time at;

    do {
        s->ready |= 1ull << *warp_later_at(s, 0);
        s->later_first = (s->later_first + 1) % HD_MAX_WARPS;
        at = --n == 0 ? HD_NEVER : c->warp[*warp_later_at(s, 0)].ready;
    } while (at <= t);
    s->later_n = n;
    s->later_at = at;
}

/* What the next instruction waits for: slots, and at the exit everything that
 * the warp still has at the load/store unit. */
static bool warp_must_wait(const struct hd_warp *x)
{
    return (x->op.wait & x->pending) != 0 ||
           (x->op.kind == HEDDLE_OP_EXIT && x->flight > 0);
}

static inline bool warp_is_memory(uint32_t kind)
{
    return kind - HEDDLE_OP_LOAD <= HEDDLE_OP_ATOMIC - HEDDLE_OP_LOAD;
}

/* The scoreboard slot that an instruction fills (bit set); HD_NO_SLOT: none,
 * bit 63 being cut off. */
static inline uint32_t warp_slot_bit(uint32_t slot)
{
    return (uint32_t)(1ull << slot % 64);
}

/* The application's program, which is run as it issues. */
static inline const struct hd_source_ops *warp_program(const struct hd_core *c)
{
    hd_cross(c->gpu->env, HD_BORDER_program);
    return c->ops;
}

/* Fetches the warp's next instruction, after one of kind `old`, and finds out
 * what it waits for. */
static HD_INLINE void warp_fetch(const struct hd_core *c,
                                 struct hd_core_state *s, struct hd_warp *x,
                                 uint32_t w, uint32_t old, hd_time t)
{
    uint64_t bit = 1ull << w;
    uint32_t kind;

    warp_program(c)->next(c->source, x->ctx, x->index, &x->op);
    kind = x->op.kind;
    s->next[old] ^= bit; /* it was set */
    s->next[kind] |= bit;
    x->op.wait |=
        warp_slot_bit(x->op.slot) | -(uint32_t)(kind == HEDDLE_OP_EXIT);
    if (warp_must_wait(x))
        x->state = HD_WARP_SLOTS;
    else
        warp_make_ready(c, s, x, w, t);
}

/* warp_fetch() where it is rare: at first, and after a barrier. */
HD_APART static void warp_fetch_first(struct hd_core *c, uint32_t w, hd_time t)
{
    c->s->next[HEDDLE_OP_BARRIER] |= 1ull << w;
    warp_fetch(c, c->s, &c->warp[w], w, HEDDLE_OP_BARRIER, t);
}

/* ---- blocks ------------------------------------------------------------ */

/* Sees to it that the core hears when what was answered is over. */
static void warp_expect_limit(struct hd_core *c)
{
    struct hd_core_state *s = c->s;

    if (s->limit_until >= s->limit_at)
        return;
    s->limit_at = s->limit_until;
    hd_core_message(c, s->limit_at, HD_MSG_LIMIT, 0, 0);
}

/* Until when an answer of t holds. */
static hd_time warp_limit_holds(const struct hd_core *c,
                                const struct heddle_q_warp_limit *q, hd_time t,
                                int64_t answer)
{
    const struct hd_gpu *g = c->gpu;

    if (q->holds == 0)
        return t + g->m->core.limit_cycles * g->cycle;
    if (q->holds <= q->cycle)
        hd_slots_refuse(&c->limit, HEDDLE_POINT_warp_limit, q, answer,
                        "`holds` to be 0 or a later cycle", g->env->err);
    return q->holds < INT64_MAX / g->cycle ? q->holds * g->cycle : HD_NEVER;
}

/* Asks which warps may load. */
static void warp_ask_limit(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;
    struct heddle_q_warp_limit q = {0};
    uint64_t issued[HD_MAX_WARPS];
    uint32_t n = c->gpu->m->core.warps;

    if (!c->limit.bound) {
        s->limit = c->gpu->env->slots->steer->warp_limit[0][c->id];
        s->limit_until = HD_NEVER;
        return;
    }
    for (uint32_t w = 0; w < n; w++) {
        uint32_t state = c->warp[w].state;
        issued[w] = c->warp[w].issued;
        q.resident |= (uint64_t)(state != HD_WARP_FREE) << w;
        q.running |=
            (uint64_t)(state != HD_WARP_FREE && state != HD_WARP_DONE) << w;
    }
    q.core = c->id;
    q.cycle = hd_recip_div(c->gpu->per_cycle, t);
    q.n = n;
    q.age = c->age;
    q.issued = issued;
    s->limit = (uint64_t)hd_ask_warp_limit(&c->limit, &q);
    s->limit_until = warp_limit_holds(c, &q, t, (int64_t)s->limit);
    warp_expect_limit(c);
}

void hd_warp_limit_over(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (t >= s->limit_at)
        s->limit_at = HD_NEVER;
    if (t >= s->limit_until)
        warp_ask_limit(c, t);
    else
        warp_expect_limit(c);
}

void hd_warp_renew_limit(struct hd_core *c, hd_time t)
{
    c->s->limit_until = hd_min_u64(c->s->limit_until, t);
    warp_expect_limit(c);
}

void hd_warp_launch(struct hd_core *c)
{
    hd_cross(c->gpu->env, HD_BORDER_launch);
    c->lanes = c->state->launch.lanes;
    c->full = hd_ones(c->lanes);
    c->slot = c->gpu->slot[c->app];
}

void hd_warp_take(struct hd_core *c, hd_time t, uint64_t number)
{
    const struct hd_launch *l = &c->state->launch;
    uint32_t slot = 0, w = 0;
    struct hd_block *b;
    uint64_t *family;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    while (c->block[slot].used)
        slot++;
    b = &c->block[slot];
    memset(b, 0, sizeof *b);
    if (warp_program(c)->block_start(c->source, number, &b->ctx) != 0)
        return; /* the error is recorded and stops the run */
    b->used = 1;
    b->number = number;
    b->live = l->warps;
    hd_warp_launch(c);
    c->count[HD_CORE_BLOCKS]++;
    family = &c->s->family[c->s->families++];
    *family = 0;
    for (uint32_t i = 0; i < l->warps; i++, w++) {
        struct hd_warp *x;
        while (c->warp[w].state != HD_WARP_FREE)
            w++;
        x = &c->warp[w];
        b->warps |= 1ull << w;
        *family = b->warps;
        warp_account(c, HD_CORE_T_IDLE, t - x->since);
        x->since = x->ready = t;
        c->age[w] = c->s->ages++;
        x->pending = 0;
        x->ctx = b->ctx;
        x->index = (uint16_t)i;
        x->block = (uint16_t)slot;
        x->state = HD_WARP_READY;
        x->issued = 0;
        warp_fetch_first(c, w, t);
    }
    warp_ask_limit(c, t);
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

static void warp_end_block(struct hd_core *c, uint32_t slot, hd_time t)
{
    struct hd_block *b = &c->block[slot];

    leave_order(c, b->warps);
    for (uint64_t m = b->warps; m != 0; m &= m - 1) {
        struct hd_warp *x = &c->warp[hd_bit_first(m)];
        warp_account(c, HD_CORE_T_IDLE, t - x->since);
        x->since = t;
        x->state = HD_WARP_FREE;
    }
    warp_program(c)->block_end(c->source, b->ctx);
    b->used = 0;
    hd_dispatch_block_end(c->gpu->dispatch, c->id, t);
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
        warp_account(c, HD_CORE_T_BARRIER, t - x->since);
        x->since = x->ready = t;
        x->state = HD_WARP_READY;
        warp_fetch_first(c, w, t);
    }
}

/* ---- thread block compaction ------------------------------------------- */

struct joining {
    struct hd_core *c;
    const struct hd_block *b;
    hd_time t;
};

/* The warp of the core that is the i-th of a block. */
static uint32_t warp_nth(const struct hd_block *b, uint32_t i)
{
    uint64_t m = b->warps;

    while (i-- > 0)
        m &= m - 1;
    return hd_bit_first(m);
}

uint32_t hd_warp_origin(const struct hd_core *c, uint32_t w, uint32_t lane)
{
    const struct hd_warp *x = &c->warp[w];

    return warp_nth(&c->block[x->block],
                    warp_program(c)->origin(c->source, x->ctx, x->index, lane));
}

static bool may_join(void *self, uint32_t pc, uint32_t warp, uint32_t lane,
                     uint64_t members)
{
    const struct joining *j = self;
    const struct hd_gpu *g = j->c->gpu;
    struct heddle_q_thread_join q = {
        .cycle = hd_cycle(g->env->clk, HD_CLK_CORE, j->t),
        .core = j->c->id,
        .app = j->c->app,
        .block = j->b->number,
        .pc = pc,
        .warp = warp_nth(j->b, warp),
        .lane = lane,
        .n = g->m->core.warps};
    bool may;

    for (; members != 0; members &= members - 1)
        q.members |= 1ull << warp_nth(j->b, hd_bit_first(members));
    may = hd_ask_thread_join(&j->c->join, &q) != 0;
    j->c->count[HD_CORE_JOINS_REFUSED] += !may;
    return may;
}

/* The engine's own answer to thread_join. */
static int64_t warp_join_default(void *self, const void *question)
{
    (void)self, (void)question;
    return 1;
}

/* The warps of a block wait for each other without ever issuing anything. */
static bool spins(struct hd_core *c, struct hd_block *b)
{
    enum { MOST = 1 << 22 };
    uint64_t issued = c->count[HD_CORE_INSTRUCTIONS];

    b->rounds = b->issued == issued ? b->rounds + 1 : 0;
    b->issued = issued;
    if (b->rounds <= MOST)
        return false;
    hd_err_set(c->gpu->env->err, HEDDLE_EPROGRAM,
               "kernel %s: more than %d rounds without an instruction",
               c->state->launch.name, MOST);
    return true;
}

static void warp_end_block(struct hd_core *c, uint32_t slot, hd_time t);

/* All warps of a block that run have stopped, or are done: others go on, a cycle
 * for each that is formed. */
static void regroup(struct hd_core *c, uint32_t slot, hd_time t)
{
    struct hd_block *b = &c->block[slot];
    struct joining j = {c, b, t};
    struct hd_group g = {.may_join = c->join.bound ? may_join : NULL,
                         .self = &j};
    uint64_t run = warp_program(c)->regroup(c->source, b->ctx, &g);

    if (run == 0 || spins(c, b)) {
        warp_end_block(c, slot, t);
        return;
    }
    b->arrived = 0;
    b->live = hd_bit_count(run);
    if (HD_UNLIKELY(c->limit.bound)) /* others run */
        hd_warp_renew_limit(c, t);
    if (g.moved && g.ctx != b->ctx) {
        c->count[HD_CORE_FORMED] += b->live;
        c->count[HD_CORE_FORMED_THREADS] += g.threads;
    }
    for (uint64_t m = b->warps, at = t; m != 0; m &= m - 1, run >>= 1) {
        uint32_t w = hd_bit_first(m);
        struct hd_warp *x = &c->warp[w];

        warp_account(c,
                     x->state == HD_WARP_MEET ? HD_CORE_T_MEET : HD_CORE_T_IDLE,
                     t - x->since);
        x->since = t;
        x->state = HD_WARP_DONE;
        if ((run & 1) == 0)
            continue;
        at += g.moved ? c->gpu->cycle : 0;
        warp_account(c, HD_CORE_T_MEET, at - t);
        x->since = x->ready = at;
        x->ctx = g.ctx;
        warp_fetch_first(c, w, t);
    }
}

/* An instruction of shared memory has passed the load/store unit.  The warp
 * goes on when the last one of its run has. */
static HD_APART void shared_done(struct hd_core *c, uint32_t memop, hd_time t)
{
    uint32_t w = c->memop[memop].warp;
    struct hd_warp *x = &c->warp[w];

    hd_places_give(&c->memop_places, memop);
    if (--x->shared > 0 || x->state != HD_WARP_UNIT)
        return;
    if (t > x->since) {
        warp_account(c, HD_CORE_T_LSU, t - x->since);
        x->since = t;
    }
    x->ready = hd_max_u64(x->since, t + c->gpu->alu);
    warp_fetch(c, c->s, x, w, HD_OP_SHARED, t);
}

static HD_APART void warp_tell_done(const struct hd_core *c,
                                    const struct hd_memop *m, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct heddle_n_access_done n = {
        .core = c->id,
        .app = c->app,
        .warp = m->warp,
        .kind = (uint64_t)m->kind - HEDDLE_OP_LOAD,
        .cycles = hd_recip_div(g->per_cycle, t - m->issued)};

    hd_slots_note(g->env->slots, HEDDLE_NOTE_access_done, &n);
}

HD_HOT void hd_warp_answer(struct hd_core *c, uint32_t memop, hd_time t)
{
    struct hd_memop *m = &c->memop[memop];
    struct hd_warp *x = &c->warp[m->warp];
    struct awaited a;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    if (HD_UNLIKELY(c->l1tlb.watched[HEDDLE_NOTE_access_done] != 0))
        warp_tell_done(c, m, t);
    if (m->slot != HD_NO_SLOT) {
        x->pending &= ~(1u << m->slot);
        hd_hist_add(&c->gpu->load_latency[c->app],
                    hd_recip_div(c->gpu->per_cycle, t - m->issued));
    } else {
        x->flight--;
        if (HD_UNLIKELY(m->kind == HD_OP_SHARED)) {
            shared_done(c, memop, t);
            return;
        }
    }
    if (x->state == HD_WARP_SLOTS && !warp_must_wait(x)) {
        if (t > x->since) {
            a = (struct awaited){m->translated, m->walk,
                                 c->fault != NULL ? c->fault[memop] : 0};
            warp_split_load(&a, x->since, t, c->count);
            x->since = t;
        }
        warp_make_ready(c, c->s, x, m->warp, t);
    }
    if (HD_UNLIKELY(c->fault != NULL))
        c->fault[memop] = 0;
    hd_places_give(&c->memop_places, memop);
}

/* ---- which warp ---------------------------------------------------------- */

/* The ready warp that has been resident longest. */
static inline uint32_t warp_oldest(const struct hd_core *c, uint64_t can)
{
    const uint64_t *family = c->s->family;

    if ((can & (can - 1)) == 0)
        return hd_bit_first(can);
    while ((*family & can) == 0)
        family++;
    return hd_bit_first(*family & can);
}

/* The engine's own choice.  *one: a single instruction issues, not the whole
 * ALU run. */
static inline uint32_t warp_pick_own(const struct hd_core *c, uint64_t can,
                                     uint32_t *one)
{
    uint32_t last = c->s->last;
    uint64_t later;

    *one = c->lrr;
    if (c->lrr) {
        later = last < 63 ? can & ~hd_ones(last + 1) : 0;
        return hd_bit_first(later != 0 ? later : can);
    }
    return last < HD_MAX_WARPS && can >> last & 1 ? last : warp_oldest(c, can);
}

/* A policy's. */
HD_APART static uint32_t warp_pick_asked(struct hd_core *c, uint64_t can,
                                         uint32_t *one)
{
    struct heddle_q_warp_pick q = {.core = c->id,
                                   .last = c->s->last,
                                   .ready = can,
                                   .oldest = warp_oldest(c, can),
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
    return warp_pick_own(c, can, one);
}

/* The warp that issues, of a set that is not empty. */
static inline uint32_t warp_pick(struct hd_core *c, uint64_t can, uint32_t *one)
{
    return HD_UNLIKELY(c->pick.bound) ? warp_pick_asked(c, can, one)
                                      : warp_pick_own(c, can, one);
}

/* The engine's own answer to warp_pick. */
static int64_t warp_pick_default(void *self, const void *question)
{
    const struct heddle_q_warp_pick *q = question;
    uint32_t one, w = warp_pick_own(self, q->ready, &one);

    return one ? (int64_t)w + 64 : (int64_t)w;
}

/* The engine's own answer to warp_limit: the steered set. */
static int64_t warp_limit_default(void *self, const void *question)
{
    const struct hd_core *c = self;

    (void)question;
    return (int64_t)c->gpu->env->slots->steer->warp_limit[0][c->id];
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
                   warp_limit_default, c);
    hd_slots_offer(slots, HEDDLE_POINT_thread_join, "core", &c->join,
                   warp_join_default, c);
}

/* ---- issue --------------------------------------------------------------- */

/* Warp w issues n instructions from t to `end`: its waits, its issue time, and
 * what follows from it for the port.  Its active lanes. */
static HD_INLINE uint32_t warp_issue(const struct hd_core *c, uint32_t w,
                                     uint64_t n, hd_time t, hd_time end)
{
    struct hd_core_state *s = c->s;
    struct hd_warp *x = &c->warp[w];
    uint64_t *count = c->count, mask = x->op.mask, bit = 1ull << w;
    uint32_t lanes = HD_LIKELY(mask == c->full) ? c->lanes : hd_bit_count(mask);
    hd_time since = x->since;

    hd_assert(x->ready <= t);
    if (x->ready > since) {
        count[HD_CORE_T_ALU] += x->ready - since;
        since = x->ready;
    }
    if (HD_LIKELY((s->lsu_full & bit) == 0)) {
        count[HD_CORE_T_READY] += t - since;
    } else {
        count[HD_CORE_T_LSU] += t - since;
        s->lsu_full ^= bit;
    }
    count[HD_CORE_INSTRUCTIONS] += n;
    x->issued += (uint32_t)n;
    x->since = end;
    count[HD_CORE_THREAD_INSTRUCTIONS] += n * lanes;
    x->ready = end;
    count[HD_CORE_T_ISSUE] += end - t;
    s->last = w;
    s->ran |= bit;
    s->port_free = end;
    return lanes;
}

/* Whether those of a block that wait do so at a meeting: all do, or none. */
static bool is_met(const struct hd_core *c, const struct hd_block *b)
{
    for (uint64_t m = b->warps; m != 0; m &= m - 1)
        if (c->warp[hd_bit_first(m)].state == HD_WARP_MEET)
            return true;
    return false;
}

static void issue_barrier(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_block *b = &c->block[c->warp[w].block];

    if (HD_UNLIKELY(c->warp[w].ctx != b->ctx))
        hd_err_set(c->gpu->env->err, HEDDLE_EPROGRAM,
                   "kernel %s, block %llu: a barrier that only some threads of "
                   "the block reach; with core.compact all that have not "
                   "exited are expected",
                   c->state->launch.name, (unsigned long long)b->number);
    c->count[HD_CORE_BARRIERS]++;
    c->warp[w].state = HD_WARP_BARRIER;
    if (++b->arrived == b->live)
        open_barrier(c, b, t);
}

/* A warp of a block has stopped at a meeting, or is done. */
static void issue_last(struct hd_core *c, uint32_t w, hd_time t)
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
            hd_warp_renew_limit(c, t);
    }
    if (b->arrived != b->live)
        return;
    if (HD_UNLIKELY(c->gpu->env->compact) && (b->live == 0 || is_met(c, b)))
        regroup(c, slot, t);
    else if (b->live == 0)
        warp_end_block(c, slot, t);
    else
        open_barrier(c, b, t);
}

/* Instructions of a group of the warp's ALU run. */
static inline uint64_t warp_group_size(const struct hd_core *c,
                                       const struct hd_warp *x)
{
    return HD_LIKELY(c->ilp == 0) ? UINT64_MAX
           : x->op.bytes != 0     ? x->op.bytes
                                  : c->ilp;
}

/* How many of them it issues before it has to wait. */
static inline uint64_t warp_group_left(const struct hd_core *c,
                                       const struct hd_warp *x)
{
    return hd_min_u64(x->op.count,
                      x->group != 0 ? x->group : warp_group_size(c, x));
}

/* Warp w issues a group of its ALU run at t, or the first `most` instructions
 * of what is left of it. */
static HD_INLINE void issue_alu(struct hd_core *c, struct hd_core_state *s,
                                uint32_t w, hd_time t, uint64_t most)
{
    struct hd_warp *x = &c->warp[w];
    uint64_t left = warp_group_left(c, x), n = hd_min_u64(left, most);
    hd_time slot = c->slot, end = t + n * slot;

    warp_issue(c, w, n, t, end);
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
        warp_fetch(c, s, x, w, HEDDLE_OP_ALU, end);
    else
        warp_make_ready(c, s, x, w, end);
}

/* Issues its load, store or atomic. */
static HD_INLINE void issue_memory(struct hd_core *c, struct hd_core_state *s,
                                   uint32_t w, hd_time t)
{
    struct hd_warp *x = &c->warp[w];
    struct hd_access acc = {.lane = NULL};
    hd_time end = t + c->slot;
    uint64_t n = x->op.count;
    uint32_t slot = x->op.slot, kind = x->op.kind, lanes;

    lanes = warp_issue(c, w, n, t, end);
    hd_dispatch_issued(c, n, t);
    c->count[HD_CORE_MEM_INSTRUCTIONS] += n;
    c->count[HD_CORE_LOADS + kind - HEDDLE_OP_LOAD] += n;
    x->pending |= warp_slot_bit(slot);
    x->flight += slot == HD_NO_SLOT;
    s->ready ^= 1ull << w;
    warp_program(c)->access(c->source, x->ctx, x->index, &acc);
    hd_lsu_take(c, w, lanes, &acc, t);
    warp_fetch(c, s, x, w, kind, end);
}

/* Issues its access to shared memory, which goes through the load/store unit, a
 * barrier, a meeting, which takes no time, or its exit. */
HD_APART static void issue_other(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_core_state *s = c->s;
    struct hd_warp *x = &c->warp[w];
    uint64_t n = x->op.kind == HD_OP_SHARED ? 1 : x->op.count;
    hd_time end = t + (x->op.kind != HD_OP_MEET ? c->slot : 0);

    warp_issue(c, w, n, t, end);
    hd_dispatch_issued(c, n, t);
    s->ready ^= 1ull << w;
    if (x->op.kind == HEDDLE_OP_BARRIER) {
        issue_barrier(c, w, end);
    } else if (x->op.kind != HD_OP_SHARED) {
        issue_last(c, w, end);
    } else {
        hd_lsu_take_shared(c, w, t);
        x->flight++;
        x->shared++;
        if (--x->op.count > 0)
            warp_make_ready(c, s, x, w, t);
        else
            x->state = HD_WARP_UNIT;
    }
}

/* The whole rounds of loose round robin over ALU runs that fit before `end`. */
static uint64_t rounds_before(const struct hd_core *c, uint64_t can, hd_time t,
                              hd_time end)
{
    hd_time round = hd_bit_count(can) * c->slot;
    uint64_t least = UINT64_MAX;

    if (!c->lrr || c->pick.bound || can == 0)
        return 0;
    for (uint64_t m = can; m != 0; m &= m - 1) {
        const struct hd_warp *x = &c->warp[hd_bit_first(m)];
        if (x->op.kind != HEDDLE_OP_ALU)
            return 0;
        least = hd_min_u64(least, warp_group_left(c, x));
    }
    end = hd_min_u64(end, c->s->later_at);
    return hd_min_u64(end > t ? (end - t) / round : 0, least - 1);
}

/* All ready warps issue `rounds` instructions each, in turn. */
HD_APART static void issue_rounds(struct hd_core *c, uint64_t can, hd_time t,
                                  uint64_t rounds)
{
    hd_time slot = c->slot, round = hd_bit_count(can) * slot;
    uint32_t one, first = warp_pick_own(c, can, &one), w = first, n = 0;

    do {
        struct hd_warp *x = &c->warp[w];
        warp_issue(c, w, rounds, t + n * slot, t + (n + 1) * slot);
        hd_dispatch_issued(c, rounds, t);
        warp_account(c, HD_CORE_T_ISSUE, (rounds - 1) * slot);
        warp_account(c, HD_CORE_T_READY, (rounds - 1) * (round - slot));
        if (c->ilp != 0)
            x->group = (uint8_t)(warp_group_left(c, x) - rounds);
        x->op.count -= (uint32_t)rounds;
        x->since = x->ready = t + (rounds - 1) * round + (n + 1) * slot;
        w = warp_pick_own(c, can, &one);
        n++;
    } while (w != first);
    c->s->port_free = t + rounds * round;
}

/* Whether all of these warps have been resident longer than the others. */
static bool are_older(const struct hd_core *c, uint64_t these, uint64_t others)
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

/* Turns of GTO over ALU runs: in each some warps issue a group one after the
 * other. */
struct turns {
    uint64_t n;       /* that are alike */
    uint64_t group;   /* instructions */
    hd_time busy;     /* a group at the port */
    hd_time length;   /* until a warp may issue again */
    uint32_t waiting; /* the first of later[] that take part */
};

/* The turns that warp w begins at t, of issues before `end`: after it, the
 * first in later[] issue as soon as their last group lets them, and nobody else
 * gets the port: those that could are younger, and there is no gap; the time of
 * the others has not come.  False: there is but one issue. */
HD_APART static bool turns_before(const struct hd_core *c, uint64_t can,
                                  uint32_t w, hd_time t, hd_time end,
                                  struct turns *k)
{
    struct hd_core_state *s = c->s;
    const struct hd_warp *x = &c->warp[w];
    uint64_t group = warp_group_size(c, x), all = 1ull << w,
             others = can & ~all;
    uint64_t least = x->op.count;
    hd_time busy = group * c->slot, last = t;
    hd_time length = busy - c->slot + hd_max_u64(c->slot, c->gpu->alu);
    hd_time until = hd_min_u64(end, t + length);
    uint32_t n = 0;

    if (x->group != 0 || least <= group || (s->later_n == 0 && others != 0))
        return false;
    for (; n < s->later_n; n++) {
        uint32_t o = *warp_later_at(s, n);
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
        c->warp[*warp_later_at(s, n)].ready == last) {
        all ^= 1ull << *warp_later_at(s, --n); /* both are ready then */
        last = n > 0 ? c->warp[*warp_later_at(s, n - 1)].ready : t;
    }
    if (others != 0 && (n == 0 || !are_older(c, all, others)))
        return false;
    *k = (struct turns){1, group, busy, length, n};
    if (n < s->later_n)
        end = hd_min_u64(end, c->warp[*warp_later_at(s, n)].ready);
    if (last + busy <= t + length && (others == 0 || last + busy == t + length))
        k->n = hd_min_u64((least - 1) / group, (end - 1 - last) / length + 1);
    return n > 0 || k->n > 1;
}

/* Warp w issues its first of `k.n` groups at t, one a turn, and waits for the
 * next. */
static HD_INLINE void issue_turn(struct hd_core *c, struct hd_core_state *s,
                                 uint32_t w, hd_time t, struct turns k)
{
    struct hd_warp *x = &c->warp[w];

    warp_issue(c, w, k.n * k.group, t, t + k.busy);
    warp_account(c, HD_CORE_T_ALU, (k.n - 1) * (k.length - k.busy));
    warp_account(c, HD_CORE_T_ISSUE, (k.n - 1) * k.busy);
    x->op.count -= (uint32_t)(k.n * k.group);
    x->ready = t + k.n * k.length;
    x->since = x->ready - k.length + k.busy;
    warp_wait_turn(c, s, w, x->ready);
}

HD_APART static void issue_turns(struct hd_core *c, struct hd_core_state *s,
                                 uint32_t w, hd_time t, struct turns k)
{
    s->ready ^= 1ull << w;
    issue_turn(c, s, w, t, k);
    for (uint32_t i = 0; i < k.waiting; i++) {
        w = *warp_later_at(s, 0);
        t = c->warp[w].ready;
        s->later_first = (s->later_first + 1) % HD_MAX_WARPS;
        s->later_n--;
        issue_turn(c, s, w, t, k);
    }
    s->later_at = c->warp[*warp_later_at(s, 0)].ready;
    s->local = t + (k.n - 1) * k.length;
    s->port_free = s->local + k.busy;
    hd_dispatch_issued(c, (k.waiting + 1) * k.n * k.group, s->local);
}

HD_HOT struct hd_port hd_warp_serve(struct hd_core *c, struct hd_port port,
                                    hd_time end)
{
    struct hd_core_state *s = c->s;
    hd_time t = port.at;
    struct turns turns;
    uint64_t rounds;
    uint32_t w, one;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    s->local = hd_max_u64(s->local, t);
    if (s->later_at <= t) {
        warp_promote(c, s, t);
        port.can = hd_warp_can(c, s);
    }
    if (HD_UNLIKELY(port.can == 0))
        return hd_port_next(c, s);
    rounds = rounds_before(c, port.can, t, end);
    if (rounds > 0) {
        issue_rounds(c, port.can, t, rounds);
        return hd_port_next(c, s);
    }
    w = warp_pick(c, port.can, &one);
    if (c->warp[w].op.kind != HEDDLE_OP_ALU) {
        if (HD_LIKELY(warp_is_memory(c->warp[w].op.kind)))
            issue_memory(c, s, w, t);
        else
            issue_other(c, w, t);
    } else if (c->ilp != 0 && c->warp[w].op.count > 1 && !one &&
               !HD_UNLIKELY(c->pick.bound) &&
               turns_before(c, port.can, w, t, end, &turns)) {
        issue_turns(c, s, w, t, turns);
    } else {
        issue_alu(c, s, w, t, one ? 1 : UINT64_MAX);
    }
    return hd_port_next(c, s);
}

/* ---- skipping ------------------------------------------------------------- */

/* Instructions of a warp after which another one's turn is in any case. */
enum { TURN = 128 };

/* A warp goes on without time, to where its scheduler would leave it: GTO when
 * it stalls, for which a load that misses the L1 stands, LRR at each
 * instruction, of which those to memory matter.  `settles`: to the instruction
 * at which it stood when skipping began.  Its instructions. */
static uint64_t warp_skip(struct hd_core *c, struct hd_core_state *s,
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
        if (warp_is_memory(kind)) {
            warp_program(c)->access(c->source, x->ctx, x->index, &acc);
            goes_on = hd_lsu_warm(c, w, &x->op, &acc) && !c->lrr;
        } else if (kind == HEDDLE_OP_BARRIER) {
            issue_barrier(c, w, t);
            break;
        } else if (!goes_on) {
            issue_last(c, w, t);
            break;
        }
        warp_fetch(c, s, x, w, kind, t);
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
        warp_promote(c, s, HD_NEVER - 1);
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        struct hd_warp *x = &c->warp[w];

        k->v[w].since = x->since = now;
        k->v[w].ready = x->ready;
        x->ready = hd_min_u64(x->ready, now);
        k->v[w].pending = x->pending;
        k->v[w].flight = x->flight;
        k->v[w].pc = x->op.pc;
        x->pending = x->flight = 0;
        if (x->state == HD_WARP_READY && warp_is_memory(x->op.kind))
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
        n += warp_skip(c, s, hd_bit_first(m), now, false);
    return n;
}

uint64_t hd_warp_skip_settle(struct hd_core *c, hd_time now)
{
    struct hd_core_state *s = c->s;
    uint64_t n = 0;

    for (uint64_t m = s->ready & (c->skip.memory | c->skip.waited);
         m != 0 && !hd_err_ends(*c->gpu->stop); m &= m - 1)
        n += warp_skip(c, s, hd_bit_first(m), now, true);
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
        if (warp_must_wait(x))
            x->state = HD_WARP_SLOTS;
        else
            warp_make_ready(c, s, x, w, hd_max_u64(s->local, now));
    }
    hd_core_rouse(c, now);
}

/* ---- open waits --------------------------------------------------------- */

/* Whether a warp waits for that memory instruction of its own. */
static bool awaits(const struct hd_warp *x, const struct hd_memop *m)
{
    if (x->state != HD_WARP_SLOTS)
        return false;
    if (m->slot == HD_NO_SLOT)
        return (x->op.wait & x->pending) == 0;
    return (x->op.wait >> m->slot & 1) != 0;
}

/* Of the requests of a memory instruction for a translation: */
enum { NO_REQUEST = HD_NONE, TO_BE_SENT = HD_NONE - 1 };

/* One whose translation is under way by treq, or parks (TO_BE_SENT), or has
 * come (NO_REQUEST). */
static void await_memop(const struct hd_core *c, uint32_t memop, uint32_t treq,
                        hd_time now, struct awaited *v)
{
    const struct hd_memop *m = &c->memop[memop];
    struct awaited *a = &v[m->warp];
    hd_time walk = m->walk, to = m->translated;

    if (!awaits(&c->warp[m->warp], m))
        return;
    if (c->fault != NULL)
        a->fault = hd_max_u64(a->fault, c->fault[memop]);
    if (treq == TO_BE_SENT) {
        to = now;
    } else if (treq != NO_REQUEST) {
        const struct hd_treq *q = &c->gpu->treqs->v[treq];
        walk = q->walk != 0 && q->walk < now ? now - q->walk : 0;
        to = now;
        if (c->fault != NULL)
            a->fault = hd_max_u64(a->fault,
                                  hd_faults_waited(c->gpu->faults, treq, now));
    }
    a->walk = hd_max_u64(a->walk, walk);
    a->translated = hd_max_u64(a->translated, to);
}

/* Of all warps; nothing is looked for where none waits for a load. */
static void await_all(const struct hd_core *c, hd_time now, struct awaited *v)
{
    uint32_t w = 0;

    while (w < c->gpu->m->core.warps && c->warp[w].state != HD_WARP_SLOTS)
        w++;
    if (w == c->gpu->m->core.warps)
        return;
    memset(v, 0, c->gpu->m->core.warps * sizeof *v);
    for (uint32_t i = 0; i < c->memops; i += 64) {
        uint64_t used = ~c->memop_places.free[i / 64] &
                        hd_ones(c->memops - i < 64 ? c->memops - i : 64);
        for (; used != 0; used &= used - 1)
            await_memop(c, i + hd_bit_first(used), NO_REQUEST, now, v);
    }
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++) {
        const struct hd_mshr_entry *x = &c->tlb_mshr.v[e];
        uint32_t p = x->live != 0 ? x->first : HD_NONE;
        for (; p != HD_NONE; p = c->parked[p].next)
            await_memop(c, c->parked[p].memop, x->live - 1, now, v);
    }
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next)
        await_memop(c, c->parked[p].memop, TO_BE_SENT, now, v);
}

/* A warp that may issue has waited as warp_issue() will say. */
static void open_ready(const struct hd_warp *x, bool lsu_full, hd_time now,
                       uint64_t out[HD_CORE_COUNTERS])
{
    hd_time to = hd_max_u64(x->since, hd_min_u64(x->ready, now));

    out[HD_CORE_T_ALU] += to - x->since;
    out[lsu_full ? HD_CORE_T_LSU : HD_CORE_T_READY] += now - to;
}

/* Warps have issued ahead of now: so much of their time is not yet.  It was
 * mostly issuing and, between the groups of a run, waiting for the ALU. */
static void give_back(const struct hd_core *c, hd_time ahead,
                      uint64_t out[HD_CORE_COUNTERS])
{
    for (uint32_t k = HD_CORE_T_ISSUE; k <= HD_CORE_T_IDLE; k++) {
        hd_time part = hd_min_u64(ahead, c->count[k]);

        out[k] -= part;
        ahead -= part;
    }
}

void hd_core_unaccounted(const struct hd_core *c, hd_time now,
                         uint64_t out[HD_CORE_COUNTERS])
{
    struct awaited v[HD_MAX_WARPS];
    hd_time ahead = 0;

    await_all(c, now, v);
    for (uint32_t w = 0; w < c->gpu->m->core.warps; w++) {
        const struct hd_warp *x = &c->warp[w];
        if (x->since > now)
            ahead += x->since - now;
        else if (x->state == HD_WARP_READY)
            open_ready(x, (c->s->lsu_full >> w & 1) != 0, now, out);
        else if (x->state == HD_WARP_SLOTS)
            warp_split_load(&v[w], x->since, now, out);
        else if (x->state == HD_WARP_UNIT)
            out[HD_CORE_T_LSU] += now - x->since;
        else if (x->state == HD_WARP_BARRIER)
            out[HD_CORE_T_BARRIER] += now - x->since;
        else if (x->state == HD_WARP_MEET)
            out[HD_CORE_T_MEET] += now - x->since;
        else
            out[HD_CORE_T_IDLE] += now - x->since;
    }
    give_back(c, ahead, out);
}

/* ---- looking ------------------------------------------------------------- */

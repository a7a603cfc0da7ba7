/*
 * issue.h - inside issue: what warp.c, the plain life of a warp, shares with
 * the files of what is off by default or speed alone: compact.c, limit.c,
 * skip.c, turns.c and waits.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ISSUE_H
#define HD_ISSUE_H

#include "machine.h"
#include "dispatch.h"

static inline void hd_warp_account(struct hd_core *c, uint32_t what,
                                   hd_time ticks)
{
    c->count[what] += ticks;
}

/* What is known of a load that a warp waits for. */
struct hd_awaited {
    hd_time translated; /* the last translation: `now` if one is under way */
    hd_time walk, fault;
};

/* The wait of a warp for a load, since then and up to t. */
static inline void hd_warp_split_load(const struct hd_awaited *a, hd_time since,
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

/* The i-th of the warps whose time has not come. */
static inline uint8_t *hd_warp_later(struct hd_core_state *s, uint32_t i)
{
    return &s->later[(s->later_first + i) % HD_MAX_WARPS];
}

/* Its time `at` is later than now; mostly all others' are before it. */
static inline void hd_warp_wait_turn(const struct hd_core *c,
                                     struct hd_core_state *s, uint32_t w,
                                     hd_time at)
{
    uint32_t i = s->later_n++;

    for (; i > 0 && c->warp[*hd_warp_later(s, i - 1)].ready > at; i--)
        *hd_warp_later(s, i) = *hd_warp_later(s, i - 1);
    *hd_warp_later(s, i) = (uint8_t)w;
    s->later_at = hd_min_u64(s->later_at, at);
}

static inline void hd_warp_make_ready(const struct hd_core *c,
                                      struct hd_core_state *s,
                                      struct hd_warp *x, uint32_t w, hd_time t)
{
    hd_time at = x->ready;

    x->state = HD_WARP_READY;
    if (at <= t)
        s->ready |= 1ull << w;
    else
        hd_warp_wait_turn(c, s, w, at);
}

/* Warps whose time has come are ready; there are some. */
static inline void hd_warp_promote(const struct hd_core *c,
                                   struct hd_core_state *s, hd_time t)
{
    uint32_t n = s->later_n;
    hd_time at;

    do {
        s->ready |= 1ull << *hd_warp_later(s, 0);
        s->later_first = (s->later_first + 1) % HD_MAX_WARPS;
        at = --n == 0 ? HD_NEVER : c->warp[*hd_warp_later(s, 0)].ready;
    } while (at <= t);
    s->later_n = n;
    s->later_at = at;
}

/* What the next instruction waits for: slots, and at the exit everything that
 * the warp still has at the load/store unit. */
static inline bool hd_warp_must_wait(const struct hd_warp *x)
{
    return (x->op.wait & x->pending) != 0 ||
           (x->op.kind == HEDDLE_OP_EXIT && x->flight > 0);
}

static inline bool hd_warp_is_memory(uint32_t kind)
{
    return kind - HEDDLE_OP_LOAD <= HEDDLE_OP_ATOMIC - HEDDLE_OP_LOAD;
}

/* The scoreboard slot that an instruction fills (bit set); HD_NO_SLOT: none,
 * bit 63 being cut off. */
static inline uint32_t hd_warp_slot_bit(uint32_t slot)
{
    return (uint32_t)(1ull << slot % 64);
}

/* The application's program, which is run as it issues. */
static inline const struct hd_source_ops *
hd_warp_program(const struct hd_core *c)
{
    hd_cross(c->gpu->env, HD_BORDER_program);
    return c->ops;
}

/* Fetches the warp's next instruction, after one of kind `old`, and finds out
 * what it waits for. */
static HD_INLINE void hd_warp_fetch(const struct hd_core *c,
                                    struct hd_core_state *s, struct hd_warp *x,
                                    uint32_t w, uint32_t old, hd_time t)
{
    uint64_t bit = 1ull << w;
    uint32_t kind;

    hd_warp_program(c)->next(c->source, x->ctx, x->index, &x->op);
    if (HD_UNLIKELY(c->sub != NULL))
        hd_classes_fetch(c, x, w);
    kind = x->op.kind;
    s->next[old] ^= bit; /* it was set */
    s->next[kind] |= bit;
    x->op.wait |=
        hd_warp_slot_bit(x->op.slot) | -(uint32_t)(kind == HEDDLE_OP_EXIT);
    if (hd_warp_must_wait(x))
        x->state = HD_WARP_SLOTS;
    else
        hd_warp_make_ready(c, s, x, w, t);
}

/* Warp w, for which the core counts (hd_core_for), issues n instructions from t
 * to `end`: its waits, its issue time, and what follows from it for the port.
 * Its active lanes. */
static HD_INLINE uint32_t hd_warp_issue(struct hd_core *c, uint32_t w,
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

/* Instructions of a group of the warp's ALU run. */
static inline uint64_t hd_warp_group_size(const struct hd_core *c,
                                          const struct hd_warp *x)
{
    return HD_LIKELY(c->ilp == 0) ? UINT64_MAX
           : x->op.bytes != 0     ? x->op.bytes
                                  : c->ilp;
}

/* How many of them it issues before it has to wait. */
static inline uint64_t hd_warp_group_left(const struct hd_core *c,
                                          const struct hd_warp *x)
{
    return hd_min_u64(x->op.count,
                      x->group != 0 ? x->group : hd_warp_group_size(c, x));
}

/* The ready warp that has been resident longest. */
static inline uint32_t hd_warp_oldest(const struct hd_core *c, uint64_t can)
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
static inline uint32_t hd_warp_pick_own(const struct hd_core *c, uint64_t can,
                                        uint32_t *one)
{
    uint32_t last = c->s->last;
    uint64_t later;

    *one = c->lrr;
    if (c->lrr) {
        later = last < 63 ? can & ~hd_ones(last + 1) : 0;
        return hd_bit_first(later != 0 ? later : can);
    }
    return last < HD_MAX_WARPS && can >> last & 1 ? last
                                                  : hd_warp_oldest(c, can);
}

/* The whole rounds of loose round robin over ALU runs that fit before `end`. */
static inline uint64_t hd_turns_rounds(const struct hd_core *c, uint64_t can,
                                       hd_time t, hd_time end)
{
    hd_time round = hd_bit_count(can) * c->slot;
    uint64_t least = UINT64_MAX;

    if (!c->lrr || c->pick.bound || can == 0)
        return 0;
    for (uint64_t m = can; m != 0; m &= m - 1) {
        const struct hd_warp *x = &c->warp[hd_bit_first(m)];
        if (x->op.kind != HEDDLE_OP_ALU)
            return 0;
        least = hd_min_u64(least, hd_warp_group_left(c, x));
    }
    end = hd_min_u64(end, c->s->later_at);
    return hd_min_u64(end > t ? (end - t) / round : 0, least - 1);
}

/* ---- warp.c ------------------------------------------------------------ */

/* hd_warp_fetch() where it is rare: at first, and after a barrier. */
void hd_warp_fetch_first(struct hd_core *c, uint32_t w, hd_time t);
/* A warp's barrier; its exit, or its stop at a meeting. */
void hd_warp_barrier(struct hd_core *c, uint32_t w, hd_time t);
void hd_warp_last(struct hd_core *c, uint32_t w, hd_time t);
/* One of these warps, which can, issues at t. */
void hd_warp_serve_one(struct hd_core *c, uint64_t can, hd_time t);
/* The block in a slot of the core ends. */
void hd_warp_end_block(struct hd_core *c, uint32_t slot, hd_time t);

/* ---- compact.c --------------------------------------------------------- */

/* All warps of a block that run have stopped, or are done: others continue, a
 * cycle for each that is formed. */
void hd_compact_regroup(struct hd_core *c, uint32_t slot, hd_time t);
/* Whether those of a block that wait do so at a meeting: all do, or none. */
bool hd_compact_met(const struct hd_core *c, const struct hd_block *b);
/* The engine's own answer to thread_join. */
int64_t hd_compact_default(void *core, const void *question);

/* ---- limit.c ----------------------------------------------------------- */

/* Asks which warps may load. */
void hd_limit_ask(struct hd_core *c, hd_time t);
/* The engine's own answer to warp_limit: the steered set. */
int64_t hd_limit_default(void *core, const void *question);

/* ---- turns.c ----------------------------------------------------------- */

/* Turns of GTO over ALU runs: in each some warps issue a group one after the
 * other. */
struct hd_turns {
    uint64_t n;       /* that are alike */
    uint64_t group;   /* instructions */
    hd_time busy;     /* a group at the port */
    hd_time length;   /* until a warp may issue again */
    uint32_t waiting; /* the first of later[] that take part */
};

/* All ready warps issue `rounds` instructions each, in turn. */
void hd_turns_issue_rounds(struct hd_core *c, uint64_t can, hd_time t,
                           uint64_t rounds);
/* Whether turns may begin with warp w of those that can issue: it is between
 * two groups, and there is another warp to take part, or none that waits. */
static inline bool hd_turns_may(const struct hd_core *c,
                                const struct hd_core_state *s, uint64_t can,
                                uint32_t w)
{
    const struct hd_warp *x = &c->warp[w];

    return x->group == 0 && x->op.count > hd_warp_group_size(c, x) &&
           (s->later_n != 0 || can == 1ull << w);
}
/* The turns that warp w, for which there may be some, begins at t, of issues
 * before `end`: after it, the first in later[] issue as soon as their last
 * group lets them, and no other gets the port: those that could are younger,
 * and there is no gap; the time of the others has not come.  False: there is
 * but one issue. */
bool hd_turns_before(const struct hd_core *c, uint64_t can, uint32_t w,
                     hd_time t, hd_time end, struct hd_turns *k);
void hd_turns_issue(struct hd_core *c, struct hd_core_state *s, uint32_t w,
                    hd_time t, struct hd_turns k);

#endif

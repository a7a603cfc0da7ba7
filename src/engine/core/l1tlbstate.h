/*
 * l1tlbstate.h - inside the L1 TLB of a core: what l1tlb.c, plain look-ups and
 * misses, shares with the files of what is off by default: blocking.c,
 * overlap.c, l1side.c, remap.c, farfault.c and warm.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L1TLBSTATE_H
#define HD_L1TLBSTATE_H

#include "machine.h"
#include "core.h"

/* ---- l1tlb.c ----------------------------------------------------------- */

/* A page that has to come from the host first. */
bool hd_l1tlb_not_resident(const struct hd_core *c, uint64_t vpn);
/* The frame of a page, from the page table. */
uint64_t hd_l1tlb_mapped(struct hd_core *c, uint64_t vpn);
/* With sim.check: what the L1 TLB says is what the page table says, of a page
 * that is resident. */
void hd_l1tlb_confirm(struct hd_core *c, uint64_t vpn, uint64_t pfn);
/* Sends a miss down, of an instruction of a warp: an MSHR is free, and taken.
 */
uint32_t hd_l1tlb_send(struct hd_core *c, uint64_t vpn, uint32_t memop,
                       uint32_t warp, hd_time t);
/* The instruction that sent a miss: that of its oldest line. */
uint32_t hd_l1tlb_sender(const struct hd_core *c,
                         const struct hd_mshr_entry *x);

/* ---- blocking.c -------------------------------------------------------- */

/* Whether a miss of the instruction at the head parks without an MSHR, where
 * hits pass: another one owns the walks, or is going to. */
bool hd_blocking_must_park(const struct hd_core *c, const struct hd_lines *op);
/* The head of the load/store unit waits for another one's miss: false. */
bool hd_blocking_stop(struct hd_core *c);
/* Nothing holds up this instruction at the head because it is not the one whose
 * miss is outstanding (l1tlb.blocking=full).  False: blocked. */
static inline bool hd_blocking_may_pass(struct hd_core *c, uint32_t memop)
{
    return HD_LIKELY(c->gpu->m->l1tlb.blocking != HD_UNDER_NONE) ||
           hd_mshr_used(&c->tlb_mshr) == 0 || c->s->miss_op == memop ||
           hd_blocking_stop(c);
}
/* Parks a line whose miss, of a warp, waits without an MSHR, behind the others.
 */
void hd_blocking_wait(struct hd_core *c, uint64_t vpn, uint64_t warp,
                      uint32_t p);
/* Counts the warps that a miss of this warp has held up though they do not wait
 * for its page. */
void hd_blocking_count_held(struct hd_core *c, uint32_t warp);

static inline uint32_t hd_blocking_warp(uint64_t page)
{
    return (uint32_t)((page & ~HD_PAGE_MORE) >> HD_PAGE_WARP);
}

/* What stops the load/store unit because of the L1 TLB. */
enum { HD_L1TLB_STOPPED = HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS | HD_BLOCK_PARKED };

/* ---- overlap.c --------------------------------------------------------- */

/* Lines whose page has come, the oldest first: those of an instruction of which
 * they were the last that had to wait continue, with the others of it. */
void hd_overlap_release(struct hd_core *c, uint32_t first);

/* ---- l1side.c ---------------------------------------------------------- */

/* The L1 TLB has what came, or (not in) does not take it. */
void hd_l1side_filled(struct hd_core *c, hd_vpn vpn, bool in);

/* ---- remap.c ----------------------------------------------------------- */

/* An answer sent before a mapping changed, and arriving after it, becomes what
 * the page table says now.  False: its page has been evicted, and lines that
 * wait for it continue at its old frame, but no other access may use it. */
bool hd_remap_refresh(const struct hd_core *c, struct hd_treq *q);

/* ---- look-ups, misses and answers --------------------------------------- */

/* Whether a warp's page hits, and in which frame it is then; it may be where
 * `guess` says, or there is none.  A hit in an entry of a coalesced region
 * whose page is not resident is a miss. */
static HD_INLINE bool hd_l1tlb_find(struct hd_core *c, hd_vpn vpn,
                                    uint32_t warp, uint16_t *guess,
                                    uint64_t *frame)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_mode *mode = &g->m->l1tlb.mode;
    struct hd_xlate x;

    if (HD_UNLIKELY(mode->kind != HD_FULL)) {
        if (mode->kind == HD_OFF || hd_l1tlb_not_resident(c, vpn.v))
            return false;
        *frame = hd_l1tlb_mapped(c, vpn.v);
        return true;
    }
    if (!hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id, warp, &x, guess))
        return false;
    if (!hd_faults_here(g->faults, g->tables, c->app, vpn, &x)) {
        c->tlb_count[HD_L1TLB_ABSENT]++;
        return false;
    }
    *frame = hd_xlate_frame(&x, vpn).v;
    if (HD_UNLIKELY(g->env->check))
        hd_l1tlb_confirm(c, vpn.v, *frame);
    return true;
}

/* How many misses have joined one, as its request tells the unit below. */
static inline uint8_t hd_l1tlb_merged(const struct hd_mshr_entry *m)
{
    return (uint8_t)hd_min_u64(m->last, UINT8_MAX);
}

/* The place of a page in hd_core.flying. */
static inline uint32_t hd_l1tlb_recent(uint64_t vpn)
{
    return (uint32_t)(vpn * HD_MSHR_HASH >> 59);
}

/* Another miss of a page in flight. */
static inline void hd_l1tlb_join(struct hd_core *c, uint32_t e)
{
    c->tlb_mshr.v[e].last++;
    c->tlb_count[HD_L1TLB_MERGES]++;
}

/* Lines are replayed, behind those that are already. */
static inline void hd_l1tlb_replay(struct hd_core *c, uint32_t first,
                                   uint32_t last)
{
    struct hd_core_state *s = c->s;

    if (s->replay_first == HD_NONE)
        s->replay_first = first;
    else
        c->parked[s->replay_last].next = first;
    s->replay_last = last;
}

/* Whether the instruction of the oldest line that waits without an MSHR owns
 * the walks, or may, and an MSHR is free. */
static inline bool hd_blocking_may_walk(const struct hd_core *c)
{
    const struct hd_core_state *s = c->s;

    return hd_mshr_used(&c->tlb_mshr) == 0 ||
           (s->miss_op == c->parked[s->wait_first].memop &&
            !hd_mshr_full(&c->tlb_mshr));
}

/* If so, its page is looked up again as soon as the port allows. */
static inline void hd_blocking_call(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (HD_LIKELY(s->wait_first == HD_NONE) || s->again ||
        !hd_blocking_may_walk(c))
        return;
    s->again = 1;
    hd_core_message(c, hd_max_u64(t, s->tlb_free), HD_MSG_AGAIN, 0, 0);
}

/* The lines that waited for a page, the newest `last`, are replayed; `frame` is
 * their page's first line. */
static inline void hd_l1tlb_release(struct hd_core *c, uint32_t last,
                                    uint64_t frame, hd_time t, hd_time walk)
{
    uint32_t first = HD_NONE, next;

    if (last == HD_NONE)
        return;
    for (uint32_t p = last; p != HD_NONE; p = next) {
        struct hd_parked *x = &c->parked[p];
        struct hd_memop *o = &c->memop[x->memop];
        o->translated = t;
        o->walk = hd_max_u64(o->walk, walk);
        x->what |= frame;
        next = x->next;
        x->next = first; /* from now on the oldest first */
        first = p;
    }
    if (HD_UNLIKELY(c->whole))
        hd_overlap_release(c, first);
    else
        hd_l1tlb_replay(c, first, last);
}

#endif

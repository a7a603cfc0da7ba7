/*
 * lsu.h - what the load/store unit, the L1 TLB and the L1 cache of a core
 * share: pools of memory instructions and of lines that wait, ports, and what
 * each may ask of the others; and the unit's step, which the core's loop
 * (core.c) takes in.  What the unit does is told in lsu.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LSU_H
#define HD_LSU_H

#include "../machine.h"
#include "core.h"

/* ---- pools -------------------------------------------------------------- */

static inline uint32_t hd_lsu_take_memop(struct hd_core *c)
{
    uint32_t m = hd_places_take(&c->memop_places);

    hd_assert(m != HD_NONE);
    return m;
}

static inline uint32_t hd_lsu_take_parked(struct hd_core *c)
{
    return hd_places_take(&c->parked_places);
}

static inline void hd_lsu_give_parked(struct hd_core *c,
                                      struct hd_core_state *s, uint32_t p)
{
    s->blocked &= ~(uint32_t)HD_BLOCK_PARKED;
    hd_places_give(&c->parked_places, p);
}

/* ---- pages --------------------------------------------------------------- */

/* Whether the page of a hit is there; if not, the hit is a miss, and is
 * counted. */
static inline bool hd_l1tlb_here(struct hd_core *c, hd_vpn vpn,
                                 const struct hd_xlate *x)
{
    if (hd_faults_here(c->gpu->faults, c->gpu->tables, c->app, vpn, x))
        return true;
    c->tlb_count[HD_L1TLB_ABSENT]++;
    return false;
}

/* ---- ports and stalls ---------------------------------------------------- */

/* Flits that so many bytes take at a core's port. */
static inline uint32_t hd_lsu_flits(const struct hd_gpu *g, uint32_t bytes)
{
    return (uint32_t)hd_recip_div(g->per_flit, bytes + g->m->xbar.bytes - 1);
}

/* Uses a port of which `ports` can be used in each cycle.  Of several no
 * branches: nobody could foretell them. */
static inline void hd_lsu_use_port(hd_time *free, uint32_t *used,
                                   uint32_t ports, hd_time t, hd_time cycle)
{
    uint32_t n, more;

    if (HD_LIKELY(ports == 1)) {
        *free = hd_max_u64(t, *free) + cycle;
        return;
    }
    n = (*used & (uint32_t) - (t <= *free)) + 1;
    more = n < ports;
    *free = hd_max_u64(t, *free) + (cycle & ((hd_time)more - 1));
    *used = n & -more;
}

/* The head of the line waits; `stalls` counts it. */
static inline void hd_lsu_block(struct hd_core *c, uint32_t why,
                                uint64_t *stalls)
{
    if ((c->s->blocked & why) == 0)
        ++*stalls;
    c->s->blocked |= why;
}

/* ---- completion --------------------------------------------------------- */

/* One line of a memory instruction is done at t (now or later). */
static inline void hd_lsu_line_done(struct hd_core *c, uint32_t memop,
                                    hd_time t)
{
    struct hd_memop *m = &c->memop[memop];

    if (--m->left > 0) {
        if (t > c->s->local) /* the last one is not done before now */
            m->done = hd_max_u64(m->done, t);
        return;
    }
    t = hd_max_u64(m->done, t);
    if (t > c->s->local)
        hd_core_message(c, t, HD_MSG_DONE, memop, 0);
    else
        hd_warp_release(c, memop, t);
}

/* ---- l1d.c -------------------------------------------------------------- */

/* Ticks of a look-up. */
hd_time hd_l1d_latency(const struct hd_gpu *g);
/* A translated line at the L1, whose result is there after so many ticks.
 * False: blocked, to be tried again. */
bool hd_l1d_take(struct hd_core *c, uint32_t memop, uint64_t line,
                 uint32_t bytes, hd_time t, hd_time ticks);

/* ---- l1tlb.c ------------------------------------------------------------ */

/* Ticks of a look-up. */
hd_time hd_l1tlb_latency(const struct hd_gpu *g);
/* The page of an instruction is in flight at an MSHR. */
static inline void hd_l1tlb_await(struct hd_lines *op, uint32_t page,
                                  struct hd_mshr_entry *m, uint32_t e)
{
    op->page[page].frame = HD_PAGE_MISSING | e;
    m->flags = op->memop << 8 | page;
}

/* The MSHR that a page may have. */
static inline uint16_t *hd_l1tlb_flying(struct hd_core *c, uint64_t vpn)
{
    return &c->flying[vpn * HD_MSHR_HASH >> 59];
}

/* Joins a miss in flight. */
static inline void hd_l1tlb_join(struct hd_core *c, struct hd_lines *op,
                                 uint32_t page, uint32_t e)
{
    struct hd_mshr_entry *m = &c->tlb_mshr.v[e];

    m->last++;
    c->tlb_count[HD_L1TLB_MERGES]++;
    hd_l1tlb_await(op, page, m, e);
}

/* What hd_l1tlb_look_up does with a page that was missed a short while ago, as
 * most are; false: it is no such page.  Where each entry of the TLB holds one
 * page, what is in flight is not there. */
static inline bool hd_l1tlb_missed(struct hd_core *c, struct hd_core_state *s,
                                   struct hd_lines *op, uint32_t page,
                                   hd_time t)
{
    uint64_t vpn = op->page[page].vpn;
    uint32_t e = *hd_l1tlb_flying(c, vpn);
    const struct hd_mshr_entry *m = &c->tlb_mshr.v[e];

    if (m->key != vpn || m->live == 0 || (c->plain & HD_PLAIN_TLB) == 0 ||
        c->l1tlb.live[HD_TLB_PRESENT] != 1u << HD_TLB_4K)
        return false;
    hd_l1tlb_join(c, op, page, e);
    c->tlb_count[HD_L1TLB_LOOKUPS]++;
    c->tlb_count[HD_L1TLB_MISSES]++;
    hd_lsu_use_port(&s->tlb_free, &s->tlb_used, c->gpu->m->l1tlb.ports, t,
                    c->gpu->cycle);
    return true;
}

/* Parks a line whose miss waits without an MSHR.  False: blocked. */
bool hd_l1tlb_wait(struct hd_core *c, const struct hd_lines *op,
                   const struct hd_lsu_line *x);
/* Nothing holds up this instruction at the head because it is not the one whose
 * miss is outstanding (l1tlb.blocking=full).  False: blocked. */
bool hd_l1tlb_open(struct hd_core *c, uint32_t memop);
/* Looks up a page of the instruction at the head.  False: blocked. */
bool hd_l1tlb_look_up(struct hd_core *c, struct hd_lines *op,
                      struct hd_lsu_page *page, hd_time t);
/* Takes a place for a line that waits for its translation, before another one;
 * HD_NONE: blocked. */
static inline uint32_t hd_l1tlb_place(struct hd_core *c,
                                      const struct hd_lines *op,
                                      const struct hd_lsu_line *x,
                                      uint32_t before)
{
    uint32_t p = hd_lsu_take_parked(c);

    if (HD_UNLIKELY(p == HD_NONE)) {
        hd_lsu_block(c, HD_BLOCK_PARKED, &c->tlb_count[HD_L1TLB_PARKED_FULL]);
        return HD_NONE;
    }
    c->parked[p] = (struct hd_parked){
        .what = (uint64_t)x->bytes << HD_PARKED_BYTES | x->place,
        .memop = op->memop,
        .next = before};
    return p;
}

/* Parks a line until its page's translation comes, for which MSHR e waits
 * (HD_NONE: none does yet).  False: blocked. */
static inline bool hd_l1tlb_park(struct hd_core *c, struct hd_lines *op,
                                 const struct hd_lsu_line *x, uint32_t e)
{
    struct hd_mshr_entry *m = &c->tlb_mshr.v[e];
    uint32_t p;

    if (HD_UNLIKELY(e == HD_NONE))
        return hd_l1tlb_wait(c, op, x);
    p = hd_l1tlb_place(c, op, x, m->first);
    if (HD_UNLIKELY(p == HD_NONE))
        return false;
    m->first = p;
    m->n++;
    return true;
}

/* ---- lsu.c --------------------------------------------------------------- */

/* The lines of a memory instruction that are not simply one; who watches hears
 * of it. */
void hd_lsu_lines(struct hd_core *c, uint32_t w, const struct hd_access *acc,
                  struct hd_lines *out);
/* An instruction of shared memory of warp w enters at t; there is room. */
void hd_lsu_enter_shared(struct hd_core *c, uint32_t w, hd_time t);
/* One without lines at the head passes the unit at t.  False: blocked. */
bool hd_lsu_pass(struct hd_core *c, const struct hd_lines *op, hd_time t);

/* The memory instruction of warp w, x, enters at t, with so many active lanes;
 * there is room. */
static HD_INLINE void hd_lsu_enter(struct hd_core *c, struct hd_core_state *s,
                                   const struct hd_warp *x, uint32_t w,
                                   uint32_t lanes, const struct hd_access *acc,
                                   hd_time t)
{
    const struct hd_op *o = &x->op;
    /* an empty ring begins anew, with what the host's cache has longest */
    uint32_t first = s->lsu_first & -(uint32_t)(s->lsu_n != 0);
    uint32_t at = first + s->lsu_n;
    struct hd_lines *op = &c->lsu[at - (at < c->lsu_room ? 0 : c->lsu_room)];
    uint64_t *count = c->count;

    if (HD_LIKELY(
            (c->plain & HD_PLAIN_ENTER) != 0 && lanes == c->lanes &&
            hd_coalesce_one(acc, lanes, o->bytes, c->gpu->line_shift, op)))
        s->ones++;
    else
        hd_lsu_lines(c, w, acc, op);
    count[HD_CORE_LINES] += op->n;
    count[HD_CORE_PAGES] += op->pages;
    if (o->kind == HD_OP_LOAD) {
        count[HD_CORE_LOAD_LINES] += op->n;
        count[HD_CORE_LOAD_LANES] += lanes;
    }
    op->memop = hd_lsu_take_memop(c);
    op->at = 0;
    op->warp = (uint16_t)w;
    c->memop[op->memop] = (struct hd_memop){.issued = t,
                                            .warp = w & 0xff,
                                            .left = (op->n + 1u) & 0xff,
                                            .slot = o->slot,
                                            .kind = o->kind};
    s->lsu_first = first;
    s->lsu_n++;
}

/* A line that waited for its translation goes on. */
static inline void hd_lsu_replay(struct hd_core *c, struct hd_core_state *s,
                                 hd_time t)
{
    uint32_t p = s->replay_first;
    const struct hd_parked *x = &c->parked[p];
    uint64_t line = x->what & ((1ull << HD_PARKED_BYTES) - 1);
    uint32_t bytes = (uint32_t)(x->what >> HD_PARKED_BYTES) & 0x7fff;
    hd_time ticks = (x->what & HD_PARKED_HIT) != 0 ? c->gpu->both_ticks
                                                   : c->gpu->l1_ticks;

    if (!hd_l1d_take(c, x->memop, line, bytes, t, ticks))
        return;
    s->replay_first = x->next;
    hd_lsu_give_parked(c, s, p);
}

/* The instruction at the head has gone through the unit. */
static inline void hd_lsu_leave(struct hd_core *c, struct hd_core_state *s,
                                const struct hd_lines *op, hd_time t)
{
    uint32_t next = s->lsu_first + 1;

    s->lsu_first = next < c->lsu_room ? next : 0;
    s->lsu_n--;
    hd_lsu_line_done(c, op->memop, t);
}

/* The step of the load/store unit at t, where no line goes on: with the next
 * line of the instruction at the head, op. */
static HD_INLINE void hd_lsu_step(struct hd_core *c, struct hd_core_state *s,
                                  struct hd_lines *op, hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    uint32_t i = op->at, n = op->n;

    if (i < n) {
        const struct hd_lsu_line *x = hd_lines_at(op, i);
        struct hd_lsu_page *page = &op->page[x->page];
        uint64_t frame = page->frame;
        if (frame >= HD_PAGE_NOWHERE) {
            if (!hd_l1tlb_missed(c, s, op, x->page, t) &&
                !hd_l1tlb_look_up(c, op, page, t))
                return;
            frame = page->frame;
        }
        if (frame >= HD_PAGE_MISSING) {
            if (!hd_l1tlb_park(c, op, x, (uint32_t)frame))
                return;
            hd_lsu_use_port(&s->lsu_free, &s->lsu_used, g->m->l1cache.ports, t,
                            g->cycle);
        } else {
            uint64_t line = frame << (HD_PAGE_SHIFT - g->line_shift) | x->place;
            if (!hd_l1d_take(c, op->memop, line, x->bytes, t, g->both_ticks))
                return;
        }
        if (++i < n) {
            op->at = (uint16_t)i;
            return;
        }
    } else if (!hd_lsu_pass(c, op, t)) {
        return;
    }
    hd_lsu_leave(c, s, op, t);
}

#endif

/*
 * blocking.c - what proceeds while a miss of an L1 TLB is in flight
 * (l1tlb.blocking), after Pichai, Hsu, Bhattacharjee (ASPLOS 2014),
 * sections 6.1 to 6.3; MASK takes its L1 TLB from there.
 *
 * "none" is l1tlb.c alone: hits and misses pass (their future work).  "full":
 * nothing of other instructions passes; the instruction at the head of the
 * load/store unit waits.  "hits": whatever hits passes.  One instruction of the
 * core owns the walks, with all its missing pages, and its own lines that hit
 * pass, too.  A miss of a page in flight joins it.  Other misses park without
 * an MSHR, in order of arrival, and the unit serves what is behind them.  When
 * the owner's last translation has come the oldest of them is looked up again,
 * a page at a time, at the TLB's port and before the head of the unit: a page
 * that hits by now proceeds to the L1 as any hit; the first instruction that
 * misses owns the walks.  An owner with more missing pages than MSHRs does
 * likewise: what is left over parks, and is looked up as they become free.
 * Stores, and atomics, are as loads.
 *
 * Invariants: as long as lines wait so, an owner's miss is outstanding or the
 * next look-up is scheduled; they are in order of arrival, so those of one
 * instruction are next to each other, and an owner's come first; only an
 * owner's take an MSHR while they wait.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"

bool hd_blocking_must_park(const struct hd_core *c, const struct hd_lines *op)
{
    return c->s->wait_first != HD_NONE || hd_mshr_full(&c->tlb_mshr) ||
           (hd_mshr_used(&c->tlb_mshr) > 0 && c->s->miss_op != op->memop);
}

bool hd_blocking_stop(struct hd_core *c)
{
    hd_lsu_block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
    return false;
}

void hd_blocking_wait(struct hd_core *c, uint64_t vpn, uint64_t warp,
                      uint32_t p)
{
    struct hd_core_state *s = c->s;
    uint32_t of = c->memop[c->parked[p].memop].warp;

    s->waits |= 1ull << of;
    s->waiting[of]++;
    c->page[p] = vpn | warp << HD_PAGE_WARP;
    c->parked[p].next = HD_NONE;
    if (s->wait_first == HD_NONE)
        s->wait_first = p;
    else
        c->parked[s->wait_last].next = p;
    s->wait_last = p;
    /* There may have been no room for it so long that those for whom its miss
     * had to wait are gone. */
    hd_blocking_call(c, s->local);
}

/* Takes the lines of the oldest instruction's first page out of those that
 * wait: a list, the newest first.  *n: how many. */
static uint32_t blocking_take_page(struct hd_core *c, uint32_t *n)
{
    struct hd_core_state *s = c->s;
    uint32_t memop = c->parked[s->wait_first].memop, out = HD_NONE;
    uint32_t of = c->memop[memop].warp;
    uint64_t page = c->page[s->wait_first] & ~HD_PAGE_MORE;
    bool more = c->page[s->wait_first] != page;
    uint32_t *link = &s->wait_first, last = HD_NONE, p;

    *n = 0;
    while ((p = *link) != HD_NONE && c->parked[p].memop == memop) {
        if ((c->page[p] & ~HD_PAGE_MORE) != page) {
            last = p;
            link = &c->parked[p].next;
            continue;
        }
        *link = c->parked[p].next;
        if (s->wait_last == p)
            s->wait_last = last;
        c->parked[p].next = out;
        out = p;
        ++*n;
        if (!more)
            break;
    }
    s->waiting[of] -= *n;
    if (s->waiting[of] == 0)
        s->waits &= ~(1ull << of);
    return out;
}

/* What the instruction at the head knows of a page, if it is that one. */
static void blocking_learn(struct hd_core *c, uint32_t memop, uint64_t vpn,
                           uint64_t frame)
{
    struct hd_lines *op = &c->lsu[c->s->lsu_first];
    uint32_t i = 0;

    if (c->s->lsu_n == 0 || op->memop != memop)
        return;
    while (op->page[i].vpn != vpn)
        i++;
    op->page[i].frame = frame;
    if (frame >= HD_PAGE_MISSING)
        c->tlb_mshr.v[(uint32_t)frame].flags = memop << 8 | i;
}

void hd_blocking_again(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;
    const struct hd_gpu *g = c->gpu;
    uint32_t oldest = s->wait_first, memop = c->parked[oldest].memop, n, e;
    uint32_t lines;
    uint32_t warp = hd_blocking_warp(c->page[oldest]);
    hd_vpn vpn = {c->page[oldest] & hd_ones(HD_PAGE_WARP)};
    struct hd_mshr_entry *m;
    uint64_t frame;
    bool hit;

    s->again = 0;
    if (s->tlb_free > t || !hd_blocking_may_walk(c)) {
        hd_blocking_call(c, t); /* something has come between */
        return;
    }
    hd_core_for(c, c->memop[memop].warp);
    lines = blocking_take_page(c, &n);
    hd_lsu_use_port(&s->tlb_free, &s->tlb_used, g->m->l1tlb.ports, t, g->cycle);
    c->hand = c->pc[memop];
    hit = hd_l1tlb_find(c, vpn, warp, NULL, &frame);
    c->hand = HD_NEVER;
    if (hit) {
        c->tlb_count[HD_L1TLB_PARKED_HITS]++;
        blocking_learn(c, memop, vpn.v, frame);
        hd_l1tlb_release(
            c, lines, frame << (HD_PAGE_SHIFT - g->line_shift) | HD_PARKED_HIT,
            t, 0);
    } else {
        e = hd_mshr_find(&c->tlb_mshr, vpn.v);
        if (e == HD_NONE) {
            e = hd_l1tlb_send(c, vpn.v, memop, warp, t);
        } else {
            hd_l1tlb_join(c, e); /* it waits for the host */
        }
        blocking_learn(c, memop, vpn.v, HD_PAGE_MISSING | e);
        m = &c->tlb_mshr.v[e];
        c->parked[oldest].next = m->first;
        m->first = lines;
        m->n += n;
    }
    hd_blocking_call(c, t);
}

void hd_blocking_count_held(struct hd_core *c, uint32_t warp)
{
    const struct hd_core_state *s = c->s;
    uint64_t held = s->waits;

    if ((s->blocked & HD_L1TLB_STOPPED) != 0) {
        held |= s->lsu_full;
        for (uint32_t i = 0; i < s->lsu_n; i++)
            held |= 1ull << c->lsu[(s->lsu_first + i) % c->lsu_room].warp;
    }
    c->tlb_count[HD_L1TLB_HELD] += hd_bit_count(held & ~(1ull << warp));
}

/*
 * l1side.c - the buffer next to an L1 TLB (l1side.entries), and translations
 * that policies prefetch to either.
 *
 * A miss of the L1 TLB is looked up in the buffer first, and answered from
 * there as from below, or leaves so much later.  What the L1 TLB then takes is
 * dropped here: a translation is in one of the two.  Entries come by eviction,
 * where a policy of tlb_keep says so (Jouppi's victim cache, ISCA 1990;
 * translation/kept.c), or because a policy has started a translation for the
 * core (heddle_start_translation); those are dropped if their page is there
 * already or is not resident.
 *
 * Without l1side.entries and such policies the L1 TLB is wired to the level
 * below (hd_l1tlb_wire), and nothing else here runs.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "variants/peers.h"

/* A miss is looked up in the buffer first, and answered from there, as from
 * below, or leaves later. */
static void l1side_ask(void *core, hd_time now, uint32_t treq)
{
    struct hd_core *c = core;
    const struct hd_gpu *g = c->gpu;
    struct hd_treq *q = &g->treqs->v[treq];
    struct hd_xlate x;
    uint64_t hand = c->hand;

    q->born = now + g->side_ticks;
    c->hand = q->pc;
    if (hd_tlb_lookup(&c->side, c->app, q->vpn, c->id, q->warp, &x, NULL) &&
        hd_faults_here(g->faults, g->tables, c->app, q->vpn, &x)) {
        if (g->env->check)
            hd_l1tlb_confirm(c, q->vpn.v, hd_xlate_frame(&x, q->vpn).v);
        q->x = x;
        hd_core_message(c, q->born, HD_MSG_XLATE, treq, 0);
    } else {
        c->below_side.send(c->below_side.self, q->born, treq);
    }
    c->hand = hand;
}

static void l1side_notified(void *core, uint32_t treq)
{
    const struct hd_core *c = core;

    c->below_side.notified(c->below_side.self, treq);
}

void hd_l1tlb_wire(struct hd_core *c, struct hd_tbelow below)
{
    c->below_side = hd_peers_wire(c, below);
    c->below_tlb =
        c->side.base_n == 0
            ? c->below_side
            : (struct hd_tbelow){l1side_ask, NULL, l1side_notified, c, NULL};
}

void hd_l1side_filled(struct hd_core *c, hd_vpn vpn, bool in)
{
    c->hand = HD_NEVER;
    if (in && c->side.base_n != 0) /* it moves, if it was there */
        hd_tlb_drop(&c->side, c->app, vpn, 1);
}

void hd_l1side_prefetched(struct hd_core *c, uint64_t vpn, uint32_t app,
                          bool side)
{
    struct hd_gpu *g = c->gpu;
    struct hd_tlb *to = side ? &c->side : &c->l1tlb;
    enum hd_prefetch_stat what = HD_PREFETCH_FILLED;
    hd_vpn v = {vpn};
    struct hd_xlate x;

    if (app != c->app) {
        hd_err_set(g->env->err, HEDDLE_EPOLICY,
                   "a policy starts a translation of page 0x%llx of "
                   "application %u for core %u, which belongs to application "
                   "%u",
                   (unsigned long long)vpn, app, c->id, c->app);
        return;
    }
    c->hand = 0;
    if (hd_tlb_peek(&c->l1tlb, app, v, &x) ||
        (c->side.base_n != 0 && hd_tlb_peek(&c->side, app, v, &x)))
        what = HD_PREFETCH_REDUNDANT;
    else if (!hd_ptables_find(g->tables, app, v, &x))
        what = HD_PREFETCH_ABSENT;
    else if (!hd_tlb_prefetched(to, app, c->id, v, &x))
        what = HD_PREFETCH_REDUNDANT;
    (*hd_count(&c->l1tlb.prefetched, 0, app, what))++;
    c->hand = HD_NEVER;
}

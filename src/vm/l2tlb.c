/*
 * l2tlb.c - the front of a unit: requests come to the shared L2 TLB, are looked
 * up, and miss.  How they are answered, and what enters the TLB, is
 * l2tlbanswer.c.
 *
 * Times of a request: it is born where its L1 TLB missed, has arrived here
 * `transit` later, waits for the input (a blocked head, a port), is looked up
 * for `lookup` (for longer where the large and the base array are probed in
 * turn), and is answered then if it hits.  A miss joins the MSHR of its page,
 * waits for a walker, is walked for, and all requests of the MSHR are
 * answered at one instant (one whose look-up still runs: when it ends).
 *
 * Everything of an arrival that does not depend on others happens in the one
 * event of the arrival: the port is reserved, the arrays are probed, the
 * answer of a hit is given with its later instant.  A miss that finds no free
 * MSHR, or no room in the walk queue, stays at the head of the input queue
 * and holds up all behind it, hits too; what frees an MSHR or a place in the
 * walk queue looks at the head again.
 *
 * MSHRs are kept by page as the page table knows it (4 KB, 64 KB or 2 MB):
 * two requests for one page make one walk.  A real TLB does not know the size
 * before the walk; papers that use one size throughout do.
 *
 * The bypass cache (MASK 5.2) is probed beside the L2 TLB at no extra time; a
 * hit there counts as a hit.  A hit on a page that is still on the host is
 * none (l2tlbanswer.c).
 *
 * Without an L2 TLB (MASK's PWCache design) a request is a miss on arrival
 * and the MSHRs are the walk queue, where misses to one page merge.
 *
 * Invariant: the input queue is empty unless its head is blocked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

/* ---- looking up -------------------------------------------------------- */

/* A look-up has found an entry that covers a page on the host. */
static HD_APART void covered(struct hd_unit *u, uint32_t treq)
{
    struct hd_treq *q = hd_unit_treq(u, treq);

    hd_unit_row(u, q->app)[HD_MMU_ABSENT]++;
    q->hit = HD_TREQ_HIT_L2;
    q->next = HD_NONE;
    hd_l2tlb_fault(u, q->looked, treq, q->looked);
}

/* ---- arriving --------------------------------------------------------- */

/* A port for a look-up that is here now: the instant at which it begins. */
static hd_time port(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;

    if (now >= s->port_at + u->m->tick) {
        s->port_at = now;
        s->port_used = 1;
    } else if (s->port_used < u->m->tlb_cfg.ports) {
        s->port_used++;
    } else {
        s->port_at += u->m->tick;
        s->port_used = 1;
    }
    return hd_max_u64(now, s->port_at);
}

/* Key of the page that holds a 4 KB page, for the MSHRs. */
static inline uint64_t page_key(const struct hd_unit *u, uint64_t page)
{
    uint32_t app = hd_unit_app(page);
    hd_vpn first;

    if (HD_LIKELY(*u->m->sized == 0))
        return page;
    first = hd_ptables_first(u->m->w.tables, app, hd_unit_vpn(page));
    return first.v | (uint64_t)app << HD_UNIT_VPN_BITS;
}

/* Enters a request into the MSHR of its page, under which a walk is. */
static HD_HOT void join(struct hd_unit *u, hd_time now, uint32_t entry,
                        uint32_t treq)
{
    struct hd_mshr_entry *e = &u->miss.v[entry];
    struct hd_treq *q = hd_unit_treq(u, treq);

    q->hit = HD_TREQ_MERGED;
    q->walk = now; /* until it is answered: when it joined */
    q->next = HD_NONE;
    hd_unit_treq(u, e->last)->next = treq;
    e->last = treq;
    e->n++;
    hd_unit_row(u, q->app)[HD_MMU_MERGES]++;
}

/* Has a page walked for; its request takes an MSHR.  False: no room. */
static inline bool start(struct hd_unit *u, hd_time now, uint32_t treq,
                         uint64_t page, uint64_t key)
{
    struct hd_treq *q = hd_unit_treq(u, treq);
    struct hd_mshr_entry *e;
    struct hd_walk *w;
    uint32_t i;

    if (hd_mshr_full(&u->miss) || !hd_unit_walk_room(u)) {
        uint64_t *n = hd_unit_row(u, hd_unit_app(page));

        if (!u->s->in_looked)
            n[hd_unit_mshrs_full(u) ? HD_MMU_MSHR_BLOCKS
                                    : HD_MMU_QUEUE_BLOCKS]++;
        return false;
    }
    i = hd_mshr_take(&u->miss, key);
    hd_unit_peak(&u->shared[HD_MMU_MSHR_PEAK], hd_mshr_used(&u->miss));
    e = &u->miss.v[i];
    e->first = e->last = treq;
    e->n = 1;
    q->hit = HD_TREQ_WALKED;
    q->walk = now;
    q->next = HD_NONE;
    w = &u->walk[i];
    w->vpn = hd_unit_vpn(page);
    w->app = (uint8_t)hd_unit_app(page);
    w->ready = hd_max_u64(now, q->looked);
    hd_walk_add(u, now, i);
    return true;
}

/* Enters a request that missed into an MSHR.  False: none, or no room. */
static HD_HOT bool miss(struct hd_unit *u, hd_time now, uint32_t treq,
                        uint64_t page)
{
    uint64_t key = page_key(u, page);
    uint32_t e = hd_mshr_find(&u->miss, key);

    if (e == HD_NONE)
        return start(u, now, treq, page, key);
    join(u, now, e, treq);
    return true;
}

/* Looks a request up.  False: it missed and must wait at the head. */
static bool admit(struct hd_unit *u, hd_time now, uint32_t treq)
{
    const struct hd_mmu *m = u->m;
    struct hd_treq *q = hd_unit_treq(u, treq);
    uint32_t mode = m->tlb_cfg.mode.kind;
    struct hd_xlate x;

    q->looked = now;
    if (mode == HD_OFF)
        return miss(u, now, treq, hd_unit_page(q));
    if (HD_UNLIKELY(mode != HD_FULL)) {
        q->looked = now + (mode == HD_FIXED ? m->fixed : m->lookup);
        q->hit = HD_TREQ_HIT_L2;
        if (!hd_l2tlb_translate(u, NULL, q->app, q->vpn, &x)) {
            q->next = HD_NONE;
            hd_l2tlb_fault(u, q->looked, treq, q->looked);
            return true;
        }
        hd_unit_row(u, q->app)[HD_MMU_HITS]++;
        hd_l2tlb_answer(u, &x, q->looked, q->looked, treq);
        return true;
    }
    q->looked = port(u, now) + m->lookup;
    if (hd_tlb_lookup(&u->tlb, q->app, q->vpn, q->core, q->warp, &x)) {
        q->hit = HD_TREQ_HIT_L2;
        if (m->serial && x.page_pages != HD_LARGE_PAGES)
            q->looked += m->lookup;
    } else {
        if (m->serial)
            q->looked += m->lookup;
        if (m->bypass_cfg.entries == 0 ||
            !hd_tlb_lookup(&u->bypass, q->app, q->vpn, q->core, q->warp, &x)) {
            hd_unit_row(u, q->app)[HD_MMU_MISSES]++;
            return miss(u, now, treq, hd_unit_page(q));
        }
        q->hit = HD_TREQ_HIT_BYPASS;
    }
    if (HD_UNLIKELY(!hd_unit_here(u, q, &x))) {
        covered(u, treq);
        return true;
    }
    if (HD_UNLIKELY(q->hit == HD_TREQ_HIT_BYPASS))
        hd_unit_row(u, q->app)[HD_MMU_BYPASS_HITS]++;
    hd_unit_row(u, q->app)[HD_MMU_HITS]++;
    hd_l2tlb_answer(u, &x, q->looked, q->looked, treq);
    return true;
}

/* The same where nothing unusual is in play and the L2 TLB has pages of 4 KB
 * only: what admit and answer do, written straight. */
static HD_HOT bool admit_plain(struct hd_unit *u, hd_time now, uint32_t treq,
                               uint64_t page, hd_time arrived)
{
    struct hd_treq *q = hd_unit_treq(u, treq);
    const struct hd_mmu *m = u->m;
    const struct hd_recip cycle = m->per_core;
    struct hd_tlb *t = &u->tlb;
    hd_vpn vpn = hd_unit_vpn(page);
    uint32_t app = hd_unit_app(page);
    uint64_t *n = hd_unit_row(u, app);
    uint64_t *c = hd_count_row(&t->stat, u->instance, app);
    uint32_t set = hd_tlb_set(&t->base, t->base_mask, vpn.v);
    uint32_t e =
        hd_assoc_find(&t->base, set, hd_tlb_key(HD_TLB_4K, app, vpn.v));
    hd_time begin = port(u, now), looked = begin + m->lookup;

    q->arrived = arrived;
    c[HD_TLB_LOOKUPS]++;
    if (e == HD_NONE) {
        q->looked = looked;
        n[HD_MMU_MISSES]++;
        return miss(u, now, treq, page);
    }
    c[HD_TLB_HITS]++;
    hd_assoc_touch_in(&t->base, set, e, (struct hd_who){app, q->warp});
    q->hit = HD_TREQ_HIT_L2;
    q->x = (struct hd_xlate){vpn, {t->entry[e].frame}, 1, 1};
    n[HD_MMU_HITS]++;
    n[HD_MMU_INPUT_CYCLES] += hd_recip_div(cycle, begin - arrived);
    n[HD_MMU_LOOKUP_CYCLES] += m->lookup_cycles;
    hd_hist_add(&m->latency[app], hd_recip_div(cycle, looked - arrived));
    m->w.clients[q->client].reply(m->w.clients[q->client].self, looked, treq);
    return true;
}

/* Looks up a request that arrived in an earlier event, or in this one. */
static inline bool admit_from(struct hd_unit *u, hd_time now, uint32_t treq,
                              uint64_t page, hd_time arrived)
{
    if (HD_LIKELY(hd_unit_calm(u) && hd_tlb_plain(&u->tlb)))
        return admit_plain(u, now, treq, page, arrived);
    hd_unit_treq(u, treq)->arrived = arrived;
    return admit(u, now, treq);
}

/* One that has to wait behind another is not touched until its turn comes. */
HD_HOT void hd_l2tlb_arrive(struct hd_unit *u, hd_time now, uint32_t treq,
                            uint64_t page)
{
    struct hd_unit_state *s = u->s;

    hd_unit_row(u, hd_unit_app(page))[HD_MMU_REQUESTS]++;
    if (s->in_count == 0) {
        if (admit_from(u, now, treq, page, now))
            return;
        s->in_looked = 1;
    }
    hd_assert(s->in_count < u->in_room);
    *hd_unit_input(u, s->in_count++) =
        (struct hd_unit_input){now, page, treq, 0};
    hd_unit_peak(&u->shared[HD_MMU_INPUT_PEAK], s->in_count);
}

/* Tries a head that missed before: its page may have come in with another.
 * Where all pages are of 4 KB and none are merged, it has not, and since all
 * others wait behind the head, it is not walked for either. */
static bool retry(struct hd_unit *u, hd_time now, uint32_t treq, uint64_t page)
{
    struct hd_treq *q = hd_unit_treq(u, treq);
    bool full = u->m->tlb_cfg.mode.kind == HD_FULL;
    struct hd_xlate x;

    if (HD_LIKELY(*u->m->sized == 0 && (!full || hd_tlb_plain(&u->tlb))))
        return start(u, now, treq, page, page);
    if (full && hd_tlb_peek(&u->tlb, q->app, q->vpn, &x)) {
        if (HD_UNLIKELY(!hd_unit_here(u, q, &x))) {
            covered(u, treq);
            return true;
        }
        q->hit = HD_TREQ_HIT_L2;
        hd_l2tlb_answer(u, &x, now, hd_max_u64(now, q->looked), treq);
        return true;
    }
    return miss(u, now, treq, page);
}

HD_HOT void hd_l2tlb_unblock(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;
    bool outer = u->starting;

    u->starting = true; /* no walk may end while its request is the head */
    while (s->in_count != 0 && HD_LIKELY(u->env->err->code == 0)) {
        const struct hd_unit_input *in = hd_unit_input(u, 0);

        if (!(s->in_looked
                  ? retry(u, now, in->treq, in->page)
                  : admit_from(u, now, in->treq, in->page, in->arrived))) {
            s->in_looked = 1;
            break;
        }
        s->in_first = hd_unit_place(s->in_first, 1, u->in_room);
        s->in_looked = 0;
        s->in_count--;
    }
    u->starting = outer;
}

/*
 * l2tlb.c - the shared L2 TLB: requests arrive, are looked up, miss, and are
 * answered.
 *
 * Times of a request: it is born where its L1 TLB missed, has arrived here
 * `transit` later, waits for the input (a blocked head, a port), is looked up
 * for `lookup` (for longer where the large array, entries of subregions and
 * the base array are probed in turn), and is answered then if it hits.  A miss
 * joins the MSHR of its page, waits for a walker, is walked for, and all
 * requests of the MSHR are answered at one instant (one whose look-up still
 * runs: when it ends).  These stages are counted when the request is answered.
 *
 * Everything of an arrival that does not depend on others happens in the one
 * event of the arrival: the port is reserved, the arrays are probed, the
 * answer of a hit is given with its later instant.  A miss that finds no free
 * MSHR, or no room in the walk queue, stays at the head of the input queue
 * and blocks all behind it, hits included; what frees an MSHR or a place in the
 * walk queue looks at the head again.
 *
 * MSHRs are kept by page as the page table knows it (4 KB, 64 KB or 2 MB):
 * two requests for one page make one walk.  A real TLB does not know the size
 * before the walk; papers that use one size throughout do.
 *
 * Mechanisms of later proposals have files of their own: where a walk's result
 * goes, and the bypass cache (bypass.c); pages that are not resident
 * (nonresident.c); entries of subregions (subregions.c); translations that
 * policies start (prefetch.c); functional warming (warm.c); inspection and
 * checks (look.c).
 *
 * Without an L2 TLB (MASK's PWCache design) a request is a miss on arrival
 * and the MSHRs are the walk queue, where misses to one page merge.
 *
 * Invariants: the input queue is empty unless its head is blocked; the stages
 * of a request sum to the time from its birth to its answer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

/* ---- answering -------------------------------------------------------- */

/* How many probes in turn found x: a large array is in the first, entries of
 * subregions come before all others, which take the last. */
static uint32_t l2tlb_probes(const struct hd_mmu *m, const struct hd_xlate *x)
{
    if (HD_LIKELY(m->probes == 1) ||
        (m->tlb_cfg.large_entries != 0 && x->page_pages == HD_LARGE_PAGES))
        return 1;
    return m->probes - (m->tlb_cfg.sub_ways != 0 && hd_xlate_subs(x));
}

/* How long a request's look-up took.  x: what it found; NULL: nothing, or an
 * entry of a large page without this one. */
static hd_time l2tlb_lookup_span(const struct hd_mmu *m,
                                 const struct hd_treq *q,
                                 const struct hd_xlate *x)
{
    if (HD_UNLIKELY(m->tlb_cfg.mode.kind != HD_FULL))
        return m->tlb_cfg.mode.kind == HD_OFF ? 0 : q->looked - q->arrived;
    if (q->hit >= HD_TREQ_MERGED ||
        (x == NULL && m->tlb_cfg.large_entries == 0))
        return m->probes * m->lookup;
    return x == NULL ? m->lookup : l2tlb_probes(m, x) * m->lookup;
}

HD_HOT void hd_l2tlb_account(struct hd_unit *u, const struct hd_treq *q,
                             const struct hd_xlate *x, hd_time joined,
                             hd_time at)
{
    const struct hd_mmu *m = u->m;
    uint64_t *n = hd_l2tlb_row(u, q->app);
    hd_time looked = q->looked, begin = looked - l2tlb_lookup_span(m, q, x);
    hd_time walk = at, queued = at;

    n[HD_MMU_INPUT_CYCLES] += hd_unit_cycles(m, begin - q->arrived);
    n[HD_MMU_LOOKUP_CYCLES] += hd_unit_cycles(m, looked - begin);
    if (q->hit >= HD_TREQ_MERGED) {
        queued = hd_max_u64(joined, looked);
        walk = hd_min_u64(hd_max_u64(q->walk, queued), at);
        n[HD_MMU_QUEUE_CYCLES] += hd_unit_cycles(m, walk - queued);
        n[HD_MMU_WALK_CYCLES] += hd_unit_cycles(m, at - walk);
    }
    n[HD_MMU_FULL_CYCLES] += hd_unit_cycles(m, queued - looked);
    hd_hist_add(&m->latency[q->app], hd_unit_cycles(m, at - q->arrived));
    if (HD_UNLIKELY(m->env->check) &&
        (q->arrived < q->born || begin < q->arrived || looked < begin ||
         queued < looked || walk < queued || at < walk))
        hd_err_set(m->env->err, HEDDLE_ECHECK,
                   "L2 TLB: application %u, page 0x%llx: the stages of the "
                   "request do not sum to its time",
                   q->app, (unsigned long long)q->vpn.v);
}

/* Answers a request for the instant `at`; x and joined as for the account. */
static HD_HOT void l2tlb_reply(struct hd_unit *u, uint32_t treq,
                               const struct hd_xlate *x, hd_time joined,
                               hd_time at)
{
    struct hd_treq *q = &u->treq[treq];
    const struct hd_tclient *c = &u->m->w.clients[q->client];

    hd_l2tlb_account(u, q, x, joined, at);
    if (HD_UNLIKELY(u->m->env->check))
        hd_l2tlb_verify(u, q, x);
    q->x = *x; /* from here on, `arrived` and `looked` are gone */
    if (HD_UNLIKELY(u->m->tlb_cfg.sub_ways != 0) && hd_xlate_subs(x)) {
        /* what a line of entries would be */
        q->x.vpn.v = q->vpn.v & ~15ull;
        q->x.pfn = hd_xlate_frame(x, q->x.vpn);
        q->x.pages = 16;
    }
    if (HD_LIKELY(u->m->levels == NULL) ||
        !hd_levels_answer(u->m->levels, at, treq, u->rank))
        c->reply(c->self, at, treq);
}

/* A request that needs no walk: it hits with x at `at`, or its page is not
 * resident although an entry covers it (or, NULL, is not mapped). */
static void l2tlb_settle(struct hd_unit *u, uint32_t treq,
                         const struct hd_xlate *x, hd_time at)
{
    struct hd_treq *q = &u->treq[treq];

    if (HD_LIKELY(x != NULL && hd_l2tlb_resident(u, q, x))) {
        l2tlb_reply(u, treq, x, at, at);
        return;
    }
    hd_l2tlb_row(u, q->app)[HD_MMU_ABSENT] += x != NULL;
    q->hit = HD_TREQ_HIT_L2;
    q->next = HD_NONE;
    hd_nonresident_enter(u, q->looked, treq, q->looked);
}

/* ---- looking up --------------------------------------------------------- */

/* A port for a look-up that is here now: the instant at which it begins. */
hd_time hd_l2tlb_port(struct hd_unit *u, hd_time now)
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

/* Starts or queues a walk; its request takes an MSHR.  False: no room. */
static HD_HOT bool l2tlb_start_walk(struct hd_unit *u, hd_time now,
                                    uint32_t treq, uint64_t key)
{
    struct hd_treq *q = &u->treq[treq];
    struct hd_mshr_entry *e;
    struct hd_walk *w;
    uint32_t i;

    if (hd_mshr_full(&u->miss) || !hd_ptw_room(u)) {
        if (!u->s->in_looked)
            hd_l2tlb_row(
                u, q->app)[hd_l2tlb_mshrs_full(u) ? HD_MMU_MSHR_BLOCKS
                                                  : HD_MMU_QUEUE_BLOCKS]++;
        return false;
    }
    i = hd_mshr_take(&u->miss, key);
    hd_unit_peak(&hd_l2tlb_row(u, HD_APP_NONE)[HD_MMU_MSHR_PEAK],
                 hd_mshr_used(&u->miss));
    e = &u->miss.v[i];
    e->first = e->last = treq;
    e->n = 1;
    q->hit = HD_TREQ_WALKED;
    q->walk = now; /* until it is answered: when it joined */
    q->next = HD_NONE;
    w = &u->walk[i];
    w->vpn = q->vpn;
    w->app = q->app;
    w->ready = hd_max_u64(now, q->looked);
    w->prefetched = 0;
    if (HD_UNLIKELY(u->subs.extra != NULL))
        hd_subregions_missed(u, q->app, q->vpn);

    hd_ptw_take(u, now, i);
    return true;
}

/* Enters a request that missed into the MSHR of its page, which has a walk.
 * False: it needs a new one, and there is no room. */
static HD_HOT bool l2tlb_miss(struct hd_unit *u, hd_time now, uint32_t treq)
{
    struct hd_treq *q = &u->treq[treq];
    hd_vpn first = hd_ptables_first(u->m->w.tables, q->app, q->vpn);
    uint64_t key = first.v | (uint64_t)q->app << 52;
    uint32_t i = hd_mshr_find(&u->miss, key);
    struct hd_mshr_entry *e;

    if (i == HD_NONE)
        return l2tlb_start_walk(u, now, treq, key);
    e = &u->miss.v[i];
    q->hit = HD_TREQ_MERGED;
    q->walk = now;
    q->next = HD_NONE;
    if (HD_UNLIKELY(e->n == 0)) {
        e->first = treq;
        hd_prefetch_joined(u, &u->walk[i]);
    } else {
        u->treq[e->last].next = treq;
    }
    e->last = treq;
    e->n++;
    hd_l2tlb_row(u, q->app)[HD_MMU_MERGES]++;
    return true;
}

/* l2tlb_admit() where there is no array to be looked up in. */
static bool l2tlb_admit_flat(struct hd_unit *u, hd_time now, uint32_t treq)
{
    const struct hd_mmu *m = u->m;
    struct hd_treq *q = &u->treq[treq];
    struct hd_xlate x;
    bool found;

    q->looked = now;
    if (m->tlb_cfg.mode.kind == HD_OFF)
        return l2tlb_miss(u, now, treq);
    q->looked += m->tlb_cfg.mode.kind == HD_FIXED ? m->fixed : m->lookup;
    q->hit = HD_TREQ_HIT_L2;
    found = hd_l2tlb_reach(u, q->app, q->vpn, &x);
    hd_l2tlb_row(u, q->app)[HD_MMU_HITS] += found;
    l2tlb_settle(u, treq, found ? &x : NULL, q->looked);
    return true;
}

/* Looks a request up.  False: it missed and must wait at the head. */
static HD_HOT bool l2tlb_admit(struct hd_unit *u, hd_time now, uint32_t treq)
{
    const struct hd_mmu *m = u->m;
    struct hd_treq *q = &u->treq[treq];
    struct hd_xlate x;
    uint64_t *n;

    hd_treq_count_for(m->w.treqs, treq);
    n = hd_l2tlb_row(u, q->app);
    if (HD_UNLIKELY(m->tlb_cfg.mode.kind != HD_FULL))
        return l2tlb_admit_flat(u, now, treq);
    u->hand = q;
    q->looked = hd_l2tlb_port(u, now) + m->lookup;
    q->hit = HD_TREQ_HIT_L2;
    if (!hd_tlb_lookup(&u->tlb, q->app, q->vpn, q->core, q->warp, &x, NULL)) {
        hd_tlb_missed(&u->tlb, q->app, q->vpn, q->core, q->warp);
        q->looked += (m->probes - 1) * m->lookup;
        if (HD_LIKELY(m->bypass_cfg.entries == 0) ||
            !hd_bypass_find(u, q, &x)) {
            n[HD_MMU_MISSES]++;
            return l2tlb_miss(u, now, treq);
        }
        q->hit = HD_TREQ_HIT_BYPASS;
    } else {
        q->looked += (l2tlb_probes(m, &x) - 1) * m->lookup;
    }
    if (HD_LIKELY(hd_l2tlb_resident(u, q, &x))) {
        n[HD_MMU_BYPASS_HITS] += q->hit == HD_TREQ_HIT_BYPASS;
        n[HD_MMU_HITS]++;
    }
    l2tlb_settle(u, treq, &x, q->looked);
    return true;
}

/* Tries a head that missed before: an entry of more pages may cover its
 * own. */
static bool l2tlb_retry(struct hd_unit *u, hd_time now, uint32_t treq)
{
    struct hd_treq *q = &u->treq[treq];
    struct hd_xlate x;

    hd_treq_count_for(u->m->w.treqs, treq);
    if (u->m->tlb_cfg.mode.kind != HD_FULL || hd_tlb_plain(&u->tlb) ||
        !hd_tlb_peek(&u->tlb, q->app, q->vpn, &x))
        return l2tlb_miss(u, now, treq);
    q->hit = HD_TREQ_HIT_L2;
    l2tlb_settle(u, treq, &x, hd_max_u64(now, q->looked));
    return true;
}

HD_HOT void hd_l2tlb_take(void *self, hd_time now, uint32_t treq)
{
    struct hd_unit *u = self;
    const struct hd_mmu *m = u->m;
    uint32_t core = u->treq[treq].core;

    hd_assert(core < m->w.cores);
    hd_post(m->env->ev, m->port[core], u->input_rank, now + m->transit, 0, treq,
            0);
}

HD_HOT void hd_l2tlb_serve(void *self, hd_time now, uint32_t what,
                           uint32_t treq, uint64_t b)
{
    struct hd_unit *u = self;
    struct hd_unit_state *s = u->s;
    struct hd_treq *q = &u->treq[treq];

    (void)what, (void)b;
    u->ticket = HD_UNIT_FOREIGN;
    q->arrived = now;
    hd_treq_count_for(u->m->w.treqs, treq);
    hd_l2tlb_row(u, q->app)[HD_MMU_REQUESTS]++;
    if (s->in_count == 0) {
        if (l2tlb_admit(u, now, treq)) {
            hd_treq_count_for(u->m->w.treqs, HD_NONE);
            return;
        }
        s->in_looked = 1;
    }
    hd_assert(s->in_count < u->in_room);
    hd_treq_count_for(u->m->w.treqs, HD_NONE);
    *hd_l2tlb_input(u, s->in_count++) = treq;
    hd_unit_peak(&hd_l2tlb_row(u, HD_APP_NONE)[HD_MMU_INPUT_PEAK], s->in_count);
}

HD_HOT void hd_l2tlb_unblock(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;
    bool outer = u->starting;

    u->starting = true; /* no walk may end while its request is the head */
    while (s->in_count != 0 && HD_LIKELY(!hd_err_ends(u->m->env->err->code))) {
        uint32_t treq = *hd_l2tlb_input(u, 0);

        if (!(s->in_looked ? l2tlb_retry(u, now, treq)
                           : l2tlb_admit(u, now, treq))) {
            s->in_looked = 1;
            break;
        }
        s->in_first = hd_unit_place(s->in_first, 1, u->in_room);
        s->in_looked = 0;
        s->in_count--;
    }
    u->starting = outer;
    if (HD_UNLIKELY(s->prefetch_n != 0))
        hd_prefetch_go(u, now);
}

/* ---- filling ---------------------------------------------------------- */

HD_HOT void hd_l2tlb_fill(struct hd_unit *u, hd_time now,
                          const struct hd_walk *walk, const struct hd_treq *q,
                          const struct hd_xlate *x)
{
    uint32_t where = HEDDLE_TLB_FILL_L2TLB, counter = HD_MMU_UNFILLED;
    struct hd_tlb *t = NULL;

    u->hand = q;
    if (u->m->fill.bound ||
        !hd_l2tlb_may_fill(u->m->steer, q->app, q->core, q->warp))
        where = hd_bypass_ask(u, walk, q, x);
    if (where == HEDDLE_TLB_FILL_L2TLB) {
        t = &u->tlb;
        counter = HD_MMU_FILLS;
    } else if (where == HEDDLE_TLB_FILL_BYPASS &&
               u->m->bypass_cfg.entries != 0) {
        t = &u->bypass;
        counter = HD_MMU_BYPASS_FILLS;
    }
    if (t != NULL && (HD_LIKELY(u->subs.extra == NULL) || t != &u->tlb ||
                      walk == NULL || !hd_subregions_stay(u, now, walk, q)))
        hd_tlb_fill(t, q->app, q->core, q->warp, q->vpn, x, 0);
    hd_l2tlb_row(u, q->app)[counter]++;
}

HD_HOT void hd_l2tlb_answer(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_walk *w = &u->walk[walk];
    hd_time began = w->began;
    uint32_t t = u->miss.v[walk].first, missing = HD_NONE, last;
    struct hd_xlate x = {{0}, {0}, 0, 0};
    bool found = (HD_UNLIKELY(w->bits != 0) && hd_subregions_found(u, w, &x)) ||
                 hd_l2tlb_reach(u, w->app, w->vpn, &x) ||
                 hd_ptables_large(u->m->w.tables, w->app, w->vpn, &x);

    hd_at_home(u->m->env, HD_SIDE_MMU);
    if (HD_UNLIKELY(w->prefetched != 0) &&
        hd_prefetch_answer(u, now, walk, found ? &x : NULL)) {
        if (HD_UNLIKELY(u->s->fills != 0))
            hd_fill_answer(u, now, walk);
        hd_mshr_give(&u->miss, walk);
        return;
    }
    hd_treq_count_for(u->m->w.treqs, t);
    if (HD_UNLIKELY(u->m->group.bound) && found)
        hd_groups_choose(u, w->app, w->vpn, u->treq[t].core, u->treq[t].pc, &x);
    if (HD_LIKELY(found) && u->m->tlb_cfg.mode.kind == HD_FULL)
        hd_l2tlb_fill(u, now, w, &u->treq[t], &x);
    if (HD_UNLIKELY(u->s->fills != 0))
        hd_fill_answer(u, now, walk);
    if (HD_UNLIKELY(u->m->w.evict != NULL) && found)
        hd_evict_touch(u->m->w.evict, now, w->app, w->vpn);
    while (t != HD_NONE) {
        struct hd_treq *q = &u->treq[t];
        uint32_t next = q->next;
        hd_time joined = q->walk;
        struct hd_xlate own = x; /* unless the page was split during the walk */

        if (HD_LIKELY(q->vpn.v - x.vpn.v < x.pages &&
                      hd_l2tlb_resident(u, q, &x)) ||
            hd_l2tlb_reach(u, q->app, q->vpn, &own)) {
            q->walk = began;
            q->references = w->references;
            hd_treq_count_for(u->m->w.treqs, t);
            l2tlb_reply(u, t, &own, joined, hd_max_u64(now, q->looked));
        } else {
            hd_treq_append(u->m->w.treqs, &missing, &last, t);
        }
        t = next;
    }
    hd_mshr_give(&u->miss, walk);
    if (HD_UNLIKELY(missing != HD_NONE))
        hd_nonresident_enter(u, now, missing, began);
}

/*
 * l2tlb.c - the front of a unit: the shared L2 TLB, its misses, its answers.
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
 * hit there counts as a hit.  A walk's result goes where tlb_fill says.  By
 * default that is MASK's rule over the steering tables: to the L2 TLB if any
 * of the requesters' warps may fill, else where `tlb_fill_without` says.
 *
 * An entry of a coalesced region may be there before all of its pages are
 * (ptjoin.c).  A request for one that is still on the host is no hit, whatever
 * entry covers it, and needs no walk: it faults when the look-up ends.  A walk
 * for any page of a coalesced region answers for all; those of its requests
 * whose pages are not there fault then.
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

#include "../base/bits.h"

enum { HIT_L2 = 0, HIT_BYPASS = 1, HIT_MERGED = 2, HIT_WALKED = 3 };
enum { FILL_L2, FILL_BYPASS, FILL_NONE };

static inline struct hd_treq *request(const struct hd_unit *u, uint32_t treq)
{
    return &u->treq[treq];
}

/* ---- answering -------------------------------------------------------- */

/* How long a request's look-up took: two probes in turn, or one.  x: as in
 * answer_as. */
static inline hd_time lookup_span(const struct hd_mmu *m,
                                  const struct hd_treq *q,
                                  const struct hd_xlate *x)
{
    bool second =
        q->hit >= HIT_MERGED || (x != NULL && x->page_pages != HD_LARGE_PAGES);

    if (HD_UNLIKELY(m->tlb_cfg.mode.kind != HD_FULL))
        return m->tlb_cfg.mode.kind == HD_OFF ? 0 : q->looked - q->arrived;
    return m->serial && second ? 2 * m->lookup : m->lookup;
}

/* --check: the stages of a request, from each of these instants to the next,
 * are none below 0, and the translation equals the page table's. */
static HD_APART void verify(struct hd_unit *u, const struct hd_treq *q,
                            const struct hd_xlate *given, const hd_time *from,
                            uint32_t n)
{
    struct hd_xlate x;

    for (uint32_t i = 1; i < n; i++)
        if (from[i] < from[i - 1])
            hd_err_set(u->env->err, HEDDLE_ECHECK,
                       "L2 TLB: application %u, page 0x%llx: the stages of the "
                       "request do not sum to its time",
                       q->app, (unsigned long long)q->vpn.v);
    if (!hd_ptables_find(u->m->w.tables, q->app, q->vpn, &x) ||
        q->vpn.v - given->vpn.v >= given->pages ||
        hd_xlate_frame(&x, q->vpn).v != hd_xlate_frame(given, q->vpn).v)
        hd_err_set(u->env->err, HEDDLE_ECHECK,
                   "L2 TLB: application %u, page 0x%llx: frame %llu was given, "
                   "the page table says otherwise",
                   q->app, (unsigned long long)q->vpn.v,
                   (unsigned long long)hd_xlate_frame(given, q->vpn).v);
}

/* Counts a request's stages, and answers it with x.  NULL: it faults (and if
 * an entry covered its page, that was a large one).  `entered`: it joined an
 * MSHR; a hit: `at`. */
static inline void answer_as(struct hd_unit *u, const struct hd_xlate *x,
                             hd_time entered, hd_time at, uint32_t treq,
                             bool check)
{
    const struct hd_mmu *m = u->m;
    struct hd_treq *q = request(u, treq);
    const struct hd_tclient *c = &m->w.clients[q->client];
    uint64_t *n = hd_unit_row(u, q->app);
    hd_time looked = q->looked, begin = looked - lookup_span(m, q, x);
    hd_time walk = at, queued = at;

    n[HD_MMU_INPUT_CYCLES] += hd_unit_cycles(m, begin - q->arrived);
    n[HD_MMU_LOOKUP_CYCLES] += hd_unit_cycles(m, looked - begin);
    if (q->hit >= HIT_MERGED) {
        queued = hd_max_u64(entered, looked);
        walk = hd_min_u64(hd_max_u64(q->walk, queued), at);
        n[HD_MMU_QUEUE_CYCLES] += hd_unit_cycles(m, walk - queued);
        n[HD_MMU_WALK_CYCLES] += hd_unit_cycles(m, at - walk);
    }
    n[HD_MMU_FULL_CYCLES] += hd_unit_cycles(m, queued - looked);
    hd_hist_add(&m->latency[q->app], hd_unit_cycles(m, at - q->arrived));
    if (x == NULL)
        return;
    if (check) {
        hd_time from[] = {q->born, q->arrived, begin, looked, queued, walk, at};
        verify(u, q, x, from, HD_LEN(from));
    }
    q->x = *x; /* from here on, `arrived` and `looked` are gone */
    c->reply(c->self, at, treq);
}

static HD_APART void answer_checked(struct hd_unit *u, const struct hd_xlate *x,
                                    hd_time entered, hd_time at, uint32_t treq)
{
    answer_as(u, x, entered, at, treq, true);
}

static HD_HOT void answer(struct hd_unit *u, const struct hd_xlate *x,
                          hd_time entered, hd_time at, uint32_t treq)
{
    if (HD_UNLIKELY(u->env->check))
        answer_checked(u, x, entered, at, treq);
    else
        answer_as(u, x, entered, at, treq, false);
}

/* Whether the page of a request is there, which a translation covers. */
static inline bool here(const struct hd_unit *u, const struct hd_treq *q,
                        const struct hd_xlate *x)
{
    return hd_faults_here(u->m->w.faults, u->m->w.tables, q->app, q->vpn, x);
}

/* The translation from the page table, at the end of a walk if there was one;
 * false: not mapped. */
static inline bool translate(struct hd_unit *u, const struct hd_walk *w,
                             uint32_t app, hd_vpn vpn, struct hd_xlate *x)
{
    const struct hd_mmu *m = u->m;
    bool runs = u->tlb.merge.bound || (m->w.merge != NULL && m->w.merge->bound);
    bool found =
        w != NULL && w->references != 0
            ? hd_ptables_leaf(m->w.tables, app, vpn, &w->path, w->leaf, x)
            : hd_ptables_find(m->w.tables, app, vpn, x);

    if (HD_LIKELY(found) && HD_UNLIKELY(runs))
        hd_ptables_run(m->w.tables, app, vpn, 16, x);
    return found;
}

/* Splits a list: those that wait together with the first, of which there are
 * *n, stay in it; returns the first of the others, or HD_NONE. */
static uint32_t same_page(struct hd_unit *u, uint32_t first, uint32_t *n)
{
    const struct hd_treq *one = request(u, first);
    uint32_t t = one->next, end = first, left = HD_NONE, left_end;

    *n = 1;
    request(u, first)->next = HD_NONE;
    for (uint32_t next; t != HD_NONE; t = next) {
        const struct hd_treq *q = request(u, t);
        bool with =
            hd_faults_together(u->m->w.faults, one->app, one->vpn, q->vpn);
        next = q->next;
        hd_treq_append(u->m->w.treqs, with ? &first : &left,
                       with ? &end : &left_end, t);
        *n += with;
    }
    return left;
}

/* Requests of a list found their pages not mapped: they are absent, and the
 * requests wait for them elsewhere, or they are none. */
static HD_APART void far_fault(struct hd_unit *u, hd_time now, uint32_t first,
                               hd_time began)
{
    for (uint32_t n, left; first != HD_NONE; first = left) {
        const struct hd_treq *one = request(u, first);
        uint32_t t = first;

        if (u->m->w.faults == NULL ||
            !hd_faults_absent(u->m->w.faults, one->app, one->vpn)) {
            hd_err_set(u->env->err, HEDDLE_EDATA,
                       "application %u: address 0x%llx lies in no allocation",
                       one->app,
                       (unsigned long long)one->vpn.v << HD_PAGE_SHIFT);
            return;
        }
        left = same_page(u, first, &n);
        for (uint32_t i = 0; i < n; i++, t = request(u, t)->next) {
            struct hd_treq *q = request(u, t);
            hd_time joined = q->walk;

            q->walk = began;
            answer_as(u, NULL, joined, hd_max_u64(now, q->looked), t, false);
        }
        hd_faults_enter(u->m->w.faults, now, first, n);
    }
}

/* A look-up has found an entry that covers a page on the host. */
static HD_APART void covered(struct hd_unit *u, uint32_t treq)
{
    struct hd_treq *q = request(u, treq);

    hd_unit_row(u, q->app)[HD_MMU_ABSENT]++;
    q->hit = HIT_L2;
    q->next = HD_NONE;
    far_fault(u, q->looked, treq, q->looked);
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
    struct hd_treq *q = request(u, treq);

    q->hit = HIT_MERGED;
    q->walk = now; /* until it is answered: when it joined */
    q->next = HD_NONE;
    request(u, e->last)->next = treq;
    e->last = treq;
    e->n++;
    hd_unit_row(u, q->app)[HD_MMU_MERGES]++;
}

/* Has a page walked for; its request takes an MSHR.  False: no room. */
static inline bool start(struct hd_unit *u, hd_time now, uint32_t treq,
                         uint64_t page, uint64_t key)
{
    struct hd_treq *q = request(u, treq);
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
    q->hit = HIT_WALKED;
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
    struct hd_treq *q = request(u, treq);
    uint32_t mode = m->tlb_cfg.mode.kind;
    struct hd_xlate x;

    q->looked = now;
    if (mode == HD_OFF)
        return miss(u, now, treq, hd_unit_page(q));
    if (HD_UNLIKELY(mode != HD_FULL)) {
        q->looked = now + (mode == HD_FIXED ? m->fixed : m->lookup);
        q->hit = HIT_L2;
        if (!translate(u, NULL, q->app, q->vpn, &x)) {
            q->next = HD_NONE;
            far_fault(u, q->looked, treq, q->looked);
            return true;
        }
        hd_unit_row(u, q->app)[HD_MMU_HITS]++;
        answer(u, &x, q->looked, q->looked, treq);
        return true;
    }
    q->looked = port(u, now) + m->lookup;
    if (hd_tlb_lookup(&u->tlb, q->app, q->vpn, q->core, q->warp, &x)) {
        q->hit = HIT_L2;
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
        q->hit = HIT_BYPASS;
    }
    if (HD_UNLIKELY(!here(u, q, &x))) {
        covered(u, treq);
        return true;
    }
    if (HD_UNLIKELY(q->hit == HIT_BYPASS))
        hd_unit_row(u, q->app)[HD_MMU_BYPASS_HITS]++;
    hd_unit_row(u, q->app)[HD_MMU_HITS]++;
    answer(u, &x, q->looked, q->looked, treq);
    return true;
}

/* The same where nothing unusual is in play and the L2 TLB has pages of 4 KB
 * only: what admit and answer do, written straight. */
static HD_HOT bool admit_plain(struct hd_unit *u, hd_time now, uint32_t treq,
                               uint64_t page, hd_time arrived)
{
    struct hd_treq *q = request(u, treq);
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
    q->hit = HIT_L2;
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
    request(u, treq)->arrived = arrived;
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
    struct hd_treq *q = request(u, treq);
    bool full = u->m->tlb_cfg.mode.kind == HD_FULL;
    struct hd_xlate x;

    if (HD_LIKELY(*u->m->sized == 0 && (!full || hd_tlb_plain(&u->tlb))))
        return start(u, now, treq, page, page);
    if (full && hd_tlb_peek(&u->tlb, q->app, q->vpn, &x)) {
        if (HD_UNLIKELY(!here(u, q, &x))) {
            covered(u, treq);
            return true;
        }
        q->hit = HIT_L2;
        answer(u, &x, now, hd_max_u64(now, q->looked), treq);
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

/* ---- filling ---------------------------------------------------------- */

static inline bool may_fill(const struct hd_steer *s, uint32_t app,
                            uint32_t core, uint32_t warp)
{
    return s == NULL || core >= HD_LEN(s->tlb_fill[0]) || warp > 63 ||
           s->tlb_fill[app][core] >> warp & 1;
}

int64_t hd_l2tlb_fill_default(void *mmu, const void *question)
{
    const struct hd_mmu *m = mmu;
    const struct heddle_q_tlb_fill *q = question;
    const struct hd_steer *s = m->steer;

    for (uint64_t i = 0; i < q->requesters; i++)
        if (may_fill(s, (uint32_t)q->app, (uint32_t)(q->who[i] >> 16),
                     (uint32_t)q->who[i] & 0xffff))
            return FILL_L2;
    return s->tlb_fill_without[q->app];
}

/* The same for a walk's requests, without a question. */
static uint32_t fill_steered(struct hd_unit *u, uint32_t entry)
{
    const struct hd_steer *s = u->m->steer;
    uint32_t app = u->walk[entry].app;

    for (uint32_t t = u->miss.v[entry].first; t != HD_NONE;
         t = request(u, t)->next)
        if (may_fill(s, app, request(u, t)->core, request(u, t)->warp))
            return FILL_L2;
    return s->tlb_fill_without[app];
}

static uint32_t fill_asked(struct hd_unit *u, uint32_t entry,
                           const struct hd_xlate *x)
{
    const struct hd_mshr_entry *e = &u->miss.v[entry];
    const struct hd_treq *first = request(u, e->first);
    struct heddle_q_tlb_fill q = {.app = first->app,
                                  .core = first->core,
                                  .warp = first->warp,
                                  .vpn = first->vpn.v,
                                  .pages = x->pages,
                                  .requesters = e->n,
                                  .who = u->m->who};
    uint32_t n = 0;

    for (uint32_t t = e->first; t != HD_NONE; t = request(u, t)->next)
        u->m->who[n++] =
            (uint64_t)request(u, t)->core << 16 | request(u, t)->warp;
    return (uint32_t)hd_ask_tlb_fill(&u->m->fill, &q);
}

static HD_HOT void fill(struct hd_unit *u, uint32_t entry,
                        const struct hd_xlate *x)
{
    const struct hd_treq *q = request(u, u->miss.v[entry].first);
    uint32_t where = HD_UNLIKELY(u->m->fill.bound) ? fill_asked(u, entry, x)
                                                   : fill_steered(u, entry);

    if (where == FILL_L2) {
        if (HD_LIKELY(*u->m->sized == 0)) /* no walk was for a page in it */
            hd_tlb_fill_missed(&u->tlb, q->app, q->core, q->warp, q->vpn, x, 0);
        else
            hd_tlb_fill(&u->tlb, q->app, q->core, q->warp, q->vpn, x, 0);
        hd_unit_row(u, q->app)[HD_MMU_FILLS]++;
    } else if (where == FILL_BYPASS && u->m->bypass_cfg.entries != 0) {
        hd_tlb_fill(&u->bypass, q->app, q->core, q->warp, q->vpn, x, 0);
        hd_unit_row(u, q->app)[HD_MMU_BYPASS_FILLS]++;
    } else {
        hd_unit_row(u, q->app)[HD_MMU_UNFILLED]++;
    }
}

/* hd_l2tlb_complete of a walk for one request, where nothing unusual is in
 * play and all pages are of 4 KB: what fill and answer do, written straight.
 * False, and nothing was done: the page is not there. */
static inline bool complete_one(struct hd_unit *u, hd_time now, uint32_t entry)
{
    const struct hd_mmu *m = u->m;
    const struct hd_recip cycle = m->per_core;
    const struct hd_walk *w = &u->walk[entry];
    uint64_t pte = m->words[w->path.leaf], *n;
    struct hd_treq *q = request(u, u->miss.v[entry].first);
    hd_time looked = q->looked, joined = q->walk, arrived = q->arrived;
    hd_time at = hd_max_u64(now, looked), queued = hd_max_u64(joined, looked);
    hd_time walk = hd_min_u64(hd_max_u64(w->began, queued), at);
    struct hd_xlate x = {q->vpn, {(pte & HD_PT_FRAME) / HD_PAGE_BYTES}, 1, 1};

    if (HD_UNLIKELY(!(pte & HD_PT_PRESENT)))
        return false;
    n = hd_unit_row(u, q->app);
    if (HD_LIKELY(may_fill(m->steer, q->app, q->core, q->warp) ||
                  m->steer->tlb_fill_without[q->app] == FILL_L2)) {
        hd_tlb_fill_missed(&u->tlb, q->app, q->core, q->warp, q->vpn, &x, 0);
        n[HD_MMU_FILLS]++;
    } else {
        n[HD_MMU_UNFILLED]++;
    }
    n[HD_MMU_INPUT_CYCLES] += hd_recip_div(cycle, looked - m->lookup - arrived);
    n[HD_MMU_LOOKUP_CYCLES] += m->lookup_cycles;
    n[HD_MMU_FULL_CYCLES] += hd_recip_div(cycle, queued - looked);
    n[HD_MMU_QUEUE_CYCLES] += hd_recip_div(cycle, walk - queued);
    n[HD_MMU_WALK_CYCLES] += hd_recip_div(cycle, at - walk);
    hd_hist_add(&m->latency[q->app], hd_recip_div(cycle, at - arrived));
    q->walk = w->began;
    q->references = w->references;
    q->x = x;
    m->w.clients[q->client].reply(m->w.clients[q->client].self, at,
                                  u->miss.v[entry].first);
    hd_mshr_give(&u->miss, entry);
    return true;
}

static HD_APART void complete_other(struct hd_unit *u, hd_time now,
                                    uint32_t entry)
{
    const struct hd_walk *w = &u->walk[entry];
    hd_time began = w->began;
    uint32_t t = u->miss.v[entry].first, absent = HD_NONE, last;
    struct hd_xlate x = {{0}, {0}, 0, 0};
    bool found = translate(u, w, w->app, w->vpn, &x) ||
                 hd_ptables_large(u->m->w.tables, w->app, w->vpn, &x);

    if (HD_LIKELY(found) && u->m->tlb_cfg.mode.kind == HD_FULL)
        fill(u, entry, &x);
    while (t != HD_NONE) {
        struct hd_treq *q = request(u, t);
        uint32_t next = q->next;
        hd_time joined = q->walk;
        struct hd_xlate own = x; /* unless the page was split under the walk */

        if (HD_LIKELY(q->vpn.v - x.vpn.v < x.pages && here(u, q, &x)) ||
            translate(u, NULL, q->app, q->vpn, &own)) {
            q->walk = began;
            q->references = w->references;
            answer(u, &own, joined, hd_max_u64(now, q->looked), t);
        } else {
            hd_treq_append(u->m->w.treqs, &absent, &last, t);
        }
        t = next;
    }
    hd_mshr_give(&u->miss, entry);
    if (HD_UNLIKELY(absent != HD_NONE))
        far_fault(u, now, absent, began);
}

HD_HOT void hd_l2tlb_complete(struct hd_unit *u, hd_time now, uint32_t entry)
{
    if (HD_UNLIKELY(!hd_unit_calm(u) || *u->m->sized != 0 ||
                    u->miss.v[entry].n != 1 || u->walk[entry].references == 0 ||
                    !complete_one(u, now, entry)))
        complete_other(u, now, entry);
}

/*
 * l2tlbanswer.c - the front of a unit: answers of the shared L2 TLB, and what
 * walks bring into it.  How requests come to it is told in l2tlb.c.
 *
 * An answer comes with its instant, which may lie ahead: a hit is answered in
 * the event of its arrival, for the end of its look-up.  The stages of a
 * request (input, look-up, want of an MSHR, walk queue, walk) are counted when
 * it is answered.
 *
 * A walk's result goes where tlb_fill says.  By default that is MASK's rule
 * over the steering tables: to the L2 TLB if any of the requesters' warps may
 * fill, else where `tlb_fill_without` says.
 *
 * An entry of a coalesced region may be there before all of its pages are
 * (ptjoin.c).  A request for one that is still on the host is no hit, whatever
 * entry covers it, and needs no walk: it faults when the look-up ends.  A walk
 * for any page of a coalesced region answers for all; those of its requests
 * whose pages are not there fault then.
 *
 * Invariant: the stages of a request sum to the time from its birth to its
 * answer.
 *
 * SPDX-License-Identifier: MIT
 */
#include "unit.h"

enum { FILL_L2, FILL_BYPASS, FILL_NONE };

/* ---- answering -------------------------------------------------------- */

/* How long a request's look-up took: two probes in turn, or one.  x: as in
 * answer_as. */
static inline hd_time lookup_span(const struct hd_mmu *m,
                                  const struct hd_treq *q,
                                  const struct hd_xlate *x)
{
    bool second = q->hit >= HD_TREQ_MERGED ||
                  (x != NULL && x->page_pages != HD_LARGE_PAGES);

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
    struct hd_treq *q = hd_unit_treq(u, treq);
    const struct hd_tclient *c = &m->w.clients[q->client];
    uint64_t *n = hd_unit_row(u, q->app);
    hd_time looked = q->looked, begin = looked - lookup_span(m, q, x);
    hd_time walk = at, queued = at;

    n[HD_MMU_INPUT_CYCLES] += hd_unit_cycles(m, begin - q->arrived);
    n[HD_MMU_LOOKUP_CYCLES] += hd_unit_cycles(m, looked - begin);
    if (q->hit >= HD_TREQ_MERGED) {
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

HD_HOT void hd_l2tlb_answer(struct hd_unit *u, const struct hd_xlate *x,
                            hd_time entered, hd_time at, uint32_t treq)
{
    if (HD_UNLIKELY(u->env->check))
        answer_checked(u, x, entered, at, treq);
    else
        answer_as(u, x, entered, at, treq, false);
}

bool hd_l2tlb_translate(struct hd_unit *u, const struct hd_walk *w,
                        uint32_t app, hd_vpn vpn, struct hd_xlate *x)
{
    const struct hd_mmu *m = u->m;
    bool runs = u->tlb.merge.bound || u->bypass.merge.bound ||
                (m->w.merge != NULL && m->w.merge->bound);
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
    const struct hd_treq *one = hd_unit_treq(u, first);
    uint32_t t = one->next, end = first, left = HD_NONE, left_end;

    *n = 1;
    hd_unit_treq(u, first)->next = HD_NONE;
    for (uint32_t next; t != HD_NONE; t = next) {
        const struct hd_treq *q = hd_unit_treq(u, t);
        bool with =
            hd_faults_together(u->m->w.faults, one->app, one->vpn, q->vpn);
        next = q->next;
        hd_treq_append(u->m->w.treqs, with ? &first : &left,
                       with ? &end : &left_end, t);
        *n += with;
    }
    return left;
}

void hd_l2tlb_fault(struct hd_unit *u, hd_time now, uint32_t first,
                    hd_time began)
{
    for (uint32_t n, left; first != HD_NONE; first = left) {
        const struct hd_treq *one = hd_unit_treq(u, first);
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
        for (uint32_t i = 0; i < n; i++, t = hd_unit_treq(u, t)->next) {
            struct hd_treq *q = hd_unit_treq(u, t);
            hd_time joined = q->walk;

            q->walk = began;
            answer_as(u, NULL, joined, hd_max_u64(now, q->looked), t, false);
        }
        hd_faults_enter(u->m->w.faults, now, first, n);
    }
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
    return s->tlb_fill_without[q->app][0];
}

/* The same for a walk's requests, without a question. */
static uint32_t fill_steered(struct hd_unit *u, uint32_t entry)
{
    const struct hd_steer *s = u->m->steer;
    uint32_t app = u->walk[entry].app;

    for (uint32_t t = u->miss.v[entry].first; t != HD_NONE;
         t = hd_unit_treq(u, t)->next)
        if (may_fill(s, app, hd_unit_treq(u, t)->core,
                     hd_unit_treq(u, t)->warp))
            return FILL_L2;
    return s->tlb_fill_without[app][0];
}

static uint32_t fill_asked(struct hd_unit *u, uint32_t entry,
                           const struct hd_xlate *x)
{
    const struct hd_mshr_entry *e = &u->miss.v[entry];
    const struct hd_treq *first = hd_unit_treq(u, e->first);
    struct heddle_q_tlb_fill q = {.app = first->app,
                                  .core = first->core,
                                  .warp = first->warp,
                                  .vpn = first->vpn.v,
                                  .pages = x->pages,
                                  .requesters = e->n,
                                  .who = u->m->who};
    uint32_t n = 0;

    for (uint32_t t = e->first; t != HD_NONE; t = hd_unit_treq(u, t)->next)
        u->m->who[n++] =
            (uint64_t)hd_unit_treq(u, t)->core << 16 | hd_unit_treq(u, t)->warp;
    return (uint32_t)hd_ask_tlb_fill(&u->m->fill, &q);
}

static HD_HOT void fill(struct hd_unit *u, uint32_t entry,
                        const struct hd_xlate *x)
{
    const struct hd_treq *q = hd_unit_treq(u, u->miss.v[entry].first);
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
    struct hd_treq *q = hd_unit_treq(u, u->miss.v[entry].first);
    hd_time looked = q->looked, joined = q->walk, arrived = q->arrived;
    hd_time at = hd_max_u64(now, looked), queued = hd_max_u64(joined, looked);
    hd_time walk = hd_min_u64(hd_max_u64(w->began, queued), at);
    struct hd_xlate x = {q->vpn, {(pte & HD_PT_FRAME) / HD_PAGE_BYTES}, 1, 1};

    if (HD_UNLIKELY(!(pte & HD_PT_PRESENT)))
        return false;
    n = hd_unit_row(u, q->app);
    if (HD_LIKELY(may_fill(m->steer, q->app, q->core, q->warp) ||
                  m->steer->tlb_fill_without[q->app][0] == FILL_L2)) {
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
    bool found = hd_l2tlb_translate(u, w, w->app, w->vpn, &x) ||
                 hd_ptables_large(u->m->w.tables, w->app, w->vpn, &x);

    if (HD_LIKELY(found) && u->m->tlb_cfg.mode.kind == HD_FULL)
        fill(u, entry, &x);
    while (t != HD_NONE) {
        struct hd_treq *q = hd_unit_treq(u, t);
        uint32_t next = q->next;
        hd_time joined = q->walk;
        struct hd_xlate own = x; /* unless the page was split under the walk */

        if (HD_LIKELY(q->vpn.v - x.vpn.v < x.pages && hd_unit_here(u, q, &x)) ||
            hd_l2tlb_translate(u, NULL, q->app, q->vpn, &own)) {
            q->walk = began;
            q->references = w->references;
            hd_l2tlb_answer(u, &own, joined, hd_max_u64(now, q->looked), t);
        } else {
            hd_treq_append(u->m->w.treqs, &absent, &last, t);
        }
        t = next;
    }
    hd_mshr_give(&u->miss, entry);
    if (HD_UNLIKELY(absent != HD_NONE))
        hd_l2tlb_fault(u, now, absent, began);
}

HD_HOT void hd_l2tlb_complete(struct hd_unit *u, hd_time now, uint32_t entry)
{
    if (HD_UNLIKELY(!hd_unit_calm(u) || *u->m->sized != 0 ||
                    u->miss.v[entry].n != 1 || u->walk[entry].references == 0 ||
                    !complete_one(u, now, entry)))
        complete_other(u, now, entry);
}

/*
 * l1tlb.c - the L1 TLB of a core: look-ups, misses in flight, answers.
 *
 * The first line of each page of an instruction looks it up.  A miss takes an
 * MSHR and asks the level below; later misses of the page join it.  The lines
 * park at the MSHR until the translation has come, and then go on to the L1
 * before newer instructions.
 *
 * What goes on while a miss is outstanding is l1tlb.blocking (Pichai et al.,
 * 6.1 to 6.3).  "none": hits and misses (their future work).  "full": nothing
 * of other instructions; the head of the line waits.  "hits": whatever hits.
 * One instruction of the core owns the walks, with all its missing pages, and
 * its own lines that hit go on, too.  A miss of a page in flight joins it.
 * Other misses park without an MSHR, in order of arrival, and the line goes on
 * behind them.  When the owner's last translation has come the oldest of them
 * is looked up again, a page at a time, at the TLB's port and before the head
 * of the line: a page that hits by now goes on to the L1 as any hit; the first
 * instruction that misses owns the walks.  So does an owner with more missing
 * pages than MSHRs: what is left over parks, and goes on as they become free.
 * Stores, and atomics, are as loads.  Invariants: as long as lines wait so, an
 * owner's miss is outstanding or the next look-up is under way; they are in
 * order of arrival, so those of one instruction lie together, and an owner's
 * come first; none but an owner's takes an MSHR while they wait.
 *
 * A page that has to come from the host (vm.paging=fault) takes far too long to
 * hold an MSHR: when the unit below says that the request waits there, the
 * entry is lent (mem/mshr.h), and the miss no longer counts as outstanding. Its
 * lines stay with it, and later misses of the page join as ever.  So it is
 * where an entry of a coalesced region hits, and the page is still on the host
 * (hd_l1tlb_here).
 *
 * SPDX-License-Identifier: MIT
 */
#include "lsu.h"

/* ---- the L1 TLB --------------------------------------------------------- */

hd_time hd_l1tlb_latency(const struct hd_gpu *g)
{
    const struct hd_tlb_cfg *cfg = &g->m->l1tlb;

    if (g->translate == 0 || cfg->mode.kind == HD_OFF)
        return 0;
    return (cfg->mode.kind == HD_FIXED ? cfg->mode.fixed : cfg->latency) *
           g->cycle;
}

/* A page that has to come from the host first. */
static bool absent(const struct hd_core *c, uint64_t vpn)
{
    struct hd_xlate x;

    return c->gpu->m->vm.paging == HD_PAGING_FAULT &&
           hd_ptables_absent(c->gpu->tables, c->app, (hd_vpn){vpn}, &x);
}

static uint64_t mapped(struct hd_core *c, uint64_t vpn)
{
    struct hd_xlate x;
    hd_vpn v = {vpn};

    if (!hd_ptables_find(c->gpu->tables, c->app, v, &x)) {
        hd_err_set(c->gpu->env->err, HEDDLE_EDATA,
                   "application %u: address 0x%llx lies in no allocation",
                   c->app, (unsigned long long)vpn << HD_PAGE_SHIFT);
        return 0;
    }
    return hd_xlate_frame(&x, v).v;
}

/* How many misses have joined one, as its request says it to who answers. */
static inline uint8_t merged(const struct hd_mshr_entry *m)
{
    return (uint8_t)hd_min_u64(m->last, UINT8_MAX);
}

/* Sends a miss down, of an instruction of a warp: an MSHR is free, and taken.
 */
static uint32_t send(struct hd_core *c, uint64_t vpn, uint32_t memop,
                     uint32_t warp, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    uint32_t e = hd_mshr_take(&c->tlb_mshr, vpn);
    uint32_t treq = hd_treq_take(g->treqs);
    struct hd_treq *q = &g->treqs->v[treq];

    *hd_l1tlb_flying(c, vpn) = (uint16_t)e;
    c->tlb_mshr.v[e].live = treq + 1;
    c->tlb_mshr.v[e].last = 0;
    c->s->miss_op = memop;
    q->vpn.v = vpn;
    q->born = t + g->tlb_ticks;
    q->walk = 0;
    q->tag = e;
    q->client = q->core = (uint16_t)c->id;
    q->warp = (uint16_t)warp;
    q->app = (uint8_t)c->app;
    q->merged = q->hit = 0;
    q->references = 0;
    c->tlb_mshr.v[e].flags = memop << 8;
    c->below_tlb.send(c->below_tlb.self, q->born, treq);
    return e;
}

/* Whether a miss of the instruction at the head parks without an MSHR, where
 * hits pass: another one owns the walks, or is going to. */
static bool must_park(const struct hd_core *c, const struct hd_lines *op)
{
    return c->s->wait_first != HD_NONE || hd_mshr_full(&c->tlb_mshr) ||
           (hd_mshr_used(&c->tlb_mshr) > 0 && c->s->miss_op != op->memop);
}

/* Sends a TLB miss down, joins one, or parks.  False: blocked.  What is known
 * to be nowhere is not looked for again: only the fill of another page can have
 * come since (hd_l1tlb_translated). */
static HD_INLINE bool tlb_miss(struct hd_core *c, struct hd_lines *op,
                               struct hd_lsu_page *page, hd_time t, bool plain)
{
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;
    uint32_t e;

    if (page->frame != HD_PAGE_NOWHERE) {
        e = hd_mshr_find(&c->tlb_mshr, page->vpn);
        if (e != HD_NONE) {
            *hd_l1tlb_flying(c, page->vpn) = (uint16_t)e;
            hd_l1tlb_join(c, op, (uint32_t)(page - op->page), e);
            return true;
        }
    }
    page->frame = HD_PAGE_UNKNOWN;
    if (cfg->blocking == HD_UNDER_HITS && must_park(c, op)) {
        page->frame = HD_PAGE_PARKED;
        c->tlb_count[HD_L1TLB_PARKED]++;
        return true;
    }
    if (hd_mshr_full(&c->tlb_mshr)) {
        hd_lsu_block(c, HD_BLOCK_TLB_MSHR, &c->tlb_count[HD_L1TLB_FULL]);
        if (plain || (cfg->mode.kind == HD_FULL && hd_tlb_silent(&c->l1tlb)))
            page->frame = HD_PAGE_NOWHERE;
        return false;
    }
    e = send(c, page->vpn, op->memop, op->warp, t);
    hd_l1tlb_await(op, (uint32_t)(page - op->page), &c->tlb_mshr.v[e], e);
    return true;
}

/* With sim.check: what the L1 TLB says is what the page table says, of a page
 * that is there. */
static void confirm(struct hd_core *c, uint64_t vpn, uint64_t pfn)
{
    if (absent(c, vpn))
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB gave frame 0x%llx for page 0x%llx of "
                   "application %u, which is on the host",
                   c->id, (unsigned long long)pfn, (unsigned long long)vpn,
                   c->app);
    else if (mapped(c, vpn) != pfn)
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB puts page 0x%llx of application %u "
                   "into frame 0x%llx, the page table does not",
                   c->id, (unsigned long long)vpn, c->app,
                   (unsigned long long)pfn);
}

/* Whether a warp's page hits, and in which frame it lies then. */
static bool find(struct hd_core *c, hd_vpn vpn, uint32_t warp, uint64_t *frame)
{
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;
    struct hd_xlate x;

    if (cfg->mode.kind == HD_FULL) {
        if (!hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id, warp, &x) ||
            !hd_l1tlb_here(c, vpn, &x))
            return false;
        *frame = hd_xlate_frame(&x, vpn).v;
        if (HD_UNLIKELY(c->gpu->env->check))
            confirm(c, vpn.v, *frame);
        return true;
    }
    if (cfg->mode.kind == HD_OFF || absent(c, vpn.v))
        return false;
    *frame = mapped(c, vpn.v);
    return true;
}

bool hd_l1tlb_open(struct hd_core *c, uint32_t memop)
{
    if (c->gpu->m->l1tlb.blocking != HD_UNDER_NONE ||
        hd_mshr_used(&c->tlb_mshr) == 0 || c->s->miss_op == memop)
        return true;
    hd_lsu_block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
    return false;
}

/* hd_l1tlb_look_up where it is not plain. */
static HD_APART bool look_up_other(struct hd_core *c, struct hd_lines *op,
                                   struct hd_lsu_page *page, hd_time t,
                                   bool *hit)
{
    hd_vpn vpn = {page->vpn};

    if (!hd_l1tlb_open(c, op->memop))
        return false;
    if (op->direct && !absent(c, vpn.v)) {
        c->tlb_count[HD_L1TLB_DIRECT]++;
        page->frame = mapped(c, vpn.v);
        return true;
    }
    if (page->frame == HD_PAGE_UNKNOWN) /* else it is known to miss */
        *hit = find(c, vpn, op->warp, &page->frame);
    return *hit || tlb_miss(c, op, page, t, false);
}

/* The same where it is. */
static inline bool look_up_plain(struct hd_core *c, struct hd_lines *op,
                                 struct hd_lsu_page *page, hd_time t, bool *hit)
{
    hd_vpn vpn = {page->vpn};
    struct hd_xlate x;

    if (page->frame == HD_PAGE_UNKNOWN &&
        hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id, op->warp, &x)) {
        page->frame = hd_xlate_frame(&x, vpn).v;
        *hit = true;
        return true;
    }
    return tlb_miss(c, op, page, t, true);
}

HD_HOT bool hd_l1tlb_look_up(struct hd_core *c, struct hd_lines *op,
                             struct hd_lsu_page *page, hd_time t)
{
    struct hd_core_state *s = c->s;
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;
    bool hit = false, port = true;

    if (HD_LIKELY((c->plain & HD_PLAIN_TLB) != 0)) {
        if (!look_up_plain(c, op, page, t, &hit))
            return false;
    } else if (c->gpu->translate == 0) {
        page->frame = mapped(c, page->vpn);
        return true;
    } else {
        if (!look_up_other(c, op, page, t, &hit))
            return false;
        if (op->direct && page->frame < HD_PAGE_MISSING && !hit)
            return true; /* it was not looked up */
        port = cfg->mode.kind == HD_FULL || cfg->mode.kind == HD_OFF;
    }
    c->tlb_count[HD_L1TLB_LOOKUPS]++;
    c->tlb_count[HD_L1TLB_HITS + !hit]++;
    if (HD_LIKELY(port))
        hd_lsu_use_port(&s->tlb_free, &s->tlb_used, cfg->ports, t,
                        c->gpu->cycle);
    return true;
}

/* The pages of the head of the line must be looked up anew. */
static void forget(struct hd_core *c)
{
    struct hd_lines *op = &c->lsu[c->s->lsu_first];

    for (uint32_t i = 0; c->s->lsu_n > 0 && i < op->pages; i++)
        if (op->page[i].frame == HD_PAGE_NOWHERE)
            op->page[i].frame = HD_PAGE_UNKNOWN;
}

/* An answer that left before a mapping changed and comes after it is what the
 * page table says now. */
static void refresh(const struct hd_core *c, struct hd_treq *q)
{
    for (uint32_t i = 0; i < q->x.pages; i += q->x.page_pages) {
        hd_vpn v = {q->x.vpn.v + i};
        struct hd_xlate x;
        if (hd_ptables_find(c->gpu->tables, c->app, v, &x) &&
            x.page_pages >= q->x.page_pages &&
            hd_xlate_frame(&x, v).v == hd_xlate_frame(&q->x, v).v)
            continue;
        if (hd_ptables_find(c->gpu->tables, c->app, q->vpn, &x))
            q->x = x;
        return;
    }
}

void hd_gpu_shoot(void *self, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until)
{
    struct hd_gpu *g = self;

    if (g->translate == 0 || g->m->l1tlb.mode.kind != HD_FULL)
        return; /* nothing is held that could be wrong */
    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (app != HD_APP_NONE && c->app != app)
            continue;
        hd_tlb_shoot(&c->l1tlb, app, vpn, pages);
        c->s->tlb_free = hd_max_u64(c->s->tlb_free, until);
        c->s->tlb_used = 0;
    }
}

/* The lines that waited for a page, the newest `last`, go on behind those that
 * go on already; `frame` is their page's first line. */
static inline void release(struct hd_core *c, uint32_t last, uint64_t frame,
                           hd_time t, hd_time walk)
{
    struct hd_core_state *s = c->s;
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
    if (s->replay_first == HD_NONE)
        s->replay_first = first;
    else
        c->parked[s->replay_last].next = first;
    s->replay_last = last;
}

/* ---- misses that park --------------------------------------------------- */

/* Whether the instruction of the oldest line that waits without an MSHR owns
 * the walks, or may, and an MSHR is free. */
static bool may_walk(const struct hd_core *c)
{
    const struct hd_core_state *s = c->s;

    return hd_mshr_used(&c->tlb_mshr) == 0 ||
           (s->miss_op == c->parked[s->wait_first].memop &&
            !hd_mshr_full(&c->tlb_mshr));
}

/* If so, its page is looked up again as soon as the port allows. */
static inline void call(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (HD_LIKELY(s->wait_first == HD_NONE) || s->again || !may_walk(c))
        return;
    s->again = 1;
    hd_core_message(c, hd_max_u64(t, s->tlb_free), HD_MSG_AGAIN, 0, 0);
}

bool hd_l1tlb_wait(struct hd_core *c, const struct hd_lines *op,
                   const struct hd_lsu_line *x)
{
    struct hd_core_state *s = c->s;
    uint32_t p = hd_l1tlb_place(c, op, x, HD_NONE);

    if (p == HD_NONE)
        return false;
    c->page[p] = op->page[x->page].vpn;
    s->waiting[op->warp]++;
    s->waits |= 1ull << op->warp;
    if (s->wait_first == HD_NONE)
        s->wait_first = p;
    else
        c->parked[s->wait_last].next = p;
    s->wait_last = p;
    call(c, s->local); /* there may have been no room for it so long that those
                          for whom its miss had to wait are gone */
    return true;
}

/* Takes the lines of the oldest instruction's first page out of those that
 * wait: a list, the newest first.  *n: how many. */
static uint32_t take_page(struct hd_core *c, uint32_t *n)
{
    struct hd_core_state *s = c->s;
    uint32_t memop = c->parked[s->wait_first].memop, out = HD_NONE;
    uint32_t warp = c->memop[memop].warp;
    uint64_t vpn = c->page[s->wait_first];
    uint32_t *link = &s->wait_first, last = HD_NONE, p;

    *n = 0;
    while ((p = *link) != HD_NONE && c->parked[p].memop == memop) {
        if (c->page[p] != vpn) {
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
    }
    s->waiting[warp] = (uint16_t)(s->waiting[warp] - *n);
    if (s->waiting[warp] == 0)
        s->waits &= ~(1ull << warp);
    return out;
}

/* What the instruction at the head knows of a page, if it is that one. */
static void learn(struct hd_core *c, uint32_t memop, uint64_t vpn,
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

void hd_l1tlb_again(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;
    const struct hd_gpu *g = c->gpu;
    uint32_t oldest = s->wait_first, memop = c->parked[oldest].memop, n, e;
    uint32_t lines;
    uint32_t warp = c->memop[memop].warp;
    hd_vpn vpn = {c->page[oldest]};
    struct hd_mshr_entry *m;
    uint64_t frame;

    s->again = 0;
    if (s->tlb_free > t || !may_walk(c)) { /* something has come between */
        call(c, t);
        return;
    }
    lines = take_page(c, &n);
    hd_lsu_use_port(&s->tlb_free, &s->tlb_used, g->m->l1tlb.ports, t, g->cycle);
    if (find(c, vpn, warp, &frame)) {
        c->tlb_count[HD_L1TLB_PARKED_HITS]++;
        learn(c, memop, vpn.v, frame);
        release(c, lines,
                frame << (HD_PAGE_SHIFT - g->line_shift) | HD_PARKED_HIT, t, 0);
    } else {
        e = hd_mshr_find(&c->tlb_mshr, vpn.v);
        if (e == HD_NONE) {
            e = send(c, vpn.v, memop, warp, t);
        } else { /* it waits for the host */
            c->tlb_mshr.v[e].last++;
            c->tlb_count[HD_L1TLB_MERGES]++;
        }
        learn(c, memop, vpn.v, HD_PAGE_MISSING | e);
        m = &c->tlb_mshr.v[e];
        c->parked[oldest].next = m->first;
        m->first = lines;
        m->n += n;
    }
    call(c, t);
}

/* ---- answers ------------------------------------------------------------ */

/* What stops the load/store unit because of the L1 TLB. */
enum { STOPPED = HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS | HD_BLOCK_PARKED };

/* Counts the warps that a miss of this warp has held up without that they wait
 * for its page. */
static HD_APART void count_held(struct hd_core *c, uint32_t warp)
{
    const struct hd_core_state *s = c->s;
    uint64_t held = s->waits;

    if ((s->blocked & STOPPED) != 0) {
        held |= s->lsu_full;
        for (uint32_t i = 0; i < s->lsu_n; i++)
            held |= 1ull << c->lsu[(s->lsu_first + i) % c->lsu_room].warp;
    }
    c->tlb_count[HD_L1TLB_HELD] += hd_bit_count(held & ~(1ull << warp));
}

static HD_APART void tell_translated(const struct hd_core *c,
                                     const struct hd_treq *q, uint64_t frame,
                                     hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct heddle_n_translated n = {.core = c->id,
                                    .app = c->app,
                                    .warp = q->warp,
                                    .vpn = q->vpn.v,
                                    .frame = frame,
                                    .cycles = hd_recip_div(g->per_cycle,
                                                           t - q->born)};

    hd_slots_note(g->env->slots, HEDDLE_NOTE_translated, &n);
}

HD_HOT void hd_l1tlb_translated(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_treq *q = &g->treqs->v[treq];
    uint32_t i = q->tag;
    struct hd_mshr_entry *m = &c->tlb_mshr.v[i];
    uint64_t pfn;

    if (HD_UNLIKELY(*g->changes != 0))
        refresh(c, q);
    pfn = hd_xlate_frame(&q->x, q->vpn).v;
    if (HD_UNLIKELY(c->l1tlb.watched[HEDDLE_NOTE_translated] != 0))
        tell_translated(c, q, pfn, t);

    if (HD_UNLIKELY((s->blocked & STOPPED) != 0 || s->waits != 0) &&
        q->hit >= HD_TREQ_MERGED)
        count_held(c, q->warp);
    if (g->m->l1tlb.mode.kind == HD_FULL)
        hd_tlb_fill_missed(&c->l1tlb, c->app, c->id, q->warp, q->vpn, &q->x,
                           q->hit >= HD_TREQ_MERGED ? 0 : 1);
    if (HD_UNLIKELY(q->x.pages > 1))
        forget(c); /* it may hold the page that is waited for */
    q->merged = merged(m);
    if (HD_UNLIKELY(q->merged >= g->stalled[c->app]))
        g->stalled[c->app] = q->merged + 1u;
    hd_hist_add(&g->xlate_latency[c->app],
                hd_recip_div(g->per_cycle, t - q->born));
    release(c, m->first, pfn << (HD_PAGE_SHIFT - g->line_shift), t,
            q->walk != 0 ? t - q->walk : 0);
    if (s->lsu_n > 0 && c->lsu[s->lsu_first].memop == m->flags >> 8)
        c->lsu[s->lsu_first].page[m->flags & 0xff].frame = pfn;
    hd_mshr_give(&c->tlb_mshr, i);
    s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    call(c, t);
    c->below_tlb.heard(c->below_tlb.self, treq);
    hd_treq_give(g->treqs, treq);
}

/* ---- far faults --------------------------------------------------------- */

void hd_l1tlb_faulted(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_treq *q = &c->gpu->treqs->v[treq];

    q->merged = merged(&c->tlb_mshr.v[q->tag]);
    c->below_tlb.heard(c->below_tlb.self, treq);
    hd_mshr_lend(&c->tlb_mshr);
    c->s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    call(c, t);
}

void hd_l1tlb_replayed(struct hd_core *c, uint32_t treq, hd_time t)
{
    hd_time waited = hd_faults_waited(c->gpu->faults, treq, t);
    uint32_t e = c->gpu->treqs->v[treq].tag;

    for (uint32_t p = c->tlb_mshr.v[e].first; p != HD_NONE;
         p = c->parked[p].next) {
        hd_time *o = &c->fault[c->parked[p].memop];
        *o = hd_max_u64(*o, waited);
    }
    hd_mshr_recall(&c->tlb_mshr);
    hd_l1tlb_translated(c, treq, t);
    hd_mshr_recalled(&c->tlb_mshr);
}

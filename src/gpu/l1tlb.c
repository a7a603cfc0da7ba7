/*
 * l1tlb.c - the L1 TLB of a core: look-ups, misses in flight, answers.
 *
 * The first line of each page of an instruction looks it up.  A miss takes an
 * MSHR and asks the level below; later misses of the page join it.  The lines
 * park at the MSHR until the translation has come, and then go on to the L1
 * before newer instructions.  A blocking TLB (Pichai et al.) holds up other
 * instructions while a miss is outstanding: all of them, or only those that
 * miss too.
 *
 * A page that has to come from the host (vm.paging=fault) takes far too long to
 * hold an MSHR: when the unit below says that the request waits there, the
 * entry is lent (mem/mshr.h).  Its lines stay with it, and later misses of the
 * page join as ever.  So it is where an entry of a coalesced region hits, and
 * the page is still on the host (hd_l1tlb_here).
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

/* Sends a miss down: an MSHR is free. */
static void send(struct hd_core *c, struct hd_lines *op,
                 struct hd_lsu_page *page, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    uint64_t vpn = page->vpn;
    uint32_t e = hd_mshr_take(&c->tlb_mshr, vpn);
    uint32_t treq = hd_treq_take(g->treqs);
    struct hd_treq *q = &g->treqs->v[treq];

    *hd_l1tlb_flying(c, vpn) = (uint16_t)e;
    c->tlb_mshr.v[e].live = treq + 1;
    c->tlb_mshr.v[e].last = 0;
    c->s->miss_op = op->memop;
    q->vpn.v = vpn;
    q->born = t + g->tlb_ticks;
    q->walk = 0;
    q->tag = e;
    q->client = q->core = (uint16_t)c->id;
    q->warp = op->warp;
    q->app = (uint8_t)c->app;
    q->merged = q->hit = 0;
    q->references = 0;
    hd_l1tlb_await(op, (uint32_t)(page - op->page), &c->tlb_mshr.v[e], e);
    c->below_tlb.send(c->below_tlb.self, q->born, treq);
}

/* Sends a TLB miss down, or joins one.  False: blocked.  What is known to be
 * nowhere is not looked for again: only the fill of another page can have
 * come since (hd_l1tlb_translated). */
static HD_INLINE bool tlb_miss(struct hd_core *c, struct hd_lines *op,
                               struct hd_lsu_page *page, hd_time t, bool plain)
{
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;

    if (page->frame != HD_PAGE_NOWHERE) {
        uint32_t e = hd_mshr_find(&c->tlb_mshr, page->vpn);
        if (e != HD_NONE) {
            *hd_l1tlb_flying(c, page->vpn) = (uint16_t)e;
            hd_l1tlb_join(c, op, (uint32_t)(page - op->page), e);
            return true;
        }
    }
    page->frame = HD_PAGE_UNKNOWN;
    if (!plain && cfg->blocking == 1 && hd_mshr_used(&c->tlb_mshr) > 0 &&
        c->s->miss_op != op->memop) {
        hd_lsu_block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    }
    if (hd_mshr_full(&c->tlb_mshr)) {
        hd_lsu_block(c, HD_BLOCK_TLB_MSHR, &c->tlb_count[HD_L1TLB_FULL]);
        if (plain || (cfg->mode.kind == HD_FULL && hd_tlb_silent(&c->l1tlb)))
            page->frame = HD_PAGE_NOWHERE;
        return false;
    }
    send(c, op, page, t);
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

/* hd_l1tlb_look_up where it is not plain. */
static HD_APART bool look_up_other(struct hd_core *c, struct hd_lines *op,
                                   struct hd_lsu_page *page, hd_time t,
                                   bool *hit)
{
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;
    hd_vpn vpn = {page->vpn};
    struct hd_xlate x;

    if (cfg->blocking == 2 && hd_mshr_used(&c->tlb_mshr) > 0 &&
        c->s->miss_op != op->memop) {
        hd_lsu_block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    }
    if (page->frame != HD_PAGE_UNKNOWN) {
        /* it is known to miss */
    } else if (cfg->mode.kind == HD_FULL) {
        *hit = hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id, op->warp, &x) &&
               hd_l1tlb_here(c, vpn, &x);
        if (*hit)
            page->frame = hd_xlate_frame(&x, vpn).v;
        if (*hit && HD_UNLIKELY(c->gpu->env->check))
            confirm(c, vpn.v, page->frame);
    } else if (cfg->mode.kind != HD_OFF && !absent(c, vpn.v)) {
        *hit = true;
        page->frame = mapped(c, vpn.v);
    }
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
    c->below_tlb.heard(c->below_tlb.self, treq);
    hd_treq_give(g->treqs, treq);
}

/* ---- far faults --------------------------------------------------------- */

void hd_l1tlb_faulted(struct hd_core *c, uint32_t treq)
{
    struct hd_treq *q = &c->gpu->treqs->v[treq];

    q->merged = merged(&c->tlb_mshr.v[q->tag]);
    c->below_tlb.heard(c->below_tlb.self, treq);
    hd_mshr_lend(&c->tlb_mshr);
    c->s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
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

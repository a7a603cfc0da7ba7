/*
 * l1tlb.c - the L1 TLB of a core: look-ups, misses in flight, answers.
 *
 * The first line of each page of an instruction looks it up.  A miss takes an
 * MSHR and asks the level below; later misses of the page join it.  The lines
 * park at the MSHR until the translation has arrived, and then proceed to the
 * L1 before newer instructions.
 *
 * The unit below is notified of an answer's use by a call, without an event
 * (hd_tbelow.notified closes the account of the walk, with the misses that
 * joined up to then): as a message it could be counted after an epoch that ends
 * in between.  For the same reason hd_gpu.stalled, the most misses that one
 * translation answered, which a policy's epoch reads, is written directly.
 *
 * Mechanisms of later proposals are off by default and have files of their own:
 * what proceeds while a miss is in flight (blocking.c), look-ups ahead of lines
 * (overlap.c), the buffer next to the L1 TLB and prefetched translations
 * (l1side.c), shootdowns and answers that a new mapping has overtaken
 * (remap.c), pages that migrate from the host (farfault.c), functional warming
 * (warm.c), inspection and checks (look.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "fabric/home.h"
#include "l1tlbstate.h"

#define HD_PART    l1tlb
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "core/l1tlb.def"
#include "kit/rows.h"

#define HD_PART    l1side
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "core/l1side.def"
#include "kit/rows.h"

/* ---- look-ups ------------------------------------------------------------ */

bool hd_l1tlb_not_resident(const struct hd_core *c, uint64_t vpn)
{
    struct hd_xlate x;

    return c->gpu->m->vm.paging == HD_PAGING_FAULT &&
           hd_ptables_nonresident(c->gpu->tables, c->app, (hd_vpn){vpn}, &x);
}

/* A page that is used without a look-up below may have waited for that. */
static bool l1tlb_touch(const struct hd_core *c, hd_vpn vpn, struct hd_xlate *x)
{
    struct hd_home *h = c->gpu->home;

    return h != NULL &&
           hd_home_touch(h, hd_home_of_core(h, c->id), c->app, vpn, x);
}

uint64_t hd_l1tlb_mapped(struct hd_core *c, uint64_t vpn)
{
    struct hd_xlate x;
    hd_vpn v = {vpn};

    if (!hd_ptables_find(c->gpu->tables, c->app, v, &x) &&
        !l1tlb_touch(c, v, &x)) {
        hd_err_set(c->gpu->env->err, HEDDLE_EDATA,
                   "application %u: address 0x%llx is in no allocation", c->app,
                   (unsigned long long)vpn << HD_PAGE_SHIFT);
        return 0;
    }
    return hd_xlate_frame(&x, v).v;
}

void hd_l1tlb_confirm(struct hd_core *c, uint64_t vpn, uint64_t pfn)
{
    if (hd_l1tlb_not_resident(c, vpn))
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB gave frame 0x%llx for page 0x%llx of "
                   "application %u, which is not resident",
                   c->id, (unsigned long long)pfn, (unsigned long long)vpn,
                   c->app);
    else if (hd_l1tlb_mapped(c, vpn) != pfn)
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB puts page 0x%llx of application %u "
                   "into frame 0x%llx, but the page table does not",
                   c->id, (unsigned long long)vpn, c->app,
                   (unsigned long long)pfn);
}

/* ---- misses -------------------------------------------------------------- */

uint32_t hd_l1tlb_send(struct hd_core *c, uint64_t vpn, uint32_t memop,
                       uint32_t warp, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    uint32_t e = hd_mshr_take(&c->tlb_mshr, vpn);
    uint32_t treq = hd_treq_take(g->treqs);
    struct hd_treq *q = &g->treqs->v[treq];

    c->flying[hd_l1tlb_recent(vpn)] = (uint16_t)e;
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
    q->writes = hd_memop_kind(&c->memop[memop]) != HEDDLE_OP_LOAD;
    q->pc = c->pc[memop];
    q->references = 0;
    c->tlb_mshr.v[e].flags = memop << 8;
    if (c->below_tlb.take != NULL && q->born == hd_events_now(g->env->ev) &&
        c->awake)
        hd_treq_append(g->treqs, &c->asked, &c->asked_last, treq);
    else
        c->below_tlb.send(c->below_tlb.self, q->born, treq);
    return e;
}

/* Page i of the instruction at the head waits at an MSHR. */
static void l1tlb_await(struct hd_core *c, struct hd_lines *op, uint32_t i,
                        uint32_t e)
{
    op->page[i].frame = HD_PAGE_MISSING | e;
    c->tlb_mshr.v[e].flags = op->memop << 8 | i;
}

/* The MSHR of a page that was missed a short while ago, as most that miss were,
 * or HD_NONE: not known.  Where an entry is of one page, a page in flight is
 * not in the TLB, and the look-up can be skipped if no watcher is notified of
 * it.  An ideal TLB holds a page as soon as it is resident, before its answer
 * arrives. */
static inline uint32_t l1tlb_in_flight(const struct hd_core *c, uint64_t vpn)
{
    uint32_t e = c->flying[hd_l1tlb_recent(vpn)];
    const struct hd_mshr_entry *m = &c->tlb_mshr.v[e];

    return m->key == vpn && m->live != 0 && c->l1tlb.quiet &&
                   hd_tlb_plain(&c->l1tlb) &&
                   c->gpu->m->l1tlb.mode.kind == HD_FULL
               ? e
               : HD_NONE;
}

/* The miss of a page of the instruction at the head joins one in flight, e if
 * that is known, or parks, or is sent down.  False: blocked. */
static bool l1tlb_miss(struct hd_core *c, struct hd_lines *op, uint32_t i,
                       uint32_t e, hd_time t)
{
    uint64_t vpn = op->page[i].vpn;

    if (e == HD_NONE)
        e = hd_mshr_find(&c->tlb_mshr, vpn);
    if (e != HD_NONE) {
        c->flying[hd_l1tlb_recent(vpn)] = (uint16_t)e;
        hd_l1tlb_join(c, e);
        if (HD_UNLIKELY(c->gpu->joins))
            hd_farfault_joined(c, e, t);
    } else if (c->gpu->m->l1tlb.blocking == HD_UNDER_HITS &&
               hd_blocking_must_park(c, op)) {
        op->page[i].frame = HD_PAGE_PARKED;
        c->tlb_count[HD_L1TLB_PARKED]++;
        return true;
    } else if (hd_mshr_full(&c->tlb_mshr)) {
        hd_lsu_block(c, HD_BLOCK_TLB_MSHR, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    } else {
        e = hd_l1tlb_send(c, vpn, op->memop, hd_lsu_origin(c, op, i), t);
    }
    l1tlb_await(c, op, i, e);
    return true;
}

HD_HOT bool hd_l1tlb_take(struct hd_core *c, struct hd_lines *op, uint32_t i,
                          hd_time t, uint16_t *guess)
{
    struct hd_core_state *s = c->s;
    const struct hd_gpu *g = c->gpu;
    const struct hd_tlb_cfg *cfg = &g->m->l1tlb;
    struct hd_lsu_page *page = &op->page[i];
    uint32_t e;
    bool hit;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    if (HD_UNLIKELY(g->translate == 0)) {
        page->frame = hd_l1tlb_mapped(c, page->vpn);
        return true;
    }
    if (!hd_blocking_may_pass(c, op->memop))
        return false;
    if (HD_UNLIKELY(op->direct) && !hd_l1tlb_not_resident(c, page->vpn)) {
        c->tlb_count[HD_L1TLB_DIRECT]++;
        page->frame = hd_l1tlb_mapped(c, page->vpn);
        return true;
    }
    e = l1tlb_in_flight(c, page->vpn);
    hit = e == HD_NONE &&
          hd_l1tlb_find(c, (hd_vpn){page->vpn}, hd_lsu_origin(c, op, i), guess,
                        &page->frame);
    if (!hit && !l1tlb_miss(c, op, i, e, t))
        return false;
    if (HD_UNLIKELY(!hit && !c->l1tlb.quiet && cfg->mode.kind == HD_FULL))
        hd_tlb_missed(&c->l1tlb, c->app, (hd_vpn){page->vpn}, c->id, op->warp);
    c->tlb_count[HD_L1TLB_LOOKUPS]++;
    c->tlb_count[HD_L1TLB_HITS + !hit]++;
    if (HD_LIKELY(cfg->mode.kind == HD_FULL || cfg->mode.kind == HD_OFF))
        hd_lsu_use_port(&s->tlb_free, &s->tlb_used, cfg->ports, t, g->cycle);
    return true;
}

/* ---- answers ------------------------------------------------------------- */

HD_HOT bool hd_l1tlb_park(struct hd_core *c, struct hd_lines *op,
                          const struct hd_lsu_line *x)
{
    struct hd_lsu_page *page = &op->page[x->page];
    uint32_t p = hd_places_take(&c->parked_places), e = (uint32_t)page->frame;

    if (HD_UNLIKELY(p == HD_NONE)) {
        hd_lsu_block(c, HD_BLOCK_PARKED, &c->tlb_count[HD_L1TLB_PARKED_FULL]);
        return false;
    }
    c->parked[p].what = (uint64_t)x->bytes << HD_PARKED_BYTES | x->place;
    c->parked[p].memop = op->memop;
    if (e == HD_NONE) {
        uint32_t first =
            (uint32_t)((page->frame & ~HD_PAGE_MISSING) >> HD_PAGE_FIRST);
        if (first != 0)
            c->page[first - 1] |= HD_PAGE_MORE;
        else
            page->frame |= (p + 1ull) << HD_PAGE_FIRST;
        hd_blocking_wait(c, page->vpn, hd_lsu_origin(c, op, x->page), p);
        return true;
    }
    c->parked[p].next = c->tlb_mshr.v[e].first;
    c->tlb_mshr.v[e].first = p;
    c->tlb_mshr.v[e].n++;
    return true;
}

uint32_t hd_l1tlb_sender(const struct hd_core *c, const struct hd_mshr_entry *x)
{
    uint32_t p = x->first;

    if (p == HD_NONE) /* its line found no parking place */
        return c->s->lsu_n > 0 ? c->lsu[c->s->lsu_first].memop : HD_NONE;
    while (c->parked[p].next != HD_NONE)
        p = c->parked[p].next;
    return c->parked[p].memop;
}

static uint64_t l1tlb_first_pc(const struct hd_core *c,
                               const struct hd_mshr_entry *m)
{
    uint32_t memop = hd_l1tlb_sender(c, m);

    return memop != HD_NONE ? c->pc[memop] : 0;
}

static HD_APART void l1tlb_tell_translated(const struct hd_core *c,
                                           const struct hd_treq *q,
                                           uint64_t frame, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct heddle_n_translated n = {
        .core = c->id,
        .app = c->app,
        .warp = q->warp,
        .vpn = q->vpn.v,
        .frame = frame,
        .cycles = hd_recip_div(g->per_cycle, t - q->born),
        .pc = (uint32_t)c->hand};

    hd_slots_note(g->env->slots, HEDDLE_NOTE_translated, &n);
}

HD_HOT void hd_l1tlb_answer(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_treq *q = &g->treqs->v[treq];
    uint32_t i = q->tag;
    struct hd_mshr_entry *m = &c->tlb_mshr.v[i];
    bool holds = true, in = false;
    uint64_t pfn;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    hd_core_for(c, q->warp);
    if (HD_UNLIKELY(*g->changes != 0))
        holds = hd_remap_refresh(c, q);
    pfn = hd_xlate_frame(&q->x, q->vpn).v;
    if (HD_UNLIKELY(c->l1tlb.observed)) {
        c->hand = l1tlb_first_pc(c, m);
        if (c->l1tlb.watched[HEDDLE_NOTE_translated] != 0)
            l1tlb_tell_translated(c, q, pfn, t);
    }

    if (HD_UNLIKELY((s->blocked & HD_L1TLB_STOPPED) != 0 ||
                    s->wait_first != HD_NONE) &&
        q->hit >= HD_TREQ_MERGED)
        hd_blocking_count_held(c, q->warp);
    if (g->m->l1tlb.mode.kind == HD_FULL && HD_LIKELY(holds)) {
        in = hd_tlb_fill(&c->l1tlb, c->app, c->id, q->warp, q->vpn, &q->x,
                         q->hit >= HD_TREQ_MERGED ? HEDDLE_INSERT_CAUSE_WALK
                                                  : HEDDLE_INSERT_CAUSE_HIT);
        c->tlb_count[HD_L1TLB_FILLS] += in;
    }
    if (HD_UNLIKELY(c->l1tlb.observed))
        hd_l1side_filled(c, q->vpn, in);
    q->merged = hd_l1tlb_merged(m);
    if (HD_UNLIKELY(q->merged >= g->stalled[c->app]))
        g->stalled[c->app] = q->merged + 1u;
    hd_hist_add(&g->xlate_latency[c->app],
                hd_recip_div(g->per_cycle, t - q->born));
    hd_l1tlb_release(c, m->first, pfn << (HD_PAGE_SHIFT - g->line_shift), t,
                     q->walk != 0 ? t - q->walk : 0);
    if (s->lsu_n > 0 && c->lsu[s->lsu_first].memop == m->flags >> 8)
        c->lsu[s->lsu_first].page[m->flags & 0xff].frame = pfn;
    hd_mshr_give(&c->tlb_mshr, i);
    s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    hd_blocking_call(c, t);
    c->below_tlb.notified(c->below_tlb.self, treq);
    hd_treq_give(g->treqs, treq);
}

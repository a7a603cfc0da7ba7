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
 * entry is lent (memory/mshr.h), and the miss no longer counts as outstanding.
 * Its lines stay with it, and later misses of the page join as ever.  So it is
 * where an entry of a coalesced region hits, and the page is still on the host
 * (find).
 *
 * That the answer was heard reaches the unit below at once, without an instant
 * (hd_tbelow.notified ends the account of the walk, with the misses that joined
 * up to then): a message would be counted after an epoch that lies between.  So
 * would the most misses that one translation ended (hd_gpu.stalled, which a
 * policy's epoch reads).
 *
 * SPDX-License-Identifier: MIT
 */
#include "machine.h"
#include "core.h"

#define HD_PART    l1tlb
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "core/l1tlb.def"
#include "kit/rows.h"

#define HD_PART    l1side
#define HD_CFG     struct hd_tlb_cfg
#define HD_PART_OF "core/l1side.def"
#include "kit/rows.h"

/* ---- look-ups ------------------------------------------------------------ */

/* A page that has to come from the host first. */
static bool l1tlb_not_resident(const struct hd_core *c, uint64_t vpn)
{
    struct hd_xlate x;

    return c->gpu->m->vm.paging == HD_PAGING_FAULT &&
           hd_ptables_nonresident(c->gpu->tables, c->app, (hd_vpn){vpn}, &x);
}

static uint64_t l1tlb_mapped(struct hd_core *c, uint64_t vpn)
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

/* With sim.check: what the L1 TLB says is what the page table says, of a page
 * that is there. */
static void l1tlb_confirm(struct hd_core *c, uint64_t vpn, uint64_t pfn)
{
    if (l1tlb_not_resident(c, vpn))
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB gave frame 0x%llx for page 0x%llx of "
                   "application %u, which is on the host",
                   c->id, (unsigned long long)pfn, (unsigned long long)vpn,
                   c->app);
    else if (l1tlb_mapped(c, vpn) != pfn)
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB puts page 0x%llx of application %u "
                   "into frame 0x%llx, the page table does not",
                   c->id, (unsigned long long)vpn, c->app,
                   (unsigned long long)pfn);
}

/* Whether a warp's page hits, and in which frame it lies then; it may be where
 * `guess` says, or there is none.  A hit in an entry of a coalesced region
 * whose page is on the host is a miss. */
static HD_INLINE bool l1tlb_find(struct hd_core *c, hd_vpn vpn, uint32_t warp,
                                 uint16_t *guess, uint64_t *frame)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_mode *mode = &g->m->l1tlb.mode;
    struct hd_xlate x;

    if (HD_UNLIKELY(mode->kind != HD_FULL)) {
        if (mode->kind == HD_OFF || l1tlb_not_resident(c, vpn.v))
            return false;
        *frame = l1tlb_mapped(c, vpn.v);
        return true;
    }
    if (!hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id, warp, &x, guess))
        return false;
    if (!hd_faults_here(g->faults, g->tables, c->app, vpn, &x)) {
        c->tlb_count[HD_L1TLB_ABSENT]++;
        return false;
    }
    *frame = hd_xlate_frame(&x, vpn).v;
    if (HD_UNLIKELY(g->env->check))
        l1tlb_confirm(c, vpn.v, *frame);
    return true;
}

/* ---- misses -------------------------------------------------------------- */

/* How many misses have joined one, as its request says it to who answers. */
static inline uint8_t l1tlb_merged(const struct hd_mshr_entry *m)
{
    return (uint8_t)hd_min_u64(m->last, UINT8_MAX);
}

/* The place of a page in hd_core.flying. */
static inline uint32_t l1tlb_recent(uint64_t vpn)
{
    return (uint32_t)(vpn * HD_MSHR_HASH >> 59);
}

/* A miss is looked up beside the L1 TLB first, and answered from there, as from
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
            l1tlb_confirm(c, q->vpn.v, hd_xlate_frame(&x, q->vpn).v);
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
    c->below_side = below;
    c->below_tlb =
        c->side.base_n == 0
            ? below
            : (struct hd_tbelow){l1side_ask, l1side_notified, c, NULL};
}

/* Sends a miss down, of an instruction of a warp: an MSHR is free, and taken.
 */
static uint32_t l1tlb_send(struct hd_core *c, uint64_t vpn, uint32_t memop,
                           uint32_t warp, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    uint32_t e = hd_mshr_take(&c->tlb_mshr, vpn);
    uint32_t treq = hd_treq_take(g->treqs);
    struct hd_treq *q = &g->treqs->v[treq];

    c->flying[l1tlb_recent(vpn)] = (uint16_t)e;
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
    q->writes = c->memop[memop].kind != HEDDLE_OP_LOAD;
    q->pc = c->pc[memop];
    q->references = 0;
    c->tlb_mshr.v[e].flags = memop << 8;
    c->below_tlb.send(c->below_tlb.self, q->born, treq);
    return e;
}

/* Whether a miss of the instruction at the head parks without an MSHR, where
 * hits pass: another one owns the walks, or is going to. */
static bool l1tlb_must_park(const struct hd_core *c, const struct hd_lines *op)
{
    return c->s->wait_first != HD_NONE || hd_mshr_full(&c->tlb_mshr) ||
           (hd_mshr_used(&c->tlb_mshr) > 0 && c->s->miss_op != op->memop);
}

/* Another miss of a page in flight. */
static void l1tlb_join(struct hd_core *c, uint32_t e)
{
    c->tlb_mshr.v[e].last++;
    c->tlb_count[HD_L1TLB_MERGES]++;
}

/* Page i of the instruction at the head waits at an MSHR. */
static void l1tlb_await(struct hd_core *c, struct hd_lines *op, uint32_t i,
                        uint32_t e)
{
    op->page[i].frame = HD_PAGE_MISSING | e;
    c->tlb_mshr.v[e].flags = op->memop << 8 | i;
}

/* The MSHR of a page that was missed a short while ago, as most that miss were,
 * or HD_NONE: not known.  Where entries are of one page, what is in flight is
 * not in the TLB, and need not be looked for if nobody would hear of it.  An
 * ideal TLB has a page as soon as it has come, though its answer has not. */
static inline uint32_t l1tlb_in_flight(const struct hd_core *c, uint64_t vpn)
{
    uint32_t e = c->flying[l1tlb_recent(vpn)];
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
        c->flying[l1tlb_recent(vpn)] = (uint16_t)e;
        l1tlb_join(c, e);
    } else if (c->gpu->m->l1tlb.blocking == HD_UNDER_HITS &&
               l1tlb_must_park(c, op)) {
        op->page[i].frame = HD_PAGE_PARKED;
        c->tlb_count[HD_L1TLB_PARKED]++;
        return true;
    } else if (hd_mshr_full(&c->tlb_mshr)) {
        hd_lsu_block(c, HD_BLOCK_TLB_MSHR, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    } else {
        e = l1tlb_send(c, vpn, op->memop, hd_lsu_origin(c, op, i), t);
    }
    l1tlb_await(c, op, i, e);
    return true;
}

bool hd_l1tlb_may_pass(struct hd_core *c, uint32_t memop)
{
    if (HD_LIKELY(c->gpu->m->l1tlb.blocking != HD_UNDER_NONE) ||
        hd_mshr_used(&c->tlb_mshr) == 0 || c->s->miss_op == memop)
        return true;
    hd_lsu_block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
    return false;
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
        page->frame = l1tlb_mapped(c, page->vpn);
        return true;
    }
    if (!hd_l1tlb_may_pass(c, op->memop))
        return false;
    if (HD_UNLIKELY(op->direct) && !l1tlb_not_resident(c, page->vpn)) {
        c->tlb_count[HD_L1TLB_DIRECT]++;
        page->frame = l1tlb_mapped(c, page->vpn);
        return true;
    }
    e = l1tlb_in_flight(c, page->vpn);
    hit = e == HD_NONE &&
          l1tlb_find(c, (hd_vpn){page->vpn}, hd_lsu_origin(c, op, i), guess,
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

/* An answer that left before a mapping changed and comes after it is what the
 * page table says now.  False: its page has left memory, and what waits for it
 * goes on at its old frame, but the translation holds for nobody else. */
static bool l1tlb_refresh(const struct hd_core *c, struct hd_treq *q)
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
        else
            return c->gpu->faults == NULL;
        return true;
    }
    return true;
}

void hd_gpu_shoot(void *self, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until)
{
    struct hd_gpu *g = self;

    hd_cross(g->env, HD_BORDER_shoot_core);
    if (g->translate == 0 || g->m->l1tlb.mode.kind != HD_FULL)
        return; /* nothing is held that could be wrong */
    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (app != HD_APP_NONE && c->app != app)
            continue;
        c->tlb_count[HD_L1TLB_INVALIDATIONS] +=
            hd_tlb_shoot(&c->l1tlb, app, vpn, pages);
        if (c->side.base_n != 0)
            hd_tlb_shoot(&c->side, app, vpn, pages);
        c->s->tlb_free = hd_max_u64(c->s->tlb_free, until);
        c->s->tlb_used = 0;
    }
}

/* Lines go on, behind those that go on already. */
static inline void l1tlb_go_on(struct hd_core *c, uint32_t first, uint32_t last)
{
    struct hd_core_state *s = c->s;

    if (s->replay_first == HD_NONE)
        s->replay_first = first;
    else
        c->parked[s->replay_last].next = first;
    s->replay_last = last;
}

/* A line waits until all pages of its instruction have come. */
static void l1tlb_hold(struct hd_core *c, uint32_t p)
{
    struct hd_held *h = &c->held[c->parked[p].memop];

    c->parked[p].next = HD_NONE;
    if (h->first == HD_NONE)
        h->first = p;
    else
        c->parked[h->last].next = p;
    h->last = p;
}

/* Lines whose page has come, the oldest first: those of an instruction of which
 * they were the last that had to wait go on, with the others of it. */
static HD_APART void l1tlb_release_held(struct hd_core *c, uint32_t first)
{
    for (uint32_t p = first, next; p != HD_NONE; p = next) {
        struct hd_held *h = &c->held[c->parked[p].memop];
        next = c->parked[p].next;
        l1tlb_hold(c, p);
        if (--h->missing == 0)
            l1tlb_go_on(c, h->first, h->last);
    }
}

/* The lines that waited for a page, the newest `last`, go on; `frame` is their
 * page's first line. */
static inline void l1tlb_release(struct hd_core *c, uint32_t last,
                                 uint64_t frame, hd_time t, hd_time walk)
{
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
    if (HD_UNLIKELY(c->whole))
        l1tlb_release_held(c, first);
    else
        l1tlb_go_on(c, first, last);
}

/* ---- misses that park --------------------------------------------------- */

/* Whether the instruction of the oldest line that waits without an MSHR owns
 * the walks, or may, and an MSHR is free. */
static bool l1tlb_may_walk(const struct hd_core *c)
{
    const struct hd_core_state *s = c->s;

    return hd_mshr_used(&c->tlb_mshr) == 0 ||
           (s->miss_op == c->parked[s->wait_first].memop &&
            !hd_mshr_full(&c->tlb_mshr));
}

/* If so, its page is looked up again as soon as the port allows. */
static inline void l1tlb_call_parked(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (HD_LIKELY(s->wait_first == HD_NONE) || s->again || !l1tlb_may_walk(c))
        return;
    s->again = 1;
    hd_core_message(c, hd_max_u64(t, s->tlb_free), HD_MSG_AGAIN, 0, 0);
}

static uint32_t l1tlb_warp_of(uint64_t page)
{
    return (uint32_t)((page & ~HD_PAGE_MORE) >> HD_PAGE_WARP);
}

/* Parks a line whose miss, of a warp, waits without an MSHR, behind the others.
 */
static void l1tlb_wait(struct hd_core *c, uint64_t vpn, uint64_t warp,
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
    l1tlb_call_parked(c,
                      s->local); /* there may have been no room for it so long
                       that those for whom its miss had to wait are gone */
}

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
        l1tlb_wait(c, page->vpn, hd_lsu_origin(c, op, x->page), p);
        return true;
    }
    c->parked[p].next = c->tlb_mshr.v[e].first;
    c->tlb_mshr.v[e].first = p;
    c->tlb_mshr.v[e].n++;
    return true;
}

bool hd_l1tlb_set_aside(struct hd_core *c, struct hd_lines *op)
{
    struct hd_held *h = &c->held[op->memop];
    uint32_t shift = HD_PAGE_SHIFT - c->gpu->line_shift;

    if (hd_places_left(&c->parked_places) < op->n) {
        hd_lsu_block(c, HD_BLOCK_PARKED, &c->tlb_count[HD_L1TLB_PARKED_FULL]);
        return false;
    }
    *h = (struct hd_held){HD_NONE, HD_NONE, 0};
    for (; op->at < op->n; op->at++) {
        const struct hd_lsu_line *x = hd_lines_at(op, op->at);
        uint64_t frame = op->page[x->page].frame;
        uint32_t p;
        if (frame >= HD_PAGE_MISSING) {
            h->missing += hd_l1tlb_park(c, op, x);
            continue;
        }
        p = hd_places_take(&c->parked_places);
        c->parked[p].what = (uint64_t)x->bytes << HD_PARKED_BYTES |
                            frame << shift | x->place;
        c->parked[p].memop = op->memop;
        l1tlb_hold(c, p);
    }
    return true;
}

/* Takes the lines of the oldest instruction's first page out of those that
 * wait: a list, the newest first.  *n: how many. */
static uint32_t l1tlb_take_page(struct hd_core *c, uint32_t *n)
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
static void l1tlb_learn(struct hd_core *c, uint32_t memop, uint64_t vpn,
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
    uint32_t warp = l1tlb_warp_of(c->page[oldest]);
    hd_vpn vpn = {c->page[oldest] & hd_ones(HD_PAGE_WARP)};
    struct hd_mshr_entry *m;
    uint64_t frame;
    bool hit;

    s->again = 0;
    if (s->tlb_free > t ||
        !l1tlb_may_walk(c)) { /* something has come between */
        l1tlb_call_parked(c, t);
        return;
    }
    lines = l1tlb_take_page(c, &n);
    hd_lsu_use_port(&s->tlb_free, &s->tlb_used, g->m->l1tlb.ports, t, g->cycle);
    c->hand = c->pc[memop];
    hit = l1tlb_find(c, vpn, warp, NULL, &frame);
    c->hand = HD_NEVER;
    if (hit) {
        c->tlb_count[HD_L1TLB_PARKED_HITS]++;
        l1tlb_learn(c, memop, vpn.v, frame);
        l1tlb_release(c, lines,
                      frame << (HD_PAGE_SHIFT - g->line_shift) | HD_PARKED_HIT,
                      t, 0);
    } else {
        e = hd_mshr_find(&c->tlb_mshr, vpn.v);
        if (e == HD_NONE) {
            e = l1tlb_send(c, vpn.v, memop, warp, t);
        } else {
            l1tlb_join(c, e); /* it waits for the host */
        }
        l1tlb_learn(c, memop, vpn.v, HD_PAGE_MISSING | e);
        m = &c->tlb_mshr.v[e];
        c->parked[oldest].next = m->first;
        m->first = lines;
        m->n += n;
    }
    l1tlb_call_parked(c, t);
}

/* What stops the load/store unit because of the L1 TLB. */
enum { STOPPED = HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS | HD_BLOCK_PARKED };

/* Counts the warps that a miss of this warp has held up without that they wait
 * for its page. */
static HD_APART void l1tlb_count_held(struct hd_core *c, uint32_t warp)
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

/* The instruction that sent a miss: that of its oldest line. */
static uint32_t l1tlb_sender(const struct hd_core *c,
                             const struct hd_mshr_entry *x)
{
    uint32_t p = x->first;

    if (p == HD_NONE) /* there was no room for it */
        return c->s->lsu_n > 0 ? c->lsu[c->s->lsu_first].memop : HD_NONE;
    while (c->parked[p].next != HD_NONE)
        p = c->parked[p].next;
    return c->parked[p].memop;
}

static uint64_t l1tlb_first_pc(const struct hd_core *c,
                               const struct hd_mshr_entry *m)
{
    uint32_t memop = l1tlb_sender(c, m);

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

/* The L1 TLB has what came, or (not in) does not take it. */
static HD_APART void l1tlb_filled(struct hd_core *c, hd_vpn vpn, bool in)
{
    c->hand = HD_NEVER;
    if (in && c->side.base_n != 0) /* it moves, if it was there */
        hd_tlb_drop(&c->side, c->app, vpn, 1);
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
    if (HD_UNLIKELY(*g->changes != 0))
        holds = l1tlb_refresh(c, q);
    pfn = hd_xlate_frame(&q->x, q->vpn).v;
    if (HD_UNLIKELY(c->l1tlb.observed)) {
        c->hand = l1tlb_first_pc(c, m);
        if (c->l1tlb.watched[HEDDLE_NOTE_translated] != 0)
            l1tlb_tell_translated(c, q, pfn, t);
    }

    if (HD_UNLIKELY((s->blocked & STOPPED) != 0 || s->wait_first != HD_NONE) &&
        q->hit >= HD_TREQ_MERGED)
        l1tlb_count_held(c, q->warp);
    if (g->m->l1tlb.mode.kind == HD_FULL && HD_LIKELY(holds)) {
        in = hd_tlb_fill(&c->l1tlb, c->app, c->id, q->warp, q->vpn, &q->x,
                         q->hit >= HD_TREQ_MERGED ? HEDDLE_INSERT_CAUSE_WALK
                                                  : HEDDLE_INSERT_CAUSE_HIT);
        c->tlb_count[HD_L1TLB_FILLS] += in;
    }
    if (HD_UNLIKELY(c->l1tlb.observed))
        l1tlb_filled(c, q->vpn, in);
    q->merged = l1tlb_merged(m);
    if (HD_UNLIKELY(q->merged >= g->stalled[c->app]))
        g->stalled[c->app] = q->merged + 1u;
    hd_hist_add(&g->xlate_latency[c->app],
                hd_recip_div(g->per_cycle, t - q->born));
    l1tlb_release(c, m->first, pfn << (HD_PAGE_SHIFT - g->line_shift), t,
                  q->walk != 0 ? t - q->walk : 0);
    if (s->lsu_n > 0 && c->lsu[s->lsu_first].memop == m->flags >> 8)
        c->lsu[s->lsu_first].page[m->flags & 0xff].frame = pfn;
    hd_mshr_give(&c->tlb_mshr, i);
    s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    l1tlb_call_parked(c, t);
    c->below_tlb.notified(c->below_tlb.self, treq);
    hd_treq_give(g->treqs, treq);
}

void hd_l1tlb_bring(struct hd_core *c, uint64_t vpn, uint32_t app, bool side)
{
    struct hd_gpu *g = c->gpu;
    struct hd_tlb *to = side ? &c->side : &c->l1tlb;
    enum hd_prefetch_stat what = HD_PREFETCH_FILLED;
    hd_vpn v = {vpn};
    struct hd_xlate x;

    if (app != c->app) {
        hd_err_set(g->env->err, HEDDLE_EPOLICY,
                   "a policy has page 0x%llx of application %u translated for "
                   "core %u, which is application %u's",
                   (unsigned long long)vpn, app, c->id, c->app);
        return;
    }
    c->hand = 0;
    if (hd_tlb_peek(&c->l1tlb, app, v, &x) ||
        (c->side.base_n != 0 && hd_tlb_peek(&c->side, app, v, &x)))
        what = HD_PREFETCH_REDUNDANT;
    else if (!hd_ptables_find(g->tables, app, v, &x))
        what = HD_PREFETCH_ABSENT;
    else if (!hd_tlb_bring(to, app, c->id, v, &x))
        what = HD_PREFETCH_REDUNDANT;
    (*hd_count(&c->l1tlb.ahead, 0, app, what))++;
    c->hand = HD_NEVER;
}

/* ---- functional warming -------------------------------------------------- */

/* The answer to a miss, from beside the L1 TLB or from below; whether there was a
 * walk. */
static bool l1tlb_ask_warm(struct hd_core *c, const struct hd_treq *q,
                           struct hd_xlate *x)
{
    const struct hd_gpu *g = c->gpu;

    if (c->side.base_n != 0 &&
        hd_tlb_lookup(&c->side, c->app, q->vpn, c->id, q->warp, x, NULL) &&
        hd_faults_here(g->faults, g->tables, c->app, q->vpn, x))
        return false;
    return c->below_side.warm(c->below_side.self, q, x) >= HD_TREQ_MERGED;
}

uint64_t hd_l1tlb_warm(struct hd_core *c, const struct hd_treq *q, bool direct,
                       uint16_t *guess)
{
    uint64_t hand = c->hand, frame;
    struct hd_xlate x = {0};
    bool full = c->gpu->m->l1tlb.mode.kind == HD_FULL, walked;

    if (c->gpu->translate == 0 || (direct && !l1tlb_not_resident(c, q->vpn.v)))
        return l1tlb_mapped(c, q->vpn.v);
    if (l1tlb_find(c, q->vpn, q->warp, guess, &frame))
        return frame;
    if (HD_UNLIKELY(!c->l1tlb.quiet) && full)
        hd_tlb_missed(&c->l1tlb, c->app, q->vpn, c->id, q->warp);
    walked = l1tlb_ask_warm(c, q, &x);
    if (c->gpu->env->err->code < 0)
        return 0;
    if (full)
        l1tlb_filled(c, q->vpn,
                     hd_tlb_fill(&c->l1tlb, c->app, c->id, q->warp, q->vpn, &x,
                                 walked ? HEDDLE_INSERT_CAUSE_WALK
                                        : HEDDLE_INSERT_CAUSE_HIT));
    c->hand = hand;
    return hd_xlate_frame(&x, q->vpn).v;
}

/* ---- far faults --------------------------------------------------------- */

void hd_l1tlb_faulted(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_treq *q = &c->gpu->treqs->v[treq];

    q->merged = l1tlb_merged(&c->tlb_mshr.v[q->tag]);
    c->below_tlb.notified(c->below_tlb.self, treq);
    hd_mshr_detach(&c->tlb_mshr);
    c->s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    l1tlb_call_parked(c, t);
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
    hd_faults_served(c->gpu->faults, t, c->component, treq);
    hd_mshr_reattach(&c->tlb_mshr);
    hd_l1tlb_answer(c, treq, t);
    hd_mshr_reattached(&c->tlb_mshr);
}

/* ---- looking and checking ------------------------------------------------ */

void hd_l1tlb_look(void *self, uint32_t instance, struct heddle_visitor *v)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    hd_tlb_look(&g->core[instance].l1tlb, v);
    for (uint32_t i = 0; i < c->tlb_mshr.room; i++) {
        const struct hd_mshr_entry *x = &c->tlb_mshr.v[i];
        const struct hd_treq *q = &g->treqs->v[x->live - 1];
        if (!x->live)
            continue;
        v->row(v->ud, "miss");
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "vpn", x->key);
        v->number(v->ud, "warp", q->warp);
        v->number(v->ud, "lines", x->n);
        v->number(v->ud, "since", q->born / g->cycle);
    }
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next) {
        v->row(v->ud, "parked");
        v->number(v->ud, "app", c->app);
        v->number(v->ud, "vpn", c->page[p] & hd_ones(HD_PAGE_WARP));
        v->number(v->ud, "warp", l1tlb_warp_of(c->page[p]));
    }
}

void hd_l1tlb_look_side(void *gpu, uint32_t core, struct heddle_visitor *v)
{
    struct hd_core *c = &((struct hd_gpu *)gpu)->core[core];

    if (c->side.base_n != 0)
        hd_tlb_look(&c->side, v);
}

/* Where hits pass misses, one instruction owns the walks, and what parks waits
 * for it, in order: the lines of an instruction lie together. */
void hd_l1tlb_check(const struct hd_core *c, struct hd_err *err)
{
    uint32_t used = hd_mshr_used(&c->tlb_mshr), owned = 0, last = HD_NONE;
    uint64_t since = 0, waits = 0;

    if (c->gpu->m->l1tlb.blocking != HD_UNDER_HITS)
        return;
    for (uint32_t e = 0; e < c->tlb_mshr.room; e++)
        if (c->tlb_mshr.v[e].live != 0)
            owned += l1tlb_sender(c, &c->tlb_mshr.v[e]) == c->s->miss_op;
    if (owned < used)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: %u misses of its L1 TLB are outstanding, of one "
                   "instruction only %u",
                   c->id, used, owned);
    if (c->s->wait_first != HD_NONE && used == 0 && !c->s->again)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: misses of its L1 TLB have parked, and none is "
                   "outstanding",
                   c->id);
    for (uint32_t p = c->s->wait_first; p != HD_NONE; p = c->parked[p].next) {
        uint32_t memop = c->parked[p].memop;
        if (memop != last && c->memop[memop].issued < since)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: misses of its L1 TLB have parked out of order",
                       c->id);
        if (memop != last && last != HD_NONE && memop == c->s->miss_op &&
            used > 0)
            hd_err_set(err, HEDDLE_ECHECK,
                       "core %u: misses that have parked come before those of "
                       "the instruction that owns the walks",
                       c->id);
        since = c->memop[memop].issued;
        last = memop;
        waits |= 1ull << c->memop[memop].warp;
    }
    if (waits != c->s->waits)
        hd_err_set(err, HEDDLE_ECHECK,
                   "core %u: warps whose misses have parked are 0x%llx, not "
                   "0x%llx",
                   c->id, (unsigned long long)waits,
                   (unsigned long long)c->s->waits);
}

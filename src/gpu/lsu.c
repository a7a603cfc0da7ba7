/*
 * lsu.c - the load/store unit of a core: L1 TLB, L1 cache, and their misses.
 *
 * Memory instructions enter in issue order.  The unit serves one line a cycle
 * and L1 port: the first line of a page looks up the L1 TLB (its own port),
 * then the line looks up the L1.  A line whose page is missing is parked at
 * the TLB's MSHR and comes back, with priority, when the translation has
 * come; a line that misses the L1 becomes a target of an MSHR of the L1.  An
 * MSHR, store queue or parking place that is full blocks the head of the
 * line, and the unit sleeps until what it waits for is freed.
 *
 * With order "beside" the L1 is indexed while the TLB looks up, and a hit
 * costs the longer of the two latencies; with "after" it costs their sum.
 * Stores are buffered: the warp goes on, and the store queue holds the line
 * until the L2 has taken it.  Atomics pass the L1 and are done at the L2.
 *
 * Left out: bank conflicts of the L1 and of shared memory.
 *
 * SPDX-License-Identifier: MIT
 */
#include "core.h"

#include "../machine.h"

/* ---- pools -------------------------------------------------------------- */

static uint32_t take_memop(struct hd_core *c)
{
    struct hd_core_state *s = c->s;
    uint32_t m = s->memop_free;

    if (m != HD_NONE)
        s->memop_free = c->memop[m].next;
    else
        m = s->memop_used++;
    hd_assert(m < c->memops);
    return m;
}

static void give_memop(struct hd_core *c, uint32_t m)
{
    c->memop[m].next = c->s->memop_free;
    c->s->memop_free = m;
}

static uint32_t take_parked(struct hd_core *c)
{
    struct hd_core_state *s = c->s;
    uint32_t p = s->parked_free;

    if (p != HD_NONE)
        s->parked_free = c->parked[p].next;
    else if (s->parked_used < c->targets)
        p = s->parked_used++;
    return p;
}

static void give_parked(struct hd_core *c, uint32_t p)
{
    c->s->blocked &= ~(uint32_t)HD_BLOCK_PARKED;
    c->parked[p].next = c->s->parked_free;
    c->s->parked_free = p;
}

/* ---- ports -------------------------------------------------------------- */

/* Uses a port of which `ports` can be used in each cycle. */
static void use_port(hd_time *free, uint32_t *used, uint32_t ports, hd_time t,
                     hd_time cycle)
{
    if (t > *free) {
        *free = t;
        *used = 0;
    }
    if (++*used >= ports) {
        *free += cycle;
        *used = 0;
    }
}

/* Sends a request at t over the core's port to the interconnect. */
static void send(struct hd_core *c, hd_time t, uint32_t kind, uint64_t line,
                 uint32_t bytes, uint32_t memop, uint32_t tag, uint32_t flags)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    uint32_t r = hd_req_take(g->reqs);
    struct hd_req *q = &g->reqs->v[r];
    uint64_t flits = kind == HD_REQ_WRITE || kind == HD_REQ_ATOMIC
                         ? hd_ceil_div(bytes, g->m->xbar.bytes)
                         : 1;
    hd_time at = hd_max_u64(t, s->out_free);

    s->out_free = at + flits * g->cycle;
    q->pa.v = line << g->line_shift;
    q->born = at;
    q->tag = tag;
    q->client = (uint16_t)c->id;
    q->warp = memop == HD_NONE ? HD_NO_WARP : c->memop[memop].warp;
    q->kind = (uint8_t)kind;
    q->app = (uint8_t)c->app;
    q->level = 0;
    q->flags = (uint8_t)flags;
    q->dram_class = q->hit = 0;
    q->bytes = (uint16_t)bytes;
    g->memory.send(g->memory.self, at, r);
}

/* ---- completion --------------------------------------------------------- */

/* One line of a memory instruction is done at t (now or later). */
static void line_done(struct hd_core *c, uint32_t memop, hd_time t)
{
    struct hd_memop *m = &c->memop[memop];

    if (--m->left > 0)
        return;
    if (m->slot == HD_NO_SLOT)
        give_memop(c, memop);
    else if (t > c->s->local)
        hd_core_message(c, t, HD_MSG_DONE, memop, 0);
    else
        hd_warp_release(c, memop, t);
}

/* ---- the L1 ------------------------------------------------------------- */

/* The head of the line waits; `stalls` counts it. */
static void block(struct hd_core *c, uint32_t why, uint64_t *stalls)
{
    if ((c->s->blocked & why) == 0)
        ++*stalls;
    c->s->blocked |= why;
}

/* The store queue, which write-backs share, has room; else false: blocked. */
static bool room_for_write(struct hd_core *c, hd_time t)
{
    uint32_t most = c->gpu->m->l1cache.stores;

    if (c->s->stores >= most)
        hd_core_acks(c, t);
    if (c->s->stores < most)
        return true;
    block(c, HD_BLOCK_STORES, &c->l1_count[HD_L1_STORE_FULL]);
    return false;
}

/* Takes an L1 MSHR for its first requester; HD_NONE: none is free. */
static uint32_t take_l1_mshr(struct hd_core *c, uint64_t key, uint32_t memop)
{
    uint32_t e;

    if (hd_mshr_full(&c->l1_mshr)) {
        block(c, HD_BLOCK_L1_MSHR, &c->l1_count[HD_L1_FULL]);
        return HD_NONE;
    }
    e = hd_mshr_take(&c->l1_mshr, key);
    c->l1_mshr.v[e].flags = memop;
    c->l1_mshr.v[e].n = 1;
    return e;
}

static struct hd_who who(const struct hd_core *c, uint32_t memop)
{
    struct hd_who w = {c->app, c->memop[memop].warp};
    return w;
}

/* A load's line misses now: merge or ask the L2 at t.  False: blocked. */
static bool miss(struct hd_core *c, uint32_t memop, uint64_t line, hd_time now,
                 hd_time t)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    uint32_t e = hd_mshr_find(&c->l1_mshr, line), p;

    if (e != HD_NONE) {
        struct hd_mshr_entry *m = &c->l1_mshr.v[e];
        if (m->n >= cfg->merges || (p = take_parked(c)) == HD_NONE) {
            block(c, HD_BLOCK_L1_MSHR, &c->l1_count[HD_L1_FULL]);
            return false;
        }
        c->parked[p].memop = memop;
        c->parked[p].next = m->first;
        m->first = p;
        m->n++;
        c->l1_count[HD_L1_READ_MERGES]++;
        return true;
    }
    if (cfg->write == HD_WRITE_BACK && !room_for_write(c, now))
        return false; /* its victim may be dirty */
    e = take_l1_mshr(c, line, memop);
    if (e == HD_NONE)
        return false;
    send(c, t, HD_REQ_READ, line, cfg->line, memop, e, 0);
    return true;
}

/* From the look-up to its result, the translation's latency included. */
static hd_time look_up_time(const struct hd_core *c, hd_time xlate)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    hd_time lat = (cfg->mode.kind == HD_FIXED ? cfg->mode.fixed : cfg->latency) *
                  c->gpu->cycle;

    if (cfg->mode.kind == HD_OFF)
        lat = 0;
    return cfg->order == 0 ? hd_max_u64(lat, xlate) : lat + xlate;
}

static bool load_line(struct hd_core *c, uint32_t memop, uint64_t line,
                      hd_time t, hd_time xlate)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool hit = cfg->mode.kind == HD_IDEAL || cfg->mode.kind == HD_FIXED;
    hd_time done;

    if (cfg->mode.kind == HD_FULL)
        hit = hd_cache_lookup(&c->l1, line, HD_REQ_READ, who(c, memop));
    done = t + look_up_time(c, xlate);
    if (!hit && !miss(c, memop, line, t, done))
        return false;
    c->l1_count[HD_L1_READS]++;
    c->l1_count[hit ? HD_L1_READ_HITS : HD_L1_READ_MISSES]++;
    if (hit)
        line_done(c, memop, done);
    return true;
}

/* Fills the L1; a dirty victim goes to the L2, by way of the store queue: fills
 * of loads may lengthen it by as many entries as there are MSHRs. */
static void fill(struct hd_core *c, uint64_t line, bool dirty,
                 struct hd_who by, hd_time t)
{
    uint64_t victim;
    uint32_t app;

    if (!hd_cache_fill(&c->l1, line, dirty ? HD_REQ_WRITE : HD_REQ_READ, 0,
                       dirty, by, &victim, &app))
        return;
    c->l1_count[HD_L1_WRITEBACKS]++;
    c->s->stores++;
    send(c, t, HD_REQ_WRITE, victim, c->gpu->m->l1cache.line, HD_NONE, HD_NONE,
         HD_REQ_ACK);
}

static bool store_line(struct hd_core *c, uint32_t memop, uint64_t line,
                       uint32_t bytes, hd_time t, hd_time xlate)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    bool hit = false, back = cfg->write == HD_WRITE_BACK;

    if (!room_for_write(c, t))
        return false;
    c->l1_count[HD_L1_WRITES]++;
    if (cfg->mode.kind == HD_FULL)
        hit = hd_cache_lookup(&c->l1, line, HD_REQ_WRITE, who(c, memop));
    c->l1_count[HD_L1_WRITE_HITS] += hit;
    if (cfg->mode.kind == HD_FULL && back) {
        if (!hit)
            fill(c, line, true, who(c, memop), t);
    } else {
        c->s->stores++;
        send(c, t + look_up_time(c, xlate), HD_REQ_WRITE, line, bytes, memop,
             HD_NONE, HD_REQ_ACK | (bytes < cfg->line ? HD_REQ_PARTIAL : 0));
    }
    line_done(c, memop, t);
    return true;
}

static bool atomic_line(struct hd_core *c, uint32_t memop, uint64_t line,
                        uint32_t bytes, hd_time t, hd_time xlate)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    /* A key of its own: atomics are not merged. */
    uint32_t i = take_l1_mshr(c, 1ull << 63 | (uint64_t)memop << 32 |
                                     (line & 0xffffffffu),
                              memop);

    if (i == HD_NONE)
        return false;
    if (cfg->mode.kind == HD_FULL)
        hd_cache_drop(&c->l1, line);
    send(c, t + look_up_time(c, xlate), HD_REQ_ATOMIC, line, bytes, memop, i,
         0);
    return true;
}

/* A translated line at the L1.  False: blocked, to be tried again. */
static bool access_l1(struct hd_core *c, uint32_t memop, uint64_t line,
                      uint32_t bytes, hd_time t, hd_time xlate)
{
    struct hd_core_state *s = c->s;

    switch (c->memop[memop].kind) {
    case HD_OP_LOAD:
        if (!load_line(c, memop, line, t, xlate))
            return false;
        break;
    case HD_OP_STORE:
        if (!store_line(c, memop, line, bytes, t, xlate))
            return false;
        break;
    default:
        if (!atomic_line(c, memop, line, bytes, t, xlate))
            return false;
    }
    use_port(&s->lsu_free, &s->lsu_used, c->gpu->m->l1cache.ports, t,
             c->gpu->cycle);
    return true;
}

/* ---- the L1 TLB --------------------------------------------------------- */

enum { UNKNOWN, KNOWN, MISSING };

static hd_time tlb_latency(const struct hd_gpu *g)
{
    const struct hd_tlb_cfg *cfg = &g->m->l1tlb;

    if (g->translate == 0 || cfg->mode.kind == HD_OFF)
        return 0;
    return (cfg->mode.kind == HD_FIXED ? cfg->mode.fixed : cfg->latency) *
           g->cycle;
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

/* Sends a TLB miss down, or joins one.  False: blocked. */
static bool tlb_miss(struct hd_core *c, struct hd_lsu_op *op, uint32_t page,
                     hd_time t)
{
    struct hd_gpu *g = c->gpu;
    const struct hd_tlb_cfg *cfg = &g->m->l1tlb;
    uint64_t vpn = op->l.vpn[page];
    uint32_t e = hd_mshr_find(&c->tlb_mshr, vpn), treq;
    struct hd_treq *q;

    if (e != HD_NONE) {
        q = &g->treqs->v[c->tlb_treq[e]];
        q->merged += q->merged < UINT8_MAX;
        c->tlb_count[HD_L1TLB_MERGES]++;
        op->page[page].mshr = (uint16_t)e;
        c->tlb_mshr.v[e].flags = op->memop << 8 | page;
        return true;
    }
    if (cfg->blocking == 1 && hd_mshr_used(&c->tlb_mshr) > 0 &&
        c->s->miss_op != op->memop) {
        block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    }
    if (hd_mshr_full(&c->tlb_mshr)) {
        block(c, HD_BLOCK_TLB_MSHR, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    }
    if (mapped(c, vpn) == 0 && g->env->err->code != 0)
        return false;
    e = hd_mshr_take(&c->tlb_mshr, vpn);
    c->tlb_mshr.v[e].flags = op->memop << 8 | page;
    treq = hd_treq_take(g->treqs);
    c->tlb_treq[e] = treq;
    c->s->miss_op = op->memop;
    q = &g->treqs->v[treq];
    q->vpn.v = vpn;
    q->born = t + tlb_latency(g);
    q->walk = 0;
    q->tag = e;
    q->client = q->core = (uint16_t)c->id;
    q->warp = c->memop[op->memop].warp;
    q->app = (uint8_t)c->app;
    q->merged = q->hit = 0;
    q->references = 0;
    op->page[page].mshr = (uint16_t)e;
    c->below_tlb.send(c->below_tlb.self, q->born, treq);
    return true;
}

/* With sim.check: what the L1 TLB says is what the page table says. */
static void confirm(struct hd_core *c, uint64_t vpn, uint64_t pfn)
{
    if (mapped(c, vpn) != pfn)
        hd_err_set(c->gpu->env->err, HEDDLE_ECHECK,
                   "core %u: its L1 TLB puts page 0x%llx of application %u "
                   "into frame 0x%llx, the page table does not",
                   c->id, (unsigned long long)vpn, c->app,
                   (unsigned long long)pfn);
}

/* Looks up a page of the instruction at the head.  False: blocked. */
static bool look_up(struct hd_core *c, struct hd_lsu_op *op, uint32_t page,
                    hd_time t)
{
    struct hd_core_state *s = c->s;
    const struct hd_tlb_cfg *cfg = &c->gpu->m->l1tlb;
    hd_vpn vpn = {op->l.vpn[page]};
    struct hd_xlate x;
    bool hit = false;

    if (c->gpu->translate == 0) {
        op->page[page].pfn = mapped(c, vpn.v);
        op->page[page].known = KNOWN;
        return true;
    }
    if (cfg->blocking == 2 && hd_mshr_used(&c->tlb_mshr) > 0 &&
        s->miss_op != op->memop) {
        block(c, HD_BLOCK_MISS, &c->tlb_count[HD_L1TLB_FULL]);
        return false;
    }
    if (cfg->mode.kind == HD_FULL) {
        hit = hd_tlb_lookup(&c->l1tlb, c->app, vpn, c->id,
                            c->memop[op->memop].warp, &x);
        if (hit)
            op->page[page].pfn = hd_xlate_frame(&x, vpn).v;
        if (hit && HD_UNLIKELY(c->gpu->env->check))
            confirm(c, vpn.v, op->page[page].pfn);
    } else if (cfg->mode.kind != HD_OFF) {
        hit = true;
        op->page[page].pfn = mapped(c, vpn.v);
    }
    if (!hit && !tlb_miss(c, op, page, t))
        return false;
    c->tlb_count[HD_L1TLB_LOOKUPS]++;
    c->tlb_count[hit ? HD_L1TLB_HITS : HD_L1TLB_MISSES]++;
    op->page[page].known = hit ? KNOWN : MISSING;
    if (cfg->mode.kind == HD_FULL || cfg->mode.kind == HD_OFF)
        use_port(&s->tlb_free, &s->tlb_used, cfg->ports, t, c->gpu->cycle);
    return true;
}

/* Parks a line until its page's translation comes.  False: blocked. */
static bool park(struct hd_core *c, struct hd_lsu_op *op, uint32_t i)
{
    struct hd_mshr_entry *m = &c->tlb_mshr.v[op->page[op->l.v[i].page].mshr];
    uint32_t p = take_parked(c);

    if (p == HD_NONE) {
        block(c, HD_BLOCK_PARKED, &c->tlb_count[HD_L1TLB_PARKED_FULL]);
        return false;
    }
    c->parked[p].line = op->l.v[i].line;
    c->parked[p].memop = op->memop;
    c->parked[p].bytes = op->l.v[i].bytes;
    c->parked[p].next = HD_NONE;
    if (m->last == HD_NONE)
        m->first = p;
    else
        c->parked[m->last].next = p;
    m->last = p;
    m->n++;
    return true;
}

/* ---- the unit ----------------------------------------------------------- */

static void note_access(struct hd_core *c, uint32_t w, const struct hd_op *o,
                        const struct hd_lines *l)
{
    struct heddle_n_access n = {.core = c->id,
                                .app = c->app,
                                .warp = w,
                                .pc = o->pc,
                                .kind = (uint64_t)o->kind - HD_OP_LOAD,
                                .lines = l->n,
                                .pages = l->pages};

    hd_slots_note(c->gpu->env->slots, HEDDLE_NOTE_access, &n);
}

void hd_lsu_enter(struct hd_core *c, uint32_t w, const struct hd_access *acc,
                  hd_time t)
{
    static const uint8_t counter[] = {HD_CORE_LOADS, HD_CORE_STORES,
                                      HD_CORE_ATOMICS};
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    const struct hd_op *o = &c->warp[w].op;
    uint32_t q = g->m->core.queue;
    struct hd_lsu_op *op = &c->lsu[(s->lsu_first + s->lsu_n) % q];
    struct hd_memop *m;

    hd_coalesce(acc, o->mask, g->lanes[c->app], o->bytes, g->line_shift,
                &op->l);
    c->count[counter[o->kind - HD_OP_LOAD]] += o->count;
    c->count[HD_CORE_LINES] += op->l.n;
    c->count[HD_CORE_PAGES] += op->l.pages;
    if (o->kind == HD_OP_LOAD) {
        c->count[HD_CORE_LOAD_LINES] += op->l.n;
        c->count[HD_CORE_LOAD_LANES] +=
            o->mask == hd_ones(c->lanes) ? c->lanes : hd_bit_count(o->mask);
    }
    hd_hist_add(&g->line_hist[c->app], op->l.n);
    hd_hist_add(&g->page_hist[c->app], op->l.pages);
    if (HD_UNLIKELY(g->env->slots->watched[HEDDLE_NOTE_access] != 0))
        note_access(c, w, o, &op->l);
    op->memop = take_memop(c);
    op->at = 0;
    for (uint32_t i = 0; i < op->l.pages; i++)
        op->page[i].known = UNKNOWN;
    m = &c->memop[op->memop];
    m->issued = t;
    m->translated = m->walk = 0;
    m->left = op->l.n + 1;
    m->warp = (uint16_t)w;
    m->slot = o->slot;
    m->kind = o->kind;
    m->bytes = o->bytes;
    s->lsu_n++;
}

/* A line that waited for its translation goes on. */
static void replay(struct hd_core *c, hd_time t)
{
    struct hd_core_state *s = c->s;
    uint32_t p = s->replay_first;
    struct hd_parked *x = &c->parked[p];

    if (!access_l1(c, x->memop, x->line, x->bytes, t, 0))
        return;
    s->replay_first = x->next;
    give_parked(c, p);
}

void hd_lsu_step(struct hd_core *c, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_lsu_op *op = &c->lsu[s->lsu_first];
    uint32_t i, page, shift = HD_PAGE_SHIFT - g->line_shift;

    if (s->replay_first != HD_NONE) {
        replay(c, t);
        return;
    }
    i = op->at;
    if (i < op->l.n) {
        page = op->l.v[i].page;
        if (op->page[page].known == UNKNOWN && !look_up(c, op, page, t))
            return;
        if (op->page[page].known == MISSING) {
            if (!park(c, op, i))
                return;
            use_port(&s->lsu_free, &s->lsu_used, g->m->l1cache.ports, t,
                     g->cycle);
        } else {
            uint64_t line = op->page[page].pfn << shift |
                            (op->l.v[i].line & hd_ones(shift));
            if (!access_l1(c, op->memop, line, op->l.v[i].bytes, t,
                           tlb_latency(g)))
                return;
        }
        op->at++;
    }
    if (op->at < op->l.n)
        return;
    s->lsu_first = (s->lsu_first + 1) % g->m->core.queue;
    s->lsu_n--;
    line_done(c, op->memop, t);
}

/* ---- answers ------------------------------------------------------------ */

void hd_lsu_translated(struct hd_core *c, uint32_t treq, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_treq *q = &g->treqs->v[treq];
    uint32_t i = q->tag, shift = HD_PAGE_SHIFT - g->line_shift;
    struct hd_mshr_entry *m = &c->tlb_mshr.v[i];
    uint64_t pfn = hd_xlate_frame(&q->x, q->vpn).v;
    hd_time walk = q->walk != 0 ? q->walk : 0;

    if (g->m->l1tlb.mode.kind == HD_FULL)
        hd_tlb_fill(&c->l1tlb, c->app, c->id, q->warp, q->vpn, &q->x,
                    q->hit >= 2 ? 0 : 1);
    hd_hist_add(&g->xlate_latency[c->app], (t - q->born) / g->cycle);
    for (uint32_t p = m->first; p != HD_NONE; p = c->parked[p].next) {
        struct hd_parked *x = &c->parked[p];
        struct hd_memop *o = &c->memop[x->memop];
        o->translated = t;
        o->walk = hd_max_u64(o->walk, walk != 0 ? t - walk : 0);
        x->line = pfn << shift | (x->line & hd_ones(shift));
    }
    if (m->first != HD_NONE) {
        if (s->replay_first == HD_NONE)
            s->replay_first = m->first;
        else
            c->parked[s->replay_last].next = m->first;
        s->replay_last = m->last;
    }
    if (s->lsu_n > 0 && c->lsu[s->lsu_first].memop == m->flags >> 8) {
        struct hd_lsu_op *op = &c->lsu[s->lsu_first];
        op->page[m->flags & 0xff].known = KNOWN;
        op->page[m->flags & 0xff].pfn = pfn;
    }
    hd_mshr_give(&c->tlb_mshr, i);
    s->blocked &= ~(uint32_t)(HD_BLOCK_TLB_MSHR | HD_BLOCK_MISS);
    hd_treq_give(g->treqs, treq);
}

void hd_lsu_data(struct hd_core *c, uint32_t req, hd_time t)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_req *q = &g->reqs->v[req];
    uint32_t i = q->tag;
    struct hd_mshr_entry *m = &c->l1_mshr.v[i];
    uint32_t p = m->first;

    if (q->kind == HD_REQ_READ && g->m->l1cache.mode.kind == HD_FULL)
        fill(c, m->key, false, who(c, m->flags), t);
    line_done(c, m->flags, t);
    while (p != HD_NONE) {
        uint32_t next = c->parked[p].next;
        line_done(c, c->parked[p].memop, t);
        give_parked(c, p);
        p = next;
    }
    hd_mshr_give(&c->l1_mshr, i);
    s->blocked &= ~(uint32_t)HD_BLOCK_L1_MSHR;
    hd_req_give(g->reqs, req);
}

void hd_lsu_ack(struct hd_core *c, hd_time t)
{
    (void)t;
    c->s->stores--;
    c->s->blocked &= ~(uint32_t)HD_BLOCK_STORES;
}

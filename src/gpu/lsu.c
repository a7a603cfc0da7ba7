/*
 * lsu.c - the load/store unit of a core: memory instructions in order.
 *
 * Memory instructions enter in issue order.  The unit serves one line a cycle
 * and L1 port: the first line of a page looks up the L1 TLB (its own port),
 * then the line looks up the L1.  A line whose page is missing is parked at
 * the TLB's MSHR and comes back, with priority, when the translation has
 * come; a line that misses the L1 becomes a target of an MSHR of the L1
 * (l1tlb.c, l1d.c).  An MSHR, store queue or parking place that is full blocks
 * the head of the line, and the unit sleeps until what it waits for is freed.
 *
 * A load whose lanes walk along columns has a line for each lane, and in its
 * better times they all hit.  Such lines are served in a row (hd_lsu_streak):
 * a hit concerns nothing but the two ports, the order of the arrays and the
 * load itself.  The last line of an instruction always takes the long way,
 * which ends it.  Where nobody watches or chooses, as mostly, a streak asks for
 * that once and not for each line; what else follows from it is found out when
 * policies are bound (hd_lsu_wire).
 *
 * The step itself is in lsu.h.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lsu.h"

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

void hd_lsu_wire(struct hd_core *c)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_machine *m = g->m;
    bool all = m->core.translate_atomics && m->core.translate_textures;

    c->plain = 0;
    if (g->env->slots->watched[HEDDLE_NOTE_access] == 0 && all)
        c->plain |= HD_PLAIN_ENTER;
    if (!c->lrr && !c->pick.bound)
        c->plain |= HD_PLAIN_PICK;
    if (g->translate && m->l1tlb.mode.kind == HD_FULL &&
        m->l1tlb.blocking != HD_UNDER_NONE && m->vm.paging != HD_PAGING_FAULT &&
        all && hd_tlb_silent(&c->l1tlb) && !g->env->check)
        c->plain |= HD_PLAIN_TLB;
}

void hd_lsu_lines(struct hd_core *c, uint32_t w, const struct hd_access *acc,
                  struct hd_lines *out)
{
    struct hd_gpu *g = c->gpu;
    const struct hd_core_cfg *m = &g->m->core;
    const struct hd_op *o = &c->warp[w].op;

    hd_coalesce(acc, o->mask, c->lanes, o->bytes, g->line_shift, out);
    hd_hist_add(&g->line_hist[c->app], out->n);
    hd_hist_add(&g->page_hist[c->app], out->pages);
    out->direct = g->translate &&
                  ((o->kind == HD_OP_ATOMIC && !m->translate_atomics) ||
                   (o->space == HD_SPACE_TEXTURE && !m->translate_textures));
    if (g->env->slots->watched[HEDDLE_NOTE_access] != 0)
        note_access(c, w, o, out);
}

void hd_lsu_enter_shared(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_core_state *s = c->s;
    struct hd_lines *op = &c->lsu[(s->lsu_first + s->lsu_n) % c->lsu_room];

    op->n = op->pages = op->at = 0;
    op->warp = (uint16_t)w;
    op->memop = hd_lsu_take_memop(c);
    c->memop[op->memop] = (struct hd_memop){.issued = t,
                                            .warp = w & 0xff,
                                            .left = 1,
                                            .slot = HD_NO_SLOT,
                                            .kind = HD_OP_SHARED};
    s->lsu_n++;
}

bool hd_lsu_pass(struct hd_core *c, const struct hd_lines *op, hd_time t)
{
    struct hd_core_state *s = c->s;
    const struct hd_gpu *g = c->gpu;

    if (c->memop[op->memop].kind != HD_OP_SHARED)
        return true; /* an access of no lane */
    if (!hd_l1tlb_open(c, op->memop))
        return false;
    hd_lsu_use_port(&s->lsu_free, &s->lsu_used, g->m->l1cache.ports, t,
                    g->cycle);
    return true;
}

void hd_lsu_sync(struct hd_gpu *g)
{
    for (uint32_t i = 0; i < g->cores; i++) {
        const struct hd_core *c = &g->core[i];
        hd_hist_add_n(&g->line_hist[c->app], 1, c->s->ones);
        hd_hist_add_n(&g->page_hist[c->app], 1, c->s->ones);
        c->s->ones = 0;
    }
}

/* A port while a streak uses it. */
struct port {
    hd_time free;
    uint32_t used, ports;
};

/* Nobody watches or chooses, and the L1 TLB has pages of 4 KB only. */
static bool is_plain(const struct hd_core *c)
{
    const struct hd_tlb *t = &c->l1tlb;

    return t->live[HD_TLB_PRESENT] == 1u << HD_TLB_4K && t->stat.v == NULL &&
           (t->watched[HEDDLE_NOTE_tlb_hit] | t->watched[HEDDLE_NOTE_tlb_miss] |
            (t->base.asked & HD_ASSOC_TOUCH)) == 0;
}

/* The frame of a page is in the TLB: it is known now. */
static HD_INLINE bool find_page(struct hd_core *c, struct hd_lsu_page *page,
                                uint32_t warp, bool plain)
{
    hd_vpn vpn = {page->vpn};
    struct hd_tlb *tlb = &c->l1tlb;
    uint64_t pfn;

    if (plain) {
        uint32_t set = hd_tlb_set(&tlb->base, tlb->base_mask, vpn.v);
        uint32_t e = hd_assoc_find(&tlb->base, set,
                                   hd_tlb_key(HD_TLB_4K, c->app, vpn.v));
        if (e == HD_NONE)
            return false;
        hd_assoc_touch_in(&tlb->base, set, e, (struct hd_who){c->app, warp});
        pfn = tlb->entry[e].frame;
    } else {
        struct hd_xlate x;
        if (!hd_tlb_lookup(tlb, c->app, vpn, c->id, warp, &x) ||
            !hd_l1tlb_here(c, vpn, &x))
            return false;
        pfn = hd_xlate_frame(&x, vpn).v;
    }
    page->frame = pfn;
    return true;
}

/* Serves lines that hit, but for the last one; returns how many. */
static HD_INLINE uint32_t streak(struct hd_core *c, hd_time t, hd_time end,
                                 bool plain)
{
    const struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    struct hd_lines *op = &c->lsu[s->lsu_first];
    struct hd_memop *m = &c->memop[op->memop];
    struct port tlb = {s->tlb_free, s->tlb_used, g->m->l1tlb.ports};
    struct port l1 = {s->lsu_free, s->lsu_used, g->m->l1cache.ports};
    uint32_t shift = HD_PAGE_SHIFT - g->line_shift, i = op->at, pages = 0;
    uint32_t warp = op->warp, n = op->n - 1u;
    hd_time last = 0, cycle = g->cycle, local = s->local;

    for (; i < n && t < end; i++) {
        const struct hd_lsu_line *x = hd_lines_at(op, i);
        struct hd_lsu_page *page = &op->page[x->page];
        if (page->frame >= HD_PAGE_MISSING) {
            if (page->frame != HD_PAGE_UNKNOWN)
                break;
            t = hd_max_u64(t, tlb.free);
            if (t >= end)
                break;
            local = t;
            if (!find_page(c, page, warp, plain)) {
                page->frame = HD_PAGE_ABSENT;
                break;
            }
            pages++;
            hd_lsu_use_port(&tlb.free, &tlb.used, tlb.ports, t, cycle);
        }
        if (!hd_cache_reuse(&c->l1, page->frame << shift | x->place,
                            (struct hd_who){c->app, warp}))
            break;
        hd_lsu_use_port(&l1.free, &l1.used, l1.ports, t, cycle);
        local = last = t;
        t = hd_max_u64(t, l1.free);
    }
    s->local = local;
    s->tlb_free = tlb.free;
    s->tlb_used = tlb.used;
    s->lsu_free = l1.free;
    s->lsu_used = l1.used;
    c->tlb_count[HD_L1TLB_LOOKUPS] += pages;
    c->tlb_count[HD_L1TLB_HITS] += pages;
    if (i > op->at)
        m->done = hd_max_u64(m->done, last + g->both_ticks);
    return i - op->at;
}

HD_HOT hd_time hd_lsu_streak(struct hd_core *c, hd_time t, hd_time end)
{
    struct hd_lines *op = &c->lsu[c->s->lsu_first];
    uint32_t n = HD_LIKELY(is_plain(c)) ? streak(c, t, end, true)
                                        : streak(c, t, end, false);

    op->at = (uint16_t)(op->at + n);
    c->dry = n != 0 ? 0 : c->dry + 1;
    c->memop[op->memop].left -= n & 0xff;
    c->l1_count[HD_L1_READS] += n;
    c->l1_count[HD_L1_READ_HITS] += n;
    return hd_lsu_next(c, c->s);
}

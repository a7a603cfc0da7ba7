/*
 * lsu.c - the load/store unit of a core: memory instructions in order.
 *
 * Memory instructions enter in issue order, as lines (coalesce.c).  The unit
 * serves one line a cycle and L1 port: the first line of a page looks up the
 * L1 TLB (its own port), then the line looks up the L1.  A line whose page
 * misses is parked at the TLB's MSHR and replayed, with priority, when the
 * translation has arrived; a line that misses the L1 becomes a target of an L1
 * MSHR (l1tlb.c, l1d.c).  Where there is no MSHR, store queue entry or parking
 * place left, the instruction at the head of the queue is blocked, and the unit
 * sleeps until one is freed.
 *
 * An instruction whose lanes diverge has up to a line for each of them.  They
 * are served in one call, as long as nothing else of the core is due earlier
 * (hd_lsu_serve): until an instruction has left, its lines concern nothing but
 * the two ports, the arrays and the load itself.  A warp's next instruction
 * mostly touches the same lines and pages as its last one, in the same order:
 * for each place in an instruction it is remembered where in the arrays its
 * line and its page were found last, and there they are looked for first
 * (hd_assoc_find_at).  These are guesses, no part of the results.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"

void hd_lsu_bound(struct hd_core *c)
{
    const struct hd_machine *m = c->gpu->m;
    const uint32_t *watched = c->gpu->env->slots->watched;

    c->unobserved = !c->ahead && !c->pick.bound && !c->limit.bound &&
                    watched[HEDDLE_NOTE_access] == 0 &&
                    watched[HEDDLE_NOTE_access_done] == 0 &&
                    c->gpu->translate != 0 && m->l1tlb.mode.kind == HD_FULL &&
                    m->l1cache.mode.kind == HD_FULL &&
                    m->l1tlb.blocking != HD_UNDER_NONE &&
                    m->core.translate_textures && c->l1tlb.quiet &&
                    (c->l1.tags.asked & (HD_CACHE_USE | HD_ASSOC_TOUCH)) == 0 &&
                    c->sector == NULL && !c->virtual_l1 && !c->gpu->env->check;
    if (!c->limit.bound &&
        c->s->limit != c->gpu->env->slots->steer->warp_limit[0][c->id])
        hd_limit_renew(c, hd_events_now(c->gpu->env->ev));
}

/* ---- instructions enter -------------------------------------------------- */

/* Takes the place behind the last instruction. */
static struct hd_lines *lsu_enter(struct hd_core *c, uint32_t w)
{
    struct hd_core_state *s = c->s;
    struct hd_lines *op;
    uint32_t at;

    if (s->lsu_n == 0)
        s->lsu_first = 0; /* which the host's cache has longest */
    at = s->lsu_first + s->lsu_n++;
    op = &c->lsu[at - (at < c->lsu_room ? 0 : c->lsu_room)];
    op->at = op->looked = 0;
    op->warp = (uint16_t)w;
    op->memop = hd_places_take(&c->memop_places);
    hd_assert(op->memop != HD_NONE);
    return op;
}

static HD_APART void note_access(struct hd_core *c, uint32_t w,
                                 const struct hd_op *o,
                                 const struct hd_lines *l)
{
    struct heddle_n_access n = {.core = c->id,
                                .app = c->app,
                                .warp = w,
                                .pc = o->pc,
                                .kind = (uint64_t)o->kind - HEDDLE_OP_LOAD,
                                .lines = l->n,
                                .pages = l->pages};

    if (c->gpu->env->slots->watched[HEDDLE_NOTE_access] != 0)
        hd_slots_note(c->gpu->env->slots, HEDDLE_NOTE_access, &n);
}

/* The warp that each page of an instruction is counted for (hd_lsu_origin);
 * pages are in the order of the lanes that touch them first. */
static HD_APART void find_origins(struct hd_core *c, uint32_t w,
                                  const struct hd_access *acc,
                                  const struct hd_lines *op)
{
    const struct hd_warp *x = &c->warp[w];
    uint8_t *origin = &c->origin[(size_t)(op - c->lsu) * HD_MAX_LINES];
    uint32_t n = 0;

    if (x->ctx == c->block[x->block].ctx) {
        memset(origin, (int)w, op->pages);
        return;
    }
    c->count[HD_CORE_FORMED_MEM]++;
    c->count[HD_CORE_FORMED_PAGES] += op->pages;
    for (uint64_t m = x->op.mask; m != 0 && n < op->pages; m &= m - 1) {
        uint32_t lane = hd_bit_first(m);
        uint64_t a = hd_access_lane(acc, lane);
        uint64_t last = (a + x->op.bytes - 1) >> HD_PAGE_SHIFT;

        for (a >>= HD_PAGE_SHIFT; a <= last && n < op->pages; a++)
            if (op->page[n].vpn == a)
                origin[n++] = (uint8_t)hd_warp_origin(c, w, lane);
    }
    hd_assert(n == op->pages);
}

bool hd_lsu_untranslated(const struct hd_core *c, const struct hd_op *o)
{
    const struct hd_core_cfg *m = &c->gpu->m->core;

    return (o->kind == HEDDLE_OP_ATOMIC && !m->translate_atomics) ||
           (o->space == HD_SPACE_TEXTURE && !m->translate_textures);
}

HD_HOT void hd_lsu_take(struct hd_core *c, uint32_t w, uint32_t lanes,
                        const struct hd_access *acc, hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_op *o = &c->warp[w].op;
    struct hd_lines *op = lsu_enter(c, w);
    uint64_t *count = c->count;

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    if (HD_UNLIKELY(o->kind == HEDDLE_OP_ATOMIC &&
                    g->m->core.atomics == HD_ATOMICS_WORD)) {
        hd_atomics_split(acc, o->mask, o->bytes, g->line_shift,
                         g->m->l1cache.sector_bytes, op);
        count[HD_CORE_ATOMIC_REQUESTS] += op->n;
    } else {
        if (lanes != c->lanes ||
            !hd_coalesce_one(acc, lanes, o->bytes, g->line_shift, op))
            hd_coalesce(acc, o->mask, c->lanes, o->bytes, g->line_shift, op);
        if (HD_UNLIKELY(c->sector != NULL))
            hd_l1sector_find(c, op, acc, o);
    }
    op->direct = hd_lsu_untranslated(c, o);
    hd_hist_add(&g->line_hist[c->app], op->n);
    hd_hist_add(&g->page_hist[c->app], op->pages);
    count[HD_CORE_LINES] += op->n;
    count[HD_CORE_PAGES] += op->pages;
    if (o->kind == HEDDLE_OP_LOAD) {
        count[HD_CORE_LOAD_LINES] += op->n;
        count[HD_CORE_LOAD_LANES] += lanes;
    }
    if (HD_UNLIKELY(c->origin != NULL))
        find_origins(c, w, acc, op);
    c->pc[op->memop] = o->pc;
    if (HD_UNLIKELY(!c->unobserved))
        note_access(c, w, o, op);
    c->memop[op->memop] = (struct hd_memop){.issued = t,
                                            .warp = w & 0xff,
                                            .left = (op->n + 1u) & 0xff,
                                            .slot = o->slot,
                                            .kind = o->kind};
    if (HD_UNLIKELY(o->space >= HD_SPACE_PAST))
        hd_copies_enter(c, w, op->memop);
}

void hd_lsu_take_shared(struct hd_core *c, uint32_t w, hd_time t)
{
    struct hd_lines *op = lsu_enter(c, w);

    op->n = op->pages = 0;
    c->memop[op->memop] = (struct hd_memop){.issued = t,
                                            .warp = w & 0xff,
                                            .left = 1,
                                            .slot = HD_NO_SLOT,
                                            .kind = HD_OP_SHARED};
}

/* ---- calls from the L1 TLB and the L1 ------------------------------------ */

void hd_lsu_block(struct hd_core *c, uint32_t why, uint64_t *stalls)
{
    if ((c->s->blocked & why) == 0)
        ++*stalls;
    c->s->blocked |= why;
}

HD_HOT void hd_lsu_line_done(struct hd_core *c, uint32_t memop, hd_time t)
{
    struct hd_memop *m = &c->memop[memop];

    if (--m->left > 0) {
        if (t > c->s->local) /* the last line is not done before now */
            m->done = hd_max_u64(m->done, t);
        return;
    }
    t = hd_max_u64(m->done, t);
    if (t > c->s->local)
        hd_core_message(c, t, HD_MSG_DONE, memop, 0);
    else
        hd_warp_answer(c, memop, t);
}

void hd_lsu_give_parked(struct hd_core *c, uint32_t p)
{
    c->s->blocked &= ~(uint32_t)HD_BLOCK_PARKED;
    hd_places_give(&c->parked_places, p);
}

/* ---- serving ------------------------------------------------------------- */

/* Takes a slot of the L1's port without a look-up. */
static void lsu_pass_port(struct hd_core *c, hd_time t)
{
    hd_lsu_use_port(&c->s->lsu_free, &c->s->lsu_used, c->gpu->m->l1cache.ports,
                    t, c->gpu->cycle);
}

/* Lines that waited for their translations are replayed, from t on and before
 * `end`: up to one that is done, which may have been all that its warp waits
 * for. */
static void lsu_replay(struct hd_core *c, hd_time t, hd_time end)
{
    struct hd_core_state *s = c->s;
    uint32_t left;

    do {
        uint32_t p = s->replay_first;
        const struct hd_parked *x = &c->parked[p];
        const struct hd_memop *m = &c->memop[x->memop];
        uint64_t line = x->what & ((1ull << HD_PARKED_BYTES) - 1);
        uint32_t bytes = (uint32_t)(x->what >> HD_PARKED_BYTES) & 0x7fff;
        hd_time ticks = (x->what & HD_PARKED_HIT) != 0 ? c->gpu->both_ticks
                                                       : c->gpu->l1_ticks;
        s->local = t;
        left = m->left;
        hd_core_for(c, m->warp);
        if (!hd_l1d_take(c, x->memop, line, bytes, t, ticks, NULL))
            return;
        s->replay_first = x->next;
        hd_lsu_give_parked(c, p);
        if (s->replay_first == HD_NONE || m->left != left)
            return;
        t = hd_lsu_next(c, s);
    } while (t < hd_min_u64(end, s->inbox.at));
}

/* The next line of the instruction at the head.  False: blocked. */
static HD_INLINE bool lsu_line(struct hd_core *c, struct hd_lines *op,
                               hd_time t)
{
    const struct hd_gpu *g = c->gpu;
    const struct hd_lsu_line *x = hd_lines_at(op, op->at);
    const struct hd_lsu_page *page = &op->page[x->page];
    struct hd_guess *guess = &c->guess[op->warp];

    if (page->frame == HD_PAGE_UNKNOWN &&
        !hd_l1tlb_take(c, op, x->page, t, &guess->page[x->page]))
        return false;
    if (page->frame < HD_PAGE_MISSING)
        return hd_l1d_take(c, op->memop,
                           page->frame << (HD_PAGE_SHIFT - g->line_shift) |
                               x->place,
                           x->bytes, t, g->both_ticks, &guess->line[op->at]);
    if (!hd_l1tlb_park(c, op, x))
        return false;
    lsu_pass_port(c, t);
    return true;
}

enum lsu_line { LSU_BLOCKED, LSU_TO_DO, LSU_DONE, LSU_NONE };

/* What precedes the next line: the pages of all (l1tlb.overlap), or a look-up
 * in a virtual L1, with which a load may be done. */
static HD_APART enum lsu_line lsu_before(struct hd_core *c, struct hd_lines *op,
                                         hd_time t)
{
    const struct hd_lsu_line *x;
    uint64_t line;

    if (c->ahead && !hd_overlap_pages(c, op, t))
        return LSU_BLOCKED;
    if (op->at == op->n)
        return LSU_NONE;
    x = hd_lines_at(op, op->at); /* the pages may have passed some */
    if (!c->virtual_l1 || c->memop[op->memop].kind != HEDDLE_OP_LOAD ||
        !hd_virtual_holds(c, op->page[x->page].vpn, x->place, x->bytes, &line))
        return LSU_TO_DO;
    return hd_l1d_take(c, op->memop, line, x->bytes, t, c->gpu->l1_ticks,
                       &c->guess[op->warp].line[op->at])
               ? LSU_DONE
               : LSU_BLOCKED;
}

/* An instruction without lines.  False: blocked. */
static bool lsu_pass(struct hd_core *c, const struct hd_lines *op, hd_time t)
{
    if (c->memop[op->memop].kind != HD_OP_SHARED)
        return true; /* an access of no lane */
    if (!hd_blocking_may_pass(c, op->memop))
        return false;
    lsu_pass_port(c, t);
    return true;
}

/* Whether lines of the instruction at the head but its last one may hit in a
 * row. */
static inline bool lsu_has_row(const struct hd_core *c, struct hd_lines *op)
{
    const struct hd_lsu_page *page;

    if (op->at + 1u >= op->n || !c->unobserved ||
        c->memop[op->memop].kind != HEDDLE_OP_LOAD || !hd_tlb_plain(&c->l1tlb))
        return false;
    page = &op->page[hd_lines_at(op, op->at)->page];
    return page->frame < HD_PAGE_MISSING ||
           (page->frame == HD_PAGE_UNKNOWN &&
            hd_tlb_is(&c->l1tlb, c->app, page->vpn,
                      c->guess[op->warp].page[page - op->page]));
}

/* Lines in a row that hit where their places in the warp's instruction did
 * last, but for the last one, which ends the instruction: what lsu_line() would
 * do from t on and before `end`.  The issue port need not wait for them, nor
 * they for it, so the core's time stays where it is. */
static HD_INLINE void lsu_row(struct hd_core *c, struct hd_lines *op, hd_time t,
                              hd_time end)
{
    const struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    const struct hd_guess *guess = &c->guess[op->warp];
    struct hd_memop *m = &c->memop[op->memop];
    hd_time cycle = g->cycle, last = 0;
    uint32_t shift = HD_PAGE_SHIFT - g->line_shift, pages = 0, n;
    uint32_t tlb_ports = g->m->l1tlb.ports, l1_ports = g->m->l1cache.ports;
    uint32_t i = op->at, most = op->n - 1u;

    for (; i < most && t < end; i++) {
        const struct hd_lsu_line *x = hd_lines_at(op, i);
        struct hd_lsu_page *page = &op->page[x->page];
        if (page->frame >= HD_PAGE_MISSING) {
            t = hd_max_u64(t, s->tlb_free);
            if (page->frame != HD_PAGE_UNKNOWN || t >= end ||
                !hd_tlb_again(&c->l1tlb, c->app, page->vpn,
                              guess->page[x->page], &page->frame))
                break;
            pages++;
            hd_lsu_use_port(&s->tlb_free, &s->tlb_used, tlb_ports, t, cycle);
        }
        if (!hd_cache_again(&c->l1, page->frame << shift | x->place,
                            guess->line[i])) {
            if (t > s->lsu_free) { /* its page is known from t on */
                s->lsu_free = t;
                s->lsu_used = 0;
            }
            break;
        }
        hd_lsu_use_port(&s->lsu_free, &s->lsu_used, l1_ports, t, cycle);
        last = t;
        t = hd_max_u64(t, s->lsu_free);
    }
    c->tlb_count[HD_L1TLB_LOOKUPS] += pages;
    c->tlb_count[HD_L1TLB_HITS] += pages;
    n = i - op->at;
    if (n == 0)
        return;
    c->l1_count[HD_L1_READS] += n;
    c->l1_count[HD_L1_READ_HITS] += n;
    m->done = hd_max_u64(m->done, last + g->both_ticks);
    m->left -= n & 0xff;
    op->at = (uint16_t)i;
}

/* apart: something precedes lines, or launches overlap. */
static HD_INLINE void lsu_serve(struct hd_core *c, hd_time t, hd_time end,
                                hd_time port, bool apart)
{
    struct hd_core_state *s = c->s;
    struct hd_lines *op = &c->lsu[s->lsu_first];
    uint32_t behind = s->lsu_first + 1;
    hd_time next, until = hd_min_u64(end, port);

    hd_at_home(c->gpu->env, HD_SIDE_CORE);
    if (s->replay_first != HD_NONE) {
        lsu_replay(c, t, until);
        return;
    }
    if (apart)
        hd_core_for(c, op->warp);
    if (op->n == 0 && !lsu_pass(c, op, t))
        return;
    while (op->at < op->n) {
        if (apart && c->before) {
            enum lsu_line how = lsu_before(c, op, t);
            if (how == LSU_BLOCKED)
                return;
            if (how == LSU_NONE)
                break;
            if (how == LSU_DONE)
                goto done;
        }
        if (t < end && lsu_has_row(c, op)) {
            lsu_row(c, op, t, end);
            next = hd_lsu_next(c, s);
            if (next > t && next >= until)
                return;
            s->local = t = next;
        }
        if (!lsu_line(c, op, t))
            return;
    done:
        if (++op->at == op->n)
            break;
        t = hd_lsu_next(c, s);
        end = hd_min_u64(end, s->inbox.at);
        until = hd_min_u64(until, end);
        if (t >= until || hd_err_ends(*c->gpu->stop))
            return;
        s->local = t;
    }
    s->lsu_first = behind < c->lsu_room ? behind : 0;
    s->lsu_n--;
    hd_lsu_line_done(c, op->memop, t);
}

static HD_APART void lsu_serve_apart(struct hd_core *c, hd_time t, hd_time end,
                                     hd_time port)
{
    lsu_serve(c, t, end, port, true);
}

HD_HOT void hd_lsu_serve(struct hd_core *c, hd_time t, hd_time end,
                         hd_time port)
{
    if (HD_UNLIKELY(c->before || c->launch != NULL))
        lsu_serve_apart(c, t, end, port);
    else
        lsu_serve(c, t, end, port, false);
}

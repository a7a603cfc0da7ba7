/*
 * warm.c - functional warming of a core: a memory instruction leaves in the
 * TLBs and caches, at once, what it would leave there in time.
 *
 * Sampled runs (sample.every) skip most instructions (skip.c) and keep arrays
 * warm this way; nothing else calls it.  No port, MSHR, queue or event is used.
 * A load's line that misses the L1 is inserted when its warp's next turn comes
 * (hd_l1d_come), as it would not be there before.
 *
 * SPDX-License-Identifier: MIT
 */
#include "l1tlbstate.h"
#include "l1dstate.h"
#include "past.h"

/* The answer to a miss, from the buffer next to the L1 TLB or from below;
 * whether there was a walk. */
static bool warm_l1tlb_below(struct hd_core *c, const struct hd_treq *q,
                             struct hd_xlate *x)
{
    const struct hd_gpu *g = c->gpu;

    if (c->side.base_n != 0 &&
        hd_tlb_lookup(&c->side, c->app, q->vpn, c->id, q->warp, x, NULL) &&
        hd_faults_here(g->faults, g->tables, c->app, q->vpn, x))
        return false;
    return c->below_side.warm(c->below_side.self, q, x) >= HD_TREQ_MERGED;
}

/* Looks a page up; the frame of what q asks for. */
static uint64_t warm_l1tlb(struct hd_core *c, const struct hd_treq *q,
                           bool direct, uint16_t *guess)
{
    uint64_t hand = c->hand, frame;
    struct hd_xlate x = {0};
    bool full = c->gpu->m->l1tlb.mode.kind == HD_FULL, walked;

    if (c->gpu->translate == 0 ||
        (direct && !hd_l1tlb_not_resident(c, q->vpn.v)))
        return hd_l1tlb_mapped(c, q->vpn.v);
    if (hd_l1tlb_find(c, q->vpn, q->warp, guess, &frame))
        return frame;
    if (HD_UNLIKELY(!c->l1tlb.quiet) && full)
        hd_tlb_missed(&c->l1tlb, c->app, q->vpn, c->id, q->warp);
    walked = warm_l1tlb_below(c, q, &x);
    if (c->gpu->env->err->code < 0)
        return 0;
    if (full)
        hd_l1side_filled(c, q->vpn,
                         hd_tlb_fill(&c->l1tlb, c->app, c->id, q->warp, q->vpn,
                                     &x,
                                     walked ? HEDDLE_INSERT_CAUSE_WALK
                                            : HEDDLE_INSERT_CAUSE_HIT));
    c->hand = hand;
    return hd_xlate_frame(&x, q->vpn).v;
}

/* Asks the level below for a line, as l1d_send() does. */
static void warm_l2(struct hd_core *c, const struct hd_req *of, uint64_t line,
                    uint32_t bytes)
{
    struct hd_gpu *g = c->gpu;
    struct hd_req q = *of;

    q.pa.v = line << g->line_shift;
    q.bytes = (uint16_t)bytes;
    g->memory.warm(g->memory.self, &q);
}

/* A dirty line leaves the L1. */
static void warm_write_back(struct hd_core *c, uint64_t line)
{
    struct hd_req q = {.kind = HD_REQ_WRITE,
                       .client = (uint16_t)c->id,
                       .warp = HD_NO_WARP,
                       .app = (uint8_t)c->app};

    warm_l2(c, &q, line, c->gpu->m->l1cache.line);
}

/* What `line`, of which q wants its bytes, leaves in the caches; whether it hit
 * in the L1. */
static bool warm_l1d(struct hd_core *c, const struct hd_req *q, uint64_t line,
                     uint16_t *guess)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;
    struct hd_who who = {c->app, q->warp};
    bool full = hd_l1d_is_full(c), back = full && cfg->write == HD_WRITE_BACK;
    bool hit = !full && cfg->mode.kind != HD_OFF;
    struct hd_late *late = &c->skip.late[q->warp];
    uint64_t victim;
    uint32_t set, e;

    if (HD_UNLIKELY(c->sector != NULL))
        return hd_l1sector_warm(c, q, line, guess);
    if (q->kind != HD_REQ_READ)
        hd_l1d_written(c, line);
    if (q->kind == HD_REQ_ATOMIC) {
        if (full && hd_cache_drop(&c->l1, line))
            warm_write_back(c, line);
        warm_l2(c, q, line, q->bytes);
        return false;
    }
    if (full) {
        set = hd_cache_set(&c->l1, line);
        e = hd_assoc_find_at(&c->l1.tags, set, line, guess);
        hit = e != HD_NONE;
        hd_cache_used(&c->l1, set, line, e, q->kind, who, false);
        if (!hit && q->kind == HD_REQ_READ &&
            hd_mshr_find(&c->l1_mshr, line) != HD_NONE)
            return false; /* it will come */
    }
    if (q->kind == HD_REQ_WRITE ? !back : !hit)
        warm_l2(c, q, line, q->kind == HD_REQ_WRITE ? q->bytes : cfg->line);
    if (!full || hit || !(back || q->kind == HD_REQ_READ))
        return hit;
    if (q->kind == HD_REQ_READ && late->n < HD_MAX_LINES) {
        late->line[late->n++] = line;
    } else if (hd_l1d_place(c, line, q->kind == HD_REQ_WRITE, who, &victim)) {
        warm_write_back(c, victim);
    }
    return false;
}

/* What a load that passes the L1 leaves in the caches. */
static void warm_past(struct hd_core *c, const struct hd_req *q, uint64_t line)
{
    const struct hd_cache_cfg *cfg = &c->gpu->m->l1cache;

    if (c->sector != NULL) {
        hd_l1sector_warm_past(c, q, line);
        return;
    }
    if (cfg->write == HD_WRITE_BACK && hd_l1d_is_full(c) &&
        hd_cache_drop(&c->l1, line))
        warm_write_back(c, line);
    warm_l2(c, q, line, cfg->line);
}

void hd_l1d_come(struct hd_core *c, uint32_t warp)
{
    struct hd_late *late = &c->skip.late[warp];
    struct hd_who who = {c->app, warp};

    if (HD_UNLIKELY(c->sector != NULL))
        hd_l1sector_come(c, warp);
    for (uint32_t i = 0; i < late->n; i++) {
        uint64_t line = late->line[i], victim;

        if (!hd_cache_peek(&c->l1, line) &&
            hd_mshr_find(&c->l1_mshr, line) == HD_NONE &&
            hd_l1d_place(c, line, false, who, &victim))
            warm_write_back(c, victim);
    }
    late->n = 0;
}

bool hd_lsu_warm(struct hd_core *c, uint32_t w, const struct hd_op *o,
                 const struct hd_access *acc)
{
    const struct hd_gpu *g = c->gpu;
    uint32_t shift = HD_PAGE_SHIFT - g->line_shift;
    struct hd_guess *guess = &c->guess[w];
    bool direct = hd_lsu_untranslated(c, o), hits = true;
    bool past = o->space == HD_SPACE_PAST || o->space == HD_SPACE_COPY_PAST;
    struct hd_lines op;
    struct hd_treq t = {.core = (uint16_t)c->id,
                        .warp = (uint16_t)w,
                        .app = (uint8_t)c->app,
                        .writes = o->kind != HEDDLE_OP_LOAD,
                        .next = HD_NONE,
                        .pc = o->pc};
    struct hd_req q = {.kind = (uint8_t)(o->kind == HEDDLE_OP_LOAD ? HD_REQ_READ
                                         : o->kind == HEDDLE_OP_STORE
                                             ? HD_REQ_WRITE
                                             : HD_REQ_ATOMIC),
                       .client = (uint16_t)c->id,
                       .warp = (uint16_t)w,
                       .app = (uint8_t)c->app,
                       .pc = o->pc};

    if (o->mask != c->full ||
        !hd_coalesce_one(acc, c->lanes, o->bytes, g->line_shift, &op))
        hd_coalesce(acc, o->mask, c->lanes, o->bytes, g->line_shift, &op);
    if (HD_UNLIKELY(c->sector != NULL))
        hd_l1sector_find(c, &op, acc, o);
    c->hand = o->pc;
    for (uint32_t i = 0; i < op.n; i++) {
        const struct hd_lsu_line *x = hd_lines_at(&op, i);
        struct hd_lsu_page *page = &op.page[x->page];
        uint64_t line;

        q.bytes = x->bytes;
        if (HD_UNLIKELY(c->virtual_l1) && q.kind == HD_REQ_READ && !past &&
            hd_virtual_holds(c, page->vpn, x->place, x->bytes, &line)) {
            hits &= warm_l1d(c, &q, line, &guess->line[i]);
            continue;
        }
        if (page->frame == HD_PAGE_UNKNOWN) {
            t.vpn.v = page->vpn;
            page->frame = warm_l1tlb(c, &t, direct, &guess->page[x->page]);
        }
        line = page->frame << shift | x->place;
        if (HD_UNLIKELY(past)) {
            warm_past(c, &q, line);
            hits = false;
            continue;
        }
        hits &= warm_l1d(c, &q, line, &guess->line[i]);
    }
    c->hand = HD_NEVER;
    return hits || o->kind == HEDDLE_OP_STORE;
}

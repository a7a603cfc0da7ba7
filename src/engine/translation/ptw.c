/*
 * ptw.c - the page table walkers and their queue.
 *
 * A walk waits in the queue until a walker is free and then goes down the
 * page table: for each level the walk cache is asked (physical style) or was
 * asked once at the start (prefix style), and an entry that it does not hold is
 * read from memory at its real physical address, 8 bytes, through the L2 data
 * cache like any other read.  After Power, Hill, Wood (HPCA 2014): a pool of
 * walkers, each with one walk; MASK and Mosaic have 64, MESC 16, Pichai one a
 * core.
 *
 * References of a walk = levels minus those that the walk cache saved: in the
 * prefix style the deepest level found and all above it, in the physical
 * style each level found (a level's address comes out of the one above, so
 * that one is read even if a deeper level is in the cache).
 *
 * Events: one when the walker begins, one when an entry arrives, one where a
 * look-up in the walk cache comes before a read.  Reads that need no wait are
 * sent in the event that finds them necessary.
 *
 * Without a walk cache, and with no policy of walk_step, an entry above the
 * leaf does nothing but send the next read.  That read is then sent as soon as
 * the instant of the answer is known, at the later instant and in the place
 * among the reads of that instant that its event would have had: reads are
 * numbered like the events that send them (hd_ptw_answer).  Those sent between
 * two L2 edges, or with the arrival of a request, precede those of the edge.  A
 * read is counted at the instant at which it is sent.
 *
 * Reads are numbered from 1, the root's, on; which level one is of, and what
 * memory sees of it, is the format's (hd_ptables_step): where a format has two
 * leaf tables for 2 MB, a walk can read an entry of each, and both are of one
 * level.
 *
 * The busy time of walkers is the integral of concurrent walks over time, so
 * its quotient by the time passed is the mean number of concurrent walks.
 *
 * A walk that ends at a page that is not resident is over like any other; its
 * requests go to the far-fault station (nonresident.c, paging/fault.c).
 *
 * Mechanisms of later proposals have files of their own: several walks a walker
 * at once (batch.c), where a policy has it read (variants/walktable.c), head
 * PTEs and extra reads after the answer (subregions.c), the requesters that a
 * walk has answered (requesters.c); functional warming (warm.c), inspection and
 * checks (look.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "walk.h"

/* Counts the read under way, of a level, once; c: the counters of its
 * application. */
static void walk_count_read(uint64_t *c, struct hd_walk *w, uint32_t level)
{
    if (w->counted)
        return;
    w->counted = 1;
    w->references++;
    c[HD_WALK_REFERENCES]++;
    c[HD_WALK_LEVEL + level - 1]++;
}

/* ---- the queue -------------------------------------------------------- */

bool hd_ptw_room(const struct hd_unit *u)
{
    const struct hd_walk_cfg *c = &u->m->walk_cfg;

    return u->s->walkers < c->walkers || u->s->waiting < c->queue ||
           c->mode.kind == HD_IDEAL;
}

/* Takes the i-th waiting walk out of the queue. */
uint32_t hd_ptw_unlink(struct hd_unit *u, uint32_t i)
{
    struct hd_unit_state *s = u->s;
    uint32_t room = u->miss.room, at = hd_unit_place(s->queue_first, i, room);
    uint32_t walk = u->queue[at];

    for (; i > 0; i--) { /* those before it move up */
        uint32_t before = hd_unit_place(s->queue_first, i - 1, room);
        u->queue[at] = u->queue[before];
        at = before;
    }
    s->queue_first = hd_unit_place(s->queue_first, 1, room);
    s->waiting--;
    return walk;
}

/* The first free walker; the only number where they are ideal. */
static inline uint32_t walk_free_walker(const struct hd_unit *u)
{
    uint32_t i = 0;

    if (HD_UNLIKELY(u->m->walk_cfg.mode.kind == HD_IDEAL))
        return 0;
    while (u->seat[i] == UINT64_MAX)
        i++;
    return i * 64 + hd_bit_first(~u->seat[i]);
}

HD_HOT void hd_ptw_occupy(struct hd_unit *u, hd_time now, uint32_t walk,
                          uint32_t walker)
{
    struct hd_walk *w = &u->walk[walk];
    hd_time at = hd_max_u64(now, w->ready);

    u->s->walkers++;
    u->s->seats_of[w->app]++;
    w->walker = (uint16_t)walker;
    hd_walk_seat(u, walker);
    w->state = HD_WALK_RUNS;
    w->began = at;
    if (at == now && !u->starting)
        hd_ptw_begin(u, now, walk);
    else
        hd_walk_post(u, at, HD_PTW_START, walk);
}

static HD_INLINE void walk_dispatch(struct hd_unit *u, hd_time now)
{
    struct hd_unit_state *s = u->s;

    if (HD_UNLIKELY(u->m->chosen)) {
        hd_pick_dispatch(u, now);
        return;
    }
    while (s->waiting > 0 && s->walkers < u->m->walk_cfg.walkers)
        hd_ptw_occupy(u, now, hd_ptw_unlink(u, 0), walk_free_walker(u));
}

static void walk_queue(struct hd_unit *u, uint32_t walk)
{
    struct hd_unit_state *s = u->s;

    u->walk[walk].state = HD_WALK_WAITS;
    u->queue[hd_unit_place(s->queue_first, s->waiting++, u->miss.room)] = walk;
}

static void walk_waits(struct hd_unit *u)
{
    hd_unit_peak(&hd_walk_row(u, HD_APP_NONE)[HD_WALK_QUEUE_PEAK],
                 u->s->waiting);
}

HD_HOT void hd_ptw_take(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_unit_state *s = u->s;
    struct hd_walk *w = &u->walk[walk];

    hd_at_home(u->m->env, HD_SIDE_MMU);
    w->req = HD_NONE;
    w->references = 0;
    w->level = 1;
    w->cached = 0;
    w->leaf = 4;
    w->share = HD_NONE;
    w->spared = 0;
    w->bits = 0;
    if (HD_UNLIKELY(u->aim != NULL))
        u->aim[walk] = (struct hd_walk_aim){0};
    if (u->batch != NULL) {
        walk_queue(u, walk);
        walk_waits(u);
        hd_batch_call(u, hd_max_u64(now, w->ready));
        return;
    }
    if (u->m->walk_cfg.mode.kind == HD_IDEAL ||
        (s->walkers < u->m->walk_cfg.walkers && HD_LIKELY(!u->m->chosen))) {
        hd_ptw_occupy(u, now, walk, walk_free_walker(u));
        return;
    }
    walk_queue(u, walk);
    if (HD_UNLIKELY(u->m->chosen))
        hd_pick_dispatch(u, now);
    walk_waits(u);
}

/* ---- the end of a walk ------------------------------------------------ */

static inline void walk_free(struct hd_unit *u, uint32_t walker)
{
    u->s->walkers--;
    hd_walk_seat(u, walker);
}

/* A free walker takes up a walk that waits, or another does. */
static HD_INLINE void walk_freed(struct hd_unit *u, hd_time now,
                                 uint32_t walker)
{
    walk_dispatch(u, now);
    if (HD_UNLIKELY(u->m->watched[HEDDLE_NOTE_walker_idle] != 0) &&
        (u->seat[walker / 64] >> walker % 64 & 1) == 0)
        hd_pick_tell_idle(u, walker);
}

static HD_APART void walk_tell_done(struct hd_unit *u, hd_time now,
                                    uint32_t walk)
{
    const struct hd_walk *w = &u->walk[walk];
    struct heddle_n_walk_done n = {
        .instance = u->instance,
        .app = w->app,
        .vpn = w->vpn.v,
        .cycles = hd_unit_cycles(u->m, now - w->ready),
        .queued = hd_unit_cycles(u->m, w->began - w->ready),
        .references = w->references,
        .requesters = u->miss.v[walk].n,
        .pc = hd_walk_pc(u, walk),
        .core = hd_walk_core(u, walk)};

    hd_fill_open(u, walk);
    hd_slots_note(u->m->env->slots, HEDDLE_NOTE_walk_done, &n);
    hd_fill_close(u);
}

static HD_HOT void walk_done(struct hd_unit *u, hd_time now, uint32_t walk)
{
    struct hd_mmu *m = u->m;
    struct hd_walk *w = &u->walk[walk];
    const struct hd_mshr_entry *e = &u->miss.v[walk];
    uint64_t *c;
    uint64_t busy = hd_unit_cycles(m, now - w->began);
    uint64_t queue = hd_unit_cycles(m, w->began - w->ready);

    hd_walk_count_for(u, walk);
    c = hd_walk_row(u, w->app);
    if (HD_LIKELY(e->n != 0))
        hd_requesters_form(u, e, w->app);
    c[HD_WALK_WALKS]++;
    c[HD_WALK_REQUESTERS] += e->n;
    c[HD_WALK_BUSY_CYCLES] += busy;
    c[HD_WALK_QUEUE_CYCLES] += queue;
    hd_hist_add(&m->walk_latency[w->app], busy);
    hd_hist_add(&m->walk_queue[w->app], queue);
    hd_hist_add(&m->walk_requesters[w->app], e->n);
    if (HD_UNLIKELY(m->watched[HEDDLE_NOTE_walk_done] != 0))
        walk_tell_done(u, now, walk);
    m->recent[w->app].walks--;
    u->s->running--;
    u->s->running_of[w->app]--;
    w->state = HD_WALK_FREE;
    if (HD_LIKELY(u->batch == NULL)) {
        walk_free(u, w->walker);
        u->s->seats_of[w->app]--;
        hd_l2tlb_answer(u, now, walk);
        walk_freed(u, now, w->walker);
    } else {
        uint32_t batch = w->batch;
        bool extra = u->subs.extra != NULL; /* the batch stays until it is known
                                               whether extra reads follow */
        u->batch[batch].left += extra;
        hd_batch_leave(u, now, walk);
        hd_l2tlb_answer(u, now, walk);
        if (extra)
            hd_batch_ended(u, now, batch);
    }
    hd_l2tlb_unblock(u, now);
}

/* ---- the walk --------------------------------------------------------- */

int64_t hd_ptw_ask_step(struct hd_unit *u, const struct hd_walk *w,
                        uint32_t walk, uint32_t pc)
{
    struct heddle_q_walk_step q = {.app = w->app,
                                   .vpn = w->vpn.v,
                                   .level = u->m->read[w->level].level,
                                   .leaf = u->m->read[w->leaf].level,
                                   .cached = u->m->read[w->cached].level,
                                   .pte = w->pte[w->level - 1].v,
                                   .pc = walk != HD_NONE ? hd_walk_pc(u, walk)
                                                         : pc};
    int64_t how;

    if (walk != HD_NONE)
        hd_fill_open(u, walk);
    how = hd_ask_walk_step(&u->m->step, &q);
    hd_fill_close(u);
    return how;
}

static HD_APART void walk_tell_read(const struct hd_unit *u, uint32_t walk,
                                    uint32_t core)
{
    const struct hd_walk *w = &u->walk[walk];
    struct heddle_n_walk_read n = {.instance = u->instance,
                                   .core = core,
                                   .app = w->app,
                                   .vpn = w->vpn.v,
                                   .level = u->m->read[w->level].level,
                                   .address = w->pte[w->level - 1].v,
                                   .pc = hd_walk_pc(u, walk)};

    hd_slots_note(u->m->env->slots, HEDDLE_NOTE_walk_read, &n);
}

HD_HOT void hd_ptw_send(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_mmu *m = u->m;
    struct hd_walk *w = &u->walk[walk];
    uint32_t r;
    struct hd_req *q;

    hd_walk_count_for(u, walk);
    r = hd_walk_request(u, walk, w->app);
    q = &m->w.reqs->v[r];
    w->req = r;
    w->state = HD_WALK_READS;
    w->counted = 0;
    if (m->walk_cfg.port != 0) /* by the core that missed first */
        q->spare = hd_walk_core(u, walk);
    if (HD_UNLIKELY(m->watched[HEDDLE_NOTE_walk_read] != 0))
        walk_tell_read(u, walk, hd_walk_core(u, walk));
    hd_walk_send_read(m, now, w->pte[w->level - 1], w->level, q, r, u->ticket);
}

/* The read of w->level leaves, or one of a policy's table. */
static HD_HOT void walk_read(struct hd_unit *u, hd_time now, uint32_t walk)
{
    if (HD_UNLIKELY(u->m->address.bound))
        hd_walktable_aim(u, &u->walk[walk], &u->aim[walk],
                         hd_walk_core(u, walk), hd_walk_pc(u, walk));
    if (HD_LIKELY(u->batch == NULL))
        hd_ptw_send(u, now, walk);
    else
        hd_batch_want(u, now, walk);
}

/* Continues from w->level at t, not before now: passes the levels that need no
 * read, then has the read sent, or the walk done. */
static HD_HOT void walk_next(struct hd_unit *u, hd_time now, uint32_t walk,
                             hd_time t)
{
    struct hd_walk *w = &u->walk[walk];
    bool physical = hd_walk_by_address(u);
    uint32_t what;

    for (; w->level <= w->leaf; w->level++) {
        if (HD_UNLIKELY(u->subs.extra != NULL) && w->level == 4)
            hd_subregions_aim(u, w);
        if (physical)
            t = hd_pwc_port(&u->pwc, t);
        if (!hd_walk_spared(u, w, walk, 0, physical))
            break;
    }
    what = w->level > w->leaf ? HD_PTW_DONE : HD_PTW_SEND;
    if (t != now)
        hd_walk_post(u, t, what, walk);
    else if (what == HD_PTW_DONE)
        walk_done(u, now, walk);
    else
        walk_read(u, now, walk);
}

static HD_HOT void walk_descend(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_mmu *m = u->m;
    struct hd_walk *w = &u->walk[walk];
    hd_time t = now;

    w->leaf = (uint8_t)hd_ptables_path(m->w.tables, w->app, w->vpn, w->pte);
    if (w->leaf == 0) { /* no page table: the answer is an error */
        walk_done(u, now, walk);
        return;
    }
    if (hd_walk_by_prefix(u)) {
        t = hd_pwc_port(&u->pwc, now);
        w->cached = (uint8_t)hd_pwc_prefix(&u->pwc, w->app, w->vpn,
                                           m->read[w->leaf].level);
        w->level = (uint8_t)(w->cached + 1);
    }
    walk_next(u, now, walk, t);
}

HD_HOT void hd_ptw_begin(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_mmu *m = u->m;
    struct hd_walk *w = &u->walk[walk];
    struct hd_mmu_recent *recent = &m->recent[w->app];
    struct hd_unit_state *s = u->s;
    bool outer = u->starting;

    hd_walk_count_for(u, walk);
    u->starting = true; /* the walks that follow begin in events of their own */
    s->running++;
    s->running_of[w->app]++;
    hd_unit_peak(&hd_walk_row(u, w->app)[HD_WALK_PEAK], s->running_of[w->app]);
    hd_unit_peak(&hd_walk_row(u, HD_APP_NONE)[HD_WALK_PEAK], s->running);
    recent->walks++;
    recent->peak = (uint32_t)hd_max_u64(recent->peak, recent->walks);
    if (HD_UNLIKELY(m->watched[HEDDLE_NOTE_walk_start] != 0))
        hd_pick_tell_start(u, now, walk);
    if (m->walk_cfg.mode.kind == HD_FULL)
        walk_descend(u, now, walk);
    else if (m->walk_cfg.mode.kind == HD_IDEAL || m->walk_fixed == 0)
        walk_done(u, now, walk);
    else
        hd_walk_post(u, now + m->walk_fixed, HD_PTW_DONE, walk);
    u->starting = outer;
}

/* An entry has been read, for a walk and for those that share its read. */
static HD_HOT void walk_entry(struct hd_unit *u, hd_time now, uint32_t walk)
{
    const struct hd_walk *of = &u->walk[walk];

    hd_walk_count_for(u, walk);
    if (hd_pwc_on(&u->pwc) && (u->aim == NULL || !u->aim[walk].table))
        hd_pwc_fill(&u->pwc, of->app, of->vpn, u->m->read[of->level].level,
                    u->m->read[of->leaf].level, of->pte[of->level - 1]);
    if (HD_UNLIKELY(u->s->open == of->batch + 1)) /* the batch's first read */
        u->s->open = 0;
    for (uint32_t share; walk != HD_NONE; walk = share) {
        struct hd_walk *w = &u->walk[walk];
        share = w->share; /* it may end at once */
        hd_walk_count_for(u, walk);
        w->state = HD_WALK_RUNS;
        if (HD_UNLIKELY(u->aim != NULL) &&
            !hd_walktable_read(u, w, &u->aim[walk])) {
            walk_read(u, now, walk);
            continue;
        }
        w->level++;
        walk_next(u, now, walk, now);
    }
}

void hd_ptw_free(struct hd_unit *u, hd_time now, uint32_t walker)
{
    if (u->batch == NULL) {
        walk_free(u, walker);
        walk_freed(u, now, walker);
    } else {
        hd_batch_ended(u, now, walker);
    }
    hd_l2tlb_unblock(u, now);
}

HD_HOT void hd_ptw_serve(void *self, hd_time now, uint32_t what, uint32_t walk,
                         uint64_t number)
{
    struct hd_unit *u = self;

    u->ticket = number;
    if (HD_LIKELY(what == HD_PTW_ENTRY))
        walk_entry(u, now, walk);
    else if (what == HD_PTW_START)
        hd_ptw_begin(u, now, walk);
    else if (what == HD_PTW_DONE)
        walk_done(u, now, walk);
    else if (what == HD_PTW_GATHER)
        hd_batch_gather(u, now, walk);
    else if (what == HD_PTW_READ)
        hd_batch_read(u, now, walk);
    else if (what == HD_PTW_EXTRA)
        hd_subregions_read(u, now, walk);
    else
        walk_read(u, now, walk);
    hd_treq_count_for(u->m->w.treqs, HD_NONE);
}

HD_HOT void hd_ptw_answer(void *mmu, hd_time at, uint32_t r)
{
    const struct hd_mmu *m = mmu;
    struct hd_req *q = &m->w.reqs->v[r];
    struct hd_unit *u = hd_unit_of(mmu, HD_WALK_TAG_UNIT(q->tag));
    uint32_t walk = HD_WALK_TAG_WALK(q->tag);
    struct hd_walk *w = &u->walk[walk];
    uint32_t level;
    uint64_t *c;

    hd_cross(m->env, HD_BORDER_walk);
    at += m->w.memory_back;
    if (HD_UNLIKELY(q->level == 0)) { /* it is one of the extra reads */
        hd_req_give(m->w.reqs, r);
        hd_subregions_back(u, at, walk);
        return;
    }
    hd_walk_count_for(u, walk);
    c = hd_walk_row(u, w->app);
    hd_treq_count_for(m->w.treqs, HD_NONE);
    level = m->read[w->level].level;
    walk_count_read(c, w, level);
    c[HD_WALK_L2 + level - 1] += q->hit == HD_REQ_HIT;
    if (m->early && w->level < w->leaf && at < *m->until) {
        w->level++;
        w->counted = 0;
        hd_walk_send_read(m, at, w->pte[w->level - 1], w->level, q, r,
                          u->s->number++);
        return;
    }
    w->req = HD_NONE;
    hd_req_give(m->w.reqs, r);
    hd_walk_post(u, at, HD_PTW_ENTRY, walk);
}

/* ---- looking and checking --------------------------------------------- */

void hd_ptw_sync(void *mmu, hd_time now)
{
    struct hd_mmu *m = mmu;

    for (uint32_t i = 0; i < m->units; i++) {
        struct hd_unit *u = &m->unit[i];

        for (uint32_t e = 0; e < u->miss.room; e++) {
            struct hd_walk *w = &u->walk[e];
            if (u->miss.v[e].live && w->req != HD_NONE &&
                m->w.reqs->v[w->req].born <= now) {
                hd_walk_count_for(u, e);
                walk_count_read(hd_walk_row(u, w->app), w,
                                m->read[w->level].level);
            }
        }
    }
    hd_treq_count_for(m->w.treqs, HD_NONE);
}

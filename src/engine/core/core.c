/*
 * core.c - a core: its loop over three actors, what comes to it, and what it is
 * built of.
 *
 * A wake-up event at `now` serves messages, load/store unit and issue port in
 * order of time (messages first, then the unit, then the port, within one
 * instant) as long as that time is before now + `ahead`, the shortest latency
 * of an answer: nothing that is sent from now on can arrive earlier, so
 * the core may run ahead of the rest of the machine that far, unless a budget
 * is nearly used up (core/marks.c).  How a run is cut into steps plays no
 * part in it.
 *
 * Data cross the core's reply port in order of arrival, a flit a cycle, and
 * take effect when the last flit is in.  They wake the core when the first flit
 * comes; then nothing happens until the last one, so only the first of those
 * that wait at the port has an instant.
 *
 * All that a core changes is in the arena; struct hd_core is wiring, with
 * what follows from the machine and its application worked out once.  A core
 * has so many memory instructions that it never runs out of them: one for each
 * scoreboard slot of each warp, and those that are at the load/store unit,
 * parked, or, without a slot, in an MSHR.  Lines that wait are few, and their
 * want stops the load/store unit.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "machine.h"
#include "dispatch.h"
#include "variants/peers.h"

/* ---- settings and counters ---------------------------------------------- */

#define HD_PART    core
#define HD_CFG     struct hd_core_cfg
#define HD_PART_OF "core/core.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "core/core.def"
#include "kit/rows.h"
};

/* ---- messages ----------------------------------------------------------- */

static inline struct hd_message *messages(const struct hd_core *c,
                                          const struct hd_message_line *h)
{
    return (struct hd_message *)(void *)(c->gpu->base + (size_t)h->v * 8);
}

/* Room for few at first: the lines of all cores fill the host's cache. */
static int open_line(struct hd_core *c, struct hd_message_line *h)
{
    enum { ROOM = 8 };
    struct hd_arena *arena = c->gpu->env->arena;
    void *p = hd_arena_take(arena, ROOM, sizeof(struct hd_message));

    if (p == NULL)
        return -1;
    h->v = hd_arena_ref(arena, p);
    h->at = HD_NEVER;
    h->first = 1;
    h->room = ROOM;
    return 0;
}

/* Room at the end of the line: by moving to the front, or to a larger piece. */
HD_APART static void make_room(struct hd_core *c, struct hd_message_line *h)
{
    struct hd_arena *arena = c->gpu->env->arena;
    struct hd_message *v = messages(c, h), *to = v;

    if (h->n > h->room / 2) {
        to = hd_arena_take(arena, h->room * 2, sizeof *to);
        hd_assert(to != NULL);
        h->v = hd_arena_ref(arena, to);
        h->room *= 2;
    }
    memmove(to + 1, v + h->first, h->n * sizeof *v);
    h->first = 1;
}

/* Enters a message behind all that are not later; mostly that is the end. */
static HD_INLINE void core_push(struct hd_core *c, struct hd_message_line *h,
                                hd_time at, uint32_t a, uint32_t rest)
{
    struct hd_message *first, *m;

    if (HD_UNLIKELY(h->first + h->n == h->room))
        make_room(c, h);
    first = messages(c, h) + h->first;
    for (m = first + h->n++; m > first && m[-1].at > at; m--)
        *m = m[-1];
    *m = (struct hd_message){at, a, rest};
    h->at = first->at;
}

/* Takes the first message out; it stays valid until the next push. */
static HD_INLINE const struct hd_message *core_pop(struct hd_core *c,
                                                   struct hd_message_line *h)
{
    const struct hd_message *m = messages(c, h) + h->first;
    bool more = --h->n != 0; /* no branch: it could not be predicted */

    h->first = more ? h->first + 1 : 1;
    h->at = m[more].at | -(hd_time)!more; /* all ones is HD_NEVER */
    return m;
}

/* Wakes the core at t, before it wakes anyway. */
static HD_HOT void core_wake(struct hd_core *c, hd_time t)
{
    c->s->wake = t;
    hd_post(c->gpu->env->ev, c->component, c->component, t, 0, 0, 0);
}

/* A message came for t: the core sees it in its loop, or wakes. */
static inline void core_told(struct hd_core *c, hd_time t)
{
    if (t < c->s->wake && !c->awake)
        core_wake(c, t);
}

void hd_core_message(struct hd_core *c, hd_time at, uint32_t what, uint32_t a,
                     uint32_t b)
{
    hd_assert(b < 1u << 24);
    core_push(c, &c->s->inbox, at, a, b << 8 | what);
    core_told(c, at);
}

/* When the first of the data at the reply port is in; it comes at `begin`. */
static inline hd_time data_in(const struct hd_core *c, hd_time begin,
                              uint32_t flits)
{
    return hd_max_u64(begin, c->s->in_free) + flits * c->gpu->cycle;
}

/* Takes the first of the data out when it is in; returns its request. */
static inline uint32_t core_pop_data(struct hd_core *c)
{
    struct hd_core_state *s = c->s;
    const struct hd_message *m = core_pop(c, &s->data);
    bool more = s->data.n != 0;

    s->in_free = s->fill_at;
    s->fill_at = data_in(c, m[more].at, m[more].rest) | -(hd_time)!more;
    return m->a;
}

static inline hd_time core_next_message(const struct hd_core_state *s)
{
    hd_time t = hd_min_u64(s->inbox.at, s->fill_at);

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0 && s->acks.n > 0))
        t = hd_min_u64(t, hd_max_u64(s->acks.at, s->local));
    return t;
}

HD_HOT void hd_core_acks(struct hd_core *c, hd_time t)
{
    while (c->s->acks.at <= t) {
        core_pop(c, &c->s->acks);
        hd_l1d_ack(c);
    }
}

/* ---- the loop ----------------------------------------------------------- */

/* A core comes to stand for a reason, or one reason is gone. */
static void core_stand(struct hd_core *c, uint32_t why, bool on, hd_time t)
{
    struct hd_core_state *s = c->s;

    if (on) {
        if (s->still == 0) {
            s->held = s->port_free;
            s->port_free = HD_NEVER;
        }
        s->still |= why;
        return;
    }
    s->still &= ~why;
    if (s->still == 0)
        s->port_free = hd_max_u64(s->held, t);
}

/* Messages that are rare. */
HD_APART static void core_serve_other(struct hd_core *c, hd_time t,
                                      const struct hd_message *m)
{
    switch (m->rest & 0xff) {
    case HD_MSG_FAULT:
        hd_farfault_waits(c, m->a, t);
        hd_dispatch_fault(c->gpu->dispatch, c->id, m->a, false, t);
        break;
    case HD_MSG_REPLAY: /* which ends the request */
        hd_dispatch_fault(c->gpu->dispatch, c->id, m->a, true, t);
        hd_farfault_served(c, m->a, t);
        break;
    case HD_MSG_AGAIN:
        hd_blocking_again(c, t);
        break;
    case HD_MSG_STORED:
        hd_warp_stored(c, m->a, t);
        break;
    case HD_MSG_WALK:
        hd_l1d_walk_read(c, m->a, t);
        break;
    case HD_MSG_PROBE:
        hd_peers_probed(c, m->a, t);
        break;
    case HD_MSG_PROBED:
        hd_peers_missed(c, m->a, t);
        break;
    case HD_MSG_PREFETCHED:
        hd_l1side_prefetched(c, (uint64_t)(m->rest >> 13) << 32 | m->a,
                             m->rest >> 9 & 15, m->rest >> 8 & 1);
        break;
    case HD_MSG_STAND:
        core_stand(c, HD_STILL_STOPPED, m->a != 0, t);
        break;
    case HD_MSG_BLOCK:
        hd_warp_take(c, t, (uint64_t)(m->rest >> 8) << 32 | m->a);
        break;
    default:
        hd_limit_over(c, t);
    }
}

static HD_INLINE void core_serve_message(struct hd_core *c,
                                         struct hd_core_state *s, hd_time t)
{
    const struct hd_message *m;

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0))
        hd_core_acks(c, t);
    if (s->fill_at <= t) {
        hd_l1d_answer(c, core_pop_data(c), t);
        return;
    }
    if (s->inbox.at > t)
        return;
    m = core_pop(c, &s->inbox);
    if (HD_LIKELY(m->rest == HD_MSG_XLATE))
        hd_l1tlb_answer(c, m->a, t);
    else if (m->rest == HD_MSG_DONE)
        hd_warp_answer(c, m->a, t);
    else
        core_serve_other(c, t, m);
}

/* Before this instant nothing can reach a core that wakes now. */
static inline hd_time horizon(const struct hd_gpu *g, hd_time now)
{
    hd_time page = hd_min_u64(*g->barrier, *g->arrival);

    hd_cross(g->env, HD_BORDER_horizon);
    return hd_min_u64(now + g->run_ahead,
                      hd_min_u64(*g->env->slots->epoch, page));
}

/* Serves what comes before the horizon; when the next thing is to be served. */
static HD_INLINE hd_time core_run(struct hd_core *c, hd_time now)
{
    struct hd_core_state *s = c->s;
    const int *stop = c->gpu->stop;
    hd_time end, t;

    end = horizon(c->gpu, now);
    s->local = hd_max_u64(s->local, now);
    c->gpu->env->local = &s->local;
    if (core_next_message(s) == now && now < end && !hd_err_ends(*stop))
        core_serve_message(c, s, now); /* nothing else is before */
    for (;;) {
        hd_time message = core_next_message(s), unit = hd_lsu_next(c, s);
        hd_time other = hd_min_u64(message, unit);
        struct hd_port port = hd_port_next(c, s);
        while (port.at < hd_min_u64(end, other) && !hd_err_ends(*stop)) {
            port = hd_warp_serve(c, port, hd_min_u64(end, other));
            message = hd_min_u64(message, s->inbox.at);
            unit = hd_lsu_next(c, s);
            other = hd_min_u64(message, unit);
        }
        t = hd_min_u64(other, port.at);
        if (t >= end || hd_err_ends(*stop))
            break;
        s->local = hd_max_u64(s->local, t);
        if (message == t)
            core_serve_message(c, s, t);
        else
            hd_lsu_serve(c, t, hd_min_u64(end, message), port.at);
    }
    c->gpu->env->local = NULL;
    hd_core_for(c, HD_NO_WARP);
    return t;
}

/* Requests that were sent in this instant are looked up below. */
static HD_APART void core_ask(struct hd_core *c, hd_time now)
{
    const struct hd_treqs *p = c->gpu->treqs;
    uint32_t treq = c->asked, next;

    c->asked = HD_NONE;
    for (; treq != HD_NONE; treq = next) {
        next = p->v[treq].next;
        c->below_tlb.take(c->below_tlb.self, now, treq);
    }
}

static HD_HOT void core_serve(void *self, hd_time now, uint32_t what,
                              uint32_t a, uint64_t b)
{
    struct hd_core *c = self;
    hd_time t;

    (void)what, (void)a, (void)b;
    if (c->s->wake != now)
        return; /* an earlier wake-up took its place */
    c->s->wake = HD_NEVER;
    c->awake = true;
    t = core_run(c, now);
    while (HD_UNLIKELY(c->asked != HD_NONE)) {
        core_ask(c, now);
        t = c->s->inbox.at <= now ? core_run(c, now)
                                  : hd_min_u64(t, c->s->inbox.at);
    }
    c->awake = false;
    if (t != HD_NEVER)
        core_wake(c, t);
}

/* ---- answers ------------------------------------------------------------ */

/* `sectors`: the answer to a load has the sectors that it asked for, and not
 * the line. */
static HD_INLINE void core_reply(struct hd_core *c, hd_time at, uint32_t req,
                                 bool sectors)
{
    struct hd_gpu *g = c->gpu;
    struct hd_core_state *s = c->s;
    const struct hd_req *q = &g->reqs->v[req];
    uint32_t flits;
    bool first;

    at = hd_recip_up(g->per_cycle, at + g->back);
    if (q->kind == HD_REQ_WRITE) { /* of concern to a core that waits for it */
        core_push(c, &s->acks, at, 0, 0);
        if (HD_UNLIKELY(c->owes) && q->warp != HD_NO_WARP)
            hd_core_message(c, at, HD_MSG_STORED, q->warp, 0);
        if ((s->blocked & HD_BLOCK_STORES) != 0)
            core_told(c, at);
        return;
    }
    flits = q->kind == HD_REQ_READ && !sectors ? g->line_flits
                                               : hd_l1d_flits(g, q->bytes);
    first = at < s->data.at;
    core_push(c, &s->data, at, req, flits);
    if (first)
        s->fill_at = data_in(c, at, flits);
    core_told(c, at);
}

static HD_HOT void reply_data(void *self, hd_time at, uint32_t req)
{
    core_reply(self, at, req, false);
}

static HD_HOT void reply_sectors(void *self, hd_time at, uint32_t req)
{
    core_reply(self, at, req, true);
}

/* The program counter of the access that the core's arrays see. */
static uint32_t pc_at_hand(const void *core)
{
    const struct hd_core *c = core;
    const struct hd_core_state *s = c->s;

    if (c->hand != HD_NEVER)
        return (uint32_t)c->hand;
    return c->pc[s->replay_first != HD_NONE ? c->parked[s->replay_first].memop
                                            : c->lsu[s->lsu_first].memop];
}

struct hd_client hd_core_client(struct hd_core *c)
{
    return (struct hd_client){c->sector != NULL ? reply_sectors : reply_data,
                              c};
}

/* What there is to say of a translation request comes over its own network. */
static inline void reply_treq(struct hd_core *c, hd_time at,
                              enum hd_core_message what, uint32_t treq)
{
    struct hd_gpu *g = c->gpu;

    hd_core_message(c, hd_recip_up(g->per_cycle, at + g->tlb_back), what, treq,
                    0);
}

static HD_HOT void reply_translation(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_XLATE, treq);
}

static void reply_replayed(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_REPLAY, treq);
}

static void reply_faulted(void *self, hd_time at, uint32_t treq)
{
    reply_treq(self, at, HD_MSG_FAULT, treq);
}

static void core_prefetched(void *self, hd_time at, uint32_t app, uint64_t vpn,
                            uint32_t to)
{
    struct hd_core *c = self;
    uint32_t side = to == HEDDLE_TRANSLATE_TO_L1SIDE;

    hd_core_message(c, hd_recip_up(c->gpu->per_cycle, at + c->gpu->tlb_back),
                    HD_MSG_PREFETCHED, (uint32_t)vpn,
                    (uint32_t)(vpn >> 32) << 5 | app << 1 | side);
}

struct hd_tclient hd_core_tclient(struct hd_core *c, enum hd_core_message what)
{
    return (struct hd_tclient){what == HD_MSG_XLATE    ? reply_translation
                               : what == HD_MSG_REPLAY ? reply_replayed
                                                       : reply_faulted,
                               c, core_prefetched};
}

void hd_core_walk_read(void *gpu, hd_time now, uint32_t req)
{
    struct hd_gpu *g = gpu;

    hd_core_message(&g->core[g->reqs->v[req].spare],
                    hd_recip_up(g->per_cycle, now + g->tlb_back), HD_MSG_WALK,
                    req, 0);
}

void hd_core_walk_warm(void *gpu, struct hd_req *q)
{
    const struct hd_gpu *g = gpu;

    g->memory.warm(g->memory.self, q);
}

/* ---- halting ------------------------------------------------------------ */

void hd_gpu_halt(void *self, bool on, hd_time now)
{
    struct hd_gpu *g = self;

    hd_cross(g->env, HD_BORDER_halt);
    for (uint32_t i = 0; i < g->cores; i++) {
        core_stand(&g->core[i], HD_STILL_HALTED, on, now);
        if (!on)
            core_told(&g->core[i], hd_recip_up(g->per_cycle, now));
    }
}

void hd_core_rouse(struct hd_core *c, hd_time now)
{
    core_told(c, hd_recip_up(c->gpu->per_cycle, now));
}

/* Policies were bound or unbound. */
static void core_bound(void *self)
{
    struct hd_gpu *g = self;

    for (uint32_t i = 0; i < g->cores; i++) {
        hd_tlb_bound(&g->core[i].l1tlb);
        hd_tlb_bound(&g->core[i].side);
        hd_cache_bound(&g->core[i].l1);
        hd_lsu_bound(&g->core[i]);
    }
}

/* ---- building ----------------------------------------------------------- */

static void *core_alloc(struct hd_gpu *g, size_t n, size_t size, int *bad)
{
    void *p = hd_arena_take(g->env->arena, n, size);

    *bad |= p == NULL;
    return p;
}

HD_APART void hd_core_count_for(struct hd_core *c, uint32_t w)
{
    struct hd_gpu *g = c->gpu;
    uint32_t row = w < HD_MAX_WARPS ? c->launch[w] : 0;

    hd_hand_put(&g->env->stats->hand, row);
    row = row != 0 ? row : c->app;
    c->count = hd_count_at(&g->stat, c->id, row);
    c->tlb_count = hd_count_at(&g->tlb_stat, c->id, row);
    c->l1_count = hd_count_at(&g->l1_stat, c->id, row);
    if (c->sector != NULL)
        hd_l1sector_count_for(c, row);
}

void hd_core_assign(struct hd_gpu *g, uint32_t core, uint32_t app)
{
    struct hd_core *c = &g->core[core];

    c->app = c->s->app = app;
    c->state = g->state != NULL ? &g->state[app] : NULL;
    c->ops = g->source[app]->ops;
    c->source = g->source[app]->self;
    hd_core_count_for(c, HD_NO_WARP);
}

static int open_core(struct hd_gpu *g, uint32_t id)
{
    const struct hd_machine *m = g->m;
    struct hd_core *c = &g->core[id];
    struct hd_tlb_cfg l1tlb = m->l1tlb, l1side = m->l1side;
    uint32_t detached = 0;
    int bad = 0;

    c->gpu = g;
    c->id = id;
    c->memops = m->core.warps * HD_SLOTS + m->core.queue + m->core.parked +
                m->l1cache.mshrs;
    if (g->env->copies && hd_copies_open(c) != 0)
        return -1;
    c->targets = m->core.parked;
    c->lsu_room = m->core.queue;
    c->lanes = m->core.lanes;
    c->ilp = m->core.ilp;
    c->full = hd_ones(c->lanes);
    c->lrr = m->core.scheduler == HD_SCHED_LRR;
    c->ahead = m->l1tlb.overlap != HD_OVERLAP_LINE;
    c->whole = m->l1tlb.overlap == HD_OVERLAP_OFF;
    c->owes = m->core.exit == HD_EXIT_STORES;
    c->virtual_l1 = m->l1cache.order == HD_L1_VIRTUAL && g->translate != 0;
    c->before = c->ahead || c->virtual_l1;
    c->s = core_alloc(g, 1, sizeof *c->s, &bad);
    c->warp = core_alloc(g, m->core.warps, sizeof *c->warp, &bad);
    c->age = core_alloc(g, m->core.warps, sizeof *c->age, &bad);
    c->block = core_alloc(g, m->core.blocks, sizeof *c->block, &bad);
    c->memop = core_alloc(g, c->memops, sizeof *c->memop, &bad);
    c->pc = core_alloc(g, c->memops, sizeof *c->pc, &bad);
    c->hand = HD_NEVER;
    c->lsu = core_alloc(g, m->core.queue, sizeof *c->lsu, &bad);
    if (m->vm.paging == HD_PAGING_FAULT) {
        /* each has a line, but for one that is next */
        detached = c->targets + 1;
        c->fault = core_alloc(g, c->memops, sizeof *c->fault, &bad);
    }
    c->parked = core_alloc(g, c->targets, sizeof *c->parked, &bad);
    if (m->core.compact)
        c->origin = core_alloc(g, c->lsu_room, HD_MAX_LINES, &bad);
    if (m->l1tlb.blocking == HD_UNDER_HITS)
        c->page = core_alloc(g, c->targets, sizeof *c->page, &bad);
    if (c->whole)
        c->held = core_alloc(g, c->memops, sizeof *c->held, &bad);
    if (m->sample.every != 0) {
        c->skip.late = hd_env_take(g->env, HD_MAX_WARPS, sizeof *c->skip.late);
        bad |= c->skip.late == NULL;
    }
    if (bad || hd_places_open(&c->memop_places, g->env->arena, c->memops) ||
        hd_places_open(&c->parked_places, g->env->arena, c->targets) ||
        open_line(c, &c->s->inbox) || open_line(c, &c->s->data) ||
        open_line(c, &c->s->acks))
        return -1;
    if (hd_mshr_open(&c->tlb_mshr, g->env->arena, m->l1tlb.mshrs, detached) !=
            0 ||
        hd_mshr_open(&c->l1_mshr, g->env->arena, m->l1cache.mshrs, 0) != 0)
        return -1;
    if (hd_subcore_open(c) != 0)
        return -1;
    c->apart = c->sub != NULL;
    if (g->env->stats->hand.rows != 0) {
        c->apart = true;
        c->launch =
            hd_arena_take(g->env->arena, HD_MAX_WARPS, sizeof *c->launch);
        if (c->launch == NULL)
            return -1;
    }
    c->asked = HD_NONE;
    c->s->wake = c->s->fill_at = HD_NEVER;
    c->s->replay_first = c->s->wait_first = HD_NONE;
    hd_core_assign(g, id, 0);
    c->component = hd_events_component(g->env->ev, "core", core_serve, c);
    hd_warp_open(c);
    l1tlb.groups = l1side.groups =
        (uint32_t)hd_min_u64(m->groups.most, m->groups.l1);
    if (hd_tlb_open(&c->l1tlb, g->env, &l1tlb, "l1tlb", 1, id) != 0)
        return -1;
    if (hd_cache_open(&c->l1, g->env, &m->l1cache, "l1cache", id,
                      m->l1cache.bytes) != 0)
        return -1;
    if (m->l1cache.sector_bytes != 0 && hd_l1sector_open(c) != 0)
        return -1;
    c->named = c->sector != NULL || c->launch != NULL;
    if (g->translate && m->l1tlb.mode.kind == HD_FULL &&
        m->l1side.entries != 0) {
        if (hd_tlb_open(&c->side, g->env, &l1side, "l1side", 0, id) != 0)
            return -1;
        c->side.stat = g->side_stat;
        hd_tlb_set_side(&c->l1tlb, "l1tlb", &c->side);
    }
    c->l1.tags.pc = c->l1tlb.base.pc = c->l1tlb.large.pc = c->side.base.pc =
        (struct hd_pc){pc_at_hand, c};
    hd_lsu_bound(c);
    return 0;
}

/* Of a look-up. */
static hd_time core_ticks(const struct hd_gpu *g, const struct hd_mode *mode,
                          uint32_t latency)
{
    return mode->kind == HD_OFF
               ? 0
               : (mode->kind == HD_FIXED ? mode->fixed : latency) * g->cycle;
}

int hd_gpu_open(struct hd_gpu *g)
{
    static const hd_time never = HD_NEVER;
    static const uint32_t none;
    struct hd_stats *st = g->env->stats;

    if (g->barrier == NULL)
        g->barrier = &never;
    if (g->arrival == NULL)
        g->arrival = &never;
    g->changes = &none;
    g->env->slots->limit_changed = hd_limit_steered;
    g->env->slots->limit_renewed = hd_limit_renewed;
    g->env->slots->limit_self = g;
    g->cycle = g->env->clk->ticks[HD_CLK_CORE];
    g->translate = g->m->sim.translation.kind != HD_OFF;
    g->per_cycle = hd_recip_of(g->cycle);
    g->per_flit = hd_recip_of(g->m->xbar.bytes);
    g->line_flits = hd_l1d_flits(g, g->m->l1cache.line);
    g->tlb_ticks = core_ticks(g, &g->m->l1tlb.mode, g->m->l1tlb.latency);
    g->tlb_ticks = g->translate ? g->tlb_ticks : 0;
    g->l1_ticks = core_ticks(g, &g->m->l1cache.mode, g->m->l1cache.latency);
    g->both_ticks = g->m->l1cache.order == HD_L1_BESIDE
                        ? hd_max_u64(g->l1_ticks, g->tlb_ticks)
                        : g->l1_ticks + g->tlb_ticks;
    g->alu = g->m->core.alu_latency * g->cycle;
    hd_classes_open(g);
    g->line_shift = hd_log2(g->m->l1cache.line);
    g->stat = hd_stats_group_by_launch(st, &hd_rows_core, g->cores);
    hd_stats_open_time(st, hd_core_open_time, g);
    g->tlb_stat = hd_stats_group_by_launch(st, &hd_rows_l1tlb, g->cores);
    g->side_stat = hd_stats_group(st, &hd_rows_l1side, g->cores);
    g->side_ticks = g->m->l1side.latency * g->cycle;
    g->l1_stat = hd_stats_group_by_launch(st, &hd_rows_l1cache, g->cores);
    hd_banks_open(g);
    if (g->m->l1cache.sector_bytes != 0)
        g->sector_stat = hd_l1sector_count(g);
    g->load_latency = hd_stats_hist(st, &hd_rows_core, LOAD_LATENCY);
    g->xlate_latency = hd_stats_hist(st, &hd_rows_core, XLATE_LATENCY);
    g->page_hist = hd_stats_hist(st, &hd_rows_core, PAGES);
    g->line_hist = hd_stats_hist(st, &hd_rows_core, LINES);
    g->stop = &g->env->err->code;
    g->base = g->env->arena->base;
    g->core = hd_env_take(g->env, g->cores, sizeof *g->core);
    g->measured =
        hd_arena_take(g->env->arena, g->env->apps + 1, sizeof *g->measured);
    g->stalled = hd_arena_take(g->env->arena, HD_MAX_APPS, sizeof *g->stalled);
    if (g->core == NULL || g->measured == NULL || g->stalled == NULL)
        return -1;
    for (uint32_t i = 0; i < g->cores; i++)
        if (open_core(g, i) != 0)
            return -1;
    if (hd_peers_open(g) != 0)
        return -1;
    hd_env_part(g->env, (struct hd_part){.name = "core",
                                         .instances = g->cores,
                                         .self = g,
                                         .look = hd_core_look,
                                         .stuck = hd_core_stuck,
                                         .check = hd_core_check,
                                         .bound = core_bound});
    hd_env_part(g->env, (struct hd_part){.name = "l1tlb",
                                         .instances = g->cores,
                                         .self = g,
                                         .look = hd_l1tlb_look});
    hd_env_part(g->env, (struct hd_part){.name = "l1side",
                                         .instances = g->cores,
                                         .self = g,
                                         .look = hd_l1tlb_look_side});
    hd_env_part(g->env, (struct hd_part){.name = "l1cache",
                                         .instances = g->cores,
                                         .self = g,
                                         .look = hd_l1d_look});
    return 0;
}

int hd_core_cfg_check(const void *cfg, const char *name,
                      struct heddle_error *err)
{
    const struct hd_core_cfg *c = cfg;

    (void)name;
    if (c->lanes != 32 && c->lanes != 64)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.lanes: %u is neither 32 nor 64", c->lanes);
    if (c->width == 0 || c->lanes % c->width != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.width: %u does not divide core.lanes (%u)",
                          c->width, c->lanes);
    if (c->subcores == 3 || c->warps % c->subcores != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.subcores: %u; 1, 2 or 4, which divides "
                          "core.warps (%u), is expected",
                          c->subcores, c->warps);
    if (c->compact && (c->subcores > 1 || c->classes))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.compact: threads change warps; it cannot be "
                          "combined with %s",
                          c->classes ? "core.classes" : "core.subcores");
    if (c->shared_unit && c->classes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.shared_unit: with core.classes shared memory "
                          "has a path of its own; false is expected");
    if (c->threads < c->lanes)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "core.threads: %u is less than one warp of %u",
                          c->threads, c->lanes);
    return 0;
}

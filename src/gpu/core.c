/*
 * core.c - the loop of a core over its three actors, and its building.
 *
 * A wake-up event at `now` serves messages, load/store unit and issue port in
 * order of time (messages first, then the unit, then the port, within one
 * instant) as long as that time lies before now + `ahead`, the shortest way
 * back of an answer: nothing that is sent from now on can arrive earlier, so
 * the core may run ahead of the rest of the machine that far.  How a run is
 * cut into steps plays no part in it.
 *
 * Data cross the core's reply port in order of arrival, a flit a cycle, and
 * take effect when the last flit is in.  They wake the core when the first flit
 * comes; then nothing happens until the last one, so only the first of those
 * that wait at the port has an instant.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lsu.h"

#include <stdlib.h>
#include <string.h>

#include "../machine.h"
#include "dispatch.h"

#define AT(f) (uint32_t) offsetof(struct hd_core_cfg, f)

const struct hd_setting hd_core_settings[] = {
    {"count", HD_T_U32, AT(count), "cores", "30", 1, HD_MAX_CORES, "",
     "cores (SMs, CUs) of the machine", "MASK table 1"},
    {"lanes", HD_T_U32, AT(lanes), "threads", "64", 32, 64, "",
     "threads of a warp in programs; traces always have 32", "MASK table 1"},
    {"width", HD_T_U32, AT(width), "lanes", "64", 1, 64, "",
     "lanes that execute at once; an instruction holds the issue port "
     "lanes / width slots",
     "MASK table 1 (64 execution units)"},
    {"issue", HD_T_U32, AT(issue), "slots a cycle", "1", 1, 8, "",
     "issue slots a cycle", "MASK table 1"},
    {"alu_latency", HD_T_U32, AT(alu_latency), "cycles", "9", 1, 1000, "",
     "from an ALU instruction to one that depends on it",
     "MASK table 1 (9 stages)"},
    {"scheduler", HD_T_CHOICE, AT(scheduler), "", "gto", 0, 1, "gto|lrr",
     "greedy then oldest, or loose round robin", "MASK table 1"},
    {"warps", HD_T_U32, AT(warps), "warps", "64", 1, HD_MAX_WARPS, "",
     "warps resident on a core", "MASK table 1"},
    {"threads", HD_T_U32, AT(threads), "threads", "4096", 32, 65536, "",
     "threads resident on a core", "guess: warps x lanes"},
    {"blocks", HD_T_U32, AT(blocks), "blocks", "16", 1, 64, "",
     "thread blocks resident on a core", "guess (Maxwell: 32, Fermi: 8)"},
    {"regs", HD_T_U32, AT(regs), "registers", "65536", 1, 1u << 24, "",
     "32-bit registers of a core", "guess (Maxwell)"},
    {"shared_bytes", HD_T_U32, AT(shared_bytes), "bytes", "98304", 0, 1u << 24,
     "", "shared memory of a core", "guess (Maxwell)"},
    {"queue", HD_T_U32, AT(queue), "instructions", "8", 1, 64, "",
     "memory instructions waiting at the load/store unit", "guess"},
    {"parked", HD_T_U32, AT(parked), "lines", "2048", 64, 65536, "",
     "lines of a core that wait for translations or for merged misses",
     "guess"},
    {"limit_cycles", HD_T_U32, AT(limit_cycles), "cycles", "1000", 1, 1u << 30,
     "", "how long an answer of warp_limit holds", "guess"},
};
const uint32_t hd_core_setting_count = HD_LEN(hd_core_settings);

const struct hd_stat_desc hd_core_counters[] = {
    {"instructions", "warp instructions", "instructions issued", 0},
    {"thread_instructions", "instructions", "times their active lanes", 0},
    {"mem_instructions", "warp instructions",
     "loads, stores and atomics to memory", 0},
    {"loads", "warp instructions", "loads issued", 0},
    {"stores", "warp instructions", "stores issued", 0},
    {"atomics", "warp instructions", "atomics issued", 0},
    {"barriers", "warp instructions", "barriers issued", 0},
    {"lines", "lines", "lines touched by memory instructions", 0},
    {"load_lines", "lines", "lines touched by loads", 0},
    {"load_lanes", "lanes", "lanes active in loads", 0},
    {"pages", "pages", "base pages touched by memory instructions", 0},
    {"blocks", "blocks", "thread blocks started", 0},
    {"time_issue", "ticks", "warps issuing", 0},
    {"time_ready", "ticks", "warps ready, but another one issued", 0},
    {"time_alu", "ticks", "warps waiting for the ALU latency", 0},
    {"time_lsu", "ticks", "warps waiting for room at the load/store unit", 0},
    {"time_tlb", "ticks", "warps waiting for TLBs and their queues", 0},
    {"time_walk", "ticks", "warps waiting while a walker works", 0},
    {"time_fault", "ticks", "warps waiting for pages from the host", 0},
    {"time_data", "ticks", "warps waiting for data, translation done", 0},
    {"time_barrier", "ticks", "warps waiting at barriers", 0},
    {"time_idle", "ticks", "warp slots that hold no running warp", 0},
};

const struct hd_stat_desc hd_l1tlb_counters[] = {
    {"lookups", "look-ups", "L1 TLB look-ups, one a page", 0},
    {"hits", "look-ups", "L1 TLB hits", 0},
    {"misses", "look-ups", "L1 TLB misses, merged ones included", 0},
    {"absent", "look-ups",
     "misses whose page is on the host, under an entry of its coalesced region",
     0},
    {"merges", "look-ups", "misses merged into one in flight", 0},
    {"mshr_full", "stalls", "load/store unit stopped by the L1 TLB's MSHRs", 0},
    {"parked_full", "stalls",
     "load/store unit stopped by lines that wait for translations", 0},
};

const struct hd_stat_desc hd_l1cache_counters[] = {
    {"reads", "lines", "L1 look-ups of loads", 0},
    {"read_hits", "lines", "L1 hits of loads", 0},
    {"read_misses", "lines", "L1 misses of loads, merged ones included", 0},
    {"read_merges", "lines", "misses merged into one in flight", 0},
    {"writes", "lines", "L1 look-ups of stores", 0},
    {"write_hits", "lines", "L1 hits of stores", 0},
    {"writebacks", "lines", "dirty lines sent to the L2", 0},
    {"mshr_full", "stalls", "load/store unit stopped by the L1's MSHRs", 0},
    {"store_full", "stalls", "load/store unit stopped by the store queue", 0},
};

const uint32_t hd_core_counter_count = HD_LEN(hd_core_counters);
const uint32_t hd_l1tlb_counter_count = HD_LEN(hd_l1tlb_counters);
const uint32_t hd_l1cache_counter_count = HD_LEN(hd_l1cache_counters);

const struct hd_hist_desc hd_core_hists[] = {
    {"core", "load_latency", "core cycles",
     "from the issue of a load to its last datum"},
    {"core", "translation_latency", "core cycles",
     "from an L1 TLB miss to its answer"},
    {"core", "pages", "pages", "base pages a memory instruction"},
    {"core", "lines", "lines", "lines a memory instruction"},
};
const uint32_t hd_core_hist_count = HD_LEN(hd_core_hists);

/* ---- messages ----------------------------------------------------------- */

static struct hd_message *messages(const struct hd_core *c,
                                   const struct hd_message_line *h)
{
    return (struct hd_message *)(void *)(c->gpu->base + (size_t)h->v * 8);
}

/* Room at the end of the line: by moving to the front, or to a larger piece. */
HD_APART static void make_room(struct hd_core *c, struct hd_message_line *h,
                               size_t size)
{
    char *v = hd_arena_at(c->gpu->env->arena, h->v), *to = v;

    if (h->n > h->room / 2) {
        to = hd_arena_take(c->gpu->env->arena, h->room * 2, size);
        hd_assert(to != NULL);
        h->v = hd_arena_ref(c->gpu->env->arena, to);
        h->room *= 2;
    }
    memmove(to + size, v + h->first * size, h->n * size);
    h->first = 1;
}

/* Enters a message behind all that are not later; mostly that is the end. */
static HD_INLINE void push(struct hd_core *c, struct hd_message_line *h,
                           hd_time at, uint32_t what, uint32_t a, uint32_t b)
{
    struct hd_message *first, *m;

    hd_assert(b < 1u << 24);
    if (HD_UNLIKELY(h->first + h->n == h->room))
        make_room(c, h, sizeof *m);
    first = messages(c, h) + h->first;
    for (m = first + h->n++; m > first && m[-1].at > at; m--)
        *m = m[-1];
    *m = (struct hd_message){at, a, b << 8 | what};
    h->at = first->at;
}

/* Takes the first message out; it stays valid until the next push. */
static HD_HOT const struct hd_message *pop(struct hd_core *c,
                                           struct hd_message_line *h)
{
    const struct hd_message *m = messages(c, h) + h->first;
    bool more = --h->n != 0; /* no branch: nobody could foretell it */

    h->first = more ? h->first + 1 : 1;
    h->at = m[more].at | -(hd_time)!more; /* all ones is HD_NEVER */
    return m;
}

/* Wakes the core at t, before it wakes anyway. */
static HD_HOT void wake(struct hd_core *c, hd_time t)
{
    c->s->wake = t;
    hd_post(c->gpu->env->ev, c->component, c->component, t, 0, 0, 0);
}

/* A message came for t: the core sees it in its loop, or wakes. */
static inline void told(struct hd_core *c, hd_time t)
{
    if (t < c->s->wake && !c->awake)
        wake(c, t);
}

/* When the first of the data at the reply port is in, which comes at `begin`.
 */
static inline hd_time data_in(const struct hd_core *c, hd_time begin,
                              uint32_t flits)
{
    return hd_max_u64(begin, c->s->in_free) + flits * c->gpu->cycle;
}

/* Takes the first of the data out when it is in; returns its request.
 * No branch: nobody could foretell it. */
static inline uint32_t pop_data(struct hd_core *c)
{
    struct hd_core_state *s = c->s;
    struct hd_message_line *h = &s->data;
    const struct hd_message *m = messages(c, h) + h->first;
    bool more = --h->n != 0;
    hd_time none = -(hd_time)!more; /* all ones, which is HD_NEVER */
    hd_time at = m[more].at;

    s->in_free = s->fill_at;
    h->first = more ? h->first + 1 : 1;
    h->at = at | none;
    s->fill_at = data_in(c, at, m[more].rest) | none;
    return m->a;
}

/* Data arrive at the reply port, which they cross in so many flits.  What was
 * taken out before the first one is not later than any that comes: a core does
 * not run beyond what can still reach it.  So it ends the search.  There is
 * room. */
static HD_INLINE void push_data(struct hd_core *c, hd_time at, uint32_t req,
                                uint32_t flits)
{
    struct hd_message_line *h = &c->s->data;
    struct hd_message *m = messages(c, h) + h->first + h->n++;

    hd_assert(messages(c, h)[h->first - 1].at <= at);
    for (; m[-1].at > at; m--)
        *m = m[-1];
    *m = (struct hd_message){at, req, flits};
    if (at < h->at) {
        h->at = at;
        c->s->fill_at = data_in(c, at, flits);
    }
    told(c, at);
}

/* A store was acknowledged, which concerns a core that waits for it. */
static HD_INLINE void push_ack(struct hd_core *c, hd_time at)
{
    struct hd_message_line *h = &c->s->acks;
    hd_time *m = (hd_time *)(void *)messages(c, h) + h->first + h->n++;

    for (; m[-1] > at; m--)
        *m = m[-1];
    *m = at;
    h->at = hd_min_u64(h->at, at);
    if ((c->s->blocked & HD_BLOCK_STORES) != 0)
        told(c, at);
}

void hd_core_message(struct hd_core *c, hd_time at, uint32_t what, uint32_t a,
                     uint32_t b)
{
    push(c, &c->s->inbox, at, what, a, b);
    told(c, at);
}

static inline hd_time next_message(const struct hd_core_state *s)
{
    hd_time t = hd_min_u64(s->inbox.at, s->fill_at);

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0 && s->acks.n > 0))
        t = hd_min_u64(t, hd_max_u64(s->acks.at, s->local));
    return t;
}

HD_HOT void hd_core_acks(struct hd_core *c, hd_time t)
{
    struct hd_message_line *h = &c->s->acks;

    while (h->at <= t) {
        const hd_time *v = (const void *)messages(c, h);
        bool more = --h->n != 0;

        h->first = more ? h->first + 1 : 1;
        h->at = v[h->first] | -(hd_time)!more; /* all ones is HD_NEVER */
        hd_l1_ack(c, t);
    }
}

/* Messages that are rare. */
HD_APART static void serve_other(struct hd_core *c, hd_time t,
                                 const struct hd_message *m)
{
    switch (m->rest & 0xff) {
    case HD_MSG_FAULT:
        hd_l1tlb_faulted(c, m->a);
        break;
    case HD_MSG_REPLAY:
        hd_l1tlb_replayed(c, m->a, t);
        break;
    case HD_MSG_BLOCK:
        hd_warp_start_block(c, t, (uint64_t)(m->rest >> 8) << 32 | m->a);
        break;
    default:
        if (t >= c->s->limit_until)
            hd_warp_ask_limit(c, t);
    }
}

static HD_INLINE void serve_message(struct hd_core *c, struct hd_core_state *s,
                                    hd_time t)
{
    const struct hd_message *m;

    if (HD_UNLIKELY((s->blocked & HD_BLOCK_STORES) != 0))
        hd_core_acks(c, t);
    if (s->fill_at <= t) {
        hd_l1_data(c, pop_data(c), t);
        return;
    }
    if (s->inbox.at > t)
        return;
    m = pop(c, &s->inbox);
    if (HD_LIKELY(m->rest == HD_MSG_XLATE))
        hd_l1tlb_translated(c, m->a, t);
    else if (m->rest == HD_MSG_DONE)
        hd_warp_release(c, m->a, t);
    else
        serve_other(c, t, m);
}

/* Whether lines of the instruction at the head may be served in a row, of
 * which there must be another one: after some tries in vain it is asked now and
 * then only, since neither lines nor pages hit where addresses are random. */
static inline bool try_streak(struct hd_core *c, const struct hd_lines *op)
{
    enum { DRY = 4, REST = 16 };

    if (op->at + 1u >= op->n || !c->streaks)
        return false;
    if (c->dry >= DRY && ++c->dry % REST != 0)
        return false;
    return c->memop[op->memop].kind == HD_OP_LOAD;
}

/* A step of the load/store unit, or several, at t and before `end`. */
static HD_INLINE void run_unit(struct hd_core *c, struct hd_core_state *s,
                               hd_time t, hd_time end)
{
    struct hd_lines *op;

    if (s->replay_first != HD_NONE) {
        hd_lsu_replay(c, s, t);
        return;
    }
    op = &c->lsu[s->lsu_first];
    if (try_streak(c, op) && t < end) {
        t = hd_lsu_streak(c, t, end);
        if (t >= end)
            return;
        s->local = t;
    }
    hd_lsu_step(c, s, op, t);
}

/* ---- the loop ----------------------------------------------------------- */

/* Before this instant nothing can reach a core that wakes now. */
static inline hd_time horizon(const struct hd_gpu *g, hd_time now)
{
    hd_time page = hd_min_u64(*g->barrier, *g->arrival);

    return hd_min_u64(now + g->ahead, hd_min_u64(*g->env->slots->epoch, page));
}

static HD_HOT void on_wake(void *self, hd_time now, uint32_t what, uint32_t a,
                           uint64_t b)
{
    struct hd_core *c = self;
    struct hd_core_state *s = c->s;
    const int *stop = c->gpu->stop;
    hd_time end, t;

    (void)what, (void)a, (void)b;
    if (s->wake != now)
        return; /* an earlier wake-up took its place */
    end = horizon(c->gpu, now);
    s->wake = HD_NEVER;
    s->local = hd_max_u64(s->local, now);
    c->awake = true;
    if (next_message(s) == now && now < end && *stop == 0)
        serve_message(c, s, now); /* nothing else is before */
    for (;;) {
        hd_time message = next_message(s), unit = hd_lsu_next(c, s);
        hd_time other = hd_min_u64(message, unit);
        struct hd_port port = hd_port_next(c, s);
        while (port.at < hd_min_u64(end, other) && *stop == 0) {
            port = hd_warp_issue(c, port, hd_min_u64(end, other));
            message = hd_min_u64(message, s->inbox.at);
            unit = hd_lsu_next(c, s);
            other = hd_min_u64(message, unit);
        }
        t = hd_min_u64(other, port.at);
        if (t >= end || *stop != 0)
            break;
        s->local = hd_max_u64(s->local, t);
        if (message == t)
            serve_message(c, s, t);
        else
            run_unit(c, s, t, hd_min_u64(end, hd_min_u64(message, port.at)));
    }
    c->awake = false;
    if (t != HD_NEVER)
        wake(c, t);
}

/* ---- building ----------------------------------------------------------- */

static void open_time(void *self, uint32_t instance, uint32_t app,
                      uint64_t *add)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    if (c->app == app)
        hd_core_unaccounted(c, hd_events_now(g->env->ev), add);
}

static inline uint32_t flits_of(const struct hd_gpu *g, uint32_t bytes)
{
    return (uint32_t)hd_recip_div(g->per_flit, bytes + g->m->xbar.bytes - 1);
}

static void reply_data(void *self, hd_time at, uint32_t req);

/* The same once there is room in the line. */
HD_APART static void reply_crowded(struct hd_core *c, hd_time at, uint32_t req,
                                   struct hd_message_line *h, size_t size)
{
    make_room(c, h, size);
    reply_data(c, at, req);
}

static HD_HOT void reply_data(void *self, hd_time at, uint32_t req)
{
    struct hd_core *c = self;
    struct hd_gpu *g = c->gpu;
    const struct hd_req *q = &g->reqs->v[req];
    bool ack = q->kind == HD_REQ_WRITE;
    struct hd_message_line *h = ack ? &c->s->acks : &c->s->data;

    if (HD_UNLIKELY(h->first + h->n == h->room)) {
        reply_crowded(c, at, req, h,
                      ack ? sizeof(hd_time) : sizeof(struct hd_message));
        return;
    }
    at = hd_recip_up(g->per_cycle, at + g->back);
    if (ack) {
        push_ack(c, at);
        return;
    }
    push_data(c, at, req,
              q->kind == HD_REQ_READ ? g->line_flits : flits_of(g, q->bytes));
}

static HD_HOT void reply_translation(void *self, hd_time at, uint32_t treq)
{
    struct hd_core *c = self;
    struct hd_gpu *g = c->gpu;

    at = hd_recip_up(g->per_cycle, at + g->tlb_back);
    hd_core_message(c, at, HD_MSG_XLATE, treq, 0);
}

static void reply_replayed(void *self, hd_time at, uint32_t treq)
{
    struct hd_core *c = self;
    struct hd_gpu *g = c->gpu;

    at = hd_recip_up(g->per_cycle, at + g->tlb_back);
    hd_core_message(c, at, HD_MSG_REPLAY, treq, 0);
}

static void reply_faulted(void *self, hd_time at, uint32_t treq)
{
    struct hd_core *c = self;
    struct hd_gpu *g = c->gpu;

    at = hd_recip_up(g->per_cycle, at + g->tlb_back);
    hd_core_message(c, at, HD_MSG_FAULT, treq, 0);
}

struct hd_client hd_core_client(struct hd_core *c)
{
    struct hd_client k = {reply_data, c};
    return k;
}

struct hd_tclient hd_core_tclient(struct hd_core *c)
{
    struct hd_tclient k = {reply_translation, c};
    return k;
}

struct hd_tclient hd_core_rclient(struct hd_core *c)
{
    return (struct hd_tclient){reply_replayed, c};
}

struct hd_tclient hd_core_fclient(struct hd_core *c)
{
    return (struct hd_tclient){reply_faulted, c};
}

/* Room for few at first: the lines of all cores fill the host's cache. */
static int open_line(struct hd_core *c, struct hd_message_line *h, size_t size)
{
    enum { ROOM = 8 };
    struct hd_arena *arena = c->gpu->env->arena;
    void *p = hd_arena_take(arena, ROOM, size);

    if (p == NULL)
        return -1;
    h->v = hd_arena_ref(arena, p);
    h->at = HD_NEVER;
    h->first = 1;
    h->room = ROOM;
    return 0;
}

static void *take(struct hd_gpu *g, size_t n, size_t size, int *bad)
{
    void *p = hd_arena_take(g->env->arena, n, size);

    *bad |= p == NULL;
    return p;
}

void hd_core_assign(struct hd_gpu *g, uint32_t core, uint32_t app)
{
    struct hd_core *c = &g->core[core];

    c->app = c->s->app = app;
    c->state = g->state != NULL ? &g->state[app] : NULL;
    c->ops = g->source[app]->ops;
    c->source = g->source[app]->self;
    c->slot = g->slot[app];
    c->count = hd_count_row(&g->stat, core, app);
    c->tlb_count = hd_count_row(&g->tlb_stat, core, app);
    c->l1_count = hd_count_row(&g->l1_stat, core, app);
}

static int open_core(struct hd_gpu *g, uint32_t id)
{
    const struct hd_machine *m = g->m;
    struct hd_core *c = &g->core[id];
    uint32_t lent = 0;
    int bad = 0;

    c->gpu = g;
    c->id = id;
    c->memops = m->core.warps * HD_SLOTS + m->core.queue + m->core.parked +
                m->l1cache.mshrs;
    c->targets = m->core.parked;
    c->lsu_room = m->core.queue;
    c->lanes = m->core.lanes;
    c->full = hd_ones(c->lanes);
    c->streaks = g->translate && m->l1tlb.mode.kind == HD_FULL &&
                 m->l1tlb.blocking == 0 && m->l1cache.mode.kind == HD_FULL &&
                 !g->env->check;
    c->lrr = m->core.scheduler == HD_SCHED_LRR;
    c->s = take(g, 1, sizeof *c->s, &bad);
    c->warp = take(g, m->core.warps, sizeof *c->warp, &bad);
    c->age = take(g, m->core.warps, sizeof *c->age, &bad);
    c->block = take(g, m->core.blocks, sizeof *c->block, &bad);
    c->memop = take(g, c->memops, sizeof *c->memop, &bad);
    c->lsu = take(g, m->core.queue, sizeof *c->lsu, &bad);
    if (m->vm.paging == HD_PAGING_FAULT) {
        lent = c->targets + 1; /* each has a line, but for one that is next */
        c->fault = take(g, c->memops, sizeof *c->fault, &bad);
    }
    c->parked = take(g, c->targets, sizeof *c->parked, &bad);
    if (bad || hd_places_open(&c->memop_places, g->env->arena, c->memops) ||
        hd_places_open(&c->parked_places, g->env->arena, c->targets) ||
        open_line(c, &c->s->inbox, sizeof(struct hd_message)) ||
        open_line(c, &c->s->data, sizeof(struct hd_message)) ||
        open_line(c, &c->s->acks, sizeof(hd_time)))
        return -1;
    if (hd_mshr_open_more(&c->tlb_mshr, g->env->arena, m->l1tlb.mshrs, lent) !=
            0 ||
        hd_mshr_open(&c->l1_mshr, g->env->arena, m->l1cache.mshrs) != 0)
        return -1;
    c->s->wake = c->s->fill_at = c->s->later_at = HD_NEVER;
    c->s->last = HD_MAX_WARPS;
    c->s->limit = ~0ull;
    c->s->replay_first = HD_NONE;
    hd_core_assign(g, id, 0);
    c->component = hd_events_component(g->env->ev, "core", on_wake, c);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_warp_pick, "core", &c->pick,
                   hd_sched_default, c);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_warp_limit, "core", &c->limit,
                   hd_limit_default, c);
    if (hd_tlb_open(&c->l1tlb, g->env, &m->l1tlb, "l1tlb", 1, id) != 0)
        return -1;
    if (hd_cache_open(&c->l1, g->env, &m->l1cache, "l1cache", id,
                      m->l1cache.bytes) != 0)
        return -1;
    hd_lsu_wire(c);
    return 0;
}

/* A cell of the table warp_limit was set: its core takes it up at once. */
static void limit_steered(void *self, uint32_t core)
{
    struct hd_gpu *g = self;
    struct hd_core *c = &g->core[core];

    c->s->limit_until = hd_events_now(g->env->ev);
    hd_core_message(c, c->s->limit_until, HD_MSG_LIMIT, 0, 0);
}

void hd_gpu_halt(void *self, bool on, hd_time now)
{
    struct hd_gpu *g = self;

    for (uint32_t i = 0; i < g->cores; i++) {
        struct hd_core *c = &g->core[i];
        if (on) {
            c->s->held = c->s->port_free;
            c->s->port_free = HD_NEVER;
        } else {
            c->s->port_free = hd_max_u64(c->s->held, now);
            told(c, hd_recip_up(g->per_cycle, now));
        }
    }
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
    g->env->slots->limit_changed = limit_steered;
    g->env->slots->limit_self = g;
    g->cycle = g->env->clk->ticks[HD_CLK_CORE];
    g->translate = g->m->sim.translation.kind != HD_OFF;
    g->per_cycle = hd_recip_of(g->cycle);
    g->per_flit = hd_recip_of(g->m->xbar.bytes);
    g->line_flits = flits_of(g, g->m->l1cache.line);
    g->tlb_ticks = hd_l1tlb_latency(g);
    g->l1_ticks = hd_l1_latency(g);
    g->both_ticks = g->m->l1cache.order == 0
                        ? hd_max_u64(g->l1_ticks, g->tlb_ticks)
                        : g->l1_ticks + g->tlb_ticks;
    g->alu = g->m->core.alu_latency * g->cycle;
    g->line_shift = hd_log2(g->m->l1cache.line);
    g->stat = hd_stats_group(st, "core", hd_core_counters, HD_CORE_COUNTERS,
                             g->cores);
    hd_stats_open_time(st, open_time, g);
    g->tlb_stat = hd_stats_group(st, "l1tlb", hd_l1tlb_counters,
                                 HD_L1TLB_COUNTERS, g->cores);
    g->l1_stat = hd_stats_group(st, "l1cache", hd_l1cache_counters,
                                HD_L1_COUNTERS, g->cores);
    g->load_latency = hd_stats_hist(st, &hd_core_hists[0]);
    g->xlate_latency = hd_stats_hist(st, &hd_core_hists[1]);
    g->page_hist = hd_stats_hist(st, &hd_core_hists[2]);
    g->line_hist = hd_stats_hist(st, &hd_core_hists[3]);
    g->stop = &g->env->err->code;
    g->base = g->env->arena->base;
    g->core = aligned_alloc(64, g->cores * sizeof *g->core);
    g->measured = hd_arena_take(g->env->arena, 1, sizeof *g->measured);
    g->stalled = hd_arena_take(g->env->arena, HD_MAX_APPS, sizeof *g->stalled);
    if (g->core == NULL || g->measured == NULL || g->stalled == NULL)
        return -1;
    memset(g->core, 0, g->cores * sizeof *g->core);
    for (uint32_t i = 0; i < g->cores; i++)
        if (open_core(g, i) != 0)
            return -1;
    hd_gpu_parts(g);
    return 0;
}

void hd_gpu_close(struct hd_gpu *g)
{
    free(g->core);
    g->core = NULL;
}

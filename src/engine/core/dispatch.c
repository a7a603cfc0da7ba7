/*
 * dispatch.c - applications: launches one after the other, blocks to cores
 * that have room, budgets, completion and relaunch.
 *
 * A launch starts when the one before has retired, and what its host does next
 * to it (hostmem.c); where an application has streams, launches overlap
 * (streams.c).  Its blocks go out in
 * order, each to one of the application's cores with room for it in warps,
 * threads, blocks, registers and shared memory (block_place; by default the
 * core with the fewest resident blocks, the lowest number first).  A block
 * reaches its core after the interconnect's latency.
 *
 * Elsewhere: which launches are simulated (launches.c), what a launch took
 * (records.c), when an application counts and has finished (marks.c), what the
 * host does to memory (hostmem.c), cores that policies stop
 * (throttle.c).
 *
 * SPDX-License-Identifier: MIT
 */
#include "streams.h"
#include "paging/link.h"

struct hd_app_state *hd_dispatch_app(struct hd_dispatch *d, uint32_t app)
{
    return &d->app[app];
}

void hd_dispatch_note(struct hd_dispatch *d, uint32_t app,
                      const struct hd_launch *l, enum heddle_note note)
{
    struct hd_slots *s = d->g->env->slots;
    struct heddle_n_kernel_start n = {
        .app = app, .kernel = l->id, .run = d->app[app].run};

    if (s->watched[note])
        hd_slots_note(s, note, &n);
}

void hd_dispatch_progress(const struct hd_dispatch *d, uint32_t app,
                          uint32_t *kernel, uint64_t *done, uint64_t *blocks)
{
    const struct hd_app_state *a = &d->app[app];
    const struct hd_grid *x =
        hd_streams_has(d, app) ? hd_streams_first(d, app) : NULL;

    *kernel = x != NULL ? x->launch.id : a->launch.id;
    *done = x != NULL ? x->blocks_done : a->blocks_done;
    *blocks = x != NULL ? x->launch.blocks : a->launch.blocks;
}

/* ---- blocks ------------------------------------------------------------- */

static bool dispatch_fits(const struct hd_dispatch_room *r,
                          const struct hd_launch *l)
{
    return r->blocks >= 1 && r->warps >= l->warps && r->threads >= l->threads &&
           r->regs >= hd_launch_regs(l) && r->shared >= l->shared_bytes;
}

static void dispatch_reset_room(const struct hd_gpu *g,
                                struct hd_dispatch_room *r)
{
    const struct hd_core_cfg *c = &g->m->core;

    r->blocks = c->blocks;
    r->warps = c->warps;
    r->threads = c->threads;
    r->regs = c->regs;
    r->shared = c->shared_bytes;
    r->resident = 0;
}

/* The engine's own answer to block_place. */
static int64_t dispatch_place_default(void *self, const void *question)
{
    const struct heddle_q_block_place *q = question;
    uint64_t best = 0;

    (void)self;
    for (uint64_t i = 1; i < q->n; i++)
        if (q->resident[i] < q->resident[best])
            best = i;
    return (int64_t)best;
}

bool hd_dispatch_block(struct hd_dispatch *d, uint32_t app,
                       const struct hd_launch *l, uint64_t block, uint32_t from,
                       uint32_t to, hd_time at, hd_time now)
{
    struct hd_gpu *g = d->g;
    uint64_t core[HD_MAX_CORES], resident[HD_MAX_CORES];
    uint64_t c, number = hd_stream_block(l->stream, block);
    const struct hd_core *of = g->core + from;
    struct heddle_q_block_place q = {.app = app,
                                     .block = block,
                                     .core = core,
                                     .resident = resident};
    struct hd_dispatch_room *r;

    for (uint32_t i = from; i < to; i++, of++) {
        if (of->app != app ||
            !dispatch_fits(&d->room[i], l) ||
            hd_throttle_stands(&d->throttle, i))
            continue;
        core[q.n] = i;
        resident[q.n++] = d->room[i].resident;
    }
    if (q.n == 0)
        return false;
    c = core[hd_ask_block_place(&d->place, &q)];
    r = &d->room[c];
    r->blocks--;
    r->warps -= l->warps;
    r->threads -= l->threads;
    r->regs -= (uint32_t)hd_launch_regs(l);
    r->shared -= l->shared_bytes;
    r->resident++;
    if (HD_UNLIKELY(g->skips))
        hd_warp_take(&g->core[c], now, number);
    else
        hd_core_message(&g->core[c], at, HD_MSG_BLOCK, (uint32_t)number,
                        (uint32_t)(number >> 32));
    return true;
}

bool hd_dispatch_place(struct hd_dispatch *d, uint32_t app,
                       const struct hd_launch *l, struct hd_given *given,
                       hd_time now)
{
    const struct hd_gpu *g = d->g;
    hd_time at = now + hd_max_u64(g->ahead, g->cycle);

    at = hd_edge(g->env->clk, HD_CLK_CORE, at);
    if (HD_UNLIKELY(g->m->fabric.nodes > 1))
        return hd_spread_place(d, app, l, given, at, now);
    while (given->all < l->blocks) {
        if (!hd_dispatch_block(d, app, l, given->all, 0, g->cores, at, now))
            return false;
        given->all++;
    }
    return true;
}

/* Sends out the blocks of an application that find room. */
static void dispatch_place(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_app_state *a = &d->app[app];

    if (HD_UNLIKELY(hd_streams_has(d, app)))
        hd_streams_place(d, app, now);
    else if (a->active)
        hd_dispatch_place(d, app, &a->launch, &a->given, now);
}

void hd_dispatch_block_end(struct hd_dispatch *d, uint32_t core,
                           const struct hd_block *b, hd_time t)
{
    struct hd_gpu *g = d->g;
    uint64_t what = hd_block_stream(b->number) == 0
                        ? 0
                        : hd_streams_issued(&g->core[core], b);

    if (HD_UNLIKELY(g->skips))
        d->ended++;
    else
        hd_post(g->env->ev, g->core[core].component, d->component, t,
                HD_DISPATCH_BLOCK_END, core, what);
}

void hd_dispatch_fault(struct hd_dispatch *d, uint32_t core, uint32_t treq,
                       bool served, hd_time t)
{
    const struct hd_gpu *g = d->g;
    uint64_t page;

    if (!d->throttle.slot.bound)
        return;
    page = g->treqs->v[treq].vpn.v << 1 |
           (served && hd_faults_evicted(g->faults, treq));
    hd_post(g->env->ev, g->core[core].component, d->component, t,
            served ? HD_DISPATCH_SERVED : HD_DISPATCH_FAULT, core, page);
}

/* Other cores may take blocks than before. */
static void dispatch_feed(void *self, uint32_t app, hd_time now)
{
    dispatch_place(self, app, now);
}

static uint64_t dispatch_unended(void *self, uint32_t app)
{
    const struct hd_dispatch *d = self;
    const struct hd_app_state *a = &d->app[app];

    return HD_UNLIKELY(hd_streams_has(d, app))
               ? hd_streams_unended(d, app)
               : a->launch.blocks - a->blocks_done;
}

static uint32_t dispatch_resident(void *self, uint32_t core)
{
    return ((struct hd_dispatch *)self)->room[core].resident;
}

/* Issue time follows from the warp size of the launch. */
static void dispatch_set_slot(struct hd_dispatch *d, uint32_t app)
{
    struct hd_gpu *g = d->g;
    uint32_t lanes = d->app[app].launch.lanes;

    uint32_t slots =
        g->m->core.classes ? 1 : hd_ceil_div(lanes, g->m->core.width);

    g->slot[app] = g->env->clk->ticks[HD_CLK_ISSUE] * slots;
}

void hd_dispatch_restored(struct hd_dispatch *d)
{
    struct hd_gpu *g = d->g;

    for (uint32_t i = 0; i < g->env->apps; i++)
        dispatch_set_slot(d, i);
    hd_marks_set_ahead(d);
    for (uint32_t i = 0; i < g->cores; i++)
        hd_warp_launch(&g->core[i]);
}

/* ---- launches ----------------------------------------------------------- */

static int too_large(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_launch *l = &d->app[app].launch;
    const struct hd_core_cfg *c = &d->g->m->core;

    return hd_err_set(d->g->env->err, HEDDLE_ECONFIG,
                      "kernel %s: a block of %u threads (%u warps), %u "
                      "registers a thread and %u bytes of shared memory does "
                      "not fit a core of %u threads, %u warps, %u registers "
                      "and %u bytes",
                      l->name, l->threads, l->warps, l->regs, l->shared_bytes,
                      c->threads, c->warps, c->regs, c->shared_bytes);
}

/* The application has run to its end. */
static int dispatch_ended(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];

    a->completions++;
    if (!a->counts && a->start != 0 && !d->g->m->sim.relaunch) {
        a->counts = 1; /* it ended before its start: there is nothing */
        a->before += a->issued;
        a->issued = 0;
        hd_marks_begin(d, app, now);
    }
    if (a->work == 0 || !d->g->m->sim.relaunch)
        hd_marks_freeze(d, app, now);
    if (d->g->m->memory.free_at_end)
        hd_hostmem_give(d, app, now, true);
    if (hd_marks_all_finished(d) || !d->g->m->sim.relaunch) {
        a->idle = 1;
        return 0;
    }
    a->run++;
    if (src->ops->restart(src->self) < 0)
        return -1;
    hd_hostmem_take(d, app, now);
    return hd_launches_next(d, app);
}

void hd_dispatch_go(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];

    dispatch_set_slot(d, app);
    if (HD_UNLIKELY(hd_streams_has(d, app))) {
        hd_streams_go(d, app, now);
        return;
    }
    a->given = (struct hd_given){0};
    a->blocks_done = 0;
    a->active = 1;
    hd_records_start(d, app, NULL, now);
    hd_dispatch_note(d, app, &a->launch, HEDDLE_NOTE_kernel_start);
    if (a->launch.blocks == 0) {
        a->active = 0;
        hd_records_end(d, app, NULL, now);
        hd_hostmem_beside(d, app, now);
        if (!hd_hostmem_retired(d, app, now))
            return;
        hd_post(g->env->ev, d->component, d->component, now + g->cycle,
                HD_DISPATCH_LAUNCH, app, 0);
        return;
    }
    hd_throttle_launch(&d->throttle, app, false, now);
    dispatch_place(d, app, now);
    hd_throttle_launch(&d->throttle, app, true, now);
    hd_hostmem_beside(d, app, now);
}

void hd_dispatch_next(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    struct hd_dispatch_room whole;
    bool streams = hd_streams_has(d, app);
    int r = streams && hd_streams_ended(d, app) ? 0 : hd_launches_next(d, app);

    if (r >= 0)
        hd_hostmem_give(d, app, now, false);
    if (r == 0 && streams && hd_streams_ending(d, app))
        return;
    if (r == 0)
        r = dispatch_ended(d, app, now);
    if (r < 0)
        hd_err_set(g->env->err, HEDDLE_EDATA, "application %u: no launch", app);
    if (r <= 0)
        return;
    dispatch_reset_room(g, &whole);
    if (!dispatch_fits(&whole, &a->launch)) {
        too_large(d, app);
        return;
    }
    if (g->m->vm.paging != HD_PAGING_LAUNCH || a->copying != 0) {
        hd_hostmem_prepare(d, app, now);
        return;
    }
    a->copying = 1;
    hd_post(g->env->ev, d->component, d->component,
            now + hd_link_latency(g->link), HD_DISPATCH_COPY, app, 0);
}

/* what: 0, or hd_streams_issued(). */
static void dispatch_block_end(struct hd_dispatch *d, uint32_t core,
                               uint64_t what, hd_time now)
{
    struct hd_gpu *g = d->g;
    uint32_t app = g->core[core].app;
    struct hd_app_state *a = &d->app[app];
    struct hd_dispatch_room *r = &d->room[core];
    bool streams = hd_streams_has(d, app);
    const struct hd_launch *l =
        HD_UNLIKELY(streams) ? &hd_streams_running(d, app, what & 255)->launch
                             : &a->launch;

    r->blocks++;
    r->warps += l->warps;
    r->threads += l->threads;
    r->regs += (uint32_t)hd_launch_regs(l);
    r->shared += l->shared_bytes;
    r->resident--;
    if (HD_UNLIKELY(streams)) {
        hd_streams_block_end(d, app, what, now);
        return;
    }
    if (++a->blocks_done < a->launch.blocks) {
        dispatch_place(d, app, now);
        hd_throttle_feed(&d->throttle, app, now);
        return;
    }
    a->active = 0;
    hd_dispatch_note(d, app, &a->launch, HEDDLE_NOTE_kernel_end);
    hd_records_end(d, app, NULL, now);
    if (hd_hostmem_retired(d, app, now))
        hd_dispatch_next(d, app, now);
}

void hd_dispatch_refill(struct hd_dispatch *d, uint32_t core, hd_time now)
{
    const struct hd_app_state *a = &d->app[d->g->core[core].app];

    for (; d->ended > 0; d->ended--) {
        if (a->blocks_done + 1 == a->launch.blocks)
            d->g->forget(d->g->sample);
        dispatch_block_end(d, core, 0, now);
    }
}

static void dispatch_serve(void *self, hd_time now, uint32_t what, uint32_t a,
                           uint64_t b)
{
    struct hd_dispatch *d = self;

    if (what == HD_DISPATCH_LAUNCH) {
        hd_dispatch_next(d, a, now);
    } else if (what == HD_DISPATCH_BLOCK_END) {
        dispatch_block_end(d, a, b, now);
    } else if (what == HD_DISPATCH_COPY) {
        hd_hostmem_copy(d, a, now);
    } else if (what == HD_DISPATCH_FAULT || what == HD_DISPATCH_SERVED) {
        hd_throttle_fault(&d->throttle, a, (hd_vpn){b >> 1},
                          what == HD_DISPATCH_SERVED, b & 1, now);
    } else if (what == HD_DISPATCH_BESIDE) {
        hd_hostmem_beside(d, a, now);
    } else if (what == HD_DISPATCH_HINTED) {
        hd_hostmem_hinted(d, a, now);
    } else if (what == HD_DISPATCH_PREPARE) {
        hd_hostmem_prepare(d, a, now);
    } else if (what == HD_DISPATCH_THROTTLE) {
        hd_throttle_epoch(&d->throttle, now);
    } else if (d->app[a].crossing == now) {
        hd_marks_reached(d, a, now);
    }
}

int hd_dispatch_start(struct hd_dispatch *d)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++) {
        struct hd_app_state *a = &d->app[i];
        a->counts = a->start == 0 && d->g->m->sim.warmup == 0;
        a->goal = a->counts ? hd_marks_budget(d, i) : a->start;
        hd_marks_set(d, i, 0);
        a->begin = a->start != 0 ? HD_NEVER : 0;
        a->finish = HD_NEVER;
        a->record = HD_NONE;
        hd_post(d->g->env->ev, d->component, d->component, 0,
                HD_DISPATCH_LAUNCH, i, 0);
    }
    return 0;
}

/* ---- building ----------------------------------------------------------- */

struct hd_dispatch *hd_dispatch_open(struct hd_gpu *g)
{
    struct hd_dispatch *d = hd_env_take(g->env, 1, sizeof *d);
    struct hd_arena *a = g->env->arena;

    if (d == NULL)
        return NULL;
    d->g = g;
    d->component =
        hd_events_component(g->env->ev, "dispatch", dispatch_serve, d);
    if (g->link != NULL)
        d->link_client =
            hd_link_client(g->link, d->component, HD_DISPATCH_COPY);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_block_place, "", &d->place,
                   dispatch_place_default, d);
    d->throttle = (struct hd_throttle){.component = d->component,
                                       .epoch = HD_DISPATCH_THROTTLE,
                                       .unended = dispatch_unended,
                                       .resident = dispatch_resident,
                                       .place = dispatch_feed,
                                       .self = d};
    if (hd_throttle_open(&d->throttle, g) != 0)
        return NULL;
    hd_slots_own(g->env->slots); /* behind all that parts count */
    d->flat_each = hd_stats_flat_each(g->env->stats);
    d->flat = hd_stats_flat(g->env->stats);
    d->record = hd_arena_take(a, HD_KERNEL_RECORDS, sizeof *d->record);
    d->records = hd_arena_take(a, 1, sizeof *d->records);
    d->base = hd_arena_take(a, (size_t)g->env->apps * d->flat, 8);
    d->gain = hd_arena_take(a, (size_t)HD_KERNEL_RECORDS * d->flat, 8);
    if (g->m->sample.launches)
        d->cluster =
            hd_arena_take(a, HD_KERNEL_RECORDS, sizeof *d->cluster);
    for (uint32_t i = 0; g->env->stats->group[i].stat.v != g->stat.v; i++)
        d->core_row += g->env->stats->group[i].stat.n;
    d->scratch = hd_arena_take(a, d->flat, 8);
    d->app = hd_arena_take(a, g->env->apps, sizeof *d->app);
    d->room = hd_arena_take(a, g->cores, sizeof *d->room);
    d->frozen = hd_arena_take(a, (size_t)g->env->apps * d->flat_each, 8);
    d->frozen_hist = hd_arena_take(
        a, (size_t)g->env->apps * g->env->stats->hists, sizeof(struct hd_hist));
    if (d->record == NULL || d->records == NULL || d->base == NULL ||
        d->gain == NULL || d->scratch == NULL || d->app == NULL ||
        d->room == NULL || d->frozen == NULL || d->frozen_hist == NULL ||
        (g->m->sample.launches && d->cluster == NULL) ||
        hd_streams_open(d) != 0)
        return NULL;
    for (uint32_t i = 0; i < g->cores; i++)
        dispatch_reset_room(g, &d->room[i]);
    g->state = d->app;
    for (uint32_t i = 0; i < g->cores; i++)
        hd_core_assign(g, i, g->core[i].app);
    return d;
}

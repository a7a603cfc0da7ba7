/*
 * dispatch.c - applications: launches one after the other, blocks to cores
 * that have room, budgets, completion and relaunch.
 *
 * A launch starts when the one before has retired.  Its blocks go out in
 * order, each to one of the application's cores with room for it in warps,
 * threads, blocks, registers and shared memory (block_place; by default the
 * core with the fewest resident blocks, the lowest number first).  A block
 * reaches its core after the interconnect's latency.
 *
 * An application finishes when its last launch retires, or when it has issued
 * its budget of warp instructions: at the instant at which the last of them
 * leaves its core's port.  Its counters freeze then.  If others still run it
 * goes on, or starts again, to keep up the load.
 *
 * Its instructions, cycles, budget and counters count from the end of the
 * warm-up, or from the instruction that heddle_set_start names: runs that a
 * warm-up of so many cycles would leave at different instructions are compared
 * over the same ones.  What belongs to no application counts from the first of
 * these instants on, so no share of it exceeds the whole.
 *
 * Launches before sim.first_kernel run without time (core/functional.c), for
 * their effects on buffers.  With sample.launches so do those for which one
 * that was simulated stands (cluster.c), which its record says.
 *
 * Each launch is recorded: its time and, for every counter, by how much the
 * application's sum over all instances rose from its start to its end.  Later
 * ones than HD_KERNEL_RECORDS are added to the last record of their name, so
 * the memory that a run needs does not depend on how many kernels it has; one
 * whose name has no record is not recorded.
 *
 * Allocations come and go between launches: the host gives buffers back when
 * their last launch has retired, and all go with the application where
 * memory.free_at_end says so.  When it starts again, what went comes back at
 * the same addresses, before the first block can run.  The memory manager does
 * both at an instant that no core has reached (pages/manage.c).
 *
 * What the host does to memory between launches (advice, prefetches, touches)
 * takes effect one after the other, where pages come when they are touched, and
 * the next launch waits for it, as kernels do that come later in a stream.
 *
 * With vm.paging=launch an application's first launch waits until its
 * allocations have been copied to the GPU: the link's latency once, and then
 * all their bytes, in pieces of at most 2 MB so that applications share the
 * link.  A relaunch finds them there.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dispatch.h"

#include <stdlib.h>
#include <string.h>

#include "functional.h"
#include "machine.h"
#include "paging/link.h"
#include "cluster.h"
#include "throttle.h"

enum {
    EV_LAUNCH,
    EV_BLOCK_END,
    EV_MARK,
    EV_COPY,
    EV_FAULT,
    EV_SERVED,
    EV_THROTTLE,
    EV_HINTED
};

enum { COPY_BYTES = 2 << 20 }; /* of a piece */

enum { HD_KERNEL_RECORDS = 96 };

/* What is free on a core; in the arena. */
struct room {
    uint32_t blocks, warps, threads, regs, shared;
    uint32_t resident;
};

struct hd_dispatch {
    struct hd_gpu *g;
    uint32_t component;
    uint32_t link_client;
    struct hd_slot place;
    struct hd_throttle throttle;
    struct hd_app_state *app;        /* arena */
    struct room *room;               /* arena */
    struct hd_kernel_record *record; /* arena */
    uint32_t *records;               /* arena: [1] how many */
    uint64_t *base;    /* arena: [app][flat] at the start of the launch */
    uint64_t *gain;    /* arena: [record][flat] */
    struct hd_cluster *cluster; /* arena: [record]; NULL: no sample.launches */
    uint32_t core_row; /* of the cores' counters in a row of them all */
    uint64_t *scratch; /* arena: [flat] */
    uint32_t flat;
    uint64_t *frozen;            /* arena: [app][flat_each] */
    struct hd_hist *frozen_hist; /* arena: [app][hists] */
    uint32_t flat_each;
    uint32_t ended; /* blocks of a core; 0 unless instructions are skipped */
};

struct hd_app_state *hd_dispatch_app(struct hd_dispatch *d, uint32_t app)
{
    return &d->app[app];
}

static void note_kernel(struct hd_dispatch *d, uint32_t app,
                        enum heddle_note note)
{
    struct hd_slots *s = d->g->env->slots;
    struct heddle_n_kernel_start n = {
        .app = app, .kernel = d->app[app].launch.id, .run = d->app[app].run};

    if (s->watched[note])
        hd_slots_note(s, note, &n);
}

/* ---- blocks ------------------------------------------------------------- */

static bool dispatch_fits(const struct room *r, const struct hd_launch *l)
{
    return r->blocks >= 1 && r->warps >= l->warps && r->threads >= l->threads &&
           r->regs >= hd_launch_regs(l) && r->shared >= l->shared_bytes;
}

static void dispatch_reset_room(const struct hd_gpu *g, struct room *r)
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

/* Sends out the blocks of an application that find room. */
static void dispatch_place(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    uint64_t core[HD_MAX_CORES], resident[HD_MAX_CORES];
    hd_time at = now + hd_max_u64(g->ahead, g->cycle);
    struct heddle_q_block_place q;

    at = hd_edge(g->env->clk, HD_CLK_CORE, at);
    while (a->active && a->next_block < a->launch.blocks) {
        struct room *r;
        uint64_t c;
        q.n = 0;
        for (uint32_t i = 0; i < g->cores; i++) {
            if (g->core[i].app != app ||
                !dispatch_fits(&d->room[i], &a->launch) ||
                hd_throttle_stands(&d->throttle, i))
                continue;
            core[q.n] = i;
            resident[q.n++] = d->room[i].resident;
        }
        if (q.n == 0)
            return;
        q.app = app;
        q.block = a->next_block;
        q.core = core;
        q.resident = resident;
        c = core[hd_ask_block_place(&d->place, &q)];
        r = &d->room[c];
        r->blocks--;
        r->warps -= a->launch.warps;
        r->threads -= a->launch.threads;
        r->regs -= (uint32_t)hd_launch_regs(&a->launch);
        r->shared -= a->launch.shared_bytes;
        r->resident++;
        if (HD_UNLIKELY(g->skips))
            hd_warp_take(&g->core[c], now, a->next_block);
        else
            hd_core_message(&g->core[c], at, HD_MSG_BLOCK,
                            (uint32_t)a->next_block,
                            (uint32_t)(a->next_block >> 32));
        a->next_block++;
    }
}

void hd_dispatch_block_end(struct hd_dispatch *d, uint32_t core, hd_time t)
{
    struct hd_gpu *g = d->g;

    if (HD_UNLIKELY(g->skips))
        d->ended++;
    else
        hd_post(g->env->ev, g->core[core].component, d->component, t,
                EV_BLOCK_END, core, 0);
}

void hd_dispatch_fault(struct hd_dispatch *d, uint32_t core, bool served,
                       hd_time t)
{
    const struct hd_gpu *g = d->g;

    if (!d->throttle.slot.bound)
        return;
    hd_post(g->env->ev, g->core[core].component, d->component, t,
            served ? EV_SERVED : EV_FAULT, core, 0);
}

/* Other cores may take blocks than before. */
static void dispatch_feed(void *self, uint32_t app, hd_time now)
{
    dispatch_place(self, app, now);
}

static uint64_t dispatch_unended(void *self, uint32_t app)
{
    const struct hd_app_state *a = &((struct hd_dispatch *)self)->app[app];

    return a->launch.blocks - a->blocks_done;
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

    g->slot[app] =
        g->env->clk->ticks[HD_CLK_ISSUE] * hd_ceil_div(lanes, g->m->core.width);
}

/* ---- records ------------------------------------------------------------ */

/* The sums of an application's counters count from here. */
static void dispatch_rebase(struct hd_dispatch *d, uint32_t app)
{
    hd_stats_sum(d->g->env->stats, app, d->base + (size_t)app * d->flat);
}

/* The record of a launch that starts: its own, or the last of its name;
 * HD_NONE: there is neither room nor one. */
static uint32_t find_record(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    const struct hd_launch *l = &d->app[app].launch;
    uint32_t n = *d->records, last = HD_NONE;
    struct hd_kernel_record *r = &d->record[n];

    if (n < HD_KERNEL_RECORDS) {
        *d->records = n + 1;
        memcpy(r->name, l->name, sizeof r->name);
        r->app = app;
        r->id = l->id;
        r->run = d->app[app].run;
        r->start = now;
        if (d->cluster != NULL)
            hd_cluster_begin(d->cluster, n, l);
        return n;
    }
    for (uint32_t i = 0; i < n; i++)
        if (d->record[i].app == app && strcmp(d->record[i].name, l->name) == 0)
            last = i;
    return last;
}

static void record_start(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    uint32_t i = d->app[app].record = find_record(d, app, now);

    if (i == HD_NONE)
        return;
    d->record[i].launches++;
    d->record[i].busy -= now; /* plus the end: the launch's time */
    hd_env_sync(d->g->env);
    dispatch_rebase(d, app);
}

static void record_end(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    uint32_t i = d->app[app].record;
    struct hd_kernel_record *r;
    uint64_t *gain, *base = d->base + (size_t)app * d->flat;

    if (i == HD_NONE)
        return;
    r = &d->record[i];
    gain = d->gain + (size_t)i * d->flat;
    hd_env_sync(d->g->env);
    hd_stats_sum(d->g->env->stats, app, d->scratch);
    for (uint32_t j = 0; j < d->flat; j++)
        gain[j] += d->scratch[j] - base[j];
    r->busy += now;
    if (r->end == 0)
        r->end = now;
    r->blocks += d->app[app].launch.blocks;
    d->app[app].record = HD_NONE;
    if (d->cluster != NULL && r->launches == 1) {
        const uint64_t *core = gain + d->core_row;
        d->cluster[i].known = 1;
        d->cluster[i].mix =
            (struct hd_mix){core[HD_CORE_INSTRUCTIONS],
                            core[HD_CORE_THREAD_INSTRUCTIONS],
                            core[HD_CORE_LOADS], core[HD_CORE_STORES],
                            core[HD_CORE_ATOMICS]};
    }
}

void hd_dispatch_skipped(const struct hd_dispatch *d, uint64_t *launches,
                         uint64_t *instructions)
{
    for (uint32_t i = 0; d->cluster != NULL && i < *d->records; i++) {
        *launches += d->cluster[i].launches;
        *instructions += d->cluster[i].skipped.instructions;
    }
}

const struct hd_cluster *hd_dispatch_cluster(const struct hd_dispatch *d,
                                             uint32_t record)
{
    return d->cluster != NULL ? &d->cluster[record] : NULL;
}

uint32_t hd_dispatch_records(const struct hd_dispatch *d)
{
    return *d->records;
}

const struct hd_kernel_record *hd_dispatch_record(const struct hd_dispatch *d,
                                                  uint32_t i)
{
    return i < *d->records ? &d->record[i] : NULL;
}

uint64_t hd_dispatch_gain(const struct hd_dispatch *d, uint32_t i,
                          uint32_t flat)
{
    return d->gain[(size_t)i * d->flat + flat];
}

/* ---- memory that comes and goes ----------------------------------------- */

/* Allocation i went before.  Only programs give back single ones. */
static bool dispatch_gone(const struct hd_app_state *a, uint32_t i)
{
    return a->all_gone ||
           (i < 64 * HD_LEN(a->gone) && a->gone[i / 64] >> (i % 64) & 1);
}

/* Memory that an application's host gave back since the last call goes, or
 * `all`. */
static void dispatch_give_memory(struct hd_dispatch *d, uint32_t app,
                                 hd_time now, bool all)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;

    if (!all && src->ops->gone == NULL)
        return;
    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++) {
        if (dispatch_gone(a, i) || (!all && !src->ops->gone(src->self, i)))
            continue;
        hd_manage_ask(d->g->manager, now, app, i, x.base, x.bytes, false);
        if (!all)
            a->gone[i / 64] |= 1ull << (i % 64);
    }
    a->all_gone |= all;
}

/* What went comes back. */
static void dispatch_take_memory(struct hd_dispatch *d, uint32_t app,
                                 hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;

    for (uint32_t i = 0; src->ops->alloc(src->self, i, &x); i++)
        if (dispatch_gone(a, i))
            hd_manage_ask(d->g->manager, now, app, i, x.base, x.bytes, true);
    memset(a->gone, 0, sizeof a->gone);
    a->all_gone = 0;
}

/* ---- completion --------------------------------------------------------- */

/* Until an application counts it does not finish: if it comes to its end it
 * starts again, and no budget is used. */

/* The budget of an application: its own, or everybody's. */
static uint64_t dispatch_budget(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_app_state *a = &d->app[app];

    return a->work != 0 ? a->work : d->g->m->sim.budget;
}

/* Thread instructions since its counters began. */
static uint64_t dispatch_threads(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_stat *core = &d->g->stat;
    uint64_t n = 0;

    hd_cross(d->g->env, HD_BORDER_accounts);
    for (uint32_t i = 0; i < core->instances; i++)
        n += *hd_count(core, i, app, HD_CORE_THREAD_INSTRUCTIONS);
    return n;
}

uint64_t hd_dispatch_threads(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_app_state *a = &d->app[app];

    if (a->finished)
        return a->finish_threads;
    return a->begin == HD_NEVER ? 0 : dispatch_threads(d, app);
}

/* A core's time counts anew. */
static void dispatch_reset_core(const struct hd_gpu *g, struct hd_core *c,
                                hd_time now)
{
    hd_cross(g->env, HD_BORDER_accounts);
    for (uint32_t w = 0; w < g->m->core.warps; w++) {
        struct hd_warp *x = &c->warp[w];
        /* A warp that has issued ahead of now keeps what lies after it. */
        if (x->since > now)
            c->count[HD_CORE_T_ISSUE] += x->since - now;
        else
            x->since = now;
    }
}

/* The counters of an application, or of what belongs to none, begin. */
static void dispatch_reset_app(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;

    hd_stats_reset(g->env->stats, app);
    g->measured[app] = now;
    for (uint32_t i = 0; i < g->cores; i++)
        if (g->core[i].app == app)
            dispatch_reset_core(g, &g->core[i], now);
    if (app < g->env->apps)
        dispatch_rebase(d, app);
}

/* Whether an application other than this one has begun at its own start. */
static bool others_count(const struct hd_dispatch *d, uint32_t app)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++) {
        const struct hd_app_state *a = &d->app[i];
        if (i != app && a->counts && a->begin != HD_NEVER)
            return true;
    }
    return false;
}

/* The count of an application begins, at its own start. */
static void dispatch_begin(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    hd_env_sync(d->g->env);
    if (!others_count(d, app))
        dispatch_reset_app(d, d->g->env->apps, now);
    dispatch_reset_app(d, app, now);
    d->app[app].begin = now;
}

/* Every application has finished once. */
static bool dispatch_all_finished(const struct hd_dispatch *d)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++)
        if (!d->app[i].finished)
            return false;
    return true;
}

static void dispatch_freeze(struct hd_dispatch *d, uint32_t app, hd_time finish)
{
    struct hd_app_state *a = &d->app[app];
    const struct hd_stats *st = d->g->env->stats;
    uint64_t *f = d->frozen + (size_t)app * d->flat_each;

    if (a->finished || !a->counts)
        return;
    a->finished = 1;
    a->finish = finish;
    a->begin = hd_min_u64(a->begin, finish);
    a->finish_issued =
        a->goal != 0 ? hd_min_u64(a->issued, a->goal) : a->issued;
    hd_env_sync(d->g->env);
    a->finish_threads = dispatch_threads(d, app);
    hd_stats_each(st, app, f);
    for (uint32_t i = 0; i < st->hists; i++)
        d->frozen_hist[app * st->hists + i] = st->hist[i].h[app];
    if (dispatch_all_finished(d) &&
        d->g->env->err->code >= 0)                    /* stopped, or not */
        d->g->env->err->code = HEDDLE_DONE;           /* stops the run */
}

/* ---- marks --------------------------------------------------------------- */

/*
 * An application is at its mark when its mark-th instruction has issued, in the
 * order of instants, not of simulation: a core that runs ahead counts
 * instructions before others have counted earlier ones.  So nobody runs ahead
 * near the mark. "Near" is as many instructions as all cores can issue in the
 * time by which they may have run ahead, so the mark is never among those. From
 * then on only a core's last issue reaches beyond the present, an instruction a
 * slot up to the instant at which its port is free, and the mark can be
 * foretold.
 */

/* Instructions that a core has issued and that have not left its port at t. */
static uint64_t unissued(const struct hd_core *c, hd_time t)
{
    const struct hd_core_state *s = c->s;
    hd_time end = s->still != 0 ? s->held : s->port_free;

    return end > t ? hd_ceil_div(end - t, c->slot) : 0;
}

static bool at_mark(const struct hd_dispatch *d, uint32_t app, hd_time t)
{
    const struct hd_gpu *g = d->g;
    uint64_t n = d->app[app].issued - d->app[app].mark;

    for (uint32_t i = 0; i < g->cores; i++) {
        uint64_t later = g->core[i].app == app ? unissued(&g->core[i], t) : 0;
        if (later > n)
            return false;
        n -= later;
    }
    return true;
}

/* Foretells when the mark is reached by what has been issued at t. */
static void foretell(struct hd_dispatch *d, uint32_t app, hd_time t)
{
    const struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    hd_time low = hd_max_u64(t, a->exact), high = low;

    if (a->issued < a->mark)
        return;
    for (uint32_t i = 0; i < g->cores; i++)
        if (g->core[i].app == app)
            high = hd_max_u64(high, low + unissued(&g->core[i], low) *
                                              g->core[i].slot);
    while (low < high) {
        hd_time mid = low + (high - low) / 2;
        if (at_mark(d, app, mid))
            high = mid;
        else
            low = mid + 1;
    }
    if (low >= a->crossing)
        return;
    a->crossing = low;
    hd_post(g->env->ev, d->component, d->component, low, EV_MARK, app, 0);
}

/* Whether cores run ahead follows from their applications. */
static void dispatch_set_ahead(struct hd_dispatch *d)
{
    struct hd_gpu *g = d->g;
    uint32_t closing = 0;

    for (uint32_t i = 0; i < g->env->apps; i++)
        closing |= d->app[i].closing;
    g->run_ahead = closing ? 1 : g->ahead;
}

/* From when on no core has run ahead, if none does so from t on. */
static hd_time exact_from(const struct hd_dispatch *d, hd_time t)
{
    const struct hd_gpu *g = d->g;
    hd_time now = hd_events_now(g->env->ev), exact = now;

    if (now == 0 || g->skips)
        return t;
    if (g->run_ahead == g->ahead)
        return now + g->ahead;
    for (uint32_t i = 0; i < g->env->apps; i++)
        if (d->app[i].closing)
            exact = hd_max_u64(exact, d->app[i].exact);
    return exact;
}

/* The mark is near: nobody runs ahead any more. */
static void close_in(struct hd_dispatch *d, uint32_t app, hd_time t)
{
    struct hd_app_state *a = &d->app[app];

    if (!a->closing) {
        a->exact = exact_from(d, t);
        a->closing = 1;
        dispatch_set_ahead(d);
    }
    foretell(d, app, t);
}

/* What is to be reached next; 0 is as if it were beyond all numbers. */
static void dispatch_set_mark(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    uint64_t slots = g->ahead / g->env->clk->ticks[HD_CLK_ISSUE] + 2;
    uint64_t reach = slots * g->cores;

    a->mark = hd_min_u64(a->goal - 1, a->told - 1) + 1;
    a->near = a->mark == 0 ? UINT64_MAX : a->mark - hd_min_u64(a->mark, reach);
    a->crossing = HD_NEVER;
    if (a->issued >= a->near) {
        close_in(d, app, now);
        return;
    }
    a->closing = 0;
    dispatch_set_ahead(d);
}

void hd_dispatch_tell(struct hd_dispatch *d, uint32_t app, uint64_t issued)
{
    d->app[app].told = issued;
    dispatch_set_mark(d, app, hd_events_now(d->g->env->ev));
}

/* The mark-th instruction has issued. */
static void dispatch_mark(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_app_state *a = &d->app[app];
    bool first = !a->counts;

    if (a->mark == a->told) {
        a->told = 0;
        d->g->reached(d->g->sample, app, now);
    } else if (first) {
        a->counts = 1;
        a->before = a->start;
        a->issued -= a->start;
        a->goal = dispatch_budget(d, app);
        dispatch_begin(d, app, now);
    } else {
        if (!a->finished)
            a->truncated = 1;
        dispatch_freeze(d, app, now);
        a->goal = 0;
    }
    dispatch_set_mark(d, app, now);
}

void hd_dispatch_near(const struct hd_core *c, hd_time t)
{
    close_in(c->gpu->dispatch, c->app, t);
}

void hd_dispatch_restored(struct hd_dispatch *d)
{
    struct hd_gpu *g = d->g;

    for (uint32_t i = 0; i < g->env->apps; i++)
        dispatch_set_slot(d, i);
    dispatch_set_ahead(d);
    for (uint32_t i = 0; i < g->cores; i++)
        hd_warp_launch(&g->core[i]);
}

const uint64_t *hd_dispatch_frozen(const struct hd_dispatch *d, uint32_t app)
{
    if (!d->app[app].finished)
        return NULL;
    return d->frozen + (size_t)app * d->flat_each;
}

const struct hd_hist *hd_dispatch_frozen_hist(const struct hd_dispatch *d,
                                              uint32_t app, uint32_t hist)
{
    if (!d->app[app].finished)
        return NULL;
    return &d->frozen_hist[app * d->g->env->stats->hists + hist];
}

void hd_dispatch_reset(struct hd_dispatch *d, hd_time now)
{
    uint32_t apps = d->g->env->apps;
    bool own = false; /* one has begun at its own start */

    for (uint32_t i = 0; i < apps; i++) {
        struct hd_app_state *a = &d->app[i];
        if (a->start != 0) {
            own = own || a->begin != HD_NEVER;
            continue;
        }
        a->before += a->issued;
        a->issued = 0;
        a->goal = dispatch_budget(d, i);
        a->counts = 1;
        a->begin = now;
        dispatch_set_mark(d, i, now);
        dispatch_reset_app(d, i, now);
        if (a->idle) /* without relaunch, it ended during the warm-up */
            dispatch_freeze(d, i, now);
    }
    if (!own)
        dispatch_reset_app(d, apps, now);
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

/* Whether the launch that a source is at is one for core.compact. */
static void set_compact(struct hd_dispatch *d, struct hd_source *src, bool on)
{
    d->g->env->compact = on;
    src->ops->restored(src->self);
}

/* Runs the launch that an application's source is at without time. */
static int run_through(struct hd_dispatch *d, uint32_t app, struct hd_mix *mix)
{
    struct hd_source *src = d->g->source[app];
    bool compact = d->g->m->core.compact; /* a walk regroups nothing */
    int r;

    if (compact)
        set_compact(d, src, false);
    r = hd_cluster_run(src, &d->app[app].launch, mix, d->g->env->err);
    if (compact)
        set_compact(d, src, true);
    return r;
}

/* Whether one that was simulated stands for the launch that an application's
 * source is at: then it has run without time.  `back`: the source as it was
 * before this launch, or NULL.  0, 1, or an error. */
static int skip_launch(struct hd_dispatch *d, uint32_t app, const void *back)
{
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    uint32_t n = *d->records, to, like;
    struct hd_mix mix;
    int r;

    like = hd_cluster_find(d->cluster, n, &a->launch, NULL, 0);
    if (like == HD_NONE)
        return 0;
    r = run_through(d, app, &mix);
    if (r < 0)
        return r;
    to = hd_cluster_find(d->cluster, n, &a->launch, &mix, d->g->m->sample.mix);
    if (to == HD_NONE && back != NULL) {
        r = src->ops->load(src->self, back);
        r = r < 0 ? r : src->ops->launch(src->self, &a->launch);
        return r < 0 ? r : 0;
    }
    d->cluster[like].unlike += to == HD_NONE;
    hd_cluster_skip(&d->cluster[to != HD_NONE ? to : like], &mix);
    return 1;
}

/* Gets the next launch of those that count: 1, 0 (none) or < 0. */
static int ask_launch(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_sim_cfg *cfg = &d->g->m->sim;
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    int r = src->ops->launch(src->self, &a->launch);

    if (r == 0 && cfg->first_kernel > 1 && a->launch.id < cfg->first_kernel)
        return hd_err_set(d->g->env->err, HEDDLE_ECONFIG,
                          "sim.first_kernel: %u is expected to be at most "
                          "%u, the launches of %s (application %u)",
                          cfg->first_kernel, a->launch.id, src->name, app);
    return r > 0 && cfg->last_kernel != 0 && a->launch.id > cfg->last_kernel
               ? 0
               : r;
}

/* Gets the next launch that is to be simulated: 1, 0 (none) or < 0. */
static int dispatch_next_launch(struct hd_dispatch *d, uint32_t app)
{
    const struct hd_sim_cfg *cfg = &d->g->m->sim;
    struct hd_source *src = d->g->source[app];
    struct hd_app_state *a = &d->app[app];
    bool saves = d->cluster != NULL && src->ops->save != NULL, again;
    int r;

    if (a->run == 0 && a->launch.id == 0 &&
        hd_functional_begin(src, cfg->first_kernel, d->g->m->core.lanes) < 0)
        return d->g->env->err->code;
    do {
        void *back = saves ? src->ops->save(src->self) : NULL;
        struct hd_mix mix;

        r = saves && back == NULL ? hd_err_memory(d->g->env->err)
                                  : ask_launch(d, app);
        again = r > 0;
        if (r > 0 && a->launch.id < cfg->first_kernel) {
            r = run_through(d, app, &mix);
        } else if (r > 0 && d->cluster != NULL) {
            int skipped = skip_launch(d, app, back);
            again = skipped > 0;
            r = skipped < 0 ? skipped : 1;
        } else {
            again = false;
        }
        if (back != NULL)
            src->ops->drop(back);
    } while (again && r >= 0);
    return r;
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
        dispatch_begin(d, app, now);
    }
    if (a->work == 0 || !d->g->m->sim.relaunch)
        dispatch_freeze(d, app, now);
    if (d->g->m->memory.free_at_end)
        dispatch_give_memory(d, app, now, true);
    if (dispatch_all_finished(d) || !d->g->m->sim.relaunch) {
        a->idle = 1;
        return 0;
    }
    a->run++;
    if (src->ops->restart(src->self) < 0)
        return -1;
    dispatch_take_memory(d, app, now);
    return dispatch_next_launch(d, app);
}

/* The launch of an application starts. */
static void dispatch_go(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];

    dispatch_set_slot(d, app);
    a->next_block = a->blocks_done = 0;
    a->active = 1;
    record_start(d, app, now);
    note_kernel(d, app, HEDDLE_NOTE_kernel_start);
    if (a->launch.blocks == 0) {
        a->active = 0;
        record_end(d, app, now);
        hd_post(g->env->ev, d->component, d->component, now + g->cycle,
                EV_LAUNCH, app, 0);
        return;
    }
    hd_throttle_launch(&d->throttle, app, false, now);
    dispatch_place(d, app, now);
    hd_throttle_launch(&d->throttle, app, true, now);
}

/* The next piece of an application's allocations crosses the link; after the
 * last one the launch starts. */
static void dispatch_copy(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_source *src = g->source[app];
    struct hd_app_state *a = &d->app[app];
    struct hd_alloc x;
    uint64_t n;

    while (src->ops->alloc(src->self, a->copying - 1, &x)) {
        if (a->copied < x.bytes) {
            n = hd_min_u64(x.bytes - a->copied, COPY_BYTES);
            a->copied += n;
            hd_link_send(g->link, now, HD_LINK_IN, app, n, d->link_client, app);
            return;
        }
        a->copied = 0;
        a->copying++;
    }
    dispatch_go(d, app, now);
}

/* What the host says and does before the launch, one after the other; then the
 * launch starts. */
static void dispatch_prepare(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_source *src = d->g->source[app];
    struct hd_alloc x;
    struct hd_hint h;

    if (d->g->m->vm.paging != HD_PAGING_FAULT || src->ops->hint == NULL ||
        !src->ops->hint(src->self, &h) ||
        !src->ops->alloc(src->self, h.alloc, &x)) {
        dispatch_go(d, app, now);
        return;
    }
    hd_manage_hint(d->g->manager, now, app, x.base, x.bytes, &h);
}

void hd_dispatch_hinted(void *gpu, uint32_t from, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = gpu;

    hd_post(g->env->ev, from, g->dispatch->component, now, EV_HINTED, app, 0);
}

static void dispatch_launch(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    struct room whole;
    int r = dispatch_next_launch(d, app);

    if (r >= 0)
        dispatch_give_memory(d, app, now, false);
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
        dispatch_prepare(d, app, now);
        return;
    }
    a->copying = 1;
    hd_post(g->env->ev, d->component, d->component,
            now + hd_link_latency(g->link), EV_COPY, app, 0);
}

static void dispatch_block_end(struct hd_dispatch *d, uint32_t core,
                               hd_time now)
{
    struct hd_gpu *g = d->g;
    uint32_t app = g->core[core].app;
    struct hd_app_state *a = &d->app[app];
    struct room *r = &d->room[core];

    r->blocks++;
    r->warps += a->launch.warps;
    r->threads += a->launch.threads;
    r->regs += (uint32_t)hd_launch_regs(&a->launch);
    r->shared += a->launch.shared_bytes;
    r->resident--;
    if (++a->blocks_done < a->launch.blocks) {
        dispatch_place(d, app, now);
        hd_throttle_feed(&d->throttle, app, now);
        return;
    }
    a->active = 0;
    note_kernel(d, app, HEDDLE_NOTE_kernel_end);
    record_end(d, app, now);
    dispatch_launch(d, app, now);
}

void hd_dispatch_refill(struct hd_dispatch *d, uint32_t core, hd_time now)
{
    const struct hd_app_state *a = &d->app[d->g->core[core].app];

    for (; d->ended > 0; d->ended--) {
        if (a->blocks_done + 1 == a->launch.blocks)
            d->g->forget(d->g->sample);
        dispatch_block_end(d, core, now);
    }
}

static void dispatch_serve(void *self, hd_time now, uint32_t what, uint32_t a,
                           uint64_t b)
{
    struct hd_dispatch *d = self;

    (void)b;
    if (what == EV_LAUNCH) {
        dispatch_launch(d, a, now);
    } else if (what == EV_BLOCK_END) {
        dispatch_block_end(d, a, now);
    } else if (what == EV_COPY) {
        dispatch_copy(d, a, now);
    } else if (what == EV_FAULT || what == EV_SERVED) {
        hd_throttle_fault(&d->throttle, a, what == EV_SERVED, now);
    } else if (what == EV_HINTED) {
        dispatch_prepare(d, a, now);
    } else if (what == EV_THROTTLE) {
        hd_throttle_epoch(&d->throttle, now);
    } else if (d->app[a].crossing == now) {
        dispatch_mark(d, a, now);
    }
}

int hd_dispatch_start(struct hd_dispatch *d)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++) {
        struct hd_app_state *a = &d->app[i];
        a->counts = a->start == 0 && d->g->m->sim.warmup == 0;
        a->goal = a->counts ? dispatch_budget(d, i) : a->start;
        dispatch_set_mark(d, i, 0);
        a->begin = a->start != 0 ? HD_NEVER : 0;
        a->finish = HD_NEVER;
        a->record = HD_NONE;
        hd_post(d->g->env->ev, d->component, d->component, 0, EV_LAUNCH, i, 0);
    }
    return 0;
}

/* ---- building ----------------------------------------------------------- */

struct hd_dispatch *hd_dispatch_open(struct hd_gpu *g)
{
    struct hd_dispatch *d = calloc(1, sizeof *d);
    struct hd_arena *a = g->env->arena;

    if (d == NULL)
        return NULL;
    d->g = g;
    d->component =
        hd_events_component(g->env->ev, "dispatch", dispatch_serve, d);
    if (g->link != NULL)
        d->link_client = hd_link_client(g->link, d->component, EV_COPY);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_block_place, "", &d->place,
                   dispatch_place_default, d);
    d->throttle = (struct hd_throttle){.component = d->component,
                                       .epoch = EV_THROTTLE,
                                       .unended = dispatch_unended,
                                       .resident = dispatch_resident,
                                       .place = dispatch_feed,
                                       .self = d};
    if (hd_throttle_open(&d->throttle, g) != 0) {
        free(d);
        return NULL;
    }
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
        (g->m->sample.launches && d->cluster == NULL)) {
        free(d);
        return NULL;
    }
    for (uint32_t i = 0; i < g->cores; i++)
        dispatch_reset_room(g, &d->room[i]);
    g->state = d->app;
    for (uint32_t i = 0; i < g->cores; i++)
        hd_core_assign(g, i, g->core[i].app);
    return d;
}

void hd_dispatch_close(struct hd_dispatch *d)
{
    free(d);
}

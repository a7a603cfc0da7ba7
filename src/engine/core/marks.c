/*
 * marks.c - when an application's count begins and when it has finished: marks,
 * budgets, counters that are reset and frozen.
 *
 * An application finishes when its last launch retires, or when it has issued
 * its budget of warp instructions: at the instant at which the last of them
 * leaves its core's port.  Its counters freeze then.  If others still run it
 * continues, or starts again, to keep up the load.
 *
 * Its instructions, cycles, budget and counters count from the end of the
 * warm-up, or from the instruction that heddle_set_start names: runs that a
 * warm-up of so many cycles would leave at different instructions are compared
 * over the same ones.  What belongs to no application counts from the first of
 * these instants on, so no share of it exceeds the whole.  Until an application
 * counts it does not finish: if it comes to its end it starts again, and no
 * budget is used.
 *
 * An application is at its mark when its mark-th instruction has issued, in the
 * order of instants, not of simulation: a core that runs ahead counts
 * instructions before others have counted earlier ones.  So no core runs ahead
 * near the mark.  "Near" is as many instructions as all cores can issue in the
 * time by which they may have run ahead, so the mark is never among those. From
 * then on only a core's last issue reaches beyond the present, an instruction a
 * slot up to the instant at which its port is free, and the mark can be
 * predicted.
 *
 * Invariant: whatever the cores' steps, a mark is reached at one instant.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dispatchstate.h"

/* ---- what counts ------------------------------------------------------- */

uint64_t hd_marks_budget(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_app_state *a = &d->app[app];

    return a->work != 0 ? a->work : d->g->m->sim.budget;
}

/* Thread instructions since its counters began. */
static uint64_t marks_threads(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_stat *core = &d->g->stat;
    uint64_t n = 0;

    hd_cross(d->g->env, HD_BORDER_accounts);
    for (uint32_t i = 0; i < core->instances; i++)
        n += hd_stat_value(core, i, app, HD_CORE_THREAD_INSTRUCTIONS,
                           HD_STAT_COUNT);
    return n;
}

uint64_t hd_dispatch_threads(const struct hd_dispatch *d, uint32_t app)
{
    const struct hd_app_state *a = &d->app[app];

    if (a->finished)
        return a->finish_threads;
    return a->begin == HD_NEVER ? 0 : marks_threads(d, app);
}

/* A core's time counts from now on. */
static void marks_reset_core(const struct hd_gpu *g, struct hd_core *c,
                             hd_time now)
{
    hd_cross(g->env, HD_BORDER_accounts);
    for (uint32_t w = 0; w < g->m->core.warps; w++) {
        struct hd_warp *x = &c->warp[w];
        /* A warp that has issued ahead of now keeps what is after it. */
        hd_core_for(c, w);
        if (x->since > now)
            c->count[HD_CORE_T_ISSUE] += x->since - now;
        else
            x->since = now;
    }
}

/* The counters of an application, or of what belongs to none, begin. */
static void marks_reset_app(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    struct hd_gpu *g = d->g;

    hd_stats_reset(g->env->stats, app);
    g->measured[app] = now;
    for (uint32_t i = 0; i < g->cores; i++)
        if (g->core[i].app == app)
            marks_reset_core(g, &g->core[i], now);
    if (app < g->env->apps)
        hd_records_rebase(d, app);
}

/* Whether an application other than this one has begun at its own start. */
static bool marks_others_count(const struct hd_dispatch *d, uint32_t app)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++) {
        const struct hd_app_state *a = &d->app[i];
        if (i != app && a->counts && a->begin != HD_NEVER)
            return true;
    }
    return false;
}

void hd_marks_begin(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    hd_env_sync(d->g->env);
    if (!marks_others_count(d, app))
        marks_reset_app(d, d->g->env->apps, now);
    marks_reset_app(d, app, now);
    d->app[app].begin = now;
}

bool hd_marks_all_finished(const struct hd_dispatch *d)
{
    for (uint32_t i = 0; i < d->g->env->apps; i++)
        if (!d->app[i].finished)
            return false;
    return true;
}

void hd_marks_freeze(struct hd_dispatch *d, uint32_t app, hd_time finish)
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
    a->finish_threads = marks_threads(d, app);
    hd_stats_each(st, app, f);
    for (uint32_t i = 0; i < st->hists; i++)
        d->frozen_hist[app * st->hists + i] = st->hist[i].h[app];
    if (hd_marks_all_finished(d) &&
        d->g->env->err->code >= 0)          /* stopped, or not */
        d->g->env->err->code = HEDDLE_DONE; /* stops the run */
}

/* ---- marks ------------------------------------------------------------- */

/* Instructions that a core has issued and that have not left its port at t. */
static uint64_t marks_unissued(const struct hd_core *c, hd_time t)
{
    const struct hd_core_state *s = c->s;
    hd_time end = s->still != 0 ? s->held : s->port_free;

    if (HD_UNLIKELY(c->sub != NULL))
        return hd_subcore_unissued(c, t);
    return end > t ? hd_ceil_div(end - t, c->slot) : 0;
}

static bool marks_at(const struct hd_dispatch *d, uint32_t app, hd_time t)
{
    const struct hd_gpu *g = d->g;
    uint64_t n = d->app[app].issued - d->app[app].mark;

    for (uint32_t i = 0; i < g->cores; i++) {
        uint64_t later =
            g->core[i].app == app ? marks_unissued(&g->core[i], t) : 0;
        if (later > n)
            return false;
        n -= later;
    }
    return true;
}

/* Predicts when the mark is reached by what has been issued at t. */
static void marks_predict(struct hd_dispatch *d, uint32_t app, hd_time t)
{
    const struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    hd_time low = hd_max_u64(t, a->exact), high = low;

    if (a->issued < a->mark)
        return;
    for (uint32_t i = 0; i < g->cores; i++)
        if (g->core[i].app == app)
            high = hd_max_u64(high, low + marks_unissued(&g->core[i], low) *
                                              g->core[i].slot);
    while (low < high) {
        hd_time mid = low + (high - low) / 2;
        if (marks_at(d, app, mid))
            high = mid;
        else
            low = mid + 1;
    }
    if (low >= a->crossing)
        return;
    a->crossing = low;
    hd_post(g->env->ev, d->component, d->component, low, HD_DISPATCH_MARK, app,
            0);
}

/* How far cores run ahead, if no mark is near: as far as they may, but not
 * beyond what another core's L1 TLB can ask of them. */
static hd_time marks_ahead(const struct hd_gpu *g)
{
    return hd_min_u64(g->ahead, hd_peers_hop(g));
}

void hd_marks_set_ahead(struct hd_dispatch *d)
{
    struct hd_gpu *g = d->g;
    uint32_t closing = 0;

    for (uint32_t i = 0; i < g->env->apps; i++)
        closing |= d->app[i].closing;
    g->run_ahead = closing ? 1 : marks_ahead(g);
}

/* From when on no core has run ahead, if none does so from t on. */
static hd_time marks_exact_from(const struct hd_dispatch *d, hd_time t)
{
    const struct hd_gpu *g = d->g;
    hd_time now = hd_events_now(g->env->ev), exact = now;

    if (now == 0 || g->skips)
        return t;
    if (g->run_ahead == marks_ahead(g))
        return now + g->ahead;
    for (uint32_t i = 0; i < g->env->apps; i++)
        if (d->app[i].closing)
            exact = hd_max_u64(exact, d->app[i].exact);
    return exact;
}

/* The mark is near: no core runs ahead any more. */
static void marks_close_in(struct hd_dispatch *d, uint32_t app, hd_time t)
{
    struct hd_app_state *a = &d->app[app];

    if (!a->closing) {
        a->exact = marks_exact_from(d, t);
        a->closing = 1;
        hd_marks_set_ahead(d);
    }
    marks_predict(d, app, t);
}

void hd_marks_set(struct hd_dispatch *d, uint32_t app, hd_time now)
{
    const struct hd_gpu *g = d->g;
    struct hd_app_state *a = &d->app[app];
    uint64_t slots = g->ahead / g->env->clk->ticks[HD_CLK_ISSUE] + 2;
    uint64_t reach = slots * g->cores;

    a->mark = hd_min_u64(a->goal - 1, a->told - 1) + 1;
    a->near = a->mark == 0 ? UINT64_MAX : a->mark - hd_min_u64(a->mark, reach);
    a->crossing = HD_NEVER;
    if (a->issued >= a->near) {
        marks_close_in(d, app, now);
        return;
    }
    a->closing = 0;
    hd_marks_set_ahead(d);
}

void hd_dispatch_tell(struct hd_dispatch *d, uint32_t app, uint64_t issued)
{
    d->app[app].told = issued;
    hd_marks_set(d, app, hd_events_now(d->g->env->ev));
}

void hd_marks_reached(struct hd_dispatch *d, uint32_t app, hd_time now)
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
        a->goal = hd_marks_budget(d, app);
        hd_marks_begin(d, app, now);
    } else {
        if (!a->finished)
            a->truncated = 1;
        hd_marks_freeze(d, app, now);
        a->goal = 0;
    }
    hd_marks_set(d, app, now);
}

void hd_dispatch_near(const struct hd_core *c, hd_time t)
{
    marks_close_in(c->gpu->dispatch, c->app, t);
}

/* ---- finished, and from the end of the warm-up ------------------------- */

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
        a->goal = hd_marks_budget(d, i);
        a->counts = 1;
        a->begin = now;
        hd_marks_set(d, i, now);
        marks_reset_app(d, i, now);
        if (a->idle) /* without relaunch, it ended during the warm-up */
            hd_marks_freeze(d, i, now);
    }
    if (!own)
        marks_reset_app(d, apps, now);
}

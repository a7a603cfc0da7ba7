/*
 * run.c - a simulation runs: up to an instant, to its end, until it is stopped.
 *
 * Before the first cycle the cores are given to applications and all pages
 * are mapped (policies have been bound by then).  A run serves events in
 * slices; between slices it looks for a stop request, for the end of warm-up,
 * for lack of progress, with sim.check for broken invariants, and for
 * instructions to be skipped (sample.c).  Slices end at fixed instants,
 * whatever the pieces in which a run is asked for.
 *
 * SPDX-License-Identifier: MIT
 */
#include "simulation.h"

enum { SLICE = 100000 }; /* core cycles */

/* ---- before the first cycle --------------------------------------------- */

static int give_cores(heddle_sim *s)
{
    uint32_t owned[HD_MAX_APPS] = {0};

    for (uint32_t i = 0; i < s->gpu.cores; i++) {
        struct heddle_q_core_partition q = {s->apps, i, s->gpu.cores};
        uint32_t app = (uint32_t)hd_ask_core_partition(&s->partition, &q);
        hd_core_assign(&s->gpu, i, app);
        owned[app]++;
    }
    for (uint32_t i = 0; i < s->apps; i++)
        if (owned[i] == 0)
            return hd_err_set(&s->err, HEDDLE_EPOLICY,
                              "core_partition: application %u (%s) was given "
                              "no core",
                              i, s->source[i]->name);
    return s->err.code;
}

/* Maps all allocations, those of different applications in turn. */
static int map_pages(heddle_sim *s)
{
    uint64_t more = hd_ones(s->apps);

    for (uint32_t i = 0; more != 0; i++) {
        for (uint64_t m = more; m != 0; m &= m - 1) {
            uint32_t app = hd_bit_first(m);
            struct hd_source *src = s->source[app];
            struct hd_alloc a;
            if (!src->ops->alloc(src->self, i, &a)) {
                more &= ~(1ull << app);
                continue;
            }
            s->run->footprint[app] += a.bytes;
            if (hd_manage_map(s->memory, app, i, a.base, a.bytes) != 0)
                return s->err.code;
        }
    }
    return 0;
}

static int start(heddle_sim *s)
{
    int rc;

    s->run->warm = s->m.sim.warmup == 0;
    if (give_cores(s) != 0 ||
        hd_manage_fragment(s->memory, s->m.sim.seed) != 0 || map_pages(s) != 0)
        return s->err.code;
    hd_manage_start(s->memory, 0);
    rc = hd_dispatch_start(s->gpu.dispatch);
    if (s->sample != NULL)
        hd_sample_start(s);
    s->run->started = rc == 0;
    return rc;
}

/* ---- running ------------------------------------------------------------ */

static hd_time cycles(const heddle_sim *s, uint64_t n)
{
    uint64_t most = HD_NEVER / s->gpu.cycle;

    return n >= most ? HD_NEVER : n * s->gpu.cycle;
}

/* The watchdog looks at multiples of it: often enough for its limit. */
static hd_time watch_slice(const heddle_sim *s)
{
    return cycles(s, hd_min_u64(SLICE, s->m.sim.stuck_cycles));
}

/* The next instant at which run() has to look around. */
static hd_time next_look(const heddle_sim *s, hd_time until)
{
    hd_time slice = cycles(s, SLICE), watch = watch_slice(s);

    until = hd_min_u64(until, (s->run->end / slice + 1) * slice);
    until = hd_min_u64(until, (s->run->end / watch + 1) * watch);
    if (!s->run->warm)
        until = hd_min_u64(until, cycles(s, s->m.sim.warmup));
    if (s->m.sim.stop_cycles != 0)
        until = hd_min_u64(until, cycles(s, s->m.sim.stop_cycles));
    if (s->sample != NULL)
        until = hd_min_u64(until, hd_sample_next(s));
    return until;
}

/* When an instruction was last issued, in core cycles. */
static uint64_t last_issue(const heddle_sim *s)
{
    uint64_t last = 0;

    for (uint32_t i = 0; i < s->apps; i++)
        last =
            hd_max_u64(last, hd_dispatch_app(s->gpu.dispatch, i)->last_issue);
    return last / s->gpu.cycle;
}

/* Whether a core is inside a run of instructions, which count at its start. */
static bool in_a_run(const heddle_sim *s)
{
    for (uint32_t i = 0; i < s->gpu.cores; i++) {
        const struct hd_core *c = &s->gpu.core[i];
        hd_time free =
            c->sub != NULL ? hd_subcore_busy(c) : c->s->port_free;
        if (free > s->run->end && free != HD_NEVER) /* that one is halted */
            return true;
    }
    return false;
}

/* Whether an application's host does nothing for a time. */
static bool host_idles(const heddle_sim *s)
{
    for (uint32_t i = 0; i < s->apps; i++)
        if (hd_dispatch_app(s->gpu.dispatch, i)->beside == HD_BESIDE_IDLES)
            return true;
    return false;
}

/* Whether the driver's replays have helped no request for long, and no
 * instruction has issued. */
static bool in_vain(const heddle_sim *s, hd_time most)
{
    hd_time since, issued = cycles(s, last_issue(s));

    return s->faults != NULL && hd_faults_vain(s->faults, &since) &&
           s->run->end - hd_min_u64(hd_max_u64(since, issued), s->run->end) >=
               4 * most;
}

static void watch_progress(heddle_sim *s)
{
    uint64_t moved = heddle_instructions(s);
    struct hd_run_state *r = s->run;
    hd_time most = cycles(s, s->m.sim.stuck_cycles);
    char why[256] = "";

    moved += hd_mover_steps(hd_manage_mover(s->memory));
    if (s->fabric != NULL) /* a message that has crossed is a step, too */
        moved += hd_fabric_steps(s->fabric);
    if (s->link != NULL) { /* a page that has come is a step, too */
        moved += hd_link_over(s->link);
        most += hd_link_step(s->link);
    }
    if (s->faults != NULL) { /* so is a fault that the driver has looked at */
        moved += hd_faults_steps(s->faults);
        most += hd_faults_step(s->faults);
    }
    if (moved != r->progress || in_a_run(s) || host_idles(s) ||
        (s->faults != NULL && hd_faults_until(s->faults) > r->end)) {
        r->progress = moved;
        r->progress_at = r->end;
    }
    if (hd_events_waiting(&s->ev) > 0 && r->end - r->progress_at < most &&
        !in_vain(s, most))
        return;
    if (s->faults != NULL)
        hd_faults_why(s->faults, why, sizeof why);
    hd_err_set(&s->err, HEDDLE_ESTUCK,
               "no instruction has issued since cycle %llu%s",
               (unsigned long long)last_issue(s), why);
}

static void look_around(heddle_sim *s)
{
    struct hd_run_state *r = s->run;

    if (!r->warm && r->end >= cycles(s, s->m.sim.warmup)) {
        r->warm = 1;
        heddle_reset_counters(s);
    }
    if (s->env->check && r->end - r->checked >= cycles(s, SLICE)) {
        r->checked = r->end;
        hd_env_sync(s->env);
        heddle_check(s);
    }
    /* At fixed instants, so that no cut of a run can be seen. */
    if (r->end % watch_slice(s) == 0)
        watch_progress(s);
}

/* No script may hold state that a snapshot would have missed; with sim.check,
 * invariants hold at the end of a run, too. */
static void check_end(heddle_sim *s)
{
    struct heddle_error err = {0};

    if (s->err.code == HEDDLE_DONE && hd_slots_check(&s->slots, &err) != 0)
        s->err = err;
    if (s->env->check && s->err.code == HEDDLE_DONE) {
        s->err.code = 0;
        if (heddle_check(s) == HEDDLE_OK)
            s->err.code = HEDDLE_DONE;
    }
}

void hd_sim_released(heddle_sim *s)
{
    struct hd_run_state *r = s->run;

    if (r->status != HEDDLE_EPOLICY || !r->started)
        return;
    r->status = HEDDLE_DONE;
    for (uint32_t i = 0; i < s->apps; i++)
        if (!hd_dispatch_app(s->gpu.dispatch, i)->finished)
            r->status = 0;
    hd_err_clear(&s->err);
    s->err.code = r->status;
}

int heddle_run(heddle_sim *s, uint64_t n)
{
    struct hd_run_state *r = s->run;
    hd_time until = cycles(s, n);

    s->refused = false;
    if (r->status != 0)
        return r->status;
    if (!r->started && start(s) != 0)
        return r->status = s->err.code;
    if (s->sample != NULL && hd_sample_check(s) != 0)
        return r->status = s->err.code;
    if (until <= HD_NEVER - r->end) /* to a whole cycle, after a stop, too */
        until += r->end / s->gpu.cycle * s->gpu.cycle;
    else
        until = HD_NEVER;
    while (s->err.code == 0 && r->end < until) {
        hd_time to;

        if (s->sample != NULL)
            hd_sample_look(s);
        if (s->err.code != 0)
            break;
        to = next_look(s, until);
        r->events += hd_events_run(&s->ev, to, &s->err.code);
        r->end = s->err.code == 0 ? to : hd_events_now(&s->ev);
        if (s->err.code == HD_SAMPLE_CALLS)
            s->err.code = 0;
        if (s->err.code == 0)
            look_around(s);
        if (s->m.sim.stop_cycles != 0 &&
            r->end >= cycles(s, s->m.sim.stop_cycles))
            break;
    }
    hd_env_sync(s->env); /* what looks now sees this instant */
    if (s->err.code == HEDDLE_STOPPED) { /* by request, between two events */
        s->err.code = 0;
        until = HD_NEVER;
    }
    if (s->sample != NULL && s->err.code == HEDDLE_DONE)
        hd_sample_over(s);
    check_end(s);
    if (s->err.code != 0)
        return r->status = s->err.code;
    return r->end < until ? HEDDLE_STOPPED : HEDDLE_OK;
}

void heddle_stop(heddle_sim *s)
{
    if (s->err.code == 0 || s->err.code == HD_SAMPLE_CALLS)
        s->err.code = HEDDLE_STOPPED; /* the event loop looks at it */
}

int heddle_set_budget(heddle_sim *s, uint32_t app, uint64_t instructions)
{
    if (s->run->started || app >= s->apps)
        return HEDDLE_EINVAL;
    hd_dispatch_app(s->gpu.dispatch, app)->work = instructions;
    return HEDDLE_OK;
}

int heddle_set_start(heddle_sim *s, uint32_t app, uint64_t instructions)
{
    if (s->run->started || app >= s->apps)
        return HEDDLE_EINVAL;
    hd_dispatch_app(s->gpu.dispatch, app)->start = instructions;
    return HEDDLE_OK;
}

void heddle_reset_counters(heddle_sim *s)
{
    hd_env_sync(s->env);
    hd_dispatch_reset(s->gpu.dispatch, hd_events_now(&s->ev));
    s->run->progress = 0;
}

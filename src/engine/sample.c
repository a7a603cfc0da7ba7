/*
 * sample.c - systematic sampling: windows of a run are simulated in detail, and
 * the instructions between them are skipped.
 *
 * After SMARTS (Wunderlich, Wenisch, Falsafi, Hoe, ISCA 2003).  A period of
 * sample.every warp instructions, counted over all cores, has one window of
 * sample.window in its middle, which is measured.  Before it goes a detailed
 * warm-up of sample.warm, for what has a short history: queues, MSHRs, ports,
 * DRAM rows.  It is of so many instructions, though what it has to outlast are
 * latencies: so many cycles would end where instructions take long more often
 * than there are such instructions, and windows would say too much.  The rest
 * is skipped with functional warming: what has a long history, TLBs, walk
 * caches, caches with their replacement, and which pages are present, sees
 * every skipped access, in no time.  A skipped instruction goes through the
 * stations of a simulated one by their verb `warm` (core/skip.c, core/warm.c,
 * translation/warm.c, l2.c), in rounds: each warp of each core runs to
 * its next memory instruction (hd_warp_skip), as in functional.c with a crowd.
 *
 * A line that a skipped load misses comes into the L1 when its warp resumes,
 * not at once: the warp uses it again before others' lines take its place, as
 * it would under GTO.
 *
 * Instructions are skipped between two events, in one instant of the clock,
 * which continues behind them as if nothing had been.  What is in flight stays
 * so: loads of warps that have run past them, walks, fills, rows of DRAM.  A
 * warp that waited for a load does so still, for the same load, before the
 * instruction at which it stood, which it has come to again; so does the warp
 * that has taken its place, where its block has ended.  Warps that stood at a
 * memory instruction, since the load/store unit had no room, stand at it again,
 * too: if they were left anywhere, a window would begin with a burst of
 * arithmetic that a run does not have.  The pipeline is then as full as it was,
 * and warps are as spread in time: after a drain all would issue at once, and a
 * warm-up of many times the length would have to outlast that.  Blocks that end
 * make room for others, and launches follow each other, in that instant too
 * (hd_gpu.skips).
 *
 * What skipped instructions would count is taken back, so that counters are
 * those of what was simulated in detail; windows have sums of their own, of
 * which lua/heddle/sampling.lua makes estimates.
 *
 * The estimator is a ratio, of cycles to instructions over all windows: these
 * are of equal length but for the last, which the end of the run may cut.  It
 * has no bias by the choice of windows, as each instruction is as likely to be
 * in one, except that the first window's place is not drawn at random; that of
 * the state in which they begin remains, and is what warming is for.
 *
 * Left out: the order in which schedulers would have favoured warps, so that
 * blocks that began together end together more than they would; more than one
 * application, whose progress side by side is what would be measured; what has
 * state in time of its own (hd_sample_check).  Pages that come from the host
 * are there when a skipped instruction touches them, alone, and none leaves.
 *
 * Invariants: a line that is in flight to an L1 or a slice is not entered there
 * by `warm`, so it is in the tags once; what waits for a page finds it here
 * when it would have come; the times of a core's warps still sum to time x
 * warps.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "simulation.h"
#include "kit/info.h"

enum { PAUSE = 64 }; /* core cycles after which skipping is tried again */

enum phase { BEGINS, SKIPS, WARMS, MEASURES };

struct window {
    uint64_t first, instructions;
    hd_time ticks;
};

/* In the arena. */
struct state {
    uint32_t phase;
    uint32_t windows, room; /* of the list v */
    hd_ref v;
    uint32_t core;    /* whose turn is next when they are */
    hd_time at;       /* when they are */
    uint64_t left;    /* instructions to be skipped before the next window */
    uint64_t skipped; /* so far */
    uint64_t first;   /* instruction of the window under way, or the next */
    uint64_t instructions;
    hd_time since; /* when it began */
};

struct hd_sample {
    struct state *s;      /* arena */
    uint64_t *before;     /* arena: [flat] counted before cycle 0 */
    uint64_t *base, *sum; /* arena: [flat] at the window's start, of all */
    unsigned char *kept;  /* counters while instructions are skipped */
};

/* ---- windows ------------------------------------------------------------- */

static struct window *windows(const heddle_sim *s)
{
    return (struct window *)(void *)(s->arena.base +
                                     (size_t)s->sample->s->v * 8);
}

static uint64_t issued(const heddle_sim *s)
{
    return hd_dispatch_app(s->gpu.dispatch, 0)->issued;
}

/* Skipped instructions of a period; 0: none is, and all are measured. */
static uint64_t gap(const heddle_sim *s)
{
    const struct hd_sample_cfg *c = &s->m.sample;
    uint64_t detailed = c->warm + c->window;

    return detailed < c->every ? c->every - detailed : 0;
}

static void begin_window(heddle_sim *s, hd_time now)
{
    struct state *t = s->sample->s;

    hd_env_sync(s->env);
    hd_stats_sum(&s->stats, 0, s->sample->base);
    t->phase = MEASURES;
    t->first = issued(s);
    t->since = now;
    hd_dispatch_tell(s->gpu.dispatch, 0, t->first + s->m.sample.window);
}

/* Room for one more in the list. */
static bool sample_grow(heddle_sim *s)
{
    struct state *t = s->sample->s;
    uint32_t room = t->room == 0 ? 64 : 2 * t->room;
    struct window *v;

    if (t->windows < t->room)
        return true;
    v = hd_arena_take(&s->arena, room, sizeof *v);
    if (v == NULL) {
        hd_err_memory(&s->err);
        return false;
    }
    if (t->windows > 0)
        memcpy(v, windows(s), t->windows * sizeof *v);
    t->v = hd_arena_ref(&s->arena, v);
    t->room = room;
    return true;
}

static void end_window(heddle_sim *s, uint64_t last, hd_time now)
{
    struct hd_sample *p = s->sample;
    struct state *t = p->s;
    uint32_t flat = hd_stats_flat(&s->stats);

    if (last <= t->first || !sample_grow(s))
        return;
    windows(s)[t->windows++] =
        (struct window){t->first, last - t->first, now - t->since};
    t->instructions += last - t->first;
    hd_env_sync(s->env);
    for (uint32_t i = 0; i < flat; i++)
        p->sum[i] -= p->base[i];
    hd_stats_sum(&s->stats, 0, p->base);
    for (uint32_t i = 0; i < flat; i++)
        p->sum[i] += p->base[i];
}

/* The place of the next window, not before instruction `is`: its warm-up begins
 * with this one. */
static uint64_t place(heddle_sim *s, uint64_t is)
{
    uint64_t every = s->m.sample.every, first = gap(s) / 2;

    return is <= first ? first
                       : first + hd_ceil_div(is - first, every) * every;
}

static void begin_skip(heddle_sim *s, hd_time now)
{
    struct state *t = s->sample->s;
    uint64_t is = issued(s);

    t->phase = SKIPS;
    t->at = now;
    t->left = place(s, is) - is;
}

static void begin_warm(heddle_sim *s, hd_time now)
{
    s->sample->s->phase = WARMS;
    if (s->m.sample.warm == 0)
        begin_window(s, now);
    else
        hd_dispatch_tell(s->gpu.dispatch, 0, issued(s) + s->m.sample.warm);
}

/* As many instructions as were to be told of have been issued. */
static void reached(void *self, uint32_t app, hd_time now)
{
    heddle_sim *s = self;

    (void)app;
    if (s->sample->s->phase == WARMS) {
        begin_window(s, now);
        return;
    }
    if (s->sample->s->phase == MEASURES)
        end_window(s, issued(s), now);
    if (gap(s) == 0) {
        begin_window(s, now);
        return;
    }
    begin_skip(s, now);
    if (s->err.code == 0)
        s->err.code = HD_SAMPLE_CALLS;
}

/* ---- skipping ------------------------------------------------------------ */

/* Copies all counters and histograms out, or back. */
static void sample_keep(heddle_sim *s, bool back)
{
    unsigned char *p = s->sample->kept;

    for (uint32_t i = 0; i < s->stats.groups + s->stats.hists; i++) {
        bool hist = i >= s->stats.groups;
        const struct hd_stat *g = &s->stats.group[hist ? 0 : i].stat;
        void *v = hist ? (void *)s->stats.hist[i - s->stats.groups].h : g->v;
        size_t n = hist ? (s->apps + 1) * sizeof(struct hd_hist)
                        : (size_t)g->instances * g->apps * g->n * sizeof *g->v;

        memcpy(back ? v : (void *)p, back ? (void *)p : v, n);
        p += n;
    }
}

static size_t kept_bytes(const heddle_sim *s)
{
    size_t n = s->stats.hists * (s->apps + 1) * sizeof(struct hd_hist);

    for (uint32_t i = 0; i < s->stats.groups; i++) {
        const struct hd_stat *g = &s->stats.group[i].stat;
        n += (size_t)g->instances * g->apps * g->n * sizeof *g->v;
    }
    return n;
}

/* The counts of skipped instructions are none: struct hd_gpu's forget. */
static void forget(void *self)
{
    sample_keep(self, true);
}

/* Whether an instruction more may be skipped. */
static bool goes_on(const heddle_sim *s)
{
    const struct hd_app_state *a = hd_dispatch_app(s->gpu.dispatch, 0);

    return s->err.code == 0 && (a->goal == 0 || a->issued < a->goal);
}

/* Skips instructions, core after core, until there have been enough or the run
 * ends.
 * False: nothing can be skipped that has not to wait for an event. */
static bool skip(heddle_sim *s)
{
    struct state *t = s->sample->s;
    hd_time now = s->run->end;
    uint64_t n = 0;

    hd_env_sync(s->env); /* what is counted late is counted by now */
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        hd_warp_skip_begin(&s->gpu.core[i], now);
    sample_keep(s, false);
    s->gpu.skips = true;
    for (uint32_t idle = 0; idle < s->gpu.cores && t->left > 0 && goes_on(s);) {
        uint64_t one = hd_warp_skip(&s->gpu.core[t->core], now);

        hd_dispatch_refill(s->gpu.dispatch, t->core, now);
        t->core = (t->core + 1) % s->gpu.cores;
        idle = one > 0 ? 0 : idle + 1; /* all of them in turn: none can */
        t->left -= hd_min_u64(one, t->left);
        n += one;
    }
    for (uint32_t i = 0; i < s->gpu.cores && goes_on(s); i++) {
        n += hd_warp_skip_settle(&s->gpu.core[i], now);
        hd_dispatch_refill(s->gpu.dispatch, i, now);
    }
    t->skipped += n;
    s->gpu.skips = false;
    sample_keep(s, true);
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        hd_warp_skip_end(&s->gpu.core[i], now);
    return n > 0;
}

hd_time hd_sample_next(const heddle_sim *s)
{
    return s->sample->s->phase == SKIPS ? s->sample->s->at : HD_NEVER;
}

void hd_sample_look(heddle_sim *s)
{
    struct state *t = s->sample->s;
    hd_time pause = PAUSE * s->gpu.cycle;

    /* at fixed instants, so that no cut of a run can be seen */
    if (t->phase != SKIPS || s->run->end < t->at)
        return;
    if (t->left == 0 || skip(s) || s->err.code != 0)
        begin_warm(s, s->run->end);
    else
        t->at = (s->run->end / pause + 1) * pause;
}

void hd_sample_start(heddle_sim *s)
{
    if (s->m.sample.every == 0)
        return;
    hd_stats_sum(&s->stats, 0, s->sample->before);
    if (gap(s) == 0)
        begin_window(s, 0);
    else /* with something to be skipped */
        hd_dispatch_tell(s->gpu.dispatch, 0, hd_max_u64(s->m.sample.warm, 1));
}

void hd_sample_over(heddle_sim *s)
{
    const struct hd_app_state *a = hd_dispatch_app(s->gpu.dispatch, 0);

    if (s->m.sample.every != 0 && s->sample->s->phase == MEASURES) {
        end_window(s, a->finish_issued, a->finish);
        s->sample->s->phase = WARMS;
    }
}

/* ---- what cannot be sampled ----------------------------------------------- */

/* Settings under which state in time decides: which is set so, or NULL. */
static const char *timed_setting(const struct hd_machine *m)
{
    bool faults = m->vm.paging == HD_PAGING_FAULT;

    return faults && m->uvm.mode == HD_DRIVER_DRIVER  ? "uvm.mode=driver"
           : faults && m->fault.prefetch != 0         ? "fault.prefetch"
           : faults && m->fault.thrashing != 0        ? "fault.thrashing"
           : faults && m->remote.access != 0          ? "remote.access"
                                                      : NULL;
}

static int refuse(heddle_sim *s, const char *what, const char *why)
{
    return hd_err_set(&s->err, HEDDLE_ECONFIG, "sample.%s: %s %s",
                      s->m.sample.every != 0 ? "every" : "launches", what, why);
}

/* Points and notes of what is warmed too, or before cycle 0. */
static uint64_t sample_set(const uint8_t *list, size_t n)
{
    uint64_t set = 0;

    for (size_t i = 0; i < n; i++)
        set |= 1ull << list[i];
    return set;
}

/* A policy with state in time, or NULL. */
static const char *sample_timed(const heddle_sim *s, const char **what)
{
    static const uint8_t points[] = {
        HEDDLE_POINT_page_size,     HEDDLE_POINT_frame_place,
        HEDDLE_POINT_region_coalesce, HEDDLE_POINT_region_split,
        HEDDLE_POINT_shootdown,     HEDDLE_POINT_tlb_fill,
        HEDDLE_POINT_tlb_merge,     HEDDLE_POINT_tlb_insert,
        HEDDLE_POINT_tlb_keep,      HEDDLE_POINT_walk_step,
        HEDDLE_POINT_repl_victim,   HEDDLE_POINT_cache_insert,
        HEDDLE_POINT_l2_bypass,     HEDDLE_POINT_block_place,
        HEDDLE_POINT_core_partition, HEDDLE_POINT_walk_address,
        HEDDLE_POINT_tlb_group};
    static const uint8_t notes[] = {
        HEDDLE_NOTE_free, HEDDLE_NOTE_repl_touch, HEDDLE_NOTE_repl_fill,
        HEDDLE_NOTE_repl_gone};

    return hd_slots_timed(&s->slots, sample_set(points, HD_LEN(points)),
                          sample_set(notes, HD_LEN(notes)), what);
}

int hd_sample_check(heddle_sim *s)
{
    const char *what, *name = sample_timed(s, &what);

    if (s->m.sample.timed || s->m.sample.every == 0)
        return 0;
    if (name != NULL)
        return hd_err_set(
            &s->err, HEDDLE_EPOLICY,
            "policy %s has state that evolves with time (%s), which "
            "instructions that sample.every skips do not advance; "
            "sample.timed=true allows it",
            name, what);
    if (s->m.vm.paging == HD_PAGING_FAULT &&
        s->run->footprint[0] / HD_PAGE_BYTES > hd_ptables_free(s->tables))
        return refuse(s, "vm.paging=fault",
                      "can be sampled where vm.memory_bytes holds all that the "
                      "application has, so that no page is evicted");
    return 0;
}

/* What neither kind of sampling can do, whatever the policies. */
static int check_machine(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    const char *timed = timed_setting(m);

    if (m->sample.every != 0 && m->sample.launches)
        return refuse(s, "with sample.launches,",
                      "what a window stands for is not known; only one of the "
                      "two is expected");
    if (s->apps != 1)
        return refuse(s, "with more than one application,",
                      "how far each gets next to the others would have to be "
                      "estimated; one is expected");
    if (m->sim.warmup != 0)
        return refuse(s, "with sim.warmup,", "it is no estimate of the run");
    if (m->sim.stop_cycles != 0)
        return refuse(s, "with sim.stop_cycles,",
                      "only what is simulated in detail has cycles; sim.budget "
                      "bounds instructions");
    if (m->sample.launches)
        return m->sim.budget == 0 && m->vm.paging != HD_PAGING_FAULT
                   ? 0
                   : refuse(s,
                            m->sim.budget != 0 ? "with sim.budget,"
                                               : "with vm.paging=fault,",
                            "whole launches of mapped memory are expected");
    if (m->compress.enable || m->core.compact || m->l2tlb.sub_ways != 0)
        return refuse(s,
                      m->compress.enable ? "with compress.enable,"
                      : m->core.compact  ? "with core.compact,"
                                         : "with l2tlb.sub_ways,",
                      "there is no functional warming");
    if (timed != NULL && !m->sample.timed)
        return refuse(s, timed,
                      "has state that evolves with time, which skipped "
                      "instructions do not advance; sample.timed=true allows "
                      "it");
    return 0;
}

/* ---- life ---------------------------------------------------------------- */

int hd_sample_open(heddle_sim *s)
{
    uint32_t flat = hd_stats_flat(&s->stats);
    struct hd_sample *p;

    if (s->m.sample.every == 0 && !s->m.sample.launches)
        return 0;
    if (check_machine(s) != 0)
        return s->err.code;
    p = s->sample = hd_env_take(s->env, 1, sizeof *p);
    if (p == NULL)
        return hd_err_memory(&s->err);
    p->s = hd_arena_take(&s->arena, 1, sizeof *p->s);
    p->before = hd_arena_take(&s->arena, flat, sizeof *p->before);
    p->base = hd_arena_take(&s->arena, flat, sizeof *p->base);
    p->sum = hd_arena_take(&s->arena, flat, sizeof *p->sum);
    p->kept = hd_env_take(s->env, 1, kept_bytes(s));
    if (p->s == NULL || p->before == NULL || p->base == NULL ||
        p->sum == NULL || p->kept == NULL)
        return hd_err_memory(&s->err);
    s->gpu.reached = reached;
    s->gpu.forget = forget;
    s->gpu.sample = s;
    return 0;
}

/* ---- what comes of it ------------------------------------------------------ */

int heddle_sample(const heddle_sim *s, struct heddle_sample_info *out)
{
    struct heddle_sample_info info;
    const struct state *t;

    if (s->sample == NULL)
        return HEDDLE_EINVAL;
    t = s->sample->s;
    info = (struct heddle_sample_info){.windows = t->windows,
                                       .instructions = t->instructions,
                                       .skipped = t->skipped};
    hd_dispatch_skipped(s->gpu.dispatch, &info.launches, &info.skipped);
    return hd_info_give(out, &info, sizeof info);
}

int heddle_sample_window(const heddle_sim *s, uint32_t i,
                         struct heddle_window_info *out)
{
    struct heddle_window_info info;
    const struct window *w;

    if (s->sample == NULL || i >= s->sample->s->windows)
        return HEDDLE_EINVAL;
    w = &windows(s)[i];
    info = (struct heddle_window_info){
        .first = w->first,
        .instructions = w->instructions,
        .cycles = (double)w->ticks / (double)s->gpu.cycle};
    return hd_info_give(out, &info, sizeof info);
}

int heddle_sample_counter(const heddle_sim *s, uint32_t i, uint64_t *before,
                          uint64_t *windows)
{
    if (s->sample == NULL || i >= hd_stats_flat(&s->stats))
        return HEDDLE_EINVAL;
    *before = s->sample->before[i];
    *windows = s->sample->sum[i];
    return HEDDLE_OK;
}

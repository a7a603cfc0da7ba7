/*
 * mmu.c - the units below the L1 TLBs: settings, counters, building, wiring.
 *
 * One unit serves all cores (Mosaic, MASK, MESC), or those of a node
 * (fabric/), or each core has its own
 * (Pichai et al.: walkers in the core, no L2 TLB).  A request of core c is
 * posted by a sender of its own for each core, so that requests of one
 * instant arrive in the order of cores, whichever called first.  The
 * latency from the L1 TLB is walk.latency cycles, that of the answer is the
 * requester's.  That of a walk read to the L2 cache and back is
 * walk.memory_latency each, or the crossbar's.
 *
 * SPDX-License-Identifier: MIT
 */

#include "pages/contig.h"
#include "unit.h"

#define HD_PART    walk
#define HD_CFG     struct hd_walk_cfg
#define HD_PART_OF "translation/walk.def"
#include "kit/rows.h"

#define HD_PART    bypass
#define HD_CFG     struct hd_bypass_cfg
#define HD_PART_OF "translation/bypass.def"
#include "kit/rows.h"

#define HD_PART    mmu
#define HD_PART_OF "translation/mmu.def"
#include "kit/rows.h"

enum {
#define HD_HISTS_OF "translation/mmu.def"
#include "kit/rows.h"
};

enum {
#define HD_HISTS_OF "translation/walk.def"
#include "kit/rows.h"
};

/* The line of leaf entries that shows a run of pages (pages/run.c). */
enum { RUN_BYTES = 128 };

/* ---- what goes in and out --------------------------------------------- */

/* The senders of requests get no events. */
static void no_events(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b)
{
    (void)self, (void)now, (void)what, (void)a, (void)b;
    hd_assert(!"an event for a sender");
}

struct hd_tbelow hd_mmu_below(struct hd_mmu *m, uint32_t core)
{
    if (m->levels != NULL)
        return hd_levels_below(m->levels, core);
    return (struct hd_tbelow){hd_l2tlb_take, NULL, hd_requesters_notified,
                              hd_mmu_unit(m, core), hd_l2tlb_warm};
}

struct hd_client hd_mmu_client(struct hd_mmu *m)
{
    return (struct hd_client){hd_ptw_answer, m};
}

struct hd_stat hd_mmu_prefetches(const struct hd_mmu *m)
{
    return m->prefetch_stat;
}

struct hd_mmu_recent *hd_mmu_recent(struct hd_mmu *m, uint32_t app)
{
    return &m->recent[app];
}

/* A request that waited for a far fault is looked up again. */
static void mmu_resume(void *self, hd_time now, uint32_t src, uint32_t treq)
{
    struct hd_mmu *m = self;
    const struct hd_treq *q = &m->w.treqs->v[treq];

    hd_post(m->env->ev, src, hd_mmu_unit(m, q->core)->input_rank, now, 0, treq,
            0);
}

/* What walk caches hold of a page's entries is no longer so. */
static void mmu_mapped(void *self, uint32_t app, hd_vpn vpn, uint32_t pages)
{
    struct hd_mmu *m = self;

    hd_cross(m->env, HD_BORDER_arrived);
    for (uint32_t i = 0; i < m->units; i++)
        if (m->pwc_cfg.style == HD_PWC_PHYSICAL)
            hd_pwc_invalidate(&m->unit[i].pwc, m->w.tables, app, vpn,
                              pages == HD_LARGE_PAGES ? 1 : pages);
}

/* The contiguity bits of a region are others, which walk caches hold. */
static void mmu_contig_changed(void *self, uint32_t app, hd_vpn first)
{
    struct hd_mmu *m = self;

    hd_cross(m->env, HD_BORDER_arrived);
    for (uint32_t i = 0; i < m->units; i++) {
        hd_pwc_changed(&m->unit[i].pwc, m->w.tables, app, first, 3);
        hd_subregions_forget(&m->unit[i], app, first, HD_LARGE_PAGES);
    }
}

void hd_mmu_shoot(struct hd_mmu *m, uint32_t app, hd_vpn vpn, uint64_t pages,
                  hd_time until)
{
    hd_cross(m->env, HD_BORDER_shoot_mmu);
    if (m->levels != NULL)
        hd_levels_shoot(m->levels, app, vpn, pages, until);
    for (uint32_t i = 0; i < m->units; i++) {
        struct hd_unit *u = &m->unit[i];
        if (m->tlb_cfg.mode.kind == HD_FULL) {
            hd_tlb_shoot(&u->tlb, app, vpn, pages);
            if (m->bypass_cfg.entries != 0)
                hd_tlb_shoot(&u->bypass, app, vpn, pages);
        }
        hd_subregions_forget(u, app, vpn,
                             app == HD_APP_NONE ? HD_EVERY_PAGE : pages);
        if (pages != 0) /* a split leaves the tables where they are */
            hd_pwc_invalidate(&u->pwc, m->w.tables, app, vpn,
                              app == HD_APP_NONE ? HD_EVERY_PAGE : pages);
        if (u->s->port_at < until) {
            u->s->port_at = until - hd_min_u64(until, m->tick);
            u->s->port_used = m->tlb_cfg.ports;
        }
    }
}

static void mmu_look_pwc(void *mmu, uint32_t i, struct heddle_visitor *v)
{
    struct hd_unit *u = hd_unit_of(mmu, i);

    if (u->m->pwc_cfg.mode.kind == HD_FULL)
        hd_pwc_look(&u->pwc, v);
}

/* The default of walk_step: to read. */
static int64_t mmu_default(void *mmu, const void *question)
{
    (void)mmu, (void)question;
    return 0;
}

/* ---- building --------------------------------------------------------- */

static uint32_t mmu_pc_at_hand(const void *unit)
{
    const struct hd_treq *q = ((const struct hd_unit *)unit)->hand;

    return q != NULL ? q->pc : 0;
}

static int mmu_open_unit(struct hd_mmu *m, uint32_t i, struct hd_stat tlb,
                         struct hd_stat bypass, struct hd_stat pwc,
                         struct hd_stat msc)
{
    struct hd_unit *u = &m->unit[i];
    struct hd_env *env = m->env;
    const struct hd_walk_cfg *c = &m->walk_cfg;
    bool full = m->tlb_cfg.mode.kind == HD_FULL;
    uint32_t misses = c->walkers * c->batch + c->queue;
    struct hd_tlb_cfg by = {.mode = {HD_FULL, 0},
                            .entries = m->bypass_cfg.entries,
                            .merge_pages = m->tlb_cfg.merge_pages,
                            .groups = m->tlb_cfg.groups};
    int rc;

    if (full && (m->tlb_cfg.mshrs < misses || c->mode.kind == HD_IDEAL))
        misses = m->tlb_cfg.mshrs;
    u->m = m;
    u->treq = m->w.treqs->v;
    u->instance = i;
    /* requests of an instant come before the unit's own events */
    u->input_rank = hd_events_component(env->ev, "mmu", hd_l2tlb_serve, u);
    u->rank = hd_events_component(env->ev, "mmu", hd_ptw_serve, u);
    u->prefetch_rank =
        hd_events_component(env->ev, "mmu", hd_prefetch_serve, u);
    u->prefetches =
        hd_arena_take(env->arena, m->prefetch_cfg.queue, sizeof *u->prefetches);
    u->seat =
        hd_arena_take(env->arena, (c->walkers + 63) / 64, sizeof *u->seat);
    u->wanted = hd_arena_take(env->arena, m->fill_cfg.queue, sizeof *u->wanted);
    u->s = hd_arena_take(env->arena, 1, sizeof *u->s);
    u->walk = hd_arena_take(env->arena, misses, sizeof *u->walk);
    u->in_room = m->w.requests != 0 ? m->w.requests : m->w.treqs->numbers.room;
    u->in_room /= m->units; /* a core's, or all */
    u->input = hd_arena_take(env->arena, u->in_room, sizeof *u->input);
    u->queue = hd_arena_take(env->arena, misses, sizeof *u->queue);
    if (c->batch > 1)
        u->batch = hd_arena_take(env->arena, c->walkers, sizeof *u->batch);
    if (u->s == NULL || u->walk == NULL || u->input == NULL ||
        u->prefetches == NULL || u->wanted == NULL || u->seat == NULL ||
        u->queue == NULL || (c->batch > 1 && u->batch == NULL) ||
        hd_numbers_open(&u->batches, env->arena, c->walkers) < 0 ||
        hd_mshr_open(&u->miss, env->arena, misses, 0) < 0)
        return hd_err_memory(env->err);
    rc = full ? hd_tlb_open(&u->tlb, env, &m->tlb_cfg, "l2tlb", 2, i) : 0;
    u->tlb.stat = tlb;
    if (rc == 0 && full && by.entries != 0)
        rc = hd_tlb_open(&u->bypass, env, &by, "bypass", 2, i);
    u->tlb.base.pc = u->tlb.large.pc = u->bypass.base.pc =
        (struct hd_pc){mmu_pc_at_hand, u};
    u->bypass.stat = bypass;
    u->tlb.prefetched = u->bypass.prefetched = m->prefetch_stat;
    if (rc == 0 && by.entries != 0 && full)
        hd_tlb_set_side(&u->tlb, "l2tlb", &u->bypass);
    if (rc == 0)
        rc = hd_pwc_open(&u->pwc, env, &m->pwc_cfg, m->w.tables, i, pwc);
    u->subs.cfg = m->msc_cfg;
    if (rc == 0)
        rc = hd_subregions_open(u, msc);
    return rc;
}

static void mmu_open_hists(struct hd_mmu *m)
{
    struct hd_stats *st = m->env->stats;

    m->latency = hd_stats_hist(st, &hd_rows_mmu, LATENCY);
    m->walk_latency = hd_stats_hist(st, &hd_rows_walk, WALK_LATENCY);
    m->walk_queue = hd_stats_hist(st, &hd_rows_walk, WALK_QUEUE);
    m->walk_requesters = hd_stats_hist(st, &hd_rows_walk, WALK_REQUESTERS);
    m->walk_warps = hd_stats_hist(st, &hd_rows_walk, WALK_WARPS);
}

/* Entries of subregions are in the L2 TLB, and are what walks read. */
static int mmu_check_subs(const struct hd_mmu_wiring *w,
                          struct heddle_error *err)
{
    static const char *const NAME[] = {"off", "ideal", "fixed", "full"};

    if (w->l2tlb->mode.kind != HD_FULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "l2tlb.mode = %s: with l2tlb.sub_ways = %u only full "
                          "is possible, as there are no entries otherwise",
                          NAME[w->l2tlb->mode.kind], w->l2tlb->sub_ways);
    if (w->walk->mode.kind != HD_FULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "walk.mode = %s: with l2tlb.sub_ways = %u only full "
                          "is possible, as other walks read no page table",
                          NAME[w->walk->mode.kind], w->l2tlb->sub_ways);
    return 0;
}

static int mmu_check_settings(const struct hd_mmu_wiring *w,
                              struct heddle_error *err)
{
    if (w->walk->mode.kind == HD_OFF)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "walk.mode: off: the page tables have to be walked; use "
            "sim.translation = off, or walk.mode = ideal");
    if (w->walk->walkers == 0 || w->cores == 0 || w->l2tlb->ports == 0 ||
        (w->l2tlb->mode.kind == HD_FULL && w->l2tlb->mshrs == 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "walk.walkers, l2tlb.ports and l2tlb.mshrs must not "
                          "be 0");
    if (w->walk->batch > 1 && w->walk->mode.kind != HD_FULL)
        return hd_err_set(
            err, HEDDLE_ECONFIG,
            "walk.batch = %u, but walk.mode is not full: there are "
            "no reads to put in order",
            w->walk->batch);
    if (w->l2tlb->sub_ways != 0 && mmu_check_subs(w, err) != 0)
        return err->code;
    if (w->bypass->entries != 0 && w->l2tlb->mode.kind != HD_FULL)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "bypass.entries = %u, but l2tlb.mode is not full: "
                          "the bypass cache is probed with the L2 TLB",
                          w->bypass->entries);
    return 0;
}

static struct hd_mmu *mmu_make(struct hd_env *env,
                               const struct hd_mmu_wiring *w)
{
    static const uint32_t unwatched[HEDDLE_NOTE_COUNT];
    uint32_t nodes = w->nodes != 0 ? w->nodes : 1;
    uint32_t n = w->walk->per_core ? w->cores : nodes;
    struct hd_mmu *m = hd_env_take(env, 1, sizeof *m + n * sizeof m->unit[0]);
    size_t treqs = w->treqs->numbers.room;
    size_t who = hd_max_u64(
        treqs, hd_pick_scratch((uint64_t)w->walk->walkers * w->walk->batch +
                               w->walk->queue));

    if (m == NULL)
        return NULL;
    m->env = env;
    m->w = *w;
    m->units = n;
    m->share = w->cores / n;
    for (uint32_t i = 0; i < n; i++)
        m->unit[i].node = i * nodes / n;
    m->tlb_cfg = *w->l2tlb;
    m->walk_cfg = *w->walk;
    m->pwc_cfg = *w->pwc;
    m->bypass_cfg = *w->bypass;
    m->prefetch_cfg = (struct hd_prefetch_cfg){1, 1};
    if (w->prefetch != NULL)
        m->prefetch_cfg = *w->prefetch;
    if (w->fill != NULL)
        m->fill_cfg = *w->fill;
    if (w->walktable != NULL)
        m->walktable_cfg = *w->walktable;
    if (w->groups != NULL)
        m->groups_cfg = *w->groups;
    m->tlb_cfg.groups = m->groups_cfg.most;
    if (w->msc != NULL)
        m->msc_cfg = *w->msc;
    m->tick = hd_ticks(env->clk, HD_CLK_L2, 1);
    m->per_tick = hd_recip_of(m->tick);
    m->per_core = hd_recip_of(hd_ticks(env->clk, HD_CLK_CORE, 1));
    m->step_ticks =
        w->walk->per_core ? hd_ticks(env->clk, HD_CLK_CORE, 1) : m->tick;
    m->ordered = n == 1 && w->memory_back > 0 && w->walk->port == 0;
    for (uint32_t i = 0; i <= HD_WALK_STEPS; i++)
        hd_ptables_step(w->tables, i, &m->read[i]);
    m->run_pages = (uint8_t)(RUN_BYTES / hd_ptables_entry_bytes(w->tables));
    m->read_flags = w->walk->memory != 0 ? HD_REQ_BYPASS : 0;
    m->never = HD_NEVER;
    m->until = env->slots != NULL && env->slots->epoch != NULL
                   ? env->slots->epoch
                   : &m->never;
    m->watched = env->slots != NULL ? env->slots->watched : unwatched;
    m->steer = env->slots != NULL ? env->slots->steer : NULL;
    m->transit = m->tick * w->walk->latency;
    m->lookup = m->tick * w->l2tlb->latency;
    m->fixed = m->tick * w->l2tlb->mode.fixed;
    m->probes = 1u + (w->l2tlb->sub_ways != 0) +
                (w->l2tlb->serial && w->l2tlb->large_entries != 0);
    m->walk_fixed = m->tick * w->walk->mode.fixed;
    m->recent = hd_arena_take(env->arena, HD_MAX_APPS, sizeof *m->recent);
    m->requesters_of =
        hd_arena_take(env->arena, treqs, sizeof *m->requesters_of);
    m->requesters = hd_arena_take(env->arena, treqs, sizeof *m->requesters);
    m->who = hd_env_take(env, who, sizeof *m->who);
    m->port = hd_env_take(env, w->cores, sizeof *m->port);
    if (m->who == NULL || m->port == NULL || m->recent == NULL ||
        m->requesters_of == NULL || m->requesters == NULL ||
        hd_numbers_open(&m->requester_numbers, env->arena,
                        w->treqs->numbers.room) < 0)
        return NULL;
    return m;
}

/* Policies were bound or unbound, or watchers came or went. */
static void mmu_bound(void *self)
{
    struct hd_mmu *m = self;

    m->chosen = m->pick.bound ||
                (m->steer != NULL && hd_steered(m->steer, HD_TABLE_walk_quota));
    m->early = m->ordered && m->walk_cfg.mode.kind == HD_FULL &&
               m->pwc_cfg.mode.kind == HD_OFF && m->walk_cfg.batch == 1 &&
               m->tlb_cfg.sub_ways == 0 &&
               hd_recip_up(m->per_tick, m->w.memory_back) == m->w.memory_back &&
               !m->step.bound && !m->address.bound &&
               m->watched[HEDDLE_NOTE_walk_read] == 0;
    for (uint32_t i = 0; i < m->units; i++) {
        hd_tlb_bound(&m->unit[i].tlb);
        hd_tlb_bound(&m->unit[i].bypass);
        hd_assoc_bound(&m->unit[i].pwc.tags);
        hd_assoc_bound(&m->unit[i].subs.tags);
    }
}

/* The units and what they count.  0 or an error. */
static int mmu_open_units(struct hd_mmu *m)
{
    struct hd_stats *st = m->env->stats;
    uint32_t n = m->units;
    struct hd_stat tlb, bypass, pwc, msc, own, walk, fill, table, group;
    int rc = 0;

    tlb = hd_stats_group_by_launch(st, &hd_rows_l2tlb, n);
    bypass = hd_stats_group_by_launch(st, &hd_rows_bypass, n);
    own = hd_stats_group_by_launch(st, &hd_rows_mmu, n);
    walk = hd_stats_group_by_launch(st, &hd_rows_walk, n);
    pwc = hd_stats_group_by_launch(st, &hd_rows_pwc, n);
    msc = hd_stats_group(st, &hd_rows_msc, n);
    m->prefetch_stat = hd_stats_group(st, &hd_rows_prefetch, n);
    fill = hd_stats_group(st, &hd_rows_fill, n);
    table = hd_stats_group(st, &hd_rows_walktable, n);
    group = hd_stats_group(st, &hd_rows_groups, n);
    mmu_open_hists(m);
    for (uint32_t c = 0; c < m->w.cores; c++)
        m->port[c] = hd_events_component(m->env->ev, "mmu input", no_events, m);
    for (uint32_t i = 0; i < n && rc == 0; i++) {
        struct hd_unit *u = &m->unit[i];

        rc = mmu_open_unit(m, i, tlb, bypass, pwc, msc);
        u->stat = own;
        u->walk_stat = walk;
        u->fill_stat = fill;
        u->table_stat = table;
        u->group_stat = group;
    }
    return rc == 0 ? hd_walktable_open(m) : rc;
}

/* There is a level of uTLBs. */
static bool mmu_has_levels(const struct hd_mmu_wiring *w)
{
    for (uint32_t k = 0; k < HD_LEVELS; k++)
        if (w->levels[k] != NULL && w->levels[k]->entries != 0)
            return true;
    return false;
}

struct hd_mmu *hd_mmu_open(struct hd_env *env, const struct hd_mmu_wiring *w)
{
    struct hd_part parts[] = {
        {.name = "l2tlb",
         .look = hd_l2tlb_look,
         .stuck = hd_l2tlb_stuck,
         .check = hd_l2tlb_check,
         .bound = mmu_bound},
        {.name = "bypass", .look = hd_l2tlb_look_bypass},
        {.name = "walks",
         .look = hd_ptw_look,
         .stuck = hd_ptw_stuck,
         .check = hd_ptw_check,
         .sync = hd_ptw_sync},
        {.name = "prefetch",
         .look = hd_prefetch_look,
         .check = hd_prefetch_check},
        {.name = "fill", .look = hd_fill_look, .check = hd_fill_check},
        {.name = "pwc", .look = mmu_look_pwc},
        {.name = "msc",
         .look = hd_subregions_look,
         .check = hd_subregions_check},
    };
    struct hd_mmu *m;

    if (mmu_check_settings(w, env->err) < 0)
        return NULL;
    m = mmu_make(env, w);
    if (m == NULL || mmu_open_units(m) < 0)
        return NULL;
    if (mmu_has_levels(w) &&
        (m->levels = hd_levels_open(env, m, w->levels)) == NULL)
        return NULL;
    if (hd_groups_open(m) != 0)
        return NULL;
    hd_slots_offer(env->slots, HEDDLE_POINT_tlb_fill, "", &m->fill,
                   hd_bypass_default, m);
    hd_slots_offer(env->slots, HEDDLE_POINT_walk_step, "", &m->step,
                   mmu_default, m);
    hd_slots_offer(env->slots, HEDDLE_POINT_walk_pick, "", &m->pick,
                   hd_pick_default, m);
    hd_slots_offer(env->slots, HEDDLE_POINT_walk_reference, "", &m->reference,
                   hd_batch_reference_default, m);
    if (w->faults != NULL)
        hd_faults_client(w->faults,
                         (struct hd_fault_client){mmu_resume, mmu_mapped, m});
    for (uint32_t i = 0; i < HD_LEN(parts); i++) {
        parts[i].instances = m->units;
        parts[i].self = m;
        hd_env_part(env, parts[i]);
    }
    if (env->slots != NULL) {
        env->slots->translate = hd_prefetch_take;
        env->slots->fill = hd_fill_take;
        env->slots->translate_self = m;
    }
    hd_contig_client(w->tables, mmu_contig_changed, m);
    mmu_bound(m);
    return m;
}

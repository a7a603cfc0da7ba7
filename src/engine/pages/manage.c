/*
 * manage.c - the memory manager: what a driver does to page tables, and when.
 *
 * Before cycle 0 it takes the frames that no application uses (fragment.c)
 * and maps the applications' allocations.  While the machine runs, allocations
 * go when their application says so and come back when it starts again.  All
 * that changes a mapping happens in one event, at an instant that no core has
 * simulated to and that none may pass before the event is over (the barrier),
 * so that the page tables and all TLBs change at once for all cores.
 *
 * With vm.paging=fault an allocation is reserved, and its pages come one by one
 * (fault.c) and make no translation wrong, so they need no barrier.  One that
 * finds no frame waits for such an instant if a policy, which is asked at once,
 * compacts memory for it, and so does a unit that is evicted (evict.c).
 *
 * Whenever the last page of an aligned 2 MB has come, and the 512 are in one
 * frame of 2 MB in order, region_coalesce is asked: large-page bit and
 * disabled bits are set in place, no page moves, nothing is flushed.  Pages
 * from the host need not all be there: it is asked whenever one comes and the
 * others can be next to it (coalesced.c keeps their places then).  When a
 * coalesced region loses pages, region_split is asked; then memory is
 * compacted, if a policy does that (compact.c).  What demand paging asks for is
 * in managepaging.c.
 *
 * Costs.  Coalescing and splitting write the entry of level 3 and the leaf
 * table: 1 + 32 lines of 128 bytes, by the mover, off the critical path.
 * What became wrong is removed from the TLBs at once (shootdown); the L2 TLB
 * takes no look-up for shootdown_l2 cycles, the L1 TLBs concerned none for
 * shootdown_l1.  Several shootdowns of one instant cost as one.  The L4
 * entries that an unmapping clears are not charged: all designs have them.
 *
 * Left out on purpose: the time of the driver itself on the host.
 *
 * SPDX-License-Identifier: MIT
 */
#include "manage.h"

#include <string.h>

#include "managestate.h"

enum { EV_APPLY };
enum { FIRST_ROOM = 64 };

#define HD_PART    memory
#define HD_CFG     struct hd_manage_cfg
#define HD_PART_OF "pages/memory.def"
#include "kit/rows.h"

/* ---- counting ----------------------------------------------------------- */

/* What the page tables count for an application. */
static void totals(struct hd_manage *g, uint32_t app)
{
    uint64_t *mapped = hd_manage_count(g, app, HD_MANAGE_MAPPED_PEAK);
    uint64_t *held = hd_manage_count(g, app, HD_MANAGE_HELD_PEAK);
    uint64_t *some = hd_manage_count(g, app, HD_MANAGE_CONTIG_PEAK);
    uint64_t *whole = hd_manage_count(g, app, HD_MANAGE_CONTIG_ALL_PEAK), all;

    *some = hd_max_u64(*some, hd_contig_covered(g->t, app, &all));
    *whole = hd_max_u64(*whole, all);
    *mapped = hd_max_u64(*mapped, g->t->s->pages[app]);
    for (uint32_t i = 0; i < 2; i++) {
        uint64_t *large = hd_manage_count(g, app, HD_MANAGE_64K_PEAK + i);
        *large = hd_max_u64(*large, g->t->s->large[app][i]);
    }
    *held = hd_max_u64(*held, hd_bigframes_peak(&g->t->big, app));
    *hd_manage_count(g, app, HD_MANAGE_MIXED) = g->t->s->mixed[app];
    *hd_manage_count(g, app, HD_MANAGE_CONTIG_PACKED) = g->t->s->packed[app];
}

static void manage_sync(void *self, hd_time now)
{
    struct hd_manage *g = self;
    hd_time cycle = hd_ticks(g->env->clk, HD_CLK_CORE, 1);

    for (uint32_t app = 0; app < g->env->apps; app++)
        totals(g, app);
    if (g->s->halt) {
        *hd_manage_count(g, HD_APP_NONE, HD_MANAGE_STALL_CYCLES) +=
            (now - g->s->halted) / cycle;
        g->s->halted = now - (now - g->s->halted) % cycle;
    }
}

/* ---- TLBs ---------------------------------------------------------------- */

void hd_manage_shootdown(struct hd_manage *g, uint32_t app, uint32_t cause,
                         uint64_t vpn, uint64_t pages)
{
    struct heddle_q_shootdown q = {app, cause, vpn, pages};
    hd_time now, l1, l2;
    int64_t what;

    if (!g->s->running)
        return;
    what = hd_ask_shootdown(&g->shootdown, &q);
    now = hd_events_now(g->env->ev);
    l1 = now + hd_ticks(g->env->clk, HD_CLK_CORE, g->cfg.shootdown_l1);
    l2 = now + hd_ticks(g->env->clk, HD_CLK_L2, g->cfg.shootdown_l2);
    (*hd_manage_count(g, app, HD_MANAGE_SHOOTDOWNS))++;
    if (what == HEDDLE_SHOOTDOWN_PAGES && cause == HEDDLE_SHOOTDOWN_CAUSE_SPLIT)
        pages = 0; /* only the large entry */
    if (what != HEDDLE_SHOOTDOWN_PAGES) {
        vpn = 0;
        pages = HD_EVERY_PAGE;
    }
    if (what == HEDDLE_SHOOTDOWN_ALL)
        app = HD_APP_NONE;
    hd_mmu_shoot(g->mmu, app, (hd_vpn){vpn}, pages, l2);
    g->cores.invalidate(g->cores.self, app, (hd_vpn){vpn}, pages, l1);
}

/* ---- coalescing and splitting -------------------------------------------- */

/* The entry of level 3 and the leaf table are written. */
static void write_region(struct hd_manage *g, uint32_t app, uint64_t vpn)
{
    hd_vpn first = {vpn & ~(uint64_t)(HD_LARGE_PAGES - 1)};

    if (hd_mover_write(g->mover, app, hd_ptables_table(g->t, app, first, 3),
                       1) < 0 ||
        hd_mover_write(g->mover, app, hd_ptables_table(g->t, app, first, 4),
                       g->table_lines) < 0)
        hd_manage_no_memory(g);
}

void hd_manage_splinter(struct hd_manage *g, uint32_t app, uint64_t vpn)
{
    hd_ptables_split(g->t, app, (hd_vpn){vpn});
    write_region(g, app, vpn);
    (*hd_manage_count(g, app, HD_MANAGE_SPLINTERED))++;
    hd_manage_shootdown(g, app, HEDDLE_SHOOTDOWN_CAUSE_SPLIT,
                        vpn & ~(uint64_t)(HD_LARGE_PAGES - 1), HD_LARGE_PAGES);
}

/* Pages [vpn, vpn + pages) of an application have come and can be used: asks
 * coalesce for each region that is whole by that. */
static void have_come(struct hd_manage *g, uint32_t app, hd_vpn vpn,
                      uint64_t pages)
{
    uint64_t end = vpn.v + pages, v = vpn.v & ~(uint64_t)(HD_LARGE_PAGES - 1);

    if (HD_LIKELY(!g->coalesce.bound))
        return; /* no policy coalesces */
    if (hd_ptables_may_join(g->t, g->env->err) != 0)
        return;
    for (; v < end; v += HD_LARGE_PAGES) {
        struct heddle_q_region_coalesce q = {.app = app, .vpn = v};
        hd_pfn f;
        q.present = hd_ptables_whole(g->t, app, (hd_vpn){v}, &f);
        if (q.present == 0) {
            *hd_manage_count(g, app, HD_MANAGE_COALESCED_PACKED) +=
                hd_ptables_kept_apart(g->t, app, (hd_vpn){v});
            continue;
        }
        q.frame = f.v;
        if (!hd_ask_region_coalesce(&g->coalesce, &q))
            continue;
        hd_ptables_join(g->t, app, (hd_vpn){v});
        write_region(g, app, v);
        (*hd_manage_count(g, app, HD_MANAGE_COALESCED))++;
    }
}

bool hd_manage_ask_split(struct hd_manage *g, uint32_t app, uint64_t vpn,
                         uint32_t left)
{
    struct heddle_q_region_split q = {.app = app, .vpn = vpn, .left = left};
    struct hd_xlate x;

    hd_ptables_large(g->t, app, (hd_vpn){vpn}, &x);
    q.frame = x.pfn.v;
    if (!hd_ask_region_split(&g->splinter, &q) && left != 0)
        return false;
    hd_manage_splinter(g, app, vpn);
    return true;
}

/* Coalesced regions of the range that are not whole any more. */
static void split_some(struct hd_manage *g, uint32_t app, uint64_t vpn,
                       uint64_t end)
{
    uint64_t v = vpn & ~(uint64_t)(HD_LARGE_PAGES - 1);

    for (; v < end; v += HD_LARGE_PAGES) {
        struct hd_xlate x;
        uint32_t left;
        if (!hd_ptables_large(g->t, app, (hd_vpn){v}, &x))
            continue;
        left = hd_ptables_remaining(g->t, app, (hd_vpn){v});
        if (left != HD_LARGE_PAGES)
            hd_manage_ask_split(g, app, v, left);
    }
}

/* ---- allocations --------------------------------------------------------- */

int hd_manage_map(struct hd_manage *g, uint32_t app, uint32_t index, hd_va base,
                  uint64_t bytes)
{
    uint64_t first = base.v >> HD_PAGE_SHIFT, before;
    uint64_t end = (base.v + bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;

    if (app >= HD_MAX_APPS || bytes == 0)
        return 0;
    if (g->coalesce.bound && hd_ptables_may_join(g->t, g->env->err) != 0)
        return g->env->err->code;
    if (g->t->cfg.paging == HD_PAGING_FAULT || g->t->cfg.touch)
        return hd_ptables_reserve(g->t, app, index, base, bytes, g->env->err);
    before = g->t->s->pages[app];
    if (hd_ptables_map(g->t, app, index, base, bytes, g->env->err) != 0)
        return g->env->err->code;
    *hd_manage_count(g, app, HD_MANAGE_MAPPED) += g->t->s->pages[app] - before;
    totals(g, app);
    have_come(g, app, (hd_vpn){first}, end - first);
    return g->env->err->code;
}

void hd_manage_arrived(void *manage, hd_time now, uint32_t app, hd_vpn vpn,
                       uint32_t pages)
{
    struct hd_manage *g = manage;

    hd_at_home(g->env, HD_SIDE_MANAGER);
    if (!hd_ptables_resident(g->t, app, vpn))
        return; /* its allocation has gone meanwhile */
    *hd_manage_count(g, app, HD_MANAGE_MAPPED) += pages;
    totals(g, app);
    have_come(g, app, vpn, pages);
    hd_mover_start(g->mover, now);
}

void hd_manage_touched(struct hd_manage *g, uint32_t app, uint32_t pages)
{
    *hd_manage_count(g, app, HD_MANAGE_MAPPED) += pages;
    totals(g, app);
}

static void manage_go(struct hd_manage *g, const struct hd_manage_job *j)
{
    uint64_t first = j->base >> HD_PAGE_SHIFT, before = g->t->s->pages[j->app];
    uint64_t end = (j->base + j->bytes + HD_PAGE_BYTES - 1) >> HD_PAGE_SHIFT;

    if (j->bytes == 0)
        return;
    hd_ptables_unmap(g->t, j->app, j->index, (hd_va){j->base}, j->bytes);
    if (g->thrash != NULL)
        hd_thrash_forget(g->thrash, j->app, (hd_vpn){first}, end - first);
    *hd_manage_count(g, j->app, HD_MANAGE_FREED) +=
        before - g->t->s->pages[j->app];
    split_some(g, j->app, first, end);
    hd_manage_shootdown(g, j->app, HEDDLE_SHOOTDOWN_CAUSE_FREED, first,
                        end - first);
}

/* ---- while the machine runs ---------------------------------------------- */

static struct hd_manage_job *manage_job_at(const struct hd_manage *g,
                                           uint32_t i)
{
    struct hd_manage_job *v = hd_arena_at(g->env->arena, g->s->jobs);

    return &v[(g->s->first + i) % g->s->room];
}

void hd_manage_enter(struct hd_manage *g, hd_time now, struct hd_manage_job j)
{
    struct hd_manage_state *s = g->s;
    hd_time at =
        now + hd_max_u64(g->cores.ahead, hd_ticks(g->env->clk, HD_CLK_CORE, 1));

    hd_at_home(g->env, HD_SIDE_MANAGER);
    j.at = at = hd_edge(g->env->clk, HD_CLK_CORE, at);
    if (s->n == s->room) {
        struct hd_manage_job *v =
            hd_arena_take(g->env->arena, s->room * 2u, sizeof *v);
        if (v == NULL) {
            hd_manage_no_memory(g);
            return;
        }
        for (uint32_t i = 0; i < s->n; i++)
            v[i] = *manage_job_at(g, i);
        s->jobs = hd_arena_ref(g->env->arena, v);
        s->first = 0;
        s->room *= 2;
    }
    *manage_job_at(g, s->n++) = j;
    if (at < s->barrier) {
        s->barrier = at;
        hd_post(g->env->ev, g->id, g->id, at, EV_APPLY, 0, 0);
    }
}

void hd_manage_ask(struct hd_manage *g, hd_time now, uint32_t app,
                   uint32_t index, hd_va base, uint64_t bytes, bool map)
{
    hd_cross(g->env, HD_BORDER_ask);
    hd_manage_enter(
        g, now,
        (struct hd_manage_job){.base = base.v,
                               .bytes = bytes,
                               .app = app,
                               .index = index,
                               .what = map ? HD_JOB_COMES : HD_JOB_GOES});
}

/* Does all jobs of this instant; what goes together is compacted once. */
static void manage_apply(void *self, hd_time now, uint32_t what, uint32_t a,
                         uint64_t b)
{
    struct hd_manage *g = self;
    struct hd_manage_state *s = g->s;

    (void)what, (void)a, (void)b;
    while (s->n > 0 && manage_job_at(g, 0)->at <= now &&
           !hd_err_ends(g->env->err->code)) {
        struct hd_manage_job j = *manage_job_at(g, 0);
        bool last;

        s->first = (s->first + 1) % s->room;
        s->n--;
        last = s->n == 0 || manage_job_at(g, 0)->at > now ||
               manage_job_at(g, 0)->what != HD_JOB_GOES ||
               manage_job_at(g, 0)->app != j.app;
        if (j.what == HD_JOB_COMES)
            hd_manage_map(g, j.app, j.index, (hd_va){j.base}, j.bytes);
        else if (j.what != HD_JOB_GOES)
            hd_manage_paging(g, now, &j);
        if (j.what != HD_JOB_GOES)
            continue;
        manage_go(g, &j);
        if (last)
            hd_compact(g, HEDDLE_COMPACT_CAUSE_FREED, j.app, HD_NO_FRAME);
        if (last && g->evict != NULL)
            hd_evict_freed(g->evict, now, j.app);
    }
    s->barrier = s->n > 0 ? manage_job_at(g, 0)->at : HD_NEVER;
    if (s->n > 0)
        hd_post(g->env->ev, g->id, g->id, s->barrier, EV_APPLY, 0, 0);
    hd_mover_start(g->mover, now);
}

/* The mover has done all it was asked for. */
static void manage_idle(void *self, hd_time now)
{
    struct hd_manage *g = self;

    if (!g->s->halt)
        return;
    manage_sync(g, now);
    g->s->halt = 0;
    g->cores.halt(g->cores.self, false, now);
}

/* ---- points -------------------------------------------------------------- */

static int64_t no(void *self, const void *question)
{
    (void)self, (void)question;
    return 0;
}

static int64_t yes(void *self, const void *question)
{
    (void)self, (void)question;
    return 1;
}

/* ---- building ------------------------------------------------------------ */

struct hd_manage *hd_manage_open(struct hd_env *env,
                                 const struct hd_manage_cfg *cfg,
                                 const struct hd_mover_wiring *w)
{
    struct hd_manage *g = hd_env_take(env, 1, sizeof *g);
    struct hd_mover_wiring mw = *w;
    void *jobs =
        hd_arena_take(env->arena, FIRST_ROOM, sizeof(struct hd_manage_job));

    if (g == NULL)
        return NULL;
    g->env = env;
    g->cfg = *cfg;
    g->dram = w->dram;
    g->line = w->line;
    g->table_lines = HD_PAGE_BYTES / w->line;
    g->s = hd_arena_take(env->arena, 1, sizeof *g->s);
    g->id = hd_events_component(env->ev, "manager", manage_apply, g);
    mw.window = cfg->move_window;
    mw.bulk = hd_ticks_ns(env->clk, cfg->bulk_ns);
    mw.idle = manage_idle;
    mw.self = g;
    g->mover = hd_mover_open(env, &mw);
    if (jobs == NULL || g->s == NULL || g->mover == NULL)
        return NULL;
    g->s->jobs = hd_arena_ref(env->arena, jobs);
    g->s->room = FIRST_ROOM;
    g->s->barrier = HD_NEVER;
    g->stat = hd_stats_group(env->stats, &hd_rows_memory, 1);
    g->runs = hd_stats_hist(env->stats, &hd_rows_memory, 0);
    return g;
}

int hd_manage_wire(struct hd_manage *g, struct hd_ptables *tables,
                   struct hd_mmu *mmu, struct hd_l2 *l2,
                   const struct hd_manage_cores *cores)
{
    const struct {
        enum heddle_point point;
        struct hd_slot *slot;
        heddle_answer *fn;
    } point[] = {
        {HEDDLE_POINT_region_coalesce, &g->coalesce, no},
        {HEDDLE_POINT_region_split, &g->splinter, yes},
        {HEDDLE_POINT_compact_source, &g->compact, no},
        {HEDDLE_POINT_compact_target, &g->receive, no},
        {HEDDLE_POINT_compact_copy, &g->copy, no},
        {HEDDLE_POINT_compact_stall, &g->stall, no},
        {HEDDLE_POINT_shootdown, &g->shootdown, no},
    };
    uint64_t n = tables->big.n;

    g->t = tables;
    g->mmu = mmu;
    g->l2 = l2;
    g->cores = *cores;
    g->scratch = hd_env_take(g->env, 4 * n, sizeof *g->scratch);
    g->tried = hd_env_take(g->env, n, 1);
    if (g->scratch == NULL || g->tried == NULL)
        return -1;
    tables->compact = hd_compact_room;
    tables->compacts = hd_compact_can;
    tables->wants_room = hd_compact_wanted;
    tables->compact_self = g;
    for (uint32_t i = 0; i < HD_LEN(point); i++)
        hd_slots_offer(g->env->slots, point[i].point, "", point[i].slot,
                       point[i].fn, g);
    hd_env_part(g->env, (struct hd_part){.name = "memory",
                                         .instances = 1,
                                         .self = g,
                                         .sync = manage_sync});
    return 0;
}

struct hd_mover *hd_manage_mover(struct hd_manage *g)
{
    return g->mover;
}

void hd_manage_faulting(struct hd_manage *g, struct hd_faults *f)
{
    g->faults = f;
}

void hd_manage_evicting(struct hd_manage *g, struct hd_evict *v,
                        struct hd_remote *r, struct hd_thrash *t)
{
    g->evict = v;
    g->thrash = t;
    g->remote = r;
}

const hd_time *hd_manage_barrier(const struct hd_manage *g)
{
    return &g->s->barrier;
}

int hd_manage_fragment(struct hd_manage *g, uint64_t seed)
{
    struct hd_slots *sl = g->env->slots;

    if (g->cfg.fragment_index == 0 && g->cfg.hog == 0 && g->cfg.hog_torn == 0)
        return 0;
    if (hd_ptables_fragment(g->t, g->cfg.fragment_index,
                            g->cfg.fragment_occupancy, seed) < 0 ||
        hd_ptables_hog(g->t, g->cfg.hog, g->cfg.hog_torn, g->cfg.hog_kept,
                       seed) < 0) {
        hd_manage_no_memory(g);
        return -1;
    }
    for (uint64_t f = 0; f < g->t->frames.frames &&
                         sl->watched[HEDDLE_NOTE_frames_taken] != 0;) {
        struct heddle_n_frames_taken n = {.frame = f};
        while (f < g->t->frames.frames &&
               hd_frames_owner(&g->t->frames, f) == HD_PT_FOREIGN)
            f++;
        n.frames = f - n.frame;
        if (n.frames != 0)
            hd_slots_note(sl, HEDDLE_NOTE_frames_taken, &n);
        else
            f++;
    }
    return 0;
}

/* A field of a row that says which pages are contiguous. */
static void add_run(void *hist, const char *field, uint64_t value)
{
    if (strcmp(field, "pages") == 0)
        hd_hist_add(hist, value);
}

static void no_row(void *hist, const char *kind)
{
    (void)hist, (void)kind;
}

static void manage_no_text(void *hist, const char *field, const char *value)
{
    (void)hist, (void)field, (void)value;
}

void hd_manage_start(struct hd_manage *g, hd_time now)
{
    struct heddle_visitor v = {no_row, add_run, manage_no_text, NULL};

    for (uint32_t app = 0; g->t->cfg.scan && app < g->env->apps; app++) {
        v.ud = &g->runs[app];
        hd_ptables_look(g->t, app, &v);
    }
    g->s->running = 1;
    if (!g->cfg.setup_traffic)
        hd_mover_forget(g->mover, now);
    hd_mover_start(g->mover, now);
}

/*
 * corebuild.c - what a core is built of: settings, counters, pools, wiring.
 *
 * All that a core changes lies in the arena; struct hd_core is wiring, with
 * what follows from the machine and its application worked out once.
 *
 * A core has so many memory instructions that it never runs out of them: one
 * for each scoreboard slot of each warp, and those that are at the load/store
 * unit, parked, or, without a slot, in an MSHR.  Lines that wait are few, and
 * their want stops the load/store unit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "../machine.h"
#include "core.h"

#include <stdlib.h>
#include <string.h>

#include "dispatch.h"

/* ---- settings and counters ---------------------------------------------- */

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
    {"ilp", HD_T_U32, AT(ilp), "instructions", "0", 0, 255, "",
     "instructions of a run of arithmetic that issue before alu_latency is "
     "waited for; 1: each waits for the one before; 0: all, a free run; a run "
     "of a trace that knows its registers has its own, unless this is 0",
     "heddle"},
    {"scheduler", HD_T_CHOICE, AT(scheduler), "", "gto", 0, 1, "gto|lrr",
     "greedy then oldest, or loose round robin", "MASK table 1"},
    {"warps", HD_T_U32, AT(warps), "warps", "64", 1, HD_MAX_WARPS, "",
     "warps resident on a core", "MASK table 1"},
    {"threads", HD_T_U32, AT(threads), "threads", "4096", 32, 65536, "",
     "threads resident on a core", "guess: warps x lanes"},
    {"blocks", HD_T_U32, AT(blocks), "blocks", "16", 1, 64, "",
     "thread blocks resident on a core", "guess (Maxwell: 32, Fermi: 8)"},
    {"regs", HD_T_U32, AT(regs), "registers", "65536", 1, 1u << 24, "",
     "32-bit registers of a core; a block takes those of all lanes of its "
     "warps, a thread's rounded up to a multiple of 4",
     "guess (Maxwell); rounding: GPGPU-Sim"},
    {"shared_bytes", HD_T_U32, AT(shared_bytes), "bytes", "98304", 0, 1u << 24,
     "", "shared memory of a core", "guess (Maxwell)"},
    {"queue", HD_T_U32, AT(queue), "instructions", "8", 1, 64, "",
     "memory instructions waiting at the load/store unit", "guess"},
    {"parked", HD_T_U32, AT(parked), "lines", "2048", 64, 65536, "",
     "lines of a core that wait for translations or for merged misses",
     "guess"},
    {"limit_cycles", HD_T_U32, AT(limit_cycles), "cycles", "1000", 1, 1u << 30,
     "", "how long an answer of warp_limit holds", "guess"},
    {"shared_unit", HD_T_BOOL, AT(shared_unit), "", "false", 0, 1, "",
     "instructions of shared memory pass the load/store unit, a cycle each, and "
     "wait there for what stops it; 0: they take issue slots only",
     "guess: shared memory has a way of its own"},
    {"translate_atomics", HD_T_BOOL, AT(translate_atomics), "", "true", 0, 1,
     "", "atomics look up the TLBs; 0: they take the page table's word at once",
     "MASK 3.1: every access is translated"},
    {"translate_textures", HD_T_BOOL, AT(translate_textures), "", "true", 0, 1,
     "", "so do texture fetches (buffers with texture = true)",
     "MASK 3.1: every access is translated"},
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

const uint32_t hd_core_counter_count = HD_LEN(hd_core_counters);

const struct hd_hist_desc hd_core_hists[] = {
    {"core", "load_latency", "core cycles",
     "from the issue of a load to its last datum"},
    {"core", "translation_latency", "core cycles",
     "from an L1 TLB miss to its answer"},
    {"core", "pages", "pages", "base pages a memory instruction"},
    {"core", "lines", "lines", "lines a memory instruction"},
};
const uint32_t hd_core_hist_count = HD_LEN(hd_core_hists);

/* ---- building ----------------------------------------------------------- */

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
    c->ilp = m->core.ilp;
    c->full = hd_ones(c->lanes);
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
    if (m->l1tlb.blocking == HD_UNDER_HITS)
        c->page = take(g, c->targets, sizeof *c->page, &bad);
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
    c->s->replay_first = c->s->wait_first = HD_NONE;
    hd_core_assign(g, id, 0);
    c->component = hd_events_component(g->env->ev, "core", hd_core_on_wake, c);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_warp_pick, "core", &c->pick,
                   hd_sched_default, c);
    hd_slots_offer(g->env->slots, HEDDLE_POINT_warp_limit, "core", &c->limit,
                   hd_limit_default, c);
    if (hd_tlb_open(&c->l1tlb, g->env, &m->l1tlb, "l1tlb", 1, id) != 0)
        return -1;
    if (hd_cache_open(&c->l1, g->env, &m->l1cache, "l1cache", id,
                      m->l1cache.bytes) != 0)
        return -1;
    hd_lsu_bound(c);
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

/* For whoever reads the counters. */
static void open_time(void *self, uint32_t instance, uint32_t app,
                      uint64_t *add)
{
    struct hd_gpu *g = self;
    const struct hd_core *c = &g->core[instance];

    if (c->app == app)
        hd_core_unaccounted(c, hd_events_now(g->env->ev), add);
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
    g->line_flits = hd_l1d_flits(g, g->m->l1cache.line);
    g->tlb_ticks = hd_l1tlb_latency(g);
    g->l1_ticks = hd_l1d_latency(g);
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
    g->measured = hd_arena_take(g->env->arena, g->env->apps + 1,
                                sizeof *g->measured);
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

/*
 * sim.c - the one place that sees every part: a simulation is built, wired and
 * freed.  How it runs is run.c.
 *
 * Parts are built bottom up, each with its own table of settings, and are
 * joined by the contracts of memory/request.h and translation/translate.h.  The
 * order in which they register with the event queue is their rank in an
 * instant, so it is fixed here.
 *
 * SPDX-License-Identifier: MIT
 */
#include "simulation.h"

#include <stdlib.h>
#include <string.h>

static const size_t ARENA_BYTES = (size_t)16 << 30; /* addresses only */

static void *default_alloc(void *ud, void *p, size_t osize, size_t nsize)
{
    (void)ud, (void)osize;
    if (nsize != 0)
        return realloc(p, nsize);
    free(p);
    return NULL;
}

static int no_memory(heddle_sim *s)
{
    return hd_err_memory(&s->err);
}

/* Frames for each that memory has: where pages are compressed, as many as
 * pages of the smallest class. */
static uint32_t frame_names(const struct hd_machine *m)
{
    return m->compress.enable ? HD_PAGE_GRANULES : 1;
}

static int build_base(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    struct heddle_place place = {0};
    struct hd_env *env = &s->env_;

    s->env = env;
    if (hd_arena_open(&s->arena, ARENA_BYTES) != 0)
        return no_memory(s);
    s->clk.hz[HD_CLK_CORE] = m->clock.core;
    s->clk.hz[HD_CLK_ISSUE] = m->clock.core * m->core.issue;
    s->clk.hz[HD_CLK_L2] = m->clock.l2;
    s->clk.hz[HD_CLK_DRAM] = m->clock.dram;
    s->clk.hz[HD_CLK_LINK] = m->clock.link;
    if (hd_clocks_init(&s->clk, &s->err) != 0 ||
        hd_dram_kind_give(&s->m.dram, m->clock.dram, &s->err) != 0)
        return s->err.code;
    s->run = hd_arena_take(&s->arena, 1, sizeof *s->run);
    if (s->run == NULL ||
        hd_events_open(&s->ev, &s->arena, s->clk.ticks[HD_CLK_CORE]) != 0)
        return no_memory(s);
    hd_stats_open(&s->stats, &s->arena, s->apps);
    for (uint32_t i = 0; i < s->apps; i++)
        if (s->source[i]->streams != 0)
            hd_stats_launches(&s->stats, i, s->source[i]->streams + 1);
    env->arena = &s->arena;
    env->ev = &s->ev;
    env->stats = &s->stats;
    env->clk = &s->clk;
    env->err = &s->err;
    env->seed = m->sim.seed;
    env->apps = s->apps;
    if (m->fabric.nodes > 1)
        env->nodes = &s->nodes;
    env->check = m->sim.check;
    env->apart = m->core.shared_unit;
    env->classes = m->core.classes;
    env->compact = m->core.compact;
    for (uint32_t i = 0; i < s->apps; i++)
        env->copies |= s->source[i]->copies != 0;
    place.at = "";
    place.cores = m->core.count;
    place.warps = m->core.warps;
    place.apps = s->apps;
    place.channels = m->dram.channels;
    place.banks = m->dram.banks;
    place.l2tlbs = m->l2tlb.mode.kind != HD_FULL ? 0 : hd_machine_units(m);
    place.frames =
        (m->vm.memory_bytes / HD_PAGE_BYTES - hd_vm_table_frames(&m->vm)) *
        frame_names(m);
    if (env->nodes != NULL)
        place.frames =
            hd_nodes_split(&s->nodes, m->fabric.nodes, m->vm.memory_bytes,
                           hd_vm_table_frames(&m->vm));
    place.seed = m->sim.seed;
    if (hd_slots_open(&s->slots, env, s, &place) != 0 ||
        hd_tokens_open(&s->tokens, env, s, place.cores) != 0 ||
        hd_classify_open(&s->classify, env, s) != 0)
        return no_memory(s);
    s->slots.released = hd_sim_released;
    return 0;
}

/* Entries of the pools, enough for everything that can be in flight. */
static uint32_t most_requests(const struct hd_machine *m)
{
    uint32_t cores = m->core.count, more = 0;
    uint32_t units = hd_machine_units(m);

    if (m->fabric.nodes > 1) /* acknowledgements of writes */
        more = cores * (m->l1cache.mshrs + m->l1cache.stores);
    return more + cores * (2 * m->l1cache.mshrs + m->l1cache.stores + 64) +
           units * (m->walk.walkers + 16) * 2 +
           m->l2cache.slices * (m->l2cache.mshrs + m->l2cache.queue) *
               (m->compress.enable ? 4 : 2) +
           m->dram.channels * m->dram.queue * 2 + 16384;
}

/* Requests that can wait for far faults at once: a line each, and the next. */
static uint32_t most_faults(const struct hd_machine *m)
{
    return m->vm.paging == HD_PAGING_FAULT
               ? m->core.count * (m->core.parked + m->l1tlb.mshrs + 1)
               : 0;
}

static uint32_t most_translations(const struct hd_machine *m)
{
    uint32_t cores = m->core.count;
    uint32_t units = hd_machine_units(m);

    return cores * m->l1tlb.mshrs + most_faults(m) +
           units * (m->l2tlb.mshrs + m->walk.walkers + m->walk.queue) + 4096;
}

/* What an application's buffers held at its start: see compress.h. */
static bool contents(void *self, uint32_t app, hd_va va, unsigned char *out)
{
    const struct hd_source *src = ((heddle_sim *)self)->source[app];

    return src->ops->contents != NULL && src->ops->contents(src->self, va, out);
}

/* The links between nodes, which stand before the L2. */
static int build_fabric(heddle_sim *s)
{
    struct hd_fabric_wiring w = {.cfg = &s->m.fabric,
                                 .reqs = &s->reqs,
                                 .clients = s->client,
                                 .l2 = s->below,
                                 .client = HD_CLIENT_FABRIC,
                                 .cores = s->m.core.count,
                                 .units = hd_machine_units(&s->m)};

    s->fabric = hd_fabric_open(s->env, &w);
    if (s->fabric == NULL)
        return no_memory(s);
    s->below = hd_fabric_below(s->fabric);
    return 0;
}

static int build_memory(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    struct hd_l2_wiring w = {0};
    struct hd_compress_wiring c = {
        .cfg = &m->compress,
        .line = m->l2cache.line,
        .bytes = m->vm.memory_bytes -
                 (uint64_t)hd_vm_table_frames(&m->vm) * HD_PAGE_BYTES,
        .contents = contents,
        .source = s};

    if (hd_reqs_open(&s->reqs, &s->arena, most_requests(m)) != 0 ||
        hd_treqs_open(&s->treqs, &s->arena, most_translations(m)) != 0)
        return no_memory(s);
    if (m->l2cache.sector_bytes != 0) {
        s->reqs.written =
            hd_arena_take(&s->arena, most_requests(m), sizeof *s->reqs.written);
        w.burst = hd_dram_burst(&m->dram);
        if (s->reqs.written == NULL)
            return no_memory(s);
    }
    if (s->stats.hand.rows != 0) {
        s->reqs.hand = s->treqs.hand = &s->stats.hand;
        s->reqs.launch = hd_arena_take(&s->arena, most_requests(m),
                                       sizeof *s->reqs.launch);
        s->treqs.launch = hd_arena_take(&s->arena, most_translations(m),
                                        sizeof *s->treqs.launch);
        if (s->reqs.launch == NULL || s->treqs.launch == NULL)
            return no_memory(s);
    }
    s->dram = hd_dram_open(s->env, &m->dram, &s->reqs, s->client);
    if (s->dram == NULL)
        return no_memory(s);
    w.cache = &m->l2cache;
    w.xbar = &m->xbar;
    w.walk_latency = m->walk.memory_latency;
    w.reqs = &s->reqs;
    w.dram = s->dram;
    if (m->compress.enable) {
        w.compress = s->compress = hd_compress_open(s->env, &c);
        if (s->compress == NULL)
            return no_memory(s);
    }
    w.clients = s->client;
    w.cores = m->core.count;
    w.dram_client = HD_CLIENT_L2;
    s->l2 = hd_l2_open(s->env, &w);
    if (s->l2 == NULL)
        return no_memory(s);
    s->below = hd_l2_below(s->l2);
    return s->env->nodes != NULL ? build_fabric(s) : 0;
}

/* Before the cores: what it changes at an instant, they find changed. */
static int build_manager(heddle_sim *s)
{
    struct hd_mover_wiring w = {.dram = s->dram,
                                .reqs = &s->reqs,
                                .client = HD_CLIENT_MOVER,
                                .line = s->m.l2cache.line};

    s->memory = hd_manage_open(s->env, &s->m.memory, &w);
    if (s->memory == NULL)
        return no_memory(s);
    s->client[HD_CLIENT_MOVER] = hd_mover_client(hd_manage_mover(s->memory));
    s->gpu.manager = s->memory;
    s->gpu.barrier = hd_manage_barrier(s->memory);
    return 0;
}

/* The link and the far-fault unit, as far as pages come over it. */
static int build_paging(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    struct hd_manager manager = hd_manage_paging_calls(s->memory);
    struct hd_fault_wiring w = {.cfg = &m->fault,
                                .driver = &m->uvm,
                                .tables = s->tables,
                                .treqs = &s->treqs,
                                .room = most_faults(m),
                                .cores = s->fclient,
                                .replay_client = HD_MAX_CORES,
                                .core_count = m->core.count,
                                .manager = manager};
    struct hd_remote_wiring r = {.cfg = &m->remote,
                                 .counters = &m->uvm.counters,
                                 .tables = s->tables,
                                 .reqs = &s->reqs,
                                 .clients = s->client,
                                 .manager = manager};
    bool driver = m->uvm.mode == HD_DRIVER_DRIVER;
    bool thrashes =
        driver && m->uvm.thrashing && m->fault.thrashing == HD_THRASH_NONE;
    struct hd_thrash_wiring t = {.cfg = &m->uvm.thrash,
                                 .how = thrashes ? HD_THRASH_DRIVER
                                                 : m->fault.thrashing,
                                 .refaults = m->fault.refaults,
                                 .refault_ns = m->fault.refault_lapse,
                                 .tables = s->tables,
                                 .manager = manager};
    struct hd_evict_wiring e = {.cfg = &m->evict,
                                .tables = s->tables,
                                .pins = w.room,
                                .manager = manager};

    if (m->vm.paging == HD_PAGING_NONE)
        return 0;
    s->link =
        hd_link_open(s->env, &m->link, w.room + HD_FAULT_PREFETCHES + s->apps);
    s->gpu.link = w.link = s->link;
    if (s->link == NULL)
        return no_memory(s);
    if (m->vm.paging == HD_PAGING_LAUNCH)
        return 0;
    r.link = e.link = s->link;
    if (!driver)
        r.manager.notified = NULL;
    if (t.how != HD_THRASH_NONE &&
        (s->thrash = hd_thrash_open(s->env, &t)) == NULL)
        return no_memory(s);
    r.thrash = e.thrash = w.thrash = s->thrash;
    s->remote = e.remote = w.remote = hd_remote_open(s->env, &r);
    if (s->remote == NULL)
        return no_memory(s);
    hd_l2_host(s->l2, hd_remote_below(s->remote), HD_HOST_FRAME * HD_PAGE_BYTES,
               m->remote.cache);
    s->evict = w.evict = hd_evict_open(s->env, &e);
    if (s->evict == NULL)
        return no_memory(s);
    s->gpu.dirty = hd_ptables_dirty(s->tables);
    hd_manage_evicting(s->memory, s->evict, s->remote, s->thrash);
    s->faults = hd_faults_open(s->env, &w);
    s->gpu.faults = s->faults;
    s->gpu.joins = driver && !m->uvm.utlb_merge;
    if (s->faults == NULL)
        return no_memory(s);
    s->gpu.arrival = hd_faults_next(s->faults);
    hd_manage_faulting(s->memory, s->faults);
    return 0;
}

static int build_home(heddle_sim *s)
{
    struct hd_home_wiring w = {.cfg = &s->m.fabric,
                               .fabric = s->fabric,
                               .tables = s->tables,
                               .manager = s->memory,
                               .cores = s->m.core.count};

    s->gpu.home = s->home = hd_home_open(s->env, &w);
    return s->home == NULL ? no_memory(s) : 0;
}

static int build_translation(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    struct hd_mmu_wiring w = {0};
    struct hd_vm_cfg vm = m->vm;

    vm.names = frame_names(m);
    vm.scan |= m->l2tlb.sub_ways != 0;
    vm.touch = s->fabric != NULL && m->fabric.placement == HD_HOME_TOUCH;
    vm.chunks = m->vm.paging == HD_PAGING_FAULT &&
                m->uvm.mode == HD_DRIVER_DRIVER && m->uvm.chunks &&
                m->evict.unit == HD_EVICT_2M && !m->compress.enable;
    s->tables = hd_ptables_open(s->env, &vm);
    if (s->tables == NULL)
        return no_memory(s);
    if (s->compress != NULL)
        hd_ptables_compress(s->tables, s->compress);
    if (s->fabric != NULL && build_home(s) != 0)
        return s->err.code;
    if (build_paging(s) != 0)
        return s->err.code;
    w.l2tlb = &m->l2tlb;
    w.walk = &m->walk;
    w.line = m->l2cache.line;
    w.pwc = &m->pwc;
    w.msc = &m->msc;
    w.bypass = &m->bypass;
    w.prefetch = &m->prefetch;
    w.fill = &m->fill;
    w.walktable = &m->walktable;
    w.groups = &m->groups;
    w.levels[0] = &m->utlb1;
    w.levels[1] = &m->utlb2;
    w.levels[2] = &m->utlb3;
    w.room[HEDDLE_TRANSLATE_TO_L1TLB] = m->l1tlb.mode.kind == HD_FULL;
    w.room[HEDDLE_TRANSLATE_TO_L1SIDE] =
        m->l1tlb.mode.kind == HD_FULL && m->l1side.entries != 0;
    w.cores = m->core.count;
    w.requests = m->core.count * m->l1tlb.mshrs + most_faults(m);
    w.tables = s->tables;
    w.faults = s->faults;
    w.evict = s->evict;
    w.treqs = &s->treqs;
    w.reqs = &s->reqs;
    w.memory = s->below;
    w.nodes = m->fabric.nodes;
    w.home = s->home;
    if (m->walk.port != 0)
        w.memory =
            (struct hd_below){hd_core_walk_read, &s->gpu, hd_core_walk_warm};
    w.memory_back = hd_l2_walk_back(s->l2);
    w.memory_client = HD_CLIENT_WALK;
    w.clients = s->tclient;
    w.merge = &s->gpu.core[0].l1tlb.merge;
    s->mmu = hd_mmu_open(s->env, &w);
    return s->mmu == NULL ? no_memory(s) : 0;
}

static int build_cores(heddle_sim *s)
{
    const struct hd_machine *m = &s->m;
    struct hd_gpu *g = &s->gpu;

    g->env = s->env;
    g->m = m;
    g->cores = m->core.count;
    g->reqs = &s->reqs;
    g->treqs = &s->treqs;
    for (uint32_t i = 0; i < s->apps; i++)
        g->source[i] = s->source[i];
    return hd_gpu_open(g) != 0 ? no_memory(s) : 0;
}

/* Joins cores, memory and translation. */
static int wire(heddle_sim *s)
{
    struct hd_gpu *g = &s->gpu;
    struct hd_manage_cores cores = {.self = g,
                                    .invalidate = hd_gpu_shoot,
                                    .drop = hd_gpu_drop,
                                    .halt = hd_gpu_halt,
                                    .hinted = hd_dispatch_hinted};
    hd_time tlb_back = hd_ticks(&s->clk, HD_CLK_L2, s->m.walk.latency);

    g->tables = s->tables;
    g->changes = hd_ptables_changes(s->tables);
    g->memory = s->below;
    g->back = hd_l2_back(s->l2);
    g->tlb_back = tlb_back;
    g->ahead = hd_max_u64(hd_min_u64(g->back, tlb_back), 1);
    g->run_ahead = hd_min_u64(g->ahead, hd_peers_hop(g));
    for (uint32_t i = 0; i < g->cores; i++) {
        g->core[i].l1tlb.prefetched = g->core[i].side.prefetched =
            hd_mmu_prefetches(s->mmu);
        s->client[i] = hd_core_client(&g->core[i]);
        s->tclient[i] = hd_core_tclient(&g->core[i], HD_MSG_XLATE);
        s->tclient[HD_MAX_CORES + i] =
            hd_core_tclient(&g->core[i], HD_MSG_REPLAY);
        s->fclient[i] = hd_core_tclient(&g->core[i], HD_MSG_FAULT);
        hd_l1tlb_wire(&g->core[i], hd_mmu_below(s->mmu, i));
    }
    for (uint32_t i = HD_CLIENT_WALK; i < HD_CLIENT_FABRIC; i++)
        s->client[i] = hd_mmu_client(s->mmu);
    if (s->fabric != NULL)
        s->client[HD_CLIENT_FABRIC] = hd_fabric_client(s->fabric);
    s->client[HD_CLIENT_L2] = hd_l2_client(s->l2);
    cores.ahead = g->ahead;
    s->slots.setting = hd_machine_get;
    s->slots.machine = &s->m;
    g->dispatch = hd_dispatch_open(g);
    if (g->dispatch == NULL ||
        hd_manage_wire(s->memory, s->tables, s->mmu, s->l2, &cores) < 0)
        return no_memory(s);
    return 0;
}

static int bind_sources(heddle_sim *s)
{
    uint32_t slots = s->m.core.count * s->m.core.warps;

    for (uint32_t i = 0; i < s->apps && s->m.core.compact; i++)
        if (s->source[i]->ops->regroup == NULL)
            return hd_err_set(&s->err, HEDDLE_ECONFIG,
                              "core.compact: application %u (%s) is a trace or "
                              "a generator, whose threads cannot be regrouped; "
                              "a kernel program is expected",
                              i, s->source[i]->name);
    for (uint32_t i = 0; i < s->apps; i++) {
        struct hd_source *src = s->source[i];
        if (src->ops->bind(src->self, s->env, i, s->m.core.lanes, slots) < 0) {
            for (uint32_t k = 0; k < i; k++) /* they can be used elsewhere */
                s->source[k]->ops->unbind(s->source[k]->self);
            return hd_err_set(&s->err, HEDDLE_EINVAL,
                              "application %u (%s): it cannot be simulated "
                              "(is it in another simulation already?)",
                              i, src->name);
        }
    }
    return 0;
}

static int64_t even_split(void *self, const void *question)
{
    const struct heddle_q_core_partition *q = question;

    (void)self;
    return (int64_t)(q->core * q->apps / q->cores);
}

static int build(heddle_sim *s)
{
    if (build_base(s) != 0 || build_memory(s) != 0 || build_manager(s) != 0 ||
        build_cores(s) != 0 || build_translation(s) != 0 || wire(s) != 0 ||
        s->err.code != 0 /* of an offer */ || bind_sources(s) != 0)
        return s->err.code;
    if (hd_sample_open(s) != 0)
        return s->err.code;
    hd_sim_facts(s);
    hd_slots_offer(&s->slots, HEDDLE_POINT_core_partition, "", &s->partition,
                   even_split, s);
    s->built = s->arena.used;
    return s->err.code;
}

/* What is asked for can be built. */
static int check_new(heddle_config *c, heddle_workload *const *workloads,
                     uint32_t n)
{
    hd_err_clear(&c->err);
    if (n == 0 || n > HD_MAX_APPS)
        return hd_err_set(&c->err, HEDDLE_EINVAL,
                          "%u applications: 1 to %d are expected", n,
                          HD_MAX_APPS);
    for (uint32_t i = 0; i < n; i++)
        if (workloads == NULL || workloads[i] == NULL)
            return hd_err_set(&c->err, HEDDLE_EINVAL,
                              "application %u has no workload (NULL)", i);
    if (n > c->m.core.count)
        return hd_err_set(&c->err, HEDDLE_ECONFIG,
                          "core.count: %u cores cannot be shared by %u "
                          "applications",
                          c->m.core.count, n);
    return hd_machine_check(&c->m, &c->err);
}

heddle_sim *heddle_new(heddle_config *c, const struct heddle_alloc *alloc,
                       heddle_workload *const *workloads, uint32_t n,
                       struct heddle_error *error)
{
    static const struct heddle_alloc std = {default_alloc, NULL};
    heddle_sim *s;

    if (check_new(c, workloads, n) != 0) {
        hd_err_give(&c->err, error);
        return NULL;
    }
    if (alloc == NULL)
        alloc = &std;
    s = alloc->fn(alloc->ud, NULL, 0, sizeof *s);
    if (s == NULL) {
        hd_err_memory(&c->err);
        hd_err_give(&c->err, error);
        return NULL;
    }
    memset(s, 0, sizeof *s);
    s->alloc = *alloc;
    s->m = c->m;
    s->apps = n;
    for (uint32_t i = 0; i < n; i++) {
        s->source[i] = hd_workload_source(workloads[i]);
        s->source[i]->users++;
    }
    if (build(s) == 0) {
        hd_err_give(&c->err, error);
        return s;
    }
    c->err = s->err;
    hd_err_give(&c->err, error);
    heddle_free(s);
    return NULL;
}

void heddle_free(heddle_sim *s)
{
    struct heddle_alloc alloc;

    if (s == NULL)
        return;
    for (uint32_t i = 0; i < s->apps; i++)
        if (s->source[i] != NULL && s->partition.fn != NULL)
            s->source[i]->ops->unbind(s->source[i]->self);
    hd_slots_close(&s->slots);
    hd_env_free(&s->env_);
    hd_arena_close(&s->arena);
    for (uint32_t i = 0; i < s->apps; i++)
        heddle_workload_free(hd_workload(s->source[i]));
    alloc = s->alloc;
    alloc.fn(alloc.ud, s, sizeof *s, 0);
}

/*
 * vmenv.h - an mmu with fake cores and a fake memory of fixed latency.
 *
 * Requests are posted before the run, so that all that happens comes out of
 * the arena and a restored one goes on alike.  A core cycle is one tick, an
 * L2 cycle two; with v->mhz, all clocks are that fast and a cycle is a tick.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef T_VMENV_H
#define T_VMENV_H

#include "vmslots.h"

#include <stdlib.h>

#include "translation/unit.h"

enum { VM_CORES = 4, VM_LOG = 1 << 16, VM_MEMORY_CLIENT = 9 };

struct vm_answer {
    uint64_t vpn, at, now;
    uint64_t pfn;
    uint32_t tag, app, hit, references;
    uint64_t walk;
};

struct vm_read {
    uint64_t pa, at;
    uint32_t level, app, client;
};

struct vm {
    struct memenv m;
    struct hd_env *env;
    struct hd_vm_cfg vm_cfg;
    struct hd_tlb_cfg l2tlb;
    struct hd_walk_cfg walk;
    struct hd_pwc_cfg pwc;
    struct hd_bypass_cfg bypass;
    struct hd_msc_cfg msc;
    struct hd_prefetch_cfg prefetch;
    struct hd_level_cfg level[HD_LEVELS]; /* no entries: no such level */
    struct hd_link_cfg link_cfg; /* with vm_cfg.paging = HD_PAGING_FAULT: */
    struct hd_fault_cfg fault_cfg;
    struct hd_driver_cfg driver_cfg;
    struct hd_link *link;
    struct hd_faults *faults;
    uint32_t told; /* requests said to wait for a fault */
    uint64_t mhz;
    struct hd_ptables *pt;
    struct hd_treqs treqs;
    struct hd_reqs reqs;
    struct hd_mmu *mmu;
    struct hd_tclient client[2 * VM_CORES], told_of[VM_CORES];
    struct vmslots policies;
    uint32_t driver, memory, core, sent;
    uint64_t memory_latency, memory_back;
    struct vm_answer answer[VM_LOG];
    uint32_t answers;
    struct vm_read read[VM_LOG];
    uint32_t reads;
};

/* A request, in the two words of an event. */
static void vm_driver(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b)
{
    struct vm *v = self;
    uint32_t t = hd_treq_take(&v->treqs), core = what >> 16;
    struct hd_tbelow below = hd_mmu_below(v->mmu, core);

    v->treqs.v[t] = (struct hd_treq){.vpn = {b & 0xffffffffff},
                                     .born = now,
                                     .tag = a,
                                     .client = (uint16_t)core,
                                     .core = (uint16_t)core,
                                     .warp = what & 0xffff,
                                     .app = (uint8_t)(b >> 56)};
    below.send(below.self, now, t);
}

static void notify(struct vm *v, uint32_t treq)
{
    struct hd_tbelow below = hd_mmu_below(v->mmu, v->treqs.v[treq].core);

    below.notified(below.self, treq);
}

static void vm_reply(void *self, hd_time at, uint32_t treq)
{
    struct vm *v = self;
    const struct hd_treq *q = &v->treqs.v[treq];

    assert_true(v->answers < VM_LOG && at >= hd_events_now(&v->m.ev));
    v->answer[v->answers++] =
        (struct vm_answer){q->vpn.v,
                           at,
                           hd_events_now(&v->m.ev),
                           hd_xlate_frame(&q->x, q->vpn).v,
                           q->tag,
                           q->app,
                           q->hit,
                           q->references,
                           q->walk};
    notify(v, treq);
    hd_treq_give(&v->treqs, treq);
}

static void vm_faulted(void *self, hd_time at, uint32_t treq)
{
    struct vm *v = self;

    assert_true(at >= hd_events_now(&v->m.ev));
    hd_post(&v->m.ev, v->core, v->core, at, 0, treq, 0);
    v->told++;
}

/* A core hears that its request waits for a fault. */
static void vm_core(void *self, hd_time now, uint32_t what, uint32_t a,
                    uint64_t b)
{
    (void)now, (void)what, (void)b;
    notify(self, a);
}

static void vm_memory_send(void *self, hd_time now, uint32_t req)
{
    struct vm *v = self;
    const struct hd_req *q = &v->reqs.v[req];

    assert_int_equal(q->kind, HD_REQ_WALK);
    assert_int_equal(q->bytes, v->vm_cfg.format != 0 && q->level == 3 ? 16 : 8);
    assert_in_range(q->client, VM_MEMORY_CLIENT, VM_MEMORY_CLIENT + 1);
    if (v->reads < VM_LOG)
        v->read[v->reads++] =
            (struct vm_read){q->pa.v, now, q->level, q->app, q->client};
    hd_post(&v->m.ev, v->memory, v->memory, now + v->memory_latency, 0, req, 0);
}

static void vm_memory(void *self, hd_time now, uint32_t what, uint32_t a,
                      uint64_t b)
{
    struct vm *v = self;
    struct hd_client c = hd_mmu_client(v->mmu);

    (void)what, (void)b;
    c.reply(c.self, now, a);
}

/* The settings of `maxwell`, for the test to change before vm_open. */
static struct vm *vm_new(void)
{
    struct vm *v = calloc(1, sizeof *v);

    v->vm_cfg = (struct hd_vm_cfg){64u << 20, 0, 256, 0, 0, 0, 0, 0, 0, 0, 0};
    v->l2tlb = (struct hd_tlb_cfg){.mode = {HD_FULL, 0},
                                   .entries = 512,
                                   .ways = 16,
                                   .ports = 2,
                                   .latency = 10,
                                   .mshrs = 64,
                                   .serial = 1};
    v->walk = (struct hd_walk_cfg){
        .mode = {HD_FULL, 0}, .walkers = 64, .queue = 64, .batch = 1,
        .latency = 5};
    v->pwc = (struct hd_pwc_cfg){.mode = {HD_OFF, 0},
                                 .entries = 1024,
                                 .ways = 16,
                                 .latency = 10,
                                 .ports = 4};
    v->prefetch = (struct hd_prefetch_cfg){1, 1};
    v->memory_latency = 100;
    v->memory_back = 7;
    v->link_cfg = (struct hd_link_cfg){54485, 7958387833, 0, HD_LINK_FLAT};
    v->fault_cfg = (struct hd_fault_cfg){.batch = 1};
    v->driver_cfg = (struct hd_driver_cfg){.threshold = 51};
    return v;
}

static void vm_open_faults(struct vm *v)
{
    struct hd_fault_wiring f = {.cfg = &v->fault_cfg,
                                .driver = &v->driver_cfg,
                                .tables = v->pt,
                                .treqs = &v->treqs,
                                .room = 8192,
                                .cores = v->told_of,
                                .replay_client = VM_CORES};

    v->link = f.link = hd_link_open(v->env, &v->link_cfg, 16384);
    for (uint32_t i = 0; i < VM_CORES; i++)
        v->told_of[i] = (struct hd_tclient){vm_faulted, v, NULL};
    v->faults = hd_faults_open(v->env, &f);
}

static void vm_open(struct vm *v, uint32_t apps)
{
    struct hd_mmu_wiring w = {.l2tlb = &v->l2tlb,
                              .walk = &v->walk,
                              .pwc = &v->pwc,
                              .bypass = &v->bypass,
                              .msc = &v->msc,
                              .prefetch = &v->prefetch,
                              .levels = {&v->level[0], &v->level[1],
                                         &v->level[2]},
                              .cores = VM_CORES,
                              .line = 128,
                              .treqs = &v->treqs,
                              .reqs = &v->reqs,
                              .memory = {vm_memory_send, v},
                              .memory_back = v->memory_back,
                              .memory_client = VM_MEMORY_CLIENT,
                              .clients = v->client};

    v->env = memenv_open(&v->m, apps);
    v->env->check = true;
    if (v->mhz != 0) {
        for (int d = 0; d < HD_CLK_COUNT; d++)
            v->m.clk.hz[d] = v->mhz * 1000000;
        assert_int_equal(hd_clocks_init(&v->m.clk, &v->m.err), 0);
    }
    vmslots_open(&v->policies, v->env, VM_CORES);
    v->driver = hd_events_component(&v->m.ev, "driver", vm_driver, v);
    v->memory = hd_events_component(&v->m.ev, "memory", vm_memory, v);
    v->core = hd_events_component(&v->m.ev, "core", vm_core, v);
    for (uint32_t i = 0; i < 2 * VM_CORES; i++)
        v->client[i] = (struct hd_tclient){vm_reply, v, NULL};
    v->pt = hd_ptables_open(v->env, &v->vm_cfg);
    assert_int_equal(hd_treqs_open(&v->treqs, &v->m.arena, 32768), 0);
    assert_int_equal(hd_reqs_open(&v->reqs, &v->m.arena, 8192), 0);
    w.tables = v->pt;
    if (v->vm_cfg.paging == HD_PAGING_FAULT)
        vm_open_faults(v);
    w.faults = v->faults;
    v->mmu = hd_mmu_open(v->env, &w);
}

static void vm_close(struct vm *v)
{
    vmslots_close(&v->policies);
    memenv_close(&v->m);
    free(v);
}

static inline void vm_map(struct vm *v, uint32_t app, uint64_t vpn, uint64_t pages)
{
    assert_int_equal(
        (v->faults != NULL ? hd_ptables_reserve : hd_ptables_map)(
            v->pt, app, 0, (hd_va){vpn << 12}, pages << 12, &v->m.err),
        0);
}

/* Posts a request of a warp of a core; its tag is its number. */
static void vm_ask(struct vm *v, uint64_t at, uint32_t core, uint32_t warp,
                   uint32_t app, uint64_t vpn)
{
    hd_post(&v->m.ev, v->driver, v->driver, at, core << 16 | warp, v->sent++,
            vpn | (uint64_t)app << 56);
}

static void vm_run(struct vm *v, uint64_t until)
{
    hd_events_run(&v->m.ev, until, &v->m.err.code);
    assert_string_equal(v->m.err.text, "");
}

/* Every answer is what the page table says. */
static inline void vm_true(struct vm *v)
{
    for (uint32_t i = 0; i < v->answers; i++) {
        const struct vm_answer *a = &v->answer[i];
        struct hd_xlate x;

        assert_true(hd_ptables_find(v->pt, a->app, (hd_vpn){a->vpn}, &x));
        assert_int_equal(hd_xlate_frame(&x, (hd_vpn){a->vpn}).v, a->pfn);
    }
}

/* Runs to the end and verifies the parts. */
static void vm_finish(struct vm *v)
{
    vm_run(v, HD_NEVER);
    assert_string_equal(memenv_check(&v->m, NULL), "");
    assert_int_equal(v->answers, v->sent);
    assert_int_equal(hd_numbers_live(&v->treqs.numbers), 0);
    assert_int_equal(hd_numbers_live(&v->reqs.numbers), 0);
}

static inline const struct vm_answer *vm_answer(const struct vm *v,
                                                uint32_t tag)
{
    for (uint32_t i = 0; i < v->answers; i++)
        if (v->answer[i].tag == tag)
            return &v->answer[i];
    return NULL;
}

/* The answer of request `tag` leaves at `at`, not a tick sooner.  It may be
 * announced earlier, with that instant. */
static inline void vm_due(struct vm *v, uint32_t tag, uint64_t at)
{
    const struct vm_answer *x;

    vm_run(v, at - 1);
    x = vm_answer(v, tag);
    assert_true(x == NULL || x->at >= at);
    vm_run(v, at);
    x = vm_answer(v, tag);
    if (x == NULL)
        fail_msg("request %u is not answered at %lu", tag, (unsigned long)at);
    assert_int_equal(x->at, at);
}

static inline int vm_by_tag(const void *a, const void *b)
{
    const struct vm_answer *x = a, *y = b;

    return x->tag < y->tag ? -1 : x->tag > y->tag;
}

/* Straight through = stopped at `cut`, copied, run on, put back, run on again:
 * the same answers.  Returns how many reads came after the cut. */
static inline uint32_t vm_replay(struct vm *v, uint64_t cut)
{
    size_t n = v->sent, used;
    struct vm_answer *first = calloc(n, sizeof *first);
    uint32_t answers, reads, after;
    void *copy;

    vm_run(v, cut);
    used = v->m.arena.used;
    copy = malloc(used);
    memcpy(copy, v->m.arena.base, used);
    answers = v->answers;
    reads = v->reads;
    vm_finish(v);
    after = v->reads - reads;
    memcpy(first, v->answer, n * sizeof *first);
    memcpy(v->m.arena.base, copy, used);
    memset((char *)v->m.arena.base + used, 0, v->m.arena.used - used);
    v->m.arena.used = used;
    hd_events_restored(&v->m.ev);
    v->answers = answers;
    v->reads = reads;
    vm_finish(v);
    assert_int_equal(v->reads - reads, after);
    qsort(first, n, sizeof *first, vm_by_tag);
    qsort(v->answer, n, sizeof *first, vm_by_tag);
    assert_memory_equal(first, v->answer, n * sizeof *first);
    free(copy);
    free(first);
    return after;
}

static inline uint64_t vm_count(struct vm *v, uint32_t app, uint32_t c)
{
    return *hd_count(&v->mmu->unit[0].stat, 0, app, c);
}

static inline uint64_t vm_walks(struct vm *v, uint32_t app, uint32_t c)
{
    return *hd_count(&v->mmu->unit[0].walk_stat, 0, app, c);
}

#endif

/*
 * vm.c - what translation costs: look-ups in a TLB and in the page tables,
 * and requests through an mmu over a memory of fixed latency, by events.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "clock.h"
#include "kit/rng.h"
#include "translation/unit.h"

enum { CORES = 30, EACH = 4, PAGES = 700000, DRAWS = 65536 };

struct rig {
    struct hd_arena arena;
    struct hd_stats stats;
    struct hd_events ev;
    struct hd_clocks clk;
    struct heddle_error err;
    struct hd_env env;
    struct hd_ptables *pt;
    struct hd_treqs treqs;
    struct hd_reqs reqs;
    struct hd_mmu *mmu;
    struct hd_tclient client[CORES];
    struct hd_rng rng;
    uint32_t memory, driver, span;
    uint64_t answered;
};

static void open_rig(struct rig *r)
{
    static const struct hd_vm_cfg vm = {.memory_bytes = 3ull << 30,
                                        .table_frames = 4096};
    double t;

    *r = (struct rig){.span = PAGES, .rng = hd_rng_make(1, 1)};
    for (int d = 0; d < HD_CLK_COUNT; d++)
        r->clk.hz[d] = d == HD_CLK_DRAM ? 1674000000 : 1020000000;
    if (hd_clocks_init(&r->clk, &r->err) < 0 ||
        hd_arena_open(&r->arena, 1ull << 30) < 0 ||
        hd_events_open(&r->ev, &r->arena, r->clk.ticks[HD_CLK_CORE]) < 0)
        return;
    hd_stats_open(&r->stats, &r->arena, 1);
    r->env = (struct hd_env){.arena = &r->arena,
                             .ev = &r->ev,
                             .stats = &r->stats,
                             .clk = &r->clk,
                             .err = &r->err,
                             .apps = 1};
    r->pt = hd_ptables_open(&r->env, &vm);
    t = cpu_ns();
    hd_ptables_map(r->pt, 0, 0, (hd_va){1ull << 40}, (uint64_t)PAGES << 12,
                   &r->err);
    printf("map: %.1f ns a page; arena %.1f MB\n", (cpu_ns() - t) / PAGES,
           (double)r->arena.used / 1e6);
}

/* ---- structures alone ------------------------------------------------- */

static void tables(struct rig *r)
{
    struct hd_xlate x = {{0}, {0}, 0, 0};
    uint32_t n = 10000000;
    uint64_t sum = 0;
    double t;

    for (uint32_t span = 2000; span <= PAGES;
         span = span == 2000 ? PAGES : PAGES + 1) {
        t = cpu_ns();
        for (uint32_t i = 0; i < n; i++) {
            hd_vpn v = {(1ull << 28) + hd_mix64(i & (DRAWS - 1)) % span};
            sum += hd_ptables_find(r->pt, 0, v, &x) + x.pfn.v;
        }
        printf("hd_ptables_find over %u pages: %.1f ns (%u)\n", span,
               (cpu_ns() - t) / n, (unsigned)(sum & 1));
    }
}

static void tlb(struct rig *r, uint32_t entries, uint32_t ways, uint32_t span)
{
    struct hd_tlb_cfg cfg = {.entries = entries, .ways = ways};
    struct hd_xlate x;
    struct hd_tlb t;
    uint32_t draw[4096], n = 10000000;
    uint64_t hits = 0;
    double from;

    if (hd_tlb_open(&t, &r->env, &cfg, "l1tlb", 1, 0) < 0)
        return;
    for (uint32_t i = 0; i < 4096; i++)
        draw[i] = (uint32_t)(hd_mix64(i) % span);
    from = cpu_ns();
    for (uint32_t i = 0; i < n; i++) {
        hd_vpn v = {draw[i % 4096]};
        if (hd_tlb_lookup(&t, 0, v, 0, 0, &x, NULL)) {
            hits++;
            continue;
        }
        x = (struct hd_xlate){v, {v.v}, 1, 1};
        hd_tlb_fill(&t, 0, 0, 0, v, &x, 0);
    }
    printf("tlb of %u entries: %.1f ns a look-up, %.0f %% hits\n", entries,
           (cpu_ns() - from) / n, 100.0 * (double)hits / n);
}

/* ---- the mmu ---------------------------------------------------------- */

static void drive(void *self, hd_time at, uint32_t what, uint32_t core,
                  uint64_t b)
{
    struct rig *r = self;
    uint32_t t = hd_treq_take(&r->treqs);
    struct hd_tbelow below = hd_mmu_below(r->mmu, core);

    (void)what, (void)b;
    r->treqs.v[t] =
        (struct hd_treq){.vpn = {(1ull << 28) + hd_rng_below(&r->rng, r->span)},
                         .born = at,
                         .client = (uint16_t)core,
                         .core = (uint16_t)core};
    below.send(below.self, at, t);
}

static void reply(void *self, hd_time at, uint32_t treq)
{
    struct rig *r = self;

    r->answered++;
    hd_post(&r->ev, r->driver, r->driver, at + 100, 0, r->treqs.v[treq].core,
            0);
    hd_treq_give(&r->treqs, treq);
}

static void memory_send(void *self, hd_time at, uint32_t req)
{
    struct rig *r = self;

    hd_post(&r->ev, r->memory, r->memory,
            at + hd_ticks(&r->clk, HD_CLK_L2, 300), 0, req, 0);
}

static void memory(void *self, hd_time at, uint32_t what, uint32_t req,
                   uint64_t b)
{
    struct hd_client c = hd_mmu_client(((struct rig *)self)->mmu);

    (void)what, (void)b;
    c.reply(c.self, at, req);
}

static void report(const struct rig *r, const char *name, double t,
                   uint64_t events)
{
    double n = (double)r->answered;
    uint64_t references =
        *hd_count(&r->mmu->unit[0].walk_stat, 0, 0, HD_WALK_REFERENCES);

    printf("%s: %.0f ns a request, %.2f events, %.2f references; %.1f ns an "
           "event\n",
           name, t / n, (double)events / n, (double)references / n,
           t / (double)events);
}

static void walks(const char *name, uint32_t pwc, uint32_t style, uint32_t span)
{
    static struct rig rig;
    struct rig *r = &rig;
    struct hd_tlb_cfg tlb_cfg = {.mode = {HD_FULL, 0},
                                 .entries = 512,
                                 .ways = 16,
                                 .ports = 2,
                                 .latency = 10,
                                 .mshrs = 256};
    struct hd_walk_cfg walk_cfg = {
        .mode = {HD_FULL, 0}, .walkers = 64, .queue = 256, .latency = 10};
    struct hd_pwc_cfg pwc_cfg = {.mode = {pwc, 0},
                                 .style = style,
                                 .entries = 1024,
                                 .ways = 16,
                                 .latency = 10,
                                 .ports = 4};
    struct hd_bypass_cfg bypass_cfg = {0};
    int stop = 0;
    uint64_t events;
    double t;

    open_rig(r);
    r->span = span;
    if (hd_treqs_open(&r->treqs, &r->arena, 4096) < 0 ||
        hd_reqs_open(&r->reqs, &r->arena, 4096) < 0)
        return;
    r->memory = hd_events_component(&r->ev, "memory", memory, r);
    r->driver = hd_events_component(&r->ev, "driver", drive, r);
    for (int i = 0; i < CORES; i++)
        r->client[i] = (struct hd_tclient){reply, r};
    r->mmu =
        hd_mmu_open(&r->env, &(struct hd_mmu_wiring){.l2tlb = &tlb_cfg,
                                                     .walk = &walk_cfg,
                                                     .pwc = &pwc_cfg,
                                                     .bypass = &bypass_cfg,
                                                     .cores = CORES,
                                                     .tables = r->pt,
                                                     .treqs = &r->treqs,
                                                     .reqs = &r->reqs,
                                                     .memory = {memory_send, r},
                                                     .clients = r->client});
    if (r->mmu == NULL)
        return;
    for (uint32_t i = 0; i < CORES * EACH; i++)
        hd_post(&r->ev, r->driver, r->driver, i * 50, 0, i % CORES, 0);
    t = cpu_ns();
    events =
        hd_events_run(&r->ev, hd_ticks(&r->clk, HD_CLK_L2, 5000000), &stop);
    report(r, name, cpu_ns() - t, events);
    hd_env_free(&r->env);
    hd_arena_close(&r->arena);
}

int main(void)
{
    static struct rig r;

    open_rig(&r);
    tables(&r);
    tlb(&r, 64, 0, 64);
    tlb(&r, 512, 16, 512);
    tlb(&r, 512, 16, 1 << 20);
    hd_env_free(&r.env);
    hd_arena_close(&r.arena);
    walks("l2 tlb hits", HD_OFF, 0, 300);
    walks("walks of four reads", HD_OFF, 0, PAGES);
    walks("with a physical walk cache", HD_FULL, 0, PAGES);
    walks("with a prefix walk cache", HD_FULL, 1, PAGES);
    return 0;
}

/*
 * Pinned: under random load, with everything short (ports, MSHRs, queue,
 * walkers, entries) and in many shapes of machine, every request is answered
 * once, with the page table's frame for its own application; the counters of
 * requests, hits, misses and references add up, and the stages of requests
 * sum to their time.  A run that goes on from a restored copy of the arena
 * answers the same, request by request, as the run straight through; and so
 * does one in which reads are not always sent ahead.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

enum { REQUESTS = 6000, BASE = 0x1000, PAGES = 700, WAY = 10 };

/* A machine drawn from the stream. */
static struct vm *draw(struct hd_rng *r)
{
    static const uint32_t kinds[3] = {HD_FULL, HD_FULL, HD_OFF};
    struct vm *v = vm_new();

    v->vm_cfg.page = hd_rng_below(r, 3);
    v->l2tlb.mode.kind = kinds[hd_rng_below(r, 3)];
    v->l2tlb.entries = 1u << (3 + hd_rng_below(r, 6));
    v->l2tlb.ways = hd_rng_below(r, 2) * 8;
    v->l2tlb.large_entries = hd_rng_below(r, 2) * 4;
    v->l2tlb.ports = 1 + hd_rng_below(r, 3);
    v->l2tlb.mshrs = 1 + hd_rng_below(r, 20);
    v->l2tlb.serial = hd_rng_below(r, 2);
    v->l2tlb.latency = hd_rng_below(r, 12);
    v->walk.walkers = 1 + hd_rng_below(r, 12);
    v->walk.queue = hd_rng_below(r, 12);
    v->walk.per_core = hd_rng_below(r, 4) == 0;
    v->pwc.mode.kind = hd_rng_below(r, 2) ? HD_FULL : HD_OFF;
    v->pwc.style = hd_rng_below(r, 2);
    v->pwc.entries = 16;
    v->pwc.ways = hd_rng_below(r, 2) * 4;
    v->pwc.latency = hd_rng_below(r, 8);
    if (v->l2tlb.mode.kind == HD_FULL)
        v->bypass.entries = hd_rng_below(r, 2) * 4;
    v->memory_latency = hd_rng_below(r, 60);
    v->memory_back = hd_rng_below(r, 9);
    v->walk.batch = hd_rng_below(r, 3) ? 1 : 2 + hd_rng_below(r, 31);
    return v;
}

static void load(struct vm *v, struct hd_rng *r)
{
    uint64_t at = 0;

    vm_open(v, 3);
    for (uint32_t app = 0; app < 3; app++)
        vm_map(v, app, BASE, PAGES);
    for (uint32_t core = 0; core < VM_CORES; core++)
        heddle_steer(vmslots_sim(&v->policies), "tlb_fill", 1, core, 3);
    for (uint32_t i = 0; i < REQUESTS; i++) {
        uint32_t span = hd_rng_below(r, 2) ? 20 : PAGES;
        at += hd_rng_below(r, 4) == 0 ? hd_rng_below(r, 100) : 0;
        vm_ask(v, at, hd_rng_below(r, VM_CORES), hd_rng_below(r, 6),
               hd_rng_below(r, 3), BASE + hd_rng_below(r, span));
    }
}

static uint64_t sum(struct vm *v, const struct hd_stat *s, uint32_t c)
{
    uint64_t n = 0;

    for (uint32_t i = 0; i < v->mmu->units; i++)
        for (uint32_t app = 0; app < s->apps; app++)
            n += *hd_count(s, i, app, c);
    return n;
}

static void compare_counters(struct vm *v)
{
    const struct hd_stat *s = &v->mmu->unit[0].stat;
    const struct hd_stat *w = &v->mmu->unit[0].walk_stat;
    uint64_t stages = 0, levels = 0, time = 0;

    for (uint32_t c = HD_MMU_INPUT_CYCLES; c <= HD_MMU_WALK_CYCLES; c++)
        stages += sum(v, s, c);
    for (uint32_t app = 0; app < 3; app++)
        time += v->mmu->latency[app].sum;
    for (uint32_t l = 0; l < 4; l++)
        levels += sum(v, w, HD_WALK_LEVEL + l);
    assert_int_equal(stages, time); /* a core cycle is one tick */
    assert_int_equal(levels, sum(v, w, HD_WALK_REFERENCES));
    assert_int_equal(levels, v->reads);
    assert_int_equal(sum(v, s, HD_MMU_REQUESTS), REQUESTS);
    assert_int_equal(sum(v, w, HD_WALK_REQUESTERS),
                     sum(v, w, HD_WALK_WALKS) + sum(v, s, HD_MMU_MERGES));
    if (v->l2tlb.mode.kind == HD_FULL) {
        assert_true(sum(v, s, HD_MMU_MISSES) + sum(v, s, HD_MMU_HITS) ==
                    REQUESTS);
        assert_int_equal(sum(v, w, HD_WALK_WALKS),
                         sum(v, s, HD_MMU_FILLS) +
                             sum(v, s, HD_MMU_BYPASS_FILLS) +
                             sum(v, s, HD_MMU_UNFILLED));
    }
}

static void soak(void **state)
{
    struct hd_rng r = hd_rng_make(11, 1);
    uint32_t hit[4] = {0}, blocked = 0;

    (void)state;
    for (uint32_t round = 0; round < 60; round++) {
        struct vm *v = draw(&r);

        load(v, &r);
        for (uint64_t t = 1000; t < 20000; t += 1000) {
            vm_run(v, t); /* the parts agree with themselves at any time */
            assert_string_equal(memenv_check(&v->m, NULL), "");
        }
        vm_finish(v);
        vm_true(v);
        for (uint32_t i = 0; i < v->answers; i++)
            hit[v->answer[i].hit]++;
        compare_counters(v);
        blocked += v->mmu->units == 1 &&
                   vm_count(v, HD_APP_NONE, HD_MMU_INPUT_PEAK) > 5;
        vm_close(v);
    }
    /* every way to be answered has been taken, and inputs were blocked */
    for (uint32_t i = 0; i < 4; i++)
        assert_true(hit[i] > 100);
    assert_true(blocked > 10);
}

/* The k-th of several machines whose reads can be sent ahead.  0 < step: none
 * is beyond the next step, and then it is. */
static struct vm *run_ahead(uint32_t k, hd_time step)
{
    struct hd_rng r = hd_rng_make(13, k);
    struct vm *v = draw(&r);

    v->vm_cfg.page = k % 4 == 3 ? 1 : 0;
    v->pwc.mode.kind = HD_OFF;
    load(v, &r);
    for (hd_time t = v->mmu->never = step; step != 0 && t < 20000; t += step) {
        v->mmu->until = &v->mmu->never;
        vm_run(v, t - 1);
        v->mmu->never = t + step;
    }
    v->mmu->never = HD_NEVER;
    vm_finish(v);
    compare_counters(v);
    return v;
}

static uint64_t addresses(const struct vm *v)
{
    uint64_t sum = 0;

    for (uint32_t i = 0; i < v->reads; i++)
        sum += hd_mix64(v->read[i].pa + v->read[i].at);
    return sum;
}

/* Reads that are sent ahead leave when they would have left. */
static void ahead(void **state)
{
    (void)state;
    for (uint32_t k = 0; k < 40; k++) {
        struct vm *a = run_ahead(k, 0), *b = run_ahead(k, 10 + k * 3);

        assert_int_equal(a->answers, b->answers);
        assert_memory_equal(a->answer, b->answer,
                            a->answers * sizeof a->answer[0]);
        assert_true(addresses(a) == addresses(b));
        vm_close(a);
        vm_close(b);
    }
}

static void snapshot(void **state)
{
    struct hd_rng r = hd_rng_make(12, 2);

    (void)state;
    for (uint32_t round = 0; round < 20; round++) {
        struct vm *v = draw(&r);
        uint64_t cut = 100 + hd_rng_below(&r, 8000);

        load(v, &r);
        assert_true(vm_replay(v, cut) > 0);
        compare_counters(v);
        vm_close(v);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(soak),
        cmocka_unit_test(ahead),
        cmocka_unit_test(snapshot),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm mmu soak", tests, NULL, NULL);
}

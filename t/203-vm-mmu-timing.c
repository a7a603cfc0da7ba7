/*
 * Pinned: when a request for a translation is answered, tick by tick: hits,
 * misses, port conflicts, merged and full MSHRs, full walkers and a full walk
 * queue, the modes of every level, units of each core.  Each instant is
 * pinned from both sides: nothing at clk-1, the answer at clk.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "vmenv.h"
#include "texts.h"

enum {
    WAY = 10,   /* from the core: 5 L2 cycles */
    LOOK = 20,  /* the L2 TLB: 10 L2 cycles */
    READ = 107, /* memory and the way back */
    WALK = 4 * READ,
    A = 0x1000, /* pages, all mapped */
    B = 0x2000,
    C = 0x3000,
    D = 0x4000,
    SOON = 100000 /* the time of a warm-up */
};

static struct vm *start(struct vm *v)
{
    vm_open(v, 2);
    for (uint32_t app = 0; app < 2; app++)
        for (uint64_t p = A; p <= D; p += 0x1000)
            vm_map(v, app, p, 64);
    return v;
}

/* Brings a page into the L2 TLB long before SOON. */
static void warm(struct vm *v, uint64_t vpn)
{
    vm_ask(v, 0, 0, 0, 0, vpn);
    vm_run(v, SOON - 1);
}

static void miss_then_hit(void **state)
{
    struct vm *v = start(vm_new());

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_due(v, 0, WAY + LOOK + WALK);
    assert_int_equal(v->answer[0].hit, 3);
    assert_int_equal(v->answer[0].references, 4);
    assert_int_equal(v->answer[0].walk, WAY + LOOK);
    assert_int_equal(v->mmu->latency[0].max, LOOK + WALK);
    assert_int_equal(v->mmu->walk_latency[0].max, WALK);
    for (uint32_t l = 0; l < 4; l++) /* the fake memory says: L2 hits */
        assert_int_equal(vm_walks(v, 0, HD_WALK_L2 + l), 1);
    vm_ask(v, SOON, 0, 0, 0, A);
    vm_due(v, 1, SOON + WAY + LOOK);
    assert_int_equal(v->answer[1].hit, 0);
    /* the same address of another application is another page */
    vm_ask(v, 2 * SOON, 0, 0, 1, A);
    vm_due(v, 2, 2 * SOON + WAY + LOOK + WALK);
    assert_true(v->answer[0].pfn == v->answer[1].pfn);
    assert_true(v->answer[0].pfn != v->answer[2].pfn);
    vm_finish(v);
    vm_close(v);
}

/* What a visitor saw: rows, and the sum of the numbers called `field`. */
struct seen {
    const char *field;
    uint32_t rows;
    uint64_t sum;
    char last[96];
};

static void see_row(void *ud, const char *kind)
{
    (void)kind;
    ((struct seen *)ud)->rows++;
}

static void see_number(void *ud, const char *field, uint64_t value)
{
    struct seen *s = ud;

    if (strcmp(field, s->field) == 0)
        s->sum += value;
}

static void see_text(void *ud, const char *field, const char *value)
{
    struct seen *s = ud;

    (void)field;
    snprintf(s->last, sizeof s->last, "%s", value);
}

static struct seen see(struct vm *v, const char *name, const char *field,
                       bool stuck)
{
    struct seen s = {.field = field};
    struct heddle_visitor visitor = {see_row, see_number, see_text, &s};

    for (uint32_t i = 0; i < v->env->parts; i++) {
        struct hd_part *p = &v->env->part[i];
        if (strcmp(p->name, name) == 0)
            (stuck ? p->stuck : p->look)(p->self, 0, &visitor);
    }
    return s;
}

/* Entries, walks and the wait-for graph as people see them. */
static void looking(void **state)
{
    struct vm *v = vm_new();
    struct seen s;

    (void)state;
    v->walk.walkers = 1;
    v->walk.queue = 1;
    v->pwc.mode.kind = HD_FULL;
    v->pwc.style = 1;
    v->pwc.latency = 0;
    start(v);
    warm(v, A);
    s = see(v, "l2tlb", "vpn", false);
    assert_int_equal(s.rows, 1);
    assert_int_equal(s.sum, A);
    s = see(v, "pwc", "level", false);
    assert_int_equal(s.rows, 3);
    assert_int_equal(s.sum, 1 + 2 + 3);
    s = see(v, "pagetable", "pages", false);
    assert_int_equal(s.sum, 4 * 64);
    assert_int_equal(see(v, "walks", "vpn", false).rows, 0);
    assert_int_equal(see(v, "l2tlb", "", true).rows, 0);
    vm_ask(v, SOON, 0, 0, 0, B);
    vm_ask(v, SOON + 1, 0, 0, 0, C);
    vm_ask(v, SOON + 2, 0, 0, 0, D);
    vm_run(v, SOON + WAY + LOOK + 20);
    s = see(v, "walks", "vpn", false);
    assert_int_equal(s.rows, 2);
    assert_int_equal(s.sum, B + C);
    s = see(v, "l2tlb", "", true);
    assert_int_equal(s.rows, 1);
    assert_string_equal(s.last, "room in the walk queue");
    s = see(v, "walks", "", true);
    assert_int_equal(s.rows, 2); /* one that waits, one that reads */
    assert_string_equal(s.last, "a free walker");
    vm_finish(v);
    assert_int_equal(see(v, "l2tlb", "", true).rows, 0);
    assert_int_equal(see(v, "walks", "", true).rows, 0);
    assert_int_equal(see(v, "l2tlb", "", false).rows, 4);
    hd_mmu_shoot(v->mmu, 0, (hd_vpn){A}, 64, 0);
    assert_int_equal(see(v, "l2tlb", "", false).rows, 3);
    assert_int_equal(
        *hd_count(&v->mmu->unit[0].tlb.stat, 0, 0, HD_TLB_INVALIDATIONS), 1);
    vm_close(v);
}

/* Two ports: of five hits at one instant two begin in each cycle.  A later
 * one finds the ports that are left. */
static void ports(void **state)
{
    struct vm *v = start(vm_new());

    (void)state;
    warm(v, A);
    for (uint32_t i = 0; i < 5; i++)
        vm_ask(v, SOON, i % VM_CORES, 0, 0, A);
    vm_ask(v, SOON + 3, 0, 0, 0, A);
    vm_ask(v, SOON + 5, 0, 0, 0, A);
    vm_finish(v);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(v->answer[1 + i].at, SOON + WAY + LOOK);
    for (uint32_t i = 2; i < 4; i++)
        assert_int_equal(v->answer[1 + i].at, SOON + WAY + LOOK + 2);
    assert_int_equal(v->answer[5].at, SOON + WAY + LOOK + 4);
    assert_int_equal(v->answer[6].at, SOON + WAY + LOOK + 4);
    assert_int_equal(v->answer[7].at, SOON + WAY + LOOK + 6);
    assert_int_equal(vm_count(v, 0, HD_MMU_INPUT_CYCLES), 2 + 2 + 4 + 1 + 1);
    vm_close(v);
}

/* Requests of one instant are served in the order of cores. */
static void order_of_cores(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->l2tlb.ports = 1;
    start(v);
    warm(v, A);
    for (uint32_t i = 0; i < VM_CORES; i++)
        vm_ask(v, SOON, VM_CORES - 1 - i, 0, 0, A);
    vm_finish(v);
    for (uint32_t i = 0; i < VM_CORES; i++)
        assert_int_equal(vm_answer(v, VM_CORES - i)->at,
                         SOON + WAY + LOOK + 2 * i);
    vm_close(v);
}

/* Misses of one page make one walk and are answered together; one that is
 * still being looked up then is answered when its look-up ends. */
static void merged(void **state)
{
    struct vm *v = start(vm_new());
    uint64_t end = WAY + LOOK + WALK;

    (void)state;
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 50, 1, 3, 0, A);
    vm_ask(v, end - WAY - 3, 2, 0, 0, A);
    vm_due(v, 0, end);
    assert_int_equal(vm_answer(v, 1)->at, end);
    assert_int_equal(vm_answer(v, 1)->hit, 2);
    assert_int_equal(vm_answer(v, 2)->at, end - 3 + LOOK);
    vm_finish(v);
    assert_int_equal(v->reads, 4);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WALKS), 1);
    assert_int_equal(vm_walks(v, 0, HD_WALK_REQUESTERS), 3);
    assert_int_equal(v->mmu->walk_requesters[0].max, 3);
    assert_int_equal(v->mmu->walk_warps[0].max, 3);
    assert_int_equal(vm_walks(v, 0, HD_WALK_WARPS), 3);
    assert_int_equal(vm_count(v, 0, HD_MMU_MERGES), 2);
    vm_close(v);
}

/* Pages of 64 KB merge as pages. */
static void merged_medium(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->vm_cfg.page = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 10, 1, 0, 0, A + 15);
    vm_ask(v, 20, 1, 0, 0, A + 16);
    vm_due(v, 1, WAY + LOOK + WALK);
    vm_due(v, 2, 20 + WAY + LOOK + WALK);
    vm_finish(v);
    assert_int_equal(v->reads, 8);
    assert_int_equal(vm_answer(v, 1)->pfn, vm_answer(v, 0)->pfn + 15);
    vm_close(v);
}

/* One MSHR: the second miss waits at the head, and a hit behind it too. */
static void mshr_full(void **state)
{
    struct vm *v = vm_new();
    uint64_t first = SOON + WAY + LOOK + WALK;

    (void)state;
    v->l2tlb.mshrs = 1;
    start(v);
    warm(v, A);
    vm_ask(v, SOON, 0, 0, 0, B);
    vm_ask(v, SOON + 10, 1, 0, 0, C);
    vm_ask(v, SOON + 20, 2, 0, 0, A);
    vm_due(v, 1, first);
    vm_due(v, 3, first + LOOK);
    vm_due(v, 2, first + WALK);
    vm_finish(v);
    assert_int_equal(vm_count(v, 0, HD_MMU_MSHR_BLOCKS), 1);
    assert_int_equal(vm_count(v, 0, HD_MMU_QUEUE_BLOCKS), 0);
    /* request 2 was looked up at once, and then waited */
    assert_int_equal(vm_count(v, 0, HD_MMU_FULL_CYCLES),
                     first - (SOON + 10 + WAY + LOOK));
    assert_int_equal(vm_count(v, 0, HD_MMU_INPUT_CYCLES),
                     first - (SOON + 20 + WAY));
    assert_int_equal(vm_count(v, HD_APP_NONE, HD_MMU_INPUT_PEAK), 2);
    assert_int_equal(vm_count(v, HD_APP_NONE, HD_MMU_MSHR_PEAK), 1);
    vm_close(v);
}

/* One walker: the second walk waits in the queue; a hit passes it. */
static void walker_full(void **state)
{
    struct vm *v = vm_new();
    uint64_t first = SOON + WAY + LOOK + WALK;

    (void)state;
    v->walk.walkers = 1;
    start(v);
    warm(v, A);
    vm_ask(v, SOON, 0, 0, 0, B);
    vm_ask(v, SOON + 10, 1, 0, 0, C);
    vm_ask(v, SOON + 20, 2, 0, 0, A);
    vm_ask(v, first - WAY - 5, 2, 0, 0, D);
    vm_due(v, 3, SOON + 20 + WAY + LOOK);
    vm_due(v, 1, first);
    vm_due(v, 2, first + WALK);
    vm_due(v, 4, first + 2 * WALK);
    vm_finish(v);
    assert_int_equal(vm_answer(v, 2)->walk, first);
    assert_int_equal(v->mmu->walk_queue[0].max, WALK - 10);
    assert_int_equal(v->mmu->walk_queue[0].sum, WALK - 10 + WALK - (LOOK - 5));
    assert_int_equal(vm_walks(v, HD_APP_NONE, HD_WALK_PEAK), 1);
    assert_int_equal(vm_walks(v, 0, HD_WALK_BUSY_CYCLES), 4 * WALK);
    assert_int_equal(vm_walks(v, 0, HD_WALK_QUEUE_CYCLES),
                     WALK - 10 + WALK - (LOOK - 5));
    assert_int_equal(vm_walks(v, HD_APP_NONE, HD_WALK_QUEUE_PEAK), 2);
    vm_close(v);
}

/* A walker that frees while a look-up runs begins when that ends. */
static void walker_free_before_ready(void **state)
{
    struct vm *v = vm_new();
    uint64_t first = WAY + LOOK + WALK;

    (void)state;
    v->walk.walkers = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, B);
    vm_ask(v, first - WAY - 5, 1, 0, 0, C);
    vm_due(v, 1, first - 5 + LOOK + WALK);
    vm_finish(v);
    vm_close(v);
}

/* No queue: the second miss waits at the head for the walker. */
static void queue_full(void **state)
{
    struct vm *v = vm_new();
    uint64_t first = SOON + WAY + LOOK + WALK;

    (void)state;
    v->walk.walkers = 1;
    v->walk.queue = 0;
    start(v);
    warm(v, A);
    vm_ask(v, SOON, 0, 0, 0, B);
    vm_ask(v, SOON + 10, 1, 0, 0, C);
    vm_ask(v, SOON + 20, 2, 0, 0, A);
    vm_due(v, 1, first);
    vm_due(v, 3, first + LOOK);
    vm_due(v, 2, first + WALK);
    vm_finish(v);
    assert_int_equal(vm_count(v, 0, HD_MMU_QUEUE_BLOCKS), 1);
    assert_int_equal(vm_count(v, 0, HD_MMU_MSHR_BLOCKS), 0);
    vm_close(v);

    v = vm_new();
    v->walk.walkers = 1;
    v->walk.queue = 1;
    v->l2tlb.mode.kind = HD_OFF;
    start(v);
    for (uint32_t i = 0; i < 4; i++)
        vm_ask(v, i, 0, 0, 0, A + 0x1000 * i);
    for (uint32_t i = 0; i < 4; i++)
        vm_due(v, i, WAY + (i + 1) * WALK);
    vm_finish(v);
    vm_close(v);
}

/* Large entries: a hit there after one probe, all else after two. */
static void serial(void **state)
{
    (void)state;
    for (uint32_t in_turn = 0; in_turn < 2; in_turn++) {
        struct vm *v = vm_new();
        uint64_t two = in_turn ? 2 * LOOK : LOOK;

        v->l2tlb.large_entries = 16;
        v->l2tlb.serial = in_turn;
        v->vm_cfg.page = 2;
        vm_open(v, 1);
        vm_map(v, 0, 0x200, 0x200);
        vm_map(v, 0, 0x400, 1);
        vm_ask(v, 0, 0, 0, 0, 0x201);
        vm_due(v, 0, WAY + two + 3 * READ);
        vm_ask(v, SOON, 0, 0, 0, 0x202);
        vm_due(v, 1, SOON + WAY + LOOK);
        vm_ask(v, 2 * SOON, 0, 0, 0, 0x400);
        vm_due(v, 2, 2 * SOON + WAY + two + WALK);
        vm_ask(v, 3 * SOON, 0, 0, 0, 0x400);
        vm_due(v, 3, 3 * SOON + WAY + two);
        vm_finish(v);
        vm_close(v);
    }
}

static void modes_of_the_tlb(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->l2tlb.mode.kind = HD_IDEAL;
    start(v);
    for (uint32_t i = 0; i < 8; i++)
        vm_ask(v, 0, 0, 0, 0, A + i);
    vm_finish(v);
    for (uint32_t i = 0; i < 8; i++)
        assert_int_equal(v->answer[i].at, WAY + LOOK);
    assert_int_equal(v->reads, 0);
    vm_close(v);

    v = vm_new();
    v->l2tlb.mode = (struct hd_mode){HD_FIXED, 33};
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_due(v, 0, WAY + 66);
    vm_finish(v);
    vm_close(v);

    /* off: straight to the walkers, where misses of one page merge */
    v = vm_new();
    v->l2tlb.mode.kind = HD_OFF;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 100, 0, 0, 0, A);
    vm_due(v, 0, WAY + WALK);
    vm_due(v, 1, WAY + WALK);
    vm_ask(v, SOON, 0, 0, 0, A);
    vm_due(v, 2, SOON + WAY + WALK);
    vm_finish(v);
    vm_close(v);
}

static void modes_of_walks(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->walk.mode = (struct hd_mode){HD_FIXED, 40};
    v->walk.walkers = 1;
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 0, 0, 0, 0, B);
    vm_due(v, 0, WAY + LOOK + 80);
    vm_due(v, 1, WAY + LOOK + 160);
    vm_finish(v);
    assert_int_equal(v->reads, 0);
    vm_close(v);

    v = vm_new();
    v->walk.mode.kind = HD_IDEAL;
    v->walk.walkers = 1;
    start(v);
    for (uint32_t i = 0; i < 4; i++)
        vm_ask(v, 0, 0, 0, 0, A + i);
    vm_ask(v, SOON, 0, 0, 0, A);
    vm_finish(v);
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(v->answer[i].at, WAY + LOOK + i / 2 * 2);
    assert_int_equal(v->answer[4].hit, 0);
    vm_close(v);
}

/* A unit for each core: one walker each, no L2 TLB, walks side by side. */
static void per_core(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->l2tlb.mode.kind = HD_OFF;
    v->walk = (struct hd_walk_cfg){
        .mode = {HD_FULL, 0}, .walkers = 1, .queue = 32, .per_core = 1};
    start(v);
    vm_ask(v, 0, 0, 0, 0, A);
    vm_ask(v, 0, 1, 0, 0, A);
    vm_ask(v, 0, 1, 0, 0, B);
    vm_due(v, 0, WALK);
    vm_due(v, 1, WALK);
    vm_due(v, 2, 2 * WALK);
    vm_finish(v);
    assert_int_equal(v->reads, 12);
    vm_close(v);
}

static void contradictions(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->walk.mode.kind = HD_OFF;
    vm_open(v, 1);
    assert_null(v->mmu);
    assert_int_equal(v->m.err.code, HEDDLE_ECONFIG);
    vm_close(v);
    v = vm_new();
    v->bypass.entries = 32;
    v->l2tlb.mode.kind = HD_OFF;
    vm_open(v, 1);
    assert_null(v->mmu);
    assert_text(v->m.err.text, "bypass.entries");
    vm_close(v);
}

/* A page without a mapping stops the run in words. */
static void unmapped(void **state)
{
    struct vm *v = start(vm_new());

    (void)state;
    vm_ask(v, 0, 0, 0, 1, 0x77777);
    hd_events_run(&v->m.ev, HD_NEVER, &v->m.err.code);
    assert_int_equal(v->m.err.code, HEDDLE_EDATA);
    assert_text(v->m.err.text, "application 1");
    assert_text(v->m.err.text, "0x77777");
    vm_close(v);
}

/* Reads that are sent ahead of their time, as soon as that is known, are
 * counted from the instant on at which they leave, not a tick sooner, when
 * somebody looks: ticks are finer than L2 cycles. */
static void counted_when_they_leave(void **state)
{
    struct vm *v = vm_new();
    uint32_t early = 0;

    (void)state;
    v->memory_back = 8; /* whole L2 cycles */
    start(v);
    assert_true(v->mmu->early);
    for (uint32_t i = 0; i < 5; i++)
        vm_ask(v, 31 * i, i % VM_CORES, 0, i % 2, A + i);
    for (uint64_t t = 0; t < 1000; t++) {
        uint64_t left = 0, level = 0;
        vm_run(v, t);
        hd_env_sync(v->env);
        for (uint32_t i = 0; i < v->reads; i++)
            left += v->read[i].at <= t;
        early += v->reads > left;
        for (uint32_t l = 0; l < 4; l++)
            level += vm_walks(v, 0, HD_WALK_LEVEL + l) +
                     vm_walks(v, 1, HD_WALK_LEVEL + l);
        assert_int_equal(vm_walks(v, 0, HD_WALK_REFERENCES) +
                             vm_walks(v, 1, HD_WALK_REFERENCES),
                         left);
        assert_int_equal(level, left);
    }
    assert_true(early > 50);
    vm_finish(v);
    vm_close(v);
}

/* Reads that leave with an L2 cycle have a number, by which the memory orders
 * them, and say so by their client; those in between have none. */
static void numbered_on_cycles(void **state)
{
    (void)state;
    for (uint64_t back = 7; back <= 8; back++) {
        struct vm *v = vm_new();
        uint32_t odd = 0;

        v->memory_back = back;
        start(v);
        vm_ask(v, 0, 0, 0, 0, A);
        vm_ask(v, 30, 1, 0, 0, B);
        vm_finish(v);
        assert_int_equal(v->reads, 8);
        for (uint32_t i = 0; i < v->reads; i++) {
            assert_int_equal(v->read[i].client,
                             VM_MEMORY_CLIENT + (v->read[i].at % 2 == 0));
            odd += v->read[i].at % 2;
        }
        assert_int_equal(odd, back == 7 ? 4 : 0);
        vm_close(v);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(miss_then_hit),
        cmocka_unit_test(looking),
        cmocka_unit_test(ports),
        cmocka_unit_test(order_of_cores),
        cmocka_unit_test(merged),
        cmocka_unit_test(merged_medium),
        cmocka_unit_test(mshr_full),
        cmocka_unit_test(walker_full),
        cmocka_unit_test(walker_free_before_ready),
        cmocka_unit_test(queue_full),
        cmocka_unit_test(serial),
        cmocka_unit_test(modes_of_the_tlb),
        cmocka_unit_test(modes_of_walks),
        cmocka_unit_test(per_core),
        cmocka_unit_test(contradictions),
        cmocka_unit_test(unmapped),
        cmocka_unit_test(counted_when_they_leave),
        cmocka_unit_test(numbered_on_cycles),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm mmu timing", tests, NULL, NULL);
}

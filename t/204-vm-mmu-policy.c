/*
 * Pinned: what the points below the L1 TLBs are asked and what their answers
 * do: tlb_fill (asked and steered, with the bypass cache), walk_pick,
 * walk_step, tlb_merge; and the notes of TLBs and walks.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

enum { A = 0x1000, SOON = 100000 };

/* What the policies of this file saw and shall answer. */
static struct {
    int64_t answer;
    uint32_t asked, requesters;
    uint64_t who[8], n, age[8], vpn[8];
    uint64_t run_first, run_pages, level, cause;
    uint32_t steps[5];
    uint32_t hits, misses, evicts, walks;
    struct heddle_n_walk_done walk;
    struct heddle_n_tlb_hit tlb;
} saw;

static int64_t on_fill(void *self, const void *question)
{
    const struct heddle_q_tlb_fill *q = question;

    (void)self;
    saw.asked++;
    saw.requesters = (uint32_t)q->requesters;
    for (uint32_t i = 0; i < q->requesters && i < 8; i++)
        saw.who[i] = q->who[i];
    return saw.answer;
}

static int64_t on_pick(void *self, const void *question)
{
    const struct heddle_q_walk_pick *q = question;

    (void)self;
    saw.asked++;
    saw.n = q->n;
    for (uint32_t i = 0; i < q->n && i < 8; i++) {
        saw.vpn[i] = q->vpn[i];
        saw.age[i] = q->age[i];
    }
    return (int64_t)q->n - 1;
}

static int64_t on_step(void *self, const void *question)
{
    const struct heddle_q_walk_step *q = question;

    (void)self;
    saw.steps[q->level]++;
    assert_int_equal(q->leaf, 4);
    return q->level == 2 ? 1 : q->level == 3 ? saw.answer : 0;
}

static int64_t on_merge(void *self, const void *question)
{
    const struct heddle_q_tlb_merge *q = question;

    (void)self;
    saw.asked++;
    saw.run_first = q->run_first;
    saw.run_pages = q->run_pages;
    saw.level = q->level;
    saw.cause = q->cause;
    return q->run_pages < (uint64_t)saw.answer ? (int64_t)q->run_pages
                                               : saw.answer;
}

static void on_tlb_hit(void *self, const void *note)
{
    (void)self;
    saw.hits++;
    saw.tlb = *(const struct heddle_n_tlb_hit *)note;
}

static void on_tlb_miss(void *self, const void *note)
{
    (void)self, (void)note;
    saw.misses++;
}

static void on_tlb_evict(void *self, const void *note)
{
    (void)self;
    saw.evicts++;
    saw.vpn[0] = ((const struct heddle_n_tlb_evict *)note)->vpn;
}

static void on_walk(void *self, const void *note)
{
    (void)self;
    saw.walks++;
    saw.walk = *(const struct heddle_n_walk_done *)note;
}

#define POLICY(n, p, f)                                                        \
    static const struct heddle_policy n = {.abi = HEDDLE_POLICY_ABI,           \
                                           .name = #n,                         \
                                           .summary = "of this test",          \
                                           .answer = {[HEDDLE_POINT_##p] = f}}

POLICY(filler, tlb_fill, on_fill);
POLICY(picker, walk_pick, on_pick);
POLICY(stepper, walk_step, on_step);
POLICY(merger, tlb_merge, on_merge);

static const struct heddle_policy watcher = {
    .abi = HEDDLE_POLICY_ABI,
    .name = "watcher",
    .summary = "of this test",
    .watch = {[HEDDLE_NOTE_tlb_hit] = on_tlb_hit,
              [HEDDLE_NOTE_tlb_miss] = on_tlb_miss,
              [HEDDLE_NOTE_tlb_evict] = on_tlb_evict,
              [HEDDLE_NOTE_walk_done] = on_walk},
};

static struct vm *start(struct vm *v)
{
    memset(&saw, 0, sizeof saw);
    vm_open(v, 2);
    vm_map(v, 0, A, 64);
    vm_map(v, 1, A, 64);
    return v;
}

/* One request alone, long after the last: the answer. */
static const struct vm_answer *ask(struct vm *v, uint32_t core, uint32_t warp,
                                   uint32_t app, uint64_t vpn)
{
    uint64_t at = hd_events_now(&v->m.ev) + SOON;
    uint32_t tag = v->sent;

    vm_ask(v, at, core, warp, app, vpn);
    vm_run(v, at + SOON / 2);
    assert_non_null(vm_answer(v, tag));
    return vm_answer(v, tag);
}

/* Asked: where the answer says; the next request shows where it went. */
static void fill_asked(void **state)
{
    static const uint32_t then[3] = {0, 1, 3}; /* hit L2 TLB, bypass, walked */

    (void)state;
    for (int64_t to = 0; to < 3; to++) {
        struct vm *v = vm_new();
        v->bypass.entries = 32;
        start(v);
        vmslots_use(&v->policies, &filler, "");
        saw.answer = to;
        assert_int_equal(ask(v, 1, 5, 0, A)->hit, 3);
        assert_int_equal(saw.asked, 1);
        assert_int_equal(ask(v, 2, 6, 0, A)->hit, then[to]);
        assert_int_equal(vm_count(v, 0, HD_MMU_BYPASS_HITS), to == 1);
        /* all who wait are in the question, in order of arrival */
        vm_ask(v, 10 * SOON, 3, 7, 0, A + 1);
        vm_ask(v, 10 * SOON + 1, 0, 63, 0, A + 1);
        vm_finish(v);
        assert_int_equal(saw.requesters, 2);
        assert_int_equal(saw.who[0], 3 << 16 | 7);
        assert_int_equal(saw.who[1], 63);
        vm_close(v);
    }
}

/* Steered: warps in the set fill the L2 TLB, the others what `without` says;
 * of several requesters one in the set is enough. */
static void fill_steered(void **state)
{
    struct vm *v = vm_new();
    heddle_sim *s;

    (void)state;
    v->bypass.entries = 2;
    start(v);
    s = vmslots_sim(&v->policies);
    assert_int_equal(heddle_steer(s, "tlb_fill", 0, 1, 1ull << 5), 0);
    assert_int_equal(ask(v, 1, 5, 0, A)->hit, 3);
    assert_int_equal(ask(v, 1, 6, 0, A)->hit, 0);
    assert_int_equal(ask(v, 1, 6, 0, A + 1)->hit, 3);
    assert_int_equal(ask(v, 1, 5, 0, A + 1)->hit, 1);
    /* another application's table is its own */
    assert_int_equal(ask(v, 1, 6, 1, A + 1)->hit, 3);
    assert_int_equal(ask(v, 1, 6, 1, A + 1)->hit, 0);
    vm_ask(v, 20 * SOON, 1, 6, 0, A + 2);
    vm_ask(v, 20 * SOON, 1, 5, 0, A + 2);
    vm_run(v, 21 * SOON);
    assert_int_equal(ask(v, 1, 6, 0, A + 2)->hit, 0);
    assert_int_equal(heddle_steer(s, "tlb_fill_without", 0, 0, 2), 0);
    assert_int_equal(ask(v, 1, 6, 0, A + 3)->hit, 3);
    assert_int_equal(ask(v, 1, 6, 0, A + 3)->hit, 3);
    assert_int_equal(vm_count(v, 0, HD_MMU_UNFILLED), 2);
    vm_finish(v);
    vm_close(v);
}

/* The last of the waiting walks goes first; ages are cycles since the miss. */
static void pick(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->walk.walkers = 1;
    start(v);
    vmslots_use(&v->policies, &picker, "");
    for (uint32_t i = 0; i < 4; i++)
        vm_ask(v, 10 * i, 0, 0, 0, A + i);
    vm_run(v, 30 + 428);
    assert_int_equal(saw.asked, 1);
    assert_int_equal(saw.n, 3);
    for (uint32_t i = 0; i < 3; i++) {
        assert_int_equal(saw.vpn[i], A + 1 + i);
        assert_int_equal(saw.age[i], 428 - 10 * (i + 1));
    }
    vm_finish(v);
    assert_int_equal(saw.asked, 2); /* one waiting walk is no choice */
    for (uint32_t i = 0; i < 4; i++)
        assert_int_equal(v->answer[i].vpn, A + (4 - i) % 4);
    vm_close(v);
}

/* Level 2 is skipped; level 3 is skipped too, or answers at once. */
static void step(void **state)
{
    (void)state;
    for (int64_t third = 0; third < 3; third++) {
        struct vm *v = start(vm_new());
        const struct vm_answer *x;

        vmslots_use(&v->policies, &stepper, "");
        saw.answer = third;
        x = ask(v, 0, 0, 0, A);
        assert_int_equal(x->references, 3 - third);
        assert_int_equal(v->reads, 3 - third);
        assert_int_equal(v->read[0].level, 1);
        assert_int_equal(saw.steps[1], 1);
        assert_int_equal(saw.steps[3], 1);
        assert_int_equal(saw.steps[4], third < 2);
        assert_int_equal(vm_walks(v, 0, HD_WALK_SKIPPED), third == 0 ? 1 : 2);
        vm_finish(v);
        vm_close(v);
    }
}

/* The run of a line of entries is offered, and one entry covers what the
 * policy takes of it. */
static void merge(void **state)
{
    struct vm *v = start(vm_new());

    (void)state;
    vmslots_use(&v->policies, &merger, "l2tlb");
    saw.answer = 16;
    assert_int_equal(ask(v, 0, 0, 0, A + 3)->hit, 3);
    assert_int_equal(saw.asked, 1);
    assert_int_equal(saw.level, 2);
    assert_int_equal(saw.cause, 0);
    assert_int_equal(saw.run_first, A);
    assert_int_equal(saw.run_pages, 16);
    assert_int_equal(ask(v, 0, 0, 0, A + 15)->hit, 0);
    assert_int_equal(ask(v, 0, 0, 0, A)->hit, 0);
    assert_int_equal(ask(v, 0, 0, 0, A + 16)->hit, 3);
    saw.answer = 4; /* of 16, those that end with the wanted page */
    assert_int_equal(ask(v, 0, 0, 0, A + 40)->hit, 3);
    assert_int_equal(ask(v, 0, 0, 0, A + 37)->hit, 0);
    assert_int_equal(ask(v, 0, 0, 0, A + 36)->hit, 3);
    saw.answer = 0;
    assert_int_equal(ask(v, 0, 0, 0, A + 50)->hit, 3);
    assert_int_equal(ask(v, 0, 0, 0, A + 51)->hit, 3);
    vm_finish(v);
    vm_close(v);
}

static void notes(void **state)
{
    struct vm *v = vm_new();

    (void)state;
    v->l2tlb.entries = 2;
    v->l2tlb.ways = 0;
    start(v);
    vmslots_use(&v->policies, &watcher, "");
    vm_ask(v, 0, 2, 9, 0, A);
    vm_ask(v, 0, 3, 9, 0, A);
    vm_run(v, SOON);
    assert_int_equal(saw.misses, 2);
    assert_int_equal(saw.walks, 1);
    assert_int_equal(saw.walk.vpn, A);
    assert_int_equal(saw.walk.cycles, 428);
    assert_int_equal(saw.walk.references, 4);
    assert_int_equal(saw.walk.requesters, 2);
    ask(v, 1, 1, 0, A + 1);
    ask(v, 1, 1, 0, A);
    assert_int_equal(saw.hits, 1);
    assert_int_equal(saw.tlb.level, 2);
    assert_int_equal(saw.tlb.core, 1);
    assert_int_equal(saw.tlb.vpn, A);
    assert_int_equal(saw.tlb.depth, 1);
    assert_int_equal(saw.tlb.filler, 2 << 16 | 9);
    assert_int_equal(saw.evicts, 0);
    ask(v, 1, 1, 0, A + 2);
    assert_int_equal(saw.evicts, 1);
    assert_int_equal(saw.vpn[0], A + 1);
    vm_finish(v);
    vm_close(v);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(fill_asked), cmocka_unit_test(fill_steered),
        cmocka_unit_test(pick),       cmocka_unit_test(step),
        cmocka_unit_test(merge),      cmocka_unit_test(notes),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm mmu policies", tests, NULL, NULL);
}

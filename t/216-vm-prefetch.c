/*
 * Pinned: what becomes of translations that policies start, each in one
 * counter: dropped by a full queue, redundant, late, absent, filled and then
 * useful or unused; and when their walks begin: with the end of the one before
 * where prefetch.walks or walkers are taken, not a tick sooner.
 *
 * SPDX-License-Identifier: MIT
 */
#include "vmenv.h"

#include <stdio.h>

enum {
    A = 0x1000,
    SOON = 100000,
    TICK = 2, /* an L2 cycle */
    LOOK = 20,
    WALK = 4 * 107
};

static struct vm *start(uint32_t entries, uint32_t queue, uint32_t walks)
{
    struct vm *v = vm_new();

    v->l2tlb.entries = entries;
    v->l2tlb.ways = 0;
    v->prefetch = (struct hd_prefetch_cfg){queue, walks};
    vm_open(v, 1);
    vm_map(v, 0, A, 64);
    return v;
}

static void begin(struct vm *v, uint64_t vpn)
{
    assert_int_equal(
        hd_prefetch_take(v->mmu, 0, vpn, HEDDLE_TRANSLATE_TO_L2TLB, 0), 0);
}

/* Long after: nothing is under way. */
static void later(struct vm *v)
{
    vm_run(v, hd_events_now(&v->m.ev) + SOON);
}

/* Every counter that is not 0, by its name. */
static void counted(struct vm *v, const char *want)
{
    char got[200] = "";
    size_t n = 0;

    for (uint32_t i = 0; i < HD_PREFETCH_STATS; i++) {
        uint64_t c = *hd_count(&v->mmu->prefetch_stat, 0, 0, i);
        if (c != 0)
            n += (size_t)snprintf(got + n, sizeof got - n, "%s%s %u",
                                  n ? ", " : "", hd_rows_prefetch.counters[i].name,
                                  (uint32_t)c);
    }
    assert_string_equal(got, want);
}

static void ask_soon(struct vm *v, uint64_t vpn)
{
    vm_ask(v, hd_events_now(&v->m.ev) + 1, 0, 0, 0, vpn);
}

static void end(struct vm *v)
{
    vm_finish(v);
    vm_close(v);
}

static void each_has_one_fate(void **state)
{
    struct vm *v = start(2, 16, 4);

    (void)state;
    begin(v, A);
    later(v);
    counted(v, "started 1, lookups 1, walks 1, filled 1");
    ask_soon(v, A);
    later(v);
    counted(v, "started 1, lookups 1, walks 1, filled 1, useful 1");
    begin(v, A); /* it is there */
    later(v);
    counted(v, "started 2, lookups 2, walks 1, redundant 1, filled 1, "
               "useful 1");
    begin(v, A + 1);
    begin(v, A + 1); /* it is being walked for */
    later(v);
    counted(v, "started 4, lookups 4, walks 2, redundant 2, filled 2, "
               "useful 1");
    begin(v, A + 100); /* not mapped */
    later(v);
    counted(v, "started 5, lookups 5, walks 3, redundant 2, absent 1, "
               "filled 2, useful 1");
    ask_soon(v, A + 2);
    ask_soon(v, A + 3); /* both take the place of one */
    later(v);
    counted(v, "started 5, lookups 5, walks 3, redundant 2, absent 1, "
               "filled 2, useful 1, unused 1");
    end(v);
}

/* A request comes while it is walked for, and the other way round. */
static void late(void **state)
{
    struct vm *v = start(64, 16, 4);

    (void)state;
    begin(v, A);
    vm_ask(v, 50, 0, 0, 0, A);
    later(v);
    counted(v, "started 1, lookups 1, walks 1, late 1");
    assert_int_equal(v->answer[0].at, TICK + LOOK + WALK);
    ask_soon(v, A + 1);
    vm_run(v, hd_events_now(&v->m.ev) + 50);
    begin(v, A + 1);
    later(v);
    counted(v, "started 2, lookups 2, walks 1, late 2");
    end(v);
}

/* A look-up of the one that waits longest, when a walk ends. */
static void one_after_the_other(void **state)
{
    enum { STARTED = 5 };

    (void)state;
    for (uint32_t walkers = 1; walkers <= 2; walkers++) {
        struct vm *v = vm_new();

        v->prefetch = (struct hd_prefetch_cfg){2, 3 - walkers};
        v->walk.walkers = walkers;
        vm_open(v, 1);
        vm_map(v, 0, A, 64);
        for (uint32_t i = 0; i < STARTED; i++)
            begin(v, A + i);
        later(v);
        counted(v, "started 5, dropped 2, lookups 3, walks 3, filled 3");
        assert_int_equal(v->reads, 3 * 4);
        for (uint32_t i = 0; i < 3; i++) {
            assert_int_equal(v->read[4 * i].at,
                             TICK + LOOK + i * (WALK + LOOK));
            assert_int_equal(v->read[4 * i + 3].pa % 4096, 8 * i);
        }
        end(v);
    }
}

/* As many at once as prefetch.walks says, each look-up by a free port. */
static void several_at_once(void **state)
{
    struct vm *v = start(512, 16, 3);

    (void)state;
    for (uint32_t i = 0; i < 4; i++)
        begin(v, A + i);
    later(v);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(v->read[i].at, TICK + LOOK + i / 2 * TICK);
    assert_int_equal(v->read[12].at, TICK + LOOK + WALK + LOOK);
    counted(v, "started 4, lookups 4, walks 4, filled 4");
    end(v);
}

static void refused(void **state)
{
    struct vm *v = start(512, 16, 4);

    (void)state;
    assert_int_equal(
        hd_prefetch_take(v->mmu, 1, A, HEDDLE_TRANSLATE_TO_L2TLB, 0),
        HEDDLE_EINVAL);
    assert_int_equal(
        hd_prefetch_take(v->mmu, 0, A, HEDDLE_TRANSLATE_TO_L2TLB, VM_CORES),
        HEDDLE_EINVAL);
    assert_int_equal(
        hd_prefetch_take(v->mmu, 0, 1ull << 36, HEDDLE_TRANSLATE_TO_L2TLB, 0),
        HEDDLE_EINVAL);
    assert_int_equal(hd_prefetch_take(v->mmu, 0, (1ull << 36) - 1,
                                      HEDDLE_TRANSLATE_TO_L2TLB, VM_CORES - 1),
                     0);
    end(v);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_has_one_fate),
        cmocka_unit_test(late),
        cmocka_unit_test(one_after_the_other),
        cmocka_unit_test(several_at_once),
        cmocka_unit_test(refused),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests_name("vm prefetch", tests, NULL, NULL);
}

/*
 * What is pinned: nothing leaks.  When a run has ended and everything in
 * flight has come home, no request and no translation request is in use, no
 * event waits, and every core's queues, MSHRs and pools are empty: for a
 * stream, a column stride and random accesses, on the default machine and on
 * machines whose queues are as short as they can be.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "../bench/synth.h"
#include "simulation.h"

struct pair {
    const char *name, *value;
};

static heddle_sim *build(struct synth *y, enum synth_kind kind,
                         const struct pair *set)
{
    heddle_config *c = heddle_config_new();
    heddle_workload *w = synth_make(y, kind, kind == SYNTH_STREAM ? 48 : 6,
                                    kind == SYNTH_COLUMN ? 12 : 3);
    heddle_sim *s;
    struct heddle_error error;

    assert_int_equal(heddle_config_set(c, "sim.relaunch", "false"), 0);
    assert_int_equal(heddle_config_set(c, "sim.check", "true"), 0);
    assert_int_equal(heddle_config_set(c, "core.count", "3"), 0);
    for (; set->name != NULL; set++)
        assert_int_equal(heddle_config_set(c, set->name, set->value), 0);
    s = heddle_new(c, NULL, &w, 1, &error);
    assert_int_equal(error.code, 0);
    heddle_config_free(c);
    return s;
}

static void empty(struct hd_core *c, hd_time now)
{
    hd_core_acks(c, now);
    assert_int_equal(c->s->lsu_n, 0);
    assert_int_equal(c->s->stores, 0);
    assert_int_equal(c->s->data.n, 0);
    assert_int_equal(c->s->inbox.n, 0);
    assert_int_equal(c->s->acks.n, 0);
    assert_int_equal(c->s->replay_first, HD_NONE);
    assert_int_equal(hd_mshr_used(&c->tlb_mshr), 0);
    assert_int_equal(hd_mshr_used(&c->l1_mshr), 0);
    assert_int_equal(hd_places_left(&c->memop_places), c->memops);
    assert_int_equal(hd_places_left(&c->parked_places), c->targets);
}

static void drain(enum synth_kind kind, const struct pair *set)
{
    static struct synth y;
    heddle_sim *s = build(&y, kind, set);
    const int go_on = 0;

    assert_int_equal(heddle_run(s, UINT64_MAX), HEDDLE_DONE);
    s->err.code = 0; /* the run is over; what is in flight goes on */
    hd_events_run(&s->ev, hd_events_now(&s->ev) + (hd_time)1000000000000,
                  &go_on);
    assert_int_equal(hd_events_waiting(&s->ev), 0);
    assert_int_equal(hd_numbers_live(&s->reqs.numbers), 0);
    assert_int_equal(hd_numbers_live(&s->treqs.numbers), 0);
    for (uint32_t i = 0; i < s->gpu.cores; i++)
        empty(&s->gpu.core[i], hd_events_now(&s->ev));
    assert_int_equal(heddle_check(s), 0);
    heddle_free(s);
}

static void all(const struct pair *set)
{
    drain(SYNTH_STREAM, set);
    drain(SYNTH_COLUMN, set);
    drain(SYNTH_RANDOM, set);
}

static void plain(void **state)
{
    static const struct pair set[] = {{NULL, NULL}};

    (void)state;
    all(set);
}

static void write_back(void **state)
{
    static const struct pair set[] = {{"l1cache.write", "back"},
                                      {"l1cache.bytes", "1024"},
                                      {"l2cache.bytes", "65536"},
                                      {NULL, NULL}};

    (void)state;
    all(set);
}

static void through(void **state)
{
    static const struct pair set[] = {{"l1cache.write", "through"},
                                      {"l2cache.write", "through"},
                                      {"l1cache.mode", "off"},
                                      {NULL, NULL}};

    (void)state;
    all(set);
}

static void one_of_each(void **state)
{
    static const struct pair set[] = {{"l1tlb.entries", "1"},
                                      {"l1tlb.mshrs", "1"},
                                      {"l1cache.mshrs", "1"},
                                      {"l1cache.merges", "1"},
                                      {"l1cache.stores", "1"},
                                      {"core.queue", "1"},
                                      {"core.parked", "64"},
                                      {"l2tlb.entries", "1"},
                                      {"l2tlb.ways", "1"},
                                      {"l2tlb.mshrs", "1"},
                                      {"walk.walkers", "1"},
                                      {"walk.queue", "1"},
                                      {"l2cache.mshrs", "1"},
                                      {"l2cache.merges", "1"},
                                      {"l2cache.queue", "1"},
                                      {"dram.queue", "1"},
                                      {"dram.queue_silver", "1"},
                                      {"dram.queue_golden", "1"},
                                      {NULL, NULL}};

    (void)state;
    all(set);
}

static void walkers_in_cores(void **state)
{
    static const struct pair set[] = {{"walk.per_core", "true"},
                                      {"l2tlb.mode", "off"},
                                      {"l1tlb.blocking", "full"},
                                      {"l2cache.mode", "off"},
                                      {NULL, NULL}};

    (void)state;
    all(set);
}

static void no_l1_tlb(void **state)
{
    static const struct pair set[] = {{"l1tlb.mode", "off"},
                                      {"pwc.mode", "full"},
                                      {"pwc.style", "prefix"},
                                      {"vm.page", "64K"},
                                      {NULL, NULL}};

    (void)state;
    all(set);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plain),
        cmocka_unit_test(write_back),
        cmocka_unit_test(through),
        cmocka_unit_test(one_of_each),
        cmocka_unit_test(walkers_in_cores),
        cmocka_unit_test(no_l1_tlb),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

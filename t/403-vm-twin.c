/*
 * 403-vm-twin.c - the lane engine against an interpreter that runs lane by
 * lane: random programs with every instruction, nested and divergent control
 * flow, contents, atomics and early exits.  Masks, addresses, the number of
 * ALU instructions and threads between memory instructions, and the contents
 * of all buffers at the end must be equal.  kernel-random.h draws the programs,
 * kernel-twin.h is the interpreter.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>
#include <stddef.h>
#include <setjmp.h>
#include <cmocka.h>
#include <stdio.h>

#include "kernel-twin.h"

enum { PROGRAMS = 600 };

static void run_all(uint32_t lanes)
{
    struct kasm *a = malloc(sizeof(*a));
    struct twin *t = calloc(1, sizeof(*t));
    struct log log = {.v = calloc(EVENTS, sizeof(struct event))};
    long events = 0;

    memset(&twin_seen, 0, sizeof(twin_seen));
    t->log.v = calloc(EVENTS, sizeof(struct event));
    for (uint64_t seed = 1; seed <= PROGRAMS; seed++)
        events += twin_program(a, t, &log, seed, lanes, NULL, 0);
    assert_true(events > PROGRAMS * 100); /* the generator does something */
    assert_true(twin_seen.passing >
                PROGRAMS);                    /* vectors that live in one run */
    assert_true(twin_seen.narrow > PROGRAMS); /* ints of 32 bits a lane, */
    assert_true(twin_seen.wide > PROGRAMS);   /* and of 64 */
    free(log.v);
    free(t->log.v);
    free(t);
    free(a);
}

static void test_32(void **state)
{
    (void)state;
    run_all(32);
}

static void test_64(void **state)
{
    (void)state;
    run_all(64);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_32),
        cmocka_unit_test(test_64),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

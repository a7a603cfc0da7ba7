/*
 * 040-base-pools.c - pins: the free places and numbers of pools (kit/places.h,
 * kit/numbers.h) against naive ones: the lowest free place of an array of
 * flags, the top of a list of what was given back.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stdlib.h>

#include <cmocka.h>

#include "kit/numbers.h"
#include "kit/places.h"
#include "kit/rng.h"

enum { STEPS = 200000 };

/* More often taken than given back, and then the other way round. */
static bool takes(struct hd_rng *r, uint32_t step)
{
    return hd_rng_below(r, 100) < (step / 20000 % 2 == 0 ? 60u : 40u);
}

static uint32_t lowest(const bool *used, uint32_t n)
{
    for (uint32_t i = 0; i < n; i++)
        if (!used[i])
            return i;
    return HD_NONE;
}

static void places(uint32_t n)
{
    struct hd_arena arena;
    struct hd_places p;
    struct hd_rng r;
    bool *used = calloc(n, sizeof *used);
    uint32_t live = 0, full = 0;

    r = hd_rng_make(n, 1);
    assert_int_equal(hd_arena_open(&arena, 1 << 20), 0);
    assert_int_equal(hd_places_open(&p, &arena, n), 0);
    assert_int_equal(hd_places_left(&p), n);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (takes(&r, i)) {
            uint32_t place = hd_places_take(&p);
            assert_int_equal(place, lowest(used, n));
            full += place == HD_NONE;
            if (place != HD_NONE) {
                used[place] = true;
                live++;
            }
        } else {
            uint32_t place = hd_rng_below(&r, n);
            if (!used[place])
                continue;
            used[place] = false;
            live--;
            hd_places_give(&p, place);
        }
        if (i % 64 == 0)
            assert_int_equal(hd_places_left(&p), n - live);
    }
    assert_true(n > 5000 || full > 0);
    hd_arena_close(&arena);
    free(used);
}

static void test_places(void **state)
{
    static const uint32_t sizes[] = {1, 63, 64, 65, 200, 4096, 4097, 9000};

    (void)state;
    for (uint32_t i = 0; i < HD_LEN(sizes); i++)
        places(sizes[i]);
}

static void test_numbers(void **state)
{
    enum { ROOM = 500 };
    static uint32_t back[ROOM], live[ROOM];
    uint32_t backs = 0, lives = 0, used = 0;
    struct hd_arena arena;
    struct hd_numbers p;
    struct hd_rng r;

    (void)state;
    r = hd_rng_make(7, 1);
    assert_int_equal(hd_arena_open(&arena, 1 << 20), 0);
    assert_int_equal(hd_numbers_open(&p, &arena, ROOM), 0);
    for (uint32_t i = 0; i < STEPS; i++) {
        if (takes(&r, i) && lives < ROOM) {
            uint32_t n = hd_numbers_take(&p);
            assert_int_equal(n, backs > 0 ? back[--backs] : used++);
            live[lives++] = n;
        } else if (lives > 0) {
            uint32_t k = hd_rng_below(&r, lives);
            back[backs++] = live[k];
            hd_numbers_give(&p, live[k]);
            live[k] = live[--lives];
        }
        assert_int_equal(hd_numbers_live(&p), lives);
    }
    assert_int_equal(used, ROOM); /* all have been in use */
    hd_arena_close(&arena);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_numbers),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

/*
 * Pinned: division by a prepared divisor is exact for every number below 2^62,
 * as the plain division says; random numbers and those beside multiples.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include "kit/recip.h"
#include "kit/rng.h"

enum { BITS = 62 };

static void same(uint64_t d, uint64_t x)
{
    struct hd_recip r = hd_recip_of(d);

    if (x >> BITS == 0)
        assert_true(hd_recip_div(r, x) == x / d);
    if (x < (1ull << BITS) - d)
        assert_true(hd_recip_up(r, x) == hd_ceil_div(x, d) * d);
}

static void exact(void **state)
{
    static const uint64_t some[] = {1,
                                    2,
                                    3,
                                    170,
                                    279,
                                    1ull << 32,
                                    (1ull << 61) - 1,
                                    1ull << 61,
                                    (1ull << 61) + 1,
                                    (1ull << BITS) - 1};
    struct hd_rng r = hd_rng_make(1, 1);

    (void)state;
    for (int i = 0; i < 300000; i++) {
        uint64_t d = i < 200000
                         ? hd_rng_next(&r) >> (2 + hd_rng_below(&r, BITS))
                         : some[i % HD_LEN(some)];
        uint64_t x = hd_rng_next(&r) >> (2 + hd_rng_below(&r, BITS));

        d += d == 0;
        same(d, x);
        same(d, x / d * d);
        same(d, x / d * d - 1);
        same(d, x / d * d + 1);
        same(d, (1ull << BITS) - 1 - x % 3);
        same(d, ((1ull << BITS) - 1) / d * d - 1);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

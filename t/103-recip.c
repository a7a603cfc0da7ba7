/*
 * Pinned: division by a prepared divisor is exact for every number, as the
 * plain division says; random numbers and those beside multiples.  The
 * shorter form is exact for every number below 2^62.
 */
#include "memenv.h"

#include "base/recip.h"
#include "base/rng.h"

static void same(uint64_t d, uint64_t x)
{
    struct hd_recip r = hd_recip_of(d);

    assert_true(hd_recip_div(r, x) == x / d);
    if (x < UINT64_MAX - d)
        assert_true(hd_recip_up(r, x) == hd_ceil_div(x, d) * d);
    if (x >> 62 == 0 && d >> 63 == 0)
        assert_true(hd_recip_near(&r, x) == x / d);
    if (x < 1ull << 61 && d < 1ull << 61)
        assert_true(hd_recip_near_up(&r, x) == hd_ceil_div(x, d) * d);
}

static void exact(void **state)
{
    static const uint64_t some[] = {1,
                                    2,
                                    3,
                                    170,
                                    279,
                                    1ull << 32,
                                    (1ull << 63) - 1,
                                    1ull << 63,
                                    UINT64_MAX - 1,
                                    UINT64_MAX};
    struct hd_rng r = hd_rng_make(1, 1);

    (void)state;
    for (int i = 0; i < 300000; i++) {
        uint64_t d = i < 200000 ? hd_rng_next(&r) >> hd_rng_below(&r, 64)
                                : some[i % HD_LEN(some)];
        uint64_t x = hd_rng_next(&r) >> hd_rng_below(&r, 64);

        d += d == 0;
        same(d, x);
        same(d, x / d * d);
        same(d, x / d * d - 1);
        same(d, x / d * d + 1);
        same(d, UINT64_MAX - x % 3);
        same(d, (1ull << 62) / d * d - 1 - (d == 1));
        same(d, (1ull << 62) - 1 - x % 3);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(exact)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

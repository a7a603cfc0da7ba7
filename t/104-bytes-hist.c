/*
 * Pinned: the helpers under every look-up and every latency.  Sixteen tags
 * compared at once say what a loop over them says, by either form; a
 * histogram's bucket holds the values between its edges, and its minimum and
 * maximum are those of the samples, whichever comes first.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include "kit/bytes.h"
#include "kit/hist.h"
#include "kit/rng.h"

static void bytes(void **state)
{
    struct hd_rng r = hd_rng_make(4, 4);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint32_t alike = 0, high = 0;
        uint8_t p[16], byte = (uint8_t)hd_rng_next(&r);

        for (int k = 0; k < 16; k++) {
            /* often equal, or one off, where carries would show */
            uint32_t how = hd_rng_below(&r, 4);
            p[k] =
                how == 0 ? (uint8_t)hd_rng_next(&r) : (uint8_t)(byte + how - 2);
            alike |= (uint32_t)(p[k] == byte) << k;
            high |= (uint32_t)(p[k] >= 0x80) << k;
        }
        assert_int_equal(hd_bytes_alike(p, byte), alike);
        assert_int_equal(hd_bytes_alike_words(p, byte), alike);
        assert_int_equal(hd_bytes_high(p), high);
        assert_int_equal(hd_bytes_high_words(p), high);
    }
}

static void buckets(void **state)
{
    struct hd_rng r = hd_rng_make(4, 5);

    (void)state;
    for (int i = 0; i < 200000; i++) {
        uint64_t v =
            i < 100000 ? (uint64_t)i : hd_rng_next(&r) >> hd_rng_below(&r, 64);
        unsigned b;

        v = hd_min_u64(v, HD_HIST_TOP);
        b = hd_hist_bucket(v);
        assert_true(b < HD_HIST_BUCKETS);
        assert_true(v >= hd_hist_low(b) && v <= hd_hist_high(b));
    }
}

static void samples(void **state)
{
    struct hd_rng r = hd_rng_make(4, 6);

    (void)state;
    for (int i = 0; i < 5000; i++) {
        struct hd_hist h = {0};
        uint64_t min = UINT64_MAX, max = 0, sum = 0, seen = 0, all = 0;
        uint32_t n = hd_rng_below(&r, 6), most = hd_rng_below(&r, 3);
        uint32_t top = 0, huge = hd_rng_below(&r, 8) == 0;

        for (uint32_t k = 0; k < n; k++) {
            uint64_t v = hd_rng_below(&r, most == 0 ? 2 : most * 1000);
            if (huge && hd_rng_below(&r, 3) != 0)
                v = HD_HIST_TOP - 1 + hd_rng_below(&r, 4);
            uint32_t times = hd_rng_below(&r, 4);
            for (uint32_t j = 0; j < times; j++)
                hd_hist_add(&h, v);
            if (times == 0)
                continue;
            all += times;
            top += v >= hd_hist_low(HD_HIST_BUCKETS - 1) ? times : 0;
            min = hd_min_u64(min, v);
            max = hd_max_u64(max, v);
            sum += v * times;
        }
        for (uint32_t b = 0; b < HD_HIST_BUCKETS; b++)
            seen += h.bucket[b];
        assert_true(h.n == all && h.sum == sum && seen == all && h.max == max);
        assert_true(h.min == (all > 0 ? min : 0));
        assert_int_equal(h.bucket[HD_HIST_BUCKETS - 1], top);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(bytes),
        cmocka_unit_test(buckets),
        cmocka_unit_test(samples),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

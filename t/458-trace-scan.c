/*
 * 458-trace-scan.c - the scanner of numbers against naive twins.
 *
 * Pinned: hexadecimal and decimal numbers of every length with every byte
 * behind or between them (eight digits are converted at once, and a byte that
 * is none must be seen wherever it stands); too many digits are refused.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "kit/rng.h"
#include "trace/text.h"

static unsigned naive_digit(unsigned char c)
{
    return c >= '0' && c <= '9'   ? c - '0'
           : c >= 'a' && c <= 'f' ? c - 'a' + 10
           : c >= 'A' && c <= 'F' ? c - 'A' + 10
                                  : 16;
}

static void digits(void **state)
{
    (void)state;
    for (unsigned c = 0; c < 256; c++)
        assert_int_equal(hd_hex_digit((unsigned char)c) > 15
                             ? 16
                             : hd_hex_digit((unsigned char)c),
                         naive_digit((unsigned char)c));
}

static void nibbles(void **state)
{
    static const char hex[] = "0123456789abcdefABCDEF";
    struct hd_rng r = hd_rng_make(1, 1);
    char s[32];

    (void)state;
    for (unsigned i = 0; i < 400000; i++) {
        uint64_t want = 0, got;
        unsigned n = 0;
        for (unsigned k = 0; k < sizeof s; k++)
            s[k] = hex[hd_rng_below(&r, sizeof hex - 1)];
        s[i / 256 % 9] = (char)(i % 256);
        while (n < 8 && naive_digit((unsigned char)s[n]) < 16)
            want = want << 4 | naive_digit((unsigned char)s[n++]);
        assert_int_equal(hd_scan_nibbles(s, &got), n);
        assert_int_equal(got, want);
    }
}

static void numbers(void **state)
{
    struct hd_rng r = hd_rng_make(2, 2);

    (void)state;
    for (unsigned i = 0; i < 100000; i++) {
        uint64_t v = hd_rng_next(&r) >> hd_rng_below(&r, 64), got;
        int64_t back;
        char s[64] = {0};
        int n = sprintf(s, i & 1 ? "0x%llx " : "%llX,", (unsigned long long)v);
        assert_ptr_equal(hd_scan_hex(s, &got), s + n - 1);
        assert_int_equal(got, v);
        v >>= 8;
        n = sprintf(s, "-%llu\n", (unsigned long long)v);
        assert_ptr_equal(hd_scan_signed(s, &back), s + n - 1);
        assert_int_equal(back, -(int64_t)v);
        assert_null(hd_scan_dec(s, &got));
    }
    char s[64] = "0x00007f2000000000 ";
    uint64_t v;
    assert_ptr_equal(hd_scan_hex(s, &v), s + 18);
    assert_int_equal(v, 0x7f2000000000);
    assert_null(hd_scan_hex("0x00007f20000000001        ", &v));
    assert_null(hd_scan_hex("x                          ", &v));
    assert_null(hd_scan_dec("9999999999999999999", &v));
}

static void same(void **state)
{
    char a[64], b[64];

    (void)state;
    for (unsigned n = 0; n < 40; n++) {
        memset(a, 'x', sizeof a);
        memset(b, 'x', sizeof b);
        memset(b + n, 'y', sizeof b - n);
        assert_true(hd_scan_same(a, b, n));
        assert_false(hd_scan_same(a, b, n + 1));
        for (unsigned i = 0; i < n; i++) {
            b[i] = 'z';
            assert_false(hd_scan_same(a, b, n));
            b[i] = 'x';
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(digits),
        cmocka_unit_test(nibbles),
        cmocka_unit_test(numbers),
        cmocka_unit_test(same),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

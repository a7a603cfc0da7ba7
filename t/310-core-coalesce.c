/*
 * 310-core-coalesce.c - the coalescer against a naive twin.
 *
 * Hundreds of thousands of random accesses: affine with strides of every kind,
 * up and down, aligned and not, and addresses lane by lane; all, some and no
 * lanes active, warps of 32 and 64, lines of 32 to 1024 bytes.  The twin walks
 * the lanes and searches lists.  Lines come in the order in which lanes first
 * touch them (those of one access: the lower first), pages in the order of
 * their lines, and each line knows its page.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "kit/bits.h"
#include "kit/rng.h"
#include "core/coalesce.h"

enum { ROUNDS = 300000 };

struct naive {
    uint32_t n, pages;
    uint64_t line[HD_MAX_LINES], vpn[HD_MAX_LINES];
    uint32_t bytes[HD_MAX_LINES];
};

static void naive_touch(struct naive *x, uint64_t line, uint32_t bytes)
{
    uint32_t i = 0;

    while (i < x->n && x->line[i] != line)
        i++;
    if (i == x->n) {
        x->line[x->n] = line;
        x->bytes[x->n++] = 0;
    }
    x->bytes[i] += bytes;
}

static void naive_coalesce(struct naive *x, const struct hd_access *acc,
                           uint64_t mask, uint32_t bytes, uint32_t shift)
{
    x->n = x->pages = 0;
    for (uint32_t k = 0; k < 64; k++) {
        uint64_t a = acc->lane != NULL
                         ? acc->lane[k].v
                         : acc->base.v + (uint64_t)acc->stride * k;
        if (!(mask >> k & 1))
            continue;
        for (uint32_t i = 0; i < bytes; i++)
            naive_touch(x, (a + i) >> shift, 1);
    }
    for (uint32_t i = 0; i < x->n; i++) {
        uint64_t vpn = x->line[i] >> (HD_PAGE_SHIFT - shift);
        uint32_t p = 0;
        while (p < x->pages && x->vpn[p] != vpn)
            p++;
        if (p == x->pages)
            x->vpn[x->pages++] = vpn;
    }
}

static int64_t random_stride(struct hd_rng *r, uint32_t bytes)
{
    static const int64_t some[] = {0,    1,    2,     4,     8,    12,   16,
                                   24,   32,   36,    64,    100,  128,  129,
                                   132,  192,  256,   260,   512,  1024, 4096,
                                   4100, 8192, 16384, 16512, 65536};
    int64_t s = some[hd_rng_below(r, HD_LEN(some))];

    if (hd_rng_below(r, 3) == 0)
        s *= (int64_t)bytes;
    return hd_rng_below(r, 3) == 0 ? -s : s;
}

/* True where no byte is touched by two lanes. */
static bool apart(const struct hd_access *acc, uint32_t bytes)
{
    return acc->lane == NULL &&
           (acc->stride >= (int64_t)bytes || acc->stride <= -(int64_t)bytes);
}

static uint64_t random_mask(struct hd_rng *r, uint32_t lanes)
{
    uint64_t all = hd_ones(lanes);

    switch (hd_rng_below(r, 4)) {
    case 0:
        return hd_rng_next(r) & all;
    case 1:
        return hd_ones((unsigned)hd_rng_below(r, lanes + 1));
    default:
        return all;
    }
}

/* The virtual number of a line of 1 << shift bytes. */
static uint64_t number(const struct hd_lines *l, const struct hd_lsu_line *x,
                       uint32_t shift)
{
    return l->page[x->page].vpn << (HD_PAGE_SHIFT - shift) | x->place;
}

static void compare(struct hd_lines *got, const struct naive *want,
                    uint32_t shift, bool exact)
{
    assert_int_equal(got->n, want->n);
    assert_int_equal(got->pages, want->pages);
    for (uint32_t i = 0; i < got->n; i++) {
        const struct hd_lsu_line *x = hd_lines_at(got, i);
        assert_int_equal(number(got, x, shift), want->line[i]);
        assert_in_range(x->bytes, 1, 1u << shift);
        if (exact)
            assert_int_equal(x->bytes, want->bytes[i]);
        assert_int_equal(got->page[x->page].vpn,
                         want->line[i] >> (HD_PAGE_SHIFT - shift));
    }
    for (uint32_t i = 0; i < got->pages; i++) {
        assert_int_equal(got->page[i].vpn, want->vpn[i]);
        assert_true(got->page[i].frame == HD_PAGE_UNKNOWN);
    }
}

static void like_the_twin(void **state)
{
    static struct hd_lines got;
    static struct naive want;
    struct hd_rng r = hd_rng_make(1, 310);
    hd_va lane[64];

    (void)state;
    for (uint32_t i = 0; i < ROUNDS; i++) {
        uint32_t lanes = hd_rng_below(&r, 2) ? 32 : 64;
        uint32_t shift = 5 + (uint32_t)hd_rng_below(&r, 6);
        uint32_t bytes = 1u << hd_rng_below(&r, 5);
        uint64_t mask = random_mask(&r, lanes);
        struct hd_access acc = {.stride = random_stride(&r, bytes)};
        acc.base.v = (1ull << 40) + hd_rng_below(&r, 1 << 20);
        if (hd_rng_below(&r, 2) == 0)
            acc.base.v &= ~(uint64_t)(bytes - 1);
        if (hd_rng_below(&r, 4) == 0) {
            uint64_t span = 1ull << (6 + hd_rng_below(&r, 20));
            for (uint32_t k = 0; k < 64; k++)
                lane[k].v = acc.base.v + hd_rng_below(&r, span);
            acc.lane = lane;
        }
        hd_coalesce(&acc, mask, lanes, bytes, shift, &got);
        naive_coalesce(&want, &acc, mask, bytes, shift);
        compare(&got, &want, shift, apart(&acc, bytes));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(like_the_twin)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

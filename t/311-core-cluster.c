/*
 * Pinned: which launch stands for which.  Name, grid and block must be equal
 * and each part of the mix within so many thousandths, to one instruction, also
 * of numbers whose thousandfold does not fit; a launch that is the first to
 * look as it does stands for none, nor does one that has not retired; of
 * several the first counts; what is skipped sums up.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "kit/bits.h"
#include "core/cluster.h"

enum { MIX = sizeof(struct hd_mix) / sizeof(uint64_t), PERMILLE = 20 };

/* Part k of a mix. */
static uint64_t *part(struct hd_mix *m, uint32_t k)
{
    uint64_t *const of[MIX] = {&m->instructions, &m->threads, &m->loads,
                               &m->stores, &m->atomics};

    return of[k];
}

static struct hd_launch launch(const char *name, uint32_t x, uint32_t y)
{
    struct hd_launch l;

    memset(&l, 0, sizeof l);
    strcpy(l.name, name);
    for (uint32_t i = 0; i < 3; i++) {
        l.grid[i] = x + i;
        l.block[i] = y + i;
    }
    return l;
}

/* The launch retires. */
static void retire(struct hd_cluster *c, struct hd_mix mix)
{
    c->known = 1;
    c->mix = mix;
}

static void looks(void **state)
{
    struct hd_launch l = launch("k", 4, 32), other;
    struct hd_mix mix = {1000, 1000, 1000, 1000, 1000};
    struct hd_cluster v[4];

    (void)state;
    memset(v, 0xff, sizeof v);
    hd_cluster_begin(v, 0, &l);
    assert_int_equal(v[0].alone, 1);
    assert_int_equal(v[0].known, 0);
    assert_int_equal(v[0].launches, 0);
    retire(&v[0], mix);
    assert_int_equal(hd_cluster_find(v, 1, &l, &mix, PERMILLE), HD_NONE);
    hd_cluster_begin(v, 1, &l);
    assert_int_equal(v[1].alone, 0);
    assert_int_equal(hd_cluster_find(v, 2, &l, &mix, PERMILLE), HD_NONE);
    retire(&v[1], mix);
    assert_int_equal(hd_cluster_find(v, 2, &l, &mix, PERMILLE), 1);
    assert_int_equal(hd_cluster_find(v, 2, &l, NULL, PERMILLE), 1);
    assert_int_equal(hd_cluster_find(v, 1, &l, NULL, PERMILLE), HD_NONE);

    for (uint32_t k = 0; k < 7; k++) {
        other = l;
        if (k == 6)
            strcpy(other.name, "kk");
        else
            ++*(k < 3 ? &other.grid[k] : &other.block[k - 3]);
        assert_int_equal(hd_cluster_find(v, 2, &other, NULL, PERMILLE),
                         HD_NONE);
        hd_cluster_begin(v, 2, &other);
        assert_int_equal(v[2].alone, 1);
    }
    hd_cluster_begin(v, 2, &l);
    assert_int_equal(v[2].alone, 0);
    retire(&v[2], mix);
    assert_int_equal(hd_cluster_find(v, 3, &l, &mix, PERMILLE), 1);
    v[1].mix.loads = 2000;
    assert_int_equal(hd_cluster_find(v, 3, &l, &mix, PERMILLE), 2);
    assert_int_equal(hd_cluster_find(v, 3, &l, NULL, PERMILLE), 1);
}

static void alike(void **state)
{
    static const uint64_t of[][2] = {
        /* the first launch's number, and the most that another may differ */
        {0, 0},     {49, 0},        {50, 1},
        {99, 1},    {100, 2},       {1000, 20},
        {1999, 39}, {123456, 2469}, {1ull << 60, 23058430092136939},
    };
    struct hd_launch l = launch("k", 1, 64);

    (void)state;
    for (uint32_t k = 0; k < MIX; k++)
        for (size_t i = 0; i < HD_LEN(of); i++) {
            struct hd_mix first = {7, 7, 7, 7, 7}, mix = first;
            struct hd_cluster v[2];
            uint64_t n = of[i][0], gap = of[i][1];

            hd_cluster_begin(v, 0, &l);
            hd_cluster_begin(v, 1, &l);
            *part(&first, k) = n;
            retire(&v[1], first);
            for (int below = 0; below < 2; below++) {
                if (below && gap + 1 > n)
                    continue;
                *part(&mix, k) = below ? n - gap : n + gap;
                assert_int_equal(hd_cluster_find(v, 2, &l, &mix, PERMILLE), 1);
                *part(&mix, k) = below ? n - gap - 1 : n + gap + 1;
                assert_int_equal(hd_cluster_find(v, 2, &l, &mix, PERMILLE),
                                 HD_NONE);
            }
        }
}

static void skipped(void **state)
{
    struct hd_launch l = launch("k", 1, 64);
    struct hd_mix mix = {1, 20, 300, 4000, 50000};
    struct hd_cluster v[1];

    (void)state;
    hd_cluster_begin(v, 0, &l);
    for (uint32_t n = 1; n <= 3; n++) {
        hd_cluster_skip(v, &mix);
        assert_int_equal(v->launches, n);
        for (uint32_t k = 0; k < MIX; k++)
            assert_int_equal(*part(&v->skipped, k), n * *part(&mix, k));
    }
    assert_int_equal(v->unlike, 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(looks),
        cmocka_unit_test(alike),
        cmocka_unit_test(skipped),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

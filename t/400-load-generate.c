/*
 * 400-load-generate.c - the seeded generators.
 *
 * Pinned: CSR rows are consistent and symmetric; the uniform graph has the
 * degrees and the breadth-first frontiers of its family (workload tables:
 * (5,10) on 32,768 nodes, (2,4) on 65,536 nodes); the random graph has
 * Poisson's degrees and sorted rows; R-MAT respects the cap and
 * is skewed; the grid is the 5-point one; Zipf frequencies follow the law;
 * RandomAccess starts follow the recurrence; the same seed gives the same
 * bits, and those bits are pinned by a hash so that compilers cannot differ.
 *
 * SPDX-License-Identifier: MIT
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <cmocka.h>

#include "base/rng.h"
#include "load/generate.h"
#include "texts.h"

static uint64_t hash_of(const void *at, size_t bytes)
{
    const unsigned char *p = at;
    uint64_t h = 0xcbf29ce484222325ull;

    while (bytes--)
        h = (h ^ *p++) * 0x100000001b3ull;
    return h;
}

static uint32_t degree(const struct hd_graph *g, uint32_t v)
{
    return (uint32_t)(g->start[v + 1] - g->start[v]);
}

/* Every node of a symmetric graph is named as often as it names others. */
static void assert_symmetric(const struct hd_graph *g)
{
    uint64_t *sum = calloc(g->n, sizeof *sum);
    uint32_t v;
    int32_t e;

    assert_int_equal(g->start[0], 0);
    assert_int_equal(g->start[g->n], (int32_t)g->m);
    /* the sum over v's edges of a hash of the unordered pair, plus for v and
     * minus for the other end: zero only if each edge has its reverse */
    for (v = 0; v < g->n; v++)
        for (e = g->start[v]; e < g->start[v + 1]; e++) {
            uint32_t w = (uint32_t)g->edge[e];
            uint64_t lo = v < w ? v : w, hi = v < w ? w : v;

            assert_true(w < g->n);
            sum[v] += hd_mix64(lo << 32 | hi);
            sum[w] -= hd_mix64(lo << 32 | hi);
        }
    for (v = 0; v < g->n; v++)
        assert_true(sum[v] == 0);
    free(sum);
}

static void frontiers(const struct hd_graph *g, uint32_t *count, size_t room)
{
    int32_t *level = malloc(g->n * sizeof *level);
    struct hd_err err = {0};
    uint32_t v;

    memset(count, 0, room * sizeof *count);
    assert_int_equal(hd_generate_levels(g, 0, level, &err), 0);
    for (v = 0; v < g->n; v++)
        if (level[v] >= 0 && (size_t)level[v] < room)
            count[level[v]]++;
    free(level);
}

static void uniform_like_mafia(void **state)
{
    struct hd_graph g;
    struct hd_err err = {0};
    uint32_t f[10], v, most = 0;

    (void)state;
    assert_int_equal(hd_generate_uniform(&g, 32768, 5, 10, 1, &err), 0);
    assert_symmetric(&g);
    /* mean 15 a node; the published instance has 490,768 edges */
    assert_in_range(g.m, 488000, 495000);
    for (v = 0; v < g.n; v++) {
        assert_true(degree(&g, v) >= 5);
        most = degree(&g, v) > most ? degree(&g, v) : most;
    }
    assert_in_range(most, 24, 40);
    /* published frontiers: 1, 11, 173, 2447, 20165, 9971 */
    frontiers(&g, f, 10);
    assert_int_equal(f[0], 1);
    assert_in_range(f[1], 5, 30);
    assert_in_range(f[2], 60, 500);
    assert_in_range(f[3], 900, 6000);
    assert_int_equal(f[0] + f[1] + f[2] + f[3] + f[4] + f[5] + f[6] + f[7],
                     32768);
    assert_true(f[4] > 10000 && f[7] == 0);
    hd_generate_graph_free(&g);
}

static void uniform_like_rodinia(void **state)
{
    struct hd_graph g;
    struct hd_err err = {0};
    uint32_t f[16], v, most = 0, peak = 0, i;

    (void)state;
    assert_int_equal(hd_generate_uniform(&g, 65536, 2, 4, 7, &err), 0);
    assert_symmetric(&g);
    assert_in_range(g.m, 6 * 65536 - 2000, 6 * 65536 + 2000);
    for (v = 0; v < g.n; v++) {
        assert_true(degree(&g, v) >= 2);
        most = degree(&g, v) > most ? degree(&g, v) : most;
    }
    assert_in_range(most, 14, 22);
    frontiers(&g, f, 16);
    for (i = 0; i < 16; i++)
        peak = f[i] > peak ? f[i] : peak;
    assert_in_range(peak, 65536 / 3, 65536 * 2 / 3);
    hd_generate_graph_free(&g);
}

static void same_seed_same_bits(void **state)
{
    struct hd_graph g, h;
    struct hd_err err = {0};

    (void)state;
    assert_int_equal(hd_generate_uniform(&g, 1000, 2, 4, 1, &err), 0);
    assert_int_equal(hd_generate_uniform(&h, 1000, 2, 4, 1, &err), 0);
    assert_int_equal(g.m, h.m);
    assert_memory_equal(g.edge, h.edge, g.m * sizeof *g.edge);
    hd_generate_graph_free(&h);
    assert_int_equal(hd_generate_uniform(&h, 1000, 2, 4, 2, &err), 0);
    assert_true(g.m != h.m || memcmp(g.edge, h.edge, g.m * 4) != 0);
    assert_true(hash_of(g.edge, g.m * 4) == 0x7b432b7d2de7fc07ull);
    hd_generate_graph_free(&g);
    hd_generate_graph_free(&h);
}

/* Poisson's degrees: variance and mean are equal. */
static void random_is_poisson(void **state)
{
    struct hd_graph g;
    struct hd_err err = {0};
    double mean = 6.5, squares = 0;
    uint32_t v;
    int32_t e;

    (void)state;
    assert_int_equal(hd_generate_random(&g, 50000, 162500, 1, &err), 0);
    assert_int_equal(g.m, 325000);
    assert_symmetric(&g);
    for (v = 0; v < g.n; v++) {
        double d = degree(&g, v) - mean;

        squares += d * d;
        for (e = g.start[v]; e < g.start[v + 1]; e++) {
            assert_true(g.edge[e] != (int32_t)v);
            assert_true(e == g.start[v] || g.edge[e - 1] <= g.edge[e]);
        }
    }
    assert_true(squares / g.n > 6.4 && squares / g.n < 6.6);
    assert_true(hash_of(g.edge, g.m * 4) == 0xb5eedcfdbbd570c5ull);
    hd_generate_graph_free(&g);
    /* long rows are sorted, too */
    assert_int_equal(hd_generate_random(&g, 3, 1000, 1, &err), 0);
    assert_symmetric(&g);
    for (e = 1; e < g.start[1]; e++)
        assert_true(g.edge[e - 1] <= g.edge[e]);
    hd_generate_graph_free(&g);
}

static void grid_is_five_point(void **state)
{
    struct hd_graph g;
    struct hd_err err = {0};
    static const int32_t inner[4] = {11 - 7, 11 - 1, 11 + 1, 11 + 7};

    (void)state;
    assert_int_equal(hd_generate_grid(&g, 7, 5, 0, 1, &err), 0);
    assert_int_equal(g.n, 35);
    assert_int_equal(g.m, 2 * (6 * 5 + 7 * 4));
    assert_symmetric(&g);
    assert_int_equal(degree(&g, 0), 2);
    assert_int_equal(degree(&g, 3), 3);
    assert_memory_equal(g.edge + g.start[11], inner, sizeof inner);
    hd_generate_graph_free(&g);
    /* ecology1: 1000 x 1000, 3,996,000 edges */
    assert_int_equal(hd_generate_grid(&g, 1000, 1000, 0, 1, &err), 0);
    assert_int_equal(g.m, 3996000);
    hd_generate_graph_free(&g);
}

/* Connected with any number of edges, all of them the grid's, symmetric. */
static void roads_are_connected(void **state)
{
    static const uint64_t edges[] = {34, 35, 49, 57, 58};
    struct hd_err err = {0};
    int32_t level[35];

    (void)state;
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        struct hd_graph g, same;
        uint32_t v;
        int32_t e;

        assert_int_equal(hd_generate_grid(&g, 7, 5, edges[k], 3, &err), 0);
        assert_int_equal(hd_generate_grid(&same, 7, 5, edges[k], 3, &err), 0);
        assert_int_equal(g.m, 2 * edges[k]);
        assert_symmetric(&g);
        assert_memory_equal(g.edge, same.edge, g.m * sizeof *g.edge);
        for (v = 0; v < 35; v++)
            for (e = g.start[v]; e < g.start[v + 1]; e++) {
                int32_t off = abs(g.edge[e] - (int32_t)v);

                assert_true(off == 1 || off == 7);
                assert_true(off == 7 || g.edge[e] / 7 == (int32_t)v / 7);
                assert_true(e == g.start[v] || g.edge[e] > g.edge[e - 1]);
            }
        assert_int_equal(hd_generate_levels(&g, 0, level, &err), 0);
        for (v = 0; v < 35; v++)
            assert_true(level[v] >= 0);
        hd_generate_graph_free(&g);
        hd_generate_graph_free(&same);
    }
    /* too few to connect it, and more than there are */
    for (uint64_t n = 33; n <= 59; n += 26) {
        struct hd_graph g;

        assert_int_equal(hd_generate_grid(&g, 7, 5, n, 3, &err), HEDDLE_EINVAL);
    }
}

static void rmat_is_skewed_and_capped(void **state)
{
    struct hd_rmat r = {12, 16 << 12, .57, .19, .19, true, true, 0};
    struct hd_graph g;
    struct hd_err err = {0};
    uint32_t v, most = 0, lone = 0, low = 0;

    (void)state;
    assert_int_equal(hd_generate_rmat(&g, &r, 3, &err), 0);
    assert_int_equal(g.m, 2u * r.edges);
    assert_symmetric(&g);
    for (v = 0; v < g.n; v++) {
        most = degree(&g, v) > most ? degree(&g, v) : most;
        lone += degree(&g, v) == 0;
        low += v < g.n / 8 ? degree(&g, v) : 0;
    }
    assert_true(most > 20 * g.m / g.n); /* hubs */
    assert_true(lone > g.n / 20);       /* and many without an edge */
    /* permuted: an eighth of the nodes has about an eighth of the edges,
     * as far as the hubs let it */
    assert_in_range(low, g.m / 16, g.m / 4);
    hd_generate_graph_free(&g);

    r.permute = false;
    assert_int_equal(hd_generate_rmat(&g, &r, 3, &err), 0);
    for (v = 0, low = 0; v < g.n / 8; v++)
        low += degree(&g, v);
    assert_true(low > g.m / 3);
    hd_generate_graph_free(&g);

    r.cap = 64;
    assert_int_equal(hd_generate_rmat(&g, &r, 3, &err), 0);
    assert_symmetric(&g);
    for (v = 0, most = 0; v < g.n; v++)
        most = degree(&g, v) > most ? degree(&g, v) : most;
    assert_int_equal(most, 64);
    hd_generate_graph_free(&g);
}

static void rmat_quadrants(void **state)
{
    struct hd_rmat r = {1, 100000, .5, .3, .15, false, false, 0};
    struct hd_graph g;
    struct hd_err err = {0};
    uint32_t q[4] = {0};
    int32_t e;

    (void)state;
    assert_int_equal(hd_generate_rmat(&g, &r, 9, &err), 0);
    for (e = 0; e < (int32_t)g.m; e++)
        q[2 * (e >= g.start[1]) + g.edge[e]]++;
    assert_in_range(q[0], 49000, 51000);
    assert_in_range(q[1], 29200, 30800);
    assert_in_range(q[2], 14300, 15700);
    assert_in_range(q[3], 4500, 5500);
    hd_generate_graph_free(&g);
}

static void zipf_follows_the_law(void **state)
{
    enum { KEYS = 1000, N = 200000 };
    int32_t *x = malloc(N * sizeof *x);
    uint32_t count[KEYS] = {0};
    struct hd_err err = {0};
    double h = 0;
    size_t i;
    int k;

    (void)state;
    for (k = 1; k <= KEYS; k++)
        h += 1.0 / k;
    assert_int_equal(hd_generate_zipf(x, N, KEYS, 1.0, 5, &err), 0);
    for (i = 0; i < N; i++) {
        assert_in_range(x[i], 0, KEYS - 1);
        count[x[i]]++;
    }
    for (k = 1; k <= 64; k *= 2) { /* within 4 standard deviations */
        double want = N / (h * k), d = count[k - 1] - want;

        assert_true(d * d < 16 * want);
    }
    /* exponent 0: uniform */
    memset(count, 0, sizeof count);
    assert_int_equal(hd_generate_zipf(x, N, KEYS, 0, 5, &err), 0);
    for (i = 0; i < N; i++)
        count[x[i]]++;
    for (k = 0; k < KEYS; k++)
        assert_in_range(count[k], 200 - 85, 200 + 85);
    /* exponent 2: the first key has 6 / pi^2, less the tail */
    memset(count, 0, sizeof count);
    assert_int_equal(hd_generate_zipf(x, N, KEYS, 2, 5, &err), 0);
    for (i = 0; i < N; i++)
        count[x[i]]++;
    assert_in_range(count[0], N * .6055, N * .6115);
    assert_in_range(count[1], N * .6085 / 4 - 800, N * .6085 / 4 + 800);
    free(x);
}

static void plain_data(void **state)
{
    enum { N = 100000 };
    int32_t *x = malloc(N * sizeof *x);
    float *f = malloc(N * sizeof *f);
    char *seen = calloc(N, 1);
    int64_t sum = 0;
    double mean = 0;
    int i, lo = 0, hi = 0, fixed = 0;

    (void)state;
    hd_generate_ints(x, N, -3, 6, 1);
    for (i = 0; i < N; i++) {
        assert_true(x[i] >= -3 && x[i] <= 6);
        lo += x[i] == -3;
        hi += x[i] == 6;
        sum += x[i];
    }
    assert_in_range(lo, 9600, 10400);
    assert_in_range(hi, 9600, 10400);
    assert_in_range(sum, 1.5 * N - 4000, 1.5 * N + 4000);
    hd_generate_ints(x, N, INT32_MIN, INT32_MAX, 1);
    for (i = 0, lo = 0; i < N; i++)
        lo += x[i] < 0;
    assert_in_range(lo, N / 2 - 700, N / 2 + 700);
    hd_generate_floats(f, N, 1);
    for (i = 0; i < N; i++) {
        assert_true(f[i] >= 0 && f[i] < 1);
        mean += f[i];
    }
    assert_in_range((int)mean, N / 2 - 400, N / 2 + 400);
    hd_generate_permutation(x, N, 1);
    for (i = 0; i < N; i++) {
        assert_in_range(x[i], 0, N - 1);
        assert_false(seen[x[i]]++);
        fixed += x[i] == i;
    }
    assert_true(fixed < 12);
    assert_true(hash_of(x, N * 4) == 0xacc19b0132886e6dull);
    free(x);
    free(f);
    free(seen);
}

static void starts_follow_the_recurrence(void **state)
{
    uint64_t s[70], x = 1;
    int i;

    (void)state;
    hd_generate_starts(s, 70, 32);
    for (i = 0; i < 70 * 32; i++) {
        if (i % 32 == 0)
            assert_true(s[i / 32] == x);
        x = x << 1 ^ ((int64_t)x < 0 ? 7u : 0u);
    }
    assert_true(s[0] == 1 && s[1] == 1ull << 32 && s[2] == 7);
}

static void wrong_input_is_named(void **state)
{
    struct hd_graph g;
    struct hd_err err = {0};
    struct hd_rmat r = {0};
    int32_t x;

    (void)state;
    assert_int_equal(hd_generate_uniform(&g, 10, 4, 2, 1, &err), HEDDLE_EINVAL);
    assert_text(err.text, "4 to 2");
    hd_err_clear(&err);
    assert_int_equal(hd_generate_uniform(&g, 0, 1, 2, 1, &err), HEDDLE_EINVAL);
    hd_err_clear(&err);
    assert_int_equal(hd_generate_random(&g, 1, 1, 1, &err), HEDDLE_EINVAL);
    assert_text(err.text, "2 or more");
    hd_err_clear(&err);
    assert_int_equal(hd_generate_random(&g, 9, 1u << 30, 1, &err),
                     HEDDLE_EINVAL);
    hd_err_clear(&err);
    assert_int_equal(hd_generate_rmat(&g, &r, 1, &err), HEDDLE_EINVAL);
    hd_err_clear(&err);
    assert_int_equal(hd_generate_grid(&g, 0, 5, 0, 1, &err), HEDDLE_EINVAL);
    hd_err_clear(&err);
    assert_int_equal(hd_generate_zipf(&x, 1, 0, 1, 1, &err), HEDDLE_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(uniform_like_mafia),
        cmocka_unit_test(uniform_like_rodinia),
        cmocka_unit_test(same_seed_same_bits),
        cmocka_unit_test(random_is_poisson),
        cmocka_unit_test(grid_is_five_point),
        cmocka_unit_test(roads_are_connected),
        cmocka_unit_test(rmat_is_skewed_and_capped),
        cmocka_unit_test(rmat_quadrants),
        cmocka_unit_test(zipf_follows_the_law),
        cmocka_unit_test(plain_data),
        cmocka_unit_test(starts_follow_the_recurrence),
        cmocka_unit_test(wrong_input_is_named),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}

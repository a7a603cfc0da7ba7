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

#include "kit/rng.h"
#include "heddle_generate.h"
#include "texts.h"

static uint64_t hash_of(const void *at, size_t bytes)
{
    const unsigned char *p = at;
    uint64_t h = 0xcbf29ce484222325ull;

    while (bytes--)
        h = (h ^ *p++) * 0x100000001b3ull;
    return h;
}

/* A graph and where its rows lie. */
struct graph {
    struct heddle_graph data;
    uint32_t n;
    uint64_t m;
    const int32_t *start, *edge;
};

static char text[512]; /* of the last error */

static int make(struct graph *g, struct heddle_graph_spec spec)
{
    int rc = heddle_generate_graph(&spec, &g->data, text, sizeof text);

    if (rc == 0) {
        g->n = g->data.n;
        g->m = g->data.m;
        g->start = g->data.start->mem;
        g->edge = g->data.edges->mem;
    }
    return rc;
}

static int make_uniform(struct graph *g, uint32_t n, uint32_t lo, uint32_t hi,
                        uint64_t seed)
{
    return make(g, (struct heddle_graph_spec){.kind = HEDDLE_GRAPH_UNIFORM,
                                              .seed = seed,
                                              .n = n,
                                              .lo = lo,
                                              .hi = hi});
}

static int make_random(struct graph *g, uint32_t n, uint64_t pairs)
{
    return make(
        g, (struct heddle_graph_spec){
               .kind = HEDDLE_GRAPH_RANDOM, .seed = 1, .n = n, .edges = pairs});
}

static int make_grid(struct graph *g, uint32_t width, uint32_t height,
                     uint64_t edges)
{
    return make(g, (struct heddle_graph_spec){.kind = HEDDLE_GRAPH_GRID,
                                              .seed = 3,
                                              .width = width,
                                              .height = height,
                                              .edges = edges});
}

/* Copies data that is made, of which there is some, and frees it. */
static void copy(heddle_data *d, void *out)
{
    assert_non_null(d);
    memcpy(out, d->mem, d->count * heddle_type_bytes(d->type));
    heddle_data_free(d);
}

static uint32_t degree(const struct graph *g, uint32_t v)
{
    return (uint32_t)(g->start[v + 1] - g->start[v]);
}

/* Every node of a symmetric graph is named as often as it names others. */
static void assert_symmetric(const struct graph *g)
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

static void frontiers(const struct graph *g, uint32_t *count, size_t room)
{
    int32_t *level = malloc(g->n * sizeof *level);
    uint32_t v;

    memset(count, 0, room * sizeof *count);
    copy(heddle_generate_levels(&g->data, 0, NULL, 0), level);
    for (v = 0; v < g->n; v++)
        if (level[v] >= 0 && (size_t)level[v] < room)
            count[level[v]]++;
    free(level);
}

static void uniform_like_mafia(void **state)
{
    struct graph g;
    uint32_t f[10], v, most = 0;

    (void)state;
    assert_int_equal(make_uniform(&g, 32768, 5, 10, 1), 0);
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
    heddle_graph_free(&g.data);
}

static void uniform_like_rodinia(void **state)
{
    struct graph g;
    uint32_t f[16], v, most = 0, peak = 0, i;

    (void)state;
    assert_int_equal(make_uniform(&g, 65536, 2, 4, 7), 0);
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
    heddle_graph_free(&g.data);
}

static void same_seed_same_bits(void **state)
{
    struct graph g, h;

    (void)state;
    assert_int_equal(make_uniform(&g, 1000, 2, 4, 1), 0);
    assert_int_equal(make_uniform(&h, 1000, 2, 4, 1), 0);
    assert_int_equal(g.m, h.m);
    assert_memory_equal(g.edge, h.edge, g.m * sizeof *g.edge);
    heddle_graph_free(&h.data);
    assert_int_equal(make_uniform(&h, 1000, 2, 4, 2), 0);
    assert_true(g.m != h.m || memcmp(g.edge, h.edge, g.m * 4) != 0);
    assert_true(hash_of(g.edge, g.m * 4) == 0x7b432b7d2de7fc07ull);
    heddle_graph_free(&g.data);
    heddle_graph_free(&h.data);
}

/* Poisson's degrees: variance and mean are equal. */
static void random_is_poisson(void **state)
{
    struct graph g;
    double mean = 6.5, squares = 0;
    uint32_t v;
    int32_t e;

    (void)state;
    assert_int_equal(make_random(&g, 50000, 162500), 0);
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
    heddle_graph_free(&g.data);
    /* long rows are sorted, too */
    assert_int_equal(make_random(&g, 3, 1000), 0);
    assert_symmetric(&g);
    for (e = 1; e < g.start[1]; e++)
        assert_true(g.edge[e - 1] <= g.edge[e]);
    heddle_graph_free(&g.data);
}

static void grid_is_five_point(void **state)
{
    struct graph g;
    static const int32_t inner[4] = {11 - 7, 11 - 1, 11 + 1, 11 + 7};

    (void)state;
    assert_int_equal(make_grid(&g, 7, 5, 0), 0);
    assert_int_equal(g.n, 35);
    assert_int_equal(g.m, 2 * (6 * 5 + 7 * 4));
    assert_symmetric(&g);
    assert_int_equal(degree(&g, 0), 2);
    assert_int_equal(degree(&g, 3), 3);
    assert_memory_equal(g.edge + g.start[11], inner, sizeof inner);
    heddle_graph_free(&g.data);
    /* ecology1: 1000 x 1000, 3,996,000 edges */
    assert_int_equal(make_grid(&g, 1000, 1000, 0), 0);
    assert_int_equal(g.m, 3996000);
    heddle_graph_free(&g.data);
}

/* Connected with any number of edges, all of them the grid's, symmetric. */
static void roads_are_connected(void **state)
{
    static const uint64_t edges[] = {34, 35, 49, 57, 58};
    int32_t level[35];

    (void)state;
    for (size_t k = 0; k < sizeof edges / sizeof *edges; k++) {
        struct graph g, same;
        uint32_t v;
        int32_t e;

        assert_int_equal(make_grid(&g, 7, 5, edges[k]), 0);
        assert_int_equal(make_grid(&same, 7, 5, edges[k]), 0);
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
        copy(heddle_generate_levels(&g.data, 0, NULL, 0), level);
        for (v = 0; v < 35; v++)
            assert_true(level[v] >= 0);
        heddle_graph_free(&g.data);
        heddle_graph_free(&same.data);
    }
    /* too few to connect it, and more than there are */
    for (uint64_t n = 33; n <= 59; n += 26) {
        struct graph g;

        assert_int_equal(make_grid(&g, 7, 5, n), HEDDLE_EINVAL);
    }
}

static void rmat_is_skewed_and_capped(void **state)
{
    struct heddle_graph_spec r = {.kind = HEDDLE_GRAPH_RMAT,
                                  .seed = 3,
                                  .scale = 12,
                                  .edges = 16 << 12,
                                  .a = .57,
                                  .b = .19,
                                  .c = .19,
                                  .permute = 1,
                                  .both = 1};
    struct graph g;
    uint32_t v, most = 0, lone = 0, low = 0;

    (void)state;
    assert_int_equal(make(&g, r), 0);
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
    heddle_graph_free(&g.data);

    r.permute = 0;
    assert_int_equal(make(&g, r), 0);
    for (v = 0, low = 0; v < g.n / 8; v++)
        low += degree(&g, v);
    assert_true(low > g.m / 3);
    heddle_graph_free(&g.data);

    r.cap = 64;
    assert_int_equal(make(&g, r), 0);
    assert_symmetric(&g);
    for (v = 0, most = 0; v < g.n; v++)
        most = degree(&g, v) > most ? degree(&g, v) : most;
    assert_int_equal(most, 64);
    heddle_graph_free(&g.data);
}

static void rmat_quadrants(void **state)
{
    struct heddle_graph_spec r = {.kind = HEDDLE_GRAPH_RMAT,
                                  .seed = 9,
                                  .scale = 1,
                                  .edges = 100000,
                                  .a = .5,
                                  .b = .3,
                                  .c = .15};
    struct graph g;
    uint32_t q[4] = {0};
    int32_t e;

    (void)state;
    assert_int_equal(make(&g, r), 0);
    for (e = 0; e < (int32_t)g.m; e++)
        q[2 * (e >= g.start[1]) + g.edge[e]]++;
    assert_in_range(q[0], 49000, 51000);
    assert_in_range(q[1], 29200, 30800);
    assert_in_range(q[2], 14300, 15700);
    assert_in_range(q[3], 4500, 5500);
    heddle_graph_free(&g.data);
}

static void zipf_follows_the_law(void **state)
{
    enum { KEYS = 1000, N = 200000 };
    int32_t *x = malloc(N * sizeof *x);
    uint32_t count[KEYS] = {0};
    double h = 0;
    size_t i;
    int k;

    (void)state;
    for (k = 1; k <= KEYS; k++)
        h += 1.0 / k;
    copy(heddle_generate_zipf(N, KEYS, 1.0, 5, NULL, 0), x);
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
    copy(heddle_generate_zipf(N, KEYS, 0, 5, NULL, 0), x);
    for (i = 0; i < N; i++)
        count[x[i]]++;
    for (k = 0; k < KEYS; k++)
        assert_in_range(count[k], 200 - 85, 200 + 85);
    /* exponent 2: the first key has 6 / pi^2, less the tail */
    memset(count, 0, sizeof count);
    copy(heddle_generate_zipf(N, KEYS, 2, 5, NULL, 0), x);
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
    copy(heddle_generate_ints(N, -3, 6, 1, NULL, 0), x);
    for (i = 0; i < N; i++) {
        assert_true(x[i] >= -3 && x[i] <= 6);
        lo += x[i] == -3;
        hi += x[i] == 6;
        sum += x[i];
    }
    assert_in_range(lo, 9600, 10400);
    assert_in_range(hi, 9600, 10400);
    assert_in_range(sum, 1.5 * N - 4000, 1.5 * N + 4000);
    copy(heddle_generate_ints(N, INT32_MIN, INT32_MAX, 1, NULL, 0), x);
    for (i = 0, lo = 0; i < N; i++)
        lo += x[i] < 0;
    assert_in_range(lo, N / 2 - 700, N / 2 + 700);
    copy(heddle_generate_floats(N, 1, NULL, 0), f);
    for (i = 0; i < N; i++) {
        assert_true(f[i] >= 0 && f[i] < 1);
        mean += f[i];
    }
    assert_in_range((int)mean, N / 2 - 400, N / 2 + 400);
    copy(heddle_generate_permutation(N, 1, NULL, 0), x);
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
    copy(heddle_generate_starts(70, 32, NULL, 0), s);
    for (i = 0; i < 70 * 32; i++) {
        if (i % 32 == 0)
            assert_true(s[i / 32] == x);
        x = x << 1 ^ ((int64_t)x < 0 ? 7u : 0u);
    }
    assert_true(s[0] == 1 && s[1] == 1ull << 32 && s[2] == 7);
}

static void wrong_input_is_named(void **state)
{
    struct graph g;
    struct heddle_graph_spec r = {.kind = HEDDLE_GRAPH_RMAT};

    (void)state;
    assert_int_equal(make_uniform(&g, 10, 4, 2, 1), HEDDLE_EINVAL);
    assert_text(text, "4 to 2");
    assert_int_equal(make_uniform(&g, 0, 1, 2, 1), HEDDLE_EINVAL);
    assert_int_equal(make_random(&g, 1, 1), HEDDLE_EINVAL);
    assert_text(text, "2 or more");
    assert_int_equal(make_random(&g, 9, 1u << 30), HEDDLE_EINVAL);
    assert_int_equal(make(&g, r), HEDDLE_EINVAL);
    assert_int_equal(make_grid(&g, 0, 5, 0), HEDDLE_EINVAL);
    assert_null(heddle_generate_zipf(1, 0, 1, 1, text, sizeof text));
    assert_text(text, "0 keys");
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

/*
 * generate.c - seeded graphs, permutations and random data for buffers.
 *
 * The inputs that papers used are often lost (MASK's BFS2 graph) or large, so
 * heddle makes inputs of the same family:
 *
 *   uniform   the generator that comes with Rodinia's bfs: every node draws
 *             lo..hi targets, uniformly; each edge is appended to the lists
 *             of both ends, in the order of drawing.  (2,4) has mean degree 6
 *             as Rodinia's graphs, (5,10) mean degree 15 as MASK's.  A node
 *             may draw itself or the same target twice.
 *   random    Erdos and Renyi's, with a given number of edges: degrees are
 *             Poisson's, rows are sorted.  What social and co-author graphs
 *             resemble when their hubs are left out.
 *   grid      the 5-point neighbourhood of a width x height grid: what
 *             matrices such as ecology1 resemble.  With fewer `edges` it is
 *             what road networks resemble: the grid's edges are taken in an
 *             order at random, first those that join what was apart (so all
 *             is connected), then others, until there are as many.
 *   R-MAT     Chakrabarti, Zhan, Faloutsos: R-MAT, SDM 2004.  Hubs make one
 *             lane run alone for thousands of steps; `cap` drops the edges of
 *             a node that has enough, `permute` breaks up the low numbers.
 *   Zipf      popularity of keys; ranks by binary search in the running sum.
 *   starts    HPCC RandomAccess: x -> 2x xor (7 if the top bit was set).
 *
 * Every number is a hash of (seed, stream, count), see base/rng.h, so that a
 * graph can be drawn twice, once to count and once to fill, and memory holds
 * nothing but the result.  Zipf needs powers; they are computed here with
 * + - * / alone, since libm's last bit differs between systems.
 *
 * Left out: self-loops (but in the random graph) and double edges are not
 * removed; weights are drawn apart (hd_generate_ints).
 *
 * SPDX-License-Identifier: MIT
 */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "../base/base.h"
#include "../base/bits.h"
#include "../base/rng.h"

/* Streams under one seed; each drawing has its own. */
enum {
    STREAM_GRAPH = 0x67726100,
    STREAM_RMAT,
    STREAM_SHUFFLE,
    STREAM_INTS,
    STREAM_FLOATS,
    STREAM_ZIPF,
    STREAM_PAIRS
};

/* ---- graphs ---------------------------------------------------------- */

/* Rows of n nodes, all of degree 0. */
static int graph_open(struct hd_graph *g, uint32_t n, struct hd_err *err)
{
    memset(g, 0, sizeof *g);
    if (n == 0 || n > INT32_MAX - 2)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: %u nodes; expected 1 to 2^31 - 3", n);
    g->n = n;
    g->start = calloc((size_t)n + 2, sizeof *g->start);
    return g->start ? 0 : hd_err_memory(err);
}

/*
 * start[v + 2] holds the degree of v: turns it into rows, and leaves in
 * start[v + 1] where the next edge of v goes.  When every edge is placed,
 * start[v + 1] is the end of row v, which is what it must be.
 */
static int graph_rows(struct hd_graph *g, struct hd_err *err)
{
    uint64_t m = 0;
    uint32_t v;

    for (v = 0; v < g->n; v++) {
        uint32_t degree = (uint32_t)g->start[v + 2];

        g->start[v + 1] = (int32_t)m;
        m += degree;
        if (m > INT32_MAX) {
            hd_generate_graph_free(g);
            return hd_err_set(err, HEDDLE_EINVAL,
                              "graph: more than 2^31 - 1 edges");
        }
    }
    g->m = m;
    g->edge = malloc(m ? m * sizeof *g->edge : 1);
    if (g->edge)
        return 0;
    hd_generate_graph_free(g);
    return hd_err_memory(err);
}

static void place(struct hd_graph *g, uint32_t from, uint32_t to)
{
    g->edge[g->start[from + 1]++] = (int32_t)to;
}

/* Counts an edge of both nodes, or puts it into their lists. */
static void join(struct hd_graph *g, uint32_t v, uint32_t w, bool fill)
{
    if (fill) {
        place(g, v, w);
        place(g, w, v);
    } else {
        g->start[v + 2]++;
        g->start[w + 2]++;
    }
}

/*
 * Edges drawn and not yet counted or placed.  Targets are random, so nearly
 * every one misses the caches of this machine; an edge waits in a ring while
 * its row is fetched, and half way on its place in the list, which makes graphs
 * of gigabytes more than twice as fast.  Edges leave in the order they came in.
 */
enum { AHEAD = 64 };

struct ring {
    uint32_t from[AHEAD], to[AHEAD];
    uint32_t in, out;
};

static void ring_take(struct hd_graph *g, struct ring *r, bool fill)
{
    uint32_t v = r->from[r->out % AHEAD], w = r->to[r->out % AHEAD];

    r->out++;
    join(g, v, w, fill);
}

static void ring_add(struct hd_graph *g, struct ring *r, uint32_t v, uint32_t w,
                     bool fill)
{
    if (r->in - r->out == AHEAD)
        ring_take(g, r, fill);
    r->from[r->in % AHEAD] = v;
    r->to[r->in % AHEAD] = w;
    r->in++;
    HD_PREFETCH(&g->start[w + (fill ? 1 : 2)]);
    if (fill && r->in - r->out > AHEAD / 2) {
        uint32_t next = r->to[(r->in - AHEAD / 2) % AHEAD];

        HD_PREFETCH(&g->edge[g->start[next + 1]]);
    }
}

/* Draws the edges of the uniform graph: counts them, or places them. */
static void uniform_draw(struct hd_graph *g, uint32_t lo, uint32_t hi,
                         uint64_t seed, bool fill)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_GRAPH);
    struct ring ring = {.in = 0};
    uint32_t v, i;

    for (v = 0; v < g->n; v++) {
        uint32_t k = lo + hd_rng_below(&r, hi - lo + 1);

        for (i = 0; i < k; i++)
            ring_add(g, &ring, v, hd_rng_below(&r, g->n), fill);
    }
    while (ring.out != ring.in)
        ring_take(g, &ring, fill);
}

int hd_generate_uniform(struct hd_graph *g, uint32_t n, uint32_t lo,
                        uint32_t hi, uint64_t seed, struct hd_err *err)
{
    int rc;

    if (lo > hi || hi > 1u << 20)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: degree from %u to %u; expected "
                          "0 <= from <= to <= 2^20",
                          lo, hi);
    if ((rc = graph_open(g, n, err)) < 0)
        return rc;
    uniform_draw(g, lo, hi, seed, false);
    if ((rc = graph_rows(g, err)) < 0)
        return rc;
    uniform_draw(g, lo, hi, seed, true);
    return 0;
}

/* Draws the edges of the random graph: counts them, or places them. */
static void random_draw(struct hd_graph *g, uint64_t pairs, uint64_t seed,
                        bool fill)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_PAIRS);
    uint64_t i;

    for (i = 0; i < pairs; i++) {
        uint32_t v = hd_rng_below(&r, g->n);
        uint32_t w = hd_rng_below(&r, g->n - 1);

        w += w >= v;
        join(g, v, w, fill);
    }
}

static int by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Sorts a row: by insertion where it is short, as most are. */
static void sort_row(int32_t *row, size_t count)
{
    size_t i, k;

    if (count > 32) {
        qsort(row, count, sizeof *row, by_number);
        return;
    }
    for (i = 1; i < count; i++) {
        int32_t x = row[i];

        for (k = i; k > 0 && row[k - 1] > x; k--)
            row[k] = row[k - 1];
        row[k] = x;
    }
}

int hd_generate_random(struct hd_graph *g, uint32_t n, uint64_t pairs,
                       uint64_t seed, struct hd_err *err)
{
    uint32_t v;
    int rc;

    if (pairs > INT32_MAX / 2)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: more than 2^31 - 1 edges");
    if (n < 2 && pairs > 0)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: edges between %u nodes; expected 2 or more",
                          n);
    if ((rc = graph_open(g, n, err)) < 0)
        return rc;
    random_draw(g, pairs, seed, false);
    if ((rc = graph_rows(g, err)) < 0)
        return rc;
    random_draw(g, pairs, seed, true);
    for (v = 0; v < n; v++)
        sort_row(g->edge + g->start[v],
                 (size_t)(g->start[v + 1] - g->start[v]));
    return 0;
}

/* Which edges of the grid there are: to the right of a node, and below it. */
enum { GRID_RIGHT = 1, GRID_BELOW = 2 };

struct lattice {
    uint32_t width, height;
    uint8_t *has; /* a set of the above for each node */
};

/* The other end of an edge of the whole grid, or v if it has none there. */
static uint32_t lattice_end(const struct lattice *l, uint32_t v, int edge)
{
    if (edge == GRID_RIGHT)
        return v + (v % l->width + 1 < l->width);
    return v / l->width + 1 < l->height ? v + l->width : v;
}

/* The root of a node's tree, and shorter ways to it. */
static uint32_t root_of(uint32_t *up, uint32_t v)
{
    while (up[v] != v)
        v = up[v] = up[up[v]];
    return v;
}

/* Takes edges in the given order until there are `edges` of them: `joining`,
 * those that join two trees, or any. */
static uint64_t take_edges(struct lattice *l, const int32_t *order, uint32_t n,
                           uint32_t *up, bool joining, uint64_t edges)
{
    uint64_t took = 0;
    uint32_t i;

    for (i = 0; i < 2 * n && took < edges; i++) {
        int edge = order[i] & 1 ? GRID_BELOW : GRID_RIGHT;
        uint32_t v = (uint32_t)order[i] / 2, w = lattice_end(l, v, edge);

        if (w == v || l->has[v] & edge)
            continue;
        if (joining) {
            uint32_t a = root_of(up, v), b = root_of(up, w);

            if (a == b)
                continue;
            up[a < b ? b : a] = a < b ? a : b;
        }
        l->has[v] |= (uint8_t)edge;
        took++;
    }
    return took;
}

static int roads(struct lattice *l, uint32_t n, uint64_t edges, uint64_t seed,
                 struct hd_err *err)
{
    int32_t *order = malloc((size_t)n * 2 * sizeof *order);
    uint32_t *up = malloc((size_t)n * sizeof *up);
    uint32_t v;
    int rc = 0;

    if (order && up) {
        hd_generate_permutation(order, 2 * n, seed);
        for (v = 0; v < n; v++)
            up[v] = v;
        edges -= take_edges(l, order, n, up, true, edges);
        take_edges(l, order, n, up, false, edges);
    } else {
        rc = hd_err_memory(err);
    }
    free(order);
    free(up);
    return rc;
}

/* Rows of the lattice's edges: up, left, right, down. */
static int lattice_rows(struct hd_graph *g, const struct lattice *l,
                        struct hd_err *err)
{
    uint32_t v;
    int edge, rc;

    for (v = 0; v < g->n; v++)
        for (edge = GRID_RIGHT; edge <= GRID_BELOW; edge++)
            if (l->has[v] & edge) {
                g->start[v + 2]++;
                g->start[lattice_end(l, v, edge) + 2]++;
            }
    if ((rc = graph_rows(g, err)) < 0)
        return rc;
    for (v = 0; v < g->n; v++) {
        if (v >= l->width && l->has[v - l->width] & GRID_BELOW)
            place(g, v, v - l->width);
        if (v % l->width > 0 && l->has[v - 1] & GRID_RIGHT)
            place(g, v, v - 1);
        if (l->has[v] & GRID_RIGHT)
            place(g, v, v + 1);
        if (l->has[v] & GRID_BELOW)
            place(g, v, v + l->width);
    }
    return 0;
}

int hd_generate_grid(struct hd_graph *g, uint32_t width, uint32_t height,
                     uint64_t edges, uint64_t seed, struct hd_err *err)
{
    uint64_t n = (uint64_t)width * height, all = 2 * n - width - height;
    struct lattice l = {.width = width, .height = height};
    uint32_t v;
    int rc;

    if (n == 0 || n > 1u << 28)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "grid: %u x %u; expected 1 to 2^28 nodes", width,
                          height);
    if (edges > 0 && (edges < n - 1 || edges > all))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "grid: %llu edges; expected %llu, which connect it, "
                          "to %llu, all of a grid of %u x %u",
                          (unsigned long long)edges,
                          (unsigned long long)(n - 1), (unsigned long long)all,
                          width, height);
    if ((rc = graph_open(g, (uint32_t)n, err)) < 0)
        return rc;
    if ((l.has = calloc(n, 1)) == NULL) {
        hd_generate_graph_free(g);
        return hd_err_memory(err);
    }
    if (edges == 0 || edges == all) {
        for (v = 0; v < n; v++)
            l.has[v] = (uint8_t)(
                (lattice_end(&l, v, GRID_RIGHT) != v ? GRID_RIGHT : 0) |
                (lattice_end(&l, v, GRID_BELOW) != v ? GRID_BELOW : 0));
    } else if ((rc = roads(&l, (uint32_t)n, edges, seed, err)) < 0) {
        hd_generate_graph_free(g);
    }
    if (rc == 0)
        rc = lattice_rows(g, &l, err);
    free(l.has);
    return rc;
}

/* One R-MAT edge: a quadrant for each bit of the node numbers. */
static void rmat_edge(struct hd_rng *r, uint32_t scale, const uint64_t cut[3],
                      uint32_t *from, uint32_t *to)
{
    uint32_t i, u = 0, w = 0;

    for (i = 0; i < scale; i++) {
        uint64_t x = hd_rng_next(r) >> 32;
        uint32_t q = (x >= cut[0]) + (x >= cut[1]) + (x >= cut[2]);

        u = u << 1 | q >> 1;
        w = w << 1 | (q & 1);
    }
    *from = u;
    *to = w;
}

/*
 * One pass over the edges.  The first counts into start[v + 2] and drops an
 * edge when an end has `cap` already; the second repeats the same decisions
 * with `have`, which counts what has been kept so far.
 */
static void rmat_draw(struct hd_graph *g, const struct hd_rmat *r,
                      uint64_t seed, const int32_t *name, uint32_t *have,
                      bool fill)
{
    struct hd_rng draw = hd_rng_make(seed, STREAM_RMAT);
    const double two32 = 4294967296.0;
    uint64_t cut[3], i;

    cut[0] = (uint64_t)(r->a * two32);
    cut[1] = (uint64_t)((r->a + r->b) * two32);
    cut[2] = (uint64_t)((r->a + r->b + r->c) * two32);
    memset(have, 0, g->n * sizeof *have);
    for (i = 0; i < r->edges; i++) {
        uint32_t u, w;

        rmat_edge(&draw, r->scale, cut, &u, &w);
        if (name) {
            u = (uint32_t)name[u];
            w = (uint32_t)name[w];
        }
        if (r->cap && (have[u] >= r->cap || (r->both && have[w] >= r->cap)))
            continue;
        have[u]++;
        if (r->both)
            have[w]++;
        if (fill)
            place(g, u, w);
        if (fill && r->both)
            place(g, w, u);
    }
    if (!fill)
        memcpy(g->start + 2, have, g->n * sizeof *have);
}

static int rmat_check(const struct hd_rmat *r, struct hd_err *err)
{
    if (r->scale < 1 || r->scale > 28)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "rmat: scale %u; expected 1 to 28", r->scale);
    if (r->edges > INT32_MAX)
        return hd_err_set(err, HEDDLE_EINVAL, "rmat: more than 2^31 - 1 edges");
    if (!(r->a >= 0 && r->b >= 0 && r->c >= 0 && r->a + r->b + r->c <= 1))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "rmat: a, b, c must be 0 or more, their sum at "
                          "most 1");
    return 0;
}

int hd_generate_rmat(struct hd_graph *g, const struct hd_rmat *r, uint64_t seed,
                     struct hd_err *err)
{
    int32_t *name = NULL;
    uint32_t *have;
    int rc;

    if ((rc = rmat_check(r, err)) < 0)
        return rc;
    if ((rc = graph_open(g, 1u << r->scale, err)) < 0)
        return rc;
    have = malloc(g->n * sizeof *have);
    if (r->permute)
        name = malloc(g->n * sizeof *name);
    if (!have || (r->permute && !name)) {
        hd_generate_graph_free(g);
        rc = hd_err_memory(err);
    } else {
        if (name)
            hd_generate_permutation(name, g->n, seed);
        rmat_draw(g, r, seed, name, have, false);
        rc = graph_rows(g, err);
        if (rc == 0)
            rmat_draw(g, r, seed, name, have, true);
    }
    free(have);
    free(name);
    return rc;
}

void hd_generate_graph_free(struct hd_graph *g)
{
    free(g->start);
    free(g->edge);
    memset(g, 0, sizeof *g);
}

int hd_generate_levels(const struct hd_graph *g, uint32_t source,
                       int32_t *level, struct hd_err *err)
{
    int32_t *queue = malloc(g->n * sizeof *queue);
    uint32_t first = 0, last = 0, v;

    if (!queue)
        return hd_err_memory(err);
    for (v = 0; v < g->n; v++)
        level[v] = -1;
    level[source] = 0;
    queue[last++] = (int32_t)source;
    while (first < last) {
        int32_t e;

        v = (uint32_t)queue[first++];
        for (e = g->start[v]; e < g->start[v + 1]; e++) {
            int32_t w = g->edge[e];

            if (level[w] < 0) {
                level[w] = level[v] + 1;
                queue[last++] = w;
            }
        }
    }
    free(queue);
    return 0;
}

/* ---- plain random data ----------------------------------------------- */

void hd_generate_ints(int32_t *out, size_t n, int32_t lo, int32_t hi,
                      uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_INTS);
    uint64_t span = (uint64_t)((int64_t)hi - lo) + 1;
    size_t i;

    for (i = 0; i < n; i++)
        out[i] =
            (int32_t)(lo + (int64_t)((hd_rng_next(&r) >> 32) * span >> 32));
}

void hd_generate_floats(float *out, size_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_FLOATS);
    size_t i;

    for (i = 0; i < n; i++)
        out[i] = (float)(hd_rng_next(&r) >> 40) * (1.0f / 16777216.0f);
}

void hd_generate_permutation(int32_t *out, uint32_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_SHUFFLE);
    uint32_t i;

    for (i = 0; i < n; i++) {
        uint32_t j = hd_rng_below(&r, i + 1);

        if (j != i)
            out[i] = out[j];
        out[j] = (int32_t)i;
    }
}

void hd_generate_starts(uint64_t *out, size_t n, uint64_t step)
{
    uint64_t x = 1, k;
    size_t i;

    for (i = 0; i < n; i++) {
        out[i] = x;
        for (k = 0; k < step; k++)
            x = hd_generate_lfsr(x);
    }
}

/* ---- Zipf ------------------------------------------------------------ */

static const double LN2 = 0.693147180559945309417;

/* Natural logarithm of an integer x >= 1, by 2 atanh((m - 1) / (m + 1)). */
static double ln_of(uint32_t x)
{
    uint32_t e = hd_log2(x);
    double m = (double)x / (double)(1ull << e), z, z2, term, sum = 0;
    int k;

    if (m > 1.4142135623730951) {
        m *= 0.5;
        e++;
    }
    z = (m - 1) / (m + 1);
    z2 = z * z;
    term = z;
    for (k = 1; k <= 25; k += 2) {
        sum += term / k;
        term *= z2;
    }
    return 2 * sum + e * LN2;
}

/* e^-y for y >= 0; 0 where that is below 2^-62. */
static double exp_minus(double y)
{
    uint32_t k = y >= 62 * LN2 ? 62 : (uint32_t)(y / LN2);
    double r = -(y - k * LN2), term = 1, sum = 1;
    int i;

    if (k >= 62)
        return 0;
    for (i = 1; i <= 18; i++) {
        term *= r / i;
        sum += term;
    }
    return sum / (double)(1ull << k);
}

/* First rank whose running sum exceeds u. */
static uint32_t rank_of(const double *sum, uint32_t keys, double u)
{
    uint32_t lo = 0, hi = keys - 1;

    while (lo < hi) {
        uint32_t mid = lo + (hi - lo) / 2;

        if (sum[mid] > u)
            hi = mid;
        else
            lo = mid + 1;
    }
    return lo;
}

int hd_generate_zipf(int32_t *out, size_t n, uint32_t keys, double s,
                     uint64_t seed, struct hd_err *err)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_ZIPF);
    const double unit = 1.0 / 9007199254740992.0; /* 2^-53 */
    double *sum, total = 0;
    uint32_t k;
    size_t i;

    if (keys == 0 || keys > INT32_MAX || !(s >= 0 && s <= 8))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "zipf: %u keys, exponent %g; expected 1 to "
                          "2^31 - 1 keys and an exponent from 0 to 8",
                          keys, s);
    sum = malloc(keys * sizeof *sum);
    if (!sum)
        return hd_err_memory(err);
    for (k = 0; k < keys; k++) {
        total += exp_minus(s * ln_of(k + 1));
        sum[k] = total;
    }
    for (i = 0; i < n; i++) {
        double u = (double)(hd_rng_next(&r) >> 11) * unit * total;

        out[i] = (int32_t)rank_of(sum, keys, u);
    }
    free(sum);
    return 0;
}

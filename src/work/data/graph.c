/*
 * graph.c - seeded graphs in compressed rows.
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
 *
 * Every number is a hash of (seed, stream, count), see kit/rng.h, so that a
 * graph can be drawn twice, once to count and once to fill, and memory holds
 * nothing but the result.
 *
 * Left out: self-loops (but in the random graph) and double edges are not
 * removed; weights are drawn apart (heddle_generate_ints).
 *
 * SPDX-License-Identifier: MIT
 */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "kit/base.h"
#include "kit/rng.h"

/* Streams under one seed; each drawing has its own. */
enum {
    STREAM_GRAPH = 0x67726100,
    STREAM_RMAT = 0x67726101,
    STREAM_PAIRS = 0x67726106
};

/* ---- rows ---------------------------------------------------------------- */

/* A graph while it is made: its data's memory. */
struct graph {
    struct heddle_graph *out;
    uint32_t n;
    int32_t *start; /* [n + 2] */
    int32_t *edge;
};

/* Rows of n nodes, all of degree 0. */
static int open_rows(struct graph *g, uint32_t n, struct heddle_error *err)
{
    if (n == 0 || n > INT32_MAX - 2)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: %u nodes; expected 1 to 2^31 - 3", n);
    g->n = g->out->n = n;
    g->out->start = heddle_data_new(HEDDLE_I32, (uint64_t)n + 2);
    if (g->out->start == NULL)
        return hd_err_memory(err);
    g->out->start->count--; /* one more is needed on the way */
    g->start = g->out->start->mem;
    return 0;
}

/*
 * start[v + 2] holds the degree of v: turns it into rows, and leaves in
 * start[v + 1] where the next edge of v goes.  When every edge is placed,
 * start[v + 1] is the end of row v, which is what it must be.
 */
static int make_rows(struct graph *g, struct heddle_error *err)
{
    uint64_t m = 0;

    for (uint32_t v = 0; v < g->n; v++) {
        uint32_t degree = (uint32_t)g->start[v + 2];

        g->start[v + 1] = (int32_t)m;
        m += degree;
        if (m > INT32_MAX)
            return hd_err_set(err, HEDDLE_EINVAL,
                              "graph: more than 2^31 - 1 edges");
    }
    g->out->m = m;
    g->out->edges = heddle_data_new(HEDDLE_I32, m);
    if (g->out->edges == NULL)
        return hd_err_memory(err);
    g->edge = g->out->edges->mem;
    return 0;
}

static void graph_place(struct graph *g, uint32_t from, uint32_t to)
{
    g->edge[g->start[from + 1]++] = (int32_t)to;
}

/* Counts an edge of both nodes, or puts it into their lists. */
static void graph_join(struct graph *g, uint32_t v, uint32_t w, bool fill)
{
    if (fill) {
        graph_place(g, v, w);
        graph_place(g, w, v);
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

static void ring_take(struct graph *g, struct ring *r, bool fill)
{
    uint32_t v = r->from[r->out % AHEAD], w = r->to[r->out % AHEAD];

    r->out++;
    graph_join(g, v, w, fill);
}

static void ring_add(struct graph *g, struct ring *r, uint32_t v, uint32_t w,
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
static void uniform_draw(struct graph *g, const struct heddle_graph_spec *s,
                         bool fill)
{
    struct hd_rng r = hd_rng_make(s->seed, STREAM_GRAPH);
    struct ring ring = {.in = 0};
    uint32_t v, i;

    for (v = 0; v < g->n; v++) {
        uint32_t k = s->lo + hd_rng_below(&r, s->hi - s->lo + 1);

        for (i = 0; i < k; i++)
            ring_add(g, &ring, v, hd_rng_below(&r, g->n), fill);
    }
    while (ring.out != ring.in)
        ring_take(g, &ring, fill);
}

/* Counts the edges that `draw` draws, and places them. */
static int draw_twice(struct graph *g, const struct heddle_graph_spec *s,
                      void (*draw)(struct graph *g,
                                   const struct heddle_graph_spec *s,
                                   bool fill),
                      struct heddle_error *err)
{
    if (open_rows(g, s->n, err) < 0)
        return err->code;
    draw(g, s, false);
    if (make_rows(g, err) < 0)
        return err->code;
    draw(g, s, true);
    return 0;
}

static int uniform(struct graph *g, const struct heddle_graph_spec *s,
                   struct heddle_error *err)
{
    if (s->lo > s->hi || s->hi > 1u << 20)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: degree from %u to %u; expected "
                          "0 <= from <= to <= 2^20",
                          s->lo, s->hi);
    return draw_twice(g, s, uniform_draw, err);
}

/* Draws the edges of the random graph: counts them, or places them. */
static void random_draw(struct graph *g, const struct heddle_graph_spec *s,
                        bool fill)
{
    struct hd_rng r = hd_rng_make(s->seed, STREAM_PAIRS);

    for (uint64_t i = 0; i < s->edges; i++) {
        uint32_t v = hd_rng_below(&r, g->n);
        uint32_t w = hd_rng_below(&r, g->n - 1);

        w += w >= v;
        graph_join(g, v, w, fill);
    }
}

static int graph_by_number(const void *a, const void *b)
{
    int32_t x = *(const int32_t *)a, y = *(const int32_t *)b;

    return (x > y) - (x < y);
}

/* Sorts a row: by insertion where it is short, as most are. */
static void sort_row(int32_t *row, size_t count)
{
    size_t i, k;

    if (count > 32) {
        qsort(row, count, sizeof *row, graph_by_number);
        return;
    }
    for (i = 1; i < count; i++) {
        int32_t x = row[i];

        for (k = i; k > 0 && row[k - 1] > x; k--)
            row[k] = row[k - 1];
        row[k] = x;
    }
}

static int random_graph(struct graph *g, const struct heddle_graph_spec *s,
                        struct heddle_error *err)
{
    if (s->edges > INT32_MAX / 2)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: more than 2^31 - 1 edges");
    if (s->n < 2 && s->edges > 0)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "graph: edges between %u nodes; expected 2 or more",
                          s->n);
    if (draw_twice(g, s, random_draw, err) < 0)
        return err->code;
    for (uint32_t v = 0; v < g->n; v++)
        sort_row(g->edge + g->start[v],
                 (size_t)(g->start[v + 1] - g->start[v]));
    return 0;
}

/* ---- grids and roads ----------------------------------------------------- */

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
                 struct heddle_error *err)
{
    int32_t *order = malloc((size_t)n * 2 * sizeof *order);
    uint32_t *up = malloc((size_t)n * sizeof *up);
    uint32_t v;
    int rc = 0;

    if (order && up) {
        hd_generate_permute(order, 2 * n, seed);
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
static int lattice_rows(struct graph *g, const struct lattice *l,
                        struct heddle_error *err)
{
    uint32_t v;
    int edge, rc;

    for (v = 0; v < g->n; v++)
        for (edge = GRID_RIGHT; edge <= GRID_BELOW; edge++)
            if (l->has[v] & edge) {
                g->start[v + 2]++;
                g->start[lattice_end(l, v, edge) + 2]++;
            }
    if ((rc = make_rows(g, err)) < 0)
        return rc;
    for (v = 0; v < g->n; v++) {
        if (v >= l->width && l->has[v - l->width] & GRID_BELOW)
            graph_place(g, v, v - l->width);
        if (v % l->width > 0 && l->has[v - 1] & GRID_RIGHT)
            graph_place(g, v, v - 1);
        if (l->has[v] & GRID_RIGHT)
            graph_place(g, v, v + 1);
        if (l->has[v] & GRID_BELOW)
            graph_place(g, v, v + l->width);
    }
    return 0;
}

static int grid(struct graph *g, const struct heddle_graph_spec *s,
                struct heddle_error *err)
{
    uint64_t n = (uint64_t)s->width * s->height;
    uint64_t all = 2 * n - s->width - s->height;
    struct lattice l = {.width = s->width, .height = s->height};
    int rc = 0;

    if (n == 0 || n > 1u << 28)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "grid: %u x %u; expected 1 to 2^28 nodes", s->width,
                          s->height);
    if (s->edges > 0 && (s->edges < n - 1 || s->edges > all))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "grid: %llu edges; expected %llu, which connect it, "
                          "to %llu, all of a grid of %u x %u",
                          (unsigned long long)s->edges,
                          (unsigned long long)(n - 1), (unsigned long long)all,
                          s->width, s->height);
    if (open_rows(g, (uint32_t)n, err) < 0)
        return err->code;
    if ((l.has = calloc(n, 1)) == NULL)
        return hd_err_memory(err);
    if (s->edges == 0 || s->edges == all) {
        for (uint32_t v = 0; v < n; v++)
            l.has[v] =
                (uint8_t)((lattice_end(&l, v, GRID_RIGHT) != v ? GRID_RIGHT
                                                               : 0) |
                          (lattice_end(&l, v, GRID_BELOW) != v ? GRID_BELOW
                                                               : 0));
    } else {
        rc = roads(&l, (uint32_t)n, s->edges, s->seed, err);
    }
    if (rc == 0)
        rc = lattice_rows(g, &l, err);
    free(l.has);
    return rc;
}

/* ---- R-MAT --------------------------------------------------------------- */

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

/* An edge that has been drawn: an end is a node's number, or its place in the
 * list of numbers. */
struct rmat_pair {
    uint32_t from, to;
};

/* Counts an edge whose ends have fewer than `cap`, and places it. */
static void rmat_keep(struct graph *g, const struct heddle_graph_spec *r,
                      struct rmat_pair e, uint32_t *have, bool fill)
{
    uint32_t u = e.from, w = e.to;

    if (r->cap && (have[u] >= r->cap || (r->both && have[w] >= r->cap)))
        return;
    have[u]++;
    if (r->both)
        have[w]++;
    if (fill)
        graph_place(g, u, w);
    if (fill && r->both)
        graph_place(g, w, u);
}

/* Edges that have been drawn, in their order.  All that an edge looks up is
 * anywhere, so it is fetched for many edges before it is used for the first. */
static void rmat_take(struct graph *g, const struct heddle_graph_spec *r,
                      const int32_t *name, struct rmat_pair *e, uint32_t n,
                      uint32_t *have, bool fill)
{
    uint32_t i;

    for (i = 0; i < n; i++) {
        if (name != NULL) {
            e[i].from = (uint32_t)name[e[i].from];
            e[i].to = (uint32_t)name[e[i].to];
        }
        HD_PREFETCH(&have[e[i].from]);
        HD_PREFETCH(&have[e[i].to]);
        HD_PREFETCH(&g->start[e[i].from + 1]);
        HD_PREFETCH(&g->start[e[i].to + 1]);
    }
    for (i = 0; i < n && fill; i++) {
        HD_PREFETCH(&g->edge[g->start[e[i].from + 1]]);
        HD_PREFETCH(&g->edge[g->start[e[i].to + 1]]);
    }
    for (i = 0; i < n; i++)
        rmat_keep(g, r, e[i], have, fill);
}

/*
 * One pass over the edges.  The first counts into start[v + 2] and drops an
 * edge when an end has `cap` already; the second repeats the same decisions
 * with `have`, which counts what has been kept so far.
 */
static void rmat_draw(struct graph *g, const struct heddle_graph_spec *r,
                      const int32_t *name, uint32_t *have, bool fill)
{
    struct hd_rng draw = hd_rng_make(r->seed, STREAM_RMAT);
    const double two32 = 4294967296.0;
    struct rmat_pair e[AHEAD];
    uint64_t cut[3];

    cut[0] = (uint64_t)(r->a * two32);
    cut[1] = (uint64_t)((r->a + r->b) * two32);
    cut[2] = (uint64_t)((r->a + r->b + r->c) * two32);
    memset(have, 0, g->n * sizeof *have);
    for (uint64_t i = 0; i < r->edges; i += AHEAD) {
        uint32_t n = r->edges - i < AHEAD ? (uint32_t)(r->edges - i) : AHEAD;

        for (uint32_t k = 0; k < n; k++) {
            rmat_edge(&draw, r->scale, cut, &e[k].from, &e[k].to);
            if (name == NULL)
                continue;
            HD_PREFETCH(&name[e[k].from]);
            HD_PREFETCH(&name[e[k].to]);
        }
        rmat_take(g, r, name, e, n, have, fill);
    }
    if (!fill)
        memcpy(g->start + 2, have, g->n * sizeof *have);
}

static int rmat_check(const struct heddle_graph_spec *r,
                      struct heddle_error *err)
{
    if (r->scale < 1 || r->scale > 28)
        return hd_err_set(err, HEDDLE_EINVAL,
                          "rmat: scale %u; expected 1 to 28", r->scale);
    if (r->edges > INT32_MAX)
        return hd_err_set(err, HEDDLE_EINVAL, "rmat: more than 2^31 - 1 edges");
    if (!(r->a >= 0 && r->b >= 0 && r->c >= 0 && r->a + r->b + r->c <= 1))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "rmat: a = %g, b = %g, c = %g; each 0 or more and "
                          "their sum at most 1 are expected",
                          r->a, r->b, r->c);
    return 0;
}

static int rmat(struct graph *g, const struct heddle_graph_spec *s,
                struct heddle_error *err)
{
    int32_t *name = NULL;
    uint32_t *have;
    int rc;

    if (rmat_check(s, err) < 0 || open_rows(g, 1u << s->scale, err) < 0)
        return err->code;
    have = malloc(g->n * sizeof *have);
    if (s->permute)
        name = malloc(g->n * sizeof *name);
    if (have == NULL || (s->permute && name == NULL)) {
        rc = hd_err_memory(err);
    } else {
        if (name != NULL)
            hd_generate_permute(name, g->n, s->seed);
        rmat_draw(g, s, name, have, false);
        rc = make_rows(g, err);
        if (rc == 0)
            rmat_draw(g, s, name, have, true);
    }
    free(have);
    free(name);
    return rc;
}

/* ---- the interface ------------------------------------------------------- */

static int graph_draw(struct graph *g, const struct heddle_graph_spec *s,
                      struct heddle_error *err)
{
    switch (s->kind) {
    case HEDDLE_GRAPH_UNIFORM:
        return uniform(g, s, err);
    case HEDDLE_GRAPH_RANDOM:
        return random_graph(g, s, err);
    case HEDDLE_GRAPH_RMAT:
        return rmat(g, s, err);
    case HEDDLE_GRAPH_GRID:
        return grid(g, s, err);
    }
    return hd_err_set(err, HEDDLE_EINVAL, "graph: no such kind (%d)",
                      (int)s->kind);
}

/* Start and degree of each node. */
static int add_nodes(struct graph *g, struct heddle_error *err)
{
    heddle_data *d = heddle_data_new(HEDDLE_I32, (uint64_t)g->n * 2);
    int32_t *at;

    if (d == NULL)
        return hd_err_memory(err);
    at = d->mem;
    for (uint32_t v = 0; v < g->n; v++) {
        *at++ = g->start[v];
        *at++ = g->start[v + 1] - g->start[v];
    }
    g->out->nodes = d;
    return 0;
}

int heddle_generate_graph(const struct heddle_graph_spec *spec,
                          struct heddle_graph *out, char *error, size_t room)
{
    struct graph g = {.out = out};
    struct heddle_error err = {0};

    memset(out, 0, sizeof *out);
    if (graph_draw(&g, spec, &err) == 0 && add_nodes(&g, &err) == 0)
        return 0;
    heddle_graph_free(out);
    return hd_err_tell(&err, error, room);
}

void heddle_graph_free(struct heddle_graph *g)
{
    heddle_data_free(g->start);
    heddle_data_free(g->nodes);
    heddle_data_free(g->edges);
    memset(g, 0, sizeof *g);
}

/* The level of each node; queue: [n]. */
static void find_levels(const struct heddle_graph *g, uint32_t source,
                        int32_t *level, int32_t *queue)
{
    const int32_t *start = g->start->mem, *edge = g->edges->mem;
    uint32_t first = 0, last = 0;

    memset(level, -1, g->n * sizeof *level);
    level[source] = 0;
    queue[last++] = (int32_t)source;
    while (first < last) {
        int32_t v = queue[first++];

        for (int32_t e = start[v]; e < start[v + 1]; e++) {
            int32_t w = edge[e];

            if (level[w] < 0) {
                level[w] = level[v] + 1;
                queue[last++] = w;
            }
        }
    }
}

heddle_data *heddle_generate_levels(const struct heddle_graph *g,
                                    uint32_t source, char *error, size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = NULL;
    int32_t *queue = NULL;

    if (source >= g->n)
        hd_err_set(&err, HEDDLE_EINVAL, "levels: source %u of %u nodes", source,
                   g->n);
    else
        d = hd_generate_array(HEDDLE_I32, g->n, "levels", &err);
    if (d != NULL && (queue = malloc(g->n * sizeof *queue)) == NULL)
        hd_err_memory(&err);
    if (queue != NULL)
        find_levels(g, source, d->mem, queue);
    free(queue);
    return hd_generate_give(d, &err, error, room);
}

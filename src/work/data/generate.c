/*
 * generate.c - seeded data for buffers: plain numbers, popular keys, points,
 * a hash table, a mesh.  (Graphs: graph.c; genomes: genome.c.)
 *
 * Every number is a hash of (seed, stream, count), see kit/rng.h.  Sizes are
 * checked first, so that a typing error is reported instead of filling the
 * memory; on an error nothing is left behind.
 *
 *   Zipf        popularity of keys; ranks by binary search in the running sum.
 *               The powers that it needs are computed here with + - * / alone,
 *               since libm's last bit differs between systems.
 *   starts      HPCC RandomAccess: x -> 2x xor (7 if the top bit was set).
 *   clusters    n points, uniform in the unit cube of dim dimensions (as the
 *               stream of Rodinia's streamcluster makes them), coordinates
 *               dimension by dimension; k of them, chosen at random, are
 *               centres; every point belongs to the nearest one (of equals the
 *               first), at a cost of the squared distance.  Sums go over the
 *               dimensions in order, in single precision without contraction:
 *               what a kernel computes from the same coordinates is the same
 *               to the bit.
 *   memcached   the table of MemcachedGPU (Hetherington, O'Connor, Aamodt,
 *               SoCC 2015): 2^h entries of 168 bytes in sets of 16.  Keys are
 *               numbered by popularity; where a set would have more than 16,
 *               the 16 most popular are there, as LRU would have it.  They
 *               came in random order, each into the next way of its set, so
 *               that the popularity of a key says nothing about its way.
 *
 * The words of an entry that are set: 3 valid (1), 4 the key's 8-bit hash, 5
 * its length (16), 6 the length of the packet (56), 7 its number, which stands
 * for the first word of the key.  The rest is 0.
 *
 * Memory: the result, the coordinates of the centres, and 5 bytes a key.
 *
 * The meshes that Rodinia's cfd reads are not to be had.  Their shape is: each
 * element is a tetrahedron with four faces, each shared with one other element
 * or on the boundary.  Such a mesh is made exactly, without a file: nx x ny x
 * nz cubes, each cut into six tetrahedra (Kuhn's subdivision), one for each
 * order (a, b, d) of the three axes: the path from the cube's lowest corner
 * to its highest that goes along a, then b, then d.  Element (c, (a, b, d)) has
 * as its neighbours
 *
 *     face 0   the same cube, (b, a, d)
 *     face 1   the same cube, (a, d, b)
 *     face 2   the next cube along a, (b, d, a)
 *     face 3   the cube before along d, (d, a, b)
 *
 * and -2 where that cube does not exist.  So faces 0 and 1 are mutual, and
 * faces 2 and 3 are each other's.
 *
 * Elements are numbered cube by cube, x fastest, orders in lexicographic
 * order.  Files are numbered as a mesh generator went along, near but not
 * that near: `window` shuffles the numbers inside runs of that many elements
 * (1: none).  Elements are padded to a multiple by copies of the last, as cfd
 * does itself.
 *
 * Memory: the result and 4 bytes an element.
 *
 * SPDX-License-Identifier: MIT
 */
#include "generate.h"

#include <stdlib.h>
#include <string.h>

#include "kit/base.h"
#include "kit/bits.h"
#include "kit/rng.h"

/* Streams under one seed; each drawing has its own. */
enum {
    STREAM_SHUFFLE = 0x67726102,
    STREAM_INTS,
    STREAM_FLOATS,
    STREAM_ZIPF,
    STREAM_CENTRES = 0x70747300,
    STREAM_WINDOWS = 0x6d736800
};

heddle_data *hd_generate_array(enum heddle_type type, uint64_t n,
                               const char *what, struct heddle_error *err)
{
    heddle_data *d;

    if (n == 0 || n >= HD_GENERATE_MOST) {
        hd_err_set(err, HEDDLE_EINVAL,
                   "%s: %llu elements; expected 1 to 2^31 - 1", what,
                   (unsigned long long)n);
        return NULL;
    }
    d = heddle_data_new(type, n);
    return d != NULL ? d : hd_err_no_memory(err);
}

heddle_data *hd_generate_give(heddle_data *d, const struct heddle_error *err,
                              char *error, size_t room)
{
    if (err->code == 0)
        return d;
    heddle_data_free(d);
    hd_err_tell(err, error, room);
    return NULL;
}

/* ---- plain random data --------------------------------------------------- */

heddle_data *heddle_generate_ints(uint64_t n, int32_t lo, int32_t hi,
                                  uint64_t seed, char *error, size_t room)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_INTS);
    uint64_t span = (uint64_t)((int64_t)hi - lo) + 1;
    struct heddle_error err = {0};
    heddle_data *d = NULL;
    int32_t *out;

    if (lo > hi)
        hd_err_set(&err, HEDDLE_EINVAL,
                   "ints: from %d to %d; expected from <= to", (int)lo,
                   (int)hi);
    else
        d = hd_generate_array(HEDDLE_I32, n, "ints", &err);
    if (d != NULL) {
        out = d->mem;
        for (uint64_t i = 0; i < n; i++)
            out[i] =
                (int32_t)(lo + (int64_t)((hd_rng_next(&r) >> 32) * span >> 32));
    }
    return hd_generate_give(d, &err, error, room);
}

/* out[i] uniform in [0, 1), a multiple of 2^-24. */
static void draw_floats(float *out, size_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_FLOATS);

    for (size_t i = 0; i < n; i++)
        out[i] = (float)(hd_rng_next(&r) >> 40) * (1.0f / 16777216.0f);
}

heddle_data *heddle_generate_floats(uint64_t n, uint64_t seed, char *error,
                                    size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = hd_generate_array(HEDDLE_F32, n, "floats", &err);

    if (d != NULL)
        draw_floats(d->mem, n, seed);
    return hd_generate_give(d, &err, error, room);
}

/* Adds `first`, .. to those before, n of them: out[0 .. n) is a permutation. */
static void shuffle(int32_t *out, uint32_t n, uint32_t first, struct hd_rng *r)
{
    for (uint32_t i = 0; i < n; i++) {
        uint32_t j = hd_rng_below(r, i + 1);

        if (j != i)
            out[i] = out[j];
        out[j] = (int32_t)(first + i);
    }
}

void hd_generate_permute(int32_t *out, uint32_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_SHUFFLE);

    shuffle(out, n, 0, &r);
}

heddle_data *heddle_generate_permutation(uint64_t n, uint64_t seed, char *error,
                                         size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = hd_generate_array(HEDDLE_I32, n, "permutation", &err);

    if (d != NULL)
        hd_generate_permute(d->mem, (uint32_t)n, seed);
    return hd_generate_give(d, &err, error, room);
}

heddle_data *heddle_generate_starts(uint64_t n, uint64_t step, char *error,
                                    size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = NULL;
    uint64_t x = 1, *out;

    if (step > (UINT64_C(1) << 34) / (n ? n : 1))
        hd_err_set(&err, HEDDLE_EINVAL,
                   "starts: %llu x %llu steps; expected 2^34 at most",
                   (unsigned long long)n, (unsigned long long)step);
    else
        d = hd_generate_array(HEDDLE_I64, n, "starts", &err);
    if (d != NULL) {
        out = d->mem;
        for (uint64_t i = 0; i < n; i++) {
            out[i] = x;
            for (uint64_t k = 0; k < step; k++)
                x = x << 1 ^ (x >> 63 ? 7u : 0u);
        }
    }
    return hd_generate_give(d, &err, error, room);
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
static uint32_t zipf_rank(const double *sum, uint32_t keys, double u)
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

static int draw_zipf(int32_t *out, uint64_t n, uint32_t keys, double s,
                     uint64_t seed, struct heddle_error *err)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_ZIPF);
    const double unit = 1.0 / 9007199254740992.0; /* 2^-53 */
    double *sum, total = 0;

    if (keys == 0 || keys > INT32_MAX || !(s >= 0 && s <= 8))
        return hd_err_set(err, HEDDLE_EINVAL,
                          "zipf: %u keys, exponent %g; expected 1 to "
                          "2^31 - 1 keys and an exponent from 0 to 8",
                          keys, s);
    sum = malloc(keys * sizeof *sum);
    if (sum == NULL)
        return hd_err_memory(err);
    for (uint32_t k = 0; k < keys; k++) {
        total += exp_minus(s * ln_of(k + 1));
        sum[k] = total;
    }
    for (uint64_t i = 0; i < n; i++) {
        double u = (double)(hd_rng_next(&r) >> 11) * unit * total;

        out[i] = (int32_t)zipf_rank(sum, keys, u);
    }
    free(sum);
    return 0;
}

heddle_data *heddle_generate_zipf(uint64_t n, uint64_t keys, double s,
                                  uint64_t seed, char *error, size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = hd_generate_array(HEDDLE_I32, n, "zipf", &err);

    if (d != NULL)
        draw_zipf(d->mem, n, (uint32_t)hd_min_u64(keys, UINT32_MAX), s, seed,
                  &err);
    return hd_generate_give(d, &err, error, room);
}

/* ---- clusters ------------------------------------------------------------ */

enum { BLOCK = 256 };

struct points {
    uint32_t n, dim, k;
    float *coord;     /* [dim][n] */
    int32_t *nearest; /* [n] */
    float *cost;      /* [n] */
};

/* k different numbers below n, in the order of drawing. */
static void choose_centres(int32_t *centre, uint32_t k, uint32_t n,
                           uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_CENTRES);
    uint32_t have = 0, i;

    while (have < k) {
        uint32_t c = hd_rng_below(&r, n);

        for (i = 0; i < have && centre[i] != (int32_t)c; i++)
            ;
        if (i == have)
            centre[have++] = (int32_t)c;
    }
}

/* The nearest of k centres for points first .. first+m-1, m <= BLOCK; `at` has
 * the centres' coordinates, dimension by dimension. */
static void nearest(struct points *c, const float *at, uint32_t first,
                    uint32_t m)
{
    float sum[BLOCK];
    uint32_t j, d, i;

    for (j = 0; j < c->k; j++) {
        memset(sum, 0, sizeof sum);
        for (d = 0; d < c->dim; d++) {
            const float *x = c->coord + (size_t)d * c->n + first;
            float centre = at[(size_t)d * c->k + j];

            for (i = 0; i < m; i++) {
                float diff = x[i] - centre;

                sum[i] += diff * diff;
            }
        }
        for (i = 0; i < m; i++)
            if (j == 0 || sum[i] < c->cost[first + i]) {
                c->cost[first + i] = sum[i];
                c->nearest[first + i] = (int32_t)j;
            }
    }
}

static int fill_clusters(struct points *p, uint64_t seed,
                         struct heddle_clusters *c, struct heddle_error *err)
{
    float *at = malloc(sizeof *at * p->k * p->dim);
    uint32_t j, d, first;

    c->coords = heddle_data_new(HEDDLE_F32, (uint64_t)p->n * p->dim);
    c->centre = heddle_data_new(HEDDLE_I32, p->k);
    c->nearest = heddle_data_new(HEDDLE_I32, p->n);
    c->cost = heddle_data_new(HEDDLE_F32, p->n);
    if (at == NULL || !c->coords || !c->centre || !c->nearest || !c->cost) {
        free(at);
        return hd_err_memory(err);
    }
    int32_t *centre = c->centre->mem;
    p->coord = c->coords->mem;
    p->nearest = c->nearest->mem;
    p->cost = c->cost->mem;
    draw_floats(p->coord, (size_t)p->n * p->dim, seed);
    choose_centres(centre, p->k, p->n, seed);
    for (d = 0; d < p->dim; d++)
        for (j = 0; j < p->k; j++)
            at[(size_t)d * p->k + j] = p->coord[(size_t)d * p->n + centre[j]];
    for (first = 0; first < p->n; first += BLOCK)
        nearest(p, at, first, p->n - first < BLOCK ? p->n - first : BLOCK);
    free(at);
    return 0;
}

int heddle_generate_clusters(uint32_t n, uint32_t dim, uint32_t k,
                             uint64_t seed, struct heddle_clusters *c,
                             char *error, size_t room)
{
    struct points p = {.n = n, .dim = dim, .k = k};
    struct heddle_error err = {0};
    int rc;

    memset(c, 0, sizeof *c);
    if (n == 0 || dim == 0 || (uint64_t)n * dim >= HD_GENERATE_MOST || k == 0 ||
        k > n || k > 4096)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "clusters: %u points of %u dimensions, %u centres; "
                        "expected 1 to 2^31 - 1 coordinates and 1 to 4096 "
                        "centres, no more than points",
                        n, dim, k);
    else
        rc = fill_clusters(&p, seed, c, &err);
    if (rc < 0) {
        heddle_clusters_free(c);
        hd_err_tell(&err, error, room);
    }
    return rc;
}

void heddle_clusters_free(struct heddle_clusters *c)
{
    heddle_data_free(c->coords);
    heddle_data_free(c->centre);
    heddle_data_free(c->nearest);
    heddle_data_free(c->cost);
    memset(c, 0, sizeof *c);
}

/* ---- memcached ----------------------------------------------------------- */

enum { WAYS = 16, WORDS = 42 }; /* of a set, of an entry */

static uint32_t table_set(uint32_t key, uint32_t sets)
{
    return (uint32_t)hd_mix64(key) & (sets - 1);
}

/* Marks the keys that a set has room for: its 16 lowest. */
static void table_keep(uint8_t *kept, uint8_t *fill, uint32_t keys,
                       uint32_t sets)
{
    uint32_t key;

    for (key = 0; key < keys; key++) {
        uint32_t set = table_set(key, sets);

        kept[key] = fill[set] < WAYS;
        fill[set] += kept[key];
    }
    memset(fill, 0, sets);
}

/* Gives a key the next way of its set. */
static void insert(uint32_t *table, uint8_t *fill, uint32_t key, uint32_t sets)
{
    uint32_t set = table_set(key, sets);
    uint32_t *entry = table + ((size_t)set * WAYS + fill[set]++) * WORDS;

    entry[3] = 1;
    entry[4] = (uint32_t)(hd_mix64(key) >> 56);
    entry[5] = 16;
    entry[6] = 56;
    entry[7] = key;
}

static void fill_memcached(uint32_t *table, uint32_t h, uint32_t keys,
                           uint64_t seed, struct heddle_error *err)
{
    uint32_t sets = (1u << h) / WAYS, i;
    int32_t *order = malloc(sizeof *order * (keys ? keys : 1));
    uint8_t *fill = calloc(sets, 1), *kept = malloc(keys ? keys : 1);

    if (order != NULL && fill != NULL && kept != NULL) {
        table_keep(kept, fill, keys, sets);
        hd_generate_permute(order, keys, seed);
        for (i = 0; i < keys; i++)
            if (kept[order[i]])
                insert(table, fill, (uint32_t)order[i], sets);
    } else {
        hd_err_memory(err);
    }
    free(order);
    free(fill);
    free(kept);
}

heddle_data *heddle_generate_memcached(uint32_t h, uint64_t keys, uint64_t seed,
                                       char *error, size_t room)
{
    struct heddle_error err = {0};
    heddle_data *d = NULL;

    if (h < 4 || h > 25 || keys >= HD_GENERATE_MOST)
        hd_err_set(&err, HEDDLE_EINVAL,
                   "memcached: 2^%u entries, %llu keys; expected 2^4 to 2^25 "
                   "entries and at most 2^31 - 1 keys",
                   h, (unsigned long long)keys);
    else
        d = hd_generate_array(HEDDLE_U32, (uint64_t)WORDS << h, "memcached",
                              &err);
    if (d != NULL)
        fill_memcached(d->mem, h, (uint32_t)keys, seed, &err);
    return hd_generate_give(d, &err, error, room);
}

/* ---- mesh ---------------------------------------------------------------- */

enum { TETS = 6, FACES = 4, OUTSIDE = -2 }; /* of a cube, of an element */

struct mesh {
    uint32_t size[3]; /* cubes in x, y, z */
    uint32_t n;       /* elements: six a cube */
    uint32_t padded;  /* elements with padding, >= n */
};

/* Orders of the axes, in lexicographic order. */
static const uint8_t ORDER[TETS][3] = {
    {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
};

/* The number of an order: two a first axis, and which of the other two is
 * second. */
static uint32_t order_of(uint32_t a, uint32_t b, uint32_t d)
{
    return 2 * a + (b > d);
}

/* Natural number of the element with that order in the cube one step along
 * `axis` from c (step 0: in c), or OUTSIDE. */
static int64_t neighbour(const struct mesh *m, const uint32_t c[3],
                         uint32_t axis, int step, uint32_t rank)
{
    int64_t at[3] = {c[0], c[1], c[2]};

    at[axis] += step;
    if (at[axis] < 0 || at[axis] >= (int64_t)m->size[axis])
        return OUTSIDE;
    return TETS * (at[0] + m->size[0] * (at[1] + m->size[1] * at[2])) + rank;
}

/* The four neighbours, in natural numbers, of order k in cube c. */
static void neighbours(const struct mesh *m, const uint32_t c[3], uint32_t k,
                       int64_t to[FACES])
{
    uint32_t a = ORDER[k][0], b = ORDER[k][1], d = ORDER[k][2];

    to[0] = neighbour(m, c, a, 0, order_of(b, a, d));
    to[1] = neighbour(m, c, a, 0, order_of(a, d, b));
    to[2] = neighbour(m, c, a, 1, order_of(b, d, a));
    to[3] = neighbour(m, c, d, -1, order_of(d, a, b));
}

static void fill_cube(const struct mesh *m, const uint32_t c[3],
                      const int32_t *id, int32_t *out)
{
    int64_t to[FACES];
    uint32_t k, face;

    for (k = 0; k < TETS; k++) {
        int64_t self = neighbour(m, c, 0, 0, k);

        neighbours(m, c, k, to);
        for (face = 0; face < FACES; face++)
            out[(size_t)face * m->padded + (size_t)id[self]] =
                to[face] < 0 ? OUTSIDE : id[to[face]];
    }
}

static void fill_mesh(int32_t *out, const struct mesh *m, uint32_t window,
                      uint64_t seed, struct heddle_error *err)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_WINDOWS);
    int32_t *id = malloc(m->n * sizeof *id); /* [natural]: the number */
    uint32_t c[3], face, i;

    if (id == NULL) {
        hd_err_memory(err);
        return;
    }
    for (uint64_t first = 0; first < m->n; first += window)
        shuffle(id + first, (uint32_t)hd_min_u64(m->n - first, window),
                (uint32_t)first, &r);
    for (c[2] = 0; c[2] < m->size[2]; c[2]++)
        for (c[1] = 0; c[1] < m->size[1]; c[1]++)
            for (c[0] = 0; c[0] < m->size[0]; c[0]++)
                fill_cube(m, c, id, out);
    free(id);
    for (face = 0; face < FACES; face++) {
        int32_t *row = out + (size_t)face * m->padded;

        for (i = m->n; i < m->padded; i++)
            row[i] = row[m->n - 1];
    }
}

/* Elements and padding of a mesh; 0 where the spec is no mesh. */
static uint64_t mesh_of(const struct heddle_mesh_spec *spec, struct mesh *m)
{
    const uint64_t most = HD_GENERATE_MOST / FACES;
    const uint32_t size[3] = {spec->nx, spec->ny, spec->nz};
    uint64_t n = TETS;
    int i;

    for (i = 0; i < 3; i++) {
        if (size[i] == 0 || size[i] >= most || n * size[i] >= most)
            return 0;
        n *= size[i];
        m->size[i] = size[i];
    }
    if (spec->window == 0 || spec->multiple == 0)
        return 0;
    m->n = (uint32_t)n;
    n = (n + spec->multiple - 1) / spec->multiple * spec->multiple;
    m->padded = (uint32_t)n;
    return n < most ? n : 0;
}

heddle_data *heddle_generate_mesh(const struct heddle_mesh_spec *spec,
                                  char *error, size_t room)
{
    struct heddle_error err = {0};
    struct mesh m = {0};
    uint64_t n = mesh_of(spec, &m);
    heddle_data *d = NULL;

    if (n == 0)
        hd_err_set(&err, HEDDLE_EINVAL,
                   "mesh: %u x %u x %u cubes, window %u, multiple %u; expected "
                   "at least 1 of each and fewer than 2^29 elements",
                   spec->nx, spec->ny, spec->nz, spec->window, spec->multiple);
    else
        d = hd_generate_array(HEDDLE_I32, FACES * n, "mesh", &err);
    if (d != NULL)
        fill_mesh(d->mem, &m, spec->window, spec->seed, &err);
    return hd_generate_give(d, &err, error, room);
}

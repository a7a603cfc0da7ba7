/*
 * generate-points.c - seeded inputs that are more than a list of numbers:
 * points around cluster centres, and a filled hash table.
 *
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
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "../base/rng.h"
#include "generate.h"

enum { STREAM_CENTRES = 0x70747300, BLOCK = 256 };

/* ---- clusters ------------------------------------------------------------ */

/* k different numbers below n, in the order of drawing. */
static void choose(uint32_t *centre, uint32_t k, uint32_t n, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_CENTRES);
    uint32_t have = 0, i;

    while (have < k) {
        uint32_t c = hd_rng_below(&r, n);

        for (i = 0; i < have && centre[i] != c; i++)
            ;
        if (i == have)
            centre[have++] = c;
    }
}

/* The nearest of k centres for points first .. first+m-1, m <= BLOCK; `at` has
 * the centres' coordinates, dimension by dimension. */
static void nearest(struct hd_clusters *c, const float *at, uint32_t first,
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

int hd_generate_clusters(struct hd_clusters *c, uint64_t seed,
                         struct hd_err *err)
{
    uint32_t *centre = (uint32_t *)c->centre;
    float *at = malloc(sizeof *at * c->k * c->dim);
    uint32_t j, d, first;

    if (at == NULL)
        return hd_err_memory(err);
    hd_generate_floats(c->coord, (size_t)c->n * c->dim, seed);
    choose(centre, c->k, c->n, seed);
    for (d = 0; d < c->dim; d++)
        for (j = 0; j < c->k; j++)
            at[(size_t)d * c->k + j] = c->coord[(size_t)d * c->n + centre[j]];
    for (first = 0; first < c->n; first += BLOCK)
        nearest(c, at, first, c->n - first < BLOCK ? c->n - first : BLOCK);
    free(at);
    return 0;
}

/* ---- memcached ----------------------------------------------------------- */

enum { WAYS = HD_MEMC_WAYS, WORDS = HD_MEMC_WORDS };

static uint32_t set_of(uint32_t key, uint32_t sets)
{
    return (uint32_t)hd_mix64(key) & (sets - 1);
}

/* Marks the keys that a set has room for: its 16 lowest. */
static void keep(uint8_t *kept, uint8_t *fill, uint32_t keys, uint32_t sets)
{
    uint32_t key;

    for (key = 0; key < keys; key++) {
        uint32_t set = set_of(key, sets);

        kept[key] = fill[set] < WAYS;
        fill[set] += kept[key];
    }
    memset(fill, 0, sets);
}

/* Gives a key the next way of its set. */
static void insert(uint32_t *table, uint8_t *fill, uint32_t key, uint32_t sets)
{
    uint32_t set = set_of(key, sets);
    uint32_t *entry = table + ((size_t)set * WAYS + fill[set]++) * WORDS;

    entry[3] = 1;
    entry[4] = (uint32_t)(hd_mix64(key) >> 56);
    entry[5] = 16;
    entry[6] = 56;
    entry[7] = key;
}

int hd_generate_memcached(uint32_t *table, uint32_t h, uint32_t keys,
                          uint64_t seed, struct hd_err *err)
{
    uint32_t sets = (1u << h) / WAYS, i;
    int32_t *order = malloc(sizeof *order * (keys ? keys : 1));
    uint8_t *fill = calloc(sets, 1), *kept = malloc(keys ? keys : 1);
    int rc = 0;

    if (order != NULL && fill != NULL && kept != NULL) {
        keep(kept, fill, keys, sets);
        hd_generate_permutation(order, keys, seed);
        for (i = 0; i < keys; i++)
            if (kept[order[i]])
                insert(table, fill, (uint32_t)order[i], sets);
    } else
        rc = hd_err_memory(err);
    free(order);
    free(fill);
    free(kept);
    return rc;
}

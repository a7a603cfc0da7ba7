/*
 * generate-mesh.c - a mesh of tetrahedra, as lists of neighbours.
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
#include <stdlib.h>

#include "../base/rng.h"
#include "generate.h"

enum { STREAM_WINDOWS = 0x6d736800, OUTSIDE = -2 };

/* Orders of the axes, in lexicographic order. */
static const uint8_t ORDER[HD_MESH_TETS][3] = {
    {0, 1, 2}, {0, 2, 1}, {1, 0, 2}, {1, 2, 0}, {2, 0, 1}, {2, 1, 0},
};

/* The number of an order: two a first axis, and which of the other two is
 * second. */
static uint32_t rank_of(uint32_t a, uint32_t b, uint32_t d)
{
    return 2 * a + (b > d);
}

/* Numbers shuffled inside windows: id[natural] = new. */
static void shuffle(int32_t *id, uint32_t n, uint32_t window, uint64_t seed)
{
    struct hd_rng r = hd_rng_make(seed, STREAM_WINDOWS);
    uint32_t first, i;

    for (first = 0; first < n; first += window) {
        uint32_t size = n - first < window ? n - first : window;

        for (i = 0; i < size; i++) {
            uint32_t j = hd_rng_below(&r, i + 1);

            if (j != i)
                id[first + i] = id[first + j];
            id[first + j] = (int32_t)(first + i);
        }
        if (n - first <= window)
            break;
    }
}

/* Natural number of the element with that order in the cube one step along
 * `axis` from c (step 0: in c), or OUTSIDE. */
static int64_t beside(const struct hd_mesh *m, const uint32_t c[3],
                      uint32_t axis, int step, uint32_t rank)
{
    int64_t at[3] = {c[0], c[1], c[2]};

    at[axis] += step;
    if (at[axis] < 0 || at[axis] >= (int64_t)m->size[axis])
        return OUTSIDE;
    return HD_MESH_TETS * (at[0] + m->size[0] * (at[1] + m->size[1] * at[2])) +
           rank;
}

/* The four neighbours, in natural numbers, of order k in cube c. */
static void neighbours(const struct hd_mesh *m, const uint32_t c[3], uint32_t k,
                       int64_t to[HD_MESH_FACES])
{
    uint32_t a = ORDER[k][0], b = ORDER[k][1], d = ORDER[k][2];

    to[0] = beside(m, c, a, 0, rank_of(b, a, d));
    to[1] = beside(m, c, a, 0, rank_of(a, d, b));
    to[2] = beside(m, c, a, 1, rank_of(b, d, a));
    to[3] = beside(m, c, d, -1, rank_of(d, a, b));
}

static void fill_cube(const struct hd_mesh *m, const uint32_t c[3],
                      const int32_t *id, int32_t *out)
{
    int64_t to[HD_MESH_FACES];
    uint32_t k, face;

    for (k = 0; k < HD_MESH_TETS; k++) {
        int64_t self = beside(m, c, 0, 0, k);

        neighbours(m, c, k, to);
        for (face = 0; face < HD_MESH_FACES; face++)
            out[(size_t)face * m->padded + (size_t)id[self]] =
                to[face] < 0 ? OUTSIDE : id[to[face]];
    }
}

int hd_generate_mesh(int32_t *out, const struct hd_mesh *m, uint64_t seed,
                     struct hd_err *err)
{
    int32_t *id = malloc(m->n * sizeof *id);
    uint32_t c[3], face, i;

    if (!id)
        return hd_err_memory(err);
    shuffle(id, m->n, m->window, seed);
    for (c[2] = 0; c[2] < m->size[2]; c[2]++)
        for (c[1] = 0; c[1] < m->size[1]; c[1]++)
            for (c[0] = 0; c[0] < m->size[0]; c[0]++)
                fill_cube(m, c, id, out);
    free(id);
    for (face = 0; face < HD_MESH_FACES; face++) {
        int32_t *row = out + (size_t)face * m->padded;

        for (i = m->n; i < m->padded; i++)
            row[i] = row[m->n - 1];
    }
    return 0;
}

/*
 * generate.h - seeded graphs, meshes, permutations, clusters and data, inside
 * the engine.
 *
 * The public calls (heddle_generate.h) wrap these in heddle_data arrays.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_GENERATE_H
#define HD_GENERATE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "../base/diag.h"

/* A directed graph in compressed rows: the targets of node v are
 * edge[start[v]] .. edge[start[v + 1] - 1].  Both arrays are malloc'ed. */
struct hd_graph {
    uint32_t n;     /* nodes */
    uint64_t m;     /* directed edges, below 2^31 */
    int32_t *start; /* [n + 1] */
    int32_t *edge;  /* [m] */
};

struct hd_rmat {
    uint32_t scale; /* 2^scale nodes */
    uint64_t edges; /* drawn, before capping */
    double a, b, c; /* chances of three quadrants; the fourth is the rest */
    bool permute;   /* shuffle the node numbers */
    bool both;      /* append every edge in both directions */
    uint32_t cap;   /* most edges a node may have; 0: no cap */
};

/* Each returns 0 or a negative code with its text in *err. */
int hd_generate_uniform(struct hd_graph *g, uint32_t n, uint32_t lo,
                        uint32_t hi, uint64_t seed, struct hd_err *err);
/* `pairs` edges between different nodes, drawn uniformly, in both rows; rows
 * are sorted.  m is 2 pairs. */
int hd_generate_random(struct hd_graph *g, uint32_t n, uint64_t pairs,
                       uint64_t seed, struct hd_err *err);
int hd_generate_rmat(struct hd_graph *g, const struct hd_rmat *r, uint64_t seed,
                     struct hd_err *err);
/* `edges` (pairs) of the grid, connected; 0: all. */
int hd_generate_grid(struct hd_graph *g, uint32_t width, uint32_t height,
                     uint64_t edges, uint64_t seed, struct hd_err *err);
void hd_generate_graph_free(struct hd_graph *g);

/* Breadth-first levels from `source`: level[v], or -1 where unreached. */
int hd_generate_levels(const struct hd_graph *g, uint32_t source,
                       int32_t *level, struct hd_err *err);

/* out[i] uniform in [lo, hi], lo <= hi. */
void hd_generate_ints(int32_t *out, size_t n, int32_t lo, int32_t hi,
                      uint64_t seed);
/* out[i] uniform in [0, 1), a multiple of 2^-24. */
void hd_generate_floats(float *out, size_t n, uint64_t seed);
/* A permutation of 0 .. n-1. */
void hd_generate_permutation(int32_t *out, uint32_t n, uint64_t seed);
/* out[i] in [0, keys): rank r with a chance proportional to (r + 1)^-s. */
int hd_generate_zipf(int32_t *out, size_t n, uint32_t keys, double s,
                     uint64_t seed, struct hd_err *err);
/* out[i] = the RandomAccess sequence after i * step steps from 1. */
void hd_generate_starts(uint64_t *out, size_t n, uint64_t step);
/* One step of that sequence. */
static inline uint64_t hd_generate_lfsr(uint64_t x)
{
    return x << 1 ^ (x >> 63 ? 7u : 0u);
}

/* Points and their nearest centres (generate-points.c).  Arrays are the
 * caller's; 1 <= k <= n. */
struct hd_clusters {
    uint32_t n, dim, k;
    float *coord;     /* [dim][n], filled */
    int32_t *centre;  /* [k]: points, filled */
    int32_t *nearest; /* [n]: 0 .. k-1, filled */
    float *cost;      /* [n]: squared distance, filled */
};

int hd_generate_clusters(struct hd_clusters *c, uint64_t seed,
                         struct hd_err *err);

/* The table of a memcached of 2^h entries, h >= 4, zeroed by the caller: ways
 * of a set, words of an entry. */
enum { HD_MEMC_WAYS = 16, HD_MEMC_WORDS = 42 };

int hd_generate_memcached(uint32_t *table, uint32_t h, uint32_t keys,
                          uint64_t seed, struct hd_err *err);

/* A mesh of tetrahedra (generate-mesh.c): elements of a cube, faces of an
 * element. */
enum { HD_MESH_TETS = 6, HD_MESH_FACES = 4 };

struct hd_mesh {
    uint32_t size[3]; /* cubes in x, y, z */
    uint32_t n;       /* elements: six a cube */
    uint32_t padded;  /* elements with padding, >= n */
    uint32_t window;  /* numbers are shuffled in runs of that many, >= 1 */
};

/* out[HD_MESH_FACES][padded], the caller's: neighbours, -2 at the boundary. */
int hd_generate_mesh(int32_t *out, const struct hd_mesh *m, uint64_t seed,
                     struct hd_err *err);

/* A random genome whose first bases are a reference, and reads of it. */
struct hd_genome {
    uint32_t bases;  /* of the reference, 1 to 2^27 */
    uint32_t genome; /* of the whole, at least bases and length */
    uint32_t reads, length;
    uint32_t gc; /* chance of C or G, of 65536 */
    uint64_t seed;
};
/* The suffix tree of the reference, owned, or NULL (no memory). */
struct hd_tree *hd_generate_tree(const struct hd_genome *g);
/* Its nodes, leaves and root included; they have numbers from 1. */
uint32_t hd_tree_nodes(const struct hd_tree *t);
/* Fills zeroed textures (generate-tree.c describes them); once. */
void hd_tree_textures(struct hd_tree *t, int32_t *node, int32_t *child,
                      uint8_t *reference, size_t reference_bytes);
void hd_tree_free(struct hd_tree *t);
/* reads times 'q', length bases, 0. */
void hd_generate_reads(const struct hd_genome *g, uint8_t *out);

#endif

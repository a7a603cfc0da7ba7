/*
 * heddle_generate.h - seeded input data for buffers: graphs, Zipf keys,
 * permutations, random numbers, RandomAccess starts, clusters of points, a hash
 * table, suffix trees.
 *
 * Every call returns owned data (heddle_program.h), or NULL with words in
 * `error` (of `room` bytes; may be NULL with room 0).  The same arguments give
 * the same bits on every machine and compiler.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_GENERATE_H
#define HEDDLE_GENERATE_H

#include "heddle_program.h"

/* Which graph; what a kind does not use is ignored. */
struct heddle_graph_spec {
    enum heddle_graph_kind {
        HEDDLE_GRAPH_UNIFORM, /* each node draws lo..hi targets, both ways */
        HEDDLE_GRAPH_RMAT,
        HEDDLE_GRAPH_GRID,  /* width x height, 5-point, or `edges` of it */
        HEDDLE_GRAPH_RANDOM /* edges between nodes drawn uniformly, sorted */
    } kind;
    uint64_t seed;
    uint32_t n, lo, hi;     /* uniform, random: nodes; uniform: degrees */
    uint32_t width, height; /* grid */
    uint32_t scale;         /* rmat: 2^scale nodes */
    uint64_t edges;         /* rmat, random: edges drawn; grid: of it, 0: all */
    double a, b, c;         /* rmat: chances of three quadrants */
    int permute, both;      /* rmat: shuffle nodes; append both directions */
    uint32_t cap;           /* rmat: most edges of a node, 0: any number */
};

/* A directed graph in rows: node v's targets are edges[start[v]] up to
 * edges[start[v + 1] - 1]. */
struct heddle_graph {
    uint32_t n;
    uint64_t m;
    heddle_data *start; /* i32 [n + 1] */
    heddle_data *nodes; /* i32 [2 n]: start and degree of each node */
    heddle_data *edges; /* i32 [m] */
};

/* 0, HEDDLE_EINVAL or HEDDLE_ENOMEM.  Fills *g with owned data. */
int heddle_generate_graph(const struct heddle_graph_spec *spec,
                          struct heddle_graph *g, char *error, size_t room);
void heddle_graph_free(struct heddle_graph *g);
/* Breadth-first level of each node from `source`, -1 where unreached; i32. */
heddle_data *heddle_generate_levels(const struct heddle_graph *g,
                                    uint32_t source, char *error, size_t room);

/* i32 uniform in [lo, hi]. */
heddle_data *heddle_generate_ints(uint64_t n, int32_t lo, int32_t hi,
                                  uint64_t seed, char *error, size_t room);
/* f32 uniform in [0, 1). */
heddle_data *heddle_generate_floats(uint64_t n, uint64_t seed, char *error,
                                    size_t room);
/* i32: a permutation of 0 .. n-1. */
heddle_data *heddle_generate_permutation(uint64_t n, uint64_t seed, char *error,
                                         size_t room);
/* i32 in [0, keys): rank r with a chance proportional to (r + 1)^-s. */
heddle_data *heddle_generate_zipf(uint64_t n, uint64_t keys, double s,
                                  uint64_t seed, char *error, size_t room);
/* i64: HPCC RandomAccess values after 0, step, 2 step, .. steps from 1. */
heddle_data *heddle_generate_starts(uint64_t n, uint64_t step, char *error,
                                    size_t room);

/* Points uniform in the unit cube, k of them centres, each point with its
 * nearest centre (of equals the first). */
struct heddle_clusters {
    heddle_data *coords;  /* f32 [dim][n] */
    heddle_data *centre;  /* i32 [k]: different points */
    heddle_data *nearest; /* i32 [n]: 0 .. k-1 */
    heddle_data *cost;    /* f32 [n]: squared distance to it, summed in f32 in
                             the order of the dimensions */
};

/* 0, HEDDLE_EINVAL or HEDDLE_ENOMEM.  n * dim below 2^31, 1 <= k <= n, k at
 * most 4096.  Fills *c with owned data. */
int heddle_generate_clusters(uint32_t n, uint32_t dim, uint32_t k,
                             uint64_t seed, struct heddle_clusters *c,
                             char *error, size_t room);
void heddle_clusters_free(struct heddle_clusters *c);

/* u32 [2^h][42]: the table of MemcachedGPU, 2^h entries of 168 bytes in sets
 * of 16 (4 <= h <= 25), with the keys 0 .. keys-1 in random order; of more than
 * 16 keys of a set only the lowest 16 are there.  With m = SplitMix64's mix of
 * the key, the set is m mod 2^(h-4) and the 8-bit hash m >> 56; words of an
 * entry: 3 valid, 4 hash, 5 length of the key, 6 of the packet, 7 the key. */
heddle_data *heddle_generate_memcached(uint32_t h, uint64_t keys, uint64_t seed,
                                       char *error, size_t room);

/* What heddle_generate_mesh makes. */
struct heddle_mesh_spec {
    uint32_t nx, ny, nz; /* cubes, each cut into six tetrahedra */
    uint32_t window;     /* element numbers are shuffled inside runs of that
                            many; 1: cube by cube */
    uint32_t multiple;   /* elements are padded to a multiple of this by copies
                            of the last */
    uint64_t seed;
};

/* i32 [4][padded]: the neighbour across each face of each element, -2 where
 * there is none.  Sizes, window and multiple are at least 1, and there are
 * fewer than 2^29 elements. */
heddle_data *heddle_generate_mesh(const struct heddle_mesh_spec *spec,
                                  char *error, size_t room);

/* A genome of random bases, of which the first are a reference. */
struct heddle_genome_spec {
    uint32_t bases;  /* of the reference, 1 to 2^27 */
    uint32_t genome; /* of the whole; 0: as many; reads are pieces of it */
    uint32_t reads, length; /* at least 1; length at most 4096 */
    double gc;              /* share of C and G, 0 to 1 */
    uint64_t seed;
};

/* The suffix tree of the reference in MUMmerGPU's textures, and the reads.
 * Links are texels, 4096 y + x; 0 is none; the root is texel 4096. */
struct heddle_suffix_tree {
    uint32_t nodes, height;
    heddle_data *node;      /* i32 [height][4096][4]: first and last place of
                               the edge, child by the end mark, suffix link */
    heddle_data *child;     /* i32 [height][4096][4]: by A, C, G, T */
    heddle_data *reference; /* u8 [rows][65536]: place r at
                               x = (r mod 2^18) / 4, y = 4 (r / 2^18) +
                               r mod 4 */
    heddle_data *reads;     /* u8 [reads][length + 2]: 'q', bases, 0 */
};

/* 0, HEDDLE_EINVAL or HEDDLE_ENOMEM.  Fills *t with owned data.  Takes about
 * 43 bytes a base in addition. */
int heddle_generate_suffix_tree(const struct heddle_genome_spec *g,
                                struct heddle_suffix_tree *t, char *error,
                                size_t room);
void heddle_suffix_tree_free(struct heddle_suffix_tree *t);

#endif

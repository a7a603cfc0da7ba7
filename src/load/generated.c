/*
 * generated.c - the generators' public face: arrays that buffers start with.
 *
 * The generators (generate*.c) fill plain memory of the engine's; here their
 * results become data (heddle_load.h), which own that memory, and errors become
 * words.  Sizes are checked first, so that a typing error is told instead of
 * filling the memory.  On an error nothing is left behind.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdlib.h>
#include <string.h>

#include "../heddle_generate.h"
#include "generate.h"

/* Most elements a call makes; a typing error should not fill the memory. */
#define MOST (UINT64_C(1) << 31)

/* n elements, or NULL with words. */
static heddle_data *array(enum heddle_type type, uint64_t n, const char *what,
                          char *error, size_t room)
{
    struct hd_err err = {0};
    heddle_data *d = n > 0 && n < MOST ? heddle_data_new(type, n) : NULL;

    if (d)
        return d;
    if (n == 0 || n >= MOST)
        hd_err_set(&err, HEDDLE_EINVAL,
                   "%s: %llu elements; expected 1 to "
                   "2^31 - 1",
                   what, (unsigned long long)n);
    else
        hd_err_memory(&err);
    hd_err_tell(&err, error, room);
    return NULL;
}

static int draw(const struct heddle_graph_spec *spec, struct hd_graph *g,
                struct hd_err *err)
{
    struct hd_rmat r = {.scale = spec->scale,
                        .edges = spec->edges,
                        .a = spec->a,
                        .b = spec->b,
                        .c = spec->c,
                        .permute = spec->permute != 0,
                        .both = spec->both != 0,
                        .cap = spec->cap};

    switch (spec->kind) {
    case HEDDLE_GRAPH_UNIFORM:
        return hd_generate_uniform(g, spec->n, spec->lo, spec->hi, spec->seed,
                                   err);
    case HEDDLE_GRAPH_RANDOM:
        return hd_generate_random(g, spec->n, spec->edges, spec->seed, err);
    case HEDDLE_GRAPH_RMAT:
        return hd_generate_rmat(g, &r, spec->seed, err);
    case HEDDLE_GRAPH_GRID:
        return hd_generate_grid(g, spec->width, spec->height, spec->edges,
                                spec->seed, err);
    }
    return hd_err_set(err, HEDDLE_EINVAL, "graph: no such kind (%d)",
                      (int)spec->kind);
}

/* An array over malloc'ed memory, which it takes. */
static heddle_data *take(void *mem, uint64_t count)
{
    heddle_data *d = heddle_data_new(HEDDLE_I32, 0);

    if (!d)
        return NULL;
    free(d->mem);
    d->mem = mem;
    d->count = count;
    return d;
}

static heddle_data *pairs(const struct hd_graph *g)
{
    heddle_data *d = heddle_data_new(HEDDLE_I32, (uint64_t)g->n * 2);
    int32_t *at;
    uint32_t v;

    if (!d)
        return NULL;
    at = d->mem;
    for (v = 0; v < g->n; v++) {
        *at++ = g->start[v];
        *at++ = g->start[v + 1] - g->start[v];
    }
    return d;
}

int heddle_generate_graph(const struct heddle_graph_spec *spec,
                          struct heddle_graph *out, char *error, size_t room)
{
    struct hd_err err = {0};
    struct hd_graph g;

    memset(out, 0, sizeof *out);
    if (draw(spec, &g, &err) < 0) {
        hd_err_tell(&err, error, room);
        return err.code;
    }
    out->n = g.n;
    out->m = g.m;
    out->nodes = pairs(&g);
    out->start = take(g.start, (uint64_t)g.n + 1);
    if (out->start)
        g.start = NULL;
    out->edges = take(g.edge, g.m);
    if (out->edges)
        g.edge = NULL;
    hd_generate_graph_free(&g);
    if (out->start && out->edges && out->nodes)
        return 0;
    heddle_graph_free(out);
    hd_err_memory(&err);
    hd_err_tell(&err, error, room);
    return err.code;
}

void heddle_graph_free(struct heddle_graph *g)
{
    heddle_data_free(g->start);
    heddle_data_free(g->nodes);
    heddle_data_free(g->edges);
    memset(g, 0, sizeof *g);
}

heddle_data *heddle_generate_levels(const struct heddle_graph *graph,
                                    uint32_t source, char *error, size_t room)
{
    struct hd_graph g = {graph->n, graph->m, graph->start->mem,
                         graph->edges->mem};
    struct hd_err err = {0};
    heddle_data *d;

    if (source >= g.n) {
        hd_err_set(&err, HEDDLE_EINVAL, "levels: source %u of %u nodes", source,
                   g.n);
        hd_err_tell(&err, error, room);
        return NULL;
    }
    d = array(HEDDLE_I32, g.n, "levels", error, room);
    if (d && hd_generate_levels(&g, source, d->mem, &err) < 0) {
        hd_err_tell(&err, error, room);
        heddle_data_free(d);
        return NULL;
    }
    return d;
}

heddle_data *heddle_generate_ints(uint64_t n, int32_t lo, int32_t hi,
                                  uint64_t seed, char *error, size_t room)
{
    heddle_data *d;

    if (lo > hi) {
        struct hd_err err = {0};

        hd_err_set(&err, HEDDLE_EINVAL,
                   "ints: from %d to %d; expected "
                   "from <= to",
                   (int)lo, (int)hi);
        hd_err_tell(&err, error, room);
        return NULL;
    }
    d = array(HEDDLE_I32, n, "ints", error, room);
    if (d)
        hd_generate_ints(d->mem, n, lo, hi, seed);
    return d;
}

heddle_data *heddle_generate_floats(uint64_t n, uint64_t seed, char *error,
                                    size_t room)
{
    heddle_data *d = array(HEDDLE_F32, n, "floats", error, room);

    if (d)
        hd_generate_floats(d->mem, n, seed);
    return d;
}

heddle_data *heddle_generate_permutation(uint64_t n, uint64_t seed, char *error,
                                         size_t room)
{
    heddle_data *d = array(HEDDLE_I32, n, "permutation", error, room);

    if (d)
        hd_generate_permutation(d->mem, (uint32_t)n, seed);
    return d;
}

heddle_data *heddle_generate_zipf(uint64_t n, uint64_t keys, double s,
                                  uint64_t seed, char *error, size_t room)
{
    struct hd_err err = {0};
    heddle_data *d = array(HEDDLE_I32, n, "zipf", error, room);
    uint32_t few = keys < UINT32_MAX ? (uint32_t)keys : UINT32_MAX;

    if (d && hd_generate_zipf(d->mem, n, few, s, seed, &err) < 0) {
        hd_err_tell(&err, error, room);
        heddle_data_free(d);
        return NULL;
    }
    return d;
}

heddle_data *heddle_generate_starts(uint64_t n, uint64_t step, char *error,
                                    size_t room)
{
    heddle_data *d = NULL;

    if (step > (UINT64_C(1) << 34) / (n ? n : 1)) {
        struct hd_err err = {0};

        hd_err_set(&err, HEDDLE_EINVAL,
                   "starts: %llu x %llu steps; expected "
                   "2^34 at most",
                   (unsigned long long)n, (unsigned long long)step);
        hd_err_tell(&err, error, room);
        return NULL;
    }
    d = array(HEDDLE_I64, n, "starts", error, room);
    if (d)
        hd_generate_starts(d->mem, n, step);
    return d;
}

/* ---- points and tables --------------------------------------------------- */

static int fill_clusters(struct hd_clusters *h, uint64_t seed,
                         struct heddle_clusters *c, struct hd_err *err)
{
    c->coords = heddle_data_new(HEDDLE_F32, (uint64_t)h->n * h->dim);
    c->centre = heddle_data_new(HEDDLE_I32, h->k);
    c->nearest = heddle_data_new(HEDDLE_I32, h->n);
    c->cost = heddle_data_new(HEDDLE_F32, h->n);
    if (!c->coords || !c->centre || !c->nearest || !c->cost)
        return hd_err_memory(err);
    h->coord = c->coords->mem;
    h->centre = c->centre->mem;
    h->nearest = c->nearest->mem;
    h->cost = c->cost->mem;
    return hd_generate_clusters(h, seed, err);
}

int heddle_generate_clusters(uint32_t n, uint32_t dim, uint32_t k,
                             uint64_t seed, struct heddle_clusters *c,
                             char *error, size_t room)
{
    struct hd_clusters h = {.n = n, .dim = dim, .k = k};
    struct hd_err err = {0};
    int rc;

    memset(c, 0, sizeof *c);
    if (n == 0 || dim == 0 || (uint64_t)n * dim >= MOST || k == 0 || k > n ||
        k > 4096)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "clusters: %u points of %u dimensions, %u centres; "
                        "expected 1 to 2^31 - 1 coordinates and 1 to 4096 "
                        "centres, no more than points",
                        n, dim, k);
    else
        rc = fill_clusters(&h, seed, c, &err);
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

heddle_data *heddle_generate_memcached(uint32_t h, uint64_t keys, uint64_t seed,
                                       char *error, size_t room)
{
    struct hd_err err = {0};
    heddle_data *d = NULL;

    if (h < 4 || h > 25 || keys >= MOST) {
        hd_err_set(&err, HEDDLE_EINVAL,
                   "memcached: 2^%u entries, %llu keys; expected 2^4 to 2^25 "
                   "entries and at most 2^31 - 1 keys",
                   h, (unsigned long long)keys);
        hd_err_tell(&err, error, room);
        return NULL;
    }
    d = array(HEDDLE_U32, (uint64_t)HD_MEMC_WORDS << h, "memcached", error,
              room);
    if (d && hd_generate_memcached(d->mem, h, (uint32_t)keys, seed, &err) < 0) {
        hd_err_tell(&err, error, room);
        heddle_data_free(d);
        return NULL;
    }
    return d;
}

/* Elements and padding of a mesh; 0 where the spec is no mesh. */
static uint64_t mesh_of(const struct heddle_mesh_spec *spec, struct hd_mesh *m)
{
    const uint64_t most = MOST / HD_MESH_FACES;
    const uint32_t size[3] = {spec->nx, spec->ny, spec->nz};
    uint64_t n = HD_MESH_TETS;
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
    m->window = spec->window;
    n = (n + spec->multiple - 1) / spec->multiple * spec->multiple;
    m->padded = (uint32_t)n;
    return n < most ? n : 0;
}

heddle_data *heddle_generate_mesh(const struct heddle_mesh_spec *spec,
                                  char *error, size_t room)
{
    struct hd_err err = {0};
    struct hd_mesh m = {0};
    uint64_t n = mesh_of(spec, &m);
    heddle_data *d = NULL;

    if (n == 0) {
        hd_err_set(&err, HEDDLE_EINVAL,
                   "mesh: %u x %u x %u cubes, window %u, multiple %u; expected "
                   "at least 1 of each and fewer than 2^29 elements",
                   spec->nx, spec->ny, spec->nz, spec->window, spec->multiple);
        hd_err_tell(&err, error, room);
        return NULL;
    }
    d = array(HEDDLE_I32, HD_MESH_FACES * n, "mesh", error, room);
    if (d && hd_generate_mesh(d->mem, &m, spec->seed, &err) < 0) {
        hd_err_tell(&err, error, room);
        heddle_data_free(d);
        return NULL;
    }
    return d;
}

/* ---- the suffix tree ---------------------------------------------------- */

enum { NO_GC = 1 << 17 };

/* Rows of the reference: the bases, 's' and '$', a 0, and four to spare. */
static uint64_t reference_rows(uint32_t bases)
{
    return ((uint64_t)bases + 3 + 65535) / 65536 + 4;
}

static int fill_tree(const struct hd_genome *g, struct heddle_suffix_tree *t)
{
    uint64_t texels, rows = reference_rows(g->bases);
    struct hd_tree *tree = hd_generate_tree(g);

    if (!tree)
        return HEDDLE_ENOMEM;
    t->nodes = hd_tree_nodes(tree);
    t->height = (t->nodes + 1 + 4095) / 4096 + 32;
    texels = (uint64_t)t->height * 4096;
    t->node = heddle_data_new(HEDDLE_I32, 4 * texels);
    t->child = heddle_data_new(HEDDLE_I32, 4 * texels);
    t->reference = heddle_data_new(HEDDLE_U8, rows * 65536);
    t->reads = heddle_data_new(HEDDLE_U8, (uint64_t)g->reads * (g->length + 2));
    if (t->node && t->child && t->reference && t->reads) {
        hd_tree_textures(tree, t->node->mem, t->child->mem, t->reference->mem,
                         rows * 65536);
        hd_generate_reads(g, t->reads->mem);
    }
    hd_tree_free(tree);
    return t->node && t->child && t->reference && t->reads ? 0 : HEDDLE_ENOMEM;
}

int heddle_generate_suffix_tree(const struct heddle_genome_spec *spec,
                                struct heddle_suffix_tree *t, char *error,
                                size_t room)
{
    struct hd_genome g = {.bases = spec->bases,
                          .genome = spec->genome,
                          .reads = spec->reads,
                          .length = spec->length,
                          .seed = spec->seed};
    struct hd_err err = {0};
    int rc = 0;

    memset(t, 0, sizeof *t);
    if (g.genome == 0)
        g.genome = g.bases;
    g.gc =
        spec->gc >= 0 && spec->gc <= 1 ? (uint32_t)(spec->gc * 65536) : NO_GC;
    if (g.gc == NO_GC || g.bases == 0 || g.bases > UINT32_C(1) << 27 ||
        g.genome < g.bases || g.length == 0 || g.length > 4096 ||
        g.length > g.genome || g.reads == 0 ||
        (uint64_t)g.reads * (g.length + 2) >= MOST)
        rc = hd_err_set(&err, HEDDLE_EINVAL,
                        "suffix_tree: %u of %u bases, %u reads of %u, gc %g; "
                        "expected 1 to 2^27 bases, no more than the genome "
                        "has, reads of 1 to 4096 bases that fit into it, and "
                        "gc from 0 to 1",
                        g.bases, g.genome, g.reads, g.length, spec->gc);
    else if (fill_tree(&g, t) < 0)
        rc = hd_err_memory(&err);
    if (rc < 0) {
        heddle_suffix_tree_free(t);
        hd_err_tell(&err, error, room);
    }
    return rc;
}

void heddle_suffix_tree_free(struct heddle_suffix_tree *t)
{
    heddle_data_free(t->node);
    heddle_data_free(t->child);
    heddle_data_free(t->reference);
    heddle_data_free(t->reads);
    memset(t, 0, sizeof *t);
}

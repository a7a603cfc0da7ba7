/*
 * lgenerate.c - `require "heddle.generate"`: seeded input data from Lua.
 *
 *     local generate = require "heddle.generate"
 *     local g = generate.uniform_graph { n = 32768, lo = 5, hi = 10, seed = 1 }
 *     g.n, g.m, g.start, g.nodes, g.edges, g:levels(0)
 *     generate.random_graph { n = 1000, edges = 3000, seed = 1 }
 *     generate.rmat { scale = 16, edges = 1 << 20, cap = 64, seed = 1 }
 *     generate.grid { width = 1000, height = 1000, edges = 0, seed = 1 }
 *     generate.zipf { n = 1000, keys = 100, s = 0.99, seed = 1 }
 *     generate.ints { n = 1000, lo = 0, hi = 255, seed = 1 }
 *     generate.floats { n =, seed = }   generate.permutation { n =, seed = }
 *     generate.starts { n =, step = }
 *     local c = generate.clusters { n = 1000, dim = 16, centres = 8, seed = 1 }
 *     c.coords, c.centre, c.nearest, c.cost       (heddle_generate.h)
 *     generate.memcached { h = 16, keys = 50000, seed = 1 }
 *     generate.mesh { nx = 32, ny = 32, nz = 32, window = 2048,
 *         multiple = 192, seed = 1 }
 *     local t = generate.suffix_tree { bases = 1000, genome = 5000,
 *         reads = 100, length = 25, gc = .5, seed = 1 }
 *     t.nodes, t.height, t.node, t.child, t.reference, t.reads
 *
 * Each gives data, a buffer's `data = ` option: d[i] counts from 0, #d is its
 * length.  An option that a call does not know is an error.  The graph is a
 * plain table.  The seed is 1 unless given.
 *
 * What was made is kept, up to a number of bytes, since data never change:
 * equal calls are given the same.  So copies of an application have one input,
 * and so have processes that a series starts (runner.lua).
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdio.h>

#include "heddle_generate.h"
#include "lheddle.h"

#define DATA "heddle.data"

HL_MODULE int luaopen_heddle_generate(lua_State *L);

/* ---- data ---------------------------------------------------------------- */

HL_RELEASE(data_gc, DATA, heddle_data, heddle_data_free)

static heddle_data *data_at(lua_State *L, int i)
{
    return hl_unbox(L, i, DATA, "the data is closed");
}

static int data_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)data_at(L, 1)->count);
    return 1;
}

/* d[i]; nil outside. */
static int data_index(lua_State *L)
{
    const heddle_data *d = data_at(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);

    if (i < 0 || (uint64_t)i >= d->count) {
        lua_pushnil(L);
        return 1;
    }
    switch (d->type) {
    case HEDDLE_U8:
        lua_pushinteger(L, ((const uint8_t *)d->mem)[i]);
        break;
    case HEDDLE_U16:
        lua_pushinteger(L, ((const uint16_t *)d->mem)[i]);
        break;
    case HEDDLE_I32:
        lua_pushinteger(L, ((const int32_t *)d->mem)[i]);
        break;
    case HEDDLE_U32:
        lua_pushinteger(L, ((const uint32_t *)d->mem)[i]);
        break;
    case HEDDLE_I64:
        lua_pushinteger(L, ((const int64_t *)d->mem)[i]);
        break;
    case HEDDLE_F32:
        lua_pushnumber(L, ((const float *)d->mem)[i]);
        break;
    default:
        lua_pushnumber(L, ((const double *)d->mem)[i]);
        break;
    }
    return 1;
}

/* Pushes a box for data. */
static heddle_data **data_box(lua_State *L)
{
    heddle_data **box = lua_newuserdatauv(L, sizeof(heddle_data *), 0);

    *box = NULL;
    if (hl_class(L, DATA, data_gc, NULL)) {
        lua_getmetatable(L, -1);
        hl_set_function(L, "__len", data_len);
        hl_set_function(L, "__index", data_index);
        lua_pop(L, 1);
    }
    return box;
}

/* ---- calls --------------------------------------------------------------- */

enum { PARTS = 4, ROOM = 256 };

/* What calls take that have no structure in the library. */
struct numbers {
    uint64_t n, keys, step, seed;
    int64_t lo, hi;
    uint32_t h, points, dim, centres;
    double s;
};

union spec {
    struct numbers of;
    struct heddle_graph_spec graph;
    struct heddle_mesh_spec mesh;
    struct heddle_genome_spec genome;
};

/* What a call is given, and where its data go. */
struct given {
    lua_State *L;
    union spec s;
    heddle_data **part[PARTS];
    char error[ROOM];
};

/* A function of the module: it gives data or, if they have names, a table of
 * parts.  make() fills the parts; if it leaves the first one empty, it says
 * why in `error`. */
struct call {
    const char *name;
    void (*make)(struct given *g);
    const char *const *part; /* their names; NULL: data */
    union spec otherwise;
    const struct hl_field *option;
};

/* What is not given is the same as something else that is. */
enum { AS_OTHER = UINT32_MAX };

static uint32_t given_or(uint32_t v, uint32_t other)
{
    return v == AS_OTHER ? other : v;
}

/* ---- graphs -------------------------------------------------------------- */

/* g:levels(source) */
static int graph_levels(lua_State *L)
{
    struct heddle_graph g = {0};
    char error[ROOM];
    heddle_data **d;
    lua_Integer source = luaL_optinteger(L, 2, 0);

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "start");
    lua_getfield(L, 1, "edges");
    g.start = data_at(L, -2);
    g.edges = data_at(L, -1);
    g.n = (uint32_t)(g.start->count - 1);
    g.m = g.edges->count;
    luaL_argcheck(L, source >= 0 && source < (lua_Integer)g.n, 2,
                  "no such node");
    d = data_box(L);
    *d = heddle_generate_levels(&g, (uint32_t)source, error, sizeof error);
    return *d ? 1 : hl_raise(L, HEDDLE_EINVAL, error);
}

static void graph(struct given *g)
{
    struct heddle_graph_spec *s = &g->s.graph;
    lua_State *L = g->L;
    struct heddle_graph made;

    hl_set_function(L, "levels", graph_levels);
    s->height = given_or(s->height, s->width);
    if (s->edges == AS_OTHER && s->kind == HEDDLE_GRAPH_RMAT)
        s->edges = s->scale < 28 ? 8ull << s->scale : 0;
    if (heddle_generate_graph(s, &made, g->error, ROOM) < 0)
        return;
    *g->part[0] = made.start;
    *g->part[1] = made.nodes;
    *g->part[2] = made.edges;
    hl_set_number(L, "n", made.n);
    hl_set_number(L, "m", made.m);
}

/* ---- arrays -------------------------------------------------------------- */

#define ARRAY(name, ...)                                                       \
    static void name(struct given *g)                                          \
    {                                                                          \
        const struct numbers *s = &g->s.of;                                    \
        *g->part[0] = heddle_generate_##name(__VA_ARGS__, g->error, ROOM);     \
    }
ARRAY(ints, s->n, (int32_t)s->lo, (int32_t)s->hi, s->seed)
ARRAY(floats, s->n, s->seed)
ARRAY(permutation, s->n, s->seed)
ARRAY(zipf, s->n, s->keys, s->s, s->seed)
ARRAY(starts, s->n, s->step)
ARRAY(memcached, s->h, s->keys, s->seed)

/* ---- points and tables --------------------------------------------------- */

static void clusters(struct given *g)
{
    const struct numbers *s = &g->s.of;
    struct heddle_clusters c;

    if (heddle_generate_clusters(s->points, s->dim, s->centres, s->seed, &c,
                                 g->error, ROOM) < 0)
        return;
    *g->part[0] = c.coords;
    *g->part[1] = c.centre;
    *g->part[2] = c.nearest;
    *g->part[3] = c.cost;
}

static void mesh(struct given *g)
{
    struct heddle_mesh_spec *s = &g->s.mesh;

    s->ny = given_or(s->ny, s->nx);
    s->nz = given_or(s->nz, s->nx);
    *g->part[0] = heddle_generate_mesh(s, g->error, ROOM);
}

static void suffix_tree(struct given *g)
{
    struct heddle_suffix_tree t;

    if (heddle_generate_suffix_tree(&g->s.genome, &t, g->error, ROOM) < 0)
        return;
    *g->part[0] = t.node;
    *g->part[1] = t.child;
    *g->part[2] = t.reference;
    *g->part[3] = t.reads;
    hl_set_number(g->L, "nodes", t.nodes);
    hl_set_number(g->L, "height", t.height);
}

/* ---- the calls ----------------------------------------------------------- */

static const char *const graph_parts[] = {"start", "nodes", "edges", NULL};
static const char *const cluster_parts[] = {"coords", "centre", "nearest",
                                            "cost", NULL};
static const char *const tree_parts[] = {"node", "child", "reference", "reads",
                                         NULL};

/* clang-format off */
#define OPTIONS(...) (const struct hl_field[]){__VA_ARGS__, HL_END}
#define N(m) HL_FIELD(struct numbers, m)
#define G(m) HL_FIELD(struct heddle_graph_spec, m)
#define M(m) HL_FIELD(struct heddle_mesh_spec, m)
#define T(m) HL_FIELD(struct heddle_genome_spec, m)
#define SEED(of) HL_OPTION(of, seed, INT64_MIN, INT64_MAX)
#define N_SEED SEED(struct numbers)
#define G_SEED SEED(struct heddle_graph_spec)

static const struct call calls[] = {
    {"uniform_graph", graph, graph_parts,
     {.graph = {.kind = HEDDLE_GRAPH_UNIFORM, .lo = 2, .hi = 4, .seed = 1}},
     OPTIONS(G(n), G(lo), G(hi), G_SEED)},
    {"random_graph", graph, graph_parts,
     {.graph = {.kind = HEDDLE_GRAPH_RANDOM, .seed = 1}},
     OPTIONS(G(n), G(edges), G_SEED)},
    {"rmat", graph, graph_parts,
     {.graph = {.kind = HEDDLE_GRAPH_RMAT, .edges = AS_OTHER, .a = .57, .b = .19,
                .c = .19, .seed = 1, .permute = 1}},
     OPTIONS(G(scale), G(edges), G(a), G(b), G(c), G_SEED, G(permute), G(both),
             G(cap))},
    {"grid", graph, graph_parts,
     {.graph = {.kind = HEDDLE_GRAPH_GRID, .height = AS_OTHER, .seed = 1}},
     OPTIONS(G(width), G(height), G(edges), G_SEED)},
    {"ints", ints, NULL, {.of = {.hi = INT32_MAX, .seed = 1}},
     OPTIONS(N(n), HL_OPTION(struct numbers, lo, INT32_MIN, INT32_MAX),
             HL_OPTION(struct numbers, hi, INT32_MIN, INT32_MAX), N_SEED)},
    {"floats", floats, NULL, {.of = {.seed = 1}}, OPTIONS(N(n), N_SEED)},
    {"permutation", permutation, NULL, {.of = {.seed = 1}}, OPTIONS(N(n), N_SEED)},
    {"zipf", zipf, NULL, {.of = {.s = .99, .seed = 1}},
     OPTIONS(N(n), N(keys), N(s), N_SEED)},
    {"starts", starts, NULL, {.of = {.step = 1}}, OPTIONS(N(n), N(step))},
    {"clusters", clusters, cluster_parts, {.of = {.seed = 1}},
     OPTIONS(HL_FIELD_AS(struct numbers, points, "n"), N(dim), N(centres), N_SEED)},
    {"memcached", memcached, NULL, {.of = {.seed = 1}},
     OPTIONS(N(h), N(keys), N_SEED)},
    {"mesh", mesh, NULL,
     {.mesh = {.ny = AS_OTHER, .nz = AS_OTHER, .window = 1, .multiple = 1, .seed = 1}},
     OPTIONS(M(nx), M(ny), M(nz), M(window), M(multiple),
             SEED(struct heddle_mesh_spec))},
    {"suffix_tree", suffix_tree, tree_parts,
     {.genome = {.reads = 1, .length = 1, .gc = .5, .seed = 1}},
     OPTIONS(T(bases), T(genome), T(reads), T(length), T(gc),
             SEED(struct heddle_genome_spec))},
};
/* clang-format on */

/* ---- what is kept -------------------------------------------------------- */

/* Upvalue 2 of the calls: what was made, by the call and all that it is given;
 * [TOTAL]: its bytes. */
enum { KEPT_MOST = 256 << 20, TOTAL = 1 };

/* Pushes what the key on top has made before, a new table; or nil. */
static void recall(lua_State *L, int kept)
{
    lua_pushvalue(L, -1);
    if (lua_rawget(L, kept) != LUA_TTABLE)
        return;
    lua_createtable(L, 0, 7);
    for (lua_pushnil(L); lua_next(L, -3);) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, -4);
    }
    lua_remove(L, -2);
}

/* Keeps what is on top, made of so many bytes, by the key below; if there is no
 * room, all else is forgotten.  What is on top is the caller's afterwards. */
static void lgenerate_keep(lua_State *L, int kept, lua_Integer bytes)
{
    int key = lua_gettop(L) - 1;

    if (bytes > KEPT_MOST)
        return;
    lua_rawgeti(L, kept, TOTAL);
    bytes += lua_tointeger(L, -1);
    if (bytes > KEPT_MOST) {
        bytes -= lua_tointeger(L, -1);
        for (lua_pushnil(L); lua_next(L, kept);) {
            lua_pop(L, 1);
            lua_pushvalue(L, -1);
            lua_pushnil(L);
            lua_rawset(L, kept);
        }
    }
    lua_pushinteger(L, bytes);
    lua_rawseti(L, kept, TOTAL);
    lua_pushvalue(L, key);
    lua_pushvalue(L, key + 1);
    lua_rawset(L, kept);
    lua_pushvalue(L, key);
    recall(L, kept);
}

/* Upvalue 1: the call. */
static int generate(lua_State *L)
{
    const struct call *c = &calls[lua_tointeger(L, lua_upvalueindex(1))];
    struct given g = {.L = L, .s = c->otherwise};
    int kept = lua_upvalueindex(2);
    lua_Integer bytes = 0;
    char whose[64];

    luaL_checktype(L, 1, LUA_TTABLE);
    snprintf(whose, sizeof whose, "generate.%s", c->name);
    hl_options(L, 1, whose, c->option, &g.s);
    lua_pushstring(L, c->name);
    lua_pushlstring(L, (const char *)&g.s, sizeof g.s);
    lua_concat(L, 2);
    recall(L, kept);
    if (!lua_isnil(L, -1))
        return 1;
    lua_pop(L, 1);
    if (c->part == NULL)
        g.part[0] = data_box(L);
    else
        lua_createtable(L, 0, 7);
    for (int i = 0; c->part != NULL && c->part[i] != NULL; i++) {
        g.part[i] = data_box(L);
        lua_setfield(L, -2, c->part[i]);
    }
    c->make(&g);
    if (*g.part[0] == NULL)
        return hl_raise(L, HEDDLE_EINVAL, g.error);
    for (int i = 0; i < PARTS && g.part[i] != NULL; i++)
        bytes += (lua_Integer)((*g.part[i])->count *
                               heddle_type_bytes((*g.part[i])->type));
    lgenerate_keep(L, kept, bytes);
    return 1;
}

int luaopen_heddle_generate(lua_State *L)
{
    lua_newtable(L);
    lua_newtable(L); /* what is kept */
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushvalue(L, -2);
        lua_pushcclosure(L, generate, 2);
        lua_setfield(L, -3, calls[i].name);
    }
    lua_pop(L, 1);
    return 1;
}

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
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../heddle_generate.h"
#include "lheddle.h"

#define DATA "heddle.data"

HL_MODULE int luaopen_heddle_generate(lua_State *L);

/* ---- data ----------------------------------------------------------------- */

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

/* ---- options -------------------------------------------------------------- */

enum { OPTIONS = 9, PARTS = 4, ROOM = 256 };

/* An option of a call, by its kind a member of a value. */
struct option {
    const char *name; /* NULL: no more */
    enum { U32, U64, I32, SEED, REAL, FLAG } kind;
    double otherwise; /* AS_FIRST: what the first one says */
};

union value {
    uint64_t u;
    int64_t i;
    double f;
};

#define AS_FIRST (-1)

/* What a call is given, and where its data go. */
struct given {
    lua_State *L;
    union value v[OPTIONS];
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
    struct option option[OPTIONS + 1];
};

/* Raises unless every key of the table at 1 is an option of the call. */
static void check_options(lua_State *L, const struct call *c)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                         : "(not a name)";
        const struct option *o = c->option;
        luaL_Buffer b;

        while (o->name != NULL && strcmp(o->name, key) != 0)
            o++;
        if (o->name != NULL)
            continue;
        luaL_buffinit(L, &b);
        lua_pushfstring(L, "generate.%s has no option '%s'; it has", c->name,
                        key);
        luaL_addvalue(&b);
        for (o = c->option; o->name != NULL; o++) {
            luaL_addchar(&b, ' ');
            luaL_addstring(&b, o->name);
        }
        luaL_pushresult(&b);
        hl_raise(L, HEDDLE_EINVAL, lua_tostring(L, -1));
    }
}

/* The whole number on top of the stack. */
static int64_t whole(lua_State *L, const struct option *o)
{
    static const struct {
        lua_Integer min, max;
    } range[] = {[U32] = {0, UINT32_MAX},
                 [U64] = {0, LUA_MAXINTEGER},
                 [I32] = {INT32_MIN, INT32_MAX},
                 [SEED] = {LUA_MININTEGER, LUA_MAXINTEGER}};
    lua_Integer min = range[o->kind].min, max = range[o->kind].max, x;
    int ok;

    x = lua_tointegerx(L, -1, &ok);
    if (!ok)
        hl_raisef(L, HEDDLE_EINVAL, "option %s: expected an integer, got %s",
                  o->name, luaL_tolstring(L, -1, NULL));
    if (x < min || x > max)
        hl_raisef(L, HEDDLE_EINVAL, "option %s: %I is outside %I to %I",
                  o->name, (LUAI_UACINT)x, (LUAI_UACINT)min, (LUAI_UACINT)max);
    return x;
}

static union value take_option(lua_State *L, const struct option *o,
                               union value first)
{
    int given = lua_getfield(L, 1, o->name) != LUA_TNIL, ok = 1;
    union value v = {0};

    if (!given && o->otherwise == AS_FIRST)
        return first;
    if (o->kind == FLAG)
        v.i = given ? lua_toboolean(L, -1) : (int)o->otherwise;
    else if (o->kind == REAL)
        v.f = given ? lua_tonumberx(L, -1, &ok) : o->otherwise;
    else
        v.i = given ? whole(L, o) : (int64_t)o->otherwise;
    if (!ok)
        hl_raisef(L, HEDDLE_EINVAL, "option %s: expected a number", o->name);
    return v;
}

/* ---- graphs --------------------------------------------------------------- */

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

static void graph(struct given *g, const struct heddle_graph_spec *spec)
{
    lua_State *L = g->L;
    struct heddle_graph made;

    hl_set_function(L, "levels", graph_levels);
    if (heddle_generate_graph(spec, &made, g->error, ROOM) < 0)
        return;
    *g->part[0] = made.start;
    *g->part[1] = made.nodes;
    *g->part[2] = made.edges;
    hl_set_number(L, "n", made.n);
    hl_set_number(L, "m", made.m);
}

static void uniform_graph(struct given *g)
{
    graph(g, &(struct heddle_graph_spec){.kind = HEDDLE_GRAPH_UNIFORM,
                                         .n = (uint32_t)g->v[0].u,
                                         .lo = (uint32_t)g->v[1].u,
                                         .hi = (uint32_t)g->v[2].u,
                                         .seed = g->v[3].u});
}

static void random_graph(struct given *g)
{
    graph(g, &(struct heddle_graph_spec){.kind = HEDDLE_GRAPH_RANDOM,
                                         .n = (uint32_t)g->v[0].u,
                                         .edges = g->v[1].u,
                                         .seed = g->v[2].u});
}

static void rmat(struct given *g)
{
    uint32_t scale = (uint32_t)g->v[0].u;
    uint64_t edges = g->v[1].u;

    if (lua_getfield(g->L, 1, "edges") == LUA_TNIL)
        edges = scale < 28 ? 8ull << scale : 0;
    lua_pop(g->L, 1);
    graph(g, &(struct heddle_graph_spec){.kind = HEDDLE_GRAPH_RMAT,
                                         .scale = scale,
                                         .edges = edges,
                                         .a = g->v[2].f,
                                         .b = g->v[3].f,
                                         .c = g->v[4].f,
                                         .seed = g->v[5].u,
                                         .permute = (int)g->v[6].i,
                                         .both = (int)g->v[7].i,
                                         .cap = (uint32_t)g->v[8].u});
}

static void grid(struct given *g)
{
    graph(g, &(struct heddle_graph_spec){.kind = HEDDLE_GRAPH_GRID,
                                         .width = (uint32_t)g->v[0].u,
                                         .height = (uint32_t)g->v[1].u,
                                         .edges = g->v[2].u,
                                         .seed = g->v[3].u});
}

/* ---- arrays --------------------------------------------------------------- */

static void ints(struct given *g)
{
    *g->part[0] =
        heddle_generate_ints(g->v[0].u, (int32_t)g->v[1].i, (int32_t)g->v[2].i,
                             g->v[3].u, g->error, ROOM);
}

static void floats(struct given *g)
{
    *g->part[0] = heddle_generate_floats(g->v[0].u, g->v[1].u, g->error, ROOM);
}

static void permutation(struct given *g)
{
    *g->part[0] =
        heddle_generate_permutation(g->v[0].u, g->v[1].u, g->error, ROOM);
}

static void zipf(struct given *g)
{
    *g->part[0] = heddle_generate_zipf(g->v[0].u, g->v[1].u, g->v[2].f,
                                       g->v[3].u, g->error, ROOM);
}

static void starts(struct given *g)
{
    *g->part[0] = heddle_generate_starts(g->v[0].u, g->v[1].u, g->error, ROOM);
}

/* ---- points and tables ---------------------------------------------------- */

static void clusters(struct given *g)
{
    struct heddle_clusters c;

    if (heddle_generate_clusters((uint32_t)g->v[0].u, (uint32_t)g->v[1].u,
                                 (uint32_t)g->v[2].u, g->v[3].u, &c, g->error,
                                 ROOM) < 0)
        return;
    *g->part[0] = c.coords;
    *g->part[1] = c.centre;
    *g->part[2] = c.nearest;
    *g->part[3] = c.cost;
}

static void memcached(struct given *g)
{
    *g->part[0] = heddle_generate_memcached((uint32_t)g->v[0].u, g->v[1].u,
                                            g->v[2].u, g->error, ROOM);
}

static void mesh(struct given *g)
{
    struct heddle_mesh_spec s = {.nx = (uint32_t)g->v[0].u,
                                 .ny = (uint32_t)g->v[1].u,
                                 .nz = (uint32_t)g->v[2].u,
                                 .window = (uint32_t)g->v[3].u,
                                 .multiple = (uint32_t)g->v[4].u,
                                 .seed = g->v[5].u};

    *g->part[0] = heddle_generate_mesh(&s, g->error, ROOM);
}

static void suffix_tree(struct given *g)
{
    struct heddle_genome_spec s = {.bases = (uint32_t)g->v[0].u,
                                   .genome = (uint32_t)g->v[1].u,
                                   .reads = (uint32_t)g->v[2].u,
                                   .length = (uint32_t)g->v[3].u,
                                   .gc = g->v[4].f,
                                   .seed = g->v[5].u};
    struct heddle_suffix_tree t;

    if (heddle_generate_suffix_tree(&s, &t, g->error, ROOM) < 0)
        return;
    *g->part[0] = t.node;
    *g->part[1] = t.child;
    *g->part[2] = t.reference;
    *g->part[3] = t.reads;
    hl_set_number(g->L, "nodes", t.nodes);
    hl_set_number(g->L, "height", t.height);
}

/* ---- the calls ------------------------------------------------------------ */

static const char *const graph_parts[] = {"start", "nodes", "edges", NULL};
static const char *const cluster_parts[] = {"coords", "centre", "nearest",
                                            "cost", NULL};
static const char *const tree_parts[] = {"node", "child", "reference", "reads",
                                         NULL};

/* clang-format off */
#define CALL(name, parts, ...) {#name, name, parts, {__VA_ARGS__}}
#define OPTION(name, kind, otherwise) {#name, kind, otherwise}
/* clang-format on */

static const struct call calls[] = {
    CALL(uniform_graph, graph_parts, OPTION(n, U32, 0), OPTION(lo, U32, 2),
         OPTION(hi, U32, 4), OPTION(seed, SEED, 1)),
    CALL(random_graph, graph_parts, OPTION(n, U32, 0), OPTION(edges, U64, 0),
         OPTION(seed, SEED, 1)),
    CALL(rmat, graph_parts, OPTION(scale, U32, 0), OPTION(edges, U64, 0),
         OPTION(a, REAL, .57), OPTION(b, REAL, .19), OPTION(c, REAL, .19),
         OPTION(seed, SEED, 1), OPTION(permute, FLAG, 1), OPTION(both, FLAG, 1),
         OPTION(cap, U32, 0)),
    CALL(grid, graph_parts, OPTION(width, U32, 0),
         OPTION(height, U32, AS_FIRST), OPTION(edges, U64, 0),
         OPTION(seed, SEED, 1)),
    CALL(ints, NULL, OPTION(n, U64, 0), OPTION(lo, I32, 0),
         OPTION(hi, I32, INT32_MAX), OPTION(seed, SEED, 1)),
    CALL(floats, NULL, OPTION(n, U64, 0), OPTION(seed, SEED, 1)),
    CALL(permutation, NULL, OPTION(n, U64, 0), OPTION(seed, SEED, 1)),
    CALL(zipf, NULL, OPTION(n, U64, 0), OPTION(keys, U64, 0),
         OPTION(s, REAL, .99), OPTION(seed, SEED, 1)),
    CALL(starts, NULL, OPTION(n, U64, 0), OPTION(step, U64, 1)),
    CALL(clusters, cluster_parts, OPTION(n, U32, 0), OPTION(dim, U32, 0),
         OPTION(centres, U32, 0), OPTION(seed, SEED, 1)),
    CALL(memcached, NULL, OPTION(h, U32, 0), OPTION(keys, U64, 0),
         OPTION(seed, SEED, 1)),
    CALL(mesh, NULL, OPTION(nx, U32, 0), OPTION(ny, U32, AS_FIRST),
         OPTION(nz, U32, AS_FIRST), OPTION(window, U32, 1),
         OPTION(multiple, U32, 1), OPTION(seed, SEED, 1)),
    CALL(suffix_tree, tree_parts, OPTION(bases, U32, 0), OPTION(genome, U32, 0),
         OPTION(reads, U32, 1), OPTION(length, U32, 1), OPTION(gc, REAL, .5),
         OPTION(seed, SEED, 1)),
};

/* Upvalue 1: the call. */
static int generate(lua_State *L)
{
    const struct call *c = &calls[lua_tointeger(L, lua_upvalueindex(1))];
    struct given g = {.L = L};

    check_options(L, c);
    for (int i = 0; c->option[i].name != NULL; i++) {
        g.v[i] = take_option(L, &c->option[i], g.v[0]);
        lua_pop(L, 1);
    }
    if (c->part == NULL)
        g.part[0] = data_box(L);
    else
        lua_createtable(L, 0, 7);
    for (int i = 0; c->part != NULL && c->part[i] != NULL; i++) {
        g.part[i] = data_box(L);
        lua_setfield(L, -2, c->part[i]);
    }
    c->make(&g);
    return *g.part[0] ? 1 : hl_raise(L, HEDDLE_EINVAL, g.error);
}

int luaopen_heddle_generate(lua_State *L)
{
    lua_newtable(L);
    for (size_t i = 0; i < sizeof calls / sizeof *calls; i++) {
        lua_pushinteger(L, (lua_Integer)i);
        lua_pushcclosure(L, generate, 1);
        lua_setfield(L, -2, calls[i].name);
    }
    return 1;
}

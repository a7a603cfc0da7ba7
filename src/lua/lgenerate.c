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
#include <stdlib.h>
#include <string.h>

#include "../heddle_generate.h"
#include "lheddle.h"

#define DATA "heddle.data"

HL_MODULE int luaopen_heddle_generate(lua_State *L);

/* ---- data ------------------------------------------------------------- */

static heddle_data *data_check(lua_State *L, int i)
{
    heddle_data **d = luaL_checkudata(L, i, DATA);

    luaL_argcheck(L, *d != NULL, i, "the data is closed");
    return *d;
}

static int data_gc(lua_State *L)
{
    heddle_data **d = luaL_checkudata(L, 1, DATA);

    heddle_data_free(*d);
    *d = NULL;
    return 0;
}

static int data_len(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)data_check(L, 1)->count);
    return 1;
}

static void push_element(lua_State *L, const heddle_data *d, uint64_t i)
{
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
}

/* d[i]; nil outside. */
static int data_index(lua_State *L)
{
    const heddle_data *d = data_check(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);

    if (i < 0 || (uint64_t)i >= d->count)
        lua_pushnil(L);
    else
        push_element(L, d, (uint64_t)i);
    return 1;
}

static void data_meta(lua_State *L)
{
    static const luaL_Reg meta[] = {
        {"__gc", data_gc},
        {"__len", data_len},
        {"__index", data_index},
        {NULL, NULL},
    };

    luaL_newmetatable(L, DATA);
    luaL_setfuncs(L, meta, 0);
}

/* An empty data userdata on the stack, to be filled by a call that may fail:
 * made first, so that no memory is lost when Lua has none. */
static heddle_data **data_push(lua_State *L)
{
    heddle_data **d = lua_newuserdatauv(L, sizeof(heddle_data *), 0);

    *d = NULL;
    data_meta(L);
    lua_setmetatable(L, -2);
    return d;
}

static int data_done(lua_State *L, heddle_data **at, heddle_data *d,
                     const char *error)
{
    *at = d;
    if (d == NULL)
        return hl_raise(L, HEDDLE_EINVAL, error);
    return 1;
}

/* ---- options ----------------------------------------------------------- */

/* Raises unless every key of the table at 1 is among the n names. */
static void options_check(lua_State *L, const char *call,
                          const char *const *names, size_t n)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1)) {
        const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2)
                                                         : "(not a name)";
        size_t i;

        for (i = 0; i < n && strcmp(names[i], key) != 0; i++)
            ;
        if (i == n) {
            luaL_Buffer b;

            luaL_buffinit(L, &b);
            lua_pushfstring(L, "generate.%s has no option '%s'; it has", call,
                            key);
            luaL_addvalue(&b);
            for (i = 0; i < n; i++) {
                luaL_addstring(&b, " ");
                luaL_addstring(&b, names[i]);
            }
            luaL_pushresult(&b);
            hl_raise(L, HEDDLE_EINVAL, lua_tostring(L, -1));
        }
    }
}

static lua_Integer option_range(lua_State *L, const char *name, lua_Integer def,
                                lua_Integer min, lua_Integer max)
{
    lua_Integer x;
    int ok;

    if (lua_getfield(L, 1, name) == LUA_TNIL)
        x = def;
    else {
        x = lua_tointegerx(L, -1, &ok);
        if (!ok)
            hl_raise(L, HEDDLE_EINVAL,
                     lua_pushfstring(L,
                                     "option %s: expected an integer, got "
                                     "%s",
                                     name, luaL_tolstring(L, -1, NULL)));
    }
    lua_pop(L, 1);
    if (x < min || x > max)
        hl_raise(L, HEDDLE_EINVAL,
                 lua_pushfstring(L, "option %s: %I is outside %I to %I", name,
                                 (LUAI_UACINT)x, (LUAI_UACINT)min,
                                 (LUAI_UACINT)max));
    return x;
}

static uint32_t option_u32(lua_State *L, const char *name, lua_Integer def)
{
    return (uint32_t)option_range(L, name, def, 0, UINT32_MAX);
}

static uint64_t option_u64(lua_State *L, const char *name, lua_Integer def)
{
    return (uint64_t)option_range(L, name, def, 0, LUA_MAXINTEGER);
}

static uint64_t option_seed(lua_State *L)
{
    return (uint64_t)option_range(L, "seed", 1, LUA_MININTEGER, LUA_MAXINTEGER);
}

static double option_number(lua_State *L, const char *name, double def)
{
    double x = def;
    int ok = 1;

    if (lua_getfield(L, 1, name) != LUA_TNIL)
        x = lua_tonumberx(L, -1, &ok);
    lua_pop(L, 1);
    if (!ok)
        hl_raise(L, HEDDLE_EINVAL,
                 lua_pushfstring(L, "option %s: expected a number", name));
    return x;
}

static int option_flag(lua_State *L, const char *name, int def)
{
    int x = def;

    if (lua_getfield(L, 1, name) != LUA_TNIL)
        x = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return x;
}

/* ---- graphs ------------------------------------------------------------- */

/* g:levels(source) */
static int graph_levels(lua_State *L)
{
    struct heddle_graph g = {0};
    char error[256];
    heddle_data **d;
    lua_Integer source = luaL_optinteger(L, 2, 0);

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_getfield(L, 1, "start");
    lua_getfield(L, 1, "edges");
    g.start = data_check(L, -2);
    g.edges = data_check(L, -1);
    g.n = (uint32_t)(g.start->count - 1);
    g.m = g.edges->count;
    luaL_argcheck(L, source >= 0 && source < (lua_Integer)g.n, 2,
                  "no such node");
    d = data_push(L);
    return data_done(
        L, d, heddle_generate_levels(&g, (uint32_t)source, error, sizeof error),
        error);
}

/* The graph of a spec, as a table of its parts. */
static int graph_push(lua_State *L, const struct heddle_graph_spec *spec)
{
    struct heddle_graph g;
    heddle_data **start, **nodes, **edges;
    char error[256] = "";

    lua_createtable(L, 0, 6);
    start = data_push(L);
    lua_setfield(L, -2, "start");
    nodes = data_push(L);
    lua_setfield(L, -2, "nodes");
    edges = data_push(L);
    lua_setfield(L, -2, "edges");
    hl_set_function(L, "levels", graph_levels);
    if (heddle_generate_graph(spec, &g, error, sizeof error) < 0)
        return hl_raise(L, HEDDLE_EINVAL, error);
    *start = g.start;
    *nodes = g.nodes;
    *edges = g.edges;
    hl_set_number(L, "n", g.n);
    hl_set_number(L, "m", g.m);
    return 1;
}

static int uniform_graph(lua_State *L)
{
    static const char *const names[] = {"n", "lo", "hi", "seed"};
    struct heddle_graph_spec s = {.kind = HEDDLE_GRAPH_UNIFORM};

    options_check(L, "uniform_graph", names, 4);
    s.n = option_u32(L, "n", 0);
    s.lo = option_u32(L, "lo", 2);
    s.hi = option_u32(L, "hi", 4);
    s.seed = option_seed(L);
    return graph_push(L, &s);
}

static int random_graph(lua_State *L)
{
    static const char *const names[] = {"n", "edges", "seed"};
    struct heddle_graph_spec s = {.kind = HEDDLE_GRAPH_RANDOM};

    options_check(L, "random_graph", names, 3);
    s.n = option_u32(L, "n", 0);
    s.edges = option_u64(L, "edges", 0);
    s.seed = option_seed(L);
    return graph_push(L, &s);
}

static int rmat(lua_State *L)
{
    static const char *const names[] = {"scale", "edges",   "a",    "b",  "c",
                                        "seed",  "permute", "both", "cap"};
    struct heddle_graph_spec s = {.kind = HEDDLE_GRAPH_RMAT};

    options_check(L, "rmat", names, 9);
    s.scale = option_u32(L, "scale", 0);
    s.edges = option_u64(L, "edges", s.scale < 28 ? 8ll << s.scale : 0);
    s.a = option_number(L, "a", .57);
    s.b = option_number(L, "b", .19);
    s.c = option_number(L, "c", .19);
    s.permute = option_flag(L, "permute", 1);
    s.both = option_flag(L, "both", 1);
    s.cap = option_u32(L, "cap", 0);
    s.seed = option_seed(L);
    return graph_push(L, &s);
}

static int grid(lua_State *L)
{
    static const char *const names[] = {"width", "height", "edges", "seed"};
    struct heddle_graph_spec s = {.kind = HEDDLE_GRAPH_GRID};

    options_check(L, "grid", names, 4);
    s.width = option_u32(L, "width", 0);
    s.height = option_u32(L, "height", s.width);
    s.edges = option_u64(L, "edges", 0);
    s.seed = option_seed(L);
    return graph_push(L, &s);
}

/* ---- arrays -------------------------------------------------------------- */

static int ints(lua_State *L)
{
    static const char *const names[] = {"n", "lo", "hi", "seed"};
    char error[256];
    uint64_t n;
    int32_t lo, hi;
    heddle_data **d;

    options_check(L, "ints", names, 4);
    n = option_u64(L, "n", 0);
    lo = (int32_t)option_range(L, "lo", 0, INT32_MIN, INT32_MAX);
    hi = (int32_t)option_range(L, "hi", INT32_MAX, INT32_MIN, INT32_MAX);
    d = data_push(L);
    return data_done(
        L, d,
        heddle_generate_ints(n, lo, hi, option_seed(L), error, sizeof error),
        error);
}

static int floats(lua_State *L)
{
    static const char *const names[] = {"n", "seed"};
    char error[256];
    uint64_t n;
    heddle_data **d;

    options_check(L, "floats", names, 2);
    n = option_u64(L, "n", 0);
    d = data_push(L);
    return data_done(
        L, d, heddle_generate_floats(n, option_seed(L), error, sizeof error),
        error);
}

static int permutation(lua_State *L)
{
    static const char *const names[] = {"n", "seed"};
    char error[256];
    uint64_t n;
    heddle_data **d;

    options_check(L, "permutation", names, 2);
    n = option_u64(L, "n", 0);
    d = data_push(L);
    return data_done(
        L, d,
        heddle_generate_permutation(n, option_seed(L), error, sizeof error),
        error);
}

static int zipf(lua_State *L)
{
    static const char *const names[] = {"n", "keys", "s", "seed"};
    char error[256];
    uint64_t n, keys;
    double s;
    heddle_data **d;

    options_check(L, "zipf", names, 4);
    n = option_u64(L, "n", 0);
    keys = option_u64(L, "keys", 0);
    s = option_number(L, "s", .99);
    d = data_push(L);
    return data_done(
        L, d,
        heddle_generate_zipf(n, keys, s, option_seed(L), error, sizeof error),
        error);
}

static int starts(lua_State *L)
{
    static const char *const names[] = {"n", "step"};
    char error[256];
    uint64_t n, step;
    heddle_data **d;

    options_check(L, "starts", names, 2);
    n = option_u64(L, "n", 0);
    step = option_u64(L, "step", 1);
    d = data_push(L);
    return data_done(L, d, heddle_generate_starts(n, step, error, sizeof error),
                     error);
}

/* ---- points and tables --------------------------------------------------- */

static int clusters(lua_State *L)
{
    static const char *const names[] = {"n", "dim", "centres", "seed"};
    static const char *const parts[] = {"coords", "centre", "nearest", "cost"};
    struct heddle_clusters c;
    heddle_data **d[4];
    char error[256];
    uint32_t n, dim, k;

    options_check(L, "clusters", names, 4);
    n = option_u32(L, "n", 0);
    dim = option_u32(L, "dim", 0);
    k = option_u32(L, "centres", 0);
    lua_createtable(L, 0, 4);
    for (int i = 0; i < 4; i++) {
        d[i] = data_push(L);
        lua_setfield(L, -2, parts[i]);
    }
    if (heddle_generate_clusters(n, dim, k, option_seed(L), &c, error,
                                 sizeof error) < 0)
        return hl_raise(L, HEDDLE_EINVAL, error);
    *d[0] = c.coords;
    *d[1] = c.centre;
    *d[2] = c.nearest;
    *d[3] = c.cost;
    return 1;
}

static int memcached(lua_State *L)
{
    static const char *const names[] = {"h", "keys", "seed"};
    char error[256];
    uint64_t keys;
    uint32_t h;
    heddle_data **d;

    options_check(L, "memcached", names, 3);
    h = option_u32(L, "h", 0);
    keys = option_u64(L, "keys", 0);
    d = data_push(L);
    return data_done(
        L, d,
        heddle_generate_memcached(h, keys, option_seed(L), error, sizeof error),
        error);
}

static int mesh(lua_State *L)
{
    static const char *const names[] = {"nx",     "ny",       "nz",
                                        "window", "multiple", "seed"};
    struct heddle_mesh_spec s = {0};
    char error[256];
    heddle_data **d;

    options_check(L, "mesh", names, 6);
    s.nx = option_u32(L, "nx", 0);
    s.ny = option_u32(L, "ny", s.nx);
    s.nz = option_u32(L, "nz", s.nx);
    s.window = option_u32(L, "window", 1);
    s.multiple = option_u32(L, "multiple", 1);
    s.seed = option_seed(L);
    d = data_push(L);
    return data_done(L, d, heddle_generate_mesh(&s, error, sizeof error),
                     error);
}

/* { nodes =, height =, node =, child =, reference =, reads = } */
static int suffix_tree(lua_State *L)
{
    static const char *const names[] = {"bases",  "genome", "reads",
                                        "length", "gc",     "seed"};
    static const char *const parts[] = {"node", "child", "reference", "reads"};
    struct heddle_genome_spec s = {0};
    struct heddle_suffix_tree t;
    heddle_data **d[4];
    char error[256];

    options_check(L, "suffix_tree", names, 6);
    s.bases = option_u32(L, "bases", 0);
    s.genome = option_u32(L, "genome", 0);
    s.reads = option_u32(L, "reads", 1);
    s.length = option_u32(L, "length", 1);
    s.gc = option_number(L, "gc", .5);
    s.seed = option_seed(L);
    lua_createtable(L, 0, 6);
    for (int i = 0; i < 4; i++) {
        d[i] = data_push(L);
        lua_setfield(L, -2, parts[i]);
    }
    if (heddle_generate_suffix_tree(&s, &t, error, sizeof error) < 0)
        return hl_raise(L, HEDDLE_EINVAL, error);
    *d[0] = t.node;
    *d[1] = t.child;
    *d[2] = t.reference;
    *d[3] = t.reads;
    hl_set_number(L, "nodes", t.nodes);
    hl_set_number(L, "height", t.height);
    return 1;
}

int luaopen_heddle_generate(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"uniform_graph", uniform_graph},
        {"random_graph", random_graph},
        {"rmat", rmat},
        {"grid", grid},
        {"ints", ints},
        {"floats", floats},
        {"permutation", permutation},
        {"zipf", zipf},
        {"starts", starts},
        {"clusters", clusters},
        {"memcached", memcached},
        {"mesh", mesh},
        {"suffix_tree", suffix_tree},
        {NULL, NULL},
    };

    data_meta(L);
    lua_pop(L, 1);
    luaL_newlib(L, functions);
    return 1;
}

/*
 * lsandbox.c - the globals of policy code and of generators: the part of Lua
 * that gives the same result in every run.  (Application code, which stands in
 * scripts, has a lower fence: lua/heddle/kernel/pure.lua.)
 *
 * A decision may depend on the question, the state and the parameters, and on
 * nothing else.  So policy code has no clock, no files, no environment, no
 * code loading and no coroutines; pairs and next walk numbers and then strings
 * in order (Lua's own order differs from run to run); table.sort is stable and
 * does not choose pivots by the clock; tostring shows no addresses;
 * math.random is the policy's own stream of the simulation's generator.  A
 * name that is not here raises and says why.  What the warps of a generator do
 * (lgen.c) depends on their places and the parameters, by the same rules.
 *
 * A function keeps its globals in an upvalue, _ENV.  lp_sandbox_enter joins
 * that upvalue to the sandbox's in the policy's functions and in every
 * function that they hold in locals, whatever script they were written in, and
 * in the methods of objects there.
 * What else they hold in locals is reported, so that the bridge can see that
 * it stays as it is.
 *
 * Left out on purpose: protection against a script that means harm.  This is
 * a fence around mistakes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <lualib.h>

#include <stdint.h>
#include <string.h>

#define WORLD "heddle.sandbox.world"

/* What the registry has of a fence, at the fence's address: a list. */
enum {
    SANDBOX = 1, /* the globals */
    SAFE,        /* C functions allowed */
    LOADER       /* a function with _ENV */
};

struct lp_world *lp_world(lua_State *L)
{
    struct lp_world *w;

    if (lua_getfield(L, LUA_REGISTRYINDEX, WORLD) == LUA_TNIL) {
        lua_pop(L, 1);
        w = lua_newuserdatauv(L, sizeof *w, 0);
        memset(w, 0, sizeof *w);
        lua_pushvalue(L, -1);
        lua_setfield(L, LUA_REGISTRYINDEX, WORLD);
    }
    w = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return w;
}

/* ---- building the globals ------------------------------------------------ */

static const char *const banned[] = {
    "os",     "io",      "debug",   "load",      "loadstring",     "loadfile",
    "dofile", "require", "package", "coroutine", "collectgarbage", "_G",
    "warn",
};

/* Upvalue 1 of what raises: the fence. */
static const struct lp_fence *fence_of(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* Reading what is not there. */
static int missing(lua_State *L)
{
    const struct lp_fence *fence = fence_of(L);
    const char *name = luaL_tolstring(L, 2, NULL), *names[64], *near;
    size_t n = 0;

    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strcmp(name, banned[i]) == 0)
            return luaL_error(L, "'%s' is not available in %s: %s", name,
                              fence->code, fence->depends);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        if (n < 64 && lua_type(L, -1) == LUA_TSTRING)
            names[n++] = lua_tostring(L, -1);
    }
    near = heddle_nearest(name, names, n);
    return luaL_error(L,
                      "%s has no global '%s'%s%s%s; what it needs from the "
                      "script must be a local",
                      fence->code, name, near ? " (did you mean '" : "",
                      near ? near : "", near ? "'?)" : "");
}

static int no_global(lua_State *L)
{
    const struct lp_fence *fence = fence_of(L);

    return luaL_error(L,
                      "%s cannot set the global '%s': what changes belongs "
                      "in %s",
                      fence->code, luaL_tolstring(L, 2, NULL), fence->belongs);
}

static int no_change(lua_State *L)
{
    return luaL_error(L, "%s cannot change a library ('%s')", fence_of(L)->code,
                      luaL_tolstring(L, 2, NULL));
}

/* Copies fields of the table on top into the table below it; no list: all. */
static void copy_fields(lua_State *L, const char *const *names)
{
    if (names == NULL) {
        lua_pushnil(L);
        while (lua_next(L, -2)) { /* to from key value */
            lua_pushvalue(L, -2);
            lua_insert(L, -2);
            lua_settable(L, -5);
        }
        return;
    }
    for (; *names; names++) {
        lua_getfield(L, -1, *names);
        lua_setfield(L, -3, *names);
    }
}

static void push_raising(lua_State *L, const struct lp_fence *fence,
                         lua_CFunction fn)
{
    union {
        const struct lp_fence *in;
        void *out;
    } u = {fence};

    lua_pushlightuserdata(L, u.out);
    lua_pushcclosure(L, fn, 1);
}

/* env on top: env[name] = copy of the library, with `fns` over it. */
static void add_library(lua_State *L, const struct lp_fence *fence,
                        const char *name, const luaL_Reg *fns,
                        const char *const *removed)
{
    lua_newtable(L); /* env lib */
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, name);
    lua_remove(L, -2); /* env lib original */
    if (lua_istable(L, -1))
        copy_fields(L, NULL);
    lua_pop(L, 1);
    for (; removed && *removed; removed++) {
        lua_pushnil(L);
        lua_setfield(L, -2, *removed);
    }
    for (; fns && fns->name; fns++) {
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        lua_pushcclosure(L, fns->func, 1);
        lua_setfield(L, -2, fns->name);
    }
    lua_createtable(L, 0, 1);
    push_raising(L, fence, no_change);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, name);
}

static void add_base(lua_State *L, const struct lp_fence *fence)
{
    static const char *const kept[] = {
        "assert", "error",  "ipairs",   "rawequal", "rawlen",
        "rawget", "rawset", "select",   "tonumber", "type",
        "pcall",  "xpcall", "_VERSION", NULL};
    static const luaL_Reg own[] = {{"pairs", lp_lib_pairs},
                                   {"next", lp_lib_next},
                                   {"tostring", lp_lib_tostring},
                                   {"getmetatable", lp_lib_getmetatable},
                                   {"setmetatable", lp_lib_setmetatable},
                                   {NULL, NULL}};
    const luaL_Reg *const lists[] = {own, fence->base};

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_GNAME);
    lua_remove(L, -2);
    copy_fields(L, kept);
    lua_pop(L, 1);
    for (size_t i = 0; i < sizeof lists / sizeof *lists; i++) {
        for (const luaL_Reg *f = lists[i]; f->name; f++) {
            lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
            lua_pushcclosure(L, f->func, 1);
            lua_setfield(L, -2, f->name);
        }
    }
    lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_GNAME);
    lua_getfield(L, -1, "print");
    lua_replace(L, -3);
    lua_pop(L, 1); /* env world print */
    lua_pushcclosure(L, lp_lib_print, 2);
    lua_setfield(L, -2, "print");
}

/* string.format of the whole state, since s:format() reaches it. */
static void guard_format(lua_State *L)
{
    if (lp_world(L)->guarded)
        return;
    lp_world(L)->guarded = 1;
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_STRLIBNAME);
    if (lua_istable(L, -1)) {
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        lua_getfield(L, -2, "format");
        lua_pushcclosure(L, lp_lib_format, 2);
        lua_setfield(L, -2, "format");
    }
    lua_pop(L, 2);
}

/* safe[f] = true for every function in the table on top. */
static void note_safe(lua_State *L, int safe, int depth)
{
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_isfunction(L, -1)) {
            lua_pushvalue(L, -1);
            lua_pushboolean(L, 1);
            lua_rawset(L, safe);
        } else if (lua_istable(L, -1) && depth == 0) {
            note_safe(L, safe, 1);
        }
        lua_pop(L, 1);
    }
}

const struct lp_fence lp_policy_fence = {
    .code = "policy code",
    .depends = "a decision depends on the question, the state and the "
               "parameters only",
    .belongs = "the state",
    .base = (const luaL_Reg[]){{"steer", lp_lib_steer},
                               {"counter", lp_lib_counter},
                               {"recent", lp_lib_recent},
                               {"now", lp_lib_now},
                               {"every", lp_lib_every},
                               {NULL, NULL}},
    .math = (const luaL_Reg[]){{"random", lp_lib_random},
                               {"randomseed", lp_lib_no_seed},
                               {NULL, NULL}},
};

/* Pushes the list of a fence that the registry is to have. */
static void build(lua_State *L, const struct lp_fence *fence)
{
    static const luaL_Reg table[] = {{"sort", lp_lib_sort}, {NULL, NULL}};
    static const char *const no_dump[] = {"dump", NULL};

    lp_world(L);
    guard_format(L);
    lua_createtable(L, LOADER, 0);
    lua_newtable(L); /* list env */
    add_base(L, fence);
    add_library(L, fence, LUA_MATHLIBNAME, fence->math, NULL);
    add_library(L, fence, LUA_TABLIBNAME, table, NULL);
    add_library(L, fence, LUA_STRLIBNAME, NULL, no_dump);
    add_library(L, fence, LUA_UTF8LIBNAME, NULL, NULL);
    lua_newtable(L); /* list env safe */
    lua_pushvalue(L, -2);
    note_safe(L, lua_gettop(L) - 1, 0);
    lua_pop(L, 1);
    lua_rawseti(L, -3, SAFE);
    lua_createtable(L, 0, 2);
    push_raising(L, fence, missing);
    lua_setfield(L, -2, "__index");
    push_raising(L, fence, no_global);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
    luaL_loadstring(L, "return nil");
    lua_pushvalue(L, -2);
    lua_setupvalue(L, -2, 1);
    lua_rawseti(L, -3, LOADER);
    lua_rawseti(L, -2, SANDBOX);
}

/* Pushes one of the things that the registry has of a fence. */
static void push_of(lua_State *L, const struct lp_fence *fence, int which)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, fence) == LUA_TNIL) {
        lua_pop(L, 1);
        build(L, fence);
        lua_pushvalue(L, -1);
        lua_rawsetp(L, LUA_REGISTRYINDEX, fence);
    }
    lua_rawgeti(L, -1, which);
    lua_remove(L, -2);
}

void lp_sandbox_push(lua_State *L, const struct lp_fence *fence)
{
    push_of(L, fence, SANDBOX);
}

/* ---- entering ------------------------------------------------------------ */

struct visit {
    const struct lp_fence *fence;
    int seen, loader, safe; /* stack indices */
    int meta;               /* metatables it is in */
    lp_upvalue_fn *each;
    void *ud;
};

static void enter(lua_State *L, int f, struct visit *v, int depth);

static void check_c_function(lua_State *L, int f, const struct visit *v,
                             const char *name)
{
    lua_pushvalue(L, f);
    if (lua_rawget(L, v->safe) == LUA_TNIL)
        luaL_error(L,
                   "the local '%s' holds a function of the system's that %s "
                   "may not call; use the global of %s",
                   name, v->fence->code, v->fence->code);
    lua_pop(L, 1);
}

static int is_module(lua_State *L, int t)
{
    int found = 0;

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        found |= lua_rawequal(L, -1, t);
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return found;
}

static void enter_table(lua_State *L, int t, struct visit *v, const char *name,
                        int depth);

/* What is on top of the stack, and stays there: held by the local `name`. */
static void enter_value(lua_State *L, struct visit *v, const char *name,
                        int depth)
{
    int at = lua_gettop(L);

    if (lua_iscfunction(L, at))
        check_c_function(L, at, v, name);
    else if (lua_isfunction(L, at))
        enter(L, at, v, depth + 1);
    else if (lua_istable(L, at))
        enter_table(L, at, v, name, depth + 1);
    lua_settop(L, at);
}

/* A table in a local: functions in it are entered too. */
static void enter_table(lua_State *L, int t, struct visit *v, const char *name,
                        int depth)
{
    luaL_checkstack(L, 8, "too many nested tables");
    if (is_module(L, t))
        luaL_error(L,
                   "the local '%s' holds a whole module; let %s have the "
                   "functions and values that it needs in locals",
                   name, v->fence->code);
    lua_pushvalue(L, t);
    if (lua_rawget(L, v->seen) != LUA_TNIL || depth > 16) {
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, t);
    lua_pushboolean(L, 1);
    lua_rawset(L, v->seen);
    lua_pushnil(L);
    while (lua_next(L, t)) {
        enter_value(L, v, name, depth);
        lua_pop(L, 1);
    }
    if (lua_getmetatable(L, t)) { /* of an object: its class */
        v->meta++;
        enter_value(L, v, name, depth);
        v->meta--;
        lua_pop(L, 1);
    }
}

static void enter_upvalue(lua_State *L, int f, int n, const char *name,
                          struct visit *v, int depth)
{
    int value = lua_gettop(L);

    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (strcmp(name, "_ENV") == 0 || lua_rawequal(L, -1, value)) {
        lua_upvaluejoin(L, f, n, v->loader, 1);
        return;
    }
    lua_pop(L, 1);
    enter_value(L, v, name, depth);
    lua_pushvalue(L, f);
    lua_pushvalue(L, value);
    if (v->each)
        v->each(L, v->ud, name, n);
}

/* Whether a function stands in one of heddle's own modules, which others call
 * outside of the fence, too. */
static int is_own(lua_State *L, int f)
{
    lua_Debug ar;

    lua_pushvalue(L, f);
    lua_getinfo(L, ">S", &ar);
    return strncmp(ar.source, "=heddle/", 8) == 0 &&
           strncmp(ar.source, "=heddle/policies/", 17) != 0;
}

static void enter(lua_State *L, int f, struct visit *v, int depth)
{
    const char *name;

    if (v->meta > 0 && is_own(L, f))
        return;
    luaL_checkstack(L, 8, "too many nested functions");
    if (depth > 64)
        luaL_error(L, "functions nested too deeply in locals");
    lua_pushvalue(L, f);
    if (lua_rawget(L, v->seen) != LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    lua_pop(L, 1);
    lua_pushvalue(L, f);
    lua_pushboolean(L, 1);
    lua_rawset(L, v->seen);
    for (int n = 1; (name = lua_getupvalue(L, f, n)) != NULL; n++) {
        int top = lua_gettop(L);
        enter_upvalue(L, f, n, name, v, depth);
        lua_settop(L, top - 1);
    }
}

void lp_sandbox_enter(lua_State *L, const struct lp_fence *fence, int i,
                      lp_upvalue_fn *each, void *ud)
{
    struct visit v = {.fence = fence, .each = each, .ud = ud};

    i = lua_absindex(L, i);
    lua_newtable(L);
    v.seen = lua_gettop(L);
    push_of(L, fence, LOADER);
    v.loader = lua_gettop(L);
    push_of(L, fence, SAFE);
    v.safe = lua_gettop(L);
    if (lua_iscfunction(L, i))
        check_c_function(L, i, &v, "(the function itself)");
    else
        enter(L, i, &v, 0);
    lua_settop(L, v.seen - 1);
}

/*
 * lsandbox.c - the globals of policy and application code: the part of Lua
 * that gives the same result in every run.
 *
 * A decision may depend on the question, the state and the parameters, and on
 * nothing else.  So policy code has no clock, no files, no environment, no
 * code loading and no coroutines; pairs and next walk numbers and then strings
 * in order (Lua's own order differs from run to run); table.sort is stable and
 * does not choose pivots by the clock; tostring shows no addresses;
 * math.random is the policy's own stream of the simulation's generator.  A
 * name that is not here raises and says why.
 *
 * A function keeps its globals in an upvalue, _ENV.  lp_sandbox_enter joins
 * that upvalue to the sandbox's in the policy's functions and in every
 * function that they hold in locals, whatever script they were written in.
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

#define SANDBOX "heddle.sandbox"        /* registry: the globals */
#define SAFE "heddle.sandbox.safe"      /* registry: C functions allowed */
#define LOADER "heddle.sandbox.loader"  /* registry: a function with _ENV */
#define WORLD "heddle.sandbox.world"

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

static struct lp_world *world(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* ---- iteration in order -------------------------------------------------- */

/* Upvalues: table, keys, position.  A key whose value is gone is skipped. */
static int pairs_step(lua_State *L)
{
    lua_Integer at = lua_tointeger(L, lua_upvalueindex(3));

    for (;;) {
        at++;
        if (lua_rawgeti(L, lua_upvalueindex(2), at) == LUA_TNIL)
            return 1;
        lua_pushvalue(L, -1);
        if (lua_rawget(L, lua_upvalueindex(1)) != LUA_TNIL)
            break;
        lua_pop(L, 2);
    }
    lua_pushinteger(L, at);
    lua_replace(L, lua_upvalueindex(3));
    return 2;
}

static int ordered_pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL)
        return luaL_error(L, "pairs of a table with __pairs is not available "
                             "in policy code");
    lua_pushvalue(L, 1);
    lp_state_keys(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, pairs_step, 3);
    return 1;
}

/* The key after `key` in order; O(n) a call. */
static int ordered_next(lua_State *L)
{
    lua_Integer n;

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    n = lp_state_keys(L, 1); /* table key keys */
    for (lua_Integer i = 0; i <= n; i++) {
        if (i == 0 && !lua_isnil(L, 2))
            continue;
        if (i > 0 && !lua_isnil(L, 2)) {
            lua_rawgeti(L, 3, i);
            if (!lua_rawequal(L, -1, 2)) {
                lua_pop(L, 1);
                continue;
            }
        }
        if (lua_rawgeti(L, 3, i + 1) == LUA_TNIL)
            return 1;
        lua_pushvalue(L, -1);
        lua_rawget(L, 1);
        return 2;
    }
    return luaL_error(L, "invalid key to 'next'");
}

/* Whether a < b, by the function at index 2 or by <. */
static int before(lua_State *L, int a, int b)
{
    int less;

    a = lua_absindex(L, a);
    b = lua_absindex(L, b);
    if (lua_isnil(L, 2))
        return lua_compare(L, a, b, LUA_OPLT);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, a);
    lua_pushvalue(L, b);
    lua_call(L, 2, 1);
    less = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return less;
}

/* Merges [lo, mid) and [mid, hi) of table `from` into table `to`. */
static void merge(lua_State *L, int from, int to, lua_Integer lo,
                  lua_Integer mid, lua_Integer hi)
{
    lua_Integer a = lo, b = mid;

    for (lua_Integer i = lo; i < hi; i++) {
        int left = a < mid;

        if (a < mid && b < hi) {
            lua_geti(L, from, a);
            lua_geti(L, from, b);
            left = !before(L, -1, -2); /* equal: the left one, so stable */
            lua_pop(L, 2);
        }
        lua_geti(L, from, left ? a++ : b++);
        lua_seti(L, to, i);
    }
}

static int stable_sort(lua_State *L)
{
    lua_Integer n = luaL_len(L, 1);
    int from = 1, to = 3;

    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_createtable(L, (int)n, 0);
    for (lua_Integer width = 1; width < n; width *= 2) {
        for (lua_Integer lo = 1; lo <= n; lo += 2 * width) {
            lua_Integer mid = lo + width > n + 1 ? n + 1 : lo + width;
            lua_Integer hi = lo + 2 * width > n + 1 ? n + 1 : lo + 2 * width;
            merge(L, from, to, lo, mid, hi);
        }
        from = 4 - from;
        to = 4 - to;
    }
    for (lua_Integer i = 1; from == 3 && i <= n; i++) {
        lua_geti(L, 3, i);
        lua_seti(L, 1, i);
    }
    return 0;
}

/* ---- text without addresses ---------------------------------------------- */

static void push_text(lua_State *L, int i)
{
    int t = lua_type(L, i);

    if (t == LUA_TTABLE || t == LUA_TFUNCTION || t == LUA_TUSERDATA ||
        t == LUA_TLIGHTUSERDATA || t == LUA_TTHREAD) {
        if (!luaL_callmeta(L, i, "__tostring"))
            lua_pushstring(L, lua_typename(L, t));
    } else {
        luaL_tolstring(L, i, NULL);
    }
}

static int safe_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    push_text(L, 1);
    return 1;
}

/* Upvalues: world, the original string.format.  Values with addresses become
 * text first; %p is refused.  Outside policy code it is the original. */
static int safe_format(lua_State *L)
{
    int n = lua_gettop(L);
    const char *f = luaL_checkstring(L, 1);

    if (world(L)->running != NULL) {
        for (f = strchr(f, '%'); f; f = strchr(f, '%')) {
            f += 1 + strspn(f + 1, "-+ #0123456789.");
            if (*f == 'p')
                return luaL_error(L, "%%p shows an address, which differs "
                                     "from run to run");
            f += *f != '\0';
        }
        for (int i = 2; i <= n; i++) {
            int t = lua_type(L, i);
            if (t == LUA_TTABLE || t == LUA_TFUNCTION || t == LUA_TUSERDATA) {
                push_text(L, i);
                lua_replace(L, i);
            }
        }
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    lua_insert(L, 1);
    lua_call(L, n, LUA_MULTRET);
    return lua_gettop(L);
}

/* Upvalue 2: the system's print. */
static int safe_print(lua_State *L)
{
    int n = lua_gettop(L);

    lua_pushvalue(L, lua_upvalueindex(2));
    for (int i = 1; i <= n; i++)
        push_text(L, i);
    lua_call(L, n, 0);
    return 0;
}

/* ---- the simulation ------------------------------------------------------ */

static struct lp *running(lua_State *L, const char *what)
{
    struct lp *p = world(L)->running;

    if (p == NULL)
        luaL_error(L, "%s works only while a policy answers", what);
    return p;
}

static int stream_random(lua_State *L)
{
    uint64_t u = lp_random(running(L, "math.random")), n;
    lua_Integer low = 1, high;

    switch (lua_gettop(L)) {
    case 0:
        lua_pushnumber(L, (lua_Number)(u >> 11) * (0.5 / ((uint64_t)1 << 52)));
        return 1;
    case 1:
        high = luaL_checkinteger(L, 1);
        break;
    default:
        low = luaL_checkinteger(L, 1);
        high = luaL_checkinteger(L, 2);
        break;
    }
    luaL_argcheck(L, low <= high, lua_gettop(L), "interval is empty");
    n = (uint64_t)high - (uint64_t)low + 1;
    if (n != 0 && n <= UINT32_MAX)
        u = ((u >> 32) * n) >> 32;
    else if (n != 0)
        u %= n;
    lua_pushinteger(L, (lua_Integer)((uint64_t)low + u));
    return 1;
}

static int no_seed(lua_State *L)
{
    return luaL_error(L, "math.randomseed is not available in policy code: "
                         "the stream comes from the simulation's seed");
}

/* steer(table, i, j, value) */
static int steer(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "steer"));
    const char *table = luaL_checkstring(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2), j = luaL_checkinteger(L, 3);
    uint64_t value = lua_isboolean(L, 4) ? (uint64_t)lua_toboolean(L, 4)
                                         : (uint64_t)luaL_checkinteger(L, 4);

    if (i < 0 || i > INT32_MAX)
        i = INT32_MAX;
    if (j < 0 || j > INT32_MAX)
        j = INT32_MAX;
    if (heddle_steer(s, table, (uint32_t)i, (uint32_t)j, value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s));
    return 0;
}

/* counter("l2tlb.misses" [, app]): the sum over all copies of the part, and
 * over all applications if none is given. */
static int counter(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "counter"));
    const char *name = luaL_checkstring(L, 1);
    uint32_t apps = heddle_apps(s), first = 0, last = apps;
    struct heddle_counter_info c;
    uint64_t sum = 0;

    if (!lua_isnoneornil(L, 2))
        first = last = (uint32_t)luaL_checkinteger(L, 2);
    for (uint32_t i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        size_t n = strlen(c.component);
        if (strncmp(c.component, name, n) != 0 || name[n] != '.' ||
            strcmp(c.name, name + n + 1) != 0)
            continue;
        for (uint32_t k = 0; k < c.instances; k++)
            for (uint32_t app = first; app <= last; app++)
                sum += heddle_counter_value(s, i, k, app);
        lua_pushinteger(L, (lua_Integer)sum);
        return 1;
    }
    return luaL_error(L, "there is no counter '%s' (see: heddle list "
                         "counters)", name);
}

/* now(): the core cycle */
static int now(lua_State *L)
{
    lua_pushinteger(L,
                    (lua_Integer)heddle_now(lp_sim(running(L, "now"))));
    return 1;
}

/* every(cycles, function): for the field `every` of a policy */
static int every(lua_State *L)
{
    luaL_checkany(L, 1);
    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_createtable(L, 2, 0);
    lua_pushvalue(L, 1);
    lua_rawseti(L, -2, 1);
    lua_pushvalue(L, 2);
    lua_rawseti(L, -2, 2);
    return 1;
}

/* ---- metatables ----------------------------------------------------------- */

static int safe_getmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (!lua_getmetatable(L, 1))
        lua_pushnil(L);
    return 1;
}

static int safe_setmetatable(lua_State *L)
{
    static const char *const refused[] = {"__mode", "__gc", "__pairs"};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    for (size_t i = 0; lua_istable(L, 2) && i < 3; i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L, "%s is not available in policy code: when "
                                 "memory is collected differs from run to run",
                              refused[i]);
        lua_pop(L, 1);
    }
    lua_setmetatable(L, 1);
    return 1;
}

/* ---- building the globals -------------------------------------------------- */

static const char *const banned[] = {
    "os",     "io",       "debug",      "load",           "loadstring",
    "loadfile", "dofile", "require",    "package",        "coroutine",
    "collectgarbage", "_G", "warn",
};

/* Upvalue 1: the globals.  Reading what is not there. */
static int missing(lua_State *L)
{
    const char *name = luaL_tolstring(L, 2, NULL), *names[64], *near;
    size_t n = 0;

    for (size_t i = 0; i < sizeof banned / sizeof *banned; i++)
        if (strcmp(name, banned[i]) == 0)
            return luaL_error(L,
                              "'%s' is not available in policy code: a "
                              "decision depends on the question, the state and "
                              "the parameters only",
                              name);
    lua_pushnil(L);
    while (lua_next(L, 1)) {
        lua_pop(L, 1);
        if (n < 64 && lua_type(L, -1) == LUA_TSTRING)
            names[n++] = lua_tostring(L, -1);
    }
    near = heddle_nearest(name, names, n);
    return luaL_error(L,
                      "policy code has no global '%s'%s%s%s; what it needs "
                      "from the script must be a local",
                      name, near ? " (did you mean '" : "", near ? near : "",
                      near ? "'?)" : "");
}

static int no_global(lua_State *L)
{
    return luaL_error(L, "policy code cannot set the global '%s': what changes "
                         "belongs in the state",
                      luaL_tolstring(L, 2, NULL));
}

static int no_change(lua_State *L)
{
    return luaL_error(L, "policy code cannot change a library ('%s')",
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

/* env on top: env[name] = copy of the library, with `fns` over it. */
static void add_library(lua_State *L, const char *name, const luaL_Reg *fns,
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
    lua_pushcfunction(L, no_change);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    lua_setfield(L, -2, name);
}

static void add_base(lua_State *L)
{
    static const char *const kept[] = {
        "assert", "error",  "ipairs",   "rawequal", "rawlen", "rawget",
        "rawset", "select", "tonumber", "type",     "pcall",  "xpcall",
        "_VERSION", NULL};
    static const luaL_Reg own[] = {{"pairs", ordered_pairs},
                                   {"next", ordered_next},
                                   {"tostring", safe_tostring},
                                   {"getmetatable", safe_getmetatable},
                                   {"setmetatable", safe_setmetatable},
                                   {"steer", steer},
                                   {"counter", counter},
                                   {"now", now},
                                   {"every", every},
                                   {NULL, NULL}};

    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_GNAME);
    lua_remove(L, -2);
    copy_fields(L, kept);
    lua_pop(L, 1);
    for (const luaL_Reg *f = own; f->name; f++) {
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        lua_pushcclosure(L, f->func, 1);
        lua_setfield(L, -2, f->name);
    }
    lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_GNAME);
    lua_getfield(L, -1, "print");
    lua_replace(L, -3);
    lua_pop(L, 1); /* env world print */
    lua_pushcclosure(L, safe_print, 2);
    lua_setfield(L, -2, "print");
}

/* string.format of the whole state, since s:format() reaches it. */
static void guard_format(lua_State *L)
{
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_getfield(L, -1, LUA_STRLIBNAME);
    if (lua_istable(L, -1)) {
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        lua_getfield(L, -2, "format");
        lua_pushcclosure(L, safe_format, 2);
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

static void build(lua_State *L)
{
    static const luaL_Reg math[] = {
        {"random", stream_random}, {"randomseed", no_seed}, {NULL, NULL}};
    static const luaL_Reg table[] = {{"sort", stable_sort}, {NULL, NULL}};
    static const char *const no_dump[] = {"dump", NULL};

    lp_world(L);
    guard_format(L);
    lua_newtable(L); /* env */
    add_base(L);
    add_library(L, LUA_MATHLIBNAME, math, NULL);
    add_library(L, LUA_TABLIBNAME, table, NULL);
    add_library(L, LUA_STRLIBNAME, NULL, no_dump);
    add_library(L, LUA_UTF8LIBNAME, NULL, NULL);
    lua_newtable(L); /* env safe */
    lua_pushvalue(L, -2);
    note_safe(L, lua_gettop(L) - 1, 0);
    lua_pop(L, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, SAFE);
    lua_createtable(L, 0, 2);
    lua_pushcfunction(L, missing);
    lua_setfield(L, -2, "__index");
    lua_pushcfunction(L, no_global);
    lua_setfield(L, -2, "__newindex");
    lua_setmetatable(L, -2);
    luaL_loadstring(L, "return nil");
    lua_pushvalue(L, -2);
    lua_setupvalue(L, -2, 1);
    lua_setfield(L, LUA_REGISTRYINDEX, LOADER);
    lua_setfield(L, LUA_REGISTRYINDEX, SANDBOX);
}

void lp_sandbox_push(lua_State *L)
{
    if (lua_getfield(L, LUA_REGISTRYINDEX, SANDBOX) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    build(L);
    lua_getfield(L, LUA_REGISTRYINDEX, SANDBOX);
}

/* ---- entering --------------------------------------------------------------- */

struct visit {
    int seen, loader, safe; /* stack indices */
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
                   "the local '%s' holds a function of the system's that "
                   "policy code may not call; use the global of policy code",
                   name);
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

/* A table in a local: functions in it are entered too. */
static void enter_table(lua_State *L, int t, struct visit *v, const char *name,
                        int depth)
{
    luaL_checkstack(L, 8, "too many nested tables");
    if (is_module(L, t))
        luaL_error(L,
                   "the local '%s' holds a whole module; let policy code have "
                   "the functions and values that it needs in locals",
                   name);
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
        int at = lua_gettop(L);
        if (lua_iscfunction(L, at))
            check_c_function(L, at, v, name);
        else if (lua_isfunction(L, at))
            enter(L, at, v, depth + 1);
        else if (lua_istable(L, at))
            enter_table(L, at, v, name, depth + 1);
        lua_settop(L, at - 1);
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
    if (lua_iscfunction(L, value))
        check_c_function(L, value, v, name);
    else if (lua_isfunction(L, value))
        enter(L, value, v, depth + 1);
    else if (lua_istable(L, value))
        enter_table(L, value, v, name, depth + 1);
    lua_pushvalue(L, f);
    lua_pushvalue(L, value);
    if (v->each)
        v->each(L, v->ud, name, n);
}

static void enter(lua_State *L, int f, struct visit *v, int depth)
{
    const char *name;

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

void lp_sandbox_enter(lua_State *L, int i, lp_upvalue_fn *each, void *ud)
{
    struct visit v = {0, 0, 0, each, ud};

    i = lua_absindex(L, i);
    lp_sandbox_push(L);
    lua_pop(L, 1);
    lua_newtable(L);
    v.seen = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LOADER);
    v.loader = lua_gettop(L);
    lua_getfield(L, LUA_REGISTRYINDEX, SAFE);
    v.safe = lua_gettop(L);
    if (lua_iscfunction(L, i))
        check_c_function(L, i, &v, "(the function itself)");
    else
        enter(L, i, &v, 0);
    lua_settop(L, v.seen - 1);
}

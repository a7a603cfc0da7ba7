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
 * The fence is a list of what gets through, `common`, and each fence's own:
 * every function that is not there is out of reach, whatever a later Lua or the
 * script adds to a library.  The manual prints it and t/526-fence.lua walks all
 * that a policy can reach.  The functions come from a state of their own, so
 * they are Lua's even where the script has exchanged its.  The libraries are
 * one copy for all policies and cannot be changed by any.
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
#include "lheddle.h"
#include "lpolicy.h"

#include <lualib.h>

#include <stdint.h>
#include <string.h>

#define WORLD "heddle.sandbox.world"

/* What the registry has of a fence, at the fence's address: a list. */
enum {
    SANDBOX = 1, /* the globals */
    SAFE,        /* C functions allowed */
    LOADER,      /* a function with _ENV */
    METAS        /* [table] = true: set as a metatable */
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
        lua_getfield(L, LUA_REGISTRYINDEX, HL_INTERRUPT);
        w->in = lua_touserdata(L, -1);
        lua_pop(L, 1);
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
    const char *name = lp_text(L, 2), *names[64], *near;
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
                      fence->code, lp_text(L, 2), fence->belongs);
}

static int no_change(lua_State *L)
{
    return luaL_error(L, "%s cannot change a library ('%s')", fence_of(L)->code,
                      lp_text(L, 2));
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

/* What code behind any fence can reach: nothing else, and nothing that the
 * script has put into Lua's own libraries. */
static const struct lp_global common[] = {
    {"", "assert", NULL, ""},
    {"", "error", NULL, ""},
    {"", "ipairs", NULL, ""},
    {"", "rawequal", NULL, ""},
    {"", "rawget", NULL, ""},
    {"", "rawlen", NULL, ""},
    {"", "select", NULL, ""},
    {"", "type", NULL, ""},
    {"", "getmetatable", lp_lib_getmetatable, "of tables only"},
    {"", "next", lp_lib_next, "numbers and then strings, in order"},
    {"", "pairs", lp_lib_pairs, "numbers and then strings, in order"},
    {"", "pcall", lp_lib_pcall, "does not catch that the budget is used up"},
    {"", "print", lp_lib_print, "shows no addresses"},
    {"", "rawset", lp_lib_rawset, "of tables whose metatable is not protected"},
    {"", "setmetatable", lp_lib_setmetatable, "no __mode, __gc or __pairs"},
    {"", "tonumber", lp_lib_by_length, "counts its text"},
    {"", "tostring", lp_lib_tostring, "shows no addresses"},
    {"", "xpcall", lp_lib_xpcall, "does not catch that the budget is used up"},
    {"math", "abs", NULL, ""},
    {"math", "acos", NULL, ""},
    {"math", "asin", NULL, ""},
    {"math", "atan", NULL, ""},
    {"math", "ceil", NULL, ""},
    {"math", "cos", NULL, ""},
    {"math", "deg", NULL, ""},
    {"math", "exp", NULL, ""},
    {"math", "floor", NULL, ""},
    {"math", "fmod", NULL, ""},
    {"math", "log", NULL, ""},
    {"math", "max", NULL, ""},
    {"math", "min", NULL, ""},
    {"math", "modf", NULL, ""},
    {"math", "rad", NULL, ""},
    {"math", "sin", NULL, ""},
    {"math", "sqrt", NULL, ""},
    {"math", "tan", NULL, ""},
    {"math", "tointeger", NULL, ""},
    {"math", "type", NULL, ""},
    {"math", "ult", NULL, ""},
    {"string", "char", NULL, ""},
    {"string", "len", NULL, ""},
    {"string", "lower", NULL, ""},
    {"string", "pack", NULL, ""},
    {"string", "packsize", NULL, ""},
    {"string", "reverse", NULL, ""},
    {"string", "sub", NULL, ""},
    {"string", "upper", NULL, ""},
    {"string", "byte", lp_lib_by_length, "counts its text"},
    {"string", "find", lp_lib_find, "counts its steps"},
    {"string", "format", lp_lib_format, "shows no addresses; no %p"},
    {"string", "gmatch", lp_lib_gmatch, "counts its steps"},
    {"string", "gsub", lp_lib_gsub, "counts its steps"},
    {"string", "match", lp_lib_match, "counts its steps"},
    {"string", "rep", lp_lib_rep, "counts its text"},
    {"string", "unpack", lp_lib_by_length, "counts its text"},
    {"table", "pack", NULL, ""},
    {"table", "concat", lp_lib_concat, "counts the elements"},
    {"table", "insert", lp_lib_insert, "counts the elements"},
    {"table", "move", lp_lib_move, "counts the elements"},
    {"table", "remove", lp_lib_remove, "counts the elements"},
    {"table", "sort", lp_lib_sort, "stable; counts the elements"},
    {"table", "unpack", lp_lib_unpack, "counts the elements; 65536 at most"},
    {"utf8", "char", NULL, ""},
    {"utf8", "codepoint", lp_lib_by_length, "counts its text"},
    {"utf8", "codes", lp_lib_by_length, "counts its text"},
    {"utf8", "len", lp_lib_by_length, "counts its text"},
    {"utf8", "offset", lp_lib_by_length, "counts its text"},
    {NULL, NULL, NULL, NULL},
};

/* The values that are no functions. */
static const struct {
    const char *library, *name;
} constant[] = {
    {"", "_VERSION"},       {"math", "huge"}, {"math", "maxinteger"},
    {"math", "mininteger"}, {"math", "pi"},   {"utf8", "charpattern"},
};

/* Function i of those that code behind a fence has, the fence's own last;
 * NULL: no more. */
static const struct lp_global *global_of(const struct lp_fence *fence, size_t i)
{
    const size_t n = sizeof common / sizeof *common - 1;
    const struct lp_global *g = i < n ? &common[i] : fence->own;

    if (i < n)
        return g;
    for (i -= n; g->name != NULL && i > 0; i--)
        g++;
    return g->name != NULL ? g : NULL;
}

/* Pushes a library of the state S, or its globals. */
static void push_library(lua_State *S, const char *name)
{
    lua_rawgeti(S, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (*name != '\0') {
        lua_getfield(S, -1, name);
        lua_remove(S, -2);
    }
}

/* A state with Lua's libraries as they were made, whatever the script has put
 * into its own.  The box is closed when it is collected. */
static int close_pristine(lua_State *L)
{
    lua_State **S = lua_touserdata(L, 1);

    if (*S != NULL)
        lua_close(*S);
    *S = NULL;
    return 0;
}

/* All that can fail in it is memory, and that is told in the other state. */
static int fail_pristine(lua_State *S)
{
    lua_State *L;

    memcpy(&L, lua_getextraspace(S), sizeof L);
    return hl_raise_memory(L);
}

static lua_State **push_pristine(lua_State *L)
{
    lua_State **S = lua_newuserdatauv(L, sizeof *S, 0);

    *S = NULL;
    if (luaL_newmetatable(L, "heddle.sandbox.pristine")) {
        lua_pushcfunction(L, close_pristine);
        lua_setfield(L, -2, "__gc");
    }
    lua_setmetatable(L, -2);
    *S = luaL_newstate();
    if (*S == NULL)
        hl_raise_memory(L);
    memcpy(lua_getextraspace(*S), &L, sizeof L);
    lua_atpanic(*S, fail_pristine);
    luaL_openlibs(*S);
    return S;
}

/* The table env, or its library of that name, at index env: pushed. */
static void push_place(lua_State *L, int env, const char *library)
{
    if (*library == '\0')
        lua_pushvalue(L, env);
    else if (luaL_getsubtable(L, env, library) == 0)
        lua_pushvalue(L, -1);
}

/* Sets a function of the table on top. */
static void add_global(lua_State *L, const struct lp_global *g, lua_State *S)
{
    lua_CFunction own;

    push_library(S, g->library);
    lua_getfield(S, -1, g->name);
    own = lua_tocfunction(S, -1);
    lua_settop(S, 0);
    if (g->f != NULL) {
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        if (own != NULL)
            lua_pushcfunction(L, own);
        else
            lua_pushnil(L);
        lua_pushcclosure(L, g->f, 2);
        lua_setfield(L, -2, g->name);
    } else if (own != NULL) {
        lua_pushcfunction(L, own);
        lua_setfield(L, -2, g->name);
    }
}

static void add_constant(lua_State *L, size_t i, lua_State *S)
{
    size_t n;
    const char *s;

    push_library(S, constant[i].library);
    if (lua_getfield(S, -1, constant[i].name) == LUA_TSTRING) {
        s = lua_tolstring(S, -1, &n);
        lua_pushlstring(L, s, n);
    } else if (lua_isinteger(S, -1)) {
        lua_pushinteger(L, lua_tointeger(S, -1));
    } else {
        lua_pushnumber(L, lua_tonumber(S, -1));
    }
    lua_settop(S, 0);
    lua_setfield(L, -2, constant[i].name);
}

/* Nobody adds to the table on top, by whatever way: its metatable is protected,
 * and rawset (llib.c) keeps to that. */
static void seal(lua_State *L, const struct lp_fence *fence,
                 lua_CFunction reading, lua_CFunction writing)
{
    lua_createtable(L, 0, 3);
    if (reading != NULL) {
        push_raising(L, fence, reading);
        lua_setfield(L, -2, "__index");
    }
    push_raising(L, fence, writing);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
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

/* ---- the methods of texts ------------------------------------------------ */

static void push_of(lua_State *L, const struct lp_fence *fence, int which);

/* What s:name finds.  Upvalues: world, what it found before.  The metatable of
 * texts is one for the whole state: behind a fence it leads to the fence's
 * functions, and in scripts to Lua's and those that scripts have added. */
static int text_index(lua_State *L)
{
    const struct lp_world *w = lua_touserdata(L, lua_upvalueindex(1));

    if (w->fence != NULL) {
        push_of(L, w->fence, SANDBOX);
        lua_pushliteral(L, LUA_STRLIBNAME);
        lua_rawget(L, -2);
        lua_pushvalue(L, 2);
        lua_rawget(L, -2);
        return 1;
    }
    lua_pushvalue(L, lua_upvalueindex(2));
    if (lua_isfunction(L, -1)) {
        lua_insert(L, 1);
        lua_call(L, 2, 1);
    } else if (!lua_isnil(L, -1)) {
        lua_pushvalue(L, 2);
        lua_gettable(L, -2);
    }
    return 1;
}

/* Done whenever something is bound, as a script may have changed it since. */
static void guard_texts(lua_State *L)
{
    lp_world(L);
    lua_pushliteral(L, "");
    if (!lua_getmetatable(L, -1)) {
        lua_newtable(L);
        lua_pushvalue(L, -1);
        lua_setmetatable(L, -3);
    }
    lua_getfield(L, -1, "__index");
    if (lua_tocfunction(L, -1) == text_index) {
        lua_pop(L, 3);
        return;
    }
    lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
    lua_insert(L, -2);
    lua_pushcclosure(L, text_index, 2);
    lua_setfield(L, -2, "__index");
    lua_pop(L, 2);
}

/* ---- a fence ------------------------------------------------------------- */

const struct lp_fence lp_policy_fence = {
    .code = "policy code",
    .depends = "a decision depends on the question, the state and the "
               "parameters only",
    .belongs = "the state",
    .bit = 1,
    .own =
        (const struct lp_global[]){
            {"", "counter", lp_lib_counter, "see The language"},
            {"", "every", lp_lib_every, "see The language"},
            {"", "now", lp_lib_now, "see The language"},
            {"", "recent", lp_lib_recent, "see The language"},
            {"", "steer", lp_lib_steer, "see The language"},
            {"math", "random", lp_lib_random, "the simulation's stream"},
            {"math", "randomseed", lp_lib_no_seed, "raises"},
            {NULL, NULL, NULL, NULL}},
};

/* Pushes an empty weak table: for metatables that somebody has. */
static void new_metas(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    lua_pushliteral(L, "k");
    lua_setfield(L, -2, "__mode");
    lua_setmetatable(L, -2);
}

/* Pushes the list of a fence that the registry is to have. */
static void build(lua_State *L, const struct lp_fence *fence)
{
    const struct lp_global *g;
    lua_State **S;
    int env;

    lp_world(L);
    lua_createtable(L, METAS, 0);
    S = push_pristine(L);
    lua_newtable(L); /* list pristine env */
    env = lua_gettop(L);
    for (size_t i = 0; (g = global_of(fence, i)) != NULL; i++) {
        push_place(L, env, g->library);
        add_global(L, g, *S);
        lua_settop(L, env);
    }
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++) {
        push_place(L, env, constant[i].library);
        add_constant(L, i, *S);
        lua_settop(L, env);
    }
    lua_close(*S);
    *S = NULL;
    lua_newtable(L); /* list pristine env safe */
    lua_pushvalue(L, env);
    note_safe(L, env + 1, 0);
    lua_pop(L, 1);
    lua_rawseti(L, env - 2, SAFE);
    lua_pushnil(L);
    while (lua_next(L, env)) {
        if (lua_istable(L, -1))
            seal(L, fence, NULL, no_change);
        lua_pop(L, 1);
    }
    seal(L, fence, missing, no_global);
    luaL_loadstring(L, "return nil");
    lua_pushvalue(L, env);
    lua_setupvalue(L, -2, 1);
    lua_rawseti(L, env - 2, LOADER);
    new_metas(L);
    lua_rawseti(L, env - 2, METAS);
    lua_rawseti(L, env - 2, SANDBOX);
    lua_settop(L, env - 2);
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
    guard_texts(L);
    push_of(L, fence, SANDBOX);
}

void lp_sandbox_reach(lua_State *L, const struct lp_fence *fence)
{
    const struct lp_global *g;

    lua_newtable(L);
    for (size_t i = 0; (g = global_of(fence, i)) != NULL; i++) {
        lua_createtable(L, 0, 3);
        hl_set_text(L, "library", g->library);
        hl_set_text(L, "name", g->name);
        hl_set_text(L, "what", g->what);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
}

void lp_sandbox_call(lua_State *L, const struct lp_fence *fence, int n,
                     int results)
{
    struct lp_world *w = lp_world(L);
    const struct lp_fence *outer = w->fence;
    int rc;

    w->fence = fence;
    rc = lua_pcall(L, n, results, 0);
    w->fence = outer;
    if (rc != LUA_OK)
        lua_error(L);
}

/* ---- metatables ---------------------------------------------------------- */

static const char *const refused[] = {"__mode", "__gc", "__pairs"};

/* Raises if the table at index t is none that can be a metatable. */
static void check_meta(lua_State *L, int t)
{
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, t) != LUA_TNIL)
            luaL_error(L,
                       "%s is not available here: when memory is collected "
                       "differs from run to run",
                       refused[i]);
        lua_pop(L, 1);
    }
}

void lp_sandbox_note_meta(lua_State *L, const struct lp_fence *fence, int i)
{
    check_meta(L, i);
    push_of(L, fence, METAS);
    lua_pushvalue(L, i);
    lua_pushboolean(L, 1);
    lua_rawset(L, -3);
    lua_pop(L, 1);
    lp_world(L)->metas |= fence->bit;
}

/* [1] a table of metatables.  One may have got its __mode since it was set. */
static int check_metas(lua_State *L)
{
    for (lua_pushnil(L); lua_next(L, 1); lua_pop(L, 1))
        check_meta(L, 2);
    return 0;
}

/* [1] fence */
static int forget_metas(lua_State *L)
{
    const struct lp_fence *fence = lua_touserdata(L, 1);

    lua_rawgetp(L, LUA_REGISTRYINDEX, fence);
    new_metas(L);
    lua_rawseti(L, -2, METAS);
    lp_world(L)->metas &= ~fence->bit;
    return 0;
}

int lp_sandbox_metas(lua_State *T, const struct lp_fence *fence, int last)
{
    int top = lua_gettop(T), bad;
    union {
        const struct lp_fence *in;
        void *out;
    } u = {fence};

    lua_pushcfunction(T, check_metas);
    push_of(T, fence, METAS);
    bad = lua_pcall(T, 1, 0, 0) != LUA_OK;
    if (bad || last) {
        lua_pushcfunction(T, forget_metas);
        lua_pushlightuserdata(T, u.out);
        if (lua_pcall(T, 1, 0, 0) != LUA_OK)
            lua_settop(T, top + bad);
    }
    return bad;
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

/* What a weak table holds depends on when memory is collected. */
static void check_mode(lua_State *L, const struct visit *v, const char *name)
{
    lua_pushliteral(L, "__mode");
    if (lua_rawget(L, -2) != LUA_TNIL)
        luaL_error(L,
                   "the local '%s' holds a weak table, which %s cannot use: "
                   "when memory is collected differs from run to run",
                   name, v->fence->code);
    lua_pop(L, 1);
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
        check_mode(L, v, name);
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
    guard_texts(L);
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

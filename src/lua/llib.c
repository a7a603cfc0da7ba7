/*
 * llib.c - the functions of policy code and generators that differ from Lua's
 * own.
 *
 * Iteration in an order that is the same in every run, a stable sort that asks
 * no clock, text without addresses, the policy's own random stream, and what
 * Lua does not have: steering tables, counters, the cycle.  lsandbox.c makes
 * globals of them; upvalue 1 of each is the world.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* More than there are; the nearest of these is looked for. */
enum { MAX_COUNTERS = 512 };

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

int lp_lib_pairs(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    if (luaL_getmetafield(L, 1, "__pairs") != LUA_TNIL)
        return luaL_error(L, "pairs of a table with __pairs is not available "
                             "here");
    lua_pushvalue(L, 1);
    lp_state_keys(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, pairs_step, 3);
    return 1;
}

/* The key after `key` in order; O(n) a call. */
int lp_lib_next(lua_State *L)
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

int lp_lib_sort(lua_State *L)
{
    lua_Integer n = luaL_len(L, 1);
    int from = 1, to = 3;

    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_argcheck(L, n < INT_MAX, 1, "array too big");
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

int lp_lib_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    push_text(L, 1);
    return 1;
}

/* Upvalues: world, the original string.format.  Values with addresses become
 * text first; %p is refused.  Outside policy code it is the original. */
int lp_lib_format(lua_State *L)
{
    int n = lua_gettop(L);
    const char *f = luaL_checkstring(L, 1);

    if (world(L)->spent != NULL) {
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
int lp_lib_print(lua_State *L)
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

int lp_lib_drawn(lua_State *L, uint64_t u)
{
    lua_Integer low = 1, high;
    uint64_t n;

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

int lp_lib_random(lua_State *L)
{
    return lp_lib_drawn(L, lp_random(running(L, "math.random")));
}

int lp_lib_no_seed(lua_State *L)
{
    return luaL_error(L, "math.randomseed is not available in policy code: "
                         "the stream comes from the simulation's seed");
}

/* steer(table, i, j, value) */
int lp_lib_steer(lua_State *L)
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

/* An application's number, or what stands for all of them. */
static uint32_t app_at(lua_State *L, int i)
{
    lua_Integer app = luaL_optinteger(L, i, UINT32_MAX);

    return app < 0 || app > UINT32_MAX ? UINT32_MAX - 1 : (uint32_t)app;
}

static int no_counter(lua_State *L, heddle_sim *s, const char *name)
{
    const char *names[MAX_COUNTERS], *near;
    struct heddle_counter_info c;
    size_t n = 0;

    luaL_checkstack(L, MAX_COUNTERS + 8, "counters");
    while (n < MAX_COUNTERS && heddle_counter(s, (uint32_t)n, &c) == 0)
        names[n++] = lua_pushfstring(L, "%s.%s", c.component, c.name);
    near = heddle_nearest(name, names, n);
    return luaL_error(L,
                      "this machine has no counter '%s'%s%s%s (see: heddle "
                      "list counters)",
                      name, near ? "; did you mean '" : "", near ? near : "",
                      near ? "'?" : "");
}

/* counter("mmu.misses" [, app]): the sum over all copies of the part, and over
 * all applications if none is given. */
int lp_lib_counter(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "counter"));
    const char *name = luaL_checkstring(L, 1);
    uint64_t sum;

    if (!lua_isnoneornil(L, 2) && app_at(L, 2) >= heddle_apps(s))
        return luaL_error(L,
                          "counter: there is no application %I; they count "
                          "from 0 to %d",
                          (LUAI_UACINT)luaL_checkinteger(L, 2),
                          (int)heddle_apps(s) - 1);
    if (heddle_policy_counter(s, name, app_at(L, 2), &sum) != 0)
        return no_counter(L, s, name);
    lua_pushinteger(L, (lua_Integer)sum);
    return 1;
}

/* recent("walks", app): what happened since the policy's last epoch */
int lp_lib_recent(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "recent"));
    const char *fact = luaL_checkstring(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2);
    uint64_t value;

    if (i < 0 || i > INT32_MAX)
        i = INT32_MAX;
    if (heddle_recent(s, fact, (uint32_t)i, &value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s));
    lua_pushinteger(L, (lua_Integer)value);
    return 1;
}

/* now(): the core cycle */
int lp_lib_now(lua_State *L)
{
    lua_pushinteger(L,
                    (lua_Integer)heddle_policy_now(lp_sim(running(L, "now"))));
    return 1;
}

/* every(cycles, function): for the field `every` of a policy */
int lp_lib_every(lua_State *L)
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

/* ---- metatables ---------------------------------------------------------- */

int lp_lib_getmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (luaL_getmetafield(L, 1, "__metatable") == LUA_TNIL &&
        !lua_getmetatable(L, 1))
        lua_pushnil(L);
    return 1;
}

int lp_lib_setmetatable(lua_State *L)
{
    static const char *const refused[] = {"__mode", "__gc", "__pairs"};

    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    for (size_t i = 0; lua_istable(L, 2) && i < 3; i++) {
        lua_pushstring(L, refused[i]);
        if (lua_rawget(L, 2) != LUA_TNIL)
            return luaL_error(L,
                              "%s is not available here: when "
                              "memory is collected differs from run to run",
                              refused[i]);
        lua_pop(L, 1);
    }
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    lua_setmetatable(L, 1);
    return 1;
}

/*
 * llib.c - the functions of policy code and generators that differ from Lua's
 * own.
 *
 * Iteration in an order that is the same in every run, a stable sort that asks
 * no clock, text without addresses, the policy's own random stream, and what
 * Lua does not have: steering tables, counters, the cycle.  Whatever goes over
 * a list or a text counts its elements (lbudget.c), for a __len may say any
 * number.  lsandbox.c makes globals of them; upvalue 1 of each is the world,
 * upvalue 2 Lua's function of the name.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lpolicy.h"

#include <limits.h>
#include <stdint.h>
#include <string.h>

/* More than there are; the nearest of these is looked for. */
enum {
    MAX_COUNTERS = 512,
    COUNTER_STEPS = 16 /* instructions that looking one up counts as */
};

struct lp_world *lp_lib_world(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* n steps of the function that runs. */
static void use(lua_State *L, uint64_t n)
{
    lp_budget_use(L, lp_lib_world(L), n);
}

/* ---- protected calls ----------------------------------------------------- */

/* When the budget is used up the error goes on: in another handler hooks are
 * off, and nothing would end it. */
static int finish(lua_State *L, int status, lua_KContext below)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - (int)below;
    if (lp_budget_over(lp_lib_world(L)))
        return lua_error(L);
    lua_pushboolean(L, 0);
    lua_pushvalue(L, -2);
    return 2;
}

int lp_lib_pcall(lua_State *L)
{
    luaL_checkany(L, 1);
    lua_pushboolean(L, 1);
    lua_insert(L, 1);
    return finish(
        L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, finish), 0);
}

/* Upvalue 2: the script's message handler. */
static int handle(lua_State *L)
{
    lua_settop(L, 1);
    if (!lp_budget_over(lp_lib_world(L))) {
        lua_pushvalue(L, lua_upvalueindex(2));
        lua_insert(L, 1);
        lua_call(L, 1, 1);
    }
    return 1;
}

int lp_lib_xpcall(lua_State *L)
{
    int n = lua_gettop(L);

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_pushvalue(L, 2);
    lua_pushcclosure(L, handle, 2);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* f handler true f arguments */
    return finish(L, lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, finish), 2);
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
    use(L, (uint64_t)lp_state_keys(L, 1));
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
    use(L, (uint64_t)n);
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

/* What is sealed stays as it is: the globals, the libraries, what a policy is
 * given. */
int lp_lib_rawset(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    luaL_checkany(L, 2);
    luaL_checkany(L, 3);
    lua_settop(L, 3);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected table");
    lua_rawset(L, 1);
    return 1;
}

/* ---- lists --------------------------------------------------------------- */

static lua_Integer length(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    return luaL_len(L, 1);
}

int lp_lib_insert(lua_State *L)
{
    lua_Integer end = (lua_Integer)((lua_Unsigned)length(L) + 1), at = end;

    if (lua_gettop(L) != 2 && lua_gettop(L) != 3)
        return luaL_error(L, "wrong number of arguments to 'insert'");
    if (lua_gettop(L) == 3) {
        at = luaL_checkinteger(L, 2);
        luaL_argcheck(L, (lua_Unsigned)at - 1 < (lua_Unsigned)end, 2,
                      "position out of bounds");
        for (lua_Integer i = end; i > at; i--) {
            use(L, 1);
            lua_geti(L, 1, i - 1);
            lua_seti(L, 1, i);
        }
    }
    lua_seti(L, 1, at);
    return 0;
}

int lp_lib_remove(lua_State *L)
{
    lua_Integer n = length(L), at = luaL_optinteger(L, 2, n);

    if (lua_gettop(L) > 1 && at != n)
        luaL_argcheck(L, (lua_Unsigned)at - 1 <= (lua_Unsigned)n, 2,
                      "position out of bounds");
    lua_geti(L, 1, at);
    for (; at < n; at++) {
        use(L, 1);
        lua_geti(L, 1, at + 1);
        lua_seti(L, 1, at);
    }
    lua_pushnil(L);
    lua_seti(L, 1, at);
    return 1;
}

int lp_lib_concat(lua_State *L)
{
    size_t n;
    lua_Integer last = length(L), i;
    const char *between = luaL_optlstring(L, 2, "", &n);
    luaL_Buffer b;

    i = luaL_optinteger(L, 3, 1);
    last = luaL_optinteger(L, 4, last);
    lua_settop(L, 2); /* the buffer needs the top */
    luaL_buffinit(L, &b);
    for (int first = 1; i <= last; first = 0) {
        use(L, 1);
        if (!first)
            luaL_addlstring(&b, between, n);
        lua_geti(L, 1, i);
        if (!lua_isstring(L, -1))
            return luaL_error(
                L, "invalid value (%s) at index %I in table for 'concat'",
                luaL_typename(L, -1), (LUAI_UACINT)i);
        luaL_addvalue(&b);
        if (i++ == last) /* which may be the last number there is */
            break;
    }
    luaL_pushresult(&b);
    return 1;
}

int lp_lib_move(lua_State *L)
{
    lua_Integer from, last, to;
    int out = lua_isnoneornil(L, 5) ? 1 : 5;

    luaL_checktype(L, 1, LUA_TTABLE);
    from = luaL_checkinteger(L, 2);
    last = luaL_checkinteger(L, 3);
    to = luaL_checkinteger(L, 4);
    luaL_checktype(L, out, LUA_TTABLE);
    if (last >= from) {
        lua_Integer n;
        int down;

        luaL_argcheck(L, from > 0 || last < LUA_MAXINTEGER + from, 3,
                      "too many elements to move");
        n = last - from + 1;
        luaL_argcheck(L, to <= LUA_MAXINTEGER - n + 1, 4,
                      "destination wrap around");
        down = to > from && to <= last && (out == 1 || lua_rawequal(L, 1, out));
        for (lua_Integer i = 0; i < n; i++) {
            lua_Integer k = down ? n - 1 - i : i;
            use(L, 1);
            lua_geti(L, 1, from + k);
            lua_seti(L, out, to + k);
        }
    }
    lua_pushvalue(L, out);
    return 1;
}

int lp_lib_unpack(lua_State *L)
{
    lua_Integer i = luaL_optinteger(L, 2, 1);
    lua_Integer last =
        lua_isnoneornil(L, 3) ? luaL_len(L, 1) : luaL_checkinteger(L, 3);
    lua_Unsigned n = (lua_Unsigned)last - (lua_Unsigned)i;

    if (i > last)
        return 0;
    if (n >= LP_MOST_VALUES || !lua_checkstack(L, (int)n + 1))
        return luaL_error(L, "too many results to unpack");
    use(L, n + 1);
    for (lua_Unsigned k = 0; k <= n; k++)
        lua_geti(L, 1, (lua_Integer)((lua_Unsigned)i + k));
    return (int)n + 1;
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

        use(L, 1);
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
    lua_Integer n = length(L);
    int from = 1, to = 3;

    luaL_argcheck(L, n < INT_MAX, 1, "array too big");
    if (!lua_isnoneornil(L, 2))
        luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_settop(L, 2);
    lua_newtable(L); /* n is what a __len says */
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

/* ---- texts, without addresses -------------------------------------------- */

const char *lp_text(lua_State *L, int i)
{
    int t = lua_type(L, i);

    if (t != LUA_TTABLE && t != LUA_TFUNCTION && t != LUA_TUSERDATA &&
        t != LUA_TLIGHTUSERDATA && t != LUA_TTHREAD)
        return luaL_tolstring(L, i, NULL);
    if (!luaL_callmeta(L, i, "__tostring"))
        lua_pushstring(L, lua_typename(L, t));
    if (!lua_isstring(L, -1))
        luaL_error(L, "'__tostring' must return a string");
    return lua_tostring(L, -1);
}

int lp_lib_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    lp_text(L, 1);
    return 1;
}

/* Lua's own function, once the length of its text has been counted. */
int lp_lib_by_length(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING)
        use(L, 1 + lua_rawlen(L, 1) / 16);
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

int lp_lib_rep(lua_State *L)
{
    size_t n, m;
    const char *s = luaL_checklstring(L, 1, &n);
    lua_Integer times = luaL_checkinteger(L, 2);
    const char *between = luaL_optlstring(L, 3, "", &m);
    luaL_Buffer b;

    if (times <= 0 || n + m == 0) {
        lua_pushliteral(L, "");
        return 1;
    }
    if ((uint64_t)times > (uint64_t)LP_LONGEST / (n + m) + 1)
        return luaL_error(L, "resulting string too large");
    use(L, 1 + (uint64_t)times * (n + m) / 256);
    luaL_buffinit(L, &b);
    for (; times > 0; times--) {
        luaL_addlstring(&b, s, n);
        if (times > 1)
            luaL_addlstring(&b, between, m);
    }
    luaL_pushresult(&b);
    return 1;
}

/* Values with addresses become text first; %p is refused. */
int lp_lib_format(lua_State *L)
{
    size_t bytes;
    const char *f = luaL_checklstring(L, 1, &bytes), *end = f + bytes;

    use(L, 1 + bytes / 16);
    while ((f = memchr(f, '%', (size_t)(end - f))) != NULL) {
        f += 1 + strspn(f + 1, "-+ #0123456789.");
        if (*f == 'p')
            return luaL_error(L, "%%p shows an address, which differs "
                                 "from run to run");
        f += f < end;
    }
    for (int i = 2, n = lua_gettop(L); i <= n; i++) {
        int t = lua_type(L, i);
        if (t == LUA_TTABLE || t == LUA_TFUNCTION || t == LUA_TUSERDATA) {
            lp_text(L, i);
            lua_replace(L, i);
        }
    }
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

int lp_lib_print(lua_State *L)
{
    int n = lua_gettop(L);

    for (int i = 1; i <= n; i++) {
        lp_text(L, i);
        lua_replace(L, i);
    }
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

/* ---- the simulation ------------------------------------------------------ */

static struct lp *running(lua_State *L, const char *what)
{
    struct lp *p = lp_lib_world(L)->running;

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

/* What a table's cell gets: a number, a truth, or one of its words. */
static uint64_t cell_value(lua_State *L, const char *table, int i)
{
    const struct heddle_table_info *t;
    uint64_t v;

    if (lua_isboolean(L, i))
        return (uint64_t)lua_toboolean(L, i);
    for (uint32_t k = 0; lua_type(L, i) == LUA_TSTRING &&
                         (t = heddle_table_info(k)) != NULL;
         k++)
        if (strcmp(t->name, table) == 0 &&
            heddle_word_value(t->value, lua_tostring(L, i), &v) == HEDDLE_OK)
            return v;
    return (uint64_t)luaL_checkinteger(L, i);
}

/* steer(table, i, j, value) */
int lp_lib_steer(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "steer"));
    const char *table = luaL_checkstring(L, 1);
    lua_Integer i = luaL_checkinteger(L, 2), j = luaL_checkinteger(L, 3);
    uint64_t value = cell_value(L, table, 4);

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

    use(L, COUNTER_STEPS);
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
    const struct lp_fence *fence = lp_lib_world(L)->fence;
    int t = lua_type(L, 2);

    luaL_checktype(L, 1, LUA_TTABLE);
    if (t != LUA_TNIL && t != LUA_TTABLE)
        return luaL_typeerror(L, 2, "nil or table");
    lua_settop(L, 2);
    if (luaL_getmetafield(L, 1, "__metatable") != LUA_TNIL)
        return luaL_error(L, "cannot change a protected metatable");
    if (t == LUA_TTABLE)
        lp_sandbox_note_meta(L, fence ? fence : &lp_policy_fence, 2);
    lua_setmetatable(L, 1);
    return 1;
}

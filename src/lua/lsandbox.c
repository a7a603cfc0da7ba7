/*
 * lsandbox.c - the globals of policy code and of generators: the part of Lua
 * that gives the same result in every run.  (Application code, which stands in
 * scripts, has a lower fence: lua/heddle/kernel/pure.lua.)
 *
 * A decision may depend on the question, the state and the parameters, and on
 * nothing else.  So policy code has no clock, no files, no environment, no
 * code loading and no coroutines; pairs and next walk numbers and then strings
 * in order (Lua's own order differs from run to run).  A name that is not here
 * raises and says why.  What the warps of a generator do (lgen.c) depends on
 * their places and the parameters, by the same rules.
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
 * in the methods of objects there.  What else they hold in locals is noted, so
 * that the bridge can see that it stays as it is.
 *
 * Of the functions that differ from Lua's own: iteration is in an order that is
 * the same in every run, the sort is stable and asks no clock, text has no
 * addresses, math.random is a stream of the simulation's, and there is what Lua
 * does not have: steering tables, counters, the cycle.  Whatever goes over a
 * list or a text counts its elements (lbudget.c; patterns: lmatch.c), for a
 * __len may say any number.  Upvalue 1 of each is the world, upvalue 2 Lua's
 * function of the name.
 *
 * Left out on purpose: protection against a script that means harm.  This is
 * a fence around mistakes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lpolicy.h"

#include <lualib.h>

#include <limits.h>
#include <stdint.h>

#define WORLD    "heddle.sandbox.world"
#define PRISTINE "heddle.sandbox.pristine"

/* What the registry has of a fence, at the fence's address: a list. */
enum {
    SANDBOX = 1, /* the globals */
    SAFE,        /* C functions allowed */
    LOADER,      /* a function with _ENV */
    METAS        /* [table] = true: set as a metatable */
};

/* More counters than there are; the nearest of these is looked for. */
enum {
    MAX_COUNTERS = 512,
    COUNTER_STEPS = 16 /* instructions that looking one up counts as */
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
        w->in = hl_interrupt_of(L);
    }
    w = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return w;
}

struct lp_world *lp_lib_world(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* Notes that the table at index i is a metatable now, of code behind a fence.
 */
static void note_meta(lua_State *L, const struct lp_fence *fence, int i);

/* Whether the value at index i is not in the set at index `set` yet; puts it
 * there. */
static int is_new(lua_State *L, int set, int i)
{
    int found;

    lua_pushvalue(L, i);
    found = lua_rawget(L, set) != LUA_TNIL;
    lua_pop(L, 1);
    if (!found) {
        lua_pushvalue(L, i);
        lua_pushboolean(L, 1);
        lua_rawset(L, set);
    }
    return !found;
}

/* n steps of the function that runs. */
static void use(lua_State *L, uint64_t n)
{
    lp_budget_use(L, lp_lib_world(L), n);
}

/* ---- protected calls ------------------------------------------------------ */

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

static int lib_pcall(lua_State *L)
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

static int lib_xpcall(lua_State *L)
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

/* ---- iteration in order --------------------------------------------------- */

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

static int lib_pairs(lua_State *L)
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
static int lib_next(lua_State *L)
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
static int lib_rawset(lua_State *L)
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

/* ---- lists ---------------------------------------------------------------- */

static lua_Integer length(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    return luaL_len(L, 1);
}

static int lib_insert(lua_State *L)
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

static int lib_remove(lua_State *L)
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

static int lib_concat(lua_State *L)
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

static int lib_move(lua_State *L)
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

static int lib_unpack(lua_State *L)
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

static int lib_sort(lua_State *L)
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

/* ---- texts, without addresses --------------------------------------------- */

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

static int lib_tostring(lua_State *L)
{
    luaL_checkany(L, 1);
    lp_text(L, 1);
    return 1;
}

/* Lua's own function, once the length of its text has been counted. */
static int lib_by_length(lua_State *L)
{
    if (lua_type(L, 1) == LUA_TSTRING)
        use(L, 1 + lua_rawlen(L, 1) / 16);
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

static int lib_rep(lua_State *L)
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
static int lib_format(lua_State *L)
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

static int lib_print(lua_State *L)
{
    int n = lua_gettop(L);

    for (int i = 1; i <= n; i++) {
        lp_text(L, i);
        lua_replace(L, i);
    }
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

/* ---- the simulation ------------------------------------------------------- */

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

static int lib_random(lua_State *L)
{
    return lp_lib_drawn(L, lp_random(running(L, "math.random")));
}

static int lib_no_seed(lua_State *L)
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
    for (uint32_t k = 0;
         lua_type(L, i) == LUA_TSTRING && (t = heddle_table_info(k)) != NULL;
         k++)
        if (strcmp(t->name, table) == 0 &&
            heddle_word_value(t->value, lua_tostring(L, i), &v) == HEDDLE_OK)
            return v;
    return (uint64_t)luaL_checkinteger(L, i);
}

/* The index at argument n of a table; more is none that there can be. */
static uint32_t index_at(lua_State *L, int n)
{
    lua_Integer i = luaL_checkinteger(L, n);

    return i < 0 || i > INT32_MAX ? INT32_MAX : (uint32_t)i;
}

/* steer(table, i, j, value) */
static int lib_steer(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "steer"));
    const char *table = luaL_checkstring(L, 1);
    uint32_t i = index_at(L, 2), j = index_at(L, 3);
    uint64_t value = cell_value(L, table, 4);

    if (heddle_steer(s, table, i, j, value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s));
    return 0;
}

/* renew(core) */
static int lib_renew(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "renew"));

    if (heddle_renew_limit(s, (uint64_t)luaL_checkinteger(L, 1)) != 0)
        return luaL_error(L, "renew: this machine has no core %d",
                          (int)lua_tointeger(L, 1));
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
    const char *names[MAX_COUNTERS];
    struct heddle_counter_info c;
    size_t n = 0;

    luaL_checkstack(L, MAX_COUNTERS + 8, "counters");
    while (n < MAX_COUNTERS && heddle_counter(s, (uint32_t)n, &c) == 0)
        names[n++] = lua_pushfstring(L, "%s.%s", c.component, c.name);
    return luaL_error(L,
                      "this machine has no counter '%s'%s (see: heddle list "
                      "counters)",
                      name, hl_meant(L, name, names, n));
}

/* counter("mmu.misses" [, app]): the sum over all copies of the part, and over
 * all applications if none is given. */
static int lib_counter(lua_State *L)
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
static int lib_recent(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "recent"));
    const char *fact = luaL_checkstring(L, 1);
    uint64_t value;

    if (heddle_recent(s, fact, index_at(L, 2), &value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s));
    lua_pushinteger(L, (lua_Integer)value);
    return 1;
}

/* now(): the core cycle */
static int lib_now(lua_State *L)
{
    lua_pushinteger(L,
                    (lua_Integer)heddle_policy_now(lp_sim(running(L, "now"))));
    return 1;
}

/* every(cycles, function): for the field `every` of a policy */
static int lib_every(lua_State *L)
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

static int lib_getmetatable(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    if (luaL_getmetafield(L, 1, "__metatable") == LUA_TNIL &&
        !lua_getmetatable(L, 1))
        lua_pushnil(L);
    return 1;
}

static int lib_setmetatable(lua_State *L)
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
        note_meta(L, fence ? fence : &lp_policy_fence, 2);
    lua_setmetatable(L, 1);
    return 1;
}

/* ---- building the globals ------------------------------------------------- */

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
    hl_push_pointer(L, fence);
    lua_pushcclosure(L, fn, 1);
}

/* clang-format off */
#define AS_IS(library, name) {library, name, NULL, ""}
/* What code behind any fence can reach: nothing else, and nothing that the
 * script has put into Lua's own libraries. */
static const struct lp_global common[] = {
    AS_IS("", "assert"), AS_IS("", "error"), AS_IS("", "ipairs"),
    AS_IS("", "rawequal"), AS_IS("", "rawget"), AS_IS("", "rawlen"),
    AS_IS("", "select"), AS_IS("", "type"),
    {"", "getmetatable", lib_getmetatable, "of tables only"},
    {"", "next", lib_next, "numbers and then strings, in order"},
    {"", "pairs", lib_pairs, "numbers and then strings, in order"},
    {"", "pcall", lib_pcall, "does not catch that the budget is used up"},
    {"", "print", lib_print, "shows no addresses"},
    {"", "rawset", lib_rawset, "of tables whose metatable is not protected"},
    {"", "setmetatable", lib_setmetatable, "no __mode, __gc or __pairs"},
    {"", "tonumber", lib_by_length, "counts its text"},
    {"", "tostring", lib_tostring, "shows no addresses"},
    {"", "xpcall", lib_xpcall, "does not catch that the budget is used up"},
    AS_IS("math", "abs"), AS_IS("math", "acos"), AS_IS("math", "asin"),
    AS_IS("math", "atan"), AS_IS("math", "ceil"), AS_IS("math", "cos"),
    AS_IS("math", "deg"), AS_IS("math", "exp"), AS_IS("math", "floor"),
    AS_IS("math", "fmod"), AS_IS("math", "log"), AS_IS("math", "max"),
    AS_IS("math", "min"), AS_IS("math", "modf"), AS_IS("math", "rad"),
    AS_IS("math", "sin"), AS_IS("math", "sqrt"), AS_IS("math", "tan"),
    AS_IS("math", "tointeger"), AS_IS("math", "type"), AS_IS("math", "ult"),
    AS_IS("string", "char"), AS_IS("string", "len"), AS_IS("string", "lower"),
    AS_IS("string", "pack"), AS_IS("string", "packsize"),
    AS_IS("string", "reverse"), AS_IS("string", "sub"),
    AS_IS("string", "upper"),
    {"string", "byte", lib_by_length, "counts its text"},
    {"string", "find", lp_lib_find, "counts its steps"},
    {"string", "format", lib_format, "shows no addresses; no %p"},
    {"string", "gmatch", lp_lib_gmatch, "counts its steps"},
    {"string", "gsub", lp_lib_gsub, "counts its steps"},
    {"string", "match", lp_lib_match, "counts its steps"},
    {"string", "rep", lib_rep, "counts its text"},
    {"string", "unpack", lib_by_length, "counts its text"},
    AS_IS("table", "pack"),
    {"table", "concat", lib_concat, "counts the elements"},
    {"table", "insert", lib_insert, "counts the elements"},
    {"table", "move", lib_move, "counts the elements"},
    {"table", "remove", lib_remove, "counts the elements"},
    {"table", "sort", lib_sort, "stable; counts the elements"},
    {"table", "unpack", lib_unpack, "counts the elements; 65536 at most"},
    AS_IS("utf8", "char"),
    {"utf8", "codepoint", lib_by_length, "counts its text"},
    {"utf8", "codes", lib_by_length, "counts its text"},
    {"utf8", "len", lib_by_length, "counts its text"},
    {"utf8", "offset", lib_by_length, "counts its text"},
    {NULL, NULL, NULL, NULL},
};
/* clang-format on */

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

/* A state with Lua's libraries as they were made, whatever the script has put
 * into its own.  The box is closed when it is collected. */
static void close_state(lua_State *S)
{
    if (S != NULL)
        lua_close(S);
}

HL_RELEASE(close_pristine, PRISTINE, lua_State, close_state)

/* All that can fail in it is memory, and that is told in the other state. */
static int fail_pristine(lua_State *S)
{
    lua_State *L;

    memcpy(&L, lua_getextraspace(S), sizeof L);
    return hl_raise_memory(L);
}

static lua_State **push_pristine(lua_State *L)
{
    lua_State **S = hl_box(L, PRISTINE, close_pristine, NULL);

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

/* Pushes what the state S has of a name: a function in C, a text, a number. */
static void push_own(lua_State *L, lua_State *S, const char *library,
                     const char *name)
{
    size_t n;
    const char *s;

    lua_rawgeti(S, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    if (*library != '\0')
        lua_getfield(S, -1, library);
    lua_getfield(S, -1, name);
    if (lua_iscfunction(S, -1)) {
        lua_pushcfunction(L, lua_tocfunction(S, -1));
    } else if (lua_type(S, -1) == LUA_TSTRING) {
        s = lua_tolstring(S, -1, &n);
        lua_pushlstring(L, s, n);
    } else if (lua_isinteger(S, -1)) {
        lua_pushinteger(L, lua_tointeger(S, -1));
    } else if (lua_type(S, -1) == LUA_TNUMBER) {
        lua_pushnumber(L, lua_tonumber(S, -1));
    } else {
        lua_pushnil(L);
    }
    lua_settop(S, 0);
}

/* Nobody adds to the table on top, by whatever way: its metatable is protected,
 * and rawset keeps to that. */
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
    hl_set_bool(L, "__metatable", 0);
    lua_setmetatable(L, -2);
}

/* safe[f] = true for every function in the table on top. */
static void note_safe(lua_State *L, int safe, int depth)
{
    lua_pushnil(L);
    while (lua_next(L, -2)) {
        if (lua_isfunction(L, -1))
            is_new(L, safe, -1);
        else if (lua_istable(L, -1) && depth == 0)
            note_safe(L, safe, 1);
        lua_pop(L, 1);
    }
}

/* ---- the methods of texts ------------------------------------------------- */

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

/* ---- a fence -------------------------------------------------------------- */

const struct lp_fence lp_policy_fence = {
    .code = "policy code",
    .depends = "a decision depends on the question, the state and the "
               "parameters only",
    .belongs = "the state",
    .bit = 1,
    .own =
        (const struct lp_global[]){
            {"", "counter", lib_counter, "see The language"},
            {"", "every", lib_every, "see The language"},
            {"", "now", lib_now, "see The language"},
            {"", "recent", lib_recent, "see The language"},
            {"", "renew", lib_renew, "see The language"},
            {"", "steer", lib_steer, "see The language"},
            {"math", "random", lib_random, "the simulation's stream"},
            {"math", "randomseed", lib_no_seed, "raises"},
            {NULL, NULL, NULL, NULL}},
};

/* Pushes an empty weak table: for metatables that somebody has. */
static void new_metas(lua_State *L)
{
    lua_newtable(L);
    lua_createtable(L, 0, 1);
    hl_set_text(L, "__mode", "k");
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
        if (g->f != NULL)
            lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        push_own(L, *S, g->library, g->name);
        if (g->f != NULL)
            lua_pushcclosure(L, g->f, 2);
        lua_setfield(L, -2, g->name);
        lua_settop(L, env);
    }
    for (size_t i = 0; i < sizeof constant / sizeof *constant; i++) {
        push_place(L, env, constant[i].library);
        push_own(L, *S, constant[i].library, constant[i].name);
        lua_setfield(L, -2, constant[i].name);
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

/* ---- metatables ----------------------------------------------------------- */

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

static void note_meta(lua_State *L, const struct lp_fence *fence, int i)
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

    lua_pushcfunction(T, check_metas);
    push_of(T, fence, METAS);
    bad = lua_pcall(T, 1, 0, 0) != LUA_OK;
    if (bad || last) {
        lua_pushcfunction(T, forget_metas);
        hl_push_pointer(T, fence);
        if (lua_pcall(T, 1, 0, 0) != LUA_OK)
            lua_settop(T, top + bad);
    }
    return bad;
}

/* ---- entering ------------------------------------------------------------- */

struct visit {
    const struct lp_fence *fence;
    int seen, loader, safe; /* stack indices */
    int meta;               /* metatables it is in */
    struct lp_locals *locals;
    int keep; /* where their functions are kept */
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
    if (depth > 16 || !is_new(L, v->seen, t))
        return;
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
    if (v->locals)
        lp_locals_note(L, v->locals, v->keep, f, name, n);
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
    if (!is_new(L, v->seen, f))
        return;
    for (int n = 1; (name = lua_getupvalue(L, f, n)) != NULL; n++) {
        int top = lua_gettop(L);
        enter_upvalue(L, f, n, name, v, depth);
        lua_settop(L, top - 1);
    }
}

void lp_sandbox_enter(lua_State *L, const struct lp_fence *fence, int i,
                      struct lp_locals *locals, int keep)
{
    struct visit v = {.fence = fence, .locals = locals, .keep = keep};

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

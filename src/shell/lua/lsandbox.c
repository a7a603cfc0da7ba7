/*
 * lsandbox.c - the fence around policy code and generators: the part of Lua
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
 * The fence is a list of what gets through (lua/heddle/fence.lua), and each
 * fence's own: every function that is not there is out of reach, whatever a
 * later Lua or the script adds to a library.  The manual prints it and
 * t/526-fence.lua walks all that a policy can reach.  The functions come from a
 * state of their own, so they are Lua's even where the script has exchanged
 * its.  The libraries are one copy for all policies and cannot be changed by
 * any.
 *
 * A function keeps its globals in an upvalue, _ENV.  lp_sandbox_enter joins
 * that upvalue to the sandbox's in the policy's functions and in every
 * function that they hold in locals, whatever script they were written in, and
 * in the methods of objects there.  What else they hold in locals is noted, so
 * that the bridge can see that it stays as it is.
 *
 * Here is what of the library must be in C: it sees the budget, the
 * simulation, metatables that are protected, or calls a function of Lua's in
 * its own frame, so that errors have the script's place.  Upvalue 1 of each is
 * the world, upvalue 2 Lua's function of the name.
 *
 * Left out on purpose: protection against a script that means harm.  This is
 * a fence around mistakes.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lpolicy.h"

#define HD_WORDS(name)
#include "words.def"
#undef HD_WORDS

#include <lualib.h>

#include <stdarg.h>
#include <stdint.h>

#define WORLD    "heddle.sandbox.world"
#define PRISTINE "heddle.sandbox.pristine"
#define STRINGS  "heddle.sandbox.strings"

/* What the registry has of a fence, at the fence's address: a list. */
enum {
    SANDBOX = 1, /* the globals */
    REACH,       /* the functions that are to be had, described */
    ENTER,       /* enter(function, note) */
    CHECK,       /* check(last): of metatables */
    SEAL,        /* seal(table, what, kind, fixed) */
    PARTS = SEAL
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

/* In a function that stands behind a fence. */
static struct lp_world *world(lua_State *L)
{
    return lua_touserdata(L, lua_upvalueindex(1));
}

/* n steps of the function that runs. */
static void lsandbox_use(lua_State *L, uint64_t n)
{
    lp_budget_use(L, world(L), n);
}

static int lib_use(lua_State *L)
{
    lsandbox_use(L, (uint64_t)luaL_checkinteger(L, 1));
    return 0;
}

int lp_raise(lua_State *L, const char *format, ...)
{
    va_list args;

    hl_push_where(L, "=heddle/fence");
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    lua_concat(L, 2);
    return lua_error(L);
}

/* ---- protected calls ------------------------------------------------------ */

/* When the budget is used up the error propagates: in another handler hooks are
 * off, and nothing would end it. */
static int lsandbox_finish(lua_State *L, int status, lua_KContext below)
{
    if (status == LUA_OK || status == LUA_YIELD)
        return lua_gettop(L) - (int)below;
    if (lp_budget_over(world(L)))
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
    return lsandbox_finish(
        L, lua_pcallk(L, lua_gettop(L) - 2, LUA_MULTRET, 0, 0, lsandbox_finish),
        0);
}

/* Upvalue 2: the script's message handler. */
static int lsandbox_handle(lua_State *L)
{
    lua_settop(L, 1);
    if (!lp_budget_over(world(L))) {
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
    lua_pushcclosure(L, lsandbox_handle, 2);
    lua_replace(L, 2);
    lua_pushboolean(L, 1);
    lua_pushvalue(L, 1);
    lua_rotate(L, 3, 2); /* f handler true f arguments */
    return lsandbox_finish(
        L, lua_pcallk(L, n - 2, LUA_MULTRET, 2, 2, lsandbox_finish), 2);
}
/* ---- tables --------------------------------------------------------------- */

/* keys(t): they are counted. */
static int lib_keys(lua_State *L)
{
    lsandbox_use(L, (uint64_t)lp_state_keys(L, 1));
    return 1;
}

static int lib_next(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 2);
    lsandbox_use(L, lp_state_next(L, 1));
    if (lua_isnil(L, -1))
        return 1;
    lua_pushvalue(L, -1);
    lua_rawget(L, 1);
    return 2;
}

/* note_metas(bit): behind a fence some were set. */
static int lib_note_metas(lua_State *L)
{
    world(L)->metas |= (unsigned)luaL_checkinteger(L, 1);
    return 0;
}

/* metafield(t, name) */
static int lib_metafield(lua_State *L)
{
    return luaL_getmetafield(L, 1, hl_text(L, 2)) != LUA_TNIL;
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

/* Lua's own function, once what it may do has been counted: by upvalue 3, which
 * is called with its first four arguments, or by the length of its text. */
static int lib_once_counted(lua_State *L)
{
    int n = lua_gettop(L);

    if (lua_isfunction(L, lua_upvalueindex(3))) {
        luaL_checkstack(L, 8, NULL);
        lua_pushvalue(L, lua_upvalueindex(3));
        for (int i = 1; i <= 4; i++) {
            lua_pushnil(L);
            if (i <= n)
                lua_copy(L, i, -1);
        }
        lua_call(L, 4, 0);
    } else if (lua_type(L, 1) == LUA_TSTRING) {
        lsandbox_use(L, 1 + lua_rawlen(L, 1) / 16);
    }
    return lua_tocfunction(L, lua_upvalueindex(2))(L);
}

/* ---- the simulation ------------------------------------------------------- */

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

static int lsandbox_random(lua_State *L)
{
    return lp_lib_drawn(L, lp_random(running(L, "math.random")));
}

static int lsandbox_no_seed(lua_State *L)
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
            heddle_word_value(t->value, hl_text(L, i), &v) == HEDDLE_OK)
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
    const char *table = hl_text(L, 1);
    uint32_t i = index_at(L, 2), j = index_at(L, 3);
    uint64_t value = cell_value(L, table, 4);

    if (heddle_steer(s, table, i, j, value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s)->text);
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

/* setting("l2tlb.entries"): a number, true or false, or a word */
static int lib_setting(lua_State *L)
{
    heddle_sim *s = lp_sim(running(L, "setting"));
    const char *name = hl_text(L, 1);
    char text[256];
    uint64_t n;

    lsandbox_use(L, COUNTER_STEPS);
    if (heddle_policy_setting(s, name, &n, text, sizeof text) != 0)
        return luaL_error(L, "setting: this machine has no '%s' (see: heddle "
                             "list settings)",
                          name);
    if (strcmp(text, "true") == 0 || strcmp(text, "false") == 0)
        lua_pushboolean(L, n != 0);
    else if (lua_stringtonumber(L, text) == 0)
        lua_pushstring(L, text);
    return 1;
}

/* tally("kept" [, n [, app]]): of the policy's own */
static int lib_tally(lua_State *L)
{
    struct lp *p = running(L, "tally");
    const char *name = hl_text(L, 1);
    lua_Integer n = luaL_optinteger(L, 2, 1);
    int number = lp_own(p, name);

    if (number < 0)
        return luaL_error(L, "tally: the policy declares no counter '%s'", name);
    if (n < 0)
        return luaL_error(L, "tally: %s: a number of 0 or more is expected, not "
                             "%I", name, n);
    heddle_count(lp_sim(p), number, app_at(L, 3), (uint64_t)n);
    return 0;
}

typedef int translation(heddle_sim *, uint64_t app, uint64_t vpn,
                        enum heddle_translate_to, uint64_t core);

/* name(app, vpn [, { to = "l2tlb", core = 0 }]) */
static int lib_translation(lua_State *L, const char *name, translation *fn)
{
#define WORD(symbol, word) word
    static const char words[] = HD_W_translate_to(WORD, "|");
#undef WORD
    heddle_sim *s = lp_sim(running(L, name));
    uint64_t app = (uint64_t)luaL_checkinteger(L, 1), to = 0, core = 0;
    uint64_t vpn = (uint64_t)luaL_checkinteger(L, 2);

    lua_settop(L, 3);
    if (!lua_isnil(L, 3)) {
        luaL_checktype(L, 3, LUA_TTABLE);
        if (lua_getfield(L, 3, "core") != LUA_TNIL)
            core = (uint64_t)luaL_checkinteger(L, -1);
        if (lua_getfield(L, 3, "to") != LUA_TNIL &&
            heddle_word_value(words, hl_text(L, -1), &to) != 0)
            return luaL_error(L, "%s: to is one of %s, not %s", name, words,
                              lua_tostring(L, -1));
    }
    if (fn(s, app, vpn, (enum heddle_translate_to)to, core) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s)->text);
    return 0;
}

/* translate(app, vpn [, { to =, core = }]): by a walk of its own */
static int lib_translate(lua_State *L)
{
    return lib_translation(L, "translate", heddle_start_translation);
}

/* fill(app, vpn [, { to =, core = }]): with the answer of the walk at hand */
static int lib_fill(lua_State *L)
{
    return lib_translation(L, "fill", heddle_fill_translation);
}

static int no_counter(lua_State *L, heddle_sim *s, const char *name)
{
    const char *names[MAX_COUNTERS];
    struct heddle_counter_info c = {.size = sizeof c};
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
    const char *name = hl_text(L, 1);
    uint64_t sum;

    lsandbox_use(L, COUNTER_STEPS);
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
    const char *fact = hl_text(L, 1);
    uint64_t value;

    if (heddle_recent(s, fact, index_at(L, 2), &value) != 0)
        return luaL_error(L, "%s", heddle_policy_error(s)->text);
    lua_pushinteger(L, (lua_Integer)value);
    return 1;
}

/* stop(): the run ends with this event */
static int lib_stop(lua_State *L)
{
    heddle_stop(lp_sim(running(L, "stop")));
    return 0;
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
/* ---- building the globals ------------------------------------------------- */

/* raise(text): at the script's place. */
static int lib_raise(lua_State *L)
{
    luaL_checkstring(L, 1);
    hl_push_where(L, "=heddle/fence");
    lua_pushvalue(L, 1);
    lua_concat(L, 2);
    return lua_error(L);
}

/* counted(f [, count]): Lua's function f, for whose arguments count() counts;
 * or whose text is counted. */
static int lib_counted(lua_State *L)
{
    lua_settop(L, 2);
    lua_pushvalue(L, lua_upvalueindex(1));
    lua_insert(L, 1);
    lua_pushcclosure(L, lib_once_counted, 3);
    return 1;
}

/* Pushes what fence.lua is given of C. */
static void push_functions(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"counted", lib_counted},       {"keys", lib_keys},
        {"metafield", lib_metafield},   {"nearest", hl_nearest},
        {"next", lib_next},             {"note_metas", lib_note_metas},
        {"pcall", lib_pcall},           {"raise", lib_raise},
        {"tostring", lib_tostring},     {"use", lib_use},
        {"xpcall", lib_xpcall},         {NULL, NULL}};

    lp_world(L);
    luaL_newlibtable(L, functions);
    lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
    luaL_setfuncs(L, functions, 1);
    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    lua_setfield(L, -2, "globals");
    luaL_getsubtable(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    lua_setfield(L, -2, "loaded");
    hl_set_number(L, "most_values", LP_MOST_VALUES);
    hl_set_number(L, "longest", LP_LONGEST);
}

/* A state with Lua's libraries as they were made, whatever the script has put
 * into its own.  The box is closed when it is collected. */
static void close_state(lua_State *S)
{
    if (S != NULL)
        lua_close(S);
}

HL_RELEASE(close_pristine, PRISTINE, lua_State, close_state)

/* All that can fail in it is memory, and that is reported in the other state.
 */
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
/* Adds to the table on top what the state S has in the table on top of its
 * stack: functions in C, texts, numbers and, of the globals, the libraries. */
static void copy_own(lua_State *L, lua_State *S, int globals)
{
    size_t n;
    const char *s;

    lua_pushnil(S);
    while (lua_next(S, -2)) {
        lua_pushstring(L, lua_tostring(S, -2));
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
            lua_newtable(L);
            if (globals && lua_istable(S, -1) && !lua_rawequal(S, -1, -3))
                copy_own(L, S, 0);
        }
        lua_rawset(L, -3);
        lua_pop(S, 1);
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

/* ---- metatables of types -------------------------------------------------- */

/* Values of these types have one metatable for the whole state, behind the
 * fence, too; a sample of each, and what takes a metamethod away. */
enum { NIL, BOOLEAN, NUMBER, TEXT, FUNCTION, TYPES };

static const struct {
    const char *what, *mend;
} types[TYPES] = {
    [NIL] = {"nil has", "debug.setmetatable(nil, nil)"},
    [BOOLEAN] = {"booleans have", "debug.setmetatable(true, nil)"},
    [NUMBER] = {"numbers have", "debug.setmetatable(0, nil)"},
    [TEXT] = {"strings have", "getmetatable(\"\").%s = nil"},
    [FUNCTION] = {"functions have", "debug.setmetatable(print, nil)"},
};

static void push_sample(lua_State *L, int type)
{
    switch (type) {
    case NIL:
        lua_pushnil(L);
        break;
    case BOOLEAN:
        lua_pushboolean(L, 1);
        break;
    case NUMBER:
        lua_pushinteger(L, 0);
        break;
    case TEXT:
        lua_pushliteral(L, "");
        break;
    default:
        lua_pushcfunction(L, lsandbox_no_seed);
        break;
    }
}

/* Pushes the metamethods that Lua's string library gives to strings. */
static void push_own_metas(lua_State *L)
{
    lua_State **S;

    if (lua_getfield(L, LUA_REGISTRYINDEX, STRINGS) != LUA_TNIL)
        return;
    lua_pop(L, 1);
    S = push_pristine(L);
    lua_newtable(L);
    lua_pushliteral(*S, "");
    lua_getmetatable(*S, -1);
    copy_own(L, *S, 0);
    lua_close(*S);
    *S = NULL;
    lua_remove(L, -2);
    lua_pushvalue(L, -1);
    lua_setfield(L, LUA_REGISTRYINDEX, STRINGS);
}

/* The first metamethod, by name, that a script has put into the metatable at
 * the top of the stack, over the library's own; or NULL. */
static const char *added_meta(lua_State *L, int type)
{
    const char *first = NULL;
    int own = lua_gettop(L) - 1;

    for (lua_pushnil(L); lua_next(L, own + 1) != 0; lua_pop(L, 1)) {
        const char *name =
            lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";

        if (strncmp(name, "__", 2) != 0)
            continue;
        if (type == TEXT) {
            int same = strcmp(name, "__index") == 0; /* guard_texts has it */

            lua_getfield(L, own, name);
            same |= lua_rawequal(L, -1, -2);
            lua_pop(L, 1);
            if (same)
                continue;
        }
        if (first == NULL || strcmp(name, first) < 0)
            first = name;
    }
    return first;
}

const char *lp_sandbox_types(lua_State *L, const struct lp_fence *fence)
{
    guard_texts(L);
    push_own_metas(L);
    for (int type = 0; type < TYPES; type++) {
        const char *name;

        push_sample(L, type);
        if (lua_getmetatable(L, -1)) {
            lua_remove(L, -2);
            name = added_meta(L, type);
            if (name != NULL) {
                lua_pushfstring(L, types[type].mend, name);
                return lua_pushfstring(
                    L,
                    "%s the metamethod %s, which %s would see: %s; take it "
                    "away: %s",
                    types[type].what, name, fence->code, fence->depends,
                    lua_tostring(L, -1));
            }
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    return NULL;
}

/* Done whenever something is bound, as a script may have changed them since. */
static void guard_types(lua_State *L, const struct lp_fence *fence)
{
    const char *wrong = lp_sandbox_types(L, fence);

    if (wrong != NULL)
        lp_raise(L, "%s", wrong);
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
            {"", "fill", lib_fill, "see The language"},
            {"", "now", lib_now, "see The language"},
            {"", "recent", lib_recent, "see The language"},
            {"", "renew", lib_renew, "see The language"},
            {"", "setting", lib_setting, "see The language"},
            {"", "steer", lib_steer, "see The language"},
            {"", "stop", lib_stop, "see The language"},
            {"", "tally", lib_tally, "see The language"},
            {"", "translate", lib_translate, "see The language"},
            {"math", "random", lsandbox_random, "the simulation's stream"},
            {"math", "randomseed", lsandbox_no_seed, "raises"},
            {NULL, NULL, NULL, NULL}},
};

static const struct lp_fence application_fence = {
    .code = "application code",
    .depends = "what an application does depends on its parameters only",
    .belongs = "the state",
    .bit = 4,
    .own = (const struct lp_global[]){{NULL, NULL, NULL, NULL}},
};

int lp_sandbox_application(lua_State *L)
{
    push_of(L, &application_fence, SANDBOX);
    return 1;
}

/* Pushes a chunk of the library with Lua's functions as its globals. */
static void push_library(lua_State *L)
{
    lua_State **S;

    if (hl_embed_chunk(L, "heddle.fence") != LUA_OK)
        lua_error(L);
    S = push_pristine(L);
    lua_newtable(L);
    lua_rawgeti(*S, LUA_REGISTRYINDEX, LUA_RIDX_GLOBALS);
    copy_own(L, *S, 1);
    lua_close(*S);
    *S = NULL;
    lua_setupvalue(L, -3, 1);
    lua_pop(L, 1);
}

/* What is said of a fence, and the functions that it has in addition to those
 * of all: pushed. */
static void push_kind(lua_State *L, const struct lp_fence *fence)
{
    lua_newtable(L);
    hl_set_text(L, "code", fence->code);
    hl_set_text(L, "depends", fence->depends);
    hl_set_text(L, "belongs", fence->belongs);
    hl_set_number(L, "bit", fence->bit);
    lua_newtable(L);
    for (const struct lp_global *g = fence->own; g->name != NULL; g++) {
        lua_createtable(L, 4, 0);
        lua_pushstring(L, g->library);
        lua_rawseti(L, -2, 1);
        lua_pushstring(L, g->name);
        lua_rawseti(L, -2, 2);
        lua_getfield(L, LUA_REGISTRYINDEX, WORLD);
        lua_pushcclosure(L, g->f, 1);
        lua_rawseti(L, -2, 3);
        lua_pushstring(L, g->what);
        lua_rawseti(L, -2, 4);
        lua_rawseti(L, -2, (lua_Integer)lua_rawlen(L, -2) + 1);
    }
    lua_setfield(L, -2, "own");
}

/* Pushes the list of a fence that the registry is to have. */
static void lsandbox_build(lua_State *L, const struct lp_fence *fence)
{
    int list;

    lua_createtable(L, PARTS, 0);
    list = lua_gettop(L);
    push_library(L);
    lua_call(L, 0, 1);
    push_functions(L);
    push_kind(L, fence);
    lua_call(L, 2, PARTS);
    for (int i = PARTS; i >= SANDBOX; i--)
        lua_rawseti(L, list, i);
}

/* Pushes one of the things that the registry has of a fence. */
static void push_of(lua_State *L, const struct lp_fence *fence, int which)
{
    if (lua_rawgetp(L, LUA_REGISTRYINDEX, fence) == LUA_TNIL) {
        lua_pop(L, 1);
        lsandbox_build(L, fence);
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
    push_of(L, fence, REACH);
}

void lp_sandbox_call(lua_State *L, const struct lp_fence *fence, int n,
                     int results)
{
    struct lp_world *w = lp_world(L);
    const struct lp_fence *outer = w->fence;
    int rc;

    guard_types(L, fence);
    w->fence = fence;
    rc = lua_pcall(L, n, results, 0);
    w->fence = outer;
    if (rc != LUA_OK)
        lua_error(L);
}

/* ---- entering ------------------------------------------------------------- */

int lp_sandbox_metas(lua_State *T, const struct lp_fence *fence, int last)
{
    int bad;

    push_of(T, fence, CHECK);
    lua_pushboolean(T, last);
    bad = lua_pcall(T, 1, 0, 0) != LUA_OK;
    if (bad || last)
        lp_world(T)->metas &= ~fence->bit;
    return bad;
}

void lp_sandbox_seal(lua_State *L, const char *what, const char *kind,
                     const char *fixed)
{
    push_of(L, &lp_policy_fence, SEAL);
    lua_pushvalue(L, -2);
    lua_pushstring(L, what);
    lua_pushstring(L, kind);
    lua_pushstring(L, fixed);
    lua_call(L, 4, 0);
}

/* note(function, number, name, value).  Upvalues: the struct lp_locals, the
 * table that keeps functions; they keep the names. */
static int note_local(lua_State *L)
{
    lua_settop(L, 4);
    lp_locals_note(L, lua_touserdata(L, lua_upvalueindex(1)),
                   lua_upvalueindex(2), 1, lua_tostring(L, 3),
                   (int)lua_tointeger(L, 2));
    return 0;
}

void lp_sandbox_enter(lua_State *L, const struct lp_fence *fence, int i,
                      struct lp_locals *locals, int keep)
{
    i = lua_absindex(L, i);
    guard_types(L, fence);
    push_of(L, fence, ENTER);
    lua_pushvalue(L, i);
    if (locals != NULL) {
        lua_pushlightuserdata(L, locals);
        lua_pushvalue(L, keep);
        lua_pushcclosure(L, note_local, 2);
    }
    lua_call(L, 1 + (locals != NULL), 0);
}

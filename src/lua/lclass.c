/*
 * lclass.c - reads the table that is a Lua policy.
 *
 *     {
 *         name = "tokens", summary = "...", source = "MASK, 5.2",
 *         params = { warps = { default = 24, min = 0, max = 64,
 *                              unit = "warps", meaning = "...",
 *                              source = "guess" } },
 *         state = { kept = 0 },
 *         init = function(state, params, place) ... end,
 *         tlb_fill = function(q, state, params) return "bypass" end,
 *         watch = { walk_done = function(note, state, params) ... end },
 *         every = { 100000, function(cycle, state, params) ... end },
 *     }
 *
 * All fields but the name are optional; a field that is none of these is an
 * error that names the nearest one.  `every` may name a parameter instead of
 * a number of cycles.  A parameter is an integer; `name = 5` is short for
 * `name = { default = 5 }`.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdarg.h>

#include "lheddle.h"
#include "lpolicy.h"

static const char *const own_fields[] = {"name",  "summary", "source", "params",
                                         "state", "init",    "every",  "watch"};

/* Raises what is wrong with a policy. */
static int refuse(lua_State *L, const char *whose, const char *format, ...)
{
    va_list args;

    lua_pushfstring(L, "policy %s: ", whose);
    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    lua_concat(L, 2);
    return hl_raise(L, HEDDLE_EPOLICY, lua_tostring(L, -1));
}

/* The names of all points, and of all notes; how many there are. */
static size_t point_names(const char *names[HEDDLE_POINT_COUNT])
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        names[i] = heddle_point_info(i)->name;
    return HEDDLE_POINT_COUNT;
}

static size_t note_names(const char *names[HEDDLE_NOTE_COUNT])
{
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        names[i] = heddle_note_info(i)->name;
    return HEDDLE_NOTE_COUNT;
}

/* ---- strings -------------------------------------------------------------- */

/* Keeps the string on top of the stack in the class's user value 2 (at index
 * `keep`) and pops it. */
static const char *keep_string(lua_State *L, int keep)
{
    const char *s = lua_tostring(L, -1);

    lua_rawseti(L, keep, (lua_Integer)lua_rawlen(L, keep) + 1);
    return s;
}

static const char *text_field(lua_State *L, int t, const char *field, int keep,
                              const char *whose, const char *otherwise)
{
    int type = lua_getfield(L, t, field);

    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return otherwise;
    }
    if (type != LUA_TSTRING)
        refuse(L, whose, "%s must be a string, not a %s", field,
               luaL_typename(L, -1));
    return keep_string(L, keep);
}

/* ---- parameters ----------------------------------------------------------- */

static uint64_t number_field(lua_State *L, int t, const char *field,
                             const char *whose, const char *param,
                             uint64_t otherwise)
{
    lua_Integer v;
    int whole;

    if (lua_getfield(L, t, field) == LUA_TNIL) {
        lua_pop(L, 1);
        return otherwise;
    }
    v = lua_tointegerx(L, -1, &whole);
    if (!whole || v < 0)
        refuse(L, whose, "params.%s.%s must be an integer of 0 or more", param,
               field);
    lua_pop(L, 1);
    return (uint64_t)v;
}

static void check_param_fields(lua_State *L, int t, const char *whose,
                               const char *param)
{
    static const char *const known[] = {"default", "min",    "max",    "unit",
                                        "meaning", "source", "choices"};
    const size_t n = sizeof known / sizeof known[0];

    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 2)) {
        const char *key = luaL_tolstring(L, -2, NULL);

        if (hl_index(key, known, n) < 0)
            refuse(L, whose, "params.%s has no field '%s'%s", param, key,
                   hl_meant(L, key, known, n));
    }
}

/* A parameter that is a choice: the list of its names is on top of the stack,
 * its declaration at t. */
static void read_choices(lua_State *L, int t, struct heddle_param *p, int keep,
                         const char *whose)
{
    lua_Integer n = luaL_len(L, -1);
    luaL_Buffer b;

    for (lua_Integer i = 1; i <= n; i++) {
        if (lua_rawgeti(L, -1, i) != LUA_TSTRING ||
            strpbrk(lua_tostring(L, -1), "|") != NULL)
            refuse(L, whose, "params.%s.choices are names", p->name);
        lua_pop(L, 1);
    }
    if (n < 2)
        refuse(L, whose, "params.%s.choices: two names at least", p->name);
    luaL_buffinit(L, &b);
    for (lua_Integer i = 1; i <= n; i++) {
        if (i > 1)
            luaL_addchar(&b, '|');
        lua_rawgeti(L, t + 1, i);
        luaL_addvalue(&b);
    }
    luaL_pushresult(&b);
    p->unit = keep_string(L, keep);
    p->min = 0;
    p->max = (uint64_t)n - 1;
    if (lua_getfield(L, t, "default") != LUA_TSTRING ||
        heddle_word_value(p->unit, lua_tostring(L, -1), &p->def) != 0)
        refuse(L, whose, "params.%s.default is one of %s", p->name, p->unit);
    lua_pop(L, 1);
}

/* The parameter whose declaration is on top of the stack. */
static void read_param(lua_State *L, struct heddle_param *p, int keep,
                       const char *whose)
{
    int t = lua_gettop(L);

    if (lua_isinteger(L, t)) {
        lua_createtable(L, 0, 1);
        lua_insert(L, t);
        lua_setfield(L, t, "default");
    }
    if (!lua_istable(L, t))
        refuse(L, whose, "params.%s must be a table or an integer", p->name);
    check_param_fields(L, t, whose, p->name);
    if (lua_getfield(L, t, "default") == LUA_TNIL)
        refuse(L, whose, "params.%s needs a default", p->name);
    lua_pop(L, 1);
    if (lua_getfield(L, t, "choices") == LUA_TTABLE) {
        read_choices(L, t, p, keep, whose);
    } else {
        p->def = number_field(L, t, "default", whose, p->name, 0);
        p->min = number_field(L, t, "min", whose, p->name, 0);
        p->max = number_field(L, t, "max", whose, p->name, INT64_MAX);
        p->unit = text_field(L, t, "unit", keep, whose, "");
    }
    lua_pop(L, 1);
    p->meaning = text_field(L, t, "meaning", keep, whose, "");
    p->source = text_field(L, t, "source", keep, whose, "guess");
}

static void read_params(lua_State *L, int t, struct lp_class *c, int keep,
                        const char *whose)
{
    /* options of sim:use, which would hide a parameter of their names */
    static const char *const options[] = {"use",          "at",     "replace",
                                          "instructions", "memory", "check"};
    int type = lua_getfield(L, t, "params"), params = lua_gettop(L);
    lua_Integer n;

    c->policy.params = c->param;
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (type != LUA_TTABLE)
        refuse(L, whose, "params must be a table");
    n = lp_state_keys(L, params); /* params keys */
    if (n > HEDDLE_MAX_PARAMS)
        hl_raisef(L, HEDDLE_EPOLICY, "policy %s has more than %d parameters",
                  whose, HEDDLE_MAX_PARAMS);
    for (lua_Integer i = 1; i <= n; i++) {
        struct heddle_param *p = &c->param[i - 1];

        if (lua_rawgeti(L, params + 1, i) != LUA_TSTRING)
            refuse(L, whose, "names of parameters are strings");
        lua_pushvalue(L, -1);
        p->name = keep_string(L, keep);
        if (hl_index(p->name, options, sizeof options / sizeof *options) >= 0)
            refuse(L, whose,
                   "a parameter cannot be called '%s', which is an option "
                   "where a policy is bound",
                   p->name);
        lua_rawget(L, params); /* params keys declaration */
        read_param(L, p, keep, whose);
        lua_settop(L, params + 1);
    }
    lua_settop(L, params - 1);
}

/* ---- fields --------------------------------------------------------------- */

static void check_fields(lua_State *L, int t, const char *whose)
{
    enum { OWN = sizeof own_fields / sizeof *own_fields };
    const char *names[OWN + HEDDLE_POINT_COUNT], *notes[HEDDLE_NOTE_COUNT];
    size_t n = OWN + point_names(names + OWN), of_notes = note_names(notes);

    memcpy(names, own_fields, sizeof own_fields);
    for (lua_pushnil(L); lua_next(L, t); lua_pop(L, 1)) {
        const char *key;
        int at;

        if (lua_type(L, -2) != LUA_TSTRING)
            refuse(L, whose, "its fields have names, not numbers");
        key = lua_tostring(L, -2);
        at = hl_index(key, names, n);
        if (at < 0 && heddle_point_find(key) >= 0)
            at = OWN; /* a name that a point had before */
        if ((at >= OWN || strcmp(key, "init") == 0) && !lua_isfunction(L, -1))
            refuse(L, whose, "%s must be a function, not a %s", key,
                   luaL_typename(L, -1));
        if (at < 0 && hl_index(key, notes, of_notes) >= 0)
            refuse(L, whose, "%s is a note: write watch = { %s = ... }", key,
                   key);
        if (at < 0)
            refuse(L, whose,
                   "'%s' is neither a point nor a field of a policy%s", key,
                   hl_meant(L, key, names, n));
    }
}

static void check_watch(lua_State *L, int t, const char *whose)
{
    const char *names[HEDDLE_NOTE_COUNT];
    size_t n = note_names(names);
    int type = lua_getfield(L, t, "watch"), watch = lua_gettop(L);

    if (type != LUA_TNIL && type != LUA_TTABLE)
        refuse(L, whose, "watch must be a table of functions");
    lua_pushnil(L);
    while (type == LUA_TTABLE && lua_next(L, watch)) {
        const char *key =
            lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "?";

        if (hl_index(key, names, n) < 0)
            refuse(L, whose, "there is no note '%s'%s", key,
                   hl_meant(L, key, names, n));
        if (!lua_isfunction(L, -1))
            refuse(L, whose, "watch.%s must be a function", key);
        lua_pop(L, 1);
    }
    lua_settop(L, watch - 1);
}

static void read_every(lua_State *L, int t, struct lp_class *c,
                       const char *whose)
{
    int type = lua_getfield(L, t, "every"), every = lua_gettop(L), whole;
    lua_Integer cycles;

    c->cycle_param = -1;
    if (type == LUA_TNIL) {
        lua_pop(L, 1);
        return;
    }
    if (type != LUA_TTABLE || lua_rawgeti(L, every, 2) != LUA_TFUNCTION)
        refuse(L, whose, "every must be { cycles, function }");
    if (lua_rawgeti(L, every, 1) == LUA_TSTRING) {
        for (int i = 0; c->param[i].name; i++)
            if (strcmp(c->param[i].name, lua_tostring(L, -1)) == 0)
                c->cycle_param = i;
        if (c->cycle_param < 0)
            refuse(L, whose, "every names '%s', which is no parameter",
                   lua_tostring(L, -1));
    } else {
        cycles = lua_tointegerx(L, -1, &whole);
        if (!whole || cycles < 1)
            refuse(L, whose,
                   "every needs a number of cycles, 1 or more, or the name of "
                   "a parameter");
        c->cycles = (uint64_t)cycles;
    }
    lua_settop(L, every - 1);
}

/* ---- the code's fingerprint ----------------------------------------------- */

static int hash_piece(lua_State *L, const void *v, size_t n, void *ud)
{
    uint64_t *h = ud;

    (void)L;
    *h = lp_hash(*h, v, n);
    return 0;
}

/* Code of the function on top of the stack and the plain values that it holds
 * in locals; the functions it holds only by their number. */
static void hash_function(lua_State *L, uint64_t *h)
{
    if (lua_iscfunction(L, -1))
        return;
    lua_dump(L, hash_piece, h, 1);
    for (int n = 1; lua_getupvalue(L, -1, n) != NULL; n++) {
        int type = lua_type(L, -1);
        uint64_t mark =
            type == LUA_TNUMBER || type == LUA_TSTRING || type == LUA_TBOOLEAN
                ? lp_state_mark(L, -1)
                : (uint64_t)type;
        hash_piece(L, &mark, sizeof mark, h);
        lua_pop(L, 1);
    }
}

/* All functions of the table at t, in order of their names. */
static void hash_functions(lua_State *L, int t, uint64_t *h)
{
    int top = lua_gettop(L);
    lua_Integer n = lp_state_keys(L, t); /* keys */

    for (lua_Integer i = 1; i <= n; i++) {
        lua_rawgeti(L, top + 1, i);
        lua_rawget(L, t);
        if (lua_isfunction(L, -1))
            hash_function(L, h);
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
}

static uint64_t hash_code(lua_State *L, int t)
{
    static const char *const inner[] = {"watch", "every"};
    uint64_t h = 0xcbf29ce484222325ull;

    hash_functions(L, t, &h);
    for (int i = 0; i < 2; i++) {
        if (lua_getfield(L, t, inner[i]) == LUA_TTABLE)
            hash_functions(L, lua_gettop(L), &h);
        lua_pop(L, 1);
    }
    return h;
}

/* The policy's name, which the table at t keeps. */
static const char *name_of(lua_State *L, int t)
{
    size_t n;
    const char *name;

    if (lua_getfield(L, t, "name") != LUA_TSTRING)
        hl_raisef(L, HEDDLE_EPOLICY,
                  "a policy needs a name: { name = \"...\", ... }; one that "
                  "is there with options is { use = \"...\", ... }");
    name = lua_tolstring(L, -1, &n);
    if (n < 1 || n > 31 || strpbrk(name, " \t\n,/\"") || strlen(name) != n)
        hl_raisef(L, HEDDLE_EPOLICY,
                  "policy name '%s': 1 to 31 letters, digits or signs, without "
                  "blanks, commas, slashes or quotes",
                  name);
    lua_pop(L, 1);
    return name;
}

/* A policy that nobody ever calls is a mistake. */
static void check_calls(lua_State *L, int t, const struct heddle_policy *p)
{
    int called = lua_getfield(L, t, "init") != LUA_TNIL || p->period != NULL;

    lua_pop(L, 1);
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++)
        called |= p->answer[i] != NULL;
    for (uint32_t i = 0; i < HEDDLE_NOTE_COUNT; i++)
        called |= p->watch[i] != NULL;
    if (!called)
        hl_raisef(L, HEDDLE_EPOLICY,
                  "policy %s has no function for a point or a note, no every "
                  "and no init: it would do nothing",
                  p->name);
}

struct lp_class *lp_class_push(lua_State *L, int t)
{
    const char *whose;
    struct lp_class *c;
    int keep;

    luaL_checkstack(L, 16, "a policy");
    t = lua_absindex(L, t);
    luaL_checktype(L, t, LUA_TTABLE);
    whose = name_of(L, t);
    check_fields(L, t, whose);
    check_watch(L, t, whose);
    c = lua_newuserdatauv(L, sizeof *c, 2); /* class */
    memset(c, 0, sizeof *c);
    lua_pushvalue(L, t);
    lua_setiuservalue(L, -2, 1);
    lua_newtable(L); /* class keep */
    keep = lua_gettop(L);
    c->L = hl_main_thread(L);
    c->ref = LUA_NOREF;
    c->instructions = 1000000;
    c->bytes = (uint64_t)64 << 20;
    c->policy.abi = HEDDLE_POLICY_ABI;
    c->policy.name = text_field(L, t, "name", keep, whose, "");
    c->policy.summary = text_field(L, t, "summary", keep, whose, "");
    c->policy.source = text_field(L, t, "source", keep, whose, "");
    read_params(L, t, c, keep, whose);
    read_every(L, t, c, whose);
    lp_bridge_fill(L, t, c);
    check_calls(L, t, &c->policy);
    c->policy.code = hash_code(L, t);
    lua_setiuservalue(L, -2, 2);
    return c;
}

void lp_class_hold(lua_State *L, int i, struct lp_class *c)
{
    lua_pushvalue(L, i);
    c->ref = luaL_ref(L, LUA_REGISTRYINDEX);
}

void lp_class_drop(lua_State *L, struct lp_class *c)
{
    luaL_unref(L, LUA_REGISTRYINDEX, c->ref);
    c->ref = LUA_NOREF;
}

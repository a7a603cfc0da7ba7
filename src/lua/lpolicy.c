/*
 * lpolicy.c - the module heddle.policy: find, bind and list policies.
 *
 *     policy.use(sim, what [, options])
 *         what: a policy table, the name of a policy that is compiled in (the
 *         C form where there are two), "file.lua" or "./plugin.so".
 *         Options: at = "l2cache", replace = true (unbind who stands in the
 *         way), instructions and memory (budget of a call of a Lua policy:
 *         1000000, 64 MB), check = true (look for changed locals after every
 *         call); everything else is a parameter.
 *         Returns the name.
 *     policy.unuse(sim [, name [, at]])   returns how many were unbound
 *     policy.used(sim)                    {{name=, at=, params={...}}, ...}
 *     policy.offered(sim)                 {point = {"l1tlb", ...}, ...}
 *     policy.list()                       the policies compiled in, described
 *     policy.tables()                     the steering tables, described
 *     policy.facts()                      the facts, described
 *     policy.load("file.lua")             the table that the file returns
 *     policy.env([extra])                 the globals of policy code, a copy
 *     policy.enter(f)                     makes f see those globals
 *     policy.every(cycles, f)             for the field `every`
 *     policy.reach()                      the functions behind the fence:
 *                                         { { library, name, what }, ... }
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <string.h>
#include <unistd.h>

#include "lheddle.h"

#define POLICIES "heddle.policies." /* scripts compiled in */

/* ---- options -------------------------------------------------------------- */

struct options {
    const char *at;
    uint32_t flags, n;
    uint64_t instructions, memory;
    int check;
    const char *name[HEDDLE_MAX_PARAMS];
    uint64_t value[HEDDLE_MAX_PARAMS];
    const char *text[HEDDLE_MAX_PARAMS]; /* a choice's name, or NULL */
};

/* The value on top of the stack as a number of 0 or more. */
static uint64_t take_number(lua_State *L, const char *what)
{
    lua_Integer v;
    int whole;

    if (lua_isboolean(L, -1))
        return (uint64_t)lua_toboolean(L, -1);
    v = lua_tointegerx(L, -1, &whole);
    if (!whole || v < 0)
        hl_raisef(L, HEDDLE_EPOLICY,
                  "option %s: expected an integer of 0 or more, not %s", what,
                  luaL_tolstring(L, -1, NULL));
    return (uint64_t)v;
}

/* The option whose key and value are on top of the stack. */
static void take_option(lua_State *L, struct options *o)
{
    const char *key;

    if (lua_type(L, -2) != LUA_TSTRING)
        hl_raisef(L, HEDDLE_EPOLICY,
                  "options have names: { at = \"l2tlb\", ... }");
    key = lua_tostring(L, -2);
    if (strcmp(key, "at") == 0) {
        if (lua_type(L, -1) != LUA_TSTRING)
            hl_raisef(L, HEDDLE_EPOLICY,
                      "option at: expected the name of a structure");
        o->at = lua_tostring(L, -1);
    } else if (strcmp(key, "replace") == 0) {
        o->flags |= lua_toboolean(L, -1) ? HEDDLE_USE_REPLACE : 0;
    } else if (strcmp(key, "instructions") == 0) {
        o->instructions = take_number(L, key);
    } else if (strcmp(key, "memory") == 0) {
        o->memory = take_number(L, key);
    } else if (strcmp(key, "check") == 0) {
        o->check = lua_toboolean(L, -1);
    } else {
        if (o->n == HEDDLE_MAX_PARAMS)
            hl_raisef(L, HEDDLE_EPOLICY, "too many options");
        o->name[o->n] = key;
        if (lua_type(L, -1) == LUA_TSTRING)
            o->text[o->n] = lua_tostring(L, -1);
        else
            o->value[o->n] = take_number(L, key);
        o->n++;
    }
}

static void take_options(lua_State *L, int i, struct options *o)
{
    lua_Integer n;

    memset(o, 0, sizeof *o);
    o->at = "";
    if (lua_isnoneornil(L, i))
        return;
    if (!lua_istable(L, i))
        hl_raisef(L, HEDDLE_EINVAL,
                  "a policy's options are a table, as in { at = \"l2tlb\" }, "
                  "not a %s",
                  luaL_typename(L, i));
    n = lp_state_keys(L, i); /* in order, so that errors are the same */
    for (lua_Integer k = 1; k <= n; k++) {
        lua_rawgeti(L, -1, k);
        lua_pushvalue(L, -1);
        lua_rawget(L, i); /* keys key value */
        take_option(L, o);
        lua_pop(L, 2);
    }
    lua_pop(L, 1);
}

/* Values of the options that are names, and no number where a name belongs. */
static void read_choices(lua_State *L, const struct heddle_policy *p,
                         struct options *o)
{
    for (uint32_t i = 0; i < o->n; i++) {
        const struct heddle_param *q = p->params;
        char name[2];

        while (q && q->name && strcmp(q->name, o->name[i]) != 0)
            q++;
        if (q == NULL || q->name == NULL)
            continue; /* heddle_use says so */
        if (o->text[i] == NULL &&
            heddle_word_name(q->unit, 0, name, sizeof name) == 0)
            hl_raisef(L, HEDDLE_EPOLICY,
                      "policy %s: %s is one of %s, not a number", p->name,
                      q->name, q->unit);
        if (o->text[i] == NULL ||
            heddle_word_value(q->unit, o->text[i], &o->value[i]) == 0)
            continue;
        if (heddle_word_name(q->unit, 0, name, sizeof name) == 0)
            hl_raisef(L, HEDDLE_EPOLICY, "policy %s: %s is one of %s, not '%s'",
                      p->name, q->name, q->unit, o->text[i]);
        hl_raisef(L, HEDDLE_EPOLICY,
                  "option %s: expected an integer of 0 or more, not %s",
                  q->name, o->text[i]);
    }
}

/* ---- finding -------------------------------------------------------------- */

static int ends_with(const char *s, const char *end)
{
    size_t n = strlen(s), m = strlen(end);

    return n > m && strcmp(s + n - m, end) == 0;
}

/* Runs the chunk on top of the stack, whose globals are the sandbox's from its
 * first line on, and leaves the table that it returns. */
static void run_chunk(lua_State *L, const char *path)
{
    lp_sandbox_push(L, &lp_policy_fence);
    lua_setupvalue(L, -2, 1);
    lp_sandbox_call(L, &lp_policy_fence, 0, 1);
    if (!lua_istable(L, -1)) {
        hl_raisef(L, HEDDLE_EPOLICY,
                  "%s: a policy file returns a table, this one returned a %s",
                  path, luaL_typename(L, -1));
    }
}

static void load_file(lua_State *L, const char *path)
{
    int rc = luaL_loadfilex(L, path, "t");

    if (rc != LUA_OK)
        hl_raise(L, rc == LUA_ERRFILE ? HEDDLE_ENOINPUT : HEDDLE_EPOLICY,
                 lua_tostring(L, -1));
    run_chunk(L, path);
}

/* Pushes the policy table of a script compiled in; 0: there is none. */
static int load_embedded(lua_State *L, const char *name)
{
    const char *module = lua_pushfstring(L, POLICIES "%s", name);
    int rc = hl_embed_chunk(L, module);

    if (rc > LUA_OK)
        lua_error(L);
    if (rc == LUA_OK)
        run_chunk(L, module);
    else
        lua_pop(L, 1);
    return rc == LUA_OK;
}

static void no_policy(lua_State *L, const char *name, const char *near)
{
    if (strpbrk(name, "./") != NULL)
        hl_raisef(L, HEDDLE_ECONFIG,
                  "policy '%s': a file's name ends in .lua, a plug-in's in .so",
                  name);
    lua_pushfstring(L,
                    "there is no policy '%s'%s%s%s; a file is named "
                    "\"%s.lua\", a plug-in \"./%s.so\"",
                    name, near ? " (did you mean '" : "", near ? near : "",
                    near ? "'?)" : "", name, name);
    hl_raise(L, HEDDLE_ECONFIG, lua_tostring(L, -1));
}

static int push_class(lua_State *L)
{
    lp_class_push(L, 1);
    return 1;
}

/* The class of the table on top, which a file returned: errors name the file,
 * too. */
static struct lp_class *class_of_file(lua_State *L, const char *path)
{
    lua_pushcfunction(L, push_class);
    lua_insert(L, -2);
    if (lua_pcall(L, 1, 1, 0) != LUA_OK) {
        if (lua_istable(L, -1)) { /* of hl_raise */
            lua_getfield(L, -1, "message");
            lua_pushfstring(L, "%s: %s", path, lua_tostring(L, -1));
            lua_setfield(L, -3, "message");
            lua_pop(L, 1);
        }
        lua_error(L);
    }
    return lua_touserdata(L, -1);
}

const struct heddle_policy *lp_find(lua_State *L, int i, struct lp_class **c)
{
    const struct heddle_policy *p;
    const char *name, *near = NULL;
    char text[512];

    *c = NULL;
    if (lua_istable(L, i)) {
        *c = lp_class_push(L, i);
        return &(*c)->policy;
    }
    if (lua_type(L, i) != LUA_TSTRING)
        hl_raisef(L, HEDDLE_EINVAL,
                  "a policy is a table, a name, or the path of a file, not a "
                  "%s",
                  luaL_typename(L, i));
    name = lua_tostring(L, i);
    if (ends_with(name, ".lua")) {
        load_file(L, name);
        *c = class_of_file(L, name);
        return &(*c)->policy;
    }
    if (ends_with(name, ".so")) {
        p = heddle_policy_load(name, text, sizeof text);
        if (p == NULL)
            hl_raise(L,
                     access(name, R_OK) != 0 ? HEDDLE_ENOINPUT : HEDDLE_EPOLICY,
                     text);
        return p;
    }
    p = heddle_policy_find(name, &near);
    if (p)
        return p;
    if (!load_embedded(L, name))
        no_policy(L, name, near);
    *c = lp_class_push(L, -1);
    return &(*c)->policy;
}

/* ---- binding -------------------------------------------------------------- */

static int use(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    const struct heddle_policy *p;
    struct lp_class *c;
    struct options o;
    int rc;

    luaL_checkany(L, 2);
    lua_settop(L, 3);
    take_options(L, 3, &o);
    p = lp_find(L, 2, &c);
    if (c) {
        c->instructions = o.instructions ? o.instructions : c->instructions;
        c->bytes = o.memory ? o.memory : c->bytes;
        c->check = o.check;
        lp_class_hold(L, -1, c);
    } else if (o.instructions || o.memory || o.check) {
        luaL_error(L,
                   "options instructions, memory and check are for Lua "
                   "policies, %s is not one",
                   p->name);
    }
    read_choices(L, p, &o);
    rc = heddle_use(s, p, o.at, o.name, o.value, o.n, o.flags);
    if (c)
        lp_class_drop(L, c);
    if (rc != 0)
        return hl_raise(L, rc, heddle_policy_error(s));
    lua_pushstring(L, p->name);
    return 1;
}

static int unuse(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);

    lua_pushinteger(L, heddle_unuse(s, luaL_optstring(L, 2, NULL),
                                    luaL_optstring(L, 3, NULL)));
    return 1;
}

void lp_push_value(lua_State *L, const struct heddle_param *p, uint64_t value)
{
    char name[64];

    if (heddle_word_name(p->unit, value, name, sizeof name) == 0)
        lua_pushstring(L, name);
    else
        lua_pushinteger(L, (lua_Integer)value);
}

/* Sets fields of the table on top: the state of a Lua policy, or those in its
 * places by their names.  What C policies have is bytes. */
static void push_states(lua_State *L, heddle_sim *s, uint32_t i,
                        const struct heddle_use_info *u)
{
    const char *place;
    void *self;

    if (u->policy->close != lp_bridge_close)
        return;
    lua_newtable(L);
    for (uint32_t k = 0; (self = heddle_used_state(s, i, k, &place)); k++) {
        if (lp_bridge_state(L, self) != LUA_OK)
            lua_error(L);
        if (k == 0) {
            lua_pushvalue(L, -1);
            lua_setfield(L, -4, "state");
        }
        lua_setfield(L, -2, place);
    }
    lua_setfield(L, -2, "states");
}

static int used(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_use_info u;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_used(s, i, &u) == 0; i++) {
        const struct heddle_param *p = u.policy->params;

        lua_newtable(L);
        hl_set_text(L, "name", u.policy->name);
        hl_set_text(L, "at", u.at);
        lua_newtable(L);
        for (uint32_t k = 0; p && p[k].name; k++) {
            lp_push_value(L, &p[k], u.values[k]);
            lua_setfield(L, -2, p[k].name);
        }
        lua_setfield(L, -2, "params");
        push_states(L, s, i, &u);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int offered(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    const char *at;

    lua_newtable(L);
    for (uint32_t p = 0; p < HEDDLE_POINT_COUNT; p++) {
        lua_newtable(L);
        for (uint32_t i = 0; (at = heddle_offered(s, (enum heddle_point)p, i));
             i++) {
            lua_pushstring(L, at);
            lua_rawseti(L, -2, (lua_Integer)i + 1);
        }
        lua_setfield(L, -2, heddle_point_info(p)->name);
    }
    return 1;
}

/* ---- describing ----------------------------------------------------------- */

void lp_push_params(lua_State *L, const struct heddle_param *p)
{
#define PARAM(m) HL_FIELD(struct heddle_param, m)
    static const struct hl_field fields[] = {
        PARAM(name), PARAM(unit), PARAM(meaning), PARAM(source),
        PARAM(min),  PARAM(max),  HL_END};

    lua_newtable(L);
    for (lua_Integer i = 0; p && p[i].name; i++) {
        hl_push_fields(L, fields, &p[i]);
        lp_push_value(L, &p[i], p[i].def);
        lua_setfield(L, -2, "default");
        lua_rawseti(L, -2, i + 1);
    }
}

static void push_policy(lua_State *L, const struct heddle_policy *p,
                        const char *kind)
{
    lua_Integer n = 0;

    lua_createtable(L, 0, 6);
    hl_set_text(L, "name", p->name);
    hl_set_text(L, "kind", kind);
    hl_set_text(L, "summary", p->summary);
    hl_set_text(L, "source", p->source);
    lua_newtable(L);
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        if (p->answer[i] == NULL)
            continue;
        lua_pushstring(L, heddle_point_info(i)->name);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "points");
    lp_push_params(L, p->params);
    lua_setfield(L, -2, "params");
}

static int has_embedded(lua_State *L, const char *name)
{
    const char *module = lua_pushfstring(L, POLICIES "%s", name);
    int rc = hl_embed_chunk(L, module);

    lua_pop(L, rc < 0 ? 1 : 2);
    return rc == LUA_OK;
}

/* Appends the policies that are compiled in as Lua alone to the list at 1. */
static void list_embedded(lua_State *L)
{
    lua_Integer n;

    lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    if (!lua_istable(L, -1))
        return;
    n = lp_state_keys(L, -1); /* list preload keys */
    for (lua_Integer i = 1; i <= n; i++) {
        const char *name;

        lua_settop(L, 3);
        lua_rawgeti(L, 3, i);
        name = lua_tostring(L, -1);
        if (strncmp(name, POLICIES, sizeof POLICIES - 1) != 0)
            continue;
        name += sizeof POLICIES - 1;
        if (heddle_policy_find(name, NULL) || !load_embedded(L, name))
            continue;
        push_policy(L, &lp_class_push(L, -1)->policy, "Lua");
        lua_rawseti(L, 1, (lua_Integer)lua_rawlen(L, 1) + 1);
    }
}

static int list(lua_State *L)
{
    const struct heddle_policy *p;

    lua_settop(L, 0);
    lua_newtable(L);
    for (uint32_t i = 0; (p = heddle_policy_builtin(i)) != NULL; i++) {
        push_policy(L, p, has_embedded(L, p->name) ? "C, Lua" : "C");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    list_embedded(L);
    lua_settop(L, 1);
    return 1;
}

static int tables(lua_State *L)
{
#define TABLE(m) HL_FIELD(struct heddle_table_info, m)
    static const struct hl_field fields[] = {
        TABLE(name),  TABLE(at),      TABLE(i), TABLE(j),
        TABLE(value), TABLE(meaning), HL_END};
    const struct heddle_table_info *t;

    lua_newtable(L);
    for (uint32_t i = 0; (t = heddle_table_info(i)) != NULL; i++) {
        hl_push_fields(L, fields, t);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int facts(lua_State *L)
{
#define FACT(m) HL_FIELD(struct heddle_fact_info, m)
    static const struct hl_field fields[] = {FACT(name), FACT(i), FACT(value),
                                             FACT(meaning), HL_END};
    const struct heddle_fact_info *f;

    lua_newtable(L);
    for (uint32_t i = 0; (f = heddle_fact_info(i)) != NULL; i++) {
        hl_push_fields(L, fields, f);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ---- the sandbox ---------------------------------------------------------- */

static int load(lua_State *L)
{
    load_file(L, luaL_checkstring(L, 1));
    return 1;
}

static void copy_into(lua_State *L, int from, int to)
{
    lua_pushnil(L);
    while (lua_next(L, from)) {
        lua_pushvalue(L, -2);
        lua_insert(L, -2);
        lua_rawset(L, to);
    }
}

static int env(lua_State *L)
{
    lua_settop(L, 1);
    lp_sandbox_push(L, &lp_policy_fence); /* extra sandbox */
    lua_newtable(L);                      /* extra sandbox copy */
    copy_into(L, 2, 3);
    if (lua_istable(L, 1))
        copy_into(L, 1, 3);
    lua_getmetatable(L, 2);
    lua_setmetatable(L, 3);
    return 1;
}

static int enter(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lp_sandbox_enter(L, &lp_policy_fence, 1, NULL, 0);
    return 1;
}

static int reach(lua_State *L)
{
    lp_sandbox_reach(L, &lp_policy_fence);
    return 1;
}

int luaopen_heddle_policy(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"use", use},         {"unuse", unuse},   {"used", used},
        {"list", list},       {"tables", tables}, {"facts", facts},
        {"offered", offered}, {"load", load},     {"env", env},
        {"enter", enter},     {"reach", reach},   {NULL, NULL}};

    luaL_newlib(L, functions);
    lp_sandbox_push(L, &lp_policy_fence);
    lua_getfield(L, -1, "every");
    lua_setfield(L, -3, "every");
    lua_pop(L, 1);
    return 1;
}

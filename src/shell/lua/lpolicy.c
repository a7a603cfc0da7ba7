/*
 * lpolicy.c - the module heddle.bridge: what heddle.policy (policy.lua, which
 * has the checks and the words) does through the library.
 *
 *     bridge.class(spec)             a policy in Lua, checked: its class
 *     bridge.builtin(name)           that of one in C, by its number, too; or
 *                                    nil and the nearest name
 *     bridge.plugin(path)            that of a plug-in, or nil and the error
 *     bridge.describe(class)         its name, summary, source, points and
 *                                    params, and whether it is a script
 *     bridge.use(sim, class, at, { name, value, ... } [, replace])
 *     bridge.run(f)                  f(), behind the fence
 *
 * and the lists of heddle.policy and heddle.core.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "lheddle.h"

#define CLASS "heddle.policy.class"

/* ---- classes -------------------------------------------------------------- */

struct lp_class *lp_class_check(lua_State *L, int i)
{
    return luaL_checkudata(L, i, CLASS);
}

static struct lp_class *new_class(lua_State *L, const struct heddle_policy *p)
{
    struct lp_class *c = lua_newuserdatauv(L, sizeof *c, 1);

    memset(c, 0, sizeof *c);
    c->p = p != NULL ? p : &c->policy;
    c->L = hl_main_thread(L);
    c->ref = LUA_NOREF;
    hl_class(L, CLASS, NULL, NULL);
    return c;
}

/* The spec at index 1 has them: { note, field, value } each. */
static void get_filters(lua_State *L, struct lp_class *c)
{
    lua_getfield(L, 1, "filters");
    for (int i = 0; i < LP_MAX_FILTERS; i++) {
        if (lua_rawgeti(L, -1, i + 1) == LUA_TTABLE) {
            lua_rawgeti(L, -1, 1);
            c->filter[i].note = (enum heddle_note)lua_tointeger(L, -1);
            lua_rawgeti(L, -2, 2);
            c->filter[i].field = lua_tostring(L, -1);
            lua_rawgeti(L, -3, 3);
            c->filter[i].value = (uint64_t)lua_tointeger(L, -1);
            lua_pop(L, 3);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    c->policy.filters = c->filter;
}

/* What a class is made of and described by. */
#define POLICY(m) HL_FIELD(struct heddle_policy, m)
#define PARAM(m)  HL_FIELD(struct heddle_param, m)
#define OWN(m)    HL_FIELD(struct heddle_own, m)
static const struct hl_field of_policy[] = {POLICY(name), POLICY(summary),
                                            POLICY(source), HL_END};
static const struct hl_field of_param[] = {
    PARAM(name),   PARAM(unit), HL_FIELD_AS(struct heddle_param, def, "default"),
    PARAM(min),    PARAM(max),  PARAM(meaning),
    PARAM(source), HL_END};
static const struct hl_field of_own[] = {OWN(name), OWN(unit), OWN(meaning),
                                         HL_END};

static void get_own(lua_State *L, struct lp_class *c)
{
    lua_getfield(L, 1, "own");
    for (int i = 0; i < LP_MAX_OWN; i++) {
        if (lua_rawgeti(L, -1, i + 1) == LUA_TTABLE) {
            hl_get_fields(L, lua_gettop(L), of_own, &c->own[i]);
            lua_getfield(L, -1, "kind");
            c->own[i].kind = (enum heddle_own_kind)lua_tointeger(L, -1);
            lua_pop(L, 1);
        }
        lua_pop(L, 1);
    }
    lua_pop(L, 1);
    c->policy.own = c->own;
}

/* class(spec): the class keeps it, and points into it. */
static int class(lua_State *L)
{
#define OF(m) HL_FIELD(struct lp_class, m)
    static const struct hl_field of_class[] = {
        OF(instructions), HL_FIELD_AS(struct lp_class, bytes, "memory"),
        OF(cycles),       OF(cycle_param),
        OF(check),        HL_END};
    struct lp_class *c;
    char error[512];
    const char *code;
    size_t bytes;

    luaL_checkstack(L, 16, "a policy");
    luaL_checktype(L, 1, LUA_TTABLE);
    lua_settop(L, 1);
    lua_getfield(L, 1, "params");
    luaL_checktype(L, 2, LUA_TTABLE);
    lua_getfield(L, 1, "code");
    code = luaL_checklstring(L, 3, &bytes);
    c = new_class(L, NULL); /* spec params code class */
    c->policy.code = XXH3_64bits(code, bytes);
    c->instructions = 1000000;
    c->bytes = (uint64_t)64 << 20;
    c->cycle_param = UINT32_MAX;
    hl_get_fields(L, 1, of_class, c);
    hl_get_fields(L, 1, of_policy, &c->policy);
    luaL_argcheck(L, c->policy.name != NULL, 1, "a name");
    if (heddle_line_check("policy", c->policy.name, strlen(c->policy.name),
                          error, sizeof error) != HEDDLE_OK)
        hl_raise(L, HEDDLE_EPOLICY, error);
    luaL_argcheck(L, c->cycle_param + 1 <= HEDDLE_MAX_PARAMS, 1, "cycle_param");
    c->policy.abi = HEDDLE_POLICY_ABI;
    c->policy.params = c->param;
    for (int i = 0; i < HEDDLE_MAX_PARAMS; i++) {
        if (lua_rawgeti(L, 2, i + 1) == LUA_TTABLE)
            hl_get_fields(L, lua_gettop(L), of_param, &c->param[i]);
        lua_pop(L, 1);
    }
    get_filters(L, c);
    get_own(L, c);
    lua_pushvalue(L, 1);
    lua_setiuservalue(L, -2, 1);
    lp_bridge_fill(L, 1, c);
    return 1;
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

/* The class of one in C: by its number or its name. */
static int builtin(lua_State *L)
{
    const struct heddle_policy *p;
    const char *near = NULL;

    if (lua_isinteger(L, 1))
        p = heddle_policy_builtin((uint32_t)lua_tointeger(L, 1));
    else
        p = heddle_policy_find(hl_text(L, 1), &near);
    if (p != NULL) {
        new_class(L, p);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, near);
    return 2;
}

static int lpolicy_plugin(lua_State *L)
{
    struct heddle_error error;
    const struct heddle_policy *p = heddle_policy_load(hl_text(L, 1), &error);

    if (p != NULL) {
        new_class(L, p);
        return 1;
    }
    lua_pushnil(L);
    lua_pushstring(L, error.text);
    return 2;
}

/* ---- binding -------------------------------------------------------------- */

uint32_t lp_values(lua_State *L, int i, const char **name, uint64_t *value)
{
    uint32_t n = 0;
    int top = lua_gettop(L);

    luaL_checktype(L, i, LUA_TTABLE);
    for (; lua_rawgeti(L, i, 2 * (lua_Integer)n + 1) == LUA_TSTRING; n++) {
        if (n == HEDDLE_MAX_PARAMS)
            luaL_error(L, "more than %d parameters", HEDDLE_MAX_PARAMS);
        name[n] = lua_tostring(L, -1); /* the list has it */
        lua_rawgeti(L, i, 2 * (lua_Integer)n + 2);
        value[n] = (uint64_t)lua_tointeger(L, -1);
        lua_settop(L, top);
    }
    lua_settop(L, top);
    return n;
}

static int lpolicy_use(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct lp_class *c = lp_class_check(L, 2);
    const char *at = hl_text(L, 3), *name[HEDDLE_MAX_PARAMS];
    uint64_t value[HEDDLE_MAX_PARAMS];
    uint32_t n = lp_values(L, 4, name, value);
    int rc;

    lp_class_hold(L, 2, c);
    rc = heddle_use(s, c->p, at, name, value, n,
                    lua_toboolean(L, 5) ? HEDDLE_USE_REPLACE : 0);
    lp_class_drop(L, c);
    hl_expect(L, rc, heddle_policy_error(s)->text);
    return 0;
}

static int unuse(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);

    lua_pushinteger(L, heddle_unuse(s, hl_opt_text(L, 2),
                                    hl_opt_text(L, 3)));
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

/* Sets the field `points` of the table on top: those that a policy answers. */
static void set_points(lua_State *L, const struct heddle_policy *p)
{
    lua_Integer n = 0;

    lua_newtable(L);
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        if (p->answer[i] == NULL)
            continue;
        lua_pushstring(L, heddle_point_info(i)->name);
        lua_rawseti(L, -2, ++n);
    }
    lua_setfield(L, -2, "points");
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
        lp_bridge_state(L, self);
        if (k == 0) {
            lua_pushvalue(L, -1);
            lua_setfield(L, -4, "state");
        }
        lua_setfield(L, -2, place);
    }
    lua_setfield(L, -2, "states");
}

static int lpolicy_used(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_use_info u;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_used(s, i, &u) == 0; i++) {
        const struct heddle_param *p = u.policy->params;

        lua_newtable(L);
        hl_set_text(L, "name", u.policy->name);
        hl_set_text(L, "at", u.at);
        if (u.code != 0) {
            char code[20];
            snprintf(code, sizeof code, "%016llx",
                     (unsigned long long)u.code);
            hl_set_text(L, "code", code);
        }
        set_points(L, u.policy);
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

static int lpolicy_offered(lua_State *L)
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
    lua_newtable(L);
    for (lua_Integer i = 0; p && p[i].name; i++) {
        hl_push_fields(L, of_param, &p[i]);
        lp_push_value(L, &p[i], p[i].def); /* in its type */
        lua_setfield(L, -2, "default");
        lua_rawseti(L, -2, i + 1);
    }
}

static int lpolicy_describe(lua_State *L)
{
    const struct lp_class *c = lp_class_check(L, 1);
    const struct heddle_policy *p = c->p;

    hl_push_fields(L, of_policy, p);
    set_points(L, p);
    lp_push_params(L, p->params);
    lua_setfield(L, -2, "params");
    lua_newtable(L);
    for (int i = 0; p->own != NULL && p->own[i].name != NULL; i++) {
        hl_push_fields(L, of_own, &p->own[i]);
        lua_pushinteger(L, p->own[i].kind);
        lua_setfield(L, -2, "kind");
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, "own");
    lua_pushboolean(L, p == &c->policy);
    return 2;
}

/* The lists that the library has by number. */
#define TABLE(m) HL_FIELD(struct heddle_table_info, m)
#define FACT(m)  HL_FIELD(struct heddle_fact_info, m)
#define POINT(m) HL_FIELD(struct heddle_point_info, m)
#define NOTE(m)  HL_FIELD(struct heddle_note_info, m)
static const struct hl_field table_fields[] = {
    TABLE(name),  TABLE(at),      TABLE(i), TABLE(j),
    TABLE(value), TABLE(meaning), HL_END};
static const struct hl_field fact_fields[] = {FACT(name), FACT(i), FACT(value),
                                              FACT(meaning), HL_END};
static const struct hl_field point_fields[] = {
    POINT(name),  POINT(at),   POINT(heat),    POINT(answer),
    POINT(limit), POINT(when), POINT(meaning), HL_END};
static const struct hl_field note_fields[] = {NOTE(name), NOTE(at), NOTE(when),
                                              HL_END};

static void set_fields(lua_State *L, const struct heddle_field_info *f,
                       uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 4);
        hl_set_text(L, "name", f[i].name);
        hl_set_text(L, "meaning", f[i].meaning);
        if (f[i].words)
            hl_set_text(L, "words", f[i].words);
        if (f[i].count)
            hl_set_text(L, "count", f[i].count);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "fields");
}

static void point_more(lua_State *L, uint32_t i)
{
    const struct heddle_point_info *p = heddle_point_info(i);

    lua_pushboolean(L, lp_by_position(p));
    lua_setfield(L, -2, "by_position");
    set_fields(L, p->field, p->fields);
}

static void note_more(lua_State *L, uint32_t i)
{
    set_fields(L, heddle_note_info(i)->field, heddle_note_info(i)->fields);
}

static void no_more(lua_State *L, uint32_t i)
{
    (void)L;
    (void)i;
}

#define LIST(name, get, fields, more)                                          \
    int name(lua_State *L)                                                     \
    {                                                                          \
        lua_newtable(L);                                                       \
        for (uint32_t i = 0; get(i) != NULL; i++) {                            \
            hl_push_fields(L, fields, get(i));                                 \
            more(L, i);                                                        \
            lua_rawseti(L, -2, (lua_Integer)i + 1);                            \
        }                                                                      \
        return 1;                                                              \
    }
static LIST(tables, heddle_table_info, table_fields, no_more)
static LIST(facts, heddle_fact_info, fact_fields, no_more)
LIST(lp_points, heddle_point_info, point_fields, point_more)
LIST(lp_notes, heddle_note_info, note_fields, note_more)

/* ---- the sandbox --------------------------------------------------------- */

static int lpolicy_run(lua_State *L)
{
    lua_settop(L, 1);
    lp_sandbox_call(L, &lp_policy_fence, 0, 1);
    return 1;
}

static int sandbox(lua_State *L)
{
    lp_sandbox_push(L, &lp_policy_fence);
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

static int lpolicy_enter(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    lp_sandbox_enter(L, &lp_policy_fence, 1, NULL, 0);
    return 1;
}

static int lpolicy_reach(lua_State *L)
{
    lp_sandbox_reach(L, &lp_policy_fence);
    return 1;
}

int lp_keys(lua_State *L)
{
    luaL_checktype(L, 1, LUA_TTABLE);
    lp_state_keys(L, 1);
    return 1;
}

static int raise_error(lua_State *L)
{
    luaL_checkstring(L, 2);
    return hl_raise(L, (int)luaL_checkinteger(L, 1), hl_shown(L, 2));
}

int luaopen_heddle_bridge(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"use", lpolicy_use},           {"unuse", unuse},
        {"used", lpolicy_used},         {"tables", tables},
        {"facts", facts},               {"points", lp_points},
        {"notes", lp_notes},            {"offered", lpolicy_offered},
        {"env", env},                   {"enter", lpolicy_enter},
        {"reach", lpolicy_reach},       {"run", lpolicy_run},
        {"sandbox", sandbox},           {"class", class},
        {"builtin", builtin},           {"plugin", lpolicy_plugin},
        {"describe", lpolicy_describe}, {"keys", lp_keys},
        {"raise", raise_error},         {"nearest", hl_nearest},
        {"path", hl_path},              {NULL, NULL}};

    luaL_newlib(L, functions);
    hl_set_number(L, "max_params", HEDDLE_MAX_PARAMS);
    hl_set_number(L, "max_filters", LP_MAX_FILTERS);
    hl_set_number(L, "max_own", LP_MAX_OWN);
    return 1;
}

/*
 * lopen.c - a Lua policy is bound: its coroutine is filled with what calls
 * need.
 *
 * Everything a call needs lies at a fixed place on the coroutine's stack:
 * handler, state, parameters, the functions and a view for each.  The state is
 * a copy of the table's, so that one table can be bound in many places.  The
 * functions' globals become the sandbox's, and the contents of their locals
 * are fingerprinted.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lbridge.h"

#include <stdlib.h>
#include <string.h>

static void note_upvalue(lua_State *L, void *ud, const char *name, int n)
{
    struct lp *p = ud;

    if (p->ups == p->up_room) {
        int room = 2 * p->up_room + 16;
        struct lp_upvalue *v = realloc(p->up, (size_t)room * sizeof *v);
        if (v == NULL)
            hl_raise_memory(L);
        p->up = v;
        p->up_room = room;
    }
    p->up[p->ups].name = name;
    p->up[p->ups].n = n;
    p->up[p->ups].mark = lp_state_mark(L, -1);
    p->ups++;
    lua_pushvalue(L, -2);
    lua_rawseti(L, LP_AT_UPS, p->ups);
}

/* What init reads of the place, or anybody of the parameters, is there. */
static int missing(lua_State *L)
{
    const char *names[HEDDLE_MAX_PARAMS], *near;
    const char *key = lp_text(L, 2);
    size_t n = 0;

    lua_pushnil(L);
    while (n < HEDDLE_MAX_PARAMS && lua_next(L, 1)) {
        names[n++] = lua_tostring(L, -2);
        lua_pop(L, 1);
    }
    near = heddle_nearest(key, names, n);
    return luaL_error(
        L, "%s has no %s'%s'%s%s%s", lua_tostring(L, lua_upvalueindex(1)),
        lua_tostring(L, lua_upvalueindex(2)), key,
        near ? "; did you mean '" : "", near ? near : "", near ? "'?" : "");
}

static void push_missing(lua_State *L, const char *what, const char *kind)
{
    lua_pushstring(L, what);
    lua_pushstring(L, kind);
    lua_pushcclosure(L, missing, 2);
    lua_setfield(L, -2, "__index");
}

static int param_fixed(lua_State *L)
{
    return luaL_error(L, "parameters are fixed while a policy is bound");
}

static void push_params(lua_State *L, const struct lp *p)
{
    lua_newtable(L);
    for (int i = 0; p->c->param[i].name; i++) {
        lp_push_value(L, &p->c->param[i], p->param[i]);
        lua_setfield(L, -2, p->c->param[i].name);
    }
    lua_createtable(L, 0, 2);
    push_missing(L, "the policy", "parameter ");
    lua_pushcfunction(L, param_fixed);
    lua_setfield(L, -2, "__newindex");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* Splits "a|b|c" into words that the table LP_AT_WORDS keeps. */
static void read_words(lua_State *L, struct lp_point *pt, const char *s)
{
    while (*s && pt->words < LP_WORDS) {
        size_t n = strcspn(s, "|");
        pt->word[pt->words++] = lua_pushlstring(L, s, n);
        luaL_ref(L, LP_AT_WORDS);
        s += n + (s[n] == '|');
    }
}

static void open_point(lua_State *L, struct lp *p, uint32_t i)
{
    const struct heddle_point_info *info = heddle_point_info(i);
    struct lp_point *pt = &p->point[i];

    lp_sandbox_enter(L, &lp_policy_fence, -1, note_upvalue, p);
    pt->fn = lua_gettop(L);
    pt->kind = info->kind;
    pt->view = lp_view_push(L, info->name, info->field, info->fields);
    pt->view_at = lua_gettop(L);
    if (info->kind == HEDDLE_CHOICE)
        read_words(L, pt, info->limit);
    for (uint32_t k = 0; k < info->fields; k++) {
        const struct heddle_field_info *f = &info->field[k];
        if (strcmp(f->name, info->limit) == 0)
            pt->limit = f->offset;
        if (info->kind == HEDDLE_INDEX && f->count &&
            i != HEDDLE_POINT_warp_pick && strcmp(f->count, info->limit) == 0)
            pt->position = 1;
    }
}

static void open_functions(lua_State *L, struct lp *p, int t)
{
    for (uint32_t i = 0; i < HEDDLE_POINT_COUNT; i++) {
        if (lua_getfield(L, t, heddle_point_info(i)->name) == LUA_TNIL)
            lua_pop(L, 1);
        else
            open_point(L, p, i);
    }
    if (lua_getfield(L, t, "watch") == LUA_TNIL)
        lua_newtable(L);
    for (uint32_t i = 0, w = (uint32_t)lua_gettop(L); i < HEDDLE_NOTE_COUNT;
         i++) {
        const struct heddle_note_info *info = heddle_note_info(i);
        struct lp_note *nt = &p->note[i];
        if (lua_getfield(L, (int)w, info->name) == LUA_TNIL) {
            lua_pop(L, 1);
            continue;
        }
        lp_sandbox_enter(L, &lp_policy_fence, -1, note_upvalue, p);
        nt->fn = lua_gettop(L);
        nt->view = lp_view_push(L, info->name, info->field, info->fields);
        nt->view_at = lua_gettop(L);
    }
    if (lua_getfield(L, t, "every") == LUA_TTABLE) {
        lua_rawgeti(L, -1, 2);
        lp_sandbox_enter(L, &lp_policy_fence, -1, note_upvalue, p);
        p->every = lua_gettop(L);
    }
}

static void push_place(lua_State *L, const struct heddle_place *place)
{
    const struct {
        const char *name;
        uint64_t v;
    } field[] = {
        {"cores", place->cores}, {"warps", place->warps},
        {"apps", place->apps},   {"channels", place->channels},
        {"banks", place->banks}, {"instances", place->instances},
        {"sets", place->sets},   {"ways", place->ways},
        {"seed", place->seed},   {"frames", place->frames},
    };

    lua_newtable(L);
    lua_pushstring(L, place->at);
    lua_setfield(L, -2, "at");
    for (size_t i = 0; i < sizeof field / sizeof *field; i++) {
        lua_pushinteger(L, (lua_Integer)field[i].v);
        lua_setfield(L, -2, field[i].name);
    }
    lua_createtable(L, 0, 1);
    push_missing(L, "the place", "");
    lua_pushboolean(L, 0);
    lua_setfield(L, -2, "__metatable");
    lua_setmetatable(L, -2);
}

/* Fills the coroutine's stack: [1] handler [2] light userdata of the policy,
 * handed over as the only argument, becomes the state. */
static int fill_stack(lua_State *L)
{
    struct lp *p = lua_touserdata(L, LP_AT_STATE);
    int t;

    luaL_checkstack(L, 3 * (HEDDLE_POINT_COUNT + HEDDLE_NOTE_COUNT) + 32,
                    "a policy");
    lua_rawgeti(L, LUA_REGISTRYINDEX, p->c->ref);
    lua_getiuservalue(L, -1, 1); /* .. class table */
    t = lua_gettop(L);
    if (lua_getfield(L, t, "state") == LUA_TNIL) {
        lua_pop(L, 1);
        lua_newtable(L);
    }
    if (!lua_istable(L, -1))
        luaL_error(L, "state must be a table, not a %s", luaL_typename(L, -1));
    lp_state_copy(L, -1, "state");
    lua_replace(L, LP_AT_STATE);
    lua_pop(L, 1);               /* handler state class table */
    push_params(L, p);           /* handler state class table params */
    lua_insert(L, LP_AT_PARAMS); /* handler state params class table */
    lua_newtable(L);
    lua_insert(L, LP_AT_WORDS);
    lua_newtable(L);
    lua_insert(L, LP_AT_UPS); /* .. class words ups table */
    t = lua_gettop(L);
    open_functions(L, p, t);
    if (lua_getfield(L, t, "init") == LUA_TNIL)
        return 0;
    lp_sandbox_enter(L, &lp_policy_fence, -1, note_upvalue, p);
    return 0;
}

void lp_open_close(void *self)
{
    struct lp *p = self;

    luaL_unref(p->L, LUA_REGISTRYINDEX, p->ref);
    free(p->up);
    free(p->bytes.v);
    free(p);
}

/* Runs on the main thread: makes the coroutine. */
static int new_thread(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    p->T = lua_newthread(L);
    p->ref = luaL_ref(L, LUA_REGISTRYINDEX);
    p->w = lp_world(L);
    return 0;
}

static int run_init(struct lp *p)
{
    lua_State *T = p->T;
    int rc;

    /* on top: `init`, or nil, and the place */
    p->top = lua_gettop(T) - 2;
    if (lua_isnil(T, -2)) {
        lua_settop(T, p->top);
        return 0;
    }
    lua_pushvalue(T, LP_AT_STATE);
    lua_insert(T, -2);
    lua_pushvalue(T, LP_AT_PARAMS);
    lua_insert(T, -2);
    rc = lp_bridge_call(p, 3, 0);
    if (rc != LUA_OK)
        lp_bridge_fail(p, "init", rc);
    return rc;
}

/* Fills the coroutine's stack in protected mode, in place: the values that
 * stay are returned as results. */
static int fill_protected(lua_State *T)
{
    const struct lp *p = lua_touserdata(T, 2);

    fill_stack(T);
    push_place(T, p->place);
    return lua_gettop(T) - 1;
}

static int start(struct lp *p)
{
    lua_State *T = p->T;
    int rc;

    /* Inside the call, index 1 is a handler and index 2 the argument, so the
     * places on the stack are those that remain after it. */
    lua_pushcfunction(T, lp_bridge_handler);
    lua_pushcfunction(T, fill_protected);
    lua_pushcfunction(T, lp_bridge_handler);
    lua_pushlightuserdata(T, p);
    rc = lua_pcall(T, 2, LUA_MULTRET, LP_AT_HANDLER);
    if (rc != LUA_OK) {
        p->top = 1;
        lp_bridge_fail(p, "binding", rc);
        return rc;
    }
    lua_sethook(T, lp_budget_hook, LUA_MASKCOUNT, LP_HOOK);
    return run_init(p);
}

void *lp_open_policy(void *ud, heddle_sim *s, const struct heddle_place *place,
                     const uint64_t *params)
{
    struct lp_class *c = ud;
    struct lp *p = calloc(1, sizeof *p);
    lua_State *L = c->L;

    if (p == NULL) {
        heddle_policy_fail(s, HEDDLE_NO_MEMORY);
        return NULL;
    }
    p->L = L;
    p->ref = LUA_NOREF;
    p->c = c;
    p->sim = s;
    p->place = place;
    p->seed = place->seed;
    p->budget.instructions = c->instructions;
    p->budget.bytes = c->bytes;
    p->budget.collect_at = c->bytes / 2;
    p->budget.per = "in one call";
    memcpy(p->param, params, sizeof p->param);
    if (!lua_checkstack(L, 4)) {
        heddle_policy_fail(s, HEDDLE_NO_MEMORY);
        free(p);
        return NULL;
    }
    lua_pushcfunction(L, new_thread);
    lua_pushlightuserdata(L, p);
    if (lua_pcall(L, 1, 0, 0) != LUA_OK) {
        heddle_policy_fail(s, lua_tostring(L, -1));
        lua_pop(L, 1);
        free(p);
        return NULL;
    }
    if (start(p) != 0) {
        lp_open_close(p);
        return NULL;
    }
    p->place = NULL;
    return p;
}

/* [1] light userdata of the policy -> a copy of its state */
static int copy_state(lua_State *L)
{
    struct lp *p = lua_touserdata(L, 1);

    lua_pushvalue(p->T, LP_AT_STATE);
    lua_xmove(p->T, L, 1);
    lp_state_copy(L, -1, "state");
    return 1;
}

int lp_open_state(lua_State *L, void *self)
{
    lua_pushcfunction(L, copy_state);
    lua_pushlightuserdata(L, self);
    return lua_pcall(L, 1, 1, 0);
}

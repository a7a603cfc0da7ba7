/*
 * lview.c - a question as a Lua policy sees it: borrowed, with named fields.
 *
 * A view is one userdata for each point of a bound policy, made once.  While
 * the policy answers, it points at the engine's question; afterwards at
 * nothing, and reading it raises.  So a question costs no table and no
 * garbage.  A field is found by comparing pointers, because Lua has one copy
 * of each short string.  An array of a question is a second userdata that
 * reads through the first: q.bank[1] is the first element, #q.bank the count.
 *
 * Numbers are Lua integers with the bits of the engine's (a bit set with bit
 * 63 prints negative).  A field that is not there raises and names the
 * nearest one.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lpolicy.h"

#include <string.h>

#define VIEW  "heddle.question"
#define ARRAY "heddle.question.array"

struct array {
    const struct lp_view *view;
    const struct heddle_field_info *field;
    size_t count; /* offset of the field that holds the length */
};

static int stale(lua_State *L, const struct lp_view *v)
{
    return luaL_error(L,
                      "%s: this question was answered; copy the fields that "
                      "you need later",
                      v->name);
}

static int unknown(lua_State *L, const struct lp_view *v, const char *name)
{
    const char *names[LP_FIELDS], *near;

    for (uint32_t i = 0; i < v->n; i++)
        names[i] = v->field[i].name;
    near = heddle_nearest(name, names, v->n);
    if (near)
        return luaL_error(L, "%s has no field '%s'; did you mean '%s'?",
                          v->name, name, near);
    return luaL_error(L, "%s has no field '%s' (see: heddle explain %s)",
                      v->name, name, v->name);
}

static int view_index(lua_State *L)
{
    const struct lp_view *v = lua_touserdata(L, 1);
    const char *key = lua_tostring(L, 2);

    if (v->q == NULL)
        return stale(L, v);
    for (uint32_t i = 0; i < v->n; i++) {
        const struct heddle_field_info *f = &v->field[i];
        if (v->key[i] != key)
            continue;
        if (f->count == NULL) {
            lua_pushinteger(L, (lua_Integer)lp_word(v->q, f->offset));
            return 1;
        }
        lua_getiuservalue(L, 1, 1); /* view key arrays */
        lua_rawgeti(L, -1, (lua_Integer)i + 1);
        return 1;
    }
    return unknown(L, v, key ? key : luaL_typename(L, 2));
}

static int read_only(lua_State *L)
{
    return luaL_error(L, "a question is read only");
}

static int view_text(lua_State *L)
{
    const struct lp_view *v = lua_touserdata(L, 1);

    lua_pushfstring(L, "question %s", v->name);
    return 1;
}

static uint64_t length(lua_State *L, const struct array *a)
{
    if (a->view->q == NULL)
        stale(L, a->view);
    return lp_word(a->view->q, a->count);
}

static int array_index(lua_State *L)
{
    const struct array *a = lua_touserdata(L, 1);
    uint64_t n = length(L, a);
    const uint64_t *p;
    lua_Integer i;
    int whole;

    i = lua_tointegerx(L, 2, &whole);
    if (!whole)
        return luaL_error(L, "%s.%s is an array: its index is a number",
                          a->view->name, a->field->name);
    if (i < 1)
        return luaL_error(L, "%s.%s has no element %I: it counts from 1",
                          a->view->name, a->field->name, (LUAI_UACINT)i);
    if ((uint64_t)i > n) {
        lua_pushnil(L); /* as in a table, so that ipairs ends */
        return 1;
    }
    memcpy(&p, (const char *)a->view->q + a->field->offset, sizeof p);
    lua_pushinteger(L, (lua_Integer)p[i - 1]);
    return 1;
}

static int array_length(lua_State *L)
{
    const struct array *a = lua_touserdata(L, 1);

    lua_pushinteger(L, (lua_Integer)length(L, a));
    return 1;
}

static void set_metatable(lua_State *L, const char *name, lua_CFunction index,
                          lua_CFunction len)
{
    if (luaL_newmetatable(L, name)) {
        lua_pushcfunction(L, index);
        lua_setfield(L, -2, "__index");
        lua_pushcfunction(L, read_only);
        lua_setfield(L, -2, "__newindex");
        lua_pushboolean(L, 0);
        lua_setfield(L, -2, "__metatable");
        lua_pushcfunction(L, len ? len : view_text);
        lua_setfield(L, -2, len ? "__len" : "__tostring");
    }
    lua_setmetatable(L, -2);
}

static size_t offset_of(const struct heddle_field_info *field, uint32_t n,
                        const char *name)
{
    for (uint32_t i = 0; i < n; i++)
        if (strcmp(field[i].name, name) == 0)
            return field[i].offset;
    return 0;
}

struct lp_view *lp_view_push(lua_State *L, const char *name,
                             const struct heddle_field_info *field, uint32_t n)
{
    struct lp_view *v = lua_newuserdatauv(L, sizeof *v, 2);

    memset(v, 0, sizeof *v);
    v->name = name;
    v->field = field;
    v->n = n;
    set_metatable(L, VIEW, view_index, NULL);
    lua_createtable(L, (int)n, 0); /* view arrays */
    lua_createtable(L, (int)n, 0); /* view arrays names */
    for (uint32_t i = 0; i < n; i++) {
        struct array *a;

        v->key[i] = lua_pushstring(L, field[i].name);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
        if (field[i].count == NULL)
            continue;
        a = lua_newuserdatauv(L, sizeof *a, 0);
        a->view = v;
        a->field = &field[i];
        a->count = offset_of(field, n, field[i].count);
        set_metatable(L, ARRAY, array_index, array_length);
        lua_rawseti(L, -3, (lua_Integer)i + 1);
    }
    lua_setiuservalue(L, -3, 2);
    lua_setiuservalue(L, -2, 1);
    return v;
}

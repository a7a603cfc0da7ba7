/*
 * lconfig.c - a configuration as a Lua object: set, get, check.
 *
 * Values cross as text, in the grammar that the settings table declares, so
 * that a number in a script, on the command line and in a file is read by one
 * piece of code.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lparts.h"

heddle_config *hl_config_check(lua_State *L, int i)
{
    heddle_config **c = luaL_checkudata(L, i, HL_CONFIG);

    luaL_argcheck(L, *c != NULL, i, "this configuration was closed");
    return *c;
}

static int config_free(lua_State *L)
{
    heddle_config **c = luaL_checkudata(L, 1, HL_CONFIG);

    if (*c)
        heddle_config_free(*c);
    *c = NULL;
    return 0;
}

/* The text of a value: booleans and whole numbers in the engine's grammar. */
static const char *value_text(lua_State *L, int i)
{
    if (lua_isboolean(L, i))
        return lua_toboolean(L, i) ? "true" : "false";
    if (lua_type(L, i) == LUA_TNUMBER) {
        int whole;
        lua_Integer n = lua_tointegerx(L, i, &whole);

        if (whole)
            return lua_pushfstring(L, "%I", (LUAI_UACINT)n);
    }
    return luaL_checkstring(L, i);
}

/* config:set(name, value) */
static int config_set(lua_State *L)
{
    heddle_config *c = hl_config_check(L, 1);
    const char *name = luaL_checkstring(L, 2);
    int rc = heddle_config_set(c, name, value_text(L, 3));

    if (rc != HEDDLE_OK)
        return hl_raise(L, rc, heddle_config_error(c));
    lua_settop(L, 1);
    return 1;
}

/* config:get(name) -> text */
static int config_get(lua_State *L)
{
    heddle_config *c = hl_config_check(L, 1);
    char out[256];
    int rc = heddle_config_get(c, luaL_checkstring(L, 2), out, sizeof out);

    if (rc != HEDDLE_OK)
        return hl_raise(L, rc, heddle_config_error(c));
    lua_pushstring(L, out);
    return 1;
}

/* config:check() */
static int config_check(lua_State *L)
{
    heddle_config *c = hl_config_check(L, 1);
    int rc = heddle_config_check(c);

    if (rc != HEDDLE_OK)
        return hl_raise(L, rc, heddle_config_error(c));
    lua_settop(L, 1);
    return 1;
}

static void number(lua_State *L, const char *name, uint64_t v)
{
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, -2, name);
}

/* config:shapes() -> {{name=, unit=, copies=, sets=, ways=, size=, ...}, ...}
 */
static int config_shapes(lua_State *L)
{
    heddle_config *c = hl_config_check(L, 1);
    struct heddle_shape_info s;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_config_shape(c, i, &s) == HEDDLE_OK; i++) {
        lua_createtable(L, 0, 9);
        lua_pushstring(L, s.name);
        lua_setfield(L, -2, "name");
        lua_pushstring(L, s.unit);
        lua_setfield(L, -2, "unit");
        number(L, "copies", s.copies);
        number(L, "sets", s.sets);
        number(L, "ways", s.ways);
        number(L, "size", s.size);
        number(L, "set_to", s.set_to);
        number(L, "ways_set_to", s.ways_set_to);
        lua_pushboolean(L, s.rounded);
        lua_setfield(L, -2, "rounded");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int hl_config_new(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"set", config_set},       {"get", config_get}, {"check", config_check},
        {"shapes", config_shapes}, {NULL, NULL},
    };
    heddle_config **c = lua_newuserdatauv(L, sizeof *c, 0);

    *c = NULL;
    hl_class(L, HL_CONFIG, config_free, methods);
    *c = heddle_config_new();
    if (!*c)
        return hl_raise_memory(L);
    return 1;
}

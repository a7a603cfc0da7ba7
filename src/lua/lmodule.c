/*
 * lmodule.c - `require "heddle"` from any Lua 5.4: heddle.so holds the
 * engine, the binding and the Lua half.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lparts.h"

HL_MODULE int luaopen_heddle(lua_State *L);

int luaopen_heddle(lua_State *L)
{
    hl_embed_preload(L);
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
    lua_getfield(L, -1, "heddle");
    lua_pushliteral(L, "heddle");
    lua_call(L, 1, 1);
    return 1;
}

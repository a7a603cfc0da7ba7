/*
 * lparts.h - functions that the files of the core module share.
 * SPDX-License-Identifier: MIT
 */
#ifndef LPARTS_H
#define LPARTS_H

#include <lauxlib.h>
#include <lua.h>

int luaopen_heddle_core(lua_State *L);

/* embed.c: fills package.preload with the modules compiled in, both the C
 * ones and the Lua ones. */
void hl_embed_preload(lua_State *L);
/* Pushes the chunk of a script compiled in, not run yet; -1: there is none. */
int hl_embed_chunk(lua_State *L, const char *module);

#endif

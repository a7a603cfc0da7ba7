/*
 * policy-lua.h - the Lua half of the policy mechanism over the machine of
 * policy-fake.h; what the binding takes from the rest of the library is played
 * here.
 * SPDX-License-Identifier: MIT
 */
#ifndef POLICY_LUA_H
#define POLICY_LUA_H

#include "kit/config.h"
#include "policy-fake.h"

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>
#include <stdio.h>

#include "lua/lheddle.h"
#include "lua/lpolicy.h"

static struct fake *fake; /* the machine of the running test */

heddle_sim *hl_sim_check(lua_State *L, int i)
{
    (void)L;
    (void)i;
    return fake_sim(fake);
}

const char *heddle_status_name(int code)
{
    (void)code;
    return "error";
}

/* The scripts of the library come from their files. */
int hl_embed_chunk(lua_State *L, const char *module)
{
    char text[65536], name[64];
    FILE *f;
    size_t n;

    snprintf(name, sizeof name, "lua/heddle/%s.lua", module + strlen("heddle."));
    f = fopen(name, "r");
    if (f == NULL)
        return -1;
    n = fread(text, 1, sizeof text, f);
    fclose(f);
    name[3] = '='; /* for the slash */
    return luaL_loadbuffer(L, text, n, name + 3);
}

static inline int lua_module(lua_State *L)
{
    if (hl_embed_chunk(L, luaL_checkstring(L, 1)) != LUA_OK)
        return lua_error(L);
    lua_call(L, 0, 1);
    return 1;
}

void heddle_stop(heddle_sim *s)
{
    hd_sim_env(s)->err->code = HEDDLE_STOPPED;
}

uint32_t heddle_apps(const heddle_sim *s)
{
    return hd_sim_env(s)->apps;
}

int heddle_counter(const heddle_sim *s, uint32_t i,
                   struct heddle_counter_info *out)
{
    (void)s;
    if (i >= hd_rows_policy.counter_count)
        return HEDDLE_EINVAL;
    *out = (struct heddle_counter_info){
        .size = sizeof *out,
        .component = "policy",
        .name = hd_rows_policy.counters[i].name,
        .instances = 1};
    return 0;
}

uint64_t heddle_counter_value(const heddle_sim *s, uint32_t i,
                              uint32_t instance, uint32_t app)
{
    (void)instance;
    return fake_counter((struct fake *)(uintptr_t)s, (enum heddle_point)(i / 2),
                        i % 2, app);
}

static inline lua_State *lua_machine(void)
{
    lua_State *L = luaL_newstate();

    luaL_openlibs(L);
    fake = fake_open();
    luaL_requiref(L, "heddle.bridge", luaopen_heddle_bridge, 0);
    luaL_requiref(L, "heddle.plain", lua_module, 0);
    luaL_requiref(L, "heddle.params", lua_module, 0);
    luaL_requiref(L, "heddle.policy", lua_module, 0);
    lua_setglobal(L, "policy");
    return L;
}

static inline void lua_end(lua_State *L)
{
    fake_close(fake);
    lua_close(L);
    fake = NULL;
}

/* Runs a script; NULL or the error. */
static inline const char *lua_do(lua_State *L, const char *script)
{
    lua_settop(L, 0);
    if (luaL_dostring(L, script) == LUA_OK)
        return NULL;
    return luaL_tolstring(L, -1, NULL);
}

/* policy.use(sim, { name = "p", <body> }) */
static inline const char *lua_use(lua_State *L, const char *body)
{
    char script[4096];

    snprintf(script, sizeof script, "policy.use(nil, { name = 'p', %s })",
             body);
    return lua_do(L, script);
}

#endif

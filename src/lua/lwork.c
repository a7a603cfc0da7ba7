/*
 * lwork.c - `require "heddle.work"`: workloads of functions (heddle_work.h).
 *
 *     local work = require "heddle.work"
 *     work.plugin(path, { parameter = value } [, argument])   a C plug-in
 *     work.generator(spec)          of coroutines: lgen.c; heddle.generator
 *                                   makes the spec
 *     work.reach()                  the functions behind its fence:
 *                                   { { library, name, what }, ... }
 *     work.describe(path) -> { name =, summary =, source =, params = }
 *
 * The first two return a workload.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>
#include <unistd.h>

#include "../heddle_work.h"
#include "lheddle.h"
#include "lpolicy.h"

enum { ROOM = 1024 };

HL_MODULE int luaopen_heddle_work(lua_State *L);

/* The value on top of the stack for parameter `name` of a plug-in. */
static uint64_t take_value(lua_State *L, const struct heddle_work *work,
                           const char *name)
{
    const struct heddle_param *q = work->params;
    lua_Integer n;
    uint64_t v;
    int whole;

    if (lua_isboolean(L, -1))
        return (uint64_t)lua_toboolean(L, -1);
    while (q && q->name && strcmp(q->name, name) != 0)
        q++;
    if (lua_type(L, -1) == LUA_TSTRING && q && q->name &&
        heddle_word_value(q->unit, lua_tostring(L, -1), &v) == 0)
        return v;
    n = lua_tointegerx(L, -1, &whole);
    if (whole && n >= 0)
        return (uint64_t)n;
    hl_raisef(L, HEDDLE_ECONFIG,
              "workload %s: %s: expected an integer of 0 or more%s%s, not %s",
              work->name, name, q && q->name && q->unit ? " or one of " : "",
              q && q->name && q->unit ? q->unit : "",
              luaL_tolstring(L, -1, NULL));
    return 0;
}

/* Fills *o from the table of parameters at index i. */
static void take_params(lua_State *L, int i, const struct heddle_work *work,
                        struct heddle_work_options *o)
{
    const char **name;
    uint64_t *value;
    lua_Integer n = 0;

    if (lua_isnoneornil(L, i))
        return;
    luaL_checktype(L, i, LUA_TTABLE);
    n = lp_state_keys(L, i); /* in order, so that errors are the same */
    name = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *name, 0);
    value = lua_newuserdatauv(L, (size_t)(n + 1) * sizeof *value, 0);
    for (lua_Integer k = 1; k <= n; k++) {
        lua_rawgeti(L, -3, k);
        if (lua_type(L, -1) != LUA_TSTRING)
            hl_raise(L, HEDDLE_EINVAL, "parameters have names: { n = 5 }");
        name[k - 1] = lua_tostring(L, -1);
        lua_rawget(L, i);
        value[k - 1] = take_value(L, work, name[k - 1]);
        lua_pop(L, 1);
    }
    o->names = name;
    o->values = value;
    o->n = (uint32_t)n;
}

static const struct heddle_work *find(lua_State *L, const char *path)
{
    char text[ROOM];
    const struct heddle_work *work = heddle_work_load(path, text, ROOM);

    if (work == NULL)
        hl_raise(L, access(path, R_OK) != 0 ? HEDDLE_ENOINPUT : HEDDLE_EPROGRAM,
                 text);
    return work;
}

static int describe(lua_State *L)
{
    const struct heddle_work *work = find(L, luaL_checkstring(L, 1));

    lua_createtable(L, 0, 4);
    hl_set_text(L, "name", work->name);
    hl_set_text(L, "summary", work->summary);
    hl_set_text(L, "source", work->source);
    lp_push_params(L, work->params);
    lua_setfield(L, -2, "params");
    return 1;
}

static int plugin(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);
    struct heddle_work_options o = {.path = path,
                                    .argument = luaL_optstring(L, 3, NULL)};
    const struct heddle_work *work = find(L, path);
    heddle_workload **w;
    char text[ROOM];
    int status;

    take_params(L, 2, work, &o);
    w = hl_workload_box(L);
    *w = heddle_work_new(work, &o, &status, text, ROOM);
    return *w != NULL ? 1 : hl_raise(L, status, text);
}

static int reach(lua_State *L)
{
    lp_sandbox_reach(L, &lg_fence);
    return 1;
}

int luaopen_heddle_work(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"plugin", plugin},     {"generator", lg_open}, {"reach", reach},
        {"describe", describe}, {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}

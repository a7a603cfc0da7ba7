/*
 * lwork.c - `require "heddle.work"`: workloads of functions (heddle_work.h).
 *
 *     local work = require "heddle.work"
 *     work.plugin(path, { name, value, ... } [, argument])   a C plug-in
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

#include "heddle_work.h"
#include "lheddle.h"
#include "lpolicy.h"

HL_MODULE int luaopen_heddle_work(lua_State *L);

static const struct heddle_work *find(lua_State *L, const char *path)
{
    struct heddle_error error;
    const struct heddle_work *work = heddle_work_load(path, &error);

    if (work == NULL)
        hl_raise(L, access(path, R_OK) != 0 ? HEDDLE_ENOINPUT : HEDDLE_EPROGRAM,
                 error.text);
    return work;
}

static int lwork_describe(lua_State *L)
{
    const struct heddle_work *work = find(L, hl_text(L, 1));

    lua_createtable(L, 0, 4);
    hl_set_text(L, "name", work->name);
    hl_set_text(L, "summary", work->summary);
    hl_set_text(L, "source", work->source);
    lp_push_params(L, work->params);
    lua_setfield(L, -2, "params");
    return 1;
}

static int lwork_plugin(lua_State *L)
{
    const char *path = hl_text(L, 1);
    const struct heddle_work *work = find(L, path);
    const char *name[HEDDLE_MAX_PARAMS];
    uint64_t value[HEDDLE_MAX_PARAMS];
    struct heddle_work_options o = {.path = path,
                                    .argument = hl_opt_text(L, 3),
                                    .names = name,
                                    .values = value,
                                    .n = lp_values(L, 2, name, value)};
    heddle_workload **w;
    struct heddle_error error;

    w = hl_workload_box(L);
    *w = heddle_work_new(work, &o, &error);
    return *w != NULL ? 1 : hl_raise(L, error.code, error.text);
}

static int lwork_reach(lua_State *L)
{
    lp_sandbox_reach(L, &lg_fence);
    return 1;
}

int luaopen_heddle_work(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"plugin", lwork_plugin},
        {"generator", lg_open},
        {"reach", lwork_reach},
        {"describe", lwork_describe},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}

/*
 * lmeasured.c - what a simulation has measured, as Lua tables: applications,
 * kernels, counters, histograms.
 *
 * All are methods of the simulation (lsim.c) and copies: a table does not
 * change when the simulation goes on.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"
#include "lparts.h"

/* ---- applications and kernels ----------------------------------------- */

static int sim_apps(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_app_info a;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_app(s, i, &a) == HEDDLE_OK; i++) {
        lua_createtable(L, 0, 14);
        hl_set_text(L, "name", a.name);
        hl_set_number(L, "footprint", a.footprint);
        hl_set_number(L, "pages", a.pages);
        hl_set_number(L, "instructions", a.instructions);
        hl_set_number(L, "before", a.before);
        hl_set_number(L, "thread_instructions", a.thread_instructions);
        hl_set_number(L, "cycles", a.cycles);
        hl_set_number(L, "completions", a.completions);
        hl_set_number(L, "kernel", a.kernel);
        hl_set_number(L, "blocks_done", a.blocks_done);
        hl_set_number(L, "blocks", a.blocks);
        hl_set_bool(L, "finished", a.finished);
        hl_set_bool(L, "truncated", a.truncated);
        hl_set_number(L, "hash", a.hash);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static int sim_kernels(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_kernel_info k;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_kernel(s, i, &k) == HEDDLE_OK; i++) {
        lua_createtable(L, 0, 11);
        hl_set_text(L, "name", k.name);
        hl_set_number(L, "app", k.app);
        hl_set_number(L, "id", k.id);
        hl_set_number(L, "run", k.run);
        hl_set_number(L, "start", k.start);
        hl_set_number(L, "end", k.end);
        hl_set_number(L, "instructions", k.instructions);
        hl_set_number(L, "thread_instructions", k.thread_instructions);
        hl_set_number(L, "blocks", k.blocks);
        hl_set_number(L, "launches", k.launches);
        hl_set_number(L, "cycles", k.cycles);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* ---- counters --------------------------------------------------------- */

/* sim:counters() -> {{component=, name=, unit=, meaning=, peak=,
 * instances=}, ...}, in the engine's order */
static int sim_counters(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_counter_info c;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        hl_push_counter(L, &c);
        hl_set_number(L, "instances", c.instances);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* sim:counter_values() -> [counter][application][instance]; the last
 * application is what belongs to none */
static int sim_counter_values(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    uint32_t apps = heddle_apps(s), i, a, n;
    struct heddle_counter_info c;

    lua_newtable(L);
    for (i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        lua_createtable(L, (int)apps + 1, 0);
        for (a = 0; a <= apps; a++) {
            lua_createtable(L, (int)c.instances, 0);
            for (n = 0; n < c.instances; n++) {
                uint64_t v = heddle_counter_value(s, i, n, a);

                lua_pushinteger(L, (lua_Integer)v);
                lua_rawseti(L, -2, (lua_Integer)n + 1);
            }
            lua_rawseti(L, -2, (lua_Integer)a + 1);
        }
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* sim:counter_kernel(k) -> [counter] for kernel k (from 1) */
static int sim_counter_kernel(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    uint32_t k = (uint32_t)(luaL_checkinteger(L, 2) - 1), i;
    struct heddle_counter_info c;

    luaL_argcheck(L, k < heddle_kernels(s), 2, "no such kernel");
    lua_newtable(L);
    for (i = 0; heddle_counter(s, i, &c) == HEDDLE_OK; i++) {
        lua_pushinteger(L, (lua_Integer)heddle_counter_kernel(s, i, k));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void push_hist(lua_State *L, heddle_sim *s, uint32_t i, uint32_t app)
{
    static const struct {
        const char *name;
        double percent;
    } cuts[] = {{"p50", 50}, {"p90", 90}, {"p95", 95}, {"p99", 99}};
    uint64_t v[4] = {0, 0, 0, 0}, b[3];
    uint32_t k;
    lua_Integer at = 0;

    heddle_hist_values(s, i, app, v);
    lua_createtable(L, 0, 9);
    hl_set_number(L, "n", v[0]);
    hl_set_number(L, "sum", v[1]);
    hl_set_number(L, "min", v[2]);
    hl_set_number(L, "max", v[3]);
    for (k = 0; k < sizeof cuts / sizeof *cuts; k++) {
        uint64_t p = heddle_hist_percentile(s, i, app, cuts[k].percent);

        hl_set_number(L, cuts[k].name, v[0] ? p : 0);
    }
    lua_newtable(L);
    for (k = 0; heddle_hist_bucket(s, i, app, k, b) == HEDDLE_OK; k++) {
        if (b[2] == 0)
            continue;
        lua_createtable(L, 3, 0);
        lua_pushinteger(L, (lua_Integer)b[0]);
        lua_rawseti(L, -2, 1);
        lua_pushinteger(L, (lua_Integer)b[1]);
        lua_rawseti(L, -2, 2);
        lua_pushinteger(L, (lua_Integer)b[2]);
        lua_rawseti(L, -2, 3);
        lua_rawseti(L, -2, ++at);
    }
    lua_setfield(L, -2, "buckets");
}

/* sim:hists() -> {{component=, name=, unit=, meaning=, apps={...}}, ...}
 * with one {n=, sum=, min=, max=, p50= .. p99=, buckets=} an application */
static int sim_hists(lua_State *L)
{
    heddle_sim *s = hl_sim_check(L, 1);
    uint32_t apps = heddle_apps(s), i, a;
    struct heddle_hist_info h;

    lua_newtable(L);
    for (i = 0; heddle_hist(s, i, &h) == HEDDLE_OK; i++) {
        hl_push_hist(L, &h);
        lua_createtable(L, (int)apps + 1, 0);
        for (a = 0; a <= apps; a++) {
            push_hist(L, s, i, a);
            lua_rawseti(L, -2, (lua_Integer)a + 1);
        }
        lua_setfield(L, -2, "apps");
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

const luaL_Reg hl_sim_measured[] = {
    {"apps", sim_apps},
    {"kernels", sim_kernels},
    {"counters", sim_counters},
    {"counter_values", sim_counter_values},
    {"counter_kernel", sim_counter_kernel},
    {"hists", sim_hists},
    {NULL, NULL},
};

/*
 * ltimeline.c - `require "heddle.timelines"`: tool.h's timelines, below
 * heddle.timeline (timeline.lua).
 *
 *     local t = timelines.open(core, { only = bits, app =, from =, to =,
 *                                      bytes =, every =, title = })
 *     t:next()            cycles to the next sample, or nil
 *     t:sample()
 *     t:mark()            two numbers, for cut
 *     t:cut([requests, events])
 *     t:repeats(cycle)
 *     t:write(path)       what is in the file, a table
 *     timelines.components()
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"

#define TIMELINE "heddle.timeline"

HL_MODULE int luaopen_heddle_timelines(lua_State *L);

static heddle_timeline *ltimeline_self(lua_State *L)
{
    return hl_unbox(L, 1, TIMELINE, "this timeline was closed");
}

HL_RELEASE(release, TIMELINE, heddle_timeline, heddle_timeline_close)

static int ltimeline_next(lua_State *L)
{
    uint64_t n = heddle_timeline_next(ltimeline_self(L));

    if (n >= (uint64_t)LUA_MAXINTEGER)
        lua_pushnil(L);
    else
        lua_pushinteger(L, (lua_Integer)n);
    return 1;
}

static int sample(lua_State *L)
{
    heddle_timeline_sample(ltimeline_self(L));
    return 0;
}

static int ltimeline_mark(lua_State *L)
{
    struct heddle_timeline_mark m;

    heddle_timeline_mark(ltimeline_self(L), &m);
    lua_pushinteger(L, (lua_Integer)m.requests);
    lua_pushinteger(L, (lua_Integer)m.events);
    return 2;
}

static int cut(lua_State *L)
{
    struct heddle_timeline_mark m = {(uint64_t)luaL_optinteger(L, 2, 0),
                                     (uint64_t)luaL_optinteger(L, 3, 0)};

    heddle_timeline_cut(ltimeline_self(L), lua_isnoneornil(L, 2) ? NULL : &m);
    return 0;
}

static int repeats(lua_State *L)
{
    heddle_timeline_repeats(ltimeline_self(L),
                            (uint64_t)luaL_checkinteger(L, 2));
    return 0;
}

static int ltimeline_write(lua_State *L)
{
#define INFO(m) HL_FIELD(struct heddle_timeline_info, m)
    static const struct hl_field fields[] = {
        INFO(bytes),        INFO(requests),
        INFO(events),       INFO(samples),
        INFO(requests_of),  INFO(events_of),
        INFO(requests_one), INFO(events_one),
        INFO(every),        HL_END};
    struct heddle_timeline_info info;
    char text[512];

    hl_expect(L,
              heddle_timeline_write(ltimeline_self(L), hl_text(L, 2), &info,
                                    text, sizeof text),
              text);
    hl_push_fields(L, fields, &info);
    return 1;
}

static int ltimeline_open(lua_State *L)
{
#define OPTION(m) HL_FIELD(struct heddle_timeline_options, m)
    static const luaL_Reg methods[] = {
        {"next", ltimeline_next}, {"sample", sample},
        {"mark", ltimeline_mark}, {"cut", cut},
        {"repeats", repeats},     {"write", ltimeline_write},
        {"close", release},       {NULL, NULL},
    };
    static const struct hl_field fields[] = {
        OPTION(only),  OPTION(app),   OPTION(from),  OPTION(to),
        OPTION(bytes), OPTION(every), OPTION(title), HL_END};
    heddle_sim *s = hl_sim_check(L, 1);
    struct heddle_timeline_options o = {
        .app = UINT32_MAX, .to = UINT64_MAX, .title = ""};
    heddle_timeline **t;

    hl_options(L, 2, "a timeline", fields, &o);
    t = hl_box(L, TIMELINE, release, methods);
    *t = heddle_timeline_open(s, &o);
    if (*t == NULL)
        return heddle_error(s)->text[0] != '\0'
                   ? hl_raise(L, HEDDLE_EPOLICY, heddle_error(s)->text)
                   : hl_raise_memory(L);
    return 1;
}

static int components(lua_State *L)
{
    lua_newtable(L);
    for (uint32_t i = 0; heddle_timeline_component(i) != NULL; i++) {
        lua_pushstring(L, heddle_timeline_component(i));
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int luaopen_heddle_timelines(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"open", ltimeline_open}, {"components", components}, {NULL, NULL}};

    luaL_newlib(L, fns);
    return 1;
}

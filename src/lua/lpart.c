/*
 * lpart.c - `require "heddle.part"`: parts of the machine without a GPU.
 *
 *     local part = require "heddle.part"
 *     local d = part.dram { banks = 16, window = 32 }
 *     d:read(0x1000, 0)   d:write(0x2000, 10)   d:load("FILE")
 *     local r = d:run()   -- r.cycles, r.bandwidth, ...
 *     for address, accepted, latency in d:reads() do ... end
 *
 *     local t = part.tlb { entries = 64, ways = 0, policy = "srrip" }
 *     local c = part.cache { bytes = 16384, ways = 4, line = 128 }
 *     t:access(page)      c:access(address, write)   -- true: a hit
 *     c:load("FILE")      c:result().hits
 *
 * Settings are a table {name = value} or a list of pairs {{name, value}}.  A
 * policy is what sim:use takes: a name, a file or a table.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "../tool_part.h"
#include "lheddle.h"
#include "lpolicy.h"

#define DRAM "heddle.part.dram"
#define TAGS "heddle.part.tags"

HL_MODULE int luaopen_heddle_part(lua_State *L);

/* ---- settings ------------------------------------------------------------- */

/* Sets one to the value at index v. */
typedef int set_setting(lua_State *L, void *part, const char *name, int v);

/* The text of a setting's value; it is pushed. */
static const char *text_of(lua_State *L, int v)
{
    if (lua_isboolean(L, v))
        return lua_pushstring(L, lua_toboolean(L, v) ? "true" : "false");
    return luaL_tolstring(L, v, NULL);
}

/* One setting whose name is at index k and value at index v. */
static int set_one(lua_State *L, set_setting *set, void *part, int k, int v)
{
    if (lua_type(L, k) != LUA_TSTRING)
        return luaL_error(L, "a setting's name is expected, not a %s",
                          luaL_typename(L, k));
    return set(L, part, lua_tostring(L, k), v);
}

/*
 * Sets everything in the table at index `t`; returns the first error's code.
 * The text of a value stays on the stack while it is used.
 */
static int set_all(lua_State *L, int t, set_setting *set, void *part)
{
    int rc = 0, top = lua_gettop(L);

    luaL_checktype(L, t, LUA_TTABLE);
    for (lua_Integer i = 1; rc == 0 && lua_geti(L, t, i) == LUA_TTABLE; i++) {
        lua_geti(L, -1, 1); /* pair name */
        lua_geti(L, -2, 2); /* pair name value */
        rc = set_one(L, set, part, top + 2, top + 3);
        lua_settop(L, top);
    }
    lua_settop(L, top);
    lua_pushnil(L);
    while (rc == 0 && lua_next(L, t) != 0) {
        if (lua_type(L, top + 1) != LUA_TNUMBER)
            rc = set_one(L, set, part, top + 1, top + 2);
        lua_settop(L, top + 1);
    }
    lua_settop(L, top);
    return rc;
}

/* Leaves the argument 1 alone on the stack, or an empty table for none. */
static void settings_only(lua_State *L)
{
    lua_settop(L, 1);
    if (lua_isnil(L, 1)) {
        lua_newtable(L);
        lua_replace(L, 1);
    }
}

/* ---- a DRAM system -------------------------------------------------------- */

static heddle_part_dram *dram_check(lua_State *L)
{
    return hl_unbox(L, 1, DRAM, "this part was closed");
}

static void dram_expect(lua_State *L, heddle_part_dram *d, int rc)
{
    hl_expect(L, rc, heddle_part_dram_error(d));
}

static int dram_done(lua_State *L, heddle_part_dram *d, int rc)
{
    dram_expect(L, d, rc);
    lua_settop(L, 1);
    return 1;
}

static int dram_set(lua_State *L, void *part, const char *name, int v)
{
    return heddle_part_dram_set(part, name, text_of(L, v));
}

/* d:set(name, value) */
static int dram_set_one(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);

    lua_settop(L, 3);
    return dram_done(L, d, set_one(L, dram_set, d, 2, 3));
}

/* d:get(name) -> text */
static int dram_get(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);
    char text[128];

    dram_expect(
        L, d,
        heddle_part_dram_get(d, luaL_checkstring(L, 2), text, sizeof text));
    lua_pushstring(L, text);
    return 1;
}

static int dram_add(lua_State *L, int write)
{
    heddle_part_dram *d = dram_check(L);
    lua_Integer address = luaL_checkinteger(L, 2);
    lua_Integer cycle = luaL_optinteger(L, 3, 0);

    luaL_argcheck(L, cycle >= 0, 3, "a cycle is not negative");
    return dram_done(
        L, d,
        heddle_part_dram_add(d, (uint64_t)address, write, (uint64_t)cycle));
}

/* d:read(address, cycle) */
static int dram_read(lua_State *L)
{
    return dram_add(L, 0);
}

/* d:write(address, cycle) */
static int dram_write(lua_State *L)
{
    return dram_add(L, 1);
}

/* d:load(path) */
static int dram_load(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);

    return dram_done(L, d, heddle_part_dram_load(d, luaL_checkstring(L, 2)));
}

/* d:run() -> results */
static int dram_run(lua_State *L)
{
#define DRAM_RESULT(m) HL_FIELD(struct heddle_part_dram_result, m)
    static const struct hl_field fields[] = {
        DRAM_RESULT(requests),         DRAM_RESULT(reads),
        DRAM_RESULT(writes),           DRAM_RESULT(cycles),
        DRAM_RESULT(read_latency_p99), DRAM_RESULT(row_hits),
        DRAM_RESULT(activates),        DRAM_RESULT(precharges),
        DRAM_RESULT(refreshes),        DRAM_RESULT(read_latency_mean),
        DRAM_RESULT(bandwidth),        HL_END};
    heddle_part_dram *d = dram_check(L);
    struct heddle_part_dram_result r;

    dram_expect(L, d, heddle_part_dram_run(d, &r));
    hl_push_fields(L, fields, &r);
    return 1;
}

/* The iterator of d:reads(); upvalues: the part, the next request. */
static int next_read(lua_State *L)
{
    struct heddle_part_dram_request r;
    heddle_part_dram **d = lua_touserdata(L, lua_upvalueindex(1));
    lua_Integer i = lua_tointeger(L, lua_upvalueindex(2));

    do {
        if (*d == NULL || heddle_part_dram_request(*d, (uint64_t)i++, &r) < 0)
            return 0;
    } while (r.write);
    lua_pushinteger(L, i);
    lua_replace(L, lua_upvalueindex(2));
    lua_pushinteger(L, (lua_Integer)r.address);
    lua_pushinteger(L, (lua_Integer)r.accepted);
    lua_pushinteger(L, (lua_Integer)r.latency);
    return 3;
}

/* d:reads() -> iterator of address, accepted, latency */
static int dram_reads(lua_State *L)
{
    dram_check(L);
    lua_settop(L, 1);
    lua_pushinteger(L, 0);
    lua_pushcclosure(L, next_read, 2);
    return 1;
}

static const luaL_Reg dram_methods[] = {
    {"set", dram_set_one}, {"get", dram_get},   {"read", dram_read},
    {"write", dram_write}, {"load", dram_load}, {"run", dram_run},
    {"reads", dram_reads}, {NULL, NULL}};

HL_RELEASE(dram_gc, DRAM, heddle_part_dram, heddle_part_dram_free)

/* part.dram(settings) */
static int dram_new(lua_State *L)
{
    heddle_part_dram **d;

    settings_only(L);
    d = hl_box(L, DRAM, dram_gc, dram_methods); /* settings part */
    *d = heddle_part_dram_new();
    if (*d == NULL)
        return hl_raise_memory(L);
    dram_expect(L, *d, set_all(L, 1, dram_set, *d));
    return 1;
}

/* ---- a TLB or a cache ----------------------------------------------------- */

struct tags {
    heddle_part_tags *t;
    struct lp_class *c; /* of its policy, held; NULL: none was given */
};

static struct tags *tags_self(lua_State *L)
{
    struct tags *self = luaL_checkudata(L, 1, TAGS);

    luaL_argcheck(L, self->t != NULL, 1, "this part was closed");
    return self;
}

static heddle_part_tags *tags_check(lua_State *L)
{
    return tags_self(L)->t;
}

static int tags_done(lua_State *L, heddle_part_tags *t, int rc)
{
    hl_expect(L, rc, heddle_part_tags_error(t));
    lua_settop(L, 1);
    return 1;
}

/* The policy at index v, a name, a file or a table. */
static int tags_use(lua_State *L, struct tags *self, int v)
{
    struct lp_class *c;
    int rc;

    hl_require(L, "heddle.policy");
    lua_getfield(L, -1, "find");
    lua_pushvalue(L, v);
    lua_call(L, 1, 1);
    c = lp_class_check(L, -1);
    rc = heddle_part_tags_use(self->t, c->p);
    if (rc != 0)
        return rc;
    if (self->c != NULL)
        lp_class_drop(L, self->c);
    lp_class_hold(L, -1, c);
    self->c = c;
    return 0;
}

static int tags_set(lua_State *L, void *part, const char *name, int v)
{
    struct tags *self = part;

    if (strcmp(name, "policy") == 0)
        return tags_use(L, self, v);
    return heddle_part_tags_set(self->t, name, text_of(L, v));
}

/* t:set(name, value) */
static int tags_set_one(lua_State *L)
{
    struct tags *self = tags_self(L);

    lua_settop(L, 3);
    return tags_done(L, self->t, set_one(L, tags_set, self, 2, 3));
}

/* t:access(number, write) -> hit */
static int tags_access(lua_State *L)
{
    heddle_part_tags *t = tags_check(L);
    lua_Integer number = luaL_checkinteger(L, 2);
    int rc = heddle_part_tags_access(t, (uint64_t)number, lua_toboolean(L, 3));

    lua_pushboolean(L, hl_expect(L, rc, heddle_part_tags_error(t)));
    return 1;
}

/* t:load(path) */
static int tags_load(lua_State *L)
{
    heddle_part_tags *t = tags_check(L);

    return tags_done(L, t, heddle_part_tags_load(t, luaL_checkstring(L, 2)));
}

/* t:result() */
static int tags_result(lua_State *L)
{
#define TAGS_RESULT(m) HL_FIELD(struct heddle_part_tags_result, m)
    static const struct hl_field fields[] = {
        TAGS_RESULT(accesses),    TAGS_RESULT(hits),
        TAGS_RESULT(misses),      TAGS_RESULT(writes),
        TAGS_RESULT(write_hits),  TAGS_RESULT(evictions),
        TAGS_RESULT(write_backs), HL_END};
    struct heddle_part_tags_result r;

    heddle_part_tags_result(tags_check(L), &r);
    hl_push_fields(L, fields, &r);
    return 1;
}

static const luaL_Reg tags_methods[] = {
    {"set", tags_set_one}, {"access", tags_access},
    {"load", tags_load},   {"result", tags_result},
    {NULL, NULL},
};

static int tags_gc(lua_State *L)
{
    struct tags *self = luaL_checkudata(L, 1, TAGS);

    heddle_part_tags_free(self->t);
    if (self->c != NULL)
        lp_class_drop(L, self->c);
    *self = (struct tags){NULL, NULL};
    return 0;
}

static int tags_new(lua_State *L, heddle_part_tags *(*make)(void))
{
    struct tags *self;
    int rc;

    settings_only(L);
    self = lua_newuserdatauv(L, sizeof *self, 0); /* settings part */
    *self = (struct tags){NULL, NULL};
    hl_class(L, TAGS, tags_gc, tags_methods);
    self->t = make();
    if (self->t == NULL)
        return hl_raise_memory(L);
    rc = set_all(L, 1, tags_set, self);
    hl_expect(L, rc, heddle_part_tags_error(self->t));
    return 1;
}

/* part.tlb(settings) */
static int tlb_new(lua_State *L)
{
    return tags_new(L, heddle_part_tlb_new);
}

/* part.cache(settings) */
static int cache_new(lua_State *L)
{
    return tags_new(L, heddle_part_cache_new);
}

/* ---- the module ----------------------------------------------------------- */

static const luaL_Reg parts[] = {
    {"dram", dram_new}, {"tlb", tlb_new}, {"cache", cache_new}, {NULL, NULL}};

int luaopen_heddle_part(lua_State *L)
{
    luaL_newlib(L, parts);
    return 1;
}

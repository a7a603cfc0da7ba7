/*
 * lpart.c - the module "heddle.parts", below heddle.part (part.lua):
 * tool_part.h for Lua.  The tables of methods are had as dram_methods and
 * tags_methods, for part.lua to add to.
 *
 * SPDX-License-Identifier: MIT
 */
#include <string.h>

#include "part/tool_part.h"
#include "lheddle.h"
#include "lpolicy.h"

#define DRAM "heddle.part.dram"
#define TAGS "heddle.part.tags"

HL_MODULE int luaopen_heddle_parts(lua_State *L);

/* ---- a DRAM system -------------------------------------------------------- */

static heddle_part_dram *dram_check(lua_State *L)
{
    return hl_unbox(L, 1, DRAM, "this part was closed");
}

static void dram_expect(lua_State *L, heddle_part_dram *d, int rc)
{
    hl_expect(L, rc, heddle_part_dram_error(d));
}

/* d:set(name, text) */
static int dram_set(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);

    dram_expect(L, d, heddle_part_dram_set(d, hl_text(L, 2), hl_text(L, 3)));
    return 0;
}

/* d:get(name) -> text */
static int dram_get(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);
    char text[128];

    dram_expect(L, d,
                heddle_part_dram_get(d, hl_text(L, 2), text, sizeof text));
    lua_pushstring(L, text);
    return 1;
}

/* d:add(address, write, cycle) */
static int dram_add(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);
    lua_Integer address = luaL_checkinteger(L, 2);
    lua_Integer cycle = luaL_checkinteger(L, 4);

    luaL_argcheck(L, cycle >= 0, 4, "a cycle is not negative");
    dram_expect(L, d,
                heddle_part_dram_add(d, (uint64_t)address, lua_toboolean(L, 3),
                                     (uint64_t)cycle));
    return 0;
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

/* d:request(i) -> address, accepted, latency, write; nothing past the last */
static int dram_request(lua_State *L)
{
    heddle_part_dram *d = dram_check(L);
    struct heddle_part_dram_request r;

    if (heddle_part_dram_request(d, (uint64_t)luaL_checkinteger(L, 2), &r) < 0)
        return 0;
    lua_pushinteger(L, (lua_Integer)r.address);
    lua_pushinteger(L, (lua_Integer)r.accepted);
    lua_pushinteger(L, (lua_Integer)r.latency);
    lua_pushboolean(L, r.write);
    return 4;
}

static const luaL_Reg dram_methods[] = {
    {"set", dram_set}, {"get", dram_get},         {"add", dram_add},
    {"run", dram_run}, {"request", dram_request}, {NULL, NULL}};

HL_RELEASE(dram_gc, DRAM, heddle_part_dram, heddle_part_dram_free)

static int dram_new(lua_State *L)
{
    heddle_part_dram **d = hl_box(L, DRAM, dram_gc, dram_methods);

    *d = heddle_part_dram_new();
    return *d != NULL ? 1 : hl_raise_memory(L);
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

static int tags_expect(lua_State *L, heddle_part_tags *t, int rc)
{
    return hl_expect(L, rc, heddle_part_tags_error(t));
}

/* t:use(class): of heddle.policy's find */
static int tags_use(lua_State *L)
{
    struct tags *self = tags_self(L);
    struct lp_class *c = lp_class_check(L, 2);

    tags_expect(L, self->t, heddle_part_tags_use(self->t, c->p));
    if (self->c != NULL)
        lp_class_drop(L, self->c);
    lp_class_hold(L, 2, c);
    self->c = c;
    return 0;
}

/* t:set(name, text) */
static int tags_set(lua_State *L)
{
    heddle_part_tags *t = tags_check(L);

    return tags_expect(L, t,
                       heddle_part_tags_set(t, hl_text(L, 2), hl_text(L, 3)));
}

/* t:access(number, write) -> hit */
static int tags_access(lua_State *L)
{
    heddle_part_tags *t = tags_check(L);
    lua_Integer number = luaL_checkinteger(L, 2);
    int rc = heddle_part_tags_access(t, (uint64_t)number, lua_toboolean(L, 3));

    lua_pushboolean(L, tags_expect(L, t, rc));
    return 1;
}

/* t:check(): builds it if need be, and verifies what its policy did */
static int tags_verify(lua_State *L)
{
    heddle_part_tags *t = tags_check(L);

    return tags_expect(L, t, heddle_part_tags_check(t));
}

static int tags_is_cache(lua_State *L)
{
    lua_pushboolean(L, heddle_part_tags_is_cache(tags_check(L)));
    return 1;
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
    {"set", tags_set},       {"use", tags_use},           {"access", tags_access},
    {"check", tags_verify},  {"is_cache", tags_is_cache}, {"result", tags_result},
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
    struct tags *self = lua_newuserdatauv(L, sizeof *self, 0);

    *self = (struct tags){NULL, NULL};
    hl_class(L, TAGS, tags_gc, tags_methods);
    self->t = make();
    return self->t != NULL ? 1 : hl_raise_memory(L);
}

static int tlb_new(lua_State *L)
{
    return tags_new(L, heddle_part_tlb_new);
}

static int cache_new(lua_State *L)
{
    return tags_new(L, heddle_part_cache_new);
}

/* ---- the module ----------------------------------------------------------- */

/* Sets the methods of a class, made by then, as a field of the table on top. */
static void set_methods(lua_State *L, const char *class, const char *name)
{
    luaL_getmetatable(L, class);
    lua_getfield(L, -1, "__index");
    lua_setfield(L, -3, name);
    lua_pop(L, 1);
}

int luaopen_heddle_parts(lua_State *L)
{
    static const luaL_Reg parts[] = {{"dram", dram_new},
                                     {"tlb", tlb_new},
                                     {"cache", cache_new},
                                     {NULL, NULL}};

    luaL_newlib(L, parts);
    hl_box(L, DRAM, dram_gc, dram_methods);
    memset(lua_newuserdatauv(L, sizeof(struct tags), 0), 0, sizeof(struct tags));
    hl_class(L, TAGS, tags_gc, tags_methods);
    lua_pop(L, 2);
    set_methods(L, DRAM, "dram_methods");
    set_methods(L, TAGS, "tags_methods");
    return 1;
}

/*
 * lwalk.c - `require "heddle.walk"`: a workload's instructions without a
 * machine.
 *
 *     local walk = require "heddle.walk"
 *     walk.each(w, function(e) ... end [, options])
 *         e = { launch=, kernel=, block=, warp=, kind=, n=, mask=, bytes=,
 *               pc=, addr={[lane]=address} }; addr of memory instructions.
 *         One table is used for all; copy what must last.  A return value
 *         other than nil and false ends the walk.
 *     walk.profile(w [, options]) -> { { kernel=, kind=, buffer=, count=,
 *         lanes=, lines=, pages= }, ... }; lanes, lines and pages are means
 *         an instruction, of memory instructions only
 *     walk.buffers(w) -> { { name=, base=, bytes= }, ... }
 *
 * Options: lanes (32), launches (stop after so many), every (only each
 * every-th block).  The workload must not be in use.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "../heddle_walk.h"
#include "lheddle.h"

#define ROWS "heddle.walk.rows"

HL_MODULE int luaopen_heddle_walk(lua_State *L);

static struct heddle_walk_options options(lua_State *L, int at)
{
    return (struct heddle_walk_options){
        .lanes = (uint32_t)hl_option(L, at, "lanes", UINT32_MAX),
        .launches = (uint32_t)hl_option(L, at, "launches", UINT32_MAX),
        .every = (uint32_t)hl_option(L, at, "every", UINT32_MAX),
    };
}

/* ---- each --------------------------------------------------------------- */

struct each {
    lua_State *L;
    const struct heddle_walk_op *op;
    int event, addr; /* tables, by their place on the stack */
    uint64_t mask;   /* lanes set in addr */
};

/* Stack of say_op(): each fn event addr. */
enum { EVENT = 3, ADDR = 4 };

static void set(lua_State *L, const char *name, lua_Integer x)
{
    lua_pushinteger(L, x);
    lua_setfield(L, EVENT, name);
}

static void fill_lanes(lua_State *L, struct each *e)
{
    const struct heddle_walk_op *op = e->op;
    uint32_t l;

    for (l = 0; l < op->lanes; l++) {
        if (op->mask >> l & 1)
            lua_pushinteger(L, (lua_Integer)op->address[l]);
        else if (e->mask >> l & 1)
            lua_pushnil(L);
        else
            continue;
        lua_rawseti(L, ADDR, l);
    }
    e->mask = op->mask;
    lua_pushvalue(L, ADDR);
}

/* Calls the function with the event in its table; protected. */
static int say_op(lua_State *L)
{
    struct each *e = lua_touserdata(L, 1);
    const struct heddle_walk_op *op = e->op;
    bool memory = op->kind == HEDDLE_WALK_LOAD ||
                  op->kind == HEDDLE_WALK_STORE ||
                  op->kind == HEDDLE_WALK_ATOMIC;

    set(L, "launch", op->launch);
    set(L, "block", (lua_Integer)op->block);
    set(L, "warp", op->warp);
    set(L, "n", op->count);
    set(L, "bytes", op->bytes);
    set(L, "pc", op->pc);
    set(L, "mask", (lua_Integer)op->mask);
    lua_pushstring(L, op->kernel);
    lua_setfield(L, EVENT, "kernel");
    lua_pushstring(L, heddle_walk_kind_name(op->kind));
    lua_setfield(L, EVENT, "kind");
    if (memory)
        fill_lanes(L, e);
    else
        lua_pushnil(L);
    lua_setfield(L, EVENT, "addr");
    lua_pushvalue(L, 2);
    lua_pushvalue(L, EVENT);
    lua_call(L, 1, 1);
    return 1;
}

/* An error must not jump over the walk: it comes back as -100, on the stack. */
static int each_op(void *ud, const struct heddle_walk_op *op)
{
    struct each *e = ud;
    lua_State *L = e->L;
    int stop;

    e->op = op;
    lua_pushcfunction(L, say_op);
    lua_pushlightuserdata(L, e);
    lua_pushvalue(L, 2);
    lua_pushvalue(L, e->event);
    lua_pushvalue(L, e->addr);
    if (lua_pcall(L, 4, 1, 0) != LUA_OK)
        return -100;
    stop = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return stop;
}

static int walk_each(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_walk_options o = options(L, 3);
    struct each e = {.L = L};
    char error[1024] = "";
    int rc;

    luaL_checktype(L, 2, LUA_TFUNCTION);
    lua_createtable(L, 0, 10);
    e.event = lua_gettop(L);
    lua_createtable(L, HEDDLE_WALK_KINDS, 64);
    e.addr = lua_gettop(L);
    rc = heddle_walk(w, &o, each_op, &e, error, sizeof error);
    if (rc == -100)
        return lua_error(L);
    if (rc < 0)
        return hl_raise(L, rc, error);
    return 0;
}

/* ---- profile, buffers ---------------------------------------------------- */

static void mean(lua_State *L, const char *name, uint64_t sum, uint64_t n)
{
    hl_set_real(L, name, n ? (double)sum / (double)n : 0);
}

static void push_row(lua_State *L, heddle_workload *w,
                     const struct heddle_profile_row *r)
{
    struct heddle_walk_alloc a;

    lua_createtable(L, 0, 7);
    hl_set_text(L, "kernel", r->kernel);
    hl_set_text(L, "kind", heddle_walk_kind_name(r->kind));
    hl_set_number(L, "count", r->instructions);
    if (r->kind != HEDDLE_WALK_LOAD && r->kind != HEDDLE_WALK_STORE &&
        r->kind != HEDDLE_WALK_ATOMIC)
        return;
    if (heddle_walk_alloc(w, r->alloc, &a) == 0)
        hl_set_text(L, "buffer", a.name);
    mean(L, "lanes", r->lanes, r->instructions);
    mean(L, "lines", r->lines, r->instructions);
    mean(L, "pages", r->pages, r->instructions);
}

static int free_rows(lua_State *L)
{
    struct heddle_profile_row **rows = lua_touserdata(L, 1);

    free(*rows);
    *rows = NULL;
    return 0;
}

static int walk_profile(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_walk_options o = options(L, 2);
    struct heddle_profile_row **rows;
    char error[1024] = "";
    int n, i;

    rows = lua_newuserdatauv(L, sizeof(*rows), 0);
    *rows = NULL;
    hl_class(L, ROWS, free_rows, NULL);
    n = heddle_profile(w, &o, rows, error, sizeof error);
    if (n < 0)
        return hl_raise(L, n, error);
    lua_createtable(L, n, 0);
    for (i = 0; i < n; i++) {
        push_row(L, w, *rows + i);
        lua_rawseti(L, -2, i + 1);
    }
    return 1;
}

int hl_allocations(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_walk_alloc a;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_walk_alloc(w, i, &a) == 0; i++) {
        lua_createtable(L, 0, 3);
        hl_set_text(L, "name", a.name);
        hl_set_number(L, "base", a.base);
        hl_set_number(L, "bytes", a.bytes);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

int luaopen_heddle_walk(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"each", walk_each},
        {"profile", walk_profile},
        {"buffers", hl_allocations},
        {NULL, NULL},
    };

    luaL_newlib(L, functions);
    return 1;
}

/*
 * ltrace.c - `require "heddle.trace"`: traces from Lua.
 *
 *     local trace = require "heddle.trace"
 *     local w = trace.open("vecadd/kernelslist.g", { context = 0 })
 *     trace.contexts(path)            how many address spaces
 *     trace.convert(from, to)         writes a container
 *     trace.record(w, to [, lanes])   writes what a workload does
 *     trace.dump(w, fn [, { kernel =, block = }])
 *     trace.info(w)                   counts, or nil if it is no trace
 *     trace.kernels(w)                a table a kernel
 *     trace.notes(w)                  what the reader stumbled over
 *     trace.ranges(w)                 allocations: { name =, base =, bytes = }
 *     trace.verify(w)                 unpacks every block
 *
 * dump calls fn(op) for each memory instruction; op is one table that is
 * filled anew: kernel, block, warp, pc, mask, opcode, space, bytes, more and
 * the addresses of the set lanes as op[1 .. n].  A true result ends it.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>

#include "../heddle_trace.h"
#include "../heddle_walk.h"
#include "../policy.h"
#include "lheddle.h"

enum { ROOM = 1024 };

HL_MODULE int luaopen_heddle_trace(lua_State *L);

static int open_trace(lua_State *L)
{
#define OPTION(m) HL_FIELD(struct heddle_trace_options, m)
    static const struct hl_field known[] = {OPTION(context), OPTION(keep),
                                            OPTION(resident), HL_END};
    const char *path = luaL_checkstring(L, 1);
    struct heddle_trace_options o = {0};
    heddle_workload **w;
    char text[ROOM];
    int status;

    hl_options(L, 2, "a trace", known, &o);
    w = hl_workload_box(L);
    *w = heddle_trace_open(path, &o, &status, text, ROOM);
    return *w != NULL ? 1 : hl_raise(L, status, text);
}

static int contexts(lua_State *L)
{
    char text[ROOM];

    lua_pushinteger(
        L,
        hl_expect(L, heddle_trace_contexts(luaL_checkstring(L, 1), text, ROOM),
                  text));
    return 1;
}

static int convert(lua_State *L)
{
    char text[ROOM];
    int r = heddle_trace_convert(luaL_checkstring(L, 1), luaL_checkstring(L, 2),
                                 text, ROOM);

    hl_expect(L, r, text);
    return 0;
}

static int record(lua_State *L)
{
    char text[ROOM];
    int r =
        heddle_trace_record(hl_workload_check(L, 1), luaL_checkstring(L, 2),
                            (uint32_t)luaL_optinteger(L, 3, 32), text, ROOM);

    hl_expect(L, r, text);
    return 0;
}

static int verify(lua_State *L)
{
    char text[ROOM];

    hl_expect(L, heddle_trace_verify(hl_workload_check(L, 1), text, ROOM),
              text);
    return 0;
}

/* ---- dump ----------------------------------------------------------------- */

/* Stack of dump(): workload fn options op; of say_op(): op fn table. */
enum { FN = 2, OP = 4, TABLE = 3 };

/* Calls the function with the operation in its table; protected. */
static int say_op(lua_State *L)
{
#define OP(m) HL_FIELD(struct heddle_trace_op, m)
    static const struct hl_field fields[] = {
        OP(kernel), OP(block), OP(warp),   OP(pc),   OP(mask),
        OP(lanes),  OP(bytes), OP(opcode), OP(more), HL_END};
    const struct heddle_trace_op *op = lua_touserdata(L, 1);
    lua_Integer n = 0;

    hl_set_fields(L, fields, op);
    hl_set_text(L, "space",
                op->local     ? "local"
                : op->texture ? "texture"
                              : "global");
    for (uint32_t l = 0; l < op->lanes; l++) {
        if (!(op->mask >> l & 1))
            continue;
        lua_pushinteger(L, (lua_Integer)op->address[l]);
        lua_rawseti(L, TABLE, ++n);
    }
    for (lua_Integer i = n + 1; lua_rawgeti(L, TABLE, i) != LUA_TNIL; i++) {
        lua_pop(L, 1);
        lua_pushnil(L);
        lua_rawseti(L, TABLE, i);
    }
    lua_pop(L, 1); /* nil */
    lua_pushvalue(L, FN);
    lua_pushvalue(L, TABLE);
    lua_call(L, 1, 1);
    return 1;
}

/* An error must not jump over the reader: it is kept for after it. */
static int on_op(void *ud, const struct heddle_trace_op *op)
{
    lua_State *L = ud;
    int stop;

    lua_pushcfunction(L, say_op);
    hl_push_pointer(L, op);
    lua_pushvalue(L, FN);
    lua_pushvalue(L, OP);
    if (lua_pcall(L, 3, 1, 0) != LUA_OK)
        return 2;
    stop = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return stop;
}

static int dump(lua_State *L)
{
#define SELECT(m) HL_FIELD(struct heddle_trace_select, m)
    static const struct hl_field known[] = {SELECT(kernel), SELECT(block),
                                            HL_END};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_select s = {0};
    char text[ROOM];
    int r;

    luaL_checktype(L, FN, LUA_TFUNCTION);
    hl_options(L, 3, "dump", known, &s);
    if (lua_istable(L, 3)) {
        s.one_block = lua_getfield(L, 3, "block") != LUA_TNIL;
        lua_pop(L, 1);
    }
    lua_settop(L, 3);
    lua_newtable(L);
    luaL_checkstack(L, 16, NULL);
    r = hl_expect(L, heddle_trace_dump(w, &s, on_op, L, text, ROOM), text);
    return r == 2 ? lua_error(L) : 0;
}

/* ---- facts ---------------------------------------------------------------- */

static int info(lua_State *L)
{
#define INFO(m) HL_FIELD(struct heddle_trace_info, m)
    static const struct hl_field fields[] = {INFO(name),
                                             INFO(kernels),
                                             INFO(blocks),
                                             INFO(warps),
                                             INFO(instructions),
                                             INFO(thread_instructions),
                                             INFO(memory_instructions),
                                             INFO(lane_addresses),
                                             INFO(frames),
                                             INFO(frame_bytes),
                                             INFO(stored_bytes),
                                             INFO(file_bytes),
                                             INFO(allocations),
                                             INFO(pages),
                                             INFO(local_words),
                                             HL_END};
    struct heddle_trace_info i;
    char hash[17];

    if (heddle_trace_info(hl_workload_check(L, 1), &i) != 0) {
        lua_pushnil(L);
        return 1;
    }
    hl_push_fields(L, fields, &i);
    snprintf(hash, sizeof hash, "%016" PRIx64, i.hash);
    hl_set_text(L, "hash", hash);
    return 1;
}

static void dim(lua_State *L, const char *name, const uint32_t v[3])
{
    lua_createtable(L, 3, 0);
    for (int i = 0; i < 3; i++) {
        lua_pushinteger(L, v[i]);
        lua_rawseti(L, -2, i + 1);
    }
    lua_setfield(L, -2, name);
}

static int kernels(lua_State *L)
{
#define KERNEL(m) HL_FIELD(struct heddle_trace_kernel, m)
    static const struct hl_field fields[] = {KERNEL(name),
                                             KERNEL(number),
                                             KERNEL(id),
                                             KERNEL(shared_bytes),
                                             KERNEL(registers),
                                             KERNEL(binary),
                                             KERNEL(version),
                                             KERNEL(lanes),
                                             KERNEL(blocks),
                                             KERNEL(warps),
                                             KERNEL(instructions),
                                             KERNEL(memory_instructions),
                                             HL_END};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_kernel k;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_trace_kernel(w, i, &k) == 0; i++) {
        hl_push_fields(L, fields, &k);
        dim(L, "grid", k.grid);
        dim(L, "block", k.block);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* Only notes that have a count. */
static int notes(lua_State *L)
{
#define NOTE(m) HL_FIELD(struct heddle_trace_note, m)
    static const struct hl_field fields[] = {
        NOTE(name), NOTE(text), NOTE(where), NOTE(count), NOTE(fatal), HL_END};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_note n;
    lua_Integer at = 0;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_trace_note(w, i, &n) == 0; i++) {
        if (n.count == 0)
            continue;
        hl_push_fields(L, fields, &n);
        lua_rawseti(L, -2, ++at);
    }
    return 1;
}

int luaopen_heddle_trace(lua_State *L)
{
    static const luaL_Reg functions[] = {
        {"open", open_trace},   {"workload", open_trace},
        {"contexts", contexts}, {"convert", convert},
        {"record", record},     {"dump", dump},
        {"info", info},         {"kernels", kernels},
        {"notes", notes},       {"ranges", hl_allocations},
        {"verify", verify},     {NULL, NULL}};

    luaL_newlib(L, functions);
    return 1;
}

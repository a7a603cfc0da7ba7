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
#include <stdint.h>
#include <string.h>

#include "../heddle_trace.h"
#include "../heddle_walk.h"
#include "../policy.h"
#include "lheddle.h"

enum { ROOM = 1024 };

HL_MODULE int luaopen_heddle_trace(lua_State *L);

/* An option of the table at index i: a number that is not negative. */
static uint64_t option(lua_State *L, int i, const char *name)
{
    lua_Integer v = 0;

    if (lua_istable(L, i) && lua_getfield(L, i, name) != LUA_TNIL) {
        int ok;
        v = lua_tointegerx(L, -1, &ok);
        if (!ok || v < 0)
            hl_raisef(L, HEDDLE_EINVAL,
                      "a trace's option %s: a whole number of 0 or more is "
                      "expected, not '%s'",
                      name, luaL_tolstring(L, -1, NULL));
        lua_pop(L, 1);
    }
    return (uint64_t)v;
}

/* The same where it is one of 32 bits; more is none that there can be. */
static uint32_t option32(lua_State *L, int i, const char *name)
{
    uint64_t v = option(L, i, name);

    return v < UINT32_MAX ? (uint32_t)v : UINT32_MAX;
}

/* Unknown options are errors. */
static void check_options(lua_State *L, int i, const char *const *known)
{
    if (lua_isnoneornil(L, i))
        return;
    luaL_checktype(L, i, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, i) != 0; lua_pop(L, 1)) {
        const char *name = lua_type(L, -2) == LUA_TSTRING
                               ? lua_tostring(L, -2)
                               : luaL_typename(L, -2);
        const char *const *k = known;
        while (*k != NULL && strcmp(*k, name) != 0)
            k++;
        if (*k == NULL) {
            const char *near = heddle_nearest(name, known, (size_t)(k - known));
            hl_raisef(L, HEDDLE_EINVAL, "a trace has no option '%s'%s%s%s",
                      name, near ? "; did you mean '" : "", near ? near : "",
                      near ? "'?" : "");
        }
    }
}

static int open_trace(lua_State *L)
{
    static const char *const known[] = {"context", "keep", "resident", NULL};
    const char *path = luaL_checkstring(L, 1);
    struct heddle_trace_options o;
    char text[ROOM];
    int status;

    check_options(L, 2, known);
    o.context = option32(L, 2, "context");
    o.keep = option(L, 2, "keep");
    o.resident = option(L, 2, "resident");
    struct hl_workload *h = hl_workload_push(L, NULL, heddle_workload_free);

    h->w = heddle_trace_open(path, &o, &status, text, ROOM);
    return h->w != NULL ? 1 : hl_raise(L, status, text);
}

static int contexts(lua_State *L)
{
    char text[ROOM];
    int n = heddle_trace_contexts(luaL_checkstring(L, 1), text, ROOM);

    if (n < 0)
        return hl_raise(L, n, text);
    lua_pushinteger(L, n);
    return 1;
}

static int convert(lua_State *L)
{
    char text[ROOM];
    int r = heddle_trace_convert(luaL_checkstring(L, 1), luaL_checkstring(L, 2),
                                 text, ROOM);

    return r < 0 ? hl_raise(L, r, text) : 0;
}

static int record(lua_State *L)
{
    char text[ROOM];
    int r =
        heddle_trace_record(hl_workload_check(L, 1), luaL_checkstring(L, 2),
                            (uint32_t)luaL_optinteger(L, 3, 32), text, ROOM);

    return r < 0 ? hl_raise(L, r, text) : 0;
}

static int verify(lua_State *L)
{
    char text[ROOM];
    int r = heddle_trace_verify(hl_workload_check(L, 1), text, ROOM);

    return r < 0 ? hl_raise(L, r, text) : 0;
}

/* ---- dump ---------------------------------------------------------------- */

/* Stack of dump(): workload fn options op; of say_op(): op fn table. */
enum { FN = 2, OP = 4, TABLE = 3 };

static void set(lua_State *L, const char *name, uint64_t v)
{
    lua_pushinteger(L, (lua_Integer)v);
    lua_setfield(L, TABLE, name);
}

/* Calls the function with the operation in its table; protected. */
static int say_op(lua_State *L)
{
    const struct heddle_trace_op *op = lua_touserdata(L, 1);
    lua_Integer n = 0;

    set(L, "kernel", op->kernel);
    set(L, "block", op->block);
    set(L, "warp", op->warp);
    set(L, "pc", op->pc);
    set(L, "mask", op->mask);
    set(L, "lanes", op->lanes);
    set(L, "bytes", op->bytes);
    lua_pushstring(L, op->opcode);
    lua_setfield(L, TABLE, "opcode");
    lua_pushstring(L, op->local ? "local" : op->texture ? "texture" : "global");
    lua_setfield(L, TABLE, "space");
    lua_pushboolean(L, op->more);
    lua_setfield(L, TABLE, "more");
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
    union {
        const struct heddle_trace_op *in;
        void *out;
    } u = {op};
    int stop;

    lua_pushcfunction(L, say_op);
    lua_pushlightuserdata(L, u.out);
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
    static const char *const known[] = {"kernel", "block", NULL};
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_select s;
    char text[ROOM];

    luaL_checktype(L, FN, LUA_TFUNCTION);
    check_options(L, 3, known);
    s.kernel = option32(L, 3, "kernel");
    s.block = option(L, 3, "block");
    s.one_block = 0;
    if (lua_istable(L, 3)) {
        s.one_block = lua_getfield(L, 3, "block") != LUA_TNIL;
        lua_pop(L, 1);
    }
    lua_settop(L, 3);
    lua_newtable(L);
    luaL_checkstack(L, 16, NULL);
    int r = heddle_trace_dump(w, &s, on_op, L, text, ROOM);
    if (r < 0)
        return hl_raise(L, r, text);
    return r == 2 ? lua_error(L) : 0;
}

/* ---- facts --------------------------------------------------------------- */

static int info(lua_State *L)
{
    struct heddle_trace_info i;

    if (heddle_trace_info(hl_workload_check(L, 1), &i) != 0) {
        lua_pushnil(L);
        return 1;
    }
    lua_newtable(L);
    hl_set_text(L, "name", i.name);
    hl_set_number(L, "kernels", i.kernels);
    hl_set_number(L, "blocks", i.blocks);
    hl_set_number(L, "warps", i.warps);
    hl_set_number(L, "instructions", i.instructions);
    hl_set_number(L, "thread_instructions", i.thread_instructions);
    hl_set_number(L, "memory_instructions", i.memory_instructions);
    hl_set_number(L, "lane_addresses", i.lane_addresses);
    hl_set_number(L, "frames", i.frames);
    hl_set_number(L, "frame_bytes", i.frame_bytes);
    hl_set_number(L, "stored_bytes", i.stored_bytes);
    hl_set_number(L, "file_bytes", i.file_bytes);
    hl_set_number(L, "allocations", i.allocations);
    hl_set_number(L, "pages", i.pages);
    hl_set_number(L, "local_words", i.local_words);
    char hash[17];
    for (int k = 0; k < 16; k++)
        hash[k] = "0123456789abcdef"[i.hash >> (60 - 4 * k) & 15];
    hash[16] = '\0';
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
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_kernel k;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_trace_kernel(w, i, &k) == 0; i++) {
        lua_newtable(L);
        hl_set_text(L, "name", k.name);
        hl_set_number(L, "number", k.number);
        hl_set_number(L, "id", k.id);
        dim(L, "grid", k.grid);
        dim(L, "block", k.block);
        hl_set_number(L, "shared_bytes", k.shared_bytes);
        hl_set_number(L, "registers", k.registers);
        hl_set_number(L, "binary", k.binary);
        hl_set_number(L, "version", k.version);
        hl_set_number(L, "lanes", k.lanes);
        hl_set_number(L, "blocks", k.blocks);
        hl_set_number(L, "warps", k.warps);
        hl_set_number(L, "instructions", k.instructions);
        hl_set_number(L, "memory_instructions", k.memory_instructions);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* Only notes that have a count. */
static int notes(lua_State *L)
{
    heddle_workload *w = hl_workload_check(L, 1);
    struct heddle_trace_note n;
    lua_Integer at = 0;

    lua_newtable(L);
    for (uint32_t i = 0; heddle_trace_note(w, i, &n) == 0; i++) {
        if (n.count == 0)
            continue;
        lua_newtable(L);
        hl_set_text(L, "name", n.name);
        hl_set_text(L, "text", n.text);
        hl_set_text(L, "where", n.where);
        hl_set_number(L, "count", n.count);
        hl_set_bool(L, "fatal", n.fatal);
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

/*
 * ltrace.c - `require "heddle.trace"`: traces from Lua.
 *
 *     local trace = require "heddle.trace"
 *     local w = trace.open("vecadd/kernelslist.g", { context = 0 })
 *     trace.contexts(path)            how many address spaces
 *     trace.convert(from, to, { classes = true })    writes a container
 *     trace.record(w, to [, lanes])   writes what a workload does
 *     trace.dump(w, fn [, { kernel =, block = }])
 *     trace.info(w)                   counts, or nil if it is no trace
 *     trace.kernels(w)                a table a kernel
 *     trace.notes(w)                  what the reader stumbled over
 *     trace.ranges(w)                 allocations: { name =, base =, bytes = }
 *     trace.verify(w)                 unpacks every block
 *
 * dump calls fn(e) for each memory instruction, as survey.each does
 * (lsurvey.c), with opcode, space and lanes besides.
 *
 * SPDX-License-Identifier: MIT
 */
#include <inttypes.h>
#include <stdio.h>

#include "heddle_trace.h"
#include "heddle_survey.h"
#include "policy.h"
#include "lheddle.h"

enum { ROOM = 1024, NAME = 4096 };

HL_MODULE int luaopen_heddle_trace(lua_State *L);

static int open_trace(lua_State *L)
{
#define OPTION(m)       HL_FIELD(struct heddle_trace_options, m)
#define RANGE(m, from, to) HL_OPTION(struct heddle_trace_options, m, from, to)
    static const struct hl_field known[] = {
        OPTION(context),
        OPTION(keep),
        OPTION(resident),
        RANGE(registers, 1, HEDDLE_TRACE_REGISTERS),
        RANGE(shared_bytes, 0, HEDDLE_TRACE_SHARED),
        RANGE(binary_version, HEDDLE_TRACE_BINARY, HEDDLE_TRACE_BINARY_MOST),
        OPTION(strict),
        OPTION(classes),
        OPTION(streams),
        OPTION(kernels),
        OPTION(blocks),
        OPTION(repair),
        RANGE(times, 1, HEDDLE_TRACE_TIMES),
        HL_END};
    const char *path = hl_text(L, 1);
    struct heddle_trace_options o = {0};
    heddle_workload **w;
    struct heddle_error error;

    hl_options(L, 2, "a trace", known, &o);
    o.repair_shared =
        lua_istable(L, 2) && lua_getfield(L, 2, "shared_bytes") != LUA_TNIL;
    w = hl_workload_box(L);
    *w = heddle_trace_open(path, &o, &error);
    return *w != NULL ? 1 : hl_raise(L, error.code, error.text);
}

static int contexts(lua_State *L)
{
    char text[ROOM];

    lua_pushinteger(
        L,
        hl_expect(L, heddle_trace_contexts(hl_text(L, 1), text, ROOM),
                  text));
    return 1;
}

static int convert(lua_State *L)
{
    static const struct hl_field known[] = {
        HL_FIELD(struct heddle_trace_options, classes),
        HL_FIELD(struct heddle_trace_options, repair), HL_END};
    struct heddle_trace_options o = {0};
    char text[ROOM];
    int r;

    hl_options(L, 3, "a conversion", known, &o);
    r = heddle_trace_convert_with(hl_text(L, 1), hl_text(L, 2), &o, text,
                                  ROOM);

    hl_expect(L, r, text);
    return 0;
}

static int record(lua_State *L)
{
    char text[ROOM];
    int r =
        heddle_trace_record(hl_workload_check(L, 1), hl_text(L, 2),
                            (uint32_t)luaL_optinteger(L, 3, 32), text, ROOM);

    hl_expect(L, r, text);
    return 0;
}

static int ltrace_verify(lua_State *L)
{
    char text[ROOM];

    hl_expect(L, heddle_trace_verify(hl_workload_check(L, 1), text, ROOM),
              text);
    return 0;
}

/* ---- facts ---------------------------------------------------------------- */

/* A name of the file, which may be anything, as it can be shown. */
static const char *ltrace_name(const char *name, char out[NAME])
{
    heddle_line_escape(name, strlen(name), "", out, NAME);
    return out;
}

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
                                             INFO(host_calls),
                                             HL_END};
    struct heddle_trace_info i;
    char hash[17], name[NAME];

    if (heddle_trace_info(hl_workload_check(L, 1), &i) != 0) {
        lua_pushnil(L);
        return 1;
    }
    i.name = ltrace_name(i.name, name);
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
    char name[NAME];

    lua_newtable(L);
    for (uint32_t i = 0; heddle_trace_kernel(w, i, &k) == 0; i++) {
        k.name = ltrace_name(k.name, name);
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
        NOTE(name),  NOTE(text), NOTE(where), NOTE(count),
        NOTE(fatal), NOTE(told), HL_END};
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
        {"open", open_trace},      {"workload", open_trace},
        {"contexts", contexts},    {"convert", convert},
        {"record", record},        {"dump", hl_dump},
        {"info", info},            {"kernels", kernels},
        {"notes", notes},          {"ranges", hl_allocations},
        {"verify", ltrace_verify}, {NULL, NULL}};

    luaL_newlib(L, functions);
    return 1;
}

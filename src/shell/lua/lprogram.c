/*
 * lprogram.c - `require "heddle.program"`: heddle_program.h for Lua.
 *
 *     local program = require "heddle.program"
 *     local p = program.new(name)
 *     p:align(bytes)
 *     p:lanes(32 or 64)
 *     p:buffer(name, type, count, contents [, data])   data of heddle.generate,
 *                                                      bytes, or one number
 *     p:kernel(bytecode [, files, lines])
 *     p:launch(kernel, grid, args)      kernel from 0, tables of numbers
 *     p:host(fn, text)                  or a host function
 *     p:workload()
 *     program.place(level, but)         a caller's file and line
 *
 * heddle.kernel makes the bytecode; nothing else needs this module.  The host
 * function is called as fn(device, state) and returns the new state and,
 * unless the application is finished, kernel, grid and args; `device` has
 * read, write, fill, free, free_async, allocate, advise, move, wait, beside and
 * launched, and is good for the call only.
 *
 * Host functions run on a Lua thread of their own, kept in the registry, so
 * that it does not matter which coroutine runs the simulation.
 *
 * SPDX-License-Identifier: MIT
 */
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "heddle_program.h"
#include "lheddle.h"

#define PROGRAM "heddle.program"
#define DEVICE  "heddle.device"
#define DATA    "heddle.data"

HL_MODULE int luaopen_heddle_program(lua_State *L);

static const char *const type_names[] = {"u8",  "i32", "u32", "i64",
                                         "f32", "f64", "u16", NULL};

static heddle_program *program_check(lua_State *L)
{
    return hl_unbox(L, 1, PROGRAM, "the program is closed");
}

static int lprogram_check(lua_State *L, heddle_program *p, int result)
{
    return hl_expect(L, result, heddle_program_error(p)->text);
}

static int program_align(lua_State *L)
{
    heddle_program *p = program_check(L);

    lprogram_check(L, p,
                   heddle_program_align(p, (uint64_t)luaL_checkinteger(L, 2)));
    return 0;
}

static int program_lanes(lua_State *L)
{
    heddle_program *p = program_check(L);
    uint32_t lanes = (uint32_t)luaL_checkinteger(L, 2);

    lprogram_check(L, p, heddle_program_lanes(p, lanes));
    return 0;
}

/* ---- data ----------------------------------------------------------------- */

/* A float as an integer: toward zero, 0 where it does not fit. */
static lua_Integer truncated(lua_Number f)
{
    return f >= -9223372036854775808.0 && f < 9223372036854775808.0
               ? (lua_Integer)f
               : 0;
}

/* From the bytes of its elements, little end first. */
static void lprogram_fill(lua_State *L, heddle_data *d, int at)
{
    size_t bytes;
    const char *s = luaL_checklstring(L, at, &bytes);
    size_t width = heddle_type_bytes(d->type), n = bytes / width;

    n = n < d->count ? n : d->count;
    memcpy(d->mem, s, n * width);
#if defined(__BYTE_ORDER__) && __BYTE_ORDER__ == __ORDER_BIG_ENDIAN__
    for (size_t i = 0; i < n * width; i++)
        ((char *)d->mem)[i] = s[i / width * width + width - 1 - i % width];
#endif
}

HL_RELEASE(data_gc, DATA ".own", heddle_data, heddle_data_free)

/* New data that the stack holds while it is needed. */
static heddle_data *data_own(lua_State *L, int type, uint64_t count)
{
    heddle_data **d = hl_box(L, DATA ".own", data_gc, NULL);

    *d = heddle_data_new((enum heddle_type)type, count);
    if (*d == NULL)
        hl_raise_memory(L);
    return *d;
}

/* The argument at `at` as data; left on the stack while it is needed.  What a
 * generator made of 4 bytes an element is widened for a buffer of 8. */
static heddle_data *data_from(lua_State *L, int at, int type, uint64_t count)
{
    heddle_data *from, *d;

    if (luaL_testudata(L, at, DATA) == NULL) {
        d = data_own(L, type, count);
        lprogram_fill(L, d, at);
        return d;
    }
    from = hl_unbox(L, at, DATA, "the data is closed");
    if (from->type != HEDDLE_I32 || type != HEDDLE_I64)
        return from;
    d = data_own(L, type, from->count);
    for (uint64_t i = 0; i < from->count; i++)
        ((int64_t *)d->mem)[i] = ((const int32_t *)from->mem)[i];
    return d;
}

/* A number as an element of that type. */
static union heddle_value value_at(lua_State *L, int at, int type)
{
    if (type == HEDDLE_F32 || type == HEDDLE_F64)
        return (union heddle_value){.f = luaL_checknumber(L, at)};
    return (union heddle_value){.i = luaL_checkinteger(L, at)};
}

/* What `contents` of a buffer says: true, false or "scratch". */
static uint32_t buffer_flags(lua_State *L, int at)
{
    if (lua_type(L, at) == LUA_TSTRING) {
        luaL_argcheck(L, strcmp(lua_tostring(L, at), "scratch") == 0, at,
                      "contents is true, false or \"scratch\"");
        return HEDDLE_SCRATCH;
    }
    return lua_toboolean(L, at) ? HEDDLE_CONTENTS : 0;
}

/* p:buffer(name, type, count, contents [, data [, texture]]) */
static int program_buffer(lua_State *L)
{
    heddle_program *p = program_check(L);
    const char *name = hl_text(L, 2);
    int type = luaL_checkoption(L, 3, NULL, type_names);
    lua_Integer given = luaL_checkinteger(L, 4);
    uint64_t count = given > 0 ? (uint64_t)given : 0;
    heddle_data *d = NULL;
    int index;

    lua_settop(L, 7);
    if (lua_type(L, 6) != LUA_TNUMBER && !lua_isnil(L, 6))
        d = data_from(L, 6, type, count);
    index = heddle_program_buffer(
        p, name, (enum heddle_type)type, count,
        buffer_flags(L, 5) | (lua_toboolean(L, 7) ? HEDDLE_TEXTURE : 0), d);
    lprogram_check(L, p, index);
    if (lua_type(L, 6) == LUA_TNUMBER)
        lprogram_check(L, p,
                       heddle_program_fill(p, index, value_at(L, 6, type)));
    lua_pushinteger(L, index);
    return 1;
}

/* A list of files at 3, and the lines of the kernel's instructions at 4, 32 bits
 * each (struct heddle_lines). */
static void program_lines(lua_State *L, heddle_program *p)
{
    const char *file[255];
    struct heddle_lines l = {.file = file};
    size_t bytes;

    l.line = (const uint32_t *)(const void *)luaL_checklstring(L, 4, &bytes);
    l.count = (uint32_t)(bytes / sizeof *l.line);
    luaL_checktype(L, 3, LUA_TTABLE);
    while (l.files < 255 &&
           lua_rawgeti(L, 3, (lua_Integer)l.files + 1) == LUA_TSTRING) {
        file[l.files++] = lua_tostring(L, -1); /* the table has it */
        lua_pop(L, 1);
    }
    lprogram_check(L, p, heddle_program_lines(p, &l));
}

/* p:kernel(bytecode [, files, lines]) */
static int program_kernel(lua_State *L)
{
    heddle_program *p = program_check(L);
    size_t bytes;
    const char *code = luaL_checklstring(L, 2, &bytes);

    if (!lua_isnoneornil(L, 3))
        program_lines(L, p);
    lua_pushinteger(
        L, lprogram_check(L, p, heddle_program_kernel(p, code, bytes)));
    return 1;
}

/* p:stream(name), p:event(name) -> its number */
static int program_stream(lua_State *L)
{
    heddle_program *p = program_check(L);
    const char *name = luaL_checkstring(L, 2);

    lua_pushinteger(L, lprogram_check(L, p, heddle_program_stream(p, name)));
    return 1;
}

static int program_event(lua_State *L)
{
    heddle_program *p = program_check(L);
    const char *name = luaL_checkstring(L, 2);

    lua_pushinteger(L, lprogram_check(L, p, heddle_program_event(p, name)));
    return 1;
}

/* ---- launches ------------------------------------------------------------- */

/* kernel, grid, args, stream, bit sets of the events that it waits for and
 * records, and sync from the stack at `at`; what comes behind args may be nil. */
static void read_launch(lua_State *L, int at, struct heddle_launch *l)
{
    memset(l, 0, sizeof(*l));
    l->kernel = (uint32_t)luaL_checkinteger(L, at);
    luaL_checktype(L, at + 1, LUA_TTABLE);
    luaL_checktype(L, at + 2, LUA_TTABLE);
    for (int i = 0; i < 3; i++) {
        lua_rawgeti(L, at + 1, i + 1);
        l->grid[i] = (uint32_t)luaL_checkinteger(L, -1);
        lua_pop(L, 1);
    }
    l->args = (uint32_t)lua_rawlen(L, at + 2);
    if (l->args > HEDDLE_MAX_ARGS)
        luaL_error(L, "a launch with %d arguments; at most %d", (int)l->args,
                   HEDDLE_MAX_ARGS);
    for (uint32_t i = 0; i < l->args; i++) {
        lua_rawgeti(L, at + 2, (lua_Integer)i + 1);
        if (lua_isinteger(L, -1))
            l->arg[i].i = lua_tointeger(L, -1);
        else
            l->arg[i].f = luaL_checknumber(L, -1);
        lua_pop(L, 1);
    }
    l->stream = (uint32_t)luaL_optinteger(L, at + 3, 0);
    l->wait = (uint64_t)luaL_optinteger(L, at + 4, 0);
    l->record = (uint64_t)luaL_optinteger(L, at + 5, 0);
    l->sync = (uint32_t)lua_toboolean(L, at + 6);
}

static int program_launch(lua_State *L)
{
    heddle_program *p = program_check(L);
    struct heddle_launch l;

    read_launch(L, 2, &l);
    lprogram_check(L, p, heddle_program_launch(p, &l));
    return 0;
}

/* ---- the host ------------------------------------------------------------- */

struct host {
    lua_State *thread; /* of its own; stack: fn, device */
    lua_State *main;
    int ref; /* of the thread */
};

struct device {
    heddle_host *h; /* NULL outside of a call */
    uint8_t type[]; /* of each buffer: 0 int, 1 float */
};

static struct device *device_check(lua_State *L)
{
    struct device *d = luaL_checkudata(L, 1, DEVICE);

    if (d->h == NULL)
        luaL_error(L, "h is used after the host function has returned");
    return d;
}

/* After a failed call the error stands in the simulation already. */
static int lprogram_reached(lua_State *L, int result)
{
    return result == 0 ? 0
                       : luaL_error(L, "the host's access to a buffer failed");
}

static union heddle_value lprogram_number(lua_State *L, int at, bool floats)
{
    union heddle_value v;

    if (floats)
        v.f = luaL_checknumber(L, at);
    else if (lua_isinteger(L, at))
        v.i = lua_tointeger(L, at);
    else
        v.i = truncated(luaL_checknumber(L, at));
    return v;
}

/* What a method reaches: the host, and the buffer at argument 2. */
static heddle_host *lprogram_reach(lua_State *L, uint32_t *buffer, bool *floats)
{
    const struct device *d = device_check(L);
    lua_Integer i = luaL_checkinteger(L, 2);

    *buffer = (uint32_t)i;
    *floats = i >= 0 && i < 1024 && d->type[i];
    return d->h;
}

/* device:read(buffer, i) */
static int device_read(lua_State *L)
{
    uint64_t i = (uint64_t)luaL_checkinteger(L, 3);
    union heddle_value v;
    uint32_t buffer;
    bool floats;
    heddle_host *h = lprogram_reach(L, &buffer, &floats);

    lprogram_reached(L, heddle_host_read(h, buffer, i, &v));
    if (floats)
        lua_pushnumber(L, v.f);
    else
        lua_pushinteger(L, v.i);
    return 1;
}

/* A method of a buffer that gives nothing. */
#define METHOD(name, call)                                                     \
    static int device_##name(lua_State *L)                                     \
    {                                                                          \
        bool floats;                                                           \
        uint32_t b;                                                            \
        heddle_host *h = lprogram_reach(L, &b, &floats);                       \
                                                                               \
        return lprogram_reached(L, call);                                      \
    }
static const char *const moves[] = {"gpu", "host", "read", "write", NULL};
METHOD(write, heddle_host_write(h, b, (uint64_t)luaL_checkinteger(L, 3),
                                lprogram_number(L, 4, floats)))
METHOD(fill, heddle_host_fill(h, b, lprogram_number(L, 3, floats)))
METHOD(free, heddle_host_release(h, b))
METHOD(free_async, heddle_host_release_async(h, b))
METHOD(allocate, heddle_host_allocate(h, b))

/* The range of a buffer at an argument, its offset and its bytes; false: none is
 * given. */
static bool lprogram_range(lua_State *L, int at, struct heddle_range *r)
{
    if (lua_isnoneornil(L, at))
        return false;
    r->buffer = (uint32_t)luaL_checkinteger(L, 2);
    r->offset = (uint64_t)luaL_checkinteger(L, at);
    r->bytes = (uint64_t)luaL_checkinteger(L, at + 1);
    return true;
}

/* device:advise(buffer, set [, unset, offset, bytes]) */
static int device_advise(lua_State *L)
{
    heddle_host *h = device_check(L)->h;
    uint32_t set = (uint32_t)luaL_checkinteger(L, 3);
    struct heddle_range r;

    if (!lprogram_range(L, 5, &r))
        return lprogram_reached(
            L, heddle_host_advise(h, (uint32_t)luaL_checkinteger(L, 2), set));
    return lprogram_reached(
        L, heddle_host_advise_range(h, &r, set,
                                    (uint32_t)luaL_checkinteger(L, 4)));
}

/* device:move(buffer, how [, offset, bytes]) */
static int device_move(lua_State *L)
{
    heddle_host *h = device_check(L)->h;
    enum heddle_move how =
        (enum heddle_move)luaL_checkoption(L, 3, NULL, moves);
    struct heddle_range r;

    if (lprogram_range(L, 4, &r))
        return lprogram_reached(L, heddle_host_move_range(h, &r, how));
    return lprogram_reached(
        L, heddle_host_move(h, (uint32_t)luaL_checkinteger(L, 2), how));
}

static int device_beside(lua_State *L)
{
    heddle_host_beside(device_check(L)->h);
    return 0;
}

static int device_wait(lua_State *L)
{
    heddle_host *h = device_check(L)->h;

    return lprogram_reached(
        L, heddle_host_wait(h, (uint64_t)luaL_checkinteger(L, 2)));
}

static int device_launched(lua_State *L)
{
    lua_pushinteger(L, heddle_host_launched(device_check(L)->h));
    return 1;
}

/* The protected part: fn(device, state); fills *l.  Arguments: fn, device,
 * light pointers to heddle_host and heddle_launch.  Returns whether there is a
 * launch. */
static int host_body(lua_State *L)
{
    heddle_host *h = lua_touserdata(L, 3);
    struct heddle_launch *l = lua_touserdata(L, 4);
    const char *state;
    size_t bytes;
    bool more;

    lua_settop(L, 2);
    state = heddle_host_state(h, &bytes);
    lua_pushlstring(L, bytes > 0 ? state : "", bytes);
    lua_call(L, 2, 8); /* state kernel grid args stream wait record sync */
    state = luaL_checklstring(L, 1, &bytes);
    lprogram_reached(L, heddle_host_set_state(h, state, bytes));
    more = !lua_isnil(L, 2);
    if (more)
        read_launch(L, 2, l);
    lua_pushboolean(L, more);
    return 1;
}

static int host_call(void *ud, heddle_host *h, struct heddle_launch *l)
{
    struct host *host = ud;
    lua_State *L = host->thread;
    struct device *d = lua_touserdata(L, 2);
    int result;

    d->h = h;
    lua_settop(L, 2);
    lua_pushcfunction(L, hl_traceback);
    lua_pushcfunction(L, host_body);
    lua_pushvalue(L, 1);
    lua_pushvalue(L, 2);
    lua_pushlightuserdata(L, h);
    lua_pushlightuserdata(L, l);
    if (lua_pcall(L, 4, 1, 3) == LUA_OK)
        result = lua_toboolean(L, -1);
    else
        result = heddle_host_fail(h, HEDDLE_EPROGRAM,
                                  lua_isstring(L, -1) ? hl_shown(L, -1)
                                                      : "the host failed");
    d->h = NULL;
    lua_settop(L, 2);
    return result;
}

static void host_free(void *ud)
{
    struct host *host = ud;

    luaL_unref(host->main, LUA_REGISTRYINDEX, host->ref);
    free(host);
}

static const luaL_Reg device_methods[] = {
    {"read", device_read},     {"write", device_write},
    {"fill", device_fill},     {"free", device_free},
    {"advise", device_advise}, {"move", device_move},
    {"allocate", device_allocate}, {"free_async", device_free_async},
    {"beside", device_beside}, {"wait", device_wait},
    {"launched", device_launched}, {NULL, NULL}};

/* p:host(fn, text, types): types lists, for each buffer, whether it holds
 * floats. */
static int program_host(lua_State *L)
{
    heddle_program *p = program_check(L);
    size_t bytes;
    const char *text;
    struct device *d;
    struct host *host;
    lua_State *thread;
    int result, ref;

    luaL_checktype(L, 2, LUA_TFUNCTION);
    text = luaL_checklstring(L, 3, &bytes);
    luaL_checktype(L, 4, LUA_TTABLE);
    thread = lua_newthread(L);
    lua_pushvalue(L, 2);
    d = lua_newuserdatauv(L, sizeof(*d) + 1024, 0);
    memset(d, 0, sizeof(*d) + 1024);
    hl_class(L, DEVICE, NULL, device_methods);
    for (lua_Integer i = 0; i < 1024; i++) {
        lua_rawgeti(L, 4, i + 1);
        d->type[i] = (uint8_t)lua_toboolean(L, -1);
        lua_pop(L, 1);
    }
    lua_xmove(L, thread, 2); /* fn device */
    ref = luaL_ref(L, LUA_REGISTRYINDEX);
    host = calloc(1, sizeof(*host)); /* after all that may raise */
    if (host == NULL) {
        luaL_unref(L, LUA_REGISTRYINDEX, ref);
        return hl_raise_memory(L);
    }
    *host = (struct host){thread, hl_main_thread(L), ref};
    result = heddle_program_host(p, host_call, host, host_free, text, bytes);
    if (result < 0)
        host_free(host);
    lprogram_check(L, p, result);
    return 0;
}

static int program_workload(lua_State *L)
{
    heddle_program *p = program_check(L);
    heddle_workload **w = hl_workload_box(L);

    *w = heddle_program_workload(p);
    return *w ? 1 : hl_raise(L, HEDDLE_EPROGRAM, heddle_program_error(p)->text);
}

/* ---- the module ----------------------------------------------------------- */

static const luaL_Reg program_methods[] = {
    {"align", program_align},
    {"lanes", program_lanes},
    {"buffer", program_buffer},
    {"kernel", program_kernel},
    {"launch", program_launch},
    {"stream", program_stream},
    {"event", program_event},
    {"host", program_host},
    {"workload", program_workload},
    {NULL, NULL},
};

HL_RELEASE(program_gc, PROGRAM, heddle_program, heddle_program_free)

static int program_new(lua_State *L)
{
    const char *name = hl_text(L, 1);
    heddle_program **p = hl_box(L, PROGRAM, program_gc, program_methods);

    *p = heddle_program_new(name);
    return *p ? 1 : hl_raise_memory(L);
}

/* place(level, but): the file and the line of the first function from a level of
 * the stack on, as for debug.getinfo, whose file's name has not `but' in it; or
 * nothing.  A statement of a kernel asks this, so it makes no table. */
static int program_place(lua_State *L)
{
    const char *but = hl_text(L, 2);
    lua_Debug ar;

    for (int level = (int)luaL_checkinteger(L, 1);
         lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && strstr(ar.short_src, but) == NULL) {
            lua_pushstring(L, ar.short_src);
            lua_pushinteger(L, ar.currentline);
            return 2;
        }
    }
    return 0;
}

int luaopen_heddle_program(lua_State *L)
{
    static const luaL_Reg module[] = {
        {"new", program_new}, {"place", program_place}, {NULL, NULL}};

    luaL_newlib(L, module);
    return 1;
}

/*
 * lheddle.c - what the files of the binding share: error values, tables of
 * what structures hold, and the userdata in which Lua keeps things of the
 * library.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>

#include "heddle_work.h"
#include "lpolicy.h"

/* ---- errors --------------------------------------------------------------- */

#define HL_ERROR "heddle.error"

int hl_is_no_memory(lua_State *L, int i)
{
    return lua_type(L, i) == LUA_TSTRING &&
           strcmp(lua_tostring(L, i), HEDDLE_NO_MEMORY) == 0;
}

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "where");
    lua_getfield(L, 1, "message");
    lua_concat(L, 2);
    return 1;
}

void hl_push_where(lua_State *L, const char *but)
{
    lua_Debug ar;

    for (int level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 &&
            (but == NULL || strncmp(ar.source, but, strlen(but)) != 0)) {
            lua_pushfstring(L, "%s:%d: ", ar.short_src, ar.currentline);
            return;
        }
    }
    lua_pushliteral(L, "");
}

void hl_push_error(lua_State *L, int code, const char *text)
{
    const char *name =
        code == HL_EINTERRUPT ? "interrupted" : heddle_status_name(code);

    if (code == HEDDLE_ENOMEM || (text && !strcmp(text, HEDDLE_NO_MEMORY))) {
        lua_pushliteral(L, HEDDLE_NO_MEMORY); /* Lua has it already */
        return;
    }
    lua_createtable(L, 0, 4); /* err */
    hl_set_number(L, "code", (uint64_t)code);
    hl_set_text(L, "name", name);
    hl_set_text(L, "message", text && *text ? text : name);
    hl_push_where(L, "=heddle/");
    lua_setfield(L, -2, "where");
    if (luaL_newmetatable(L, HL_ERROR)) {
        hl_set_function(L, "__tostring", error_tostring);
        hl_set_text(L, "__name", HL_ERROR);
    }
    lua_setmetatable(L, -2);
}

int hl_raise(lua_State *L, int code, const char *text)
{
    hl_push_error(L, code, text);
    return lua_error(L);
}

int hl_raisef(lua_State *L, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    return hl_raise(L, code, lua_tostring(L, -1));
}

int hl_raise_memory(lua_State *L)
{
    return hl_raise(L, HEDDLE_ENOMEM, HEDDLE_NO_MEMORY);
}

int hl_expect(lua_State *L, int result, const char *text)
{
    return result < 0 ? hl_raise(L, result, text) : result;
}

/* [1] a value: its text */
static int lheddle_text_of(lua_State *L)
{
    lp_text(L, 1);
    return 1;
}

const char *hl_escape(lua_State *L, int i, const char *keep)
{
    size_t n, room;
    const char *text = luaL_checklstring(L, i, &n);
    luaL_Buffer b;
    char *out;

    room = 4 * n + 1;
    out = luaL_buffinitsize(L, &b, room);
    luaL_pushresultsize(&b, heddle_line_escape(text, n, keep, out, room));
    return lua_tostring(L, -1);
}

static int shown(lua_State *L)
{
    hl_escape(L, 1, "\n\t");
    return 1;
}

const char *hl_shown(lua_State *L, int i)
{
    i = lua_absindex(L, i);
    if (hl_is_no_memory(L, i)) {
        lua_pushvalue(L, i);
        return lua_tostring(L, -1);
    }
    lua_pushcfunction(L, shown);
    lua_pushvalue(L, i);
    if (lua_pcall(L, 1, 1, 0) == LUA_OK)
        return lua_tostring(L, -1);
    lua_pop(L, 1);
    return lua_pushliteral(L, "a text that cannot be shown");
}

const char *hl_text(lua_State *L, int i)
{
    size_t n, end;
    const char *text = luaL_checklstring(L, i, &n);

    end = strlen(text);
    if (end < n)
        hl_raisef(L, HEDDLE_EINVAL,
                  "\"%s\": byte %I is a NUL (0x00), at which C ends a text; a "
                  "path or a name has none",
                  hl_shown(L, i), (LUAI_UACINT)end + 1);
    return text;
}

int hl_path(lua_State *L)
{
    hl_text(L, 1);
    lua_settop(L, 1);
    return 1;
}

const char *hl_opt_text(lua_State *L, int i)
{
    return lua_isnoneornil(L, i) ? NULL : hl_text(L, i);
}

const char *hl_error_text(lua_State *L, int i)
{
    i = lua_absindex(L, i);
    if (lua_type(L, i) == LUA_TSTRING)
        return hl_shown(L, i);
    if (luaL_getmetafield(L, i, "__tostring") != LUA_TNIL) {
        lua_pop(L, 1);
        lua_pushcfunction(L, lheddle_text_of);
        lua_pushvalue(L, i);
        if (lua_pcall(L, 1, 1, 0) == LUA_OK)
            return hl_shown(L, -1);
        lua_pop(L, 1);
        return lua_pushliteral(L, "an error that cannot be shown");
    }
    return lua_pushfstring(L, "the error is not a text but a %s",
                           luaL_typename(L, i));
}

int hl_traceback(lua_State *L)
{
    if (!hl_is_no_memory(L, 1))
        luaL_traceback(L, L, hl_error_text(L, 1), 1);
    return 1;
}

const char *hl_meant(lua_State *L, const char *name, const char *const *names,
                     size_t n)
{
    const char *near = heddle_nearest(name, names, n);

    return near ? lua_pushfstring(L, "; did you mean '%s'?", near)
                : lua_pushliteral(L, "");
}

int hl_nearest(lua_State *L)
{
    const char *names[512];
    size_t n = 0;

    luaL_checktype(L, 2, LUA_TTABLE);
    for (; n < 512 && lua_rawgeti(L, 2, (lua_Integer)n + 1) == LUA_TSTRING;
         n++) {
        names[n] = lua_tostring(L, -1);
        lua_pop(L, 1); /* the list has it */
    }
    lua_pushstring(L, heddle_nearest(hl_text(L, 1), names, n));
    return 1;
}

/* ---- tables --------------------------------------------------------------- */

void hl_set_text(lua_State *L, const char *name, const char *value)
{
    lua_pushstring(L, value ? value : "");
    lua_setfield(L, -2, name);
}

void hl_set_number(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

void hl_set_bool(lua_State *L, const char *name, int value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

static void set_real(lua_State *L, const char *name, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

void hl_set_function(lua_State *L, const char *name, lua_CFunction f)
{
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
}

void hl_set_fields(lua_State *L, const struct hl_field *f, const void *from)
{
    for (; f->name != NULL; f++) {
        const void *at = (const char *)from + f->at;

        switch (f->kind) {
        case HL_TEXT:
            hl_set_text(L, f->name, *(const char *const *)at);
            break;
        case HL_CHARS:
            hl_set_text(L, f->name, at);
            break;
        case HL_U32:
            hl_set_number(L, f->name, *(const uint32_t *)at);
            break;
        case HL_U64:
        case HL_I64:
            hl_set_number(L, f->name, *(const uint64_t *)at);
            break;
        case HL_BOOL:
            hl_set_bool(L, f->name, *(const int *)at);
            break;
        default:
            set_real(L, f->name, *(const double *)at);
            break;
        }
    }
}

void hl_push_fields(lua_State *L, const struct hl_field *f, const void *from)
{
    int n = 0;

    while (f[n].name != NULL)
        n++;
    lua_createtable(L, 0, n);
    hl_set_fields(L, f, from);
}

/* The field on top of the stack, into a member. */
static void get_field(lua_State *L, const struct hl_field *f, void *at)
{
    lua_Integer min = f->min, max = f->max, n;
    const char *text;
    size_t bytes;
    int ok = 1;

    if (min == 0 && max == 0) {
        min = f->kind == HL_I64 ? LUA_MININTEGER : 0;
        max = f->kind == HL_U32 ? UINT32_MAX : LUA_MAXINTEGER;
    }
    switch (f->kind) {
    case HL_TEXT:
        ok = lua_type(L, -1) == LUA_TSTRING;
        *(const char **)at = ok ? hl_text(L, -1) : NULL;
        break;
    case HL_CHARS:
        text = hl_text(L, -1);
        bytes = strlen(text);
        if (bytes >= f->room)
            luaL_error(L, "%s '%s' is longer than %d bytes", f->name, text,
                       f->room - 1);
        memcpy(at, text, bytes + 1);
        break;
    case HL_OTHER:
        return;
    case HL_BOOL:
        *(int *)at = lua_toboolean(L, -1);
        break;
    case HL_REAL:
        *(double *)at = lua_tonumberx(L, -1, &ok);
        break;
    default:
        n = lua_tointegerx(L, -1, &ok);
        if (!ok || n < min || n > max)
            hl_raisef(L, HEDDLE_EINVAL,
                      "option %s: expected a whole number from %I to %I, got %s",
                      f->name, (LUAI_UACINT)min, (LUAI_UACINT)max,
                      lp_text(L, -1));
        if (f->kind == HL_U32)
            *(uint32_t *)at = (uint32_t)n;
        else
            *(uint64_t *)at = (uint64_t)n;
    }
    if (!ok)
        hl_raisef(L, HEDDLE_EINVAL, "option %s: expected a %s, got %s", f->name,
                  f->kind == HL_TEXT ? "text" : "number", lp_text(L, -1));
}

/* One of them, whose name and value are on top. */
static void take_option(lua_State *L, const char *whose,
                        const struct hl_field *f, void *to)
{
    const char *key = lua_type(L, -2) == LUA_TSTRING ? lua_tostring(L, -2) : "";
    const char *name[32];
    luaL_Buffer b;
    size_t n;

    for (n = 0; f[n].name != NULL; n++) {
        if (strcmp(f[n].name, key) == 0) {
            get_field(L, &f[n], (char *)to + f[n].at);
            return;
        }
        name[n] = f[n].name;
    }
    key = lp_text(L, -2);
    luaL_buffinit(L, &b);
    lua_pushfstring(L, "%s has no option '%s'%s; it takes", whose, key,
                    hl_meant(L, key, name, n));
    luaL_addvalue(&b);
    for (size_t i = 0; i < n; i++) {
        luaL_addstring(&b, i > 0 ? ", " : " ");
        luaL_addstring(&b, name[i]);
    }
    luaL_pushresult(&b);
    hl_raise(L, HEDDLE_EINVAL, lua_tostring(L, -1));
}

void hl_options(lua_State *L, int i, const char *whose,
                const struct hl_field *f, void *to)
{
    if (lua_isnoneornil(L, i))
        return;
    i = lua_absindex(L, i);
    luaL_checktype(L, i, LUA_TTABLE);
    for (lua_pushnil(L); lua_next(L, i) != 0; lua_pop(L, 1))
        take_option(L, whose, f, to);
}

void hl_get_fields(lua_State *L, int i, const struct hl_field *f, void *to)
{
    for (; f->name != NULL; f++) {
        if (lua_getfield(L, i, f->name) != LUA_TNIL)
            get_field(L, f, (char *)to + f->at);
        lua_pop(L, 1);
    }
}

/* ---- userdata ------------------------------------------------------------- */

int hl_class(lua_State *L, const char *class, lua_CFunction release,
             const luaL_Reg *methods)
{
    int first = luaL_newmetatable(L, class); /* meta */

    if (first) {
        if (release) {
            hl_set_function(L, "__gc", release);
            hl_set_function(L, "__close", release);
        }
        if (methods) {
            lua_newtable(L);
            luaL_setfuncs(L, methods, 0);
            lua_setfield(L, -2, "__index");
        }
    }
    lua_setmetatable(L, -2);
    return first;
}

void *hl_box(lua_State *L, const char *class, lua_CFunction release,
             const luaL_Reg *methods)
{
    void *box = lua_newuserdatauv(L, sizeof(void *), 1);

    memset(box, 0, sizeof(void *));
    hl_class(L, class, release, methods);
    return box;
}

void *hl_unbox(lua_State *L, int i, const char *class, const char *closed)
{
    void *thing;

    memcpy(&thing, luaL_checkudata(L, i, class), sizeof thing);
    luaL_argcheck(L, thing != NULL, i, closed);
    return thing;
}

HL_RELEASE(workload_free, HL_WORKLOAD, heddle_workload, heddle_workload_free)

heddle_workload **hl_workload_box(lua_State *L)
{
    return hl_box(L, HL_WORKLOAD, workload_free, NULL);
}

heddle_workload *hl_workload_check(lua_State *L, int i)
{
    return hl_unbox(L, i, HL_WORKLOAD, "this workload was closed");
}

lua_State *hl_main_thread(lua_State *L)
{
    lua_State *m;

    lua_rawgeti(L, LUA_REGISTRYINDEX, LUA_RIDX_MAINTHREAD);
    m = lua_tothread(L, -1);
    lua_pop(L, 1);
    return m;
}

void hl_require(lua_State *L, const char *module)
{
    lua_getfield(L, LUA_REGISTRYINDEX, LUA_LOADED_TABLE);
    if (lua_getfield(L, -1, module) == LUA_TNIL) {
        lua_getfield(L, LUA_REGISTRYINDEX, LUA_PRELOAD_TABLE);
        lua_getfield(L, -1, module);
        lua_pushstring(L, module);
        lua_call(L, 1, 1);
        lua_pushvalue(L, -1);
        lua_setfield(L, -5, module);
        lua_replace(L, -3);
        lua_pop(L, 1);
    }
    lua_remove(L, -2);
}

/* ---- the process ---------------------------------------------------------- */

void hl_interrupt_signals(lua_State *L, sigset_t *set)
{
    const struct hl_interrupt *in = hl_interrupt_of(L);

    sigemptyset(set);
    sigaddset(set, SIGINT);
    if (in)
        *set = in->signals;
}

bool hl_interrupt_by(struct hl_interrupt *in, int sig)
{
    if (sig != SIGINT && in->by != 0 && in->by != SIGINT)
        return false;
    in->hit = 1;
    in->by = sig;
    return true;
}

struct hl_interrupt *hl_interrupt_of(lua_State *L)
{
    struct hl_interrupt *in;

    lua_getfield(L, LUA_REGISTRYINDEX, HL_INTERRUPT);
    in = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return in;
}

const char *hl_flush(void)
{
    if (fflush(stdout) != 0)
        return strerror(errno);
    if (!ferror(stdout))
        return NULL;
    clearerr(stdout); /* why an earlier write failed says another one */
    return putchar('\n') == EOF || fflush(stdout) != 0
               ? strerror(errno)
               : "an earlier write failed";
}

/*
 * lheddle.h - what the files of the Lua binding share: the userdata types, the
 * error value, and how classes and tables are made.
 *
 * A workload, a configuration and a simulation are userdata of the types
 * named here, whichever file made them: a trace reader or a program compiler
 * makes a workload with hl_workload_push, and the simulation takes any.
 *
 * Errors are raised as a table {code=, name=, message=, where=} with a
 * __tostring, so that the command can map the code to its exit status and a
 * script can print it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef LHEDDLE_H
#define LHEDDLE_H

#include <errno.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>

#include <lauxlib.h>
#include <lua.h>

#include "../heddle.h"

#define HL_MODULE __attribute__((visibility("default")))

/* ---- errors ----------------------------------------------------------- */

/* Want of memory is told as Lua itself tells it, whoever notices it first: by the
 * text HEDDLE_NO_MEMORY, without a table around it or a place before it, for
 * which there may be no memory.  hl_raise does so for that code and that text.
 */
/* Whether the value at i is that error.  Takes no memory. */
static inline int hl_is_no_memory(lua_State *L, int i)
{
    return lua_type(L, i) == LUA_TSTRING &&
           strcmp(lua_tostring(L, i), HEDDLE_NO_MEMORY) == 0;
}

/* Raises a heddle error; `text` may point into anything that lives until the
 * next call.  The place is that of the nearest script of the user. */
int hl_raise(lua_State *L, int code, const char *text);

/* The same of a format, as lua_pushfstring takes it. */
static inline int hl_raisef(lua_State *L, int code, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    lua_pushvfstring(L, format, args);
    va_end(args);
    return hl_raise(L, code, lua_tostring(L, -1));
}

/* Raises that there is not enough memory. */
static inline int hl_raise_memory(lua_State *L)
{
    return hl_raise(L, HEDDLE_ENOMEM, HEDDLE_NO_MEMORY);
}

/* Pushes the error value instead of raising it. */
void hl_push_error(lua_State *L, int code, const char *text);

/* Pushes the text of the error value at index i.  It does not raise, whatever
 * the value's __tostring does. */
const char *hl_error_text(lua_State *L, int i);

/* ---- fields of the table on top ---------------------------------------- */

/* NULL is "". */
static inline void hl_set_text(lua_State *L, const char *name,
                               const char *value)
{
    lua_pushstring(L, value ? value : "");
    lua_setfield(L, -2, name);
}

static inline void hl_set_number(lua_State *L, const char *name, uint64_t value)
{
    lua_pushinteger(L, (lua_Integer)value);
    lua_setfield(L, -2, name);
}

static inline void hl_set_bool(lua_State *L, const char *name, int value)
{
    lua_pushboolean(L, value);
    lua_setfield(L, -2, name);
}

static inline void hl_set_real(lua_State *L, const char *name, double value)
{
    lua_pushnumber(L, value);
    lua_setfield(L, -2, name);
}

static inline void hl_set_function(lua_State *L, const char *name,
                                   lua_CFunction f)
{
    lua_pushcfunction(L, f);
    lua_setfield(L, -2, name);
}

/* ---- userdata, options ------------------------------------------------- */

/* Makes the userdata on top one of a class: `release` is what __gc and __close
 * do, and these are its methods (NULL: neither).  Returns 1 if it is the first
 * of its class, whose metatable the caller may add to. */
static inline int hl_class(lua_State *L, const char *class,
                           lua_CFunction release, const luaL_Reg *methods)
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

/* An option of the table at index `at`, or 0 if there is none: a whole number,
 * not negative and at most `most`. */
static inline uint64_t hl_option(lua_State *L, int at, const char *name,
                                 uint64_t most)
{
    lua_Integer x;

    if (lua_isnoneornil(L, at))
        return 0;
    luaL_checktype(L, at, LUA_TTABLE);
    lua_getfield(L, at, name);
    x = luaL_optinteger(L, -1, 0);
    lua_pop(L, 1);
    if (x < 0 || (uint64_t)x > most)
        luaL_error(L, "option %s: %I is out of range", name, (LUAI_UACINT)x);
    return (uint64_t)x;
}

/* ---- what the library lists -------------------------------------------- */

/* Push a table of what is known of a counter, of a histogram. */
void hl_push_counter(lua_State *L, const struct heddle_counter_info *c);
void hl_push_hist(lua_State *L, const struct heddle_hist_info *h);

/* ---- workloads -------------------------------------------------------- */

#define HL_WORKLOAD "heddle.workload"

struct hl_workload {
    heddle_workload *w;
    void (*free)(heddle_workload *w); /* called by __gc and __close */
};

/*
 * Pushes a new workload userdata that takes `w`.  If it shall keep other Lua
 * values alive (a host function), the caller sets its user value 1.
 */
struct hl_workload *hl_workload_push(lua_State *L, heddle_workload *w,
                                     void (*release)(heddle_workload *w));
/* The workload at index i, or an argument error. */
heddle_workload *hl_workload_check(lua_State *L, int i);

/* f(workload) -> {{ name =, base =, bytes = }, ...}: its allocations.
 * (lwalk.c) */
int hl_allocations(lua_State *L);

/* ---- configurations --------------------------------------------------- */

#define HL_CONFIG "heddle.config"

heddle_config *hl_config_check(lua_State *L, int i);

/* ---- simulations ------------------------------------------------------ */

#define HL_SIM "heddle.sim"

/*
 * A simulation's userdata.  User value 1 is a table that keeps what the
 * simulation borrows: [i] the workloads, config, and `policies`, which the
 * policy binding may use as it likes.
 */
struct hl_sim {
    heddle_sim *s;         /* NULL once closed */
    heddle_config *config; /* borrowed from the table's config */
};

heddle_sim *hl_sim_check(lua_State *L, int i);

/* ---- interrupts ------------------------------------------------------- */

/*
 * The host program (the command, a REPL) may put a light userdata to one of
 * these into the registry under HL_INTERRUPT.  Its signal handler sets `hit`
 * and calls heddle_stop on `running` if that is not NULL.  A run that was
 * stopped so raises an error with code HL_EINTERRUPT.  Whoever catches it
 * clears `hit`.
 */
#define HL_INTERRUPT  "heddle.interrupt"
#define HL_EINTERRUPT (-130)

struct hl_interrupt {
    volatile sig_atomic_t hit;
    heddle_sim *volatile running;
};

/* The host's, or NULL. */
static inline struct hl_interrupt *hl_interrupt_of(lua_State *L)
{
    struct hl_interrupt *in;

    lua_getfield(L, LUA_REGISTRYINDEX, HL_INTERRUPT);
    in = lua_touserdata(L, -1);
    lua_pop(L, 1);
    return in;
}

/* ---- standard output --------------------------------------------------- */

/* Writes what waits; returns why not all that was printed could be written, or
 * NULL.  Of an earlier write nobody knows the reason any more. */
static inline const char *hl_flush(void)
{
    if (fflush(stdout) != 0)
        return strerror(errno);
    return ferror(stdout) ? "an earlier write failed" : NULL;
}

/* ---- looking ----------------------------------------------------------- */

/* A visitor that appends each row to the table on top of the stack, as
 * {kind=, field=value, ...}. */
void hl_visitor(lua_State *L, struct heddle_visitor *v);

#endif

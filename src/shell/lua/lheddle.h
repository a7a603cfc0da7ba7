/*
 * lheddle.h - what the files of the Lua binding share: errors, the userdata
 * types, how classes are made and structures become tables.
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

#include <signal.h>
#include <stdbool.h>
#include <stddef.h>
#include <string.h>
#include <time.h>

#include <lauxlib.h>
#include <lua.h>

#include "heddle.h"
#include "timeline/tool_timeline.h"
#include "tool.h"

#define HL_MODULE __attribute__((visibility("default")))

/* ---- errors --------------------------------------------------------------- */

/* Want of memory is reported as Lua itself does, wherever it is noticed first:
 * by the text HEDDLE_NO_MEMORY, without a table around it or a place before it,
 * for which there may be no memory.  hl_raise does so for that code and that
 * text.
 */
/* Whether the value at i is that error.  Takes no memory. */
int hl_is_no_memory(lua_State *L, int i);

/* Raises a heddle error; `text` may point into anything that lives until the
 * next call.  The place is that of the nearest script of the user. */
int hl_raise(lua_State *L, int code, const char *text);
/* hl_raise of a format, as lua_pushfstring takes it. */
int hl_raisef(lua_State *L, int code, const char *format, ...);
/* Raises that there is not enough memory. */
int hl_raise_memory(lua_State *L);
/* Raises `text` if the result of a call is an error; returns the result. */
int hl_expect(lua_State *L, int result, const char *text);

/* Pushes the error value instead of raising it. */
void hl_push_error(lua_State *L, int code, const char *text);

/* Pushes "file:line: " of the Lua function that runs, past those of chunks
 * whose name begins with `but` (NULL: of any); "" if there is none. */
void hl_push_where(lua_State *L, const char *but);

/* Pushes the text of the error value at index i, as messages have it
 * (hl_shown).  It does not raise, whatever the value's __tostring does. */
const char *hl_error_text(lua_State *L, int i);

/* The text at index i, a path or a name that C takes: a NUL in it, where C
 * would end it, is an error. */
const char *hl_text(lua_State *L, int i);
/* That, or NULL where there is none. */
const char *hl_opt_text(lua_State *L, int i);
/* path(text) -> the text, for the Lua half, whose io would cut it there */
int hl_path(lua_State *L);
/* Pushes the text at index i with escapes (heddle_line_escape). */
const char *hl_escape(lua_State *L, int i, const char *keep);
/* Pushes it as a message has it, with its lines and tabs.  It does not
 * raise. */
const char *hl_shown(lua_State *L, int i);

/* A message handler: the error's text, with a traceback. */
int hl_traceback(lua_State *L);

/* nearest(name, list) -> the text of a list that is meant, or nil */
int hl_nearest(lua_State *L);
/* Pushes "; did you mean 'x'?" of the name that is nearest, or "". */
const char *hl_meant(lua_State *L, const char *name, const char *const *names,
                     size_t n);

/* ---- tables --------------------------------------------------------------- */

/* A field of the table on top.  A text that is NULL is "". */
void hl_set_text(lua_State *L, const char *name, const char *value);
void hl_set_number(lua_State *L, const char *name, uint64_t value);
void hl_set_bool(lua_State *L, const char *name, int value);
void hl_set_function(lua_State *L, const char *name, lua_CFunction f);

/* A member of a structure, as a field of a table or as an option: its name,
 * type and range; the default is what the member holds before. */
struct hl_field {
    const char *name; /* NULL ends a list */
    unsigned short at, kind;
    unsigned short room; /* of the member, in bytes */
    int64_t min, max; /* of an option; both 0: what the member can hold */
};

enum { HL_TEXT, HL_CHARS, HL_U32, HL_U64, HL_I64, HL_BOOL, HL_REAL, HL_OTHER };

/* Member m of a structure, by its own name or another. */
/* clang-format off */
#define HL_FIELD(structure, m) HL_FIELD_AS(structure, m, #m)
#define HL_FIELD_AS(structure, m, name) HL_OPTION_AS(structure, m, name, 0, 0)
#define HL_OPTION(structure, m, min, max) HL_OPTION_AS(structure, m, #m, min, max)
#define HL_OPTION_AS(structure, m, name, min, max)                             \
    {name, offsetof(structure, m),                                             \
     _Generic(((structure *)NULL)->m, const char *: HL_TEXT, char *: HL_CHARS, \
              uint32_t: HL_U32, uint64_t: HL_U64, int64_t: HL_I64,             \
              int: HL_BOOL, double: HL_REAL),                         \
     sizeof(((structure *)NULL)->m), min, max}
/* An option that the caller reads. */
#define HL_APART(name) {name, 0, HL_OTHER, 0, 0, 0}
#define HL_END {NULL, 0, 0, 0, 0, 0}
/* clang-format on */
/* Sets the fields of the table on top; pushes a table with them. */
void hl_set_fields(lua_State *L, const struct hl_field *f, const void *from);
void hl_push_fields(lua_State *L, const struct hl_field *f, const void *from);
/* Fills the members from the fields of the table at index i, as far as there
 * are any; raises where one is not of its kind or out of range.  Texts are
 * those of the table. */
void hl_get_fields(lua_State *L, int i, const struct hl_field *f, void *to);
/* hl_get_fields of what a user gives `whose` call as options (nil: none): a
 * name that is no option is an error. */
void hl_options(lua_State *L, int i, const char *whose,
                const struct hl_field *f, void *to);

/* Defines a function f(...) that gives a list: `get` fills x with entry i, and
 * is 0 as long as there is one; `fields` make its table. */
#define HL_LIST(name, structure, get, fields)                                  \
    int name(lua_State *L)                                                     \
    {                                                                          \
        structure x;                                                           \
                                                                               \
        lua_newtable(L);                                                       \
        for (uint32_t i = 0; (get) == 0; i++) {                                \
            hl_push_fields(L, fields, &x);                                     \
            lua_rawseti(L, -2, (lua_Integer)i + 1);                            \
        }                                                                      \
        return 1;                                                              \
    }

/* ---- userdata ------------------------------------------------------------- */

/* Makes the userdata on top one of a class: `release` is what __gc and __close
 * do, and these are its methods (NULL: neither).  Returns 1 if it is the first
 * of its class, whose metatable the caller may add to. */
int hl_class(lua_State *L, const char *class, lua_CFunction release,
             const luaL_Reg *methods);

/* A box is a userdata of one pointer, to a thing that it gives back, and of one
 * user value.  It is made empty, before the thing, so that nothing is lost when
 * Lua has no memory, and it is empty again once it is closed. */
void *hl_box(lua_State *L, const char *class, lua_CFunction release,
             const luaL_Reg *methods);
/* What the one at index i holds; `closed` is the argument error of an empty
 * one. */
void *hl_unbox(lua_State *L, int i, const char *class, const char *closed);
/* Defines the release of a class of them. */
#define HL_RELEASE(name, class, thing, give_back)                              \
    static int name(lua_State *L)                                              \
    {                                                                          \
        thing **box = luaL_checkudata(L, 1, class), *it = *box;                \
                                                                               \
        *box = NULL;                                                           \
        give_back(it);                                                         \
        return 0;                                                              \
    }

lua_State *hl_main_thread(lua_State *L);

/* ---- workloads and simulations -------------------------------------------- */

#define HL_WORKLOAD "heddle.workload"
#define HL_SIM      "heddle.sim"

/* Pushes the box of a workload, which is to be filled.  What else it shall keep
 * alive (a host function) becomes its user value. */
heddle_workload **hl_workload_box(lua_State *L);
/* The workload at index i, or an argument error. */
heddle_workload *hl_workload_check(lua_State *L, int i);

/* f(workload, fn [, { kernel =, block = }]): its memory instructions.
 * (lsurvey.c)
 */
int hl_dump(lua_State *L);

/* f(workload) -> {{ name =, base =, bytes = }, ...}: its allocations.
 * (lsurvey.c) */
int hl_allocations(lua_State *L);

/* The simulation at index i.  The user value of its box is a table of what it
 * borrows: [i] the workloads, and `config`. */
heddle_sim *hl_sim_check(lua_State *L, int i);

/* ---- interrupts ----------------------------------------------------------- */

/*
 * The host program (the command, a REPL) may put a light userdata to one of
 * these into the registry under HL_INTERRUPT.  Its handler of the signals in
 * `signals` asks hl_interrupt_by, and calls heddle_stop on `running` if that is
 * not NULL.  A run that was stopped so raises an error with code HL_EINTERRUPT.
 * What catches it clears `hit`; `by` stays.
 */
#define HL_INTERRUPT  "heddle.interrupt"
#define HL_EINTERRUPT (-130)

struct hl_interrupt {
    volatile sig_atomic_t hit;
    volatile sig_atomic_t by; /* the signal that came last, or 0 */
    heddle_sim *volatile running;
    sigset_t signals;
};

/* Notes a signal; false where it changes nothing: timeout(1) sends SIGTERM
 * twice, and what is printed after the first is not to be lost. */
bool hl_interrupt_by(struct hl_interrupt *in, int sig);

/* The host's, or NULL. */
struct hl_interrupt *hl_interrupt_of(lua_State *L);
/* The signals that interrupt: the host's, else Ctrl-C alone. */
void hl_interrupt_signals(lua_State *L, sigset_t *set);

/* ---- embed.c -------------------------------------------------------------- */

/* Fills package.preload with the modules compiled in, both the C ones and the
 * Lua ones. */
void hl_embed_preload(lua_State *L);
/* Pushes a module compiled in, as require() gives it. */
void hl_require(lua_State *L, const char *module);
/* Pushes the chunk of a script compiled in, not run yet; -1: there is none. */
int hl_embed_chunk(lua_State *L, const char *module);

/* Seconds of a clock that only goes forward. */
static inline double hl_seconds(void)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    return (double)t.tv_sec + (double)t.tv_nsec * 1e-9;
}

/* ---- standard output ------------------------------------------------------ */

/* Writes what waits; returns why not all that was printed could be written, or
 * NULL.  The reason of an earlier write is no longer known. */
const char *hl_flush(void);

#endif

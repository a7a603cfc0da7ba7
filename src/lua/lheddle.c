/*
 * lheddle.c - the module "heddle.core": the engine as Lua sees it.
 *
 * A thin binding of heddle.h, nothing more: it has no defaults, no units and
 * no formatting.  What scenario writers use is lua/heddle/init.lua, written on
 * top of this one.  This file has the errors, the workloads and the lists
 * (settings, counters, histograms, points, notes); lconfig.c and lsim.c have
 * the two objects.
 *
 * Opening it also gives the thread that loads heddle the C locale (UTF-8
 * characters), of which setlocale() and os.setlocale change nothing.  Lua's
 * string.format, tostring, tonumber, comparisons of texts and patterns all go
 * by the locale; here results, settings and what policies compute are the
 * same everywhere.
 *
 * The lists of points and notes come from the same points.def and notes.def
 * as the engine's, so that what `heddle list points` prints cannot differ
 * from what is asked.
 *
 * SPDX-License-Identifier: MIT
 */
#include "lheddle.h"

#include <errno.h>
#include <langinfo.h>
#include <locale.h>
#include <stdio.h>
#include <string.h>

#include <xxhash.h>

#include "../policy.h"
#include "lparts.h"

/* ---- errors ----------------------------------------------------------- */

#define HL_ERROR "heddle.error"

static int error_tostring(lua_State *L)
{
    lua_getfield(L, 1, "where");
    lua_getfield(L, 1, "message");
    lua_concat(L, 2);
    return 1;
}

/* Pushes "file:line: " of the nearest function that is not heddle's own. */
static void push_where(lua_State *L)
{
    lua_Debug ar;
    int level;

    for (level = 0; lua_getstack(L, level, &ar); level++) {
        lua_getinfo(L, "Sl", &ar);
        if (ar.currentline > 0 && strncmp(ar.source, "=heddle/", 8) != 0) {
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
    lua_pushinteger(L, code);
    lua_setfield(L, -2, "code");
    hl_set_text(L, "name", name);
    hl_set_text(L, "message", text && *text ? text : name);
    push_where(L);
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

/* core.error(code, message): makes an error value, for the Lua half. */
static int make_error(lua_State *L)
{
    hl_push_error(L, (int)luaL_checkinteger(L, 1), luaL_checkstring(L, 2));
    return 1;
}

/* core.problem(value) -> what an error value says, as a plain table: `text`
 * and, of heddle's own, exit, usage, code, name, message, where.  It does not
 * raise, whatever the value is. */
static int problem(lua_State *L)
{
    static const struct {
        const char *name;
        int type;
    } field[] = {{"exit", LUA_TNUMBER},    {"code", LUA_TNUMBER},
                 {"usage", LUA_TSTRING},   {"name", LUA_TSTRING},
                 {"message", LUA_TSTRING}, {"where", LUA_TSTRING}};

    lua_settop(L, 1);
    lua_newtable(L);
    if (hl_is_no_memory(L, 1)) { /* a text alone, wherever it is raised */
        lua_pushinteger(L, HEDDLE_ENOMEM);
        lua_setfield(L, 2, "code");
        hl_set_text(L, "name", heddle_status_name(HEDDLE_ENOMEM));
        hl_set_text(L, "message", HEDDLE_NO_MEMORY);
    }
    for (size_t i = 0; lua_istable(L, 1) && i < sizeof field / sizeof *field;
         i++) {
        lua_pushstring(L, field[i].name);
        lua_rawget(L, 1);
        if (lua_type(L, -1) == field[i].type &&
            (field[i].type == LUA_TSTRING || lua_isinteger(L, -1)))
            lua_setfield(L, 2, field[i].name);
        lua_settop(L, 2);
    }
    lua_getfield(L, 2, "code");
    if (lua_getfield(L, 2, "message") == LUA_TNIL || lua_isnil(L, 3)) {
        lua_pushnil(L); /* one says nothing without the other */
        lua_setfield(L, 2, "code");
        if (lua_getfield(L, 2, "usage") == LUA_TNIL)
            hl_error_text(L, 1);
    } else {
        if (lua_getfield(L, 2, "where") == LUA_TNIL)
            lua_pushliteral(L, "");
        lua_pushvalue(L, 4);
        lua_concat(L, 2);
    }
    lua_setfield(L, 2, "text");
    lua_settop(L, 2);
    return 1;
}

/* ---- workloads -------------------------------------------------------- */

static int workload_free(lua_State *L)
{
    struct hl_workload *h = luaL_checkudata(L, 1, HL_WORKLOAD);

    if (h->w && h->free)
        h->free(h->w);
    h->w = NULL;
    return 0;
}

struct hl_workload *hl_workload_push(lua_State *L, heddle_workload *w,
                                     void (*release)(heddle_workload *w))
{
    struct hl_workload *h = lua_newuserdatauv(L, sizeof *h, 1);

    h->w = w;
    h->free = release;
    hl_class(L, HL_WORKLOAD, workload_free, NULL);
    return h;
}

heddle_workload *hl_workload_check(lua_State *L, int i)
{
    struct hl_workload *h = luaL_checkudata(L, i, HL_WORKLOAD);

    luaL_argcheck(L, h->w != NULL, i, "this workload was closed");
    return h->w;
}

/* ---- lists ------------------------------------------------------------ */

/* core.settings(): every setting, in order. */
static int settings(lua_State *L)
{
    struct heddle_setting_info s;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_setting(i, &s) == HEDDLE_OK; i++) {
        lua_createtable(L, 0, 9);
        hl_set_text(L, "name", s.name);
        hl_set_text(L, "type", s.type);
        hl_set_text(L, "unit", s.unit);
        hl_set_text(L, "default", s.def);
        hl_set_text(L, "choices", s.choices);
        hl_set_text(L, "meaning", s.meaning);
        hl_set_text(L, "source", s.source);
        hl_set_number(L, "min", s.min);
        hl_set_number(L, "max", s.max);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

void hl_push_counter(lua_State *L, const struct heddle_counter_info *c)
{
    lua_createtable(L, 0, 6);
    hl_set_text(L, "component", c->component);
    hl_set_text(L, "name", c->name);
    hl_set_text(L, "unit", c->unit);
    hl_set_text(L, "meaning", c->meaning);
    hl_set_bool(L, "peak", c->peak);
}

void hl_push_hist(lua_State *L, const struct heddle_hist_info *h)
{
    lua_createtable(L, 0, 5);
    hl_set_text(L, "component", h->component);
    hl_set_text(L, "name", h->name);
    hl_set_text(L, "unit", h->unit);
    hl_set_text(L, "meaning", h->meaning);
}

/* core.counters(): every counter that the library knows. */
static int counters(lua_State *L)
{
    struct heddle_counter_info c;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_counter_known(i, &c) == HEDDLE_OK; i++) {
        hl_push_counter(L, &c);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.histograms(): every histogram that the library knows. */
static int histograms(lua_State *L)
{
    struct heddle_hist_info h;
    uint32_t i;

    lua_newtable(L);
    for (i = 0; heddle_hist_known(i, &h) == HEDDLE_OK; i++) {
        hl_push_hist(L, &h);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

static void set_fields(lua_State *L, const struct heddle_field_info *f,
                       uint32_t n)
{
    lua_createtable(L, (int)n, 0);
    for (uint32_t i = 0; i < n; i++) {
        lua_createtable(L, 0, 3);
        hl_set_text(L, "name", f[i].name);
        hl_set_text(L, "meaning", f[i].meaning);
        if (f[i].count)
            hl_set_text(L, "count", f[i].count);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    lua_setfield(L, -2, "fields");
}

/* core.points(): every decision, with its question. */
static int points(lua_State *L)
{
    const struct heddle_point_info *p;

    lua_newtable(L);
    for (uint32_t i = 0; (p = heddle_point_info(i)) != NULL; i++) {
        lua_createtable(L, 0, 8);
        hl_set_text(L, "name", p->name);
        hl_set_text(L, "at", p->at);
        hl_set_text(L, "heat", p->heat);
        hl_set_text(L, "answer", p->answer);
        hl_set_text(L, "limit", p->limit);
        hl_set_text(L, "when", p->when);
        hl_set_text(L, "meaning", p->meaning);
        set_fields(L, p->field, p->fields);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.notes(): everything a watcher can be told. */
static int notes(lua_State *L)
{
    const struct heddle_note_info *n;

    lua_newtable(L);
    for (uint32_t i = 0; (n = heddle_note_info(i)) != NULL; i++) {
        lua_createtable(L, 0, 4);
        hl_set_text(L, "name", n->name);
        hl_set_text(L, "at", n->at);
        hl_set_text(L, "when", n->when);
        set_fields(L, n->field, n->fields);
        lua_rawseti(L, -2, (lua_Integer)i + 1);
    }
    return 1;
}

/* core.status_name(code) */
static int status_name(lua_State *L)
{
    lua_pushstring(L, heddle_status_name((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* core.fingerprint(text): 16 hexadecimal digits */
static int fingerprint(lua_State *L)
{
    size_t n;
    const char *text = luaL_checklstring(L, 1, &n);
    char out[17];

    snprintf(out, sizeof out, "%016llx",
             (unsigned long long)XXH3_64bits(text, n));
    lua_pushstring(L, out);
    return 1;
}

/* How this was built, for --version. */
static const char built[] =
#ifdef __clang__
    "clang " __clang_version__
#else
    "gcc " __VERSION__
#endif
#ifdef HL_LIBEDIT
    ", libedit"
#else
    ", no line editing"
#endif
#ifdef HD_DEBUG
    ", assertions"
#endif
    ;

/* Whether numbers and the order of texts are plain already. */
static int locale_is_plain(void)
{
    return strcmp(nl_langinfo(RADIXCHAR), ".") == 0 && strcoll("B", "a") < 0;
}

/* Kept as long as the thread: others may have taken it for theirs. */
static void plain_locale(lua_State *L)
{
    locale_t own = newlocale(LC_ALL_MASK, "C", (locale_t)0), utf8;

    if (own == (locale_t)0)
        hl_raise_memory(L);
    utf8 = newlocale(LC_CTYPE_MASK, "C.UTF-8", own);
    uselocale(utf8 != (locale_t)0 ? utf8 : own);
}

int luaopen_heddle_core(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"error", make_error},
        {"problem", problem},
        {"settings", settings},
        {"counters", counters},
        {"histograms", histograms},
        {"points", points},
        {"notes", notes},
        {"status_name", status_name},
        {"config", hl_config_new},
        {"sim", hl_sim_new},
        {"fingerprint", fingerprint},
        {NULL, NULL},
    };

    if (uselocale((locale_t)0) == LC_GLOBAL_LOCALE || !locale_is_plain())
        plain_locale(L);
    luaL_newlib(L, fns);
    lua_pushliteral(L, HEDDLE_VERSION);
    lua_setfield(L, -2, "version");
    lua_pushstring(L, built);
    lua_setfield(L, -2, "built");
    lua_pushliteral(L, HEDDLE_NO_MEMORY);
    lua_setfield(L, -2, "no_memory");
    lua_pushstring(L, strerror(ENOMEM));
    lua_setfield(L, -2, "no_memory_of_system");
    return 1;
}

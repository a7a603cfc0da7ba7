/*
 * main.c - the command: a Lua state, the embedded scripts, signals, and the
 * exit status.
 *
 * Everything a user sees (options, commands, messages) is in Lua, from
 * lua/heddle/tools/cli.lua on; this file does what Lua cannot.  SIGINT
 * (Ctrl-C), SIGTERM and SIGHUP stop the simulation that runs at its next
 * event, or the script at its next instruction; a second Ctrl-C ends the
 * process at once.  A SIGHUP that was ignored when the command began (nohup)
 * stays so.  SIGPIPE keeps its default, so that `heddle ... | head` ends
 * quietly.
 *
 * Exit: what cli.lua returns (sysexits; 128 and the signal), 71 without memory,
 * 74 when standard output cannot be written.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>
#include <lualib.h>

#include "lua/lheddle.h"

enum { EXIT_SOFTWARE = 70, EXIT_OS = 71, EXIT_IO = 74, EXIT_SIGNAL = 128 };

/*
 * A signal handler has no argument, so what it needs is here: the one
 * mutable variable of the program; a print that fails is noted in it, too.  The
 * library has none.
 */
static struct {
    struct hl_interrupt in;
    lua_State *L;
    int unwritten; /* errno of the first print that failed */
} live;

static void raise_interrupt(lua_State *L, lua_Debug *ar)
{
    (void)ar;
    lua_sethook(L, NULL, 0, 0);
    hl_raise(L, HL_EINTERRUPT, "interrupted");
}

static void on_interrupt(int sig)
{
    int mask = LUA_MASKCALL | LUA_MASKRET | LUA_MASKLINE | LUA_MASKCOUNT;
    int again = live.in.hit;

    if (!hl_interrupt_by(&live.in, sig))
        return;
    if (again)
        _exit(EXIT_SIGNAL + sig);
    if (live.in.running)
        heddle_stop(live.in.running);
    else
        lua_sethook(live.L, raise_interrupt, mask, 1);
}

static void catch_signals(void)
{
    static const int signals[] = {SIGHUP, SIGINT, SIGTERM};
    struct sigaction sa;

    sigaction(SIGHUP, NULL, &sa);
    int from = sa.sa_handler == SIG_IGN;
    memset(&sa, 0, sizeof sa);
    sa.sa_handler = on_interrupt; /* no SA_RESTART: a read in a REPL ends */
    sigemptyset(&live.in.signals);
    for (int i = from; i < 3; i++) {
        sigaddset(&live.in.signals, signals[i]);
        sigaction(signals[i], &sa, NULL);
    }
}

/* core.interrupted([clear]) -> whether a signal has come; the last one */
static int main_interrupted(lua_State *L)
{
    int hit = live.in.hit;

    if (lua_toboolean(L, 1))
        live.in.hit = 0;
    lua_pushboolean(L, hit);
    lua_pushinteger(L, live.in.by);
    return 2;
}

/* print, as Lua has it; C's own stream forgets why a write failed */
static int main_print(lua_State *L)
{
    int n = lua_gettop(L), bad = 0;
    size_t len;

    for (int i = 1; i <= n; i++) {
        const char *s = luaL_tolstring(L, i, &len);
        bad |=
            (i > 1 && putchar('\t') == EOF) || fwrite(s, 1, len, stdout) != len;
        lua_pop(L, 1);
    }
    bad |= putchar('\n') == EOF || fflush(stdout) != 0;
    if (bad && live.unwritten == 0)
        live.unwritten = errno;
    return 0;
}

static int traceback(lua_State *L)
{
    if (lua_isstring(L, 1) && !hl_is_no_memory(L, 1))
        luaL_traceback(L, L, hl_shown(L, 1), 1);
    return 1;
}

/* Protected: loads heddle.cli and calls main(arg). */
static int main_start(lua_State *L)
{
    int argc = (int)lua_tointeger(L, 1), i;
    char **argv = lua_touserdata(L, 2);

    luaL_openlibs(L);
    lua_pushcfunction(L, main_print);
    lua_setglobal(L, "print");
    lua_pushlightuserdata(L, &live.in);
    lua_setfield(L, LUA_REGISTRYINDEX, HL_INTERRUPT);
    hl_embed_preload(L);
    lua_getglobal(L, "require");
    lua_pushliteral(L, "heddle.core");
    lua_call(L, 1, 1);
    hl_set_function(L, "interrupted", main_interrupted);
    lua_pop(L, 1);
    lua_createtable(L, argc, 1); /* arg */
    for (i = 0; i < argc; i++) {
        lua_pushstring(L, argv[i]);
        lua_rawseti(L, -2, i);
    }
    lua_pushvalue(L, -1);
    lua_setglobal(L, "arg");
    lua_getglobal(L, "require"); /* arg require */
    lua_pushliteral(L, "heddle.cli");
    lua_call(L, 1, 1);           /* arg cli */
    lua_getfield(L, -1, "main"); /* arg cli main */
    lua_pushvalue(L, -3);
    lua_call(L, 1, 1);
    return 1;
}

/* Of an error that cli.lua did not catch: memory has run out or, before its
 * first line, a signal. */
static const char *main_text_of(lua_State *L)
{
    if (!lua_isstring(L, -1)) {
        lua_getglobal(L, "tostring");
        lua_insert(L, -2);
        lua_pcall(L, 1, 1, 0);
    }
    return lua_isstring(L, -1) ? lua_tostring(L, -1) : "an error";
}

int main(int argc, char **argv)
{
    lua_State *L = luaL_newstate();
    const char *why;
    int status;

    if (!L) {
        fputs("heddle: " HEDDLE_NO_MEMORY "\n", stderr);
        return EXIT_OS;
    }
    live.L = L;
    catch_signals();
    lua_pushcfunction(L, traceback);
    lua_pushcfunction(L, main_start);
    lua_pushinteger(L, argc);
    lua_pushlightuserdata(L, argv);
    if (lua_pcall(L, 2, 1, 1) == LUA_OK) {
        status = (int)lua_tointeger(L, -1);
    } else {
        status = hl_is_no_memory(L, -1) ? EXIT_OS
                 : live.in.hit          ? EXIT_SIGNAL + live.in.by
                                        : EXIT_SOFTWARE;
        fprintf(stderr, "heddle: %s\n", main_text_of(L));
    }
    lua_close(L);
    why = hl_flush();
    if (why && status == 0) {
        if (live.unwritten != 0)
            why = strerror(live.unwritten);
        fprintf(stderr, "heddle: standard output: %s\n", why);
        status = EXIT_IO;
    }
    return status;
}

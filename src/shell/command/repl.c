/*
 * repl.c - the module "heddle.edit": lines from a terminal, with editing,
 * history and completion, for lua/heddle/tools/repl.lua.
 *
 *     e = edit.open(complete)   nil where the command has no line editor
 *     e:read(prompt)            the line; nil at its end (Ctrl-D), false
 *                               after Ctrl-C, which clears the line, and after
 *                               the other signals that interrupt
 *     e:remember(text)          adds it to the history; it may have several
 * lines e:size()                  columns and rows of the terminal e:close()
 *
 * complete(text) is called for Tab with what stands left of the cursor; it
 * returns what to insert there and what to show below (each may be "").
 *
 * The editor is libedit.  It is not asked to catch signals: it would send
 * SIGINT once more to the whole process group.  Instead reading a character
 * is done here, so that a signal ends the read: SIGINT clears the line;
 * after SIGCONT (the terminal was another process's) and SIGWINCH the line is
 * drawn again.  Nothing in here raises while libedit is on the C stack.
 *
 * A text of several lines that comes from the history is edited as one: up and
 * down move in it, and in the history only past its first and last line; Return
 * gives all of it, Alt-Return begins a new line.  libedit's own ed-prev-line
 * fails where there is no line above and cannot be followed by another command,
 * so a key of ours moves, or else pushes a key that no terminal sends and that
 * is bound to the history.  ~/.editrc, read last, may bind all of them again.
 *
 * SPDX-License-Identifier: MIT
 */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>
#include <wchar.h>

#include <lauxlib.h>
#include <lua.h>

#ifdef HL_LIBEDIT
#include <histedit.h>
#endif

#include "lua/lheddle.h"

#ifdef HL_LIBEDIT

#define EDIT "heddle.edit"

enum { HISTORY = 2000 };

struct edit {
    EditLine *el; /* NULL once closed */
    History *history;
    lua_State *L; /* of the call in progress */
    int complete; /* registry reference */
    const char *prompt;
    struct hl_interrupt *in; /* may be NULL */
};

static struct edit *repl_self(lua_State *L)
{
    struct edit *e = luaL_checkudata(L, 1, EDIT);

    luaL_argcheck(L, e->el != NULL, 1, "this editor was closed");
    return e;
}

static struct edit *client(EditLine *el)
{
    struct edit *e = NULL;

    el_get(el, EL_CLIENTDATA, &e);
    return e;
}

static char *prompt_of(EditLine *el)
{
    return (char *)client(el)->prompt;
}

/* ---- signals -------------------------------------------------------------- */

static void repl_wake(int sig)
{
    (void)sig;
}

/* While a line is read, these end a read(2). */
static const int wakers[] = {SIGCONT, SIGWINCH};

enum { WAKERS = sizeof wakers / sizeof *wakers };

static void catch_wakers(struct sigaction *old)
{
    struct sigaction sa;

    memset(&sa, 0, sizeof sa);
    sa.sa_handler = repl_wake;
    sigemptyset(&sa.sa_mask);
    for (int i = 0; i < WAKERS; i++)
        sigaction(wakers[i], &sa, &old[i]);
}

static void release_wakers(const struct sigaction *old)
{
    for (int i = 0; i < WAKERS; i++)
        sigaction(wakers[i], &old[i], NULL);
}

static int was_hit(const struct edit *e)
{
    return e->in && e->in->hit;
}

/* ---- characters ----------------------------------------------------------- */

/* One byte: 1, 0 at the end of the input, -1 after Ctrl-C or an error. */
static int get_byte(EditLine *el, char *c)
{
    struct edit *e = client(el);

    for (;;) {
        ssize_t n;

        if (was_hit(e)) {
            errno = EINTR;
            return -1;
        }
        n = read(STDIN_FILENO, c, 1);
        if (n >= 0)
            return (int)n;
        if (errno != EINTR)
            return -1;
        if (!was_hit(e)) { /* another size, or back from the background */
            el_set(el, EL_PREP_TERM, 0);
            el_set(el, EL_PREP_TERM, 1);
            el_resize(el);
            el_set(el, EL_REFRESH);
        }
    }
}

static int is_empty(EditLine *el)
{
    const LineInfo *line = el_line(el);

    return line->lastchar == line->buffer;
}

/* One character of the locale.  A byte that is none stands for itself.  A NUL
 * on an empty line is what the terminal made of a Ctrl-D that was typed ahead,
 * before the editor had it. */
static int get_char(EditLine *el, wchar_t *out)
{
    mbstate_t state;
    char c;

    memset(&state, 0, sizeof state);
    for (;;) {
        int n = get_byte(el, &c);
        size_t used;

        if (n <= 0)
            return n;
        used = mbrtowc(out, &c, 1, &state);
        if (used == (size_t)-2)
            continue;
        if (used == (size_t)-1)
            *out = (unsigned char)c;
        else if (used == 0)
            *out = is_empty(el) ? L'\004' : L'\0';
        return 1;
    }
}

/* ---- completion ----------------------------------------------------------- */

/* Calls complete(text): leaves two values on the stack, or none. */
static int repl_ask(struct edit *e, const LineInfo *line)
{
    lua_State *L = e->L;

    if (!lua_checkstack(L, 8))
        return 0;
    lua_rawgeti(L, LUA_REGISTRYINDEX, e->complete);
    lua_pushlstring(L, line->buffer, (size_t)(line->cursor - line->buffer));
    if (lua_pcall(L, 1, 2, 0) != LUA_OK) {
        lua_pop(L, 1);
        return 0;
    }
    return 1;
}

static unsigned char repl_complete(EditLine *el, int key)
{
    struct edit *e = client(el);
    unsigned char result = CC_ERROR;
    const char *insert, *below;

    (void)key;
    if (!repl_ask(e, el_line(el)))
        return CC_ERROR;
    insert = lua_tostring(e->L, -2);
    below = lua_tostring(e->L, -1);
    if (insert && *insert && el_insertstr(el, insert) == 0)
        result = CC_REFRESH;
    if (below && *below) {
        printf("\n%s\n", below);
        fflush(stdout);
        result = CC_REDISPLAY;
    }
    lua_pop(e->L, 2);
    return result;
}

/* ---- several lines -------------------------------------------------------- */

/* What stands for the history's keys, which custom functions cannot call. */
#define PREV_KEY "\033[heddle-prev"
#define NEXT_KEY "\033[heddle-next"

/* Where the line with `at` in it begins. */
static const char *line_of(const LineInfo *l, const char *at)
{
    while (at > l->buffer && at[-1] != '\n')
        at--;
    return at;
}

/* Characters, not bytes, from `a` to `b`. */
static int characters(const char *a, const char *b)
{
    int n = 0;

    for (; a < b; a++)
        n += ((unsigned char)*a & 0xc0) != 0x80 || MB_CUR_MAX == 1;
    return n;
}

/* `at`, so many characters on, or where its line ends. */
static const char *along(const LineInfo *l, const char *at, int n)
{
    while (at < l->lastchar && *at != '\n' &&
           characters(at, at + 1) <= n) {
        n -= characters(at, at + 1);
        at++;
    }
    return at;
}

static unsigned char go_to(EditLine *el, const LineInfo *l, const char *to)
{
    int by = to < l->cursor ? -characters(to, l->cursor)
                            : characters(l->cursor, to);

    el_cursor(el, by);
    return CC_CURSOR;
}

static unsigned char up(EditLine *el, int key)
{
    const LineInfo *l = el_line(el);
    const char *here = line_of(l, l->cursor);

    (void)key;
    if (here == l->buffer) {
        el_push(el, PREV_KEY);
        return CC_NORM;
    }
    return go_to(el, l,
                 along(l, line_of(l, here - 1), characters(here, l->cursor)));
}

static unsigned char down(EditLine *el, int key)
{
    const LineInfo *l = el_line(el);
    const char *next = l->cursor;

    (void)key;
    while (next < l->lastchar && *next != '\n')
        next++;
    if (next == l->lastchar) {
        el_push(el, NEXT_KEY);
        return CC_NORM;
    }
    return go_to(el, l,
                 along(l, next + 1, characters(line_of(l, l->cursor), l->cursor)));
}

static unsigned char newline(EditLine *el, int key)
{
    (void)key;
    return el_insertstr(el, "\n") == 0 ? CC_REFRESH : CC_ERROR;
}

/* wide, because el_set would leak its copies of the texts */
static void bind_keys(EditLine *el)
{
    el_wset(el, EL_ADDFN, L"heddle-complete", L"complete a name",
            repl_complete);
    el_wset(el, EL_ADDFN, L"heddle-up", L"to the line above", up);
    el_wset(el, EL_ADDFN, L"heddle-down", L"to the line below", down);
    el_wset(el, EL_ADDFN, L"heddle-newline", L"begin a new line", newline);
    el_set(el, EL_BIND, "^I", "heddle-complete", NULL);
    el_set(el, EL_BIND, "^R", "em-inc-search-prev", NULL);
    el_set(el, EL_BIND, PREV_KEY, "ed-prev-history", NULL);
    el_set(el, EL_BIND, NEXT_KEY, "ed-next-history", NULL);
    el_set(el, EL_BIND, "^P", "heddle-up", NULL);
    el_set(el, EL_BIND, "^N", "heddle-down", NULL);
    el_set(el, EL_BIND, "\033[A", "heddle-up", NULL);
    el_set(el, EL_BIND, "\033OA", "heddle-up", NULL);
    el_set(el, EL_BIND, "\033[B", "heddle-down", NULL);
    el_set(el, EL_BIND, "\033OB", "heddle-down", NULL);
    el_set(el, EL_BIND, "\033^M", "heddle-newline", NULL);
    el_set(el, EL_BIND, "\033^J", "heddle-newline", NULL);
}

/* ---- the object ----------------------------------------------------------- */

static void begin_history(struct edit *e)
{
    HistEvent ev;

    e->history = history_init();
    if (!e->history)
        return;
    history(e->history, &ev, H_SETSIZE, HISTORY);
    history(e->history, &ev, H_SETUNIQUE, 1);
    el_set(e->el, EL_HIST, history, e->history);
}

static int edit_close(lua_State *L)
{
    struct edit *e = luaL_checkudata(L, 1, EDIT);

    if (e->el)
        el_end(e->el);
    if (e->history)
        history_end(e->history);
    if (e->complete != LUA_NOREF)
        luaL_unref(L, LUA_REGISTRYINDEX, e->complete);
    e->el = NULL;
    e->history = NULL;
    e->complete = LUA_NOREF;
    return 0;
}

/* e:read(prompt) */
static int edit_read(lua_State *L)
{
    struct edit *e = repl_self(L);
    struct sigaction old[WAKERS];
    const char *line;
    int n = 0;

    e->prompt = luaL_checkstring(L, 2);
    e->L = L;
    fflush(stdout);
    catch_wakers(old);
    el_resize(e->el);
    el_set(e->el, EL_PREP_TERM, 1); /* before the prompt is there */
    errno = 0;
    line = el_gets(e->el, &n);
    release_wakers(old);
    if (was_hit(e)) {
        lua_sethook(L, NULL, 0, 0);
        e->in->hit = 0;
        fputs(e->in->by == SIGINT ? "^C\n" : "\n", stdout);
        lua_pushboolean(L, 0);
    } else if (!line || n <= 0) {
        lua_pushnil(L);
    } else {
        lua_pushlstring(L, line, (size_t)n - (line[n - 1] == '\n'));
    }
    return 1;
}

/* e:remember(text) */
static int edit_remember(lua_State *L)
{
    struct edit *e = repl_self(L);
    const char *line = luaL_checkstring(L, 2);
    HistEvent ev;

    if (e->history)
        history(e->history, &ev, H_ENTER, line);
    return 0;
}

/* e:size() */
static int edit_size(lua_State *L)
{
    struct edit *e = repl_self(L);
    int columns = 80, rows = 24;

    if (el_get(e->el, EL_GETTC, "co", &columns, NULL) != 0 || columns < 20)
        columns = 80;
    if (el_get(e->el, EL_GETTC, "li", &rows, NULL) != 0 || rows < 4)
        rows = 24;
    lua_pushinteger(L, columns);
    lua_pushinteger(L, rows);
    return 2;
}

static const luaL_Reg methods[] = {
    {"read", edit_read},
    {"remember", edit_remember},
    {"size", edit_size},
    {"close", edit_close},
    {NULL, NULL},
};

/* edit.open(complete) */
static int edit_open(lua_State *L)
{
    struct edit *e;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    e = lua_newuserdatauv(L, sizeof *e, 0);
    memset(e, 0, sizeof *e);
    e->complete = LUA_NOREF;
    hl_class(L, EDIT, edit_close, methods);
    e->in = hl_interrupt_of(L);
    e->el = el_init("heddle", stdin, stdout, stderr);
    if (!e->el) {
        lua_pushnil(L);
        return 1;
    }
    lua_pushvalue(L, 1);
    e->complete = luaL_ref(L, LUA_REGISTRYINDEX);
    el_set(e->el, EL_CLIENTDATA, e);
    el_set(e->el, EL_PROMPT, prompt_of);
    el_set(e->el, EL_GETCFN, get_char);
    el_set(e->el, EL_EDITOR, "emacs");
    bind_keys(e->el);
    begin_history(e);
    el_source(e->el, NULL);
    return 1;
}

#else

static int edit_open(lua_State *L)
{
    lua_pushnil(L);
    return 1;
}

#endif

int luaopen_heddle_edit(lua_State *L);

int luaopen_heddle_edit(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"open", edit_open},
        {NULL, NULL},
    };

    luaL_newlib(L, fns);
    return 1;
}

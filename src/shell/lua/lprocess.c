/*
 * lprocess.c - the module "heddle.process": what the Lua half needs of POSIX.
 *
 * Most of it is children: functions that run in processes of their own.
 *
 *     process.children(function(group)
 *         group:start(key, fn)   true; false: the system has none to give now
 *         group:wait(seconds)    "ended", key, text, how   (how: nil, or what
 *                                went wrong with the process)
 *                                "interrupted" (Ctrl-C, SIGTERM, SIGHUP;
 * reported once), "waiting" (so long also where there are none) group:count()
 * how many there are group:stop()           asks all to stop, as Ctrl-C does
 *     end)
 *
 * A child.  Signals are blocked around the fork and come through only inside
 * the child's protected call of fn, whose text goes to the parent; after it,
 * whatever came of it, the child ends.  So it never runs a line of what its
 * parent was about to do.  It holds no pipe but its own, reads nothing
 * (/dev/null), is a process group of its own with whatever it starts, and ends
 * with its parent, together with what it started (SIGTERM, which waits where a
 * file is being renamed).
 *
 * The parent.  As long as children() lasts, the signals that interrupt (in a
 * host program that names none, SIGINT) are blocked and read from a descriptor
 * (signalfd) as well as the pipes, hence can neither break off what the caller
 * does with a result nor be missed.  A child's text is read as it comes, and
 * the child is waited for when its pipe ends.  Those that were asked to stop
 * and continue are ended after some seconds (fewer for children of children, so
 * that each has told its parent before that is ended itself).  A second Ctrl-C
 * ends them, and in the command the process, at once.  However children() is
 * left, none remains.
 *
 * Used by the Lua half only; policies and applications never see it.  The wall
 * clock is for progress lines.  lua-posix has no signalfd, no signal mask and
 * no PR_SET_PDEATHSIG, and the rest alone is no reason to need it at run time.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/ioctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "lheddle.h"

#define GROUP  "heddle.process.group"
#define FAMILY "heddle.process.family"

/* Seconds that a child has between being asked to stop and its end, in the
 * first process; half of it in each below.  A guess. */
#define GRACE 4.0

enum { EXIT_SOFTWARE = 70, EXIT_SIGNAL = 128, CHUNK = 65536 };
enum { MOST = 256 }; /* children at a time; more are told to wait */

int luaopen_heddle_process(lua_State *L);

static int lprocess_fail(lua_State *L, const char *what)
{
    return hl_raisef(L, HEDDLE_EIO, "%s: %s", what, strerror(errno));
}

/* process.isatty(fd) */
static int is_tty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* process.columns(fd): the width of the terminal that it is, 80 if that does not
 * say; nil: it is no terminal */
static int columns(lua_State *L)
{
    int fd = (int)luaL_checkinteger(L, 1);
    struct winsize size = {0};

    if (!isatty(fd)) {
        return 0;
    }
#ifdef TIOCGWINSZ
    if (ioctl(fd, TIOCGWINSZ, &size) != 0) {
        size.ws_col = 0;
    }
#endif
    lua_pushinteger(L, size.ws_col > 0 ? size.ws_col : 80);
    return 1;
}

/* process.time() -> seconds of a clock that only goes forward */
static int now(lua_State *L)
{
    lua_pushnumber(L, hl_seconds());
    return 1;
}

/* process.cpus() */
static int cpus(lua_State *L)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    lua_pushinteger(L, n > 0 ? n : 1);
    return 1;
}

/* ---- children ------------------------------------------------------------- */

struct kid {
    pid_t pid;
    int fd;
    lua_Integer key;
    char *text;
    size_t n, room;
};

/* What a process knows of its relatives; in the registry. */
struct family {
    struct group *group; /* that lasts; the innermost */
    int up;              /* the pipe to its own parent, or -1 */
    int level;           /* 0: the first process */
};

struct group {
    struct family *family;
    struct group *outer;
    struct hl_interrupt *in; /* may be NULL */
    struct kid kid[MOST];
    struct pollfd poll[MOST + 1]; /* the signals, then the kids */
    size_t n;
    int signals;  /* descriptor; -1 once the group is over */
    sigset_t old; /* signals that were blocked before */
    int hits;     /* signals that say stop */
    bool reported;
    double end_at; /* when those that still run are ended */
};

static struct group *lprocess_self(lua_State *L)
{
    struct group *g = luaL_checkudata(L, 1, GROUP);

    luaL_argcheck(L, g->signals >= 0, 1, "this group is over");
    return g;
}

/* A signal for a child and what it started. */
static void lprocess_send(const struct group *g, int sig)
{
    for (size_t i = 0; i < g->n; i++) {
        kill(-g->kid[i].pid, sig);
        kill(-g->kid[i].pid, SIGCONT);
    }
}

/* Collects child i, which is no more on the list; returns its status. */
static int reap(struct group *g, size_t i)
{
    struct kid k = g->kid[i];
    int status = 0;

    close(k.fd);
    free(k.text);
    while (waitpid(k.pid, &status, 0) < 0 && errno == EINTR)
        ;
    g->kid[i] = g->kid[--g->n];
    return status;
}

static void end_all(struct group *g)
{
    lprocess_send(g, SIGTERM);
    while (g->n > 0)
        reap(g, g->n - 1);
}

/* Takes a signal that came; a second Ctrl-C waits for no child any more. */
static void take_signals(struct group *g)
{
    struct signalfd_siginfo info;

    if (read(g->signals, &info, sizeof info) != sizeof info ||
        (g->in && !hl_interrupt_by(g->in, (int)info.ssi_signo)))
        return;
    g->hits++;
    if (g->hits > 1) {
        end_all(g);
        if (g->in)
            _exit(EXIT_SIGNAL + (int)info.ssi_signo);
    }
}

/* ---- the child ------------------------------------------------------------ */

struct body {
    sigset_t mask;
    int fd;
};

static void lprocess_write_all(lua_State *L, int fd, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t did = write(fd, p, n);

        if (did < 0 && errno == EINTR)
            continue;
        if (did < 0)
            lprocess_fail(L, "write");
        p += did;
        n -= (size_t)did;
    }
}

/* [1] fn [2] struct body */
static int run_body(lua_State *L)
{
    const struct body *b = lua_touserdata(L, 2);
    const char *text;
    size_t n;

    lua_settop(L, 1);
    sigprocmask(SIG_SETMASK, &b->mask, NULL);
    lua_call(L, 0, 1);
    text = luaL_checklstring(L, 1, &n);
    lprocess_write_all(L, b->fd, text, n);
    return 0;
}

/* Holds nothing of what its parent has for its other children and its own. */
static void let_go(struct family *f)
{
    for (struct group *g = f->group; g; g = g->outer) {
        for (size_t i = 0; i < g->n; i++)
            close(g->kid[i].fd);
        close(g->signals);
        g->signals = -1;
        g->n = 0;
    }
    if (f->up >= 0)
        close(f->up);
}

/* With what the child has started. */
static void end_group(int sig)
{
    signal(sig, SIG_DFL);
    if (getpgrp() == getpid())
        kill(0, sig);
    else
        raise(sig);
}

/* All of the child, with all signals blocked; never returns. */
static void lprocess_live(lua_State *L, struct group *g, pid_t parent, int fd)
{
    struct family *f = g->family;
    struct body b = {.mask = g->old, .fd = fd};
    int null, rc;

    for (struct group *o = g; o; o = o->outer)
        b.mask = o->old;
    setpgid(0, 0);
    signal(SIGTERM, end_group);
    if (g->in)
        sigdelset(&g->in->signals, SIGTERM);
    prctl(PR_SET_PDEATHSIG, SIGTERM);
    if (getppid() != parent)
        _exit(EXIT_SIGNAL + SIGTERM);
    let_go(f);
    f->group = NULL;
    f->up = fd;
    f->level++;
    if (g->in)
        g->in->running = NULL;
    null = open("/dev/null", O_RDONLY);
    if (null > 0) {
        dup2(null, STDIN_FILENO);
        close(null);
    }
    lua_pushcfunction(L, run_body);
    lua_pushvalue(L, 3);
    lua_pushlightuserdata(L, &b);
    rc = lua_pcall(L, 2, 0, 0);
    fflush(NULL);
    _exit(rc == LUA_OK            ? 0
          : g->in && g->in->hit ? EXIT_SIGNAL + g->in->by
                                : EXIT_SOFTWARE);
}

/* ---- the parent ----------------------------------------------------------- */

/* Forks; the parent's end of the pipe, or -1. */
static int spawn(lua_State *L, struct group *g, pid_t *pid)
{
    pid_t parent = getpid();
    int fd[2];

    if (pipe(fd) != 0)
        return -1;
    fcntl(fd[0], F_SETFD, FD_CLOEXEC);
    fcntl(fd[1], F_SETFD, FD_CLOEXEC);
    *pid = fork();
    if (*pid == 0) {
        close(fd[0]);
        lprocess_live(L, g, parent, fd[1]);
    }
    close(fd[1]);
    if (*pid > 0) {
        setpgid(*pid, *pid); /* parent or child, whichever comes first */
        return fd[0];
    }
    close(fd[0]);
    return -1;
}

/* group:start(key, fn) */
static int group_start(lua_State *L)
{
    struct group *g = lprocess_self(L);
    lua_Integer key = luaL_checkinteger(L, 2);
    sigset_t all, before;
    pid_t pid = -1;
    int fd, no;

    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 3);
    luaL_checkstack(L, 8, NULL);
    if (g->n == MOST)
        return 0;
    fflush(NULL);
    sigfillset(&all);
    sigprocmask(SIG_SETMASK, &all, &before);
    errno = 0;
    fd = spawn(L, g, &pid);
    no = errno;
    if (fd >= 0)
        g->kid[g->n++] = (struct kid){.pid = pid, .fd = fd, .key = key};
    sigprocmask(SIG_SETMASK, &before, NULL);
    errno = no;
    if (fd < 0 && (g->n == 0 || (no != EAGAIN && no != EMFILE && no != ENFILE &&
                                 no != ENOMEM)))
        return lprocess_fail(L, "a process cannot be started");
    lua_pushboolean(L, fd >= 0);
    return 1;
}

static int group_count(lua_State *L)
{
    lua_pushinteger(L, (lua_Integer)lprocess_self(L)->n);
    return 1;
}

static int group_stop(lua_State *L)
{
    struct group *g = lprocess_self(L);

    lprocess_send(g, SIGINT);
    g->end_at = hl_seconds() + ldexp(GRACE, -g->family->level);
    return 0;
}

/* What went wrong with a process, or nil. */
static void push_end(lua_State *L, int status)
{
    if (status == 0)
        lua_pushnil(L);
    else if (!WIFSIGNALED(status))
        lua_pushfstring(L, "its process ended early (status %d)",
                        WEXITSTATUS(status));
    else
        lua_pushfstring(L, "its process was killed (signal %d, %s%s)",
                        WTERMSIG(status), strsignal(WTERMSIG(status)),
                        WTERMSIG(status) == SIGKILL
                            ? ", as when memory runs out" : "");
}

/* Reads what child i has written; false at its end. */
static bool take_text(lua_State *L, struct kid *k)
{
    ssize_t n;

    if (k->room - k->n < CHUNK) {
        size_t room = 2 * k->room + CHUNK;
        char *text = realloc(k->text, room);
        if (!text)
            hl_raise_memory(L);
        k->text = text;
        k->room = room;
    }
    n = read(k->fd, k->text + k->n, k->room - k->n);
    if (n > 0)
        k->n += (size_t)n;
    return n > 0 || (n < 0 && (errno == EINTR || errno == EAGAIN));
}

/* Waits until something comes or the time is over. */
static void sleep_until(struct group *g, double limit)
{
    double left = ceil((limit - hl_seconds()) * 1000);

    g->poll[0] = (struct pollfd){.fd = g->signals, .events = POLLIN};
    for (size_t i = 0; i < g->n; i++)
        g->poll[i + 1] = (struct pollfd){.fd = g->kid[i].fd, .events = POLLIN};
    if (poll(g->poll, (nfds_t)(g->n + 1), left > 0 ? (int)fmin(left, 1e6) : 0) <
        0) {
        for (size_t i = 0; i <= g->n; i++)
            g->poll[i].revents = 0;
    }
}

/* group:wait([seconds]) */
static int group_wait(lua_State *L)
{
    struct group *g = lprocess_self(L);
    double until = hl_seconds() + luaL_optnumber(L, 2, HUGE_VAL);

    while (g->n > 0 || isfinite(until)) {
        if (g->hits > 0 && !g->reported) {
            g->reported = true;
            lua_pushliteral(L, "interrupted");
            return 1;
        }
        sleep_until(g, fmin(until, g->end_at));
        if (g->poll[0].revents) {
            take_signals(g);
            continue;
        }
        for (size_t i = 0; i < g->n; i++) {
            struct kid *k = &g->kid[i];
            if (g->poll[i + 1].revents == 0 || take_text(L, k))
                continue;
            lua_pushliteral(L, "ended");
            lua_pushinteger(L, k->key);
            lua_pushlstring(L, k->text, k->n);
            push_end(L, reap(g, i));
            return 4;
        }
        if (hl_seconds() >= g->end_at) {
            lprocess_send(g, SIGTERM);
            g->end_at = HUGE_VAL;
        }
        if (hl_seconds() >= until)
            break;
    }
    lua_pushliteral(L, "waiting");
    return 1;
}

/* Signals come to the group from here on; -1: that cannot be had. */
static int lprocess_hold(lua_State *L, struct group *g)
{
    sigset_t set;

    hl_interrupt_signals(L, &set);
    g->signals = signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK);
    if (g->signals < 0)
        return -1;
    sigprocmask(SIG_BLOCK, &set, &g->old);
    g->hits = g->in && g->in->hit;
    g->outer = g->family->group;
    g->family->group = g;
    return 0;
}

static void lprocess_release(struct group *g)
{
    end_all(g);
    close(g->signals);
    g->signals = -1;
    g->family->group = g->outer;
    sigprocmask(SIG_SETMASK, &g->old, NULL);
}

/* process.children(fn): calls fn(group) */
static int children(lua_State *L)
{
    static const luaL_Reg methods[] = {
        {"start", group_start}, {"wait", group_wait}, {"count", group_count},
        {"stop", group_stop},   {NULL, NULL},
    };
    struct group *g;
    int rc;

    luaL_checktype(L, 1, LUA_TFUNCTION);
    lua_settop(L, 1);
    g = lua_newuserdatauv(L, sizeof *g, 0);
    *g = (struct group){.signals = -1, .end_at = HUGE_VAL};
    hl_class(L, GROUP, NULL, methods);
    g->in = hl_interrupt_of(L);
    lua_getfield(L, LUA_REGISTRYINDEX, FAMILY);
    g->family = lua_touserdata(L, -1);
    lua_pop(L, 1);
    if (lprocess_hold(L, g) != 0)
        return lprocess_fail(L, "processes cannot be started");
    rc = lua_pcall(L, 1, 0, 0);
    lprocess_release(g);
    return rc == LUA_OK ? 0 : lua_error(L);
}

/* ---- files ---------------------------------------------------------------- */

/* process.save(path [, text]): a file whole or not at all; without a text only
 * whether it could be made */
static int lprocess_save(lua_State *L)
{
    const char *path = hl_text(L, 1);
    size_t n = 0;
    const char *text = luaL_optlstring(L, 2, NULL, &n);
    char error[1024];
    int rc = heddle_save(path, text, n, error, sizeof error);

    return rc != 0 ? hl_raise(L, rc, error) : 0;
}

/* process.flush(): raises unless all that was printed is written */
static int lprocess_flush(lua_State *L)
{
    const char *why = hl_flush();

    return why ? hl_raisef(L, HEDDLE_EIO, "standard output: %s", why) : 0;
}

/* process.output(file): standard output goes there from here on */
static int output_to(lua_State *L)
{
    luaL_Stream *s = luaL_checkudata(L, 1, LUA_FILEHANDLE);

    luaL_argcheck(L, s->closef, 1, "this file was closed");
    fflush(stdout);
    if (dup2(fileno(s->f), STDOUT_FILENO) < 0)
        return lprocess_fail(L, "standard output");
    return 0;
}

/* process.mkdir(path): a directory and those above it; one that exists is fine
 */
static int make_dir(lua_State *L)
{
    char path[4096];
    size_t n;
    const char *given = luaL_checklstring(L, 1, &n);

    if (n == 0 || n >= sizeof path)
        return luaL_error(L, "%s: a path of 1 to 4095 bytes is expected",
                          given);
    memcpy(path, given, n + 1);
    for (char *at = path; at != NULL;) {
        at = strchr(at + 1, '/');
        if (at != NULL)
            *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST)
            return hl_raisef(L, HEDDLE_ECREATE, "%s: %s", path,
                             strerror(errno));
        if (at != NULL)
            *at = '/';
    }
    return 0;
}

/* process.list(path) -> the names in a directory, in no order, without those
 * that begin with a dot; nil where it is none */
static int list_dir(lua_State *L)
{
    DIR *dir = opendir(hl_text(L, 1));
    struct dirent *e;
    lua_Integer n = 0;

    if (!dir)
        return 0;
    lua_newtable(L);
    while ((e = readdir(dir)) != NULL) {
        if (e->d_name[0] == '.')
            continue;
        lua_pushstring(L, e->d_name);
        lua_rawseti(L, -2, ++n);
    }
    closedir(dir);
    return 1;
}

int luaopen_heddle_process(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"isatty", is_tty},      {"time", now},
        {"cpus", cpus},          {"children", children},
        {"save", lprocess_save}, {"flush", lprocess_flush},
        {"output", output_to},   {"mkdir", make_dir},
        {"list", list_dir},      {"columns", columns},
        {NULL, NULL}};
    struct family *f = lua_newuserdatauv(L, sizeof *f, 0);

    *f = (struct family){.up = -1};
    lua_setfield(L, LUA_REGISTRYINDEX, FAMILY);
    luaL_newlib(L, fns);
    return 1;
}

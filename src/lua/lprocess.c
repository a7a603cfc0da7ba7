/*
 * lprocess.c - the module "heddle.process": what the runner needs of POSIX.
 *
 * fork and pipe in one call, reading from whichever child speaks first, and
 * collecting exit statuses.  Used by the Lua half only; policies and
 * applications never see it.  The wall clock is for progress lines.
 *
 * SPDX-License-Identifier: MIT
 */
#include <dirent.h>
#include <errno.h>
#include <poll.h>
#include <signal.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "lheddle.h"

int luaopen_heddle_process(lua_State *L);

static int fail(lua_State *L, const char *what)
{
    lua_pushfstring(L, "%s: %s", what, strerror(errno));
    return hl_raise(L, HEDDLE_EIO, lua_tostring(L, -1));
}

/* process.isatty(fd) */
static int is_tty(lua_State *L)
{
    lua_pushboolean(L, isatty((int)luaL_checkinteger(L, 1)));
    return 1;
}

/* process.time() -> seconds of a clock that only goes forward */
static int now(lua_State *L)
{
    struct timespec t;

    clock_gettime(CLOCK_MONOTONIC, &t);
    lua_pushnumber(L, (lua_Number)t.tv_sec + (lua_Number)t.tv_nsec * 1e-9);
    return 1;
}

/* process.cpus() */
static int cpus(lua_State *L)
{
    long n = sysconf(_SC_NPROCESSORS_ONLN);

    lua_pushinteger(L, n > 0 ? n : 1);
    return 1;
}

/*
 * What a new child does first.  Ctrl-C goes to the parent only, which tells its
 * children; and a parent that ends without a word (a second Ctrl-C, a kill)
 * takes them with it, also when it was gone before the child could ask for
 * that.
 */
static void follow(pid_t parent)
{
    setpgid(0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(128 + SIGKILL);
}

/*
 * process.fork() -> 0, fd in the child (the end to write to); pid, fd in the
 * parent (the end to read from).
 */
static int fork_pipe(lua_State *L)
{
    int fd[2];
    pid_t parent, pid;

    fflush(NULL);
    if (pipe(fd) != 0)
        return fail(L, "pipe");
    parent = getpid();
    pid = fork();
    if (pid < 0) {
        int saved = errno;

        close(fd[0]);
        close(fd[1]);
        errno = saved;
        return fail(L, "fork");
    }
    if (pid == 0)
        follow(parent);
    close(fd[pid == 0 ? 0 : 1]);
    lua_pushinteger(L, pid);
    lua_pushinteger(L, fd[pid == 0 ? 1 : 0]);
    return 2;
}

/* process.write(fd, text): all of it */
static int write_all(lua_State *L)
{
    int fd = (int)luaL_checkinteger(L, 1);
    size_t n;
    const char *p = luaL_checklstring(L, 2, &n);

    while (n > 0) {
        ssize_t got = write(fd, p, n);

        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return fail(L, "write");
        p += got;
        n -= (size_t)got;
    }
    return 0;
}

/* process.read(fd) -> some bytes, or nil at the end */
static int read_some(lua_State *L)
{
    char buf[65536];
    ssize_t n = read((int)luaL_checkinteger(L, 1), buf, sizeof buf);

    if (n < 0 && errno == EINTR) {
        lua_pushliteral(L, "");
        return 1;
    }
    if (n < 0)
        return fail(L, "read");
    if (n == 0)
        lua_pushnil(L);
    else
        lua_pushlstring(L, buf, (size_t)n);
    return 1;
}

static int close_fd(lua_State *L)
{
    close((int)luaL_checkinteger(L, 1));
    return 0;
}

enum { MAX_POLL = 256 };

/* process.poll({fd, ...}, seconds) -> {fd, ...} that can be read; empty when
 * the time is over or a signal came */
static int poll_fds(lua_State *L)
{
    struct pollfd p[MAX_POLL];
    int timeout = (int)(luaL_checknumber(L, 2) * 1000);
    lua_Integer i, n, out = 0;

    luaL_checktype(L, 1, LUA_TTABLE);
    n = (lua_Integer)lua_rawlen(L, 1);
    luaL_argcheck(L, n <= MAX_POLL, 1, "too many files");
    for (i = 0; i < n; i++) {
        lua_rawgeti(L, 1, i + 1);
        p[i].fd = (int)lua_tointeger(L, -1);
        p[i].events = POLLIN;
        p[i].revents = 0;
        lua_pop(L, 1);
    }
    lua_newtable(L);
    if (poll(p, (nfds_t)n, timeout) <= 0)
        return 1;
    for (i = 0; i < n; i++) {
        if (!p[i].revents)
            continue;
        lua_pushinteger(L, p[i].fd);
        lua_rawseti(L, -2, ++out);
    }
    return 1;
}

/* process.wait(pid) -> exit status, or 128 + signal */
static int wait_pid(lua_State *L)
{
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);
    int status = 0;

    while (waitpid(pid, &status, 0) < 0) {
        if (errno != EINTR)
            return fail(L, "waitpid");
    }
    lua_pushinteger(L, WIFEXITED(status) ? WEXITSTATUS(status)
                                         : 128 + WTERMSIG(status));
    return 1;
}

/* process.kill(pid): asks a child to stop, as Ctrl-C does */
static int kill_pid(lua_State *L)
{
    pid_t pid = (pid_t)luaL_checkinteger(L, 1);

    luaL_argcheck(L, pid > 0, 1, "not a child");
    kill(pid, SIGINT);
    return 0;
}

/* process.exit(status): ends a child without the parent's clean-up */
static int exit_now(lua_State *L)
{
    fflush(NULL);
    _exit((int)luaL_optinteger(L, 1, 0));
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
    for (char *at = path + 1;; at++) {
        char c = *at;
        if (c != '/' && c != '\0')
            continue;
        *at = '\0';
        if (mkdir(path, 0777) != 0 && errno != EEXIST) {
            lua_pushfstring(L, "%s: %s", path, strerror(errno));
            return hl_raise(L, HEDDLE_ECREATE, lua_tostring(L, -1));
        }
        *at = c;
        if (c == '\0')
            return 0;
    }
}

/* process.list(path) -> the names in a directory, in no order, without those
 * that begin with a dot; nil where it is none */
static int list_dir(lua_State *L)
{
    DIR *dir = opendir(luaL_checkstring(L, 1));
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

/* process.output(path): standard output goes to a file from here on */
static int output_to(lua_State *L)
{
    const char *path = luaL_checkstring(L, 1);

    if (!freopen(path, "w", stdout)) {
        lua_pushfstring(L, "%s: %s", path, strerror(errno));
        return hl_raise(L, HEDDLE_ECREATE, lua_tostring(L, -1));
    }
    return 0;
}

int luaopen_heddle_process(lua_State *L)
{
    static const luaL_Reg fns[] = {
        {"isatty", is_tty},  {"time", now},         {"cpus", cpus},
        {"fork", fork_pipe}, {"write", write_all},  {"read", read_some},
        {"close", close_fd}, {"poll", poll_fds},    {"wait", wait_pid},
        {"kill", kill_pid},  {"exit", exit_now},    {"mkdir", make_dir},
        {"list", list_dir},  {"output", output_to}, {NULL, NULL},
    };

    luaL_newlib(L, fns);
    return 1;
}

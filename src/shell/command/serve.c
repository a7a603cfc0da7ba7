/*
 * serve.c - the module "heddle.serve": pages for a browser on the same machine.
 *
 *     serve.loop(port, ready, answer [, apart])
 *         port            0: one that is free
 *         ready(port)     called once, when it listens
 *         answer(path)    -> status, type, body; in answer to GET path
 *         apart           { [path] = true }: those that take long, which are
 *                         answered in processes of their own
 *
 * HTTP/1.0 as far as a browser, curl and a script need it: one request a
 * connection, GET alone, no body, no header that the caller sees.  It listens
 * on 127.0.0.1 and nowhere else, and answers a request only if its Host, which
 * HTTP/1.0 may leave out, is that address or localhost: a name that someone
 * else's page has turned into 127.0.0.1 is refused, so that no other page reads
 * this one.
 *
 * A client is not trusted.  What it sends has 8 KB of room and 10 seconds; what
 * it is sent has 10 seconds for each piece that it takes; MOST of them are
 * served at a time, side by side, and further ones wait in the kernel; of what
 * is answered apart, APART at a time, and further ones are asked to come again.
 * An answer that raises is status 500 with the error's text, and the loop
 * continues.
 *
 * Ctrl-C, SIGTERM and SIGHUP come through only where the loop waits, so they
 * never tear an answer, and end it; the caller's next line then raises
 * "interrupted", as everywhere.
 *
 * libmicrohttpd does all that and TLS, posts, sessions and threads as well, for
 * the price of GnuTLS; for a page that one person looks at, this is enough.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* ppoll, accept4 */
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <netinet/in.h>
#include <poll.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <lauxlib.h>
#include <lua.h>

#include "lua/lheddle.h"

#define SERVER "heddle.serve"

enum { MOST = 32, APART = 4, ROOM = 8192, PATIENCE = 10 }; /* seconds */

int luaopen_heddle_serve(lua_State *L);

/* A connection: it reads until the request is whole, writes the answer, then
 * waits for the client to close, so that what was sent is not lost. */
struct client {
    int fd;
    enum { READING, WRITING, CLOSING } state;
    double until;
    size_t n, sent;
    char *reply; /* malloc; n bytes in all */
    char request[ROOM + 1];
};

struct server {
    int fd;
    uint16_t port; /* that it has */
    size_t n;
    struct client *client[MOST];
    pid_t apart[APART]; /* processes that answer; 0: none */
    sigset_t mask;      /* of the caller, and while the loop waits */
};

static int serve_fail(lua_State *L, int port)
{
    return hl_raisef(L, HEDDLE_EIO, "127.0.0.1:%d: %s", port, strerror(errno));
}

static void serve_drop(struct server *s, size_t i)
{
    struct client *c = s->client[i];

    close(c->fd);
    free(c->reply);
    free(c);
    s->client[i] = s->client[--s->n];
}

static int serve_release(lua_State *L)
{
    struct server *s = luaL_checkudata(L, 1, SERVER);

    for (size_t i = 0; i < APART; i++) {
        if (s->apart[i] > 0) {
            kill(s->apart[i], SIGKILL);
            waitpid(s->apart[i], NULL, 0);
        }
        s->apart[i] = 0;
    }
    while (s->n > 0)
        serve_drop(s, s->n - 1);
    if (s->fd >= 0)
        close(s->fd);
    s->fd = -1;
    return 0;
}

/* ---- requests ------------------------------------------------------------ */

static const char *reason(int status)
{
    switch (status) {
    case 200:
        return "OK";
    case 400:
        return "Bad Request";
    case 403:
        return "Forbidden";
    case 404:
        return "Not Found";
    case 405:
        return "Method Not Allowed";
    case 431:
        return "Request Header Fields Too Large";
    case 503:
        return "Service Unavailable";
    default:
        return "Internal Server Error";
    }
}

/* The answer of a client; without memory for it the connection ends. */
static void serve_reply(struct client *c, int status, const char *type,
                        const char *body, size_t n)
{
    static const char format[] =
        "HTTP/1.0 %d %s\r\n"
        "Content-Type: %s\r\n"
        "Content-Length: %zu\r\n"
        "%s"
        "Cache-Control: no-store\r\n"
        "X-Content-Type-Options: nosniff\r\n"
        "Content-Security-Policy: default-src 'none'; style-src "
        "'unsafe-inline'; script-src 'unsafe-inline'; connect-src 'self'\r\n"
        "Connection: close\r\n\r\n";
    const char *allow = status == 405 ? "Allow: GET\r\n" : "";
    int head;

    head = snprintf(NULL, 0, format, status, reason(status), type, n, allow);
    c->state = WRITING;
    c->until = hl_seconds() + PATIENCE;
    c->sent = c->n = 0;
    c->reply = malloc((size_t)head + 1 + n);
    if (!c->reply)
        return;
    c->n = (size_t)head + n;
    snprintf(c->reply, (size_t)head + 1, format, status, reason(status), type,
             n, allow);
    memcpy(c->reply + head, body, n);
}

static void serve_refuse(struct client *c, int status, const char *text)
{
    serve_reply(c, status, "text/plain; charset=utf-8", text, strlen(text));
}

#define LETTERS "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz"
#define DIGITS  "0123456789"
#define SIGNS   LETTERS DIGITS "-._~!$&'()*+,;="

/* Bytes of the host that a text of n bytes begins with, if it is a host and, at
 * will, a port (RFC 3986, 3.2.2 and 3.2.3); SIZE_MAX: it is not. */
static size_t host_of(const char *text, size_t n)
{
    size_t host = text[0] == '[' ? 1 + strspn(text + 1, SIGNS ":")
                                 : strspn(text, SIGNS "%"),
           end;

    if (text[0] == '[' && text[host++] != ']')
        return SIZE_MAX;
    for (size_t i = 0; i < host; i++)
        if (text[i] == '%' && strspn(text + i + 1, DIGITS "ABCDEFabcdef") < 2)
            return SIZE_MAX;
    end = host;
    if (text[end] == ':')
        end += 1 + strspn(text + end + 1, DIGITS);
    return end == n ? host : SIZE_MAX;
}

static bool serve_is_here(const char *host, size_t n)
{
    static const char *const names[] = {"127.0.0.1", "localhost"};

    for (size_t i = 0; i < 2; i++)
        if (n == strlen(names[i]) && strncasecmp(host, names[i], n) == 0)
            return true;
    return false;
}

/* Refuses a request that does not say once, in a well-formed header, that it is
 * meant for this machine (RFC 9112, 3.2); before HTTP/1.1 it need not say so.
 * The headers are the lines behind `line`, up to an empty one. */
static bool meant_here(struct client *c, const char *line, bool needed)
{
    const char *host = NULL;
    size_t hosts = 0, bytes = 0, n;

    while ((line = strchr(line, '\n')) != NULL && line[1] != '\0') {
        line++;
        n = strcspn(line, "\n");
        n -= n > 0 && line[n - 1] == '\r';
        if (n == 0)
            break;
        if (line[0] == ' ' || line[0] == '\t') {
            serve_refuse(c, 400, "a header in one line is expected\n");
            return false;
        }
        if (strncasecmp(line, "host", 4) != 0 ||
            strchr(" \t:", line[4]) == NULL)
            continue;
        hosts++;
        host = line + 4 + (line[4] == ':');
        bytes = n - (size_t)(host - line);
    }
    if (hosts != 1) {
        if (hosts > 1)
            serve_refuse(c, 400,
                         "one Host header is expected, there are more\n");
        else if (needed)
            serve_refuse(c, 400,
                         "HTTP/1.1: a Host header is expected, there is "
                         "none\n");
        return hosts == 0 && !needed;
    }
    for (; bytes > 0 && strchr(" \t", *host) != NULL; bytes--)
        host++;
    while (bytes > 0 && strchr(" \t", host[bytes - 1]) != NULL)
        bytes--;
    n = host_of(host, bytes);
    if (n == SIZE_MAX)
        serve_refuse(c, 400,
                     "Host: a host and, optionally, a port are expected\n");
    else if (!serve_is_here(host, n))
        serve_refuse(c, 403,
                     "the Host is expected to be 127.0.0.1 or localhost\n");
    return n != SIZE_MAX && serve_is_here(host, n);
}

/* The path of "GET path HTTP/1.x", ended with a zero in place; NULL: it was
 * refused. */
static const char *path_of(struct client *c)
{
    char *path = strchr(c->request, ' '), *end, *line;

    line = strpbrk(c->request, "\r\n");
    end = path && path < line ? strchr(path + 1, ' ') : NULL;
    if (!end || end > line || strncmp(end, " HTTP/1.", 8) != 0 ||
        strspn(end + 8, DIGITS) != 1 || end + 9 != line || path[1] != '/' ||
        memchr(c->request, '\0', c->n)) {
        serve_refuse(c, 400, "expected GET /path HTTP/1.0\n");
        return NULL;
    }
    if (strncmp(c->request, "GET ", 4) != 0) {
        serve_refuse(c, 405, "only GET is answered\n");
        return NULL;
    }
    if (!meant_here(c, line, end[8] != '0'))
        return NULL;
    *end = '\0';
    return path + 1;
}

/* Calls the answer, which is at index 3 of the stack. */
static void serve_request(lua_State *L, struct client *c, const char *path)
{
    const char *body = NULL;
    size_t n;

    lua_pushvalue(L, 3);
    lua_pushstring(L, path);
    if (lua_pcall(L, 1, 3, 0) == LUA_OK) {
        body = lua_tolstring(L, -1, &n);
        if (body && lua_isstring(L, -2) && lua_isinteger(L, -3))
            serve_reply(c, (int)lua_tointeger(L, -3), lua_tostring(L, -2), body,
                        n);
        else
            serve_refuse(c, 500, "no answer\n");
    } else {
        serve_refuse(c, 500, hl_error_text(L, -1));
    }
    lua_settop(L, 5);
}

/* Whether a path, up to its query, is of those at index 4. */
static bool is_slow(lua_State *L, const char *path)
{
    bool slow;

    lua_pushlstring(L, path, strcspn(path, "?"));
    lua_rawget(L, 4);
    slow = lua_toboolean(L, -1);
    lua_pop(L, 1);
    return slow;
}

/* In a process of its own: the answer, all of it, and the end. */
static _Noreturn void answer_apart(lua_State *L, struct client *c,
                                   const char *path)
{
    struct timeval patience = {.tv_sec = PATIENCE};
    char waste[1024];
    ssize_t n = 1;

    serve_request(L, c, path);
    setsockopt(c->fd, SOL_SOCKET, SO_SNDTIMEO, &patience, sizeof patience);
    setsockopt(c->fd, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    fcntl(c->fd, F_SETFL, fcntl(c->fd, F_GETFL) & ~O_NONBLOCK);
    for (; c->reply && c->sent < c->n && n > 0; c->sent += (size_t)n)
        n = send(c->fd, c->reply + c->sent, c->n - c->sent, MSG_NOSIGNAL);
    shutdown(c->fd, SHUT_WR);
    while (recv(c->fd, waste, sizeof waste, 0) > 0)
        continue;
    _exit(0);
}

/* Answers what a client has asked for; false: another process does. */
static bool hand_over(lua_State *L, struct server *s, struct client *c)
{
    const char *path = path_of(c);
    size_t i = 0;
    pid_t pid;

    if (!path)
        return true;
    if (!is_slow(L, path)) {
        serve_request(L, c, path);
        return true;
    }
    while (i < APART && s->apart[i] > 0)
        i++;
    if (i == APART) {
        serve_refuse(c, 503, "too many ask for this at once; try again\n");
        return true;
    }
    pid = fork();
    if (pid == 0) {
        for (size_t k = 0; k < s->n; k++) /* theirs ends with this process */
            if (s->client[k] != c)
                close(s->client[k]->fd);
        close(s->fd);
        answer_apart(L, c, path);
    }
    if (pid < 0) {
        serve_request(L, c, path);
        return true;
    }
    s->apart[i] = pid;
    return false;
}

/* ---- connections --------------------------------------------------------- */

static bool serve_at_end(const char *text)
{
    return strstr(text, "\r\n\r\n") || strstr(text, "\n\n");
}

/* Takes what client c has sent; false: it is gone, or another process's. */
static bool serve_take(lua_State *L, struct server *s, struct client *c)
{
    char waste[1024];
    bool reading = c->state == READING;
    ssize_t n = recv(c->fd, reading ? c->request + c->n : waste,
                     reading ? ROOM - c->n : sizeof waste, 0);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    if (n == 0)
        return false;
    if (!reading)
        return true;
    c->n += (size_t)n;
    c->request[c->n] = '\0';
    if (serve_at_end(c->request))
        return hand_over(L, s, c);
    if (memchr(c->request, '\0', c->n))
        serve_refuse(c, 400, "expected GET /path HTTP/1.0\n");
    else if (c->n == ROOM)
        serve_refuse(c, 431, "a request of at most 8 KB is expected\n");
    return true;
}

/* Sends what client c can take; false: it is gone. */
static bool serve_give(struct client *c)
{
    ssize_t n = send(c->fd, c->reply + c->sent, c->n - c->sent, MSG_NOSIGNAL);

    if (n < 0)
        return errno == EINTR || errno == EAGAIN;
    c->sent += (size_t)n;
    c->until = hl_seconds() + PATIENCE;
    if (c->sent == c->n) {
        c->state = CLOSING;
        shutdown(c->fd, SHUT_WR);
    }
    return true;
}

static void welcome(struct server *s)
{
    struct client *c;
    int fd = accept4(s->fd, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);

    if (fd < 0)
        return;
    c = calloc(1, sizeof *c);
    if (!c) {
        close(fd);
        return;
    }
    c->fd = fd;
    c->until = hl_seconds() + PATIENCE;
    s->client[s->n++] = c;
}

/* Waits for what comes next, and for signals; false: one came. */
static bool wait_for(const struct server *s, struct pollfd *poll)
{
    double until = HUGE_VAL, left;
    struct timespec t;

    poll[0] = (struct pollfd){.fd = s->n < MOST ? s->fd : -1, .events = POLLIN};
    for (size_t i = 0; i < s->n; i++) {
        const struct client *c = s->client[i];

        poll[i + 1] = (struct pollfd){
            .fd = c->fd, .events = c->state == WRITING ? POLLOUT : POLLIN};
        until = fmin(until, c->until);
    }
    left = fmax(0, until - hl_seconds());
    if (s->n > 0) {
        t.tv_sec = (time_t)left;
        t.tv_nsec = (long)((left - floor(left)) * 1e9);
    }
    if (ppoll(poll, (nfds_t)(s->n + 1), s->n > 0 ? &t : NULL, &s->mask) >= 0)
        return true;
    for (size_t i = 0; i <= s->n; i++)
        poll[i].revents = 0;
    return errno != EINTR;
}

static void turn(lua_State *L, struct server *s, const struct pollfd *poll)
{
    double now = hl_seconds();

    for (size_t i = 0; i < APART; i++)
        if (s->apart[i] > 0 && waitpid(s->apart[i], NULL, WNOHANG) != 0)
            s->apart[i] = 0;
    for (size_t i = s->n; i-- > 0;) { /* drop puts the last one here */
        struct client *c = s->client[i];
        bool stays = now < c->until;

        if (stays && poll[i + 1].revents)
            stays = c->state == WRITING ? serve_give(c) : serve_take(L, s, c);
        if (!stays || (c->state == WRITING && !c->reply))
            serve_drop(s, i);
    }
    if (poll[0].revents)
        welcome(s);
}

static void listen_on(lua_State *L, struct server *s, uint16_t port)
{
    struct sockaddr_in at = {.sin_family = AF_INET, .sin_port = htons(port)};
    socklen_t n = sizeof at;
    int yes = 1;

    at.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    s->fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (s->fd < 0 ||
        setsockopt(s->fd, SOL_SOCKET, SO_REUSEADDR, &yes, sizeof yes) != 0 ||
        bind(s->fd, (struct sockaddr *)&at, sizeof at) != 0 ||
        listen(s->fd, MOST) != 0 ||
        getsockname(s->fd, (struct sockaddr *)&at, &n) != 0)
        serve_fail(L, port);
    s->port = ntohs(at.sin_port);
}

/* [1] port [2] ready [3] answer [4] apart [5] the server */
static int serve_run(lua_State *L)
{
    struct server *s = lua_touserdata(L, 5);
    struct hl_interrupt *in = hl_interrupt_of(L);
    struct pollfd poll[MOST + 1];

    listen_on(L, s, (uint16_t)lua_tointeger(L, 1));
    lua_pushvalue(L, 2);
    lua_pushinteger(L, s->port);
    lua_call(L, 1, 0);
    while (!in || !in->hit) {
        if (wait_for(s, poll))
            turn(L, s, poll);
    }
    return 0;
}

/* serve.loop(port, ready, answer [, apart]) */
static int loop(lua_State *L)
{
    lua_Integer port = luaL_checkinteger(L, 1);
    sigset_t set;
    struct server *s;
    int rc;

    luaL_argcheck(L, port >= 0 && port <= 65535, 1, "a port is 0 to 65535");
    luaL_checktype(L, 2, LUA_TFUNCTION);
    luaL_checktype(L, 3, LUA_TFUNCTION);
    lua_settop(L, 4);
    if (lua_isnil(L, 4)) {
        lua_newtable(L);
        lua_replace(L, 4);
    }
    luaL_checktype(L, 4, LUA_TTABLE);
    s = lua_newuserdatauv(L, sizeof *s, 0);
    *s = (struct server){.fd = -1};
    hl_class(L, SERVER, serve_release, NULL);
    lua_toclose(L, 5);
    lua_pushcfunction(L, serve_run);
    for (int i = 1; i <= 5; i++)
        lua_pushvalue(L, i);
    hl_interrupt_signals(L, &set);
    sigprocmask(SIG_BLOCK, &set, &s->mask);
    rc = lua_pcall(L, 5, 0, 0);
    sigprocmask(SIG_SETMASK, &s->mask, NULL);
    return rc == LUA_OK ? 0 : lua_error(L);
}

int luaopen_heddle_serve(lua_State *L)
{
    static const luaL_Reg functions[] = {{"loop", loop}, {NULL, NULL}};

    luaL_newlib(L, functions);
    return 1;
}

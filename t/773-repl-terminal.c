/*
 * 773-repl-terminal.c - pins what the REPL does on a terminal: prompts,
 * editing, history in the state directory, chunks of several lines edited as one,
 * completion by Tab (in a Turkish locale too), a pager, Ctrl-C at the prompt, in a
 * script and in a run, SIGTERM, and Ctrl-D; and a session that stops, goes back, tries
 * alternatives and draws a curve.
 *
 * A pseudo-terminal plays the user: each step types something and waits until
 * a text appears, so nothing depends on how fast the machine is.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "folder.h"
#include "texts.h"

enum { PATIENCE_S = 20, ROOM = 1 << 18 };

struct terminal {
    int fd;
    pid_t child;
    size_t n, seen; /* bytes so far; those before `seen` were waited for */
    char text[ROOM];
};

static char state_dir[FOLDER];

static const char *command(void)
{
    const char *path = getenv("HEDDLE");

    return path ? path : "build/release/heddle";
}

static void begin_child(const char *slave, int colours)
{
    int fd;

    setsid();
    fd = open(slave, O_RDWR); /* becomes the controlling terminal */
    if (fd < 0)
        _exit(99);
#ifdef TIOCSCTTY
    ioctl(fd, TIOCSCTTY, 0);
#endif
    dup2(fd, 0);
    dup2(fd, 1);
    dup2(fd, 2);
    if (fd > 2)
        close(fd);
    setenv("TERM", "xterm", 1);
    setenv("XDG_STATE_HOME", state_dir, 1);
    setenv("HOME", state_dir, 1);
    if (colours)
        unsetenv("NO_COLOR");
    else
        setenv("NO_COLOR", "1", 1);
    execl(command(), "heddle", "repl", (char *)NULL);
    _exit(98);
}

static struct terminal *open_with(int colours)
{
    struct terminal *t = calloc(1, sizeof *t);

    assert_non_null(t);
    t->fd = posix_openpt(O_RDWR | O_NOCTTY);
    assert_true(t->fd >= 0);
    fcntl(t->fd, F_SETFD, FD_CLOEXEC); /* or the child never sees its end */
    assert_int_equal(grantpt(t->fd), 0);
    assert_int_equal(unlockpt(t->fd), 0);
    fflush(NULL);
    t->child = fork();
    assert_true(t->child >= 0);
    if (t->child == 0)
        begin_child(ptsname(t->fd), colours);
    return t;
}

static struct terminal *open_terminal(void)
{
    return open_with(0);
}

static int more(struct terminal *t, int wait_ms)
{
    struct pollfd p = {.fd = t->fd, .events = POLLIN};
    ssize_t n;

    if (poll(&p, 1, wait_ms) <= 0)
        return 0;
    assert_true(t->n + 1 < ROOM);
    n = read(t->fd, t->text + t->n, ROOM - 1 - t->n);
    if (n <= 0)
        return -1; /* EIO: the other side is closed */
    for (ssize_t i = 0; i < n; i++)
        if (t->text[t->n + (size_t)i] == '\0')
            t->text[t->n + (size_t)i] = ' ';
    t->n += (size_t)n;
    return 1;
}

/* Waits until `what` appears behind what was waited for before. */
static void await(struct terminal *t, const char *what)
{
    time_t end = time(NULL) + PATIENCE_S;

    for (;;) {
        char *at = strstr(t->text + t->seen, what);

        if (at) {
            t->seen = (size_t)(at - t->text) + strlen(what);
            return;
        }
        if (more(t, 1000) < 0 || time(NULL) > end)
            break;
    }
    kill(t->child, SIGKILL);
    print_error("waited for '%s', after:\n%s\n", what, t->text + t->seen);
    fail();
}

static void type(struct terminal *t, const char *keys)
{
    size_t n = strlen(keys);

    assert_int_equal(write(t->fd, keys, n), (ssize_t)n);
}

/* Types a line and waits for what it prints. */
static void ask(struct terminal *t, const char *line, const char *answer)
{
    type(t, line);
    type(t, "\r");
    await(t, "\n");
    await(t, answer);
    await(t, "> ");
}

/* Ctrl-C at the prompt. */
static void clear_line(struct terminal *t)
{
    type(t, "\003");
    await(t, "^C\r\n");
    await(t, "> ");
}

/* Waits for the end: the exit status. */
static int close_terminal(struct terminal *t)
{
    int status;

    while (more(t, PATIENCE_S * 1000) > 0)
        ;
    kill(t->child, SIGKILL); /* nothing, if it has left */
    assert_int_equal(waitpid(t->child, &status, 0), t->child);
    close(t->fd);
    free(t);
    assert_true(WIFEXITED(status));
    return WEXITSTATUS(status);
}

/* ---- tests -------------------------------------------------------------- */

static void lines_and_chunks(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "Ctrl-D leaves");
    await(t, "> ");
    ask(t, "6 * 7", "42");
    type(t, "function twice(x)\r");
    await(t, ">> ");
    type(t, "return 2 * x\r");
    await(t, ">> ");
    type(t, "end\r");
    await(t, "> ");
    ask(t, "twice(21.5)", "43.0");
    ask(t, "nothing.at.all", "stdin:1: attempt to index a nil value");
    ask(t, "_", "43.0");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

static void editing(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "> ");
    /* to the front, insert, to the end */
    ask(t,
        "+ 1\001"
        "1000 \005"
        "7",
        "1017");
    ask(t, "\020", "1017"); /* the line before, again */
    ask(t, "string.revers\t('bat')", "tab");
    type(t, "string.re\t");
    await(t, "rep      reverse");
    clear_line(t);
    ask(t, "#H.app('AT\t', { size = 'T' }).label", "4");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

/* Where small i and capital I are no pair, libedit's "^I" was no Tab. */
static void turkish(void **state)
{
    struct terminal *t;
    char line[128];

    (void)state;
    snprintf(line, sizeof line, "sh t/lib/locale.sh tr_TR.UTF-8 %s", state_dir);
    if (system(line) != 0)
        skip(); /* no source to make it from */
    setenv("LOCPATH", state_dir, 1);
    setenv("LC_ALL", "tr_TR.UTF-8", 1);
    t = open_terminal();
    unsetenv("LC_ALL");
    unsetenv("LOCPATH");
    await(t, "> ");
    ask(t, "string.revers\t('bat')", "tab");
    ask(t, "#'\303\244'", "2"); /* a letter of two bytes */
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

static void colours(void **state)
{
    (void)state;
    for (int on = 0; on < 2; on++) {
        struct terminal *t = open_with(on);

        await(t, "> ");
        ask(t, "{ 'green' }", "green");
        ask(t, "error 'red'", "red");
        assert_int_equal(strstr(t->text, "\033[32m") != NULL, on);
        assert_int_equal(strstr(t->text, "\033[31m") != NULL, on);
        type(t, "\004");
        assert_int_equal(close_terminal(t), 0);
    }
}

/* Typed while a command runs, and so before the editor reads the terminal. */
static void typed_ahead(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "> ");
    type(t, "print 'busy' for _ = 1, 5e7 do end\r");
    await(t, "\nbusy");
    type(t, "1 + 1\r\004");
    await(t, "> ");
    await(t, "2");
    assert_int_equal(close_terminal(t), 0);
}

static void interrupts(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "> ");
    type(t, "this is no Lua");
    await(t, "no Lua");
    clear_line(t);
    ask(t, "1 + 1", "2");
    type(t, "x = {\r"); /* and out of a chunk */
    await(t, ">> ");
    clear_line(t);
    ask(t, "2 + 2", "4");
    type(t, "print 'loops' while true do end\r");
    await(t, "\nloops");
    type(t, "\003");
    await(t, "interrupted");
    await(t, "> ");
    ask(t, "3 + 3", "6");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

/* At the prompt and in a command, with the history kept. */
static void terminated(void **state)
{
    (void)state;
    for (int busy = 0; busy < 2; busy++) {
        struct terminal *t = open_terminal();

        await(t, "> ");
        ask(t, "'a ' .. 'last word'", "a last word");
        if (busy) {
            type(t, "print 'loops' while true do end\r");
            await(t, "\nloops");
        }
        kill(t->child, SIGTERM);
        assert_int_equal(close_terminal(t), 143);
        t = open_terminal();
        await(t, "> ");
        type(t, busy ? "\020\020" : "\020");
        await(t, "'last word'");
        clear_line(t);
        type(t, "\004");
        assert_int_equal(close_terminal(t), 0);
    }
}

static void interrupted_run(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "> ");
    ask(t,
        "H.sim { machine = 'maxwell', apps = { H.app('GUP') },"
        " progress = false }",
        "simulation of GUP");
    /* past the first instant: a run that is stopped is one that ran */
    type(t, "run_until(function(s) if s.now > 0 and not said then"
            " said = print 'runs' or true end end)\r");
    await(t, "\nruns");
    type(t, "\003");
    await(t, "interrupted; sim is at cycle ");
    await(t, "> ");
    ask(t, "c = sim.now", "");
    ask(t, "step(100) == 'ok' and sim.now == c + 100", "true");
    ask(t, "sim:check()", "");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

static void history_file(void **state)
{
    struct terminal *t = open_terminal();
    char path[256], text[65536];
    FILE *f;
    size_t n;

    (void)state;
    await(t, "> ");
    ask(t, "'to be ' .. 'remembered'", "to be remembered");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
    snprintf(path, sizeof path, "%s/heddle/history", state_dir);
    f = fopen(path, "r");
    assert_non_null(f);
    n = fread(text, 1, sizeof text - 1, f);
    text[n] = '\0';
    fclose(f);
    assert_text(text, "'to be ' .. 'remembered'\n");
    assert_null(strstr(text, "this is no Lua"));

    t = open_terminal(); /* the next session finds it */
    await(t, "> ");
    ask(t, "\020", "to be remembered");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

#define UP "\033[A"
#define DOWN "\033[B"

/* A chunk of several lines is one in the history, and edited as one. */
static void blocks(void **state)
{
    for (int again = 0; again < 2; again++) {
        struct terminal *t = open_terminal();

        (void)state;
        await(t, "> ");
        if (!again) {
            type(t, "x = {\r");
            await(t, ">> ");
            type(t, " 1,\r");
            await(t, ">> ");
            type(t, " 2 }\r");
            await(t, "> ");
            ask(t, "#x", "2");
            type(t, UP); /* that, and what was before it */
        }
        /* from its end to the end of its second line, and back */
        ask(t, UP UP "7," DOWN "\177, 8 }" UP "6,", "");
        ask(t, "#x", "5");
        /* to where it begins, and past it; and back to an empty line */
        ask(t, UP UP UP UP UP UP DOWN DOWN DOWN DOWN DOWN DOWN DOWN DOWN "40 + 2",
            "42");
        ask(t, "y =\033\r 5", ""); /* Alt-Return */
        ask(t, "y", "5");
        ask(t, "x = {\033\r 1,\033\r 2 }", "");
        type(t, "\004");
        assert_int_equal(close_terminal(t), 0);
    }
}

/* What is longer than the screen. */
static void pager(void **state)
{
    struct terminal *t;

    (void)state;
    setenv("PAGER", "sed 's/^/paged /'", 1);
    t = open_terminal();
    setenv("PAGER", "", 1);
    await(t, "> ");
    ask(t, "('x\\n'):rep(100)", "paged x");
    ask(t, "('x\\n'):rep(3)", "\nx\r\nx");
    ask(t, "show(('y\\n'):rep(100))", "paged ");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
    t = open_terminal(); /* none is wanted */
    unsetenv("PAGER");
    await(t, "> ");
    ask(t, "('x\\n'):rep(100)", "\nx");
    assert_null(strstr(t->text, "paged"));
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

/* Stops, what was before, what would have been, and how it went. */
static void session(void **state)
{
    struct terminal *t = open_terminal();

    (void)state;
    await(t, "> ");
    ask(t,
        "H.sim { machine = 'maxwell', apps = { H.app('GUP', { size = 'S' }) },"
        " progress = false }",
        "simulation of GUP on maxwell: ready at cycle 0");
    ask(t,
        "name = sim:stop_on('walk_done', function(n) return n.cycles > 500 end)",
        "");
    ask(t, "run()", "stopped");
    ask(t, "at = sim.now", "");
    ask(t, "back(100)", "ok");
    ask(t, "at - sim.now", "100");
    ask(t, "go(at)", "ok");
    ask(t, "hash = sim:state_hash()", "");
    ask(t, "back(1000) go(at)", "");
    ask(t, "sim:state_hash() == hash", "true");
    ask(t, "sim", ": ok at cycle ");
    ask(t, "sim:unuse(name)", "1");
    ask(t, "list = sim:what_if { {}, { policies = { 'lrr' } }, cycles = 3000 }",
        "");
    ask(t, "#list", "2");
    ask(t, "H.report.ipc(list[1]) ~= H.report.ipc(list[2])", "true");
    ask(t, "sim.now == at", "true");
    ask(t, "run(5000)", "ok");
    ask(t, "sim:plot('l1tlb.misses')", "l1tlb.misses, look-ups: L1 TLB misses");
    ask(t, "_:match '(%d+) core cycles$' == '' .. sim.now", "true");
    type(t, "\004");
    assert_int_equal(close_terminal(t), 0);
}

/* The window is closed. */
static void hangup(void **state)
{
    struct terminal *t = open_terminal();
    int status;

    (void)state;
    await(t, "> ");
    close(t->fd);
    assert_int_equal(waitpid(t->child, &status, 0), t->child);
    free(t);
}

static int make_state_dir(void **state)
{
    (void)state;
    return folder_make(state_dir) ? 0 : -1;
}

static int remove_state_dir(void **state)
{
    char line[128];

    (void)state;
    snprintf(line, sizeof line, "rm -rf %s", state_dir);
    return system(line);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lines_and_chunks), cmocka_unit_test(editing),
        cmocka_unit_test(turkish),          cmocka_unit_test(colours),
        cmocka_unit_test(typed_ahead),      cmocka_unit_test(interrupts),
        cmocka_unit_test(interrupted_run),  cmocka_unit_test(history_file),
        cmocka_unit_test(blocks),           cmocka_unit_test(pager),
        cmocka_unit_test(session),          cmocka_unit_test(hangup),
        cmocka_unit_test(terminated),
    };

    int fd = posix_openpt(O_RDWR | O_NOCTTY);

    if (fd < 0) { /* a bare chroot has no /dev/pts */
        printf("1..0 # SKIP no pseudo terminal: %s\n", strerror(errno));
        return 0;
    }
    close(fd);
    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_state_dir, remove_state_dir);
}

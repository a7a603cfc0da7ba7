/*
 * 045-base-save.c - pins that a file is there whole or not at all: with and
 * without nameless files, while processes write one path at a time, when the
 * writer is killed, when a step fails; that a link, a mode, a device and a long
 * name are kept; and what is said where it cannot be.
 *
 * SPDX-License-Identifier: MIT
 */
#define _XOPEN_SOURCE 700

#include <dirent.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "../src/engine/kit/save.h"
#include "folder.h"
#include "tool.h"

enum { BYTES = 50000, WRITERS = 4, TURNS = 200 };

static char dir[FOLDER];

/* Files in the folder, hidden ones included; all but `keep` are removed. */
static int files(const char *keep)
{
    DIR *d = opendir(".");
    struct dirent *e;
    int n = 0;

    while ((e = readdir(d)) != NULL) {
        if (strcmp(e->d_name, ".") == 0 || strcmp(e->d_name, "..") == 0)
            continue;
        n++;
        if (keep == NULL || strcmp(e->d_name, keep) != 0)
            unlink(e->d_name);
    }
    closedir(d);
    return n;
}

/* Whether a file is BYTES times one letter. */
static int whole(const char *path)
{
    static char text[BYTES + 1];
    FILE *f = fopen(path, "r");
    size_t n = f ? fread(text, 1, sizeof text, f) : 0;

    if (f)
        fclose(f);
    for (size_t i = 1; i < n; i++) {
        if (text[i] != text[0])
            return 0;
    }
    return n == BYTES;
}

static int write_one(const char *path, char letter, bool named)
{
    static char text[BYTES];
    struct hd_save s = {.named = named};
    struct heddle_error err = {0};

    memset(text, letter, sizeof text);
    if (hd_save_open(&s, path, &err) == 0) {
        for (size_t at = 0; at < BYTES; at += 5000) {
            if (write(s.fd, text + at, 5000) != 5000)
                return -1;
        }
        hd_save_keep(&s, &err);
    }
    return err.code;
}

static void together(bool named)
{
    pid_t pid[WRITERS];
    int status;

    for (int k = 0; k < WRITERS; k++) {
        fflush(NULL);
        pid[k] = fork();
        if (pid[k] == 0) {
            int bad = 0;
            for (int i = 0; i < TURNS; i++) {
                bad |= write_one("one", (char)('a' + k), named) != 0;
                bad |= !whole("one");
            }
            _exit(bad);
        }
    }
    for (int k = 0; k < WRITERS; k++) {
        waitpid(pid[k], &status, 0);
        assert_int_equal(status, 0);
    }
    assert_true(whole("one"));
    assert_int_equal(files(NULL), 1);
}

static void many_writers(void **state)
{
    (void)state;
    together(false);
    together(true);
}

/* Two in one process, one inside the other. */
static void two_of_one(void **state)
{
    struct hd_save a = {.named = true}, b = {.named = true};
    struct heddle_error err = {0};

    (void)state;
    assert_int_equal(hd_save_open(&a, "one", &err), 0);
    assert_int_equal(hd_save_open(&b, "one", &err), 0);
    assert_int_equal(write(b.fd, "b", 1), 1);
    assert_int_equal(hd_save_keep(&b, &err), 0);
    hd_save_drop(&a);
    assert_int_equal(files(NULL), 1);
}

/* A writer that is killed leaves nothing, at whatever point. */
static void killed(void **state)
{
    int status;

    (void)state;
    for (int i = 0; i < 40; i++) {
        int go[2];
        assert_int_equal(pipe(go), 0);
        pid_t pid = fork();
        if (pid == 0) {
            (void)!write(go[1], "x", 1);
            for (;;)
                write_one("one", 'k', false);
        }
        char c;
        assert_int_equal(read(go[0], &c, 1), 1);
        nanosleep(&(struct timespec){0, i * 53000l}, NULL);
        kill(pid, SIGTERM);
        waitpid(pid, &status, 0);
        close(go[0]);
        close(go[1]);
        assert_true(files("one") <= 1);
        assert_true(access("one", F_OK) != 0 || whole("one"));
    }
    files(NULL);
}

static void kept(void **state)
{
    struct stat st;
    char name[256];

    (void)state;
    write_one("real", 'a', false);
    chmod("real", 0600);
    assert_int_equal(symlink("real", "link"), 0);
    assert_int_equal(write_one("link", 'b', false), 0);
    lstat("link", &st);
    assert_true(S_ISLNK(st.st_mode));
    stat("real", &st);
    assert_int_equal(st.st_mode & 0777, 0600);
    assert_int_equal(files(NULL), 2);
    memset(name, 'n', 255);
    name[255] = '\0';
    for (int named = 0; named < 2; named++)
        assert_int_equal(write_one(name, 'c', named), 0);
    assert_true(whole(name));
    assert_int_equal(files(NULL), 1);
    umask(027);
    write_one("new", 'a', false);
    stat("new", &st);
    assert_int_equal(st.st_mode & 0777, 0640);
    umask(022);
    assert_int_equal(files(NULL), 1);
}

static void refuses(const char *path, int code, const char *why)
{
    char text[1100];

    assert_int_equal(heddle_save(path, "x", 1, text, sizeof text), code);
    if (strstr(text, path) != text || strstr(text, why) == NULL)
        fail_msg("%s, expected %s", text, why);
    assert_int_equal(files(NULL), 0);
}

static void refused(void **state)
{
    char name[300];

    (void)state;
    files(NULL);
    refuses("none/one", HEDDLE_ECREATE, "No such file or directory");
    refuses("", HEDDLE_ECREATE, "No such file or directory");
    refuses("/tmp", HEDDLE_ECREATE, "Is a directory");
    if (access("/dev/full", F_OK) == 0)
        refuses("/dev/full", HEDDLE_EIO, "No space left on device");
    memset(name, 'n', 256);
    name[256] = '\0';
    refuses(name, HEDDLE_ECREATE, "File name too long");
    assert_int_equal(heddle_save("one", NULL, 0, name, sizeof name), 0);
    assert_int_equal(files(NULL), 0);
    assert_int_equal(heddle_save("one", "", 0, name, sizeof name), 0);
    assert_int_equal(files(NULL), 1);
}

/* Half of it fits. */
static void too_long(void **state)
{
    struct rlimit old, small;
    char text[1100];
    static char bytes[BYTES];

    (void)state;
    write_one("one", 'o', false);
    signal(SIGXFSZ, SIG_IGN);
    getrlimit(RLIMIT_FSIZE, &old);
    small = old;
    small.rlim_cur = BYTES / 2;
    setrlimit(RLIMIT_FSIZE, &small);
    int rc = heddle_save("one", bytes, BYTES, text, sizeof text);
    setrlimit(RLIMIT_FSIZE, &old);
    assert_int_equal(rc, HEDDLE_EIO);
    assert_string_equal(text, "one: cannot write: File too large");
    assert_true(whole("one"));
    assert_int_equal(files(NULL), 1);
}

static int make_dir(void **state)
{
    (void)state;
    umask(022);
    return folder_make(dir) && chdir(dir) == 0 ? 0 : -1;
}

static int remove_dir(void **state)
{
    (void)state;
    files(NULL);
    return rmdir(dir);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(many_writers), cmocka_unit_test(two_of_one),
        cmocka_unit_test(killed),       cmocka_unit_test(kept),
        cmocka_unit_test(refused),      cmocka_unit_test(too_long),
    };

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, make_dir, remove_dir);
}

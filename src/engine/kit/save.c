/*
 * save.c - a file that is there whole or not at all.
 *
 * Everything that heddle writes by path goes this way: results, charts,
 * configurations, the store of experiments, trace containers.  The bytes go to
 * a file without a name in the folder of the target (O_TMPFILE of Linux), so a
 * writer that ends early, for whatever reason, leaves nothing.  When all is
 * there, the file gets a name of its own (.NAME.PROCESS-N.part) and by that is
 * renamed to the target; signals wait for these two steps.  A file system
 * without nameless files (NFS) has the own name from the start, and it goes
 * with the writer's error.
 *
 * Own names are taken exclusively: two writers of one path, in one process, in
 * two, or on two hosts, never meet, and the last to end is what stays.
 * A link is followed and stays one, and the mode of a file that is replaced is
 * kept.  What is no plain file (a device, a pipe), and /dev/stdout and its
 * like, is written as it is.
 *
 * Left out: fsync.  After a power cut a file may be old or empty.
 *
 * SPDX-License-Identifier: MIT
 */
#define _GNU_SOURCE /* O_TMPFILE */

#include "save.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NAME = 200, ROOM = NAME + 48, TURNS = 10000 };

static int save_failed(struct hd_save *s, int code, const char *path,
                       const char *what, struct heddle_error *err)
{
    code = errno == ENOMEM ? HEDDLE_ENOMEM : code;
    hd_err_set(err, code, "%s: %s: %s", path, what, strerror(errno));
    hd_save_drop(s);
    return err->code;
}

/* Bytes of the path up to its name. */
static int folder(const char *path)
{
    const char *slash = strrchr(path, '/');

    return slash == NULL ? 0 : (int)(slash - path + 1);
}

/* Gives the file a name of its own with make(s), which fails with EEXIST where
 * that is taken. */
static int name_it(struct hd_save *s, int (*make)(struct hd_save *s))
{
    int dir = folder(s->path), rc = -1;

    errno = EEXIST;
    for (unsigned i = 0; i < TURNS && rc != 0 && errno == EEXIST; i++) {
        snprintf(s->temp, (size_t)dir + ROOM, "%.*s.%.*s.%ld-%u.part", dir,
                 s->path, NAME, s->path + dir, (long)getpid(), i);
        rc = make(s);
    }
    return rc;
}

static int create(struct hd_save *s)
{
    s->fd = open(s->temp, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    return s->fd >= 0 ? 0 : -1;
}

static int link_it(struct hd_save *s)
{
    char from[32];

    snprintf(from, sizeof from, "/proc/self/fd/%d", s->fd);
    return linkat(AT_FDCWD, from, AT_FDCWD, s->temp, AT_SYMLINK_FOLLOW);
}

/* Without a name where that can be had. */
static int save_begin(struct hd_save *s)
{
    int dir = folder(s->path);

    if (s->direct) {
        s->fd = open(s->path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
        return s->fd >= 0 ? 0 : -1;
    }
    if (!s->named && access("/proc/self/fd", X_OK) == 0) {
        snprintf(s->temp, (size_t)dir + ROOM, "%.*s", dir, s->path);
        s->fd =
            open(dir > 0 ? s->temp : ".", O_TMPFILE | O_RDWR | O_CLOEXEC, 0666);
        if (s->fd >= 0)
            return 0;
    }
    s->named = true;
    return name_it(s, create);
}

/* Names of what is open already, and may be no file. */
static bool is_stream(const char *path)
{
    return strncmp(path, "/dev/fd/", 8) == 0 ||
           strncmp(path, "/dev/std", 8) == 0 || strncmp(path, "/proc/", 6) == 0;
}

int hd_save_open(struct hd_save *s, const char *path, struct heddle_error *err)
{
    struct stat st;
    bool there = stat(path, &st) == 0;

    s->fd = -1;
    if (!there && (errno != ENOENT || *path == '\0'))
        return save_failed(s, HEDDLE_ECREATE, path, "cannot create", err);
    s->direct = is_stream(path) || (there && !S_ISREG(st.st_mode));
    s->mode = there ? st.st_mode & 0777 : 0;
    s->path = there && !s->direct ? realpath(path, NULL) : strdup(path);
    s->temp = s->path ? malloc((size_t)folder(s->path) + ROOM) : NULL;
    if (s->temp == NULL || save_begin(s) != 0)
        return save_failed(s, HEDDLE_ECREATE, path, "cannot create", err);
    return 0;
}

static int save_finish(struct hd_save *s)
{
    int fd = s->fd, rc;

    if (s->mode != 0)
        (void)!fchmod(fd, s->mode); /* not every file system has modes */
    if (!s->named) {
        rc = name_it(s, link_it);
        if (rc != 0)
            return rc;
        s->named = true; /* from here on drop removes it */
    }
    s->fd = -1;
    if (close(fd) != 0 || rename(s->temp, s->path) != 0) {
        int no = errno;
        unlink(s->temp);
        errno = no;
        return -1;
    }
    return 0;
}

int hd_save_keep(struct hd_save *s, struct heddle_error *err)
{
    sigset_t all, old;
    int fd = s->fd, rc;

    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    if (s->direct) {
        s->fd = -1;
        rc = close(fd);
    } else {
        rc = save_finish(s);
    }
    if (rc != 0)
        save_failed(s, HEDDLE_EIO, s->path, "cannot write", err);
    hd_save_drop(s);
    pthread_sigmask(SIG_SETMASK, &old, NULL);
    return rc != 0 ? err->code : 0;
}

void hd_save_drop(struct hd_save *s)
{
    if (s->fd >= 0) {
        close(s->fd);
        if (s->named && !s->direct)
            unlink(s->temp);
    }
    s->fd = -1;
    free(s->path);
    free(s->temp);
    s->path = s->temp = NULL;
}

static int save_write(struct hd_save *s, const char *p, size_t n)
{
    while (n > 0) {
        ssize_t did = write(s->fd, p, n);

        if (did < 0 && errno == EINTR && !s->direct)
            continue;
        if (did < 0)
            return -1;
        p += did;
        n -= (size_t)did;
    }
    return 0;
}

int hd_save_whole(const char *path, const void *bytes, size_t n,
                  struct heddle_error *err)
{
    struct hd_save s = {.fd = -1};

    if (hd_save_open(&s, path, err) == 0 && bytes != NULL) {
        if (save_write(&s, bytes, n) != 0)
            save_failed(&s, HEDDLE_EIO, path, "cannot write", err);
        else
            hd_save_keep(&s, err);
    }
    hd_save_drop(&s);
    return err->code;
}

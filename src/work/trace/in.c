/*
 * in.c - the bytes of a text file, plain, .xz or .tracez, as whole lines.
 *
 * The parser works on a large buffer and never asks whether a line is
 * complete: this file cuts the stream at the last newline, and the rest goes to
 * the front of the next buffer.  An .xz file (of any number of blocks and
 * streams; whether it is one is seen from its first bytes, not its name, as are
 * forms that are not read) is
 * decompressed straight into the buffers, and so is the text of a .tracez
 * (z.c).  liblzma's decoder with threads is not used: what Debian 12 has
 * of it is not safe with hostile files (CVE-2025-31115).  Buffers fit the L2
 * cache and grow only for lines longer than them, up to a limit that no tracer
 * reaches: 32 values of 5 registers take 3 KB.
 *
 * A reader that has filled one buffer and has more to do starts a helper
 * thread, which goes ahead as far as there are buffers: one is being parsed,
 * one is ready, one is filled.  Only `made' and `stop' are written by both
 * sides or read by the other one, under the lock.  Where no thread can be had
 * everything happens in the reader's.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <pthread.h>
#include <signal.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    TEXTS = 3,
    BUFFER = 64 << 10,  /* read at once */
    LONGEST = 16 << 20, /* line */
    PACKED = 64 << 10,
    PAD = 64
};

#define XZ_MEMORY (512ull << 20) /* xz -9 wants 65 MB to decompress */

struct text {
    struct hd_bytes buf;
    size_t done; /* of it: whole lines; the rest belongs to the next text */
    int more;    /* what hd_trace_in_more() gives */
    struct heddle_error err;
};

struct hd_trace_in {
    int fd;
    bool xz, eof;
    lzma_stream z;
    struct hd_tracez *tracez;
    struct text text[TEXTS];
    unsigned made, taken; /* texts, in the order of the file */
    bool helped, stop;    /* there is a helper; it shall end, or will */
    pthread_t helper;
    pthread_mutex_t lock;
    pthread_cond_t turn;
    unsigned char packed[PACKED];
    char path[];
};

static int in_io_error(struct hd_trace_in *in, const char *what, int code,
                       struct heddle_error *err)
{
    return hd_err_set(err, hd_err_errno(code), "%s: %s: %s", in->path, what,
                      strerror(errno));
}

void hd_trace_in_close(struct hd_trace_in *in)
{
    if (in == NULL)
        return;
    if (in->helped) {
        pthread_mutex_lock(&in->lock);
        in->stop = true;
        pthread_cond_signal(&in->turn);
        pthread_mutex_unlock(&in->lock);
        pthread_join(in->helper, NULL);
    }
    hd_tracez_close(in->tracez);
    if (in->fd >= 0)
        close(in->fd);
    lzma_end(&in->z);
    for (unsigned i = 0; i < TEXTS; i++)
        hd_bytes_free(&in->text[i].buf);
    free(in);
}

/* Reads up to n bytes to p; fewer only at the end.  < 0: an error. */
static ssize_t read_some(struct hd_trace_in *in, void *p, size_t n,
                         struct heddle_error *err)
{
    ssize_t got, sum = 0;

    do {
        got = read(in->fd, (char *)p + sum, n - (size_t)sum);
        if (got < 0 && errno != EINTR)
            return in_io_error(in, "cannot read", HEDDLE_EIO, err);
        sum += got > 0 ? got : 0;
    } while (got != 0 && (size_t)sum < n);
    return sum;
}

static int xz_error(struct hd_trace_in *in, lzma_ret r,
                    struct heddle_error *err)
{
    const char *why = r == LZMA_BUF_ERROR ? "the file is cut off"
                      : r == LZMA_MEMLIMIT_ERROR
                          ? "it needs more than 512 MB to decompress"
                      : r == LZMA_FORMAT_ERROR ? "not an .xz file"
                                               : "the data is corrupt";

    if (r == LZMA_MEM_ERROR)
        return hd_err_memory(err);
    return hd_err_set(err, HEDDLE_EDATA, "%s: byte %llu of the .xz: %s",
                      in->path, (unsigned long long)in->z.total_in, why);
}

/* Forms of compression that are not read, and what undoes them. */
static const struct form {
    const char *magic, *name, *undo;
} forms[] = {{"\x1f\x8b", "gzip", "gzip -d"},
             {"\x28\xb5\x2f\xfd", "zstd", "zstd -d"},
             {"BZh", "bzip2", "bzip2 -d"},
             {"PK\3\4", "zip", "unzip"}};

/* NULL: it is none. */
static const struct form *other_form(const unsigned char *p, ssize_t n)
{
    for (size_t i = 0; i < HD_LEN(forms); i++) {
        size_t m = strlen(forms[i].magic);
        if (n >= (ssize_t)m && memcmp(p, forms[i].magic, m) == 0)
            return &forms[i];
    }
    return NULL;
}

/* An archive of a directory, by its name. */
static bool in_archive(const char *path)
{
    size_t n = strlen(path);

    return strstr(path, ".tar.") != NULL ||
           (n > 4 && strcmp(path + n - 4, ".tgz") == 0);
}

/* The first bytes decide whether the file is compressed.  0 or an error. */
static int in_start(struct hd_trace_in *in, struct heddle_error *err)
{
    static const unsigned char magic[6] = {0xfd, '7', 'z', 'X', 'Z', 0};
    struct hd_bytes *before = &in->text[TEXTS - 1].buf; /* the first text */
    ssize_t n = read_some(in, in->packed, sizeof magic, err);

    if (n < 0)
        return err->code;
    const struct form *other = other_form(in->packed, n);
    if (other != NULL && in_archive(in->path))
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: an archive; unpack it (tar -xf) and open the "
                          "directory",
                          in->path);
    if (other != NULL)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: compressed with %s, which heddle does not read; "
                          "decompress it (%s), or compress it with xz",
                          in->path, other->name, other->undo);
    if (n == sizeof magic && memcmp(in->packed, magic, sizeof magic) == 0) {
        lzma_ret r = lzma_stream_decoder(&in->z, XZ_MEMORY, LZMA_CONCATENATED);
        if (r != LZMA_OK)
            return xz_error(in, r, err);
        in->xz = true;
        in->z.next_in = in->packed;
        in->z.avail_in = (size_t)n;
        return 0;
    }
    hd_bytes_add(before, in->packed, (size_t)n);
    return before->oom ? hd_err_memory(err) : 0;
}

struct hd_trace_in *hd_trace_in_open(const char *path, struct heddle_error *err)
{
    size_t n = strlen(path) + 1;
    struct hd_trace_in *in = calloc(1, sizeof *in + n);
    struct stat st;

    if (in == NULL)
        return hd_err_no_memory(err);
    memcpy(in->path, path, n);
    in->z = (lzma_stream)LZMA_STREAM_INIT;
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->fd < 0)
        in_io_error(in, "cannot open", HEDDLE_ENOINPUT, err);
    else if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
        hd_err_set(err, HEDDLE_ENOINPUT, "%s: is a directory", path);
    else if (n > 7 && strcmp(path + n - 8, ".tracez") == 0)
        in->tracez = hd_tracez_open(in->fd, in->path, err);
    else
        in_start(in, err);
    if (err->code == 0)
        return in;
    hd_trace_in_close(in);
    return NULL;
}

/* Decompresses to p.  Bytes, fewer than n only at the end, or an error. */
static ssize_t read_xz(struct hd_trace_in *in, unsigned char *p, size_t n,
                       struct heddle_error *err)
{
    lzma_stream *z = &in->z;
    lzma_ret r = LZMA_OK;

    z->next_out = p;
    z->avail_out = n;
    while (z->avail_out != 0 && r != LZMA_STREAM_END) {
        lzma_action act = LZMA_RUN;
        if (z->avail_in == 0) {
            ssize_t got = read_some(in, in->packed, PACKED, err);
            if (got < 0)
                return got;
            z->next_in = in->packed;
            z->avail_in = (size_t)got;
            if (got == 0)
                act = LZMA_FINISH;
        }
        r = lzma_code(z, act);
        if (r != LZMA_OK && r != LZMA_STREAM_END)
            return xz_error(in, r, err);
    }
    return (ssize_t)(n - z->avail_out);
}

/* Reads more; in->eof when there is none.  0 or an error. */
static int in_fill(struct hd_trace_in *in, struct hd_bytes *b,
                   struct heddle_error *err)
{
    ssize_t got;

    if (b->n >= LONGEST)
        return hd_err_set(err, HEDDLE_EDATA, "%s: a line is longer than %d MB",
                          in->path, LONGEST >> 20);
    if (in->tracez != NULL) {
        got = hd_tracez_more(in->tracez, b, BUFFER, err);
        in->eof = got == 0;
    } else if (hd_bytes_room(b, BUFFER + PAD)) {
        got = in->xz ? read_xz(in, b->p + b->n, BUFFER, err)
                     : read_some(in, b->p + b->n, BUFFER, err);
        in->eof = got < BUFFER;
        b->n += got > 0 ? (size_t)got : 0;
    } else {
        return hd_err_memory(err);
    }
    return got < 0 ? (int)got : 0;
}

/* Fills the next text with what follows the one before.  What it gives; the
 * last one may be empty, or an error. */
static int in_make(struct hd_trace_in *in)
{
    struct text *t = &in->text[in->made % TEXTS];
    const struct text *before = &in->text[(in->made + TEXTS - 1) % TEXTS];
    struct hd_bytes *b = &t->buf;
    size_t seen = 0, n; /* of the rest, known to hold no newline */

    b->n = t->done = 0;
    t->more = 1;
    if (before->buf.n != before->done)
        hd_bytes_add(b, before->buf.p + before->done,
                     before->buf.n - before->done);
    for (;; seen = b->n) {
        if (!in->eof && in_fill(in, b, &t->err) != 0)
            return t->more = t->err.code;
        for (n = b->n; n > seen && b->p[n - 1] != '\n'; n--)
            ;
        if (n > seen || in->eof)
            break;
    }
    if (!hd_bytes_room(b, PAD + 1))
        return t->more = hd_err_memory(&t->err);
    if (b->n == 0)
        return t->more = 0;
    if (n == seen) {
        t->more = 2;
        b->p[b->n++] = '\n';
        n = b->n;
    }
    memset(b->p + b->n, 0, PAD);
    t->done = n;
    return t->more;
}

static void *help(void *self)
{
    struct hd_trace_in *in = self;

    pthread_mutex_lock(&in->lock);
    while (!in->stop) {
        if (in->made - in->taken == TEXTS - 1) {
            pthread_cond_wait(&in->turn, &in->lock);
            continue;
        }
        pthread_mutex_unlock(&in->lock);
        bool last = in_make(in) <= 0;
        pthread_mutex_lock(&in->lock);
        in->made++;
        in->stop |= last;
        pthread_cond_signal(&in->turn);
    }
    pthread_mutex_unlock(&in->lock);
    return NULL;
}

/* Starts the helper, which no signal reaches. */
static void start_helper(struct hd_trace_in *in)
{
    sigset_t all, old;

    pthread_mutex_init(&in->lock, NULL);
    pthread_cond_init(&in->turn, NULL);
    sigfillset(&all);
    pthread_sigmask(SIG_BLOCK, &all, &old);
    in->helped = pthread_create(&in->helper, NULL, help, in) == 0;
    pthread_sigmask(SIG_SETMASK, &old, NULL);
}

int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct heddle_error *err)
{
    const struct text *t = &in->text[in->taken % TEXTS];

    if (!in->helped && in->made == 1 && !in->eof && (in->xz || in->tracez))
        start_helper(in);
    if (in->helped) {
        pthread_mutex_lock(&in->lock);
        pthread_cond_signal(&in->turn);
        while (in->made == in->taken)
            pthread_cond_wait(&in->turn, &in->lock);
        in->taken++;
        pthread_mutex_unlock(&in->lock);
    } else {
        in_make(in);
        in->taken = ++in->made;
    }
    *p = (const char *)t->buf.p;
    *end = t->done != 0 ? *p + t->done : *p; /* NULL without memory */
    return t->more < 0 ? hd_err_set(err, t->more, "%s", t->err.text) : t->more;
}

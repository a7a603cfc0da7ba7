/*
 * trace-in.c - the bytes of a text file, plain, .xz or .tracez, as whole lines.
 *
 * The parser works on a large buffer and never asks whether a line is
 * complete: this file cuts the stream at the last newline, and moves the rest
 * to the front before it reads on.  An .xz file (of any number of blocks and
 * streams; whether it is one is seen from its first bytes, not its name) is
 * decompressed straight into the same buffer, in the same thread; so is the
 * text of a .tracez (trace-z.c).  liblzma's decoder with threads is not used:
 * what Debian 12 has of it is not safe with hostile files (CVE-2025-31115).
 * The buffer fits the L2 cache and grows only for lines longer than it, up to a
 * limit that no tracer reaches: 32 values of 5 registers take 3 KB.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-text.h"

#include <errno.h>
#include <fcntl.h>
#include <lzma.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
    BUFFER = 256 << 10, /* read at once */
    LONGEST = 16 << 20, /* line */
    PACKED = 64 << 10,
    PAD = 64
};

#define XZ_MEMORY (512ull << 20) /* xz -9 wants 65 MB to decompress */

struct hd_trace_in {
    int fd;
    bool xz, eof;
    lzma_stream z;
    struct hd_tracez *tracez;
    struct hd_bytes buf;
    size_t done; /* of it: given out */
    unsigned char packed[PACKED];
    char path[];
};

static int io_error(struct hd_trace_in *in, const char *what, int code,
                    struct hd_err *err)
{
    return hd_err_set(err, hd_err_errno(code), "%s: %s: %s", in->path, what,
                      strerror(errno));
}

void hd_trace_in_close(struct hd_trace_in *in)
{
    if (in == NULL)
        return;
    hd_tracez_close(in->tracez);
    if (in->fd >= 0)
        close(in->fd);
    lzma_end(&in->z);
    hd_bytes_free(&in->buf);
    free(in);
}

/* Reads up to n bytes to p; fewer only at the end.  < 0: an error. */
static ssize_t read_some(struct hd_trace_in *in, void *p, size_t n,
                         struct hd_err *err)
{
    ssize_t got, sum = 0;

    do {
        got = read(in->fd, (char *)p + sum, n - (size_t)sum);
        if (got < 0 && errno != EINTR)
            return io_error(in, "cannot read", HEDDLE_EIO, err);
        sum += got > 0 ? got : 0;
    } while (got != 0 && (size_t)sum < n);
    return sum;
}

static int xz_error(struct hd_trace_in *in, lzma_ret r, struct hd_err *err)
{
    const char *why = r == LZMA_BUF_ERROR ? "the file is cut off"
                      : r == LZMA_MEMLIMIT_ERROR
                          ? "it wants more than 512 MB to decompress"
                      : r == LZMA_FORMAT_ERROR ? "not an .xz file"
                                               : "the data is corrupt";

    if (r == LZMA_MEM_ERROR)
        return hd_err_memory(err);
    return hd_err_set(err, HEDDLE_EDATA, "%s: byte %llu of the .xz: %s",
                      in->path, (unsigned long long)in->z.total_in, why);
}

/* The first bytes decide whether the file is compressed.  0 or an error. */
static int start(struct hd_trace_in *in, struct hd_err *err)
{
    static const unsigned char magic[6] = {0xfd, '7', 'z', 'X', 'Z', 0};
    ssize_t n = read_some(in, in->packed, sizeof magic, err);

    if (n < 0)
        return err->code;
    if (n == sizeof magic && memcmp(in->packed, magic, sizeof magic) == 0) {
        lzma_ret r = lzma_stream_decoder(&in->z, XZ_MEMORY, LZMA_CONCATENATED);
        if (r != LZMA_OK)
            return xz_error(in, r, err);
        in->xz = true;
        in->z.next_in = in->packed;
        in->z.avail_in = (size_t)n;
        return 0;
    }
    hd_bytes_add(&in->buf, in->packed, (size_t)n);
    return in->buf.oom ? hd_err_memory(err) : 0;
}

struct hd_trace_in *hd_trace_in_open(const char *path, struct hd_err *err)
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
        io_error(in, "cannot open", HEDDLE_ENOINPUT, err);
    else if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
        hd_err_set(err, HEDDLE_ENOINPUT, "%s: is a directory", path);
    else if (n > 7 && strcmp(path + n - 8, ".tracez") == 0)
        in->tracez = hd_tracez_open(in->fd, in->path, err);
    else
        start(in, err);
    if (err->code == 0)
        return in;
    hd_trace_in_close(in);
    return NULL;
}

/* Decompresses to p.  Bytes, fewer than n only at the end, or an error. */
static ssize_t read_xz(struct hd_trace_in *in, unsigned char *p, size_t n,
                       struct hd_err *err)
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
static int fill(struct hd_trace_in *in, struct hd_err *err)
{
    struct hd_bytes *b = &in->buf;
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

int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct hd_err *err)
{
    struct hd_bytes *b = &in->buf;
    size_t seen = 0, n; /* of the rest, known to hold no newline */
    bool ended = true;

    b->n -= in->done;
    if (in->done != 0)
        memmove(b->p, b->p + in->done, b->n);
    in->done = 0;
    for (;; seen = b->n) {
        if (!in->eof && fill(in, err) != 0)
            return err->code;
        for (n = b->n; n > seen && b->p[n - 1] != '\n'; n--)
            ;
        if (n > seen || in->eof)
            break;
    }
    if (b->n == 0)
        return 0;
    if (!hd_bytes_room(b, PAD + 1))
        return hd_err_memory(err);
    if (n == seen) {
        ended = false;
        b->p[b->n++] = '\n';
        n = b->n;
    }
    memset(b->p + b->n, 0, PAD);
    in->done = n;
    *p = (const char *)b->p;
    *end = *p + n;
    return ended ? 1 : 2;
}

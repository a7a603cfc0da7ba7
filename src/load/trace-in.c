/*
 * trace-in.c - the bytes of a text file, plain or .xz, as whole lines.
 *
 * The parser works on a large buffer and never asks whether a line is
 * complete: this file cuts the stream at the last newline, and moves the rest
 * to the front before it reads on.  An .xz file (of any number of blocks and
 * streams; whether it is one is seen from its first bytes, not its name) is
 * decompressed straight into the same buffer, in the same thread.  The buffer
 * fits the L2 cache and grows only for lines longer than it, up to a limit
 * that no tracer reaches: 32 values of 5 registers take 3 KB.
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
    BUFFER = 256 << 10,
    LONGEST = 16 << 20, /* line */
    PACKED = 64 << 10,
    PAD = 64
};

#define XZ_MEMORY (512ull << 20) /* xz -9 wants 65 MB to decompress */

struct hd_trace_in {
    int fd;
    bool xz, eof, started;
    lzma_stream z;
    char *buf;
    size_t room;       /* without the padding */
    size_t done, have; /* given out; filled */
    unsigned char packed[PACKED];
    char path[];
};

static int io_error(struct hd_trace_in *in, const char *what, int code,
                    struct hd_err *err)
{
    return hd_err_set(err, hd_err_errno(code), "%s: %s: %s", in->path, what,
                      strerror(errno));
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
    in->room = BUFFER;
    in->buf = calloc(1, BUFFER + PAD);
    in->fd = open(path, O_RDONLY | O_CLOEXEC);
    if (in->buf == NULL)
        hd_err_memory(err);
    else if (in->fd < 0)
        io_error(in, "cannot open", HEDDLE_ENOINPUT, err);
    else if (fstat(in->fd, &st) == 0 && S_ISDIR(st.st_mode))
        hd_err_set(err, HEDDLE_ENOINPUT, "%s: is a directory", path);
    else
        return in;
    hd_trace_in_close(in);
    return NULL;
}

void hd_trace_in_close(struct hd_trace_in *in)
{
    if (in == NULL)
        return;
    if (in->fd >= 0)
        close(in->fd);
    lzma_end(&in->z);
    free(in->buf);
    free(in);
}

static ssize_t read_some(struct hd_trace_in *in, void *p, size_t n)
{
    ssize_t got;

    do
        got = read(in->fd, p, n);
    while (got < 0 && errno == EINTR);
    return got;
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

/* Decompresses into the buffer.  Bytes, 0 at the end, or an error. */
static long fill_xz(struct hd_trace_in *in, struct hd_err *err)
{
    lzma_stream *z = &in->z;

    z->next_out = (unsigned char *)in->buf + in->have;
    z->avail_out = in->room - in->have;
    while (z->avail_out != 0 && !in->eof) {
        lzma_action act = LZMA_RUN;
        if (z->avail_in == 0) {
            ssize_t got = read_some(in, in->packed, PACKED);
            if (got < 0)
                return io_error(in, "cannot read", HEDDLE_EIO, err);
            z->next_in = in->packed;
            z->avail_in = (size_t)got;
            if (got == 0)
                act = LZMA_FINISH;
        }
        lzma_ret r = lzma_code(z, act);
        if (r == LZMA_STREAM_END)
            in->eof = true;
        else if (r != LZMA_OK)
            return xz_error(in, r, err);
    }
    return (long)(in->room - in->have - z->avail_out);
}

/* The first bytes decide whether the file is compressed. */
static int start(struct hd_trace_in *in, struct hd_err *err)
{
    static const unsigned char magic[6] = {0xfd, '7', 'z', 'X', 'Z', 0};
    size_t n = 0;

    in->started = true;
    while (n < sizeof magic) {
        ssize_t got = read_some(in, in->packed + n, PACKED - n);
        if (got < 0)
            return io_error(in, "cannot read", HEDDLE_EIO, err);
        if (got == 0)
            break;
        n += (size_t)got;
    }
    if (n >= sizeof magic && memcmp(in->packed, magic, sizeof magic) == 0) {
        lzma_ret r = lzma_stream_decoder(&in->z, XZ_MEMORY, LZMA_CONCATENATED);
        if (r != LZMA_OK)
            return xz_error(in, r, err);
        in->xz = true;
        in->z.next_in = in->packed;
        in->z.avail_in = n;
        return 0;
    }
    memcpy(in->buf, in->packed, n);
    in->have = n;
    return 0;
}

/* Reads more; in->eof when there is none. */
static int fill(struct hd_trace_in *in, struct hd_err *err)
{
    long got;

    if (in->have == in->room) {
        if (in->room >= LONGEST)
            return hd_err_set(err, HEDDLE_EDATA,
                              "%s: a line is longer than %d MB", in->path,
                              LONGEST >> 20);
        char *b = realloc(in->buf, in->room * 2 + PAD);
        if (b == NULL)
            return hd_err_memory(err);
        in->buf = b;
        in->room *= 2;
    }
    if (in->xz) {
        got = fill_xz(in, err);
    } else {
        got = read_some(in, in->buf + in->have, in->room - in->have);
        if (got < 0)
            return io_error(in, "cannot read", HEDDLE_EIO, err);
    }
    if (got < 0)
        return (int)got;
    if (got == 0)
        in->eof = true;
    in->have += (size_t)got;
    return 0;
}

int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct hd_err *err)
{
    size_t seen = 0; /* of the rest, known to hold no newline */
    bool ended = true;

    if (!in->started && start(in, err) != 0)
        return err->code;
    in->have -= in->done;
    memmove(in->buf, in->buf + in->done, in->have);
    in->done = 0;
    for (;;) {
        if (in->have < in->room && !in->eof && fill(in, err) != 0)
            return err->code;
        char *from = in->buf + seen, *e = in->buf + in->have;
        while (e > from && e[-1] != '\n')
            e--;
        if (e == from)
            e = NULL;
        if (e == NULL && in->eof) {
            if (in->have == 0)
                return 0;
            ended = false;
            e = in->buf + in->have; /* the padding has room for it */
            *e++ = '\n';
            in->have++;
        }
        if (e != NULL) {
            memset(in->buf + in->have, 0, PAD - 1);
            in->done = (size_t)(e - in->buf);
            *p = in->buf;
            *end = e;
            return ended ? 1 : 2;
        }
        seen = in->have;
        if (in->have == in->room && fill(in, err) != 0)
            return err->code;
    }
}

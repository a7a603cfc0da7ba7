/*
 * z.c - the .tracez of Accel-Sim 2.0, as the text that it holds.
 *
 *     header lines, 0
 *     u32 bytes of the dictionary, u32 instructions of a chunk; the dictionary
 *     of each warp: u32 instructions, u32 chunks, chunks: u32 bytes, zstd frame
 *     index: u32 blocks, of each: u32 x, y, z, seven of its cluster, warps, and
 *         of these: u32 instructions, u32 chunks, u64 byte, u32 a chunk
 *     u64 byte of the index
 *
 * Integers are little endian; there is no version and no checksum.  A frame
 * holds instruction lines.  What comes out is the .traceg that the file was
 * made from, but for lines about clusters, which say nothing here: the reader
 * of text needs to know nothing of it, and the place of an error is a line of
 * that text.  Warps come in the order of the index, one chunk in memory at a
 * time.
 *
 * Nothing is trusted: what is read is inside the file, and a chunk has a size
 * that it says and that has a limit.
 *
 * SPDX-License-Identifier: MIT
 */
#include "text.h"

#include <errno.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <zstd.h>

enum {
    WINDOW = 256 << 10, /* of the file, read at once */
    HEADER = 64 << 10,  /* most bytes of the header */
    DICTIONARY = 1 << 20,
    CHUNK = 64 << 20 /* and of the lines of a chunk */
};

struct hd_tracez {
    int fd;
    const char *path;
    uint64_t size, index; /* of the file; where its index begins */
    struct hd_bytes window, blocks;
    uint64_t at; /* byte at which the window begins */
    struct hd_cursor c;
    ZSTD_DCtx *d;
    ZSTD_DDict *dict;
    size_t header; /* bytes still to be given out */
    uint64_t pos;  /* of what is read next */
    bool in_block;
    uint32_t left, warps, warp, chunks; /* blocks to come; of the block; .. */
};

static int tracez_wrong(struct hd_tracez *z, const char *what,
                        struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_EDATA, "%s: byte %llu of the .tracez: %s",
                      z->path, (unsigned long long)z->pos, what);
}

/* The next n bytes of the file, until the next call; NULL: an error. */
static const unsigned char *take(struct hd_tracez *z, size_t n,
                                 struct heddle_error *err)
{
    struct hd_bytes *w = &z->window;

    if (n > z->size - z->pos) {
        tracez_wrong(z, "the file is cut off", err);
        return NULL;
    }
    if (w->p == NULL || z->pos < z->at || z->pos + n > z->at + w->n) {
        size_t want = hd_min_u64(n > WINDOW ? n : WINDOW, z->size - z->pos);
        w->n = 0;
        z->at = z->pos;
        if (!hd_bytes_room(w, want + 1))
            return hd_err_no_memory(err);
        for (ssize_t got; w->n < want; w->n += (size_t)got) {
            got = pread(z->fd, w->p + w->n, want - w->n, (off_t)(z->at + w->n));
            if (got < 0 && errno == EINTR)
                got = 0;
            else if (got <= 0) {
                tracez_wrong(
                    z, got < 0 ? strerror(errno) : "the file is cut off", err);
                return NULL;
            }
        }
    }
    z->pos += n;
    return w->p + (z->pos - n - z->at);
}

static uint32_t load32(const unsigned char *p)
{
    return p == NULL ? 0
                     : p[0] | (uint32_t)p[1] << 8 | (uint32_t)p[2] << 16 |
                           (uint32_t)p[3] << 24;
}

static uint32_t take32(struct hd_tracez *z, struct heddle_error *err)
{
    return load32(take(z, 4, err));
}

static uint32_t get32(struct hd_tracez *z)
{
    return load32(hd_cursor_take(&z->c, 4));
}

void hd_tracez_close(struct hd_tracez *z)
{
    if (z == NULL)
        return;
    ZSTD_freeDCtx(z->d);
    ZSTD_freeDDict(z->dict);
    hd_bytes_free(&z->window);
    hd_bytes_free(&z->blocks);
    free(z);
}

/* The header's length, the dictionary and the index.  0 or an error. */
static int read_frame(struct hd_tracez *z, struct heddle_error *err)
{
    size_t most = hd_min_u64(z->size, HEADER), n;
    const unsigned char *p = take(z, most, err), *zero;

    if (p == NULL)
        return err->code;
    zero = memchr(p, 0, most);
    z->pos = 0;
    if (zero == NULL || (*p != '-' && *p != '#'))
        return tracez_wrong(z, "expected header lines and a zero byte", err);
    z->header = (size_t)(zero - p);
    z->pos = z->header + 1;
    n = take32(z, err);
    take32(z, err);
    if (err->code == 0 && n > DICTIONARY)
        return tracez_wrong(z, "the dictionary is larger than 1 MB", err);
    if (n != 0 && (p = take(z, n, err)) != NULL &&
        (z->dict = ZSTD_createDDict(p, n)) == NULL)
        return hd_err_memory(err);
    uint64_t data = z->pos;
    z->pos = z->size >= data + 8 ? z->size - 8 : z->size;
    if (err->code != 0 || (p = take(z, 8, err)) == NULL)
        return err->code;
    z->index = hd_load64(p);
    z->pos = z->size - 8;
    if (z->index < data || z->index > z->size - 8 || z->size - 8 - z->index < 4)
        return tracez_wrong(z, "the index is not inside the file", err);
    n = z->size - 8 - z->index;
    z->pos = z->index;
    if (n >= 1u << 31)
        return tracez_wrong(z, "the index is larger than 2 GB", err);
    if ((p = take(z, n, err)) == NULL)
        return err->code;
    hd_bytes_add(&z->blocks, p, n);
    if (z->blocks.oom)
        return hd_err_memory(err);
    z->c = (struct hd_cursor){.p = z->blocks.p, .end = z->blocks.p + n};
    z->left = get32(z);
    return 0;
}

struct hd_tracez *hd_tracez_open(int fd, const char *path,
                                 struct heddle_error *err)
{
    struct hd_tracez *z = calloc(1, sizeof *z);
    struct stat st;

    if (z == NULL || (z->d = ZSTD_createDCtx()) == NULL) {
        free(z);
        return hd_err_no_memory(err);
    }
    z->fd = fd;
    z->path = path;
    if (fstat(fd, &st) == 0 && S_ISREG(st.st_mode))
        z->size = (uint64_t)st.st_size;
    if (read_frame(z, err) == 0)
        return z;
    hd_tracez_close(z);
    return NULL;
}

/* The lines of the next chunk. */
static int put_chunk(struct hd_tracez *z, struct hd_bytes *out,
                     struct heddle_error *err)
{
    uint32_t n = take32(z, err);
    const unsigned char *p = err->code == 0 ? take(z, n, err) : NULL;

    if (p == NULL)
        return err->code;
    unsigned long long bytes = ZSTD_getFrameContentSize(p, n);
    if (bytes > CHUNK)
        return tracez_wrong(z, "a chunk that is empty, or has more than 64 MB",
                            err);
    if (!hd_bytes_room(out, bytes + 1))
        return hd_err_memory(err);
    size_t did = z->dict != NULL
                     ? ZSTD_decompress_usingDDict(z->d, out->p + out->n, bytes,
                                                  p, n, z->dict)
                     : ZSTD_decompressDCtx(z->d, out->p + out->n, bytes, p, n);
    if (did != bytes)
        return tracez_wrong(z, "a chunk is corrupt", err);
    out->n += did;
    if (did != 0 && out->p[out->n - 1] != '\n')
        out->p[out->n++] = '\n';
    z->chunks--;
    return 0;
}

/* The next of the index: a warp, or the end or the begin of a block. */
static int put_next(struct hd_tracez *z, struct hd_bytes *out,
                    struct heddle_error *err)
{
    char text[96];
    uint32_t a[11];
    uint64_t pos = z->pos;

    if (z->in_block && z->warp < z->warps) {
        for (unsigned i = 0; i < 4; i++)
            a[i] = get32(z);
        z->pos = a[2] | (uint64_t)a[3] << 32;
        z->chunks = a[1];
        hd_cursor_take(&z->c, (size_t)a[1] * 4);
        if (!z->c.bad && z->pos <= z->index &&
            (take32(z, err) != a[0] || take32(z, err) != a[1]))
            return tracez_wrong(z, "a warp is not what the index says", err);
        snprintf(text, sizeof text, "warp = %u\ninsts = %u\n", z->warp++, a[0]);
    } else if (z->in_block) {
        z->in_block = false;
        snprintf(text, sizeof text, "#END_TB\n");
    } else {
        for (unsigned i = 0; i < 11; i++)
            a[i] = get32(z);
        z->in_block = true;
        z->left--;
        z->warps = a[10];
        z->warp = 0;
        snprintf(text, sizeof text, "#BEGIN_TB\n\nthread block = %u,%u,%u\n\n",
                 a[0], a[1], a[2]);
    }
    if (z->c.bad || z->pos > z->size) {
        z->pos = pos;
        return tracez_wrong(z,
                            z->c.bad ? "the index is truncated"
                                     : "the index points outside the file",
                            err);
    }
    hd_bytes_add(out, text, strlen(text));
    return err->code;
}

int hd_tracez_more(struct hd_tracez *z, struct hd_bytes *out, size_t least,
                   struct heddle_error *err)
{
    size_t from = out->n;

    if (z->header != 0) {
        z->pos = 0;
        const unsigned char *p = take(z, z->header, err);
        if (p == NULL)
            return err->code;
        hd_bytes_add(out, p, z->header);
        hd_bytes_add(out, "\n#traces format\n", 16);
        z->header = 0;
    }
    while (out->n - from < least &&
           (z->chunks != 0 || z->in_block || z->left != 0)) {
        if ((z->chunks != 0 ? put_chunk(z, out, err) : put_next(z, out, err)))
            return err->code;
    }
    return out->oom ? hd_err_memory(err) : out->n != from;
}

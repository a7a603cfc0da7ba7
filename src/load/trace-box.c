/*
 * trace-box.c - heddle's trace container: packed frames and their index.
 *
 * A file is
 *
 *     header   64 bytes, below
 *     frames   one after the other, each a zstd frame (or, where that would
 *              not be shorter, the plain bytes)
 *     index    a zstd frame
 *
 * header, little endian: magic (8), version u32, zero u32, then u64: byte of
 * the index, its stored and its plain size, the xxh3 of its plain bytes, the
 * xxh3 of the contents, the xxh3 of the 56 bytes before.  The index holds
 * strings (kernel names, opcodes), address spaces with their allocations and
 * page lists, kernels, and for each frame its sizes, number of blocks and
 * xxh3; so a block is found by two searches and one frame is read.  The hash
 * of the contents covers what is stored and not how, hence a text trace has
 * the hash of its conversion.
 *
 * The same container lives in memory while a text trace is replayed: frames
 * are kept as they are up to a limit, then go, lightly compressed, to a
 * temporary file that has no name.  A file being written has its name when it
 * is complete (base/save.c).
 *
 * The index.  Integers are of variable length (grow.h) unless a
 * size is given:
 *
 *   strings    count, then each: length, bytes
 *   contexts   count, then each: name, first local word, local words, local
 *              base,
 *              allocations: count, (name, base, bytes)...
 *              pages: count, (gap to the end of the last, pages)...
 *   kernels    count, then each: name, id, context, grid 3, block 3,
 *              shared bytes, registers, binary, version, lanes, stream,
 *              shared base, local base, warps, instructions, thread
 *              instructions, memory instructions, lane addresses, frames
 *   frames     in the order of the kernels: blocks, plain bytes, xxh3 (8)
 *   -- end of what the hash of the contents covers --
 *   storage    for each frame: stored bytes
 *   notes      count, then each: number, how many, length, first place
 *
 * Nothing that is read is trusted: every size is compared with the file's
 * before memory is taken.
 *
 * Copying takes frames as they are, which keeps the hash of the contents; they
 * name opcodes by number, so all strings go first, in their order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace-box.h"

#include "../base/save.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#define XXH_INLINE_ALL
#include <xxhash.h>
#include <zstd.h>
#include <zstd_errors.h>

enum { HEADER = 64, VERSION = 1, LEVEL_FILE = 12, LEVEL_SPILL = 1 };

static const unsigned char magic[8] = {0x89, 'h',  'd',  't',
                                       '\r', '\n', 0x1a, '\n'};

struct hd_box_io {
    int fd;
    bool write;    /* being written */
    bool file;     /* has a name, or will have */
    uint64_t keep; /* bytes of frames kept in memory */
    uint64_t kept;
    uint64_t end; /* of what was written to the file */
    ZSTD_CCtx *c;
    ZSTD_DCtx *d;
    struct hd_bytes packed, plain;
    char *path;
    struct hd_save save; /* the file being written, which has fd */
};

static int io_error(const struct hd_box *b, int code, const char *what,
                    struct hd_err *err)
{
    return hd_err_set(err, hd_err_errno(code), "%s: %s: %s",
                      b->io->path != NULL ? b->io->path : "temporary file",
                      what, strerror(errno));
}

/* ---- files --------------------------------------------------------------- */

static int write_at(struct hd_box *b, const void *p, size_t n, uint64_t at,
                    struct hd_err *err)
{
    const char *s = p;

    while (n != 0) {
        ssize_t did = pwrite(b->io->fd, s, n, (off_t)at);
        if (did < 0 && errno == EINTR)
            continue;
        if (did <= 0)
            return io_error(b, HEDDLE_EIO, "cannot write", err);
        s += did;
        n -= (size_t)did;
        at += (size_t)did;
    }
    return 0;
}

static int read_at(struct hd_box *b, void *p, size_t n, uint64_t at,
                   struct hd_err *err)
{
    char *s = p;

    while (n != 0) {
        ssize_t did = pread(b->io->fd, s, n, (off_t)at);
        if (did < 0 && errno == EINTR)
            continue;
        if (did < 0)
            return io_error(b, HEDDLE_EIO, "cannot read", err);
        if (did == 0)
            return hd_err_set(err, HEDDLE_EDATA, "%s: cut off at byte %llu",
                              b->io->path != NULL ? b->io->path : "?",
                              (unsigned long long)at);
        s += did;
        n -= (size_t)did;
        at += (size_t)did;
    }
    return 0;
}

/* Opens the nameless temporary file. */
static int open_spill(struct hd_box *b, struct hd_err *err)
{
    const char *dir = getenv("TMPDIR");
    char name[512];

    if (dir == NULL || *dir == '\0')
        dir = "/tmp";
    int n = snprintf(name, sizeof name, "%s/heddle-XXXXXX", dir);
    if (n < 0 || (size_t)n >= sizeof name)
        return hd_err_set(err, HEDDLE_ECREATE, "TMPDIR is too long");
    b->io->fd = mkstemp(name);
    if (b->io->fd < 0)
        return hd_err_set(err, HEDDLE_ECREATE,
                          "%s: cannot create a temporary file: %s; convert "
                          "the trace first, or set TMPDIR",
                          dir, strerror(errno));
    unlink(name);
    return 0;
}

/* ---- making and freeing -------------------------------------------------- */

static struct hd_box *new_box(const char *path, struct hd_err *err)
{
    struct hd_box *b = calloc(1, sizeof *b);
    struct hd_box_io *io = calloc(1, sizeof *io);

    if (b != NULL && io != NULL) {
        b->io = io;
        io->fd = io->save.fd = -1;
        io->d = ZSTD_createDCtx();
        io->path = path != NULL ? strdup(path) : NULL;
        if (io->d != NULL && (path == NULL || io->path != NULL))
            return b;
        hd_box_free(b);
    } else {
        free(b);
        free(io);
    }
    return hd_err_no_memory(err);
}

static int make_writer(struct hd_box *b, int level, struct hd_err *err)
{
    b->io->write = true;
    b->io->c = ZSTD_createCCtx();
    if (b->io->c == NULL)
        return hd_err_memory(err);
    ZSTD_CCtx_setParameter(b->io->c, ZSTD_c_compressionLevel, level);
    return 0;
}

struct hd_box *hd_box_memory(uint64_t keep, struct hd_err *err)
{
    struct hd_box *b = new_box(NULL, err);

    if (b == NULL)
        return NULL;
    b->io->keep = keep;
    if (make_writer(b, LEVEL_SPILL, err) == 0)
        return b;
    hd_box_free(b);
    return NULL;
}

struct hd_box *hd_box_create(const char *path, struct hd_err *err)
{
    struct hd_box *b = new_box(path, err);

    if (b == NULL)
        return NULL;
    b->io->file = true;
    b->io->end = HEADER;
    if (hd_save_open(&b->io->save, path, err) == 0 &&
        make_writer(b, LEVEL_FILE, err) == 0) {
        b->io->fd = b->io->save.fd;
        return b;
    }
    hd_box_free(b);
    return NULL;
}

void hd_box_free(struct hd_box *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->frames; i++)
        free(b->frame[i].mem);
    for (size_t i = 0; i < b->contexts; i++) {
        free(b->context[i].alloc);
        free(b->context[i].range);
    }
    for (size_t i = 0; i < b->strings; i++)
        free(b->string[i]);
    free(b->frame);
    free(b->kernel);
    free(b->context);
    free(b->string);
    struct hd_box_io *io = b->io;
    if (io->fd >= 0 && io->fd != io->save.fd)
        close(io->fd);
    hd_save_drop(&io->save);
    ZSTD_freeCCtx(io->c);
    ZSTD_freeDCtx(io->d);
    hd_bytes_free(&io->packed);
    hd_bytes_free(&io->plain);
    free(io->path);
    free(io);
    free(b);
}

/* ---- writing ------------------------------------------------------------- */

uint32_t hd_box_string(struct hd_box *b, const char *s, size_t n,
                       struct hd_err *err)
{
    if (memchr(s, '\0', n) != NULL) {
        hd_err_set(err, HEDDLE_EDATA, "an opcode or name has a zero byte");
        return HD_NONE;
    }
    for (size_t i = 0; i < b->strings; i++) {
        if (strncmp(b->string[i], s, n) == 0 && b->string[i][n] == '\0')
            return (uint32_t)i;
    }
    if (b->strings >= 1u << 16) {
        hd_err_set(err, HEDDLE_EDATA,
                   "more than 65536 different opcodes and names");
        return HD_NONE;
    }
    char **p = hd_grow(&b->string, b->strings, &b->room_strings, sizeof *p);
    char *copy = malloc(n + 1);
    if (p == NULL || copy == NULL) {
        free(copy);
        hd_err_memory(err);
        return HD_NONE;
    }
    memcpy(copy, s, n);
    copy[n] = '\0';
    p[b->strings] = copy;
    return (uint32_t)b->strings++;
}

const char *hd_box_name(struct hd_box *b, const char *s, size_t n,
                        struct hd_err *err)
{
    uint32_t i = hd_box_string(b, s, n, err);

    return i != HD_NONE ? b->string[i] : NULL;
}

int hd_box_context(struct hd_box *b, const char *name, struct hd_err *err)
{
    const char *s = hd_box_name(b, name, strlen(name), err);
    struct hd_trace_context *c =
        hd_grow(&b->context, b->contexts, &b->room_contexts, sizeof *c);

    if (s == NULL || c == NULL)
        return hd_err_memory(err);
    c[b->contexts++] = (struct hd_trace_context){.name = s};
    return 0;
}

int hd_box_alloc(struct hd_box *b, uint32_t context, const char *name,
                 uint64_t base, uint64_t bytes, struct hd_err *err)
{
    struct hd_trace_context *c = &b->context[context];
    const char *s = hd_box_name(b, name, strlen(name), err);
    struct hd_trace_alloc *a =
        hd_grow(&c->alloc, c->allocs, &c->room_allocs, sizeof *a);

    if (s == NULL || a == NULL)
        return hd_err_memory(err);
    a[c->allocs++] = (struct hd_trace_alloc){s, base, bytes};
    return 0;
}

struct hd_trace_kernel *hd_box_kernel(struct hd_box *b,
                                      const struct hd_trace_kernel *k,
                                      struct hd_err *err)
{
    struct hd_trace_kernel *p =
        hd_grow(&b->kernel, b->kernels, &b->room_kernels, sizeof *p);

    if (p == NULL)
        return hd_err_no_memory(err);
    p += b->kernels++;
    *p = *k;
    p->frame0 = (uint32_t)b->frames;
    p->frames = 0;
    return p;
}

/* Compresses into io->packed; gives the shorter of the two forms. */
static const void *shorter(struct hd_box *b, const unsigned char *p, size_t n,
                           uint32_t *stored, struct hd_err *err)
{
    struct hd_bytes *out = &b->io->packed;
    size_t bound = ZSTD_compressBound(n);

    out->n = 0;
    if (!hd_bytes_room(out, bound))
        return hd_err_no_memory(err);
    size_t did = ZSTD_compress2(b->io->c, out->p, bound, p, n);
    if (ZSTD_getErrorCode(did) == ZSTD_error_memory_allocation)
        return hd_err_no_memory(err);
    if (ZSTD_isError(did) || did >= n) {
        *stored = (uint32_t)n;
        return p;
    }
    *stored = (uint32_t)did;
    return out->p;
}

/* Adds a frame to the last kernel. */
static int put_frame(struct hd_box *b, const unsigned char *p, size_t n,
                     uint32_t blocks, struct hd_err *err)
{
    struct hd_box_frame *f =
        hd_grow(&b->frame, b->frames, &b->room_frames, sizeof *f);
    struct hd_trace_kernel *k = &b->kernel[b->kernels - 1];

    if (f == NULL)
        return hd_err_memory(err);
    if (n >= 1u << 31)
        return hd_err_set(err, HEDDLE_EDATA,
                          "kernel %u: a thread block takes more than 2 GB",
                          k->id);
    f += b->frames;
    *f = (struct hd_box_frame){.hash = XXH3_64bits(p, n),
                               .raw = (uint32_t)n,
                               .stored = (uint32_t)n,
                               .blocks = blocks,
                               .kernel = (uint32_t)b->kernels - 1};
    if (k->frames != 0)
        f->first = f[-1].first + f[-1].blocks;
    if (!b->io->file && b->io->kept + n <= b->io->keep) {
        f->mem = malloc(n);
        if (f->mem == NULL)
            return hd_err_memory(err);
        memcpy(f->mem, p, n);
        b->io->kept += n;
    } else {
        if (b->io->fd < 0 && open_spill(b, err) != 0)
            return err->code;
        const void *q = shorter(b, p, n, &f->stored, err);
        f->at = b->io->end;
        if (q == NULL || write_at(b, q, f->stored, f->at, err) != 0)
            return err->code;
        b->io->end += f->stored;
    }
    k->frames++;
    b->frames++;
    return 0;
}

int hd_box_pack(struct hd_box *b, struct hd_pack *k, struct hd_err *err)
{
    struct hd_bytes *out = &b->io->plain;
    uint32_t blocks = hd_pack_blocks(k);

    if (blocks == 0)
        return 0;
    if (hd_pack_end(k, out) != 0)
        return hd_err_memory(err);
    if (put_frame(b, out->p, out->n, blocks, err) != 0)
        return err->code;
    const struct hd_trace_kernel *last = &b->kernel[b->kernels - 1];
    hd_pack_begin(k, last->lanes, hd_trace_warps(last));
    return 0;
}

int hd_box_block_end(struct hd_box *b, struct hd_pack *k, struct hd_err *err)
{
    struct hd_trace_kernel *last = &b->kernel[b->kernels - 1];

    last->blocks++;
    last->warps += hd_trace_warps(last);
    if (hd_pack_block_end(k) != 0)
        return hd_err_memory(err);
    return hd_pack_full(k) ? hd_box_pack(b, k, err) : 0;
}

/* ---- the index ------------------------------------------------------------
 */

static uint64_t string_number(const struct hd_box *b, const char *s)
{
    for (size_t i = 0; i < b->strings; i++) {
        if (b->string[i] == s)
            return i;
    }
    return 0;
}

static void put_context(const struct hd_box *b,
                        const struct hd_trace_context *c, struct hd_bytes *o)
{
    uint64_t next = 0;

    hd_bytes_put(o, string_number(b, c->name));
    hd_bytes_put(o, c->local_low);
    hd_bytes_put(o, c->local_words);
    hd_bytes_put(o, c->local_base);
    hd_bytes_put(o, c->allocs);
    for (size_t i = 0; i < c->allocs; i++) {
        hd_bytes_put(o, string_number(b, c->alloc[i].name));
        hd_bytes_put(o, c->alloc[i].base);
        hd_bytes_put(o, c->alloc[i].bytes);
    }
    hd_bytes_put(o, c->ranges);
    for (size_t i = 0; i < c->ranges; i++) {
        hd_bytes_put(o, c->range[i].page - next);
        hd_bytes_put(o, c->range[i].n);
        next = c->range[i].page + c->range[i].n;
    }
}

/* The fields of a kernel behind its name, in their order: X(field, most). */
#define KERNEL_FIELDS(X)                                                       \
    X(id, UINT32_MAX)                                                          \
    X(context, b->contexts - 1)                                                \
    X(grid[0], UINT32_MAX)                                                     \
    X(grid[1], UINT32_MAX)                                                     \
    X(grid[2], UINT32_MAX)                                                     \
    X(block[0], 2048)                                                          \
    X(block[1], 2048)                                                          \
    X(block[2], 2048)                                                          \
    X(shared_bytes, UINT32_MAX)                                                \
    X(regs, UINT32_MAX)                                                        \
    X(binary, UINT32_MAX)                                                      \
    X(version, UINT32_MAX)                                                     \
    X(lanes, HD_MAX_LANES)                                                     \
    X(stream, UINT64_MAX)                                                      \
    X(shared_base, UINT64_MAX)                                                 \
    X(local_base, UINT64_MAX)                                                  \
    X(warps, UINT64_MAX)                                                       \
    X(insts, UINT64_MAX)                                                       \
    X(thread_insts, UINT64_MAX)                                                \
    X(mem_insts, UINT64_MAX)                                                   \
    X(lane_addrs, UINT64_MAX)

static void put_notes(const struct hd_box *b, struct hd_bytes *o)
{
    uint64_t n = 0;

    for (unsigned i = 0; i < HD_TN_COUNT; i++)
        n += b->note[i].count != 0;
    hd_bytes_put(o, n);
    for (unsigned i = 0; i < HD_TN_COUNT; i++) {
        size_t len = strlen(b->note[i].where);
        if (b->note[i].count == 0)
            continue;
        hd_bytes_put(o, i);
        hd_bytes_put(o, b->note[i].count);
        hd_bytes_put(o, len);
        hd_bytes_add(o, b->note[i].where, len);
    }
}

size_t hd_index_write(const struct hd_box *b, struct hd_bytes *o)
{
    hd_bytes_put(o, b->strings);
    for (size_t i = 0; i < b->strings; i++) {
        size_t len = strlen(b->string[i]);
        hd_bytes_put(o, len);
        hd_bytes_add(o, b->string[i], len);
    }
    hd_bytes_put(o, b->contexts);
    for (size_t i = 0; i < b->contexts; i++)
        put_context(b, &b->context[i], o);
    hd_bytes_put(o, b->kernels);
    for (size_t i = 0; i < b->kernels; i++) {
        const struct hd_trace_kernel *k = &b->kernel[i];
        hd_bytes_put(o, string_number(b, k->name));
#define X(field, most) hd_bytes_put(o, k->field);
        KERNEL_FIELDS(X)
#undef X
        hd_bytes_put(o, k->frames);
    }
    for (size_t i = 0; i < b->frames; i++) {
        unsigned char hash[8];
        hd_bytes_put(o, b->frame[i].blocks);
        hd_bytes_put(o, b->frame[i].raw);
        hd_store64(hash, b->frame[i].hash);
        hd_bytes_add(o, hash, 8);
    }
    size_t logical = o->n;
    for (size_t i = 0; i < b->frames; i++)
        hd_bytes_put(o, b->frame[i].stored);
    put_notes(b, o);
    return logical;
}

static int write_index(struct hd_box *b, const struct hd_bytes *index,
                       struct hd_err *err)
{
    unsigned char head[HEADER] = {0};
    uint32_t stored;
    struct hd_box_io *io = b->io;

    ZSTD_CCtx_setParameter(io->c, ZSTD_c_compressionLevel, 15);
    const void *p = shorter(b, index->p, index->n, &stored, err);
    if (p == NULL || write_at(b, p, stored, io->end, err) != 0)
        return err->code;
    memcpy(head, magic, sizeof magic);
    head[8] = VERSION;
    hd_store64(head + 16, io->end);
    hd_store64(head + 24, stored);
    hd_store64(head + 32, index->n);
    hd_store64(head + 40, XXH3_64bits(index->p, index->n));
    hd_store64(head + 48, b->hash);
    hd_store64(head + 56, XXH3_64bits(head, 56));
    if (write_at(b, head, HEADER, 0, err) != 0)
        return err->code;
    io->end += stored;
    b->file_bytes = io->end;
    io->fd = -1;
    return hd_save_keep(&io->save, err);
}

int hd_box_finish(struct hd_box *b, struct hd_err *err)
{
    struct hd_bytes index = {0};
    size_t logical = hd_index_write(b, &index);
    int r = 0;

    if (index.oom)
        r = hd_err_memory(err);
    else
        b->hash = XXH3_64bits(index.p, logical);
    if (r == 0 && b->io->file)
        r = write_index(b, &index, err);
    hd_bytes_free(&index);
    if (r == 0)
        b->io->write = false;
    return r;
}

/* ---- reading the index --------------------------------------------------- */

const char hd_index_memory[] = "memory";

/* The cursor says by `oom` that it is not the data that is bad. */
static void no_memory(struct hd_cursor *c)
{
    c->oom = c->bad = true;
}

/* The count of a table whose rows take at least `least` bytes, and zeroed
 * memory for them, of which the pointer at `list` has the address. */
static uint64_t get_count(struct hd_cursor *c, size_t least, void *list,
                          size_t size)
{
    uint64_t n = hd_cursor_count(c, least);
    void *p = calloc(n + 1, size);

    memcpy(list, &p, sizeof p);
    if (p != NULL)
        return n;
    no_memory(c);
    return 0;
}

static const char *get_string(const struct hd_box *b, struct hd_cursor *c)
{
    uint64_t i = hd_cursor_get(c);

    if (c->bad || i >= b->strings) {
        c->bad = true;
        return "";
    }
    return b->string[i];
}

static bool get_strings(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = get_count(c, 1, &b->string, sizeof *b->string);

    while (b->strings < n && !c->bad) {
        char *s;
        uint64_t len = get_count(c, 1, &s, 1);
        const void *p = hd_cursor_take(c, len);
        if (s != NULL)
            b->string[b->strings++] = s;
        if (p == NULL || memchr(p, 0, len) != NULL)
            return false;
        memcpy(s, p, len);
    }
    return !c->bad;
}

static void get_ranges(struct hd_trace_context *x, struct hd_cursor *c)
{
    uint64_t n = get_count(c, 2, &x->range, sizeof *x->range), next = 0;
    uint64_t end = HD_TRACE_VA_END >> HD_PAGE_SHIFT;

    for (; x->ranges < n && !c->bad; x->ranges++) {
        struct hd_trace_range *r = &x->range[x->ranges];
        r->page = next + hd_cursor_max(c, end - next);
        r->n = hd_cursor_max(c, end - r->page);
        next = r->page + r->n;
    }
}

static void get_context(struct hd_box *b, struct hd_trace_context *x,
                        struct hd_cursor *c)
{
    x->name = get_string(b, c);
    x->local_low = hd_cursor_max(c, HD_TRACE_WINDOW / 4);
    x->local_words = hd_cursor_max(c, HD_TRACE_WINDOW / 4 - x->local_low);
    x->local_base = hd_cursor_max(c, HD_TRACE_VA_END - 1);
    uint64_t n = get_count(c, 3, &x->alloc, sizeof *x->alloc);
    for (; x->allocs < n && !c->bad; x->allocs++) {
        struct hd_trace_alloc *a = &x->alloc[x->allocs];
        a->name = get_string(b, c);
        a->base = hd_cursor_max(c, HD_TRACE_VA_END - 1);
        a->bytes = hd_cursor_max(c, HD_TRACE_VA_END - a->base);
    }
    get_ranges(x, c);
}

static bool get_contexts(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = get_count(c, 6, &b->context, sizeof *b->context);

    while (b->contexts < n && !c->bad)
        get_context(b, &b->context[b->contexts++], c);
    return n != 0 && !c->bad;
}

static void get_kernel(struct hd_box *b, struct hd_trace_kernel *k,
                       struct hd_cursor *c)
{
    k->name = get_string(b, c);
#define X(field, most) k->field = hd_cursor_max(c, most);
    KERNEL_FIELDS(X)
#undef X
    k->frame0 = (uint32_t)b->frames;
    k->frames = (uint32_t)hd_cursor_count(c, 9);
    b->frames += k->frames;
    if (c->bad || (k->lanes != 32 && k->lanes != 64) ||
        hd_trace_threads(k) == 0 || hd_trace_warps(k) > HD_TRACE_MAX_WARPS ||
        b->frames > UINT32_MAX)
        c->bad = true;
}

static bool get_kernels(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = get_count(c, 22, &b->kernel, sizeof *b->kernel);

    while (b->kernels < n && !c->bad)
        get_kernel(b, &b->kernel[b->kernels++], c);
    return !c->bad;
}

static bool get_frames(struct hd_box *b, struct hd_cursor *c, uint64_t from,
                       uint64_t to)
{
    uint64_t n = b->frames;

    b->frames = 0; /* how many can be freed */
    if (n > hd_cursor_left(c) / 10)
        return false;
    b->frame = calloc(n + 1, sizeof *b->frame);
    if (b->frame == NULL) {
        no_memory(c);
        return false;
    }
    b->frames = n;
    for (size_t i = 0; i < b->kernels; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        for (uint32_t j = 0; j < k->frames; j++) {
            struct hd_box_frame *f = &b->frame[k->frame0 + j];
            f->kernel = (uint32_t)i;
            f->first = k->blocks;
            f->blocks = (uint32_t)hd_cursor_max(c, 1u << 24);
            f->raw = (uint32_t)hd_cursor_max(c, INT32_MAX);
            const void *hash = hd_cursor_take(c, 8);
            if (c->bad)
                return false;
            f->hash = hd_load64(hash);
            k->blocks += f->blocks;
        }
    }
    for (size_t i = 0; i < n; i++) {
        b->frame[i].at = from;
        b->frame[i].stored = (uint32_t)hd_cursor_max(c, to - from);
        if (b->frame[i].stored > b->frame[i].raw)
            return false;
        from += b->frame[i].stored;
    }
    return !c->bad && from == to;
}

static bool get_notes(struct hd_box *b, struct hd_cursor *c)
{
    uint64_t n = hd_cursor_max(c, HD_TN_COUNT);

    for (; n != 0 && !c->bad; n--) {
        struct hd_trace_note_row *r =
            &b->note[hd_cursor_max(c, HD_TN_COUNT - 1)];
        r->count = hd_cursor_get(c);
        size_t len = hd_cursor_max(c, sizeof r->where - 1);
        const void *p = hd_cursor_take(c, len);
        if (p != NULL)
            memcpy(r->where, p, len);
    }
    return !c->bad;
}

const char *hd_index_read(struct hd_box *b, const unsigned char *p, size_t n,
                          uint64_t from, uint64_t to)
{
    struct hd_cursor c = {.p = p, .end = p + n};
    const char *what = NULL;

    if (!get_strings(b, &c))
        what = "strings";
    else if (!get_contexts(b, &c))
        what = "address spaces";
    else if (!get_kernels(b, &c)) {
        b->frames = 0; /* how many can be freed */
        what = "kernels";
    } else if (!get_frames(b, &c, from, to))
        what = "frames";
    else if (!get_notes(b, &c) || c.p != c.end)
        what = "notes";
    return c.oom ? hd_index_memory : what;
}

/* ---- reading ------------------------------------------------------------- */

int hd_box_is(const char *path, struct hd_err *err)
{
    unsigned char head[sizeof magic];
    int fd = open(path, O_RDONLY | O_CLOEXEC);

    if (fd < 0)
        return hd_err_set(err, HEDDLE_ENOINPUT, "%s: cannot open: %s", path,
                          strerror(errno));
    ssize_t n = read(fd, head, sizeof head);
    close(fd);
    return n == (ssize_t)sizeof head && memcmp(head, magic, sizeof head) == 0;
}

/* Undoes `shorter`: `stored` bytes at p become exactly `raw` bytes.  NULL: they
 * do not, or memory is short (an error). */
static const unsigned char *expand(struct hd_box *b, const unsigned char *p,
                                   size_t stored, size_t raw,
                                   struct hd_err *err)
{
    struct hd_bytes *out = &b->io->plain;

    if (stored == raw)
        return p;
    if (ZSTD_getFrameContentSize(p, stored) != raw)
        return NULL;
    out->n = 0;
    if (!hd_bytes_room(out, raw))
        return hd_err_no_memory(err);
    size_t n = ZSTD_decompressDCtx(b->io->d, out->p, raw, p, stored);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        hd_err_memory(err);
    return n == raw ? out->p : NULL;
}

static int bad(const struct hd_box *b, const char *what, struct hd_err *err)
{
    return hd_err_set(err, HEDDLE_EDATA, "%s: %s", b->io->path, what);
}

static int read_index(struct hd_box *b, const unsigned char *head,
                      uint64_t size, struct hd_err *err)
{
    uint64_t at = hd_load64(head + 16), stored = hd_load64(head + 24);
    uint64_t raw = hd_load64(head + 32);

    if (at < HEADER || at > size || stored > size || at + stored > size)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: cut off: %llu bytes, but its index ends at %llu",
                          b->io->path, (unsigned long long)size,
                          (unsigned long long)(at + stored));
    if (at + stored != size)
        return bad(b, "there is something behind its index", err);
    if (raw > (64 << 10) + stored * 4096 || raw >= 1u << 31)
        return bad(b, "the size of its index (byte 32) cannot be", err);
    b->io->packed.n = 0;
    if (!hd_bytes_room(&b->io->packed, stored + 1))
        return hd_err_memory(err);
    if (read_at(b, b->io->packed.p, stored, at, err) != 0)
        return err->code;
    const unsigned char *p = expand(b, b->io->packed.p, stored, raw, err);
    if (p == NULL || XXH3_64bits(p, raw) != hd_load64(head + 40))
        return bad(b, "its index is corrupt (the hash differs)", err);
    b->hash = hd_load64(head + 48);
    b->file_bytes = size;
    const char *what = hd_index_read(b, p, raw, HEADER, at);
    if (what == NULL)
        return 0;
    if (what == hd_index_memory)
        return hd_err_memory(err);
    return hd_err_set(err, HEDDLE_EDATA, "%s: its index is corrupt (%s)",
                      b->io->path, what);
}

static int read_head(struct hd_box *b, struct hd_err *err)
{
    unsigned char head[HEADER];
    struct stat st;

    b->io->fd = open(b->io->path, O_RDONLY | O_CLOEXEC);
    if (b->io->fd < 0 || fstat(b->io->fd, &st) != 0)
        return io_error(b, HEDDLE_ENOINPUT, "cannot open", err);
    if (st.st_size < HEADER)
        return bad(b, "cut off inside its header", err);
    if (read_at(b, head, HEADER, 0, err) != 0)
        return err->code;
    if (memcmp(head, magic, sizeof magic) != 0)
        return bad(b, "not a heddle trace", err);
    if (XXH3_64bits(head, 56) != hd_load64(head + 56))
        return bad(b, "its header is corrupt (the hash differs)", err);
    if (head[8] != VERSION || head[9] != 0)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: version %u; this heddle reads version %d",
                          b->io->path, head[8] | head[9] << 8, VERSION);
    return read_index(b, head, (uint64_t)st.st_size, err);
}

struct hd_box *hd_box_open(const char *path, struct hd_err *err)
{
    struct hd_box *b = new_box(path, err);

    if (b == NULL)
        return NULL;
    b->io->file = true;
    if (read_head(b, err) == 0)
        return b;
    hd_box_free(b);
    return NULL;
}

/* What is wrong with frame i, after its place; NULL. */
__attribute__((format(printf, 4, 5))) static void *
bad_frame(const struct hd_box *b, size_t i, struct hd_err *err, const char *fmt,
          ...)
{
    const struct hd_box_frame *f = &b->frame[i];
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hd_err_set(err, HEDDLE_EDATA, "%s: frame %zu (byte %llu, kernel %u): %s",
               b->io->path != NULL ? b->io->path : "temporary trace", i,
               (unsigned long long)f->at, b->kernel[f->kernel].id, text);
    return NULL;
}

const unsigned char *hd_box_get(struct hd_box *b, size_t i, size_t limit,
                                struct hd_err *err)
{
    const struct hd_box_frame *f = &b->frame[i];
    const unsigned char *p = NULL;

    if (f->mem != NULL)
        return f->mem;
    if (f->raw > limit)
        return bad_frame(b, i, err,
                         "%u bytes pass the limit for resident blocks", f->raw);
    b->io->packed.n = 0;
    if (!hd_bytes_room(&b->io->packed, f->stored))
        return hd_err_no_memory(err);
    if (read_at(b, b->io->packed.p, f->stored, f->at, err) != 0)
        return NULL;
    p = expand(b, b->io->packed.p, f->stored, f->raw, err);
    if (p == NULL || XXH3_64bits(p, f->raw) != f->hash)
        return bad_frame(b, i, err, "corrupt (the hash differs)");
    return p;
}

void *hd_box_too_large(const struct hd_box *b, size_t i, uint64_t limit,
                       struct hd_err *err)
{
    return bad_frame(b, i, err,
                     "the resident blocks take more than %llu bytes; raise the "
                     "limit `resident' of the trace",
                     (unsigned long long)limit);
}

struct hd_frame *hd_box_frame(struct hd_box *b, size_t i, size_t limit,
                              struct hd_err *err)
{
    const struct hd_trace_kernel *k = &b->kernel[b->frame[i].kernel];
    const unsigned char *p = hd_box_get(b, i, limit, err);
    const char *what = "blocks";

    if (p == NULL)
        return NULL;
    struct hd_frame *f =
        hd_frame_unpack(p, b->frame[i].raw, k->lanes, hd_trace_warps(k),
                        (uint32_t)b->strings, limit, &what);
    if (f != NULL && f->blocks == b->frame[i].blocks)
        return f;
    hd_frame_free(f);
    if (what == hd_frame_memory)
        return hd_err_no_memory(err);
    if (what == hd_frame_too_large)
        return hd_box_too_large(b, i, limit, err);
    return bad_frame(b, i, err, "corrupt (%s)", what);
}

/* ---- copying ------------------------------------------------------------- */

static int copy_context(const struct hd_trace_context *x, struct hd_box *out,
                        struct hd_err *err)
{
    if (hd_box_context(out, x->name, err) != 0)
        return err->code;
    uint32_t to = (uint32_t)out->contexts - 1;
    for (size_t i = 0; i < x->allocs; i++) {
        const struct hd_trace_alloc *a = &x->alloc[i];
        if (hd_box_alloc(out, to, a->name, a->base, a->bytes, err) != 0)
            return err->code;
    }
    struct hd_trace_context *y = &out->context[to];
    y->local_low = x->local_low;
    y->local_words = x->local_words;
    y->local_base = x->local_base;
    y->range = calloc(x->ranges + 1, sizeof *y->range);
    if (y->range == NULL)
        return hd_err_memory(err);
    if (x->ranges != 0)
        memcpy(y->range, x->range, x->ranges * sizeof *y->range);
    y->ranges = y->room_ranges = x->ranges;
    return 0;
}

static int copy_kernel(struct hd_box *in, size_t i, uint32_t context,
                       struct hd_box *out, size_t limit, struct hd_err *err)
{
    struct hd_trace_kernel k = in->kernel[i];

    k.name = out->string[string_number(in, k.name)];
    k.context = context;
    if (hd_box_kernel(out, &k, err) == NULL)
        return err->code;
    for (uint32_t f = k.frame0; f < k.frame0 + k.frames; f++) {
        const unsigned char *p = hd_box_get(in, f, limit, err);
        if (p == NULL)
            return err->code;
        if (put_frame(out, p, in->frame[f].raw, in->frame[f].blocks, err))
            return err->code;
    }
    return 0;
}

int hd_box_copy(struct hd_box *in, uint32_t context, struct hd_box *out,
                size_t limit, struct hd_err *err)
{
    for (size_t i = 0; i < in->strings; i++) {
        const char *s = in->string[i];
        if (hd_box_string(out, s, strlen(s), err) == HD_NONE)
            return err->code;
    }
    if (out->strings != in->strings)
        return hd_err_set(err, HEDDLE_EDATA, "a string is listed twice");
    for (size_t i = 0; i < in->contexts; i++) {
        if ((context == HD_NONE || context == i) &&
            copy_context(&in->context[i], out, err) != 0)
            return err->code;
    }
    for (size_t i = 0; i < in->kernels; i++) {
        uint32_t from = in->kernel[i].context;
        if (context != HD_NONE && context != from)
            continue;
        if (copy_kernel(in, i, context == HD_NONE ? from : 0, out, limit, err))
            return err->code;
    }
    memcpy(out->note, in->note, sizeof out->note);
    return hd_box_finish(out, err);
}

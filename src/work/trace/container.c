/*
 * container.c - heddle's trace container: packed frames and their index.
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
 * page lists, kernels, what hosts do to allocations, and for each frame its
 * sizes, number of blocks and xxh3; so a block is found by two searches and one
 * frame is read.  The hash of the contents covers what is stored and not how,
 * hence a text trace has the hash of its conversion.
 *
 * That container lives in memory while a text trace is replayed: frames
 * are kept as they are up to a limit, then go, lightly compressed, to a
 * temporary file that has no name.  A file being written has its name when it
 * is complete (kit/save.c).
 *
 * The index is strings, address spaces, kernels, frames, calls of hosts, how
 * the frames are stored, and notes; where hosts have no calls there is no such
 * part, and the file is of the version before.  The hash of the contents covers
 * all before the last two. Its integers are of variable length (grow.h), but
 * for hashes.  One function a part both writes and reads it (struct index).
 *
 * Nothing that is read is trusted: every size is compared with the file's
 * before memory is taken.
 *
 * Copying takes frames as they are, which keeps the hash of the contents; they
 * name opcodes by number, so all strings go first, in their order.
 *
 * SPDX-License-Identifier: MIT
 */
#include "trace.h"

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

enum { HEADER = 64, LEVEL_FILE = 12, LEVEL_SPILL = 1 };

static const unsigned char magic[8] = {0x89, 'h',  'd',  't',
                                       '\r', '\n', 0x1a, '\n'};

static int container_io_error(const struct hd_container *b, int code,
                              const char *what, struct heddle_error *err)
{
    return hd_err_set(err, hd_err_errno(code), "%s: %s: %s",
                      b->io.path != NULL ? b->io.path : "temporary file", what,
                      strerror(errno));
}

/* ---- files --------------------------------------------------------------- */

static int write_at(struct hd_container *b, const void *p, size_t n,
                    uint64_t at, struct heddle_error *err)
{
    const char *s = p;

    for (ssize_t did; n != 0; s += did, n -= (size_t)did, at += (size_t)did) {
        while ((did = pwrite(b->io.fd, s, n, (off_t)at)) < 0 && errno == EINTR)
            ;
        if (did <= 0)
            return container_io_error(b, HEDDLE_EIO, "cannot write", err);
    }
    return 0;
}

/* Reads into the space for packed bytes. */
static int read_at(struct hd_container *b, size_t n, uint64_t at,
                   struct heddle_error *err)
{
    b->io.packed.n = 0;
    if (!hd_bytes_room(&b->io.packed, n + 1))
        return hd_err_memory(err);
    unsigned char *s = b->io.packed.p;
    for (ssize_t did; n != 0; s += did, n -= (size_t)did, at += (size_t)did) {
        while ((did = pread(b->io.fd, s, n, (off_t)at)) < 0 && errno == EINTR)
            ;
        if (did < 0)
            return container_io_error(b, HEDDLE_EIO, "cannot read", err);
        if (did == 0)
            return hd_err_set(err, HEDDLE_EDATA, "%s: cut off at byte %llu",
                              b->io.path != NULL ? b->io.path : "?",
                              (unsigned long long)at);
    }
    return 0;
}

/* Opens the nameless temporary file. */
static int open_spill(struct hd_container *b, struct heddle_error *err)
{
    const char *dir = getenv("TMPDIR");
    char name[512];

    if (dir == NULL || *dir == '\0')
        dir = "/tmp";
    int n = snprintf(name, sizeof name, "%s/heddle-XXXXXX", dir);
    if (n < 0 || (size_t)n >= sizeof name)
        return hd_err_set(err, HEDDLE_ECREATE, "TMPDIR is too long");
    b->io.fd = mkstemp(name);
    if (b->io.fd < 0)
        return hd_err_set(err, HEDDLE_ECREATE,
                          "%s: cannot create a temporary file: %s; convert "
                          "the trace first, or set TMPDIR",
                          dir, strerror(errno));
    unlink(name);
    return 0;
}

/* ---- making and freeing -------------------------------------------------- */

/* level: of compression; 0: to be read. */
static struct hd_container *container_new(const char *path, int level,
                                          struct heddle_error *err)
{
    struct hd_container *b = calloc(1, sizeof *b);

    if (b == NULL)
        return hd_err_no_memory(err);
    b->version = HD_CONTAINER_PLAIN;
    b->io.fd = b->io.save.fd = -1;
    b->io.file = path != NULL;
    b->io.path = path != NULL ? strdup(path) : NULL;
    b->io.d = ZSTD_createDCtx();
    if (level != 0 && (b->io.c = ZSTD_createCCtx()) != NULL)
        ZSTD_CCtx_setParameter(b->io.c, ZSTD_c_compressionLevel, level);
    if (b->io.d != NULL && (level == 0 || b->io.c != NULL) &&
        (path == NULL || b->io.path != NULL))
        return b;
    hd_container_free(b);
    return hd_err_no_memory(err);
}

struct hd_container *hd_container_memory(uint64_t keep,
                                         struct heddle_error *err)
{
    struct hd_container *b = container_new(NULL, LEVEL_SPILL, err);

    if (b != NULL)
        b->io.keep = keep;
    return b;
}

struct hd_container *hd_container_create(const char *path,
                                         struct heddle_error *err)
{
    struct hd_container *b = container_new(path, LEVEL_FILE, err);

    if (b != NULL && hd_save_open(&b->io.save, path, err) != 0) {
        hd_container_free(b);
        return NULL;
    }
    if (b != NULL) {
        b->io.end = HEADER;
        b->io.fd = b->io.save.fd;
    }
    return b;
}

void hd_container_free(struct hd_container *b)
{
    if (b == NULL)
        return;
    for (size_t i = 0; i < b->frames; i++)
        free(b->frame[i].mem);
    for (size_t i = 0; i < b->contexts; i++) {
        free(b->context[i].alloc);
        free(b->context[i].range);
        free(b->context[i].note);
    }
    for (size_t i = 0; i < b->strings; i++)
        free(b->string[i]);
    free(b->frame);
    free(b->call);
    free(b->kernel);
    free(b->context);
    free(b->string);
    free(b->known.slot);
    struct hd_container_io *io = &b->io;
    if (io->fd >= 0 && io->fd != io->save.fd)
        close(io->fd);
    hd_save_drop(&io->save);
    ZSTD_freeCCtx(io->c);
    ZSTD_freeDCtx(io->d);
    hd_unpack_free(io->unpack);
    hd_bytes_free(&io->packed);
    hd_bytes_free(&io->plain);
    free(io->path);
    free(b);
}

/* ---- writing ------------------------------------------------------------- */

uint32_t hd_container_string(struct hd_container *b, const char *s, size_t n,
                             struct heddle_error *err)
{
    if (memchr(s, '\0', n) != NULL) {
        hd_err_set(err, HEDDLE_EDATA, "an opcode or name has a zero byte");
        return HD_NONE;
    }
    uint32_t *row = hd_map_at(&b->known, XXH3_64bits(s, n));
    if (row == NULL) {
        hd_err_memory(err);
        return HD_NONE;
    }
    /* of two with one hash the second is not known, and searched for */
    for (size_t i = *row != 0 ? *row - 1 : b->strings; i < b->strings; i++) {
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
    *row = *row != 0 ? *row : (uint32_t)b->strings + 1;
    return (uint32_t)b->strings++;
}

const char *hd_container_name(struct hd_container *b, const char *s, size_t n,
                              struct heddle_error *err)
{
    uint32_t i = hd_container_string(b, s, n, err);

    return i != HD_NONE ? b->string[i] : NULL;
}

int hd_container_context(struct hd_container *b, const char *name,
                         struct heddle_error *err)
{
    const char *s = hd_container_name(b, name, strlen(name), err);
    struct hd_trace_context *c =
        hd_grow(&b->context, b->contexts, &b->room_contexts, sizeof *c);

    struct hd_trace_note_row *note = calloc(HD_TN_COUNT, sizeof *note);

    if (s == NULL || c == NULL || note == NULL) {
        free(note);
        return hd_err_memory(err);
    }
    c[b->contexts++] = (struct hd_trace_context){
        .name = s, .note = note, .notes = HD_TN_COUNT};
    return 0;
}

int hd_container_alloc(struct hd_container *b, uint32_t context,
                       const char *name, uint64_t base, uint64_t bytes,
                       struct heddle_error *err)
{
    struct hd_trace_context *c = &b->context[context];
    const char *s = hd_container_name(b, name, strlen(name), err);
    struct hd_trace_alloc *a =
        hd_grow(&c->alloc, c->allocs, &c->room_allocs, sizeof *a);

    if (s == NULL || a == NULL)
        return hd_err_memory(err);
    a[c->allocs++] = (struct hd_trace_alloc){s, base, bytes};
    return 0;
}

struct hd_trace_kernel *hd_container_kernel(struct hd_container *b,
                                            const struct hd_trace_kernel *k,
                                            struct heddle_error *err)
{
    struct hd_trace_kernel *p =
        hd_grow(&b->kernel, b->kernels, &b->room_kernels, sizeof *p);

    if (p == NULL)
        return hd_err_no_memory(err);
    p += b->kernels++;
    *p = *k;
    p->frame0 = (uint32_t)b->frames;
    p->call0 = b->calls;
    p->frames = 0;
    p->calls = 0;
    return p;
}

int hd_container_call(struct hd_container *b, const struct hd_trace_call *c,
                      struct heddle_error *err)
{
    struct hd_trace_call *p =
        hd_grow(&b->call, b->calls, &b->room_calls, sizeof *p);

    if (p == NULL)
        return hd_err_memory(err);
    p[b->calls++] = *c;
    b->kernel[b->kernels - 1].calls++;
    return 0;
}

/* Compresses into io->packed; gives the shorter of the two forms. */
static const void *shorter(struct hd_container *b, const unsigned char *p,
                           size_t n, uint32_t *stored, struct heddle_error *err)
{
    struct hd_bytes *out = &b->io.packed;
    size_t bound = ZSTD_compressBound(n);

    out->n = 0;
    if (!hd_bytes_room(out, bound))
        return hd_err_no_memory(err);
    size_t did = ZSTD_compress2(b->io.c, out->p, bound, p, n);
    if (ZSTD_getErrorCode(did) == ZSTD_error_memory_allocation)
        return hd_err_no_memory(err);
    if (ZSTD_isError(did) || did >= n) {
        *stored = (uint32_t)n;
        return p;
    }
    *stored = (uint32_t)did;
    return out->p;
}

int hd_container_put(struct hd_container *b, const unsigned char *p, size_t n,
                     uint32_t blocks, struct heddle_error *err)
{
    struct hd_container_frame *f =
        hd_grow(&b->frame, b->frames, &b->room_frames, sizeof *f);
    struct hd_trace_kernel *k = &b->kernel[b->kernels - 1];

    if (f == NULL)
        return hd_err_memory(err);
    if (n >= 1u << 31)
        return hd_err_set(err, HEDDLE_EDATA,
                          "kernel %u: a thread block takes more than 2 GB",
                          k->id);
    f += b->frames;
    *f = (struct hd_container_frame){.hash = XXH3_64bits(p, n),
                                     .raw = (uint32_t)n,
                                     .stored = (uint32_t)n,
                                     .blocks = blocks,
                                     .kernel = (uint32_t)b->kernels - 1};
    if (k->frames != 0)
        f->first = f[-1].first + f[-1].blocks;
    if (!b->io.file && b->io.kept + n <= b->io.keep) {
        f->mem = malloc(n);
        if (f->mem == NULL)
            return hd_err_memory(err);
        memcpy(f->mem, p, n);
        b->io.kept += n;
    } else {
        if (b->io.fd < 0 && open_spill(b, err) != 0)
            return err->code;
        const void *q = shorter(b, p, n, &f->stored, err);
        f->at = b->io.end;
        if (q == NULL || write_at(b, q, f->stored, f->at, err) != 0)
            return err->code;
        b->io.end += f->stored;
    }
    k->frames++;
    b->frames++;
    return 0;
}

int hd_container_pack(struct hd_container *b, struct hd_packer *k,
                      struct heddle_error *err)
{
    struct hd_bytes *out = &b->io.plain;
    uint32_t blocks = hd_packer_blocks(k);

    if (blocks == 0)
        return 0;
    if (hd_packer_end(k, out) != 0)
        return hd_err_memory(err);
    if (hd_container_put(b, out->p, out->n, blocks, err) != 0)
        return err->code;
    const struct hd_trace_kernel *last = &b->kernel[b->kernels - 1];
    hd_packer_begin(k, hd_trace_warps(last));
    return 0;
}

int hd_container_block_end(struct hd_container *b, struct hd_packer *k,
                           struct heddle_error *err)
{
    struct hd_trace_kernel *last = &b->kernel[b->kernels - 1];

    last->blocks++;
    last->warps += hd_trace_warps(last);
    if (hd_packer_block_end(k) != 0)
        return hd_err_memory(err);
    return hd_packer_full(k) ? hd_container_pack(b, k, err) : 0;
}

/* ---- the index ----------------------------------------------------------- */

static uint64_t string_number(const struct hd_container *b, const char *s)
{
    for (size_t i = 0; i < b->strings; i++) {
        if (b->string[i] == s)
            return i;
    }
    return 0;
}

/* Writes what a container has to `out`, or reads it from `in` into an empty
 * one. */
struct index {
    struct hd_container *b;
    struct hd_bytes *out; /* NULL: reads */
    struct hd_cursor in;  /* oom: it is not the data that is bad */
    uint64_t frames;      /* of the kernels */
    uint64_t from, to;    /* where in the file the frames are */
};

const char hd_index_memory[] = "memory";

/* A number that must not pass `most`. */
static uint64_t index_number(struct index *x, uint64_t v, uint64_t most)
{
    if (x->out == NULL)
        return hd_cursor_max(&x->in, most);
    hd_bytes_put(x->out, v);
    return v;
}

/* The count of a table whose rows take at least `least` bytes; what is read
 * gets zeroed memory, of which the pointer at `list` has the address. */
static uint64_t table(struct index *x, uint64_t n, size_t least, void *list,
                      size_t size)
{
    if (x->out != NULL)
        return index_number(x, n, UINT64_MAX);
    n = hd_cursor_count(&x->in, least);
    void *p = calloc(n + 1, size);
    memcpy(list, &p, sizeof p);
    if (p != NULL)
        return n;
    x->in.oom = x->in.bad = true;
    return 0;
}

/* n bytes as they are. */
static void index_plain(struct index *x, void *bytes, size_t n)
{
    if (x->out != NULL) {
        hd_bytes_add(x->out, bytes, n);
        return;
    }
    const void *p = hd_cursor_take(&x->in, n);
    if (p != NULL)
        memcpy(bytes, p, n);
}

/* One of the strings, by its number. */
static void name(struct index *x, const char **s)
{
    struct hd_container *b = x->b;
    uint64_t i = x->out != NULL ? string_number(b, *s) : 0;

    i = index_number(x, i, b->strings - 1);
    *s = b->strings != 0 ? b->string[i] : "";
    x->in.bad |= b->strings == 0;
}

static void index_strings(struct index *x)
{
    struct hd_container *b = x->b;

    b->strings = table(x, b->strings, 1, &b->string, sizeof *b->string);
    for (size_t i = 0; i < b->strings && !x->in.bad; i++) {
        char **s = &b->string[i];
        size_t n = table(x, *s != NULL ? strlen(*s) : 0, 1, s, 1);
        if (*s == NULL)
            return;
        index_plain(x, *s, n);
        x->in.bad |= strlen(*s) != n;
    }
}

static void index_context(struct index *x, struct hd_trace_context *c)
{
    uint64_t next = 0, end = HD_TRACE_VA_END >> HD_PAGE_SHIFT;
    uint64_t words = HD_TRACE_WINDOW / 4;

    name(x, &c->name);
    c->local_low = index_number(x, c->local_low, words);
    c->local_words = index_number(x, c->local_words, words - c->local_low);
    c->local_base = index_number(x, c->local_base, HD_TRACE_VA_END - 1);
    c->allocs = table(x, c->allocs, 3, &c->alloc, sizeof *c->alloc);
    for (size_t i = 0; i < c->allocs && !x->in.bad; i++) {
        struct hd_trace_alloc *a = &c->alloc[i];
        name(x, &a->name);
        a->base = index_number(x, a->base, HD_TRACE_VA_END - 1);
        a->bytes = index_number(x, a->bytes, HD_TRACE_VA_END - a->base);
    }
    c->ranges = table(x, c->ranges, 2, &c->range, sizeof *c->range);
    for (size_t i = 0; i < c->ranges && !x->in.bad; i++) {
        struct hd_trace_range *r = &c->range[i];
        r->page = next + index_number(x, r->page - next, end - next);
        r->n = index_number(x, r->n, end - r->page);
        next = r->page + r->n;
    }
}

static void index_contexts(struct index *x)
{
    struct hd_container *b = x->b;

    b->contexts = table(x, b->contexts, 6, &b->context, sizeof *b->context);
    for (size_t i = 0; i < b->contexts && !x->in.bad; i++)
        index_context(x, &b->context[i]);
    x->in.bad |= b->contexts == 0;
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
    X(lane_addrs, UINT64_MAX)                                                  \
    X(frames, UINT32_MAX)

static void index_kernels(struct index *x)
{
    struct hd_container *b = x->b;

    b->kernels = table(x, b->kernels, 22, &b->kernel, sizeof *b->kernel);
    for (size_t i = 0; i < b->kernels && !x->in.bad; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        name(x, &k->name);
#define X(field, most) k->field = index_number(x, k->field, most);
        KERNEL_FIELDS(X)
#undef X
        k->frame0 = (uint32_t)x->frames;
        x->frames += k->frames;
        if (x->in.bad || (k->lanes != 32 && k->lanes != 64) ||
            hd_trace_threads(k) == 0 ||
            hd_trace_warps(k) > HD_TRACE_MAX_WARPS || x->frames > UINT32_MAX)
            x->in.bad = true;
    }
}

static void index_frames(struct index *x)
{
    struct hd_container *b = x->b;
    size_t at = 0;

    if (x->out == NULL && x->frames <= hd_cursor_left(&x->in) / 10) {
        b->frame = calloc(x->frames + 1, sizeof *b->frame);
        b->frames = b->frame != NULL ? x->frames : 0;
        x->in.oom = b->frame == NULL;
    }
    x->in.bad |= b->frames != x->frames;
    for (size_t i = 0; i < b->kernels; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        uint64_t blocks = 0;
        for (uint32_t j = 0; j < k->frames && !x->in.bad; j++) {
            struct hd_container_frame *f = &b->frame[at++];
            unsigned char hash[8];
            f->kernel = (uint32_t)i;
            f->first = blocks;
            f->blocks = (uint32_t)index_number(x, f->blocks, 1u << 24);
            f->raw = (uint32_t)index_number(x, f->raw, INT32_MAX);
            hd_store64(hash, f->hash);
            index_plain(x, hash, 8);
            f->hash = hd_load64(hash);
            blocks += f->blocks;
        }
        k->blocks = blocks;
    }
}

/* Whether a call that was read is one of a host's: of an allocation of the
 * address space, and of bytes that it has. */
static bool call_fits(const struct hd_trace_context *c, const struct hd_hint *h)
{
    uint32_t both = HEDDLE_ADVICE_GPU | HEDDLE_ADVICE_HOST;
    uint64_t size;

    if (h->what == HD_HINT_WAIT)
        return true;
    if (h->alloc >= c->allocs || (h->set & both) == both)
        return false;
    size = c->alloc[h->alloc].bytes;
    return h->offset <= size && h->bytes <= size - h->offset &&
           (h->bytes != 0 || h->offset == 0);
}

static void index_call(struct index *x, struct hd_trace_call *c,
                       const struct hd_trace_context *of)
{
    struct hd_hint *h = &c->hint;

    c->beside = index_number(x, c->beside, 1) != 0;
    h->what = (uint32_t)index_number(x, h->what, HD_HINT_WAIT);
    h->alloc = (uint32_t)index_number(x, h->alloc, UINT32_MAX);
    h->set = (uint32_t)index_number(x, h->set, HD_HINT_ALL_ADVICE);
    h->unset = (uint32_t)index_number(x, h->unset, HD_HINT_ALL_ADVICE);
    h->offset = index_number(x, h->offset, HD_TRACE_VA_END);
    h->bytes = index_number(x, h->bytes, HD_TRACE_VA_END);
    h->ns = index_number(x, h->ns, 1000000000);
    x->in.bad |= !call_fits(of, h);
}

/* Of each kernel how many calls its host has, and these; first those before it.
 */
static void index_calls(struct index *x)
{
    struct hd_container *b = x->b;
    size_t at = 0;

    if (b->version < HD_CONTAINER_CALLS)
        return;
    b->calls = table(x, b->calls, 8, &b->call, sizeof *b->call);
    for (size_t i = 0; i < b->kernels && !x->in.bad; i++) {
        struct hd_trace_kernel *k = &b->kernel[i];
        k->call0 = at;
        k->calls = index_number(x, k->calls, b->calls - at);
        for (; at < k->call0 + k->calls && !x->in.bad; at++) {
            struct hd_trace_call *c = &b->call[at];
            index_call(x, c, &b->context[k->context]);
            x->in.bad |= at > k->call0 && c[-1].beside && !c->beside;
        }
    }
    x->in.bad |= at != b->calls;
}

static void index_storage(struct index *x)
{
    for (size_t i = 0; i < x->b->frames && !x->in.bad; i++) {
        struct hd_container_frame *f = &x->b->frame[i];
        f->stored = (uint32_t)index_number(x, f->stored, x->to - x->from);
        if (x->out != NULL)
            continue;
        f->at = x->from;
        x->from += f->stored;
        x->in.bad |= f->stored > f->raw;
    }
    x->in.bad |= x->out == NULL && x->from != x->to;
}

static void index_context_notes(struct index *x, struct hd_trace_context *c)
{
    c->notes = table(x, c->notes, 2, &c->note, sizeof *c->note);
    x->in.bad |= c->notes > HD_TN_COUNT;
    for (size_t i = 0; i < c->notes && !x->in.bad; i++) {
        struct hd_trace_note_row *r = &c->note[i];
        r->count = index_number(x, r->count, UINT64_MAX);
        index_plain(x, r->where,
                    index_number(x, strlen(r->where), sizeof r->where - 1));
    }
}

/* An older file has one list for all address spaces: it is the first one's. */
static void index_notes(struct index *x)
{
    struct hd_container *b = x->b;

    for (size_t i = 0; i < b->contexts && !x->in.bad; i++)
        if (i == 0 || x->out != NULL || x->in.p != x->in.end)
            index_context_notes(x, &b->context[i]);
    x->in.bad |= x->in.p != x->in.end;
}

static const struct part {
    void (*code)(struct index *x);
    const char *name;
} parts[] = {
    {index_strings, "strings"}, {index_contexts, "address spaces"},
    {index_kernels, "kernels"}, {index_frames, "frames"},
    {index_calls, "calls"},     {index_storage, "frames"},
    {index_notes, "notes"},
};

size_t hd_index_write(struct hd_container *b, struct hd_bytes *out)
{
    struct index x = {.b = b, .out = out};
    size_t contents = 0;

    if (b->copies)
        b->version = HD_CONTAINER_VERSION;
    else if (b->classes || b->calls != 0)
        b->version = b->classes ? HD_CONTAINER_CLASSES : HD_CONTAINER_CALLS;
    for (unsigned i = 0; i < HD_LEN(parts); i++) {
        if (parts[i].code == index_storage)
            contents = out->n;
        parts[i].code(&x);
    }
    return contents;
}

const char *hd_index_read(struct hd_container *b, const unsigned char *p,
                          size_t n, uint64_t from, uint64_t to)
{
    struct index x = {
        .b = b, .in = {.p = p, .end = p + n}, .from = from, .to = to};

    for (unsigned i = 0; i < HD_LEN(parts); i++) {
        parts[i].code(&x);
        if (x.in.bad)
            return x.in.oom ? hd_index_memory : parts[i].name;
    }
    return NULL;
}

static int write_index(struct hd_container *b, const struct hd_bytes *index,
                       struct heddle_error *err)
{
    unsigned char head[HEADER] = {0};
    uint32_t stored;
    struct hd_container_io *io = &b->io;

    ZSTD_CCtx_setParameter(io->c, ZSTD_c_compressionLevel, 15);
    const void *p = shorter(b, index->p, index->n, &stored, err);
    if (p == NULL || write_at(b, p, stored, io->end, err) != 0)
        return err->code;
    memcpy(head, magic, sizeof magic);
    head[8] = (unsigned char)b->version;
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

/* The index, and the hash of the contents that it describes. */
static int make_index(struct hd_container *b, struct hd_bytes *index,
                      struct heddle_error *err)
{
    size_t logical = hd_index_write(b, index);

    if (index->oom)
        return hd_err_memory(err);
    b->hash = XXH3_64bits(index->p, logical);
    return 0;
}

int hd_container_hash(struct hd_container *b, struct heddle_error *err)
{
    struct hd_bytes index = {0};
    int r = make_index(b, &index, err);

    hd_bytes_free(&index);
    return r;
}

int hd_container_finish(struct hd_container *b, struct heddle_error *err)
{
    struct hd_bytes index = {0};
    int r = make_index(b, &index, err);

    if (r == 0 && b->io.file)
        r = write_index(b, &index, err);
    hd_bytes_free(&index);
    return r;
}

/* ---- reading ------------------------------------------------------------- */

int hd_container_is(const char *path, struct heddle_error *err)
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
static const unsigned char *expand(struct hd_container *b,
                                   const unsigned char *p, size_t stored,
                                   size_t raw, struct heddle_error *err)
{
    struct hd_bytes *out = &b->io.plain;

    if (stored == raw)
        return p;
    if (ZSTD_getFrameContentSize(p, stored) != raw)
        return NULL;
    out->n = 0;
    if (!hd_bytes_room(out, raw))
        return hd_err_no_memory(err);
    size_t n = ZSTD_decompressDCtx(b->io.d, out->p, raw, p, stored);
    if (ZSTD_getErrorCode(n) == ZSTD_error_memory_allocation)
        hd_err_memory(err);
    return n == raw ? out->p : NULL;
}

static int container_bad(const struct hd_container *b, const char *what,
                         struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_EDATA, "%s: %s", b->io.path, what);
}

static int read_index(struct hd_container *b, const unsigned char *head,
                      uint64_t size, struct heddle_error *err)
{
    uint64_t at = hd_load64(head + 16), stored = hd_load64(head + 24);
    uint64_t raw = hd_load64(head + 32);

    if (at < HEADER || at > size || stored > size || at + stored > size)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: cut off: %llu bytes, but its index ends at %llu",
                          b->io.path, (unsigned long long)size,
                          (unsigned long long)(at + stored));
    if (at + stored != size)
        return container_bad(b, "there are bytes after its index", err);
    if (raw > (64 << 10) + stored * 4096 || raw >= 1u << 31)
        return container_bad(b, "the size of its index (byte 32) is impossible",
                             err);
    if (read_at(b, stored, at, err) != 0)
        return err->code;
    const unsigned char *p = expand(b, b->io.packed.p, stored, raw, err);
    if (p == NULL || XXH3_64bits(p, raw) != hd_load64(head + 40))
        return container_bad(b, "its index is corrupt (the hash differs)", err);
    b->hash = hd_load64(head + 48);
    b->file_bytes = size;
    const char *what = hd_index_read(b, p, raw, HEADER, at);
    if (what == NULL)
        return 0;
    if (what == hd_index_memory)
        return hd_err_memory(err);
    return hd_err_set(err, HEDDLE_EDATA, "%s: its index is corrupt (%s)",
                      b->io.path, what);
}

static int read_head(struct hd_container *b, struct heddle_error *err)
{
    struct stat st;

    b->io.fd = open(b->io.path, O_RDONLY | O_CLOEXEC);
    if (b->io.fd < 0 || fstat(b->io.fd, &st) != 0)
        return container_io_error(b, HEDDLE_ENOINPUT, "cannot open", err);
    if (st.st_size < HEADER)
        return container_bad(b, "cut off inside its header", err);
    if (read_at(b, HEADER, 0, err) != 0)
        return err->code;
    unsigned char head[HEADER];
    memcpy(head, b->io.packed.p, HEADER);
    if (memcmp(head, magic, sizeof magic) != 0)
        return container_bad(b, "not a heddle trace", err);
    if (XXH3_64bits(head, 56) != hd_load64(head + 56))
        return container_bad(b, "its header is corrupt (the hash differs)",
                             err);
    if (head[8] < HD_CONTAINER_PLAIN || head[8] > HD_CONTAINER_VERSION ||
        head[9] != 0)
        return hd_err_set(err, HEDDLE_EDATA,
                          "%s: version %u of the container; this heddle reads "
                          "versions %d to %d: convert or record the trace "
                          "again",
                          b->io.path, head[8] | head[9] << 8,
                          HD_CONTAINER_PLAIN, HD_CONTAINER_VERSION);
    b->version = head[8];
    b->classes = b->version == HD_CONTAINER_CLASSES;
    b->copies = b->version == HD_CONTAINER_VERSION;
    return read_index(b, head, (uint64_t)st.st_size, err);
}

struct hd_container *hd_container_open(const char *path,
                                       struct heddle_error *err)
{
    struct hd_container *b = container_new(path, 0, err);

    if (b == NULL || read_head(b, err) == 0)
        return b;
    hd_container_free(b);
    return NULL;
}

/* What is wrong with frame i, after its place; NULL. */
__attribute__((format(printf, 4, 5))) static void *
bad_frame(const struct hd_container *b, size_t i, struct heddle_error *err,
          const char *fmt, ...)
{
    const struct hd_container_frame *f = &b->frame[i];
    char text[256];
    va_list ap;

    va_start(ap, fmt);
    vsnprintf(text, sizeof text, fmt, ap);
    va_end(ap);
    hd_err_set(err, HEDDLE_EDATA, "%s: frame %zu (byte %llu, kernel %u): %s",
               b->io.path != NULL ? b->io.path : "temporary trace", i,
               (unsigned long long)f->at, b->kernel[f->kernel].id, text);
    return NULL;
}

const unsigned char *hd_container_get(struct hd_container *b, size_t i,
                                      size_t limit, struct heddle_error *err)
{
    const struct hd_container_frame *f = &b->frame[i];
    const unsigned char *p = NULL;

    if (f->mem != NULL)
        return f->mem;
    if (f->raw > limit)
        return bad_frame(
            b, i, err, "%u bytes exceed the limit of resident blocks", f->raw);
    if (read_at(b, f->stored, f->at, err) != 0)
        return NULL;
    p = expand(b, b->io.packed.p, f->stored, f->raw, err);
    if (p == NULL || XXH3_64bits(p, f->raw) != f->hash)
        return bad_frame(b, i, err, "corrupt (the hash differs)");
    return p;
}

void *hd_container_too_large(const struct hd_container *b, size_t i,
                             uint64_t limit, struct heddle_error *err)
{
    return bad_frame(b, i, err,
                     "the resident blocks take more than %llu bytes; raise the "
                     "limit `resident' of the trace",
                     (unsigned long long)limit);
}

struct hd_frame *hd_container_frame(struct hd_container *b, size_t i,
                                    size_t limit, struct heddle_error *err)
{
    const struct hd_trace_kernel *k = &b->kernel[b->frame[i].kernel];
    const unsigned char *p = hd_container_get(b, i, limit, err);
    const char *what = "blocks";

    if (p == NULL)
        return NULL;
    if (b->io.unpack == NULL && (b->io.unpack = hd_unpack_new()) == NULL)
        return hd_err_no_memory(err);
    struct hd_frame *f =
        hd_frame_unpack(b->io.unpack, p, b->frame[i].raw, k->lanes,
                        hd_trace_warps(k), (uint32_t)b->strings, limit, &what);
    if (f != NULL && f->copies && !b->copies)
        what = "copies";
    else if (f != NULL && f->blocks == b->frame[i].blocks)
        return f;
    hd_frame_free(f);
    if (what == hd_frame_memory)
        return hd_err_no_memory(err);
    if (what == hd_frame_too_large)
        return hd_container_too_large(b, i, limit, err);
    return bad_frame(b, i, err, "corrupt (%s)", what);
}

/* ---- copying ------------------------------------------------------------- */

static int copy_context(const struct hd_trace_context *x,
                        struct hd_container *out, struct heddle_error *err)
{
    if (hd_container_context(out, x->name, err) != 0)
        return err->code;
    uint32_t to = (uint32_t)out->contexts - 1;
    for (size_t i = 0; i < x->allocs; i++) {
        const struct hd_trace_alloc *a = &x->alloc[i];
        if (hd_container_alloc(out, to, a->name, a->base, a->bytes, err) != 0)
            return err->code;
    }
    struct hd_trace_context *y = &out->context[to];
    if (x->notes != 0)
        memcpy(y->note, x->note, x->notes * sizeof *y->note);
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

static int copy_kernel(struct hd_container *in, size_t i, uint32_t context,
                       struct hd_container *out, size_t limit,
                       struct heddle_error *err)
{
    struct hd_trace_kernel k = in->kernel[i];

    k.name = out->string[string_number(in, k.name)];
    k.context = context;
    if (hd_container_kernel(out, &k, err) == NULL)
        return err->code;
    for (size_t c = k.call0; c < k.call0 + k.calls; c++)
        if (hd_container_call(out, &in->call[c], err) != 0)
            return err->code;
    for (uint32_t f = k.frame0; f < k.frame0 + k.frames; f++) {
        const unsigned char *p = hd_container_get(in, f, limit, err);
        if (p == NULL)
            return err->code;
        if (hd_container_put(out, p, in->frame[f].raw, in->frame[f].blocks,
                             err) != 0)
            return err->code;
    }
    return 0;
}

int hd_container_copy_head(const struct hd_container *in, uint32_t context,
                           struct hd_container *out, struct heddle_error *err)
{
    out->classes = in->classes;
    out->copies = in->copies;
    for (size_t i = 0; i < in->strings; i++) {
        const char *s = in->string[i];
        if (hd_container_string(out, s, strlen(s), err) == HD_NONE)
            return err->code;
    }
    if (out->strings != in->strings)
        return hd_err_set(err, HEDDLE_EDATA, "a string is listed twice");
    for (size_t i = 0; i < in->contexts; i++) {
        if ((context == HD_NONE || context == i) &&
            copy_context(&in->context[i], out, err) != 0)
            return err->code;
    }
    return 0;
}

int hd_container_copy(struct hd_container *in, uint32_t context,
                      struct hd_container *out, size_t limit,
                      struct heddle_error *err)
{
    if (hd_container_copy_head(in, context, out, err) != 0)
        return err->code;
    for (size_t i = 0; i < in->kernels; i++) {
        uint32_t from = in->kernel[i].context;
        if (context != HD_NONE && context != from)
            continue;
        if (copy_kernel(in, i, context == HD_NONE ? from : 0, out, limit, err))
            return err->code;
    }
    return hd_container_finish(out, err);
}

/*
 * trace-box.h - heddle's trace container: packed frames and their index.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_BOX_H
#define HD_TRACE_BOX_H

#include "trace-frame.h"

struct hd_trace_alloc {
    const char *name; /* string of the container */
    uint64_t base, bytes;
};

struct hd_trace_range { /* pages of 4 KB */
    uint64_t page, n;
};

/* An address space: what a CUDA context was. */
struct hd_trace_context {
    const char *name;
    struct hd_trace_alloc *alloc;
    size_t allocs, room_allocs;
    /* touched pages that no allocation covers, ascending */
    struct hd_trace_range *range;
    size_t ranges, room_ranges;
    /* the words of its local window that threads touch: from, how many */
    uint64_t local_low, local_words;
    uint64_t local_base; /* where the trace saw the local window */
};

struct hd_box_frame {
    unsigned char *mem; /* kept in memory, else NULL */
    uint64_t at;        /* in the file */
    uint64_t hash;      /* xxh3 of the frame before compression */
    uint64_t first;     /* blocks of the kernel before it */
    uint32_t raw, stored, blocks, kernel;
};

struct hd_box {
    struct hd_box_frame *frame;
    size_t frames, room_frames;
    struct hd_trace_kernel *kernel;
    size_t kernels, room_kernels;
    struct hd_trace_context *context;
    size_t contexts, room_contexts;
    char **string;
    size_t strings, room_strings;
    struct hd_trace_note_row note[HD_TN_COUNT];
    uint64_t hash;       /* of the contents, however they are stored */
    uint64_t file_bytes; /* 0: not a file */
    struct hd_box_io *io;
};

/*
 * A container to be written: in memory up to `keep` bytes and beyond that in
 * a nameless temporary file.  NULL: out of memory.
 */
struct hd_box *hd_box_memory(uint64_t keep, struct hd_err *err);
/* The same in a file, which takes its name when it is finished. */
struct hd_box *hd_box_create(const char *path, struct hd_err *err);
/* Opens a file for reading. */
struct hd_box *hd_box_open(const char *path, struct hd_err *err);
/* An unfinished file is removed. */
void hd_box_free(struct hd_box *b);
/* Does the file begin as a container does?  < 0: it cannot be opened. */
int hd_box_is(const char *path, struct hd_err *err);

/* ---- writing ------------------------------------------------------------ */

/* The number of a string; the same string has one number.  HD_NONE: out of
 * memory, or more than 2^16 strings (err is set). */
uint32_t hd_box_string(struct hd_box *b, const char *s, size_t n,
                       struct hd_err *err);
/* The string itself, as the container keeps it; NULL: the same. */
const char *hd_box_name(struct hd_box *b, const char *s, size_t n,
                        struct hd_err *err);
int hd_box_context(struct hd_box *b, const char *name, struct hd_err *err);
int hd_box_alloc(struct hd_box *b, uint32_t context, const char *name,
                 uint64_t base, uint64_t bytes, struct hd_err *err);
/* Begins a kernel (its frames follow); the name must be one of the strings.
 * Where it is kept, until the next begins; NULL: no memory. */
struct hd_trace_kernel *hd_box_kernel(struct hd_box *b,
                                      const struct hd_trace_kernel *k,
                                      struct hd_err *err);
/*
 * What hd_pack has collected becomes a frame of the last kernel, if there is
 * anything, and it begins the next.
 */
int hd_box_pack(struct hd_box *b, struct hd_pack *k, struct hd_err *err);
/* The same when the block that ends now fills a frame; counts the block. */
int hd_box_block_end(struct hd_box *b, struct hd_pack *k, struct hd_err *err);
/* No more is written: fixes the hash, and completes and names the file. */
int hd_box_finish(struct hd_box *b, struct hd_err *err);

/* ---- reading ------------------------------------------------------------ */

/*
 * The bytes of frame i, valid until the next call.  Verifies its hash.
 * `limit` bounds its size.  NULL on error.
 */
const unsigned char *hd_box_get(struct hd_box *b, size_t i, size_t limit,
                                struct hd_err *err);
/* The same, unpacked and owned. */
struct hd_frame *hd_box_frame(struct hd_box *b, size_t i, size_t limit,
                              struct hd_err *err);
/* Blocks from frame i on take more than `limit` bytes: an error; NULL. */
void *hd_box_too_large(const struct hd_box *b, size_t i, uint64_t limit,
                       struct hd_err *err);

/* Copies address space `context` of `in`, or all (HD_NONE), to the empty
 * `out` and finishes that.  `limit` bounds a frame. */
int hd_box_copy(struct hd_box *in, uint32_t context, struct hd_box *out,
                size_t limit, struct hd_err *err);

/* ---- replaying (trace-source.c) ------------------------------------------ */

/*
 * A source that replays one address space of a finished container and takes
 * the container.  `resident` bounds the bytes of frames that resident blocks
 * need.  NULL on error; then the container is still the caller's.
 */
struct hd_source *hd_trace_source(struct hd_box *box, uint32_t context,
                                  uint64_t resident, struct hd_err *err);

/* The container of such a source, or NULL if it is another kind. */
struct hd_box *hd_trace_source_box(const struct hd_source *s,
                                   uint32_t *context);

/* ---- the index as bytes ---------------------------------------------------
 */

/* Writes the index.  Returns how many of its bytes describe the contents;
 * the rest says how they are stored. */
size_t hd_index_write(const struct hd_box *b, struct hd_bytes *out);

/*
 * Fills an empty container from an index; its frames lie in [from, to) of the
 * file.  NULL, or which part is off; hd_index_memory: memory is short.
 */
extern const char hd_index_memory[];
const char *hd_index_read(struct hd_box *b, const unsigned char *p, size_t n,
                          uint64_t from, uint64_t to);

#endif

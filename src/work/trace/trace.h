/*
 * trace.h - what the files of the trace reader share: an operation, frames of
 * thread blocks, the container, its replay.
 *
 * Every trace, whatever its form, becomes the compact form of heddle's own
 * container before it is replayed: opening a text trace is converting it to a
 * container in memory (or in a temporary file, when it grows), so statistics
 * are the same before and after `heddle trace convert` by construction, and
 * pages are known before cycle 0.
 *
 *     in.c         bytes of a .traceg, .traceg.xz or .tracez, as whole lines
 *     z.c          the text that a .tracez holds
 *     line.c       one instruction line: registers, opcode, addresses
 *     text.c       the lines of one kernel, and what its instructions touch
 *     list.c       kernelslist.g, directories, contexts
 *     choose.c     which kernels and blocks are wanted
 *     cut.c        a container of those that are
 *     pages.c      the pages that are touched
 *     frame.c      about 64 KB of thread blocks, packed and unpacked
 *     container.c  the container: frames and their index, memory or file
 *     source.c     replay: the instructions that the cores ask for
 *     api.c        the public calls of heddle_trace.h; recording
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_H
#define HD_TRACE_H

#include "kit/base.h"
#include "kit/bits.h"
#include "kit/diag.h"
#include "kit/save.h"
#include "kit/grow.h"
#include "heddle_work.h"
#include "points/source.h"

enum {
    HD_TRACE_VA_BITS = 48,   /* four-level page tables reach no further */
    HD_TRACE_MAX_WARPS = 64, /* of a block: 2048 threads */
    HD_TRACE_MAX_BYTES = 32  /* of a lane: accesses of 256 bits */
};

#define HD_TRACE_VA_END (1ull << HD_TRACE_VA_BITS)
#define HD_TRACE_WINDOW (16ull << 20) /* of shared and of local memory */

/* In which memory an operation's addresses are. */
enum hd_trace_space {
    HD_TS_GLOBAL,
    HD_TS_LOCAL,  /* offsets in a thread's local window, placed when replayed */
    HD_TS_PLACED, /* local memory that a program has placed itself */
    HD_TS_TEXTURE, /* global memory, fetched as a texture */
    HD_TS_COPY     /* global memory, copied to shared memory: the slot is
                      HD_SLOT_MANY or more */
};

/* An operation of a warp. */
struct hd_trace_op {
    uint8_t kind;  /* enum heddle_op */
    uint8_t slot;  /* or HD_NO_SLOT */
    uint8_t bytes; /* a lane; of an ALU run, instructions of a group */
    uint8_t space; /* enum hd_trace_space */
    uint32_t wait;
    uint32_t count; /* instructions; 0: continues the one before, or an
                       exit that the trace does not have */
    uint32_t pc;
    uint32_t opcode; /* string of the container */
    uint32_t list;   /* 0: affine; 1: its addresses are listed */
    uint64_t mask;
    /* memory operations: the address of the first set lane, and the bytes from
     * lane to lane */
    uint64_t first;
    int64_t stride;
    /* in a container with classes, else 0: struct hd_detail; an ALU operation of
     * shared memory with `bytes` has addresses, offsets in its window */
    uint32_t klass, after, each;
    uint32_t spare;
};

/* As opcodes of what is recorded: enum heddle_op. */
extern const char *const hd_trace_opcode[HEDDLE_OPS];

static inline bool hd_trace_op_memory(const struct hd_trace_op *o)
{
    return hd_op_memory(o->kind);
}

/* Whether an operation of shared memory says where. */
static inline bool hd_trace_op_shared(const struct hd_trace_op *o)
{
    return o->kind == HEDDLE_OP_ALU && o->klass == HEDDLE_CLASS_SHARED &&
           o->bytes != 0;
}

/* One kernel launch of a trace. */
struct hd_trace_kernel {
    const char *name; /* string of the container */
    uint32_t id;      /* as the trace numbers it */
    uint32_t context; /* address space */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, regs, binary, version, lanes;
    uint64_t stream, shared_base, local_base;
    /* counted while it is written */
    uint64_t blocks, warps, insts, thread_insts, mem_insts, lane_addrs;
    uint32_t frame0, frames;
    size_t call0, calls; /* what its host does before it and next to it */
};

/* Blocks of its grid, of which a trace may hold fewer. */
static inline uint64_t hd_trace_grid(const struct hd_trace_kernel *k)
{
    uint64_t plane = (uint64_t)k->grid[0] * k->grid[1], z = k->grid[2];

    return z != 0 && plane > UINT64_MAX / z ? UINT64_MAX : plane * z;
}

/* What a host says of an allocation of its address space, or does to it. */
struct hd_trace_call {
    struct hd_hint hint;
    bool beside; /* next to its kernel; else before it */
};

static inline uint64_t hd_trace_threads(const struct hd_trace_kernel *k)
{
    return (uint64_t)k->block[0] * k->block[1] * k->block[2];
}

static inline uint32_t hd_trace_warps(const struct hd_trace_kernel *k)
{
    return (uint32_t)hd_ceil_div(hd_trace_threads(k), k->lanes);
}

/* What a reader notes: only `heddle trace check` says it, a run does too, or
 * the trace is most likely wrong. */
enum hd_trace_level { HD_TL_CHECK, HD_TL_RUN, HD_TL_WRONG };

/* X(code, level, text).  A container has them by number: new ones come last. */
#define HD_TRACE_NOTES(X)                                                      \
    X(ZERO_ADDRESS, WRONG,                                                     \
      "memory instructions with address 0 in an active lane")                  \
    X(EMPTY_WARP, CHECK, "warps without an instruction")                       \
    X(NO_EXIT, CHECK, "warps that do not end with EXIT")                       \
    X(UNKNOWN_OPCODE, WRONG, "unknown opcodes with addresses, taken as ALU")   \
    X(ODD_MODE, CHECK, "address modes that do not fit their mask")             \
    X(LDGSTS_TWICE, CHECK, "LDGSTS listed twice; the shared half was dropped") \
    X(MIXED_WINDOWS, CHECK, "generic instructions whose lanes mix memories")   \
    X(NO_WINDOWS, CHECK,                                                       \
      "generic instructions without window bases, taken as global")            \
    X(NO_WIDTH, CHECK, "memory instructions of width 0, taken as ALU")         \
    X(WIDE_LANE, CHECK, "accesses wider than 32 bytes a lane, cut to 32")      \
    X(HEADER_LINE, CHECK, "unknown header lines")                              \
    X(BODY_LINE, CHECK, "unknown lines between instructions")                  \
    X(LIST_LINE, CHECK, "unknown lines of the kernel list")                    \
    X(MISSING_BLOCKS, CHECK, "kernels with fewer blocks than their grid")      \
    X(REPLAY, CHECK, "REPLAY markers skipped")                                 \
    X(NO_NEWLINE, CHECK, "files whose last line has no end")                   \
    X(NEW_TRACER, CHECK,                                                       \
      "kernels of a tracer newer than version 6, read as that")                \
    X(UNENDED_BLOCK, RUN, "files whose last thread block has no #END_TB")      \
    X(BAD_REGISTERS, WRONG, "kernels of more than 255 registers a thread")     \
    X(BAD_BINARY, WRONG, "kernels of a binary version below 35")               \
    X(UNKNOWN_CLASS, RUN,                                                      \
      "instructions of an opcode without a class, taken as unknown")           \
    X(EVENT_LINE, CHECK,                                                       \
      "events and waits in the kernel list, which are not kept")               \
    X(REPAIRED, RUN,                                                           \
      "kernels with as many registers as their instructions name, in place "   \
      "of "                                                                    \
      "the header's")

enum hd_trace_note {
#define X(code, level, text) HD_TN_##code,
    HD_TRACE_NOTES(X)
#undef X
        HD_TN_COUNT
};

struct hd_trace_note_row {
    uint64_t count;
    char where[96]; /* the first: file:line */
};

/* ---- some thread blocks as bytes (frame.c) ------------------------------- */

struct hd_packer; /* collects blocks until a frame is full */

/* NULL: out of memory. */
struct hd_packer *hd_packer_new(void);
void hd_packer_free(struct hd_packer *k);
/* Starts a frame of blocks of so many warps; forgets the last. */
void hd_packer_begin(struct hd_packer *k, uint32_t warps);
/* Starts a block; `number` is its index in the grid. */
void hd_packer_block(struct hd_packer *k, uint64_t number);
/* Appends an operation to a warp of the block: affine, or with an address in
 * list[] for each set lane, ascending. */
void hd_packer_op(struct hd_packer *k, uint32_t warp,
                  const struct hd_trace_op *o, const uint64_t *list);
/* Whether such a list is affine, with that stride: one form for one access. */
bool hd_trace_affine(uint64_t mask, const uint64_t *addr, int64_t *stride);
/* Ends the block.  0, or HEDDLE_ENOMEM. */
int hd_packer_block_end(struct hd_packer *k);
/* Enough blocks for a frame? */
bool hd_packer_full(const struct hd_packer *k);
uint32_t hd_packer_blocks(const struct hd_packer *k);
/* Writes the frame's bytes to `out` (emptied first).  0 or HEDDLE_ENOMEM. */
int hd_packer_end(struct hd_packer *k, struct hd_bytes *out);

/* An operation of a frame. */
struct hd_frame_op {
    uint64_t first;  /* the address of the first set lane */
    uint32_t record; /* of the frame: the rest of it */
    uint32_t list;   /* 0: affine; else where its addresses are, from 1 on */
};

/* A frame as it is replayed. */
struct hd_frame {
    uint32_t blocks, warps;
    struct hd_frame_op *op;
    struct hd_trace_op
        *record;           /* what operations are, but for where they begin */
    uint64_t *number;      /* [blocks] index in the grid */
    uint32_t *start;       /* [blocks * warps] its operations, up to its EXIT */
    unsigned char *list;   /* addresses, as they were written */
    size_t lists;          /* bytes of it, 8 of them behind the last */
    size_t bytes;          /* all of it */
    bool copies;           /* it has copies to shared memory */
};

static inline const struct hd_trace_op *
hd_frame_record(const struct hd_frame *f, const struct hd_frame_op *op)
{
    return &f->record[op->record];
}

/* What unpacking takes, for one frame after the other.  NULL: no memory. */
struct hd_unpack;
struct hd_unpack *hd_unpack_new(void);
void hd_unpack_free(struct hd_unpack *u);

/*
 * Unpacks a frame of a kernel.  `opcodes` is how many strings there are,
 * `limit` the most bytes it may take.  NULL on error: `what` says which part
 * is off; it is hd_frame_too_large where the limit does not suffice.
 */
extern const char hd_frame_too_large[];
extern const char hd_frame_memory[]; /* and this, without memory */

struct hd_frame *hd_frame_unpack(struct hd_unpack *u, const unsigned char *p,
                                 size_t n, uint32_t lanes, uint32_t warps,
                                 uint32_t opcodes, size_t limit,
                                 const char **what);
void hd_frame_free(struct hd_frame *f);
/* The addresses of a memory operation; where it has a list, lane[] is filled
 * where its mask is set. */
void hd_frame_addr(const struct hd_frame *f, const struct hd_frame_op *op,
                   struct hd_access *out, hd_va lane[HD_MAX_LANES]);

/* ---- the container (container.c) ----------------------------------------- */

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
    /* what the reader noted, by its number */
    struct hd_trace_note_row *note;
    size_t notes;
};

/* Of the container's file, which has copies, and no classes; of one without
 * copies; of one without classes; of one in which hosts have no calls either. */
enum {
    HD_CONTAINER_VERSION = 6,
    HD_CONTAINER_CLASSES = 5,
    HD_CONTAINER_CALLS = 4,
    HD_CONTAINER_PLAIN = 3
};

struct hd_container_frame {
    unsigned char *mem; /* kept in memory, else NULL */
    uint64_t at;        /* in the file */
    uint64_t hash;      /* xxh3 of the frame before compression */
    uint64_t first;     /* blocks of the kernel before it */
    uint32_t raw, stored, blocks, kernel;
};

struct hd_container {
    struct hd_container_frame *frame;
    size_t frames, room_frames;
    struct hd_trace_kernel *kernel;
    size_t kernels, room_kernels;
    struct hd_trace_context *context;
    size_t contexts, room_contexts;
    struct hd_trace_call *call; /* kernel by kernel */
    size_t calls, room_calls;
    uint32_t version; /* of the file */
    bool classes;     /* operations have classes and dependences */
    bool copies;      /* some are copies to shared memory, in groups */
    bool repair;      /* of text: headers that cannot be are repaired */
    char **string;
    size_t strings, room_strings;
    struct hd_map known; /* while it is written: strings by their hash */
    uint64_t hash;       /* of the contents, however they are stored */
    uint64_t file_bytes; /* 0: not a file */
    struct hd_container_io {
        int fd;
        bool file;           /* has a name, or will have */
        uint64_t keep, kept; /* bytes of frames in memory: at most, now */
        uint64_t end;        /* of what was written to the file */
        struct ZSTD_CCtx_s *c;
        struct ZSTD_DCtx_s *d;
        struct hd_unpack *unpack; /* from the first frame that is unpacked */
        struct hd_bytes packed, plain;
        char *path;
        struct hd_save save; /* the file being written, which has fd */
    } io;
};

/*
 * A container to be written: in memory up to `keep` bytes and beyond that in
 * a nameless temporary file.  NULL: out of memory.
 */
struct hd_container *hd_container_memory(uint64_t keep,
                                         struct heddle_error *err);
/* A container in a file, which takes its name when it is finished. */
struct hd_container *hd_container_create(const char *path,
                                         struct heddle_error *err);
/* Opens a file for reading. */
struct hd_container *hd_container_open(const char *path,
                                       struct heddle_error *err);
/* An unfinished file is removed. */
void hd_container_free(struct hd_container *b);
/* Does the file begin as a container does?  < 0: it cannot be opened. */
int hd_container_is(const char *path, struct heddle_error *err);

/* ---- writing ------------------------------------------------------------ */

/* The number of a string; the same string has one number.  HD_NONE: out of
 * memory, or more than 2^16 strings (err is set). */
uint32_t hd_container_string(struct hd_container *b, const char *s, size_t n,
                             struct heddle_error *err);
/* The string itself, as the container keeps it; NULL: the same. */
const char *hd_container_name(struct hd_container *b, const char *s, size_t n,
                              struct heddle_error *err);
int hd_container_context(struct hd_container *b, const char *name,
                         struct heddle_error *err);
int hd_container_alloc(struct hd_container *b, uint32_t context,
                       const char *name, uint64_t base, uint64_t bytes,
                       struct heddle_error *err);
/* Begins a kernel (its frames follow); the name must be one of the strings.
 * Where it is kept, until the next begins; NULL: no memory. */
struct hd_trace_kernel *hd_container_kernel(struct hd_container *b,
                                            const struct hd_trace_kernel *k,
                                            struct heddle_error *err);
/* A call of the host at the last kernel; those before it come first. */
int hd_container_call(struct hd_container *b, const struct hd_trace_call *c,
                      struct heddle_error *err);
/*
 * What hd_packer has collected becomes a frame of the last kernel, if there is
 * anything, and it begins the next.
 */
int hd_container_pack(struct hd_container *b, struct hd_packer *k,
                      struct heddle_error *err);
/* Adds the bytes of a frame to the last kernel, as they are. */
int hd_container_put(struct hd_container *b, const unsigned char *p, size_t n,
                     uint32_t blocks, struct heddle_error *err);
/* hd_container_pack when the block that ends now fills a frame; counts the
 * block. */
int hd_container_block_end(struct hd_container *b, struct hd_packer *k,
                           struct heddle_error *err);
/* No more is written: fixes the hash, and completes and names the file. */
int hd_container_finish(struct hd_container *b, struct heddle_error *err);
/* Finds the hash of the contents again: a kernel's header has changed. */
int hd_container_hash(struct hd_container *b, struct heddle_error *err);

/* ---- reading ------------------------------------------------------------ */

/*
 * The bytes of frame i, valid until the next call.  Verifies its hash.
 * `limit` bounds its size.  NULL on error.
 */
const unsigned char *hd_container_get(struct hd_container *b, size_t i,
                                      size_t limit, struct heddle_error *err);
/* Frame i, unpacked and owned. */
struct hd_frame *hd_container_frame(struct hd_container *b, size_t i,
                                    size_t limit, struct heddle_error *err);
/* Blocks from frame i on take more than `limit` bytes: an error; NULL. */
void *hd_container_too_large(const struct hd_container *b, size_t i,
                             uint64_t limit, struct heddle_error *err);

/* Copies address space `context` of `in`, or all (HD_NONE), to the empty
 * `out` and finishes that.  `limit` bounds a frame. */
int hd_container_copy(struct hd_container *in, uint32_t context,
                      struct hd_container *out, size_t limit,
                      struct heddle_error *err);

/* Of that the strings, and the address spaces without kernels. */
int hd_container_copy_head(const struct hd_container *in, uint32_t context,
                           struct hd_container *out, struct heddle_error *err);

/* ---- replaying (source.c) ------------------------------------------ */

/*
 * A source that replays one address space of a finished container and takes
 * the container.  `resident` bounds the bytes of frames that resident blocks
 * need; with `streams` kernels of different streams overlap.  All kernels run
 * `times` times over.  NULL on error; then the container is still the caller's.
 */
struct hd_source *hd_trace_source(struct hd_container *container,
                                  uint32_t context, uint64_t resident,
                                  bool streams, uint32_t times,
                                  struct heddle_error *err);

/* The container of such a source, or NULL if it is another kind. */
struct hd_container *hd_trace_source_container(const struct hd_source *s,
                                               uint32_t *context);

/* How often such a source runs its kernels. */
uint32_t hd_trace_source_times(const struct hd_source *s);

/* ---- the index as bytes -------------------------------------------------- */

/* Writes the index.  Returns how many of its bytes describe the contents;
 * the rest says how they are stored. */
size_t hd_index_write(struct hd_container *b, struct hd_bytes *out);

/*
 * Fills an empty container from an index; its frames are in [from, to) of the
 * file.  NULL, or which part is off; hd_index_memory: memory is short.
 */
extern const char hd_index_memory[];
const char *hd_index_read(struct hd_container *b, const unsigned char *p,
                          size_t n, uint64_t from, uint64_t to);

/* ---- the set of 4 KB pages that a trace touches (pages.c) ---------------- */

struct hd_region { /* 2 MB: a bit for each page */
    uint64_t number;
    uint64_t page[8];
};

struct hd_pages {
    struct hd_region *region;
    size_t n, room;
    struct hd_map map; /* by number */
    uint64_t last;     /* page added last */
    bool oom;
};

void hd_pages_init(struct hd_pages *s);
void hd_pages_free(struct hd_pages *s);
void hd_pages_add_slow(struct hd_pages *s, uint64_t page);

/* Adds the pages of [addr, addr + bytes), bytes <= 4096. */
static inline void hd_pages_add(struct hd_pages *s, uint64_t addr,
                                unsigned bytes)
{
    uint64_t page = addr >> HD_PAGE_SHIFT;
    uint64_t end = (addr + bytes - 1) >> HD_PAGE_SHIFT;

    if (page != s->last)
        hd_pages_add_slow(s, page);
    if (end != page)
        hd_pages_add_slow(s, end);
}

/* Writes the pages that no allocation of the context covers into its page
 * list, ascending.  0 or HEDDLE_ENOMEM. */
int hd_pages_ranges(struct hd_pages *s, struct hd_trace_context *x);

#endif

/*
 * trace-frame.h - some thread blocks of one kernel, packed into about 64 KB.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_FRAME_H
#define HD_TRACE_FRAME_H

#include "trace.h"

/* ---- packing ----------------------------------------------------------- */

struct hd_pack; /* collects blocks until a frame is full */

/* Warps of `lanes` lanes, `warps` a block.  NULL: out of memory. */
struct hd_pack *hd_pack_new(void);
void hd_pack_free(struct hd_pack *k);
/* Starts a frame; forgets the blocks of the last. */
void hd_pack_begin(struct hd_pack *k, uint32_t lanes, uint32_t warps);
/* Starts a block; `number` is its index in the grid. */
void hd_pack_block(struct hd_pack *k, uint64_t number);
/* Appends an operation to a warp of the block; o->stream is not used. */
void hd_pack_op(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                uint64_t mask);
/* Appends a memory operation: lane addresses first + (lane - f) * stride,
 * where f is the first set lane. */
void hd_pack_affine(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                    uint64_t mask, uint64_t first, int64_t stride);
/* The same with one address for each set lane, ascending. */
void hd_pack_list(struct hd_pack *k, uint32_t warp, const struct hd_top *o,
                  uint64_t mask, const uint64_t *addr);
/* Whether such a list is affine, with that stride: one form for one access. */
bool hd_trace_affine(uint64_t mask, const uint64_t *addr, int64_t *stride);
/* Ends the block.  0, or HEDDLE_ENOMEM. */
int hd_pack_block_end(struct hd_pack *k);
/* Enough blocks for a frame? */
bool hd_pack_full(const struct hd_pack *k);
uint32_t hd_pack_blocks(const struct hd_pack *k);
/* Writes the frame's bytes to `out` (emptied first).  0 or HEDDLE_ENOMEM. */
int hd_pack_end(struct hd_pack *k, struct hd_bytes *out);

/* ---- unpacking --------------------------------------------------------- */

struct hd_fentry { /* an operation of a path */
    uint64_t mask;
    uint32_t top;
    uint32_t mem; /* memory operations before it in the path */
};

struct hd_fpath { /* what a warp executes, shared by all that do the same */
    uint32_t entry, n;
    uint32_t memory; /* memory operations in it */
};

struct hd_fwarp {
    uint32_t path;
    uint32_t mem; /* its first address record */
};

struct hd_flist; /* a packed list of addresses */

/* A frame as it is replayed.  Address record: low 48 bits and an index of
 * strides above them; HD_FLIST: the low bits number a list. */
#define HD_FLIST 0xffffull

struct hd_frame {
    uint32_t blocks, warps, lanes, tops, paths, lists;
    struct hd_top *top;
    struct hd_fentry *entry;
    struct hd_fpath *path;
    uint64_t *number;      /* [blocks] index in the grid */
    struct hd_fwarp *warp; /* [blocks * warps] */
    uint64_t *mem;
    int64_t *stride;
    struct hd_flist *list;
    unsigned char *bits; /* packed lists, readable 8 bytes past the end */
    size_t bytes;        /* all of it */
};

/*
 * Unpacks a frame of a kernel.  `opcodes` is how many strings there are,
 * `limit` the most bytes it may take.  NULL on error: `what` says which part
 * is off; it is hd_frame_too_large where the limit does not suffice.
 */
extern const char hd_frame_too_large[];
extern const char hd_frame_memory[]; /* and this, without memory */

struct hd_frame *hd_frame_unpack(const unsigned char *p, size_t n,
                                 uint32_t lanes, uint32_t warps,
                                 uint32_t opcodes, size_t limit,
                                 const char **what);
void hd_frame_free(struct hd_frame *f);

/* The addresses that record r stands for; when it is a list, lane[] is filled
 * where mask is set. */
void hd_frame_addr(const struct hd_frame *f, uint64_t r, uint64_t mask,
                   struct hd_access *out, hd_va lane[HD_MAX_LANES]);

#endif

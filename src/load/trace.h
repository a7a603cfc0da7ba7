/*
 * trace.h - what the files of the trace reader share.
 *
 * Every trace, whatever its form, becomes the compact form of heddle's own
 * container before it is replayed: opening a text trace is converting it to a
 * container in memory (or in a temporary file, when it grows), so statistics
 * are the same before and after `heddle trace convert` by construction, and
 * pages are known before cycle 0.
 *
 *     trace-in       bytes of a .traceg or .traceg.xz, as whole lines
 *     trace-scan     the words of a line
 *     trace-line     one instruction line: registers, opcode, addresses
 *     trace-text     the lines of one kernel, and what its instructions touch
 *     trace-list     kernelslist.g, directories, contexts
 *     trace-pages    the pages that are touched
 *     trace-frame    about 64 KB of thread blocks, packed and unpacked
 *     trace-box      the container: frames and their index, memory or file
 *     trace-source   replay: the instructions that the cores ask for
 *     trace-record   writes what any source does into a container
 *     trace-api      the public calls of heddle_trace.h
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_H
#define HD_TRACE_H

#include "../base/base.h"
#include "../base/bits.h"
#include "../base/diag.h"
#include "grow.h"
#include "source.h"

enum {
    HD_TRACE_VA_BITS = 48,    /* four-level page tables reach no further */
    HD_TRACE_MAX_WARPS = 64,  /* of a block: 2048 threads */
    HD_TRACE_FRAME = 64 << 10 /* bytes of a frame before compression */
};

#define HD_TRACE_VA_END (1ull << HD_TRACE_VA_BITS)
#define HD_TRACE_WINDOW (16ull << 20) /* of shared and of local memory */

/* Where an operation's addresses lie, in the container. */
enum hd_trace_space {
    HD_TS_GLOBAL,
    HD_TS_LOCAL,  /* offsets in a thread's local window, placed when replayed */
    HD_TS_PLACED, /* local memory that a program has placed itself */
    HD_TS_TEXTURE /* global memory, fetched as a texture */
};

/* What an operation does whoever executes it: a row of a frame's table. */
struct hd_top {
    uint8_t kind;  /* enum hd_op_kind */
    uint8_t slot;  /* or HD_NO_SLOT */
    uint8_t bytes; /* a lane; 0 if not a memory operation */
    uint8_t space; /* enum hd_trace_space */
    uint32_t wait;
    uint32_t count; /* instructions; 0: goes on with the one before, or an
                       exit that the trace does not have */
    uint32_t pc;
    uint32_t opcode; /* string of the container */
    uint32_t stream; /* first row with the same pc: predicts its addresses */
};

static inline bool hd_top_memory(const struct hd_top *o)
{
    return hd_op_memory(o->kind);
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
};

static inline uint64_t hd_trace_threads(const struct hd_trace_kernel *k)
{
    return (uint64_t)k->block[0] * k->block[1] * k->block[2];
}

static inline uint32_t hd_trace_warps(const struct hd_trace_kernel *k)
{
    return (uint32_t)hd_ceil_div(hd_trace_threads(k), k->lanes);
}

/* What a lint tells: X(code, fatal, text). */
#define HD_TRACE_NOTES(X)                                                      \
    X(ZERO_ADDRESS, 1, "memory instructions with address 0 in an active lane") \
    X(EMPTY_WARP, 0, "warps without an instruction")                           \
    X(NO_EXIT, 0, "warps that do not end with EXIT")                           \
    X(UNKNOWN_OPCODE, 1, "unknown opcodes with addresses, taken as ALU")       \
    X(ODD_MODE, 0, "address modes that do not fit their mask")                 \
    X(LDGSTS_TWICE, 0, "LDGSTS listed twice; the shared half was dropped")     \
    X(MIXED_WINDOWS, 0, "generic instructions whose lanes mix memories")       \
    X(NO_WINDOWS, 0,                                                           \
      "generic instructions without window bases, taken as global")            \
    X(NO_WIDTH, 0, "memory instructions of width 0, taken as ALU")             \
    X(WIDE_LANE, 0, "accesses wider than 16 bytes a lane, cut to 16")          \
    X(HEADER_LINE, 0, "unknown header lines")                                  \
    X(BODY_LINE, 0, "unknown lines between instructions")                      \
    X(LIST_LINE, 0, "unknown lines of the kernel list")                        \
    X(MISSING_BLOCKS, 0, "kernels with fewer blocks than their grid")          \
    X(REPLAY, 0, "REPLAY markers skipped")                                     \
    X(NO_NEWLINE, 0, "files whose last line has no end")                       \
    X(NEW_TRACER, 0, "kernels of a tracer newer than version 6, read as that")

enum hd_trace_note {
#define X(code, fatal, text) HD_TN_##code,
    HD_TRACE_NOTES(X)
#undef X
        HD_TN_COUNT
};

struct hd_trace_note_row {
    uint64_t count;
    char where[96]; /* the first: file:line */
};

#endif

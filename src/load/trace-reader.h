/*
 * trace-reader.h - the inside of the reader of text traces: what trace-text.c,
 * which knows the order of lines, and trace-inst.c, which knows what an
 * instruction touches, share.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_READER_H
#define HD_TRACE_READER_H

#include "trace-line.h"
#include "trace-text.h"
#include "trace-warp.h"

enum { HD_TRACE_HELD = 32 };

/* The two halves of an LDGSTS: the first waits for what follows. */
struct hd_trace_held {
    bool any;
    struct hd_line line;
    uint64_t addr[HD_TRACE_HELD];
};

/* Blocks from, .. to - 1. */
struct hd_trace_run {
    uint64_t from, to;
};

enum { HD_TRACE_RUNS = 64 };

struct hd_trace_text {
    struct hd_box *box;
    struct hd_pack *pack;
    struct hd_lines *lines;
    struct hd_twarp warp;
    struct hd_pages *pages;
    struct hd_trace_kernel *k; /* in the container, once the header is read */
    struct hd_trace_context *x;
    struct hd_trace_held held;
    struct hd_err *err;
    const char *path;
    uint64_t line, bytes;
    uint32_t warps;
    bool in_block, numbered, in_warp, sized;
    /* blocks of the kernel so far; what takes more runs is not remembered */
    struct hd_trace_run run[HD_TRACE_RUNS];
    uint32_t runs;
    uint64_t seen; /* warps of the block */
    uint32_t w;
    uint64_t insts, lines_read, markers;
    uint64_t lane[HD_TRACE_HELD];
};

/* trace-inst.c */
/* Packs an instruction into the warp.  0 or an error. */
int hd_trace_inst_put(struct hd_trace_text *t, const struct hd_line *l);
/* Packs the half of an LDGSTS that waits for the other one, if there is one. */
int hd_trace_inst_end(struct hd_trace_text *t);

static inline void hd_trace_text_note(struct hd_trace_text *t,
                                      enum hd_trace_note n)
{
    hd_trace_note(t->box, n, t->path, t->line);
}

#endif

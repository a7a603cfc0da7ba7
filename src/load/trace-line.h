/*
 * trace-line.h - one instruction line of a text trace.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_LINE_H
#define HD_TRACE_LINE_H

#include "trace-box.h"
#include "trace-warp.h"

struct hd_lines; /* what was learnt from the lines of a kernel so far */

/* An instruction as executed. */
struct hd_line {
    const struct hd_tinst *inst;
    uint64_t mask;
    bool addressed; /* the fields below hold */
    bool bulk;      /* a list of any length, not by lane (TMA) */
    bool affine;    /* lane addresses first + (lane - f) * stride */
    bool odd;       /* the address mode does not fit the mask */
    uint64_t first;
    int64_t stride;
    uint32_t n;
    const uint64_t *addr; /* [n], one for each set lane; until the next line */
    uint64_t bytes;       /* bulk: of the whole transfer */
};

/* A scanner whose opcodes become strings of `box`. */
struct hd_lines *hd_lines_new(struct hd_box *box);
void hd_lines_free(struct hd_lines *c);
/* A new kernel: tracer version, and whether lines begin with a line number. */
void hd_lines_kernel(struct hd_lines *c, uint32_t version, bool lineinfo);
/* A new warp begins. */
void hd_lines_warp(struct hd_lines *c);

/*
 * Reads the line at p, which ends with '\n' and has 64 bytes of anything
 * behind it.  Returns what follows the line, or NULL: hd_lines_error says
 * what was expected.
 */
const char *hd_lines_read(struct hd_lines *c, const char *p,
                          struct hd_line *out);
/* A list that is affine after all becomes so: one form for one access. */
void hd_line_affine(struct hd_line *l);
int hd_lines_error(const struct hd_lines *c, const char **text);

#endif

/*
 * heddle_trace.h - traces, besides heddle_trace_open(): conversion, recording,
 * and looks into one.
 *
 * Calls return a negative HEDDLE_E code and write what was wrong, with file and
 * line or byte, to `error` (room bytes).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HEDDLE_TRACE_H
#define HEDDLE_TRACE_H

#include "heddle_survey.h"

/* How many address spaces (CUDA contexts) there are; < 0: an error. */
int heddle_trace_contexts(const char *path, char *error, size_t room);

/* Writes a container of all address spaces of `in`. */
int heddle_trace_convert(const char *in, const char *out, char *error,
                         size_t room);

/* Of the options, classes counts, for a text. */
int heddle_trace_convert_with(const char *in, const char *out,
                              const struct heddle_trace_options *o,
                              char *error, size_t room);

/*
 * Writes a container of what a workload does, run without time (in the order
 * of heddle_survey.h); a program's values are computed on the way.  The
 * workload must not be in use.  lanes: 32 or 64; 0: 32.
 */
int heddle_trace_record(heddle_workload *w, const char *out, uint32_t lanes,
                        char *error, size_t room);

/* ---- looking into one ---------------------------------------------------- */

struct heddle_trace_info {
    const char *name;
    uint32_t kernels;
    uint64_t blocks, warps;
    uint64_t instructions;        /* warp instructions */
    uint64_t thread_instructions; /* times their active lanes */
    uint64_t memory_instructions; /* warp instructions, global and local */
    uint64_t lane_addresses;
    uint64_t frames, frame_bytes; /* before compression */
    uint64_t stored_bytes;        /* of the frames as they are stored */
    uint64_t file_bytes;          /* 0: not a file of heddle's */
    uint64_t allocations, pages;  /* pages touched outside of them */
    uint64_t local_words; /* of local memory, from the first that a thread
                             touches to the last */
    uint64_t host_calls;  /* before kernels and next to them */
    uint64_t hash;        /* of the contents */
};

/* Facts about a workload that is a trace; HEDDLE_EINVAL for another. */
int heddle_trace_info(const heddle_workload *w, struct heddle_trace_info *out);

struct heddle_trace_kernel {
    const char *name;
    uint32_t number; /* in order, 1, 2, ... */
    uint32_t id;     /* as the trace has it */
    uint32_t grid[3], block[3];
    uint32_t shared_bytes, registers, binary, version, lanes;
    uint64_t blocks, warps, instructions, memory_instructions;
};

/* Kernel i, from 0; HEDDLE_EINVAL past the last. */
int heddle_trace_kernel(const heddle_workload *w, uint32_t i,
                        struct heddle_trace_kernel *out);

struct heddle_trace_note {
    const char *name; /* "ZERO_ADDRESS" */
    const char *text;
    int told;  /* a run reports it, too, with its results */
    int fatal; /* the trace is most likely wrong */
    uint64_t count;
    const char *where; /* the first: file:line */
};

/* What the reader stumbled over, row i, count 0 if it did not; HEDDLE_EINVAL
 * past the last. */
int heddle_trace_note(const heddle_workload *w, uint32_t i,
                      struct heddle_trace_note *out);

struct heddle_trace_select {
    uint32_t kernel; /* only this one; 0: all */
    int one_block;   /* only `block` */
    uint64_t block;
};

/*
 * Shows every memory instruction of a workload: traces block by block as they
 * are stored, warp by warp, with the addresses that they have; others as
 * heddle_each() runs them.  s may be NULL: all.  HEDDLE_EINVAL, with words, if
 * there is no such kernel or block.
 */
int heddle_trace_dump(heddle_workload *w, const struct heddle_trace_select *s,
                      heddle_each_fn *fn, void *ud, char *error, size_t room);

/* Unpacks every frame, so damage anywhere in a container is found. */
int heddle_trace_verify(heddle_workload *w, char *error, size_t room);

#endif

/*
 * trace-in.h - the bytes of a text file, plain or .xz, as whole lines.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_IN_H
#define HD_TRACE_IN_H

#include "trace.h"

struct hd_trace_in;

/* Opens a file; `path` is copied.  NULL on error. */
struct hd_trace_in *hd_trace_in_open(const char *path, struct hd_err *err);
void hd_trace_in_close(struct hd_trace_in *in);

/*
 * Gives the next stretch of whole lines: [*p, *end), where end[-1] is '\n' and
 * at least 64 bytes past *end can be read.  What lay before is gone.  1, 0 at
 * the end of the file, or an error.
 */
int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct hd_err *err);

/* The last line had no end and was given one. */
bool hd_trace_in_unended(const struct hd_trace_in *in);

/* Bytes of text given so far. */
uint64_t hd_trace_in_bytes(const struct hd_trace_in *in);

#endif

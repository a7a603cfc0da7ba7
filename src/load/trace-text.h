/*
 * trace-text.h - the lines of a kernel's text trace, into a container.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_TEXT_H
#define HD_TRACE_TEXT_H

#include "trace-box.h"
#include "trace-pages.h"

struct hd_trace_text;

/* A reader that adds kernels to `box`.  NULL: out of memory. */
struct hd_trace_text *hd_trace_text_new(struct hd_box *box);
void hd_trace_text_free(struct hd_trace_text *t);

/*
 * Reads the kernel in `path` (.traceg, .traceg.xz) as the next of the last
 * address space of the container; what it touches is added to `pages`.
 */
int hd_trace_text_kernel(struct hd_trace_text *t, const char *path,
                         struct hd_pages *pages, struct hd_err *err);

/* Bytes of text read so far, after decompression. */
uint64_t hd_trace_text_bytes(const struct hd_trace_text *t);

/* Counts a note of the lint; `line` 0: the file as a whole. */
void hd_trace_note(struct hd_box *b, enum hd_trace_note n, const char *path,
                   uint64_t line);

#endif

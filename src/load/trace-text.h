/*
 * trace-text.h - reading text traces: bytes, kernels, lists of kernels.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_TEXT_H
#define HD_TRACE_TEXT_H

#include "trace.h"
#include "trace-pages.h"

/* ---- whole lines of a file (trace-in.c) ---------------------------------- */

struct hd_trace_in;

/* Opens a file; `path` is copied.  NULL on error. */
struct hd_trace_in *hd_trace_in_open(const char *path, struct hd_err *err);
void hd_trace_in_close(struct hd_trace_in *in);

/*
 * Gives the next stretch of whole lines: [*p, *end), where end[-1] is '\n' and
 * at least 64 bytes past *end can be read.  What lay before is gone.  1, 2
 * where the last line had no end and was given one, 0 at the end of the file,
 * or an error.
 */
int hd_trace_in_more(struct hd_trace_in *in, const char **p, const char **end,
                     struct hd_err *err);

/* ---- kernels (trace-text.c) ---------------------------------------------- */

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

/* Counts a note of the lint; `line` 0: the file as a whole. */
void hd_trace_note(struct hd_box *b, enum hd_trace_note n, const char *path,
                   uint64_t line);

/* ---- lists and paths (trace-list.c) -------------------------------------- */

enum hd_trace_form {
    HD_TF_BOX,    /* heddle's container */
    HD_TF_KERNEL, /* one .traceg or .traceg.xz */
    HD_TF_LISTS   /* kernelslist.g, or a directory of such */
};

struct hd_trace_input {
    enum hd_trace_form form;
    char **path; /* the file, or the lists: one an address space */
    size_t n, room;
};

/* Finds out what `path` is. */
int hd_trace_input_open(const char *path, struct hd_trace_input *in,
                        struct hd_err *err);
void hd_trace_input_free(struct hd_trace_input *in);

/* Reads the text of address space `context`, or of all of them if it is
 * HD_NONE, into an empty container and finishes that. */
int hd_trace_load(const struct hd_trace_input *in, uint32_t context,
                  struct hd_box *box, struct hd_err *err);

#endif

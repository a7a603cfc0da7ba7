/*
 * trace-list.h - kernelslist.g, directories of traces, and what a path is.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_LIST_H
#define HD_TRACE_LIST_H

#include "trace-box.h"

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
 * HD_NONE, into an empty container and finishes that.  *bytes: of text. */
int hd_trace_load(const struct hd_trace_input *in, uint32_t context,
                  struct hd_box *box, uint64_t *bytes, struct hd_err *err);

#endif

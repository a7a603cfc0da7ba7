/*
 * trace-copy.h - copies address spaces from container to container.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_COPY_H
#define HD_TRACE_COPY_H

#include "trace-box.h"

/* Copies address space `context` of `in`, or all (HD_NONE), to the empty
 * `out` and finishes that.  `limit` bounds a frame. */
int hd_trace_copy(struct hd_box *in, uint32_t context, struct hd_box *out,
                  size_t limit, struct hd_err *err);

#endif

/*
 * trace-source.h - replays a container: the instructions the cores ask for.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_SOURCE_H
#define HD_TRACE_SOURCE_H

#include "trace-box.h"

/*
 * A source that replays one address space of a finished container and takes
 * the container.  `resident` bounds the bytes of frames that resident blocks
 * need.  NULL on error; then the container is still the caller's.
 */
struct hd_source *hd_trace_source(struct hd_box *box, uint32_t context,
                                  uint64_t resident, struct hd_err *err);

/* The container of such a source, or NULL if it is another kind. */
struct hd_box *hd_trace_source_box(const struct hd_source *s,
                                   uint32_t *context);

#endif

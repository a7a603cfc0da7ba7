/*
 * trace-index.h - the index of a trace container as bytes.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_INDEX_H
#define HD_TRACE_INDEX_H

#include "trace-box.h"

/* Writes the index.  Returns how many of its bytes describe the contents;
 * the rest says how they are stored. */
size_t hd_index_write(const struct hd_box *b, struct hd_bytes *out);

/*
 * Fills an empty container from an index; its frames lie in [from, to) of the
 * file.  NULL, or which part is off; hd_index_memory: memory is short.
 */
extern const char hd_index_memory[];
const char *hd_index_read(struct hd_box *b, const unsigned char *p, size_t n,
                          uint64_t from, uint64_t to);

#endif

/*
 * choose.h - which kernels of a trace are wanted, and which of their blocks.
 *
 * NULL is the choice of everything.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CHOOSE_H
#define HD_CHOOSE_H

#include "trace.h"

struct hd_choice;

/* What is wrong with a kernel, by id and name, that has none of the blocks. */
#define HD_CHOICE_NO_BLOCK                                                     \
    "blocks: the trace has none of those chosen of kernel %u (%s)"

/* Reads a choice as heddle_trace_options has it; *out is NULL if there is
 * none.  0 or an error. */
int hd_choice_open(const char *kernels, const char *blocks,
                   struct hd_choice **out, struct heddle_error *err);
void hd_choice_free(struct hd_choice *c);

/* Do kernels need to be known by name? */
bool hd_choice_names(const struct hd_choice *c);
/* Whether the next kernel of the trace is chosen; name may be NULL where
 * numbers are enough. */
bool hd_choice_kernel(struct hd_choice *c, const char *name);
/* The trace has no more kernels: an error if an item has chosen none. */
int hd_choice_end(const struct hd_choice *c, const char *where,
                  struct heddle_error *err);

/* Are only some blocks chosen; is the one with this index? */
bool hd_choice_some(const struct hd_choice *c);
bool hd_choice_block(const struct hd_choice *c, uint64_t block);
/* How many of a kernel's grid are; an error if there is none. */
int hd_choice_blocks(const struct hd_choice *c, const struct hd_trace_kernel *k,
                     uint64_t *n, struct heddle_error *err);

/*
 * Copies what is chosen of address space `context` of `in` to the empty `out`,
 * with the pages that it touches, and finishes that.  Calls of the host at
 * kernels that are not chosen are left out, but for allocations that they
 * leave freed.  `limit` bounds a frame.
 */
int hd_container_cut(struct hd_container *in, uint32_t context,
                     struct hd_choice *c, struct hd_container *out,
                     size_t limit, struct heddle_error *err);

#endif

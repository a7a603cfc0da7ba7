/*
 * generate.h - what the files of the generators (heddle_generate.h) share.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_GENERATE_H
#define HD_GENERATE_H

#include "kit/diag.h"
#include "heddle_generate.h"

/* Most elements a call makes; a typing error should not fill the memory. */
#define HD_GENERATE_MOST (UINT64_C(1) << 31)

/* n elements, zeroed, or NULL with an error that names `what`. */
heddle_data *hd_generate_array(enum heddle_type type, uint64_t n,
                               const char *what, struct heddle_error *err);

/* Hands `d` out; where there is an error, its words and NULL instead. */
heddle_data *hd_generate_give(heddle_data *d, const struct heddle_error *err,
                              char *error, size_t room);

/* A permutation of 0 .. n-1. */
void hd_generate_permute(int32_t *out, uint32_t n, uint64_t seed);

#endif

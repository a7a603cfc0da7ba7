/*
 * format.h - what a format of page tables fixes: the levels above the leaf
 * tables, with their index bits, and what their entries can be.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FORMAT_H
#define HD_FORMAT_H

#include "kit/base.h"

/* Levels above leaf tables; entries that a walk reads, one of each level and
 * two of leaf tables. */
enum { HD_FORMAT_LEVELS = 5, HD_WALK_STEPS = HD_FORMAT_LEVELS + 2 };

/* Base pages of 512 MB. */
#define HD_HUGE_PAGES 131072u

enum hd_format_kind {
    HD_FORMAT_X86_64,
    HD_FORMAT_VOLTA,
    HD_FORMAT_AMPERE,
    HD_FORMAT_HOPPER,
    HD_FORMATS
};

struct hd_format {
    const char *name;
    uint8_t va_bits;
    uint8_t dual; /* 1: 16-byte entries above leaf tables, of two kinds */
    uint8_t huge; /* 1: a leaf one level higher stands for 512 MB */
    uint8_t dir;  /* levels above the leaf tables, the last of 2 MB an entry */
    uint8_t bits[HD_FORMAT_LEVELS]; /* of an index, the root's first */
};

/* By enum hd_format_kind. */
const struct hd_format *hd_format_of(uint32_t kind);

#endif

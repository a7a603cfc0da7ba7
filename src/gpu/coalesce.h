/*
 * coalesce.h - from the lanes of one memory instruction to lines.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_COALESCE_H
#define HD_COALESCE_H

#include "../load/source.h"

/* An unaligned lane may straddle two lines. */
enum { HD_MAX_LINES = 2 * HD_MAX_LANES };

/* What one instruction touches; the parts that one line needs lie together. */
struct hd_lines {
    uint32_t n;     /* lines */
    uint32_t pages; /* distinct base pages */
    struct {
        uint64_t line;          /* virtual line number */
        uint16_t bytes;         /* that lanes touch, capped */
        uint8_t page;           /* index of its page */
    } v[HD_MAX_LINES];          /* by first lane */
    uint64_t vpn[HD_MAX_LINES]; /* the distinct pages, by first lane */
};

/*
 * Merges the active lanes' addresses into unique lines of 1 << shift bytes,
 * in the order of the first lane that touches each.  `bytes` is the width of
 * a lane's access.
 */
void hd_coalesce(const struct hd_access *acc, uint64_t mask, uint32_t lanes,
                 uint32_t bytes, uint32_t shift, struct hd_lines *out);

#endif

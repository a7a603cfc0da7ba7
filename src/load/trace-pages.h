/*
 * trace-pages.h - the set of 4 KB pages that a trace touches.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TRACE_PAGES_H
#define HD_TRACE_PAGES_H

#include "trace.h"

struct hd_region { /* 2 MB: a bit for each page */
    uint64_t number;
    uint64_t page[8];
};

struct hd_pages {
    struct hd_region *region;
    size_t n, room;
    struct hd_hash hash; /* by number */
    uint64_t last;       /* page added last */
    bool oom;
};

void hd_pages_init(struct hd_pages *s);
void hd_pages_free(struct hd_pages *s);
void hd_pages_add_slow(struct hd_pages *s, uint64_t page);

/* Adds the pages of [addr, addr + bytes), bytes <= 4096. */
static inline void hd_pages_add(struct hd_pages *s, uint64_t addr,
                                unsigned bytes)
{
    uint64_t page = addr >> HD_PAGE_SHIFT;
    uint64_t end = (addr + bytes - 1) >> HD_PAGE_SHIFT;

    if (page != s->last)
        hd_pages_add_slow(s, page);
    if (end != page)
        hd_pages_add_slow(s, end);
}

/* Writes the pages that no allocation of the context covers into its page
 * list, ascending.  0 or HEDDLE_ENOMEM. */
int hd_pages_ranges(struct hd_pages *s, struct hd_trace_context *x);

#endif

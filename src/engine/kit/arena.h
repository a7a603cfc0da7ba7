/*
 * arena.h - the one block of memory that holds all mutable state.
 *
 * A simulation reserves a range of addresses once and takes from its front.
 * The range never moves, so parts may keep pointers into it in their wiring;
 * what is inside the arena must refer to itself by index or by 32-bit
 * handle, never by pointer.  Then a snapshot is a copy of the used part, and
 * it can be restored here or into a fork.
 *
 * Memory comes zeroed.  Nothing is freed before the arena as a whole; pools
 * recycle their own entries.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_ARENA_H
#define HD_ARENA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

typedef uint32_t hd_ref; /* offset / 8 in the arena; HD_NONE: none */

struct hd_arena {
    unsigned char *base; /* start of the reserved range */
    size_t reserved;     /* bytes reserved */
    size_t used;         /* bytes taken so far */
};

/* A hint to the host that these bytes are going to be used all over, so that it
 * may have them in pages of 2 MB: small ones do as well, and their faults take
 * as long as filling them.  NULL: nothing. */
void hd_huge_pages(void *p, size_t bytes);

/* Reserves `bytes` of address space, or what there is of them (nothing is
 * committed).  0 or -1. */
int hd_arena_open(struct hd_arena *a, size_t bytes);
void hd_arena_close(struct hd_arena *a);

/*
 * Takes n * size zeroed bytes, aligned to 64.  Returns NULL when the
 * reservation is exhausted.
 */
void *hd_arena_take(struct hd_arena *a, size_t n, size_t size);

/* Whether `used` bytes of another arena find room in this one. */
static inline bool hd_arena_fits(const struct hd_arena *a, size_t used)
{
    return used <= a->reserved;
}

/* Puts those bytes in place of its own; they fit. */
void hd_arena_replace(struct hd_arena *a, const void *from, size_t used);

static inline void *hd_arena_at(const struct hd_arena *a, hd_ref r)
{
    return a->base + (size_t)r * 8;
}

static inline hd_ref hd_arena_ref(const struct hd_arena *a, const void *p)
{
    return (hd_ref)((size_t)((const unsigned char *)p - a->base) / 8);
}

#endif

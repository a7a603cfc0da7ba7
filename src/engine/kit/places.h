/*
 * places.h - the free places of a pool, of which the lowest is taken first.
 *
 * A bit for each place, and a bit for each word of those that is not 0.  What
 * is taken in a row then mostly is in a row, and what is in use is
 * together, however long the pool has been in use; a list of free places would
 * have them in the order in which they were given back.  And a place that is
 * free is not touched before it is filled.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PLACES_H
#define HD_PLACES_H

#include "arena.h"
#include "base.h"
#include "bits.h"

struct hd_places {
    uint64_t *free; /* arena: [words] */
    uint64_t *some; /* arena: [somes]: words of `free` that are not 0 */
    uint32_t somes;
};

/* A pool of n places, all free.  0 or -1. */
static inline int hd_places_open(struct hd_places *p, struct hd_arena *arena,
                                 uint32_t n)
{
    uint32_t words = (n + 63) / 64;

    p->somes = (words + 63) / 64;
    p->free = hd_arena_take(arena, words, sizeof *p->free);
    p->some = hd_arena_take(arena, p->somes, sizeof *p->some);
    if (p->free == NULL || p->some == NULL)
        return -1;
    for (uint32_t i = 0; i < words; i++) {
        p->free[i] = hd_ones(n - i * 64 < 64 ? n - i * 64 : 64);
        p->some[i / 64] |= 1ull << i % 64;
    }
    return 0;
}

/* The lowest free place from the 4096th on, or HD_NONE; none is below. */
HD_APART static uint32_t hd_places_far(struct hd_places *p)
{
    for (uint32_t i = 1; i < p->somes; i++) {
        uint64_t *word;
        uint32_t w;

        if (p->some[i] == 0)
            continue;
        w = i * 64 + hd_bit_first(p->some[i]);
        word = &p->free[w];
        w = w * 64 + hd_bit_first(*word);
        *word &= *word - 1;
        if (*word == 0)
            p->some[i] &= p->some[i] - 1;
        return w;
    }
    return HD_NONE;
}

/* The lowest free place, or HD_NONE. */
static inline uint32_t hd_places_take(struct hd_places *p)
{
    uint64_t some = *p->some, free, rest;
    uint32_t w;

    if (HD_UNLIKELY(some == 0))
        return hd_places_far(p);
    w = hd_bit_first(some);
    free = p->free[w];
    rest = free & (free - 1);
    p->free[w] = rest;
    if (HD_UNLIKELY(rest == 0))
        *p->some = some & (some - 1);
    return w * 64 + hd_bit_first(free);
}

static inline void hd_places_give(struct hd_places *p, uint32_t place)
{
    uint64_t *word = &p->free[place / 64], free = *word;

    hd_assert((free >> place % 64 & 1) == 0);
    *word = free | 1ull << place % 64;
    if (HD_UNLIKELY(free == 0)) /* else it is marked */
        p->some[place / 4096] |= 1ull << place / 64 % 64;
}

/* How many are free. */
static inline uint32_t hd_places_left(const struct hd_places *p)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < p->somes; i++)
        for (uint64_t m = p->some[i]; m != 0; m &= m - 1)
            n += hd_bit_count(p->free[i * 64 + hd_bit_first(m)]);
    return n;
}

#endif

/*
 * rng.h - counter-based random numbers, one stream for each component.
 *
 * Draw k of stream s under seed g is a hash of (g, s, k), so a stream never
 * depends on what other components drew, and its whole state is one counter
 * in the arena.  The mixing function is the finalizer of SplitMix64 (Steele,
 * Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_RNG_H
#define HD_RNG_H

#include <stdint.h>

struct hd_rng {
    uint64_t key;   /* from seed and stream, constant */
    uint64_t drawn; /* numbers drawn so far */
};

static inline uint64_t hd_mix64(uint64_t x)
{
    x += 0x9e3779b97f4a7c15ull;
    x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9ull;
    x = (x ^ (x >> 27)) * 0x94d049bb133111ebull;
    return x ^ (x >> 31);
}

static inline struct hd_rng hd_rng_make(uint64_t seed, uint64_t stream)
{
    struct hd_rng r = {hd_mix64(seed ^ hd_mix64(stream)), 0};
    return r;
}

static inline uint64_t hd_rng_next(struct hd_rng *r)
{
    return hd_mix64(r->key + hd_mix64(r->drawn++));
}

/* Uniform in [0, n), n > 0: the high half of a 64x32-bit product. */
static inline uint32_t hd_rng_below(struct hd_rng *r, uint32_t n)
{
    return (uint32_t)(((hd_rng_next(r) >> 32) * n) >> 32);
}

#endif

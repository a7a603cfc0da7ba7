/*
 * bits.h - bit operations on 64-bit words: masks of lanes, warps and ways.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BITS_H
#define HD_BITS_H

#include <stdbool.h>
#include <stdint.h>

/* Index of the lowest set bit; x must not be 0. */
static inline unsigned hd_bit_first(uint64_t x)
{
    return (unsigned)__builtin_ctzll(x);
}

static inline unsigned hd_bit_count(uint64_t x)
{
#ifdef __POPCNT__
    return (unsigned)__builtin_popcountll(x);
#else /* which would be a call */
    x -= x >> 1 & 0x5555555555555555;
    x = (x & 0x3333333333333333) + (x >> 2 & 0x3333333333333333);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0f;
    return (unsigned)(x * 0x0101010101010101 >> 56);
#endif
}

/* Floor of log2; x must not be 0. */
static inline unsigned hd_log2(uint64_t x)
{
    return 63u ^ (unsigned)__builtin_clzll(x); /* one instruction on x86 */
}

static inline bool hd_is_pow2(uint64_t x)
{
    return x != 0 && (x & (x - 1)) == 0;
}

/* n ones, 0 <= n <= 64. */
static inline uint64_t hd_ones(unsigned n)
{
    return n >= 64 ? ~0ull : (1ull << n) - 1;
}

#endif

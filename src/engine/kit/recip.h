/*
 * recip.h - exact division of instants and spans by a divisor known at set-up.
 *
 * With s = floor(log2 d) and m = ceil(2^(63 + s) / d) = (2^(63 + s) + e) / d,
 * which fits in 64 bits, x m / 2^(63 + s) is x / d and x e / 2^(63 + s) / d
 * more.  That is less than 1 / d while x < 2^62, because e < d < 2^(s + 1), so
 * its whole part is the quotient: one multiplication and two shifts instead of
 * a division, on the path of every request.  All times of a simulation are
 * below 2^62 ticks, which is an hour at the finest time base.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_RECIP_H
#define HD_RECIP_H

#include "base.h"
#include "bits.h"

struct hd_recip {
    uint64_t d, m;
    uint32_t s;
};

/* 0 < d < 2^62. */
static inline struct hd_recip hd_recip_of(uint64_t d)
{
    struct hd_recip r = {d, 0, hd_log2(d)};
    uint64_t rest = 1ull << r.s;

    for (int i = 0; i < 64; i++) { /* 2^(63 + s) / d, bit by bit */
        r.m = r.m << 1 | (rest >= d);
        rest = (rest - (rest >= d ? d : 0)) << 1;
    }
    r.m += rest != 0;
    return r;
}

/* The high word of a 64 x 64 bit product. */
static inline uint64_t hd_recip_high(uint64_t x, uint64_t y)
{
#ifdef __SIZEOF_INT128__
    return (uint64_t)((unsigned __int128)x * y >> 64);
#else
    uint64_t xl = (uint32_t)x, xh = x >> 32, yl = (uint32_t)y, yh = y >> 32;
    uint64_t m = xh * yl + (xl * yl >> 32), n = xl * yh + (uint32_t)m;

    return xh * yh + (m >> 32) + (n >> 32);
#endif
}

/* x / d, for x < 2^62. */
static inline uint64_t hd_recip_div(struct hd_recip r, uint64_t x)
{
    hd_assert(x >> 62 == 0);
    return hd_recip_high(x << 1, r.m) >> r.s;
}

/* The least multiple of d that is x or more, for x + d <= 2^62. */
static inline uint64_t hd_recip_up(struct hd_recip r, uint64_t x)
{
    return hd_recip_div(r, x + r.d - 1) * r.d;
}

#endif

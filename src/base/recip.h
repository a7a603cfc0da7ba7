/*
 * recip.h - exact division of 64-bit numbers by a divisor known at set-up.
 *
 * x / d is the high word of x times ceil(2^64 / d), or one less: the rounding
 * adds less than x / 2^64 < 1 to the quotient.  One multiplication and one
 * comparison instead of a division, on the way of every request.
 *
 * Below 2^62, where all instants and spans of a simulation lie, the quotient
 * is exact without the comparison (hd_recip_near): with s = floor(log2 d) and
 * m = ceil(2^(63 + s) / d) = (2^(63 + s) + e) / d, which fits in 64 bits,
 * x m / 2^(63 + s) is x / d and x e / 2^(63 + s) / d more, less than 1 / d,
 * because e < d < 2^(s + 1).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_RECIP_H
#define HD_RECIP_H

#include "bits.h"

struct hd_recip {
    uint64_t d, inverse; /* inverse 0: d is 1 */
    uint64_t near;       /* 0: d is 2^63 or more */
    uint32_t shift;      /* of near: floor(log2 d) */
};

/* d > 0. */
static inline struct hd_recip hd_recip_of(uint64_t d)
{
    struct hd_recip r = {d, d == 1 ? 0 : UINT64_MAX / d + 1, 0, hd_log2(d)};
    uint64_t rest = 1ull << r.shift;

    if (d >> 63 != 0)
        return r;
    for (int i = 0; i < 64; i++) { /* 2^(63 + shift) / d, bit by bit */
        r.near = r.near << 1 | (rest >= d);
        rest = (rest - (rest >= d ? d : 0)) << 1;
    }
    r.near += rest != 0;
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

static inline uint64_t hd_recip_div(struct hd_recip r, uint64_t x)
{
    uint64_t q;

    if (r.inverse == 0)
        return x;
    q = hd_recip_high(x, r.inverse);
    return q - (q * r.d > x);
}

/* The same for x < 2^62 and d < 2^63. */
static inline uint64_t hd_recip_near(const struct hd_recip *r, uint64_t x)
{
    return hd_recip_high(x << 1, r->near) >> r->shift;
}

/* The least multiple of d that is x or more, for x + d < 2^62. */
static inline uint64_t hd_recip_near_up(const struct hd_recip *r, uint64_t x)
{
    return hd_recip_near(r, x + r->d - 1) * r->d;
}

/* The least multiple of d that is x or more; x is not within d of 2^64. */
static inline uint64_t hd_recip_up(struct hd_recip r, uint64_t x)
{
    uint64_t down = hd_recip_div(r, x) * r.d;

    return down == x ? x : down + r.d;
}

#endif

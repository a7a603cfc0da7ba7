/*
 * hist.h - histograms of latencies and counts, with percentiles.
 *
 * Buckets are exact up to 31 and then 16 to an octave (at most 6 % wide), so
 * a histogram has a fixed size and is in the arena.  Mean, minimum and
 * maximum are exact; percentiles are the upper edge of their bucket.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_HIST_H
#define HD_HIST_H

#include <stdint.h>

#include "bits.h"

enum { HD_HIST_BUCKETS = 32 + 35 * 16 };      /* up to 2^40 */
#define HD_HIST_TOP (((uint64_t)1 << 40) - 1) /* what is above goes with it */

struct hd_hist {
    uint64_t low, span; /* a value from low to low + span is not outside the
                           others, nor above the top */
    uint64_t n, sum, min, max;
    uint32_t bucket[HD_HIST_BUCKETS];
};

/* The bucket of a value up to the top. */
static inline unsigned hd_hist_bucket(uint64_t v)
{
    unsigned s = hd_log2(v | 16) - 4; /* 0 below 32 */

    return s * 16 + (unsigned)(v >> s); /* from 32 up, 16 to 31 of s */
}

/* A value that is outside all others, or above the top.  Min and max are both 0
 * while there is no sample. */
static inline void hd_hist_widen(struct hd_hist *h, uint64_t v)
{
    if (v < h->min || (h->max == 0 && h->bucket[0] == 0))
        h->min = v;
    if (v > h->max)
        h->max = v;
    h->low = h->min <= HD_HIST_TOP ? h->min : UINT64_MAX;
    h->span = h->max <= HD_HIST_TOP ? h->max - h->min : HD_HIST_TOP - h->min;
    if (h->min > HD_HIST_TOP)
        h->span = 0;
}

static inline void hd_hist_add(struct hd_hist *h, uint64_t v)
{
    uint64_t in = v;

    if (__builtin_expect(v - h->low > h->span, 0)) {
        hd_hist_widen(h, v);
        in = v <= HD_HIST_TOP ? v : HD_HIST_TOP;
    }
    h->n++;
    h->sum += v;
    h->bucket[hd_hist_bucket(in)]++;
}

/* Smallest and largest value that falls in bucket b. */
uint64_t hd_hist_low(unsigned b);
uint64_t hd_hist_high(unsigned b);

/* The value at or below which p (0..100) percent of the samples are. */
uint64_t hd_hist_percentile(const struct hd_hist *h, double p);

#endif

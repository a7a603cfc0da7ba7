/*
 * hist.h - histograms of latencies and counts, with percentiles.
 *
 * Buckets are exact up to 31 and then 16 to an octave (at most 6 % wide), so
 * a histogram has a fixed size and lies in the arena.  Mean, minimum and
 * maximum are exact; percentiles are the upper edge of their bucket.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_HIST_H
#define HD_HIST_H

#include <stdint.h>

#include "bits.h"

enum { HD_HIST_BUCKETS = 32 + 35 * 16 }; /* up to 2^40 */

struct hd_hist {
    uint64_t n, sum, min, max;
    uint32_t bucket[HD_HIST_BUCKETS];
};

static inline unsigned hd_hist_bucket(uint64_t v)
{
    unsigned s = hd_log2(v | 16) - 4;         /* 0 below 32 */
    unsigned b = s * 16 + (unsigned)(v >> s); /* from 32 up, 16 to 31 of s */

    return b < HD_HIST_BUCKETS ? b : HD_HIST_BUCKETS - 1;
}

static inline void hd_hist_add(struct hd_hist *h, uint64_t v)
{
    /* not between min and max; both are 0 while there is no sample */
    if (__builtin_expect(v < h->min || v > h->max, 0)) {
        if (v < h->min || (h->max == 0 && h->bucket[0] == 0))
            h->min = v;
        if (v > h->max)
            h->max = v;
    }
    h->n++;
    h->sum += v;
    h->bucket[hd_hist_bucket(v)]++;
}

/* The same of a value that is mostly below 32. */
static inline void hd_hist_add_few(struct hd_hist *h, uint64_t v)
{
    if (__builtin_expect(v < 32 && v >= h->min && v <= h->max, 1)) {
        h->n++;
        h->sum += v;
        h->bucket[v]++;
    } else {
        hd_hist_add(h, v);
    }
}

/* Smallest and largest value that falls in bucket b. */
uint64_t hd_hist_low(unsigned b);
uint64_t hd_hist_high(unsigned b);

/* The value at or below which p (0..100) percent of the samples lie. */
uint64_t hd_hist_percentile(const struct hd_hist *h, double p);

#endif

/*
 * hist.c - reading histograms: bucket edges and percentiles (nearest rank).
 * SPDX-License-Identifier: MIT
 */
#include "hist.h"

uint64_t hd_hist_low(unsigned b)
{
    unsigned e;

    if (b < 32)
        return b;
    e = 5 + (b - 32) / 16;
    return (1ull << e) + ((uint64_t)((b - 32) % 16) << (e - 4));
}

uint64_t hd_hist_high(unsigned b)
{
    if (b < 32)
        return b;
    return hd_hist_low(b) + (1ull << ((b - 32) / 16 + 1)) - 1;
}

uint64_t hd_hist_percentile(const struct hd_hist *h, double p)
{
    uint64_t rank, seen = 0;

    if (h->n == 0)
        return 0;
    rank = (uint64_t)(p / 100.0 * (double)h->n);
    if ((double)rank < p / 100.0 * (double)h->n || rank == 0)
        rank++;
    if (rank > h->n)
        rank = h->n;
    for (unsigned b = 0; b < HD_HIST_BUCKETS; b++) {
        seen += h->bucket[b];
        if (seen >= rank) {
            uint64_t high = hd_hist_high(b);
            return high < h->max ? high : h->max;
        }
    }
    return h->max;
}

/*
 * contig.h - which pages of a region are contiguous in physical memory, too:
 * the bits of MESC's page-table scan.
 *
 * A region of 512 pages has eight subregions of 64.  Bit C of a subregion says
 * that its pages are present, are in frames in order and may be written alike;
 * bit AC of the region that all eight are so, one behind the other.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CONTIG_H
#define HD_CONTIG_H

#include "ptable.h"

enum {
    HD_SUB_PAGES = 64,
    HD_SUBS = HD_LARGE_PAGES / HD_SUB_PAGES,
    HD_CONTIG_ALL = 1 << HD_SUBS, /* AC; C0 to C7 are the bits below it */
    HD_CONTIG_SHIFT = 52          /* of C0 in an entry of level 3 */
};

/* The bits of an entry of level 3, as a walk has read it. */
static inline uint32_t hd_contig_bits(uint64_t entry)
{
    return (uint32_t)(entry >> HD_CONTIG_SHIFT) & (2 * HD_CONTIG_ALL - 1);
}

/* What the region that holds vpn says of itself; 0: nothing. */
uint32_t hd_contig_of(const struct hd_ptables *t, uint32_t app, hd_vpn vpn);

/* These bits, and what reads of the subregions' first entries, the head PTEs,
 * return: of each that is contiguous its first frame, and whether it may be
 * written. */
struct hd_contig {
    uint32_t bits;
    uint32_t write; /* a bit for each */
    hd_pfn head[HD_SUBS];
};
void hd_contig_look(const struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    struct hd_contig *c);

/* Bit i: subregions i and i + 1 are contiguous and one behind the other.  What
 * the memory subregion cache keeps, 7 bits. */
uint32_t hd_contig_links(const struct hd_contig *c);

/* The contiguous subregions around s that are linked, which is one: how many
 * there are from *first on. */
uint32_t hd_contig_run(uint32_t links, uint32_t s, uint32_t *first);

/* Scans the regions of [vpn, vpn + pages), in which that has changed. */
void hd_contig_scan(struct hd_ptables *t, uint32_t app, hd_vpn vpn,
                    uint64_t pages);

/* Reports those of the region that holds vpn. */
void hd_contig_changed(struct hd_ptables *t, uint32_t app, uint64_t vpn);

/* Who is notified that the bits of the region from `first` on have changed, or
 * which of its pages may be written: walk caches and what holds subregions. */
void hd_contig_client(struct hd_ptables *t,
                      void (*changed)(void *self, uint32_t app, hd_vpn first),
                      void *self);

/* Base pages of an application in contiguous subregions, and in regions that
 * are contiguous as a whole. */
uint64_t hd_contig_covered(const struct hd_ptables *t, uint32_t app,
                           uint64_t *all);

/* The bits and sums are those that a scan of everything would give. */
void hd_contig_check(const struct hd_ptables *t, struct heddle_error *err);

#endif

/*
 * subregions.h - subregions: what a walk reads instead of its own leaf entry,
 * what a walker reads after its answer, and the memory subregion cache (MESC).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SUBREGIONS_H
#define HD_SUBREGIONS_H

#include "memory/assoc.h"
#include "mmu.h"

enum hd_msc_stat {
#define HD_COUNTERS_OF "translation/msc.def"
#include "kit/rows.h"
    HD_MSC_STATS
};

/* The extra reads of a walker whose walk is answered. */
struct hd_extra {
    hd_vpn vpn;          /* that was walked for */
    hd_time began;       /* answered */
    uint32_t req;        /* that reads a head PTE; HD_NONE: none does */
    uint32_t batch;      /* of its walk; one that is alone: its walker */
    uint16_t core, warp; /* of the first request */
    uint16_t bits;       /* of the region, as the walk read them; 0: they have
                            changed since */
    uint8_t app, read;   /* head PTEs that are known; 0: the MSC is asked
                            first */
    uint8_t links;       /* what the MSC has said, if .. */
    uint8_t hit;         /* .. this is 1 */
};

struct hd_subregions {
    struct hd_msc_cfg cfg;
    struct hd_extra
        *extra; /* arena: [walks that run]; NULL: there are no subregions */
    struct hd_numbers extras;
    struct hd_assoc tags; /* of the MSC */
    uint8_t *links;       /* arena: [entry of the MSC] */
    uint32_t instance, mask;
    hd_time latency;
    struct hd_stat stat;
};

struct hd_unit;
struct hd_walk;

/* 0 or an error. */
int hd_subregions_open(struct hd_unit *u, struct hd_stat stat);

/* A walk has the entry of level 3, and is about to read one of level 4:
 * which. */
void hd_subregions_aim(struct hd_unit *u, struct hd_walk *w);

/* What a walk with bits knows, which has read a head. */
bool hd_subregions_found(const struct hd_unit *u, const struct hd_walk *w,
                         struct hd_xlate *x);

/* The walk is answered, and its result goes to the L2 TLB: a region does at
 * once (false), subregions when their links are known: the walker stays
 * busy. */
bool hd_subregions_stay(struct hd_unit *u, hd_time now, const struct hd_walk *w,
                        const struct hd_treq *first);

/* A miss of a page begins a walk. */
void hd_subregions_missed(struct hd_unit *u, uint32_t app, hd_vpn vpn);

/* A walker makes its next extra read, or has made the last one, fills the MSC
 * and the L2 TLB and is free; an extra read is answered at `at`. */
void hd_subregions_read(struct hd_unit *u, hd_time now, uint32_t extra);
void hd_subregions_back(struct hd_unit *u, hd_time at, uint32_t extra);

/* Nothing that was read of the regions of [vpn, vpn + pages) holds any more;
 * app HD_APP_NONE: of any. */
void hd_subregions_forget(struct hd_unit *u, uint32_t app, hd_vpn vpn,
                          uint64_t pages);

void hd_subregions_look(void *mmu, uint32_t unit, struct heddle_visitor *v);
void hd_subregions_check(void *mmu, uint32_t unit, struct heddle_error *err);

#endif

/*
 * record.h - launches, recorded one by one: when, and what was counted.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_RECORD_H
#define HD_RECORD_H

#include "../core/env.h"
#include "../core/stat.h"
#include "../load/source.h"

struct hd_kernel_record {
    char name[64];
    uint32_t app, id, run, launches;
    hd_time start, end; /* of the (first) launch; end 0 while it runs */
    hd_time busy;       /* total time of all its launches */
    uint64_t blocks;
};

struct hd_records {
    struct hd_env *env;
    struct hd_kernel_record *record; /* arena */
    uint32_t *used;                  /* arena: [1] */
    uint64_t *base;    /* arena: [app][flat] at the start of the launch */
    uint64_t *gain;    /* arena: [record][flat] */
    uint64_t *scratch; /* arena: [flat] */
    uint32_t flat;
};

/* 0, or -1: out of memory.  Every group of counters is registered. */
int hd_records_open(struct hd_records *k, struct hd_env *env);

/* A launch of an application starts; returns its record, HD_NONE if there is
 * neither room nor one of its name. */
uint32_t hd_record_start(struct hd_records *k, uint32_t app, uint32_t run,
                         const struct hd_launch *l, hd_time now);
/* The launch that record i was given for ends; HD_NONE: nothing. */
void hd_record_end(struct hd_records *k, uint32_t i, const struct hd_launch *l,
                   hd_time now);
/* Counters were reset: the launch in progress counts from here. */
void hd_record_rebase(struct hd_records *k, uint32_t app);

/* Record i, NULL past the last of *k->used. */
const struct hd_kernel_record *hd_record_at(const struct hd_records *k,
                                            uint32_t i);
/* Increase of counter `flat` (see hd_stats_flat) during record i. */
uint64_t hd_record_count(const struct hd_records *k, uint32_t i, uint32_t flat);

#endif

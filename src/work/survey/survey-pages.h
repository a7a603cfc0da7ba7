/*
 * survey-pages.h - the pages that a survey has seen: when, by whom, how far
 * apart.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SURVEY_PAGES_H
#define HD_SURVEY_PAGES_H

#include "kit/base.h"
#include "heddle_survey.h"
#include "kit/grow.h"

enum {
    HD_PAGE_LINES = 32,                        /* of 128 bytes */
    HD_REUSE_BOUNDS = HEDDLE_SURVEY_REUSE - 2, /* classes with a bound */
    HD_REUSE_FIRST = HEDDLE_SURVEY_REUSE - 1   /* class of a first touch */
};

struct hd_seen_page {
    uint64_t vpn;
    uint64_t accesses;
    uint64_t kernels;      /* bit set of those that touched it */
    uint32_t launch;       /* that touched it last */
    uint32_t newer, older; /* in the order of the last accesses */
    uint32_t reuse;        /* class that its next access would have now */
    uint32_t line[HD_PAGE_LINES]; /* launch that touched each last; 0: none */
};

struct hd_seen {
    struct hd_seen_page *page;
    uint32_t n;
    size_t room;
    struct hd_map map; /* by vpn */
    uint32_t newest, oldest;
    uint32_t edge[HD_REUSE_BOUNDS]; /* the last page inside of each bound */
    uint64_t lines;                 /* distinct, touched */
};

extern const uint64_t hd_reuse_bound[HD_REUSE_BOUNDS];

void hd_seen_open(struct hd_seen *s);
void hd_seen_close(struct hd_seen *s);

/* The index of a page, entered if it is new; UINT32_MAX: out of memory. */
uint32_t hd_seen_find(struct hd_seen *s, uint64_t vpn);

/* An access: makes the page the newest; returns the class of its reuse. */
uint32_t hd_seen_access(struct hd_seen *s, uint32_t page);

#endif

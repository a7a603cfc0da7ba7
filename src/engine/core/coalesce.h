/*
 * coalesce.h - from the lanes of one memory instruction to lines.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_COALESCE_H
#define HD_COALESCE_H

#include "points/source.h"

/* An unaligned lane may straddle two lines. */
enum { HD_MAX_LINES = 2 * HD_MAX_LANES };

/* A line that an instruction touches. */
struct hd_lsu_line {
    uint8_t page;   /* index of its page */
    uint8_t place;  /* its number in the page */
    uint16_t bytes; /* that lanes touch, capped */
};

#define HD_PAGE_UNKNOWN UINT64_MAX

/* A base page that an instruction touches. */
struct hd_lsu_page {
    uint64_t vpn;
    uint64_t frame; /* the owner's; the coalescer says HD_PAGE_UNKNOWN */
};

/*
 * What one instruction touches.  An instruction of up to eight lines in one
 * page, as most are, is in one line of the host's cache: so the lines are
 * stored backwards (hd_lines_at), before what is asked of all, and the pages
 * behind it.
 */
struct hd_lines {
    _Alignas(64) uint8_t spare[32];
    struct hd_lsu_line v[HD_MAX_LINES]; /* by first lane, the first one last */
    uint16_t n;                         /* lines */
    uint16_t pages;                     /* distinct base pages */
    uint16_t at;                        /* the owner's: next line */
    uint16_t warp;                      /* the owner's */
    uint32_t memop;                     /* the owner's */
    uint16_t direct;                    /* the owner's: not translated */
    uint16_t looked;                    /* the owner's: pages looked up ahead */
    struct hd_lsu_page page[HD_MAX_LINES]; /* by first lane */
};

/* The i-th line. */
static inline struct hd_lsu_line *hd_lines_at(struct hd_lines *l, uint32_t i)
{
    return &l->v[HD_MAX_LINES - 1 - i];
}

/* Enters a line at the end; its page has been entered. */
static inline void hd_lines_add(struct hd_lines *out, uint32_t i, uint32_t page,
                                uint64_t line, uint32_t bytes,
                                uint32_t page_shift)
{
    *hd_lines_at(out, i) = (struct hd_lsu_line){
        (uint8_t)page, (uint8_t)(line & ((1u << page_shift) - 1)),
        (uint16_t)bytes};
}

/*
 * Merges the active lanes' addresses into unique lines of 1 << shift bytes,
 * in the order of the first lane that touches each.  `bytes` is the width of
 * a lane's access.
 */
void hd_coalesce(const struct hd_access *acc, uint64_t mask, uint32_t lanes,
                 uint32_t bytes, uint32_t shift, struct hd_lines *out);

/* hd_coalesce where all lanes are active and their addresses are next to each
 * other, or one address, in one line; false: they are not, and nothing was
 * done. */
static inline bool hd_coalesce_one(const struct hd_access *acc, uint32_t lanes,
                                   uint32_t bytes, uint32_t shift,
                                   struct hd_lines *out)
{
    uint64_t from = acc->base.v, stride = (uint64_t)acc->stride, last;

    if (acc->lane != NULL || stride > bytes)
        return false;
    last = from + (lanes - 1) * stride + bytes - 1;
    if ((from ^ last) >> shift != 0)
        return false;
    out->page[0] = (struct hd_lsu_page){from >> HD_PAGE_SHIFT, HD_PAGE_UNKNOWN};
    *hd_lines_at(out, 0) = (struct hd_lsu_line){
        0, (uint8_t)(from % (1u << HD_PAGE_SHIFT) >> shift),
        (uint16_t)(last - from + 1)};
    out->n = out->pages = 1;
    return true;
}

#endif

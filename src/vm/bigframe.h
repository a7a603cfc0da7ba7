/*
 * bigframe.h - the frames of 2 MB: how many of their pages each application
 * has, and whether they are used as one page.
 *
 * A frame of 2 MB is 512 aligned frames of 4 KB (frame.h).  The counts say in
 * one look whether applications share it, and whether it is empty.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_BIGFRAME_H
#define HD_BIGFRAME_H

#include "../base/arena.h"
#include "../base/base.h"

/* Who has a frame of 2 MB, besides the applications' numbers. */
enum {
    HD_OWNER_FOREIGN = HD_MAX_APPS, /* pages that were there before */
    HD_OWNER_SEVERAL,
    HD_OWNER_NONE
};

struct hd_bigframe {
    uint16_t of[HD_MAX_APPS + 1]; /* pages of each; last: foreign */
    uint16_t used;                /* their sum */
    uint8_t owners;               /* how many have some */
    uint8_t joined;               /* 1: its pages are coalesced */
};

struct hd_bigframes {
    struct hd_bigframe *v; /* arena */
    uint64_t *held;        /* arena: [owner] base frames in the frames that an
                              owner has pages in, its share where it is mixed */
    uint64_t *peak;        /* arena: [owner] most of held since it was asked */
    uint64_t n;            /* the last may be cut off */
};

/* For so many base frames.  0 or -1 (out of memory). */
int hd_bigframes_open(struct hd_bigframes *b, struct hd_arena *arena,
                      uint64_t frames);

/* A page comes to base frame `frame`, or leaves it. */
void hd_bigframes_add(struct hd_bigframes *b, uint64_t frame, uint32_t owner,
                      uint32_t pages);
void hd_bigframes_drop(struct hd_bigframes *b, uint64_t frame, uint32_t owner,
                       uint32_t pages);

/* The most that an owner has held since it was last asked for, or holds now. */
uint64_t hd_bigframes_peak(struct hd_bigframes *b, uint32_t owner);

/* An owner's number, HD_OWNER_SEVERAL or HD_OWNER_NONE. */
uint32_t hd_bigframes_owner(const struct hd_bigframes *b, uint64_t big);

static inline struct hd_bigframe *hd_bigframe_of(const struct hd_bigframes *b,
                                                 uint64_t frame)
{
    return &b->v[frame / HD_LARGE_PAGES];
}

#endif

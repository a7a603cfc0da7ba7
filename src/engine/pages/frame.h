/*
 * frame.h - the frames of the machine's memory: free, or owned once; and the
 * frames of 2 MB, which are 512 aligned ones: how many of their pages each
 * application has, and whether they are used as one page.
 *
 * Data frames are numbered from 0; the page tables' own frames are above them
 * and are not counted here.  An owner is a number other than 0 that means
 * something to the caller that took the frame (ptable.c: a virtual page).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FRAME_H
#define HD_FRAME_H

#include "kit/arena.h"
#include "kit/base.h"

#define HD_NO_FRAME UINT64_MAX

struct hd_frames {
    struct hd_arena *arena;
    uint64_t frames; /* data frames */
    uint64_t *used;  /* arena: a bit for each frame */
    hd_ref *owners;  /* arena: pieces of the table of owners, HD_NONE: none */
    uint32_t *whole; /* arena: [frame of 2 MB] owner of the first of its 512
                        frames, if they were taken together; 0: by frame */
    uint64_t *dirty; /* arena: a bit for each frame that was written since it
                        was taken; NULL: that is not needed */
    uint64_t *count; /* arena: [0] frames in use, then the search starts of
                        groups of 1, 16 and 512 frames */
    uint32_t nodes;  /* that have `each` frames each; 0: it is not asked */
    uint64_t each;
    uint64_t (*mark)[3]; /* arena: [node] search starts, as those of `count` */
};

/* 0 or -1 (out of memory). */
int hd_frames_open(struct hd_frames *f, struct hd_arena *arena,
                   uint64_t frames);

/* The lowest aligned group of n (1, 16 or 512) free frames, or HD_NO_FRAME. */
uint64_t hd_frames_next(struct hd_frames *f, uint32_t n);

/* Frames are of so many nodes, each a whole number of 2 MB.  0 or -1 (out of
 * memory).  Then: the lowest group of a node. */
int hd_frames_divide(struct hd_frames *f, uint32_t nodes);
uint64_t hd_frames_next_of(struct hd_frames *f, uint32_t node, uint32_t n);

/* The lowest aligned 512 MB of free frames, or HD_NO_FRAME. */
uint64_t hd_frames_huge(const struct hd_frames *f);

/* True when all n frames from `first` exist and are free. */
bool hd_frames_free(const struct hd_frames *f, uint64_t first, uint32_t n);

/* Takes n free frames for owners owner, owner + 1, ...  0 or -1 (no memory
 * for the table of owners).  512 at once are given back at once, too. */
int hd_frames_take(struct hd_frames *f, uint64_t first, uint32_t n,
                   uint32_t owner);

/* Gives n frames back. */
void hd_frames_give(struct hd_frames *f, uint64_t first, uint32_t n);

/* From now on it is kept which frames are written.  0 or -1 (out of memory). */
int hd_frames_watch(struct hd_frames *f);

/* A frame was written, or has been since it was taken. */
static inline void hd_frame_write(uint64_t *dirty, uint64_t frame)
{
    dirty[frame / 64] |= 1ull << (frame % 64);
}

/* What was written is on the host, too. */
static inline void hd_frame_copied(const struct hd_frames *f, uint64_t frame)
{
    f->dirty[frame / 64] &= ~(1ull << (frame % 64));
}

static inline bool hd_frame_written(const struct hd_frames *f, uint64_t frame)
{
    return f->dirty[frame / 64] >> (frame % 64) & 1;
}

/* The owner of a frame, 0 if it is free. */
uint32_t hd_frames_owner(const struct hd_frames *f, uint64_t frame);

/* True when no frame of that one of 2 MB, nor of those near it, was ever taken by
 * itself, and it is not taken whole: all are free. */
bool hd_frames_fresh(const struct hd_frames *f, uint64_t big);

static inline uint64_t hd_frames_used(const struct hd_frames *f)
{
    return f->count[0];
}

/* ---- frames of 2 MB ------------------------------------------------------ */

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

/* A page is put into base frame `frame`, or removed from it. */
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

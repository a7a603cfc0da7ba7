/*
 * frame.h - the frames of the machine's memory: free, or owned once.
 *
 * Data frames are numbered from 0; the page tables' own frames lie above them
 * and are not counted here.  An owner is a number other than 0 that means
 * something to whoever took the frame (ptable.c: a virtual page).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FRAME_H
#define HD_FRAME_H

#include "../base/arena.h"
#include "../base/base.h"

#define HD_NO_FRAME UINT64_MAX

struct hd_frames {
    struct hd_arena *arena;
    uint64_t frames; /* data frames */
    uint64_t *used;  /* arena: a bit for each frame */
    hd_ref *owners;  /* arena: pieces of the table of owners, HD_NONE: none */
    uint64_t *count; /* arena: [0] frames in use, then the search starts of
                        groups of 1, 16 and 512 frames */
};

/* 0 or -1 (out of memory). */
int hd_frames_open(struct hd_frames *f, struct hd_arena *arena,
                   uint64_t frames);

/* The lowest aligned group of n (1, 16 or 512) free frames, or HD_NO_FRAME. */
uint64_t hd_frames_next(struct hd_frames *f, uint32_t n);

/* True when all n frames from `first` exist and are free. */
bool hd_frames_free(const struct hd_frames *f, uint64_t first, uint32_t n);

/* Takes n free frames for owners owner, owner + 1, ...  0 or -1 (no memory
 * for the table of owners). */
int hd_frames_take(struct hd_frames *f, uint64_t first, uint32_t n,
                   uint32_t owner);

/* Gives n frames back. */
void hd_frames_give(struct hd_frames *f, uint64_t first, uint32_t n);

/* The owner of a frame, 0 if it is free. */
uint32_t hd_frames_owner(const struct hd_frames *f, uint64_t frame);

static inline uint64_t hd_frames_used(const struct hd_frames *f)
{
    return f->count[0];
}

#endif

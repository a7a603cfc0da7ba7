/*
 * frame.c - which frames are free, and who owns the others; counts of pages by
 * frame of 2 MB and owner.
 *
 * A bit for each frame says whether it is in use, so that 3 GB cost 96 KB.
 * Owners are four bytes a frame, in pieces of 64 KB that are taken when the
 * first frame of a piece is: what a small footprint does not touch is not
 * there, and a snapshot does not copy it.  A page of 2 MB has one owner for its
 * 512 frames, and costs its eight words of bits: a memory of 80 GB is mapped in
 * such pages at once.
 *
 * The default order is the lowest free group.  On a fresh memory that is the
 * next frame in order; holes left by an alignment are filled by smaller pages.
 *
 * What an owner holds is what no other can use without breaking Mosaic's
 * soft guarantee (a frame of 2 MB has pages of one application only): all of
 * a frame that it has alone, of a mixed one its own pages.  Held less mapped
 * is memory bloat.  It changes with pages of others too, so peak[] is kept
 * here, at every change.
 *
 * Where frames are of several nodes (fabric/home.c), each node has equally many,
 * and search starts of its own.
 *
 * Where pages can be evicted, a second bit says that a frame was written
 * since it was taken (evict.c).  Stores set it by their physical address, so it
 * is a dirty bit that needs no look at a page table.
 *
 * Invariants: a frame's bit is set exactly when its owner is not 0; frames of
 * one that is taken whole have no owner of their own; below
 * count[1 + k] there is no free aligned group of SIZE[k] frames.
 * Of a frame of 2 MB, used is the sum of of[]; owners is the number of them
 * above 0; held[] is what a count over all frames would give (ptable.c checks),
 * and never above peak[].
 *
 * SPDX-License-Identifier: MIT
 */
#include "frame.h"

#include <string.h>

#include "kit/bits.h"

enum {
    PIECE = 16384,       /* owners in a piece */
    HUGE_FRAMES = 131072 /* of 512 MB */
};

static const uint32_t SIZE[3] = {1, 16, 512};

static uint32_t size_index(uint32_t n)
{
    return n == 1 ? 0 : n == 16 ? 1 : 2;
}

int hd_frames_open(struct hd_frames *f, struct hd_arena *arena, uint64_t frames)
{
    uint64_t pieces = hd_ceil_div(frames, PIECE);

    f->arena = arena;
    f->frames = frames;
    f->used =
        hd_arena_take(arena, hd_ceil_div(frames, 64) + 8, sizeof *f->used);
    f->owners = hd_arena_take(arena, pieces, sizeof *f->owners);
    f->whole = hd_arena_take(arena, hd_ceil_div(frames, HD_LARGE_PAGES),
                             sizeof *f->whole);
    f->count = hd_arena_take(arena, 4, sizeof *f->count);
    if (f->used == NULL || f->owners == NULL || f->whole == NULL ||
        f->count == NULL)
        return -1;
    for (uint64_t i = 0; i < pieces; i++)
        f->owners[i] = HD_NONE;
    return 0;
}

int hd_frames_watch(struct hd_frames *f)
{
    f->dirty =
        hd_arena_take(f->arena, hd_ceil_div(f->frames, 64), sizeof *f->dirty);
    return f->dirty == NULL ? -1 : 0;
}

/* The bits of n frames from the aligned frame `first` on are all clear. */
static bool frames_clear(const struct hd_frames *f, uint64_t first, uint32_t n)
{
    const uint64_t *w = f->used + first / 64;

    if (n < 64)
        return ((*w >> first % 64) & hd_ones(n)) == 0;
    if (HD_LIKELY(n == HD_LARGE_PAGES))
        return (w[0] | w[1] | w[2] | w[3] | w[4] | w[5] | w[6] | w[7]) == 0;
    for (uint32_t i = 0; i < n / 64; i++)
        if (w[i] != 0)
            return false;
    return true;
}

uint64_t hd_frames_next(struct hd_frames *f, uint32_t n)
{
    uint32_t k = size_index(n);
    uint64_t at = f->count[1 + k];

    hd_assert(SIZE[k] == n);
    if (HD_LIKELY(n == HD_LARGE_PAGES && at + n <= f->frames) &&
        frames_clear(f, at, HD_LARGE_PAGES))
        return at;
    while (at + n <= f->frames) {
        if (n == 1 && ~f->used[at / 64] == 0) {
            at = (at / 64 + 1) * 64;
            continue;
        }
        if (frames_clear(f, at, n)) {
            f->count[1 + k] = at;
            return at;
        }
        at += n;
    }
    f->count[1 + k] = at;
    return HD_NO_FRAME;
}

int hd_frames_divide(struct hd_frames *f, uint32_t nodes)
{
    f->nodes = nodes;
    f->each = f->frames / nodes;
    f->mark = hd_arena_take(f->arena, nodes, sizeof *f->mark);
    if (f->mark == NULL)
        return -1;
    for (uint32_t i = 0; i < nodes; i++)
        for (uint32_t k = 0; k < 3; k++)
            f->mark[i][k] = i * f->each;
    return 0;
}

uint64_t hd_frames_next_of(struct hd_frames *f, uint32_t node, uint32_t n)
{
    uint64_t *mark = &f->mark[node][size_index(n)], end = (node + 1) * f->each;

    while (*mark + n <= end && !frames_clear(f, *mark, n))
        *mark += n;
    return *mark + n <= end ? *mark : HD_NO_FRAME;
}

uint64_t hd_frames_huge(const struct hd_frames *f)
{
    for (uint64_t at = 0; at + HUGE_FRAMES <= f->frames; at += HUGE_FRAMES)
        if (frames_clear(f, at, HUGE_FRAMES))
            return at;
    return HD_NO_FRAME;
}

bool hd_frames_free(const struct hd_frames *f, uint64_t first, uint32_t n)
{
    if (first > f->frames || n > f->frames - first)
        return false;
    if (HD_LIKELY(first % SIZE[size_index(n)] == 0))
        return frames_clear(f, first, n);
    for (uint64_t i = first; i < first + n; i++)
        if (f->used[i / 64] >> (i % 64) & 1)
            return false;
    return true;
}

/* The place of a frame's owner; NULL when its piece is not there. */
static uint32_t *frames_place(const struct hd_frames *f, uint64_t frame)
{
    hd_ref r = f->owners[frame / PIECE];

    return r == HD_NONE ? NULL
                        : (uint32_t *)hd_arena_at(f->arena, r) + frame % PIECE;
}

/* The bits of the 512 frames from `first` on are set or cleared, and none was
 * written. */
static HD_INLINE void frames_fill(struct hd_frames *f, uint64_t first,
                                  uint64_t bits)
{
    uint64_t *w = f->used + first / 64;

    memset(w, (int)(bits & 0xff), HD_LARGE_PAGES / 8);
    if (f->dirty != NULL && bits != 0)
        memset(f->dirty + first / 64, 0, HD_LARGE_PAGES / 8);
}

int hd_frames_take(struct hd_frames *f, uint64_t first, uint32_t n,
                   uint32_t owner)
{
    hd_assert(hd_frames_free(f, first, n) && owner != 0);
    if (n == HD_LARGE_PAGES) {
        frames_fill(f, first, ~0ull);
        f->whole[first / HD_LARGE_PAGES] = owner;
        if (f->count[3] == first)
            f->count[3] += n;
        f->count[0] += n;
        return 0;
    }
    for (uint64_t i = first; i < first + n; i++) {
        uint32_t *o = frames_place(f, i);
        if (o == NULL) {
            void *p = hd_arena_take(f->arena, PIECE, sizeof *o);
            if (p == NULL)
                return -1;
            f->owners[i / PIECE] = hd_arena_ref(f->arena, p);
            o = frames_place(f, i);
        }
        *o = owner + (uint32_t)(i - first);
        f->used[i / 64] |= 1ull << (i % 64);
        if (f->dirty != NULL)
            f->dirty[i / 64] &= ~(1ull << (i % 64));
    }
    f->count[0] += n;
    return 0;
}

void hd_frames_give(struct hd_frames *f, uint64_t first, uint32_t n)
{
    uint32_t *whole = &f->whole[first / HD_LARGE_PAGES];

    hd_assert(n == HD_LARGE_PAGES ? *whole != 0 : *whole == 0);
    if (n == HD_LARGE_PAGES) {
        frames_fill(f, first, 0);
        *whole = 0;
    } else {
        for (uint64_t i = first; i < first + n; i++) {
            hd_assert(hd_frames_owner(f, i) != 0);
            *frames_place(f, i) = 0;
            f->used[i / 64] &= ~(1ull << (i % 64));
        }
    }
    f->count[0] -= n;
    for (uint32_t k = 0; k < 3; k++)
        f->count[1 + k] =
            hd_min_u64(f->count[1 + k], first / SIZE[k] * SIZE[k]);
    for (uint32_t k = 0; f->nodes != 0 && k < 3; k++) {
        uint64_t *mark = &f->mark[first / f->each][k];
        *mark = hd_min_u64(*mark, first / SIZE[k] * SIZE[k]);
    }
}

uint32_t hd_frames_owner(const struct hd_frames *f, uint64_t frame)
{
    const uint32_t *o;
    uint32_t whole;

    if (frame >= f->frames)
        return 0;
    whole = f->whole[frame / HD_LARGE_PAGES];
    if (whole != 0)
        return whole + (uint32_t)(frame % HD_LARGE_PAGES);
    o = frames_place(f, frame);
    return o == NULL ? 0 : *o;
}

bool hd_frames_fresh(const struct hd_frames *f, uint64_t big)
{
    return f->whole[big] == 0 &&
           f->owners[big * HD_LARGE_PAGES / PIECE] == HD_NONE;
}

/* ---- frames of 2 MB ------------------------------------------------------ */

int hd_bigframes_open(struct hd_bigframes *b, struct hd_arena *arena,
                      uint64_t frames)
{
    b->n = hd_ceil_div(frames, HD_LARGE_PAGES);
    b->v = hd_arena_take(arena, b->n, sizeof *b->v);
    b->held = hd_arena_take(arena, HD_MAX_APPS + 1, sizeof *b->held);
    b->peak = hd_arena_take(arena, HD_MAX_APPS + 1, sizeof *b->peak);
    return b->v == NULL || b->held == NULL || b->peak == NULL ? -1 : 0;
}

uint32_t hd_bigframes_owner(const struct hd_bigframes *b, uint64_t big)
{
    const struct hd_bigframe *f = &b->v[big];

    if (f->owners != 1)
        return f->owners == 0 ? HD_OWNER_NONE : HD_OWNER_SEVERAL;
    for (uint32_t o = 0; o < HD_OWNER_FOREIGN; o++)
        if (f->of[o] != 0)
            return o;
    return HD_OWNER_FOREIGN;
}

/* Takes what the owners of a frame hold of it out of the sums, or puts it in;
 * a frame that is shared counts by pages. */
static void weigh(struct hd_bigframes *b, const struct hd_bigframe *f, bool in)
{
    for (uint32_t o = 0, left = f->owners; left > 0; o++) {
        uint64_t n = f->owners == 1 ? HD_LARGE_PAGES : f->of[o];
        if (f->of[o] == 0)
            continue;
        b->held[o] = in ? b->held[o] + n : b->held[o] - n;
        b->peak[o] = hd_max_u64(b->peak[o], b->held[o]);
        left--;
    }
}

void hd_bigframes_add(struct hd_bigframes *b, uint64_t frame, uint32_t owner,
                      uint32_t pages)
{
    struct hd_bigframe *f = hd_bigframe_of(b, frame);

    hd_assert(owner <= HD_OWNER_FOREIGN && f->used + pages <= HD_LARGE_PAGES);
    if (HD_UNLIKELY(f->owners != 1 || f->of[owner] == 0)) {
        weigh(b, f, false);
        f->owners += f->of[owner] == 0;
        f->of[owner] = (uint16_t)(f->of[owner] + pages);
        weigh(b, f, true);
    } else {
        f->of[owner] = (uint16_t)(f->of[owner] + pages);
    }
    f->used = (uint16_t)(f->used + pages);
}

void hd_bigframes_drop(struct hd_bigframes *b, uint64_t frame, uint32_t owner,
                       uint32_t pages)
{
    struct hd_bigframe *f = hd_bigframe_of(b, frame);

    hd_assert(owner <= HD_OWNER_FOREIGN && f->of[owner] >= pages);
    weigh(b, f, false);
    f->of[owner] = (uint16_t)(f->of[owner] - pages);
    f->owners -= f->of[owner] == 0;
    f->used = (uint16_t)(f->used - pages);
    weigh(b, f, true);
}

uint64_t hd_bigframes_peak(struct hd_bigframes *b, uint32_t owner)
{
    uint64_t peak = b->peak[owner];

    b->peak[owner] = b->held[owner];
    return peak;
}

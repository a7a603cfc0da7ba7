/*
 * bigframe.c - counts of pages by frame of 2 MB and owner.
 *
 * What an owner holds is what nobody else can use without breaking Mosaic's
 * soft guarantee (a frame of 2 MB has pages of one application only): all of
 * a frame that it has alone, of a mixed one its own pages.  Held less mapped
 * is memory bloat.  It changes with pages of others too, so peak[] is kept
 * here, at every change.
 *
 * Invariants: used is the sum of of[]; owners is the number of them above 0;
 * held[] is what a count over all frames would give (ptlook.c checks), and
 * never above peak[].
 *
 * SPDX-License-Identifier: MIT
 */
#include "bigframe.h"

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

/*
 * fragment.c - memory that was in use before: frames that pages of no
 * application have when cycle 0 comes.
 *
 * Two models of fragmentation.  Mosaic's index (section 6.4): of the frames of
 * 2 MB so many percent, chosen at random, hold pages at random places.  MESC's
 * memhog (VI.A): a process holds whole blocks of 4 MB, and of others has kept a
 * few pages, so that most of their free frames are in short runs.
 *
 * These pages are never freed; compaction may move them (hd_ptables_move).
 * Which frames they have depends on the seed and the settings alone.
 *
 * SPDX-License-Identifier: MIT
 */
#include "kit/rng.h"
#include "ptstate.h"

enum { STREAM_FRAGMENT = 0x66726167, STREAM_HOG = 0x686f67 };

/* Of the aligned blocks of `size` free frames, `blocks`, each as likely, get
 * `pages` pages of no application, at random places.  0 or -1 (out of memory).
 */
static int tear(struct hd_ptables *t, struct hd_rng *r, uint32_t size,
                uint64_t blocks, uint32_t pages)
{
    uint64_t end = t->frames.frames - size, left = 0;

    for (uint64_t b = 0; b <= end; b += size)
        left += hd_frames_free(&t->frames, b, size);
    for (uint64_t b = 0; b <= end && blocks > 0; b += size) {
        uint32_t n = pages;
        if (!hd_frames_free(&t->frames, b, size) ||
            hd_rng_below(r, (uint32_t)left--) >= blocks)
            continue;
        blocks--;
        for (uint32_t i = 0; i < size && n > 0; i++) {
            if (hd_rng_below(r, size - i) >= n)
                continue;
            n--;
            if (hd_frames_take(&t->frames, b + i, 1, HD_PT_FOREIGN) < 0)
                return -1;
            hd_bigframes_add(&t->big, b + i, HD_OWNER_FOREIGN, 1);
            t->s->foreign++;
        }
    }
    return 0;
}

int hd_ptables_fragment(struct hd_ptables *t, uint32_t index,
                        uint32_t occupancy, uint64_t seed)
{
    uint64_t n = t->frames.frames / HD_LARGE_PAGES;
    uint32_t pages = HD_LARGE_PAGES * occupancy / 100;
    struct hd_rng r = hd_rng_make(seed, STREAM_FRAGMENT);

    if (occupancy != 0 && pages == 0)
        pages = 1;
    return n == 0 ? 0 : tear(t, &r, HD_LARGE_PAGES, n * index / 100, pages);
}

int hd_ptables_hog(struct hd_ptables *t, uint32_t percent, uint32_t torn,
                   uint32_t kept, uint64_t seed)
{
    uint64_t hog = t->frames.frames * percent / 100;
    struct hd_rng r = hd_rng_make(seed, STREAM_HOG);

    if (t->frames.frames < HD_HOG_PAGES)
        return 0;
    if (tear(t, &r, HD_HOG_PAGES, torn, HD_HOG_PAGES * kept / 100) < 0)
        return -1;
    hog -= hd_min_u64(hog, t->s->foreign);
    return tear(t, &r, HD_HOG_PAGES, hog / HD_HOG_PAGES, HD_HOG_PAGES);
}

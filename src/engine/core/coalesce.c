/*
 * coalesce.c - the coalescer: unique lines of a warp's memory instruction.
 *
 * Accesses are merged over the whole warp into lines, as in GPUs since Fermi.
 * An affine access (base + lane * stride) with all lanes active never looks
 * at its lanes: a small stride touches a range of consecutive lines.  Of other
 * aligned ones no line or page comes back once a lane has left it.  Everything
 * else goes lane by lane, with a small hash of the lines already seen; the
 * first lane that touches a line gives it its place in the order.
 *
 * Left out: the split of wide accesses into quarter or half warps.
 *
 * SPDX-License-Identifier: MIT
 */
#include "coalesce.h"

#include <string.h>

#include "kit/bits.h"

enum { HASH = 256 };

/* Open hashes of what was seen: index plus 1, 0 where free. */
struct seen {
    uint8_t line_place[HASH], page_place[HASH];
    uint64_t line[HD_MAX_LINES]; /* their numbers */
};

static inline uint32_t coalesce_hash(uint64_t key)
{
    return (uint32_t)((key * 0x9e3779b97f4a7c15ull) >> 56);
}

static inline void coalesce_add_page(struct hd_lines *out, uint32_t i,
                                     uint64_t vpn)
{
    out->page[i] = (struct hd_lsu_page){vpn, HD_PAGE_UNKNOWN};
}

/* Whether an access of all lanes is a range of lines of which each holds the
 * same pattern: side by side, overlapping, or a stride that divides a line and
 * in which the access has an even place. */
static bool is_range(const struct hd_access *acc, uint32_t bytes, int64_t size)
{
    uint64_t stride = (uint64_t)acc->stride;

    if (acc->lane != NULL || stride > (uint64_t)size)
        return false;
    return stride <= bytes || (hd_is_pow2(stride) &&
                               (acc->base.v & (stride - 1)) + bytes <= stride);
}

/* Of a line, the bytes from `lo` up to `hi` that lanes touch. */
static inline uint32_t coalesce_touched(uint64_t lo, uint64_t hi,
                                        uint64_t stride, uint32_t bytes)
{
    uint64_t n = hi - lo;

    return (uint32_t)(stride > bytes ? hd_ceil_div(n, stride) * bytes : n);
}

/* All lanes active: one range of lines, mostly of one, and pages in order. */
static void range(const struct hd_access *acc, uint32_t lanes, uint32_t bytes,
                  uint32_t shift, struct hd_lines *out)
{
    uint64_t size = 1ull << shift, stride = (uint64_t)acc->stride;
    uint64_t from = acc->base.v, to = from + (lanes - 1) * stride + bytes;
    uint64_t line = from >> shift, last = (to - 1) >> shift, page;
    uint32_t n = 0, pages = 1, page_shift = HD_PAGE_SHIFT - shift;

    page = line >> page_shift;
    coalesce_add_page(out, 0, page);
    for (; HD_UNLIKELY(line < last); line++) {
        uint64_t next = (line + 1) << shift;
        uint64_t some =
            hd_min_u64(coalesce_touched(from, next, stride, bytes), size);
        hd_lines_add(out, n++, pages - 1, line, (uint32_t)some, page_shift);
        from = next;
        if ((line + 1) >> page_shift != page)
            coalesce_add_page(out, pages++, ++page);
    }
    hd_lines_add(
        out, n++, pages - 1, line,
        (uint32_t)hd_min_u64(coalesce_touched(from, to, stride, bytes), size),
        page_shift);
    out->n = (uint16_t)n;
    out->pages = (uint16_t)pages;
}

/* Addresses that rise or fall from lane to lane, no access across the end of a
 * line: what is not the line of the lane before is a new one. */
static void steady(const struct hd_access *acc, uint64_t mask, uint32_t bytes,
                   uint32_t shift, struct hd_lines *out)
{
    uint32_t page_shift = HD_PAGE_SHIFT - shift, n = 0, pages = 0;
    uint64_t last = UINT64_MAX, page = UINT64_MAX, size = UINT64_C(1) << shift;
    struct hd_lsu_line *x;

    if (acc->stride == 0) { /* all lanes in one place */
        bytes = (uint32_t)hd_min_u64(bytes * hd_bit_count(mask), size);
        mask = 1;
    }
    for (; mask != 0; mask &= mask - 1) {
        uint64_t lane = hd_bit_first(mask);
        uint64_t line = (acc->base.v + (uint64_t)acc->stride * lane) >> shift;

        if (line == last) {
            x = hd_lines_at(out, n - 1);
            x->bytes = (uint16_t)hd_min_u64(x->bytes + bytes, size);
            continue;
        }
        last = line;
        if (line >> page_shift != page) {
            page = line >> page_shift;
            coalesce_add_page(out, pages++, page);
        }
        hd_lines_add(out, n++, pages - 1, line, bytes, page_shift);
    }
    out->n = (uint16_t)n;
    out->pages = (uint16_t)pages;
}

/* The index of a page, entered at the end if it is new. */
static HD_INLINE uint32_t coalesce_page_of(struct seen *seen,
                                           struct hd_lines *out, uint64_t vpn)
{
    uint8_t *place = seen->page_place;
    uint32_t h = coalesce_hash(vpn), i;

    for (; (i = place[h]) != 0; h = (h + 1) % HASH)
        if (HD_LIKELY(out->page[i - 1].vpn == vpn))
            return i - 1;
    i = out->pages;
    coalesce_add_page(out, i, vpn);
    place[h] = (uint8_t)(out->pages = (uint16_t)(i + 1));
    return i;
}

/* A lane touches `bytes` of a line; the sum is capped later. */
static HD_INLINE void coalesce_touch(struct hd_lines *out, struct seen *seen,
                                     uint64_t line, uint32_t bytes,
                                     uint32_t shift)
{
    uint8_t *place = seen->line_place;
    uint32_t h = coalesce_hash(line), page_shift = HD_PAGE_SHIFT - shift, i;
    struct hd_lsu_line *x;

    for (; (i = place[h]) != 0; h = (h + 1) % HASH)
        if (HD_LIKELY(seen->line[i - 1] == line)) {
            x = hd_lines_at(out, i - 1);
            x->bytes = (uint16_t)(x->bytes + bytes);
            return;
        }
    i = out->n;
    hd_lines_add(out, i, coalesce_page_of(seen, out, line >> page_shift), line,
                 bytes, page_shift);
    seen->line[i] = line;
    place[h] = (uint8_t)(out->n = (uint16_t)(i + 1));
}

/* A lane touches `bytes` from `a` on, the last of them in the next line. */
static HD_APART void straddle(struct hd_lines *out, struct seen *seen,
                              uint64_t a, uint32_t bytes, uint32_t shift)
{
    uint64_t next = (a >> shift) + 1;
    uint32_t low = (uint32_t)((next << shift) - a);

    coalesce_touch(out, seen, next - 1, low, shift);
    coalesce_touch(out, seen, next, bytes - low, shift);
}

static HD_HOT void each_lane(const struct hd_access *acc, uint64_t mask,
                             uint32_t bytes, uint32_t shift,
                             struct hd_lines *out)
{
    uint32_t size = 1u << shift, all = hd_bit_count(mask) * bytes;
    struct seen seen;

    /* piece by piece: a string instruction, which gcc takes for the whole, is
     * slower */
    for (uint32_t i = 0; i < HASH; i += 64) {
        memset(seen.line_place + i, 0, 64);
        memset(seen.page_place + i, 0, 64);
    }
    out->n = out->pages = 0;
    for (; mask != 0; mask &= mask - 1) {
        unsigned lane = hd_bit_first(mask);
        uint64_t a = acc->lane != NULL
                         ? acc->lane[lane].v
                         : acc->base.v + (uint64_t)acc->stride * lane;

        if (HD_LIKELY((a & (size - 1)) + bytes <= size))
            coalesce_touch(out, &seen, a >> shift, bytes, shift);
        else
            straddle(out, &seen, a, bytes, shift);
    }
    if (all <= size)
        return;
    for (uint32_t i = 0; i < out->n; i++) { /* some touch the same, maybe */
        struct hd_lsu_line *x = hd_lines_at(out, i);

        x->bytes = (uint16_t)(x->bytes < size ? x->bytes : size);
    }
}

/* Whether each lane's access has an even place. */
static inline bool is_even(const struct hd_access *acc, uint32_t bytes)
{
    return acc->lane == NULL && hd_is_pow2(bytes) &&
           ((acc->base.v | (uint64_t)acc->stride) & (bytes - 1)) == 0;
}

HD_HOT void hd_coalesce(const struct hd_access *acc, uint64_t mask,
                        uint32_t lanes, uint32_t bytes, uint32_t shift,
                        struct hd_lines *out)
{
    bool all = mask == hd_ones(lanes);

    if (all && hd_coalesce_one(acc, lanes, bytes, shift, out))
        return;
    if (mask == 0)
        out->n = out->pages = 0;
    else if (all && is_range(acc, bytes, INT64_C(1) << shift))
        range(acc, lanes, bytes, shift, out);
    else if (is_even(acc, bytes) && bytes <= 1u << shift)
        steady(acc, mask, bytes, shift, out);
    else
        each_lane(acc, mask, bytes, shift, out);
}

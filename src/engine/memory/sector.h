/*
 * sector.h - what is present of a line of a sectored cache.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_SECTOR_H
#define HD_SECTOR_H

#include "kit/bits.h"
#include "cache.h"

/* A line has at most so many bytes, and a sector at least. */
enum { HD_SECTORED_LINE = 128, HD_SECTOR_LEAST = 32 };

/* What is written into a line, or comes for it: whole sectors, sectors of which
 * only `bytes` are there (part), and which of both are dirty. */
struct hd_sectors {
    uint8_t valid, part, dirty;
    const struct hd_bytemask *bytes; /* of part; may be NULL where it is 0 */
};

/* How many sectors a mask has. */
static inline uint32_t hd_sectors_count(uint32_t mask)
{
    hd_assert(mask < 16);
    return (uint32_t)(0x4332322132212110u >> mask * 4) & 15;
}

/* What a request asks or carries (hd_req.sectors). */
static inline uint32_t hd_sectors_asked(const struct hd_req *q)
{
    return q->sectors & 0xff;
}

/* Of a write, the sectors of which it has all bytes; of a read in an L2's MSHR,
 * those that it waits for. */
static inline uint32_t hd_sectors_second(const struct hd_req *q)
{
    return q->sectors >> 8 & 0xff;
}

static inline void hd_sectors_ask(struct hd_req *q, uint32_t asked,
                                  uint32_t second)
{
    q->sectors = second << 8 | asked;
}

/* The sectors of a line, of 1 << shift bytes, that the bytes from `lo` to `hi`
 * are in. */
static inline uint32_t hd_sectors_between(uint32_t lo, uint32_t hi,
                                          uint32_t shift)
{
    return (2u << (hi >> shift)) - (1u << (lo >> shift));
}

/* Which sectors some bytes are in, and which of these they fill (*whole). */
static inline uint32_t hd_sectors_of(const struct hd_bytemask *b,
                                     uint32_t shift, uint32_t *whole)
{
    uint32_t touched = 0, lacking = 0;

    for (uint32_t i = 0; i < HD_SECTORED_LINE / HD_SECTOR_LEAST; i++) {
        uint32_t bits = (uint32_t)(b->v[i / 2] >> (i % 2 * 32));
        uint32_t sector = 1u << (i * HD_SECTOR_LEAST >> shift);
        touched |= bits != 0 ? sector : 0;
        lacking |= bits != UINT32_MAX ? sector : 0;
    }
    *whole = touched & ~lacking;
    return touched;
}

/* Sets the bits of the bytes from `lo` to `hi`. */
static inline void hd_bytemask_add(struct hd_bytemask *b, uint32_t lo,
                                   uint32_t hi)
{
    if (lo < 64)
        b->v[0] |= hd_ones(hd_min_u64(hi, 63) - lo + 1) << lo;
    if (hi >= 64) {
        lo = lo < 64 ? 0 : lo - 64;
        b->v[1] |= hd_ones(hi - 64 - lo + 1) << lo;
    }
}

/* What a write leaves: sectors `asked`, of which it fills `whole`. */
static inline struct hd_sectors
hd_sectors_written(uint32_t asked, uint32_t whole,
                   const struct hd_bytemask *bytes, bool dirty)
{
    return (struct hd_sectors){(uint8_t)whole, (uint8_t)(asked & ~whole),
                               (uint8_t)(dirty ? asked : 0), bytes};
}

/* Gives a cache of lines with sectors its masks: 0, or -1 (out of memory). */
int hd_sectors_open(struct hd_cache *c);

/* Stores write a part of sectors that are not valid. */
void hd_sectors_add_part(struct hd_cache *c, uint32_t entry, uint32_t sectors,
                         const struct hd_bytemask *bytes);

/* They come to a line that is present. */
static inline void hd_sectors_add(struct hd_cache *c, uint32_t entry,
                                  const struct hd_sectors *w)
{
    struct hd_sector_line *x = &c->sector[entry];
    uint32_t part;

    x->valid |= w->valid;
    x->part &= (uint8_t)~x->valid;
    x->dirty |= w->dirty;
    part = w->part & ~(uint32_t)x->valid;
    if (HD_UNLIKELY(part != 0))
        hd_sectors_add_part(c, entry, part, w->bytes);
    if (w->dirty != 0)
        c->line[entry].dirty = 1;
}

/* A line was just entered with them: what its entry held before.  Where a
 * policy declined it, they are what is to be written back. */
static inline struct hd_sector_line
hd_sectors_entered(struct hd_cache *c, uint32_t set, uint64_t line,
                   const struct hd_sectors *w)
{
    uint32_t e = hd_assoc_entered(&c->tags, set, line);
    struct hd_sector_line old;

    if (HD_UNLIKELY(e == HD_NONE))
        return (struct hd_sector_line){w->valid, w->dirty, w->part, 0};
    old = c->sector[e];
    c->sector[e] = (struct hd_sector_line){0};
    hd_sectors_add(c, e, w);
    return old;
}

/* What is wrong with the masks of a cache, or NULL. */
const char *hd_sectors_check(const struct hd_cache *c);

/* What settings of sectors can get wrong: 0, or an error. */
int hd_sectors_cfg_check(const struct hd_cache_cfg *cfg, const char *name,
                         struct heddle_error *err);

#endif

/*
 * atomics.c - the requests of an atomic, where lanes on one word are served one
 * after the other (core.atomics=word).
 *
 * The atomic units of an L2 slice work on a sector of 32 bytes at a time, and
 * on each of its words once: lanes on different words of one sector go
 * together, lanes on one word do not.  So an instruction is, for each sector
 * that it touches, as many requests as its most wanted word has lanes.  That is
 * how Accel-Sim splits RED and ATOM (GPGPU-Sim's
 * memory_coalescing_arch_atomic), whose counts of L2 accesses this meets.  The
 * plain coalescer makes one request of a line.
 *
 * A request takes the L1's port, the crossbar and the L2's port, carries the
 * words that it works on, and translates nothing of its own: those of a page
 * share its look-up.  Where lines have sectors (l1sector.c) it asks for its own
 * whole, as all that do there.  Invariant: the lanes' words are carried exactly once, so
 * the requests are never more than the lanes, but for accesses that are not
 * aligned to their size, of which only the first word counts.
 *
 * Left out: the reduction within a warp that compilers put before an atomic on
 * one address (it is in traces), and the time of the atomic unit itself.
 *
 * SPDX-License-Identifier: MIT
 */
#include "core.h"

enum { SECTOR_SHIFT = 5, SECTOR_WORDS = 32 };

/* A sector that an atomic touches. */
struct sector {
    uint64_t number;
    uint8_t lanes[SECTOR_WORDS]; /* on each word of it */
    uint8_t most;
};

static struct sector *atomics_sector(struct sector *v, uint32_t *n,
                                     uint64_t number)
{
    for (uint32_t i = *n; i-- > 0;)
        if (v[i].number == number)
            return &v[i];
    v[*n] = (struct sector){.number = number};
    return &v[(*n)++];
}

/* The index of a page, entered at the end if it is new. */
static uint32_t atomics_page(struct hd_lines *out, uint64_t vpn)
{
    for (uint32_t i = out->pages; i-- > 0;)
        if (out->page[i].vpn == vpn)
            return i;
    out->page[out->pages] = (struct hd_lsu_page){vpn, HD_PAGE_UNKNOWN};
    return out->pages++;
}

void hd_atomics_split(const struct hd_access *acc, uint64_t mask,
                      uint32_t bytes, uint32_t shift, uint32_t sector_bytes,
                      struct hd_lines *out)
{
    struct sector v[HD_MAX_LANES];
    uint32_t n = 0, page_shift = HD_PAGE_SHIFT - shift;
    uint64_t in_line = hd_ones(shift);

    for (uint64_t m = mask; m != 0; m &= m - 1) {
        uint64_t a = hd_access_lane(acc, hd_bit_first(m));
        struct sector *x = atomics_sector(v, &n, a >> SECTOR_SHIFT);
        uint32_t word = (uint32_t)(a % (1u << SECTOR_SHIFT)) / bytes;

        if (++x->lanes[word] > x->most)
            x->most = x->lanes[word];
    }
    out->n = out->pages = 0;
    for (const struct sector *x = v; x < v + n; x++) {
        uint64_t line = x->number >> (shift - SECTOR_SHIFT);
        uint32_t page = atomics_page(out, line >> page_shift);

        for (uint32_t r = 0; r < x->most; r++) {
            uint32_t words = 0, what;

            for (uint32_t w = 0; w < SECTOR_WORDS; w++)
                words += x->lanes[w] > r;
            what = sector_bytes == 0
                       ? words * bytes
                       : 1u << (x->number << SECTOR_SHIFT & in_line) /
                                   sector_bytes;
            hd_lines_add(out, out->n, page, line, what, page_shift);
            out->n++;
        }
    }
}

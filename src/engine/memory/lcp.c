/*
 * lcp.c - sizes of compressed lines and pages.
 *
 * Base-delta-immediate compression (Pekhimenko et al., PACT 2012): a line is
 * an array of values of 8, 4 or 2 bytes, each of which is stored as a short
 * signed difference, either from zero or from one base, the first value that
 * is not near zero.  Zeros take one byte, a repeated value of 8 bytes eight;
 * the smallest of all ways counts.  The masks that say which base a value has
 * are in the metadata.
 *
 * Linearly compressed pages (Pekhimenko et al., MICRO 2013): all lines of a
 * page have slots of one size, so a line's address is a product.
 *
 *     [ a slot for each line ][ metadata ][ exceptions, each a whole line ]
 *
 * A line that does not fit its slot is an exception.  The size of the slots is
 * that of BDI's sizes that makes the page smallest, which then takes the next
 * of 512 B, 1 KB and 2 KB; a larger one is not compressed.  The metadata say of
 * each line whether it is an exception, and which, and of each place for an
 * exception whether it is taken: 64 bytes, for lines of 32 bytes 192.
 *
 * The authors' released code differs from the paper: it charges for both bases,
 * takes differences by their magnitude, of values without a sign, and knows a
 * repeated value of 4 bytes (HD_BDI_RELEASED).
 *
 * SPDX-License-Identifier: MIT
 */
#include "lcp.h"

#include <string.h>

#include "kit/bits.h"

/* Bytes of a value, of a difference. */
static const uint8_t WAYS[6][2] = {{8, 1}, {4, 1}, {8, 2},
                                   {2, 1}, {4, 2}, {8, 4}};

bool hd_lcp_line(uint32_t bytes)
{
    return bytes == 32 || bytes == 64 || bytes == 128;
}

/* Bytes of a line of differences, and their base, or bases. */
static uint32_t way_size(uint32_t way, uint32_t line, enum hd_bdi form)
{
    return WAYS[way][0] * (1 + form) + line / WAYS[way][0] * WAYS[way][1];
}

/* ---- lines --------------------------------------------------------------- */

static uint64_t lcp_value(const unsigned char *at, uint32_t bytes)
{
    uint64_t v8;
    uint32_t v4;
    uint16_t v2;

    if (bytes == 8) {
        memcpy(&v8, at, 8);
        return v8;
    }
    if (bytes == 4) {
        memcpy(&v4, at, 4);
        return v4;
    }
    memcpy(&v2, at, 2);
    return v2;
}

/* Whether a difference of two values of so many bytes has room in fewer. */
static bool is_near(uint64_t difference, uint32_t bytes, uint32_t room,
                    enum hd_bdi form)
{
    uint64_t half = 1ull << (8 * room - 1);

    if (form == HD_BDI_RELEASED)
        return hd_min_u64(difference, -difference) < 2 * half;
    return ((difference + half) & hd_ones(8 * bytes)) < 2 * half;
}

static bool has_way(const unsigned char *line, uint32_t bytes, uint32_t way,
                    enum hd_bdi form)
{
    uint32_t of = WAYS[way][0], room = WAYS[way][1];
    uint64_t base = 0;

    for (uint32_t i = 0; i < bytes; i += of) {
        uint64_t v = lcp_value(line + i, of);
        if (is_near(v, of, room, form))
            continue;
        if (base == 0)
            base = v; /* not near zero, so not zero */
        if (!is_near(v - base, of, room, form))
            return false;
    }
    return true;
}

uint32_t hd_bdi_size(const unsigned char *line, uint32_t bytes,
                     enum hd_bdi form)
{
    uint32_t best = bytes;

    if (memcmp(line, line + 8, bytes - 8) == 0)
        return lcp_value(line, 8) == 0                                     ? 1
               : form == HD_BDI_RELEASED && memcmp(line, line + 4, 4) == 0 ? 4
                                                                           : 8;
    for (uint32_t w = 0; w < HD_LEN(WAYS); w++)
        if (way_size(w, bytes, form) < best && has_way(line, bytes, w, form))
            best = way_size(w, bytes, form);
    return best;
}

/* ---- pages --------------------------------------------------------------- */

/* The i-th size of a slot, of so many; the paper has no 4, so 8 twice. */
enum { CANDIDATES = HD_LEN(WAYS) + 3 };

static uint32_t candidate(uint32_t i, uint32_t line, enum hd_bdi form)
{
    const uint32_t few[] = {1, 8, form == HD_BDI_RELEASED ? 4 : 8};

    return i < HD_LEN(few) ? few[i] : way_size(i - HD_LEN(few), line, form);
}

static uint32_t metadata_bytes(uint32_t line)
{
    uint32_t lines = HD_PAGE_BYTES / line;
    uint32_t bits = lines * (1 + hd_log2(lines)) + HD_PAGE_BYTES / 2 / line;

    return (uint32_t)hd_ceil_div(bits, 512) * 64;
}

static uint32_t page_bytes(uint32_t slot, uint32_t exceptions, uint32_t line)
{
    return HD_PAGE_BYTES / line * slot + metadata_bytes(line) +
           exceptions * line;
}

struct hd_lcp hd_lcp_page(const uint8_t *size, uint32_t line, enum hd_bdi form)
{
    uint32_t best = HD_PAGE_BYTES, of = 0;
    struct hd_lcp p = {0, HD_PAGE_GRANULES};

    for (uint32_t i = 0; i < CANDIDATES; i++) {
        uint32_t slot = candidate(i, line, form), n = 0;
        for (uint32_t k = 0; k < HD_PAGE_BYTES / line; k++)
            n += size[k] > slot;
        n = page_bytes(slot, n, line);
        if (n < best || (n == best && slot < of)) {
            best = n;
            of = slot;
        }
    }
    for (uint8_t g = 1; g < HD_PAGE_GRANULES; g = (uint8_t)(g * 2))
        if (best <= g * HD_GRANULE_BYTES)
            return (struct hd_lcp){(uint8_t)of, g};
    return p;
}

struct hd_lcp hd_lcp_of(uint32_t granules, uint32_t line, enum hd_bdi form)
{
    struct hd_lcp p = {0, (uint8_t)granules};

    for (uint32_t i = 0; i < CANDIDATES; i++) {
        uint32_t slot = candidate(i, line, form);
        if (granules < HD_PAGE_GRANULES && slot > p.slot &&
            page_bytes(slot, 0, line) <= granules * HD_GRANULE_BYTES)
            p.slot = (uint8_t)slot;
    }
    return p;
}

uint32_t hd_lcp_room(struct hd_lcp p, uint32_t line)
{
    return (p.granules * HD_GRANULE_BYTES - page_bytes(p.slot, 0, line)) / line;
}

/*
 * lcp.h - how small a page of 4 KB gets: base-delta-immediate compression of
 * its lines (BDI) in linearly compressed pages (LCP).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LCP_H
#define HD_LCP_H

#include "kit/base.h"

/* Memory for compressed pages is counted in pieces of 512 bytes. */
#define HD_GRANULE_BYTES  512u
#define HD_PAGE_GRANULES  (HD_PAGE_BYTES / HD_GRANULE_BYTES)
#define HD_LCP_MOST_LINES (HD_PAGE_BYTES / 32u)

/* Whether lines may have so many bytes: 32, 64 or 128. */
bool hd_lcp_line(uint32_t bytes);

/* BDI as in its paper, or as its authors' released code counts. */
enum hd_bdi { HD_BDI_PAPER, HD_BDI_RELEASED };

/* Bytes of a line when it is compressed; its own, when that does not help. */
uint32_t hd_bdi_size(const unsigned char *line, uint32_t bytes,
                     enum hd_bdi form);

/* How a page is stored in memory.  A plain one has slots of 0 bytes. */
struct hd_lcp {
    uint8_t slot;     /* bytes of a line's slot */
    uint8_t granules; /* of the page: 1, 2, 4; plain: 8 */
};

/* The layout of a page whose lines, of so many bytes, take size[0 ..]. */
struct hd_lcp hd_lcp_page(const uint8_t *size, uint32_t line, enum hd_bdi form);

/* The layout with the largest slots that has so many granules: 1, 2, 4 or 8. */
struct hd_lcp hd_lcp_of(uint32_t granules, uint32_t line, enum hd_bdi form);

/* Lines that do not fit their slots for which a page has room. */
uint32_t hd_lcp_room(struct hd_lcp p, uint32_t line);

#endif

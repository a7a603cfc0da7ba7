/*
 * drammap.h - from a physical address to channel, bank, row and column.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMMAP_H
#define HD_DRAMMAP_H

#include "../base/base.h"
#include "dramspec.h"

struct hd_dramaddr {
    uint64_t row;
    uint32_t channel;
    uint32_t bank; /* in the channel: group * banks of a group + bank */
    uint32_t group;
    uint32_t column; /* burst in the row */
};

enum hd_dramfield {
    HD_DRAM_ROW,
    HD_DRAM_BANK,
    HD_DRAM_GROUP,
    HD_DRAM_COLUMN,
    HD_DRAM_CHANNEL,
    HD_DRAM_FIELDS
};

/* One field of the map: v mod size, v = v / size. */
struct hd_dramdigit {
    uint32_t field; /* enum hd_dramfield */
    uint32_t size;
    uint32_t shift; /* log2(size), or 32 if that is not whole */
};

struct hd_drammap {
    /* when every size is a power of two: field = address >> from & ones */
    uint32_t whole; /* 1: so it is */
    uint32_t from[HD_DRAM_FIELDS], ones[HD_DRAM_FIELDS];
    uint32_t piece_bursts; /* bursts of a contiguous piece */
    uint32_t banks_in_group;
    uint32_t piece_shift, burst_shift; /* piece: 64 if not a power of two */
    uint32_t piece, burst;
    struct hd_dramdigit digit[HD_DRAM_FIELDS]; /* least significant first */
};

/* Reads cfg->map.  0 or HEDDLE_ECONFIG. */
int hd_drammap_init(struct hd_drammap *m, const struct hd_dram_cfg *cfg,
                    struct hd_err *err);

/* The general way, for sizes that are not powers of two. */
struct hd_dramaddr hd_drammap_divide(const struct hd_drammap *m, uint64_t pa);

static inline uint32_t hd_drammap_field(const struct hd_drammap *m, uint64_t pa,
                                        uint32_t f)
{
    return (uint32_t)(pa >> m->from[f]) & m->ones[f];
}

static inline struct hd_dramaddr hd_drammap_locate(const struct hd_drammap *m,
                                                   uint64_t pa)
{
    struct hd_dramaddr a;

    if (HD_UNLIKELY(!m->whole))
        return hd_drammap_divide(m, pa);
    a.row = pa >> m->from[HD_DRAM_ROW];
    a.channel = hd_drammap_field(m, pa, HD_DRAM_CHANNEL);
    a.group = hd_drammap_field(m, pa, HD_DRAM_GROUP);
    a.bank =
        a.group * m->banks_in_group + hd_drammap_field(m, pa, HD_DRAM_BANK);
    a.column = hd_drammap_field(m, pa, HD_DRAM_COLUMN) * m->piece_bursts +
               ((uint32_t)(pa >> m->burst_shift) & (m->piece_bursts - 1));
    return a;
}

uint32_t hd_drammap_channel(const struct hd_drammap *m, uint64_t pa);

/* The address of a burst: the inverse of hd_drammap_locate. */
uint64_t hd_drammap_address(const struct hd_drammap *m,
                            const struct hd_dramaddr *a);

#endif

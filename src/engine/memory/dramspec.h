/*
 * dramspec.h - the settings of the DRAM system (geometry, address map,
 * scheduler and timing), and from a physical address to channel, bank, row and
 * column.
 *
 * Times are in cycles of the DRAM command clock (CK).  A timing is the least
 * distance between two commands; what those are, its row in the table says.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMSPEC_H
#define HD_DRAMSPEC_H

#include "addrhash.h"

enum hd_dram_scheduler {
    HD_DRAM_HIT_FIRST,   /* a row stays open while a queued request hits it */
    HD_DRAM_CAPPED,      /* hit first, until it has served `cap` requests */
    HD_DRAM_READY_FIRST, /* the oldest request with a legal command */
};

/* dram.refresh_by, dram.buses and dram.pseudo. */
enum { HD_DRAM_REFRESH_ALL, HD_DRAM_REFRESH_BANK };
enum { HD_DRAM_BUSES_KIND, HD_DRAM_BUSES_ONE, HD_DRAM_BUSES_SPLIT };
enum { HD_DRAM_PSEUDO_KIND, HD_DRAM_PSEUDO_ALONE, HD_DRAM_PSEUDO_PAIR };

enum { HD_DRAM_MAX_BANKS = 64, HD_DRAM_MAX_CHANNELS = 512 };

struct hd_dram_cfg {
#define HD_FIELDS_OF "memory/dram.def"
#include "kit/rows.h"
};

/* Bytes of a burst and of the contiguous piece, whatever way they were set. */
uint32_t hd_dram_burst(const struct hd_dram_cfg *c);
uint32_t hd_dram_piece(const struct hd_dram_cfg *c);

/* Read to write, as set or CL + BL + 2 - WL. */
uint32_t hd_dram_trtw(const struct hd_dram_cfg *c);
/* Write to read in one bank group: twtr_l, or twtr where that is more. */
uint32_t hd_dram_twtr_l(const struct hd_dram_cfg *c);
/* Refresh to refresh of a channel: of all banks, or of one after the other. */
uint32_t hd_dram_trefi(const struct hd_dram_cfg *c);

/*
 * Gives the settings what dram.kind has, at a command clock of so many Hz;
 * those of none, or that have it, stay as they are.  0 or HEDDLE_ECONFIG.
 */
int hd_dram_kind_give(struct hd_dram_cfg *c, uint64_t hz,
                      struct heddle_error *err);

/*
 * Checks what one setting alone cannot show.  `line` is the largest request,
 * in bytes: it must be in one contiguous piece.  0 or HEDDLE_ECONFIG.
 */
int hd_dram_cfg_check(const struct hd_dram_cfg *c, uint32_t line,
                      struct heddle_error *err);

/* ---- the address map --------------------------------------------------- */

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
    struct hd_recip per;
};

struct hd_drammap {
    /* when every size is a power of two: field = address >> from & ones */
    uint32_t whole;  /* 1: so it is, and nothing is hashed */
    uint32_t shifts; /* 1: so it is */
    uint32_t from[HD_DRAM_FIELDS], ones[HD_DRAM_FIELDS];
    uint32_t piece, burst; /* bytes */
    struct hd_recip per_piece;
    uint32_t piece_bursts; /* bursts of a contiguous piece */
    uint32_t burst_shift;
    uint32_t banks_in_group;
    struct hd_dramdigit digit[HD_DRAM_FIELDS]; /* least significant first */
    struct hd_addrhash hash;  /* of the channel, with the digits above it */
    struct hd_addrhash banks; /* of the bank, with the row */
};

/* Reads cfg->map.  0 or HEDDLE_ECONFIG. */
int hd_drammap_init(struct hd_drammap *m, const struct hd_dram_cfg *cfg,
                    struct heddle_error *err);

/* Where an address, below 2^63, is; the general path, for any sizes and hashes.
 */
struct hd_dramaddr hd_drammap_divide(const struct hd_drammap *m, uint64_t pa);

/* Its channel alone. */
uint32_t hd_drammap_divide_channel(const struct hd_drammap *m, uint64_t pa);

/* The channel of an address as it is before it is hashed. */
uint32_t hd_drammap_plain_channel(const struct hd_drammap *m, uint64_t pa);

static inline uint32_t hd_drammap_field(const struct hd_drammap *m, uint64_t pa,
                                        uint32_t f)
{
    return (uint32_t)(pa >> m->from[f]) & m->ones[f];
}

/* Where an address is if every size is a power of two, before hashing. */
static inline struct hd_dramaddr hd_drammap_shift(const struct hd_drammap *m,
                                                  uint64_t pa)
{
    struct hd_dramaddr a;

    a.row = pa >> m->from[HD_DRAM_ROW];
    a.channel = hd_drammap_field(m, pa, HD_DRAM_CHANNEL);
    a.group = hd_drammap_field(m, pa, HD_DRAM_GROUP);
    a.bank =
        a.group * m->banks_in_group + hd_drammap_field(m, pa, HD_DRAM_BANK);
    a.column = hd_drammap_field(m, pa, HD_DRAM_COLUMN) * m->piece_bursts +
               ((uint32_t)(pa >> m->burst_shift) & (m->piece_bursts - 1));
    return a;
}

static inline struct hd_dramaddr hd_drammap_locate(const struct hd_drammap *m,
                                                   uint64_t pa)
{
    if (HD_UNLIKELY(!m->whole))
        return hd_drammap_divide(m, pa);
    return hd_drammap_shift(m, pa);
}

static inline uint32_t hd_drammap_channel(const struct hd_drammap *m,
                                          uint64_t pa)
{
    return m->whole ? hd_drammap_field(m, pa, HD_DRAM_CHANNEL)
                    : hd_drammap_divide_channel(m, pa);
}

#endif

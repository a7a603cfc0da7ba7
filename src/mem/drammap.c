/*
 * drammap.c - address maps: a mixed-radix number whose digits are the fields.
 *
 * An address is cut into pieces of `interleave` bytes; a piece lies in one row
 * of one bank of one channel, so a line never spans two rows.  The number of
 * the piece is taken apart from its least significant digit on, in the order
 * of the map; each digit has the size of its field and the row takes what is
 * left.  Sizes need not be powers of two (3, 5, 6, 10, 12 or 24 channels): any
 * mixed-radix number is a bijection, whatever its digits are.
 *
 * Left out on purpose: hashing of banks or channels by row bits.
 *
 * SPDX-License-Identifier: MIT
 */
#include "drammap.h"

#include <string.h>

#include "../base/bits.h"

static const char *const field_name[HD_DRAM_FIELDS] = {"row", "bank", "group",
                                                       "column", "channel"};

static int bad_map(const struct hd_dram_cfg *cfg, const char *why,
                   struct hd_err *err)
{
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "dram.map: '%s' %s; A, B, or the fields row, bank, "
                      "group, column and channel are expected, each once, "
                      "joined by colons or bars, row first",
                      cfg->map, why);
}

/* Reads "row:bank:..." (or "row|bank|...") into order[], most significant
 * first. */
static int parse(const struct hd_dram_cfg *cfg, uint32_t *order,
                 struct hd_err *err)
{
    const char *s = cfg->map;
    uint32_t n = 0, seen = 0;

    if (strcmp(s, "A") == 0)
        s = "row:bank:group:column:channel";
    else if (strcmp(s, "B") == 0)
        s = "row:bank:column:group:channel";
    for (;;) {
        size_t len = strcspn(s, ":|");
        uint32_t f = 0;

        while (f < HD_DRAM_FIELDS && (strlen(field_name[f]) != len ||
                                      strncmp(field_name[f], s, len) != 0))
            f++;
        if (f == HD_DRAM_FIELDS)
            return bad_map(cfg, "has an unknown field", err);
        if (seen & 1u << f)
            return bad_map(cfg, "has a field twice", err);
        seen |= 1u << f;
        order[n++] = f;
        if (s[len] == '\0')
            break;
        s += len + 1;
    }
    if (n != HD_DRAM_FIELDS)
        return bad_map(cfg, "lacks a field", err);
    if (order[0] != HD_DRAM_ROW)
        return bad_map(cfg, "does not begin with the row", err);
    return 0;
}

/* Fixed places for the fields, where all sizes are powers of two. */
static void make_whole(struct hd_drammap *m)
{
    uint32_t at = m->piece_shift;

    m->whole = at < 64;
    for (uint32_t i = 0; i < HD_DRAM_FIELDS; i++) {
        const struct hd_dramdigit *d = &m->digit[i];
        if (d->shift == 32)
            m->whole = 0;
        m->from[d->field] = at;
        m->ones[d->field] = d->size - 1;
        at += d->shift;
    }
}

int hd_drammap_init(struct hd_drammap *m, const struct hd_dram_cfg *cfg,
                    struct hd_err *err)
{
    uint32_t order[HD_DRAM_FIELDS], size[HD_DRAM_FIELDS];

    memset(m, 0, sizeof *m);
    if (parse(cfg, order, err) != 0)
        return err->code;
    m->burst = hd_dram_burst(cfg);
    m->piece = hd_dram_piece(cfg);
    m->burst_shift = hd_log2(m->burst);
    m->piece_shift = hd_is_pow2(m->piece) ? hd_log2(m->piece) : 64;
    m->piece_bursts = m->piece / m->burst;
    m->banks_in_group = cfg->banks / cfg->groups;
    size[HD_DRAM_ROW] = 1;
    size[HD_DRAM_BANK] = m->banks_in_group;
    size[HD_DRAM_GROUP] = cfg->groups;
    size[HD_DRAM_COLUMN] = cfg->row_bytes / m->piece;
    size[HD_DRAM_CHANNEL] = cfg->channels;
    for (uint32_t i = 0; i < HD_DRAM_FIELDS; i++) {
        struct hd_dramdigit *d = &m->digit[i];
        d->field = order[HD_DRAM_FIELDS - 1 - i];
        d->size = size[d->field];
        d->shift = hd_is_pow2(d->size) ? hd_log2(d->size) : 32;
    }
    make_whole(m);
    return 0;
}

/* The digits of a piece's number, and what is left for the row. */
static uint64_t digits(const struct hd_drammap *m, uint64_t v,
                       uint32_t f[HD_DRAM_FIELDS])
{
    for (uint32_t i = 0; i < HD_DRAM_FIELDS - 1; i++) {
        const struct hd_dramdigit *d = &m->digit[i];
        if (d->shift < 32) {
            f[d->field] = (uint32_t)v & (d->size - 1);
            v >>= d->shift;
        } else {
            uint64_t q = v / d->size;
            f[d->field] = (uint32_t)(v - q * d->size);
            v = q;
        }
    }
    return v;
}

struct hd_dramaddr hd_drammap_divide(const struct hd_drammap *m, uint64_t pa)
{
    uint64_t v = m->piece_shift < 64 ? pa >> m->piece_shift : pa / m->piece;
    uint32_t f[HD_DRAM_FIELDS] = {0};
    struct hd_dramaddr a;

    a.row = digits(m, v, f);
    a.channel = f[HD_DRAM_CHANNEL];
    a.group = f[HD_DRAM_GROUP];
    a.bank = a.group * m->banks_in_group + f[HD_DRAM_BANK];
    a.column = f[HD_DRAM_COLUMN] * m->piece_bursts +
               ((uint32_t)(pa - v * m->piece) >> m->burst_shift);
    return a;
}

uint32_t hd_drammap_channel(const struct hd_drammap *m, uint64_t pa)
{
    uint32_t f[HD_DRAM_FIELDS] = {0};

    if (HD_LIKELY(m->whole))
        return hd_drammap_field(m, pa, HD_DRAM_CHANNEL);
    digits(m, m->piece_shift < 64 ? pa >> m->piece_shift : pa / m->piece, f);
    return f[HD_DRAM_CHANNEL];
}

uint64_t hd_drammap_address(const struct hd_drammap *m,
                            const struct hd_dramaddr *a)
{
    uint32_t f[HD_DRAM_FIELDS];
    uint64_t v = a->row;

    f[HD_DRAM_BANK] = a->bank % m->banks_in_group;
    f[HD_DRAM_GROUP] = a->group;
    f[HD_DRAM_COLUMN] = a->column / m->piece_bursts;
    f[HD_DRAM_CHANNEL] = a->channel;
    for (uint32_t i = HD_DRAM_FIELDS - 1; i-- > 0;)
        v = v * m->digit[i].size + f[m->digit[i].field];
    return v * m->piece + (uint64_t)(a->column % m->piece_bursts) * m->burst;
}

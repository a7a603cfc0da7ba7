/*
 * dramspec.c - the table of DRAM settings, with where each number comes from,
 * and the address map.
 *
 * The timing is that of the GDDR5 part which the papers' simulator uses, in
 * cycles of a 1674 MHz command clock (0.597 ns): burst length 8 at quad data
 * rate holds the data bus for 2 cycles.  A write's column command may come
 * WL + 1 cycles sooner after its activate than a read's, since its data are
 * needed later.
 *
 * The address map is a mixed-radix number whose digits are the fields.  An
 * address is cut into pieces of `interleave` bytes; a piece is in one row
 * of one bank of one channel, so a line never spans two rows.  The number of
 * the piece is taken apart from its least significant digit on, in the order
 * of the map; each digit has the size of its field and the row takes what is
 * left.  Sizes need not be powers of two (3, 5, 6, 10, 12 or 24 channels): any
 * mixed-radix number is a bijection, whatever its digits are.
 *
 * With dram.channel_hash the channel is hashed with the digits above it
 * (addrhash.c), which permutes channels and so keeps the map one-to-one.
 *
 * With dram.bank_hash the bank is hashed with the row, which permutes the banks
 * of a row; so pages of different rows that met in one bank no longer do (Zhang
 * et al., MICRO 2000).  Its polynomial is the reciprocal of the channel's, so
 * that the one does not follow from the other.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dramspec.h"

#include <string.h>

#include "kit/bits.h"

uint32_t hd_dram_burst(const struct hd_dram_cfg *c)
{
    return c->bus_bytes <= 8 ? c->bus_bytes * 8 : c->bus_bytes;
}

uint32_t hd_dram_piece(const struct hd_dram_cfg *c)
{
    return c->interleave != 0 ? c->interleave : hd_dram_burst(c);
}

uint32_t hd_dram_trtw(const struct hd_dram_cfg *c)
{
    if (c->trtw != 0)
        return c->trtw;
    return c->cl + c->bl + 2 > c->wl ? c->cl + c->bl + 2 - c->wl : 1;
}

uint32_t hd_dram_twtr_l(const struct hd_dram_cfg *c)
{
    return c->twtr_l > c->twtr ? c->twtr_l : c->twtr;
}

uint32_t hd_dram_trefi(const struct hd_dram_cfg *c)
{
    return c->refresh_by == HD_DRAM_REFRESH_BANK ? c->trefi / c->banks
                                                 : c->trefi;
}

/* ---- the address map --------------------------------------------------- */

static const char *const field_name[HD_DRAM_FIELDS] = {"row", "bank", "group",
                                                       "column", "channel"};

static int bad_map(const struct hd_dram_cfg *cfg, const char *why,
                   struct heddle_error *err)
{
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "dram.map: '%s' %s; A, B, or the fields row, bank, "
                      "group, column and channel are expected, each once, "
                      "joined by colons or bars, row first",
                      cfg->map, why);
}

/* Reads "row:bank:..." (or "row|bank|...") into order[], most significant
 * first. */
static int dramspec_parse(const struct hd_dram_cfg *cfg, uint32_t *order,
                          struct heddle_error *err)
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

int hd_drammap_init(struct hd_drammap *m, const struct hd_dram_cfg *cfg,
                    struct heddle_error *err)
{
    uint32_t order[HD_DRAM_FIELDS], size[HD_DRAM_FIELDS], at;

    memset(m, 0, sizeof *m);
    if (dramspec_parse(cfg, order, err) != 0)
        return err->code;
    m->burst = hd_dram_burst(cfg);
    m->piece = hd_dram_piece(cfg);
    m->per_piece = hd_recip_of(m->piece);
    m->burst_shift = hd_log2(m->burst);
    m->piece_bursts = m->piece / m->burst;
    m->banks_in_group = cfg->banks / cfg->groups;
    size[HD_DRAM_ROW] = 1;
    size[HD_DRAM_BANK] = m->banks_in_group;
    size[HD_DRAM_GROUP] = cfg->groups;
    size[HD_DRAM_COLUMN] = cfg->row_bytes / m->piece;
    size[HD_DRAM_CHANNEL] = cfg->channels;
    m->whole = hd_is_pow2(m->piece);
    at = m->whole ? hd_log2(m->piece) : 0;
    for (uint32_t i = 0; i < HD_DRAM_FIELDS; i++) {
        uint32_t f = order[HD_DRAM_FIELDS - 1 - i];
        m->digit[i] =
            (struct hd_dramdigit){f, size[f], hd_recip_of(size[f] + !size[f])};
        m->whole &= hd_is_pow2(size[f]);
        m->from[f] = at;
        m->ones[f] = size[f] - 1;
        at += hd_log2(size[f]);
    }
    m->shifts = m->whole;
    m->whole &= cfg->channel_hash == HD_HASH_NONE;
    m->whole &= cfg->bank_hash == HD_HASH_NONE;
    if (hd_addrhash_init(&m->banks,
                         &(struct hd_addrhash_of){.kind = cfg->bank_hash,
                                                  .size = cfg->banks,
                                                  .reciprocal = true},
                         "dram.bank_hash", "dram.banks", cfg->banks, err) != 0)
        return err->code;
    return hd_addrhash_init(&m->hash,
                            &(struct hd_addrhash_of){.kind = cfg->channel_hash,
                                                     .size = cfg->channels},
                            "dram.channel_hash", "dram.channels", cfg->channels,
                            err);
}

/* The bank, and with it the group, hashed with the row. */
static void dramspec_hash_bank(const struct hd_drammap *m,
                               struct hd_dramaddr *a)
{
    a->bank = hd_addrhash(&m->banks, a->bank, a->row);
    a->group = a->bank / m->banks_in_group;
}

/* hd_drammap_divide where every size is a power of two. */
static struct hd_dramaddr dramspec_shift(const struct hd_drammap *m,
                                         uint64_t pa)
{
    struct hd_dramaddr a = hd_drammap_shift(m, pa);
    uint64_t above = pa >> m->from[HD_DRAM_CHANNEL];

    a.channel = hd_addrhash(&m->hash, a.channel,
                            above / (m->ones[HD_DRAM_CHANNEL] + 1));
    dramspec_hash_bank(m, &a);
    return a;
}

struct hd_dramaddr hd_drammap_divide(const struct hd_drammap *m, uint64_t pa)
{
    uint64_t v, above, piece = hd_recip_div(m->per_piece, pa);
    uint32_t f[HD_DRAM_FIELDS];
    struct hd_dramaddr a;

    if (m->shifts)
        return dramspec_shift(m, pa);
    v = piece;
    for (uint32_t i = 0; i < HD_DRAM_FIELDS - 1; i++, v = above) {
        const struct hd_dramdigit *d = &m->digit[i];
        above = hd_recip_div(d->per, v);
        f[d->field] = (uint32_t)(v - above * d->size);
        if (d->field == HD_DRAM_CHANNEL)
            f[d->field] = hd_addrhash(&m->hash, f[d->field], above);
    }
    a.row = v;
    a.channel = f[HD_DRAM_CHANNEL];
    a.group = f[HD_DRAM_GROUP];
    a.bank = a.group * m->banks_in_group + f[HD_DRAM_BANK];
    a.column = f[HD_DRAM_COLUMN] * m->piece_bursts +
               ((uint32_t)(pa - piece * m->piece) >> m->burst_shift);
    dramspec_hash_bank(m, &a);
    return a;
}

uint32_t hd_drammap_divide_channel(const struct hd_drammap *m, uint64_t pa)
{
    const struct hd_dramdigit *d = m->digit;
    uint64_t v, above;

    if (m->shifts)
        return dramspec_shift(m, pa).channel;
    v = hd_recip_div(m->per_piece, pa);
    for (;; d++, v = above) {
        above = hd_recip_div(d->per, v);
        if (d->field == HD_DRAM_CHANNEL)
            return hd_addrhash(&m->hash, (uint32_t)(v - above * d->size),
                               above);
    }
}

uint32_t hd_drammap_plain_channel(const struct hd_drammap *m, uint64_t pa)
{
    const struct hd_dramdigit *d = m->digit;
    uint64_t v = pa / m->piece;

    for (; d->field != HD_DRAM_CHANNEL; d++)
        v /= d->size;
    return (uint32_t)(v % d->size);
}

/* ---- checking ---------------------------------------------------------- */

/* The geometry as the address map needs it. */
static int check_shape(const struct hd_dram_cfg *c, uint32_t line,
                       struct heddle_error *err)
{
    uint32_t burst = hd_dram_burst(c), piece = hd_dram_piece(c);
    struct hd_drammap map;

    if (!hd_is_pow2(burst) || burst < 16)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.bus_bytes: %u is not a burst of 16, 32, 64, "
                          "128 or 256 bytes, nor a bus of 4 or 8",
                          c->bus_bytes);
    if (c->banks % c->groups != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.groups: %u groups do not divide %u banks",
                          c->groups, c->banks);
    if (piece % burst != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.interleave: %u is not a multiple of a burst "
                          "of %u bytes",
                          piece, burst);
    if (c->row_bytes % piece != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.row_bytes: %u is not a multiple of "
                          "dram.interleave (%u)",
                          c->row_bytes, piece);
    if (piece % line != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.interleave: %u is not a multiple of a line "
                          "of %u bytes, which would span two rows",
                          piece, line);
    return hd_drammap_init(&map, c, err);
}

/* A bank is closed and refreshed before the next is due. */
static int check_bank_refresh(const struct hd_dram_cfg *c,
                              struct heddle_error *err)
{
    uint32_t shut =
        (uint32_t)hd_max_u64(c->tras, c->wl + c->bl + c->twr) + c->trp;

    if (hd_dram_trefi(c) > hd_max_u64(c->trrefd, c->trc + shut))
        return 0;
    return hd_err_set(err, HEDDLE_ECONFIG,
                      "dram.trefi: with dram.refresh_by=bank one of %u banks "
                      "is refreshed every %u cycles, in which a row cannot be "
                      "closed (%u)",
                      c->banks, hd_dram_trefi(c), c->trc + shut);
}

int hd_dram_cfg_check(const struct hd_dram_cfg *c, uint32_t line,
                      struct heddle_error *err)
{
    if (check_shape(c, line, err) != 0)
        return err->code;
    if (c->queues != 0 && (c->queue_silver == 0 || c->queue_golden == 0))
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.%s: 0 places, and with dram.queues=apart a "
                          "request of that class waits for one for ever; at "
                          "least 1 is expected",
                          c->queue_golden == 0 ? "queue_golden"
                                               : "queue_silver");
    if (c->pseudo == HD_DRAM_PSEUDO_PAIR && c->channels % 2 != 0)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.channels: %u; pseudo-channels come in pairs, "
                          "so an even number is expected",
                          c->channels);
    if (c->refresh && c->refresh_by == HD_DRAM_REFRESH_BANK)
        return check_bank_refresh(c, err);
    if (c->refresh && c->trefi <= c->trfc + c->trc + c->trp)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.trefi: %u leaves no time between refreshes "
                          "of %u cycles",
                          c->trefi, c->trfc);
    return 0;
}

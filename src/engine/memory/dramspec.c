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
 * address is cut into pieces of `interleave` bytes; a piece lies in one row
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
#include "dramspec.h"

#include <string.h>

#include "kit/bits.h"

#define GDDR5                                                                  \
    "GDDR5 timing string of the GPGPU-Sim line that Mosaic and MASK use"
#define AT(field) (uint32_t) offsetof(struct hd_dram_cfg, field)
#define NUM(name, unit, def, min, max, meaning, source)                        \
    {                                                                          \
#name, HD_T_U32, AT(name), unit, def, min, max, NULL, meaning, source  \
    }
#define TIME(name, def, min, meaning, source)                                  \
    NUM(name, "CK", def, min, 10000, meaning, source)
#define WORD(name, def, choices, meaning, source)                              \
    {                                                                          \
#name, HD_T_CHOICE, AT(name), "", def, 0, 0, choices, meaning, source  \
    }

const struct hd_setting hd_dram_settings[] = {
    {"mode", HD_T_MODE, AT(mode), "", "full", 0, 0, NULL,
     "full; ideal: row-hit latency and unlimited bandwidth; fixed:N: the same "
     "with N cycles; off: no time at all",
     "heddle"},
    NUM(channels, "channels", "8", 1, HD_DRAM_MAX_CHANNELS,
        "channels, each with its own queue and buses", "MASK Table 1"),
    NUM(banks, "banks", "8", 1, HD_DRAM_MAX_BANKS, "banks of a channel",
        "Mosaic Table 1, MASK Table 1"),
    NUM(groups, "groups", "4", 1, HD_DRAM_MAX_BANKS,
        "bank groups of a channel; bursts to one group are tccd_l apart",
        GDDR5 " (nbkgrp=4)"),
    NUM(bus_bytes, "bytes", "32", 4, 256,
        "bytes of one burst: 32 for a 32-bit bus, 64 for a 64-bit bus (4 and 8 "
        "are taken as the width of the bus in bytes)",
        "GPGPU-Sim configuration: 32-bit bus, burst length 8"),
    NUM(row_bytes, "bytes", "4096", 32, 1 << 19, "bytes of a row of one bank",
        "GPGPU-Sim configuration"),
    NUM(interleave, "bytes", "256", 0, 1 << 20,
        "contiguous bytes in one row before the map moves on; 0: one burst",
        "GPGPU-Sim configuration"),
    {"map", HD_T_TEXT, AT(map), "", "B", 0, 0, NULL,
     "address map: A is row:bank:group:column:channel, B is "
     "row:bank:column:group:channel, or such a list, most significant first",
     "guess: a stream then rotates over the bank groups"},
    {"partition", HD_T_BOOL, AT(partition), "", "false", 0, 1, NULL,
     "each application has an equal share of the channels, with their L2 "
     "slices, and its addresses are interleaved over these alone",
     "MASK section 6: in Static only"},
    WORD(scheduler, "hit-first", "hit-first|capped|ready-first",
         "hit-first: a row is not closed while a queued request hits it; "
         "capped: unless it has served `cap` requests and an older one waits; "
         "ready-first: the oldest request whose command is legal",
         "FR-FCFS of the papers' simulator"),
    NUM(cap, "requests", "4", 1, 1 << 20,
        "capped: requests that a row serves before an older conflict wins",
        "DRAMsim3"),
    WORD(page, "open", "open|closed",
         "closed: a row is precharged after its last queued request",
         "GPGPU-Sim configuration"),
    {"refresh", HD_T_BOOL, AT(refresh), "", "false", 0, 1, NULL,
     "whether all banks are refreshed every trefi",
     "off in the papers' simulator"},
    NUM(queue, "requests", "192", 1, 4096,
        "requests that can wait in a channel, of all classes or "
        "(dram.queues=apart) of the normal one",
        "MASK section 7.4 (normal queue)"),
    NUM(queue_silver, "requests", "64", 0, 4096,
        "places of the silver queue, or of `queue` for silver requests",
        "MASK section 7.4"),
    NUM(queue_golden, "requests", "16", 0, 4096,
        "places of the golden queue, or of `queue` for golden requests",
        "MASK section 7.4"),
    WORD(queues, "shared", "shared|apart",
         "shared: classes share the places of `queue`, and one that has no "
         "place left counts as the next lower; apart: each class has a queue "
         "of its own, and waits for a place in it",
         "MASK section 7.4: apart, in MASK only"),
    NUM(turn_idle, "core cycles", "100000", 1, 1000000000,
        "a silver turn passes on when its application has sent nothing for "
        "this long",
        "MASK section 5.4: one epoch"),
    WORD(golden, "fifo", "fifo|banks",
         "one golden request at a time, or in order within each bank",
         "MASK section 5.4"),
    TIME(cl, "12", 1, "read command to first data", GDDR5 " (CL=12)"),
    TIME(wl, "4", 1, "write command to first data", GDDR5 " (WL=4)"),
    TIME(bl, "2", 1, "data bus time of a burst", "GDDR5: BL 8, quad data rate"),
    TIME(tccd_s, "2", 1, "column commands to different groups",
         GDDR5 " (CCD=2)"),
    TIME(tccd_l, "3", 1, "column commands to one group", GDDR5 " (CCDL=3)"),
    TIME(trrd, "6", 1, "activates of different banks", GDDR5 " (RRD=6)"),
    TIME(tfaw, "0", 0, "window of at most four activates; 0: none",
         "not binding in the GDDR5 set"),
    TIME(trcdrd, "12", 1, "activate to read", GDDR5 " (RCD=12)"),
    TIME(trcdwr, "7", 1, "activate to write", "RCD - (WL + 1)"),
    TIME(tras, "28", 1, "activate to precharge", GDDR5 " (RAS=28)"),
    TIME(trp, "12", 1, "precharge to activate", GDDR5 " (RP=12)"),
    TIME(trc, "40", 1, "activate to activate of one bank", GDDR5 " (RC=40)"),
    TIME(trtp, "2", 1, "read to precharge", GDDR5 " (RTPL=2)"),
    TIME(twr, "12", 0, "last write data to precharge", GDDR5 " (WR=12)"),
    TIME(twtr, "5", 0, "last write data to read", GDDR5 " (CDLR=5)"),
    TIME(trtw, "0", 0, "read to write; 0: cl + bl + 2 - wl",
         "one turn of the data bus"),
    NUM(trefi, "CK", "6529", 2, 1000000000, "refresh to refresh",
        "3.9 us at 1674 MHz"),
    TIME(trfc, "109", 1, "refresh to activate", "65 ns at 1674 MHz"),
};
const uint32_t hd_dram_setting_count = HD_LEN(hd_dram_settings);

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

/* ---- the address map --------------------------------------------------- */

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

int hd_drammap_init(struct hd_drammap *m, const struct hd_dram_cfg *cfg,
                    struct hd_err *err)
{
    uint32_t order[HD_DRAM_FIELDS], size[HD_DRAM_FIELDS], at;

    memset(m, 0, sizeof *m);
    if (parse(cfg, order, err) != 0)
        return err->code;
    m->burst = hd_dram_burst(cfg);
    m->piece = hd_dram_piece(cfg);
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
        m->digit[i] = (struct hd_dramdigit){f, size[f]};
        m->whole &= hd_is_pow2(size[f]);
        m->from[f] = at;
        m->ones[f] = size[f] - 1;
        at += hd_log2(size[f]);
    }
    return 0;
}

struct hd_dramaddr hd_drammap_divide(const struct hd_drammap *m, uint64_t pa)
{
    uint64_t v = pa / m->piece;
    uint32_t f[HD_DRAM_FIELDS];
    struct hd_dramaddr a;

    for (uint32_t i = 0; i < HD_DRAM_FIELDS - 1; i++) {
        const struct hd_dramdigit *d = &m->digit[i];
        f[d->field] = (uint32_t)(v % d->size);
        v /= d->size;
    }
    a.row = v;
    a.channel = f[HD_DRAM_CHANNEL];
    a.group = f[HD_DRAM_GROUP];
    a.bank = a.group * m->banks_in_group + f[HD_DRAM_BANK];
    a.column = f[HD_DRAM_COLUMN] * m->piece_bursts +
               ((uint32_t)(pa % m->piece) >> m->burst_shift);
    return a;
}

/* ---- checking ---------------------------------------------------------- */

/* The geometry as the address map needs it. */
static int check_shape(const struct hd_dram_cfg *c, uint32_t line,
                       struct hd_err *err)
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

int hd_dram_cfg_check(const struct hd_dram_cfg *c, uint32_t line,
                      struct hd_err *err)
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
    if (c->refresh && c->trefi <= c->trfc + c->trc + c->trp)
        return hd_err_set(err, HEDDLE_ECONFIG,
                          "dram.trefi: %u leaves no time between refreshes "
                          "of %u cycles",
                          c->trefi, c->trfc);
    return 0;
}

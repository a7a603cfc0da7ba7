/*
 * dramspec.h - the settings of the DRAM system: geometry, address map,
 * scheduler and timing.
 *
 * Times are in cycles of the DRAM command clock (CK).  A timing is the least
 * distance between two commands; what those are, its row in the table says.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAMSPEC_H
#define HD_DRAMSPEC_H

#include "../core/config.h"

enum hd_dram_scheduler {
    HD_DRAM_HIT_FIRST,   /* a row stays open while a queued request hits it */
    HD_DRAM_CAPPED,      /* the same, until it has served `cap` requests */
    HD_DRAM_READY_FIRST, /* the oldest request with a legal command */
};

enum { HD_DRAM_MAX_BANKS = 64, HD_DRAM_MAX_CHANNELS = 256 };

struct hd_dram_cfg {
    struct hd_mode mode;
    uint32_t channels;      /* any number */
    uint32_t banks;         /* of a channel */
    uint32_t groups;        /* bank groups of a channel; divides banks */
    uint32_t bus_bytes;     /* bytes of a burst; 4 and 8: of a beat, BL 8 */
    uint32_t row_bytes;     /* of one bank */
    uint32_t interleave;    /* contiguous bytes of one row; 0: one burst */
    char map[HD_TEXT_ROOM]; /* "A", "B", or fields, most significant first */
    uint32_t partition;     /* 1: each application has channels of its own */
    uint32_t scheduler;     /* enum hd_dram_scheduler */
    uint32_t cap;           /* capped: requests served before a conflict wins */
    uint32_t page;          /* 0 open, 1 closed */
    uint32_t refresh;       /* 1: on */
    uint32_t queue;         /* requests waiting in a channel, all classes */
    uint32_t queue_silver, queue_golden; /* of these, at most so many */
    uint32_t queues;                     /* 0 shared, 1 apart */
    uint32_t turn_idle;                  /* core cycles */
    uint32_t golden; /* 0 one after the other, 1 banks in parallel */
    uint32_t cl, wl, bl;
    uint32_t tccd_s, tccd_l, trrd, tfaw;
    uint32_t trcdrd, trcdwr, tras, trp, trc, trtp;
    uint32_t twr, twtr, trtw; /* trtw 0: derived */
    uint32_t trefi, trfc;
};

extern const struct hd_setting hd_dram_settings[];
extern const uint32_t hd_dram_setting_count;

/* Bytes of a burst and of the contiguous piece, whatever way they were set. */
uint32_t hd_dram_burst(const struct hd_dram_cfg *c);
uint32_t hd_dram_piece(const struct hd_dram_cfg *c);

/* Read to write, as set or CL + BL + 2 - WL. */
uint32_t hd_dram_trtw(const struct hd_dram_cfg *c);

/*
 * Checks what one setting alone cannot show.  `line` is the largest request,
 * in bytes: it must lie in one contiguous piece.  0 or HEDDLE_ECONFIG.
 */
int hd_dram_cfg_check(const struct hd_dram_cfg *c, uint32_t line,
                      struct hd_err *err);

#endif

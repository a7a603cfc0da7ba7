/*
 * mover.h - memory traffic of the memory manager: page-table updates and
 * pages that are copied.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_MOVER_H
#define HD_MOVER_H

#include "kit/env.h"
#include "memory/dram.h"
#include "memory/request.h"

enum hd_mover_how { HD_MOVE_COPY, HD_MOVE_BULK };

enum hd_mover_stat {
#define HD_COUNTERS_OF "pages/mover.def"
#include "kit/rows.h"
    HD_MOVER_STATS
};

struct hd_mover_wiring {
    struct hd_dram *dram;
    struct hd_reqs *reqs;
    uint16_t client; /* index of the mover among the DRAM's clients */
    uint32_t line;   /* bytes of a read or write */
    uint32_t window; /* reads of lines in flight at most */
    hd_time bulk;    /* a copy inside DRAM */
    void (*idle)(void *self, hd_time now); /* all that was asked for is done */
    void *self;
};

struct hd_mover;

struct hd_mover *hd_mover_open(struct hd_env *env,
                               const struct hd_mover_wiring *w);
/* Answers of the DRAM, for its client `w->client`. */
struct hd_client hd_mover_client(struct hd_mover *mv);

/*
 * Adds jobs, which are done in this order: writes of `lines` lines of page
 * tables from `pa` on; the write-back of a line of a page that will be copied;
 * a page copied from one base frame to another.  `app` is who it is counted
 * for.  0 or -1 (out of memory).
 */
int hd_mover_write(struct hd_mover *mv, uint32_t app, hd_pa pa, uint32_t lines);
int hd_mover_flush(struct hd_mover *mv, uint32_t app, hd_pa pa);
int hd_mover_copy(struct hd_mover *mv, uint32_t app, hd_pfn from, hd_pfn to,
                  enum hd_mover_how how);
/* Drops all that was not begun. */
void hd_mover_forget(struct hd_mover *mv, hd_time now);
/* Requests that were sent and copies that have begun, since the beginning. */
uint64_t hd_mover_steps(const struct hd_mover *mv);

/* Begins with them, inside an event or before the first. */
void hd_mover_start(struct hd_mover *mv, hd_time now);
bool hd_mover_busy(const struct hd_mover *mv);

#endif

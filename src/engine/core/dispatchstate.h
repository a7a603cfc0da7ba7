/*
 * dispatchstate.h - inside the dispatcher: what dispatch.c, blocks to cores and
 * one launch after the other, shares with records.c, marks.c, hostmem.c and
 * launches.c.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DISPATCHSTATE_H
#define HD_DISPATCHSTATE_H

#include "cluster.h"
#include "dispatch.h"
#include "machine.h"
#include "throttle.h"

/* Events of the dispatcher. */
enum {
    HD_DISPATCH_LAUNCH,
    HD_DISPATCH_BLOCK_END,
    HD_DISPATCH_MARK,
    HD_DISPATCH_COPY,
    HD_DISPATCH_FAULT,
    HD_DISPATCH_SERVED,
    HD_DISPATCH_THROTTLE,
    HD_DISPATCH_HINTED,
    HD_DISPATCH_BESIDE,
    HD_DISPATCH_PREPARE
};

enum { HD_KERNEL_RECORDS = 96 };

/* What is free on a core; in the arena. */
struct hd_dispatch_room {
    uint32_t blocks, warps, threads, regs, shared;
    uint32_t resident;
};

struct hd_streams; /* streams.h */
struct hd_grid;

struct hd_dispatch {
    struct hd_gpu *g;
    uint32_t component;
    uint32_t link_client;
    struct hd_slot place;
    struct hd_throttle throttle;
    struct hd_app_state *app;        /* arena */
    struct hd_dispatch_room *room;   /* arena */
    struct hd_kernel_record *record; /* arena */
    uint32_t *records;               /* arena: [1] how many */
    uint64_t *base; /* arena: [app][flat] at the start of the launch */
    uint64_t *gain; /* arena: [record][flat] */
    struct hd_cluster *cluster; /* arena: [record]; NULL: no sample.launches */
    uint32_t core_row; /* of the cores' counters in a row of them all */
    uint64_t *scratch; /* arena: [flat] */
    uint32_t flat;
    uint64_t *frozen;            /* arena: [app][flat_each] */
    struct hd_hist *frozen_hist; /* arena: [app][hists] */
    uint32_t flat_each;
    /* arena, NULL: no application has streams: [app], and their counters */
    struct hd_streams *streams;
    uint64_t *stream_base;
    uint32_t ended; /* blocks of a core; 0 unless instructions are skipped */
};

/* ---- dispatch.c --------------------------------------------------------- */

/* The launch of an application starts. */
void hd_dispatch_go(struct hd_dispatch *d, uint32_t app, hd_time now);
/* The next launch of an application begins: the one before is over, and what
 * its host does next to it. */
void hd_dispatch_next(struct hd_dispatch *d, uint32_t app, hd_time now);

/* Sends out blocks of a launch that find room; whether all are out. */
bool hd_dispatch_place(struct hd_dispatch *d, uint32_t app,
                       const struct hd_launch *l, struct hd_given *given,
                       hd_time now);
/* Sends a block to one of the cores [from, to), for the instant `at`; false: none
 * has room. */
bool hd_dispatch_block(struct hd_dispatch *d, uint32_t app,
                       const struct hd_launch *l, uint64_t block, uint32_t from,
                       uint32_t to, hd_time at, hd_time now);

/* ---- spread.c ----------------------------------------------------------- */

/* hd_dispatch_place where there are several nodes. */
bool hd_spread_place(struct hd_dispatch *d, uint32_t app,
                     const struct hd_launch *l, struct hd_given *given,
                     hd_time at, hd_time now);
/* A launch begins, or has retired. */
void hd_dispatch_note(struct hd_dispatch *d, uint32_t app,
                      const struct hd_launch *l, enum heddle_note note);

/* ---- streams.c ---------------------------------------------------------- */

/* Launches of an application that has streams are in flight. */
bool hd_streams_in_flight(const struct hd_dispatch *d, uint32_t app);

/* ---- records.c ---------------------------------------------------------- */

/* The sums of an application's counters count from here. */
void hd_records_rebase(struct hd_dispatch *d, uint32_t app);
/* x: of an application that has streams, the launch; else NULL. */
void hd_records_start(struct hd_dispatch *d, uint32_t app, struct hd_grid *x,
                      hd_time now);
void hd_records_end(struct hd_dispatch *d, uint32_t app, struct hd_grid *x,
                    hd_time now);

/* ---- marks.c ------------------------------------------------------------ */

/* The budget of an application: its own, or the one of all. */
uint64_t hd_marks_budget(const struct hd_dispatch *d, uint32_t app);
/* The count of an application begins, at its own start. */
void hd_marks_begin(struct hd_dispatch *d, uint32_t app, hd_time now);
/* Every application has finished once. */
bool hd_marks_all_finished(const struct hd_dispatch *d);
void hd_marks_freeze(struct hd_dispatch *d, uint32_t app, hd_time finish);
/* What is to be reached next; 0 is as if it were beyond all numbers. */
void hd_marks_set(struct hd_dispatch *d, uint32_t app, hd_time now);
/* The mark-th instruction has issued. */
void hd_marks_reached(struct hd_dispatch *d, uint32_t app, hd_time now);

/* Whether cores run ahead follows from their applications. */
void hd_marks_set_ahead(struct hd_dispatch *d);

/* ---- hostmem.c ---------------------------------------------------------- */

/* Memory that an application's host gave back since the last call goes, or
 * `all`. */
void hd_hostmem_give(struct hd_dispatch *d, uint32_t app, hd_time now,
                     bool all);
/* What went comes back. */
void hd_hostmem_take(struct hd_dispatch *d, uint32_t app, hd_time now);
/* The next piece of an application's allocations crosses the link; after the
 * last one the launch starts. */
void hd_hostmem_copy(struct hd_dispatch *d, uint32_t app, hd_time now);
/* What the host says and does before the launch, one after the other; then the
 * launch starts. */
void hd_hostmem_prepare(struct hd_dispatch *d, uint32_t app, hd_time now);
/* A launch has started, or what the host did next to it is over: it does what
 * comes then.  The launch has retired: whether the next one can begin. */
void hd_hostmem_beside(struct hd_dispatch *d, uint32_t app, hd_time now);
bool hd_hostmem_retired(struct hd_dispatch *d, uint32_t app, hd_time now);
/* What was asked of the manager is over: what comes next. */
void hd_hostmem_hinted(struct hd_dispatch *d, uint32_t app, hd_time now);

/* ---- launches.c --------------------------------------------------------- */

/* Gets the next launch that is to be simulated: 1, 0 (none) or < 0. */
int hd_launches_next(struct hd_dispatch *d, uint32_t app);

#endif

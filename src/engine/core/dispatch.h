/*
 * dispatch.h - applications, their launches, and blocks to cores.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DISPATCH_H
#define HD_DISPATCH_H

#include "cluster.h"
#include "core.h"
#include "memory/nodes.h"

/* What the host of an application does next to the launch in progress. */
enum hd_beside {
    HD_BESIDE_NOTHING,
    HD_BESIDE_CALL,  /* one of its calls is not over */
    HD_BESIDE_IDLES, /* it does nothing for a time */
    HD_BESIDE_WAITS  /* it waits for the launch */
};

/* Blocks of a launch that have been sent to cores. */
struct hd_given {
    uint64_t all;
    uint64_t of[HD_MAX_NODES]; /* by node, where there are several */
};

/* An application as the dispatcher sees it; in the arena. */
struct hd_app_state {
    struct hd_launch launch;
    struct hd_given given;
    uint64_t blocks_done;
    uint64_t issued; /* warp instructions since it counts (warm-up) */
    uint64_t before; /* warp instructions in the warm-up */
    uint64_t goal;   /* reaching it begins its count, or finishes it; 0: none */
    uint64_t told;   /* reaching it is reported to hd_gpu.reached; 0: none is */
    uint64_t mark;   /* the lower of the two that there are, or 0 */
    uint64_t near;   /* so many issued may be at the mark soon */
    uint64_t work;   /* budget of its own, over completions; 0: none */
    uint64_t start;  /* instructions at which its count begins; 0: with
                        the end of the warm-up */
    hd_time begin;   /* when it and its counters began, HD_NEVER before */
    hd_time finish;  /* when it first finished; HD_NEVER before */
    uint64_t finish_issued, finish_threads;
    uint64_t completions;
    uint64_t last_issue; /* time of the latest issue, for the watchdog */
    uint32_t run;        /* 0 first execution, 1 relaunch, ... */
    uint32_t active;     /* a launch is in progress */
    uint32_t counts;     /* its budget, instructions and cycles do */
    uint32_t finished, truncated;
    uint32_t closing;   /* near the mark: no core runs ahead */
    hd_time exact;      /* and then none has from here on */
    hd_time crossing;   /* when it will be at the mark, HD_NEVER: not known */
    uint32_t idle;      /* has ended and is not relaunched */
    uint32_t record;    /* of the launch in progress, HD_NONE: none */
    uint32_t all_gone;  /* its allocations went when it ended */
    uint8_t gone[1024]; /* [allocation]: hd_source_ops.gone, as it was done */
    uint32_t beside;    /* enum hd_beside */
    hd_time called;     /* when the manager was asked for the one under way, */
    uint64_t call_vpn;  /* and for what */
    uint32_t call_pages, call_what;
    uint32_t retired; /* 1: its launch has, and what its host does next to it
                         is not over */
    /* vm.paging=launch: what the copy before the first launch has come to */
    uint32_t copying; /* 0: not begun; else allocation + 1 */
    uint64_t copied;  /* bytes of that allocation */
};

/* A launch, or all those of a name: when, and what was counted. */
struct hd_kernel_record {
    char name[64];
    uint32_t app, id, run, launches;
    uint32_t stream;
    hd_time start, end; /* of the (first) launch; end 0 while it runs */
    hd_time busy;       /* total time of all its launches */
    hd_time overlap;    /* of it, with others of its application */
    uint64_t blocks;
};

/* Core c has issued instructions from t on, which leave its application near
 * its mark, or take it there. */
void hd_dispatch_near(const struct hd_core *c, hd_time t);
/* n instructions, 0 or more, of core c's application issue from t on. */
static inline void hd_dispatch_issued(const struct hd_core *c, uint64_t n,
                                      hd_time t)
{
    struct hd_app_state *a = c->state;
    uint64_t issued = a->issued + n;

    hd_cross(c->gpu->env, HD_BORDER_issued);
    a->issued = issued;
    a->last_issue = t;
    if (HD_UNLIKELY(issued >= a->near))
        hd_dispatch_near(c, t);
}
/* hd_gpu.reached is called when an application has issued so many instructions,
 * more than it has. */
void hd_dispatch_tell(struct hd_dispatch *d, uint32_t app, uint64_t issued);
/* Blocks of a core that have ended while instructions are skipped make room for
 * others, which begin at once; so does the next launch. */
void hd_dispatch_refill(struct hd_dispatch *d, uint32_t core, hd_time now);
/* A block of core `core` ends at t. */
void hd_dispatch_block_end(struct hd_dispatch *d, uint32_t core,
                           const struct hd_block *b, hd_time t);
/* The row of counters of a block's launch, where launches overlap. */
uint32_t hd_streams_row(const struct hd_core *c, uint64_t number);
/* The launch of a block. */
const struct hd_launch *hd_dispatch_launch(const struct hd_core *c,
                                           uint64_t number);

/* A request of a core waits for a page that is not resident from t on, or was
 * served. */
void hd_dispatch_fault(struct hd_dispatch *d, uint32_t core, uint32_t treq,
                       bool served, hd_time t);

/* What the host of an application has said is done; from: the sender's rank. */
void hd_dispatch_hinted(void *gpu, uint32_t from, uint32_t app, hd_time now);

struct hd_app_state *hd_dispatch_app(struct hd_dispatch *d, uint32_t app);
/* The stream of a launch that runs; 0: it has none. */
uint32_t hd_dispatch_stream(const struct hd_dispatch *d, uint32_t app,
                            uint64_t id);
/* The launch of an application that runs, or the first of those; its blocks. */
void hd_dispatch_progress(const struct hd_dispatch *d, uint32_t app,
                          uint32_t *kernel, uint64_t *done, uint64_t *blocks);
/* Starts all applications; posts the first events. */
int hd_dispatch_start(struct hd_dispatch *d);
/* Its thread instructions since it counts. */
uint64_t hd_dispatch_threads(const struct hd_dispatch *d, uint32_t app);
/* Launches that were recorded, and record i; NULL past the last. */
uint32_t hd_dispatch_records(const struct hd_dispatch *d);
const struct hd_kernel_record *hd_dispatch_record(const struct hd_dispatch *d,
                                                  uint32_t i);
/* sample.launches: what a record stands for, NULL without; and adds up all. */
const struct hd_cluster *hd_dispatch_cluster(const struct hd_dispatch *d,
                                             uint32_t record);
void hd_dispatch_skipped(const struct hd_dispatch *d, uint64_t *launches,
                         uint64_t *instructions);
/* Increase of counter `flat` (see hd_stats_flat) during record i. */
uint64_t hd_dispatch_gain(const struct hd_dispatch *d, uint32_t i,
                          uint32_t flat);
/* Counters of an application, frozen when it finished; NULL before. */
const uint64_t *hd_dispatch_frozen(const struct hd_dispatch *d, uint32_t app);
/* Wiring that follows from the state, after a snapshot was restored. */
void hd_dispatch_restored(struct hd_dispatch *d);
/* Its i-th histogram, frozen likewise. */
const struct hd_hist *hd_dispatch_frozen_hist(const struct hd_dispatch *d,
                                              uint32_t app, uint32_t hist);
/* End of warm-up: counters and budgets start, but those of own starts. */
void hd_dispatch_reset(struct hd_dispatch *d, hd_time now);

#endif

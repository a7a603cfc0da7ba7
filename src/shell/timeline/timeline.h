/*
 * timeline.h - what a timeline has of a simulation until it is written.
 *
 * timeline.c watches and keeps it in bounds, draw.c writes it.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TIMELINE_H
#define HD_TIMELINE_H

#include <stdbool.h>

#include "kit/base.h"
#include "kit/grow.h"
#include "tool.h"
#include "tool_timeline.h"

enum hd_tl_component {
    HD_TL_CORE,
    HD_TL_L1TLB,
    HD_TL_L2TLB,
    HD_TL_WALK,
    HD_TL_FAULT,
    HD_TL_LINK,
    HD_TL_EVICT,
    HD_TL_POLICY,
    HD_TL_DRAM,
    HD_TL_FABRIC,
    HD_TL_COMPONENTS
};

enum { HD_TL_READS = 8 }; /* of a walk that are kept */
enum { HD_TL_BOOKS = 3 }; /* of what was noted of pages (timeline.c) */
#define HD_TL_NEVER UINT64_MAX

/* A page walk; cycles. */
struct hd_tl_walk {
    uint64_t serial; /* 0: none */
    uint64_t began, done, read[HD_TL_READS];
    uint32_t instance, references, requesters;
    uint8_t reads, level[HD_TL_READS];
};

/* A request for a translation, from the L1 TLB to the answer; or, of core
 * HD_NONE, the walk of no request. */
struct hd_tl_request {
    uint64_t serial;
    uint64_t sent, end;
    uint64_t looked;        /* in the L2 TLB; HD_TL_NEVER: it was not seen */
    uint64_t faulted, came; /* its page was on the host; HD_TL_NEVER: no */
    uint64_t vpn, pc;
    uint32_t core;
    uint16_t warp;
    uint8_t app, rank;
    bool hit;
    struct hd_tl_walk walk;
};

enum hd_tl_kind {
    HD_TL_KERNEL,
    HD_TL_PAGE, /* a far fault */
    HD_TL_TRANSFER,
    HD_TL_EVICTION,
    HD_TL_HOST_CALL,
    HD_TL_THROTTLED,   /* a page that thrashes, until its period is over */
    HD_TL_REMOTE_PAGE, /* mapped on the host for the GPU */
    HD_TL_EPOCH,
    HD_TL_BATCH /* of the driver's */
};

struct hd_tl_event {
    uint64_t serial, begin, end;
    /* KERNEL: launch, run; PAGE, EVICTION, HOST_CALL, REMOTE_PAGE: vpn, pages;
     * THROTTLED: vpn; TRANSFER: bytes, cycles that it waited; EPOCH: policy;
     * BATCH: its place in `batch` */
    uint64_t a, b;
    uint8_t kind, app, rank;
    uint8_t flag; /* TRANSFER: to the host; EVICTION: dirty; HOST_CALL: enum
                     heddle_host_call; THROTTLED: enum heddle_processor;
                     REMOTE_PAGE: enum heddle_map_cause; KERNEL: stream */
};

/* What is sampled: a counter, drawn as how fast it grows, or how many rows of
 * an object there are. */
struct hd_tl_source {
    enum hd_tl_component of;
    const char *name, *unit;
    const char *counter;
    const char *object, *kind, *state; /* state "!x": any but x */
    bool each;                         /* a track for each instance */
    bool rare;                         /* costly: at one sample of 8 */
};

struct hd_tl_column {
    const struct hd_tl_source *source;
    uint32_t instance, instances; /* object: the first, and how many */
};

/* Records of a class: of n, those of a rank below k have been given up, which
 * leaves one of 2^k. */
struct hd_tl_class {
    uint64_t n, reported;
    size_t room;
    unsigned k;
};

enum { HD_TL_REQUESTS, HD_TL_EVENTS, HD_TL_SAMPLES, HD_TL_CLASSES };

/* Streams of an application, with the default one. */
enum { HD_TL_STREAMS = 33 };

struct hd_tl_kernel {
    uint64_t begin, launch, run;
    bool runs;
};

struct heddle_timeline {
    struct heddle_policy policy; /* that watches */
    heddle_sim *sim;             /* NULL: it is gone */
    uint64_t only, from, to, bytes, every;
    uint32_t app;
    char *title;
    uint64_t repeats; /* all before it is recorded; 0: nothing more is */
    uint64_t start;   /* the first cycle that it could see */
    struct hd_tl_class class[HD_TL_CLASSES];
    struct hd_tl_request *request;
    struct hd_tl_event *event;
    struct heddle_n_batch_served *batch; /* of events that are kept */
    size_t batches, batch_room;
    uint64_t *sample; /* rows of [0] the cycle, and a number a column */
    struct hd_tl_column *column;
    uint32_t columns;
    uint32_t shared; /* 1: cores share the walkers */
    uint64_t walks;  /* so far */
    unsigned char *book[HD_TL_BOOKS];
    bool faults; /* there has been a far fault */
    bool oom;
    struct hd_tl_kernel kernel[HEDDLE_MAX_APPS][HD_TL_STREAMS];
    uint64_t epoch[HEDDLE_MAX_BOUND]; /* end of each policy's last */
};

static inline bool hd_tl_shows(const struct heddle_timeline *t,
                               enum hd_tl_component c)
{
    return t->only >> c & 1;
}

/* Words of a sample. */
static inline size_t hd_tl_row(const struct heddle_timeline *t)
{
    return 1 + t->columns;
}

/* draw.c: appends the file. */
void hd_tl_draw(const struct heddle_timeline *t, struct hd_bytes *b);

#endif

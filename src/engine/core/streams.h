/*
 * streams.h - inside the dispatcher: applications whose launches overlap.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_STREAMS_H
#define HD_STREAMS_H

#include <string.h>

#include "dispatchstate.h"

/* A launch from its enqueuing to its end. */
struct hd_grid {
    struct hd_launch launch;
    struct hd_given given;
    uint64_t blocks_done;
    uint64_t instructions; /* of blocks that have ended */
    uint64_t after;        /* bit set of grids that retire before it starts */
    hd_time overlap;       /* that it has run with others */
    uint32_t record;       /* HD_NONE: none */
};

/* What an application has in flight; in the arena. */
struct hd_streams {
    struct hd_grid grid[HD_STREAM_LAUNCHES];
    uint64_t live, running;            /* bit sets of grids */
    uint8_t order[HD_STREAM_LAUNCHES]; /* [n] that run, as they have started */
    uint32_t n;
    uint32_t host;                   /* what it does */
    uint8_t at[HD_STREAMS + 1];      /* the grid of each stream that runs */
    uint8_t last[HD_STREAMS + 1];    /* 1 + the last live one of each stream */
    uint8_t event[HD_STREAM_EVENTS]; /* 1 + the live one that records it */
    hd_time since;                   /* when those that run have changed */
};

/* Whether the launches of an application can overlap. */
static inline bool hd_streams_has(const struct hd_dispatch *d, uint32_t app)
{
    return d->streams != NULL && d->g->source[app]->streams != 0;
}

/* 0, or -1: no memory, or an error that is recorded. */
int hd_streams_open(struct hd_dispatch *d);
/* The launch that the source was asked for is enqueued. */
void hd_streams_go(struct hd_dispatch *d, uint32_t app, hd_time now);
/* The host has no more launches: whether some are in flight.  Whether that was
 * so. */
bool hd_streams_ending(struct hd_dispatch *d, uint32_t app);
bool hd_streams_ended(const struct hd_dispatch *d, uint32_t app);
/* Sends out blocks that find room. */
void hd_streams_place(struct hd_dispatch *d, uint32_t app, hd_time now);
/* What an ended block of a core tells the dispatcher; it is told. */
uint64_t hd_streams_issued(const struct hd_core *c, const struct hd_block *b);
void hd_streams_block_end(struct hd_dispatch *d, uint32_t app, uint64_t what,
                          hd_time now);
/* The grid of a stream that runs. */
struct hd_grid *hd_streams_running(const struct hd_dispatch *d, uint32_t app,
                                   uint32_t stream);
/* The first of those in flight; NULL: there is none. */
const struct hd_grid *hd_streams_first(const struct hd_dispatch *d,
                                       uint32_t app);
/* Blocks of launches in flight that have not ended. */
uint64_t hd_streams_unended(const struct hd_dispatch *d, uint32_t app);
/* The counters of its application at the start of a grid, and its own; those of
 * all that run start again, or of one; what was counted for it since. */
uint64_t *hd_streams_base(const struct hd_dispatch *d, uint32_t app,
                          const struct hd_grid *x);
void hd_streams_rebase(struct hd_dispatch *d, uint32_t app);
void hd_streams_rebase_one(struct hd_dispatch *d, uint32_t app,
                           const struct hd_grid *x);
void hd_streams_gain(struct hd_dispatch *d, uint32_t app,
                     const struct hd_grid *x, uint64_t *gain);

#endif

/*
 * l2.h - the crossbar and the banked L2 data cache behind it.
 *
 * Cores and walkers send requests; each crosses the interconnect (a latency,
 * and the bandwidth of its slice's input port, reserved on arrival), looks up
 * its slice, and on a miss goes to the slice's DRAM channel through an MSHR.  A
 * full MSHR or miss queue blocks the head of the slice's input and is woken by
 * what it waits for.
 *
 * Answers are given through the client's reply at the instant at which the
 * data leaves the slice; the latency back (hd_l2_back) and the bandwidth of the
 * requester's own port are added by the requester on arrival.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_L2_H
#define HD_L2_H

#include "cache.h"
#include "request.h"

struct hd_xbar_cfg {
#define HD_FIELDS_OF "memory/xbar.def"
#include "kit/rows.h"
};

struct hd_l2; /* all slices */

struct hd_dram;     /* dram.h */
struct hd_compress; /* compress.h */

struct hd_l2_wiring {
    const struct hd_cache_cfg *cache;
    const struct hd_xbar_cfg *xbar;
    uint32_t walk_latency; /* L2-clock cycles of walk reads, one way; 0: the
                              crossbar's */
    struct hd_reqs *reqs;
    struct hd_dram *dram;         /* NULL: `below` is used instead (tests) */
    struct hd_compress *compress; /* NULL: pages are stored as they are */
    uint32_t burst; /* with sectors: bytes that DRAM moves at once */
    struct hd_below below;
    struct hd_client *clients; /* [req.client] */
    uint32_t cores;            /* the first clients are so many cores */
    uint32_t dram_client;      /* req.client of what the slices send to DRAM */
    /* With `below` only: channels (0: one), bytes of one before the next, and
     * the two halves of back-pressure, as in dram.h; room NULL: never full. */
    uint32_t channels, interleave;
    bool (*room)(void *self, uint32_t channel);
    void (*wait)(void *self, uint32_t channel, uint32_t who, uint32_t what,
                 uint32_t a);
};

struct hd_l2 *hd_l2_open(struct hd_env *env, const struct hd_l2_wiring *w);

/* Who takes the answers of the DRAM: its clients[dram_client].  The slices
 * take requests of their own from the pool: in each at most mshrs reads, and
 * mshrs + queue writes that wait; one for each write in a DRAM queue; and one
 * for each bypassed read of a requester. */
struct hd_client hd_l2_client(struct hd_l2 *l2);

/* Takes an application's line out of the tags at once, outside of any request.
 * It writes nothing back: the caller does.  A line in flight arrives later. */
enum hd_l2_dropped { HD_L2_NOT_THERE, HD_L2_WAS_CLEAN, HD_L2_WAS_DIRTY };
enum hd_l2_dropped hd_l2_drop(struct hd_l2 *l2, uint32_t app, hd_pa pa);
/* .. all of [pa, pa + bytes), whole lines: how many were there. */
uint64_t hd_l2_drop_lines(struct hd_l2 *l2, uint32_t app, hd_pa pa,
                          uint64_t bytes);

/* Lines from address `from` on are the host's: misses of theirs go to `host`,
 * which answers as DRAM does; kept: the slices keep them. */
void hd_l2_host(struct hd_l2 *l2, struct hd_below host, uint64_t from,
                bool kept);

/* The slice that holds a line. */
uint32_t hd_l2_slice(const struct hd_l2 *l2, hd_pa pa);

/* Where cores and walkers send their requests. */
struct hd_below hd_l2_below(struct hd_l2 *l2);

/* Ticks for an answer to travel back over the interconnect. */
hd_time hd_l2_back(const struct hd_l2 *l2);
/* Ticks for the answer to a walk read. */
hd_time hd_l2_walk_back(const struct hd_l2 *l2);

#endif

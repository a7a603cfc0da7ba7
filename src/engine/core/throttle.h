/*
 * throttle.h - cores that stop, so that what the others touch fits into memory.
 * It belongs to the dispatcher, which knows where blocks are.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_THROTTLE_H
#define HD_THROTTLE_H

#include "core.h"

struct hd_throttle_cfg {
#define HD_FIELDS_OF "core/throttle.def"
#include "kit/rows.h"
};

struct hd_throttle_state {
    uint32_t posted; /* 1: an epoch is under way */
};

struct hd_throttle {
    struct hd_gpu *g;
    struct hd_throttle_state *s; /* arena */
    hd_time *since;   /* arena: [cores] it stands since then, plus 1; or 0 */
    uint64_t *faults; /* arena: [cores] requests that waited for the host, while
                         a policy answered */
    struct hd_slot slot;
    struct hd_stat stat;
    /* The dispatcher's: its component and the event that is an epoch's end; the
     * blocks of an application's launch that have not ended, and the blocks
     * resident on a core; sends out blocks, since cores have changed. */
    uint32_t component, epoch;
    uint64_t (*unended)(void *self, uint32_t app);
    uint32_t (*resident)(void *self, uint32_t core);
    void (*place)(void *self, uint32_t app, hd_time now);
    void *self;
};

/* Takes its state and offers core_throttle; what is the dispatcher's is set.
 * 0 or an error in env->err. */
int hd_throttle_open(struct hd_throttle *h, struct hd_gpu *g);

/* Whether a core has been stopped: it gets no blocks. */
bool hd_throttle_stands(const struct hd_throttle *h, uint32_t core);

/* Has a core continue if none that runs has a block of the application. */
void hd_throttle_feed(struct hd_throttle *h, uint32_t app, hd_time now);

/* The dispatcher's event: throttle.cycles are over. */
void hd_throttle_epoch(struct hd_throttle *h, hd_time now);

/* A launch starts; and again when its first blocks have been placed. */
void hd_throttle_launch(struct hd_throttle *h, uint32_t app, bool placed,
                        hd_time now);

/* A request of a core waits for a page that is not resident, or has been
 * served; evicted: that found no frame until others were evicted. */
void hd_throttle_fault(struct hd_throttle *h, uint32_t core, hd_vpn page,
                       bool served, bool evicted, hd_time now);

#endif

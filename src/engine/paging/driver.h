/*
 * driver.h - the fault buffer, and how NVIDIA's UVM driver takes faults out of
 * it and has them replayed.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRIVER_H
#define HD_DRIVER_H

#include "kit/config.h"
#include "kit/env.h"
#include "remote.h"
#include "thrash.h"
#include "translation/translate.h"

enum hd_driver_mode { HD_DRIVER_PAPER, HD_DRIVER_DRIVER };

enum hd_driver_policy {
    HD_DRIVER_BLOCK,
    HD_DRIVER_BATCH,
    HD_DRIVER_BATCH_FLUSH,
    HD_DRIVER_ONCE
};

struct hd_driver_cfg {
    uint32_t mode;        /* enum hd_driver_mode */
    uint32_t batch_count; /* most packets of a batch */
    uint32_t policy;      /* enum hd_driver_policy */
    uint32_t put_ratio;   /* percent of duplicates above which PUT is read */
    uint32_t max_batches; /* of a service */
    uint32_t prefetch;    /* 1: fault.prefetch=driver */
    uint32_t thrashing;   /* 1: fault.thrashing=driver, if that is none */
    uint32_t threshold;   /* percent, of that */
    uint32_t min_faults;  /* of a block, before it */
    uint32_t buffer;      /* packets that it holds */
    uint32_t utlb_faults; /* most of a uTLB between two replays */
    uint32_t utlb_cores;  /* adjacent ones that share one */
    uint32_t utlb_merge;  /* 0: each access that waits for a page has a packet */
    uint32_t chunks;      /* 1: memory is taken by 2 MB */
    uint32_t host_mapped; /* 1: buffers are mapped by the host at first */
    uint64_t base, block; /* ns, of a batch and of each of its blocks */
    uint64_t interrupt;   /* ns, before a batch is read */
    uint64_t page, unmap, dma, evict; /* ns, of what is done for a block */
    uint64_t interval; /* ns, between two packets */
    struct hd_counter_cfg counters;
    struct hd_thrash_cfg thrash;
};

enum hd_driver_stat {
#define HD_COUNTERS_OF "paging/uvm.def"
#include "kit/rows.h"
    HD_DRIVER_STATS
};

/* A fault as the GPU writes it. */
struct hd_packet {
    hd_vpn vpn;
    hd_time born;
    uint16_t app, launch; /* launch: hd_fault.launch */
    uint32_t core;
};

/* Time of the driver's, in ticks. */
struct hd_driver_times {
    hd_time interrupt, base, block, page, unmap, dma, evict;
};

/* What a batch of the driver's was, and what it took. */
struct hd_driver_record {
    hd_time called;   /* the interrupt; where one batch follows another: */
    hd_time began;    /* PUT was read */
    hd_time driven;   /* the block under way came to its frames */
    hd_time managed;  /* the last block was managed */
    hd_time base, block, unmap, dma, room, page, evict; /* sums */
    uint64_t number, packets, duplicates, stale, faults, pages, bytes, blocks;
    uint64_t evictions, before; /* of the batch; before the block */
    uint64_t placed;            /* pages of the block under way */
    uint32_t app, spare;
};

struct hd_driver;

/* Builds it in the simulation's arena; NULL on error.  With paper mode it is
 * never called. */
struct hd_driver *hd_driver_open(struct hd_env *env,
                                 const struct hd_driver_cfg *cfg,
                                 uint32_t cores);

/* A core's request faults, now: its uTLB has a packet to write, unless it has too
 * many or the buffer is full.  It is tried again with the next replay in any
 * case. */
void hd_driver_write(struct hd_driver *d, const struct hd_packet *p);

/* When the buffer has a packet, the first that is or will be there; HD_NEVER:
 * no uTLB has one. */
hd_time hd_driver_first(const struct hd_driver *d);

/* Packets that the driver knows of: up to PUT as it has read it last, which it
 * does again, now, when it has taken all of those. */
uint32_t hd_driver_known(struct hd_driver *d, hd_time now);

/* The i-th of them, the oldest first. */
const struct hd_packet *hd_driver_packet(const struct hd_driver *d, uint32_t i);

/* Takes the n oldest as a batch: in the order of applications and addresses,
 * with `born` of the oldest of each page.  vpn are first pages, as `page` says
 * them; it says false of a page that is resident, and the packet is stale.
 * Pages; *packets[i]: of each, how many faulted. */
typedef bool hd_driver_page(void *self, uint32_t app, hd_vpn vpn,
                            hd_vpn *first);
uint32_t hd_driver_take(struct hd_driver *d, uint32_t n, hd_driver_page *page,
                        void *self);
const struct hd_packet *hd_driver_batch(const struct hd_driver *d, uint32_t i,
                                        uint32_t *packets);

/* A block of a batch, or all of them, have been served: whether requests are
 * tried again now, before which the buffer may be flushed. */
bool hd_driver_block_over(struct hd_driver *d, uint32_t app);
bool hd_driver_batch_over(struct hd_driver *d, hd_time now);

/* 2 MB blocks of the batch of which all packets were stale. */
uint32_t hd_driver_idle_blocks(const struct hd_driver *d);

/* Duplicates and stale packets of the batch taken last. */
void hd_driver_last(const struct hd_driver *d, uint64_t *duplicates,
                    uint64_t *stale);

/* A batch is over: counts what it took. */
struct heddle_n_batch_served;
void hd_driver_spent(struct hd_driver *d,
                     const struct heddle_n_batch_served *batch);

/* Whether no service is under way: so many batches, or until none waits. */
bool hd_driver_between(const struct hd_driver *d);

/* n requests are tried again. */
void hd_driver_replay(struct hd_driver *d, uint32_t n);

/* Packets taken or dropped since the beginning. */
uint64_t hd_driver_taken(const struct hd_driver *d);

/* Packets in the buffer, known or not; without those of the uTLBs' queues. */
uint32_t hd_driver_waiting(const struct hd_driver *d);

#endif

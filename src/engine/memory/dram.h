/*
 * dram.h - the DRAM system as its users see it: channels that take requests.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_DRAM_H
#define HD_DRAM_H

#include "kit/config.h"
#include "kit/env.h"
#include "request.h"

/* The settings are in dramspec.h (struct hd_dram_cfg). */
struct hd_dram_cfg;
struct hd_dram;

/* `clients` are indexed by req.client and get the answers to reads. */
struct hd_dram *hd_dram_open(struct hd_env *env, const struct hd_dram_cfg *cfg,
                             struct hd_reqs *reqs, struct hd_client *clients);

uint32_t hd_dram_channels(const struct hd_dram *d);
/* The channel of an address among those over which it is spread: hd_dram_own
 * of them, all unless they are shared out (dram.partition) or there are several
 * nodes, inside which the address is. */
uint32_t hd_dram_channel(const struct hd_dram *d, hd_pa pa);
/* Whether channels are hashed, and the channel as it is before that. */
bool hd_dram_hashes(const struct hd_dram *d);
uint32_t hd_dram_plain_channel(const struct hd_dram *d, hd_pa pa);
uint32_t hd_dram_own(const struct hd_dram *d);
/* The channel of an application's address among all; pages of no application are
 * in those of the first. */
uint32_t hd_dram_lane(const struct hd_dram *d, uint32_t app, hd_pa pa);

/* True while the channel's queue can take a request, or any normal one
 * (HD_NONE).  Where each class has a queue of its own, the request's class is
 * asked the first time. */
bool hd_dram_takes(struct hd_dram *d, uint32_t channel, uint32_t req);

/*
 * Puts a request into its channel's queue at `now`; needs hd_dram_takes.  The
 * request's bytes may span several bursts; it is answered when the last datum
 * has arrived.  Writes are given back to the pool when their data was sent.
 */
void hd_dram_send(struct hd_dram *d, hd_time now, uint32_t req);

/* Posts event (what, a) to component `who` once the channel has room again:
 * for a request that it does not take, or for any (HD_NONE). */
void hd_dram_wait(struct hd_dram *d, uint32_t channel, uint32_t req,
                  uint32_t who, uint32_t what, uint32_t a);

/* The banks that hold [pa, pa + bytes) of an application take no
 * command before `until`, which is less than 2^15 command cycles from now. */
void hd_dram_block(struct hd_dram *d, hd_time now, uint32_t app, hd_pa pa,
                   uint32_t bytes, hd_time until);
/* Banks are numbered through all channels; this one holds an address of an
 * application. */
uint32_t hd_dram_bank(const struct hd_dram *d, uint32_t app, hd_pa pa);
uint32_t hd_dram_banks(const struct hd_dram *d);
/* Contiguous bytes of one bank. */
uint32_t hd_dram_piece_bytes(const struct hd_dram *d);
/* Whether two ranges of equal length are in the same channels, piece by piece
 * of the interleave. */
bool hd_dram_same_channels(const struct hd_dram *d, hd_pa one, hd_pa other,
                           uint32_t bytes);

/* A command as it is issued; kinds are enum hd_dramkind (dramchan.h). */
struct hd_dramcmd {
    uint64_t cycle;
    uint64_t row;
    uint64_t data; /* columns: cycle of the first datum */
    uint32_t channel, bank, column;
    uint32_t kind;
    uint32_t req;   /* request on whose behalf, or HD_NONE */
    uint32_t close; /* columns: 1 with automatic precharge */
    uint32_t klass; /* of the request: 0 normal, 1 silver, 2 golden */
    /* the oldest golden request at its bank, if `golden` */
    uint64_t golden_row;
    uint32_t golden, golden_bank, golden_write;
};

/* Reports every command, in order within a channel (tests, measurements). */
typedef void hd_dram_watcher(void *self, const struct hd_dramcmd *cmd);
void hd_dram_watch(struct hd_dram *d, hd_dram_watcher *fn, void *self);

#endif

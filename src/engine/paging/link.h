/*
 * link.h - the link to the host's memory: one FIFO for each direction.
 *
 * A transfer enters a direction's queue, occupies the link for its bytes, and
 * its client gets an event when the last of them is over.  What comes before a
 * transfer (the host's work on a fault, setting up a copy) takes
 * hd_link_latency and is the client's to wait for: it overlaps with other
 * transfers, the occupation of the link does not.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_LINK_H
#define HD_LINK_H

#include "kit/config.h"
#include "kit/env.h"

enum hd_link_dir { HD_LINK_IN, HD_LINK_OUT, HD_LINK_DIRS }; /* in: to the GPU */

enum { HD_LINK_CLIENTS = 4, HD_LINK_MOST = 1 << 26 /* bytes of a transfer */ };

struct hd_link_cfg {
#define HD_FIELDS_OF "paging/link.def"
#include "kit/rows.h"
};

/* How the bandwidth of a transfer depends on its size. */
enum hd_link_curve { HD_LINK_FLAT, HD_LINK_UVMSMART };

enum hd_link_stat {
#define HD_COUNTERS_OF "paging/link.def"
#include "kit/rows.h"
    HD_LINK_STATS
};

struct hd_link;

/* Builds the link with room for `room` transfers at once in the simulation's
 * arena; NULL on error. */
struct hd_link *hd_link_open(struct hd_env *env, const struct hd_link_cfg *cfg,
                             uint32_t room);

/* Makes a component a client, which gets event `what` with the word of a
 * transfer when that is over; before the first event.  Returns its number. */
uint32_t hd_link_client(struct hd_link *l, uint32_t component, uint32_t what);

/* Has `bytes` (1 to HD_LINK_MOST) of an application cross in the order of the
 * calls.  Returns when the last of them will be over. */
hd_time hd_link_send(struct hd_link *l, hd_time now, enum hd_link_dir dir,
                     uint32_t app, uint64_t bytes, uint32_t client,
                     uint32_t word);

/* Has a line of the host's memory cross, before all transfers that are sent
 * after it, as soon as it is ready and those before it have.  Returns when. */
hd_time hd_link_line(struct hd_link *l, hd_time ready, enum hd_link_dir dir,
                     uint64_t bytes);

/* The word of the transfer of a direction that will be over first; false: there
 * is none. */
bool hd_link_first(const struct hd_link *l, enum hd_link_dir dir,
                   uint32_t *word);

/* Ticks from a fault, or from the order to copy, to the transfer's start on
 * an idle link; ticks that a transfer occupies the link. */
hd_time hd_link_latency(const struct hd_link *l);
hd_time hd_link_span(const struct hd_link *l, enum hd_link_dir dir,
                     uint64_t bytes);

/* Of those: until the first `part` of its bytes have crossed. */
hd_time hd_link_part(const struct hd_link *l, enum hd_link_dir dir,
                     uint64_t part, uint64_t bytes);

/* Ticks that one step over the link may take: the latency and 2 MB. */
hd_time hd_link_step(const struct hd_link *l);

/* Transfers that are over, in both directions, since the beginning. */
uint64_t hd_link_over(const struct hd_link *l);

#endif

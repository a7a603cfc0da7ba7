/*
 * peers.h - L1 TLBs that ask each other (peers.c).
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_PEERS_H
#define HD_PEERS_H

#include "core/core.h"

struct hd_peers_cfg {
#define HD_FIELDS_OF "variants/peers.def"
#include "kit/rows.h"
};

/* Builds the network between L1 TLBs and offers tlb_peer; with peers.latency 0,
 * or where L1 TLBs are not full, g->peers stays NULL.  0, or -1 (out of
 * memory). */
int hd_peers_open(struct hd_gpu *g);
/* The time from one L1 TLB to another, which no core may run ahead of;
 * HD_NEVER: they cannot ask each other. */
hd_time hd_peers_hop(const struct hd_gpu *g);
/* What is below a core's L1 TLB: its peers, and then `below`. */
struct hd_tbelow hd_peers_wire(struct hd_core *c, struct hd_tbelow below);
/* HD_MSG_PROBE: another core's miss is looked up here. */
void hd_peers_probed(struct hd_core *c, uint32_t treq, hd_time t);
/* HD_MSG_PROBED: the peer does not have it. */
void hd_peers_missed(struct hd_core *c, uint32_t treq, hd_time t);

#endif

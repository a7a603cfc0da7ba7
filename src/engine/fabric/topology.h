/*
 * topology.h - which nodes have a link, and the way from each to each.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TOPOLOGY_H
#define HD_TOPOLOGY_H

#include "kit/diag.h"
#include "memory/nodes.h"

/* A hop is one direction of a link. */
enum { HD_MAX_HOPS = HD_MAX_NODES * (HD_MAX_NODES - 1) };

struct hd_topology {
    uint32_t nodes, hops;
    uint8_t from[HD_MAX_HOPS], to[HD_MAX_HOPS];
    uint8_t next[HD_MAX_NODES][HD_MAX_NODES]; /* [at][to] the hop to take */
    uint8_t away[HD_MAX_NODES][HD_MAX_NODES]; /* hops between them */
};

/* Reads fabric.topology for so many nodes: 0, or an error. */
int hd_topology_read(struct hd_topology *t, uint32_t nodes, const char *text,
                     struct heddle_error *err);

#endif

/*
 * nodes.h - whose memory an address is in, where a machine has several nodes
 * (fabric/).
 *
 * Each node has equally many frames for data and, behind them, for page tables.
 * Addresses count the data of node 0, of node 1 and so on, and then the tables
 * in the same order, so that numbers of frames have no holes.  Inside its node
 * an address counts from 0, tables after data: that is what spreads lines over
 * the node's slices, channels and banks.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_NODES_H
#define HD_NODES_H

#include "kit/base.h"

enum { HD_MAX_NODES = 16 };

struct hd_nodes {
    uint32_t n;
    uint64_t data, tables; /* bytes of each node */
};

/* Data frames of all nodes, from `bytes` of memory of which each node has so
 * many frames for tables; no page of 2 MB is in two nodes. */
static inline uint64_t hd_nodes_split(struct hd_nodes *m, uint32_t n,
                                      uint64_t bytes, uint32_t table_frames)
{
    uint64_t frames = bytes / HD_PAGE_BYTES / n;

    frames = frames > table_frames ? frames - table_frames : 0;
    frames -= frames % HD_LARGE_PAGES;
    *m = (struct hd_nodes){.n = n,
                           .data = frames * HD_PAGE_BYTES,
                           .tables = (uint64_t)table_frames * HD_PAGE_BYTES};
    return frames * n;
}

/* The node of an address, which becomes the one inside it. */
static inline uint32_t hd_nodes_local(const struct hd_nodes *m, uint64_t *pa)
{
    uint64_t end = m->n * m->data, node;

    if (*pa < end) {
        node = *pa / m->data;
        *pa -= node * m->data;
    } else {
        *pa -= end;
        node = *pa / m->tables;
        *pa += m->data - node * m->tables;
    }
    hd_assert(node < m->n);
    return (uint32_t)node;
}

static inline uint32_t hd_nodes_of(const struct hd_nodes *m, hd_pa pa)
{
    return hd_nodes_local(m, &pa.v);
}

/* Page tables count their addresses as if they were the first node's; where
 * they are, fabric.c says, and adds the bytes of the tables of the nodes
 * before. */
static inline bool hd_nodes_is_table(const struct hd_nodes *m, hd_pa pa)
{
    return pa.v >= m->n * m->data;
}

#endif

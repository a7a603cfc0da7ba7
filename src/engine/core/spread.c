/*
 * spread.c - the blocks of a launch over the nodes of a machine.
 *
 * Each node that has cores of the application gets its part of the blocks: a
 * range of consecutive ones (MCM-GPU, Arunkumar et al., ISCA 2017, 5.2), or
 * one block in turn with the others (fabric.blocks).  Inside its node a block
 * goes to a core as on one GPU, which block_place says; nodes take turns while
 * they have room.  No node takes blocks of another's part, even if it is idle:
 * the paper does not, since the data of a part are in its node.
 *
 * Invariant: what nodes were given sums to what was given.
 *
 * Left out: policies that choose the node.
 *
 * SPDX-License-Identifier: MIT
 */
#include "dispatchstate.h"

/* The first of the i-th range of n blocks; those of low nodes are longer. */
static uint64_t spread_first(uint64_t n, uint32_t i, uint32_t nodes)
{
    return hd_ceil_div(n * i, nodes);
}

/* A node's part of n blocks, if it is the i-th of so many nodes: how many, and
 * the number of its k-th. */
static uint64_t spread_part(const struct hd_gpu *g, uint64_t n, uint32_t i,
                            uint32_t nodes)
{
    if (g->m->fabric.blocks == HD_BLOCKS_ROUND_ROBIN)
        return n / nodes + (i < n % nodes);
    return spread_first(n, i + 1, nodes) - spread_first(n, i, nodes);
}

static uint64_t spread_number(const struct hd_gpu *g, uint64_t n, uint32_t i,
                              uint32_t nodes, uint64_t k)
{
    if (g->m->fabric.blocks == HD_BLOCKS_ROUND_ROBIN)
        return k * nodes + i;
    return spread_first(n, i, nodes) + k;
}

/* The nodes that have cores of an application. */
static uint32_t spread_nodes(const struct hd_gpu *g, uint32_t app,
                             uint32_t each, uint8_t *node)
{
    uint32_t n = 0;

    for (uint32_t i = 0; i < g->m->fabric.nodes; i++) {
        uint32_t c = i * each;
        while (c < (i + 1) * each && g->core[c].app != app)
            c++;
        if (c < (i + 1) * each)
            node[n++] = (uint8_t)i;
    }
    return n;
}

bool hd_spread_place(struct hd_dispatch *d, uint32_t app,
                     const struct hd_launch *l, struct hd_given *given,
                     hd_time at, hd_time now)
{
    const struct hd_gpu *g = d->g;
    uint32_t each = g->cores / g->m->fabric.nodes;
    uint8_t node[HD_MAX_NODES];
    uint32_t nodes = spread_nodes(g, app, each, node);
    uint64_t before;

    do {
        before = given->all;
        for (uint32_t i = 0; i < nodes; i++) {
            uint64_t *k = &given->of[node[i]];
            uint32_t first = node[i] * each;
            if (*k == spread_part(g, l->blocks, i, nodes) ||
                !hd_dispatch_block(d, app, l,
                                   spread_number(g, l->blocks, i, nodes, *k),
                                   first, first + each, at, now))
                continue;
            ++*k;
            given->all++;
        }
    } while (given->all != before);
    return given->all == l->blocks;
}

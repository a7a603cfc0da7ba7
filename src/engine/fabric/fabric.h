/*
 * fabric.h - several nodes: the settings, and the links between the cores and
 * walkers of one and the memory of another.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_FABRIC_H
#define HD_FABRIC_H

#include "kit/config.h"
#include "kit/env.h"
#include "memory/nodes.h"
#include "memory/request.h"
#include "topology.h"

struct hd_fabric_cfg {
#define HD_FIELDS_OF "fabric/fabric.def"
#include "kit/rows.h"
};

enum hd_fabric_placement { HD_HOME_TOUCH, HD_HOME_INTERLEAVE, HD_HOME_NODE };
enum hd_fabric_tables { HD_TABLES_ONE, HD_TABLES_COPIES };
enum hd_fabric_blocks { HD_BLOCKS_CONTIGUOUS, HD_BLOCKS_ROUND_ROBIN };

enum hd_fabric_stat {
#define HD_COUNTERS_OF "fabric/fabric.def"
#include "kit/rows.h"
    HD_FABRIC_STATS
};

/* Whether the settings go together: 0, or an error. */
int hd_fabric_check(const void *settings, const char *name,
                    struct heddle_error *err);

struct hd_fabric;

struct hd_fabric_wiring {
    const struct hd_fabric_cfg *cfg;
    struct hd_reqs *reqs;
    struct hd_client *clients; /* [req.client] */
    struct hd_below l2;        /* of all nodes */
    uint32_t client;           /* req.client of what has crossed */
    uint32_t cores;            /* the first clients are so many cores */
    uint32_t units;            /* of walkers, of all nodes */
};

/* Builds the links in the simulation's arena; NULL on error.  env->nodes is
 * there. */
struct hd_fabric *hd_fabric_open(struct hd_env *env,
                                 const struct hd_fabric_wiring *w);

/* Where cores and walkers send their requests, instead of to the L2. */
struct hd_below hd_fabric_below(struct hd_fabric *f);
/* Who takes the L2's answers to what has crossed: its clients[client]. */
struct hd_client hd_fabric_client(struct hd_fabric *f);

const struct hd_topology *hd_fabric_topology(const struct hd_fabric *f);
/* What is counted by node and application. */
struct hd_stat hd_fabric_stat(const struct hd_fabric *f);

/* Messages that have arrived since the beginning. */
uint64_t hd_fabric_steps(const struct hd_fabric *f);

#endif

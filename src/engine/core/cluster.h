/*
 * cluster.h - kernel sampling: launches that are alike.
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_CLUSTER_H
#define HD_CLUSTER_H

#include "kit/env.h"
#include "points/source.h"

/* What a launch executes: warp instructions, those times their active lanes,
 * and those of each kind that touches memory. */
struct hd_mix {
    uint64_t instructions, threads, loads, stores, atomics;
};

/* A launch that was simulated, with those that it stands for; in the arena. */
struct hd_cluster {
    char name[64];
    uint32_t grid[3], block[3];
    uint32_t known; /* 1: it has retired, and its mix is known */
    uint32_t alone; /* 1: the first that looks like this stands for no other */
    struct hd_mix mix;
    struct hd_mix skipped; /* the sums of the others' */
    uint64_t launches;     /* others */
    uint64_t unlike;       /* of them, those whose mix differs */
};

/* Of those clusters whose launches look like this one: the one whose mix
 * differs by at most `permille`, or HD_NONE; mix NULL: the first. */
uint32_t hd_cluster_find(const struct hd_cluster *v, uint32_t n,
                         const struct hd_launch *l, const struct hd_mix *mix,
                         uint32_t permille);

/* A launch is simulated as number n, and stands for those to come that are like
 * it, unless it is the first that looks so. */
void hd_cluster_begin(struct hd_cluster *v, uint32_t n,
                      const struct hd_launch *l);

/* A launch is of the cluster, and was run without time. */
void hd_cluster_skip(struct hd_cluster *c, const struct hd_mix *mix);

/* Runs the launch that a bound source is at without time, for its effects on
 * buffers, and counts.  0 or an error. */
int hd_cluster_run(struct hd_source *s, const struct hd_launch *l,
                   struct hd_mix *mix, struct heddle_error *err);

#endif

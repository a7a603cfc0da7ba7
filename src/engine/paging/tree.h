/*
 * tree.h - which pages around a fault come with it, and which around one that
 * leaves go with it: binary trees over an aligned 2 MB.
 *
 * SPDX-License-Identifier: MIT
 */
#ifndef HD_TREE_H
#define HD_TREE_H

#include "kit/base.h"
#include "translation/translate.h"

enum { HD_TREE_WORDS = HD_LARGE_PAGES / 64, HD_TREE_LEAF = 16 /* pages */ };

/* Pages of the 2 MB, by their place there. */
struct hd_tree_run {
    uint32_t first, pages;
};

/* Pages of a set that are in a run. */
uint32_t hd_tree_count(const uint64_t set[HD_TREE_WORDS],
                       struct hd_tree_run run);

/* What comes for a fault of `page`, when `set` is there already or on its way;
 * `all` is the allocation's part of the 2 MB.  UVMSmart's form; the driver's,
 * with a threshold in percent. */
struct hd_tree_run hd_tree_near(const uint64_t set[HD_TREE_WORDS],
                                struct hd_tree_run all, uint32_t page);
struct hd_tree_run hd_tree_driver(const uint64_t set[HD_TREE_WORDS],
                                  struct hd_tree_run all, uint32_t page,
                                  uint32_t threshold);

/* Leaves of 64 KB, a bit each, that stay when `leaf`, not of the set any more,
 * has left. */
uint32_t hd_tree_stay(uint32_t leaves, struct hd_tree_run all, uint32_t leaf);

#endif

/*
 * tree.h - which pages around a fault are prefetched with it, and which around
 * an evicted one are evicted with it: binary trees over an aligned 2 MB.
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

/* What is prefetched for a fault of `page`, when `set` is resident or in
 * flight; `all` is the allocation's part of the 2 MB.  UVMSmart's form; the
 * driver's, with a threshold in percent. */
struct hd_tree_run hd_tree_near(const uint64_t set[HD_TREE_WORDS],
                                struct hd_tree_run all, uint32_t page);
struct hd_tree_run hd_tree_driver(const uint64_t set[HD_TREE_WORDS],
                                  struct hd_tree_run all, uint32_t page,
                                  uint32_t threshold);

/* Leaves of 64 KB, a bit each, that stay when `leaf`, no longer of the set, is
 * evicted. */
uint32_t hd_tree_stay(uint32_t leaves, struct hd_tree_run all, uint32_t leaf);

#endif

/*
 * tree.c - neighbourhoods of pages: binary trees over an aligned 2 MB.
 *
 * Faults next to one another announce more.  Two forms of that idea are known,
 * and here are both: the tree is cut off at the ends of its allocation, and
 * what is prefetched for one fault is one node of it, so one run of pages.
 *
 * UVMSmart's (Ganguly et al., ISCA 2019): a leaf is 64 KB, resident or not,
 * and migrates whole.  From the leaf of the fault to the root a node of which
 * strictly more than half is resident is filled, which may make the one above
 * more than half full, and so on: at most 1020 KB for one page of 4 KB.  The
 * tree of what is left of an allocation behind its last 2 MB has the next power
 * of two of leaves.  Eviction mirrors it: when a leaf was evicted, from it to
 * the root a node that is less than half full loses the rest, too.
 *
 * The driver's (uvm_perf_prefetch.c of NVIDIA's open kernel modules): leaves
 * are base pages, those of the 64 KB around the fault count as resident; the
 * largest node above the fault of which more than a threshold is resident is
 * prefetched (51 percent by default: count * 100 > pages * threshold).  What is
 * prefetched by that does not count for larger nodes.
 *
 * Nothing is kept between two faults: what is resident is a set of 512 bits,
 * and a count is a popcount.  A tree of counters gives the same, step by step
 * (t/213-vm-tree.c).
 *
 * Left out on purpose: leaves behind the end of an allocation, which UVMSmart
 * rounds up, never migrate; nodes off the path from the leaf to the root
 * are not looked at (UVMSmart's released code visits the whole tree, so a hole
 * that an eviction has left elsewhere is filled at the next fault).
 *
 * SPDX-License-Identifier: MIT
 */
#include "tree.h"

#include "kit/bits.h"

uint32_t hd_tree_count(const uint64_t set[HD_TREE_WORDS],
                       struct hd_tree_run run)
{
    uint32_t n = 0, end = run.first + run.pages;

    for (uint32_t i = run.first; i < end; i = (i | 63) + 1) {
        uint32_t most = (uint32_t)hd_min_u64(end - i, 64 - i % 64);
        n += hd_bit_count(set[i / 64] >> i % 64 & hd_ones(most));
    }
    return n;
}

/* Levels above the leaves: up to the smallest node that holds all of them. */
static uint32_t tree_height(struct hd_tree_run all)
{
    uint32_t first = all.first / HD_TREE_LEAF, k = 0;
    uint32_t last = (all.first + all.pages - 1) / HD_TREE_LEAF;

    while (first >> k != last >> k)
        k++;
    return k;
}

/* The node above a leaf: its leaves, a bit each. */
static uint32_t tree_node(uint32_t leaf, uint32_t level)
{
    return (uint32_t)(hd_ones(1u << level) << (leaf >> level << level));
}

/* Leaves of the allocation. */
static uint32_t tree_own(struct hd_tree_run all)
{
    uint32_t first = all.first / HD_TREE_LEAF;
    uint32_t last = (all.first + all.pages - 1) / HD_TREE_LEAF;

    return (uint32_t)(hd_ones(last - first + 1) << first);
}

struct hd_tree_run hd_tree_near(const uint64_t set[HD_TREE_WORDS],
                                struct hd_tree_run all, uint32_t page)
{
    uint32_t leaf = page / HD_TREE_LEAF, top = tree_height(all), best = 0;
    uint32_t there = 1u << leaf;

    for (uint32_t i = 0; i < HD_LARGE_PAGES / HD_TREE_LEAF; i++)
        if (hd_tree_count(
                set, (struct hd_tree_run){i * HD_TREE_LEAF, HD_TREE_LEAF}) != 0)
            there |= 1u << i;
    for (uint32_t k = 1; k <= top; k++)
        if (2 * hd_bit_count(there & tree_node(leaf, k)) > 1u << k) {
            there |= tree_node(leaf, k) & tree_own(all);
            best = k;
        }
    return (struct hd_tree_run){(leaf >> best << best) * HD_TREE_LEAF,
                                HD_TREE_LEAF << best};
}

/* What two runs have in common, which is something. */
static struct hd_tree_run tree_both(struct hd_tree_run a, struct hd_tree_run b)
{
    uint32_t end = (uint32_t)hd_min_u64(a.first + a.pages, b.first + b.pages);

    a.first = (uint32_t)hd_max_u64(a.first, b.first);
    a.pages = end - a.first;
    return a;
}

struct hd_tree_run hd_tree_driver(const uint64_t set[HD_TREE_WORDS],
                                  struct hd_tree_run all, uint32_t page,
                                  uint32_t threshold)
{
    struct hd_tree_run best = {page, 1}, near;
    uint32_t more;

    near = tree_both(
        (struct hd_tree_run){page / HD_TREE_LEAF * HD_TREE_LEAF, HD_TREE_LEAF},
        all);
    more = near.pages - hd_tree_count(set, near); /* count as resident */
    for (uint32_t n = HD_TREE_LEAF; n <= HD_LARGE_PAGES; n *= 2) {
        struct hd_tree_run x =
            tree_both((struct hd_tree_run){page / n * n, n}, all);
        if ((hd_tree_count(set, x) + more) * 100 > x.pages * threshold)
            best = x;
    }
    return best;
}

uint32_t hd_tree_stay(uint32_t leaves, struct hd_tree_run all, uint32_t leaf)
{
    uint32_t top = tree_height(all);

    for (uint32_t k = 1; k <= top; k++)
        if (2 * hd_bit_count(leaves & tree_node(leaf, k)) < 1u << k)
            leaves &= ~tree_node(leaf, k);
    return leaves;
}

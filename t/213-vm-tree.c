/*
 * Pinned: which pages come with a fault by a tree, and which go with a leaf:
 * trees of counters that are walked node by node say the same on random
 * histories of faults and evictions, in whole and in cut 2 MB; and the papers'
 * words: one page may bring 1020 KB, and strictly more than half is needed.
 *
 * SPDX-License-Identifier: MIT
 */
#include "memenv.h"

#include <string.h>

#include "kit/rng.h"
#include "paging/tree.h"

enum { PAGES = 512, LEAVES = 32, STEPS = 100000 };

struct twin { /* node 1 is the root, 2 i and 2 i + 1 are below node i */
    uint32_t size, valid[2 * PAGES], leaf[PAGES];
};

static uint32_t sum(struct twin *t, uint32_t i)
{
    if (i >= t->size)
        return t->valid[i] = t->leaf[i - t->size];
    t->valid[i] = sum(t, 2 * i) + sum(t, 2 * i + 1);
    return t->valid[i];
}

/* Leaves below node i, and the first. */
static uint32_t below(const struct twin *t, uint32_t i, uint32_t *first)
{
    uint32_t n = 1;

    for (; i < t->size; i *= 2)
        n *= 2;
    *first = i - t->size;
    return n;
}

/* UVMSmart's: counts leaves of 64 KB. */
static void fault_near(struct twin *t, uint32_t leaf, uint32_t from,
                       uint32_t to)
{
    t->leaf[leaf] = 1;
    for (uint32_t i = (t->size + leaf) / 2; i > 0; i /= 2) {
        uint32_t first, n = below(t, i, &first);
        sum(t, 1);
        if (2 * t->valid[i] > n && t->valid[i] < n)
            for (uint32_t k = first; k < first + n; k++)
                t->leaf[k] = k >= from && k < to;
    }
}

static void leave_near(struct twin *t, uint32_t leaf)
{
    t->leaf[leaf] = 0;
    for (uint32_t i = (t->size + leaf) / 2; i > 0; i /= 2) {
        uint32_t first, n = below(t, i, &first);
        sum(t, 1);
        if (t->valid[i] > 0 && 2 * t->valid[i] < n)
            memset(&t->leaf[first], 0, n * sizeof t->leaf[0]);
    }
}

/* The driver's: the nodes are cut at the ends of the allocation. */
static struct hd_tree_run biggest(struct twin *t, struct hd_tree_run all,
                                  uint32_t page, uint32_t threshold)
{
    struct hd_tree_run best = {PAGES, 0};

    for (uint32_t k = page / 16 * 16; k < page / 16 * 16 + 16; k++)
        t->leaf[k] |= k >= all.first && k < all.first + all.pages;
    sum(t, 1);
    for (uint32_t i = t->size + page; i > 0; i /= 2) {
        uint32_t first, n = below(t, i, &first), pages = 0;
        for (uint32_t k = first; k < first + n; k++)
            pages += k >= all.first && k < all.first + all.pages;
        if (t->valid[i] * 100 > pages * threshold)
            best = (struct hd_tree_run){first > all.first ? first : all.first,
                                        pages};
    }
    return best;
}

static void set_run(uint64_t *set, struct hd_tree_run all, struct hd_tree_run x,
                    bool to)
{
    for (uint32_t k = x.first; k < x.first + x.pages; k++)
        if (k >= all.first && k < all.first + all.pages) {
            set[k / 64] &= ~(1ull << k % 64);
            set[k / 64] |= (uint64_t)to << k % 64;
        }
}

static struct hd_tree_run draw_all(struct hd_rng *r)
{
    struct hd_tree_run x = {0, PAGES};

    if (hd_rng_below(r, 2) != 0) {
        x.first = hd_rng_below(r, 4) == 0 ? hd_rng_below(r, PAGES) : 0;
        x.pages = 1 + hd_rng_below(r, PAGES - x.first);
    }
    return x;
}

/* The smallest node that holds all leaves: its size and its first leaf. */
static uint32_t smallest(struct hd_tree_run all, uint32_t *base)
{
    uint32_t first = all.first / 16, last = (all.first + all.pages - 1) / 16;
    uint32_t n = 1;

    while (first / n != last / n)
        n *= 2;
    *base = first / n * n;
    return n;
}

static uint32_t differ(const struct twin *t, uint32_t base, const uint64_t *set)
{
    uint32_t wrong = 0;

    for (uint32_t k = 0; k < t->size; k++)
        wrong +=
            (hd_tree_count(set, (struct hd_tree_run){(base + k) * 16, 16}) !=
             0) != t->leaf[k];
    return wrong;
}

static void near(void **state)
{
    struct hd_rng r = hd_rng_make(7, 1);
    uint32_t wrong = 0, came = 0, went = 0;
    static struct twin t;
    uint64_t set[HD_TREE_WORDS];
    struct hd_tree_run all = {0, PAGES};
    uint32_t base = 0;

    (void)state;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t page, leaf;
        if (i % 100 == 0) {
            memset(&t, 0, sizeof t);
            memset(set, 0, sizeof set);
            all = draw_all(&r);
            t.size = smallest(all, &base);
        }
        page = all.first + hd_rng_below(&r, all.pages);
        leaf = page / 16;
        if (!t.leaf[leaf - base]) {
            struct hd_tree_run x = hd_tree_near(set, all, page);
            set_run(set, all, x, true);
            came += x.pages > 16;
            fault_near(&t, leaf - base, all.first / 16 - base,
                       (all.first + all.pages - 1) / 16 - base + 1);
        } else if (hd_rng_below(&r, 2) != 0) {
            uint32_t mask = 0, stay;
            set_run(set, all, (struct hd_tree_run){leaf * 16, 16}, false);
            for (uint32_t k = 0; k < t.size; k++)
                mask |= (k != leaf - base ? t.leaf[k] : 0) << (base + k);
            stay = hd_tree_stay(mask, all, leaf);
            went += stay != mask;
            for (uint32_t k = 0; k < LEAVES; k++)
                if (!(stay >> k & 1))
                    set_run(set, all, (struct hd_tree_run){k * 16, 16}, false);
            leave_near(&t, leaf - base);
        }
        wrong += differ(&t, base, set);
    }
    assert_int_equal(wrong, 0);
    assert_true(came > 1000 && went > 1000);
}

static void driver(void **state)
{
    struct hd_rng r = hd_rng_make(7, 2);
    uint32_t wrong = 0, larger = 0;
    static struct twin t;
    uint64_t set[HD_TREE_WORDS];
    struct hd_tree_run all = {0, PAGES};

    (void)state;
    for (uint32_t i = 0; i < STEPS; i++) {
        uint32_t threshold = 1 + hd_rng_below(&r, 100);
        uint32_t page;
        struct hd_tree_run a, b;
        if (i % 20 == 0) {
            memset(&t, 0, sizeof t);
            memset(set, 0, sizeof set);
            t.size = PAGES;
            all = draw_all(&r);
        }
        if (i % 3 == 0)
            threshold = 51;
        page = all.first + hd_rng_below(&r, all.pages);
        a = hd_tree_driver(set, all, page, threshold);
        b = biggest(&t, all, page, threshold);
        if (b.pages == 0)
            b = (struct hd_tree_run){page, 1};
        wrong += a.first != b.first || a.pages != b.pages;
        larger += a.pages > 16;
        set_run(set, all, (struct hd_tree_run){page / 16 * 16, 16}, true);
    }
    assert_int_equal(wrong, 0);
    assert_true(larger > 1000);
}

static void words(void **state)
{
    uint64_t set[HD_TREE_WORDS] = {0};
    struct hd_tree_run all = {0, PAGES}, x;

    (void)state;
    x = hd_tree_near(set, all, 100);
    assert_true(x.first == 96 && x.pages == 16); /* alone: its 64 KB */
    set_run(set, all, (struct hd_tree_run){0, 256}, true);
    x = hd_tree_near(set, all, 300);
    assert_true(x.first == 0 && x.pages == 512); /* 15 leaves and 60 KB */
    x = hd_tree_driver(set, all, 300, 51);
    assert_true(x.first == 0 && x.pages == 512); /* 272 of 512: 53 % */
    x = hd_tree_driver(set, all, 300, 54);
    assert_true(x.first == 288 && x.pages == 16);
    assert_int_equal(hd_tree_stay(0xffff, all, 20), 0xffff); /* just half */
    assert_int_equal(hd_tree_stay(0xfffe, all, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(words),
                                       cmocka_unit_test(near),
                                       cmocka_unit_test(driver)};

    cmocka_set_message_output(CM_OUTPUT_TAP);
    return cmocka_run_group_tests(tests, NULL, NULL);
}
